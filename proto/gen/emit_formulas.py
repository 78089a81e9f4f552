"""emit_formulas.py -- emits the records of plugin autograd: a formula for each differentiable
overload, which names its line of derivatives.yaml."""

from emit import line, literal


def record(formula):
    text = "\n".join(f"        {literal(part)[:-1]}\\n\"" for part in formula.lines) or '        ""'
    return f"    DP_FORMULA({literal(formula.op.name)}, {literal(formula.flags)},\n{text})"


def formulas(found, path):
    """Return the text of a C file.  Each entry of the yaml file is a block of its own: the registry
    then reports the line of the entry."""
    out = [f"/* Made by proto/gen from {path}. */", "#include <dispatchd/plugin.h>"]
    for i, formula in enumerate(found):
        if i == 0 or found[i - 1].where != formula.where:
            block = [f for f in found if f.where == formula.where]
            out += ["", line(formula.where), "DP_FORMULAS(aten,\n" + ",\n".join(record(f) for f in block) + ")"]
    return "\n".join(out) + "\n"
