"""emit.py -- what the emitters share: C text, and files that are only written when they change."""

import os


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def line(where):
    """So that the compiler and the registry name the yaml."""
    return f'#line {where[1]} "{where[0]}"'


def write(path, text):
    """A file that stays as it is is not made anew: what depends on it is not built again."""
    try:
        with open(path) as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path + ".tmp", "w") as f:
        f.write(text)
    os.replace(path + ".tmp", path)
