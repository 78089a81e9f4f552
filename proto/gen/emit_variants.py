"""emit_variants.py -- emits kernels of plugin composite that compute one overload by calling another.

An overload with Scalar arguments wraps them as tensors and calls the overload that takes Tensors.
A functional or in-place overload that is a composite in PyTorch calls the out= overload, or out=
calls the functional overload.  An alias calls the operator that it is another name of.
emit_follow.py handles the overloads that autogen names."""

from emit import line, literal
from ops import forms as groups_of
from tables import check

DTYPES = {"bool": "VARIANT_BOOL", "real": "VARIANT_REAL", "complex": "VARIANT_COMPLEX"}


def tensor_overload(op, ops):
    """Return (the overload with Tensors in place of op's Scalars, bit mask of those arguments);
    None: no such overload."""
    for other in ops.values():
        if (other.base, len(other.args)) != (op.base, len(op.args)) or other is op or other.variant != op.variant:
            continue
        pairs = list(zip(op.args, other.args))
        if all(a.name == b.name and (a.type == b.type or (a.type, b.type) == ("Scalar", "Tensor"))
               for a, b in pairs):
            return other, sum(1 << i for i, (a, b) in enumerate(pairs) if a.type != b.type)
    return None


def from_functional(op, group, exact):
    """Return the C call that computes an in-place or out= overload by the functional one, or
    None."""
    functional = group.get("functional")
    cast = "VARIANT_EXACT" if op.signature[0] in exact else "VARIANT_CAST"
    return f"variant_{op.variant}_of(call, {literal('aten::' + functional.name)}, {cast})" if functional else None


def call(op, ops, groups, results, exact):
    """Return the C call that runs `op`; None: no overload to call is known."""
    group = groups[op.signature]
    wider = tensor_overload(op, ops)
    if wider:
        return f"variant_wrapped(call, {literal('aten::' + wider[0].name)}, {wider[1]:#x})"
    if op.variant == "out":
        return from_functional(op, group, exact)
    out = group.get("out")
    if out and "CPU" in out.keys:
        dtype = DTYPES.get(results.get(op.signature[0]), "VARIANT_SAME")
        return f"variant_by_out(call, {literal('aten::' + out.name)}, {dtype})"
    return None


def of_composite(op, groups, exact):
    """Return the C call for an overload of a hand-written operator that has no kernel of its own;
    or None."""
    group = groups[op.signature]
    if op.variant == "functional":
        out = group.get("out")
        return f"variant_by_out(call, {literal('aten::' + out.name)}, VARIANT_SAME)" \
            if out and "CPU" in out.keys else None
    return from_functional(op, group, exact)


def forms(ops, families, aliases, lists):
    groups = groups_of(ops)
    results = {g[0].signature[0]: p.result for listed in families.values() for p in listed if not p.choose
               for g in p.funcs if g}
    bases = {g[0].signature[0] for listed in families.values() for p in listed for g in p.funcs if g}
    out = ["/* Made by proto/gen from native_functions.yaml and pointwise.yaml. */",
           '#include "core/variants.h"\n']
    for op in (op for op in ops.values() if not op.generated_from and op.name not in lists["by_hand"]):
        base = op.signature[0]
        text = None
        if op.name in aliases and (op.name != base or "." in aliases[op.name]):
            name = aliases[op.name]
            check(name in ops, op.where, f"{op.name}: an alias of {name}, which is not there")
            text = f"variant_alias(call, {literal('aten::' + name)})"
        elif base in aliases:
            name = aliases[base] + op.base[len(base):] + ("." + op.overload if op.overload else "")
            check(name in ops, op.where, f"{op.name}: an alias of {name}, which is not there")
            text = f"variant_alias(call, {literal('aten::' + name)})"
        elif op.name in lists["copied"]:
            text = from_functional(op, groups[op.signature], lists["exact"])
        elif base in lists["composites"] and "CPU" not in op.keys:
            text = of_composite(op, groups, lists["exact"])
        elif base in bases and "CPU" not in op.keys:
            text = call(op, ops, groups, results, lists["exact"])
        if text is None:
            continue
        fn = "variant_" + op.name.replace(".", "_")
        out += [f"static int {fn}(dp_call *call)\n{{\n    return {text};\n}}", line(op.where)]
        out += [f"DP_LIBRARY_META(aten, {key}, DP_IMPL({literal(op.name)}, {fn}))" for key in op.keys]
    return "\n".join(out) + "\n"
