"""digits.py -- a network that reads hand-written digits: its data, its layers, and its training.

The layers are steps of the program in digits.json.  A step can also be one op.call, see run_each()."""

import json
import os
import struct

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "data")
DTYPES = {"F32": "float32", "F64": "float64", "U8": "uint8", "I64": "int64"}
CODES = {"float32": "f", "float64": "d", "int64": "q"}  # format characters of the module struct

PARAMETERS = [layer + "." + kind for layer in ("conv1", "bn1", "conv2", "fc1", "fc2")
              for kind in ("weight", "bias")]
BUFFERS = ["bn1.running_mean", "bn1.running_var"]


def read_safetensors(name):
    """Return {tensor name: tensor literal for the daemon}."""
    with open(os.path.join(DATA, name), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {k: {"dtype": DTYPES[v["dtype"]], "shape": v["shape"],
                "attachment": body[slice(*v["data_offsets"])]}
            for k, v in header.items() if k != "__metadata__"}


def numbers(literal):
    """Return the elements of a tensor literal, or of a tensor answered as an attachment."""
    code = CODES[literal["dtype"]]
    return struct.unpack(f"<{len(literal['attachment']) // struct.calcsize(code)}{code}",
                         literal["attachment"])


def difference(a, b):
    """Return the largest difference between two sequences of numbers; a NaN counts as infinity."""
    return max(abs(x - y) if abs(x - y) >= 0 else float("inf") for x, y in zip(a, b, strict=True))


def ref(name):
    return {"ref": name}


def step(as_, op, *args, **kwargs):
    return {"op": "aten::" + op, "args": list(args), "kwargs": kwargs, "as": [as_]}


# a whole step of training: the forward pass of the row of "batches" with index "k" up to "loss", the
# gradients, and what torch.optim.SGD does in step()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.json"), encoding="utf-8") as _file:
    PROGRAM = json.load(_file)
TRAIN = PROGRAM["steps"]
FORWARD = TRAIN[:-2]
LEARNING_RATE, MOMENTUM = TRAIN[-1]["kwargs"]["lr"], TRAIN[-1]["kwargs"]["momentum"]


def network(training):
    """Return the steps from the images "x" to "log_probs".  `training`: batch_norm normalises with
    the mean and variance of x, and updates the running mean and variance."""
    steps = json.loads(json.dumps(FORWARD[3:-1]))
    for s in steps:
        if s["op"] == "aten::batch_norm":
            s["args"][5] = training
    return steps


def run_each(d, steps, values):
    """Run each step as one op.call; return {name of a result: handle}.  `values`: arguments by name."""
    made = {}
    for s in steps:
        args = [(made.get(a["ref"]) or values[a["ref"]]) if isinstance(a, dict) else a
                for a in s["args"]]
        made[s["as"][0]] = handle(d.op(s["op"], *args, **s.get("kwargs", {})))
    return made


def handle(tensor):
    """Return the argument {"tensor": handle} that names a tensor of an answer."""
    return {"tensor": tensor["tensor"]}


class Training:
    """The training recorded in digits_training.safetensors, done again on connection `d`.

    as_program: each step of training is one program.run; otherwise it is an op.call for each layer, a
    grad.backward, and an op.call for the update."""

    def __init__(self, d, as_program):
        literals = read_safetensors("digits.safetensors")
        recorded = read_safetensors("digits_training.safetensors")
        self.d = d
        self.losses = numbers(recorded["losses"])
        self.final = {k: numbers(recorded["final." + k]) for k in PARAMETERS + BUFFERS}
        literals["batches"] = recorded["batches"]
        for k in PARAMETERS + BUFFERS:
            literals[k] = recorded["init." + k]
        self.tensors = {k: handle(d.call("tensor.create", **v)) for k, v in literals.items()}
        self.tensors["images"] = self.scaled(self.tensors["images"])
        self.parameters = [self.tensors[k] for k in PARAMETERS]
        self.momenta = [handle(d.op("aten::zeros_like", p)) for p in self.parameters]
        for p in self.parameters:
            d.op("aten::requires_grad_", p)
        self.program = None
        if as_program:
            self.inputs = {**self.tensors, **{k + ".momentum": m for k, m in zip(PARAMETERS, self.momenta)}}
            self.program = d.call("program.create", **PROGRAM)["program"]

    def scaled(self, images):
        """Return the images as float64 from 0 to 1; the integers are released."""
        floats = handle(self.d.op("aten::_to_copy", images, dtype="float64"))
        scaled = handle(self.d.op("aten::div.Scalar", floats, 16))
        self.d.release(images, floats)
        return scaled

    def forward(self, k):
        """Return the loss of batch k, a tensor with a graph."""
        made = run_each(self.d, FORWARD, {**self.tensors, "k": k})
        loss = made.pop("loss")
        self.d.release(*made.values())  # the graph has saved what backward needs
        return loss

    def update(self):
        """Do what torch.optim.SGD does in step() and zero_grad()."""
        d, handles = self.d, [p["tensor"] for p in self.parameters]
        grads = [handle(d.call("grad.get", tensor=h)["grad"]) for h in handles]
        d.op("optim::sgd_", self.parameters, grads, self.momenta, lr=LEARNING_RATE, momentum=MOMENTUM)
        d.call("grad.zero", tensors=handles)
        d.release(*grads)

    def step(self, k):
        """Train with batch k; return the loss of the batch before the weights changed."""
        if self.program:
            loss, = self.d.call("program.run", program=self.program, inputs={**self.inputs, "k": k},
                                **{"return": "data"})["outputs"]
            return loss["data"]
        loss = self.forward(k)
        self.d.call("grad.backward", tensors=[loss])
        self.update()
        value, = self.read(loss)
        self.d.release(loss)
        return value

    def weight_difference(self):
        """Return the largest difference between the weights and the recorded final ones."""
        return max(difference(self.read(self.tensors[k]), v) for k, v in self.final.items())

    def read(self, tensor):
        return numbers(self.d.call("tensor.read", **tensor, **{"as": "attachment"}))

    def close(self):
        if self.program:
            self.d.call("program.release", program=self.program)
        self.d.release(*self.tensors.values(), *self.momenta)
