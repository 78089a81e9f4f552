"""test_fakecuda.py -- a plugin brings the device of the built-in backend CUDA: kernels for its key, the fallback, a second
plugin for it, its end and its return."""

import os

from harness import BUILD, contains, equal, main, raises
from daemon import TestDaemon

NO_DEVICE = "backend CUDA has no device in this process"


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()

    def done(self):
        self.d.call("tensor.release", all=True)
        self.d.close()
        self.finish()

    def call(self, op, *args, **kwargs):
        return self.d.call("op.call", op="aten::" + op, args=list(args), kwargs=kwargs, trace=True)

    def made(self, op, *args, **kwargs):
        return {"tensor": self.call(op, *args, **kwargs)["outputs"][0]["tensor"]}

    def data(self, t):
        return self.d.call("tensor.read", tensor=t["tensor"])["data"]

    def owner(self):
        return {b["key"]: b.get("owner") for b in self.d.call("registry.keys")["keys"] if b["kind"] == "backend"}["CUDA"]


def test_there_is_no_device_before(f):
    raises(lambda: f.call("ones", [2], device="cuda"), "NotImplementedError", "CUDA")
    raises(lambda: f.d.call("tensor.create", data=[1], device="cuda"), "RuntimeError", NO_DEVICE)
    equal(f.owner(), None)


def test_kernels_and_fallback(f):
    f.d.call("plugin.load", path="fakecuda")
    equal(f.owner(), "fakecuda")
    x = {"tensor": f.d.call("tensor.create", data=[[1, 2], [3, 4]], device="cuda:1")["tensor"]}
    described = f.d.call("tensor.describe", tensor=x["tensor"])
    equal((described["device"], {"AutogradCUDA", "CUDA"} <= set(described["keys"])), ("cuda:1", True))
    answer = f.call("matmul", x, x)
    equal([f.data(answer["outputs"][0]), answer["outputs"][0]["device"]], [[[7, 10], [15, 22]], "cuda:1"])
    equal({"fakecuda", "cpu"} <= {step["plugin"] for step in answer["trace"]}, True, "the fallback ran")
    answer = f.call("zero_", x)
    equal("cpu" in {step["plugin"] for step in answer["trace"]}, False, "the kernel of CUDA alone ran")
    equal(f.data(x), [[0, 0], [0, 0]])
    contains(raises(lambda: f.call("ones", [1], device="cuda:2"), "RuntimeError").message, "cuda:2")
    equal(f.d.call("registry.check")["violations"], [])


def test_one_plugin_at_a_time(f):
    raises(lambda: f.d.call("plugin.load", path="second_cuda"), "AlreadyExists",
           "backend 'cuda' is registered by plugin 'fakecuda'")
    equal(f.owner(), "fakecuda")


def test_its_end(f):
    contains(raises(lambda: f.d.call("plugin.unload", plugin="fakecuda"), "Busy").message, "cuda")
    f.d.call("plugin.reload", plugin="fakecuda")
    f.d.call("tensor.release", all=True)
    x = f.made("ones", [2], device="cuda")
    equal(f.d.call("plugin.unload", plugin="fakecuda", force=True)["unmapped"], True)
    raises(lambda: f.data(x), "RuntimeError", "backend cuda was unloaded")
    raises(lambda: f.d.call("tensor.create", data=[1], device="cuda"), "RuntimeError", NO_DEVICE)
    equal(f.owner(), None)
    f.d.call("tensor.release", all=True)


def test_it_comes_again(f):
    for plugin in "second_cuda", "fakecuda":
        f.d.call("plugin.load", path=plugin)
        equal(f.owner(), plugin)
        x = {"tensor": f.d.call("tensor.create", data=[5], device="cuda")["tensor"]}
        equal(f.data(x), [5])
        f.d.call("tensor.release", all=True)
        equal(f.d.call("plugin.unload", plugin=plugin)["unmapped"], True)
    status = f.d.call("server.status")
    equal((status["live_tensors"], status["storages"], status["bytes"]), (0, 0, 0))


main(Fixture, Fixture.done)
