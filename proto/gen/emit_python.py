"""emit_python.py NATIVE_FUNCTIONS_YAML PUBLIC_YAML -- prints clients/python/dispatchd/_schemas.py, what the Python package
knows of the operators.

The result is kept in the repository, so that pip can install the package without a generator; `make map` writes it,
and tests/integration/python/test_package.py compares it with the tables."""

import sys

import ops
from tables import Entry, check, load

HEAD = '''"""_schemas.py -- the operators of aten and their public names; written by proto/gen/emit_python.py."""

# name of an operator -> the schemas of its overloads, a line each
SCHEMAS: dict[str, str] = {
'''


def public(path, bases):
    """Return {kind: names} of public.yaml; each name is that of an operator in `bases`."""
    found = load(path, Entry, "lists of names")
    for kind, names in found.items():
        prefix = "" if kind in ("functions", "methods") else kind + "_"
        for name in names.split():
            check(prefix + name in bases, found.at(kind), f"{kind}: no operator '{prefix + name}'")
    return found


def emit(native_path, public_path):
    """Return the text of the module."""
    bases = {}
    for op in ops.native(native_path).values():
        bases.setdefault(op.base, []).append(op.func)
    names = public(public_path, bases)
    text = [HEAD]
    for base, funcs in bases.items():
        text.append(f"    {base!r}:\n" + "\n".join(f"        {f + chr(10) if f is not funcs[-1] else f!r}" for f in funcs) + ",\n")
    text.append("}\n")
    for kind in names:
        text.append(f"{kind.upper()}: frozenset[str] = frozenset({' '.join(names[kind].split())!r}.split())\n")
    return "".join(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.stdout.write(emit(*sys.argv[1:]))
