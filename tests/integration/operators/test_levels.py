"""test_levels.py -- kernels for wider vectors give the same bytes, and the environment chooses among them."""

import itertools
import math
import os
import platform
import random
import struct

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

ENV = "DISPATCHD_CPU_CAPABILITY"
N = 1003
UNARY = ["neg", "abs", "floor", "relu", "sqrt", "reciprocal", "sign", "digamma", "lgamma", "erfinv", "i0", "special_erfcx",
         "special_airy_ai", "special_entr"]
ROWS, COLUMNS = 70, 20011  # more columns than a chunk has elements
# name, arguments after the tensor
REDUCED = [(name, [dims, False]) for name in ("sum.dim_IntList", "mean.dim", "amax") for dims in ([0], [1], [0, 1])] + [
    ("var.correction", [[0]]), ("var.correction", [[1]]), ("linalg_vector_norm", []), ("linalg_vector_norm", [3]),
    ("argmax", [0]), ("argmax", [1]), ("_softmax", [0, False]), ("_softmax", [1, False]), ("_log_softmax", [1, False]),
    ("cumsum", [0]), ("cumsum", [1]), ("logsumexp", [[1]])]
BINARY = ["add.Tensor", "mul.Tensor", "div.Tensor", "maximum", "eq.Tensor", "remainder.Tensor"]


def levels():
    """The levels that this machine has, lowest first."""
    with open("/proc/cpuinfo") as f:
        flags = set(next((line for line in f if line.startswith("flags")), "").split())
    wider = [("avx2", {"avx2", "fma", "bmi2", "f16c"}), ("avx512", {"avx512f", "avx512bw", "avx512vl", "avx512dq"})]
    return ["default"] + [name for name, needs in wider if platform.machine() == "x86_64" and needs <= flags]


def results(level):
    """What every operator gives at one level, as bytes."""
    rnd = random.Random(5)
    data = [struct.pack(f"<{N}f", *(rnd.gauss(0, 3) for _ in range(N))) for _ in "ab"]
    with TestDaemon(env={ENV: level}) as daemon, daemon.connect() as d:
        a, b = ({"tensor": d.call("tensor.create", dtype="float32", shape=[N], attachment=x)["tensor"]}
                for x in data)
        found = {}
        for args, names in (([a], UNARY), ([a, b], BINARY)):
            for name in names:
                out = d.op("aten::" + name, *args, returns="attachment")
                found[name] = bytes(out["attachment"])
        d.release(a["tensor"], b["tensor"])
    return found


def test_every_level_gives_the_same_bytes():
    first = results("default")
    for level in levels()[1:]:
        got = results(level)
        equal([name for name in first if got[name] != first[name]], [], f"operators that differ at {level}")


def refused(level):
    with TestDaemon("--no-plugins", env={ENV: level}) as daemon, daemon.connect() as d:
        d.call("plugin.load", path=os.path.join(BUILD, "plugins", "aten.so"))
        path = os.path.join(BUILD, "plugins", "cpu.so")
        return raises(lambda: d.call("plugin.load", path=path), "RuntimeError", ENV, repr(level))


def reduced(level, threads):
    """What every reduction gives of a matrix and of its transpose, as bytes."""
    rnd = random.Random(6)
    data = struct.pack(f"<{ROWS * COLUMNS}f", *(rnd.gauss(0, 3) for _ in range(ROWS * COLUMNS)))
    with TestDaemon("--threads", str(threads), env={ENV: level}) as daemon, daemon.connect() as d:
        matrix = {"tensor": d.call("tensor.create", dtype="float32", shape=[ROWS, COLUMNS], attachment=data)["tensor"]}
        turned = {"tensor": d.op("aten::t", matrix)["tensor"]}
        found = {f"{name} {args} {what}": bytes(d.op("aten::" + name, x, *args, returns="attachment",
                                                     **({"correction": 1} if "correction" in name else {}))["attachment"])
                 for name, args in REDUCED for what, x in (("", matrix), ("transposed", turned))}
        d.release(matrix["tensor"], turned["tensor"])
    return found


def test_reductions_give_the_same_bytes_at_every_level_and_number_of_threads():
    first = reduced("default", 1)
    for level in levels():
        for threads in (1, 4):
            got = reduced(level, threads)
            equal([name for name in first if got[name] != first[name]], [], f"{threads} threads at {level}")


def test_a_tensor_expanded_beyond_memory_is_summed_where_it_is():
    with TestDaemon() as daemon, daemon.connect() as d:
        one = {"tensor": d.call("tensor.create", dtype="float32", shape=[1], attachment=struct.pack("<f", 0.5))["tensor"]}
        wide = {"tensor": d.op("aten::expand", one, [400000000])["tensor"]}
        total = d.op("aten::sum", wide, returns="attachment")["attachment"]
        equal(struct.unpack("<f", bytes(total)), (2e8,))
        d.release(one["tensor"], wide["tensor"])


def test_an_unknown_level_refuses_the_plugin():
    error = refused("sse9")
    equal("default, avx2 or avx512" in error.message, True, error.message)


def test_a_level_that_the_machine_lacks_refuses_the_plugin():
    if "avx512" not in levels():
        error = refused("avx512")
        equal(repr(levels()[-1]) in error.message, True, error.message)


def test_where_broadcasts():
    """Every operand of where in every shape that broadcasts to [3, 40], at every level."""
    shapes = [[3, 40], [3, 1], [1, 40], [40], [1, 1]]

    def element(values, shape, i, j):
        rows, columns = ([1] + shape)[-2:]
        return values[(i if rows > 1 else 0) * columns + (j if columns > 1 else 0)]

    def literal(dtype, shape, values):
        n = shape[-1]
        rows = [values[i:i + n] for i in range(0, math.prod(shape), n)]
        return {"dtype": dtype, "data": rows if len(shape) > 1 else rows[0]}

    truth, first, second = [i % 3 != 1 for i in range(120)], list(range(120)), list(range(120, 240))
    for level in levels():
        with TestDaemon(env={ENV: level}) as daemon, daemon.connect() as d:
            for c, a, b in itertools.product(shapes, shapes, shapes):
                for dtype in ("float32", "uint8") if c == [3, 1] else ("int64",):
                    got = d.op("aten::where.self", literal("bool", c, truth), literal(dtype, a, first),
                               literal(dtype, b, second), returns="data")
                    rows, columns = (max(([1] + s)[-2:][k] for s in (c, a, b)) for k in (0, 1))
                    want = [element(first, a, i, j) if element(truth, c, i, j) else element(second, b, i, j)
                            for i in range(rows) for j in range(columns)]
                    flat = got["data"]
                    while flat and isinstance(flat[0], list):
                        flat = [x for row in flat for x in row]
                    equal(flat, want, f"{level}, {dtype}: {c} {a} {b}")


main()
