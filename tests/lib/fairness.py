"""fairness.py -- how long one client's small products take alone and beside another's large ones."""

import threading
import time

from harness import wait_until


LARGE_CALLS = 8  # the small ones go on for at least so many large ones


def percentile(values, p):
    return sorted(values)[min(int(len(values) * p / 100), len(values) - 1)]


def _ones(d, n):
    return {"tensor": d.op("aten::ones", [n, n], dtype="float32")["tensor"]}


def _product(d, x):
    """One mm whose result is dropped; seconds."""
    start = time.perf_counter()
    out = d.op("aten::mm", x, x)
    seconds = time.perf_counter() - start
    d.release(out)
    return seconds


class _Heavy(threading.Thread):
    """Multiplies n x n matrices until told to stop."""

    def __init__(self, daemon, n):
        super().__init__()
        self.daemon_, self.n, self.stop, self.calls, self.failure = daemon, n, False, 0, None

    def run(self):
        try:
            with self.daemon_.connect() as d:
                x = _ones(d, self.n)
                while not self.stop:
                    _product(d, x)
                    self.calls += 1
                d.release(x)
        except Exception as e:
            self.failure = e


def measure(daemon, small, large, calls):
    """Seconds of each product of small x small, at least `calls` times: (alone, beside large x large,
    how many large ones meanwhile)."""
    with daemon.connect() as d:
        x = _ones(d, small)
        for _ in range(30):
            _product(d, x)
        alone = [_product(d, x) for _ in range(calls)]
        heavy = _Heavy(daemon, large)
        heavy.start()
        try:
            wait_until(lambda: heavy.calls > 0 or heavy.failure, "the first large product", 120)
            beside = []
            while (len(beside) < calls or heavy.calls < LARGE_CALLS) and not heavy.failure:
                beside.append(_product(d, x))
        finally:
            heavy.stop = True
            heavy.join()
        d.release(x)
    if heavy.failure:
        raise heavy.failure
    return alone, beside, heavy.calls
