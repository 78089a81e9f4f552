"""test_training_autocast.py -- the network of the demo, trained in float32 with autocast to bfloat16, reads as many digits
as PyTorch's, within 1 %.

What one training reads says little: weights that begin 1e-6 apart end up to 8 % apart, in PyTorch, too.  So means over
starts are compared (tests/data/digits_autocast.json, by tests/operators/record/digits_autocast.py).  The only step that
differs by more than single bits is log_softmax, which PyTorch 1.13 computes with sums rounded to bfloat16 and dispatchd,
as later PyTorch, in float32: the losses of the first steps are those of PyTorch with such a log_softmax."""

import json
import os
import statistics
import sys

from harness import ROOT, equal, less, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
import digits

with open(os.path.join(ROOT, "tests", "data", "digits_autocast.json"), encoding="utf-8") as recorded:
    PYTORCH = json.load(recorded)
STARTS = PYTORCH["pytorch"]["starts"]  # per cent of the test images after one pass and after two, for each start


def passes(d, start):
    """Train from a start; return the losses, and the per cent of the test images after each of two passes."""
    training = digits.MixedTraining(d, start)
    losses, read = [], []
    for _ in STARTS[0]:
        losses += training.train()
        read.append(training.accuracy())
    equal(training.dtypes(), {"float32"})
    training.close()
    return losses, read


def test_the_losses_are_those_of_pytorch(f):
    with f.connect() as d:
        losses, read = passes(d, 0)
    for name, tolerance, steps in ("rounded_once", 1e-6, 3), ("rounded_once", 0.01, 10), ("pytorch", 0.01, 5):
        less(digits.difference(losses[:steps], PYTORCH[name]["losses"][:steps]), tolerance,
             f"difference to the losses of {name} in {steps} steps")
    less(STARTS[0][0] - 1, read[0], "per cent after one pass")
    less(97, read[1] + 1e-9, "per cent after two passes")
    less(losses[-1], losses[0] / 2, "the last loss")


def test_float32_with_autocast_learns_as_pytorch_does(f):
    with f.connect() as d:
        read = [passes(d, i)[1] for i in range(len(STARTS))]
    for i, what in enumerate(("one pass", "two passes")):
        want, got = (statistics.mean(r[i] for r in runs) for runs in (STARTS, read))
        less(abs(got - want), 1, f"{got:.2f} per cent, PyTorch {want:.2f}, mean after {what}: difference")


main(TestDaemon, TestDaemon.finish)
