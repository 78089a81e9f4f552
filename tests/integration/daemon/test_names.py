"""test_names.py -- named tensors: over sessions, without history, taken names, unlinking, who pays."""

import os
import struct

from harness import BUILD, equal, main, raises, wait_until
from daemon import TestDaemon


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--session-bytes", str(1 << 20), "--plugin-path",
                                 os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()


def finish(f):
    f.d.close()
    f.daemon.finish()


def names(d):
    return [n["name"] for n in d.call("tensor.names")["names"]]


def unlink_all(d):
    for name in names(d):
        d.call("tensor.unlink", name=name)


def refuse(d, type_, parts, method, **params):
    """The call fails with this error; its message has all `parts`."""
    raises(lambda: d.call(method, **params), type_, *parts)


def read(d, t):
    return d.call("tensor.read", tensor=t["tensor"])["data"]


def test_a_name_outlives_its_session(f):
    with f.daemon.connect() as first:
        t = first.call("tensor.create", data=[[1, 2], [3, 4]], requires_grad=True)
        row = first.op("aten::select.int", {"tensor": t["tensor"]}, 0, 1)
        equal(first.call("tensor.name", tensor=row["tensor"], name="row"), {"name": "row"})
    wait_until(lambda: f.d.call("server.status")["sessions"] == 1, "the first session is over")
    opened = f.d.call("tensor.open", name="row")
    equal((opened["shape"], opened["storage_offset"], opened["requires_grad"]), ([2], 2, False))
    equal(read(f.d, opened), [3, 4])
    described = f.d.call("tensor.describe", tensor=opened["tensor"])
    equal((described["is_leaf"], described["grad_fn"], described["grad"]), (True, None, None))
    f.d.release(opened["tensor"])
    unlink_all(f.d)


def test_sessions_share_the_memory_of_a_name(f):
    made = f.d.call("tensor.create", data=[1, 2, 3, 4], name="shared")
    with f.daemon.connect() as second:
        t = second.call("tensor.open", name="shared")
        equal(t["storage"], made["storage"])
        second.op("aten::add_.Scalar", {"tensor": t["tensor"]}, 10)
    equal(read(f.d, made), [11, 12, 13, 14])
    equal(f.d.call("tensor.describe", tensor=made["tensor"])["version"], 1, "autograd sees the write")
    f.d.release(made["tensor"])
    unlink_all(f.d)


def test_a_name_keeps_its_shape(f):
    t = f.d.call("tensor.create", data=[[1, 2], [3, 4]], name="square")
    here = {"tensor": t["tensor"]}
    f.d.op("aten::resize_", here, [3])
    raises(lambda: f.d.op("aten::resize_", here, [5]), "RuntimeError", "not resizable")
    named = f.d.call("tensor.names")["names"]
    equal([(n["name"], n["value"]["shape"], "tensor" in n["value"]) for n in named], [("square", [2, 2], False)])
    opened = f.d.call("tensor.open", name="square")
    equal(read(f.d, opened), [[1, 2], [3, 4]])
    f.d.release(t["tensor"], opened["tensor"])
    unlink_all(f.d)


def test_a_taken_name_is_refused_and_nothing_is_made(f):
    t = f.d.call("tensor.create", data=[1, 2], name="w")
    tensors = f.d.call("server.status")["live_tensors"]
    refuse(f.d, "AlreadyExists", ["'w' is taken by a tensor of dtype float32 and shape [2]"], "tensor.create",
           data=[3], name="w")
    refuse(f.d, "AlreadyExists", ["tensor.unlink"], "tensor.name", tensor=t["tensor"], name="w")
    equal(f.d.call("server.status")["live_tensors"], tensors)
    f.d.call("tensor.unlink", name="w")
    f.d.call("tensor.name", tensor=t["tensor"], name="w")
    f.d.release(t["tensor"])
    unlink_all(f.d)


def test_unknown_names_and_wrong_ones(f):
    t = f.d.call("tensor.create", data=[1], name="weights")
    for method in ("tensor.open", "tensor.unlink"):
        refuse(f.d, "NotFound", [f"name: no tensor of uid {os.geteuid()} has the name 'weight', did you mean 'weights'?"],
               method, name="weight")
    refuse(f.d, "NotFound", ["no tensor 1000000"], "tensor.name", tensor=10**6, name="v")
    for name in ("", "x" * 1024):
        refuse(f.d, "InvalidParams", ["1 to 1023 bytes (tensor_name_bytes)", f"has {len(name)}"], "tensor.name",
               tensor=t["tensor"], name=name)
    f.d.call("tensor.name", tensor=t["tensor"], name="é \"\\\n/" + "x" * 1000)
    equal(len(names(f.d)), 2)
    f.d.release(t["tensor"])
    unlink_all(f.d)


def test_a_notification_names_too(f):
    f.d.send_message({"jsonrpc": "2.0", "method": "tensor.create", "params": {"data": [7], "name": "quiet"}})
    equal(names(f.d), ["quiet"])
    unlink_all(f.d)
    f.d.call("tensor.release", all=True)


def test_meta_has_names_and_wrappers_have_none(f):
    meta = f.d.call("tensor.create", dtype="float32", shape=[3], device="meta", name="meta")
    equal(f.d.call("tensor.open", name="meta")["device"], "meta")
    refuse(f.d, "NotImplementedError", [], "tensor.read", tensor=meta["tensor"])
    f.d.call("plugin.load", path="coo")
    indices, values = ({"tensor": f.d.call("tensor.create", data=data, dtype=dtype)["tensor"]}
                       for data, dtype in (([[0, 3]], "int64"), ([1, 2], "float32")))
    wrapper = f.d.op("coo::make", indices, values, [4], 1, 0)
    refuse(f.d, "NotImplementedError", ["coo"], "tensor.name", tensor=wrapper["tensor"], name="wrapper")
    f.d.call("tensor.release", all=True)
    unlink_all(f.d)


def test_a_tensor_on_a_device_has_a_name(f):
    f.d.call("plugin.load", path="async_device")
    t = f.d.op("sim::to", {"data": [1, 2, 3]}, 0)
    f.d.call("tensor.name", tensor=t["tensor"], name="there")
    f.d.release(t["tensor"])
    opened = f.d.call("tensor.open", name="there")
    equal((opened["device"], read(f.d, opened)), ("simdev:0", [1, 2, 3]))
    f.d.release(opened["tensor"])
    refuse(f.d, "Busy", ["1"], "plugin.unload", plugin="async_device")
    unlink_all(f.d)
    f.d.call("plugin.unload", plugin="async_device")


def test_the_uid_pays(f):
    account = lambda: {k: v["bytes"] for k, v in f.d.call("session.get")["account"].items() if v["bytes"]}
    one = f.d.op("aten::zeros", [600 << 10], dtype="uint8")
    equal(account(), {"tensors": 600 << 10})
    f.d.call("tensor.name", tensor=one["tensor"], name="one")
    equal(account(), {"names": 600 << 10})
    equal(f.d.call("server.status")["account"]["names"], {"count": 1, "bytes": 600 << 10})
    two = f.d.op("aten::zeros", [600 << 10], dtype="uint8")
    refuse(f.d, "ResourceExhausted", ["uid_named_bytes"], "tensor.name", tensor=two["tensor"], name="two")
    f.d.call("tensor.unlink", name="one")
    refuse(f.d, "ResourceExhausted", ["614400 of unlinked ones that are still in use"], "tensor.name",
           tensor=two["tensor"], name="two")
    status = f.d.call("server.status")
    for of, account_of in (("all sessions", status["account"]), ("the uid", status["users"][0]["account"])):
        held = {k: (v["count"], v["bytes"]) for k, v in account_of.items() if k in ("names", "tensors", "intermediates")}
        equal(held, {"names": (0, 0), "tensors": (2, 1200 << 10), "intermediates": (0, 0)}, f"unlinked, account of {of}")
    f.d.release(one["tensor"])
    f.d.call("tensor.name", tensor=two["tensor"], name="two")
    f.d.release(two["tensor"])
    equal(account(), {"names": 600 << 10})
    unlink_all(f.d)
    equal(account(), {})


def test_an_unlinked_tensor_is_mapped(f):
    """The memory that it needs for that is charged to the uid, within the limit of named bytes."""
    t = f.d.call("tensor.create", data=[1.0, 2.0], name="gone")["tensor"]
    f.d.call("tensor.unlink", name="gone")
    _, memory = f.d.map(t)
    equal(memory[:8], struct.pack("2f", 1, 2))
    memory.release()
    f.d.release(t)
    large = f.d.op("aten::zeros", [600 << 10], dtype="uint8")["tensor"]
    f.d.call("tensor.name", tensor=large, name="gone")
    f.d.call("tensor.unlink", name="gone")
    refuse(f.d, "ResourceExhausted", ["uid_named_bytes"], "tensor.read", tensor=large, **{"as": "fd"})
    f.d.release(large)


def test_the_client_chooses_the_handle_of_an_opened_tensor(f):
    f.d.call("tensor.create", data=[5, 6], name="chosen", into=-1)
    equal(f.d.call("tensor.open", name="chosen", into=-2)["tensor"], -2)
    equal(f.d.call("tensor.open", name="chosen", into=[-3])["tensor"], -3)
    equal(read(f.d, {"tensor": -3}), [5, 6])
    refuse(f.d, "AlreadyExists", ["-2"], "tensor.open", name="chosen", into=-2)
    refuse(f.d, "NotFound", ["nobody"], "tensor.open", name="nobody", into=-4)
    refuse(f.d, "NotFound", ["nobody"], "tensor.read", tensor=-4)
    refuse(f.d, "AlreadyExists", ["chosen"], "tensor.create", data=[1], name="chosen", into=-5)
    refuse(f.d, "AlreadyExists", ["chosen"], "tensor.read", tensor=-5)
    f.d.release(-1, -2, -3, -4, -5)
    unlink_all(f.d)


def test_the_number_of_names_has_a_limit(f):
    t = f.d.call("tensor.create", data=[1])
    limit = f.d.call("server.hello")["limits"]["uid_names"]
    for i in range(limit):
        f.d.send("tensor.name", tensor=t["tensor"], name=f"n{i:05}")
        if i % 500 == 499:
            for _ in range(500):
                f.d.receive()
    for _ in range(limit % 500):
        f.d.receive()
    refuse(f.d, "ResourceExhausted", [f"1 more asked for, 0 of {limit} left (uid_names)"], "tensor.name",
           tensor=t["tensor"], name="more")
    equal(names(f.d), [f"n{i:05}" for i in range(limit)])
    f.d.release(t["tensor"])
    unlink_all(f.d)


main(Fixture, finish)
