"""test_schemas.py -- every operator, called with whatever its schema suggests and with what it does not:
three connections share a session and its tensors.  The daemon lives, every answer is a result or an
error with a name, and in the end nothing is left.  FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import collections
import os
import random
import re
import resource
import threading
import time

from harness import BUILD, SANITIZED, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "3"))
CLIENTS, POOL, KEPT_NUMEL = 3, 48, 1 << 14
MEMORY = 3 << 29  # bytes the daemon may have: what sizes ask for beyond that is an error
# A kernel that breaks its contract (PluginError) is a fault here: these are ours.
EXPECTED = {"RuntimeError", "TypeError", "ValueError", "IndexError", "NotImplementedError", "NotFound",
            "ResourceExhausted"}
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]
SHAPES = [[], [0], [1], [3], [4], [2, 3], [3, 3], [3, 1], [0, 3], [2, 0, 4], [2, 3, 4], [1, 3, 1],
          [2, 3, 4, 4], [1, 2, 5, 5], [2, 2, 2, 2, 2]]
SMALL = [-4, -3, -2, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 8]
EXTREME = [1 << 31, -(1 << 31), (1 << 31) - 1, (1 << 53) - 1, 1 << 53, 1 << 61, 1 << 62, (1 << 63) - 1,
           -(1 << 63)]
FLOATS = [0, 0.5, -1.5, 1, 2, 1e-8, 1e30, {"float": "inf"}, {"float": "-inf"}, {"float": "nan"}]
WORDS = ["sum", "mean", "none", "cpu", "meta", "strided", "float32", "contiguous_format", "floor",
         "trunc", "reflect", "constant", "", "no such word"]
ENUMS = {"ScalarType": DTYPES + ["float33"], "Layout": ["strided", "sparse"],
         "Device": ["cpu", "cpu", "meta", "cuda:0"],
         "MemoryFormat": ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]}


class Pool:
    """Handles of the session, used by all connections."""

    def __init__(self):
        self.lock, self.handles = threading.Lock(), collections.deque()

    def add(self, handle):
        """Keep it; the handle that has to go instead, or None."""
        with self.lock:
            if handle in self.handles:  # an operator that writes returns the handle it was given
                return None
            self.handles.append(handle)
            return self.handles.popleft() if len(self.handles) > POOL else None

    def pick(self, rnd):
        with self.lock:
            return rnd.choice(self.handles) if self.handles else 1

    def take(self, rnd):
        """One that nobody picks any more, though some may be about to use it."""
        with self.lock:
            return self.handles.popleft() if self.handles and rnd.random() < 0.9 else 1


class Client(threading.Thread):
    def __init__(self, connection, ops, pool, seed, end):
        super().__init__()
        self.d, self.ops, self.pool, self.end = connection, ops, pool, end
        self.rnd = random.Random(seed)
        self.results, self.errors, self.failure = 0, collections.Counter(), None
        self.last = None

    # -- values ----------------------------------------------------------------------------------

    def integer(self):
        i = self.rnd.choice(EXTREME if self.rnd.random() < 0.05 else SMALL)
        return i if abs(i) < 1 << 53 else {"int": str(i)}

    def literal(self):
        shape = self.rnd.choice(SHAPES)
        n = 1
        for size in shape:
            n *= size
        dtype = self.rnd.choice(DTYPES)
        one = (lambda: self.rnd.random() < 0.5) if dtype == "bool" else (lambda: self.rnd.randrange(5))
        flat = [one() for _ in range(n)]
        for size in reversed(shape[1:]):
            flat = [flat[i:i + size] for i in range(0, len(flat), size or 1)]
        if 0 in shape:
            return {"dtype": dtype, "shape": shape, "attachment": b""}
        return {"dtype": dtype, "data": flat if shape else flat[0]}

    def tensor(self):
        return {"tensor": self.pool.pick(self.rnd)} if self.rnd.random() < 0.8 else self.literal()

    def anything(self):
        return self.rnd.choice([
            None, True, self.integer(), self.rnd.choice(FLOATS), self.rnd.choice(WORDS), [], [None],
            [self.integer()], [[1, 2], [3]], {"complex": [1, 2]}, {"tensor": 999999}, self.tensor(),
            [self.tensor(), self.integer()]])

    def value(self, type_):
        """Of a schema's type; now and then of another."""
        type_ = re.sub(r"\([^)]*\)", "", type_)  # what it aliases
        if self.rnd.random() < 0.03:
            return self.anything()
        if type_.endswith("?"):
            return None if self.rnd.random() < 0.4 else self.value(type_[:-1])
        listed = re.fullmatch(r"(.*)\[(\d*)\]", type_)
        if listed:
            n = int(listed[2] or 0) if self.rnd.random() < 0.5 else self.rnd.randrange(5)
            return [self.value(listed[1]) for _ in range(min(n, 8))]
        if type_ == "Scalar":
            type_ = self.rnd.choice(["int", "float", "bool", "complex"])
        make = {"Tensor": self.tensor, "int": self.integer, "SymInt": self.integer,
                "float": lambda: self.rnd.choice(FLOATS), "bool": lambda: self.rnd.random() < 0.5,
                "str": lambda: self.rnd.choice(WORDS), "Generator": lambda: None,
                "complex": lambda: {"complex": [self.rnd.choice(SMALL), 1]}}
        if type_ in ENUMS:
            return self.rnd.choice(ENUMS[type_])
        return make[type_]() if type_ in make else self.anything()

    # -- requests --------------------------------------------------------------------------------

    def arguments(self, op):
        args, kwargs, by_name = [], {}, False
        for a in op["arguments"]:
            by_name |= a["kwarg_only"]
            if "default" in a and self.rnd.random() < 0.5:
                by_name = True  # what comes after one that is left out
            elif by_name:
                kwargs[a["name"]] = self.value(a["type"])
            else:
                args.append(self.value(a["type"]))
        if self.rnd.random() < 0.02:
            args.append(self.anything())
        if self.rnd.random() < 0.02:
            kwargs["no_such_name"] = 1
        return {"op": op["name"], "args": args, "kwargs": kwargs}

    def request(self):
        op, choice = self.rnd.choice(self.ops), self.rnd.random()
        if choice < 0.04:
            return "tensor.create", self.literal()
        if choice < 0.08:
            return "tensor.read", {"tensor": self.pool.pick(self.rnd)}
        if choice < 0.10:
            return "tensor.describe", {"tensor": self.pool.pick(self.rnd)}
        if choice < 0.12:
            return "tensor.release", {"tensors": [self.pool.take(self.rnd)]}
        if choice < 0.17:
            return "registry.explain", self.arguments(op)
        if choice < 0.20:
            first, second = self.arguments(op), self.arguments(self.rnd.choice(self.ops))
            if second["args"]:
                second["args"][0] = {"ref": "x"}
            return "program.run", {"steps": [{**first, "as": ["x"]}, {**second, "as": ["y"]}],
                                   "outputs": ["y"]}
        params = self.arguments(op)
        if choice < 0.25:
            params["trace"] = True
        return "op.call", params

    def keep(self, output):
        """A tensor of an answer: kept for other calls, unless it is large."""
        drop = output["tensor"]
        size = 1
        for n in output["shape"]:
            size *= n
        if size <= KEPT_NUMEL:
            drop = self.pool.add(drop)
        if drop is not None:
            self.d.call("tensor.release", tensors=[drop])

    def outputs(self, value):
        if isinstance(value, list):
            for v in value:
                self.outputs(v)
        elif isinstance(value, dict) and "tensor" in value and "shape" in value:
            self.keep(value)

    def ask(self, method, params):
        result = self.d.call(method, **params)
        self.results += 1
        if method == "tensor.create":
            self.keep(result)
        elif method in ("op.call", "program.run"):
            self.outputs(result["outputs"])

    def run(self):
        try:
            while time.monotonic() < self.end:
                self.last = method, params = self.request()
                try:
                    self.ask(method, params)
                except dispatchd.Error as e:
                    self.errors[e.type] += 1
                    if e.type not in EXPECTED:
                        raise AssertionError(f"{method} {params}: {e.type}: {e.message}")
        except Exception as e:
            self.failure = f"{e!r} after {self.last}"


def describe_all(d):
    return [{"name": name, "arguments": d.call("registry.describe", op=name)["arguments"]}
            for name in d.call("registry.list")["ops"]]


def test_schemas():
    if "thread" in BUILD:
        return  # the connections write to each other's tensors at once, which it reports by design
    options = {"env": {"ASAN_OPTIONS": "allocator_may_return_null=1:max_allocation_size_mb=512:"
                                       "detect_leaks=1"}} if SANITIZED else {}
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    with TestDaemon(**options) as daemon, daemon.connect() as d:
        hello = d.call("server.hello", client="fuzz")
        ops, pool, end = describe_all(d), Pool(), time.monotonic() + SECONDS
        connections = [daemon.connect() for _ in range(CLIENTS)]
        for c in connections:
            c.call("server.hello", client="fuzz", session_key=hello["session_key"])
        clients = [Client(c, ops, pool, SEED * 100 + i, end) for i, c in enumerate(connections)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
            c.d.close()
        print(f"seed {SEED}: {sum(c.results for c in clients)} results, errors "
              f"{dict(sum((c.errors for c in clients), collections.Counter()))}")
        equal([c.failure for c in clients if c.failure], [], "failures")
        for c in clients:
            less(10, c.results, "results of a connection")
        equal(d.call("registry.check")["violations"], [], "violations")
        d.call("tensor.release", tensors=[], all=True)
        d.close()  # the session ends, and with it the programs it kept and the numbers in them
        with daemon.connect() as last:
            wait_until(lambda: last.call("server.status")["sessions"] == 1, "the session ended", 60)

            def left():
                status = last.call("server.status")
                return status["live_tensors"], status["bytes"], status["running"]

            # the last request of a client that left may still be letting go of its arguments
            wait_until(lambda: left() == (0, 0, []), f"nothing is left, but {left()}", 30)


if __name__ == "__main__":
    main()
