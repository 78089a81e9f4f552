"""emit_schemas.py -- plugin aten: a definition for every func, each with its own line of the yaml."""

from emit import line, literal


def schemas(ops, path):
    out = [f"/* Made by proto/gen from {path}. */", "#include <dispatchd/plugin.h>", "",
           line((path, 1)), 'DP_PLUGIN(aten, "1.0")']
    block = "DP_LIBRARY"
    for op in ops.values():
        item = f"DP_DEF({literal(op.func)})"
        if op.tags:
            item = f"DP_DEF_TAGS({literal(op.func)}, {literal(' '.join(op.tags))})"
        out += [line(op.where), f"{block}(aten, {item})"]
        block = "DP_LIBRARY_FRAGMENT"
    return "\n".join(out) + "\n"
