"""test_threads.py -- a result does not depend on how many threads computed it.

They differ from call to call: a connection chooses, and others that ask take a core away."""

import random
import struct

from harness import equal, main
from daemon import TestDaemon

THREADS = 5
SHAPES = {"v": [300001], "m": [401, 303], "w": [303, 517], "b": [517], "a": [9, 61, 70], "c": [9, 70, 83],
          "x": [13, 16, 19, 21], "k": [24, 16, 3, 3], "ch": [16], "long": [3, 70001], "u": [303]}

# operator and arguments; a name of SHAPES is that tensor
CASES = [
    ("aten::add.Tensor", ["v", "v"]), ("aten::exp", ["v"]), ("aten::tanh", ["m"]),
    ("aten::sum", ["v"]), ("aten::mean", ["v"]), ("aten::prod", ["ch"]),
    ("aten::sum.dim_IntList", ["m", [0]]), ("aten::sum.dim_IntList", ["m", [1]]),
    ("aten::mean.dim", ["x", [0, 2, 3]]), ("aten::argmax", ["long", 1]), ("aten::amax", ["long", [1]]),
    ("aten::mm", ["m", "w"]), ("aten::addmm", ["b", "m", "w"]), ("aten::bmm", ["a", "c"]), ("aten::mv", ["m", "u"]),
    ("aten::convolution", ["x", "k", None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1]),
    ("aten::max_pool2d", ["x", [2, 2]]), ("aten::avg_pool2d", ["x", [2, 2]]),
    ("aten::batch_norm", ["x", "ch", "ch", None, None, True, 0.1, 1e-5, False]),
    ("aten::layer_norm", ["m", [303]]),
    ("aten::softmax.int", ["long", 1]), ("aten::log_softmax.int", ["m", 0]),
]


def bytes_of(d, op, args):
    answer = d.call("op.call", op=op, args=args, **{"return": "attachment"})
    return [bytes(o["attachment"]) for o in answer["outputs"]]


def test_any_number_gives_the_same_bytes(daemon):
    rnd = random.Random(3)
    with daemon.connect() as d:
        tensors = {}
        for name, shape in SHAPES.items():
            n = 1
            for s in shape:
                n *= s
            data = struct.pack(f"<{n}f", *(rnd.gauss(0, 1) for _ in range(n)))
            tensors[name] = d.call("tensor.create", dtype="float32", shape=shape, attachment=data)
        for op, args in CASES:
            args = [{"tensor": tensors[a]["tensor"]} if isinstance(a, str) else a for a in args]
            d.call("session.set", num_threads=1)
            one = bytes_of(d, op, args)
            assert len(one[0]) > 0, op
            for n in range(2, THREADS + 1):
                d.call("session.set", num_threads=n)
                equal([a == b for a, b in zip(bytes_of(d, op, args), one)], [True] * len(one),
                      f"{op} with {n} threads is as with one")
        d.release(*tensors.values())


main(lambda: TestDaemon("--threads", str(THREADS)), TestDaemon.finish)
