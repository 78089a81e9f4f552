"""test_where.py -- `make where` (tests/lib/where.py) finds the definition and the kernels of every operator, and the
head of each source of plugins cpu and composite names the operators that it registers."""

import os
import re

from harness import ROOT, contains, equal, less, main
from where import named, page, running


def line_of(place):
    path, number = place.rsplit(":", 1)
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read().split("\n")[int(number) - 1]


def base_name(name):
    """Of aten::add_.Tensor "add"; names with two underscores stay as they are."""
    base = name.split("::")[1].split(".")[0]
    return base if base.startswith("__") else base.rstrip("_")


def test_heads_name_the_operators(ops):
    registered = {}
    for name, op in ops.items():
        for path in (place.rsplit(":", 1)[0] for _, plugin, place in op.kernels if plugin in ("cpu", "composite")):
            if path.startswith("plugins/"):
                registered.setdefault(path, set()).add(base_name(name))
    less(150, len(registered), "sources that register operators")
    unsaid, untrue = {}, {}
    for path, names in registered.items():
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            head = re.match(r"/\*.*?\*/", f.read(), re.S)[0]
        said = set(re.findall(r"\w+", head))
        listed = re.search(r"\* Operators: ([^.]*)\.", head)
        told = set(re.findall(r"\w+", listed[1])) if listed else set()
        if names - said:
            unsaid[path] = sorted(names - said)
        if told - names:
            untrue[path] = sorted(told - names)
    equal(unsaid, {}, "operators that their source does not name in its head ('Operators: a, b.')")
    equal(untrue, {}, "named in the head of a source that does not register them")


def test_places_are_those_of_the_operator(ops):
    less(2000, len(ops), "operators")
    equal(named(ops, "no_such_operator"), [])
    equal(named(ops, "index_put"), ["aten::index_put", "aten::index_put.out"])
    equal([(key, plugin, place.split(":")[0]) for key, plugin, place in ops["aten::index_put"].kernels],
          [("CompositeExplicitAutograd", "cpu", "plugins/cpu/index/index_put.c"),
           ("AutogradFormula", "autograd", "proto/ops/derivatives.yaml"), ("AutocastNamed", "autocast", "proto/ops/autocast.yaml")])
    equal(("CPU", "cpu") in [kernel[:2] for kernel in ops["aten::add.Tensor"].kernels], True, "add on the CPU")
    for name, op in ops.items():
        equal(name in named(ops, name), True, f"{name} by its own name")
        if not name.startswith("aten::"):
            continue
        base, place = name.split(".")[0][len("aten::"):], op.defined.split()[-1]
        if "generated" not in op.tags:  # those stand on the line of what they are made of
            equal(base.rstrip("_") in line_of(place), True, f"{name} in '{line_of(place)}' ({place})")
        less(0, len(op.kernels), f"kernels of {name}")


def test_the_page_of_operators_has_a_line_for_every_key(ops):
    tables = [os.path.join(ROOT, "proto", "ops", name + ".yaml") for name in ("native_functions", "pointwise", "reduce", "optim")]
    text = page(*tables, ops)
    contains(text, "## add\nLoops over bool, uint8, int8, int16, int32, int64, float32, float16, bfloat16, float64, "
                   "complex64, complex128.\n")
    contains(text, "## sum\nLoops over bool, uint8")
    contains(text, "made of `index_put_` by autogen\n")
    overloads = re.findall(r"^- `[^`]*`  \n  (.*)$", text, re.M)
    less(2300, len(overloads), "overloads")
    equal([keys for keys in overloads if not re.search(r"\w `(plugins|proto)/[\w/.]+:\d+`", keys)], [], "without a line")


main(running)
