"""emit_schemas.py -- emits plugin aten: a definition for every func, which names its line of the
yaml."""

from emit import line, literal


def schemas(ops, path):
    """Return the text of plugin aten.  A block of definitions has one source line, so each
    definition is a block of its own: the registry then reports the yaml line of its func."""
    all_tags = [literal(" ".join(op.tags or ())) for op in ops.values()]
    out = [f"/* Made by proto/gen from {path}. */", "#include <dispatchd/plugin.h>", "",
           line((path, 1)), 'DP_PLUGIN(aten, "1.0")', "static const dp_item items[] = {"]
    out += [f'    {{sizeof(dp_item), DP_ITEM_DEF, 0, {literal(op.func)}, {tags}, 0, 0, ""}},'
            for op, tags in zip(ops.values(), all_tags)]
    out += ["};"]
    for i, (op, tags) in enumerate(zip(ops.values(), all_tags)):
        kind = "FRAGMENT" if i else "LIBRARY"
        text = f'"def\\t" {literal(op.func)} "\\t" {tags} "\\n"'
        out += [line(op.where), f"DP_RECORDS(op_{i}, {kind}, aten, , items + {i}, 1, {text})"]
    return "\n".join(out) + "\n"
