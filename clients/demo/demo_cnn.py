"""demo_cnn.py -- part 3: the daemon runs a trained network on images of hand-written digits."""

import json
import os
import struct
import time

from demo import ROOT, check, connect, say, title

TEST_FROM, TEST_TO = 1437, 1797  # range of images that were not used for training
RIGHT = 354                      # correct answers of the trained network, of 360
TOLERANCE = 1e-4                 # largest difference allowed to PyTorch's log-probabilities
DTYPES = {"F32": "float32", "U8": "uint8", "I64": "int64"}


def read_safetensors(name):
    """Return {tensor name: tensor literal for the daemon}."""
    with open(os.path.join(ROOT, "tests", "data", name), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    return {k: {"dtype": DTYPES[v["dtype"]], "shape": v["shape"],
                "attachment": body[slice(*v["data_offsets"])]}
            for k, v in header.items() if k != "__metadata__"}


def ref(name):
    return {"ref": name}


def step(as_, op, *args, **kwargs):
    return {"op": "aten::" + op, "args": list(args), "kwargs": kwargs, "as": [as_]}


def convolution(as_, x, layer):
    return step(as_, "convolution", ref(x), ref(layer + ".weight"), ref(layer + ".bias"),
                [1, 1], [1, 1], [1, 1], False, [0, 0], 1)


def linear(as_, x, layer):
    return step(as_, "linear", ref(x), ref(layer + ".weight"), ref(layer + ".bias"))


STEPS = [
    step("test", "slice.Tensor", ref("images"), 0, TEST_FROM, TEST_TO),
    step("answers", "slice.Tensor", ref("labels"), 0, TEST_FROM, TEST_TO),
    step("floats", "_to_copy", ref("test"), dtype="float32"),
    step("x", "div.Tensor", ref("floats"), 16),
    convolution("c1", "x", "conv1"),
    step("n1", "batch_norm", ref("c1"), ref("bn1.weight"), ref("bn1.bias"), ref("bn1.running_mean"),
         ref("bn1.running_var"), False, 0.1, 1e-5, False),
    step("r1", "relu", ref("n1")),
    convolution("c2", "r1", "conv2"),
    step("r2", "relu", ref("c2")),
    step("p2", "max_pool2d", ref("r2"), [2, 2]),
    step("flat", "flatten.using_ints", ref("p2"), 1),
    linear("h1", "flat", "fc1"),
    step("r3", "relu", ref("h1")),
    linear("h2", "r3", "fc2"),
    step("log_probs", "log_softmax.int", ref("h2"), 1),
    step("guess", "argmax", ref("log_probs"), 1),
    step("hit", "eq.Tensor", ref("guess"), ref("answers")),
    step("right", "sum", ref("hit")),
]


def main():
    title("3. A trained network on 360 images of digits")
    say(f"Weights and images go to the daemon as bytes behind a JSON line; the network is a program of "
        f"{len(STEPS)} steps, from cutting the test images out to counting the right answers. It is made "
        "once, with the weights as its constants, and then run on the images.")
    data, model = read_safetensors("digits.safetensors"), read_safetensors("digits_cnn.safetensors")
    expected = model.pop("expected_log_probs")
    with connect() as d:
        network = d.call("program.create", inputs=[{"name": k, "type": "Tensor"} for k in data],
                         constants=model, steps=STEPS, outputs=["log_probs", "right"])["program"]
        tensors = {k: d.call("tensor.create", **v) for k, v in data.items()}
        inputs = {k: {"tensor": t["tensor"]} for k, t in tensors.items()}
        start = time.perf_counter()
        log_probs, right = d.call("program.run", program=network, inputs=inputs,
                                  **{"return": "attachment"})["outputs"]
        millis = (time.perf_counter() - start) * 1000
        d.call("program.release", program=network)
        d.release(*tensors.values())
    n = len(expected["attachment"]) // 4
    got, want = (struct.unpack(f"<{n}f", x["attachment"]) for x in (log_probs, expected))
    difference = max(abs(a - b) for a, b in zip(got, want))
    right, = struct.unpack("<q", right["attachment"])
    print(f"\n   {right} of {TEST_TO - TEST_FROM} right, in {millis:.1f} ms; largest difference to "
          f"PyTorch's log-probabilities {difference:.1e}\n")
    check(log_probs["shape"] == expected["shape"], f"the output has shape {expected['shape']}")
    check(right == RIGHT, f"{RIGHT} of 360 right")
    check(difference <= TOLERANCE, f"difference at most {TOLERANCE}")


main()
