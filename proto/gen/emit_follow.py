"""emit_follow.py -- emits rows of plugin composite for overloads computed by calling another
overload.

One kernel runs all of these overloads from their rows (plugins/composite/core/follow.h).  The
overload that a row calls is its target."""

from emit import line, literal
from tables import check

BY_HAND = {"view_copy"}  # written in C: also copies where no view is possible
OPTIONS = {"dtype": "FOLLOW_DTYPE", "layout": "FOLLOW_LAYOUT", "device": "FOLLOW_DEVICE", "pin_memory": "FOLLOW_NONE"}


def arguments(op, target, outs):
    """Yield the arguments of `target` for a call of `op`; `outs`: indices of op's own out=
    arguments."""
    index = {a.name: i for i, a in enumerate(op.args)}
    for a in target.args:
        if a.name in index:
            yield "FOLLOW_CLONE" if a.written and op.variant == "functional" else "FOLLOW_GIVEN", index[a.name]
        else:
            check(outs and a.name in OPTIONS, op.where, f"{op.name}: {target.name} takes '{a.name}', which it has not")
            yield OPTIONS[a.name], outs[0]


def out_row(op, target):
    """Return the row of an out= overload that calls the functional one: (arguments, results)."""
    outs = [i for i, a in enumerate(op.args) if a.written and a.name.startswith("out")]
    # a return called X_out is the new value of argument X, if the out= overload writes X, too
    written = {a.name + "_out": i for i, a in enumerate(op.args) if a.written and i not in outs}
    rest = list(outs)
    results = [("FOLLOW_COPY", written[r.split(" ")[-1]]) if r.split(" ")[-1] in written else
               ("FOLLOW_COPY", rest.pop(0)) if r.startswith("Tensor") and rest else ("FOLLOW_RETURN", i)
               for i, r in enumerate(target.returns)]
    return list(arguments(op, target, outs)), results


def functional_row(op, target):
    """Return the row of a functional overload that calls the mutating one on clones."""
    written = {a.alias: i for i, a in enumerate(target.args) if a.written}
    results = [("FOLLOW_RETURN", i) if "!" not in r else ("FOLLOW_WRITTEN", written.pop(r.split(" ")[0]))
               for i, r in enumerate(target.returns)]
    return list(arguments(op, target, [])), results + [("FOLLOW_WRITTEN", i) for i in written.values()]


def default_row(op, target):
    """Return the row of a structured operator on a backend that has a kernel only for its out=
    overload."""
    index = {a.name: i for i, a in enumerate(op.args)}
    outs = [a.name for a in target.outs()]
    args = [("FOLLOW_GIVEN", index[a.name]) if a.name not in outs else
            ("FOLLOW_CHECKED", 0) if op.variant == "in_place" else ("FOLLOW_MADE", outs.index(a.name)) for a in target.args]
    made = [i for i, (what, _) in enumerate(args) if what == "FOLLOW_MADE"]
    return args, [("FOLLOW_WRITTEN", i) for i in made]


def viewed(op, ops, groups):
    """Return the view operator whose result `op` (a _copy operator) copies; None: `op` does not only
    copy."""
    functional = groups[op.signature].get("functional")
    if not op.base.endswith("_copy") or functional is None or functional.keys != ["CompositeExplicitAutogradNonFunctional"]:
        return None
    name = op.base[:-len("_copy")] + ("." + functional.overload if functional.overload else "")
    return None if functional.name in BY_HAND and op is functional else ops.get(name)


def copy_row(op, target):
    """Return the row of a _copy operator: clone the view, or copy it to an out= argument of its
    shape."""
    args = list(arguments(op, target, []))
    if op.variant == "functional":
        return args, [("FOLLOW_CLONES", i) for i in range(len(target.returns))]
    return args, [("FOLLOW_FILL", next(i for i, a in enumerate(op.args) if a.written))]


ELEMENTS = {"Tensor[]": "Tensor", "Scalar[]": "Scalar"}
DEFAULTS = {"None": ("FOLLOW_NONE", 0), "False": ("FOLLOW_FALSE", 0), "0": ("FOLLOW_INT", 0), "1": ("FOLLOW_INT", 1)}
OTHER_NAMES = {"norm": "linalg_vector_norm"}


def for_each(op, ops):
    """Return the operator for single elements, chosen by their types, and the row that calls it:
    _foreach_add_.List -> (add_.Tensor, row)."""
    base = op.signature[0][len("_foreach_"):]
    types = [ELEMENTS.get(a.type, a.type) for a in op.args]
    rest = {}
    for name in [OTHER_NAMES.get(base, base)] + ([base + "_"] if op.variant == "in_place" else []):
        for target in (t for t in ops.values() if t.base == name):
            more = target.args[len(types):]
            if [a.type for a in target.args[:len(types)]] == types and all(a.default in DEFAULTS for a in more):
                rest[target.name] = target, more
    check(rest, op.where, f"{op.name}: there is no operator '{base}' for its elements")
    target, more = list(rest.values())[-1]
    args = [("FOLLOW_EACH" if a.type in ELEMENTS else "FOLLOW_GIVEN", i) for i, a in enumerate(op.args)]
    copied = [("FOLLOW_COPY", 0)] if op.variant == "in_place" and target.variant == "functional" else []
    return target, (args + [DEFAULTS[a.default] for a in more], copied)


def parts(listed):
    text = ", ".join(f"{{{what}, {i}}}" for what, i in listed)
    return f"(const follow_part[]){{{text}}}" if listed else "NULL"


def functional_of(op, ops, groups):
    """Return the overload that `op`, an out= overload of autogen, calls: one that writes nothing, or
    one that writes the same arguments as `op` and returns its other results.  PyTorch may name it
    X_functional.  An in-place overload that writes more than its first argument has a functional
    overload made by autogen, which returns the new value of each."""
    of = op.generated_from
    if of.variant == "functional" or (of.returns and not any("!" in r for r in of.returns)):
        return of
    base, arguments = op.signature
    found = [groups.get((name, arguments), {}).get("functional") for name in (base, base + "_functional")]
    found += [other for other in ops.values() if other.generated_from is of and other.variant == "functional"]
    check(any(found), op.where, f"{op.name} is made by autogen of an overload that writes, and there is no other")
    return next(other for other in found if other)


def rows(ops, groups):
    """Yield (op, key, target, (arguments, results)) for each overload, sorted by name."""
    for op in sorted(ops.values(), key=lambda op: op.name.encode()):
        if op.name.startswith("_foreach_") and not op.generated_from:
            yield op, "CPU", *for_each(op, ops)
        elif op.generated_from:
            target = functional_of(op, ops, groups) if op.variant == "out" else op.generated_from
            yield op, "CompositeExplicitAutograd", target, (out_row if op.variant == "out" else functional_row)(op, target)
        elif viewed(op, ops, groups):
            target = viewed(op, ops, groups)
            yield op, op.keys[0], target, copy_row(op, target)
        elif op.delegate:
            yield op, "CompositeExplicitAutogradNonFunctional", op.delegate, default_row(op, op.delegate)


def follow(ops, groups):
    out = ["/* Made by proto/gen from native_functions.yaml. */", '#include "core/follow.h"\n',
           "static const follow_row rows[] = {"]
    made = list(rows(ops, groups))
    for op, _, target, (args, results) in made:
        out.append(f"    {{{literal('aten::' + op.name)}, {literal('aten::' + target.name)}, {len(args)}, "
                   f"{len(target.returns)}, {len(results)}, {parts(args)}, {parts(results)}}},")
    out += ["};"]
    out += [f"static int by_{fn}(dp_call *call)\n{{\n    return {fn}(call, rows, sizeof(rows) / sizeof(*rows));\n}}"
            for fn in ("follow", "follow_each")]
    out += ["static const dp_item items[] = {"]
    for op, key, *_ in made:
        kernel = "by_follow_each" if key == "CPU" else "by_follow"
        out.append(f'    {{sizeof(dp_item), DP_ITEM_IMPL, DP_FLAG_META, {literal(op.name)}, "", {kernel}, 0, ""}},')
    out += ["};"]
    for i, (op, key, *_) in enumerate(made):
        out += [line(op.where), f"DP_RECORDS(follow_{i}, IMPL, aten, {key}, items + {i}, 1, "
                                f'"impl\\t" {literal(op.name)} "\\t\\n")']
    return "\n".join(out) + "\n"
