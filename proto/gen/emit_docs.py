"""emit_docs.py -- the page of operators: every overload, its keys, and the line that each kernel comes from."""

NAMES = {"b8": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
         "f32": "float32, float16, bfloat16", "f64": "float64", "c64": "complex64", "c128": "complex128"}


def dtypes(families, reduced):
    """Return {overload: names of the dtypes that its loops take}."""
    found = {}
    for p in (p for listed in families.values() for p in listed if not p.choose):
        for op in (op for group in p.funcs for op in group):
            found[op.name] = [NAMES[t] for t in NAMES if any(t in row.exprs for row in p.rows)]
    for r in (r for listed in reduced.values() for r in listed):
        for op in r.funcs:
            found[op.name] = [NAMES[t] for t in NAMES if t in r.of.types]
    return found


def why(op):
    if op.generated_from:
        return f", made of `{op.generated_from.name}` by autogen"
    return f", by `{op.delegate.name}`" if op.delegate else ""


def kernels(name, op, places):
    """Return the keys of an overload with full name `name`, grouped by the source line that they come
    from: "CPU `plugins/cpu/index/put.c:12`"."""
    of_place = {}
    for key in op.keys:
        of_place.setdefault(places.get((name, key)), []).append(key)
    return "; ".join(", ".join(keys) + (f" `{place}`" if place else "") for place, keys in of_place.items())


def docs(namespace, ops, taken, path, places):
    """Return the page, or its part, of one namespace.  taken: what dtypes() returned; places:
    {(full name, key): "file:line"}."""
    bases = {}
    for op in ops.values():
        bases.setdefault(op.signature[0], []).append(op)
    out = [f"# Operators of {namespace}", "", f"{len(ops)} overloads of {len(bases)} operators, defined in {path}. Below each stand the keys",
           "that it has kernels for, with the line of C, or of a table, that each kernel comes from;",
           f"`dispatchctl op {namespace}::NAME` tells the same of a running daemon, with the plugins."]
    for base in sorted(bases, key=str.lower):
        out += ["", f"## {base}"]
        loops = dict.fromkeys(", ".join(taken[op.name]) for op in bases[base] if op.name in taken)
        out += [f"Loops over {t}." for t in loops] + ([""] if loops else [])
        out += [f"- `{op.func}`  \n  {kernels(f'{namespace}::{op.name}', op, places)}{why(op)}" for op in bases[base]]
    return "\n".join(out) + "\n"
