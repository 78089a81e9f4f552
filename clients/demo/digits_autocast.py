"""digits_autocast.py -- the training of digits.py in float32 with autocast to bfloat16, and how well it reads digits.

It does what this does in PyTorch, with `model` the network of digits.py in float32 and batches from digits.safetensors:

    with torch.autocast("cpu", torch.bfloat16):
        loss = nll_loss(model(images[batch] / 16), labels[batch])
    optimizer.zero_grad(); loss.backward(); optimizer.step()

A difference is in log_softmax of bfloat16: PyTorch 1.13 rounds the logarithm of the sum to bfloat16 before it subtracts
it, and the daemon computes in float32 and rounds its result.  All else of the first step is PyTorch's to the last bits;
later steps amplify the difference."""

import json

from digits import BUFFERS, PARAMETERS, PROGRAM, handle, network, read_safetensors

AUTOCAST = {"enabled": True, "dtype": "bfloat16"}
BATCHES = 66
TEST_FROM = 1437  # images from here on are not used for training
# Per cent of the test images that PyTorch 1.13.1 reads right after one pass over the batches.
PYTORCH_ACCURACY = 95.0
ACCURACY_TOLERANCE = 1.0
ACCURACY_AFTER_TWO_PASSES = 97.0


class MixedTraining:
    """Parameters in float32 on connection `d`, and one program for a step of training."""

    def __init__(self, d):
        images, recorded = read_safetensors("digits.safetensors"), read_safetensors("digits_training.safetensors")
        names = PARAMETERS + BUFFERS
        literals = {**images, "batches": recorded["batches"], **{k: recorded["init." + k] for k in names}}
        self.d = d
        self.tensors = {k: handle(d.call("tensor.create", **v)) for k, v in literals.items()}
        for k in names + ["images"]:
            self.replace(k, d.op("aten::_to_copy", self.tensors[k], dtype="float32"))
        self.replace("images", d.op("aten::div.Scalar", self.tensors["images"], 16))
        for k in PARAMETERS:
            self.tensors[k + ".momentum"] = handle(d.op("aten::zeros_like", self.tensors[k]))
            d.op("aten::requires_grad_", self.tensors[k])
        program = json.loads(json.dumps(PROGRAM))
        for step in program["steps"][:-2]:  # what is in the block of torch.autocast; backward is outside of it
            step["autocast"] = AUTOCAST
        self.program = d.call("program.create", **program)["program"]
        self.reader = d.call("program.create", inputs=[{"name": k, "type": "Tensor"} for k in PARAMETERS + BUFFERS + ["x"]],
                             steps=network(False), outputs=["log_probs"])["program"]

    def replace(self, name, tensor):
        self.d.release(self.tensors[name])
        self.tensors[name] = handle(tensor)

    def train(self):
        """Train with all batches once; return the losses, each before its step."""
        return [self.d.call("program.run", program=self.program, inputs={**self.tensors, "k": k},
                            **{"return": "data"})["outputs"][0]["data"] for k in range(BATCHES)]

    def accuracy(self):
        """Return the per cent of the test images that are read right."""
        d = self.d
        images, labels = (handle(d.op("aten::slice.Tensor", self.tensors[k], 0, TEST_FROM)) for k in ("images", "labels"))
        inputs = {k: self.tensors[k] for k in PARAMETERS + BUFFERS}
        out, = d.call("program.run", program=self.reader, inputs={**inputs, "x": images}, autocast=AUTOCAST,
                      grad_enabled=False)["outputs"]
        guess = handle(d.op("aten::argmax", handle(out), 1))
        right = handle(d.op("aten::eq.Tensor", guess, labels))
        data = d.call("tensor.read", **right)["data"]
        d.release(images, labels, handle(out), guess, right)
        return 100 * sum(data) / len(data)

    def dtypes(self):
        """Return the set of the parameters' dtypes."""
        return {self.d.call("tensor.describe", **self.tensors[k])["dtype"] for k in PARAMETERS}

    def close(self):
        for program in self.program, self.reader:
            self.d.call("program.release", program=program)
        self.d.release(*self.tensors.values())
