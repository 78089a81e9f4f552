"""check_grad.py [PATTERN] -- the gradients that the daemon computes, for PyTorch's own samples (OpInfo) and for the
cases of single operators (cases/).

A program is run in PyTorch and repeated by the daemon (replay.py), in float64 and complex128.  Of each OpInfo and dtype,
and of each formula in proto/ops/derivatives.yaml, there are five tests:

  grad           grad.backward agrees with PyTorch's gradients
  gradcheck      and with finite differences of what the daemon computes
  gradgrad       gradients of gradients (create_graph) agree with PyTorch's
  gradgradcheck  and with finite differences of the daemon's gradients
  joint          program.grad's programs give the bits of grad.backward, with each partition

With PART=N in the environment every N-th OpInfo and formula is tried, another part each day.  tests/data/gradients.txt
lists those that are known to fail, and why: any other that fails is a fault.  With --known it prints those names anew,
with --unreached the formulas that no program reached, with --left the OpInfos and formulas that have no program."""

import os
import re
import sys

import cases
import grad_cases
from compare import RANDOM, torch, yaml  # ends the process where PyTorch is missing
from cases import PART, TODAY, cases_of
from cases.inputs import BY_NAME, operator
from daemon import TestDaemon
from gradients import DRAW, made, tests_of
from harness import ROOT
from replay import Replay
from test_samples import infos
from torch.utils._pytree import tree_flatten, tree_map

KNOWN = os.path.join(ROOT, "tests", "data", "gradients.txt")
FORMULAS = os.path.join(ROOT, "proto", "ops", "derivatives.yaml")
cases.PART = 1  # the same cases of an operator, however few operators are tried
SEED = int(os.environ.get("SEED", 0))
WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128, torch.float16: torch.float64, torch.bfloat16: torch.float64}
CRASHING = ("_pdist_forward",)  # PyTorch, where it is differentiated twice
CASES, TRIED, MOST = 3, 60, 2000  # of a formula: cases, those tried to find them, elements of one
BY = (slice(None), slice(0, 1), slice(1, None), slice(-1, None))  # the tensors that have a gradient: those that PyTorch takes


def options():
    return {a for a in sys.argv[1:] if a.startswith("--")}, re.compile(next((a for a in sys.argv[1:] if not a.startswith("--")), ""))


# -- programs --

def of_info(info, dtype):
    """The programs of one OpInfo's samples, with their numbers."""
    try:
        samples = list(info.sample_inputs("cpu", BY_NAME[dtype], requires_grad=True))
    except Exception:
        return
    for number, sample in enumerate(samples):
        def function():
            return sample.output_process_fn_grad(info.gradcheck_wrapper(info.op, sample.input, *sample.args, **sample.kwargs))
        program = made(function, (sample.input, sample.args, sample.kwargs))
        if program:
            yield f"sample {number}", program


def formulas():
    """The operators of derivatives.yaml whose gradients are implemented."""
    with open(FORMULAS) as f:
        records = yaml.safe_load(f)
    fields = {e["name"].split("(")[0]: [v for k, v in e.items() if k not in ("name", "differentiable")] for e in records if "name" in e}
    return [name for name, values in fields.items() if any(v not in ("zero", "not_implemented", "non_differentiable") for v in values)]


def wide(v):
    return v.to(WIDE.get(v.dtype, v.dtype)) if torch.is_tensor(v) else WIDE.get(v, v) if isinstance(v, torch.dtype) else v


def of_case(name, args, kwargs, which, alone):
    """The program of a single call, differentiated by those of its tensors in the slice `which`, or None.

    alone: also where PyTorch has no derivative."""
    found = [t for t in tree_flatten((args, kwargs))[0] if torch.is_tensor(t) and (t.is_floating_point() or t.is_complex())]
    if not found or sum(t.numel() for t in found) > MOST:
        return None
    leaves = {id(t): t.detach().clone().requires_grad_() for t in found[which]}
    args, kwargs = tree_map(lambda v: leaves.get(id(v), v), (args, kwargs))

    def function():
        return operator(name)(*args, **kwargs)

    def record(_):
        outs = tree_flatten(function())[0]
        return [([(name, args, kwargs)], outs)], [t for t in outs if torch.is_tensor(t) and t.requires_grad]
    return made(function, (args, kwargs), record=record, alone=alone)


def of_formula(name):
    """The programs of some cases of an operator."""
    if RANDOM.match(name) or name in CRASHING:
        return
    try:
        listed = [(args, {}) for args in grad_cases.CASES.get(name, ())] or cases_of(name)[:TRIED]
    except Exception:
        return
    found = 0
    for number, (args, kwargs) in enumerate(listed):
        args, kwargs = tree_map(wide, (list(args), kwargs))
        tries = [(which, False) for which in BY] + [(BY[0], True)] * (name in grad_cases.CASES)
        program = next(filter(None, (of_case(name, args, kwargs, *t) for t in tries)), None)
        if program:
            yield f"case {number}", program
            found += 1
            if found == CASES:
                return


# -- tests --

class Results:
    def __init__(self, known, rewrite):
        self.known, self.rewrite = known, rewrite
        self.passed, self.failed, self.left, self.second, self.empty = 0, 0, [], [0, 0], []

    def add(self, replay, name, programs, second):
        """All tests of the programs `name`."""
        torch.manual_seed(SEED)
        DRAW.manual_seed(SEED)
        faults = {}
        for number, program in programs:
            for kind, why in tests_of(replay, program, second):
                faults[kind] = faults.get(kind) or why and f"{number}: {why}"
        for kind, why in faults.items():
            self.one(f"{name} {kind}", why)
        if "gradgrad" in faults:
            self.second = [self.second[0] + (faults["gradgrad"] is None), self.second[1] + 1]
        if not faults:
            self.empty.append(name)

    def one(self, test, why):
        if why is None:
            self.passed += 1
            if test in self.known:
                print(f"{test} passes, but tests/data/gradients.txt lists it", flush=True)
        elif test in self.known:
            self.left.append(test)
        else:
            self.failed += 1
            print(test if self.rewrite else f"FAIL {test}: {why}", flush=True)


def reached(client):
    """Make `client` note, in the set that this returns, the operators of which calls are recorded."""
    call, names = client.call, set()

    def traced(method, **params):
        answer = call(method, **params, **({"trace": True} if method == "op.call" else {}))
        names.update(re.sub(r"_(?=$|\.)", "", s["op"].removeprefix("aten::")) for s in answer.get("trace", ()) if s["plugin"] == "autograd")
        return answer
    client.call = traced
    return names


def main():
    asked, pattern = options()
    rewrite = "--known" in asked
    known = set() if rewrite else {line.partition(": ")[0].strip() for line in open(KNOWN) if not line.startswith("#")}
    results = Results(known, rewrite)
    with TestDaemon() as daemon, daemon.connect() as client:
        names, replay = reached(client) if "--unreached" in asked else set(), Replay(client)
        for number, (name, info) in enumerate(infos()):
            if not info.supports_autograd or not pattern.search(name) or (number + TODAY) % PART:
                continue
            for dtype in ("complex128", "float64"):
                if BY_NAME[dtype] in info.supported_backward_dtypes("cpu"):
                    results.add(replay, f"{name} {dtype}", of_info(info, dtype), info.supports_gradgrad)
        print(f"second gradients of {results.second[0]} of {results.second[1]} OpInfos and dtypes agree with PyTorch's", flush=True)
        of_samples = set(names)
        for number, name in enumerate(formulas()):
            if pattern.search(name) and (number + TODAY) % PART == 0:
                results.add(replay, f"aten::{name}", of_formula(name), True)
    if "--left" in asked:
        print("left out:", *results.empty, sep="\n  ")
    if "--unreached" in asked:
        unreached = [n for n in formulas() if re.sub(r"_(?=$|\.)", "", n) not in names]
        print("no program reaches the formula of:", *unreached, sep="\n  ")
        print(f"{len(names - of_samples)} of the others are reached by cases of single operators only")
    print(f"{len(results.left)} known not to work, {len(results.empty)} without a program; part {TODAY % PART} of {PART}")
    print(f"{results.passed} passed, {results.failed} failed")
    return results.failed != 0 and not rewrite


if __name__ == "__main__":
    sys.exit(main())
