"""test_subjects.py -- tests/lib/subjects.sh finds subjects of commits that do not say `room: imperative`."""

import os
import shutil
import subprocess
import tempfile

from harness import ROOT, contains, equal, main

SCRIPT = os.path.join("tests", "lib", "subjects.sh")
GOOD = ["registry: keep newest kernel on re-attach", "call.c, bind: take objects"]
BAD = ["Registry: keep newest kernel", "keep newest kernel", "registry: " + "x" * 51, "registry: keep the newest."]


def subjects(commits):
    """The script's exit status and last line in a history of a first commit, with the script, and these."""
    if shutil.which("git") is None:
        return None
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(SCRIPT)))
        shutil.copy(os.path.join(ROOT, SCRIPT), os.path.join(root, SCRIPT))
        git = ["git", "-C", root, "-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "add", "."], check=True)
        for subject in ["Any first subject.", *commits]:
            subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", subject], check=True)
        ran = subprocess.run(["sh", os.path.join(root, SCRIPT)], capture_output=True, text=True, cwd=root)
        return ran.returncode, ran.stdout


def test_good_subjects_pass():
    ran = subjects(GOOD)
    if ran is not None:
        equal(ran, (0, "2 passed, 0 failed\n"))


def test_others_are_named():
    ran = subjects([*GOOD, *BAD])
    if ran is not None:
        for subject in BAD:
            contains(ran[1], subject)
        equal((ran[0], ran[1].splitlines()[-1]), (1, "2 passed, 4 failed"))


main()
