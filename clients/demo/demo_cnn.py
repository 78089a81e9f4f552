"""demo_cnn.py -- part 3: the daemon runs a trained network on images of hand-written digits."""

import time

from demo import check, connect, say, title
from digits import difference, network, numbers, read_safetensors, ref, step

TEST_FROM, TEST_TO = 1437, 1797  # range of images that were not used for training
RIGHT = 354                      # correct answers of the trained network, of 360
TOLERANCE = 1e-4                 # largest difference allowed to PyTorch's log-probabilities

STEPS = [
    step("test", "slice.Tensor", ref("images"), 0, TEST_FROM, TEST_TO),
    step("answers", "slice.Tensor", ref("labels"), 0, TEST_FROM, TEST_TO),
    step("floats", "_to_copy", ref("test"), dtype="float32"),
    step("x", "div.Tensor", ref("floats"), 16),
    *network(training=False),
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
        program = d.call("program.create", inputs=[{"name": k, "type": "Tensor"} for k in data],
                         constants=model, steps=STEPS, outputs=["log_probs", "right"])["program"]
        tensors = {k: d.call("tensor.create", **v) for k, v in data.items()}
        inputs = {k: {"tensor": t["tensor"]} for k, t in tensors.items()}
        start = time.perf_counter()
        log_probs, right = d.call("program.run", program=program, inputs=inputs,
                                  **{"return": "attachment"})["outputs"]
        millis = (time.perf_counter() - start) * 1000
        d.call("program.release", program=program)
        d.release(*tensors.values())
    apart = difference(numbers(log_probs), numbers(expected))
    right, = numbers(right)
    print(f"\n   {right} of {TEST_TO - TEST_FROM} right, in {millis:.1f} ms; largest difference to "
          f"PyTorch's log-probabilities {apart:.1e}\n")
    check(log_probs["shape"] == expected["shape"], f"the output has shape {expected['shape']}")
    check(right == RIGHT, f"{RIGHT} of 360 right")
    check(apart <= TOLERANCE, f"difference at most {TOLERANCE}")


main()
