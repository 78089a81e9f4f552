"""test_fallback.py -- dp_fallback_cpu(): each recorded call (tests/data/calls.jsonl) gives on a backend that has no kernel but
the fallback what it gives on the CPU: results, shapes, dtypes, strides, errors, and what is left in the arguments.

npu's memory faults when the host touches it, so a kernel that got a tensor of npu would end the daemon."""

import json
import os
import sys

from harness import BUILD, ROOT, SANITIZED, contains, equal, less, main, raises
from daemon import TestDaemon
import dispatchd

UNDEFINED = ("empty", "new_empty", "resize")  # elements are anything
PART = int(os.environ.get("PART", 8 if SANITIZED else 1))  # of the recorded calls, every PART-th
LENGTHS = "lengths and batch sizes of packed sequences lie on the CPU, as in PyTorch"
SOBOL = "the engine's state lies on the CPU"
# The composite kernel that these have on other backends than the CPU is what answers.
KNOWN = {
    "_autocast_to_full_precision": "of CPU and CUDA alone", "_autocast_to_reduced_precision": "of CPU and CUDA alone",
    "_pack_padded_sequence": LENGTHS, "_pack_padded_sequence.out": LENGTHS, "_pack_padded_sequence_backward": LENGTHS,
    "_pad_packed_sequence": LENGTHS, "gru.data": LENGTHS, "lstm.data": LENGTHS, "rnn_relu.data": LENGTHS, "rnn_tanh.data": LENGTHS,
    "_sobol_engine_draw": SOBOL, "_sobol_engine_ff_": SOBOL, "_sobol_engine_initialize_state_": SOBOL,
    "_sobol_engine_scramble_": SOBOL,
    "_reshape_from_tensor": "it reads the shape on the CPU", "_shape_as_tensor": "its result lies on the CPU",
    "_to_cpu": "its results lie on the CPU",
    "tensor_split.tensor_indices_or_sections": "indices lie on the CPU, as in PyTorch",
    "isin.Scalar_Tensor": "a Scalar's result lies on the CPU, as in PyTorch",
    "index.Tensor": "the shape of a result by a mask follows from its values, which the structured kernel does not read",
    "native_channel_shuffle": "it has other strides",
    "mish_backward": "of two dtypes: it promotes, where the CPU's kernel keeps that of grad_output",
}
# The same, and they round otherwise.
ROUNDED = {"group_norm", "layer_norm", "native_group_norm", "native_group_norm.out", "native_layer_norm.out", "silu_backward"}


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        for plugin in "npu", "lists":
            self.d.call("plugin.load", path=plugin)

    def done(self):
        self.d.call("tensor.release", all=True)
        for plugin in "lists", "npu":
            equal(self.d.call("plugin.unload", plugin=plugin)["unmapped"], True, "unmapped")
        self.d.close()
        self.finish()

    def call(self, op, *args, **kwargs):
        return self.d.call("op.call", op=op if "::" in op else "aten::" + op, args=list(args), kwargs=kwargs)

    def out(self, op, *args, **kwargs):
        return self.call(op, *args, **kwargs)["outputs"][0]

    def put(self, data, device="npu:0", dtype="float32"):
        t = {"tensor": self.d.call("tensor.create", data=data, dtype=dtype)["tensor"]}
        return {"tensor": self.out("to.device", t, device, dtype)["tensor"]} if device != "cpu" else t

    def data(self, t):
        return self.d.call("tensor.read", tensor=t["tensor"])["data"]


class Recorded:
    """A recorded call on a device."""

    def __init__(self, f, line, device):
        self.f, self.d, self.line, self.device, self.made = f, f.d, line, device, []
        for told in line["tensors"]:
            base = self.made[told["of"]] if "of" in told else self.base(told)
            strided = self.d.op("aten::as_strided", {"tensor": base}, told["sizes"], told["strides"], told["offset"])
            self.made.append(strided["tensor"])

    def base(self, told):
        data, dtype = told["data"], told["dtype"]
        if dtype.startswith("complex"):
            data = [data[i:i + 2] for i in range(0, len(data), 2)]
        data = [bool(x) for x in data] if dtype == "bool" else data
        t = self.d.call("tensor.create", dtype=dtype, shape=[len(data)], data=data)["tensor"]
        if self.device == "cpu":
            return t
        return self.f.out("to.device", {"tensor": t}, self.device, dtype)["tensor"]

    def value(self, v):
        if isinstance(v, list):
            return [self.value(x) for x in v]
        if v == "cpu":
            return self.device
        if not isinstance(v, dict):
            return v
        (kind, of), = v.items()
        return {"tensor": self.made[of]} if kind == "t" else {{"f": "float", "i": "int", "c": "complex"}[kind]: of}

    def read(self, o):
        if isinstance(o, list):
            return [self.read(x) for x in o]
        if not isinstance(o, dict) or "tensor" not in o:
            return o
        read = self.d.call("tensor.read", tensor=o["tensor"])
        name = self.line["op"].split("::")[1].split(".")[0]
        keys = ["dtype", "shape", "strides"] + ["data"] * (not name.startswith(UNDEFINED))
        return [read[k] for k in keys]

    def kwargs(self):
        """As recorded, but a factory is told the device."""
        kwargs = {k: self.value(v) for k, v in self.line["kwargs"].items()}
        if not self.made and "Device? device" in self.d.call("registry.describe", op=self.line["op"])["schema"]:
            kwargs["device"] = self.device
        return kwargs

    def run(self):
        """(what the call gave, what it left in the arguments, devices of its results, keys that its kernels ran for)"""
        self.d.call("session.set", seed=1)
        params = {"op": self.line["op"], "args": [self.value(a) for a in self.line["args"]], "trace": True,
                  "kwargs": self.kwargs()}
        try:
            answer = self.d.call("op.call", **params)
        except dispatchd.Error as e:
            return [e.type, e.message], [], set(), set()
        devices = {o["device"] for out in answer["outputs"] for o in (out if isinstance(out, list) else [out])
                   if isinstance(o, dict) and "device" in o}
        left = [self.read({"tensor": t}) for t in self.made]
        return self.read(answer["outputs"]), left, devices, {step["plugin"] for step in answer["trace"]}


def alike(a, b):
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all(map(alike, a, b))
    return abs(a - b) <= 1e-5 * max(1, abs(a)) if isinstance(a, float) and isinstance(b, (int, float)) else a == b


def faults_of(f, line):
    """(faults, whether the fallback served it)"""
    op = line["op"].split("::")[1]
    want, got = Recorded(f, line, "cpu").run(), Recorded(f, line, "npu:1").run()
    f.d.call("tensor.release", all=True)
    same = alike if op in ROUNDED else lambda a, b: a == b
    faults = [f"{op}: {what}: want {str(a)[:300]}, got {str(b)[:300]}"
              for what, a, b in (("results", want[0], got[0]), ("arguments", want[1], got[1])) if not same(a, b)]
    if not got[2] <= {"npu:1"}:
        faults.append(f"{op}: results on {got[2]}")
    return faults, "npu" in got[3]


def test_every_recorded_call(f):
    with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as lines:
        calls = [json.loads(line) for line in lines][::PART]
    pattern = next((a for a in sys.argv[1:] if not a.startswith("-")), "")
    faults, served = [], 0
    for line in calls:
        if pattern not in line["op"]:
            continue
        found, by_fallback = faults_of(f, line)
        served += by_fallback
        known = line["op"].split("::")[1] in KNOWN
        if known and not found:
            found = [f"{line['op']}: has no fault: take it out of KNOWN"]
        elif known:
            found = []
        for fault in found:
            print("FAIL", fault, flush=True)
        faults += found
    print(f"{len(calls)} calls, {served} served by the fallback")
    equal(faults, [], f"{len(faults)} faults")
    less(2000 // PART if not pattern else -1, served, "calls that the fallback served")


def test_a_view_is_a_view(f):
    x = f.put([[1, 2, 3], [4, 5, 6]])
    for op, args in (("view", [[6]]), ("t", []), ("unfold", [1, 2, 1])):
        answer = f.call(op, x, *args)
        equal(answer.get("warnings", []), [], "warnings")
        described = f.d.call("tensor.describe", tensor=answer["outputs"][0]["tensor"])
        equal(described["base"], x["tensor"], f"what {op} is a view of")
    flat = f.out("view", x, [6])
    f.call("mul_.Scalar", {"tensor": flat["tensor"]}, 10)
    equal(f.data(x), [[10, 20, 30], [40, 50, 60]])
    equal(f.d.call("tensor.describe", tensor=x["tensor"])["version"], 1)
    # memory that arguments share is shared on the CPU: overlap is found there
    part = {"tensor": f.out("slice.Tensor", x, 0, 0, 1)["tensor"]}
    e = raises(lambda: f.call("add_.Tensor", x, part), "RuntimeError", "refer to a single memory location")
    equal(e.data.get("written", []), [], "arguments that may be damaged")
    f.d.call("tensor.release", all=True)


def test_an_output_gets_the_geometry_of_its_result(f):
    x, out, none = f.put([1, -2]), f.put([[0, 0], [0, 0]]), f.put([])
    warned = f.call("neg.out", x, out=out)
    contains(warned["warnings"][0], "resized")
    equal(f.data(out), [-1, 2])
    equal(f.d.call("tensor.describe", tensor=out["tensor"])["version"], 1)
    f.call("arange.start_out", 0, 5, out=none)
    equal(f.data(none), [0, 1, 2, 3, 4])
    f.call("resize_", x, [2, 2])
    equal(f.d.call("tensor.describe", tensor=x["tensor"])["shape"], [2, 2])
    y = f.put([7, 8, 9])
    f.call("set_.source_Tensor", out, y)
    f.call("neg_", out)
    equal(f.data(y), [-7, -8, -9], "the memory that out has now")
    f.d.call("tensor.release", all=True)


def test_elements_that_share_memory(f):
    x = f.put([0, 0])
    rows = {"tensor": f.out("expand", x, [2, 2])["tensor"]}
    raises(lambda: f.call("add_.Scalar", rows, 1), "RuntimeError", "single memory location")
    equal(f.data(x), [0, 0])
    f.d.call("tensor.release", all=True)


def test_lists_and_what_may_be_none(f):
    a, b = f.put([1, 2]), f.put([3])
    equal([f.data(t) for t in f.out("lists::reversed", [a, b])], [[3], [1, 2]])
    equal(f.out("lists::present", [a, None, b]), [True, False, True])
    f.call("lists::copy_", [a, b], [f.put([5, 6]), f.put([7])])
    equal((f.data(a), f.data(b)), ([5, 6], [7]))
    f.d.call("tensor.release", all=True)


def test_results_lie_where_the_arguments_do(f):
    x0, x1, host = f.put([1, 2]), f.put([3, 4], "npu:1"), f.put([5, 6], "cpu")
    for args, device in (([x0, x1], "npu:0"), ([x1, x0], "npu:1"), ([x1, host], "npu:1"), ([host, x1], "npu:1")):
        equal(f.out("dot", *args)["device"], device)
    equal(f.out("nonzero", x1)["device"], "npu:1")
    equal(f.out("zeros", [2], device="npu:1")["device"], "npu:1")
    equal(f.out("zeros_like", x0, device="npu:1")["device"], "npu:1")
    equal(f.out("zeros_like", x0, device="cpu")["device"], "cpu")
    equal(f.data(f.out("copy_", x0, x1)), [3, 4])
    contains(raises(lambda: f.call("zeros", [2], device="npu:2"), "RuntimeError").message, "npu:2")
    f.d.call("tensor.release", all=True)


def test_a_generator_of_the_device(f):
    def draws(device):
        g = f.d.call("generator.create", device=device, seed=7)
        x = f.put([0.0] * 4, device)
        drawn = [f.data(f.out("uniform_", x, generator={"generator": g["generator"]})) for _ in range(2)]
        f.d.call("generator.release", generators=[g["generator"]])
        return drawn
    ours, again, cpu = draws("npu:1"), draws("npu:1"), draws("cpu")
    equal(ours, again, "of the same seed")
    equal(ours[0], cpu[0], "the first draws of the seed")
    equal(ours[0] != ours[1], True, "two calls draw something else")
    f.d.call("tensor.release", all=True)


def test_what_fails_changes_nothing(f):
    x, y = f.put([[1, 2, 3], [4, 5, 6]]), f.put([[1, 2], [3, 4]])
    contains(raises(lambda: f.call("mm", x, y), "RuntimeError").message, "cannot be multiplied")
    for error, op, args in (("RuntimeError", "add_.Tensor", [x, y]), ("ValueError", "lists::copy_", [[x, y], [x]])):
        equal(raises(lambda: f.call(op, *args), error).data.get("written", []), [], "arguments that may be damaged")
    equal(f.data(x), [[1, 2, 3], [4, 5, 6]])
    equal(f.d.call("tensor.describe", tensor=x["tensor"])["version"], 0)
    f.d.call("tensor.release", all=True)


def test_composites_on_a_device(f):
    x, where = f.put([1, 2, 3]), f.put([1], dtype="int64")
    contains(raises(lambda: f.call("tensor_split.tensor_indices_or_sections", x, where), "RuntimeError").message,
             "to be on cpu")
    got, want = (f.data(f.out("mish_backward", *[f.put([1, 2], device)] * 2)) for device in ("npu", "cpu"))
    equal(alike(got, want), True, f"{got} and {want}")
    f.d.call("tensor.release", all=True)


def test_the_policy_on_fallbacks(f):
    x = f.put([1, -2])
    f.d.call("session.set", fallback="report")
    contains(f.call("neg", x)["warnings"][0], "aten::neg")
    f.d.call("session.set", fallback="forbid")
    raises(lambda: f.call("neg", x), "NotImplementedError", "neg")
    f.d.call("session.set", fallback="allow")
    equal(f.data(f.out("neg", x)), [-1, 2])
    f.d.call("tensor.release", all=True)


main(Fixture, Fixture.done)
