"""test_reload_rewrite.py -- a plugin reloaded while its file is being rewritten the way a linker does:
cut to nothing, then written in pieces.  Every answer is a reload or a named error, every call that
clients make is answered by one release or the other, and what is loaded last is the last one written.

FUZZ_SECONDS and FUZZ_SEED choose how long and how."""

import os
import random
import threading
import time

from harness import BUILD, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "7"))
REFUSALS = {"PluginError", "Busy", "AbiMismatch", "ValueError", "TypeError", "RuntimeError"}
X = {"data": [1.0]}


def release(version):
    with open(os.path.join(BUILD, "tests", "plugins", f"version_{version}.so"), "rb") as f:
        return f.read()


class Linker(threading.Thread):
    """Writes release 1 and 2 by turns into the same inode until told to stop."""

    def __init__(self, path):
        super().__init__()
        self.path, self.stop, self.rnd = path, False, random.Random(SEED)
        self.rounds, self.last, self.releases = 0, 1, {v: release(v) for v in (1, 2)}

    def run(self):
        while not self.stop:
            self.last = 3 - self.last
            data = self.releases[self.last]
            with open(self.path, "r+b", buffering=0) as f:
                f.truncate(0)
                piece = self.rnd.choice([512, 4096, 16384])
                for at in range(0, len(data), piece):
                    f.write(data[at:at + piece])
                    if self.rnd.random() < 0.3:
                        time.sleep(self.rnd.random() * 0.002)
            self.rounds += 1
            time.sleep(self.rnd.random() * 0.01)


def test_reloads_beside_a_linker():
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d, daemon.connect() as caller:
        path = os.path.join(daemon.dir, "version.so")
        with open(path, "wb") as f:
            f.write(release(1))
        d.call("plugin.load", path=path)
        linker, answers, end = Linker(path), {}, time.monotonic() + SECONDS
        linker.start()
        try:
            while time.monotonic() < end:
                try:
                    answer = d.call("plugin.reload", plugin="version")["version"]
                except dispatchd.Error as e:
                    equal(e.type in REFUSALS, True, str(e))
                    answer = e.type
                answers[answer] = answers.get(answer, 0) + 1
                equal(caller.op("version::value", X) in (1, 2), True, "a call")
        finally:
            linker.stop = True
            linker.join()
        print(f"     {linker.rounds} rewrites beside {answers}")
        equal(d.call("plugin.reload", plugin="version")["version"], f"{linker.last}.0", "the last one written")
        equal(caller.op("version::value", X), linker.last)
        wait_until(lambda: d.call("server.status")["draining"] == 0, "nothing drains")
        equal((d.call("server.status")["kept"], d.call("registry.check")["ok"]), ([], True))
        less(1, len([a for a in answers if a in ("1.0", "2.0")]), "releases that were reloaded")
        less(0, sum(n for a, n in answers.items() if a in REFUSALS), "reloads that met a half-written file")


main()
