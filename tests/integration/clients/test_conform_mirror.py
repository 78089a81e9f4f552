"""test_conform_mirror.py -- dispatchctl conform has no false alarm: plugin mirror is plugin cpu again, as a backend of its
own (tests/plugins/mirror), so every call of it must pass, by a kernel of its own.  Here a few families of operators;
`dispatchctl conform --device mirror --plugin build/tests/plugins/mirror.so` compares all."""

import json
import os
import subprocess

from harness import BUILD, SANITIZED, equal, main

MIRROR = os.path.join(BUILD, "tests", "plugins", "mirror.so")
# kernels of plugin cpu, of plugin composite for the CPU, factories, random numbers, and scalars made to tensors
OPS = ("aten::renorm", "aten::linspace", "aten::bernoulli", "aten::_fake_quantize_learnable", "aten::isin.Scalar_Tensor", "aten::where.Scalar")


def test_a_copy_of_the_cpu_passes():
    if SANITIZED:
        print("skipped: plugin mirror is not built with a sanitizer, since plugin cpu is")
        return
    for op in OPS:
        done = subprocess.run([os.path.join(BUILD, "dispatchctl"), "conform", "--device", "mirror", "--plugin", MIRROR,
                               "--op", op, "--json"], capture_output=True, text=True, timeout=240)
        equal(done.returncode, 0, f"exit code for {op}: {done.stdout}{done.stderr}")
        report = json.loads(done.stdout)
        equal((list(report["counts"]), report["complete"], report["restarts"]), (["pass"], True, 0), op)


if __name__ == "__main__":
    main()
