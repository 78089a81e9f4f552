"""share.py -- two processes share the memory of a tensor by its name."""

import os
import subprocess
import sys
import tempfile
import time

import dispatchd as dd
from dispatchd import private

OTHER = """
import sys
import dispatchd as dd
with dd.connect(sys.argv[1]):
    x = dd.open_tensor("shared")
    x[0] = 42
    print("the other process wrote", x[0].item())
"""


def first_connection(path):
    """Connect to a daemon that has just been started."""
    while True:
        try:
            return dd.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)  # it does not listen yet


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dispatchd.sock")
        daemon = subprocess.Popen([private.program(), "--socket", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with first_connection(path):
                x = dd.zeros(4)
                dd.name_tensor(x, "shared")
                array = x.numpy()
                subprocess.run([sys.executable, "-c", OTHER, path], check=True)
                print("this process sees", x.tolist(), "and in its array", array[0])
                dd.unlink_tensor("shared")
                print("ok" if array[0] == 42 else "not shared")
        finally:
            daemon.terminate()
            daemon.wait()


main()
