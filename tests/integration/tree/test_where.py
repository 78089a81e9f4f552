"""test_where.py -- `make where` (tests/lib/where.py) finds the definition and the kernels of every operator, and the
head of each source of plugins cpu and composite names the operators that it registers."""

import os
import re

from harness import ROOT, equal, less, main
from daemon import TestDaemon
from where import blocks, where


def line_of(place):
    path, number = place.rsplit(":", 1)
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read().split("\n")[int(number) - 1]


def dumped():
    with TestDaemon() as daemon, daemon.connect() as d:
        return d.call("registry.dump")["text"]


def base_name(name):
    """Of aten::add_.Tensor "add"; names with two underscores stay as they are."""
    base = name[len("aten::"):].split(".")[0]
    return base if base.startswith("__") else base.rstrip("_")


def test_heads_name_the_operators():
    registered = {}
    for name, lines in blocks(dumped()):
        for path in re.findall(r"^\w+(?:\[alias\])?: (?:cpu|composite) (plugins/\S+\.c):\d+", "\n".join(lines), re.M):
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


def test_places_are_those_of_the_operator():
    dump = dumped()
    names = [name for name, _ in blocks(dump)]
    generated = {name for name, lines in blocks(dump) if any(re.match("tags: .*generated", line) for line in lines)}
    less(2000, len(names), "operators")
    equal(where(dump, "no_such_operator"), [])
    overloads = where(dump, "index_put")
    equal([name for name, *_ in overloads], ["aten::index_put", "aten::index_put.out"])
    equal([(key, plugin, place.split(":")[0]) for key, plugin, place in overloads[0][2]],
          [("CompositeExplicitAutograd", "cpu", "plugins/cpu/index/index_put.c")])
    equal(("CPU", "cpu") in [kernel[:2] for kernel in where(dump, "aten::add.Tensor")[0][2]], True, "add on the CPU")
    for name in names:
        (found, defined, kernels), *others = where(dump, name)
        equal(found, name)
        if not name.startswith("aten::"):
            continue
        base = re.split(r"[.]", name)[0][len("aten::"):]
        if name not in generated:  # those stand on the line of what they are made of
            equal(base.rstrip("_") in line_of(defined), True, f"{name} in '{line_of(defined)}' ({defined})")
        less(0, len(kernels), f"kernels of {name}")


main()
