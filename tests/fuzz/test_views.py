"""test_views.py -- views of huge extent over a few bytes, and tensors of huge shape without elements,
read back in every form: the answer is the data or an error by name, the daemon lives, and another
connection is answered all the while.  FUZZ_SECONDS and FUZZ_SEED choose how long and which."""

import os
import random
import threading
import time

from harness import equal, less, main
from daemon import TestDaemon
import dispatchd

SECONDS = float(os.environ.get("FUZZ_SECONDS", "6"))
SEED = int(os.environ.get("FUZZ_SEED", "5"))
ROUNDS_LEAST = 150
ANSWER_SECONDS = 60  # within which every request has its answer
ITEMS = {"bool": 1, "uint8": 1, "float16": 2, "float32": 4, "int64": 8, "float64": 8, "complex128": 16}
EXPECTED = {"ResourceExhausted", "RuntimeError", "ValueError", "IndexError"}

SMALL = [0, 1, 1, 2, 3, 7]
HUGE = [2**34, 10**12, 2**40, 2**53 - 1, 2**58, 2**59, 2**60, 2**61, 2**62, 2**63 - 1]
STRIDES = [0, 0, 0, 1, 1, 2, 5, 2**31, 2**58, 2**61, 2**62, 2**63 - 1]
STEPS = [1, 2, 2**62, 2**63 - 1]  # of huge sizes they leave huge ones or few: a quick answer either way
OFFSETS = [0, 0, 0, 1, 3, 2**31, 2**53 - 1, 2**58, 2**62, 2**63 - 1]


def big(n):
    """An int as the protocol wants it."""
    return n if abs(n) < 2**53 else {"int": str(n)}


def ints(values):
    return [big(n) for n in values]


def product(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def nested(data, shape):
    """Are these nested arrays of that shape?  Below a size of 0 there is nothing to see."""
    return not shape or (isinstance(data, list) and len(data) == shape[0]
                         and all(nested(d, shape[1:]) for d in data[:3]))


class Views:
    def __init__(self, d, rnd):
        self.d, self.rnd = d, rnd
        self.answers, self.errors = 0, {}

    def dims(self, n=None):
        """Sizes: small ones, a hundred at times, huge ones."""
        rnd, n = self.rnd, self.rnd.randrange(1, 5) if n is None else n
        sizes = [rnd.choice(SMALL) for _ in range(n)]
        if n and rnd.random() < 0.2:
            sizes[rnd.randrange(n)] = 100
        for _ in range(rnd.choice((0, 1, 1, 2))):
            if n:
                sizes[rnd.randrange(n)] = rnd.choice(HUGE)
        return sizes

    def literal(self):
        """A whole storage of a few elements under a geometry of any kind."""
        rnd, dtype = self.rnd, self.rnd.choice(list(ITEMS))
        shape, n = [min(s, 2**53 - 1) for s in self.dims()], rnd.choice((1, 4, 16))
        lit = {"dtype": dtype, "shape": shape, "attachment": bytes(n * ITEMS[dtype])}
        if rnd.random() < 0.8:
            lit["strides"] = [min(rnd.choice(STRIDES), 2**53 - 1) for _ in shape]
        if rnd.random() < 0.4 or "strides" not in lit:
            lit["storage_offset"] = min(rnd.choice(OFFSETS), 2**53 - 1)
        return lit

    def view(self, x):
        """(operator, arguments) that makes a view of x, of sizes that it was not asked about."""
        rnd, n = self.rnd, len(x["shape"])
        t, dim = {"tensor": x["tensor"]}, rnd.randrange(-n, n) if n else 0
        wide = [s if s != 1 else rnd.choice(HUGE + SMALL) for s in x["shape"]]
        wide = self.dims(rnd.randrange(0, 3)) + wide
        sizes = self.dims()
        return rnd.choice([
            ("expand", [t, ints(wide)]),
            ("broadcast_to", [t, ints(wide)]),
            ("as_strided", [t, ints(sizes), ints(rnd.choice(STRIDES) for _ in sizes),
                            big(rnd.choice(OFFSETS))]),
            ("unfold", [t, dim, big(rnd.choice(SMALL + HUGE)), big(rnd.choice(STEPS))]),
            ("unsqueeze", [t, dim]), ("transpose.int", [t, dim, 0]), ("t", [t]),
            ("slice.Tensor", [t, dim, big(rnd.choice(SMALL + HUGE)), None, big(rnd.choice(STEPS))]),
            ("select.int", [t, dim, big(rnd.choice([0, -1] + HUGE))]),
            ("diagonal", [t, big(rnd.choice(SMALL + HUGE)), 0, -1]),
            ("view", [t, ints(rnd.sample(x["shape"], n) + [1])]),
            ("view", [t, [-1]]), ("flatten.using_ints", [t]),
            ("detach", [t]),
        ])

    def ask(self, method, /, **params):
        """The result, or None after an error by an expected name."""
        try:
            result = self.d.call(method, **params)
        except dispatchd.Error as e:
            if e.type not in EXPECTED:
                raise AssertionError(f"{method} {params}: {e.type}: {e.message}")
            self.errors[e.type] = self.errors.get(e.type, 0) + 1
            return None
        self.answers += 1
        return result

    def checked(self, x, shape, what):
        if x is None:
            return
        if "data" in x and not nested(x["data"], shape):
            raise AssertionError(f"{what}: data does not have the shape {shape}")
        if "attachment" in x:
            equal(len(x["attachment"]), product(shape) * ITEMS[x["dtype"]], what)

    def read(self, x):
        for form in ("json", "attachment"):
            self.checked(self.ask("tensor.read", **{"tensor": x["tensor"], "as": form}), x["shape"],
                         f"tensor.read as {form} of {x}")

    def round(self):
        x = self.ask("tensor.create", **self.literal())
        for _ in range(3):
            if x is None:
                x = self.d.call("tensor.create", dtype="float64", shape=[1], data=[1.5])
            self.read(x)
            op, args = self.view(x)
            how = self.rnd.choice(("data", "attachment"))
            answer = self.ask("op.call", **{"op": "aten::" + op, "args": args, "return": how})
            if answer is not None:
                out = answer["outputs"][0]
                self.checked(out, out["shape"], f"{op} {args} as {how}")
            answer = self.ask("op.call", op="aten::" + op, args=args)
            x = answer["outputs"][0] if answer is not None else None
            if x is not None:
                self.read(x)
        self.d.call("tensor.release", tensors=[], all=True)


class Other(threading.Thread):
    """Somebody who wants small things, all the time."""

    def __init__(self, daemon):
        super().__init__()
        self.daemon_, self.stopped, self.answers, self.failure = daemon, False, 0, None

    def run(self):
        try:
            with self.daemon_.connect(ANSWER_SECONDS) as d:
                while not self.stopped:
                    x = d.call("op.call", **{"op": "aten::add.Tensor", "args": [{"data": [1, 2]}, 1],
                                             "return": "data"})
                    equal(x["outputs"][0]["data"], [2, 3], "of the other connection")
                    self.answers += 1
        except Exception as e:
            self.failure = e


def test_views_of_any_extent_are_read_or_refused():
    with TestDaemon() as daemon, daemon.connect(ANSWER_SECONDS) as d:
        other, views = Other(daemon), Views(d, random.Random(SEED))
        other.start()
        try:
            end, rounds = time.monotonic() + SECONDS, 0
            while rounds < ROUNDS_LEAST or time.monotonic() < end:
                views.round()
                rounds += 1
        finally:
            other.stopped = True
            other.join()
        equal(other.failure, None, "failure of the other connection")
        less(rounds, other.answers, "answers to the other connection")
        less(0, views.answers, "answers")
        less(0, views.errors.get("ResourceExhausted", 0), "ResourceExhausted")
        equal(d.call("registry.check")["violations"], [], "violations")
        print(f"seed {SEED}: {rounds} rounds, {views.answers} answers, errors {views.errors}; "
              f"{other.answers} answers to the other")


if __name__ == "__main__":
    main()
