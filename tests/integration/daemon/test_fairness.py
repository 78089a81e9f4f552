"""test_fairness.py -- one client's long calls do not hold up another's.

What is asserted: every call succeeds, and a kernel that sleeps stops nobody.  How much slower a small
product gets beside a large one is printed, since a shared machine decides that too."""

import os
import select
import signal
import socket
import statistics
import time

from harness import BUILD, SANITIZED, equal, less, main, wait_until
from daemon import TestDaemon
import fairness

SLEEP_MS = 10_000
SMALL, LARGE = 128, 512 if SANITIZED else 2048
CALLS = 50 if SANITIZED else 300


def test_small_products_beside_large_ones(f):
    alone, beside, large = fairness.measure(f, SMALL, LARGE, CALLS)
    a, b = (fairness.percentile(v, 99) * 1e6 for v in (alone, beside))
    print(f"     mm {SMALL}x{SMALL}: p99 alone {a:.0f} us, beside {LARGE}x{LARGE} {b:.0f} us "
          f"({b / a:.1f} times), p50 {fairness.percentile(alone, 50) * 1e6:.0f} and "
          f"{fairness.percentile(beside, 50) * 1e6:.0f} us; {large} large products meanwhile")


def test_a_sleeping_kernel_stops_nobody(f):
    with f.connect() as sleeper, f.connect() as d:
        sleeper.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "sleeps.so"))
        for _ in range(40):  # short calls first: the executor learns to run this kernel inline
            sleeper.op("sleeps::sleep", {"data": [1]}, 0, returns="data")
        sleeper.send("op.call", op="sleeps::sleep", args=[{"data": [1]}, SLEEP_MS], **{"return": "data"})
        start = time.monotonic()
        wait_until(lambda: any(r["op"] == "sleeps::sleep" for r in d.call("server.status")["running"]),
                   "server.status shows the sleeping call")
        for _ in range(100):
            equal(d.op("aten::add.Tensor", {"data": [1]}, 1, returns="data")["data"], [2])
        with f.connect() as third:
            third.call("registry.check")
        less(time.monotonic() - start, SLEEP_MS / 1000, "seconds until 100 calls beside it were done")
        sleeper.receive()
        less(SLEEP_MS / 1000 * 0.9, time.monotonic() - start, "seconds that the sleeping call took")
        report = sleeper.call("plugin.unload", plugin="sleeps")
        equal((report["unmapped"], report.get("kept_because")), (True, None))


def flood(path):
    """Send short requests as fast as the daemon takes them, until this process is killed."""
    block = memoryview(b'{"jsonrpc":"2.0","id":1,"method":"op.call","params":{"op":"aten::add.Tensor",'
                       b'"args":[{"data":[1.0]},1],"return":"data"}}\n' * 500)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.setblocking(False)
        left = block
        while True:
            readable, writable, _ = select.select([s], [s], [])
            if readable and not s.recv(1 << 20):
                return
            if writable:
                left = left[s.send(left):] or block


def test_a_crowd_of_floods_is_served_in_short_turns(f):
    """Between a question and its answer the daemon serves few requests of each other connection, though each has
    sent as many as it takes.  The number of requests is asserted, not the time."""
    crowd = []
    try:
        for _ in range(20):
            crowd.append(os.fork())
            if crowd[-1] == 0:
                try:
                    flood(f.socket)
                finally:
                    os._exit(0)
        with f.connect() as d:
            served = lambda: d.call("server.status")["requests"]
            wait_until(lambda: served() > 20_000, "the floods are served")
            counts = [served() for _ in range(100)]
            typical = statistics.median(after - before for before, after in zip(counts, counts[1:]))
            less(typical, 4000, "requests of 20 connections between a question and its answer")
    finally:
        for pid in crowd:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


main(TestDaemon, TestDaemon.finish)
