"""digits_autocast.py -- print tests/data/digits_autocast.json: PyTorch trains the demo's network with autocast to bfloat16.

The recipe is that of digits_training.safetensors in float32, the forward pass and the loss in torch.autocast, on
one thread.  `losses` has the loss of each step of two passes; `starts` the per cent of test images read after one
pass and after two, from weights that are scaled by 1 + i / 2**20: what is read depends on the last bits of the start,
so the network is to be compared by the mean.  `pytorch` has these as they are.  PyTorch 1.13's kernel of log_softmax
for the last dimension of bfloat16 rounds the sum of the exponentials, and its logarithm, to bfloat16; `rounded_once` has
what PyTorch does when log_softmax computes in float32 and rounds its results alone.  Run it with PyTorch 1.13."""

import json
import os
import struct

import torch
import torch.nn.functional as F

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
DTYPES = {"F64": torch.float64, "U8": torch.uint8, "I64": torch.int64}
PARAMETERS = [layer + "." + kind for layer in ("conv1", "bn1", "conv2", "fc1", "fc2") for kind in ("weight", "bias")]
BUFFERS = ["bn1.running_mean", "bn1.running_var"]
STARTS, TRAINED = 32, 1437


def load(name):
    with open(os.path.join(DATA, name), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {k: torch.frombuffer(bytearray(body[slice(*v["data_offsets"])]), dtype=DTYPES[v["dtype"]]).reshape(v["shape"])
            for k, v in header.items() if k != "__metadata__"}


class RoundedOnce(torch.autograd.Function):
    """log_softmax of bfloat16, computed in float32."""

    @staticmethod
    def forward(ctx, x):
        out = torch._log_softmax(x.float(), 1, False).bfloat16()
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, grad):
        out, = ctx.saved_tensors
        return torch._log_softmax_backward_data(grad.float(), out.float(), 1, torch.float32).bfloat16()


def network(w, x, training, log_softmax):
    x = F.conv2d(x, w["conv1.weight"], w["conv1.bias"], 1, 1)
    x = F.batch_norm(x, *(w[k] for k in BUFFERS), w["bn1.weight"], w["bn1.bias"], training, 0.1, 1e-5)
    x = F.relu(F.conv2d(F.relu(x), w["conv2.weight"], w["conv2.bias"], 1, 1))
    x = F.relu(F.linear(F.max_pool2d(x, 2).flatten(1), w["fc1.weight"], w["fc1.bias"]))
    return log_softmax(F.linear(x, w["fc2.weight"], w["fc2.bias"]))


def train(images, recorded, start, log_softmax):
    """Return the losses, and the per cent of the test images that are read after each pass."""
    w = {k: (recorded["init." + k] * (1 + start / 2**20)).float() for k in PARAMETERS}
    w.update({k: recorded["init." + k].float() for k in BUFFERS})
    optimizer = torch.optim.SGD([w[k].requires_grad_() for k in PARAMETERS], lr=0.1, momentum=0.9)
    x, labels = images["images"].float() / 16, images["labels"]
    losses, read = [], []
    for _ in range(2):
        for batch in recorded["batches"]:
            with torch.autocast("cpu", torch.bfloat16):
                loss = F.nll_loss(network(w, x[batch], True, log_softmax), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            answers = network(w, x[TRAINED:], False, log_softmax).argmax(1)
        read.append(100 * (answers == labels[TRAINED:]).double().mean().item())
    return losses, read


def main():
    torch.set_num_threads(1)
    images, recorded = load("digits.safetensors"), load("digits_training.safetensors")
    told = {}
    for name, log_softmax in ("pytorch", lambda x: F.log_softmax(x, 1)), ("rounded_once", RoundedOnce.apply):
        runs = [train(images, recorded, i, log_softmax) for i in range(STARTS)]
        told[name] = {"losses": runs[0][0], "starts": [[round(p, 2) for p in read] for _, read in runs]}
    print(json.dumps(told))


main()
