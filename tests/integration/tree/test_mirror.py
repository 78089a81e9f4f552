"""test_mirror.py -- each source of libdispatch and the daemon has a unit test of its name, or is listed."""

import os

from harness import ROOT, equal, less, main

LIST = "tests/data/without_unit_test.txt"


def below(folder, end):
    for path, _, names in os.walk(os.path.join(ROOT, folder)):
        yield from (os.path.relpath(os.path.join(path, n), ROOT) for n in names if n.endswith(end))


def unit_test_of(source):
    """libdispatch/base/arena.c is tested in tests/unit/base/test_arena.c, daemon/log.c in
    tests/unit/daemon/test_log.c; what is compiled for each vector level is tested beside its folder."""
    folder, name = os.path.split(source.removeprefix("libdispatch/").replace("/levels/", "/"))
    return f"tests/unit/{folder}/test_{name}"


def untested(paths, tests):
    return sorted(p for p in paths if unit_test_of(p) not in tests)


def differences(found, listed):
    return ([f"{p}: has no unit test, write {unit_test_of(p)}" for p in found if p not in listed] +
            [f"{p}: has a unit test now, or is gone: take it off {LIST}" for p in listed
             if p not in found])


def test_a_source_without_a_test_is_found():
    paths = ["libdispatch/base/a.c", "libdispatch/base/levels/a.c", "daemon/b.c", "daemon/json/c.c"]
    found = untested(paths, {"tests/unit/base/test_a.c", "tests/unit/daemon/test_c.c"})
    equal(found, ["daemon/b.c", "daemon/json/c.c"], "sources without a test")
    equal([d.split(":")[0] for d in differences(found, ["daemon/b.c", "daemon/d.c"])],
          ["daemon/json/c.c", "daemon/d.c"], "a new one, and one that is listed in vain")


def test_sources_have_unit_tests():
    paths = [p for folder in ("libdispatch", "daemon") for p in below(folder, ".c")]
    tests = set(below("tests/unit", ".c"))
    with open(os.path.join(ROOT, LIST)) as f:
        listed = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    less(120, len(paths), "sources")
    equal(listed, sorted(listed), "the list's order")
    equal(differences(untested(paths, tests), listed), [], "sources and their unit tests")


main()
