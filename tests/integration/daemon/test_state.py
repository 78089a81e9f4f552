"""test_state.py -- dispatcher state of a connection: session.set reaches the mode that kernels see, and no
kernel changes it for good."""

import os
import tempfile

from harness import BUILD, contains, equal, main, raises, warnings
from daemon import TestDaemon

DEFAULT = {"grad_enabled": True, "inference": False, "fallback": "allow"}


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.client = self.daemon.connect()
        self.client.call("plugin.load", path="state")


def mode(client):
    return client.call("op.call", op="state::mode")["outputs"]


def shown(state):
    return {k: state[k] for k in DEFAULT}


def test_kernels_see_the_mode(f):
    with f.daemon.connect() as d:
        equal(shown(d.call("session.get")), DEFAULT)
        equal(mode(d), [False, False, 0])
        equal(shown(d.call("session.set", grad_enabled=False)), {**DEFAULT, "grad_enabled": False})
        equal(mode(d), [True, False, 0])
        state = d.call("session.set", grad_enabled=True, inference=True, fallback="report")
        equal(shown(state), {"grad_enabled": False, "inference": True, "fallback": "report"})
        equal(mode(d), [True, True, 1])
        steps = [{"op": "state::mode", "args": [], "as": ["g", "i", "f"]}]
        equal(d.call("program.run", steps=steps, outputs=["g", "i", "f"])["outputs"], [True, True, 1])
        equal(shown(d.call("session.set", inference=False, fallback="allow")), DEFAULT)
        equal(mode(d), [False, False, 0])
    equal(mode(f.client), [False, False, 0])  # it was another connection's


def test_inference_calls_no_autograd_key(f):
    with f.daemon.connect() as d:
        d.call("session.set", inference=True)
        explained = d.call("registry.explain", op="aten::relu", args=[{"data": [1.0]}])
        equal(explained["after_state"], ["CPU"])
        assert {"key": "AutogradCPU", "why": "excluded by thread state"}.items() <= \
            next(s for s in explained["skipped"] if s["key"] == "AutogradCPU").items(), explained["skipped"]


def test_kernels_change_it_for_nobody_else(f):
    steps = [{"op": "state::forgets", "args": [False], "as": []}, {"op": "state::mode", "args": [], "as": ["g", "i", "f"]}]
    equal(f.client.call("program.run", steps=steps, outputs=["g", "i", "f"])["outputs"], [False, False, 0])
    raises(lambda: f.client.call("op.call", op="state::forgets", args=[True]), "ValueError", "two guards on")
    equal(mode(f.client), [False, False, 0])


def test_fallbacks_are_reported_or_forbidden(f):
    with f.daemon.connect() as d:
        x = d.call("op.call", op="state::to_slow", args=[{"data": [1.0]}])["outputs"][0]
        call = lambda: d.call("op.call", op="aten::relu", args=[{"tensor": x["tensor"]}])
        assert "warnings" not in call()
        d.call("session.set", fallback="report")
        said = warnings(call())
        contains(said[0], "aten::relu")
        contains(said[0], "'state'")
        d.call("session.set", fallback="forbid")
        raises(call, "NotImplementedError", "aten::relu", "slow", "'state'", "state.c")
        d.call("session.set", fallback="allow")
        call()


def test_what_needs_a_plugin_names_it(f):
    f.client.call("plugin.unload", plugin="autocast")
    before = f.client.call("session.get")
    raises(lambda: f.client.call("session.set", grad_enabled=False, autocast={"enabled": True, "dtype": "bfloat16"}),
           "NotFound", "autocast", "plugin 'autocast'")
    equal(f.client.call("session.get"), before)
    f.client.call("session.set", autocast={"enabled": False})
    f.client.call("plugin.load", path=os.path.join(BUILD, "plugins", "autocast.so"))


def test_wrong_values_change_nothing(f):
    before = f.client.call("session.get")
    for wrong in {"fallback": "sometimes"}, {"grad_enabled": 1}, {"inference": None}, {"vmap": 1}:
        raises(lambda w=wrong: f.client.call("session.set", num_threads=3, **w), "InvalidParams")
    raises(lambda: f.client.call("session.set", num_threads=1 << 40), "InvalidParams", "(session_threads)")
    equal(f.client.call("session.get"), before)


def stop(f):
    f.client.call("plugin.unload", plugin="state", force=True)
    f.client.close()
    f.daemon.stop()


def test_data_moves_while_fake_is_included():
    """Calls make tensors without memory then, but what carries data between client and daemon has memory."""
    with tempfile.TemporaryDirectory() as folder, TestDaemon("--data-path", folder) as f, f.connect() as d:
        t = d.call("tensor.create", dtype="uint8", shape=[999], strides=[0], data=[7])["tensor"]
        d.call("store.save", path="x", tensors={"x": t})
        d.call("session.set", include=["Fake"])
        equal(bytes(d.call("tensor.read", tensor=t, **{"as": "attachment"})["attachment"]), b"\7" * 999)
        loaded = d.call("store.load", path="x")["tensors"]["x"]["tensor"]
        equal(d.call("tensor.read", tensor=loaded)["data"], [7] * 999)
        d.call("session.set", include=[])
        d.call("tensor.release", all=True)


main(Fixture, stop)
