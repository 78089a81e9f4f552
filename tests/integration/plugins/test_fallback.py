"""test_fallback.py -- dp_fallback_cpu(): each recorded call (tests/data/calls.jsonl) gives on a backend that has no kernel but
the fallback what it gives on the CPU: results, shapes, dtypes, strides, errors, and what is left in the arguments.

npu's memory faults when the host touches it, so a kernel that got a tensor of npu would end the daemon."""

import os

from harness import BUILD, SANITIZED, contains, equal, main, raises, warnings
from daemon import TestDaemon
from on_device import alike, compare_recorded_calls

PART = int(os.environ.get("PART", 8 if SANITIZED else 1))  # of the recorded calls, every PART-th
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


def test_every_recorded_call(f):
    compare_recorded_calls(f.d, "npu", PART)


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
    contains(warnings(warned)[0], "resized")
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


def test_the_policy_on_kernels_that_pass_a_call_on(f):
    x = f.put([0.5])
    for policy, what in ("report", "aten::logit: its kernel for npu runs these arguments on the CPU"), ("allow", None):
        f.d.call("session.set", fallback=policy)
        answer = f.call("logit", x)
        equal(((warnings(answer) or [None])[0], f.data(answer["outputs"][0])), (what, [0]), policy)
    f.d.call("session.set", fallback="forbid")
    raises(lambda: f.call("logit", x), "NotImplementedError", "logit", "on the CPU, which the mode forbids")
    f.d.call("session.set", fallback="allow")
    f.d.call("tensor.release", all=True)


def test_the_policy_on_fallbacks(f):
    x = f.put([1, -2])
    f.d.call("session.set", fallback="report")
    contains(warnings(f.call("neg", x))[0], "aten::neg")
    f.d.call("session.set", fallback="forbid")
    raises(lambda: f.call("neg", x), "NotImplementedError", "neg")
    row = f.out("view", x, [1, 2])  # copies nothing
    equal(f.d.call("tensor.describe", tensor=row["tensor"])["device"], "npu:0")
    f.d.call("session.set", fallback="allow")
    equal(f.data(f.out("neg", x)), [-1, 2])
    f.d.call("tensor.release", all=True)


main(Fixture, Fixture.done)
