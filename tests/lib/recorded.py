"""recorded.py -- one call of each overload, with tensors that a test may replace.

The calls are those of tests/data/calls.jsonl; of an overload that has none there, the arguments follow from its schema."""

import json
import os
import re

from harness import ROOT

TENSOR = re.compile(r"Tensor(\([a-z!]*\))?(\?)?(\[\d*\])?$")
# Arguments of overloads that no recorded call has, by type.
FITS = {"int": 1, "float": 1.0, "bool": False, "Scalar": 1, "str": "", "ScalarType": "float32", "Layout": "strided", "MemoryFormat": "contiguous_format",
        "Device": "cpu", "Dimname": None, "Generator": None}


def arguments_of(schema):
    """[(type, name, whether it has a default, whether it is given by name alone)]"""
    text, depth, parts = schema[schema.index("(") + 1:], 0, [""]
    for c in text:
        depth += (c in "([") - (c in ")]")
        if depth < 0:
            break
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    found, named = [], False
    for part in (p.strip() for p in parts):
        if part == "*":
            named = True
        elif part:
            declared, default, _ = part.partition("=")
            type_, _, name = declared.rpartition(" ")
            found.append((type_, name, bool(default), named))
    return found


def fit(type_):
    if TENSOR.match(type_):
        x = {"dtype": "float32", "shape": [2, 2], "data": [[1.0, 2.0], [3.0, 4.0]], "one": 1.0}
        return [x, x] if "[" in type_ else x
    if type_.endswith("?"):
        return None
    base, _, count = type_.partition("[")
    base = "int" if base.startswith("SymInt") else base
    value = FITS.get(base)
    return [value] * int(count.rstrip("]") or 2) if count else value


def fitted(schema):
    args, kwargs = [], {}
    for type_, name, default, named in arguments_of(schema):
        if not default:
            if named:
                kwargs[name] = fit(type_)
            else:
                args.append(fit(type_))
    return args, kwargs


def literal_of(tensors, told):
    """A tensor of calls.jsonl (tests/operators/record/record_calls.py) as op.call takes it, contiguous."""
    base = tensors[told["of"]] if "of" in told else told
    data, dtype = base["data"], base["dtype"]
    if dtype.startswith("complex"):
        data = [data[i:i + 2] for i in range(0, len(data), 2)]
    elif dtype == "bool":
        data = [bool(x) for x in data]
    elif dtype in ("int64", "uint8"):
        data = [{"int": x} if isinstance(x, str) else x for x in data]

    def nested(at, dims):
        if not dims:
            return data[at]
        (size, step), *rest = dims
        return [nested(at + i * step, rest) for i in range(size)]

    one = data[told["offset"]] if told["offset"] < len(data) else None
    return {"dtype": dtype, "shape": told["sizes"], "data": nested(told["offset"], list(zip(told["sizes"], told["strides"]))), "one": one}


def decoded(v, tensors):
    if isinstance(v, list):
        return [decoded(x, tensors) for x in v]
    if not isinstance(v, dict):
        return v
    (kind, x), = v.items()
    return literal_of(tensors, tensors[x]) if kind == "t" else {{"f": "float", "i": "int", "c": "complex"}[kind]: x}


def is_literal(v):
    return isinstance(v, dict) and "one" in v


def literals(v, path=()):
    """Paths to the tensor literals in v."""
    if is_literal(v):
        yield path
    elif isinstance(v, (list, dict)):
        for key, item in enumerate(v) if isinstance(v, list) else v.items():
            yield from literals(item, path + (key,))


def replaced(v, paths, handle, path=()):
    if path in paths:
        return handle
    if is_literal(v):
        return {k: x for k, x in v.items() if k != "one"}
    if isinstance(v, list):
        return [replaced(x, paths, handle, path + (i,)) for i, x in enumerate(v)]
    if isinstance(v, dict):
        return {k: replaced(x, paths, handle, path + (k,)) for k, x in v.items()}
    return v


def at(v, path):
    for key in path:
        v = v[key]
    return v


class Recorded:
    def __init__(self):
        with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as f:
            self.calls = {c["op"]: c for c in map(json.loads, f)}

    def call(self, op, schema):
        """(args, kwargs) of a call that is known to succeed, or of one that fits the schema."""
        if op not in self.calls:
            return fitted(schema)
        c = self.calls[op]
        return decoded(c["args"], c["tensors"]), {k: decoded(v, c["tensors"]) for k, v in c["kwargs"].items()}
