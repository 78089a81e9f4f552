"""test_networks.py -- five networks trained for 20 steps as programs: the losses, the parameters and the buffers are those
of single calls, bit for bit."""

import random

from harness import equal, less, main
from daemon import TestDaemon

SEED, STEPS, BATCHES = 22, 20, 4
PASSES = ["functionalize", "dead", "common"]
BATCH, CLASSES = 4, 3
CHANNELS = 4
LENGTH, CHARACTERS, WIDTH, HEADS, HIDDEN = 6, 7, 8, 2, 8
HEAD = WIDTH // HEADS


def ref(name, *index):
    return {"ref": name, **({"index": index[0]} if index else {})}


def step(as_, op, *args):
    return {"op": "aten::" + op, "args": list(args), "as": [as_] if isinstance(as_, str) else as_}


def conv(as_, x, name, stride, padding):
    return step(as_, "conv2d", ref(x), ref(name), None, [stride, stride], [padding, padding])


def norm(as_, x, name):
    """As torch.nn.BatchNorm2d does in training, which counts the batches first."""
    return [step(as_ + ".count", "add_.Scalar", ref(name + ".batches"), 1),
            step(as_, "batch_norm", ref(x), *(ref(f"{name}.{part}") for part in ("weight", "bias", "mean", "var")), True, 0.1,
                 1e-5, False)]


def norm_parameters(name):
    return {name + ".weight": [CHANNELS], name + ".bias": [CHANNELS]}


def norm_buffers(name):
    return {name + ".mean": [CHANNELS], name + ".var": [CHANNELS], name + ".batches": []}


def linear(as_, x, name):
    return step(as_, "linear", ref(x), ref(name + ".weight"), ref(name + ".bias"))


def linear_parameters(name, n_out, n_in):
    return {name + ".weight": [n_out, n_in], name + ".bias": [n_out]}


def layer_norm(as_, x, name):
    return step(as_, "layer_norm", ref(x), [WIDTH], ref(name + ".weight"), ref(name + ".bias"))


def heads(as_, x, index):
    return [step(as_ + ".parts", "view", ref(x, index), [BATCH, LENGTH, HEADS, HEAD]),
            step(as_, "transpose.int", ref(as_ + ".parts"), 1, 2)]


def classify(x):
    return [linear("logits", x, "out"), step("loss", "cross_entropy_loss", ref("logits"), ref("y"))]


def predict(x):
    return [linear("each", x, "out"), step("logits", "flatten.using_ints", ref("each"), 0, 1),
            step("answers", "flatten.using_ints", ref("y")), step("loss", "cross_entropy_loss", ref("logits"), ref("answers"))]


class Network:
    """parameters, buffers: {name: shape}.  x: shape of a batch; numbers of characters if `text`.  steps: from "x" and
    "y" to "loss".  adam: the optimizer is Adam, otherwise SGD with momentum."""

    def __init__(self, parameters, steps, x, buffers=None, text=False, adam=False):
        self.parameters, self.buffers, self.steps, self.adam = parameters, buffers or {}, steps, adam
        self.draw = random.Random(SEED)
        self.inputs = ["x", "y", *self.parameters, *self.buffers]
        self.batches = [(self.whole(x, CHARACTERS) if text else self.real(x),
                         self.whole(x if text else [BATCH], CHARACTERS if text else CLASSES)) for _ in range(BATCHES)]
        self.data = {name: self.initial(name, shape) for name, shape in {**self.parameters, **self.buffers}.items()}

    def filled(self, shape, element):
        return [self.filled(shape[1:], element) for _ in range(shape[0])] if shape else element()

    def real(self, shape):
        return {"dtype": "float32", "data": self.filled(shape, lambda: self.draw.uniform(-0.5, 0.5))}

    def whole(self, shape, below):
        return {"dtype": "int64", "data": self.filled(shape, lambda: self.draw.randrange(below))}

    def initial(self, name, shape):
        if name.endswith(".batches"):
            return {"dtype": "int64", "data": 0}
        if name.endswith(".var"):
            return {"dtype": "float32", "data": [1.0] * shape[0]}
        return self.real(shape)


NETWORKS = {
    "MLP": Network(
        {**linear_parameters("in", 16, 12), **linear_parameters("middle", 8, 16), **linear_parameters("out", CLASSES, 8)},
        [linear("h", "x", "in"), step("a", "relu_", ref("h")), step("d", "dropout", ref("h"), 0.25, True),
         linear("m", "d", "middle"), step("t", "tanh", ref("m")), *classify("t")],
        [BATCH, 12]),
    "CNN": Network(
        {"conv1": [CHANNELS, 1, 3, 3], **norm_parameters("bn"), "conv2": [CHANNELS, CHANNELS, 3, 3],
         **linear_parameters("out", CLASSES, CHANNELS * 4)},
        [conv("c1", "x", "conv1", 1, 1), *norm("n1", "c1", "bn"), step("r1", "relu_", ref("n1")),
         step("p1", "max_pool2d", ref("n1"), [2, 2]), conv("c2", "p1", "conv2", 1, 1), step("r2", "relu", ref("c2")),
         step("p2", "avg_pool2d", ref("r2"), [2, 2]), step("flat", "flatten.using_ints", ref("p2"), 1), *classify("flat")],
        [BATCH, 1, 8, 8], norm_buffers("bn")),
    "ResNet block": Network(
        {"conv1": [CHANNELS, 2, 3, 3], **norm_parameters("bn1"), "conv2": [CHANNELS, CHANNELS, 3, 3], **norm_parameters("bn2"),
         "conv3": [CHANNELS, 2, 1, 1], **norm_parameters("bn3"), **linear_parameters("out", CLASSES, CHANNELS)},
        [conv("c1", "x", "conv1", 2, 1), *norm("n1", "c1", "bn1"), step("r1", "relu_", ref("n1")),
         conv("c2", "n1", "conv2", 1, 1), *norm("n2", "c2", "bn2"), conv("c3", "x", "conv3", 2, 0), *norm("n3", "c3", "bn3"),
         step("sum", "add_.Tensor", ref("n2"), ref("n3")), step("r2", "relu_", ref("n2")),
         step("pooled", "adaptive_avg_pool2d", ref("n2"), [1, 1]), step("flat", "flatten.using_ints", ref("pooled"), 1),
         *classify("flat")],
        [BATCH, 2, 8, 8], {**norm_buffers("bn1"), **norm_buffers("bn2"), **norm_buffers("bn3")}),
    "LSTM": Network(
        {"embedding": [CHARACTERS, WIDTH], "w_ih": [4 * HIDDEN, WIDTH], "w_hh": [4 * HIDDEN, HIDDEN], "b_ih": [4 * HIDDEN],
         "b_hh": [4 * HIDDEN], **linear_parameters("out", CHARACTERS, HIDDEN)},
        [step("e", "embedding", ref("embedding"), ref("x")), step("zeros", "new_zeros", ref("e"), [1, BATCH, HIDDEN]),
         step(["hidden", None, None], "lstm.input", ref("e"), [ref("zeros"), ref("zeros")],
              [ref("w_ih"), ref("w_hh"), ref("b_ih"), ref("b_hh")], True, 1, 0.0, True, False, True), *predict("hidden")],
        [BATCH, LENGTH], text=True, adam=True),
    "transformer block": Network(
        {"embedding": [CHARACTERS, WIDTH], "position": [LENGTH, WIDTH], "norm1.weight": [WIDTH], "norm1.bias": [WIDTH],
         **linear_parameters("attention", 3 * WIDTH, WIDTH), **linear_parameters("projection", WIDTH, WIDTH),
         "norm2.weight": [WIDTH], "norm2.bias": [WIDTH], **linear_parameters("wide", 4 * WIDTH, WIDTH),
         **linear_parameters("narrow", WIDTH, 4 * WIDTH), **linear_parameters("out", CHARACTERS, WIDTH)},
        [step("e", "embedding", ref("embedding"), ref("x")), step("x0", "add_.Tensor", ref("e"), ref("position")),
         layer_norm("n1", "e", "norm1"), linear("qkv", "n1", "attention"), step("parts", "chunk", ref("qkv"), 3, -1),
         *heads("q", "parts", 0), *heads("k", "parts", 1), *heads("v", "parts", 2),
         step("kt", "transpose.int", ref("k"), -2, -1), step("scores", "matmul", ref("q"), ref("kt")),
         step("scaled", "mul_.Scalar", ref("scores"), HEAD ** -0.5),
         step("square", "new_ones", ref("e"), [LENGTH, LENGTH]), step("later", "triu", ref("square"), 1),
         step("mask", "ne.Scalar", ref("later"), 0), step("hide", "masked_fill_.Scalar", ref("scores"), ref("mask"), -1e9),
         step("p", "softmax.int", ref("scores"), -1), step("dp", "dropout", ref("p"), 0.1, True),
         step("mixed", "matmul", ref("dp"), ref("v")), step("turned", "transpose.int", ref("mixed"), 1, 2),
         step("joined", "reshape", ref("turned"), [BATCH, LENGTH, WIDTH]), linear("projected", "joined", "projection"),
         step("x1", "add.Tensor", ref("e"), ref("projected")), layer_norm("n2", "x1", "norm2"),
         linear("wide", "n2", "wide"), step("gelu", "gelu", ref("wide")), linear("narrow", "gelu", "narrow"),
         step("x2", "add_.Tensor", ref("narrow"), ref("x1")), *predict("narrow")],
        [BATCH, LENGTH], text=True, adam=True),
}


def handle(tensor):
    return {"tensor": tensor["tensor"]}


def given(v):
    """What a program answered, as an input of the next one."""
    if isinstance(v, list):
        return [given(i) for i in v]
    return handle(v) if isinstance(v, dict) and "tensor" in v else v


class Training:
    """A training of one network from its start: the same data, parameters and random numbers each time."""

    def __init__(self, d, network):
        self.d, self.network = d, network
        self.at = {k: handle(d.call("tensor.create", requires_grad=k in network.parameters, **v)) for k, v in network.data.items()}
        self.parameters = [self.at[k] for k in network.parameters]
        kinds = ["exp_avg", "exp_avg_sq"] if network.adam else ["momentum"]
        self.state = {f"{k}.{kind}": handle(d.op("aten::zeros_like", self.at[k])) for kind in kinds for k in network.parameters}
        if network.adam:
            self.state.update({k + ".step": handle(d.op("aten::zeros", [])) for k in network.parameters})
        self.batches = [dict(zip("xy", (handle(d.call("tensor.create", **literal)) for literal in batch)))
                        for batch in network.batches]
        d.call("session.set", seed=SEED)

    def inputs(self, k):
        return {**self.batches[k % BATCHES], **self.at}

    def run(self, program, inputs, grad):
        return self.d.call("program.run", program=program, inputs=inputs, grad_enabled=grad)["outputs"]

    def read(self, tensor):
        return self.d.call("tensor.read", **tensor)["data"]

    def update(self, gradients):
        self.d.call("op.call", **optimizer(self.network, self.parameters, gradients, lambda name: self.state[name]))

    def calls(self, k):
        made = {}
        for s in self.network.steps:
            args = [argument({**self.inputs(k), **made}, a) for a in s["args"]]
            results = self.d.call("op.call", op=s["op"], args=args)["outputs"]
            made.update({name: given(v) for name, v in zip(s["as"], results) if name})
        self.d.call("grad.backward", tensors=[made["loss"]])
        handles = [p["tensor"] for p in self.parameters]
        self.update([handle(self.d.call("grad.get", tensor=h)["grad"]) for h in handles])
        self.d.call("grad.zero", tensors=handles)
        return made["loss"]

    def whole(self, program, grad=False):
        """A function of k: `program` does a whole step."""
        return lambda k: handle(self.run(program, {**self.inputs(k), **self.state}, grad)[0])

    def halves(self, made):
        """A function of k: the forward program, the backward program, and a call of the optimizer."""
        def one(k):
            loss, *saved = self.run(made["forward"], self.inputs(k), False)
            seed = {"grad_loss": handle(self.d.op("aten::ones_like", handle(loss)))}
            self.update([handle(g) for g in self.run(made["backward"], {
                **{f"saved{i}": given(v) for i, v in enumerate(saved)}, **seed}, False)])
            return handle(loss)
        return one

    def train(self, one):
        """(losses, parameters and buffers afterwards)"""
        losses = [self.read(one(k)) for k in range(STEPS)]
        return losses, {k: self.read(t) for k, t in self.at.items()}


def argument(values, a):
    if isinstance(a, list):
        return [argument(values, i) for i in a]
    if not isinstance(a, dict):
        return a
    return values[a["ref"]][a["index"]] if "index" in a else values[a["ref"]]


def optimizer(network, parameters, gradients, state):
    """The step or the call that updates the parameters.  state: what names one of the optimizer's tensors."""
    def every(kind):
        return [state(f"{k}.{kind}") for k in network.parameters]
    if network.adam:
        return {"op": "optim::adam_", "kwargs": {"lr": 0.02},
                "args": [parameters, gradients, every("exp_avg"), every("exp_avg_sq"), [], every("step")]}
    return {"op": "optim::sgd_", "args": [parameters, gradients, every("momentum")], "kwargs": {"lr": 0.1, "momentum": 0.9}}


def programs(d, network):
    """(the program of the loss, that of a whole step)"""
    state, parameters = Training(d, network).state, [ref(k) for k in network.parameters]
    end = [{"op": "grad::gradients", "args": [[ref("loss")], parameters], "as": ["gradients"]},
           {**optimizer(network, parameters, ref("gradients"), ref), "as": []}]

    def create(steps, more):
        return d.call("program.create", steps=steps, inputs=[{"name": n, "type": "Tensor"} for n in [*network.inputs, *more]],
                      outputs=["loss"])["program"]
    return create(network.steps, []), create(network.steps + end, state)


def check(f, name):
    """Train the network in every way."""
    network = NETWORKS[name]
    with f.connect() as d:
        def new():
            return Training(d, network)

        def passed(program):
            return d.call("program.pass", program=program, passes=PASSES)["program"]

        def differ(one, how):
            """one: from a training to its function of k."""
            training = new()
            got = training.train(one(training))
            for got_part, want_part, part in zip(got, want, ("losses", "parameters and buffers")):
                equal(got_part, want_part, f"{name}, {how}: {part}")

        training = new()
        want = training.train(training.calls)
        less(want[0][-1], want[0][0], f"{name}: the last loss")
        loss, whole = programs(d, network)
        differ(lambda t: t.whole(whole, True), "the program as it was written")
        differ(lambda t: t.whole(passed(whole), True), "after passes")
        for how, program in ("captured", whole), ("passes, then captured", passed(whole)):
            t = new()
            captured = d.call("program.capture", program=program, inputs={**t.inputs(0), **t.state})["program"]
            differ(lambda t: t.whole(captured), how)
            differ(lambda t: t.whole(passed(captured)), how + ", then passes")
        for how, program in ("", loss), ("passes, then ", passed(loss)):
            for more in {}, {"partition": "min_cut"}:
                made = d.call("program.grad", program=program, inputs=new().inputs(0), wrt=list(network.parameters), **more)
                differ(lambda t: t.halves(made), f"{how}program.grad {more}")
                less(made["saved_bytes"], made["default_bytes"] + 1, f"{name} {how}{more}: bytes saved")


def test_mlp(f):
    check(f, "MLP")


def test_cnn(f):
    check(f, "CNN")


def test_resnet_block(f):
    check(f, "ResNet block")


def test_lstm(f):
    check(f, "LSTM")


def test_transformer_block(f):
    check(f, "transformer block")


main(TestDaemon, TestDaemon.finish)
