"""where.py OP -- where an operator of aten is defined and where its kernels are: `make where OP=index_put`.

OP is the name of an operator, with all its overloads, or of one overload, with or without "aten::"."""

import re
import sys

from daemon import TestDaemon


def blocks(dump):
    """The lines of the dump by operator, those that are indented below its name."""
    name, lines = None, []
    for line in dump.split("\n"):
        if line.startswith("  ") and name:
            lines.append(line.strip())
        else:
            if name:
                yield name, lines
            name, lines = (line, []) if re.match(r"\w+::\S+$", line) else (None, [])
    if name:
        yield name, lines


def where(dump, op):
    """[(overload, definition, [(key, plugin, place)])] of the operators that op names."""
    op = op if "::" in op else "aten::" + op
    found = []
    for name, lines in blocks(dump):
        if name == op or name.split(".")[0] == op:
            defined = [line.split()[-1] for line in lines if line.startswith("defined: ")]
            kernels = re.findall(r"^(\w+)(?:\[alias\])?: (\w+) (\S+:\d+)", "\n".join(
                line for line in lines if not line.startswith(("defined: ", "schema: ", "tags: "))), re.M)
            found.append((name, defined[0] if defined else "not defined", kernels))
    return found


def main():
    with TestDaemon() as daemon, daemon.connect() as d:
        dump = d.call("registry.dump")["text"]
    found = where(dump, sys.argv[1])
    for name, defined, kernels in found:
        print(f"{name}\n  defined  {defined}")
        for key, _, place in kernels:
            print(f"  {key}  {place}")
    if not found:
        names = sorted({n.split(".")[0] for n, _ in blocks(dump)})
        near = [n for n in names if sys.argv[1].strip("_") in n][:8]
        print(f"no operator '{sys.argv[1]}'" + (f"; its name is in {', '.join(near)}" if near else ""))
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
