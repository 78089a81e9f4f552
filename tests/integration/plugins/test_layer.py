"""test_layer.py -- layers: one for gradients sees what may have one and nothing else, and one that sees
every call costs none of them its place on the loop's thread."""

import os

from harness import BUILD, SANITIZED, contains, equal, less, main
from daemon import TestDaemon


def setup():
    daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
    with daemon.connect() as d:
        d.call("plugin.load", path="layer")
    return daemon


def teardown(daemon):
    with daemon.connect() as d:
        equal(d.call("plugin.unload", plugin="layer")["unmapped"], True)
    daemon.finish()


def create(d, data=(1.0, 2.0, 3.0, 4.0)):
    return {"tensor": d.call("tensor.create", data=list(data))["tensor"]}


def call(d, op, *args):
    return d.call("op.call", op=op, args=list(args))["outputs"]


def recorded(d, op=None, *args):
    """Calls that the layer for gradients saw while op ran."""
    call(d, "layer::seen")
    if op:
        call(d, op, *args)
    return call(d, "layer::seen")[0]


def test_a_session_without_gradients_is_spared(daemon):
    with daemon.connect() as d, daemon.connect() as other:
        x, y = create(d), create(other)
        v = {"tensor": call(d, "aten::detach", x)[0]["tensor"]}
        equal(recorded(d, "aten::mul.Tensor", x, v), 0)
        call(d, "layer::requires_grad_", x)
        equal(recorded(d, "aten::mul.Tensor", x, v), 1)
        equal(recorded(d, "aten::mul.Tensor", v, v), 0)
        equal(recorded(d, "aten::cat", [v, x]), 1)
        equal(recorded(other, "aten::mul.Tensor", y, y), 0)
        d.call("session.set", grad_enabled=False)
        equal(recorded(d, "aten::mul.Tensor", x, v), 0)


def test_a_view_made_before_its_base_needed_one(daemon):
    with daemon.connect() as d:
        base = create(d)
        view = {"tensor": call(d, "aten::slice.Tensor", base, 0, 1, 3)[0]["tensor"]}
        detached = {"tensor": call(d, "aten::detach", base)[0]["tensor"]}
        equal(recorded(d, "aten::mul_.Tensor", view, view), 0)
        call(d, "layer::requires_grad_", base)
        equal(recorded(d, "aten::mul_.Tensor", view, view), 1)
        equal(recorded(d, "aten::mul.Tensor", detached, detached), 0)


def test_a_gradient_in_the_middle_of_a_program(daemon):
    steps = [{"op": "aten::relu", "args": [{"ref": "x"}], "as": ["y"]},
             {"op": "layer::requires_grad_", "args": [{"ref": "x"}], "as": [None]},
             {"op": "aten::relu", "args": [{"ref": "x"}], "as": ["z"]}]
    with daemon.connect() as d:
        call(d, "layer::seen")
        d.call("program.run", steps=steps, outputs=["z"], inputs={"x": {"data": [1.0]}})
        equal(call(d, "layer::seen")[0], 1)


def test_explain_says_why_it_was_passed_over(daemon):
    with daemon.connect() as d:
        x = create(d)
        skipped = lambda: {s["key"]: s["why"] for s in d.call("registry.explain", op="aten::relu", args=[x])["skipped"]}
        contains(skipped()["AutogradCPU"], "is for gradients")
        call(d, "layer::requires_grad_", x)
        assert "AutogradCPU" not in skipped(), skipped()
        contains(d.call("registry.dump")["text"], "AutogradCPU: layer")
        contains(d.call("registry.dump")["text"], "[for gradients]")
        equal(d.call("registry.check")["violations"], [])


def inline_calls(d, n, op, *args):
    """Of n calls, how many ran on the loop's thread."""
    before = d.call("server.status")["calls_inline"]
    for _ in range(n):
        call(d, op, *args)
    return d.call("server.status")["calls_inline"] - before


def test_a_layer_moves_no_call_off_the_loop(daemon):
    if SANITIZED:
        return  # nothing is short there
    with daemon.connect() as d:
        x = create(d)
        call(d, "layer::seen")
        for _ in range(50):  # a busy machine can make a short call look long for a while
            inline = inline_calls(d, 100, "aten::relu", x)
            if inline > 90:
                break
        less(90, inline, "of 100 short calls below a layer, those on the loop")
        less(140, call(d, "layer::seen")[1], "calls that the layer saw")


def test_a_layer_is_no_proof_that_what_is_below_is_short(daemon):
    with daemon.connect() as d:
        x = create(d)
        d.call("plugin.load", path="sleeps")
        inline_calls(d, 100, "aten::relu", x)
        equal(inline_calls(d, 3, "sleeps::sleep", x, 5), 0)
        d.call("plugin.unload", plugin="sleeps")


main(setup, teardown)
