"""test_training_autocast.py -- the network of the demo, trained in float32 with autocast to bfloat16, has the losses of
PyTorch's first steps, and then reads at least as many digits, less 1 %."""

import os
import sys

from harness import ROOT, equal, less, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
import digits
from digits_autocast import ACCURACY_AFTER_TWO_PASSES, ACCURACY_TOLERANCE, MixedTraining, PYTORCH_ACCURACY

# The losses of the first steps of PyTorch 1.13.1.  Its log_softmax rounds twice (digits_autocast.py).
PYTORCH_LOSSES = [2.33251953125, 2.3076171875, 2.27734375]
# The same, where log_softmax computes in float32 and rounds its result to bfloat16.
ROUNDED_ONCE = [2.332763671875, 2.3076171875, 2.279541015625, 2.221923828125]


def test_float32_with_autocast_learns_as_pytorch_does(f):
    with f.connect() as d:
        training = MixedTraining(d)
        losses = training.train()
        once = training.accuracy()
        less(digits.difference(losses[:3], PYTORCH_LOSSES), 0.01, "difference to PyTorch's first losses")
        # Other vector instructions add in another order, and a sum may then round to the next bfloat16.
        less(digits.difference(losses[:4], ROUNDED_ONCE), 0.001, "difference where log_softmax rounds once")
        less(PYTORCH_ACCURACY - ACCURACY_TOLERANCE, once + 1e-9, "per cent after one pass")
        training.train()
        less(ACCURACY_AFTER_TWO_PASSES, training.accuracy() + 1e-9, "per cent after two passes")
        less(losses[-1], losses[0] / 2, "the last loss")
        equal(training.dtypes(), {"float32"})
        training.close()


main(TestDaemon, TestDaemon.finish)
