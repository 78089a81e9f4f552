"""test_out_calls.py -- the recorded calls (tests/data/calls.jsonl) of overloads that have one with out=: into outputs of
the right shape, of no elements, transposed and over the memory of an input, the results are those of the functional one."""

import json
import os

from harness import ROOT, equal, less, main
from daemon import TestDaemon
import dispatchd

UNDEFINED = ("empty", "new_empty", "resize")  # elements are anything
# These resize nothing, and copies of views do not: all so in PyTorch.
FIXED = {"aten::" + name for name in ("_compute_linear_combination.out", "binary_cross_entropy.out", "binary_cross_entropy_backward.grad_input",
                                      "normal.Tensor_float_out")}
# (overload, how, why the results are others)
KNOWN = {
    ("glu_backward.grad_input", "input"): "the second half is computed from the first one, which is written by then, as in PyTorch",
    ("normal.Tensor_Tensor_out", "input"): "drawn over the mean, as in PyTorch",
    ("normal.Tensor_float_out", "input"): "drawn over the mean, as in PyTorch",
    ("normal.float_Tensor_out", "input"): "drawn over the standard deviation, as in PyTorch",
    ("normal.Tensor_Tensor_out", "transposed"): "drawn in the order of memory, as in PyTorch",
    ("normal.Tensor_float_out", "transposed"): "drawn in the order of memory, as in PyTorch",
} | {("linalg_svdvals.out", how): "without out= singular vectors are computed, too, for gradients: LAPACK then rounds otherwise"
     for how in ("same", "empty", "transposed", "input")}


class Call:
    """The arguments of a recorded call as tensors of the session, made anew for each use."""

    def __init__(self, d, line):
        self.d, self.line, self.handles = d, line, []
        for told in line["tensors"]:
            if "of" in told:
                base = self.handles[told["of"]]
            else:
                data = told["data"]
                if told["dtype"].startswith("complex"):
                    data = [data[i:i + 2] for i in range(0, len(data), 2)]
                data = [bool(x) for x in data] if told["dtype"] == "bool" else data
                base = d.call("tensor.create", dtype=told["dtype"], shape=[len(data)], data=data)["tensor"]
            self.handles.append(self.strided(base, told["sizes"], told["strides"], told["offset"]))

    def strided(self, base, sizes, strides, offset=0):
        return self.d.op("aten::as_strided", {"tensor": base}, sizes, strides, offset)["tensor"]

    def value(self, v):
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if not isinstance(v, dict):
            return v
        (kind, of), = v.items()
        return {"t": lambda: {"tensor": self.handles[of]}, "f": lambda: {"float": of}, "i": lambda: {"int": of},
                "c": lambda: {"complex": of}}[kind]()

    def run(self, op, outs=None):
        """(what the call answers, its outputs as the session's tensors, each a list)"""
        self.d.call("session.set", seed=1)
        kwargs = {k: self.value(v) for k, v in self.line["kwargs"].items()} | \
            {k: [{"tensor": h} for h in hs] if many else {"tensor": hs[0]} for k, (many, hs) in (outs or {}).items()}
        answer = self.d.call("op.call", op=op, args=[self.value(a) for a in self.line["args"]], kwargs=kwargs)["outputs"]
        return [[o and o["tensor"] for o in (out if isinstance(out, list) else [out])] for out in answer]

    def read(self, handle):
        """None: there is no such output."""
        if handle is None:
            return None
        read = self.d.call("tensor.read", tensor=handle)
        return [read[k] for k in ("dtype", "shape", "data")]


def blank(call, dtype, shape, strides=None):
    """A new tensor of ones."""
    n = 1
    for size in shape:
        n *= size
    one = {"bool": True}.get(dtype, [1, 1] if dtype.startswith("complex") else 1)
    base = call.d.call("tensor.create", dtype=dtype, shape=[n], data=[one] * n)["tensor"]
    packed = [0] * len(shape)
    step = 1
    for dim in reversed(range(len(shape))):
        packed[dim], step = step, step * max(shape[dim], 1)
    return call.strided(base, shape, strides or packed)


def transposed(shape):
    """Strides of the dimensions in the opposite order."""
    strides, step = [], 1
    for size in shape:
        strides.append(step)
        step *= max(size, 1)
    return strides


def twins(d):
    """{functional overload: (overload with out=, [(name, whether it is a list)] of its outputs)}"""
    plain, found = {}, {}
    names = d.call("registry.list", namespace="aten")["ops"]
    described = {name: d.call("registry.describe", op=name)["arguments"] for name in names}
    signature = lambda name, args: (name.split(".")[0], tuple((a["name"], a["type"]) for a in args))
    for name, args in described.items():
        outs = [a for a in args if a["written"]]
        if outs and all(a["kwarg_only"] for a in outs):
            plain[signature(name, [a for a in args if not a["written"]])] = name, [(a["name"], "[" in a["type"]) for a in outs]
    for name, args in described.items():
        if not any(a["written"] for a in args) and signature(name, args) in plain:
            found[name] = plain[signature(name, args)]
    return found


def outputs_of(call, how, want, outs):
    """{name of output: (whether it is a list, tensors)}; how: "same", "empty" or "transposed"."""
    made = {}
    for (name, many), results in zip(outs, want):
        handles = []
        for dtype, shape, _ in results:
            if how == "same":
                handles.append(blank(call, dtype, shape))
            elif how == "transposed":
                handles.append(blank(call, dtype, shape, transposed(shape)))
            else:
                handles.append(blank(call, dtype, [0]))
        made[name] = many, handles
    return made


def inputs_alike(line, want):
    """(output, tensor of the call) where the tensor has the dtype and shape of the output."""
    for i, results in enumerate(want):
        for k, told in enumerate(line["tensors"]):
            dtype = told["dtype"] if "dtype" in told else line["tensors"][told["of"]]["dtype"]
            if len(results) == 1 and [dtype, told["sizes"]] == results[0][:2]:
                yield i, k
                break


def test_outputs_get_what_the_functional_overload_returns(daemon):
    compared, refused, wrong = 0, 0, []
    with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as f:
        lines = {line["op"]: line for line in map(json.loads, f)}
    with daemon.connect() as d:
        for source, (name, outs) in twins(d).items():
            if source not in lines:
                continue
            line = lines[source]
            first = Call(d, line)
            want = [[first.read(h) for h in results] for results in first.run(source)]
            if any(None in results for results in want):  # PyTorch has nothing to copy to out=, and refuses
                continue
            fixed = name in FIXED or "_copy." in name
            for how, over in [("same", None), ("transposed", None)] + [("empty", None)] * (not fixed) + \
                    [("input", pair) for pair in inputs_alike(line, want)]:
                if (name.removeprefix("aten::"), how) in KNOWN:
                    continue
                call = Call(d, line)
                given = outputs_of(call, how, want, outs)
                if over:
                    given[outs[over[0]][0]][1][0] = call.handles[over[1]]
                try:
                    call.run(name, given)
                except dispatchd.Error as e:
                    refused += 1
                    if not over:
                        wrong.append(f"{name} {how}: {e.message[:200]}")
                    continue
                got = [[call.read(h) for h in given[out][1]] for out, _ in outs]
                compared += 1
                if got != want and not source.split("::")[1].startswith(UNDEFINED):
                    wrong.append(f"{name} {how}: {str(got)[:300]}, want {str(want)[:300]}")
            d.call("tensor.release", tensors=[], all=True)
    print(f"{compared} calls compared, {refused} refused")
    print("\n".join(wrong))
    equal(len(wrong), 0, "outputs that differ from what the functional overload returns")
    less(2000, compared, "calls compared")


if __name__ == "__main__":
    main(TestDaemon, TestDaemon.finish)
