"""bench.py -- timings of $BUILD: a table, and the same in $BUILD/bench.json.

Every figure is a median; where PyTorch is installed it does the same work in the same run, and the
ratio is ours over PyTorch's (below 1: we are faster).  A goal that is missed is marked, and is no
failure: a shared machine decides too."""

import json
import os
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from harness import BUILD, ROOT
from daemon import TestDaemon
import fairness

try:
    import torch
except ImportError:
    torch = None

REPEAT, WARM = 30, 4
SETTLE = 0.05  # seconds
ROUNDS = 5  # in which we and PyTorch take turns
rows = []


def row(name, ours, unit, peer=None, goal=None):
    """goal: what ours should stay at or below."""
    ratio = ours / peer if peer else None
    rows.append({"name": name, "ours": ours, "unit": unit, "pytorch": peer, "ratio": ratio, "goal": goal,
                 "met": None if goal is None else ours <= goal})
    cells = [f"{ours:10.2f} {unit:<5}", f"{peer:10.2f}" if peer else " " * 10,
             f"{ratio:6.2f}" if ratio else " " * 6,
             "" if goal is None else f"goal {goal:g}: {'met' if ours <= goal else 'MISSED'}"]
    print(f"{name:<46} {'  '.join(cells)}".rstrip(), flush=True)


def program(*command):
    """The JSON object that a program prints."""
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def torch_dispatch():
    """The program that measures PyTorch's dispatcher from C++; None where it cannot be built."""
    if torch is None:
        return None
    home = os.path.dirname(torch.__file__)
    include, lib = os.path.join(home, "include"), os.path.join(home, "lib")
    out = os.path.join(BUILD, "tests", "bench", "torch_dispatch")
    source = os.path.join(ROOT, "tests", "bench", "torch_dispatch.cc")
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(source):
        done = subprocess.run(["g++", "-std=gnu++14", "-O2", "-o", out, source,
                               f"-I{include}", f"-I{include}/torch/csrc/api/include", f"-L{lib}",
                               f"-Wl,-rpath,{lib}", "-ltorch_cpu", "-lc10"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            print("(PyTorch's dispatcher is not measured: that needs libtorch-dev)")
            return None
    return out


def bench_dispatch():
    programs = [p for p in (os.path.join(BUILD, "tests", "bench", "dispatch"), torch_dispatch()) if p]
    runs = [[program(p) for p in programs] for _ in range(ROUNDS)]  # in turns: both meet the same noise
    medians = [{k: statistics.median(r[k] for r in each) for k in each[0]} for each in zip(*runs)]
    ours, peer = medians[0], medians[1] if len(medians) > 1 else {}
    row("dispatch: bare call through a pointer", ours["bare_ns"], "ns")
    for what, goal in ("unboxed", 10), ("boxed", 30), ("lookup", 30):
        row(f"dispatch: {what}", ours[what + "_ns"], "ns", peer.get(what + "_ns"), goal)
    for what, name in ("turns", "two key sets in turns"), ("label", "context with a label"), ("thread", "second thread"):
        row(f"dispatch: unboxed, {name}", ours[what + "_ns"], "ns", peer.get("unboxed_ns"))


def bench_socket(daemon):
    ours = program(os.path.join(BUILD, "tests", "bench", "socket"), daemon.socket)
    row("socket: op.call add, 4 elements, p50", ours["p50_us"], "us")
    row("socket: op.call add, 4 elements, p99", ours["p99_us"], "us")
    row("socket: the same, 64 outstanding", ours["pipelined_per_s"], "/s")


def bench_plugins(daemon):
    with daemon.connect() as d:
        path = [p["path"] for p in d.call("plugin.list")["plugins"] if p["plugin"] == "template"][0]
        loads, reloads, unloads = [], [], []
        for _ in range(REPEAT):
            reloads.append(timed(lambda: d.call("plugin.reload", plugin="template")))
        for _ in range(REPEAT):
            unloads.append(timed(lambda: d.call("plugin.unload", plugin="template")))
            loads.append(timed(lambda: d.call("plugin.load", path=path)))
    row("plugin: load template, as the client sees it", median_ms(loads), "ms", goal=5)
    row("plugin: reload template", median_ms(reloads), "ms", goal=5)
    row("plugin: unload template", median_ms(unloads), "ms")


def bench_fairness(daemon):
    alone, beside, _ = fairness.measure(daemon, 128, 2048, 300)
    a, b = (fairness.percentile(v, 99) * 1e6 for v in (alone, beside))
    row("fairness: mm 128x128, p99 alone", a, "us")
    row("fairness: mm 128x128, p99 beside 2048x2048", b, "us", goal=10 * a)


def timed(fn):
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def median_ms(seconds):
    return statistics.median(seconds) * 1e3


def literal(shape):
    n = 1
    for s in shape:
        n *= s
    return {"dtype": "float32", "shape": shape,
            "attachment": struct.pack(f"<{n}f", *((i * 7919 % 1000) / 1000 for i in range(n)))}


# name, operator, shapes of the tensors that come first, the other arguments, the same in PyTorch
KERNELS = [
    ("add, 1 M", "aten::add.Tensor", [[1 << 20], [1 << 20]], [], lambda a, b: a + b),
    ("add, 16 M", "aten::add.Tensor", [[1 << 24], [1 << 24]], [], lambda a, b: a + b),
    ("relu, 1 M", "aten::relu", [[1 << 20]], [], lambda a: torch.relu(a)),
    ("sum, 1 M", "aten::sum", [[1 << 20]], [], lambda a: a.sum()),
    ("mm 512x512", "aten::mm", [[512, 512], [512, 512]], [], lambda a, b: a.mm(b)),
    ("mm 2048x2048", "aten::mm", [[2048, 2048], [2048, 2048]], [], lambda a, b: a.mm(b)),
    ("convolution 360x16x8x8, 32 of 3x3", "aten::convolution", [[360, 16, 8, 8], [32, 16, 3, 3], [32]],
     [[1, 1], [1, 1], [1, 1], False, [0, 0], 1],
     lambda x, w, b: torch.conv2d(x, w, b, padding=1)),
    ("log_softmax 360x1000", "aten::log_softmax.int", [[360, 1000]], [1],
     lambda a: torch.log_softmax(a, 1)),
    ("channels_last of 8x64x56x56", "aten::clone", [[8, 64, 56, 56]], ["memory_format"],
     lambda a: a.clone(memory_format=torch.channels_last)),
]


def turn(measure):
    """Of one round.  The other's threads may still be looking for work (OpenBLAS's do for some 20 ms), on
    cores that are ours now; and the first calls find threads asleep and caches cold, and do not count."""
    time.sleep(SETTLE)
    return [measure() for _ in range(WARM + REPEAT // ROUNDS)][WARM:]


def torch_args(literals):
    return [torch.frombuffer(bytearray(t["attachment"]), dtype=torch.float32).reshape(t["shape"])
            for t in literals]


def bench_kernels(daemon):
    """Kernel time as op.call reports it, against the whole call in PyTorch."""
    with daemon.connect() as d:
        for name, op, shapes, rest, peer in KERNELS:
            literals = [literal(s) for s in shapes]
            tensors = [d.call("tensor.create", **t) for t in literals]
            kwargs = {"memory_format": "channels_last"} if rest == ["memory_format"] else {}
            args = [{"tensor": t["tensor"]} for t in tensors] + ([] if kwargs else rest)
            theirs = torch_args(literals) if torch else None

            def call():
                answer = d.call("op.call", op=op, args=args, kwargs=kwargs, timing=True)
                d.release(*answer["outputs"])
                return answer["timing"]["kernel"] / 1e3

            ours, peers = [], []
            for _ in range(ROUNDS):
                ours += turn(call)
                if torch:
                    peers += turn(lambda: timed(lambda: peer(*theirs)) * 1e6)
            d.release(*tensors)
            row(f"kernel: {name}", statistics.median(ours), "us",
                statistics.median(peers) if peers else None)


def main():
    print(f"{'':<46} {'ours':>10} {'':<5}  {'PyTorch':>10}  {'ratio':>6}")
    bench_dispatch()
    daemon = TestDaemon()
    for part in bench_socket, bench_plugins, bench_fairness, bench_kernels:
        part(daemon)
    daemon.stop()
    with open(os.path.join(BUILD, "bench.json"), "w") as f:
        json.dump({"pytorch": torch.__version__ if torch else None, "cores": os.cpu_count(),
                   "rows": rows}, f, indent=1)


main()
