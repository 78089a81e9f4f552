"""test_limits_used.py -- code asks for a limit's value in force (LIMIT(NAME)) where a config file can change it."""

import pathlib
import re

from harness import ROOT, equal, less, main

COMMENT = re.compile(r"/\*.*?\*/", re.S)


def ranges():
    """{name: the text of the highest value} of each limit that can be set."""
    rows = re.findall(r"\[LIMIT_AT_(\w+)\] = \{.*?, (.*)\},", (pathlib.Path(ROOT) / "daemon/limits.c").read_text())
    less(30, len(rows), "limits with a range")
    return dict(rows)


def test_limits_that_can_be_set_are_read_where_they_apply():
    settable = ranges()
    found = []
    for path in sorted((pathlib.Path(ROOT) / "daemon").rglob("*.[ch]")):
        if path.name in ("daemon.h", "limits.c"):
            continue
        for name in re.findall(r"\bLIMIT_([A-Z][A-Z_]*)\b", COMMENT.sub("", path.read_text())):
            if settable.get(name, f"LIMIT_{name}") != f"LIMIT_{name}":
                found.append(f"{path.relative_to(ROOT)}: LIMIT_{name}")
    equal(found, [], "constants instead of LIMIT(NAME)")


main()
