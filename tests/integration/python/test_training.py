"""test_training.py -- gradients, optimizers, programs and files of the Python package, beside PyTorch."""

import os
import sys
import tempfile

from harness import contains, equal, less, main

try:
    import torch
except ImportError:
    print("skipped: torch is not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd


def close(got, want, what, tolerance=1e-5):
    got = torch.tensor(got.tolist(), dtype=torch.float64)
    less((got - want.detach().double()).abs().max().item() if want.numel() else 0, tolerance, what)


def model(m, F, w, x, y):
    """The loss of a small network; m: torch or dispatchd."""
    h = F.gelu(F.layer_norm(x @ w[0] + w[1], [8]))
    return F.cross_entropy(h @ w[2], y)


def network(seed=5):
    torch.manual_seed(seed)
    t = [torch.randn(6, 8), torch.randn(8), torch.randn(8, 3)]
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    return t, x, y


OPTIMIZERS = [("SGD", dict(lr=0.1)), ("SGD", dict(lr=0.1, momentum=0.9)), ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True)),
              ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01)), ("Adam", dict(lr=0.01)),
              ("Adam", dict(lr=0.01, amsgrad=True, weight_decay=0.1)), ("AdamW", dict(lr=0.01)), ("RMSprop", dict(lr=0.01)),
              ("RMSprop", dict(lr=0.01, momentum=0.9, centered=True)), ("Adagrad", dict(lr=0.1)),
              ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.01, initial_accumulator_value=0.5))]


def test_optimizers_train_as_pytorch_does():
    for name, options in OPTIMIZERS:
        for way in ("calls", "pipelined", "program", "saved"):
            if way == "program" and options.get("dampening"):
                continue
            t, x, y = network()
            w = [dd.tensor(p).requires_grad_() for p in t]
            t = [p.clone().requires_grad_() for p in t]
            ours, theirs = getattr(dd.optim, name)(w, **options), getattr(torch.optim, name)(t, **options)
            X, Y = dd.tensor(x), dd.tensor(y)

            def step(X, Y):
                ours.zero_grad()
                loss = model(dd, dd.nn.functional, w, X, Y)
                loss.backward()
                ours.step()
                return loss
            run = dd.program(step) if way == "program" else step
            for k in range(6):
                if way == "pipelined":
                    with dd.pipelined():
                        loss = run(X, Y)
                else:
                    loss = run(X, Y)
                theirs.zero_grad()
                want = model(torch, torch.nn.functional, t, x, y)
                want.backward()
                theirs.step()
                close(loss, want, f"{name} {options} {way}: loss {k}")
                if way == "saved" and k == 2:
                    state = ours.state_dict()
                    ours = getattr(dd.optim, name)(w, **options)
                    ours.load_state_dict(state)
            for a, b in zip(w, t):
                close(a, b, f"{name} {options} {way}: weights", 1e-4)


def test_parameters_whose_gradients_come_late():
    def weights(lib, optim):
        w = [lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
        o = optim.SGD(w, lr=0.1, momentum=0.9, dampening=0.5)
        for k in range(5):
            o.zero_grad()
            loss = (w[0] * w[0]).sum()
            (loss + (w[1] * w[1]).sum() if k >= 2 else loss).backward()
            o.step()
            if k == 3:
                state = o.state_dict()
                o = optim.SGD(w, lr=0.1, momentum=0.9, dampening=0.5)
                o.load_state_dict(state)
        return w
    for a, b in zip(weights(dd, dd.optim), weights(torch, torch.optim)):
        close(a, b, "weights")
    try:
        dd.optim.SGD(dd.ones(2, requires_grad=True), lr=0.1)
    except TypeError as e:
        contains(str(e), "iterable of tensors")
    else:
        raise AssertionError("no error for a tensor as parameters")


def raises(f, kind, *parts):
    """f must raise `kind` with a message that has every part."""
    try:
        got = f()
    except kind as e:
        for part in parts:
            contains(str(e), part, "message")
    else:
        raise AssertionError(f"got {got!r}, want {kind.__name__}")


def test_lion():
    def step(w, m):  # Chen et al. 2023, algorithm 2
        g = 2 * w
        return w * (1 - 0.1 * 0.01) - 0.1 * (0.9 * m + 0.1 * g).sign(), 0.99 * m + 0.01 * g
    w, (want, m) = dd.tensor([1.0, -2.0, 0.05], requires_grad=True), (torch.tensor([1.0, -2.0, 0.05]), torch.zeros(3))
    o = dd.optim.Lion([w], lr=0.1, weight_decay=0.01)
    for k in range(5):
        o.zero_grad()
        (w * w).sum().backward()
        o.step()
        want, m = step(want, m)
        close(w, want, f"step {k}")


def test_what_optimizers_refuse():
    w = dd.ones(2, requires_grad=True)
    raises(lambda: dd.optim.SGD([w * 2], lr=0.1), ValueError, "can't optimize a non-leaf Tensor")
    raises(lambda: dd.optim.Adam([w, w]), ValueError, "more than one parameter group")
    raises(lambda: dd.optim.Adam([]), ValueError, "empty parameter list")
    raises(lambda: dd.optim.Adam([w, 3]), TypeError, "int")
    raises(lambda: dd.optim.Adagrad([w], lr_decay=-1), ValueError, "lr_decay", "-1")
    with dd.connect() as other, other:
        v = dd.ones(2, requires_grad=True)
        raises(lambda: dd.optim.SGD([w, v], lr=0.1), RuntimeError, "another connection's session")


def test_learning_rates_change_between_calls():
    def train(lib, optim, wrap):
        w = [lib.tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
        o = optim.Adam([{"params": w[:1]}, {"params": w[1:], "lr": 0.3, "initial_lr": 0.3}], lr=0.1)

        def step(x):
            o.zero_grad()
            (((w[0] + w[1]) * x) ** 2).sum().backward()
            o.step()
            return w[0] * 1
        run, losses = wrap(step), []
        for k in range(8):
            losses.append(run(lib.tensor([0.5, 1.0])).tolist())
            o.param_groups[1]["lr"] *= 0.5
            if k == 4:
                o.param_groups[0]["betas"] = (0.5, 0.9)
            if k == 5:
                o.load_state_dict(o.state_dict())
        return losses, run
    want, _ = train(torch, torch.optim, lambda f: f)
    got, run = train(dd, dd.optim, dd.program)
    less(max(abs(a - b) for u, v in zip(got, want) for a, b in zip(u, v)), 1e-5, f"{got}, {want}")
    equal(run.text().count("optim::adam_"), 2, "programs other than the newest are released")

    w = dd.tensor([1.0], requires_grad=True)
    o = dd.optim.SGD([w], lr=0.1)

    def odd(x):
        o.zero_grad()
        (w * x).sum().backward()
        o.step()
        o.param_groups[0]["lr"] = 0.2
        return x
    raises(lambda: dd.program(odd)(dd.ones(1)), RuntimeError, "options of an optimizer")


AUTOCAST = [lambda lib, x, w: x @ w, lambda lib, x, w: (x @ w).exp(), lambda lib, x, w: lib.nn.functional.linear(x, w, w[0]),
            lambda lib, x, w: lib.cat([x @ w, x]), lambda lib, x, w: (x @ w).softmax(1).sum()]


def test_autocast():
    torch.manual_seed(1)
    t = torch.randn(4, 4) / 2, torch.randn(4, 4) / 2
    d = [dd.tensor(x) for x in t]
    for n, f in enumerate(AUTOCAST):
        with torch.autocast("cpu"):
            want = f(torch, *t)
        for run in f, dd.program(lambda lib, *a: f(dd, *a)):  # noqa: B023
            with dd.autocast("cpu"):
                run(dd if run is f else "dd", *d)
                got = run(dd if run is f else "dd", *d)
            equal((n, got.dtype), (n, str(want.dtype).removeprefix("torch.")))
            close(got, want, f"{n}", 0.05)
            got = run(dd if run is f else "dd", *d)
            equal((n, got.dtype), (n, "float32"), "outside")

    x, w = d
    with dd.autocast("cpu", dtype=dd.float16):
        raises(lambda: x @ w, RuntimeError, "Half")
        with dd.autocast("cpu", enabled=False):
            equal((x @ w).dtype, dd.float32)
        with dd.autocast(device_type="cpu", dtype=torch.bfloat16, cache_enabled=False):
            equal((x @ w).dtype, dd.bfloat16)
        raises(lambda: x @ w, RuntimeError, "Half")
    decorated = dd.autocast("cpu")(lambda: x @ w)
    equal([decorated().dtype, decorated().dtype, (x @ w).dtype], [dd.bfloat16, dd.bfloat16, dd.float32])
    raises(lambda: dd.autocast(), TypeError, "device_type")
    raises(lambda: dd.autocast(dd.bfloat16).__enter__(), (ValueError, RuntimeError), "bfloat16")
    raises(lambda: dd.autocast("cpu", dtype=dd.float64).__enter__(), ValueError, "bfloat16", "float64")
    raises(lambda: dd.autocast("nothing").__enter__(), (ValueError, dd.Error), "nothing")
    equal((x @ w).dtype, dd.float32, "after errors")


def test_autocast_trains_in_programs():
    def train(lib, optim, wrap):
        torch.manual_seed(3)
        x, w = torch.randn(8, 4), torch.randn(4, 4)
        x, w = (x, w) if lib is torch else (dd.tensor(x), dd.tensor(w))
        w.requires_grad_()
        o = optim.SGD([w], lr=0.1)

        def step(x):
            o.zero_grad()
            with lib.autocast("cpu"):
                y = x @ w
            with lib.no_grad():
                y.exp()
            loss = (y.float() ** 2).mean() + (x @ w).mean()
            loss.backward()
            o.step()
            return loss
        run = wrap(step)
        return [run(x).item() for _ in range(4)]
    want = train(torch, torch.optim, lambda f: f)
    for wrap in (lambda f: f), dd.program:
        got = train(dd, dd.optim, wrap)
        less(max(abs(a - b) for a, b in zip(got, want)), 0.02, f"{got}, {want}")


def test_gradients():
    x = dd.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    equal(x.grad.tolist(), [4.0, 8.0, 12.0], "gradients add up")
    g, = dd.autograd.grad((x ** 3).sum(), x, create_graph=True)
    h, = dd.autograd.grad(g.sum(), x)
    equal(h.tolist(), [6.0, 12.0, 18.0], "the second derivative")
    x.grad = None
    equal(x.grad, None)
    with dd.no_grad():
        equal(((x * 2).requires_grad, dd.is_grad_enabled()), (False, False))
        with dd.enable_grad():
            equal((x * 2).requires_grad, True)
    equal((x * 2).requires_grad, True)
    with dd.inference_mode():
        equal(((x * 2).requires_grad, dd.is_grad_enabled()), (False, False))
        dd.set_grad_enabled(True)
    equal(((x * 2).requires_grad, dd.is_grad_enabled()), (True, True))
    x.register_hook("aten::neg")
    (x * 2).sum().backward()
    equal(x.grad.tolist(), [-2.0] * 3, "after the hook")
    try:
        dd.autograd.grad(dd.ones(1, requires_grad=True).sum(), x)
    except RuntimeError as e:
        contains(str(e), "allow_unused")
    else:
        raise AssertionError("a tensor that was not used has a gradient")


def test_clipping():
    x = dd.tensor([3.0, 4.0], requires_grad=True)
    (x * x).sum().backward()
    close(dd.nn.utils.clip_grad_norm_([x], 1.0), torch.tensor(10.0), "norm")
    close(x.grad, torch.tensor([0.6, 0.8]), "clipped")


def test_programs_say_what_they_cannot():
    x = dd.ones(3)
    for f, part in ((lambda x: x.sum().item(), "cannot read values"), (lambda x: 3, "returns tensors"),
                    (lambda x: x * float(x.numpy()[0]), "cannot read values"), (lambda x: x if x.sum() > 1 else -x, "cannot read"),
                    (lambda x: dd.save({"x": x}, os.devnull + "/x") or x, "Not a directory"),
                    (lambda x: dd.name_tensor(x, "x"), "tensor.name")):
        try:
            dd.program(f)(x)
        except (RuntimeError, TypeError, OSError) as e:
            contains(str(e), part)
        else:
            raise AssertionError(f"no error that says {part}")
    raises(lambda: dd.program(lambda x, a: x)(x, torch.zeros(2).numpy()), TypeError, "ndarray", "dispatchd.tensor()")
    equal((x + 1).tolist(), [2.0] * 3, "calls go on")
    twice = dd.program(lambda x, n: x * n)
    equal([twice(x, 2).tolist(), twice(x, 2).tolist(), twice(x, 3).tolist()], [[2.0] * 3, [2.0] * 3, [3.0] * 3])


def test_arguments_of_programs():
    a, b = dd.tensor([1.0, 2.0]), dd.tensor([3.0, 4.0])
    both = dd.program(lambda x, y: x * 10 + y)
    equal([both(*t).tolist() for t in ((a, a), (a, b), (b, a), (b, b))], [[11, 22], [13, 24], [31, 42], [33, 44]])
    times = dd.program(lambda x, n: x * n)
    equal([times(dd.tensor([2]), n).tolist() for n in (1, 1.0, True)], [[2], [2.0], [2]])
    equal([times(dd.tensor([2]), n).dtype for n in (1, 1.0, True)], [(dd.tensor([2]) * n).dtype for n in (1, 1.0, True)])
    equal([str(times(a, z).tolist()) for z in (0.0, -0.0)], ["[0.0, 0.0]", "[-0.0, -0.0]"])


def test_captured_listed_and_named_arguments_of_programs():
    w, a = dd.tensor([1.0, 2.0]), dd.tensor([10.0, 20.0])
    plus = dd.program(lambda a: a + w)
    equal([plus(w).tolist(), plus(a).tolist()], [[2.0, 4.0], [11.0, 22.0]], "an argument that is also captured")
    same = dd.program(lambda a: (a, w))
    equal([t.tolist() for t in same(w) + same(a)], [[1.0, 2.0], [1.0, 2.0], [10.0, 20.0], [1.0, 2.0]])
    lists = dd.program(lambda pair, scale=1.0, *, more=None: pair[0] - pair[1] * scale + (0 if more is None else more["x"]))
    for _ in range(2):
        equal(lists([a, w]).tolist(), [9.0, 18.0])
        equal(lists([w, a]).tolist(), [-9.0, -18.0])
        equal(lists([a, w], scale=2.0).tolist(), [8.0, 16.0])
        equal(lists((a, w), more={"x": w}).tolist(), [10.0, 20.0])
        equal(lists(scale=w, pair=[a, w]).tolist(), [9.0, 16.0])
    write = dd.program(lambda a, by: a.add_(by))
    equal([write(a, by=w) is a, a.tolist(), write(a, by=w).tolist(), a.tolist()], [True, [11.0, 22.0], [12.0, 24.0], [12.0, 24.0]])


def test_arguments_that_require_gradients_are_told_from_captured_ones():
    w, a = (dd.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [10.0, 20.0]))
    plus = dd.program(lambda a: a * 2 + w)
    equal([plus(w).tolist(), plus(a).tolist(), plus(w).tolist()], [[3.0, 6.0], [21.0, 42.0], [3.0, 6.0]])
    grads = dd.program(lambda a: dd.autograd.grad((a * a * w).sum(), [a, w]))
    whole = [[3.0, 12.0]] * 2  # the two uses of w are one leaf: both gradients are that of w * w * w
    equal([[g.tolist() for g in grads(t)] for t in (w, a, w)], [whole, [[20.0, 80.0], [100.0, 400.0]], whole])

    kept = []
    write = dd.program(lambda a: kept.append(a) or a.add_(w))
    with dd.no_grad():
        equal([write(t).tolist() for t in (w, a)] + [w.tolist(), a.tolist()], [[2.0, 4.0], [12.0, 24.0]] * 2)
    del kept[1:]
    equal((kept[0] + 1).tolist(), [3.0, 5.0], "an argument that the function has stored")

    pair = dd.program(lambda a, b: (*a.sort(), b))
    equal([[t.tolist() for t in pair(w, w)] for _ in range(2)], [[[2.0, 4.0], [0, 1], [2.0, 4.0]]] * 2)


def test_sizes_in_programs():
    x = dd.arange(6)
    for f in (lambda x: x.view(2, 3), lambda x: x.view(-1), lambda x: x.reshape(3, 2).permute(1, 0),
              lambda x: x.expand(2, 6), lambda x: dd.zeros(2, 3), lambda x: dd.ones(2), lambda x: x.new_zeros(2),
              lambda x: x.repeat(2), lambda x: x.flip(0),
              lambda x: x.view(2, 3).movedim(0, 1), lambda x: x.view(2, 3).sum(0), lambda x: x.roll(1)):
        g = dd.program(f)
        equal([g(x).tolist() for _ in range(2)], [f(x).tolist()] * 2)


def test_what_programs_return():
    x = dd.tensor([[1.0, 3.0], [4.0, 2.0]])
    largest, pair, one = dd.program(lambda x: x.max(1)), dd.program(lambda x: (x * 2, x)), dd.program(lambda x: (x,))
    equal([largest(x).indices.tolist() for _ in range(2)], [[1, 0]] * 2)
    equal([[t.tolist() for t in pair(x)] for _ in range(2)], [[(x * 2).tolist(), x.tolist()]] * 2)
    equal([type(one(x)).__name__ for _ in range(2)], ["tuple"] * 2)


def train(lib, optim, step, wrap=lambda f: f):
    """Return the weights of two layers after 4 steps of step(lib, weights, optimizers, x)."""
    w = [lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([0.5, -1.0], requires_grad=True)]
    opts = [optim.SGD([p], lr=0.1, momentum=0.5) for p in w]
    run = wrap(lambda x: step(lib, w, opts, x))
    for k in range(4):
        run(lib.tensor([1.0, 0.5 + k]))
    return [p.tolist() for p in w]


def zeroed_at_the_end(lib, w, opts, x):
    ((w[0] * x) ** 2).sum().backward()
    opts[0].step()
    opts[0].zero_grad()
    return x


def two_optimizers(lib, w, opts, x):
    for o in opts:
        o.zero_grad()
        ((w[0] * x + w[1]) ** 2).sum().backward()
        o.step()
    return x


def given_gradients(lib, w, opts, x):
    opts[0].zero_grad()
    (w[0] * w[0]).backward(lib.tensor([3.0, 0.25]))
    opts[0].step()
    return x


def gradient_of_a_gradient(lib, w, opts, x):
    opts[0].zero_grad()
    (g,) = lib.autograd.grad((w[0] ** 3 * x).sum(), w[0], create_graph=True)
    (g ** 2).sum().backward()
    lib.nn.utils.clip_grad_norm_([w[0]], 1.0)
    opts[0].step()
    return x


def test_gradients_in_programs():
    for step in zeroed_at_the_end, two_optimizers, given_gradients, gradient_of_a_gradient:
        want = train(torch, torch.optim, step)
        for wrap in (lambda f: f), dd.program:
            got = train(dd, dd.optim, step, wrap)
            less(max(abs(a - b) for u, v in zip(got, want) for a, b in zip(u, v)), 1e-5, step.__name__)


def never_zeroed(lib, w, opts, x):
    ((w[0] * x) ** 2).sum().backward()
    opts[0].step()
    return x


def two_backwards(lib, w, opts, x):
    opts[0].zero_grad()
    (w[0] * x).sum().backward()
    (w[0] * w[0]).sum().backward()
    opts[0].step()
    return x


def in_inference_mode(lib, w, opts, x):
    with lib.inference_mode():
        return x * w[0]


def test_gradients_that_programs_cannot_compute():
    for step, part in (never_zeroed, "call zero_grad() in it"), (two_backwards, "gradients of 2 calls of backward()"), \
            (in_inference_mode, "cannot change the session"):
        try:
            train(dd, dd.optim, step, dd.program)
        except RuntimeError as e:
            contains(str(e), part)
        else:
            raise AssertionError(f"{step.__name__}: no error that says {part}")


def test_modes_of_programs():
    def double(x):
        with dd.enable_grad():
            return dd.autograd.grad((x * x).sum(), x)[0]
    f = dd.program(double)
    x = dd.tensor([3.0], requires_grad=True)
    with dd.no_grad():
        equal([f(x).tolist() for _ in range(3)], [[6.0]] * 3, "recording inside no_grad")
    plain = dd.program(lambda x: x * 2)
    equal([plain(x).requires_grad for _ in range(2)], [True] * 2)
    with dd.no_grad():
        equal([plain(x).requires_grad for _ in range(2)], [False] * 2)


def test_files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        given = {"a": dd.arange(6).reshape(2, 3), "b.c": dd.rand(4, 4).t()}
        dd.save(given, path, metadata={"kind": "test"})
        back = dd.load(path)
        equal({k: v.tolist() for k, v in back.items()}, {k: v.tolist() for k, v in given.items()})
        equal(list(dd.load(path, prefix="b.")), ["b.c"])
        named = dd.load(path, named=True)
        dd.open_tensor("a").fill_(7)
        equal(named["a"].tolist(), [[7] * 3] * 2, "a tensor that was opened by its name is the same")
        before = dd.current().call("server.status")["tensors"]
        raises(lambda: dd.load(path, named=True), dd.AlreadyExists, "'a'")
        equal(dd.current().call("server.status")["tensors"], before, "tensors after a load that failed")
        for name in named:
            dd.unlink_tensor(name)
        raises(lambda: dd.open_tensor("a"), dd.NotFound, "'a'")
        dd.name_tensor(given["a"], "given")
        equal(dd.open_tensor("given").tolist(), given["a"].tolist())
        dd.unlink_tensor("given")
        equal(os.listdir(folder), ["weights.safetensors"])
        try:
            dd.save({"a": 3}, path)
        except TypeError as e:
            contains(str(e), "{'a': 'int'}")


def test_random_numbers_are_pytorchs():
    torch.manual_seed(11)
    dd.manual_seed(11)
    equal(dd.rand(20).tolist(), torch.rand(20).tolist())
    close(dd.randn(20), torch.randn(20), "normal numbers")
    g, h = dd.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    equal(dd.rand(5, generator=g).tolist(), torch.rand(5, generator=h).tolist())
    state = g.get_state()
    one = dd.rand(3, generator=g).tolist()
    g.set_state(state)
    equal(dd.rand(3, generator=g).tolist(), one)


main()
