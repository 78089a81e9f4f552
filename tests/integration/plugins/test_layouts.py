"""test_layouts.py -- a kind of tensor with doubles and a layout (tests/plugins/coo.c): kept, described, asked by programs;
layouts by name as arguments."""

import os

from harness import BUILD, contains, equal, main, raises
from daemon import TestDaemon

LAYOUTS = ["strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.d.call("plugin.load", path="coo")

    def done(self):
        self.d.call("tensor.release", all=True)
        self.d.close()
        self.finish()

    def made(self, scale=0.5, layout=1):
        indices = self.d.call("tensor.create", data=[3, 0], dtype="int64")
        values = self.d.call("tensor.create", data=[10, 20])
        return {"tensor": self.d.op("coo::make", *({"tensor": t["tensor"]} for t in (indices, values)), [4], scale, layout)["tensor"]}

    def described(self, t):
        return self.d.call("tensor.describe", tensor=t["tensor"])


def test_doubles_reach_the_kernels(f):
    t = f.made()
    equal(f.d.op("coo::to_dense", t, returns="data")["data"], [10, 0, 0, 5])
    minus = {"tensor": f.d.op("aten::neg", t)["tensor"]}
    equal(f.d.op("coo::to_dense", minus, returns="data")["data"], [-10, 0, 0, -5])
    equal((f.described(minus)["doubles"], f.described(minus)["layout"]), ([-0.5], "sparse_coo"))
    f.d.call("tensor.release", all=True)


def test_describe_names_the_layout(f):
    for number, name in enumerate(LAYOUTS):
        told = f.described(f.made(2, number))
        equal((told["layout"], told["doubles"], told["ints"], told["kind"]), (name, [2], [1], "coo"))
    raises(lambda: f.made(1, len(LAYOUTS)), "ValueError", "no layout has number 8")
    equal("layout" in f.described(f.d.call("tensor.create", data=[1])), False, "of a tensor with memory")
    f.d.call("tensor.release", all=True)


def test_a_layout_stays(f):
    t = f.made()
    contains(raises(lambda: f.d.op("coo::become_", t, 3.0, 2), "ValueError").message, "sparse_csr")
    f.d.op("coo::become_", t, 3.0, 1)
    equal(f.d.op("coo::to_dense", t, returns="data")["data"], [60, 0, 0, 30])
    f.d.call("tensor.release", all=True)


def test_programs_get_it(f):
    p = f.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], steps=[{"get": "layout", "args": [{"ref": "x"}], "as": ["layout"]}],
                 outputs=["layout"])["program"]
    for number, name in ((0, "strided"), (1, "sparse_coo"), (3, "_mkldnn")):
        equal(f.d.call("program.run", program=p, inputs={"x": f.made(1, number)})["outputs"], [name])
    equal(f.d.call("program.run", program=p, inputs={"x": {"data": [1]}})["outputs"], ["strided"])
    f.d.call("tensor.release", all=True)
    f.d.call("program.release", program=p)


def test_layouts_are_arguments_by_name(f):
    for op, args in (("aten::zeros", [[2]]), ("aten::rand", [[2]]), ("aten::tril_indices", [2, 2]), ("aten::zeros_like", [{"data": [1]}])):
        equal(f.d.op(op, *args, layout="strided", returns="data")["dtype"] in ("float32", "int64"), True)
        raises(lambda: f.d.op(op, *args, layout="sparse_coo"), "RuntimeError", "sparse_coo", "strided")


main(Fixture, Fixture.done)
