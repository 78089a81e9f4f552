"""test_meta.py [PATTERN] -- every operator without memory beside the same call with, both dispatchd's: on device
meta, and of fakes.

The cases are those of run.py and, where PyTorch can make them, the backend calls of its OpInfo
samples.  What works on the CPU must give the same number of outputs with the same dtypes, shapes and strides
without memory, or be NotImplementedError; what fails there must fail alike, unless values decide it.  A test is
one operator; PATTERN narrows them.  At the end it says which operators are left out."""

import collections
import os
import re
import sys
import types
import unittest

from compare import Both, dispatchd, flat_tensors, show, torch, yaml  # ends the process where PyTorch is missing
from cases import PART, TODAY, cases_of
from cases.inputs import DTYPES, operator, storage
from daemon import TestDaemon
from harness import ROOT

# Errors of the CPU that depend on values: without values there is nothing to refuse.  An empty tensor's attachment
# has no offset.  A product of nothing is scaled by a Scalar, without memory by none.
VALUES = re.compile("probability|window overlap|all elements of std|Expected p_in|invalid multinomial|"
                    "attachment: storage_offset|out of range in self|out of bounds|INDICES element|tried to access index|Number of elements of source|"
                    "invalid max index|found idx to be|embedding_bag.*: offsets.-?[01]. |ZeroDivisionError|target out of range|out of range: there are|should be between 0 and 1|"
                    "takes polynomials of degrees|^(addmm|baddbmm)_?: result type int64 can't be cast to the desired output type bool|"
                    "^fill_?.Tensor: value cannot be|^embedding_renorm_: select|^segment_reduce: .* (all rows|negative value|a segment goes from)|`zero_point` must be between")
LAPACK = re.compile("is singular|not positive-definite|non-finite values|infs or NaNs|Pivots given|pivots passed|has pivots that|"
                    "too many repeated|illegal value|full rank|is zero and using it")
# They do something on the CPU alone.
OF_DEVICES = {"_autocast_to_full_precision", "_autocast_to_reduced_precision"}
GEOMETRY = ("dtype", "shape", "strides")


def outcome(both, name, args, kwargs):
    """([geometry of every output], None) or (None, error)."""
    try:
        flat, _ = both.call(name, args, kwargs)
        return [[x[k] for k in GEOMETRY] if isinstance(x, dict) and "tensor" in x else x for x in flat], None
    except dispatchd.Error as e:
        return None, e
    finally:
        both.done()


class Fakes(Both):
    """A session in fake mode: what its calls make has no memory."""

    def __init__(self, client):
        super().__init__(client)
        client.call("session.set", include=["BackendSelect", "ADInplaceOrView", "Fake"])

    def encode(self, v):
        if not torch.is_tensor(v):
            return super().encode(v)
        n = storage(v).numel()
        whole = self.made("aten::empty_strided", [[n], [1]], dtype=DTYPES[v.dtype])
        return {"tensor": self.made("aten::as_strided", [{"tensor": whole}, list(v.shape), list(v.stride()),
                                                         v.storage_offset()])}

    def made(self, op, args, **kwargs):
        self.handles.append(self.client.call("op.call", op=op, args=args, kwargs=kwargs)["outputs"][0]["tensor"])
        return self.handles[-1]


class Pair:
    """The same calls with memory and without."""

    def __init__(self, what, cpu, without):
        self.what, self.cpu, self.without = what, cpu, without
        self.calls, self.skipped, self.faults = collections.Counter(), collections.Counter(), {}

    def compare(self, name, args, kwargs, takes_device):
        """None when both agree; else why not."""
        want, refused = outcome(self.cpu, name, args, kwargs)
        if takes_device and not flat_tensors(args):
            kwargs = {**kwargs, "device": torch.device("cpu")}  # which stands for the device of this side
        got, error = outcome(self.without, name, args, kwargs)
        if error and error.type == "NotImplementedError" and not (refused and refused.type == error.type):
            self.skipped[name] += 1
            return None
        if refused:
            same = error and error.type == refused.type
            why = f"{name}: {refused.message}"
            return None if same or VALUES.search(why) or LAPACK.search(why) else f"{error or got}, want {refused}"
        if error:
            return f"{error}, want {want}"
        return None if got == want else f"{got}, want {want}"

    def case(self, name, args, kwargs, takes_device):
        self.calls[name] += 1
        if len(self.faults.get(name, ())) == 3:
            return
        why = self.compare(name, args, kwargs, takes_device)
        if why:
            given = ", ".join([show(a) for a in args] + [f"{k}={show(v)}" for k, v in kwargs.items()])
            self.faults.setdefault(name, []).append(f"({given}): {why}")


def has_device(schema):
    return any(a.name == "device" and a.kwarg_only for a in schema.arguments)


def written_cases(pairs, names):
    for name in names:
        schema = operator(name)._schema
        for args, kwargs in cases_of(name):
            for pair in pairs:
                pair.case(name, args, kwargs, has_device(schema))


def recorded(function):
    """The backend calls that `function` makes: (operator, arguments, keyword arguments)."""
    from torch.utils._python_dispatch import TorchDispatchMode
    calls = []

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))
    try:
        with Recorder():
            function()
    except Exception:  # PyTorch refuses its own sample; the calls up to there count
        pass
    return calls


def plain_arguments(v):
    if torch.is_tensor(v):
        return v.layout is torch.strided and not v.is_quantized and not v.is_conj() and not v.is_neg() and \
            v.device.type == "cpu" and v.dtype in DTYPES
    if isinstance(v, (list, tuple)):
        return all(map(plain_arguments, v))
    return v in DTYPES or v is None or isinstance(v, (bool, int, float, str, torch.memory_format, torch.device))


def samples():
    """Backend calls of PyTorch's own samples; nothing where it cannot make them."""
    stub = types.ModuleType("expecttest")  # torch.testing imports it; Debian has no package
    stub.TestCase, stub.ACCEPT = unittest.TestCase, True
    sys.modules.setdefault("expecttest", stub)
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as e:
        print(f"without PyTorch's samples: {e}")
        return
    for info in op_db[TODAY % PART::PART]:
        for dtype in (torch.float32, torch.int64):
            try:
                made = list(info.sample_inputs("cpu", dtype, requires_grad=False)) if dtype in info.dtypes else []
            except Exception:  # its generator fails on this Python
                continue
            for s in made:
                yield from recorded(lambda: info.op(s.input, *s.args, **s.kwargs))


def sample_cases(pairs, names):
    seen = set()
    for func, args, kwargs in samples():
        name = str(func).replace("aten.", "", 1).removesuffix(".default")
        kwargs = {k: v for k, v in kwargs.items() if not isinstance(v, torch.layout)}
        if name not in names or not plain_arguments([*args, *kwargs.values()]):
            continue
        key = repr((name, [show(list(a) if isinstance(a, tuple) else a) for a in args], sorted(map(str, kwargs.items()))))
        if key not in seen:
            seen.add(key)
            for pair in pairs:
                pair.case(name, [list(a) if isinstance(a, tuple) else a for a in args], kwargs, has_device(func._schema))
    return len(seen)


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    with open(os.path.join(ROOT, "proto", "ops", "native_functions.yaml")) as f:
        names = [n for n in (e["func"].split("(")[0] for e in yaml.safe_load(f)) if pattern.search(n) and n not in OF_DEVICES]
    with TestDaemon() as daemon, daemon.connect() as client, daemon.connect() as other, torch.no_grad():
        pairs = [Pair("device meta", Both(client), Both(client, "meta")), Pair("fakes", Both(client), Fakes(other))]
        written_cases(pairs, names)
        n_samples = sample_cases(pairs, set(names))
    for pair in pairs:
        for name, faults in pair.faults.items():
            for fault in faults:
                print(f"FAIL {pair.what}: {name}{fault}", flush=True)
        total, missing = sum(pair.calls.values()), [n for n in names if 0 < pair.calls[n] == pair.skipped[n]]
        print(f"{pair.what}: {total} calls compared, {n_samples} of them from PyTorch's samples; NotImplementedError: "
              f"{sum(pair.skipped.values())}; operators without a kernel: {', '.join(missing) or 'none'}")
    failed = len({name for pair in pairs for name in pair.faults})
    print(f"{len(names) - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
