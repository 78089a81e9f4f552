"""test_scratch.py -- memory that kernels take for a while: given back when they return, and kept warm."""

import os

from harness import BUILD, SANITIZED, equal, less, main
from daemon import TestDaemon

CALLS = 20000 if SANITIZED else 1000000


def page_faults(daemon):
    """Pages that the daemon touched for the first time."""
    with open(f"/proc/{daemon.pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[7])


def test_a_kernel_with_a_million_calls_holds_no_more_memory_than_with_one(daemon):
    with daemon.connect() as d:
        d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "nested.so"))
        for n in 1, 1000, CALLS:  # the first ones warm up
            before = daemon.resident_kb()
            out = d.call("op.call", op="nested::adds", args=[{"data": [1, 2]}, n], **{"return": "data"})
            equal(out["outputs"][0]["data"], [2, 4])
        if not SANITIZED:  # their allocators keep what was freed
            less(daemon.resident_kb() - before, 4000, "KB more")
        equal(d.call("plugin.unload", plugin="nested")["unmapped"], True)


def test_the_scratch_of_a_kernel_is_warm_when_it_runs_again(daemon):
    with daemon.connect() as d:
        x, w = (d.call("op.call", op="aten::ones", args=[shape])["outputs"][0]["tensor"]
                for shape in ([16, 64, 56, 56], [64, 64, 3, 3]))
        faults = []
        for _ in range(7):
            before = page_faults(daemon)
            out = d.call("op.call", op="aten::conv2d", args=[{"tensor": x}, {"tensor": w}, None, 1, 1])
            d.call("tensor.release", tensors=[out["outputs"][0]["tensor"]])
            faults.append(page_faults(daemon) - before)
        if not SANITIZED:  # they have an allocator of their own
            less(max(faults[-3:]), 500, f"pages touched by the last of {faults}")
        d.call("tensor.release", tensors=[], all=True)


if __name__ == "__main__":
    main(TestDaemon, TestDaemon.finish)
