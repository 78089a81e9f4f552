"""emit.py -- functions that the emitters share: C literals, #line, writing a changed file."""

import os


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def line(where):
    """Return a #line directive, so that compiler messages and the registry name the line of the yaml file."""
    return f'#line {where[1]} "{where[0]}"'


def write(path, text):
    """Write a file only if its text changes, so that make rebuilds nothing needlessly."""
    try:
        with open(path) as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".tmp", "w") as f:
        f.write(text)
    os.replace(path + ".tmp", path)
