"""record_samples.py [PATTERN] -- write proto/samples/calls.jsonl, the samples of `dispatchctl conform`.

Each line is a call of a backend operator that PyTorch makes for one of its own samples (OpInfo): the operator, its
arguments as the protocol writes them, and the geometry of its tensors.  Their values are not stored where they may be
drawn anew: this script draws them several times, calls PyTorch, and keeps the values only if another draw fails, gives
another shape, or gives NaN where the sample gave none.  A line stands for all dtypes whose calls have the same
geometry; "*" in it is the dtype.  The head of proto/samples/README.md describes the members.

Needs PyTorch 1.13; pass a regular expression to print the lines of the OpInfos that match instead of writing."""

import collections
import json
import math
import os
import random
import re
import sys
import warnings

import numpy
from compare import torch  # ends the process where PyTorch is missing
from cases.inputs import BY_NAME, DTYPES, FORMATS, copy, operator, storage
from harness import ROOT
import test_samples
from record.record_calls import elements, name_of, number
from test_samples import Unsupported

SAMPLES = 8  # of each OpInfo and dtype, spread over all of PyTorch's
DRAWS = 4  # redraws that PyTorch must accept
DIGITS = 9  # of a float that is stored
DIMS = 16  # of a tensor: CONFORM_DIMS
STORED = 256  # elements of a call that is stored with its values
ELEMENTS = 1 << 16  # of the tensors of a call
CALLS = 40  # lines of an overload: more are left out when each of their dtypes has SAMPLES
USUAL = 10  # elements are drawn from [-USUAL, USUAL] where the sample's are in there, and PyTorch accepts it
STEPS = [0, 1, 10, 100, 1000, 1e4, 1e6, 1e9, 1e18]
# Arguments whose values are positions, sizes or masks: a draw would change what the call means.
GIVEN = re.compile(r"ind(ex|ices)|offset|bound|sorted|target|length|mask|pivot|perm|label|repeats|batch_sizes|max_norm|per_sample")
# Arguments that are on the CPU whatever the device of the others is.
ON_CPU = re.compile(r"lengths|batch_sizes|tensor_indices_or_sections|shape")
ALL_ON_CPU = re.compile(r"_sobol_")
# Calls whose result depends on the device by design: autocast's helpers; a composite that promotes, a kernel that does not.
BY_DEVICE = re.compile(r"_autocast_to_|mish_backward")


def rounded_out(low, high):
    """The nearest numbers of STEPS around a range, so that the ranges of several dtypes are one."""
    least = -min(s for s in STEPS if -s <= low) if low < 0 else max(s for s in STEPS if s <= low)
    most = min(s for s in STEPS if s >= high) if high >= 0 else -max(s for s in STEPS if s <= -high)
    return least, most


def range_of(t):
    """[low, high] from which the elements of `t` may be drawn; None: it has NaN, infinities or extreme elements."""
    if t.numel() == 0:
        return [0, 0]
    x = torch.view_as_real(t) if t.is_complex() else t
    x = x.double() if x.is_floating_point() else x.to(torch.int64)
    low, high = x.min().item(), x.max().item()
    if not math.isfinite(low) or not math.isfinite(high) or max(-low, high) > STEPS[-1]:
        return None
    return [int(bound) for bound in rounded_out(low, high)]


def drawn(t, bounds):
    """A tensor with the geometry of `t` and elements from `bounds`, as conform draws them."""
    t = copy(t)
    flat = storage(t)
    low, high = bounds
    if t.dtype is torch.bool:
        flat.copy_(torch.randint(0, 2, flat.shape).bool())
    elif t.is_complex() or t.is_floating_point():
        real = torch.view_as_real(flat) if t.is_complex() else flat
        real.copy_(torch.rand(real.shape, dtype=torch.float64) * (high - low) + low)
    else:
        flat.copy_(torch.randint(max(low, 0) if t.dtype is torch.uint8 else low, high + 1, flat.shape))
    return t


class Line:
    """Writes a call of `dtype` as an object."""

    def __init__(self, dtype, bounds, on_cpu):
        self.dtype, self.bounds, self.on_cpu, self.tensors, self.numbers = dtype, bounds, on_cpu, [], {}

    def tensor(self, t):
        if id(t) in self.numbers:
            return {"tensor": self.numbers[id(t)]}
        told = {"shape": list(t.shape), "dtype": "*" if t.dtype is self.dtype else DTYPES[t.dtype]}
        if not t.is_contiguous():
            told["strides"] = list(t.stride())
        if t.storage_offset():
            told["offset"] = t.storage_offset()
        if id(t) in self.on_cpu:
            told["on_cpu"] = True
        bounds = self.bounds.get(id(t))
        told |= {"draw": bounds} if bounds else {"data": elements(t, DIGITS)}
        self.tensors.append(told)
        self.numbers[id(t)] = -len(self.tensors)
        return {"tensor": -len(self.tensors)}

    def value(self, v):
        if torch.is_tensor(v):
            return self.tensor(v)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        if v is None or isinstance(v, (bool, str)):
            return v
        if isinstance(v, int):
            return v if abs(v) < 2**53 else {"int": str(v)}
        if isinstance(v, float):
            return {"float": number(v, DIGITS)}
        if isinstance(v, complex):
            return {"complex": [number(v.real, DIGITS), number(v.imag, DIGITS)]}
        if isinstance(v, torch.device):
            return {"device": "*"}
        if v is self.dtype:
            return "*"
        if v in DTYPES or v in FORMATS:
            return DTYPES.get(v) or FORMATS[v]
        raise Unsupported


def tensors_of(v):
    if torch.is_tensor(v):
        return [v]
    return [t for x in (v.values() if isinstance(v, dict) else v) for t in tensors_of(x)] if isinstance(v, (list, tuple, dict)) else []


def replaced(v, by):
    if torch.is_tensor(v):
        return by[id(v)] if id(v) in by else copy(v)
    if isinstance(v, dict):
        return {k: replaced(x, by) for k, x in v.items()}
    return [replaced(x, by) for x in v] if isinstance(v, (list, tuple)) else v


def outcome(func, args, kwargs, by):
    """(shapes of the results, whether they have NaN or infinities); None: PyTorch refuses the call, or a result is sparse."""
    try:
        out = func(*replaced(args, by), **replaced(kwargs, by))
    except Exception:
        return None
    found = tensors_of(out if isinstance(out, (list, tuple)) else [out])
    if any(t.layout is not torch.strided for t in found):
        return None
    broken = any(not bool(torch.isfinite(t).all()) for t in found if t.is_floating_point() or t.is_complex())
    return [list(t.shape) for t in found], broken


def named_tensors(schema, args, kwargs):
    """{id of a tensor: name of its argument}"""
    names = {id(t): a.name for a, v in zip(schema.arguments, args) for t in tensors_of(v)}
    return names | {id(t): k for k, v in kwargs.items() for t in tensors_of(v)}


def bounds_of(func, args, kwargs, dtype):
    """{id of a tensor: the range to draw it from}; the tensors that are missing keep their values."""
    names = named_tensors(func._schema, args, kwargs)
    all_ = {id(t): range_of(t) for t in tensors_of([args, kwargs])}
    by_id = {id(t): t for t in tensors_of([args, kwargs])}
    free = {i: r for i, r in all_.items() if r is not None and not GIVEN.search(names.get(i, ""))}
    floats = {i: r for i, r in free.items() if by_id[i].is_floating_point() or by_id[i].is_complex()}
    want = outcome(func, args, kwargs, {})
    usual = lambda ranges: {i: [-USUAL, USUAL] if -USUAL <= r[0] and r[1] <= USUAL else r for i, r in ranges.items()}
    for chosen in (usual(free), free, usual(floats), floats):
        def fits():
            got = outcome(func, args, kwargs, {i: drawn(by_id[i], r) for i, r in chosen.items()})
            return got is not None and got[0] == want[0] and got[1] <= want[1]
        if chosen and all(fits() for _ in range(DRAWS)):
            return chosen
    return {i: [-USUAL, USUAL] for i in all_ if not by_id[i].numel()}


def line_of(func, args, kwargs, dtype):
    """The call as an object; None where it has too many elements or values that no request carries."""
    found = tensors_of([args, kwargs])
    if sum(storage(t).numel() for t in found) > ELEMENTS or outcome(func, args, kwargs, {}) is None:
        return None
    bounds = bounds_of(func, args, kwargs, dtype)
    if sum(storage(t).numel() for t in found if id(t) not in bounds) > STORED:
        return None
    names = named_tensors(func._schema, args, kwargs)
    line = Line(dtype, bounds, {i for i, name in names.items() if ALL_ON_CPU.match(name_of(func)) or ON_CPU.fullmatch(name)})
    try:
        args, kwargs = [line.value(a) for a in args], {k: line.value(v) for k, v in kwargs.items() if v is not None}
    except Unsupported:
        return None
    return {"op": "aten::" + name_of(func), "tensors": line.tensors, "args": args, "kwargs": kwargs}


def spread(samples):
    return samples if len(samples) <= SAMPLES else [samples[i * len(samples) // SAMPLES] for i in range(SAMPLES)]


def wellposed(func, args):
    """False where the result is decided by rounding: a variance plus a negative eps, the norm of a single element."""
    if name_of(func) == "native_layer_norm" and math.prod(args[1]) == 1:
        return False
    return not any(a.name == "eps" and isinstance(v, float) and v < 0 for a, v in zip(func._schema.arguments, args))


def calls_of(info, dtype):
    """The backend calls of some samples of an OpInfo."""
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(0)
    try:
        samples = list(info.sample_inputs("cpu", dtype, requires_grad=False))
    except Exception:  # its generator fails on this Python
        return
    for sample in spread(samples):
        try:
            yield from test_samples.recorded(info, sample)
        except Unsupported:
            continue


class Lines:
    """Lines by what they say without their dtypes."""

    def __init__(self):
        self.found, self.count, self.of_overload = {}, collections.Counter(), collections.Counter()

    def add(self, name, func, args, kwargs, dtype):
        overload = name_of(func)
        if self.count[overload, dtype] >= SAMPLES and self.of_overload[overload] >= CALLS:
            return
        line = line_of(func, args, kwargs, dtype)
        if line is None:
            return
        key = json.dumps(line, sort_keys=True)
        if key not in self.found:
            self.found[key] = line["op"], name, line, []
            self.of_overload[overload] += 1
        if DTYPES[dtype] not in self.found[key][3]:
            self.found[key][3].append(DTYPES[dtype])
            self.count[overload, dtype] += 1

    def sorted(self):
        return [{"op": op, "of": name, "dtypes": dtypes} | {k: v for k, v in line.items() if k != "op"}
                for op, name, line, dtypes in sorted(self.found.values(), key=lambda f: f[0])]


# -- calls that PyTorch's samples do not make --

def converted(v):
    """A value of a line of tests/data/calls.jsonl as this file's lines have it."""
    if isinstance(v, list):
        return [converted(x) for x in v]
    if not isinstance(v, dict):
        return {"device": "*"} if v == "cpu" else v
    (kind, x), = v.items()
    return {"t": lambda: {"tensor": -1 - x}, "f": lambda: {"float": x}, "c": lambda: {"complex": x}, "i": lambda: {"int": x}}[kind]()


def on_cpu(call):
    """Indices of the tensors of a recorded call that are on the CPU."""
    name = call["op"].removeprefix("aten::")
    if ALL_ON_CPU.match(name):
        return set(range(len(call["tensors"])))
    try:
        names = [a.name for a in operator(name)._schema.arguments]
    except AttributeError:  # of later versions
        return set()
    given = [*zip(names, call["args"]), *call["kwargs"].items()]
    return {v["t"] for name, v in given if ON_CPU.fullmatch(name) and isinstance(v, dict) and "t" in v}


def other_calls(known):
    """Lines of the recorded calls of operators that are not `known`, and of those that PyTorch refuses."""
    for name in ("calls.jsonl", "refused_calls.jsonl"):
        for text in open(os.path.join(ROOT, "tests", "data", name)):
            call = json.loads(text)
            if any("of" in t or len(t["sizes"]) > DIMS for t in call["tensors"]) or "fails" not in call and call["op"] in known or \
                    BY_DEVICE.match(call["op"].removeprefix("aten::")):
                continue
            host = on_cpu(call)
            tensors = [{"shape": t["sizes"], "dtype": t["dtype"]} | ({"strides": t["strides"]} if t["strides"] else {}) |
                       ({"offset": t["offset"]} if t["offset"] else {}) | ({"on_cpu": True} if i in host else {}) |
                       {"data": t["data"]} for i, t in enumerate(call["tensors"])]
            yield {"op": call["op"], "of": "", "dtypes": [tensors[0]["dtype"] if tensors else "float32"]} | \
                ({"refused": True} if "fails" in call else {}) | \
                {"tensors": tensors, "args": converted(call["args"]), "kwargs": {k: converted(v) for k, v in call["kwargs"].items()}}


def main():
    warnings.filterwarnings("ignore")
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    lines = Lines()
    for name, info in test_samples.infos():
        if not pattern.search(name):
            continue
        for dtype in BY_NAME.values():
            if dtype not in info.dtypes:
                continue
            for func, args, kwargs in calls_of(info, dtype):
                if not name_of(func).startswith(test_samples.SKIPPED) and wellposed(func, args):
                    lines.add(name, func, args, kwargs, dtype)
        print(name, len(lines.found), file=sys.stderr, flush=True)
    found = lines.sorted()
    if len(sys.argv) == 1:
        found = sorted(found + list(other_calls({line["op"] for line in found})), key=lambda line: line["op"])
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in found)
    if len(sys.argv) > 1:
        sys.stdout.write(text)
    else:
        with open(os.path.join(ROOT, "proto", "samples", "calls.jsonl"), "w") as f:
            f.write(text)


if __name__ == "__main__":
    sys.exit(main())
