"""test_slopes.py -- gradients of operators that PyTorch 1.13 does not differentiate, beside the slopes of their
results: differences of what they answer for two inputs that are close together."""

import itertools

from harness import equal, less, main
from daemon import TestDaemon

STEP = 1e-6


class Slopes:
    """The gradients and the slopes of one function of tensors, by a weighted sum of its results."""

    def __init__(self, d, op, args):
        self.d, self.op, self.args = d, op, args
        self.wanted = [i for i, a in enumerate(args) if isinstance(a, dict) and a["dtype"] == "float64"]

    def call(self, op, *args):
        answer = self.d.call("op.call", op="aten::" + op, args=list(args))["outputs"]
        return [{"tensor": o["tensor"]} for o in (answer[0] if isinstance(answer[0], list) else answer)]

    def leaves(self, change=None):
        """(leaves without a shape, the arguments made of them); change: (argument, element, difference)"""
        leaves, made = [], list(self.args)
        for i, a in enumerate(self.args):
            if isinstance(a, dict):
                data = list(a["data"])
                if change and change[0] == i:
                    data[change[1]] += change[2]
                made[i] = {"tensor": self.d.call("tensor.create", data=data, dtype=a["dtype"])["tensor"]}
            if i in self.wanted:
                leaves.append(made[i])
                self.call("requires_grad_", made[i])
            if isinstance(a, dict):
                made[i] = self.call("reshape", made[i], a["shape"])[0]
        return leaves, made

    def loss(self, tensors):
        """The sum of the elements of the tensors, each with a weight of its own."""
        total = None
        for t in tensors:
            shape = self.d.call("tensor.describe", tensor=t["tensor"])["shape"]
            n = 1
            for size in shape:
                n *= size
            weights = {"tensor": self.d.call("tensor.create", data=[0.3 + 0.7 * (k * k % 5) for k in range(n)], dtype="float64")["tensor"]}
            part = self.call("dot", self.call("reshape", t, [n])[0], weights)[0]
            total = self.call("add.Tensor", total, part)[0] if total else part
        return total

    def first(self, leaves, made):
        return self.loss(self.call(self.op, *made))

    def second(self, leaves, made):
        grads = self.d.call("grad.backward", tensors=[self.first(leaves, made)], inputs=leaves, create_graph=True)
        return self.loss([{"tensor": g["tensor"]} for g in grads["grads"] if g])

    def check(self, function):
        leaves, made = self.leaves()
        loss = function(leaves, made)
        grads = [None] * len(leaves)
        if self.d.call("tensor.describe", tensor=loss["tensor"])["requires_grad"]:
            grads = self.d.call("grad.backward", tensors=[loss], inputs=leaves)["grads"]
        for i, grad in zip(self.wanted, grads):
            n = len(self.args[i]["data"])
            got = self.read(grad) if grad else [0] * n
            equal(len(got), n)
            for k in range(n):
                up, down = (self.read(function(*self.leaves((i, k, by)))) for by in (STEP, -STEP))
                less(abs(got[k] - (up - down) / (2 * STEP)), 1e-6, f"{self.op}: element {k} of argument {i}")
        self.d.call("tensor.release", tensors=[], all=True)

    def read(self, t):
        return self.d.call("tensor.read", tensor=t["tensor"])["data"]


def floats(*shape, of=0.0):
    n = 1
    for size in shape:
        n *= size
    return {"data": [round(0.2 + 0.13 * (k * 7 % 11) + of, 6) for k in range(n)], "shape": list(shape), "dtype": "float64"}


def bools(*data):
    return {"data": list(data), "shape": [len(data) // 3, 3], "dtype": "bool"}


CALLS = [
    *(("ormqr", [floats(3, 2), floats(2, of=0.1), floats(*shape, of=0.3), left, transpose])
      for (shape, left), transpose in itertools.product(((((3, 2)), True), ((2, 3), False)), (False, True))),
    ("ormqr", [floats(2, 3, 2), floats(2, 2), floats(2, 3, 1)]), ("ormqr", [floats(2, 0), floats(0), floats(2, 1)]),
    ("_aminmax", [floats(2, 3)]), ("_aminmax.dim", [floats(2, 3), 0]), ("_aminmax.dim", [floats(2, 3), 1, True]),
    ("_aminmax.dim", [floats(), 0, True]),
    ("_logcumsumexp", [floats(2, 3), 1]), ("_logcumsumexp", [floats(), 0]),
    ("_masked_softmax_backward", [floats(2, 3), floats(2, 3, of=0.3), bools(1, 0, 0, 0, 0, 1), 1]),
    ("_masked_softmax_backward", [floats(2, 3), floats(2, 3, of=0.3), bools(1, 0, 0, 0, 0, 1)])]


def test_gradients_are_slopes(daemon):
    with daemon.connect() as d:
        for op, args in CALLS:
            slopes = Slopes(d, op, args)
            slopes.check(slopes.first)
            slopes.check(slopes.second)


def test_the_gradient_of_a_determinant_has_slopes_where_it_is_zero(daemon):
    singular = {"data": [1, 2, 3, 2, 4, 6, 1, 0, 1, 2, 1, 0, 1, 3, 1, 0, 1, 2], "shape": [2, 3, 3], "dtype": "float64"}
    with daemon.connect() as d:
        for a in singular, {"data": [1, 2, 2, 4], "shape": [2, 2], "dtype": "float64"}:
            slopes = Slopes(d, "linalg_det", [a])
            slopes.check(slopes.second)


main(TestDaemon, lambda daemon: daemon.__exit__(None, None, None))
