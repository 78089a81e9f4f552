"""test_spin.py -- the main thread polls for the next request (--spin-us): what clients can observe."""

import glob
import time

from harness import equal, less, main
from daemon import TestDaemon

ADD = {"op": "aten::add.Tensor", "args": [{"data": [1, 2]}, 10], "return": "data"}
SILENT = 1.0  # seconds in which the daemon has nothing to do


def cpu_seconds(daemon):
    """CPU time of all threads of the daemon until now."""
    total = 0
    for path in glob.glob(f"/proc/{daemon.pid}/task/*/schedstat"):
        with open(path) as f:
            total += int(f.read().split()[0])
    return total / 1e9


def call_often(d, n=200):
    for _ in range(n):
        out, = d.call("op.call", **ADD)["outputs"]
        equal(out["data"], [11, 12])


def idle_share(daemon):
    """How much of a core the daemon uses while its clients are silent."""
    before, start = cpu_seconds(daemon), time.monotonic()
    time.sleep(SILENT)
    return (cpu_seconds(daemon) - before) / (time.monotonic() - start)


def test_idle_daemon_uses_no_cpu():
    for spin in "0", "50", "1000":
        with TestDaemon("--spin-us", spin) as daemon:
            with daemon.connect() as d, daemon.connect() as other:
                call_often(d)
                call_often(other)
                less(idle_share(daemon), 0.02)
                call_often(d)


def test_other_clients_are_answered():
    """While one client calls again and again, others get their turn, and so do results of workers."""
    with TestDaemon("--spin-us", "1000") as daemon:
        clients = [daemon.connect() for _ in range(5)]
        for _ in range(50):
            for d in clients:
                call_often(d, 3)
            equal(clients[0].op("aten::arange", 5000)["shape"], [5000])
            clients[0].call("tensor.release", all=True)
        for d in clients:
            d.close()


def test_clients_may_leave_at_any_time():
    with TestDaemon("--spin-us", "1000") as daemon:
        with daemon.connect() as stays:
            for _ in range(50):
                d = daemon.connect()
                call_often(d, 20)
                d.close()
                call_often(stays, 1)


def test_several_at_once():
    with TestDaemon("--spin-us", "1000") as daemon:
        with daemon.connect() as d:
            for _ in range(20):
                ids = [d.send("op.call", **ADD) for _ in range(100)]
                equal([d.receive_message()["id"] for _ in ids], ids)


if __name__ == "__main__":
    main()
