"""aten_bench.py [--only PATTERN] [--quick] -- the cases of aten.tsv, ours and PyTorch's, in $BUILD/bench_aten.json.

Both run in processes of their own that call their operators boxed (aten.c, aten_torch.cc): no socket, no
JSON, no Python.  They take turns case by case, with one thread and with two, and of all rounds the least
counts, since another process on the machine only ever adds.  PyTorch's second thread waits at barriers,
for milliseconds where the machine is busy: its rounds with two threads that are slower than its best
with one do not count, and where none is left it has the figure of one thread.  Ours all count.

A ratio is ours over PyTorch's; each class's is their geometric mean, and every class weighs the same.
What we do not have is said and is in no mean."""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from harness import BUILD, ROOT

HERE = os.path.join(ROOT, "tests", "bench")
CLASSES = "1", "1k", "64k", "1M", "16M"
THREADS = 1, 2
ROUNDS, QUICK_ROUNDS = 8, 2
SETTLE = 0.02  # seconds for which OpenBLAS's threads look for more work
SLOWER = 1.1  # a round with two threads that takes so much longer than one is the machine's
CLOSE = 1e-3  # how far the sums of two equal results may be apart
DRAWS = re.compile(r"rand|bernoulli|dropout")  # operators whose results are others each time
WORST, LARGE = 1.3, 32 << 20
GOALS = {"tensor": 45, "view": 45, "add.out": 75, "add": 120}  # ns


class Worker:
    def __init__(self, threads, *command):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self):
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} ended with {self.process.wait()}")
        return answer.rstrip("\n")

    def ask(self, line):
        self.tell(line)
        return self.hear()


def torch_program():
    """aten_torch, built; None where libtorch's headers are missing."""
    try:
        import torch
    except ImportError:
        return None
    home = os.path.dirname(torch.__file__)
    include, lib = os.path.join(home, "include"), os.path.join(home, "lib")
    out = os.path.join(BUILD, "tests", "bench", "aten_torch")
    sources = [os.path.join(HERE, f) for f in ("aten_torch.cc", "aten_case.h")]
    if os.path.exists(out) and os.path.getmtime(out) > max(map(os.path.getmtime, sources)):
        return out
    done = subprocess.run(["g++", "-std=gnu++14", "-O2", "-o", out, sources[0],
                           "-I" + os.path.join(ROOT, "libdispatch", "include"), f"-I{include}", f"-L{lib}",
                           f"-Wl,-rpath,{lib}", "-ltorch_cpu", "-lc10"], capture_output=True, text=True)
    if done.returncode != 0:
        print("(PyTorch is not measured: that needs libtorch-dev)", done.stderr[:500])
        return None
    return out


def cases(pattern):
    with open(os.path.join(HERE, "aten.tsv")) as f:
        lines = [l.rstrip("\n").split("\t") for l in f if not l.startswith("#")]
    rows = [dict(zip(("name", "operator", "arguments", "class", "form"), l)) for l in lines]
    return [r for r in rows if re.search(pattern, f"{r['name']} {r['operator']} {r['class']} {r['form']}")]


def differ(ours, theirs):
    """Of two answers "ok BYTES SUM"."""
    (a_bytes, a), (b_bytes, b) = (map(float, x.split()[1:]) for x in (ours, theirs))
    return a_bytes != b_bytes or abs(a - b) > CLOSE * max(abs(a), abs(b))


def measure(row, sides, rounds):
    """Adds the figures of one case, in microseconds, to row."""
    line = f"case aten::{row['operator']} {row['arguments']}"
    workers = [w for side in sides.values() for w in side.values()]
    for w in workers:
        w.tell(line)
    answers = [w.hear() for w in workers]
    state = {who: answers[i * len(THREADS)] for i, who in enumerate(sides)}
    row["notes"] = [f"{who}: {s}" for who, s in state.items() if not s.startswith("ok")]
    running = {who: sides[who] for who in sides if state[who].startswith("ok")}
    if len(running) == 2 and not DRAWS.search(row["operator"]) and differ(state["ours"], state["torch"]):
        row["notes"].append(f"DIFFERS: {state['ours']}, PyTorch {state['torch']}")
    if "ours" in running:
        row["bytes"] = float(state["ours"].split()[1])
    times = {(who, n): [] for who in running for n in THREADS}
    for r in range(rounds):
        for n in THREADS:
            for who in sorted(running, reverse=r % 2 == 1):
                times[who, n].append(float(running[who][n].ask("run")) / 1e3)
                if n > 1 and who == "torch":
                    time.sleep(SETTLE)
    best = {key: min(t) for key, t in times.items()}
    for n in THREADS[1:]:
        if ("torch", n) in best:
            good = [t for t in times["torch", n] if t <= SLOWER * best["torch", 1]]
            row["dropped"] = rounds - len(good)
            best["torch", n] = min(good, default=best["torch", 1])
    row["us"] = {who: [best[who, n] for n in THREADS] for who in running}
    row["ratio"] = [best["ours", n] / best["torch", n] for n in THREADS] if len(running) == 2 else None


def cells(row):
    for i in range(len(THREADS)):
        for who in "ours", "torch":
            yield f"{row['us'][who][i]:11.2f}" if who in row["us"] else " " * 11
        ratio = row["ratio"] and row["ratio"][i]
        yield (f"{ratio:6.2f}" + ("!" if ratio > WORST else " ")) if ratio else " " * 7


def geometric(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def summary(rows):
    """Means for each number of threads."""
    for i, n in enumerate(THREADS):
        with_ratio = [(r, r["ratio"][i]) for r in rows if r["ratio"]]
        classes = {c: geometric(x for r, x in with_ratio if r["class"] == c) for c in CLASSES}
        classes = {c: m for c, m in classes.items() if m}
        yield {"threads": n, "cases": len(with_ratio), "classes": classes,
               "mean": sum(classes.values()) / len(classes) if classes else None,
               "over": sorted(((x, f"{r['name']} {r['class']}") for r, x in with_ratio if x > WORST), reverse=True),
               "large": geometric(x for r, x in with_ratio if r["form"] == "fresh" and r["bytes"] >= LARGE)}


def print_summary(rows, means):
    lacking = [r for r in rows if "ours" not in r["us"]]
    print(f"\n{len(rows)} cases, {len(lacking)} of which we do not have: "
          f"{', '.join(r['name'] + ' ' + r['class'] for r in lacking) or '-'}")
    show = lambda x: "-" if x is None else f"{x:.2f}"
    for m in means:
        print(f"\n{m['threads']} thread{'s' * (m['threads'] > 1)}: "
              f"{', '.join(f'{c} {x:.2f}' for c, x in m['classes'].items())} (goal 1.0 each); "
              f"mean {show(m['mean'])} (goal 0.75); fresh outputs of 32 MiB and more {show(m['large'])} (goal 0.4)")
        print(f"  over {WORST}: {len(m['over'])} of {m['cases']}: {', '.join(f'{n} {x:.2f}' for x, n in m['over'])}")


def small(sides):
    """One-element calls with C types: {name: {who: ns}}."""
    found = {}
    print("\nin process, one element, C types            ours      PyTorch")
    for who, workers in sides.items():
        words = workers[1].ask("small").split()
        if words[0] == "fails":
            print(f"  {who}: {' '.join(words)}")
            continue
        for name, figure in zip(words[::2], words[1::2]):
            found.setdefault(name, {})[who] = float(figure)
    for name, goal in GOALS.items():
        if name in found:
            ns = found[name]
            print(f"  {name:<36} {ns.get('ours', 0):9.1f} ns {ns.get('torch', 0):9.1f} ns   goal {goal}")
    growth = found.get("growth_kib", {}).get("ours")
    print(f"  memory that a million calls of add took, without a reset: {growth} KiB")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="cases whose name, operator, class or form this pattern is in")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}")
    options = parser.parse_args()
    plugins = [os.path.join(BUILD, "plugins", p + ".so") for p in ("aten", "composite", "cpu")]
    programs = {"ours": [os.path.join(BUILD, "tests", "bench", "aten")], "torch": [torch_program()]}
    sides = {who: {n: Worker(n, *p, str(n), *(plugins if who == "ours" else [])) for n in THREADS}
             for who, p in programs.items() if p[0]}
    rows = cases(options.only)
    print(f"{'':<38}{'1 thread: us':>11}{'PyTorch':>12} {'ratio':>6} {'2 threads: us':>13}{'PyTorch':>11} {'ratio':>6}")
    for row in rows:
        measure(row, sides, QUICK_ROUNDS if options.quick else ROUNDS)
        given = " (given)" if row["form"] == "given" else ""
        print(f"{row['name'] + given:<32} {row['class']:>4} {' '.join(cells(row))} {'; '.join(row['notes'])[:120]}",
              flush=True)
    means = list(summary(rows))
    print_summary(rows, means)
    result = {"rows": rows, "means": means, "small": {} if options.only else small(sides)}
    with open(os.path.join(BUILD, "bench_aten.json"), "w") as f:
        json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
