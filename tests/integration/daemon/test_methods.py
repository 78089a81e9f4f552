"""test_methods.py -- every method: what it answers, checked against proto's result, and what it means."""

import json
import math
import os
import random
import re
import struct
import time

from harness import BUILD, ROOT, contains, equal, less, main, raises, wait_until, warnings
from daemon import TestDaemon
import dispatchd

PLUGINS = os.path.join(BUILD, "plugins")
TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")
DTYPES = {"uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e",
          "float32": "f", "float64": "d", "bool": "?"}

# -- results against proto --------------------------------------------------------------------------


def load(folder):
    path = os.path.join(ROOT, "proto", folder)
    read = {}
    for name in os.listdir(path):
        with open(os.path.join(path, name)) as f:
            read[name[:-len(".json")]] = json.load(f)
    return read


METHODS, TYPES = load("methods"), load("types")
KINDS = {"null": lambda v: v is None, "boolean": lambda v: isinstance(v, bool),
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "string": lambda v: isinstance(v, str), "array": lambda v: isinstance(v, list),
         "object": lambda v: isinstance(v, dict)}


def fits(schema, value):
    try:
        check(schema, value, "")
    except AssertionError:
        return False
    return True


def check(schema, value, at):
    """The subset of JSON Schema that proto uses; members that are not described are errors."""
    if isinstance(value, (bytes, bytearray)):
        value = 0  # the client put the attachment itself where its index was
    if "$ref" in schema:
        return check(TYPES[schema["$ref"]], value, at)
    if "oneOf" in schema:
        assert any(fits(s, value) for s in schema["oneOf"]), f"{at}: {value!r} fits none"
        return None
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    assert not kinds or any(KINDS[k](value) for k in kinds), f"{at}: {value!r} is not {kinds}"
    assert "enum" not in schema or value in schema["enum"], f"{at}: {value!r} is not listed"
    assert "minimum" not in schema or value >= schema["minimum"], f"{at}: {value!r}"
    if isinstance(value, list) and "items" in schema:
        for i, v in enumerate(value):
            check(schema["items"], v, f"{at}[{i}]")
    if isinstance(value, dict) and "properties" in schema:
        for name in schema.get("required", []):
            assert name in value, f"{at}: no '{name}'"
        for name, v in value.items():
            assert name in schema["properties"], f"{at}: '{name}' is not described"
            check(schema["properties"][name], v, f"{at}.{name}")
    return None


class Checked:
    """A connection whose results are compared with proto."""

    def __init__(self, connection):
        self.d = connection

    def __call__(self, method, /, **params):
        result = self.d.call(method, **params)
        check(METHODS[method]["result"], result, method)
        return result


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", f"{PLUGINS}:{TEST_PLUGINS}")
        self.call = Checked(self.daemon.connect())
        self.d = self.call.d


def setup():
    return Fixture()


def teardown(f):
    f.d.close()
    f.daemon.finish()


def tensor(descriptor):
    return {"tensor": descriptor["tensor"]}


# -- service ----------------------------------------------------------------------------------------

def test_hello(f):
    r = f.call("server.hello", client="test", protocol=1)
    equal((r["server"], r["pid"]), ("dispatchd", f.daemon.pid))
    equal(len(r["session_key"]), 32)
    equal(r["limits"]["line_bytes"], 1 << 20)
    raises(lambda: f.call("server.hello", protocol=2), "ValueError", "2", "1 to 1")
    raises(lambda: f.call("server.hello", session_key="0" * 32), "NotFound")


def test_hello_joins_a_session(f):
    key = f.call("server.hello")["session_key"]
    x = f.call("tensor.create", data=[1, 2])
    with f.daemon.connect() as d:
        other = Checked(d)
        raises(lambda: other("tensor.read", tensor=x["tensor"]), "NotFound", str(x["tensor"]))
        mine = other("tensor.create", data=[9])
        equal(other("server.hello", session_key=key)["session"], f.call("server.hello")["session"])
        equal(other("tensor.read", tensor=x["tensor"])["data"], [1, 2])
        assert mine["tensor"] not in [t["tensor"] for t in other("tensor.list")["tensors"]
                                      if t["storage"] == mine["storage"]], "its old session is gone"


def test_status_counts(f):
    wait_until(lambda: f.call("server.status")["sessions"] == 1, "the sessions of earlier tests have ended")
    before = f.call("server.status")
    x = f.call("tensor.create", data=[0] * 1024)
    after = f.call("server.status")
    equal(after["tensors"] - before["tensors"], 1)
    assert after["bytes"] - before["bytes"] >= 4096, (before, after)
    f.call("tensor.release", tensors=[x["tensor"]])
    equal(f.call("server.status")["tensors"], before["tensors"])
    equal(f.call("server.status")["live_tensors"], before["live_tensors"])


def test_status_shows_running_calls(f):
    f.call("plugin.load", path="sleeps")
    with f.daemon.connect() as d, f.daemon.gate() as gate:
        d.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
        running = []
        while not running:
            running = f.call("server.status")["running"]
        equal((running[0]["op"], running[0]["plugin"], running[0]["key"]), ("sleeps::until", "sleeps", "CPU"))
        assert running[0]["session"] > 1, running
        gate.open()
        d.receive()
    f.call("plugin.unload", plugin="sleeps")


def test_discover_describes_what_is_there(f):
    document = f.call("rpc.discover")
    equal(sorted(m["name"] for m in document["methods"]), sorted(METHODS))
    equal(set(document["components"]["schemas"]), set(TYPES))


def test_session_state_is_the_connections(f):
    with f.daemon.connect() as d:
        call = Checked(d)
        first = call("session.get")
        contains(first["exclude"], "AutocastCPU")
        changed = call("session.set", include=["Tracer", "BackendSelect"], num_threads=1)
        equal((changed["include"], changed["num_threads"]), (["Tracer", "BackendSelect"], 1))
        equal(changed["exclude"], first["exclude"])
        raises(lambda: call("session.set", include=["Tracer", "Bogus"]), "NotFound", "include[1]", "Bogus")
        equal(call("session.get"), {**changed, "account": first["account"]})
        raises(lambda: call("session.set", exclude=["Autograd"]), "ValueError", "Autograd")
        explained = call("registry.explain", op="tutorial::scale", args=[{"data": [1]}, 2])
        contains(explained["merged"], "Tracer")
    equal({**f.call("session.get"), "account": first["account"]}, first)


# -- registry ---------------------------------------------------------------------------------------

def test_list_filters(f):
    everything = f.call("registry.list")["ops"]
    equal(everything, sorted(everything))
    equal(f.call("registry.list", namespace="tutorial")["ops"], ["tutorial::scale"])
    equal(f.call("registry.list", plugin="template", key="CPU")["ops"], ["tutorial::scale"])
    equal(f.call("registry.list", match="add_.T")["ops"], ["aten::add_.Tensor"])
    equal(f.call("registry.list", namespace="nowhere")["ops"], [])


def test_describe_an_operator(f):
    r = f.call("registry.describe", op="tutorial::scale")
    equal(r["schema"], "tutorial::scale(Tensor self, float factor) -> Tensor")
    equal([a["name"] for a in r["arguments"]], ["self", "factor"])
    equal((r["defined_by"]["plugin"], os.path.basename(r["defined_by"]["file"])), ("template", "template.c"))
    equal([(k["key"], k["active"], k["unboxed"]) for k in r["kernels"]], [("CPU", True, True)])
    cells = {c["key"]: c for c in r["table"]}
    equal(cells["CPU"]["kernel"]["plugin"], "template")
    equal((cells["CUDA"]["provenance"], "kernel" in cells["CUDA"]), ("missing", False))
    r = f.call("registry.describe", op="aten::add_.Tensor")
    equal([a["written"] for a in r["arguments"]], [True, False, False])
    raises(lambda: f.call("registry.describe", op="tutorial::scal"), "NotFound", "'tutorial::scale'")


def test_table_and_what_if(f):
    keys = ["CPU", "AutogradCPU", "Meta", "Undefined"]
    r = f.call("registry.table", ops=["tutorial::scale"], keys=keys)
    equal(r, {"keys": keys, "rows": [{"op": "tutorial::scale",
                                      "cells": ["kernel", "backend fallback", "missing", "missing"]}]})
    r = f.call("registry.table", ops=["tutorial::scale"], keys=keys,
               **{"with": [{"op": "tutorial::scale", "key": "CompositeExplicitAutograd"}]})
    equal(r["rows"][0]["cells"], ["kernel", "backend fallback", "default backend kernel", "default backend kernel"])
    everything = f.call("registry.table")
    equal(len(everything["rows"]), len(f.call("registry.list")["ops"]))
    equal({len(row["cells"]) for row in everything["rows"]}, {len(everything["keys"])})
    raises(lambda: f.call("registry.table", keys=["CPU", "Autograd"]), "ValueError", "keys[1]", "Autograd")


def test_keys(f):
    rows = f.call("registry.keys")["keys"]
    kinds = {}
    for row in rows:
        kinds.setdefault(row["kind"], []).append(row["key"])
    equal(kinds["functionality"][0], "PythonDispatcher")
    contains(kinds["per-backend"], "AutogradCPU")
    contains(kinds["alias"], "CompositeImplicitAutograd")
    contains(kinds["backend"], "Meta")
    order = [row["key"] for row in rows]
    less(order.index("AutogradCPU"), order.index("ADInplaceOrView"))
    less(order.index("ADInplaceOrView"), order.index("CPU"))


def test_named_backends_have_owners(f):
    f.call("plugin.load", path="toy_backend")
    owned = {row["key"]: row["owner"] for row in f.call("registry.keys")["keys"] if "owner" in row}
    equal((owned["toy"], owned["Autogradtoy"]), ("toy_backend", "toy_backend"))
    x = f.call("op.call", op="toy::to_toy", args=[{"data": [1, 2]}])["outputs"][0]
    equal((x["device"], x["keys"]), ("toy:0", ["Autogradtoy", "ADInplaceOrView", "toy"]))
    equal(f.call("tensor.read", tensor=x["tensor"])["data"], [1, 2])
    y = f.call("tensor.create", data=[3], device="toy")
    equal(f.call("tensor.read", tensor=y["tensor"])["data"], [3])
    f.call("tensor.release", tensors=[x["tensor"], y["tensor"]])
    f.call("plugin.unload", plugin="toy_backend")


def test_unknown_names_are_said(f):
    """Also where the operator has overloads that do not take an argument of this name."""
    for op, name, value, want in [
            ("aten::zeros", "device", "npu", "no device 'npu'; there are cpu, "),
            ("aten::zeros", "layout", "sparse_co", "no layout 'sparse_co'; nearest: 'sparse_coo'"),
            ("aten::zeros", "dtype", "float31", "no dtype 'float31'; nearest: 'float32'"),
            ("aten::empty", "memory_format", "channel_last", "no memory format 'channel_last'; nearest: 'channels_last'"),
            ("aten::rand", "generator", "mine", "argument 'generator' must be Generator?, not str 'mine'")]:
        raises(lambda: f.call("op.call", op=op, args=[[2]], kwargs={name: value}), "TypeError", f"argument '{name}'", want)
    # where several overloads take arguments of these names
    for op, args, kwargs, want in [
            ("aten::arange", [0, 3], {"device": "npu"}, "argument 'device' must be Device?, not str 'npu': no device 'npu'"),
            ("aten::range", [0, 3], {"dtype": "float31"}, "no dtype 'float31'; nearest: 'float32'"),
            ("aten::to", [{"data": [1]}], {"dtype": "float32", "device": "npu"}, "no device 'npu'")]:
        raises(lambda: f.call("op.call", op=op, args=args, kwargs=kwargs), "TypeError", want)
    raises(lambda: f.call("op.call", op="aten::arange", args=["a", 3], kwargs={"device": "cpu"}), "TypeError",
           "no overload takes (str 'a', int, device=str 'cpu')")


def test_explain_says_where_backend_select_sends_the_call(f):
    """As the trace of the call does; on device meta, too."""
    values = {"int": 2, "SymInt": 2, "Scalar": 2, "int[]": [2], "SymInt[]": [2], "float": 2}
    names = f.call("registry.list", key="BackendSelect")["ops"]
    less(16, len(names), "operators with a kernel for BackendSelect")
    for op in names:
        arguments = f.call("registry.describe", op=op)["arguments"]
        needed = [a for a in arguments if "default" not in a]
        args = [[] if "Tensor" in a["type"] else values[a["type"]] for a in needed if not a["kwarg_only"]]
        named = {a["name"]: values[a["type"]] for a in needed if a["kwarg_only"]}
        devices = [{}, {"device": "cpu"}, {"device": "meta"}] if any(a["name"] == "device" for a in arguments) else [{}]
        if op == "aten::empty_strided":
            args = [[2], [1]]
        for kwargs in devices:
            kwargs |= named
            explained = f.call("registry.explain", op=op, args=args, kwargs=kwargs)
            path = explained["path"]
            steps = f.call("op.call", op=op, args=args, kwargs=kwargs, trace=True)["trace"]
            equal([s["key"] for s in path], [s["key"] for s in steps if s["op"] == explained["op"]][:2], f"{op} {kwargs}")
            equal((path[-1]["plugin"], path[-1]["file"], path[-1]["line"]),
                  tuple(steps[1][k] for k in ("plugin", "file", "line")), f"{op} {kwargs}")
    f.call("tensor.release", all=True)


def test_explain_runs_nothing(f):
    before = f.call("server.status")["calls"]
    r = f.call("registry.explain", op="aten::add", args=[{"data": [1]}, {"data": [2]}], kwargs={"alpha": 2})
    equal((r["op"], r["argument_keys"]), ("aten::add.Tensor", ["AutogradCPU", "ADInplaceOrView", "CPU"]))
    equal((r["path"][0]["key"], r["path"][0]["plugin"], r["path"][0]["provenance"]), ("CPU", "cpu", "kernel"))
    contains([s["key"] for s in r["skipped"]], "AutogradCPU")
    equal(f.call("server.status")["calls"], before)
    raises(lambda: f.call("registry.explain", op="aten::add", args=["x"]), "TypeError")


def test_dump_and_check(f):
    text = f.call("registry.dump")["text"]
    contains(text, "tutorial::scale(Tensor self, float factor) -> Tensor")
    equal(f.call("registry.dump")["text"], text)
    equal(f.call("registry.check"), {"ok": True, "violations": []})


# -- plugins ----------------------------------------------------------------------------------------

def test_load_reload_unload(f):
    before = f.call("registry.dump")["text"]
    r = f.call("plugin.load", path=os.path.join(TEST_PLUGINS, "overrides.so"))
    equal((r["plugin"], r["version"], r["impls"], r["dangling"]), ("overrides", "2.1", 2, ["nowhere::dangling"]))
    equal(len(r["overrides"]), 1)
    again = f.call("plugin.reload", plugin="overrides")
    equal(again["old"]["generation"], r["generation"])
    less(r["generation"], again["generation"])
    equal(f.call("plugin.unload", plugin="overrides")["unmapped"], True)
    equal(f.call("registry.dump")["text"], before)
    raises(lambda: f.call("plugin.unload", plugin="overrides"), "NotFound", "overrides")


def test_load_by_bare_name_and_reject(f):
    before = f.call("registry.dump")["text"]
    raises(lambda: f.call("plugin.load", path="overrides", replace="reject"), "AlreadyExists", "tutorial::scale")
    equal(f.call("registry.dump")["text"], before)
    equal(f.call("plugin.load", path="overrides.so")["plugin"], "overrides")
    f.call("plugin.unload", plugin="overrides")
    raises(lambda: f.call("plugin.load", path="no_such"), "NotFound", "no_such", TEST_PLUGINS)
    raises(lambda: f.call("plugin.load", path="tests/plugins/overrides.so"), "ValueError", "neither")


def test_plugin_list_and_describe(f):
    names = [p["plugin"] for p in f.call("plugin.list")["plugins"]]
    contains(names, "template")
    r = f.call("plugin.describe", path="template")
    equal((r["plugin"], r["defs"], r["impls"], r["warnings"]), ("template", 1, 1, []))
    contains(r["text"], "scale(Tensor self, float factor) -> Tensor")
    equal([p["plugin"] for p in f.call("plugin.list")["plugins"]], names)


# -- tensors ----------------------------------------------------------------------------------------

def read(f, descriptor):
    return f.call("tensor.read", tensor=descriptor["tensor"])


def test_create_read_release(f):
    x = f.call("tensor.create", data=[[1, 2, 3], [4, 5, 6]])
    equal((x["dtype"], x["shape"], x["strides"], x["storage_offset"]), ("float32", [2, 3], [3, 1], 0))
    equal((x["device"], x["keys"]), ("cpu", ["AutogradCPU", "ADInplaceOrView", "CPU"]))
    zeros = f.call("op.call", op="aten::zeros", args=[[1]], kwargs={"device": "cpu:1"})["outputs"][0]
    equal((f.call("tensor.create", data=[1], device="cpu:1")["device"], zeros["device"]), ("cpu", "cpu"))
    equal({**f.call("tensor.describe", tensor=x["tensor"]), **x}, f.call("tensor.describe", tensor=x["tensor"]))
    equal(read(f, x)["data"], [[1, 2, 3], [4, 5, 6]])
    equal(f.call("tensor.read", tensor=x["tensor"], **{"as": "attachment"})["attachment"],
          struct.pack("<6f", *range(1, 7)))
    contains(f.call("tensor.list")["tensors"], x)
    equal(f.call("tensor.release", tensors=[x["tensor"]]), {"released": 1})
    raises(lambda: read(f, x), "NotFound", str(x["tensor"]))


def test_release_is_all_or_nothing(f):
    with f.daemon.connect() as d:
        call = Checked(d)
        a, b = (call("tensor.create", data=[i])["tensor"] for i in range(2))
        raises(lambda: call("tensor.release", tensors=[a, b, 999999]), "NotFound", "tensors[2]", "999999")
        equal(len(call("tensor.list")["tensors"]), 2)
        raises(lambda: call("tensor.release"), "InvalidParams", "tensors")
        equal(call("tensor.release", all=True), {"released": 2})
        equal(call("tensor.list"), {"tensors": []})


def test_tensors_without_memory(f):
    """On device meta a tensor is a dtype and a geometry; whoever asks for its bytes is refused by name."""
    def held():
        return f.call("server.status")["bytes"]
    before = held()
    x = f.call("tensor.create", shape=[1 << 20, 1 << 20], device="meta")
    equal((x["dtype"], x["shape"], x["strides"]), ("float32", [1 << 20, 1 << 20], [1 << 20, 1]))
    equal((x["device"], x["keys"]), ("meta", ["AutogradMeta", "ADInplaceOrView", "Meta"]))
    y = f.call("tensor.create", dtype="int64", data=[[1, 2], [3, 4]], device="meta")
    equal((y["dtype"], y["shape"]), ("int64", [2, 2]))
    equal(held(), before)
    for how in ["json", "attachment"]:
        raises(lambda: f.call("tensor.read", tensor=y["tensor"], **{"as": how}), "NotImplementedError",
               "Cannot copy out of meta tensor; no data!")
    raises(lambda: f.call("tensor.create", shape=[2], device="meta", storage_offset=1), "ValueError",
           "one of data, attachment, fd and map, or a shape alone")
    f.call("tensor.release", tensors=[x["tensor"], y["tensor"]])


def handle(t):
    return {"tensor": t["tensor"]}


def test_calls_without_memory(f):
    """The kernels that need no bytes say dtype and shape; the others are refused by name."""
    def meta(*shape, **more):
        return {"shape": list(shape), "device": "meta", **more}
    for how in ["data", "attachment"]:
        out, = f.call("op.call", op="aten::mm", args=[meta(2, 3), meta(3, 4)], **{"return": how})["outputs"]
        equal((out["dtype"], out["shape"], out["device"], out["data"]), ("float32", [2, 4], "meta", None))
    x = f.call("op.call", op="aten::ones", args=[[2, 3]], kwargs={"device": "meta"})["outputs"][0]
    y = f.call("op.call", op="aten::add_.Tensor", args=[handle(x), meta(3, dtype="float64")])["outputs"][0]
    equal((y["tensor"], y["storage"], y["version"]), (x["tensor"], x["storage"], 1))
    raises(lambda: f.call("op.call", op="aten::item", args=[meta()]), "NotImplementedError",
           "aten::_local_scalar_dense: no kernel for Meta")
    raises(lambda: f.call("op.call", op="aten::mm", args=[meta(2, 3), meta(2, 3)]), "RuntimeError", "(2x3 and 2x3)")
    raises(lambda: f.call("op.call", op="aten::copy_", args=[{"data": [1]}, meta(1)]), "NotImplementedError", "no data!")
    raises(lambda: f.call("op.call", op="aten::to.device", args=[meta(1), "cpu", "float32"]), "NotImplementedError", "no data!")
    down = f.call("op.call", op="aten::to.device", args=[{"data": [1]}, "meta", "float32"], **{"return": "data"})
    equal(down["outputs"][0]["data"], None)
    f.call("tensor.release", tensors=[x["tensor"]])


def test_a_session_of_fakes(f):
    """With Fake included, what calls make has a true device and no memory."""
    with f.daemon.connect() as d:
        call = Checked(d)
        real = call("tensor.create", data=[[1, 2], [3, 4]])
        call("session.set", include=["BackendSelect", "ADInplaceOrView", "Fake"])
        fake = call("op.call", op="aten::matmul", args=[handle(real), handle(real)])["outputs"][0]
        equal((fake["shape"], fake["device"], fake["keys"]),
              ([2, 2], "cpu", ["AutogradCPU", "ADInplaceOrView", "Fake", "CPU"]))
        raises(lambda: call("tensor.read", tensor=fake["tensor"]), "NotImplementedError", "on cpu that has no memory")
        raises(lambda: call("op.call", op="aten::relu_", args=[handle(real)]), "RuntimeError",
               "argument 'self' of aten::relu_ has memory: a fake call cannot write to it")
        call("session.set", include=["BackendSelect", "ADInplaceOrView"], exclude=["Fake"])
        fake = call("op.call", op="aten::relu", args=[handle(fake)])["outputs"][0]  # nothing excludes it
        equal(fake["keys"], ["AutogradCPU", "ADInplaceOrView", "Fake", "CPU"])
        equal(call("op.call", op="aten::relu", args=[handle(real)], **{"return": "data"})["outputs"][0]["data"], [[1, 2], [3, 4]])


def test_composite_kernels_of_our_plugins_have_the_flag(f):
    kernels = [line for line in f.call("registry.dump")["text"].splitlines()
               if re.match(r" +Composite\w+\[alias\]: (aten|composite|cpu) ", line)]
    less(100, len(kernels), "composite kernels")
    equal([k for k in kernels if "[without memory, too]" not in k], [], "without DP_FLAG_META")


def test_a_composite_kernel_without_the_flag_gets_no_tensor_without_memory(f):
    """Nobody can tell whether it reads bytes: by name it is refused where there are none, and nowhere else."""
    refused = ") has no DP_FLAG_META, so it may read bytes, and in this call tensors have none"
    with f.daemon.connect() as d:
        call = Checked(d)

        def op(name, *args):
            return call("op.call", op="forgets_flag::" + name, args=list(args))["outputs"]

        call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "forgets_flag.so"))
        real = call("tensor.create", data=[3, 4])
        fake_mode = lambda on: call("session.set", include=["BackendSelect", "ADInplaceOrView"] + ["Fake"] * on)
        fake_mode(True)
        fake = call("op.call", op="aten::relu", args=[handle(real)])["outputs"][0]
        for name in "implicit", "explicit":  # real tensors, too: fake mode makes fakes of all
            for x in fake, real:
                raises(lambda: op(name, handle(x)), "NotImplementedError", refused)
        raises(lambda: op("made", 2.5), "NotImplementedError", "forgets_flag.c:49" + refused)
        equal(op("next", 1), [2], "no tensor is involved")
        fake_mode(False)
        meta = call("tensor.create", shape=[2], device="meta")
        for name in "implicit", "explicit":
            for x in fake, meta:
                raises(lambda: op(name, handle(x)), "NotImplementedError", "has no DP_FLAG_META")
            equal(op(name, handle(real)), [3.0])
        equal(call("tensor.read", tensor=op("made", 2.5)[0]["tensor"])["data"], 2.5)
        contains(call("registry.explain", op="forgets_flag::implicit", args=[handle(fake)])["path"][0]["why"],
                 "without DP_FLAG_META it may read bytes, so the call is refused")
        for x, memoryless, device in (real, False, "cpu"), (fake, True, "cpu"), (meta, True, "meta"):
            y, told = op("asks", handle(x))
            equal((told, y["device"], "Fake" in y["keys"]), (memoryless, device, x is fake))
        call("tensor.release", all=True)
        call("plugin.unload", plugin="forgets_flag")


def test_literals(f):
    for literal, dtype, shape, data in [
            (dict(data=5), "float32", [], 5),
            (dict(data=[]), "float32", [0], []),
            (dict(data=[[], []]), "float32", [2, 0], [[], []]),
            (dict(shape=[0, 3], data=[]), "float32", [0, 3], []),
            (dict(shape=[2, 0, 3], data=[[], []]), "float32", [2, 0, 3], [[], []]),
            (dict(data=[True, False]), "bool", [2], [True, False]),
            (dict(data=[True, 2]), "float32", [2], [1, 2]),
            (dict(dtype="bool", data=[0, 1, True]), "bool", [3], [False, True, True]),
            (dict(dtype="int64", data=["9223372036854775807", "-9223372036854775808", -7]), "int64", [3],
             ["9223372036854775807", "-9223372036854775808", -7]),
            (dict(dtype="uint8", data=[0, 255]), "uint8", [2], [0, 255]),
            (dict(dtype="float16", data=[65504, 0.1]), "float16", [2], [65500, 0.1]),
            (dict(dtype="bfloat16", data=[0.1, "-inf"]), "bfloat16", [2], [0.1, "-inf"]),
            (dict(dtype="float64", data=["nan", "inf", 1e300]), "float64", [3], ["nan", "inf", 1e300]),
            (dict(dtype="complex64", data=[[1, 2], [0, "nan"]]), "complex64", [2], [[1, 2], [0, "nan"]]),
            (dict(dtype="complex128", data=[1, 2]), "complex128", [], [1, 2]),
            (dict(dtype="complex64", data=[]), "complex64", [0], []),
            (dict(dtype="int32", shape=[2, 2], strides=[1, 2], storage_offset=1, data=[0, 1, 2, 3, 4]),
             "int32", [2, 2], [[1, 3], [2, 4]]),
            (dict(shape=[3, 2], strides=[0, 1], data=[1, 2]), "float32", [3, 2], [[1, 2]] * 3)]:
        x = f.call("tensor.create", **literal)
        equal((x["dtype"], x["shape"], read(f, x)["data"]), (dtype, shape, data), str(literal))


def test_minus_zero_keeps_its_sign(f):
    x = f.call("tensor.create", dtype="float64", data=[-0.0, 0.0])
    equal([math.copysign(1, v) for v in read(f, x)["data"]], [-1, 1])


def test_random_elements_come_back_exactly(f):
    rng = random.Random(7)
    for dtype, code in DTYPES.items():
        size = struct.calcsize(code)
        raw = rng.randbytes(size * 500) if dtype != "bool" else bytes(rng.choices([0, 1], k=500))
        x = f.call("tensor.create", dtype=dtype, shape=[500], attachment=raw)
        data = read(f, x)["data"]
        back = f.call("tensor.create", dtype=dtype, data=data)
        got = f.call("tensor.read", tensor=back["tensor"], **{"as": "attachment"})["attachment"]
        for i in range(500):
            a, b = raw[i * size:(i + 1) * size], got[i * size:(i + 1) * size]
            assert a == b or data[i] == "nan", f"{dtype}: {a.hex()} printed as {data[i]}, read as {b.hex()}"


def test_attachments_become_tensors(f):
    raw = struct.pack("<6i", *range(6))
    x = f.call("tensor.create", dtype="int32", shape=[2, 3], attachment=raw)
    equal(read(f, x)["data"], [[0, 1, 2], [3, 4, 5]])
    x = f.call("tensor.create", dtype="int32", shape=[3, 2], strides=[1, 3], attachment=raw)
    equal(read(f, x)["data"], [[0, 3], [1, 4], [2, 5]])
    equal(f.call("tensor.read", tensor=x["tensor"], **{"as": "attachment"})["attachment"],
          struct.pack("<6i", 0, 3, 1, 4, 2, 5))
    e = raises(lambda: f.call("tensor.create", dtype="int32", shape=[7], attachment=raw), "ValueError")
    contains(e.message, "28")
    contains(e.message, "24")


# -- calls ------------------------------------------------------------------------------------------

def test_outputs_as_handle_data_attachment(f):
    args = [{"data": [1, 2]}, 2.5]
    out = f.call("op.call", op="tutorial::scale", args=args)["outputs"][0]
    equal(read(f, out)["data"], [2.5, 5])
    out = f.call("op.call", op="tutorial::scale", args=args, **{"return": "data"})["outputs"][0]
    equal((out["data"], "tensor" in out), ([2.5, 5], False))
    out = f.call("op.call", op="tutorial::scale", args=args, **{"return": "attachment"})["outputs"][0]
    equal((out["attachment"], "tensor" in out), (struct.pack("<2f", 2.5, 5), False))


def test_written_arguments_keep_their_handle(f):
    x, y = (f.call("tensor.create", data=[1, 2]) for _ in range(2))
    out = f.call("op.call", op="aten::add_.Tensor", args=[tensor(x), tensor(y)])["outputs"][0]
    equal((out["tensor"], out["version"]), (x["tensor"], 1))
    out = f.call("op.call", op="aten::add.out", args=[tensor(x), tensor(x)], kwargs={"out": tensor(y)})["outputs"][0]
    equal((out["tensor"], out["storage"]), (y["tensor"], y["storage"]))
    equal(read(f, y)["data"], [4, 8])


def test_other_outputs_get_fresh_handles(f):
    x = f.call("tensor.create", data=[1, 2])
    out = f.call("op.call", op="aten::contiguous", args=[tensor(x)])["outputs"][0]
    assert out["tensor"] != x["tensor"], out
    equal(out["storage"], x["storage"])


def test_exact_forms(f):
    out = f.call("op.call", op="aten::add", args=[{"dtype": "int64", "data": [1]}, {"int": "9223372036854775806"}],
                 **{"return": "data"})["outputs"][0]
    equal(out["data"], ["9223372036854775807"])
    out = f.call("op.call", op="tutorial::scale", args=[{"data": [1]}, {"float": "inf"}],
                 **{"return": "data"})["outputs"][0]
    equal(out["data"], ["inf"])
    out = f.call("op.call", op="aten::add", args=[{"dtype": "int64", "data": [1]}, {"float": 2}],
                 **{"return": "data"})["outputs"][0]
    equal((out["dtype"], out["data"]), ("float32", [3]))
    for bad in ({"int": "12x"}, {"int": "9223372036854775808"}, {"float": "1.5"}, {"complex": [1]}):
        raises(lambda: f.call("op.call", op="aten::add", args=[{"data": [1]}, bad]), "ValueError", "args[1]")


def test_trace_and_timing(f):
    r = f.call("op.call", op="tutorial::scale", args=[{"data": [1]}, 2], trace=True, timing=True)
    step = r["trace"][0]
    equal((step["op"], step["key"], step["plugin"], step["provenance"]), ("tutorial::scale", "CPU", "template", "kernel"))
    t = r["timing"]
    assert t["kernel"] > 0 and t["total"] >= t["parse"] + t["queue"] + t["kernel"], t
    equal(set(f.call("op.call", op="tutorial::scale", args=[{"data": [1]}, 2])), {"outputs"})


def test_a_deadline_that_passed_in_the_queue(f):
    f.call("plugin.load", path="sleeps")
    args = [{"data": [1]}, 0]
    with f.daemon.gate() as gate:
        f.d.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
        f.d.send("op.call", op="sleeps::sleep", args=args, deadline_ms=50)
        f.d.send("op.call", op="sleeps::sleep", args=args, deadline_ms=600000)
        time.sleep(0.1)
    f.d.receive()
    raises(f.d.receive, "DeadlineExceeded", "50")
    f.d.receive()
    f.call("plugin.unload", plugin="sleeps")


def test_a_notification_works_in_silence(f):
    before = f.call("server.status")["calls"]
    f.d.send_message({"jsonrpc": "2.0", "method": "op.call",
                      "params": {"op": "tutorial::scale", "args": [{"data": [1]}, 2], "return": "data"}})
    f.d.send_message({"jsonrpc": "2.0", "method": "op.call", "params": {"op": "no::such"}})
    equal(f.call("server.status")["calls"], before + 1)


def test_batches(f):
    f.d.send_bytes(b'[{"jsonrpc":"2.0","id":"a","method":"server.hello"},'
                   b'{"jsonrpc":"2.0","method":"server.status"},'
                   b'{"jsonrpc":"2.0","id":2,"method":"op.call","params":{"op":"tutorial::scale",'
                   b'"args":[{"data":[1]},2],"return":"attachment"}},'
                   b'{"jsonrpc":"2.0","id":3,"method":"nope"},7]\n')
    answers = f.d.receive_message()
    equal([a["id"] for a in answers], ["a", 2, 3, None])
    equal([a.get("error", {}).get("code") for a in answers], [None, -32000, -32601, -32600])
    contains(answers[1]["error"]["message"], "attachments")


# -- programs ---------------------------------------------------------------------------------------

def scale(source, factor, name):
    return {"op": "tutorial::scale", "args": [source, factor], "as": [name]}


def test_a_program(f):
    before = [t["tensor"] for t in f.call("tensor.list")["tensors"]]
    r = f.call("program.run", inputs={"x": {"data": [1, 2]}, "k": 3},
               steps=[scale({"ref": "x"}, 2, "y"), scale({"ref": "y"}, {"ref": "k"}, "z"),
                      scale({"ref": "y"}, 0, None)], outputs=["z", "y", "k"])
    equal([read(f, t)["data"] for t in r["outputs"][:2]], [[6, 12], [2, 4]])
    equal(r["outputs"][2], 3)
    after = [t["tensor"] for t in f.call("tensor.list")["tensors"]]
    equal(len(after), len(before) + 2)
    r = f.call("program.run", steps=[scale({"data": [1]}, 2, "y")], outputs=["y"], **{"return": "data"})
    equal(r["outputs"][0]["data"], [2])


def test_warnings_of_calls_and_programs(f):
    f.call("plugin.load", path=os.path.join(TEST_PLUGINS, "warns.so"))
    limits = f.call("server.hello")["limits"]
    answer = f.call("op.call", op="warns::warn", args=["watch out", 1000])
    equal(len(answer["warnings"]), limits["warnings"])
    equal(answer["warnings"][:2], [{"type": "UserWarning", "message": f"watch out {i}", "op": "warns::warn"} for i in (0, 1)])
    equal(answer["warnings"][-1]["op"], None)
    contains(answer["warnings"][-1]["message"], f"more warnings than the {limits['warnings']}")
    equal("warnings" in f.call("op.call", op="warns::warn", args=["", 0]), False, "warnings without one")
    answer = f.call("program.run", outputs=["b"], steps=[
        {"op": "warns::warn", "args": ["first"], "as": ["a"]},
        {"op": "warns::warn", "args": ["second", {"ref": "a"}], "as": ["b"]}])
    equal((answer["outputs"], warnings(answer)), ([1], ["first 0", "second 0"]))
    answer = f.call("op.call", op="warns::warn", args=["x" * 5000])
    equal(warnings(answer), ["x" * limits["warning_bytes"]])
    answer = f.call("op.call", op="warns::pair", args=[{"data": [1, 2]}], **{"return": "data"})
    equal([o["data"] for o in answer["outputs"]], [[1, 2], [1, 2]])
    raises(lambda: f.call("op.call", op="warns::single", args=[{"data": [1]}]), "PluginError",
           "returns 1 values, its kernel gave 2 tensors")


def test_notes_of_plugins(f):
    """What a plugin says of itself (dp_note); plugin warns, which the test before loaded."""
    def notes():
        newest = max(p["generation"] for p in f.call("plugin.list")["plugins"] if p["plugin"] == "warns")
        return {n["name"]: n["text"] for n in f.call("server.status")["notes"] if n["generation"] == newest}

    limits = f.call("server.hello")["limits"]
    equal(notes(), {"load": "loaded"})
    for text in "first", "second", "x" * 1000:
        f.call("op.call", op="warns::note", args=[0, text])
        equal(notes()["a"], ("it says " + text)[:limits["note_bytes"]])
    for i in range(18):
        f.call("op.call", op="warns::note", args=[i, str(i)])
    equal((len(notes()), notes()["b"]), (limits["notes"], "it says 1"))
    f.call("plugin.reload", plugin="warns")
    equal(notes(), {"load": "loaded"}, "after a reload")


def test_a_program_writes_in_place(f):
    x = f.call("tensor.create", data=[1, 2])
    r = f.call("program.run", inputs={"x": tensor(x)},
               steps=[{"op": "aten::add_.Tensor", "args": [{"ref": "x"}, 1], "as": ["y"]},
                      {"op": "aten::add_.Tensor", "args": [{"ref": "y"}, {"ref": "x"}], "as": ["z"]}],
               outputs=["z"])
    equal((r["outputs"][0]["tensor"], r["outputs"][0]["version"]), (x["tensor"], 2))
    equal(read(f, x)["data"], [4, 6])


def test_a_program_checks_before_it_runs(f):
    x = f.call("tensor.create", data=[1])
    write = {"op": "aten::add_.Tensor", "args": [tensor(x), 1]}
    for steps, outputs, kind, parts in [
            ([write, scale({"ref": "nope"}, 1, "y")], [], "NotFound", ["steps[1].args[0]", "nope"]),
            ([write, scale([{"ref": "y"}], 1, "y")], [], "NotFound", ["steps[1].args[0][0]", "y"]),
            ([write, scale({"data": [1]}, 1, "y"), scale({"data": [1]}, 1, "y")], [], "AlreadyExists", ["y", "step 1"]),
            ([write], ["z"], "NotFound", ["outputs[0]", "z"])]:
        raises(lambda: f.call("program.run", steps=steps, outputs=outputs), kind, *parts)
    equal(read(f, x)["data"], [1])


def test_a_programs_error_names_its_step(f):
    x = f.call("tensor.create", data=[1])
    before = len(f.call("tensor.list")["tensors"])
    steps = [{"op": "aten::add_.Tensor", "args": [tensor(x), 1]}, scale({"data": [1]}, "a", "y")]
    e = raises(lambda: f.call("program.run", steps=steps, outputs=["y"]), "TypeError", "factor")
    equal((e.data["step"], e.data["op"]), (1, "tutorial::scale"))
    equal(read(f, x)["data"], [1], "found before the first step ran")
    steps[1] = {"op": "aten::mm", "args": [tensor(x), tensor(x)], "as": ["y"]}
    e = raises(lambda: f.call("program.run", steps=steps, outputs=["y"]), "RuntimeError")
    equal((e.data["step"], e.data["op"]), (1, "aten::mm"))
    equal(read(f, x)["data"], [2], "writes of earlier steps stand")
    steps = [{**scale({"data": [1]}, 1, "y"), "as": ["y", "z"]}]
    e = raises(lambda: f.call("program.run", steps=steps, outputs=[]), "ValueError", "2", "1")
    equal(len(f.call("tensor.list")["tensors"]), before)
    raises(lambda: f.call("op.call", op="tutorial::scale", args=[{"ref": "x"}, 1]), "ValueError", "program")


def test_a_program_runs_on_one_snapshot(f):
    """A plugin that is loaded while a program runs does not change what it calls."""
    f.call("plugin.load", path="sleeps")
    one = {"data": [1]}
    with f.daemon.connect() as d, f.daemon.gate() as gate:
        d.send("program.run", steps=[{"op": "sleeps::until", "args": [one, gate.path]}, scale(one, 2, "y")],
               outputs=["y"], **{"return": "data"})
        while not f.call("server.status")["running"]:
            pass
        f.call("plugin.load", path="overrides")  # its scale returns what it is given
        now = f.call("op.call", op="tutorial::scale", args=[one, 2], **{"return": "data"})
        equal(now["outputs"][0]["data"], [1])
        gate.open()
        equal(d.receive()["outputs"][0]["data"], [2])
    f.call("plugin.unload", plugin="overrides")
    f.call("plugin.unload", plugin="sleeps")


main(setup, teardown)
