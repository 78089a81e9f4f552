"""autocast_cases.py -- print tests/data/autocast_cases.jsonl: which dtypes PyTorch's autocast gives.

A line is a recorded call (tests/data/calls.jsonl) of an operator in proto/ops/autocast.yaml, on the key of the list
that it is in, with its floating-point tensors made in the dtypes `dtypes`.  `in` has the dtypes of the tensors that the
operator gets inside torch.autocast to bfloat16, then its arguments that are dtypes; kernels at the Autograd keys, which
lie below autocast, see them.  `out` has the dtypes of the results.  Both are null where autocast refuses the call.

Key AutocastNamed has the lists of AutocastCUDA, whose calls run on tensors of FakeTensorMode: PyTorch then needs no GPU.
Where it does, or has no result for fake tensors, `out` is left out.  Calls that fail for another reason are left out, such as those
of two dtypes that are float64 and another.  Run it with the Python of PyTorch 1.13."""

import json
import os
import sys
import warnings

import torch
import yaml
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_flatten

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../../.."
FLOATING = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
DEVICE = {"AutocastCPU": "cpu", "AutocastNamed": "cuda"}
BELOW = {"AutocastCPU": "AutogradCPU", "AutocastNamed": "AutogradCUDA"}
CALLED = {"norm.Scalar": "norm.ScalarOpt_dtype", "norm.ScalarOpt_dim": "norm.ScalarOpt_dim_dtype"}  # by policy fp32_append_dtype
INDEX = {"aten::scatter_add": 1}  # the tensor that stays int64 when a call of integers is repeated with floats
NO_RESULT = ("Torch not compiled with CUDA enabled", "instances of 'NoneType' and 'int'")  # of FakeTensorMode


def castings(line, key):
    """The dtypes of the tensors: all bfloat16, all float32, all float64, and mixtures."""
    def made(pick):
        n = iter(range(len(line["tensors"])))
        given = [line["tensors"][t.get("of", i)]["dtype"] for i, t in enumerate(line["tensors"])]
        cast = FLOATING if set(given) & set(FLOATING) else given[:1]  # a call of integers is repeated with floats
        return ["int64" if i == INDEX.get(line["op"]) else pick(next(n)) if dtype in cast else dtype for i, dtype in enumerate(given)]

    bases = {t["of"] for t in line["tensors"] if "of" in t}
    found = [made(lambda n, d=d: d) for d in ("bfloat16", "float32", "float64")]
    if not bases:  # tensors that share memory have one dtype
        others = [("bfloat16", "float32"), ("float32", "bfloat16"), ("float16", "bfloat16")]
        if key == "AutocastCPU":  # fake tensors also multiply float64 by other dtypes
            others.append(("bfloat16", "float64"))
        found += [made(lambda n, f=f: f[min(n, 1)]) for f in others]
    return [f for i, f in enumerate(found) if f not in found[:i]]


def tensors(line, dtypes):
    made = []
    for told, dtype in zip(line["tensors"], dtypes):
        if "of" in told:
            base = made[told["of"]]
        elif told["dtype"].startswith("complex"):
            parts = torch.tensor(told["data"], dtype=torch.float64).view(-1, 2)
            base = torch.complex(parts[:, 0], parts[:, 1]).to(getattr(torch, dtype))
        else:
            data = [float(x) if isinstance(x, str) else x for x in told["data"]]
            base = torch.tensor(data, dtype=getattr(torch, dtype))
        made.append(base.as_strided(told["sizes"], told["strides"], told["offset"]))
    return made


def value(v, made):
    if isinstance(v, list):
        return [value(x, made) for x in v]
    if not isinstance(v, dict):
        return FLOATING.get(v, v) if isinstance(v, str) else v
    (kind, of), = v.items()
    return made[of] if kind == "t" else complex(*of) if kind == "c" else float(of) if kind == "f" else of


class Seen(Exception):
    """Ends a call with the dtypes of the arguments that the operator got."""


def see(*args, **kwargs):
    flat = tree_flatten((args, kwargs))[0]
    raise Seen([str(t.dtype)[6:] for t in flat if isinstance(t, torch.Tensor)] + [str(d)[6:] for d in flat if isinstance(d, torch.dtype)])


def arguments(line, key, dtypes):
    """The dtypes that the operator gets, while its kernel is see()."""
    try:
        outcome(line, key, dtypes)
    except Seen as seen:
        return seen.args[0]
    except Exception:
        return None  # autocast refuses the call
    raise AssertionError(f"{line['op']} did not get to the kernel at {BELOW[key]}")


def outcome(line, key, dtypes):
    """The dtypes of the results."""
    device = DEVICE[key]
    base, _, overload = line["op"].split("::")[1].partition(".")
    op = getattr(getattr(torch.ops.aten, base), overload or "default")
    made = tensors(line, dtypes)
    if device == "cpu":
        with torch.autocast("cpu", torch.bfloat16):
            out = op(*value(line["args"], made), **value_of(line["kwargs"], made))
    else:
        mode = FakeTensorMode()
        made = [FakeTensor(mode, t.to("meta"), "cuda:0") for t in made]
        torch.set_autocast_gpu_dtype(torch.bfloat16)
        torch.set_autocast_enabled(True)
        try:
            with mode:
                out = op(*value(line["args"], made), **value_of(line["kwargs"], made))
        finally:
            torch.set_autocast_enabled(False)
            torch.clear_autocast_cache()
    return [str(t.dtype)[6:] for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]


def value_of(kwargs, made):
    return {k: value(v, made) for k, v in kwargs.items()}


def main():
    warnings.simplefilter("ignore")
    with open(os.path.join(ROOT, "proto", "ops", "autocast.yaml")) as f:
        keys = {key: {"aten::" + op for ops in policies.values() for op in ops} for key, policies in yaml.safe_load(f).items()}
    with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as f:
        lines = [json.loads(text) for text in f]
    cases = [(key, line, dtypes) for key, ops in keys.items() for line in lines if line["op"] in ops for dtypes in castings(line, key)]
    library = torch.library.Library("aten", "IMPL")
    for key, ops in keys.items():
        for op in sorted({CALLED.get(op[6:], op[6:]) for op in ops}):
            library.impl(op, see, BELOW[key])
    got = [arguments(line, key, dtypes) for key, line, dtypes in cases]
    del library
    for (key, line, dtypes), taken in zip(cases, got):
        case = {"key": key, "op": line["op"], "dtypes": dtypes, "in": taken}
        try:
            case["out"] = outcome(line, key, dtypes)
        except Exception as e:
            print(line["op"], dtypes, str(e)[:150].replace("\n", " "), file=sys.stderr)
            if "unsafe to autocast" in str(e) or "autocast::prioritize" in str(e):
                case["out"] = None
            elif not any(text in str(e) for text in NO_RESULT):
                continue
        print(json.dumps(case, separators=(",", ":")))


main()
