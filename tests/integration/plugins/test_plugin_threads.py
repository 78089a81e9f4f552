"""test_plugin_threads.py -- plugins have threads by way of the host, and no code goes under one."""

import os

from harness import BUILD, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon

NOT_FOUND, BUSY, VALUE, RUNTIME = -6, -8, -3, -1
LIMIT = 64  # DP_LIMIT_PLUGIN_THREADS


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()

    def threads(self):
        """Names of the daemon's threads."""
        names = []
        for task in os.listdir(f"/proc/{self.daemon.pid}/task"):
            try:
                with open(f"/proc/{self.daemon.pid}/task/{task}/comm") as comm:
                    names.append(comm.read().strip())
            except OSError:
                pass  # it ended meanwhile
        return names

    def count(self, name):
        return self.threads().count(name)

    def mapped(self, plugin):
        """How many of its generations are mapped."""
        return len({line.split()[-1] for line in self.daemon.maps() if plugin in line})

    def load(self, name):
        return self.d.call("plugin.load", path=name)


def finish(f):
    f.d.close()
    f.daemon.stop()


def squares(n):
    return n * (n + 1) * (2 * n + 1) // 6


def test_a_threaded_plugin_works_reloads_and_goes(f):
    f.load("threaded")
    equal((f.count("worker"), f.count("ticker")), (1, 1), "its threads")
    for n in 10, 100, 1000:
        f.d.op("threaded::squares", n)
    equal(f.d.op("threaded::squares", 0), [squares(1110), 0], "sum of squares, failures")
    wait_until(lambda: f.d.op("threaded::ticked") > 2, "the ticker ticks")
    for _ in range(5):
        old = f.d.call("plugin.reload", plugin="threaded")["old"]
        equal((old["drained"], f.mapped("threaded")), (True, 1), "the old generation")
        equal(f.d.op("threaded::squares", 10), [squares(10), 0], "of the new generation alone")
        equal((f.count("worker"), f.count("ticker")), (1, 1), "its threads")
    gone = f.d.call("plugin.unload", plugin="threaded")
    equal((gone["unmapped"], gone.get("kept_because")), (True, None), "unloaded")
    equal((f.count("worker"), f.count("ticker"), f.mapped("threaded")), (0, 0, 0), "what is left of it")


def test_joining_and_turning_wrongly_is_refused(f):
    f.load("threaded")
    equal(f.d.op("threaded::misuse"), [NOT_FOUND, BUSY, RUNTIME, VALUE])
    equal(f.d.op("threaded::most"), LIMIT - 2, "threads beside its two")
    equal(f.count("one of many"), 0, "threads that were joined")
    f.d.call("plugin.unload", plugin="threaded")


def test_a_plugin_that_forgets_its_thread_stays_usable(f):
    f.load("forgets_thread")
    e = raises(lambda: f.d.call("plugin.unload", plugin="forgets_thread", timeout_ms=50), "Busy",
               "kept because", "thread 'forgotten' of plugin 'forgets_thread'")
    contains(e.message, "on_unload")
    before = f.d.op("forgets_thread::ticked")
    wait_until(lambda: f.d.op("forgets_thread::ticked") > before, "its thread runs on")
    equal(f.d.call("registry.check")["violations"], [])
    f.d.op("forgets_thread::tell")
    equal(f.d.call("plugin.unload", plugin="forgets_thread")["unmapped"], True, "unmapped")
    equal((f.count("forgotten"), f.mapped("forgets_thread")), (0, 0), "what is left of it")


def test_a_reload_waits_behind_for_the_old_ones_thread(f):
    f.load("forgets_thread")
    old = f.d.call("plugin.reload", plugin="forgets_thread")["old"]
    equal((old["drained"], f.mapped("forgets_thread")), (False, 2), "the old generation")
    draining = [p for p in f.d.call("plugin.list")["plugins"] if p["draining"]]
    equal(len(draining), 1, "old generations")
    contains(draining[0]["kept_because"], "thread 'forgotten' of plugin 'forgets_thread'")
    equal(f.count("forgotten"), 2, "threads of both")
    f.d.op("forgets_thread::tell")  # the new one's
    equal(f.d.call("plugin.unload", plugin="forgets_thread")["unmapped"], True, "the new one")
    equal((f.count("forgotten"), f.mapped("forgets_thread")), (1, 1), "the old one")


def test_a_load_that_fails_after_it_started_a_thread(f):
    raises(lambda: f.load("thread_before_failing"), "RuntimeError", "no device of kind 'threads'")
    equal((f.count("late"), f.mapped("thread_before_failing")), (0, 0), "what is left of it")


def test_the_daemon_leaves_while_a_thread_runs(f):
    equal(f.count("forgotten"), 1, "of the test before last")
    daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
    with daemon.connect() as d:
        d.call("plugin.load", path="forgets_thread")
    daemon.stop()
    less(0, len(f.threads()))


main(Fixture, finish)
