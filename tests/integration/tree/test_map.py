"""test_map.py -- docs/map.md has every source file, and what its head says; docs/methods.md has every method, and what
proto/methods say."""

import os
import subprocess
import sys

from harness import ROOT, equal, less, main


def expect_page(name, generator, folder):
    """docs/NAME is what the generator prints of the folder."""
    made = subprocess.run([sys.executable, os.path.join(ROOT, "proto", "gen", generator), os.path.join(ROOT, folder)],
                          capture_output=True, text=True, check=True).stdout.split("\n")
    with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as f:
        kept = f.read().split("\n")
    less(500, len(made), f"lines of docs/{name}")
    equal([line for line in made if line not in kept], [], f"not on docs/{name}: run 'make map'")
    equal([line for line in kept if line not in made], [], f"on docs/{name} alone: run 'make map'")
    equal(kept, made, f"docs/{name}: run 'make map'")


def test_the_map_is_what_make_map_writes():
    expect_page("map.md", "map.py", "")


def test_the_page_of_methods_is_what_make_map_writes():
    expect_page("methods.md", "methods_page.py", "proto")


def test_architecture_takes_ten_minutes():
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as f:
        less(len(f.read().split()), 2201, "words of ARCHITECTURE.md")


main()
