"""test_soak.py -- 64 clients that do everything at random against one daemon for SOAK_SECONDS (60; `make soak`:
1800): no answer is wrong, and memory and descriptors are those of the beginning.

The time is divided into rounds.  In each round processes of this file run the clients (visits.py) while this process
reloads the daemon's own plugins; another process with clients is killed in the middle.  Between two rounds nobody
is connected, and the daemon must be as it was: no tensor, no descriptor more, the same registry.

Resident memory is compared between the first third of the rounds and the last one, without the first round, in
which the heap fills.  It may grow by GROWTH, less in a long run: what lies between blocks in use stays, and after
about ten minutes no more than that.  The daemon has one heap, as in test_memory.py: several of them fill for half an hour.
SOAK_SEED chooses the random numbers; threads make each run another one all the same.  SOAK_ACTIONS, a regular
expression, leaves only the actions whose names match."""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types

from harness import BUILD, SANITIZED, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd
import exposition
from actions import ACTIONS
from rude import RUDE
from visits import Person

SECONDS = float(os.environ.get("SOAK_SECONDS", "60"))
SEED = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 31))
PROCESSES, THREADS, VICTIMS = 4, 16, 4
ROUNDS = 6 if SECONDS < 300 else 12 if SECONDS < 1200 else 24
GROWTH = 1.25 if SECONDS < 900 else 1.10
ONE_HEAP = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
ENOUGH = 300  # an action that ran so often was left in the middle, too
LOOKS = 20
EVERY = {a: f for a, f in {**ACTIONS, **RUDE}.items() if re.search(os.environ.get("SOAK_ACTIONS", ""), a)}
LIMITS = {"session_tensors": 600, "session_programs": 20, "session_generators": 20, "maps": 200, "uid_maps": 1 << 16,
          "uid_memfds": 1 << 16}
RELOADED = ("cpu", "composite", "aten", "autograd", "autocast", "capture", "template", "sleeps")
OWN = {*RELOADED}


# -- one process of clients --

def clients(socket, folder, seed, first, n, seconds):
    """Run n clients; print what became of them."""
    shared = types.SimpleNamespace(socket=socket, folder=folder, seed=seed, actions=EVERY,
                                   plugins=os.path.join(BUILD, "tests", "plugins"))
    end = time.monotonic() + float(seconds)
    people = [Person(shared, i) for i in range(int(first), int(first) + int(n))]
    threads = [threading.Thread(target=p.stay, args=(end,)) for p in people]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    total = lambda counts: {a: sum(c[a] for c in counts) for a in EVERY}
    print(json.dumps({"ran": total([p.ran for p in people]), "left": total([p.left for p in people]),
                      "faults": [p.fault for p in people if p.fault]}))


# -- the daemon and its rounds --

class Soak:
    def __init__(self):
        print(f"seed {SEED} (SOAK_SEED), {SECONDS:g} s in {ROUNDS} rounds", flush=True)
        self.folder = tempfile.mkdtemp(prefix="dispatchd-soak-")
        config = os.path.join(self.folder, "conf")
        with open(config, "w") as f:
            f.writelines(f"{name} = {value}\n" for name, value in LIMITS.items())
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        self.daemon = TestDaemon("--config", config, "--session-bytes", str(8 << 20), "--data-path", self.data, "--workers", "24",
                                 "--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so"), env=ONE_HEAP)
        self.ran, self.left = dict.fromkeys(EVERY, 0), dict.fromkeys(EVERY, 0)
        self.faults, self.resident, self.descriptors, self.before, self.reloads, self.killed = [], [], [], 0, 0, 0
        try:
            self.dump = self.quiet()
            self.before = self.least(self.daemon.descriptors)
            for i in range(ROUNDS):
                if not self.faults:
                    self.round(i)
        except Exception:
            self.faults.append(traceback.format_exc())

    def process(self, round_, first, n, seconds):
        return subprocess.Popen([sys.executable, __file__, self.daemon.socket, self.data, f"{SEED}.{round_}", str(first), str(n),
                                 str(seconds)], stdout=subprocess.PIPE, text=True)

    def round(self, i):
        seconds = SECONDS / ROUNDS
        running = [self.process(i, p * THREADS, THREADS, seconds) for p in range(PROCESSES)]
        victim = self.process(i, PROCESSES * THREADS, VICTIMS, 10 * seconds)
        self.reload_for(seconds, random.Random(f"{SEED} {i}"), victim)
        for p in running:
            said = json.loads(p.communicate()[0] or '{"faults": ["a process of clients died"]}')
            self.faults += said["faults"]
            for mine, theirs in ((self.ran, said.get("ran", {})), (self.left, said.get("left", {}))):
                for a, n in theirs.items():
                    mine[a] += n
        if not self.faults:
            equal(self.quiet(), self.dump, "the registry's dump after a round")
            self.look(i)

    def reload_for(self, seconds, rnd, victim):
        """Reload plugins that are in use, and kill the victim in the middle."""
        end, killed_at = time.monotonic() + seconds, time.monotonic() + seconds * rnd.uniform(0.3, 0.9)
        with self.daemon.connect() as d:
            while time.monotonic() < end:
                d.call("plugin.reload", plugin=rnd.choice(RELOADED))
                self.reloads += 1
                if victim and time.monotonic() > killed_at:
                    victim = self.kill(victim)
                time.sleep(rnd.uniform(0, seconds / 6))
        if victim:
            self.kill(victim)

    def kill(self, victim):
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        self.killed += 1

    def quiet(self):
        """Wait until nothing of the clients is left but names and plugins, remove these, and return the registry's dump."""
        with self.daemon.connect() as d:
            wait_until(lambda: d.call("server.status")["sessions"] == 1, "the sessions of the clients are over", 120)
            for name in d.call("tensor.names")["names"]:
                d.call("tensor.unlink", name=name["name"])
            for name in reversed(self.daemon.loaded(d)):
                if name not in OWN:
                    d.call("plugin.unload", plugin=name)
            self.daemon.alone(d)
            status = d.call("server.status")
            equal((status["live_objects"], status["draining"], status["kept"]), (0, 0, []), "objects, old code")
            equal(d.call("registry.check")["violations"], [], "registry.check")
            return d.call("registry.dump")["text"]

    def least(self, look):
        """The least of some looks: the daemon closes the last connection, and gives memory back, soon after it ended."""
        return min(look() for _ in range(LOOKS) if time.sleep(0.05) is None)

    def look(self, i):
        self.descriptors.append(self.least(self.daemon.descriptors))
        self.resident.append(self.least(self.daemon.resident_kb))
        print(f"round {i}: {sum(self.ran.values())} actions, {sum(self.left.values())} left in the middle, "
              f"{self.reloads} reloads, {self.resident[-1]} kB, {self.descriptors[-1]} descriptors", flush=True)


def test_every_action_ran(s):
    for a in EVERY:
        print(f"{s.ran[a]:8} {s.left[a]:6} left  {a}")
    equal([a for a in EVERY if s.ran[a] == 0], [], "actions that never ran")
    polite = [a for a in EVERY if a in ACTIONS and s.ran[a] > ENOUGH and s.left[a] == 0]
    equal(polite, [], "actions that nobody left in the middle")
    less(0, sum(s.left.values()), "actions that were left in the middle")
    less(0, s.reloads, "reloads")
    equal(s.killed, ROUNDS, "processes that were killed")


def test_memory_is_flat(s):
    print("resident, kB:", *s.resident)
    equal(len(s.resident), ROUNDS, "rounds")
    third = ROUNDS // 3
    if not SANITIZED:  # a sanitizer keeps what was freed
        less(statistics.median(s.resident[-third:]), GROWTH * statistics.median(s.resident[1:third + 1]), "kB in the last third")


def test_descriptors_are_flat(s):
    equal(s.descriptors, [s.before] * ROUNDS, "descriptors after each round")


def test_shadow_calls_ran(s):
    """A backend that computes by the CPU's kernels never differs; the one that computes wrong results does."""
    if "shadowed calls" not in EVERY:
        return
    with s.daemon.connect() as d:
        samples = exposition.read(d.call("server.metrics")["text"])
    total = lambda what, name: sum(n for labels, n in samples[f"dispatchd_shadow_{what}_total"].items()
                                   if dict(labels)["backend"].split(":")[0] == name)
    print(*(f"{what} {total(what, device):g}" for device in ("npu", "wnpu") for what in ("calls", "differs", "failed", "dropped")))
    for device in "npu", "wnpu":
        less(0, total("calls", device), f"shadow calls on {device}")
    equal(total("differs", "npu"), 0, "shadow calls on npu that differ")
    less(0, total("differs", "wnpu"), "shadow calls on wnpu that differ")


def test_no_answer_is_wrong(s):
    equal(len(s.faults), 0, "faults; the first ones:\n" + "\n".join(s.faults[:5]) + "\nfaults")


def teardown(s):
    subprocess.run(["rm", "-rf", s.folder], check=True)
    try:
        s.daemon.finish()
    finally:
        s.daemon.process.kill()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        clients(*sys.argv[1:])
    else:
        main(Soak, teardown)
