"""test_reload.py -- a plugin reloaded 1,000 times while 4 clients call it without a pause.

DP_RELOADS sets the number of reloads.  Memory, maps and descriptors are compared between the end of a
warm-up and the end."""

import os
import shutil
import threading

from harness import BUILD, SANITIZED, equal, less, main, wait_until
from daemon import TestDaemon

CLIENTS = 4
RELOADS = int(os.environ.get("DP_RELOADS", 60 if SANITIZED else 1000))
WARM_UP = max(RELOADS // 10, 10)
GROWTH_KB = 256 << 10 if SANITIZED else 4096  # of VmRSS; sanitizers keep what was freed
ANONYMOUS = 64  # lines: 16 workers start when they are needed, with a stack, a heap and their guards


class Caller(threading.Thread):
    """Calls version::value until told to stop; counts answers and keeps the first failure."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon_, self.stop = daemon, False
        self.answers, self.failure = {1: 0, 2: 0}, None

    def run(self):
        try:
            with self.daemon_.connect() as d:
                x = d.call("tensor.create", data=[1.0])
                while not self.stop:
                    self.answers[d.op("version::value", {"tensor": x["tensor"]})] += 1
                d.release(x)
        except Exception as e:
            self.failure = e


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon()
        self.client = self.daemon.connect()
        self.path = os.path.join(self.daemon.dir, "version.so")
        self.install(1)
        self.client.call("plugin.load", path=self.path)

    def install(self, version):
        """Put release 1 or 2 at the path the way a build does: whole, under a new inode."""
        new = self.path + ".new"
        shutil.copy(os.path.join(BUILD, "tests", "plugins", f"version_{version}.so"), new)
        os.rename(new, self.path)

    def mapped(self):
        """Files mapped into the daemon for the plugin: one for each generation that is there."""
        return {line.split()[-1] for line in self.daemon.maps() if "/version" in line}

    def settle(self):
        """Only the newest generation is left."""
        wait_until(lambda: self.client.call("server.status")["draining"] == 0, "nothing drains")
        wait_until(lambda: len(self.mapped()) == 1, "one generation is mapped")


def numbers(f):
    """kB resident, lines of maps, lines of them that are of files, descriptors."""
    f.settle()
    maps = f.daemon.maps()
    return (f.daemon.resident_kb(), len(maps), sum("/" in line for line in maps),
            f.daemon.descriptors())


def reload_times(f, first, n, callers):
    for i in range(first, first + n):
        before = f.mapped()
        version = 2 - i % 2
        f.install(version)
        report = f.client.call("plugin.reload", plugin="version")
        equal(report["version"], f"{version}.0")
        newest = [p for p in f.client.call("plugin.list")["plugins"]
                  if p["plugin"] == "version" and not p["draining"]][0]["mapped_file"]
        equal(newest in before, False, "the new generation is mapped from a file of its own")
        wait_until(lambda: not before & f.mapped(), f"after reload {i} the old mapping is gone")
        equal([c.failure for c in callers if c.failure], [], f"failures at reload {i}")


def test_reloads_under_load(f):
    callers = [Caller(f.daemon) for _ in range(CLIENTS)]
    for c in callers:
        c.start()
    try:
        reload_times(f, 0, WARM_UP, callers)
        kb, maps, files, descriptors = numbers(f)
        reload_times(f, WARM_UP, RELOADS - WARM_UP, callers)
        kb2, maps2, files2, descriptors2 = numbers(f)
    finally:
        for c in callers:
            c.stop = True
        for c in callers:
            c.join()
    calls = sum(sum(c.answers.values()) for c in callers)
    print(f"     {RELOADS} reloads, {calls} calls of {CLIENTS} clients; VmRSS {kb} -> {kb2} kB, "
          f"maps {maps} -> {maps2}, descriptors {descriptors} -> {descriptors2}")
    equal([c.failure for c in callers], [None] * CLIENTS)
    for version in 1, 2:
        less(0, sum(c.answers[version] for c in callers), f"calls answered by release {version}")
    equal(files2, files, "mapped parts of files")
    less(abs(maps2 - maps), ANONYMOUS + 1, "change of lines in /proc/PID/maps")
    equal(descriptors2, descriptors, "descriptors")
    less(kb2 - kb, GROWTH_KB, "growth of VmRSS in kB")


def test_a_reload_that_fails_leaves_the_old_one(f):
    value = f.client.op("version::value", {"data": [1]})
    with open(f.path + ".new", "wb") as out:
        out.write(b"not a plugin")
    os.rename(f.path + ".new", f.path)
    dump = f.client.call("registry.dump")["text"]
    try:
        f.client.call("plugin.reload", plugin="version")
    except Exception as e:
        equal(type(e).__name__, "PluginError")
    else:
        raise AssertionError("a file that is no plugin was reloaded")
    equal(f.client.call("registry.dump")["text"], dump, "dump")
    equal(f.client.op("version::value", {"data": [1]}), value)


def unload(f):
    report = f.client.call("plugin.unload", plugin="version")
    equal((report["unmapped"], report.get("kept_because")), (True, None))
    equal(f.mapped(), set(), "files still mapped")
    f.client.close()
    f.daemon.finish()


main(Fixture, unload)
