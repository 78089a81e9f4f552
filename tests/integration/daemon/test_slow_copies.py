"""test_slow_copies.py -- a device whose copies take long delays nobody but those who use it."""

import threading
import time

from harness import BUILD, SANITIZED, equal, less, main
from daemon import TestDaemon

SLOW_MS = 1500  # of one copy; who waits for one is told from who does not by much less
SLACK = 0.5 * SLOW_MS / 1000


def literal(*data):
    return {"data": list(data), "device": "slowdev"}


def setup():
    return TestDaemon("--plugin", BUILD + "/tests/plugins/slow_copies.so")


def teardown(daemon):
    daemon.finish()


def set_ms(d, ms):
    d.op("slow::set", ms)


def counted(d, fn):
    """What fn returns, and how many copies it made; none on the loop's thread."""
    set_ms(d, 0)
    result = fn()
    copies, on_loop = d.op("slow::counts")
    equal(on_loop, 0, "copies on the loop's thread")
    return result, copies


def test_a_literal_is_made_once(daemon):
    with daemon.connect() as d:
        for n in range(20):  # as often as it takes to come to run on the loop
            equal(counted(d, lambda: d.op("slow::take", literal(1), literal(2))), (2, 2),
                  f"two literals, call {n}")
            equal(counted(d, lambda: d.op("slow::take", a=literal(1), b=literal(2))), (2, 2), "by name")
        for _ in range(20):
            t, copies = counted(d, lambda: d.call("tensor.create", **literal(1, 2)))
            equal(copies, 1, "copies of tensor.create")
            d.release(t)


def test_no_copy_runs_on_the_loop(daemon):
    with daemon.connect() as d:
        t = {"tensor": d.call("tensor.create", **literal(1, 2))["tensor"]}
        host = {"tensor": d.call("tensor.create", data=[1.0])["tensor"]}
        for n in range(40):
            equal(counted(d, lambda: d.call("tensor.read", **t)["data"]), ([1, 2], 1), f"a read, {n}")
            read = counted(d, lambda: d.call("tensor.read", **t, **{"as": "attachment"})["attachment"])
            equal(read[1], 1, f"copies of a read of bytes, {n}")
            equal(counted(d, lambda: d.op("slow::fetch", t, returns="data")["data"]), ([1, 2], 1), f"fetch, {n}")
            equal(counted(d, lambda: d.op("slow::send", host, "slowdev", returns="data")["data"]), ([1], 2),
                  f"send, {n}")


def beside(daemon, work, calls=200):
    """The longest of many small requests of another client while work(d) runs again and again."""
    stop, took = threading.Event(), []

    def repeat():
        with daemon.connect() as d:
            while not stop.is_set():
                work(d)

    thread = threading.Thread(target=repeat)
    thread.start()
    with daemon.connect() as d:
        for _ in range(calls):
            begin = time.monotonic()
            d.call("server.hello")
            d.op("aten::neg", {"data": [1.0]}, returns="data")
            took.append(time.monotonic() - begin)
            time.sleep(0.01)
    stop.set()
    thread.join()
    return max(took)


def test_slow_copies_hold_nobody_else(daemon):
    with daemon.connect() as d:
        t = {"tensor": d.call("tensor.create", **literal(1, 2))["tensor"]}
        set_ms(d, SLOW_MS)
        works = {"literals": lambda c: c.op("slow::take", literal(1), literal(2)),
                 "tensor.create": lambda c: c.release(c.call("tensor.create", **literal(1))),
                 "attachments": lambda c: c.call("tensor.create", dtype="float32", shape=[1], device="slowdev",
                                                 attachment=bytes(4))}
        for name, work in works.items():
            less(beside(daemon, work), SLACK, f"seconds at most for others beside {name}")
        begin = time.monotonic()
        d.op("slow::take", literal(1), t)
        less(time.monotonic() - begin, 1.5 * SLOW_MS / 1000 * (2 if SANITIZED else 1), "seconds for one copy")
        set_ms(d, 0)
        d.release(t)


if __name__ == "__main__":
    main(setup, teardown)
