"""test_captured.py [PATTERN] -- programs captured from PyTorch's own samples (OpInfo) in float32, beside eager calls.

Each call of an operator that a sample makes is called by the daemon, and is also a program of that one call, which is
captured (program.capture) over its inputs and over fakes of them.  The program that was captured over inputs must give
eager's bits, also in what it writes to; the one captured over fakes must have the same steps, or fail by the name of the
operator whose result depends on elements.  A call that fails must fail alike in each.  A test is one OpInfo; with PART=N in
the environment every N-th is tried, another part each day.
At the end it counts the calls: refused by eager too, equal (its bits are eager's), alike over fakes, by elements (fakes fail),
numbers (they return a number, which a capture must be asked for), known (KNOWN says why)."""

import collections
import random
import re
import sys

import numpy
from compare import UNDEFINED, Both, dispatchd, flat_tensors, show, torch  # ends the process where PyTorch is missing
from cases import PART, TODAY
from cases.inputs import DTYPES
from daemon import TestDaemon
from replay import NAMES, RENAMED, CASTS, indexed, python_inside
from test_samples import SEED, Unsupported, infos, plain
from torch.overrides import TorchFunctionMode

# What a capture over fakes says of an operator whose result depends on elements.
BY_ELEMENTS = re.compile(r"no kernel for Meta .*needs the bytes|expected \w+ with elements, but|has no memory|numbers=true")
LISTS = ("List[int]", "List[SymInt]")
PROPERTIES = ("device", "dim", "size")  # of tensors; what they give is no tensor
# OpInfo -> what is known of it: combinations of more than two are listed by the kernel, not by operators.
KNOWN = {"combinations": "that the capture does not know"}
GEOMETRY = ("dtype", "shape", "strides")


def with_lists(name, args):
    """The arguments, with numbers that Python takes in place of a list of them (x.view(2, 3)) as a list."""
    schemas = torch._C._jit_get_schemas_for_operator("aten::" + name.partition(".")[0])
    for i, a in enumerate(args):
        if isinstance(a, int) and all(isinstance(x, int) for x in args[i:]) and \
                all(str(s.arguments[i].type) in LISTS for s in schemas if len(s.arguments) > i and not s.arguments[-1].is_out):
            return [*args[:i], list(args[i:])]
    return args


class Calls(TorchFunctionMode):
    """Keeps the calls of operators, with copies of their arguments from before each: lists of (operator, arguments, keyword
    arguments), where a call's first argument is what the one before it in the list returned."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, getattr(function, "__name__", "")
        if hasattr(function, "__code__"):
            with self:
                return function(*args, **kwargs)
        try:
            steps = self.steps(name, function, args, kwargs)
            self.calls += [[(n, [plain(a) for a in given], {k: plain(v) for k, v in named.items()}) for n, given, named in steps]]
        except Unsupported:
            pass
        return function(*args, **kwargs)

    @staticmethod
    def steps(name, function, args, kwargs):
        if name == "__get__":
            name = function.__self__.__name__
        if name in PROPERTIES:
            return []
        if name == "__getitem__":
            return [("alias", args[:1], {})] + [(n, a, {}) for n, a in indexed(args[1], args[0].ndim)]
        if name in CASTS:
            return [("to.dtype", [args[0], CASTS[name]], {})]
        name = RENAMED.get(name, name)
        name = next((n for n in (name, name.strip("_")) if n.partition(".")[0] in NAMES), None)
        kwargs = {k: v for k, v in kwargs.items() if not isinstance(v, torch.layout)}
        return [(name, with_lists(name, args), kwargs)] if name else []


class Outcome:
    """What a call gave: its error, or the bits and the geometry of each output and of each tensor that it was given."""

    def __init__(self, error=None, values=()):
        self.error, self.values = error, list(values)


class Program:
    """A program of the calls `steps`, whose inputs are their tensors."""

    def __init__(self, both, steps):
        self.both, self.client, self.calls = both, both.client, steps
        self.tensors = list({id(t): t for _, args, kwargs in steps for t in flat_tensors([*args, *kwargs.values()])}.values())
        self.names = {id(t): f"i{n}" for n, t in enumerate(self.tensors)}

    def given(self):
        """Fresh tensors for the inputs, by name."""
        self.both.sent = {}
        return {self.names[id(t)]: self.both.encode(t) for t in self.tensors}

    def encoded(self, v):
        if torch.is_tensor(v):
            return {"ref": self.names[id(v)]}
        return [self.encoded(x) for x in v] if isinstance(v, (list, tuple)) else self.both.encode(v)

    def made(self, n_outputs):
        steps = []
        for i, (name, args, kwargs) in enumerate(self.calls):
            last = i + 1 == len(self.calls)
            steps.append({"op": "aten::" + name, "args": [{"ref": f"s{i - 1}"}] * (i > 0) + [self.encoded(a) for a in args],
                          "kwargs": {k: self.encoded(v) for k, v in kwargs.items()},
                          "as": [f"o{k}" for k in range(n_outputs)] if last else [f"s{i}"]})
        return self.client.call("program.create", inputs=[{"name": n} for n in self.names.values()], steps=steps,
                                outputs=[f"o{k}" for k in range(n_outputs)])["program"]

    def state(self, outputs, given):
        """The bits and the geometry of outputs and inputs."""
        values = []
        for o in outputs:
            values += o if isinstance(o, list) else [o]
        return [self.bits(v) for v in [*values, *given.values()]]

    def bits(self, v):
        if not (isinstance(v, dict) and "tensor" in v):
            return v
        self.both.handles.append(v["tensor"])
        about = self.client.call("tensor.describe", tensor=v["tensor"])
        if self.undefined:
            return [about[k] for k in GEOMETRY]
        answer = self.client.call("tensor.read", tensor=v["tensor"], **{"as": "attachment"})
        return [about[k] for k in GEOMETRY], answer["attachment"]

    @property
    def undefined(self):
        return any(UNDEFINED.match(name) for name, _, _ in self.calls)

    def eager(self):
        """(outcome, number of the last call's outputs)"""
        given, last, outputs = self.given(), [], []
        self.client.call("session.set", seed=SEED)
        try:
            for name, args, kwargs in self.calls:
                sent = last + [self.both.encode(a) for a in args], {k: self.both.encode(v) for k, v in kwargs.items()}
                outputs = self.client.call("op.call", op="aten::" + name, args=sent[0], kwargs=sent[1])["outputs"]
                last = [{"tensor": x["tensor"]} if isinstance(x, dict) and "tensor" in x else x for x in outputs[:1]]
        except dispatchd.Error as e:
            return Outcome(e), 0
        return Outcome(None, self.state(outputs, given)), len(outputs)

    def captured(self, program, fakes):
        """(program, or None, error)"""
        given = self.given()
        self.client.call("session.set", seed=SEED)
        try:
            return self.client.call("program.capture", program=program, inputs=given, fakes=fakes)["program"], None
        except dispatchd.Error as e:
            return None, e

    def run(self, program):
        given = self.given()
        self.client.call("session.set", seed=SEED)
        try:
            outputs = self.client.call("program.run", program=program, inputs=given)["outputs"]
        except dispatchd.Error as e:
            return Outcome(e)
        return Outcome(None, self.state(outputs, given))


def steps_of(client, program):
    """(what describe says, the lines of its text)"""
    lines = client.call("program.describe", program=program, format="text")["text"].splitlines()
    return client.call("program.describe", program=program), lines


def first_difference(real, fake):
    for x, y in zip(real[1], fake[1]):
        if x != y:
            return f"'{y}' over fakes, '{x}' over reals"
    return f"{len(fake[1])} lines over fakes, {len(real[1])} over reals: {fake[1][-1]!r}, {real[1][-1]!r}"


def one(both, calls, counts):
    """None when what was captured agrees with eager, else why not."""
    p, client = Program(both, calls), both.client
    eager, n_outputs = p.eager()
    if eager.error:
        counts["refused"] += 1
        return None
    program = p.made(n_outputs)
    handles = [program]
    try:
        real, error = p.captured(program, False)
        if error and "numbers=true" in error.message:
            counts["numbers"] += 1
            return None
        if error:
            return f"capture over reals: {error}"
        handles.append(real)
        got = p.run(real)
        if got.error:
            return f"run of the captured program: {got.error}"
        if got.values != eager.values:
            i = next(i for i, (a, b) in enumerate(zip(got.values, eager.values)) if a != b)
            differ = str(got.values[i])[:150], str(eager.values[i])[:150]
            return f"value {i} of {n_outputs} outputs, then inputs: got {differ[0]}, want {differ[1]}"
        counts["equal"] += 1
        fake, error = p.captured(program, True)
        if error:
            if BY_ELEMENTS.search(error.message):
                counts["by elements"] += 1
                return None
            return f"capture over fakes: {error}"
        handles.append(fake)
        a, b = steps_of(client, real), steps_of(client, fake)
        if a != b:
            return first_difference(a, b)
        counts["alike over fakes"] += 1
        return None
    finally:
        for handle in handles:
            client.call("program.release", program=handle)


def shown(calls):
    def of(args, kwargs):
        return ", ".join([show(a) for a in args] + [f"{k}={show(v)}" for k, v in kwargs.items()])[:200]
    return "; ".join(f"{name}({of(args, kwargs)})" for name, args, kwargs in calls)


def recorded(info, sample):
    with torch.no_grad(), python_inside(), Calls() as recorder:
        try:
            info.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            return []
    return recorder.calls


def of_info(both, name, info, counts):
    """(number of samples, why the first call that differs does)"""
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(SEED)
    try:
        samples = list(info.sample_inputs("cpu", torch.float32, requires_grad=False))
    except Exception:  # its generator fails on this Python
        return 0, None
    ran = 0
    for calls in (recorded(info, s) for s in samples):
        ran += bool(calls)
        for call in filter(None, calls):
            counts["calls"] += 1
            try:
                why = one(both, call, counts)
            except dispatchd.Error as e:
                why = str(e)
            finally:
                both.done()
            if why and name in KNOWN and re.search(KNOWN[name], why):
                counts["known"] += 1
            elif why:
                return ran, f"{shown(call)}: {why}"
    return ran, None


def main():
    pattern = re.compile((sys.argv + [""])[1])
    passed, failed, counts = 0, 0, collections.Counter()
    with TestDaemon() as daemon, daemon.connect() as client:
        both = Both(client)
        for number, (name, info) in enumerate(infos()):
            if torch.float32 not in info.dtypes or not pattern.search(name) or (number + TODAY) % PART:
                continue
            ran, why = of_info(both, name, info, counts)
            counts["samples"] += ran
            failed += bool(why)
            passed += bool(ran and not why)
            if why:
                print(f"FAIL {name}: {why}", flush=True)
    print("; ".join(f"{n} {what}" for what, n in counts.items()))
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
