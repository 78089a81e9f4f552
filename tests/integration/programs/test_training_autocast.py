"""test_training_autocast.py -- the network of the demo, trained in float32 with autocast to bfloat16, has the losses of
PyTorch's first steps within 0.01, and then reads at least as many digits, less 1 %: PyTorch 95.0 % after one pass.  Ours
read 96.9 % when this was written; what makes the difference is not known."""

import json
import os
import sys

from harness import ROOT, equal, less, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "clients", "demo"))
import digits

BATCHES, TRAINED = 66, 1437  # rows from TRAINED on are the test split
PYTORCH = 95.0  # % after one pass of the same training in PyTorch 1.13.1
PYTORCH_LOSSES = [2.33251953125, 2.3076171875, 2.27734375]  # of its first steps
AUTOCAST = {"enabled": True, "dtype": "bfloat16"}


class Training:
    def __init__(self, d):
        images, recorded = digits.read_safetensors("digits.safetensors"), digits.read_safetensors("digits_training.safetensors")
        self.d = d
        names = digits.PARAMETERS + digits.BUFFERS
        literals = {**images, "batches": recorded["batches"], **{k: recorded["init." + k] for k in names}}
        self.tensors = {k: digits.handle(d.call("tensor.create", **v)) for k, v in literals.items()}
        for k in names + ["images"]:
            self.tensors[k] = digits.handle(d.op("aten::_to_copy", self.tensors[k], dtype="float32"))
        self.tensors["images"] = digits.handle(d.op("aten::div.Scalar", self.tensors["images"], 16))
        for k in digits.PARAMETERS:
            self.tensors[k + ".momentum"] = digits.handle(d.op("aten::zeros_like", self.tensors[k]))
            d.op("aten::requires_grad_", self.tensors[k])
        program = json.loads(json.dumps(digits.PROGRAM))
        for s in program["steps"][:-2]:  # what is in the block of torch.autocast; backward is outside of it
            s["autocast"] = AUTOCAST
        self.program = d.call("program.create", **program)["program"]

    def train(self):
        """Train with all batches; return the losses."""
        return [self.d.call("program.run", program=self.program, inputs={**self.tensors, "k": k},
                            **{"return": "data"})["outputs"][0]["data"] for k in range(BATCHES)]

    def accuracy(self):
        """Per cent of the test images that are read right."""
        d = self.d
        rest = {k: digits.handle(d.op("aten::slice.Tensor", self.tensors[k], 0, TRAINED)) for k in ("images", "labels")}
        inputs = {k: self.tensors[k] for k in digits.PARAMETERS + digits.BUFFERS}
        out, = d.call("program.run", steps=digits.network(False), outputs=["log_probs"], autocast=AUTOCAST, grad_enabled=False,
                      inputs={**inputs, "x": rest["images"]})["outputs"]
        right = d.op("aten::eq.Tensor", digits.handle(d.op("aten::argmax", digits.handle(out), 1)), rest["labels"])
        data = d.call("tensor.read", tensor=right["tensor"])["data"]
        return 100 * sum(data) / len(data)


def test_float32_with_autocast_learns_as_pytorch_does(f):
    with f.connect() as d:
        training = Training(d)
        losses = training.train()
        once = training.accuracy()
        less(PYTORCH - 1, once, "per cent after one pass")
        less(digits.difference(losses[:3], PYTORCH_LOSSES), 0.01, "difference to PyTorch's first losses")
        training.train()
        less(97, training.accuracy() + 1e-9, "per cent after two passes")
        less(losses[-1], losses[0] / 2, "the last loss")
        kinds = {d.call("tensor.describe", tensor=training.tensors[k]["tensor"])["dtype"] for k in digits.PARAMETERS}
        equal(kinds, {"float32"})
        d.call("program.release", program=training.program)
        d.call("tensor.release", all=True)


main(TestDaemon, TestDaemon.finish)
