"""test_train_digits.py -- the examples that train a network on digits, from a shell, from C and from Python, have the losses
that PyTorch recorded."""

import os
import subprocess
import sys

from harness import BUILD, ROOT, equal, less, main, wait_until
from daemon import TestDaemon

DEMO, DATA = os.path.join(ROOT, "clients", "demo"), os.path.join(ROOT, "tests", "data")
sys.path.insert(0, DEMO)
import digits

SHELL_LINES = 25   # at most
BATCHES = 66       # recorded
TOLERANCE = 1e-12  # largest difference to PyTorch's losses


def setup():
    return TestDaemon("--data-path", DATA)


def printed(daemon, *command):
    """The numbers that a command prints."""
    env = {**os.environ, "DISPATCHD_SOCKET": daemon.socket, "PATH": f"{BUILD}:{os.environ['PATH']}",
           "DIGITS": os.path.join(DEMO, "digits.json")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    equal((done.returncode, [line for line in done.stderr.splitlines() if "steps in" not in line]), (0, []), " ".join(command))
    return [float(line) for line in done.stdout.split()]


def nothing_left(daemon):
    with daemon.connect() as d:
        wait_until(lambda: d.call("server.status")["live_tensors"] == 0, "the example has left no tensor")


def check_digits(daemon, batches, *command):
    recorded = digits.numbers(digits.read_safetensors("digits_training.safetensors")["losses"])[:batches]
    equal(len(recorded), batches, "recorded losses")
    losses = printed(daemon, *command, str(batches))
    equal(len(losses), batches, "losses")
    less(digits.difference(losses, recorded), TOLERANCE, f"difference to PyTorch's losses, of {losses[-1]}")
    nothing_left(daemon)


def test_digits_from_a_shell(daemon):
    path = os.path.join(DEMO, "train_digits.sh")
    with open(path) as f:
        less(len(f.readlines()), SHELL_LINES + 1, "lines of the script")
    recorded = digits.numbers(digits.read_safetensors("digits_training.safetensors")["losses"])[:10]
    losses = printed(daemon, "sh", path, "10")
    less(digits.difference(losses, recorded), TOLERANCE, f"difference to PyTorch's losses, of {losses[-1]}")
    nothing_left(daemon)  # the session goes on for some minutes


def test_digits_from_c(daemon):
    for program in "train_digits", "train_digits_calls":
        check_digits(daemon, BATCHES, os.path.join(BUILD, "demo", program), DATA)


def test_digits_from_python(daemon):
    check_digits(daemon, BATCHES, sys.executable, os.path.join(DEMO, "train_digits.py"), DATA)


def test_the_picture_of_a_backward(daemon):
    env = {**os.environ, "DISPATCHD_SOCKET": daemon.socket, "PATH": f"{BUILD}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, os.path.join(DEMO, "draw_digits.py")], env=env, capture_output=True, text=True, timeout=300)
    with open(os.path.join(ROOT, "docs", "digits_backward.svg"), encoding="utf-8") as f:
        equal((done.returncode, done.stderr, done.stdout), (0, "", f.read()), "draw_digits.py and docs/digits_backward.svg")
    nothing_left(daemon)


main(setup, TestDaemon.finish)
