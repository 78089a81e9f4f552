"""test_training.py -- a network trained over the socket has the losses that PyTorch recorded, with
single calls and with each step of training as one program; nothing is left in the session."""

import os
import sys

from harness import ROOT, equal, less, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
import digits

STEPS = 12
TOLERANCE = 1e-12


def held(d, holder):
    return d.call("session.get")["account"][holder]["count"]


def train(f, as_program):
    with f.connect() as d:
        f.alone(d)
        training = digits.Training(d, as_program)
        if not as_program:
            loss = training.forward(0)
            less(0, held(d, "history"), "nodes in the graph of a loss")
            d.release(loss)
            equal(held(d, "history"), 0, "nodes after the loss was released")
        training.close()

        training = digits.Training(d, as_program)
        losses = [training.step(k) for k in range(STEPS)]
        less(digits.difference(losses, training.losses[:STEPS]), TOLERANCE, "difference to PyTorch's losses")
        equal(held(d, "history"), 0, "nodes after the last backward")
        training.close()
        account = d.call("session.get")["account"]
        equal({k: v for k, v in account.items() if v != {"count": 0, "bytes": 0}}, {}, "held by the session")
        equal(d.call("server.status")["live_tensors"], 0, "live tensors")


def test_each_layer_is_a_call(f):
    train(f, as_program=False)


def test_a_step_is_a_program(f):
    train(f, as_program=True)


main(TestDaemon, TestDaemon.finish)
