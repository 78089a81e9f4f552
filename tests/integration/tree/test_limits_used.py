"""test_limits_used.py -- code asks for a limit's value in force (LIMIT(NAME)) where a config file can change it,
and records which limit an error is due to, where the message names one."""

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


def limit_names():
    headers = ("daemon/daemon.h", "libdispatch/include/dispatchd/dispatch.h", "libdispatch/include/dispatchd/program.h")
    text = "".join((pathlib.Path(ROOT) / header).read_text() for header in headers)
    return set(re.findall(r"^ +X\([A-Z_]+, ([a-z_]+),", text, re.M))


def test_errors_that_name_a_limit_record_it():
    """server.metrics counts what dp_error_limit() records. The record stands within a few lines of the message."""
    near, names, checked, found = 6, limit_names(), 0, []
    less(80, len(names), "limits")
    for folder in ("daemon", "libdispatch"):
        for path in sorted((pathlib.Path(ROOT) / folder).rglob("*.c")):
            lines = COMMENT.sub(lambda m: "\n" * m[0].count("\n"), path.read_text()).split("\n")
            for i, line in enumerate(lines):
                named = [n for text in re.findall(r'"(?:[^"\\]|\\.)*"', line) for n in re.findall(r"\((\w+)\)", text)]
                if not names.intersection(named) or '"(batch)" : "(none)"' in line:  # labels of server.metrics
                    continue
                checked += 1
                around = "\n".join(lines[max(0, i - near):i + near])
                if not re.search(r"\b(dp_error_limit|LIMIT_REACHED)\(", around):
                    found.append(f"{path.relative_to(ROOT)}:{i + 1}: {line.strip()}")
    less(30, checked, "messages with the name of a limit")
    equal(found, [], "errors that name a limit and do not record it")


main()
