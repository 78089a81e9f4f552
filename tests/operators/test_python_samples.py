"""test_python_samples.py -- PyTorch's test samples (OpInfo) through the public functions of the Python package.

    test_python_samples.py [NAME]    prints each sample that differs, of operators whose name contains NAME"""

import os
import random
import sys
import types
import unittest
import warnings

from harness import less, main

# PyTorch's file of samples imports a module that only its own tests use.
sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=True))
try:
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError:
    print("skipped: torch and its test samples are not there\n0 passed, 0 failed")
    sys.exit()
import dispatchd as dd

PART = int(os.environ.get("PART", 1))
SAMPLES = int(os.environ.get("DP_SAMPLES", 12))  # at most so many of one operator
ONLY = sys.argv[1] if len(sys.argv) > 1 else ""
# operators whose results are random, uninitialized or not a function of their arguments
NO_VALUES = ("rand", "empty", "dropout", "bernoulli", "multinomial", "normal", "poisson", "rrelu", "exponential", "cauchy",
             "geometric", "log_normal", "uniform", "gumbel", "fractional", "resize", "lobpcg", "pca_lowrank", "svd_lowrank")


# Samples for a wrapper that passes the arguments in another order.
WRAPPED = ("einsum", "nn.functional.batch_norm", "nn.functional.embedding", "polygamma", "special.polygamma", "where")
DTYPES = ("bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short", "T", "H", "mT", "mH")


def found(module, path):
    for name in path.split("."):
        try:
            module = getattr(module, name)
        except AttributeError:
            return None
    return module


def ours(value):
    if isinstance(value, torch.Tensor):
        made = dd.tensor(value.detach())
        if value.dim() and not value.is_contiguous() and value.numel():
            made = made.to(dtype=made.dtype)
        return made
    if isinstance(value, (torch.dtype, torch.device, torch.memory_format, torch.layout)):
        return str(value).replace("torch.", "")
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v) for v in value) if type(value) in (list, tuple) else [ours(v) for v in value]
    if isinstance(value, dict):
        return {k: ours(v) for k, v in value.items()}
    return value


def same(got, want):
    if isinstance(want, torch.Tensor):
        if not isinstance(got, dd.Tensor):
            return False
        if list(got.shape) != list(want.shape) or str(got.dtype) != str(want.dtype)[6:]:
            return False
        data = torch.tensor(got.tolist(), dtype=want.dtype).reshape(want.shape)
        return torch.allclose(data, want.detach().resolve_conj().resolve_neg(), rtol=2e-4, atol=2e-4, equal_nan=True) \
            if want.numel() and want.dtype != torch.bool else bool((data == want).all())
    if isinstance(want, (list, tuple)):
        return isinstance(got, (list, tuple)) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, (torch.dtype, torch.device)):
        return str(got) == str(want).replace("torch.", "")
    return got == want or (isinstance(want, float) and (abs(got - want) < 1e-4 or want != want))


def test_samples():
    random.seed(0)
    agree = differ = 0
    missing, odd = [], {}
    for op in op_db[::PART]:
        if ONLY not in op.name or any(word in op.name for word in NO_VALUES) or op.name.startswith(("_refs", "jiterator", "sparse")):
            continue
        f = found(dd.Tensor, op.name) if op.name in DTYPES else found(dd, op.name) or found(dd.Tensor, op.name)
        f = f.fget if isinstance(f, property) else f
        dtype = torch.float32 if torch.float32 in op.supported_dtypes("cpu") else next(iter(sorted(op.supported_dtypes("cpu"), key=str)), None)
        if op.name in WRAPPED:
            continue
        if f is None:
            missing.append(op.name)
            continue
        try:
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
        except Exception:
            continue
        random.shuffle(samples)
        for s in samples[:SAMPLES]:
            try:
                want = op.op(s.input.clone() if isinstance(s.input, torch.Tensor) else s.input, *s.args, **s.kwargs)
            except Exception:
                continue
            try:
                ok = same(f(ours(s.input), *ours(s.args), **ours(s.kwargs)), want)
                why = "another result"
            except Exception as e:
                ok, why = False, f"{type(e).__name__}: {str(e)[:150]}"
            agree += ok
            differ += not ok
            if not ok:
                odd.setdefault(op.name, why)
    for name, why in odd.items():
        print(f"     {name}: {why}")
    print(f"     {agree} samples agree, {differ} differ; not there: {' '.join(sorted(set(missing)))}")
    less(100, agree, "samples that agree")
    less(differ, 0.01 * (agree + differ), "samples that differ")


warnings.simplefilter("ignore")
sys.argv = sys.argv[:1]
main()
