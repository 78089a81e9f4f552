"""test_first_plugin.py -- every command of docs/first-plugin.md works, and answers what the page says."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from daemon import TestDaemon
from harness import BUILD, ROOT, contains, equal, main

COMMANDS = ("cp", "sed", "cc", "dispatchd", "dispatchctl")


def blocks():
    """The page's indented blocks, each a list of lines."""
    with open(os.path.join(ROOT, "docs", "first-plugin.md")) as f:
        text = f.read()
    return [[line[4:] for line in block.splitlines()]
            for block in re.findall(r"(?:^    .*\n(?:(?=\n    )\n)?)+", text, re.M)]


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--no-plugins")
        self.dir = os.path.join(self.daemon.dir, "page")
        os.mkdir(self.dir)
        for name in ("plugins", "libdispatch"):
            os.symlink(os.path.join(ROOT, name), os.path.join(self.dir, name))

    def run(self, command):
        env = {**os.environ, "DISPATCHD_SOCKET": self.daemon.socket,
               "PATH": BUILD + ":" + os.environ["PATH"]}
        done = subprocess.run(["sh", "-c", command], cwd=self.dir, env=env, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(done.returncode, 0, f"exit code of '{command}': {done.stdout}")
        return done.stdout


def without_times(line):
    return re.sub(r"[0-9]+\.[0-9]+$", "T", " ".join(line.split()))


def test_every_command_and_answer(f):
    said, commands = "", 0
    for block in blocks():
        if not block[0].startswith(COMMANDS):
            equal([without_times(line) for line in block],
                  [without_times(line) for line in said.rstrip().splitlines()], "the answer")
            continue
        for command in block:
            said = f.run(command)
            commands += 1
    equal(commands, 8, "commands on the page")
    contains(said, "unmapped")


main(Fixture, lambda f: f.daemon.finish())
