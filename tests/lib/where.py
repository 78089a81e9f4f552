"""where.py OP -- where an operator of aten is defined and where its kernels are: `make where OP=index_put`.

OP is the name of an operator, with all its overloads, or of one overload, with or without "aten::"."""

import re
import sys

from daemon import TestDaemon


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


def main():
    ops = running()
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
