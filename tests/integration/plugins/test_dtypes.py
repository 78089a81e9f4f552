"""test_dtypes.py -- dtypes that are storage alone (qint8, quint8, qint32), PyTorch's that are not here, and those that
came after a plugin was built (tests/plugins/quantized.c, knows_fewer.c)."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

QUANTIZED = ["qint8", "quint8", "qint32"]


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.d.call("plugin.load", path="quantized")
        self.d.call("plugin.load", path="knows_fewer")

    def done(self):
        self.d.call("tensor.release", all=True)
        self.d.call("plugin.unload", plugin="quantized")
        self.d.call("plugin.unload", plugin="knows_fewer")
        equal(self.d.call("server.status")["tensors"], 0, "live tensors")
        self.d.close()
        self.finish()

    def packed(self, dtype, values=(-1.0, 0.25, 1000.0)):
        x = {"data": list(values), "dtype": "float64"}
        return {"tensor": self.d.op("quantized::pack", x, 0.5, dtype)["tensor"]}


def test_they_are_storage(f):
    for dtype, want in zip(QUANTIZED, ([-2, 0, 127], [0, 0, 255], [-2, 0, 2000])):
        t = f.packed(dtype)
        read = f.d.call("tensor.read", tensor=t["tensor"])
        equal((read["dtype"], read["data"]), (dtype, want))
        keys = f.d.call("tensor.describe", tensor=t["tensor"])["keys"]
        equal(("QuantizedCPU" in keys, "CPU" in keys), (True, False), keys)
        copy = f.d.op("aten::clone", t)
        equal(f.d.call("tensor.read", tensor=copy["tensor"])["data"], want)


def test_clients_make_and_read_their_integers(f):
    for dtype, values in zip(QUANTIZED, ([-128, 127], [0, 255], [-2**31, 2**31 - 1])):
        t = f.d.call("tensor.create", dtype=dtype, data=values)
        equal((t["dtype"], f.d.call("tensor.read", tensor=t["tensor"])["data"]), (dtype, values))
        raises(lambda: f.d.call("tensor.create", dtype=dtype, data=[values[1] + 1]), "ValueError", dtype)


def test_kernels_for_dense_tensors_do_not_see_them(f):
    t = f.packed("qint8")
    raises(lambda: f.d.op("aten::nonzero", t), "NotImplementedError", "aten::nonzero", "QuantizedCPU")
    raises(lambda: f.d.op("aten::neg", t), "NotImplementedError", "aten::neg", "quantized", "QuantizedCPU")
    raises(lambda: f.d.op("aten::zeros", [2], dtype="quint8"), "NotImplementedError", "QuantizedCPU")
    raises(lambda: f.d.op("aten::arange", 3, dtype="qint32"), "NotImplementedError", "QuantizedCPU")


def test_they_are_never_converted(f):
    t = f.packed("qint8")
    raises(lambda: f.d.op("quantized::to_float", t), "RuntimeError", "qint8", "float32", "scale")
    raises(lambda: f.d.op("quantized::sum", t, f.packed("quint8")), "RuntimeError", "quantized", "qint8")
    raises(lambda: f.d.op("aten::result_type.Tensor", t, {"data": [1.0]}), "RuntimeError", "qint8", "float32")
    raises(lambda: f.d.op("aten::promote_types", "qint8", "quint8"), "RuntimeError", "qint8", "quint8")
    equal(f.d.op("aten::promote_types", "qint8", "qint8"), "qint8")
    raises(lambda: f.d.op("aten::scalar_tensor", 1, dtype="qint8"), "NotImplementedError", "QuantizedCPU")


def test_dtypes_that_are_only_pytorchs_are_named(f):
    for name in ("float8_e5m2", "uint16", "complex32"):
        raises(lambda: f.d.op("aten::zeros", [2], dtype=name), "TypeError", name, "PyTorch's")
    raises(lambda: f.d.op("aten::zeros", [2], dtype="float31"), "TypeError", "float32")


def test_a_plugin_is_not_called_with_dtypes_that_came_later(f):
    bf = {"data": [1.0], "dtype": "bfloat16"}
    f32 = {"data": [1.0]}
    for op in ("same", "fill_", "view"):
        raises(lambda: f.d.op("knows_fewer::" + op, bf), "NotImplementedError", "bfloat16", "plugin 'knows_fewer'", op)
        equal(f.d.op("knows_fewer::" + op, f32)["dtype"], "float32")
    raises(lambda: f.d.op("knows_fewer::count", [f32, bf]), "NotImplementedError", "bfloat16", "'tensors'")
    equal(f.d.op("knows_fewer::count", [f32, f32]), 2)
    raises(lambda: f.d.op("knows_fewer::number", f32, "bfloat16"), "NotImplementedError", "bfloat16", "'dtype'")
    equal(f.d.op("knows_fewer::number", f32, "int8"), 1)
    t = f.d.call("tensor.create", **bf)
    before = f.d.call("tensor.describe", tensor=t["tensor"])["version"]
    raises(lambda: f.d.op("knows_fewer::fill_", {"tensor": t["tensor"]}), "NotImplementedError")
    equal(f.d.call("tensor.describe", tensor=t["tensor"])["version"], before, "nothing was written")


def test_another_draft_is_refused_by_name(f):
    raises(lambda: f.d.call("plugin.load", path="other_draft"), "AbiMismatch", "other_draft", "draft 99", "draft")


if __name__ == "__main__":
    main(Fixture, Fixture.done)
