"""test_written.py -- in-place and out= kernels: the host returns the argument, so no kernel can get it wrong."""

import os

from harness import BUILD, equal, main, raises
from daemon import TestDaemon

class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()
        self.d.call("plugin.load", path="written")

    def make(self, *data):
        return self.d.call("tensor.create", data=list(map(float, data)), dtype="float32")

    def read(self, *tensors):
        return [self.d.call("tensor.read", tensor=t["tensor"])["data"] for t in tensors]


def finish(f):
    equal(f.d.call("server.status")["tensors"], 0, "live tensors")
    equal(f.d.call("plugin.unload", plugin="written")["unmapped"], True, "unmapped")
    f.d.close()
    f.daemon.stop()


def use(t):
    return {"tensor": t["tensor"]}


def test_the_argument_comes_back_by_its_own_handle(f):
    t = f.make(1, 2)
    for n, name in enumerate(["add_", "add_.boxed", "add_.layer", "add_.guarded"], 1):
        equal(f.d.op("written::" + name, use(t), 1)["tensor"], t["tensor"], name)
        equal(f.read(t), [[1.0 + n, 2.0 + n]], name)
    source = f.make(10, 20)
    equal(f.d.op("written::add.out", use(source), out=use(t))["tensor"], t["tensor"])
    equal(f.read(t), [[11.0, 21.0]])
    f.d.release(t, source)


def test_other_returns_lie_between_them(f):
    for name in ["between", "between.boxed"]:
        a, b = f.make(1), f.make(10)
        out = f.d.op("written::" + name, use(a), use(b))
        equal([out[0]["tensor"], out[1], out[2]["tensor"]], [a["tensor"], 7, b["tensor"]], name)
        equal(f.read(a, b, out[3]), [[2.0], [12.0], [14.0]], name)
        f.d.release(a, b, out[3])


def test_lists_and_none(f):
    a, b = f.make(1), f.make(2)
    out = f.d.op("written::all_", [use(a), use(b)], returns="data")
    equal([o["data"] for o in out], [[2.0], [3.0]])
    equal(f.d.op("written::maybe_", None), None)
    equal(f.d.op("written::maybe_", use(a))["tensor"], a["tensor"])
    equal(f.read(a, b), [[3.0], [3.0]])
    f.d.release(a, b)


def test_callers_have_no_slots_either(f):
    t = f.make(1)
    out = f.d.op("written::calls", use(t))
    equal(f.read(t, *out), [[9.0], [10.0], [18.0]])
    f.d.release(*out)
    number, total = f.d.op("written::invokes", use(t))
    equal([number, f.read(t, total)], [7, [[16.0], [32.0]]])
    f.d.release(t, total)


def test_in_a_program(f):
    t = f.make(1)
    steps = [{"op": "written::add_", "args": [{"ref": "t"}, 1], "as": ["u"]},
             {"op": "written::between", "args": [{"ref": "u"}, {"ref": "t"}], "as": ["a", "n", "b", "s"]}]
    a, n, b, s = f.d.call("program.run", inputs={"t": use(t)}, steps=steps,
                          outputs=["a", "n", "b", "s"])["outputs"]
    equal([n, f.read(a, b, s, t)], [7, [[5.0], [5.0], [10.0], [5.0]]])
    f.d.release(*{o["tensor"]: o for o in (a, b, s, t)}.values())


def test_a_boxed_kernel_that_sets_it_is_told_and_frees_nothing_twice(f):
    t = f.make(1, 2)
    for how in [0, 2, 0, 0]:
        e = raises(lambda: f.d.op("written::sets_", use(t), how), "PluginError",
                   "written.c", "set return 1 of 1", "argument 'self'", "the host returns the argument")
        equal(e.data.get("written"), [t["tensor"]])
    for _ in range(3):
        raises(lambda: f.d.op("written::sets_and_fails_", use(t)), "ValueError", "set what it must not")
    raises(lambda: f.d.op("written::add_", use(t), -1), "ValueError", "n is -1")
    equal(f.read(t), [[0.0, 1.0]])
    f.d.release(t)


if __name__ == "__main__":
    main(Fixture, finish)
