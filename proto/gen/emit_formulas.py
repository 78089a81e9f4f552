"""emit_formulas.py -- writes the C code that registers the formulas in plugin autograd, with the line
of derivatives.yaml of each formula."""

from emit import line, literal


def record(formula):
    text = "\n".join(f"        {literal(part)[:-1]}\\n\"" for part in formula.lines) or '        ""'
    return f"    DP_FORMULA({literal(formula.op.name)}, {literal(formula.flags)},\n{text})"


def formulas(found, path):
    """Return the text of a C file.  Each entry of the yaml file has a DP_FORMULAS block of its own, so that
    the registry reports the entry's line."""
    out = [f"/* Made by proto/gen from {path}. */", "#include <dispatchd/plugin.h>"]
    for i, formula in enumerate(found):
        if i == 0 or found[i - 1].where != formula.where:
            block = [f for f in found if f.where == formula.where]
            out += ["", line(formula.where), "DP_FORMULAS(aten,\n" + ",\n".join(record(f) for f in block) + ")"]
    return "\n".join(out) + "\n"
