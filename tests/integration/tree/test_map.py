"""test_map.py -- docs/map.md has every source file, and what its head says; docs/methods.md has every method, and what
proto/methods say; these describe every property."""

import glob
import json
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


def undescribed(schema, at):
    """Paths of the properties in `schema` that have neither a description nor a $ref."""
    if isinstance(schema, list):
        for i, item in enumerate(schema):
            yield from undescribed(item, f"{at}[{i}]")
    elif isinstance(schema, dict):
        for name, member in schema.get("properties", {}).items():
            if "$ref" not in member and not member.get("description"):
                yield f"{at}.{name}"
            yield from undescribed(member, f"{at}.{name}")
        for field in set(schema) & {"items", "additionalProperties", "oneOf"}:
            yield from undescribed(schema[field], at)


def test_every_property_has_a_description():
    missing, properties = [], 0
    for folder in "methods", "types":
        for path in sorted(glob.glob(os.path.join(ROOT, "proto", folder, "*.json"))):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            schema, name = json.loads(text), os.path.basename(path)
            properties += text.count('"properties"')
            for part in (schema["params"], schema["result"]) if folder == "methods" else (schema,):
                missing += undescribed(part, name)
    less(50, properties, "objects with properties")
    equal(missing, [], "properties without a description")


def test_architecture_takes_ten_minutes():
    with open(os.path.join(ROOT, "ARCHITECTURE.md"), encoding="utf-8") as f:
        less(len(f.read().split()), 2201, "words of ARCHITECTURE.md")


main()
