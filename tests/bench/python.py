"""python.py -- timings of the Python package, beside the client of the protocol and PyTorch: medians of rounds in turn.

    BUILD=build taskset -c 0 python3 tests/bench/python.py"""

import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
sys.path.insert(0, os.path.join(ROOT, "clients", "python"))
os.environ.setdefault("DISPATCHD", os.path.join(BUILD, "dispatchd"))
import numpy as np  # noqa: E402

try:
    import torch
except ImportError:
    sys.exit("python.py compares with PyTorch: install python3-torch")
import dispatchd as dd  # noqa: E402

torch.set_num_threads(1)
ENV = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "clients", "python")}


def seconds(f, n=1):
    start = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - start) / n


def median(f, rounds=9, n=1):
    return statistics.median(seconds(f, n) for _ in range(rounds))


def row(what, value, unit, beside=""):
    print(f"{what:58} {value:9.2f} {unit:3}  {beside}", flush=True)


def program(code):
    return lambda: subprocess.run([sys.executable, "-I", "-c", code], env=ENV, check=True)


def start():
    path = f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'clients', 'python')!r})\n"
    bare, ours = [], []
    for _ in range(21):
        bare.append(seconds(program("pass")))
        ours.append(seconds(program(path + "import dispatchd")))
    row("import dispatchd, beyond a bare interpreter", 1e3 * (statistics.median(ours) - statistics.median(bare)), "ms",
        f"least {1e3 * (min(ours) - min(bare)):.2f}, goal 15")
    code = path + "import dispatchd as dd\ndd.ones(1).item()"
    row("first answer of a private daemon, with the interpreter", 1e3 * median(program(code)), "ms", "goal 250")


def calls():
    d = dd.current()
    x, t, raw = dd.ones(1), torch.ones(1), {"tensor": d.op("aten::ones", [1])["tensor"]}

    def client():
        d.release(d.op("aten::add.Tensor", raw, 1))
    ours, today = [], []
    for _ in range(9):  # in turn
        today.append(seconds(client, 500))
        ours.append(seconds(lambda: x + 1, 1000))
    one, two = statistics.median(ours), statistics.median(today)
    row("x + 1 of one element, waited for", 1e6 * one, "us", f"client with release {1e6 * two:.2f}, ratio {one / two:.2f}, goal 0.7; "
        f"torch {1e6 * median(lambda: t + 1, 9, 10000):.2f}")
    kept = [raw]
    bare = median(lambda: kept.__setitem__(0, d.op("aten::add.Tensor", raw, 1)), 9, 500)
    row("  the client without a release", 1e6 * bare, "us", f"ratio {one / bare:.2f}")

    def chain():
        with dd.pipelined():
            y = x
            for _ in range(1000):
                y = y + 1
            y.item()
    row("x + 1, pipelined", 1e6 * median(chain) / 1000, "us", "goal 12")


def arrays():
    x = dd.rand(4096, 4096)
    x.numpy()
    row("64 MiB to NumPy through a kept map", 1e3 * median(x.numpy), "ms", "goal 0.3")
    y = x + 1
    row("  of a new result", 1e3 * seconds(y.numpy), "ms")
    a = np.random.rand(4096, 2048)
    kept = []
    row("64 MiB from NumPy", 1e3 * median(lambda: kept.append(dd.tensor(a)) or kept.clear()), "ms",
        f"numpy.copy {1e3 * median(a.copy):.2f}")


def training():
    data = dd.load(os.path.join(ROOT, "tests", "data", "digits.safetensors"))
    images, labels = data["images"].float().flatten(1) / 16, data["labels"]
    X, Y = torch.tensor(images.numpy().copy()), torch.tensor(labels.numpy().copy())
    torch.manual_seed(1)
    initial = [torch.randn(X.shape[1], 64) / 8, torch.zeros(64), torch.randn(64, 10) / 8, torch.zeros(10)]
    ours = [dd.tensor(p).requires_grad_() for p in initial]
    theirs = [p.clone().requires_grad_() for p in initial]

    def step(module, weights, optimizer):
        def run(x, y):
            optimizer.zero_grad()
            loss = module.nn.functional.cross_entropy((x @ weights[0] + weights[1]).relu() @ weights[2] + weights[3], y)
            loss.backward()
            optimizer.step()
            return loss
        return run
    one = step(dd, ours, dd.optim.SGD(ours, lr=0.1, momentum=0.9))
    eager = step(torch, theirs, torch.optim.SGD(theirs, lr=0.1, momentum=0.9))
    fast = dd.program(step(dd, ours, dd.optim.SGD(ours, lr=0.1, momentum=0.9)))
    x, y, bx, by = X[:64], Y[:64], images[:64], labels[:64]

    def pipelined():
        with dd.pipelined():
            for _ in range(20):
                one(bx, by)

    def programs():
        with dd.pipelined():
            for _ in range(20):
                fast(bx, by)
    fast(bx, by)
    results = {"torch": [], "calls": [], "program": []}
    for _ in range(9):
        results["torch"].append(seconds(lambda: eager(x, y), 20))
        results["calls"].append(seconds(pipelined) / 20)
        results["program"].append(seconds(programs) / 20)
    t, c, p = (1e6 * statistics.median(results[k]) for k in ("torch", "calls", "program"))
    row("a training step, PyTorch eager", t, "us")
    row("  by single calls, pipelined", c, "us", f"ratio {c / t:.2f}, goal 2.5")
    row("  as one program", p, "us", f"ratio {p / t:.2f}, goal 0.9")


start()
calls()
arrays()
training()
