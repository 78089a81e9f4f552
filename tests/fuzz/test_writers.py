"""test_writers.py -- connections of one session that call operators on, view and write the same tensors,
made of tensors too, while the plugins of those operators reload: what is answered is right or an error
with a name, versions never go back, views agree with what they view, and in the end nothing is left.
FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import os
import random
import threading
import time

from harness import BUILD, equal, less, main
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "17"))
WRITERS = 3
PLUGINS = ["writes", "masked", "layer"]
# what a request may meet when a plugin is away, a handle was released, or a shape was changed too often
EXPECTED = {"NotFound", "NotImplementedError", "RuntimeError", "ValueError", "ResourceExhausted", "Busy"}
# Elements that one connection writes while another reads them are a race, and no fault of the daemon's: for
# a sanitizer that reports races there are none.
RACES_ARE_REPORTED = "thread" in os.environ.get("SANITIZE", "") + os.path.basename(BUILD)
ROWS = 0 if RACES_ARE_REPORTED else 4


class Writer(threading.Thread):
    """Does something random with the session's tensors until `end`; keeps the first fault."""

    def __init__(self, d, seed, end, shared):
        super().__init__()
        self.d, self.rnd, self.end, self.shared = d, random.Random(seed), end, shared
        self.mine, self.versions, self.answers, self.errors, self.failure = [], {}, 0, 0, None

    def pick(self):
        return {"tensor": self.rnd.choice(self.shared + self.mine)}

    def call(self, op, *args, **kwargs):
        out = self.d.call("op.call", op=op, args=list(args), kwargs=kwargs)["outputs"]
        made = [o["tensor"] for o in out if isinstance(o, dict)]  # or written: then it has its handle already
        self.mine += [t for t in made if t not in self.shared + self.mine]
        return out

    def describe(self):
        t = self.pick()["tensor"]
        seen = self.d.call("tensor.describe", tensor=t)
        if "kind" not in seen:  # what a wrapper shares its version with can become another
            less(self.versions.get(t, 0), seen["version"] + 1, f"version of {t}")
            self.versions[t] = seen["version"]

    def release(self):
        if self.mine:
            self.d.call("tensor.release", tensors=[self.mine.pop(self.rnd.randrange(len(self.mine)))])

    def step(self):
        x, y = self.pick(), self.pick()
        self.rnd.choice([
            self.describe, self.release, self.release,
            lambda: self.call("aten::add_.Scalar", x, 1.0),
            lambda: self.call("aten::mul_.Scalar", x, 1.0),
            lambda: self.call("aten::add.Tensor", x, y),
            lambda: self.call("aten::neg", x),
            lambda: self.call("aten::exp.out", x, out=y),
            lambda: self.call("aten::slice.Tensor", x, 0, 0, 2),
            lambda: self.call("aten::view", x, [-1, 1] if ROWS else [0, 1]),
            lambda: self.call("aten::detach", x),
            lambda: self.call("aten::chunk", x, 2),
            lambda: self.call("writes::one", x, self.rnd.randrange(4)),
            lambda: self.call("writes::twice", x),
            lambda: self.call("writes::all", [x, y], None),
            lambda: self.call("masked::make", x, {"data": [True] * ROWS, "dtype": "bool"}),
            lambda: self.call("masked::to_dense", x),
            lambda: self.call("masked::set_", x, y, {"data": [True] * ROWS, "dtype": "bool"}),
            lambda: self.call("masked::nest", x, 3),
            lambda: self.call("layer::requires_grad_", x),
            lambda: self.d.call("tensor.read", **x),
            lambda: self.d.call("tensor.list"),
        ])()

    def run(self):
        try:
            while time.monotonic() < self.end:
                try:
                    self.step()
                    self.answers += 1
                except dispatchd.Error as e:
                    if e.type not in EXPECTED:
                        raise AssertionError(f"{e.type}: {e.message}")
                    self.errors += 1
                if len(self.mine) > 30:
                    self.release()
        except Exception as e:
            self.failure = e


def path(name):
    return f"{BUILD}/tests/plugins/{name}.so"


def reload_until(d, end):
    rnd, n = random.Random(SEED), 0
    while time.monotonic() < end:
        name = rnd.choice(PLUGINS)
        try:
            if rnd.random() < 0.5:
                d.call("plugin.reload", plugin=name)
            else:
                d.call("plugin.unload", plugin=name)
                d.call("plugin.load", path=path(name))
            n += 1
        except dispatchd.Error as e:
            if e.type not in ("Busy", "NotFound", "AlreadyExists"):
                raise
    return n


def test_writers():
    with TestDaemon("--workers", "4") as daemon, daemon.connect() as d:
        key = d.call("server.hello")["session_key"]
        writers = [daemon.connect() for _ in range(WRITERS)]
        for w in writers:
            w.call("server.hello", session_key=key)
        for name in PLUGINS:
            d.call("plugin.load", path=path(name))
        base = d.call("tensor.create", data=[1.0] * ROWS, dtype="float32")["tensor"]
        views = [d.call("op.call", op="aten::slice.Tensor", args=[{"tensor": base}, 0, i, 4])["outputs"][0]["tensor"]
                 for i in range(2)]
        mask = {"data": [True] * ROWS, "dtype": "bool"}
        wrapper = d.call("op.call", op="masked::make", args=[{"tensor": base}, mask])["outputs"][0]["tensor"]
        end = time.monotonic() + SECONDS
        clients = [Writer(w, SEED * 100 + i, end, [base, *views, wrapper]) for i, w in enumerate(writers)]
        for c in clients:
            c.start()
        reloads = reload_until(d, end)
        for c in clients:
            c.join()
        for c in clients:
            equal(c.failure, None, "failure")
            less(10, c.answers, "answers")
        less(0, reloads, "reloads")
        seen = [d.call("tensor.describe", tensor=t) for t in (base, *views)]
        equal({s["version"] for s in seen}, {seen[0]["version"]}, "views have the version of what they view")
        equal([s.get("base") for s in seen], [None, base, base])
        equal(d.call("registry.check")["violations"], [], "violations")
        d.call("tensor.release", all=True)
        status = d.call("server.status")
        equal((status["live_tensors"], status["running"]), (0, []))
        print(f"seed {SEED}: {sum(c.answers for c in clients)} answers, {sum(c.errors for c in clients)} errors, "
              f"{reloads} reloads, version {seen[0]['version']}")
        for w in writers:
            w.close()


if __name__ == "__main__":
    main()
