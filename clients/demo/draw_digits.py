"""draw_digits.py -- prints a picture of what a backward through the network of digits.json goes through, as SVG.

It runs the forward pass of one batch and asks `dispatchctl grad graph` for the picture: docs/digits_backward.svg."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import digits
import dispatchd

if __name__ == "__main__":
    form = sys.argv[1] if len(sys.argv) > 1 else "--svg"  # or --html, --dot
    with dispatchd.connect() as d:
        key = d.call("server.hello")["session_key"]
        training = digits.Training(d, as_program=False)
        loss, = d.call("program.run", steps=digits.FORWARD, inputs={**training.tensors, "k": 0}, outputs=["loss"])["outputs"]
        sys.exit(subprocess.call(["dispatchctl", "--session", key, "grad", "graph", str(loss["tensor"]), form]))
