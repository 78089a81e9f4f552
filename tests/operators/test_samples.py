"""test_samples.py [PATTERN] -- PyTorch's own samples (OpInfo) beside the daemon.

Every backend call that a sample makes is made here and there; dtypes, shapes, strides, values and what it
writes to must agree (torch.testing's tolerances; an element may also be as near as PyTorch's to what it computes in
float64, and in linear algebra within four times the distance of its furthest).  A test is one OpInfo of one dtype: all of
float32 and, with PART=N in the environment, every N-th of the others, another part each day.  tests/data/samples.txt
lists those that are known to fail, and why: any other that fails is a fault.  With --known it prints those names anew."""

import os
import random
import re
import sys
import types
import unittest

import numpy
from compare import (LINEAR, Both, dispatchd, flat_tensors, show, torch,
                     wrong_by)  # ends the process where PyTorch is missing
from cases import PART, TODAY
from cases.inputs import BY_NAME, DTYPES, copy
from daemon import TestDaemon
from harness import ROOT
from torch.utils._python_dispatch import TorchDispatchMode

KNOWN = os.path.join(ROOT, "tests", "data", "samples.txt")
SEED = int(os.environ.get("SEED", 0))
OTHERS = ("float64", "int64", "bool", "bfloat16", "complex64")
# Drawn from another state of the generator, or whatever lay in memory.
RANDOM = re.compile(r"(rand|randn|randint|randperm|bernoulli|normal|uniform|dropout|native_dropout|multinomial|poisson|exponential|cauchy|"
                    r"geometric|log_normal|random|rrelu|_sample|_ctc_loss|empty|new_empty|_efficientzerotensor)\w*(\.|$)")
SKIPPED = ("lift_fresh", "detach", "is_same_size", "_local_scalar_dense")
# Whose argument 1 says whether the result is sorted: if not, its order is any, and the daemon sorts.
IN_ANY_ORDER = (torch.ops.aten._unique2.default,)
RTOL = {torch.bfloat16: 1.6e-2, torch.float16: 1e-3, torch.float32: 1.3e-6, torch.complex64: 1.3e-6}
WIDE = {torch.bfloat16: torch.float64, torch.float16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}
# An element's error goes by the largest numbers that it was made of, not by its own size.
BY_NORM = re.compile(f"{LINEAR.pattern}|baddbmm")


class Unsupported(Exception):
    """Layouts and dtypes that no request carries."""


def plain(v):
    """A copy with memory of its own, conjugated and negated where v only says so."""
    if torch.is_tensor(v):
        if v.layout is not torch.strided or v.is_quantized or v.device.type != "cpu" or v.dtype not in DTYPES:
            raise Unsupported
        v = v.detach()
        if v.numel() == 0:  # whose offset no bytes need reach
            return torch.empty_strided(v.shape, v.stride(), dtype=v.dtype)
        return copy(v.resolve_conj().resolve_neg() if v.is_conj() or v.is_neg() else v)
    if isinstance(v, torch.dtype) and v not in DTYPES:
        raise Unsupported
    return [plain(x) for x in v] if isinstance(v, (list, tuple)) else v


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {k: plain(v) for k, v in (kwargs or {}).items() if not isinstance(v, torch.layout)}
        self.calls.append((func, [plain(a) for a in args], given))
        return func(*args, **(kwargs or {}))


def recorded(info, sample):
    """The backend calls of one sample; none where PyTorch refuses it, or it needs another layout."""
    try:
        with torch.no_grad(), Recorder() as recorder:
            info.op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        return []
    return recorder.calls


def widened(v):
    if torch.is_tensor(v):
        return v.to(WIDE.get(v.dtype, v.dtype))
    if isinstance(v, list):
        return [widened(x) for x in v]
    return WIDE.get(v, v) if isinstance(v, torch.dtype) else v


def as_near(got, want, call, at):
    """Is every element of got close to want, or as near to what a wider dtype gives as want is?"""
    func, args, kwargs = call
    try:
        args, kwargs = [widened(a) for a in args], {k: widened(v) for k, v in kwargs.items()}
        out = func(*args, **kwargs)
    except Exception:
        return False
    made = flat_tensors(out if isinstance(out, (list, tuple)) else [out])
    wide = (made if at[0] == "output" else flat_tensors([*args, *kwargs.values()]))[at[1]]
    if wide.shape != want.shape or not (wide.is_floating_point() or wide.is_complex()):
        return False
    rtol, got, want = RTOL[want.dtype], got.to(wide.dtype), want.to(wide.dtype)
    close = torch.isclose(got, want, rtol=rtol, atol=1e-5, equal_nan=True)
    error = (want - wide).abs()
    most = 4 * error.max() if BY_NORM.search(str(func)) else error
    return bool((close | ((got - wide).abs() <= most)).all())


def differs(both, handle, want, call, at):
    got, answer = both.read(handle)
    for what, a, b in (("dtype", answer["dtype"], DTYPES[want.dtype]), ("shape", answer["shape"], list(want.shape))):
        if a != b:
            return f"{what} {a}, want {b}"
    if want.numel() > 1 and at[0] == "output":
        strides = both.client.call("tensor.describe", tensor=handle)["strides"]
        if strides != list(want.stride()):
            return f"strides {strides}, want {list(want.stride())}"
    name = str(call[0]).replace("aten.", "", 1)
    if RANDOM.match(name) or "attention_forward" in name and any(isinstance(x, float) and x > 0 for x in call[1]):
        return None
    try:
        torch.testing.assert_close(got, plain(want).contiguous(), equal_nan=True, **wrong_by(name, want.dtype))
    except AssertionError as e:
        return None if want.dtype in WIDE and as_near(got, plain(want), call, at) else " ".join(str(e).split())[:200]
    return None


def one(both, call):
    """None when the daemon gives what PyTorch gives, else why not."""
    func, args, kwargs = call
    mine = [copy(a) for a in args], {k: copy(v) for k, v in kwargs.items()}
    if func in IN_ANY_ORDER and len(args) > 1:
        mine[0][1] = True
    out = func(*mine[0], **mine[1])
    try:
        flat, given = both.call(str(func).replace("aten.", "", 1).removesuffix(".default"), args, kwargs)
    except dispatchd.Error as e:
        return str(e)[:200]
    wants = [] if not func._schema.returns else list(out) if isinstance(out, (tuple, list)) else [out]
    if len(wants) != len(flat):
        return f"{len(flat)} outputs, want {len(wants)}"
    for i, (want, got) in enumerate(zip(wants, flat)):
        if torch.is_tensor(want):
            why = differs(both, got["tensor"], want, call, ("output", i))
        else:
            number = float(got["float"]) if isinstance(got, dict) and "float" in got else got
            why = None if number == want or number != number and want != want or \
                isinstance(want, float) and abs(number - want) <= 1e-6 * abs(want) else f"{number!r}, want {want!r}"
        if why:
            return f"output {i}: {why}"
    if func._schema.is_mutable:
        for i, (handle, want) in enumerate(zip(given, flat_tensors([*mine[0], *mine[1].values()]))):
            why = differs(both, handle, want, call, ("argument", i))
            if why:
                return f"argument {i} after the call: {why}"
    return None


def of_info(both, info, dtype):
    """(how many samples ran, why the first call that differs does)"""
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(SEED)  # the same samples whatever the part
    try:
        made = list(info.sample_inputs("cpu", BY_NAME[dtype], requires_grad=False))
    except Exception:  # its generator fails on this Python
        return 0, None
    ran = 0
    for calls in (recorded(info, s) for s in made):
        ran += bool(calls)
        for call in calls:
            name = str(call[0]).replace("aten.", "", 1)
            if name.startswith(SKIPPED):
                continue
            try:
                why = one(both, call)
            finally:
                both.done()
            if why:
                shown = ", ".join([show(a) for a in call[1]] + [f"{k}={show(v)}" for k, v in call[2].items()])
                return ran, f"{name}({shown[:300]}): {why}"
    return ran, None


def infos():
    stub = types.ModuleType("expecttest")  # torch.testing imports it; Debian has no package
    stub.TestCase, stub.ACCEPT = unittest.TestCase, True
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db
    return [(i.name + ("." + i.variant_test_name if i.variant_test_name else ""), i) for i in op_db]


def main():
    rewrite = "--known" in sys.argv
    pattern = re.compile(next((a for a in sys.argv[1:] if a != "--known"), ""))
    known = set() if rewrite else {line.partition(":")[0].strip() for line in open(KNOWN) if not line.startswith("#")}
    passed, failed, left = 0, 0, []
    with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad():
        both = Both(client)
        for dtype in ("float32", *OTHERS):
            for number, (name, info) in enumerate(infos()):
                if BY_NAME[dtype] not in info.dtypes or not pattern.search(name) or \
                        dtype != "float32" and (number + TODAY) % PART:
                    continue
                ran, why = of_info(both, info, dtype)
                if why and f"{name} {dtype}" not in known:
                    failed += 1
                    print(f"{name} {dtype}" if rewrite else f"FAIL {name} {dtype}: {why}", flush=True)
                elif ran:
                    passed += not why
                    left += [f"{name} {dtype}"] if why else []
    print(f"{len(left)} known not to work; part {TODAY % PART} of {PART} of the other dtypes")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 and not rewrite


if __name__ == "__main__":
    sys.exit(main())
