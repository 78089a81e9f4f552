"""test_long.py [PATTERN] -- kernels on tensors of 2^26 elements end soon after their request's deadline of 20 ms.

The tensors are those of recorded calls (tests/data/calls.jsonl), enlarged: one of the sizes that occur in a call is
replaced by a large one wherever it occurs, or all sizes grow alike.  `make check` takes the overloads of SAMPLE;
`make sweep-huge` all of them.  LATE_MS says how long after its deadline a kernel may run."""

import os
import re
import sys
import time

from harness import SANITIZED, equal, main
from daemon import TestDaemon
from recorded import Recorded, arguments_of, at, literals, replaced
import dispatchd

MEMORY = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
ELEMENTS = 2**22 if SANITIZED else 2**26 if MEMORY > 12 << 30 else 2**24
DEADLINE_MS = 20
LATE_SECONDS = float(os.environ.get("LATE_MS", 2000)) / 1000  # a busy machine takes long for what is 0.2 s on an idle one
TRIES = int(os.environ.get("TRIES", 3))  # of a call that was late
GIVE_UP_SECONDS = 10
BASES = 2  # tensors that are kept for the next calls
SESSION_BYTES = 8 << 30
# `make check` takes these: loops over one line, over many, copies, products, and what LAPACK is called for.
SAMPLE = ("_ctc_loss.Tensor", "_dirichlet_grad", "_fft_c2c", "_fft_r2c", "_standard_gamma_grad", "_unique2", "addbmm", "addmm", "bmm", "bernoulli.Tensor",
          "cdist", "clone", "convolution", "cumsum", "histogram.bins_tensor", "isin.Tensor_Tensor", "kthvalue", "linalg_svd", "median", "native_layer_norm", "softmax.int",
          "sort", "topk", "_trilinear")
# One call of LAPACK, or of qsort, is not stopped: these are answered at their deadline, and run on as stuck workers.
UNSTOPPED = re.compile("linalg|geqrf|orgqr|ormqr|cholesky|lu_|det$|svd|eig|inverse|qr|lstsq|triangular_solve|matrix_exp|matrix_rank|nuclear_norm|unique_dim|embedding_renorm")


class Long:
    def __init__(self):
        self.recorded = Recorded()
        self.calls = self.reached = 0
        self.begin()

    def begin(self):
        self.daemon = TestDaemon("--session-bytes", str(SESSION_BYTES))
        self.client = self.daemon.connect(GIVE_UP_SECONDS)
        self.watch = self.daemon.connect(60)
        self.bases = {}

    def end(self):
        self.client.call("tensor.release", all=True)
        self.client.close()
        self.watch.close()
        self.daemon.finish()

    def abandon(self):
        """This daemon has a call that does not end, or is gone."""
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.begin()

    def base(self, literal):
        """A 1-d tensor of ELEMENTS elements: the literal's over and over."""
        def flat(v, depth):
            return [x for part in v for x in flat(part, depth - 1)] if depth else [v]

        data = flat(literal["data"], len(literal["shape"])) or [literal["one"] or 0]
        key = (literal["dtype"], repr(data))
        if key not in self.bases:
            if len(self.bases) >= BASES:
                self.client.release(self.bases.pop(next(iter(self.bases))))
            few = self.client.call("tensor.create", dtype=literal["dtype"], shape=[len(data)], data=data)["tensor"]
            self.bases[key] = self.client.op("aten::repeat", {"tensor": few}, [-(-ELEMENTS // len(data))])["tensor"]
            self.client.release(few)
        return self.bases[key]

    def large(self, literal, shape, written):
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        base = self.base(literal)
        view = self.client.op("aten::as_strided", {"tensor": base}, list(shape), strides)["tensor"]
        if written:
            copy = self.client.op("aten::clone", {"tensor": view})["tensor"]
            self.client.release(view)
            view = copy
        return view

    @staticmethod
    def grown(shapes, s):
        """What s is to become so that the largest of the shapes has ELEMENTS elements, and all at most those of a base."""
        best = ELEMENTS
        for shape in shapes:
            rest, times = 1, 0
            for size in shape:
                rest *= 1 if size == s else max(size, 1)
                times += size == s
            if times:
                best = min(best, int((ELEMENTS / rest) ** (1 / times)))
        return best

    def forms(self, call):
        """(what it is, the change of a size, or the new sizes of every tensor)"""
        shapes = [at(call, p)["shape"] for p in literals(call)]
        sizes = sorted({s for shape in shapes for s in shape if s > 1})
        for s in sizes:
            to = self.grown(shapes, s)
            yield f"{s} as {to}", lambda x, s=s, to=to: to if x == s else x
            to = int(to**0.5)
            yield f"{s} as {to} only", lambda x, s=s, to=to: to if x == s else x
        if any(sum(s > 1 for s in shape) > 1 for shape in shapes):
            by = ELEMENTS
            for shape in shapes:
                n = 1
                for size in shape:
                    n *= max(size, 1)
                wide = sum(s > 1 for s in shape)
                if wide:
                    by = min(by, int((ELEMENTS / n) ** (1 / wide)))
            yield f"all times {by}", lambda x: x * by if x > 1 else x
        if not sizes:
            for what, shape in ("[n]", [ELEMENTS]), ("[1, n]", [1, ELEMENTS]):
                yield what, shape

    def answer(self, op, args, kwargs):
        """(seconds that a kernel ran after the deadline, the error's name or None, what ran)"""
        self.calls += 1
        start = time.monotonic()
        error, ran, self.unanswered = None, "", True
        try:
            self.client.call("op.call", op=op, args=args, kwargs=kwargs, deadline_ms=DEADLINE_MS)
        except dispatchd.Error as e:
            error = e.type
        at_answer = time.monotonic()
        self.unanswered = False
        while True:
            status = self.watch.call("server.status")
            if not status["running"] and not status["stuck"]:
                break
            ran = " < ".join(r["op"] for r in status["running"]) or str(status["stuck"])
            if time.monotonic() - start > GIVE_UP_SECONDS:
                self.daemon.process.kill()  # its tensors cannot be released before the call ends
                self.daemon.process.wait()
                raise TimeoutError(ran)
            time.sleep(0.005)
        self.reached += error == "DeadlineExceeded"
        return max(time.monotonic() if ran else at_answer, at_answer) - start - DEADLINE_MS / 1000, error, ran

    def one(self, op, call, schema, change, ints):
        declared = arguments_of(schema)
        by_name = {name: i for i, (_, name, _, _) in enumerate(declared)}
        literal_paths = list(literals(call))
        kept = {path: at(call, path) for path in literal_paths}
        args, kwargs = call
        made = []

        def build(v, path, type_):
            if path in kept:
                literal = kept[path]
                shape = change if isinstance(change, list) else [change(s) for s in literal["shape"]]
                if shape == literal["shape"]:
                    return {k: x for k, x in literal.items() if k != "one"}
                x = self.large(literal, shape, "!" in type_)
                made.append(x)
                return {"tensor": x}
            if isinstance(v, list):
                return [build(x, path + (i,), type_) for i, x in enumerate(v)]
            if callable(change) and type(v) is int and (ints == "all" or ints == "lists" and "[" in type_) and "int" in type_.lower():
                return change(v)
            return v

        try:
            new_args = [build(v, (0, i), declared[i][0]) for i, v in enumerate(args)]
            new_kwargs = {k: build(v, (1, k), declared[by_name[k]][0]) for k, v in kwargs.items()}
            return self.answer(op, new_args, new_kwargs)
        except dispatchd.Error as e:  # of the preparation
            return 0, e.type, ""
        finally:
            if self.daemon.process.poll() is None:
                kept_bases = set(self.bases.values())
                for t in self.client.call("tensor.list")["tensors"]:
                    if t["tensor"] not in kept_bases:
                        self.client.release(t["tensor"])

    def overload(self, op, schema):
        call = list(self.recorded.call(op, schema))
        faults, errors = [], []
        for what, change in self.forms(call):
            text = f"{op} with {what}"
            if what.endswith(" only") and errors[-1:] != ["ResourceExhausted"]:
                continue
            try:
                for ints in ("lists", "", "all"):
                    seconds, error, ran = self.one(op, call, schema, change, ints)
                    for _ in range(TRIES - 1):
                        if seconds <= LATE_SECONDS:
                            break
                        again = self.one(op, call, schema, change, ints)
                        seconds, error, ran = min((seconds, error, ran), again, key=lambda x: x[0])
                    if seconds > LATE_SECONDS and not UNSTOPPED.search(op):
                        faults.append(f"{text} {ints}: {seconds:.2f} s after the deadline, {error}, {ran}")
                    errors.append(error)
                    if error in (None, "DeadlineExceeded", "ResourceExhausted") or not callable(change):
                        break
            except (TimeoutError, AssertionError, OSError) as e:
                if not UNSTOPPED.search(op) or self.unanswered:
                    faults.append(f"{text}: {type(e).__name__} {e}")
                self.abandon()
        return faults


def test_every_overload_ends():
    long = Long()
    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    pattern = re.compile(words[0] if words else "")
    ops = [op for op in long.watch.call("registry.list", namespace="aten")["ops"] if pattern.search(op)]
    if not words and os.environ.get("PART") != "1":
        ops = ["aten::" + op for op in SAMPLE]
    faults = []
    for op in ops:
        for fault in long.overload(op, long.watch.call("registry.describe", op=op)["schema"]):
            print("FAIL", fault, flush=True)
            faults.append(fault)
    print(f"{long.calls} calls of {len(ops)} overloads; {long.reached} reached their deadline")
    long.end()
    equal(faults, [], f"{len(faults)} faults")


if __name__ == "__main__":
    main()
