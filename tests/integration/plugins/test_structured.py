"""test_structured.py -- structured operators on a backend that has their out= overloads alone: the functional and
in-place ones are PyTorch's default ones (CompositeExplicitAutogradNonFunctional)."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

A = {"data": [[1, 2, 3], [4, 5, 6]]}
ROW = {"data": [1, 2, 3], "dtype": "int64"}


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.d.call("plugin.load", path="outs_only")

    def outs(self, literal):
        return {"tensor": self.d.op("outs::to_outs", literal)["tensor"]}

    def made(self, op, *args, **kwargs):
        """[dtype, shape, strides, elements] of each output"""
        found = self.d.call("op.call", op=op, args=list(args), kwargs=kwargs)["outputs"]
        equal({o["device"] for o in found}, {"outs:0"}, f"devices of {op}")
        for o in found:
            o["data"] = self.d.call("tensor.read", tensor=o["tensor"])["data"]
        return [[o[k] for k in ("dtype", "shape", "strides", "data")] for o in found]


def teardown(f):
    f.d.call("tensor.release", tensors=[], all=True)
    f.d.call("plugin.unload", plugin="outs_only")
    equal(f.d.call("server.status")["tensors"], 0, "live tensors")
    f.d.close()
    f.finish()


def test_functional_overloads_make_what_out_writes(f):
    a, row = f.outs(A), f.outs(ROW)
    equal(f.made("aten::add.Tensor", a, row, alpha=2), [["float32", [2, 3], [3, 1], [[7] * 3] * 2]])
    equal(f.made("aten::eq.Tensor", row, row), [["bool", [3], [1], [True] * 3]])
    equal(f.made("aten::cat", [a, a], 1), [["float32", [2, 6], [6, 1], [[7] * 6] * 2]])
    equal(f.made("aten::max.dim", a, 1, True),
          [["float32", [2, 1], [1, 1], [[7], [7]]], ["int64", [2, 1], [1, 1], [[7], [7]]]])
    turned = {"tensor": f.d.op("aten::t", a)["tensor"]}
    equal(f.made("aten::add.Tensor", turned, turned), [["float32", [3, 2], [1, 3], [[7, 7]] * 3]])


def test_in_place_overloads_write_self(f):
    a, row = f.outs(A), f.outs(ROW)
    equal(f.made("aten::add_.Tensor", a, row), [["float32", [2, 3], [3, 1], [[7] * 3] * 2]])
    raises(lambda: f.d.op("aten::add_.Tensor", row, a), "RuntimeError", "cast")
    f.d.call("registry.check")


def test_every_check_is_done_before_a_kernel_of_the_backend_runs(f):
    a, row = f.outs(A), f.outs(ROW)
    raises(lambda: f.d.op("aten::mm", a, a), "RuntimeError", "2x3")
    raises(lambda: f.d.op("aten::add_.Tensor", f.outs({"data": [1]}), a), "RuntimeError", "shape")
    raises(lambda: f.d.op("aten::cat", [], 0), "RuntimeError", "non-empty")


def test_what_it_has_not_is_said(f):
    a = f.outs(A)
    raises(lambda: f.d.op("aten::sub.Tensor", a, a), "NotImplementedError", "sub.out")


if __name__ == "__main__":
    main(Fixture, teardown)
