"""test_objects.py -- objects of plugins that clients hold by handle (tests/plugins/packed.c)."""

import os
import shutil
import threading

from harness import BUILD, contains, equal, main, raises, wait_until
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "tests", "plugins")


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.d = self.connect()
        self.path = os.path.join(self.dir, "packed.so")
        self.put("packed")
        self.d.call("plugin.load", path=self.path)

    def put(self, name):
        """The next load or reload finds the file of this name."""
        new = self.path + ".new"
        shutil.copy(os.path.join(PLUGINS, name + ".so"), new)
        os.rename(new, self.path)

    def pack(self, scale=1.0, mode="", d=None):
        o = (d or self.d).op("packed::prepack", {"data": [[1.0, 2.0], [3.0, 4.0]]}, scale, mode)
        return {"object": o["object"]}

    def linear(self, o, d=None):
        return (d or self.d).op("packed::linear", {"data": [1.0, 1.0]}, o, returns="data")["data"]

    def attached(self, t):
        return {"object": self.d.op("packed::attached", t)["object"]}

    def release(self, *objects):
        return self.d.call("object.release", objects=[o["object"] for o in objects])["released"]

    def live(self):
        return self.d.call("server.status")["live_objects"]

    def ended(self):
        return self.d.op("packed::ended")

    def done(self):
        equal(self.live(), 0, "live objects")
        equal(self.d.call("server.status")["live_tensors"], 0, "live tensors")
        equal(self.d.call("plugin.unload", plugin="packed")["unmapped"], True)
        self.d.close()
        self.finish()


def refused(name, text, fn, *args, **kwargs):
    return raises(lambda: fn(*args, **kwargs), name, text)


def test_an_object_is_used_and_released(f):
    ended = f.ended()
    answer = f.d.op("packed::prepack", {"data": [[1.0, 2.0], [3.0, 4.0]]}, 10.0)
    o = {"object": answer.pop("object")}
    equal(answer, {"kind": "packed.Weights", "plugin": "packed", "bytes": 32, "ended": False})
    equal(f.linear(o), [30, 70])
    equal(f.linear(o), [30, 70])
    equal(f.d.op("packed::uses", o), 2)
    equal(f.d.op("packed::uses", None), -1)
    equal([e["object"] for e in f.d.call("object.list")["objects"]], [o["object"]])
    equal((f.live(), f.ended()), (1, ended))
    equal(f.release(o), 1)
    equal((f.live(), f.ended()), (0, ended + 1))
    refused("NotFound", f"no object {o['object']} in this session", f.linear, o)
    refused("NotFound", "no object", f.release, o)


def test_several_handles_name_one_object(f):
    ended = f.ended()
    o = f.pack()
    again = {"object": f.d.op("packed::same", o)["object"]}
    first, rest = f.d.op("packed::twice", o)
    all_of_them = [o, again] + [{"object": h["object"]} for h in [first] + rest]
    equal(len({h["object"] for h in all_of_them}), 4)
    equal([f.linear(h) for h in all_of_them], [[3, 7]] * 4)
    equal(f.d.op("packed::uses", again), 4)
    equal(f.release(*all_of_them[:3]), 3)
    equal((f.live(), f.ended()), (1, ended))
    refused("NotFound", "no object", f.release, all_of_them[3], o)
    equal(f.linear(all_of_them[3]), [3, 7], "unless all of them are there, none is released")
    equal(f.d.call("object.release", all=True)["released"], 1)
    equal((f.live(), f.ended()), (0, ended + 1))


def test_other_kinds_are_refused_by_name(f):
    plain = f.d.op("packed::of", "plain")
    equal(plain["kind"], "packed.Plain")
    other = {"object": plain["object"]}
    for call in [lambda: f.linear(other), lambda: f.d.op("packed::uses", other)]:
        e = refused("TypeError", "", call)
        contains(e.message, "packed.Weights")
        contains(e.message, "object of kind 'packed.Plain'")
    refused("TypeError", "expected an object of kind 'packed.Weights' but got one of 'packed.Plain'", f.d.op, "packed::into", other)
    refused("TypeError", "", f.d.op, "packed::linear", other, other)
    refused("TypeError", "", f.d.op, "aten::neg", other)
    refused("TypeError", "", f.d.op, "packed::uses", 3)
    f.release(other)
    refused("PluginError", "object of no kind", f.d.op, "packed::of", "nobody")
    refused("ResourceExhausted", "", f.d.op, "packed::of", "huge")
    refused("PluginError", "", f.d.op, "packed::null")
    refused("RuntimeError", "asked to fail", f.pack, 1.0, "fails")
    for wrong in ["x", -1, 1.5, None]:
        refused("InvalidParams", "", f.d.call, "object.release", objects=[wrong])
    refused("InvalidParams", "", f.d.call, "object.release")
    equal(f.live(), 0)


def test_sessions_keep_theirs_apart(f):
    ended = f.ended()
    o = f.pack()
    with f.connect() as other, f.connect() as joined:
        refused("NotFound", "in this session", f.linear, o, other)
        own = f.pack(2.0, d=other)
        equal(f.linear(own, other), [6, 14])
        joined.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
        equal(f.linear(o, joined), [3, 7], "a connection of the session")
    wait_until(lambda: f.ended() == ended + 1, "the other session's object has ended")
    equal(f.live(), 1)
    f.release(o)


def test_they_are_charged(f):
    def held():
        return f.d.call("session.get")["account"]["objects"]

    before = held()
    equal(before, {"count": 0, "bytes": 0})
    o = f.pack()
    equal(held()["count"], 2, "the object, and its handle")
    equal(held()["bytes"] > 32, True)
    limits = f.d.call("server.hello")["limits"]
    handles = []
    e = refused("ResourceExhausted", "", lambda: [handles.append(f.d.op("packed::same", o)) for _ in range(limits["session_objects"])])
    contains(e.message, "session_objects")
    equal(len(handles), limits["session_objects"] - 2)
    equal(f.linear(o), [3, 7])
    f.d.call("object.release", all=True)
    equal(held(), before)


def test_a_tensor_holds_one(f):
    ended = f.ended()
    t = {"tensor": f.d.call("tensor.create", data=[1.0])["tensor"]}
    o = f.pack(3.0)
    f.d.op("packed::attach", t, o)
    f.release(o)
    equal((f.live(), f.ended()), (1, ended))
    back = f.attached(t)
    equal(f.linear(back), [9, 21])
    f.release(back)
    f.d.call("tensor.release", tensors=[t["tensor"]])
    equal((f.live(), f.ended()), (0, ended + 1))


def test_no_tensor_holds_itself_by_one(f):
    weight = {"tensor": f.d.call("tensor.create", data=[[1.0, 0.0], [0.0, 1.0]])["tensor"]}
    o = {"object": f.d.op("packed::prepack", weight)["object"]}
    refused("ValueError", "might hold itself", f.d.op, "packed::attach", weight, o)
    view = f.d.op("aten::view", weight, [4])
    f.d.call("tensor.release", tensors=[weight["tensor"], view["tensor"]])
    f.release(o)
    equal(f.d.call("server.status")["live_tensors"], 0)


def test_an_end_that_fails_is_logged(f):
    o = f.pack(mode="refuses")
    f.release(o)
    equal(f.live(), 0)
    wait_until(lambda: "an object of kind 'packed.Weights' of plugin 'packed': its end failed" in f.log(), "the log")
    contains(f.log(), "the weights stick")


def test_kernels_that_are_wrong_about_objects_are_told(f):
    refused("PluginError", "gave object of kind 'packed.Plain' for return 1 of 1", f.d.op, "packed::wrong")
    refused("PluginError", "return 1 of 1, which is __torch__.torch.classes.packed.Weights[]", f.d.op, "packed::wrongs")
    o = f.pack()
    refused("PluginError", "set .size = sizeof(dp_object_view)", f.d.op, "packed::sizeless", o)
    f.release(o)
    equal(f.live(), 0, "what the kernels gave is released")


def test_programs_hand_objects_from_step_to_step(f):
    weights = {"op": "packed::prepack", "args": [{"data": [[1.0, 2.0], [3.0, 4.0]]}], "as": ["w"]}
    linear = {"op": "packed::linear", "args": [{"data": [1.0, 1.0]}, {"ref": "w"}], "as": ["y"]}
    run = {"steps": [weights, linear], "outputs": ["y"], "return": "data"}
    equal(f.d.call("program.run", **run)["outputs"][0]["data"], [3, 7])
    kinds = [None, "__torch__.torch.classes.packed.Weights", "__torch__.torch.classes.packed.Weights?",
             "__torch__.torch.classes.packed.Nobody"]
    o, other = f.pack(), {"object": f.d.op("packed::of", "plain")["object"]}
    for kind in kinds:
        declared = {"name": "w", **({"type": kind} if kind else {})}
        made = {"inputs": [declared], "steps": [linear], "outputs": ["y"]}
        p = f.d.call("program.create", **made)["program"]
        if kind != kinds[-1]:
            result = f.d.call("program.run", program=p, inputs={"w": o}, **{"return": "data"})
            equal(result["outputs"][0]["data"], [3, 7], f"an input of type {kind}")
        for bad in other, {"data": [1.0]}, None, *([o] if kind == kinds[-1] else []):
            raises(lambda: f.d.call("program.run", program=p, inputs={"w": bad}), "TypeError")
        f.d.call("program.release", program=p)
    f.release(o, other)
    equal(f.live(), 0)


def test_a_program_releases_them_at_their_last_use(f):
    before = f.ended()
    make = {"op": "packed::prepack", "args": [{"data": [1.0]}], "as": ["w"]}
    uses = {"op": "packed::uses", "args": [{"ref": "w"}], "as": ["m"]}
    ended = {"op": "packed::ended", "as": ["n"]}
    run = f.d.call("program.run", steps=[make, uses, ended], outputs=["m", "n"])
    equal(run["outputs"], [0, before + 1], "uses, and objects that ended before the run did")
    run = f.d.call("program.run", steps=[{**make, "as": [None]}] * 5000 + [ended], outputs=["n"])
    equal(run["outputs"], [before + 5001], "more objects than a session may have pass through a run")


def test_an_unload_ends_them_first(f):
    o, t = f.pack(), {"tensor": f.d.call("tensor.create", data=[1.0])["tensor"]}
    f.d.op("packed::attach", t, o)
    equal(f.d.call("plugin.unload", plugin="packed")["unmapped"], True)
    equal([(e["kind"], e["ended"]) for e in f.d.call("object.list")["objects"]], [("packed.Weights", True)])
    f.d.call("plugin.load", path=f.path)
    e = refused("RuntimeError", "", f.linear, o)
    contains(e.message, f"object {o['object']}: an object of kind 'packed.Weights' has ended")
    contains(e.message, "plugin 'packed', which made it, was unloaded")
    refused("RuntimeError", "has ended", f.d.op, "packed::into", f.attached(t))
    equal(f.live(), 1)
    f.d.call("tensor.release", tensors=[t["tensor"]])
    f.d.call("object.release", all=True)
    equal((f.live(), f.ended()), (0, 0))


def test_a_reload_adopts_them(f):
    o, stays = f.pack(2.0), f.pack(mode="stays")
    f.linear(o)
    equal(f.d.call("plugin.reload", plugin="packed")["old"]["unmapped"], True)
    equal(f.linear(o), [6, 14])
    equal(f.d.op("packed::uses", o), 2, "its data is what it was")
    e = refused("RuntimeError", "", f.linear, stays)
    contains(e.message, "reloaded without adopting it")
    equal([e["ended"] for e in f.d.call("object.list")["objects"]], [False, True])
    f.put("packed_next")
    f.d.call("plugin.reload", plugin="packed")
    contains(refused("RuntimeError", "", f.linear, o).message, "has ended")
    new = f.pack()
    f.put("packed")
    f.d.call("plugin.reload", plugin="packed")
    contains(refused("RuntimeError", "", f.linear, new).message, "has ended")
    equal(f.d.call("object.release", all=True)["released"], 3)
    equal(f.ended(), 0)


def test_a_kind_has_one_plugin(f):
    e = refused("AlreadyExists", "", f.d.call, "plugin.load", path=os.path.join(PLUGINS, "packed_twin.so"))
    contains(e.message, "kind of objects 'packed.Weights': plugin 'packed' has it")
    contains(f.d.call("registry.dump")["text"], "packed.Weights: packed ")


def test_reloads_under_load(f):
    o, failures, stop = f.pack(2.0), [], threading.Event()
    key = f.d.call("server.hello")["session_key"]

    def client():
        try:
            with f.connect() as d:
                d.call("server.hello", session_key=key)
                while not stop.is_set():
                    equal(f.linear(o, d), [6, 14])
                    own = f.pack(1.0, d=d)
                    d.call("object.release", objects=[own["object"]])
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(int(os.environ.get("DP_RELOADS", 100)) // 5):
        f.d.call("plugin.reload", plugin="packed")
    stop.set()
    for t in threads:
        t.join()
    equal([str(e) for e in failures], [])
    equal(f.linear(o), [6, 14])
    f.release(o)
    wait_until(lambda: f.live() == 0, "all of them have gone")


main(Fixture, Fixture.done)
