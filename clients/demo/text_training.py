"""text_training.py -- trains a network to predict the next character of a text: what char_lstm.py and
transformer.py have in common.

A step of training is one program: it picks a batch of windows of the text, runs the network's own steps, and
ends with the gradients and a step of Adam.  All tensors stay in the daemon."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import dispatchd

TEXT = os.path.join(HERE, "..", "..", "LICENSE")
SEED = 20  # for the weights and the batches
STEPS, BATCH, WINDOW = 100, 16, 32  # steps of training; windows in a batch; characters in a window


def ref(name, index=None):
    """Return an argument of a step: the value called `name`, or element `index` of that list."""
    return {"ref": name} if index is None else {"ref": name, "index": index}


def step(as_, op, *args, **kwargs):
    """Return a step of a program, a call of an operator of aten.  `as_`: the name of its result, or a list of names."""
    return {"op": "aten::" + op, "args": list(args), "kwargs": kwargs, "as": [as_] if isinstance(as_, str) else as_}


# from the batches to the characters "x" and those that follow them, "y"
BEGIN = [
    step("rows", "select.int", ref("batches"), 0, ref("k")),
    step("window", "index_select", ref("windows"), 0, ref("rows")),
    step("x", "slice.Tensor", ref("window"), 1, 0, WINDOW),
    step("after", "slice.Tensor", ref("window"), 1, 1, WINDOW + 1),
    step("y", "flatten.using_ints", ref("after")),
]


def end(parameters, lr):
    """Return the steps from the network's "logits" [batch, window, characters] to the new weights."""
    lists = [[ref(p + kind) for p in parameters] for kind in ("", ".exp_avg", ".exp_avg_sq", ".step")]
    return [
        step("flat", "flatten.using_ints", ref("logits"), 0, 1),
        step("loss", "cross_entropy_loss", ref("flat"), ref("y")),
        {"op": "grad::gradients", "args": [[ref("loss")], lists[0]], "as": ["grads"]},
        {"op": "optim::adam_", "args": [lists[0], ref("grads"), lists[1], lists[2], [], lists[3]],
         "kwargs": {"lr": lr}, "as": []},
    ]


def read_text():
    """Return the text as numbers of its characters, and how many characters differ."""
    with open(TEXT, encoding="utf-8") as f:
        text = f.read()
    number = {c: i for i, c in enumerate(sorted(set(text)))}
    return [number[c] for c in text], len(number)


class Training:
    """The training of one network on connection `d`.

    parameters: {name: (shape, scale)} of the weights: random numbers of the standard normal distribution times
    `scale`; ones if that is None.  network: steps from "x" to "logits"; they may also use the tensors in
    `constants`, {name: literal}."""

    def __init__(self, d, parameters, network, constants, lr):
        self.d = d
        d.call("session.set", seed=SEED)
        text, _ = read_text()
        self.weights = {name: self.weight(*wanted) for name, wanted in parameters.items()}
        batches = self.op("randint", len(text) - WINDOW, [STEPS, BATCH])
        text = {"tensor": d.call("tensor.create", data=text, dtype="int64")["tensor"]}
        self.inputs = {"batches": batches, "windows": self.op("unfold", text, 0, WINDOW + 1, 1), **self.weights}
        for name, weight in self.weights.items():
            self.op("requires_grad_", weight)
            self.inputs[name + ".exp_avg"] = self.op("zeros_like", weight)
            self.inputs[name + ".exp_avg_sq"] = self.op("zeros_like", weight)
            self.inputs[name + ".step"] = self.op("zeros", [])
        self.program = d.call("program.create", steps=[*BEGIN, *network, *end(parameters, lr)], outputs=["loss"],
                              constants=constants,
                              inputs=[{"name": n, "type": "Tensor"} for n in self.inputs] + [{"name": "k", "type": "int"}])["program"]

    def op(self, name, *args, **kwargs):
        """Call an operator; return its result as an argument of the next call."""
        return {"tensor": self.d.op("aten::" + name, *args, **kwargs)["tensor"]}

    def weight(self, shape, scale):
        return self.op("ones", shape) if scale is None else self.op("mul_.Scalar", self.op("randn", shape), scale)

    def losses(self):
        """Train for STEPS steps; return the loss of each batch before its step."""
        for k in range(STEPS):
            self.d.send("program.run", program=self.program, inputs={**self.inputs, "k": k}, **{"return": "data"})
        return [self.d.receive()["outputs"][0]["data"] for _ in range(STEPS)]


def main(new):
    """Train what new(d) returns, a Training, and print every tenth loss."""
    with dispatchd.connect() as d:  # the session ends with the connection, and so do its tensors
        losses = new(d).losses()
    for k in [*range(0, STEPS, 10), STEPS - 1]:
        print(f"step {k:3}   loss {losses[k]:.4f}")
