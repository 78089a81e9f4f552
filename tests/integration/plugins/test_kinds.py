"""test_kinds.py -- kinds of wrapper tensors with keys of their own (DP_WRAPPER_KIND): masked.c and labelled.c."""

import os

from harness import BUILD, contains, equal, main, raises
from daemon import TestDaemon

X = {"data": [1.0, -2.0]}
MASK = {"data": [True, False]}


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.load("masked", "labelled")

    def load(self, *plugins):
        for plugin in plugins:
            self.d.call("plugin.load", path=plugin)

    def unload(self, *plugins):
        for plugin in plugins:
            equal(self.d.call("plugin.unload", plugin=plugin)["unmapped"], True)

    def done(self):
        self.d.call("tensor.release", all=True)
        self.unload("masked", "labelled")
        equal(self.d.call("server.status")["live_tensors"], 0)
        self.d.close()
        self.finish()

    def masked(self):
        return {"tensor": self.d.op("masked::make", X, MASK)["tensor"]}

    def labelled(self, label=7, **kwargs):
        return {"tensor": self.d.op("labelled::make", X, label, **kwargs)["tensor"]}

    def kinds(self):
        return {k["key"]: k.get("owner", "") for k in self.d.call("registry.keys")["keys"] if k["kind"] == "wrapper kind"}


def test_each_has_a_key(f):
    equal(f.kinds(), {"masked": "masked", "labelled": "labelled"})
    equal({p["plugin"]: p["kinds"] for p in f.d.call("plugin.list")["plugins"] if p["kinds"]}, {"masked": 1, "labelled": 1})
    m, l = f.masked(), f.labelled()
    equal([f.d.call("tensor.describe", tensor=t["tensor"])["keys"] for t in (m, l)], [["masked"], ["labelled"]])
    equal(f.d.op("labelled::label", l), 7)
    equal(f.d.op("aten::neg", l, returns="data")["data"], [-1, 2], "by the fallback of the kind")
    raises(lambda: f.d.op("labelled::label", m), "NotImplementedError", "labelled::label", "masked")
    raises(lambda: f.d.op("aten::exp", m), "NotImplementedError", "no kernel for masked")
    equal([f.d.op("labelled::key", name) for name in ("masked", "labelled", "AutogradCPU", "nobody")],
          ["masked", "labelled", "AutogradCPU", "Undefined"])
    path = f.d.call("registry.explain", op="aten::neg", args=[l])["path"]
    equal((path[-1]["key"], path[-1]["provenance"], path[-1]["plugin"]), ("labelled", "backend fallback", "labelled"))


def test_two_never_share_one(f):
    raises(lambda: f.labelled(of="masked"), "ValueError", "kind 'labelled' has the key of another kind: masked")
    raises(lambda: f.d.call("plugin.load", path="second_masked"), "AlreadyExists", "kind 'masked' is registered by plugin 'masked'")
    raises(lambda: f.d.call("plugin.load", path="kind_named_as_key"), "AlreadyExists", "kind 'cuda': a backend has this name")
    raises(lambda: f.d.call("plugin.load", path="backend_named_as_kind"), "AlreadyExists",
           "backend 'masked': a kind of wrapper tensors has this name")
    raises(lambda: f.d.call("plugin.load", path="kernel_for_kind0"), "PluginError", "no dispatch key 'Kind0'",
           "a plugin names a new backend by DP_BACKEND or DP_BACKEND_DEVICE, a new kind by DP_WRAPPER_KIND")
    raises(lambda: f.d.call("session.set", exclude=["Kind0"]), "NotFound", "no dispatch key 'Kind0'")
    raises(lambda: f.d.call("plugin.load", path="many_kinds"), "ResourceExhausted", "8 kinds are alive, the limit (kinds)")
    equal(f.kinds(), {"masked": "masked", "labelled": "labelled"}, "what was refused left nothing")


def test_kernels_of_others_hold_the_name(f):
    f.load("for_masked")
    m = f.masked()
    equal(f.d.op("aten::abs", m)["keys"], ["masked"])
    raises(lambda: f.d.call("plugin.unload", plugin="masked"), "Busy", "kind 'masked' of plugin 'masked': plugin 'for_masked' has kernels")
    f.unload("for_masked")
    f.d.call("tensor.release", all=True)


def test_only_its_plugin_gives_a_kind_parts(f):
    f.load("for_masked")
    refusal = "plugin 'for_masked' cannot make wrapper tensors of kind 'masked', which plugin 'masked' declares"
    m = f.masked()
    raises(lambda: f.d.op("for_masked::like", X, "masked"), "PluginError", refusal)
    raises(lambda: f.d.op("for_masked::become_", m, X), "PluginError", refusal)
    equal(f.d.op("masked::to_dense", m, returns="data")["data"], [1, 0], "it has the parts that it had")
    equal(f.d.op("for_masked::like", X, "undeclared")["keys"], ["SparseCPU"])
    f.d.call("tensor.release", all=True)
    f.unload("for_masked")


def test_observers_hold_the_name(f):
    f.load("observes_masked")
    raises(lambda: f.d.call("plugin.unload", plugin="masked"), "Busy",
           "kind 'masked' of plugin 'masked': plugin 'observes_masked' has an observer of it")
    f.unload("observes_masked")


def test_tensors_hold_the_key_when_their_plugin_is_gone(f):
    l = f.labelled()
    f.unload("labelled")
    equal((f.kinds().get("labelled"), f.d.call("tensor.describe", tensor=l["tensor"])["keys"]), ("", ["labelled"]))
    raises(lambda: f.d.op("aten::neg", l), "NotImplementedError",
           "no kernel for labelled (the call's keys: labelled): the plugin of kind 'labelled' is not loaded; keys that have one: ", " more")
    raises(lambda: f.d.call("session.set", exclude=["labelled"]), "NotFound", "the plugin of kind 'labelled' is not loaded")
    raises(lambda: f.d.call("registry.table", ops=["aten::neg"], keys=["labelled"]), "NotFound",
           "the plugin of kind 'labelled' is not loaded")
    f.load("labelled")
    equal((f.d.op("labelled::label", l), f.kinds()["labelled"]), (7, "labelled"), "the same key again")
    f.d.release(l)
    f.unload("labelled")
    equal("labelled" in f.kinds(), False)
    f.load("labelled")


def test_key_sets_of_sessions_hold_the_key(f):
    with f.connect() as other:
        other.call("session.set", exclude=["masked"])
        f.unload("masked", "labelled")
        equal(other.call("session.get")["exclude"], ["masked"])
        f.load("labelled", "masked")
        equal(other.call("session.get")["exclude"], ["masked"], "and not the one that was loaded next")
        l = {"tensor": other.op("labelled::make", X, 7)["tensor"]}
        equal(other.op("labelled::label", l), 7)
        m = {"tensor": other.op("masked::make", X, MASK)["tensor"]}
        raises(lambda: other.op("aten::neg", m), "NotImplementedError")
        raises(lambda: other.op("aten::relu", m), "NotImplementedError",
               "no key of the arguments is left; the session, or a guard of a kernel, excludes: masked; keys that have one: ")
    f.d.call("tensor.release", all=True)


def test_a_reload_keeps_it(f):
    l = f.labelled()
    for _ in range(3):
        f.d.call("plugin.reload", plugin="labelled")
        equal((f.d.op("labelled::label", l), f.d.op("labelled::label", f.labelled(8))), (7, 8))
    equal(f.kinds(), {"masked": "masked", "labelled": "labelled"})
    f.d.call("tensor.release", all=True)


def test_loads_in_every_order_give_the_same_dump(f):
    f.unload("masked", "labelled")
    dumps = set()
    for order in ("masked", "labelled"), ("labelled", "masked"):
        f.load(*order)
        dumps.add(f.d.call("registry.dump")["text"])
        f.unload(*order)
    equal(len(dumps), 1)
    contains(dumps.pop(), "labelled: labelled tests/plugins/labelled.c:")
    f.load("masked", "labelled")


main(Fixture, Fixture.done)
