"""on_device.py -- recorded calls (tests/data/calls.jsonl) on the CPU and on a device: the same results, shapes, dtypes,
strides, errors, and what is left in the arguments."""

import json
import os
import sys

from harness import ROOT, equal, less
import dispatchd

UNDEFINED = ("empty", "new_empty", "resize")  # elements are anything
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
    "native_channel_shuffle": "it has other strides",
    "mish_backward": "of two dtypes: it promotes, where the CPU's kernel keeps that of grad_output",
}
# The same, and they round otherwise.
ROUNDED = {"group_norm", "layer_norm", "native_group_norm", "native_group_norm.out", "native_layer_norm.out", "silu_backward"}


class Recorded:
    """A recorded call on a device."""

    def __init__(self, d, line, device):
        self.d, self.line, self.device, self.made = d, line, device, []
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
        return self.d.op("aten::to.device", {"tensor": t}, self.device, dtype)["tensor"]

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


def faults_of(d, line, backend, rounded):
    """rounded: the backend has kernels of its own, which round otherwise.  (faults, whether a kernel or the fallback of the backend's plugin served it)"""
    op, device = line["op"].split("::")[1], backend + ":1"
    want, got = Recorded(d, line, "cpu").run(), Recorded(d, line, device).run()
    d.call("tensor.release", all=True)
    same = alike if rounded or op in ROUNDED else lambda a, b: a == b
    faults = [f"{op}: {what}: want {str(a)[:300]}, got {str(b)[:300]}"
              for what, a, b in (("results", want[0], got[0]), ("arguments", want[1], got[1])) if not same(a, b)]
    if not got[2] <= {device}:
        faults.append(f"{op}: results on {got[2]}")
    return faults, bool(got[3] & {backend, "sim" + backend})


def compare_recorded_calls(d, backend, part, rounded=False):
    """Each PART-th recorded call; rounded: results may differ by what rounding does."""
    with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as lines:
        calls = [json.loads(line) for line in lines][::part]
    pattern = next((a for a in sys.argv[1:] if not a.startswith("-")), "")
    faults, served = [], 0
    for line in calls:
        if pattern not in line["op"]:
            continue
        found, by_backend = faults_of(d, line, backend, rounded)
        served += by_backend
        known = line["op"].split("::")[1] in KNOWN
        if known and not found:
            found = [f"{line['op']}: has no fault: take it out of KNOWN"]
        elif known:
            found = []
        for fault in found:
            print("FAIL", fault, flush=True)
        faults += found
    print(f"{len(calls)} calls, {served} served by {backend}")
    equal(faults, [], f"{len(faults)} faults")
    less(2000 // part if not pattern else -1, served, "calls that the backend served")
