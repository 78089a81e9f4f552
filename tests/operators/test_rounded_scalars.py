"""test_rounded_scalars.py [PATTERN] -- Scalar and float parameters that float16 and bfloat16 round, beside PyTorch 1.13.1.

Every overload with a tensor and a Scalar or float parameter is called with tensors of both dtypes, each parameter in
turn at values that the dtype rounds or cannot hold, then all of them; the tensors hold the rounded values and their
neighbours.  Whether a parameter is rounded to the dtype before anything is computed is measured on both sides: by how
many elements are nearer to what float64 gives with the rounded value than to what it gives with the value itself.
Both must agree, and errors and values too: an element passes that is PyTorch's, one unit of its dtype beside that, or as
near as that to the float64 result.  A test is one overload; PATTERN narrows them.  tests/data/rounded_scalars.txt lists
overloads that are known to differ, in which parameters and dtypes, and why."""

import itertools
import math
import os
import re
import sys

from compare import ERRORS, WIDER, Both, dispatchd, flat_tensors, show, torch  # ends the process where PyTorch is missing
from cases import CASES
from cases.inputs import copy, operator
from cases.plain import GIVEN
from daemon import TestDaemon
from harness import ROOT
from test_strides import without_warnings

KNOWN = os.path.join(ROOT, "tests", "data", "rounded_scalars.txt")
NUMBERS = ("number", "float", "Optional[number]", "Optional[float]", "List[float]", "List[number]", "Optional[List[float]]")
HALVES = torch.bfloat16, torch.float16
VALUES = 0.3, 0.1, 1 / 3, 3.001, -0.7, 257, 2049.5, 70000.0, 1e39
# Drawn, or whatever lay in memory.  Scales of upsampling are no numbers of the dtype: they say where pixels lie, and
# PyTorch reads beyond its memory where they do not fit the sizes.
SKIPPED = re.compile("rand|bernoulli|normal|uniform|dropout|cauchy|exponential|geometric|rrelu|empty|_scaled_dot_product|"
                     "upsample|__interpolate")
# Where a negative parameter is refused forwards, and means nothing backwards.
POSITIVE = re.compile("huber|smooth_l1")
# Shapes of tensor arguments, the last one repeated.  Whole vectors: PyTorch's loops for what is left of them differ.
SHAPES = (((64,),), ((8, 8),), ((2, 4, 8),), ((2, 4, 4, 4),), ((2, 2, 4, 4, 4),), ((),), ((8,), (8, 8), (8,)),
          ((8, 8), (8,), (8,)), ((3, 3), (2, 3, 3), (2, 3, 3)), ((2, 4, 4), (4,)))
DEFAULTS = {"number": 1, "float": 0.5, "int": 1, "bool": False, "List[int]": [1], "str": "none", "List[number]": [0.5, 2],
            "List[float]": [0.5, 2]}
# Of normalised channels, not of the input's shape.
CHANNELS = re.compile("weight|bias|running_|save_|mean|invstd|var")


def schemas():
    """(name, schema) of overloads with a tensor and a number."""
    with open(os.path.join(ROOT, "tests", "data", "aten_schemas.txt")) as f:
        for line in (line for line in f if line.startswith("aten::")):
            s = torch._C.parse_schema(line.strip())
            kinds = [str(a.type) for a in s.arguments]
            if any("Tensor" in k for k in kinds) and any(k in NUMBERS for k in kinds):
                yield s.name[6:] + ("." + s.overload_name if s.overload_name else ""), s


def numbers_of(schema):
    return [a.name for a in schema.arguments if str(a.type) in NUMBERS]


def rounded(v, dtype):
    if isinstance(v, list):
        return [rounded(x, dtype) for x in v]
    return None if v is None else torch.tensor(v, dtype=torch.float64).to(dtype).item()


def tensor(shape, dtype, turn=0):
    """Plain numbers, the VALUES as dtype rounds them, their neighbours and negatives, turned by so many."""
    near = torch.tensor([v for v in VALUES if abs(v) < 1e4]).to(dtype)
    bits = near.view(torch.int16)
    every = torch.cat([torch.tensor([0, 1, 0.5, -1.5, 2, -4]).to(dtype), near, (bits + 1).view(dtype), (bits - 1).view(dtype), -near])
    return every.repeat(math.prod(shape) // len(every) + 1)[:math.prod(shape)].roll(turn).reshape(shape).clone()


def given_by(schema, dtype, shapes):
    """Arguments by name: tensors of these shapes, and of others what their names and types call for."""
    made, tensors = {}, 0
    for a in schema.arguments:
        kind = str(a.type)
        shape = shapes[min(tensors, len(shapes) - 1)]
        tensors += kind == "Tensor"
        if a.kwarg_only and a.is_out:
            made[a.name] = torch.zeros(0, dtype=dtype)
        elif "norm" in schema.name and CHANNELS.match(a.name):
            made[a.name] = tensor(shapes[0][1:2], dtype).abs()
        elif kind == "Tensor" and re.search("ind|repeats", a.name):
            made[a.name] = torch.arange(shape[0] if shape else 1)
        elif kind == "Tensor" and a.name in ("mask", "condition"):
            made[a.name] = tensor(shape, dtype) > 0
        elif kind == "Tensor" and a.name == "target" and "margin" in schema.name:
            made[a.name] = torch.zeros(shape[:1], dtype=torch.int64)
        elif kind == "Tensor":
            made[a.name] = tensor(shape, dtype, 5 * tensors)
        elif kind == "List[Tensor]":
            made[a.name] = [tensor(shape, dtype, len(made)), tensor(shape, dtype, 7)]
        elif a.name == "reduction" or not a.has_default_value():
            made[a.name] = 0 if a.name == "reduction" else None if kind.startswith("Optional") else GIVEN.get(a.name, DEFAULTS.get(kind))
    return made


def halved(v, dtype):
    if isinstance(v, list):
        return [halved(x, dtype) for x in v]
    return v.to(dtype) if torch.is_tensor(v) and v.dtype.is_floating_point else v


def listed(name, schema, dtype):
    """The small cases of run.py with floating tensors, by argument name."""
    names = [a.name for a in schema.arguments]
    for args, kwargs in itertools.islice(CASES[name](), 400):
        if any(t.dtype.is_floating_point and 0 < t.numel() < 300 for t in flat_tensors([*args, *kwargs.values()])):
            given = {**dict(zip(names, args)), **kwargs}
            yield {k: halved(v, dtype) for k, v in given.items() if not isinstance(v, torch.dtype)}


def call(schema, given):
    """(args, kwargs): positional as far as there are no gaps."""
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    n = next((i for i, name in enumerate(names) if name not in given), len(names))
    return [given[name] for name in names[:n]], {k: v for k, v in given.items() if k not in names[:n]}


def outcome(function, schema, given):
    """(what PyTorch returns and writes, None) or (None, the error)"""
    args, kwargs = call(schema, {k: copy(v) for k, v in given.items()})
    try:
        out = function(*args, **kwargs)
    except tuple(ERRORS) as e:
        return None, e
    out = flat_tensors(out if isinstance(out, (tuple, list)) else [out])
    return out + (flat_tensors([*args, *kwargs.values()]) if schema.is_mutable else []), None


def answer(both, name, schema, given):
    """The same of the daemon."""
    args, kwargs = call(schema, given)
    try:
        flat, sent = both.call(name, args, kwargs)
        handles = [o["tensor"] for o in flat if isinstance(o, dict) and "tensor" in o]
        return [both.read(h)[0] for h in handles + (sent if schema.is_mutable else [])], None
    except dispatchd.Error as e:
        return None, e
    finally:
        both.done()


def base_of(name, function, schema, dtype):
    """Arguments that PyTorch takes, by name; None: it takes no such tensors."""
    torch.manual_seed(0)  # what CASES draws
    tried = itertools.chain((given_by(schema, dtype, shapes) for shapes in SHAPES),
                            listed(name, schema, dtype) if name in CASES else ())
    base = next((given for given in tried if outcome(function, schema, given)[0] is not None), None)
    for a in schema.arguments if base else ():  # defaults that the dtype holds
        if str(a.type) in NUMBERS and a.has_default_value() and a.default_value is not None:
            base.setdefault(a.name, rounded(a.default_value, torch.bfloat16))
    return base


def wide(v):
    if isinstance(v, list):
        return [wide(x) for x in v]
    return v.double() if torch.is_tensor(v) and v.dtype.is_floating_point else v


def numeric(t, dtype):
    """t as float64 by way of dtype; NaN is one number, and infinities are far."""
    return torch.nan_to_num(t.to(dtype).double(), nan=1.25e300, posinf=1e300, neginf=-1e300)


def nearer(results, a, b):
    """(how many elements of results are nearer to a than to b, less how many are nearer to b; how many there are)"""
    n = every = 0
    for x, y, z in zip(results, a, b):
        if x.shape == y.shape == z.shape and x.dtype.is_floating_point:
            to_a, to_b = ((numeric(x, x.dtype) - numeric(t, x.dtype)).abs() for t in (y, z))
            n += int((to_a < to_b).sum()) - int((to_a > to_b).sum())
            every += int((to_a != to_b).sum())
    return n, every


def differs(got, want, exact):
    if len(got) != len(want):
        return f"{len(got)} results, want {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        if g.dtype != w.dtype or g.shape != w.shape:
            return f"result {i}: {show(g)}, want {show(w)}"
        x, y = numeric(g, w.dtype), numeric(w, w.dtype)
        bad = x != y
        if w.dtype.is_floating_point:
            bad &= ~((x - y).abs() <= y.abs() * torch.finfo(w.dtype).eps)
            if exact and exact[i].shape == w.shape:
                e = numeric(exact[i], torch.float64)
                bad &= ~((x - e).abs() <= (y - e).abs())
        if bad.any():
            return f"result {i}: {g[bad][:3].tolist()}, want {w[bad][:3].tolist()}"
    return None


class Overload:
    """One overload in one dtype."""

    def __init__(self, both, name, schema, dtype):
        self.both, self.name, self.schema, self.dtype = both, name, schema, dtype
        self.function = operator(name)
        self.base = base_of(name, self.function, schema, dtype)
        self.rounds = {p: False for p in numbers_of(schema)}
        self.calls, self.faults = 0, []

    def fault(self, given, what):
        names = [k for k in self.rounds if k in given and given[k] != self.base.get(k)]  # which are tried
        self.faults.append((names, f"{str(self.dtype)[6:]} { {k: v for k, v in given.items() if k in self.rounds} }: {what}"))

    def run(self, given):
        """(the daemon's results, PyTorch's), or None where both refuse it."""
        self.calls += 1
        want, error = outcome(self.function, self.schema, given)
        if error and WIDER.search(str(error)):
            return None
        got, refused = answer(self.both, self.name, self.schema, given)
        kind = error and next(ERRORS[t] for t in type(error).__mro__ if t in ERRORS)
        if (refused and refused.type) != kind:
            self.fault(given, f"{refused or 'no error'}, want {kind or 'a result'}: {str(error)[:150]}")
        return None if error or refused else (got, want)

    def exactly(self, given, rounds):
        given = {k: rounded(v, self.dtype) if rounds.get(k) else v for k, v in given.items()}
        return outcome(self.function, self.schema, {k: wide(v) for k, v in given.items()})[0]

    def with_values(self, names, v):
        kinds = {a.name: str(a.type) for a in self.schema.arguments}
        return {**self.base, **{p: [v] * len(self.base.get(p) or "12") if "List" in kinds[p] else v for p in names}}

    def check(self):
        made = []
        for p in self.rounds:
            ours = theirs = every = 0
            for given in (self.with_values([p], v) for v in VALUES if v > 0 or not POSITIVE.search(self.name)):
                pair = self.run(given)
                if pair is None:
                    continue
                made.append((given, *pair))
                a, b = (self.exactly(given, {**self.rounds, p: r}) for r in (True, False))
                if a and b:
                    ours += nearer(pair[0], a, b)[0]
                    theirs, every = (x + y for x, y in zip((theirs, every), nearer(pair[1], a, b)))
            self.rounds[p] = theirs > 0
            if ours * theirs < 0 and abs(theirs) > every / 4:  # else PyTorch's own rounding hides it
                self.faults.append(([p], f"{str(self.dtype)[6:]} {p}: PyTorch {'rounds' if theirs > 0 else 'does not round'} it first "
                                   f"({theirs} elements, here {ours})"))
        for given in (self.with_values(self.rounds, v) for v in VALUES if len(self.rounds) > 1):
            pair = self.run(given)
            made += [(given, *pair)] if pair else []
        for given, got, want in made:
            why = differs(got, want, self.exactly(given, self.rounds))
            if why:
                self.fault(given, why)


def known_faults():
    """[(overloads, parameters, dtypes)], each a pattern."""
    with open(KNOWN) as f:
        lines = [line.partition(":")[0].split() for line in f if not line.startswith("#")]
    return [[re.compile("|".join(re.escape(x).replace("\\*", ".*") for x in field.split(","))) for field in fields] for fields in lines]


def is_known(known, name, names, dtype):
    """Is a fault of overload `name` known, of which the parameters `names` had other values than in the call that passes?"""
    return any(op.fullmatch(name) and any(map(parameter.fullmatch, names)) and of.fullmatch(dtype) for op, parameter, of in known)


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    known = known_faults()
    passed = failed = calls = left = none = 0
    with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad(), without_warnings():
        both, there = Both(client), set(client.call("registry.list", namespace="aten")["ops"])
        for name, schema in schemas():
            if "aten::" + name not in there or not pattern.search(name) or SKIPPED.search(name):
                continue
            tried = [o for o in (Overload(both, name, schema, dtype) for dtype in HALVES) if o.base]
            for overload in tried:
                overload.check()
            every = [(*f, is_known(known, name, f[0], str(o.dtype)[6:])) for o in tried for f in o.faults]
            faults = [text for _, text, is_known_ in every if not is_known_ or sys.argv[1:]]
            calls += sum(o.calls for o in tried)
            none += not tried
            left += len(every) - len(faults)
            for f in faults[:3]:
                print(f"FAIL {name} {f}", flush=True)
            passed, failed = passed + (bool(tried) and not faults), failed + bool(faults)
    print(f"{calls} calls compared; PyTorch has no such kernels of {none} overloads; {left} known to differ")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
