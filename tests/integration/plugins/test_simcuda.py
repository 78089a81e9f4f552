"""test_simcuda.py -- a backend written as one would write CUDA (tests/plugins/simcuda), on threads of the host: kernels on
streams in memory that the host cannot follow, a caching allocator, reloads under load, out of memory, faults that come late."""

import os
import threading

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
from on_device import compare_recorded_calls

PART = int(os.environ.get("PART", 8 if SANITIZED else 2))  # of the recorded calls, every PART-th
NATIVE = ("abs", "neg", "exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "reciprocal", "rsqrt", "floor", "ceil", "add", "sub", "mul",
          "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "mm")
MIB = 1 << 20
GONE = "backend cuda was unloaded"


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"), "--workers", "4")
        self.d = self.connect()
        self.d.call("plugin.load", path="simcuda")

    def done(self):
        self.d.call("tensor.release", all=True)
        wait_until(lambda: self.stats()[0] == 0, "blocks are back")
        equal(self.d.call("plugin.unload", plugin="simcuda")["unmapped"], True)
        equal(self.d.call("server.status")["live_tensors"], 0)
        self.d.close()
        self.finish()

    def stats(self):
        """Bytes in use, bytes that are cached, segments."""
        return self.d.op("simcuda::stats")


def to(d, data, device="cuda:0", dtype="float32"):
    x = data if isinstance(data, dict) else {"data": data, "dtype": dtype}
    return {"tensor": d.op("aten::to.device", x, device, dtype)["tensor"]}


def read(d, t):
    return d.call("tensor.read", tensor=t["tensor"])["data"]


def served_by(d, op, *args):
    answer = d.call("op.call", op=op, args=list(args), trace=True)
    d.call("tensor.release", tensors=[o["tensor"] for o in answer["outputs"]])
    return [(s["plugin"], s["provenance"]) for s in answer["trace"] if s["key"] == "CUDA"][-1]


def test_kernels_run_on_the_device(f):
    x, y = to(f.d, [[1.0, -2.0, 4.0]]), to(f.d, [[2.0], [0.5]])
    for op in NATIVE:
        binary = op in NATIVE[NATIVE.index("add"):-1]
        args = [x, to(f.d, [[1.0]] * 3)] if op == "mm" else [x, y] if binary else [x]
        name = f"aten::{op}" + (".Tensor" if binary and op not in ("maximum", "minimum") else "")
        equal(served_by(f.d, name, *args), ("simcuda", "kernel"), name)
    equal(read(f.d, f.d.op("aten::mul.Tensor", x, y)), [[2, -4, 8], [0.5, -1, 2]])
    equal(read(f.d, f.d.op("aten::mm", x, to(f.d, [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))), [[5, 2]])
    equal(served_by(f.d, "aten::erf", x), ("simcuda", "backend fallback"))
    one = to(f.d, [-2.0])
    equal(read(f.d, f.d.op("aten::abs", one)), [2], "into an output of no elements, which is resized")
    equal(read(f.d, f.d.op("aten::isinf", one)), [False])
    raises(lambda: f.d.op("aten::add.Tensor", x, to(f.d, [[1.0, 2.0]])), "RuntimeError", "must match the size")
    f.d.call("tensor.release", all=True)


def test_every_recorded_call(f):
    compare_recorded_calls(f.d, "cuda", PART, rounded=True)


def test_streams_order_their_work(f):
    f.d.op("simcuda::use_stream", 0, -5)
    raises(lambda: f.d.op("simcuda::use_stream", 0, 1), "ValueError", "no stream of priority 1 on cuda:0: it has -5 to 0")
    x = to(f.d, [1.0] * 1000)
    for i in range(50):  # each result lies where the one before the last lay
        x = {"tensor": f.d.op("aten::add.Tensor", x, x if i < 10 else 0)["tensor"]} if i < 10 else x
        y = f.d.op("aten::add.Tensor", x, x)
        f.d.release({"tensor": y["tensor"]})
    equal(read(f.d, x), [1024.0] * 1000)
    with f.connect() as other:
        other.op("simcuda::use_stream", 0, 0, 1)
        equal(read(other, other.op("aten::neg", to(other, [3.0]))), [-3])
        other.call("tensor.release", all=True)
    f.d.call("tensor.release", all=True)


def test_copies_run_by_themselves(f):
    p, x = {"tensor": f.d.op("simcuda::pinned", {"data": [1.0, 2.0]})["tensor"]}, to(f.d, [0.0, 0.0])
    f.d.op("simcuda::copy_async", x, p)
    far = to(f.d, [0.0, 0.0], "cuda:1")
    f.d.op("simcuda::copy_async", far, x)
    f.d.op("simcuda::synchronize")
    equal((read(f.d, x), read(f.d, far)), ([1, 2], [1, 2]))
    f.d.op("aten::neg_", x)
    f.d.op("aten::copy_", far, x)
    equal(read(f.d, far), [-1, -2], "from device to device")
    f.d.call("tensor.release", all=True)


def empty(f):
    """No block is in use, and no segment is cached."""
    wait_until(lambda: f.stats()[0] == 0, "blocks are back")
    f.d.op("simcuda::trim", 0)
    f.d.op("simcuda::trim", 1)
    equal(f.stats(), [0, 0, 0])


def test_blocks_are_reused_and_trimmed(f):
    empty(f)
    x = to(f.d, [1.0] * 1000)
    equal(f.stats(), [4096, 2 * MIB - 4096, 1])
    f.d.release(x)
    y = to(f.d, [2.0] * 10)
    equal(f.stats(), [512, 2 * MIB - 512, 1], "the same segment")
    f.d.release(y)
    equal(f.stats(), [0, 2 * MIB, 1], "blocks are one again")
    empty(f)


def test_a_full_device_trims_before_it_fails(f):
    empty(f)
    zeros = lambda mib: {"tensor": f.d.op("aten::zeros", [mib, MIB // 4], device="cuda:0")["tensor"]}
    f.d.release(zeros(20), zeros(20), zeros(20))
    less(50 * MIB, f.stats()[1], "bytes that are cached")
    big = zeros(60)  # no segment is large enough, and there is no room for another
    equal(f.stats()[1:], [0, 1])
    e = raises(lambda: zeros(10), "ResourceExhausted", "backend cuda: allocate failed", "out of memory (2)")
    equal("queued" in e.message, False)
    f.d.release(big)
    f.d.op("simcuda::trim")


def test_a_fault_comes_late_and_names_operators(f):
    x = to(f.d, [1.0])
    for ask in (lambda: read(f.d, x), lambda: f.d.op("simcuda::synchronize")):
        f.d.op("aten::neg", x)
        f.d.op("simcuda::fault")
        e = raises(ask, "RuntimeError", "an illegal memory access was encountered (700)")
        contains(e.message, "queued since the last synchronisation: aten::neg.out, simcuda::fault")
        ask()
    equal(read(f.d, x), [1])
    f.d.call("tensor.release", all=True)


def test_a_reload_keeps_memory_and_allocator(f):
    x = to(f.d, [1.0, 2.0])
    before = f.stats()
    for _ in range(3):
        equal(f.d.call("plugin.reload", plugin="simcuda")["old"]["unmapped"], True)
        equal((read(f.d, f.d.op("aten::neg", x)), f.stats()[2]), ([-1, -2], before[2]))
        f.d.call("tensor.release", tensors=[t["tensor"] for t in f.d.call("tensor.list")["tensors"] if t["tensor"] != x["tensor"]])
    equal(f.stats(), before)
    f.d.release(x)


def test_reloads_under_load(f):
    stop, failures, rounds = threading.Event(), [], [0, 0, 0]

    def client(n):
        try:
            with f.connect() as d:
                d.op("simcuda::use_stream", n % 2)
                kept = to(d, [float(n)] * 100, f"cuda:{n % 2}")
                while not stop.is_set():
                    x = to(d, [float(n)] * 100, f"cuda:{n % 2}")
                    y = {"tensor": d.op("aten::add.Tensor", x, kept)["tensor"]}
                    equal(read(d, y), [2.0 * n] * 100)
                    d.release(x, y)
                    rounds[n] += 1
                equal(read(d, kept), [float(n)] * 100)
                d.call("tensor.release", all=True)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(3)]
    for t in threads:
        t.start()
    for _ in range(10):
        f.d.call("plugin.reload", plugin="simcuda")
    stop.set()
    for t in threads:
        t.join()
    equal([str(e) for e in failures], [])
    less(0, min(rounds), "rounds of each client")


def test_an_unload_by_force_takes_memory_back(f):
    x = to(f.d, [1.0])
    raises(lambda: f.d.call("plugin.unload", plugin="simcuda"), "Busy", "1 storage of its backend 'cuda'")
    f.d.call("plugin.unload", plugin="simcuda", force=True)
    raises(lambda: read(f.d, x), "RuntimeError", GONE)
    f.d.call("plugin.load", path="simcuda")
    raises(lambda: read(f.d, x), "RuntimeError", GONE)
    f.d.release(x)
    equal(read(f.d, to(f.d, [1.0])), [1])
    f.d.call("tensor.release", all=True)


if __name__ == "__main__":
    main(Fixture, Fixture.done)
