#!/usr/bin/env python3
"""map.py -- prints docs/map.md: the purpose of each source file, taken from its head.

    map.py ROOT     prints the page

A head is the comment or docstring at the start of a file: "name.c -- purpose."  The page shows the
first sentence of it."""

import os
import re
import sys

# The lowest layer first, in the order of ARCHITECTURE.md.
FOLDERS = ["libdispatch/base", "libdispatch/tensor", "libdispatch/dispatch", "libdispatch/program",
           "libdispatch/include", "libdispatch", "plugins", "proto", "daemon", "clients"]
PY_HEAD = re.compile(r'(?:#![^\n]*\n)?"""[\w./-]+[^\n]*? -- (.*?)"""', re.S)
C_HEAD = re.compile(r"/\* [\w./+-]+ -- (.*?)\*/", re.S)
SOURCE = re.compile(r"\.(c|h|cc|py)$")

PAGE = """# Every source file

For people who look for a file, or for the right place for a new one: each line has the first sentence of a
file's head. `make map` writes this page; [ARCHITECTURE.md](../ARCHITECTURE.md) says what the
rooms are for and who may use whom.
"""


def first_sentence(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        head = (PY_HEAD if path.endswith(".py") else C_HEAD).match(f.read())
    if head is None:
        raise SystemExit(f"{path}: its first comment is not '{os.path.basename(path)} -- what it is for'")
    paragraph = re.split(r"\n(?: \*)?[ \t]*\n", head.group(1))[0]
    text = " ".join(re.sub(r"\n \*", "\n", paragraph).split())
    return re.split(r"(?<=[^.])[.:] (?=[A-Z])", text)[0].rstrip(".")


def sources(root):
    found = []
    for top in sorted({f.split("/")[0] for f in FOLDERS}):
        for folder, below, names in os.walk(os.path.join(root, top)):
            below[:] = [b for b in below if b != "__pycache__"]
            found += [os.path.relpath(os.path.join(folder, n), root) for n in names if SOURCE.search(n)]
    return found


def order(path):
    room = next(i for i, f in enumerate(FOLDERS) if path.startswith(f + "/"))
    return room, os.path.dirname(path), os.path.basename(path)


def page(root):
    out, folder = [PAGE], None
    for path in sorted(sources(root), key=order):
        if os.path.dirname(path) != folder:
            folder = os.path.dirname(path)
            out.append(f"\n## `{folder}`\n\n| file | what it is for |\n|---|---|\n")
        text = first_sentence(root, path).replace("|", "\\|")
        out.append(f"| `{os.path.basename(path)}` | {text} |\n")
    return "".join(out)


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1]))
