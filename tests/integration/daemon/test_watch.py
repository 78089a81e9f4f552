"""test_watch.py -- registry.watch: notifications for those who asked, in order, and no growth for a client
that does not read them."""

import os
import shutil

from harness import BUILD, equal, less, main, raises, wait_until
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "plugins")
TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")


def setup():
    return TestDaemon("--plugin-path", f"{PLUGINS}:{TEST_PLUGINS}")


def told(d):
    """The params of the notifications that came before the answer of a call."""
    d.call("registry.keys")
    messages = list(d.notifications)
    d.notifications.clear()
    for m in messages:
        equal((m["jsonrpc"], m["method"], "id" in m), ("2.0", "registry.changed", False))
    return [m["params"] for m in messages]


def test_load_reload_and_unload(f):
    path = os.path.join(f.dir, "version.so")
    shutil.copy(os.path.join(TEST_PLUGINS, "version_1.so"), path)
    with f.connect() as d, f.connect() as other:
        equal(d.call("registry.watch", enabled=True), {"enabled": True})
        first = d.call("plugin.load", path=path)
        second = d.call("plugin.reload", plugin="version")
        d.call("plugin.unload", plugin="version")  # 3: the namespace, a definition and a kernel
        equal(told(d), [
            {"plugin": "version", "generation": first["generation"], "added": 3, "removed": 0},
            {"plugin": "version", "generation": second["generation"], "added": 3, "removed": 3},
            {"plugin": "version", "generation": second["generation"], "added": 0, "removed": 3}])
        equal(told(other), [], "what a connection that did not ask got")


def test_a_failed_load_changes_nothing(f):
    with f.connect() as d:
        d.call("registry.watch", enabled=True)
        raises(lambda: d.call("plugin.load", path="bad_schema"), "PluginError")
        equal(told(d), [])


def test_the_watch_ends(f):
    with f.connect() as d:
        d.call("registry.watch", enabled=True)
        d.call("registry.watch", enabled=True)
        equal(d.call("registry.watch", enabled=False), {"enabled": False})
        d.call("plugin.load", path="version_1")
        d.call("plugin.unload", plugin="version")
        equal(told(d), [])


def test_it_is_of_a_connection_and_not_of_its_session(f):
    with f.connect() as d, f.connect() as other:
        other.call("server.hello", session_key=d.call("server.hello")["session_key"])
        d.call("registry.watch", enabled=True)
        other.call("plugin.load", path="version_1")
        equal(told(other), [])
        equal([m["plugin"] for m in told(d)], ["version"])
        other.call("plugin.unload", plugin="version")


def test_a_client_that_does_not_read(f):
    """Its notifications fill the socket; the daemon keeps 64 more, and the newest change."""
    changes = 0
    with f.connect() as slow, f.connect() as d:
        limit = slow.call("server.hello")["limits"]["watch_changes"]
        slow.call("registry.watch", enabled=True)
        # fill the socket first: an answer that is not read
        x = slow.op("aten::rand", [1 << 18])["tensor"]
        slow.send("tensor.read", tensor=x)
        wait_until(lambda: "dispatchd_unsent_bytes 0\n" not in d.call("server.metrics")["text"], "an answer is unread")
        for _ in range(limit):
            d.call("plugin.load", path="version_1")
            last = d.call("plugin.list")["plugins"][-1]["generation"]
            d.call("plugin.unload", plugin="version")
            changes += 2
        slow.receive()
        got = told(slow)
        less(limit, len(got), "notifications")
        less(len(got), changes, "notifications")
        equal(got[-1]["generation"], last)
        equal(sum(1 + n.get("dropped", 0) for n in got), changes, "changes that were told or counted")
        equal([n["generation"] for n in got], sorted(n["generation"] for n in got))
        d.call("plugin.load", path="version_1")
        equal([("dropped" in n, n["added"]) for n in told(slow)], [(False, 3)], "after it has read")
        d.call("plugin.unload", plugin="version")
        slow.release(x)


def test_watchers_leave_in_the_middle(f):
    before = f.descriptors()
    for _ in range(5):
        watchers = [f.connect() for _ in range(10)]
        for w in watchers:
            w.send("registry.watch", enabled=True)
        with f.connect() as d:
            d.send("plugin.load", path="version_1")
            for w in watchers:
                w.close()
            d.receive()
            d.call("plugin.unload", plugin="version")
    wait_until(lambda: f.descriptors() <= before, "the connections are closed")


main(setup, TestDaemon.finish)
