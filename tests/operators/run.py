"""run.py [PATTERN] -- every operator beside PyTorch 1.13.1's, through the daemon's socket.

Each call is made here and there with the same arguments, of every dtype that matters and of awkward
shapes: 0-dim, empty, transposed, sliced, broadcast, with NaN, infinities and the extremes of integers.
dtype, shape, strides and values must agree, what a call writes to must agree, and where PyTorch raises,
the daemon must answer an error of the same type.  A test is one operator.  PATTERN narrows them to those whose name
or whose file of cases (cases/index.py) it matches.  With PART=N in the environment every N-th case of an operator that
has many is tried, with JOBS=N by N processes.  tests/data/ops.txt lists those that are known to differ in some case: any
other is a fault.  With --known it prints that list anew.
Without PyTorch nothing is compared, and it says so."""

import multiprocessing
import os
import queue
import re
import sys
import traceback

from compare import Both, one, show, torch, yaml  # ends the process where PyTorch is missing
from cases import CASES, EDGES, cases_of, family_of
from cases.inputs import operator
from harness import ROOT
from daemon import TestDaemon

JOBS = int(os.environ.get("JOBS", 2))
LISTED = os.path.join(ROOT, "tests", "data", "ops.txt")
OTHERS = {"convolution_overrideable", "convolution_backward_overrideable", "_fused_adam_", "_amp_update_scale_",
          "_amp_foreach_non_finite_check_and_unscale_"}  # kernels that PyTorch's CPU has not
# torch.ops answers with a dtype's number, a client gets its name: tests/integration/operators/test_facts.py has them
OTHERS |= {"promote_types", *(f"result_type.{form}" for form in ("Tensor", "Scalar", "Scalar_Tensor", "Scalar_Scalar"))}

# What is known to differ: operator -> what the fault says, and the reason.  Any other fault of it still fails.
_HALF_MEAN = "PyTorch is wrong: its sum of float16 overflows before the mean divides it; since 2.0 it sums in float32"
KNOWN = {
    **dict.fromkeys("l1_loss mse_loss smooth_l1_loss huber_loss".split(), ("Absolute difference: inf", _HALF_MEAN)),
    "complex": ("Half and Half", "known to differ: no tensors of complex numbers of 16 bits"),
    "set_data": ("a tensor keeps its dtype|lazy conjugate", "known to differ: a tensor keeps its dtype"),
}


def known(name, why):
    return name in KNOWN and re.search(KNOWN[name][0], why) is not None


def check(client, name, limit=3):
    """Compare every case of one operator; return its faults that are not KNOWN, at most `limit`, and the number of calls."""
    function, faults, calls = operator(name), [], 0
    both = Both(client)
    for args, kwargs in cases_of(name):
        calls += 1
        why = one(both, name, function, args, kwargs)
        both.done()
        if why and not known(name, why):
            faults.append(f"({', '.join([show(a) for a in args] + [f'{k}={show(v)}' for k, v in kwargs.items()])}): {why}")
            if len(faults) == limit:
                break
    return faults, calls


def names():
    """Return the operators of native_functions.yaml in its order, then those overloads with cases that autogen names."""
    with open(os.path.join(ROOT, "proto", "ops", "native_functions.yaml")) as f:
        found = dict.fromkeys(e["func"].split("(")[0] for e in yaml.safe_load(f))
    for name in sorted(EDGES.keys() - found.keys()):
        CASES.setdefault(name, tuple)
        found[name] = None
    return [name for name in found if name not in OTHERS]


def work(waiting, done):
    """Check the operators from the queue `waiting`, with a daemon of this process, until it has None."""
    name = "a daemon"
    try:
        with TestDaemon() as daemon, daemon.connect() as client, torch.no_grad():
            for name in iter(waiting.get, None):
                done.put((name, *check(client, name)))
            name = "the end of a daemon"
    except Exception:
        done.put((name, ["\n" + traceback.format_exc()], 1))
    done.put(None)


def results(chosen):
    """Check the operators in JOBS processes; yield (operator, faults, number of calls) of each in the order of their ends."""
    waiting, done = multiprocessing.Queue(), multiprocessing.Queue()
    jobs = min(JOBS, len(chosen))
    for name in chosen + [None] * jobs:
        waiting.put(name)
    workers = [multiprocessing.Process(target=work, args=(waiting, done)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    while jobs:
        try:
            result = done.get(timeout=10)
        except queue.Empty:
            dead = [w.exitcode for w in workers if w.exitcode]
            if dead:  # PyTorch ended the process
                yield "a process", [f" ended with status {dead[0]}"], 1
                return
            continue
        jobs -= result is None
        if result:
            yield result
    for worker in workers:
        worker.join()


def main():
    rewrite = "--known" in sys.argv
    pattern = re.compile(next((a for a in sys.argv[1:] if a != "--known"), ""))
    with open(LISTED) as f:
        listed = set() if rewrite else {line.strip() for line in f}
    chosen = [n for n in names() if n not in listed and (pattern.search(n) or pattern.search(f"cases/{family_of(n)}.py"))]
    passed = failed = total = left = 0
    for name, faults, calls in results(chosen):
        total += calls
        left += calls == 0
        passed, failed = (passed, failed + 1) if faults else (passed + (calls > 0), failed)
        for fault in faults[:1] if rewrite else faults:
            print(name if rewrite else f"FAIL {name}{fault}", flush=True)
    print(f"{total} calls compared; {left} operators have no case of their own, {len(listed)} are "
          f"known to differ, {len(KNOWN)} in faults that KNOWN says")
    print(f"{passed} passed, {failed} failed")
    return failed != 0 and not rewrite


if __name__ == "__main__":
    sys.exit(main())
