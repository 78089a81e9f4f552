"""test_draws.py -- random operators give what PyTorch's give for the same seed, whatever the number of threads."""

import json
import os
import struct
import zlib

from harness import ROOT, equal, main
from daemon import TestDaemon

CLOSE = 1e-6
LETTERS = {"float32": "f", "float64": "d"}


def cases():
    with open(os.path.join(ROOT, "tests", "data", "draw_cases.jsonl")) as f:
        return [json.loads(line) for line in f]


def first_argument(d, op, dtype, size):
    if op == "randperm":
        return size
    data = range(1, size + 1) if op == "multinomial" else [0] * size
    return {"tensor": d.call("tensor.create", dtype=dtype, data=list(data))["tensor"]}


def draw(d, op, args, dtype, size, **kwargs):
    """(dtype, bytes) of what the operator gave or filled"""
    first = first_argument(d, op, dtype, size)
    name = "randperm.generator" if op == "randperm" else op
    if op == "randperm":
        kwargs["dtype"] = "int64"
    out = d.call("op.call", op="aten::" + name, args=[first, *args], kwargs=kwargs)["outputs"][0]
    got = d.call("tensor.read", tensor=out["tensor"], **{"as": "attachment"})
    d.call("tensor.release", tensors=[], all=True)
    return got["dtype"], bytes(got["attachment"])


def some(values):
    return values if len(values) <= 17 else values[:4] + values[-20:-16] + values[-2:]


def check(d, case, **kwargs):
    for op, args, dtype, size, want in case["calls"]:
        what = f"seed {case['seed']}: {op} {args} {dtype} {size}"
        got_dtype, data = draw(d, op, args, dtype, size, **kwargs)
        if isinstance(want, int):
            equal(zlib.crc32(data), want, what)
            continue
        letter = LETTERS[got_dtype]
        got = some(list(struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)))
        far = [(g, w) for g, w in zip(got, want) if abs(g - w) > CLOSE * (1 + abs(w))]
        equal((len(got), far), (len(want), []), what)


def create(d, seed):
    return {"generator": d.call("generator.create", seed=seed if abs(seed) < 2**53 else str(seed))["generator"]}


def test_operators_draw_what_pytorchs_draw(daemon):
    with daemon.connect() as d:
        equal(len(cases()), 10, "seeds")
        for case in cases():
            g = create(d, case["seed"])
            check(d, case, generator=g)
            state = d.call("generator.state", **g, **{"return": "attachment"})["state"]["attachment"]
            equal(zlib.crc32(bytes(state)), case["state"], f"seed {case['seed']}: state")
            d.call("generator.release", generators=[g["generator"]])


def large(threads):
    """CRCs of what takes long enough for several threads."""
    with TestDaemon("--threads", str(threads)) as daemon, daemon.connect() as d:
        d.call("session.set", seed=11)
        calls = [("uniform_", [], "float32"), ("normal_", [], "float32"), ("normal_", [], "float64"), ("bernoulli_.float", [0.5], "uint8")]
        return [zlib.crc32(draw(d, op, args, dtype, 300007)[1]) for op, args, dtype in calls]


def test_the_number_of_threads_changes_nothing():
    equal(large(1), large(4), "CRCs with one thread and with four")


def test_a_generator_is_no_further_after_a_call_that_was_refused(daemon):
    with daemon.connect() as d:
        g = create(d, 5)
        before = d.call("generator.state", **g, **{"return": "attachment"})["state"]["attachment"]
        for op, args in (("aten::uniform_", [2.0, 1.0]), ("aten::bernoulli_.float", [1.5]), ("aten::random_.to", [0])):
            try:
                d.op(op, {"data": [1.0, 2.0]}, *args, generator=g)
                raise AssertionError(f"{op} {args} was not refused")
            except Exception as e:
                equal(getattr(e, "type", repr(e)), "RuntimeError", op)
        after = d.call("generator.state", **g, **{"return": "attachment"})["state"]["attachment"]
        equal(bytes(after) == bytes(before), True, "the state is the same")


if __name__ == "__main__":
    main(TestDaemon, TestDaemon.finish)
