"""test_types.py -- the types of the Python package and of its stubs, checked by mypy --strict."""

import os
import re
import subprocess
import sys
import tempfile

from harness import ROOT, contains, equal, main

FOLDER = os.path.join(ROOT, "clients", "python")
USER = """import dispatchd as dd
x: dd.Tensor = dd.rand(2, 3)
n: int = dd.Client.send
"""


def mypy(*args):
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", cache, "--config-file", os.path.join(FOLDER, "pyproject.toml"),
                               "--strict", *args], cwd=FOLDER, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


if subprocess.run([sys.executable, "-c", "import mypy"], capture_output=True).returncode:
    print("skipped: mypy is not there\n0 passed, 0 failed")
    sys.exit()


def test_the_package_and_its_stubs():
    rc, said = mypy("dispatchd")
    equal((rc, said.partition(" in ")[0]), (0, "Success: no issues found"), said)


def test_the_stub_has_what_the_package_offers():
    import dispatchd as dd
    with open(os.path.join(FOLDER, "dispatchd", "__init__.pyi"), encoding="utf-8") as f:
        known = set(re.findall(r"\w+", f.read()))
    equal(sorted(set(dd._LAZY) - known), [])


def test_wrong_uses_are_found():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "user.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(USER)
        rc, said = mypy(path)
    equal(rc, 1)
    contains(said, "user.py:3: error: Incompatible types in assignment")
    contains(said, "Found 1 error in 1 file")


main()
