"""test_optim.py -- operators of namespace optim beside torch.optim and torch.nn.utils: 20 steps with random options, for
parameters of odd shapes, without elements, with gaps, transposed, and some without a gradient.

Values may differ by 2 units in the last place.  Lion, which torch.optim has not, is computed by its algorithm."""

import random

from compare import Both, torch
from harness import equal, less, main, raises
from daemon import TestDaemon

STEPS, ULPS = 20, 2
NONE, TWICE = 3, 4  # index of a parameter that never has a gradient; of one that has it every other step
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def parameters(dtype):
    """Return parameters of every layout, in number more than one block of 1,024 elements."""
    def new(*shape):
        return torch.randn(*shape, dtype=dtype)
    gaps = new(9, 40)[:, 1:36:3]
    return [new(2100), new(3, 5), torch.randn((), dtype=dtype), new(4), new(65, 33).t(), new(0, 3), gaps,
            new(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), new(1, 1, 3)]


def gradients(params, step):
    """Return new gradients; every third is not laid out as its parameter is."""
    made = [torch.randn_like(p) * 10 ** random.uniform(-3, 2) for p in params]
    made = [g.contiguous() if i % 3 == 0 else g for i, g in enumerate(made)]
    return [None if i == NONE or i == TWICE and step % 2 == 1 else g for i, g in enumerate(made)]


def distance(a, b):
    """Return the largest distance of two elements, in units in the last place; NaNs are equal."""
    if a.numel() == 0:
        return 0
    bits = BITS[a.dtype]
    a, b = (torch.nan_to_num(t.contiguous(), nan=7.0, posinf=None).view(bits).to(torch.int64) for t in (a, b))
    a, b = (torch.where(t < 0, torch.iinfo(bits).min - t, t) for t in (a, b))
    return (a - b).abs().max().item()


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr, betas, weight_decay, maximize):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            one, two = group["betas"]
            for p in (p for p in group["params"] if p.grad is not None):
                grad = -p.grad if group["maximize"] else p.grad
                average = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(average.mul(one).add_(grad, alpha=1 - one).sign_(), alpha=-group["lr"])
                average.mul_(two).add_(grad, alpha=1 - two)


class Kind:
    """An operator: its class of torch.optim, the lists of its state, "step" for steps, and its random options."""

    def __init__(self, cls, state, options, op_options=None):
        self.cls, self.state, self.options = cls, state, options
        self.op_options = op_options or (lambda given: given)


def pick(*values):
    return random.choice(values)


def sgd_options():
    nesterov, momentum = pick(False, True), pick(0.0, 0.9)
    nesterov = nesterov and momentum > 0
    return {"lr": pick(0.1, 1e-3), "momentum": momentum, "dampening": 0.0 if nesterov else pick(0.0, 0.3),
            "weight_decay": pick(0.0, 0.01), "nesterov": nesterov, "maximize": pick(False, True)}


def adam_options():
    return {"lr": pick(0.1, 1e-3), "betas": (pick(0.9, 0.0, 0.5), pick(0.999, 0.9)), "eps": pick(1e-8, 1e-3),
            "weight_decay": pick(0.0, 0.01), "amsgrad": pick(False, True), "maximize": pick(False, True)}


def rmsprop_options():
    return {"lr": pick(0.1, 1e-3), "alpha": pick(0.99, 0.5), "eps": pick(1e-8, 1e-3), "weight_decay": pick(0.0, 0.01),
            "momentum": pick(0.0, 0.9), "centered": pick(False, True), "maximize": pick(False, True)}


def adagrad_options():
    return {"lr": pick(0.1, 1e-3), "lr_decay": pick(0.0, 0.1), "weight_decay": pick(0.0, 0.01), "eps": pick(1e-10, 1e-3),
            "maximize": pick(False, True)}


def lion_options():
    return {"lr": pick(0.1, 1e-3), "betas": (pick(0.9, 0.5), pick(0.99, 0.9)), "weight_decay": pick(0.0, 0.01),
            "maximize": pick(False, True)}


def two_betas(given):
    rest = {k: v for k, v in given.items() if k != "betas"}
    return {**rest, "beta1": given["betas"][0], "beta2": given["betas"][1]}


ADAM = ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"]
KINDS = {
    "sgd_": Kind(torch.optim.SGD, ["momentum_buffer"], sgd_options),
    "adam_": Kind(torch.optim.Adam, ADAM, adam_options, two_betas),
    "adamw_": Kind(torch.optim.AdamW, ADAM, adam_options, two_betas),
    "rmsprop_": Kind(torch.optim.RMSprop, ["square_avg", "grad_avg", "momentum_buffer"], rmsprop_options),
    "adagrad_": Kind(torch.optim.Adagrad, ["sum", "step"], adagrad_options),
    "lion_": Kind(Lion, ["exp_avg"], lion_options, two_betas),
}


class Ours:
    """The daemon's tensors of one run, and the calls on them."""

    def __init__(self, client, params, kind):
        self.both = Both(client)
        self.params = self.both.encode([p.detach().clone() for p in params])
        for t in self.params[::2]:  # leaves that require a gradient may be written, as by torch.optim
            client.op("aten::requires_grad_", t)
        zero = [torch.zeros_like(p) for p in params]
        self.states = [self.both.encode([torch.tensor(0.0) for _ in params] if s == "step" else [z.clone() for z in zero])
                       for s in kind.state]

    def step(self, op, grads, tensor_lr, options):
        options = {k: {"float": v} if isinstance(v, float) else v for k, v in options.items()}
        if tensor_lr:
            options["lr"] = self.both.encode(torch.tensor(options["lr"]["float"], dtype=torch.float64))
        self.both.client.call("op.call", op="optim::" + op, args=[self.params, [g if g is None else self.both.encode(g) for g in grads],
                                                                 *self.states], kwargs=options)

    def read(self, list_):
        return [self.both.read(t["tensor"])[0] for t in list_]


def compare_steps(d, op, dtype):
    """Take 20 steps with random options here and in PyTorch; return the largest distance."""
    kind = KINDS[op]
    options = kind.options()
    params = [p.clone().requires_grad_() for p in parameters(dtype)]
    theirs = kind.cls(params, **options)
    ours = Ours(d, params, kind)
    worst = 0
    for step in range(STEPS):
        grads = gradients(params, step)
        for p, g in zip(params, grads):
            p.grad = g
        theirs.step()
        ours.step(op, grads, step % 2 == 1,
                  {**kind.op_options(options), **({"is_first_step": step == 0} if op == "sgd_" and step == 0 else {})})
    for i, (p, got) in enumerate(zip(params, ours.read(ours.params))):
        worst = max(worst, distance(got, p.detach()))
        less(distance(got, p.detach()), ULPS + 1, f"{op} {dtype} {options}: parameter {i} of shape {list(p.shape)}")
    for name, tensors in zip(kind.state, map(ours.read, ours.states)):
        for i, (p, got) in enumerate(zip(params, tensors)):
            want = theirs.state[p].get(name)
            if torch.is_tensor(want):
                worst = max(worst, distance(got, want))
                less(distance(got, want), ULPS + 1, f"{op} {dtype} {options}: {name} {i}")
    ours.both.done()
    return worst


def check(daemon, op):
    torch.manual_seed(11)
    random.seed(op)
    with daemon.connect() as d:
        worst = {dtype: max(compare_steps(d, op, dtype) for _ in range(12)) for dtype in BITS}
    print(f"{op} {STEPS} steps, 12 sets of options: " + ", ".join(f"{t} {w} ulp" for t, w in worst.items()))


def test_sgd(daemon):
    check(daemon, "sgd_")


def test_adam(daemon):
    check(daemon, "adam_")


def test_adamw(daemon):
    check(daemon, "adamw_")


def test_rmsprop(daemon):
    check(daemon, "rmsprop_")


def test_adagrad(daemon):
    check(daemon, "adagrad_")


def test_lion(daemon):
    check(daemon, "lion_")


def adam_by_hand(p, g, m, v, most, step, o, scale):
    """_fused_adam_ for one parameter, in float32, as aten/src/ATen/native/cuda/fused_adam_utils.cuh computes it."""
    g.div_(scale)
    g = -g if o["maximize"] else g
    g = g.add(p, alpha=o["weight_decay"]) if o["weight_decay"] else g
    m.mul_(o["beta1"]).add_(g, alpha=1 - o["beta1"])
    v.mul_(o["beta2"]).addcmul_(g, g, value=1 - o["beta2"])
    torch.maximum(most, v, out=most)
    root = (most if o["amsgrad"] else v).sqrt() / (1 - o["beta2"] ** step) ** 0.5
    p.addcdiv_(m, root.add_(o["eps"]), value=-o["lr"] / (1 - o["beta1"] ** step))


def test_fused_adam(daemon):
    torch.manual_seed(3)
    random.seed(3)
    with daemon.connect() as d:
        for form in ("_fused_adam_", "_fused_adam", "_fused_adam.out"):
            o = two_betas(adam_options())
            scale = pick(1.0, 64.0)
            params = parameters(torch.float32)
            grads = [torch.randn_like(p) for p in params]
            lists = [params, grads] + [[torch.rand_like(p) for p in params] for _ in range(3)]
            both = Both(d)
            mine = [both.encode([t.clone() for t in list_]) for list_ in lists]
            steps = both.encode([torch.tensor(5.0) for _ in params])
            kwargs = {k: {"float": x} if isinstance(x, float) else x for k, x in o.items()}
            kwargs["grad_scale"] = both.encode(torch.tensor(scale))
            outs = both.encode([torch.zeros_like(p) for p in params])
            if form == "_fused_adam.out":
                kwargs["out"] = outs
            answer = d.call("op.call", op="aten::" + form, args=[*mine, steps], kwargs=kwargs)["outputs"]
            untouched = params[0].clone()
            for tensors in zip(*lists):
                adam_by_hand(*tensors, 5, o, scale)
            got = answer if form == "_fused_adam" else [outs, *mine[1:]] if form.endswith("out") else mine
            for k, (ours, theirs) in enumerate(zip(got, lists)):
                if k == 4 and not o["amsgrad"]:
                    continue
                for i, (a, b) in enumerate(zip(ours, theirs)):
                    less(distance(both.read(a["tensor"])[0], b), ULPS + 1, f"{form} {o}: list {k}, tensor {i}")
            if form != "_fused_adam_":
                equal(both.read(mine[0][0]["tensor"])[0].equal(untouched), True, f"{form} leaves self")
            both.handles += [t["tensor"] for list_ in (answer if form == "_fused_adam" else []) for t in list_]
            both.done()


def test_clip_grad_norm(daemon):
    torch.manual_seed(7)
    with daemon.connect() as d:
        for dtype, tolerance in ((torch.float32, 2e-6), (torch.float64, 1e-13), (torch.float16, 4e-3)):
            for norm_type in (2.0, 1.0, 0.0, 3.0, -1.5, float("inf")):
                for max_norm in (1e6, 0.37):
                    grads = [torch.randn(s, dtype=torch.float64).to(dtype) for s in ((3000,), (), (7, 5), (1,))]
                    grads.append(torch.randn(40, 30, dtype=torch.float64).to(dtype).t()[:, ::3])
                    both = Both(d)
                    mine = both.encode(grads)
                    theirs = [g.float() if dtype is torch.float16 else g.clone() for g in grads]
                    params = [torch.zeros_like(t) for t in theirs]
                    for p, t in zip(params, theirs):
                        p.grad = t
                    want = torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)
                    out = d.op("optim::clip_grad_norm_", mine, max_norm, {"float": str(norm_type) if norm_type == float("inf") else norm_type})
                    got = both.read(out["tensor"])[0]
                    label = f"{dtype}, norm {norm_type}, at most {max_norm}"
                    less(abs(got.item() / want.item() - 1), tolerance, f"{label}: {got.item()} and {want.item()}")
                    for a, b in zip(mine, theirs):
                        torch.testing.assert_close(both.read(a["tensor"])[0].to(b.dtype), b, rtol=2 * tolerance, atol=1e-7, msg=label)
                    both.handles.append(out["tensor"])
                    both.done()


main(TestDaemon, TestDaemon.finish)
