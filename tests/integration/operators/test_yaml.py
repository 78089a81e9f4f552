"""test_yaml.py -- every line of proto/ops is complete: its text is PyTorch's and a kernel serves it."""

import os
import sys

from harness import ROOT, main
from daemon import TestDaemon

sys.path.insert(0, os.path.join(ROOT, "proto", "gen"))
import ops

NATIVE = os.path.join(ROOT, "proto", "ops", "native_functions.yaml")
OPTIM = os.path.join(ROOT, "proto", "ops", "optim.yaml")
SCHEMAS = os.path.join(ROOT, "tests", "data", "aten_schemas.txt")
# whose kernel for every backend is an error: plugin cpu overrides them
OVERRIDDEN = ("convolution_overrideable", "convolution_backward_overrideable")
# A capture decomposes implicit kernels even where a backend has one of its own, which has other last bits.
EXPLICIT = ("silu_backward", "mish_backward")


def operators():
    """{name: Op}, those that autogen names among them"""
    return ops.native(NATIVE)


def all_operators():
    """{full name: Op}, those of optim.yaml, too"""
    return {**{"aten::" + n: op for n, op in operators().items()}, **{"optim::" + n: op for n, op in ops.native(OPTIM).items()}}


def none_of(faults):
    if faults:
        raise AssertionError(f"{len(faults)} of them:\n  " + "\n  ".join(faults))


def test_every_text_is_pytorchs():
    with open(SCHEMAS) as f:
        text = {line.split("(")[0]: line.strip() for line in f}
    none_of([f"got {op.func}\n  want {text.get('aten::' + name)}" for name, op in operators().items()
             if text.get("aten::" + name) != "aten::" + op.func])


def test_every_operator_is_defined_where_the_yaml_says(daemon):
    with daemon.connect() as d:
        faults = []
        for name, op in all_operators().items():
            by = d.call("registry.describe", op=name)["defined_by"]
            if (by["plugin"], by["line"]) != ("aten", op.where[1]):
                faults.append(f"{name}: got {by}, want line {op.where[1]}")
        none_of(faults)


def test_every_operator_has_a_kernel_for_the_cpu(daemon):
    with daemon.connect() as d:
        rows = d.call("registry.table", ops=list(all_operators()), keys=["CPU"])["rows"]
        none_of([r["op"] for r in rows if r["cells"][0] == "missing"])


def test_nothing_is_implemented_that_is_not_defined(daemon):
    with daemon.connect() as d:
        defined = all_operators()
        none_of([op for space in ("aten", "optim") for op in d.call("registry.list", namespace=space)["ops"] if op not in defined])


def test_kernels_have_pytorchs_keys(daemon):
    keys = {"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
    faults = []
    with daemon.connect() as d:
        for name, op in all_operators().items():
            kernels = [k["key"] for k in d.call("registry.describe", op=name)["kernels"]]
            got = sorted(k for k in kernels if k in keys)
            if got != sorted(op.keys) and op.name not in ("native_layer_norm", *OVERRIDDEN, *EXPLICIT):
                faults.append(f"{op.name}: got {got}, want {sorted(op.keys)}")
    none_of(faults)


def start():
    daemon = TestDaemon()
    return daemon


def stop(daemon):
    daemon.finish()


if __name__ == "__main__":
    main(start, stop)
