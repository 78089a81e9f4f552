"""train_digits.py -- trains the network of digits.json on hand-written digits from Python.

    train_digits.py DATA [BATCHES]

prints the loss of each batch.  DATA is the directory of the .safetensors files (tests/data).

Each step of training is one request, a run of the program.  The client sends all of them before it reads an answer."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import dispatchd


def load(d, path, prefix=""):
    """Return {name without prefix: argument} of the tensors of a safetensors file.  The daemon reads the file
    through the descriptor that the request passes."""
    fd = dispatchd.Fd(os.open(path, os.O_RDONLY))
    tensors = d.call("store.load", fd=fd, prefix=prefix)["tensors"]
    return {name[len(prefix):]: {"tensor": t["tensor"]} for name, t in tensors.items()}


def op(d, name, *args, **kwargs):
    """Call an operator; return its result as an argument of the next call."""
    return {"tensor": d.op("aten::" + name, *args, **kwargs)["tensor"]}


def train(d, data, batches):
    """Return the losses of the first `batches` batches, each before its step."""
    recorded = os.path.join(data, "digits_training.safetensors")
    weights = load(d, recorded, "init.")
    inputs = {**load(d, os.path.join(data, "digits.safetensors")), **weights}
    inputs["batches"] = load(d, recorded, "batches")[""]
    # bytes from 0 to 16; the network takes numbers from 0 to 1
    inputs["images"] = op(d, "div.Scalar", op(d, "_to_copy", inputs["images"], dtype="float64"), 16)
    for name, weight in weights.items():
        if ".running_" not in name:  # those are buffers of batch_norm, which are not trained
            op(d, "requires_grad_", weight)
            inputs[name + ".momentum"] = op(d, "zeros_like", weight)
    with open(os.path.join(HERE, "digits.json"), encoding="utf-8") as f:
        program = d.call("program.create", **json.load(f))["program"]
    for k in range(batches):
        d.send("program.run", program=program, inputs={**inputs, "k": k}, **{"return": "data"})
    return [d.receive()["outputs"][0]["data"] for _ in range(batches)]


if __name__ == "__main__":
    with dispatchd.connect() as client:  # the session ends with the connection, and so do its tensors
        for loss in train(client, sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 66):
            print(loss)
