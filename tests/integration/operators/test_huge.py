"""test_huge.py [PATTERN] -- every overload with an expanded tensor of 2^62 elements in each tensor argument, and a deadline of
100 ms: each call is answered within a second, by a value or an error with a name, and then nothing runs or is left.

The other arguments are those of a recorded call (tests/data/calls.jsonl), or follow from the schema.  `make check` takes
every PART-th overload, others each day; `make sweep-huge` all of them."""

import os
import re
import sys
import time

from harness import SANITIZED, equal, main, wait_until
from daemon import TestDaemon
from recorded import Recorded, at, literals, replaced
import dispatchd

PART = int(os.environ.get("PART", 16 if SANITIZED else 8))
TODAY = int(os.environ.get("DAY", time.time() // 86400))
ELEMENTS = 62  # 2^ELEMENTS of them
DEADLINE_MS = 100
ANSWER_SECONDS = 1
TRIES = 3  # of a call that was late, since the machine may have been busy
LATE_SECONDS = 10  # after which no answer is waited for


def huge_shapes(shape):
    """Spread over all dimensions; in the first; in the last, the others as they are; none, in dimensions whose sizes
    multiply to more than an int64 holds."""
    n = max(len(shape), 1)
    spread = [2 ** (ELEMENTS // n + (d < ELEMENTS % n)) for d in range(n)]
    yield spread
    if n > 1:
        rest = 1
        for size in shape[1:]:
            rest *= size or 1
        yield [2**ELEMENTS // rest, *(s or 1 for s in shape[1:])]
        rest = 1
        for size in shape[:-1]:
            rest *= size or 1
        yield [*(s or 1 for s in shape[:-1]), 2**ELEMENTS // rest]
        yield [0] + [2**ELEMENTS] * (n - 1)
        yield [2**ELEMENTS, *[2] * (n > 2), *[1] * (n - 3), 0]


class Sweep:
    def __init__(self):
        self.recorded = Recorded()
        self.calls = 0
        self.begin()

    def begin(self):
        self.daemon = TestDaemon("--session-bytes", str(256 << 20))
        self.client = self.daemon.connect(LATE_SECONDS)
        self.watch = self.daemon.connect(60)

    def end(self):
        self.client.close()
        self.watch.close()
        self.daemon.finish()

    def abandon(self):
        """This daemon has a call that does not end, or is gone."""
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.begin()

    def huge(self, literal, shape):
        """An element of the literal under this shape."""
        sizes = [s if s < 2**53 else {"int": str(s)} for s in shape]
        if 0 in shape:
            return {"tensor": self.client.op("aten::empty.memory_format", sizes, dtype=literal["dtype"])["tensor"]}
        one = literal["one"]
        if one is None:
            one = [0, 0] if literal["dtype"].startswith("complex") else False if literal["dtype"] == "bool" else 0
        one = self.client.call("tensor.create", dtype=literal["dtype"], shape=[1], data=[one])["tensor"]
        view = self.client.op("aten::expand", {"tensor": one}, sizes)["tensor"]
        self.client.release(one)
        return {"tensor": view}

    def answer(self, op, args, kwargs):
        """(seconds, the error's name or None)"""
        self.calls += 1
        start = time.monotonic()
        try:
            self.client.call("op.call", op=op, args=args, kwargs=kwargs, deadline_ms=DEADLINE_MS)
            error = None
        except dispatchd.Error as e:
            error = e.type
        return time.monotonic() - start, error

    def forms(self, call):
        """(path of a tensor, paths of those that are huge, their shape): each by itself, then all of its shape and dtype."""
        paths = list(literals(list(call)))
        for path in paths:
            literal = at(call, path)
            alike = [p for p in paths if all(at(call, p)[k] == literal[k] for k in ("shape", "dtype"))]
            for shape in huge_shapes(literal["shape"]):
                yield path, [path], shape
                if len(alike) > 1 and path == alike[0]:
                    yield path, alike, shape

    def overload(self, op, schema):
        """Its faults."""
        call = self.recorded.call(op, schema)
        faults = []
        for path, paths, shape in self.forms(call):
            text = f"{op} with {paths} of sizes {shape}"
            try:
                x = self.huge(at(call, path), shape)
                args, kwargs = replaced(list(call), set(paths), x)
                for _ in range(TRIES):
                    seconds, error = self.answer(op, args, kwargs)
                    if seconds <= ANSWER_SECONDS:
                        break
                else:
                    faults.append(f"{text}: {seconds:.1f} s, {error or 'a value'}")
                if error == "InternalError":
                    faults.append(f"{text}: {error}")
                self.client.call("tensor.release", all=True)
                wait_until(self.idle, text, 5)
            except (TimeoutError, AssertionError, OSError) as e:
                running = "?"
                if isinstance(e, ConnectionError):  # it is about to end, if it has not
                    self.daemon.process.wait()
                if self.daemon.process.poll() is None:
                    running = [r["op"] for r in self.watch.call("server.status")["running"]]
                faults.append(f"{text}: {type(e).__name__} {e}; running: {running}; {self.report()}")
                self.abandon()
                if len(faults) > 3:
                    break
        return faults

    def report(self):
        if self.daemon.process.poll() is None:
            return ""
        log = self.daemon.log()
        at = max(log.find("ERROR: "), log.find("runtime error"), 0)
        return log[at:][:2500]

    def idle(self):
        status = self.watch.call("server.status")
        busy = status["running"] or status["stuck"]
        return not busy and status["live_tensors"] == status["storages"] == status["bytes"] == 0


def test_every_overload_ends():
    sweep = Sweep()
    pattern = re.compile(next((a for a in sys.argv[1:] if not a.startswith("-")), ""))
    ops = [op for op in sweep.watch.call("registry.list", namespace="aten")["ops"] if pattern.search(op)]
    faults = []
    for i, op in enumerate(ops):
        if (i + TODAY) % PART:
            continue
        schema = sweep.watch.call("registry.describe", op=op)["schema"]
        for fault in sweep.overload(op, schema):
            print("FAIL", fault, flush=True)
            faults.append(fault)
    print(f"{sweep.calls} calls; part {TODAY % PART} of {PART} of {len(ops)} overloads")
    sweep.end()
    equal(faults, [], f"{len(faults)} faults")


if __name__ == "__main__":
    main()
