"""test_session_end.py -- plugins know for which session they work, and when it has ended (tests/plugins/per_session.c)."""

import os
import threading

from harness import BUILD, contains, equal, main, wait_until
from daemon import TestDaemon


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()
        self.d.call("plugin.load", path="per_session")

    def done(self):
        equal(self.d.call("plugin.unload", plugin="per_session")["unmapped"], True)
        self.d.close()
        self.finish()

    def state(self):
        """Sessions that the plugin knows, and how many it saw end."""
        return self.d.op("per_session::state")


def test_a_session_has_a_number(f):
    hello = f.d.call("server.hello")
    equal(f.d.op("per_session::session"), hello["session"])
    with f.connect() as other, f.connect() as joined:
        joined.call("server.hello", session_key=hello["session_key"])
        equal(joined.op("per_session::session"), hello["session"], "another connection of the session")
        equal(other.op("per_session::session") == hello["session"], False)
    # the one of `other`, and the one that `joined` had before it joined
    wait_until(lambda: f.state()[1] == 2, "the other sessions have ended")


def test_its_end_is_told_once(f):
    ended = f.state()[1]
    for n in range(1, 4):
        with f.connect() as other:
            equal([other.op("per_session::count") for _ in range(2)], [1, 2])
            equal(f.state()[0], 1)
        wait_until(lambda: f.state() == [0, ended + n], "the plugin has forgotten it")


def test_a_hook_that_fails_changes_nothing(f):
    f.d.op("per_session::fail", True)
    ended = f.state()[1]
    with f.connect() as other:
        number = other.call("server.hello")["session"]
        t = other.call("tensor.create", data=[1])
    wait_until(lambda: f.state()[1] == ended + 1, "the hook ran")
    wait_until(lambda: f"plugin.session_end plugin='per_session' session={number} error=\"the ledger is shut\"" in f.log(), "its failure is logged")
    f.d.op("per_session::fail", False)
    wait_until(lambda: f.d.call("server.status")["live_tensors"] == 0, "tensors are gone all the same")


def test_sessions_end_while_the_plugin_is_reloaded(f):
    failures = []

    def client():
        try:
            for _ in range(30):
                with f.connect() as d:
                    d.op("per_session::count")
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(10):
        f.d.call("plugin.reload", plugin="per_session")
    for t in threads:
        t.join()
    equal([str(e) for e in failures], [])
    wait_until(lambda: f.d.call("server.status")["sessions"] == 1, "the sessions have ended")
    wait_until(lambda: f.state()[0] == 0, "those that the newest code knew")


def test_the_dump_names_it(f):
    contains(f.d.call("registry.dump")["text"], "of sessions that end")


main(Fixture, Fixture.done)
