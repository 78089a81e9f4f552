"""emit_follow.py -- plugin composite: rows for overloads that follow from another one, and the one kernel that
all of them have (plugins/composite/follow.h)."""

from emit import line, literal
from ops import check

OPTIONS = {"dtype": "FOLLOW_DTYPE", "layout": "FOLLOW_LAYOUT", "device": "FOLLOW_DEVICE", "pin_memory": "FOLLOW_NONE"}


def row(op, target):
    """op, which autogen made, by target: (arguments, results), as C"""
    places = {a.name: i for i, a in enumerate(op.args)}
    outs = [i for i, a in enumerate(op.args) if a.written and a.name.startswith("out")] if op.form == "out" else []
    args = []
    for a in target.args:
        if a.name in places:
            kind = "FOLLOW_CLONE" if a.written and op.form == "functional" else "FOLLOW_GIVEN"
            args.append((kind, places[a.name]))
        else:
            check(outs and a.name in OPTIONS, op.where, f"{op.name}: {target.name} takes '{a.name}', which it has not")
            args.append((OPTIONS[a.name], outs[0]))
    if op.form == "out":
        results, rest = [], list(outs)
        for i, r in enumerate(target.returns):
            results.append(("FOLLOW_COPY", rest.pop(0)) if r.startswith("Tensor") and rest else ("FOLLOW_RETURN", i))
        return args, results
    results = [("FOLLOW_RETURN", i) if "!" not in r else
               ("FOLLOW_WRITTEN", next(k for k, a in enumerate(target.args) if a.alias == r[:len("Tensor(a!)")]))
               for i, r in enumerate(target.returns)]
    returned = [i for what, i in results if what == "FOLLOW_WRITTEN"]
    return args, results + [("FOLLOW_WRITTEN", i) for i, a in enumerate(target.args) if a.written and i not in returned]


def parts(listed):
    text = ", ".join(f"{{{what}, {i}}}" for what, i in listed)
    return f"(const follow_part[]){{{text}}}" if listed else "NULL"


def target_of(op, groups):
    """PyTorch's generated out= calls the functional overload, and a generated functional one what it is from."""
    functional = groups[op.signature].get("functional")
    return functional if op.form == "out" and functional is not None else op.generated_from


def follow(ops, groups):
    out = ["/* Made by proto/gen from native_functions.yaml. */", '#include "follow.h"\n',
           "static const follow_row rows[] = {"]
    made = sorted((op for op in ops.values() if op.generated_from), key=lambda op: op.name.encode())
    for op in made:
        target = target_of(op, groups)
        args, results = row(op, target)
        out.append(f"    {{{literal('aten::' + op.name)}, {literal('aten::' + target.name)}, {len(args)}, "
                   f"{len(target.returns)}, {len(results)}, {parts(args)}, {parts(results)}}},")
    out += ["};", "static int kernel(dp_call *call)\n{\n    return follow(call, rows, sizeof(rows) / sizeof(*rows));\n}",
            "static const dp_item items[] = {"]
    out += [f'    {{sizeof(dp_item), DP_ITEM_IMPL, DP_FLAG_META, {literal(op.name)}, "", kernel, 0, ""}},' for op in made]
    out += ["};"]
    for i, op in enumerate(made):
        out += [line(op.where), f"DP_RECORDS(follow_{i}, IMPL, aten, CompositeExplicitAutograd, items + {i}, 1, "
                                f'"impl\\t" {literal(op.name)} "\\t\\n")']
    return "\n".join(out) + "\n"
