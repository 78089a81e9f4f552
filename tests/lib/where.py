"""where.py OP -- where an operator of aten is defined and where its kernels are: `make where OP=index_put`.

    where.py OP                                     says so of one operator
    where.py --page NATIVE POINTWISE REDUCE OPTIM FILE    writes a page of all operators of those tables: `make docs`

OP is the name of an operator, with all its overloads, or of one overload, with or without "aten::"."""

import os
import re
import sys

from daemon import TestDaemon
from harness import ROOT


FACT = re.compile(r"^  (schema|tags|defined): (.*)")
KERNEL = re.compile(r"^  (\w+)(?:\[alias\])?: (\w+) (\S+:\d+)")


class Operator:
    """What the dump of a registry says of one operator: its facts, and (key, plugin, place) of each kernel."""

    def __init__(self):
        self.schema = self.tags = self.defined = ""
        self.kernels = []


def operators(dump):
    """{full name: Operator}"""
    found, op = {}, None
    for line in dump.split("\n"):
        if re.fullmatch(r"\w+::\S+", line):
            op = found[line] = Operator()
        elif not line.startswith("  "):
            op = None
        elif op and (fact := FACT.match(line)):
            setattr(op, fact[1], fact[2])
        elif op and (kernel := KERNEL.match(line)):
            op.kernels.append(kernel.groups())
    return found


def named(names, op):
    """Those of the operators that op names."""
    op = op if "::" in op else "aten::" + op
    return [name for name in names if name == op or name.split(".")[0] == op]


def running():
    """operators() of a daemon that is started for this."""
    with TestDaemon() as daemon, daemon.connect() as d:
        return operators(d.call("registry.dump")["text"])


def page(native_path, pointwise_path, reduce_path, optim_path, running_ops):
    """The text of the page of operators."""
    sys.path.insert(0, os.path.join(ROOT, "proto", "gen"))
    from emit_docs import docs, dtypes
    from ops import native
    from pointwise import pointwise
    from reduce import reductions
    ops = native(native_path)
    families, _, _ = pointwise(pointwise_path, ops)
    places = {(name, key): place
              for name, op in running_ops.items() for key, _, place in reversed(op.kernels)}
    taken = dtypes(families, reductions(reduce_path, ops))
    return docs("aten", ops, taken, native_path, places) + "\n" + docs("optim", native(optim_path), {}, optim_path, places)


def main():
    ops = running()
    if sys.argv[1] == "--page":
        tables, path = sys.argv[2:6], sys.argv[6]
        with open(path, "w", encoding="utf-8") as f:
            f.write(page(*tables, ops))
        print(path)
        return 0
    found = named(ops, sys.argv[1])
    for name in found:
        print(f"{name}\n  defined  {(ops[name].defined or 'nowhere').split()[-1]}")
        for key, _, place in ops[name].kernels:
            print(f"  {key}  {place}")
    if not found:
        names = sorted({name.split(".")[0] for name in ops})
        near = [n for n in names if sys.argv[1].strip("_") in n][:8]
        print(f"no operator '{sys.argv[1]}'" + (f"; its name is in {', '.join(near)}" if near else ""))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
