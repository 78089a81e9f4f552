"""test_map.py -- docs/map.md has every source file, and what its head says."""

import os
import subprocess
import sys

from harness import ROOT, equal, less, main


def test_the_map_is_what_make_map_writes():
    made = subprocess.run([sys.executable, os.path.join(ROOT, "proto", "gen", "map.py"), ROOT], capture_output=True,
                          text=True, check=True).stdout.split("\n")
    with open(os.path.join(ROOT, "docs", "map.md"), encoding="utf-8") as f:
        kept = f.read().split("\n")
    less(500, len(made), "lines of the map")
    equal([line for line in made if line not in kept], [], "not on docs/map.md: run 'make map'")
    equal([line for line in kept if line not in made], [], "on docs/map.md alone: run 'make map'")
    equal(kept, made, "docs/map.md: run 'make map'")


def test_architecture_takes_ten_minutes():
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as f:
        less(len(f.read().split()), 2201, "words of ARCHITECTURE.md")


main()
