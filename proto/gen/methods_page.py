#!/usr/bin/env python3
"""methods_page.py -- makes docs/methods.md from proto/methods and proto/types: every method of the protocol with its
params and its result, and the types that methods share.

    methods_page.py PROTO     prints the page

The members of an object member follow it, with its name in front: `timing.parse`.  The members of the items
of an array have `[]` after the name of the array: `kernels[].key`."""

import pathlib
import sys
import textwrap

from proto_schemas import read

PAGE = """# Every method

For people who write a client: the parameters and the result of each method.
[protocol.md](protocol.md) teaches how to talk to the daemon. `make map` writes this page from proto/methods
and proto/types: the daemon checks requests with the same data and serves it as `rpc.discover`.

A member in **bold** is always there. A type in *italics* is described at the end of the page. "Runs" says
which thread runs a method: `loop`, the daemon's event loop, between other requests; `worker`, one of its
worker threads; `call`, either of them, by how long the kernels took so far; `at once`, the event loop when it
reads the request, before requests that wait.
"""

RANGES = {0: "≥ 0", 1: "≥ 1"}


def type_of(schema):
    """Return a type as a short text, such as "integer ≥ 0" or "array of *handle*"."""
    if "$ref" in schema:
        return f"*[{schema['$ref']}](#{schema['$ref']})*"
    if "oneOf" in schema:
        return "one of: " + "; ".join(one_of(s) for s in schema["oneOf"])
    if "enum" in schema:
        return " ".join(f"`{v}`" for v in schema["enum"])
    kinds = schema.get("type", "any")
    if kinds == "array":
        return "array of " + (type_of(schema["items"]) if schema.get("items") else "any")
    if kinds == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "object of " + type_of(schema["additionalProperties"])
    text = kinds if isinstance(kinds, str) else " or ".join(kinds)
    return f"{text} {RANGES.get(schema['minimum'], '≥ %s' % schema['minimum'])}" if "minimum" in schema else text


def one_of(schema):
    members = schema.get("properties")
    if not members:
        return type_of(schema)
    required = schema.get("required", [])
    return "{" + ", ".join(f"{'**%s**' % n if n in required else n}: {type_of(s)}" for n, s in members.items()) + "}"


def wrap(text, first="", others=""):
    return textwrap.fill(text, 108, initial_indent=first, subsequent_indent=others, break_long_words=False,
                         break_on_hyphens=False)


def paragraph(text):
    return [wrap(text), ""]


def rows(schema, prefix=""):
    """Return [(member, type, description)] of an object, including the members of its members."""
    found = []
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        shown = f"**{prefix}{name}**" if name in required else prefix + name
        found.append((shown, type_of(member), member.get("description", "")))
        inner, at = member, name
        while inner.get("type") == "array" and inner.get("items"):
            inner, at = inner["items"], at + "[]"
        if "properties" in inner:
            found += rows(inner, prefix + at + ".")
        elif isinstance(inner.get("additionalProperties"), dict) and "properties" in inner["additionalProperties"]:
            found += rows(inner["additionalProperties"], prefix + at + ".*.")
    return found


def table(schema, title):
    if "$ref" in schema:
        return [f"{title}: {type_of(schema)}", ""]
    found = rows(schema)
    if not found:
        return [f"{title}: an object without members", ""]
    cell = [[c.replace("|", "\\|") for c in row] for row in found]
    return [f"| {title} | type | meaning |", "|---|---|---|", *(f"| {a} | {b} | {c} |" for a, b, c in cell), ""]


def meanings(schema):
    """Return a table of the members of all choices of a oneOf and their descriptions, each pair once."""
    found = dict.fromkeys((name, member["description"]) for choice in schema["oneOf"]
                          for name, member in choice.get("properties", {}).items())
    return ["| member | meaning |", "|---|---|", *(f"| {a} | {b} |" for a, b in found), ""]


def page(proto):
    out = [PAGE]
    for path in sorted((proto / "methods").glob("*.json")):
        m = read(path)
        out += [f"## {path.stem}", "", *paragraph(f"{m['summary']}. Runs: {m['runs']}.")]
        if m.get("params", {}).get("properties") or "$ref" in m.get("params", {}):
            out += table(m["params"], "params")
        out += table(m["result"], "result")
    out += ["# Types", ""]
    for path in sorted((proto / "types").glob("*.json")):
        t = read(path)
        out += [f"## {path.stem}", ""]
        if t.get("description"):
            out += paragraph(t["description"] + ".")
        if "oneOf" in t:
            out += ["One of:", "", *(wrap(one_of(s), "- ", "  ") for s in t["oneOf"]), "", *meanings(t)]
        else:
            out += table(t, "member") if "properties" in t else paragraph(type_of(t))
    return "\n".join(out).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(pathlib.Path(sys.argv[1])))
