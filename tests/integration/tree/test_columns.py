"""test_columns.py -- what the formatter leaves alone in C sources: the width of comments and of tables that it skips,
and comments behind a field or an enumerator, which end on their line or stand above it."""

import os
import re

from harness import ROOT, equal, less, main

COLUMNS = 100
FOLDERS = ("libdispatch", "daemon", "plugins", "clients", "tests")
# Code that ends a declaration or an enumerator, and a comment that goes on in the next line.
TORN = re.compile(r"^\s+(?!\*|/\*|#)[^\"]*[;,]\s*/\*(?:(?!\*/).)*$")


def sources():
    """Path below the root and lines of every C and C++ source."""
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".cc")):
                    path = os.path.join(at, name)
                    with open(path) as f:
                        yield os.path.relpath(path, ROOT), f.read().split("\n")


def test_no_line_is_wider_than_100_columns():
    wide = []
    n = 0
    for path, lines in sources():
        n += len(lines)
        wide += ["%s:%d: %d columns" % (path, i, len(line)) for i, line in enumerate(lines, 1) if len(line) > COLUMNS]
    less(100000, n, "lines looked at")
    equal(wide, [])


def test_comments_behind_fields_end_on_their_line():
    torn = []
    for path, lines in sources():
        torn += ["%s:%d" % (path, i) for i, line in enumerate(lines, 1) if TORN.match(line) and line[-1:] != "\\"]
    equal(torn, [])


def test_a_torn_comment_is_found():
    equal(bool(TORN.match("    int a; /* of what comes")), True)
    equal(bool(TORN.match("       DP_A = 4, /* of what comes")), True)
    for line in ("    int a; /* all of it */", "    /* a; b", "     * a; b", "    f(a, /* b */ c);"):
        equal((line, TORN.match(line)), (line, None))


main()
