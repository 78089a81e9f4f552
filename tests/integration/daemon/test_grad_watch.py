"""test_grad_watch.py -- grad.watch: notifications of computed gradients for those who asked, and no growth for a client that
does not read them."""

import os

from graphs import setup, teardown
from harness import BUILD, equal, less, main, raises, wait_until

PLUGIN = os.path.join(BUILD, "tests", "plugins", "wrong_slopes.so")


def watch(d, *tensors, enabled=True):
    equal(d.call("grad.watch", tensors=list(tensors), enabled=enabled), {"enabled": enabled})


def told(d, n):
    """The params of the next `n` notifications; more must not come."""
    wait_until(lambda: (d.call("registry.keys"), len(d.notifications))[1] >= n, f"{n} notifications")
    d.call("server.status")
    messages = list(d.notifications)
    d.notifications.clear()
    equal({m["method"] for m in messages} | {"grad.computed"}, {"grad.computed"})
    equal(len(messages), n, f"notifications: {messages}")
    return [m["params"] for m in messages]


def second(f):
    """Another connection of the session of f.d."""
    d = f.daemon.connect()
    d.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
    return d


def test_leaves_and_retained_tensors(f):
    x, w = f.leaf([1, 2]), f.leaf([3, 4])
    y = f.op("mul.Tensor", x, w)
    f.d.call("op.call", op="aten::retain_grad", args=[{"tensor": y}])
    z = f.op("sum", y)
    with second(f) as d:
        watch(d, x, {"tensor": y})
        f.backward(z, retain_graph=True)
        equal(told(d, 2), [{"tensor": y}, {"tensor": x}])
        equal(f.d.notifications, type(f.d.notifications)(), "what a connection that did not ask got")
        f.backward(z, retain_graph=True, inputs=[{"tensor": w}])  # does not compute x's, but y's
        equal(told(d, 1), [{"tensor": y}])
        f.backward(z, retain_graph=True, dry=True)
        watch(d, y, enabled=False)
        watch(d, y, enabled=False)
        f.d.call("program.run", outputs=["g"], inputs={"x": {"tensor": x}}, steps=[
            {"op": "aten::exp", "args": [{"ref": "x"}], "as": ["e"]}, {"op": "aten::sum", "args": [{"ref": "e"}], "as": ["s"]},
            {"op": "grad::gradients", "args": [[{"ref": "s"}], [{"ref": "x"}]], "as": ["g"]}])
        equal(told(d, 1), [{"tensor": x}])
        f.backward(z)
        equal(told(d, 1), [{"tensor": x}])
        raises(lambda: f.backward(z), "RuntimeError", "a second time")
        equal(told(d, 0), [])


def test_the_connection_that_runs_backward_may_watch(f):
    x = f.leaf([1, 2])
    watch(f.d, x)
    f.backward(f.op("sum", x))
    equal(told(f.d, 1), [{"tensor": x}])
    watch(f.d, x, enabled=False)
    f.backward(f.op("sum", x))
    equal(told(f.d, 0), [])


def test_handles_that_the_client_chose(f):
    f.d.call("tensor.create", data=[1], requires_grad=True, into=-5)
    watch(f.d, -5)
    f.backward(f.op("sum", -5))
    equal(told(f.d, 1), [{"tensor": -5}])


def test_a_failed_backward_tells_nothing(f):
    f.d.call("plugin.load", path=PLUGIN)
    x, other = f.leaf([1, 2]), f.leaf([3, 4])
    z = f.op("sum", f.op("mul.Tensor", x, other))
    watch(f.d, x)
    f.d.call("grad.hook", tensor=other, op="slopes::detached")
    watch(f.d, other)
    f.d.call("plugin.unload", plugin="wrong_slopes")
    raises(lambda: f.backward(z, retain_graph=True), "NotFound", "hook slopes::detached")
    equal(told(f.d, 0), [])
    equal(f.d.call("grad.hook", tensor=other, op=None), {"hooks": 0})  # the watch stays
    f.backward(z)
    equal(sorted(n["tensor"] for n in told(f.d, 2)), [x, other])


def test_it_ends_with_the_tensor_and_with_the_connection(f):
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    f.d.call("op.call", op="aten::retain_grad", args=[{"tensor": y}])
    z = f.op("sum", y)
    limit = f.d.call("server.hello")["limits"]["hooks"]
    for _ in range(limit + 2):  # each takes the place of one that has left
        with second(f) as d:
            watch(d, x, y)
            before = d.call("server.status")["connections"]
        wait_until(lambda: f.d.call("server.status")["connections"] < before, "the connection has ended")
    watch(f.d, y)
    f.backward(z, retain_graph=True)
    equal(told(f.d, 1), [{"tensor": y}])
    f.d.call("tensor.release", tensors=[y])
    f.backward(z)
    equal(told(f.d, 0), [])


def test_a_connection_that_joins_another_session_watches_no_more(f):
    with second(f) as d, f.daemon.connect() as stranger:
        x = f.leaf([1, 2])
        watch(d, x)
        d.call("server.hello", session_key=stranger.call("server.hello")["session_key"])
        f.backward(f.op("sum", x))
        equal(told(d, 0), [])
        raises(lambda: watch(d, x), "NotFound", f"no tensor {x}")
        mine = stranger.call("tensor.create", data=[1], requires_grad=True)["tensor"]
        watch(d, mine)
        loss = stranger.op("aten::sum", {"tensor": mine})["tensor"]
        stranger.call("grad.backward", tensors=[loss])
        equal(told(d, 1), [{"tensor": mine}])
        stranger.call("tensor.release", all=True)


def test_what_is_refused_changes_nothing(f):
    x, plain = f.leaf([1, 2]), f.d.call("tensor.create", data=[1])["tensor"]
    for last, *error in ((plain, "RuntimeError", "a tensor that doesn't require gradient"),
                         (f.op("exp", x), "RuntimeError", "does not retain its gradient"), (999, "NotFound", "999")):
        raises(lambda: watch(f.d, x, last), *error)
        f.backward(f.op("sum", x))
        equal(told(f.d, 0), [])
    raises(lambda: f.d.call("grad.watch", tensors=[x]), "InvalidParams", "enabled")
    raises(lambda: f.d.call("grad.watch", tensors=x, enabled=True), "InvalidParams", "tensors")
    watch(f.d, x)
    raises(lambda: watch(f.d, x, plain), "RuntimeError", "require")  # it was watched before, and is
    f.backward(f.op("sum", x))
    equal(told(f.d, 1), [{"tensor": x}])
    many = [second(f) for _ in range(f.d.call("server.hello")["limits"]["hooks"])]
    for d in many[1:]:
        watch(d, x)
    raises(lambda: watch(many[0], x), "ResourceExhausted", "watchers already (hooks)")
    for d in many:
        d.close()


def test_a_client_that_does_not_read(f):
    """The daemon keeps a bounded number, the newest among them, and counts the others; no backward waits."""
    x = f.leaf([1, 2])
    z = f.op("sum", x)
    backwards = 1000
    with second(f) as slow:
        watch(slow, x)
        big = slow.op("aten::rand", [1 << 18])["tensor"]
        slow.send("tensor.read", tensor=big)  # an answer that fills the socket
        wait_until(lambda: "dispatchd_unsent_bytes 0\n" not in f.d.call("server.metrics")["text"], "an answer is unread")
        for _ in range(backwards):
            f.backward(z, retain_graph=True)
        slow.receive()
        wait_until(lambda: (slow.call("registry.keys"), sum(1 + n["params"].get("dropped", 0) for n in slow.notifications))[1] >= backwards,
                   "all are told or counted")
        got = [n["params"] for n in slow.notifications]
        slow.notifications.clear()
        equal(sum(1 + n.get("dropped", 0) for n in got), backwards, "gradients that were told or counted")
        less(len(got), backwards, "notifications")
        equal({n["tensor"] for n in got}, {x})
        f.backward(z)
        equal(told(slow, 1), [{"tensor": x}])
        slow.release(big)


def test_watchers_leave_in_the_middle(f):
    x = f.leaf([1, 2])
    z = f.op("sum", x)
    before = f.daemon.descriptors()
    for _ in range(5):
        watchers = [second(f) for _ in range(10)]
        for w in watchers:
            w.send("grad.watch", tensors=[x], enabled=True)
        for _ in range(20):
            f.d.send("grad.backward", tensors=[z], retain_graph=True)
        for w in watchers:
            w.close()
        for _ in range(20):
            f.d.receive()
    wait_until(lambda: f.daemon.descriptors() <= before, "the connections are closed")


main(setup, teardown)
