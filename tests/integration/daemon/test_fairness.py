"""test_fairness.py -- one client's long calls do not hold up another's.

What is asserted: every call succeeds, and a kernel that sleeps stops nobody.  How much slower a small
product gets beside a large one is printed, since a shared machine decides that too."""

import os
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


main(TestDaemon, TestDaemon.finish)
