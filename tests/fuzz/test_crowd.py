"""test_crowd.py -- clients that ask for everything at once, while plugins, a backend and an observer
come and go: what is answered is right or an error with a name, and in the end all is as it was.
FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import os
import random
import threading
import time

from harness import BUILD, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "11"))
CLIENTS = 4
PLUGINS = ["dozes", "overrides", "observer", "toy_backend", "version", "returns_error"]
# what a request may meet when somebody else just loaded or unloaded; anything else is a fault
EXPECTED = {"NotFound", "AlreadyExists", "Busy", "NotImplementedError", "TypeError", "RuntimeError",
            "PluginError"}

X = {"data": [[1, 2], [3, 4]]}
ADD = ("op.call", {"op": "aten::add.Tensor", "args": [X, 10], "return": "data"})
REQUESTS = [
    ADD,
    ("op.call", {"op": "aten::add.Tensor", "args": [X, X], "trace": True, "timing": True}),
    ("op.call", {"op": "aten::matmul", "args": [X, X], "trace": True}),
    ("op.call", {"op": "tutorial::scale", "args": [X, 2.0]}),
    ("op.call", {"op": "dozes::doze", "args": [X, 1]}),
    ("op.call", {"op": "dozes::doze", "args": [X], "trace": True}),
    ("op.call", {"op": "observer::counts", "args": [X]}),
    ("op.call", {"op": "toy::to_toy", "args": [X]}),
    ("op.call", {"op": "toy::where", "args": [X]}),
    ("op.call", {"op": "version::value", "args": [X]}),
    ("op.call", {"op": "returns_error::f", "args": [X]}),
    ("program.run", {"inputs": {"x": X}, "outputs": ["y"], "steps": [
        {"op": "aten::relu", "args": [{"ref": "x"}], "as": ["r"]},
        {"op": "tutorial::scale", "args": [{"ref": "r"}, 3.0], "as": ["y"]}]}),
    ("server.status", {}), ("tensor.list", {}), ("tensor.create", X),
    ("registry.list", {}), ("registry.list", {"key": "CPU", "match": "o"}),
    ("registry.describe", {"op": "tutorial::scale"}), ("registry.describe", {"op": "dozes::doze"}),
    ("registry.explain", {"op": "tutorial::scale", "args": [X, 2.0]}),
    ("registry.explain", {"op": "aten::add.Tensor", "args": [X, 2]}),
    ("registry.table", {"ops": ["tutorial::scale", "aten::add.Tensor"],
                        "with": [{"op": "aten::add.Tensor", "key": "AutogradCPU"}]}),
    ("registry.keys", {}), ("registry.dump", {}), ("registry.check", {}),
    ("plugin.list", {}),
]


class Client(threading.Thread):
    """Sends random requests until `end`; keeps the first answer that is neither right nor expected."""

    def __init__(self, daemon, seed, end):
        super().__init__()
        self.daemon_, self.rnd, self.end = daemon, random.Random(seed), end
        self.answers, self.errors, self.failure = 0, 0, None

    def request(self):
        choice = self.rnd.randrange(10)
        plugin = self.rnd.choice(PLUGINS)
        path = f"{BUILD}/tests/plugins/{'version_1' if plugin == 'version' else plugin}.so"
        if choice == 0:
            return "plugin.load", {"path": path}
        if choice == 1:
            return "plugin.unload", {"plugin": plugin, "force": self.rnd.random() < 0.5}
        if choice == 2:
            return "plugin.reload", {"plugin": plugin}
        if choice == 3:
            return "plugin.describe", {"path": path}
        return self.rnd.choice(REQUESTS)

    def ask(self, d, method, params):
        result = d.call(method, **params)
        if (method, params) == ADD:
            equal(result["outputs"][0]["data"], [[11, 12], [13, 14]], "aten::add.Tensor")
        if method == "registry.check":
            equal((result["ok"], result["violations"]), (True, []), "registry.check")

    def run(self):
        try:
            with self.daemon_.connect() as d:
                while time.monotonic() < self.end:
                    method, params = self.request()
                    try:
                        self.ask(d, method, params)
                        self.answers += 1
                    except dispatchd.Error as e:
                        if e.type not in EXPECTED:
                            raise AssertionError(f"{method} {params}: {e.type}: {e.message}")
                        self.errors += 1
                d.call("tensor.release", tensors=[], all=True)
        except Exception as e:
            self.failure = e


def unload_all(d):
    for name in PLUGINS:
        try:
            d.call("plugin.unload", plugin=name, force=True)
        except dispatchd.Error as e:
            equal(e.type, "NotFound", name)


def test_crowd():
    with TestDaemon() as daemon, daemon.connect() as d:
        dump = d.call("registry.dump")["text"]
        end = time.monotonic() + SECONDS
        clients = [Client(daemon, SEED * 100 + i, end) for i in range(CLIENTS)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        for c in clients:
            equal(c.failure, None, "failure")
            less(10, c.answers, "answers")
        less(0, sum(c.errors for c in clients), "errors")
        unload_all(d)
        wait_until(lambda: d.call("server.status")["connections"] == 1, "the others are gone", 60)
        equal(d.call("registry.dump")["text"], dump, "dump")
        equal(d.call("registry.check")["violations"], [], "violations")
        status = d.call("server.status")
        equal((status["live_tensors"], status["draining"], status["running"]), (0, 0, []))
        print(f"seed {SEED}: {sum(c.answers for c in clients)} answers, "
              f"{sum(c.errors for c in clients)} errors")


if __name__ == "__main__":
    main()
