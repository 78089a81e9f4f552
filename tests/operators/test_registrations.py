"""test_registrations.py -- the keys that serve each aten operator beside PyTorch 1.13.1's.

For every overload that PyTorch has, the kernels registered at CPU and at the composite keys must be at the keys where
PyTorch registers its own.  tests/data/registrations.txt lists those that are known to differ, and why; one that no
longer differs is a fault too.  Without PyTorch nothing is compared, and it says so."""

import os
import re

from compare import torch  # ends the process where PyTorch is missing
from daemon import TestDaemon
from harness import ROOT, main

KNOWN = os.path.join(ROOT, "tests", "data", "registrations.txt")
KEYS = {"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
REGISTERED = re.compile(r"^(\w+)(?:\[alias\])?: ", re.MULTILINE)


def test_kernels_are_at_pytorchs_keys(daemon):
    with open(KNOWN) as f:
        known = {line.partition(":")[0] for line in f if not line.startswith("#")}
    faults = []
    with daemon.connect() as d:
        for op in d.call("registry.list", namespace="aten")["ops"]:
            if not torch._C._dispatch_has_kernel(op):
                continue
            got = sorted(KEYS & {k["key"] for k in d.call("registry.describe", op=op)["kernels"]})
            want = sorted(KEYS & set(REGISTERED.findall(torch._C._dispatch_dump(op))))
            if (got != want) != (op[len("aten::"):] in known):
                faults.append(f"{op}: got {got}, want {want}")
    if faults:
        raise AssertionError(f"{len(faults)} of them:\n  " + "\n  ".join(faults))


def stop(daemon):
    daemon.finish()


if __name__ == "__main__":
    main(TestDaemon, stop)
