"""emit_schemas.py -- emits plugin aten: a definition for every func, which names its line of the
yaml."""

from emit import line, literal


def schemas(ops, path, optim):
    """Return the text of plugin aten, which defines `ops` in namespace aten and `optim` in namespace
    optim.  A block of definitions has one source line, so each definition is a block of its own: the
    registry then reports the yaml line of its func."""
    defined = [("aten", op) for op in ops.values()] + [("optim", op) for op in optim.values()]
    all_tags = [literal(" ".join(op.tags or ())) for _, op in defined]
    out = [f"/* Made by proto/gen from {path}. */", "#include <dispatchd/plugin.h>", "",
           line((path, 1)), 'DP_PLUGIN(aten, "1.0")', "static const dp_item items[] = {"]
    out += [f'    {{sizeof(dp_item), DP_ITEM_DEF, 0, {literal(op.func)}, {tags}, 0, 0, ""}},'
            for (_, op), tags in zip(defined, all_tags)]
    out += ["};"]
    for i, ((namespace, op), tags) in enumerate(zip(defined, all_tags)):
        kind = "LIBRARY" if i in (0, len(ops)) else "FRAGMENT"
        text = f'"def\\t" {literal(op.func)} "\\t" {tags} "\\n"'
        out += [line(op.where), f"DP_RECORDS(op_{i}, {kind}, {namespace}, , items + {i}, 1, {text})"]
    return "\n".join(out) + "\n"
