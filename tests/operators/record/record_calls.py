"""record_calls.py -- write tests/data/calls.jsonl and tests/data/refused_calls.jsonl, which failed_calls reads.

calls.jsonl: one call of each overload that plugins composite and cpu implement, which succeeds: of the cases of
run.py, of the backend calls of PyTorch's samples (OpInfo) and of what follows from these for out= and in-place
overloads, the one with most tensors and allocations; for other overloads that of given_calls.py.  refused_calls.jsonl: the backend calls that PyTorch's error inputs
(ErrorInput) end with.  Needs PyTorch; BUILD names the build whose plugins are called."""

import collections
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile

from compare import torch  # ends the process where PyTorch is missing
from cases import cases_of
from cases.inputs import BY_NAME, DTYPES, FORMATS, copy, operator, storage
from daemon import TestDaemon
from harness import BUILD, ROOT
from record import given_calls
import test_samples

CANDIDATES = 12  # calls of an overload of which one is kept
ELEMENTS = 200  # of the storages of a call's arguments together
DATA = os.path.join(ROOT, "tests", "data")


class Unsupported(Exception):
    """Arguments that a line cannot say."""


# -- calls as lines --

def number(x, digits=6):
    if isinstance(x, int):
        return x if abs(x) < 2**53 else str(x)
    return float(f"{x:.{digits}g}") if x == x and abs(x) != float("inf") else str(x)


def elements(t, digits=6):
    flat = storage(t)
    if t.dtype.is_complex:
        flat = torch.view_as_real(flat).flatten()
    if flat.is_floating_point():
        return [number(x, digits) for x in flat.double().tolist()]
    return [int(x) for x in flat.tolist()] if t.dtype is torch.bool else [number(x) for x in flat.tolist()]


class Line:
    def __init__(self):
        self.tensors, self.numbers, self.storages = [], {}, {}

    def tensor(self, t):
        if t.layout is not torch.strided or t.is_quantized or t.device.type != "cpu" or t.dtype not in DTYPES or \
                t.is_conj() or t.is_neg() or t.storage().nbytes() > 8 * ELEMENTS:
            raise Unsupported
        if id(t) not in self.numbers:
            told = {"sizes": list(t.shape), "strides": list(t.stride()), "offset": t.storage_offset()}
            first = self.storages.setdefault((t.storage().data_ptr(), t.dtype), len(self.tensors)) if t.storage().nbytes() else len(self.tensors)
            told |= {"of": first} if first < len(self.tensors) else {"dtype": DTYPES[t.dtype], "data": elements(t)}
            self.numbers[id(t)] = len(self.tensors)
            self.tensors.append(told)
        return {"t": self.numbers[id(t)]}

    def value(self, v):
        if torch.is_tensor(v):
            return self.tensor(v)
        if isinstance(v, (list, tuple)):
            return [self.value(x) for x in v]
        if v is None or isinstance(v, bool):
            return v
        if isinstance(v, int):
            return v if abs(v) < 2**53 else {"i": str(v)}
        if isinstance(v, float):
            return {"f": number(v)}
        if isinstance(v, complex):
            return {"c": [number(v.real), number(v.imag)]}
        if isinstance(v, str):
            return v
        if isinstance(v, torch.device):
            return str(v)
        if v is torch.strided:
            return "strided"
        if v in DTYPES or v in FORMATS:
            return DTYPES.get(v) or FORMATS[v]
        raise Unsupported


def line_of(name, args, kwargs):
    """The call as JSON; None where it cannot be said."""
    line = Line()
    try:
        args, kwargs = [line.value(a) for a in args], {k: line.value(v) for k, v in kwargs.items()}
    except Unsupported:
        return None
    if sum(len(t.get("data", ())) for t in line.tensors) > ELEMENTS:
        return None
    return {"op": "aten::" + name, "tensors": line.tensors, "args": args, "kwargs": kwargs}


# -- where calls come from --

def name_of(func):
    return str(func).replace("aten.", "", 1).removesuffix(".default")


def of_cases(name):
    with contextlib.suppress(Exception):
        for args, kwargs in itertools.islice(cases_of(name), 200):
            yield args, kwargs


def of_samples():
    """{overload: [(args, kwargs)]} of the backend calls of PyTorch's samples."""
    found = collections.defaultdict(list)
    for name, info in test_samples.infos():
        for dtype in ("float32", "complex64", "int64"):
            if BY_NAME[dtype] not in info.dtypes:
                continue
            try:
                samples = list(itertools.islice(info.sample_inputs("cpu", BY_NAME[dtype], requires_grad=False), 8))
            except Exception:
                continue
            for sample in samples:
                for func, args, kwargs in test_samples.recorded(info, sample):
                    calls = found[name_of(func)]
                    if len(calls) < 100:
                        calls.append((args, kwargs))
    return found


def variants(name, calls):
    """Calls of an overload that writes to an argument, of those of the overload that makes its result."""
    try:
        schema = operator(name)._schema
    except AttributeError:  # of later versions
        return
    outs = [a.name for a in schema.arguments if a.kwarg_only and a.alias_info is not None and a.alias_info.is_write]
    base = schema.name.removeprefix("aten::")
    wanted = [(a.name, str(a.type)) for a in schema.arguments if a.name not in outs]
    for other in sorted(calls):
        with contextlib.suppress(Exception):
            of = operator(other)._schema
            if other == name or of.name.removeprefix("aten::").rstrip("_") != base.rstrip("_") or \
                    [(a.name, str(a.type)) for a in of.arguments if (a.name, str(a.type)) in wanted] != wanted:
                continue
            for args, kwargs in calls[other][:40]:
                names = {a.name for a in schema.arguments}
                given = {k: v for k, v in kwargs.items() if k in names}
                if not outs:
                    yield args, given
                    continue
                with contextlib.suppress(Exception):
                    made = operator(other)(*[copy(a) for a in args], **{k: copy(v) for k, v in kwargs.items()})
                    made = made if isinstance(made, tuple) else (made,)
                    yield args, given | {k: [torch.empty(0, dtype=t.dtype) for t in v] if isinstance(v, list) else torch.empty(0, dtype=v.dtype)
                                         for k, v in zip(outs, made)}


# -- which are kept --

def allocations(lines):
    """(status, allocations) of each line, as failed_calls finds them."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        f.writelines(json.dumps(line) + "\n" for line in lines)
        f.flush()
        told = subprocess.run([os.path.join(BUILD, "tests", "failed_calls"), "--allocations", os.path.join(BUILD, "plugins"), f.name],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    return [(words[1], int(words[2])) for words in map(str.split, told.splitlines()) if words[0].isdigit()]


def best(candidates):
    """{overload: of its lines that succeed the one with most tensors, then most allocations, then the shortest}"""
    kept = {}
    flat = [(name, line) for name, lines in candidates.items() for line in lines]
    for (name, line), (status, n) in zip(flat, allocations([line for _, line in flat])):
        rank = len(line["tensors"]), n, -len(json.dumps(line))
        if status == "ok" and (name not in kept or rank > kept[name][0]):
            kept[name] = rank, line
    return {name: line for name, (_, line) in kept.items()}


def some(name, calls):
    made = [line for args, kwargs in calls if (line := line_of(name, args, kwargs)) is not None]
    distinct = list({json.dumps(line): line for line in made}.values())
    return distinct[::max(1, len(distinct) // CANDIDATES)][:CANDIDATES]


def succeeding(names):
    calls = of_samples()
    for name in names:
        calls[name] = list(of_cases(name)) + calls[name]
    found = best({name: some(name, calls[name]) for name in names})
    missing = [name for name in names if name not in found]
    found |= best({name: some(name, variants(name, calls)) for name in missing})
    found = given_calls.lines() | found
    for name in names:
        if name not in found:
            print(f"no call of {name}", file=sys.stderr)
    return [found[name] for name in names if name in found]


class FirstError(test_samples.Recorder):
    """Keeps the backend call that raises first."""

    refused = None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = None
        with contextlib.suppress(test_samples.Unsupported):
            given = [test_samples.plain(a) for a in args], {k: test_samples.plain(v) for k, v in (kwargs or {}).items()}
        try:
            return func(*args, **(kwargs or {}))
        except Exception:
            if self.refused is None:
                self.refused = func, given
            raise


def refused():
    """(overload, args, kwargs) of the backend call that each of PyTorch's error inputs ends with."""
    for name, info in test_samples.infos():
        if info.error_inputs_func is None:
            continue
        try:
            inputs = list(info.error_inputs("cpu"))
        except Exception:
            continue
        for case in inputs:
            s = case.sample_input
            with contextlib.suppress(Exception), torch.no_grad(), FirstError() as recorder:
                info.op(s.input, *s.args, **s.kwargs)
            if recorder.refused is not None and recorder.refused[1] is not None:
                func, (args, kwargs) = recorder.refused
                yield name_of(func), args, kwargs


def write(name, lines):
    with open(os.path.join(DATA, name), "w") as f:
        f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def main():
    with TestDaemon() as daemon, daemon.connect() as client:
        names = sorted({name.removeprefix("aten::") for plugin in ("composite", "cpu")
                        for name in client.call("registry.list", namespace="aten", plugin=plugin)["ops"]})
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    if pattern != "refused":
        write("calls.jsonl", succeeding([n for n in names if n.startswith(pattern)]))
    lines = list({json.dumps(line): line for call in refused() if (line := line_of(*call)) is not None}.values())
    write("refused_calls.jsonl", [line | {"fails": status} for line, (status, _) in zip(lines, allocations(lines)) if status not in ("ok", "unbound")])


if __name__ == "__main__":
    sys.exit(main())
