"""test_inserted.py -- plugins that are built go on as they were under a host that has functionalities in the middle of
today's (build/tests/inserted: libdispatchd.so with DP_TEST_INSERTED): what they name are ids, not priorities."""

import os
import re

from harness import BUILD, contains, equal, main, raises
from daemon import TestDaemon

X = {"data": [1.0, -2.0]}
MASK = {"data": [True, False]}
PLUGINS = ["masked", "labelled", "coo", "written", "state", "layer", "far", "quantized"]


def answers(env):
    """What a session sees, with today's host or the later one."""
    with TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"), env=env) as daemon, daemon.connect() as d:
        seen = {}
        for plugin in PLUGINS:
            d.call("plugin.load", path=plugin)
        seen["keys"] = [k["key"] for k in d.call("registry.keys")["keys"]]
        seen["table"] = d.call("registry.table", ops=["aten::add.Tensor", "aten::neg", "aten::empty.memory_format"])
        seen["dump"] = d.call("registry.dump")["text"]
        masked = {"tensor": d.op("masked::make", X, MASK)["tensor"]}
        seen["masked"] = [d.op("masked::to_dense", {"tensor": d.op("aten::neg", masked)["tensor"]}, returns="data")["data"],
                          raises(lambda: d.op("aten::exp", masked), "NotImplementedError").message]
        seen["conj"] = [d.op("aten::mul.Tensor", {"tensor": d.op("aten::conj", {"data": [[1.0, 2.0]], "dtype": "complex64"})["tensor"]}, 2,
                             returns="data")["data"]]
        q = {"tensor": d.op("quantized::pack", {"data": [1.0], "dtype": "float64"}, 0.5, "qint8")["tensor"]}
        seen["quantized"] = d.call("tensor.describe", tensor=q["tensor"])["keys"]
        seen["explain"] = d.call("registry.explain", op="aten::neg", args=[X])
        seen["fake"] = d.op("aten::add.Tensor", {"tensor": d.call("tensor.create", shape=[2], device="meta", dtype="float32")["tensor"]}, 1)["shape"] \
            if "meta" in str(d.call("registry.keys")) else None
        d.call("tensor.release", all=True)
        for plugin in reversed(PLUGINS):
            d.call("plugin.unload", plugin=plugin)
        return seen


def test_the_answers_are_the_same():
    now, later = answers(None), answers({"LD_LIBRARY_PATH": os.path.join(BUILD, "tests", "inserted")})
    new = [k for k in later["keys"] if k not in now["keys"]]
    contains(" ".join(new), "InsertedLayer")
    contains(" ".join(new), "InsertedBackendCPU")
    equal([k for k in later["keys"] if k not in new], now["keys"], "the others, in their order")
    between = lambda key, low, high: later["keys"].index(high) < later["keys"].index(key) < later["keys"].index(low)
    equal((between("InsertedLayer", "Functionalize", "Named"), between("InsertedBackendCPU", "QuantizedCPU", "SparseCPU")), (True, True))
    for what in ("masked", "conj", "quantized", "fake"):
        equal(later[what], now[what], what)
    for step_now, step_later in zip(now["explain"]["path"], later["explain"]["path"], strict=True):
        equal((step_later["key"], step_later.get("plugin")), (step_now["key"], step_now.get("plugin")))
    for op_now, op_later in zip(now["table"]["rows"], later["table"]["rows"], strict=True):
        cells = dict(zip(later["table"]["keys"], op_later["cells"]))
        equal([cells[k] for k in now["table"]["keys"]], op_now["cells"], op_now["op"])
    without = "\n".join(line for line in later["dump"].split("\n") if "Inserted" not in line)
    equal(len(re.findall(r"^aten::", without, re.M)), len(re.findall(r"^aten::", now["dump"], re.M)), "operators in the dump")


if __name__ == "__main__":
    main()
