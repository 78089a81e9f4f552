"""emit_docs.py -- gen/docs/operators.md: every operator's overloads, where they have kernels, and what for."""

NAMES = {"b8": "bool", "u8": "uint8", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
         "f32": "float32, float16, bfloat16", "f64": "float64", "c64": "complex64", "c128": "complex128"}


def dtypes(families, reduced):
    """{overload: dtypes that its loops take}"""
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


def docs(ops, families, reduced, path):
    taken = dtypes(families, reduced)
    bases = {}
    for op in ops.values():
        bases.setdefault(op.signature[0], []).append(op)
    out = ["# Operators", "", f"{len(ops)} overloads of {len(bases)} operators, made of {path}. Behind each stand the keys that it has",
           "kernels for; `dispatchctl op aten::NAME` tells the same of a running daemon, with the plugins."]
    for base in sorted(bases, key=str.lower):
        out += ["", f"## {base}"]
        loops = dict.fromkeys(", ".join(taken[op.name]) for op in bases[base] if op.name in taken)
        out += [f"Loops over {t}." for t in loops] + ([""] if loops else [])
        out += [f"- `{op.func}`  \n  {', '.join(op.keys)}{why(op)}" for op in bases[base]]
    return "\n".join(out) + "\n"
