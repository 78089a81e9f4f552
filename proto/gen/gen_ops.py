"""gen_ops.py WHAT NATIVE_FUNCTIONS_YAML [POINTWISE_YAML] -- operators as tables in, C on stdout.

    schemas    plugin aten: a definition for every func, each with its own line of the yaml
    kernels    the loops of pointwise.yaml, one for each operator and class of types (pointwise.h)
    entries    what calls those loops: unboxed kernels of every overload, registered for CPU

The C names the yaml's file and line wherever a person may be sent there: `#line` before each entry.
"""

import re
import sys

import yaml

# Classes of types that loops are written for: C type, C type of an input as the expression sees it,
# how a parameter (a Scalar) is read.  The order is that of pointwise.h.
CLASSES = {
    "bool": ("uint8_t", "bool", "s->param[{}].i != 0"),
    "u8": ("uint8_t", "uint8_t", "(uint8_t)s->param[{}].i"),
    "i64": ("int64_t", "int64_t", "s->param[{}].i"),
    "f32": ("float", "float", "(float)s->param[{}].d"),
    "f64": ("double", "double", "s->param[{}].d"),
    "c128": ("double _Complex", "double _Complex", "s->param[{0}].d + s->param[{0}].im * I"),
}
# What may stand before an expression, and for which classes; the narrower wins.
KINDS = {
    "bool": ["bool"], "int": ["u8", "i64"], "float": ["f32", "f64"], "complex": ["c128"],
    "real": ["u8", "i64", "f32", "f64"], "inexact": ["f32", "f64", "c128"],
    "number": ["u8", "i64", "f32", "f64", "c128"],
    "any": ["bool", "u8", "i64", "f32", "f64", "c128"],
}
FIELDS = {"op", "overloads", "args", "params", "to_float", "result", "same_dtype", "no_bool"} | set(KINDS)


def load(path):
    """The entries of a yaml list of mappings, each with the line it starts on as `line`."""
    with open(path) as f:
        text = f.read()
    entries = yaml.safe_load(text)
    for entry, node in zip(entries, yaml.compose(text).value):
        entry["line"] = node.start_mark.line + 1
    return entries


class Schema:
    """The little that is needed of "add.out(Tensor self, *, Scalar alpha=1, Tensor(a!) out) -> ..."."""

    def __init__(self, func):
        self.name, rest = func.split("(", 1)
        arguments, self.returns = rest.rsplit(") -> ", 1)
        self.args = [self.argument(a) for a in re.split(r", (?![^\[]*\])", arguments) if a and a != "*"]

    @staticmethod
    def argument(text):
        """(type without alias set, name, is it written)"""
        kind, name = text.split("=")[0].rsplit(" ", 1)
        return re.sub(r"\(.*\)", "", kind), name, "!" in kind


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- schemas ---------------------------------------------------------------------------------------

def schemas(path):
    print(f"/* Made by gen_ops.py from {path}. */\n#include <dispatchd/plugin.h>\n")
    print(f'#line 1 "{path}"\nDP_PLUGIN(aten, "1.0")')
    block = "DP_LIBRARY"
    for entry in load(path):
        item = f"DP_DEF({literal(entry['func'])})"
        if "tags" in entry:
            tags = entry["tags"].replace(",", " ").split()
            item = f"DP_DEF_TAGS({literal(entry['func'])}, {literal(' '.join(tags))})"
        print(f'#line {entry["line"]} "{path}"\n{block}(aten, {item})')
        block = "DP_LIBRARY_FRAGMENT"


# -- pointwise -------------------------------------------------------------------------------------

def pointwise(native_path, path):
    """The entries of pointwise.yaml, complete: `schemas` of the overloads, `args`, `exprs` by class."""
    funcs = {}
    for entry in load(native_path):
        schema = Schema(entry["func"])
        funcs[schema.name] = schema
    ops = load(path)
    for op in ops:
        unknown = set(op) - FIELDS - {"line"}
        if unknown:
            raise SystemExit(f"{path}:{op['line']}: {op['op']}: no such field: {', '.join(unknown)}")
        for name in op.get("overloads", []):
            if name not in funcs:
                raise SystemExit(f"{path}:{op['line']}: '{name}' is not in {native_path}")
        op["schemas"] = [funcs[name] for name in op.get("overloads", [])]
        op.setdefault("params", [])
        if op["schemas"]:
            op["args"] = inputs(op["schemas"][0], op)
        op["exprs"] = {c: op[kind] for kind in sorted(KINDS, key=lambda k: -len(KINDS[k]))
                       if kind in op for c in KINDS[kind]}
    return ops


def inputs(schema, op):
    """Names of what takes part in promotion: tensors that are read, and Scalars that are no params."""
    return [name for kind, name, written in schema.args
            if kind in ("Tensor", "Scalar") and name not in op["params"]
            and not (written and name == "out")]


def uses(expr, name):
    return re.search(rf"\b{name}\b", expr) is not None


def kernel(op, cls):
    """One loop: n elements from p[1].. to p[0], all packed."""
    expr = op["exprs"][cls]
    stored, seen, param = CLASSES[cls]
    out = "uint8_t" if op.get("result") == "bool" or cls == "bool" else stored
    cast = "bool" if out == "uint8_t" and (op.get("result") == "bool" or cls == "bool") else out
    used = [(i, a) for i, a in enumerate(op["args"]) if uses(expr, a)]
    print(f"static void loop_{op['op']}_{cls}(char *const *p, int64_t n, pw_state *s)\n{{")
    print(f"    typedef {stored} T __attribute__((unused));\n    {out} *out = ({out} *)p[0];")
    for i, a in used:
        print(f"    const {stored} *p_{a} = (const {stored} *)p[{i + 1}];")
    for i, a in enumerate(op["params"]):
        if uses(expr, a):
            print(f"    const {seen} {a} = {param.format(i)};")
    print("    int fault = 0;\n    PW_LOOP(n)\n    {")
    for i, a in used:
        print(f"        const {seen} {a} = p_{a}[i]{' != 0' if cls == 'bool' else ''};")
    print(f"        out[i] = ({cast})({expr});\n    }}\n    pw_finish(s, fault);\n}}\n")


def kernels(native_path, path):
    ops = pointwise(native_path, path)
    print(f"/* Made by gen_ops.py from {path}. */\n#include \"pointwise_math.h\"\n")
    for op in ops:
        for cls in op["exprs"]:
            kernel(op, cls)
    print("const pw_row CPU_NAME(pw_table)[] = {")
    for op in ops:
        cells = ", ".join(f"loop_{op['op']}_{c}" if c in op["exprs"] else "0" for c in CLASSES)
        print(f"    {{{cells}}},")
    print("};")


LETTERS = {"Tensor": "T", "Scalar": "s"}  # their C types are DP_T_Lx of dispatchd/typed.h


def entry(op, schema):
    """An unboxed kernel of one overload; returns its DP_IMPL_UNBOXED item."""
    fn = "call_" + schema.name.replace(".", "_")
    for kind, name, _ in schema.args:
        if kind not in LETTERS:
            raise SystemExit(f"{schema.name}: cannot generate a kernel with a {kind} '{name}'")
    written = [name for _, name, w in schema.args if w]
    if inputs(schema, op) != op["args"]:
        raise SystemExit(f"{schema.name}: arguments {inputs(schema, op)}, want {op['args']}")
    values = {n: f"dp_tensor_value({n})" if k == "Tensor" else n for k, n, _ in schema.args}
    params = [values.get(p) for p in op["params"]]
    arguments = ", ".join(f"DP_T_L{LETTERS[k]} {n}" for k, n, _ in schema.args)
    ret = "" if written else ", dp_tensor **ret"  # a written argument is returned by the host
    print(f"static int {fn}(dp_ctx *ctx, {arguments}{ret})\n{{")
    print(f"    const dp_value ins[] = {{{', '.join(values[a] for a in op['args'])}}};")
    if params:
        print(f"    const dp_value params[] = {{{', '.join(params)}}};")
    given = "params" if params else "NULL"
    if written:
        print(f"    return pw_write(ctx, &pw_{op['op']}, ins, {given}, {written[0]});\n}}")
    else:
        print(f"    return pw_new(ctx, &pw_{op['op']}, ins, {given}, ret);\n}}")
    letters = ", ".join(LETTERS[k] for k, _, _ in schema.args)
    return f"DP_IMPL_UNBOXED({literal(schema.name)}, {fn}, ({letters}), ({'' if written else 'T'}))"


def entries(native_path, path):
    print(f"/* Made by gen_ops.py from {path}. */\n#include \"pointwise.h\"\n")
    for i, op in enumerate(pointwise(native_path, path)):
        flags = [flag for flag, on in (("PW_TO_FLOAT", op.get("to_float")),
                                       ("PW_RESULT_BOOL", op.get("result") == "bool"),
                                       ("PW_SAME_DTYPE", op.get("same_dtype"))) if on]
        names = ", ".join(literal(p) for p in op["params"])
        no_bool = literal(op["no_bool"]) if "no_bool" in op else "NULL"
        print(f'#line {op["line"]} "{path}"')
        print(f"const pw_op pw_{op['op']} = {{{literal(op['op'])}, {i}, {' | '.join(flags) or 0}, "
              f"{len(op['args'])}, {len(op['params'])}, {{{names or 'NULL'}}}, {no_bool}}};")
        items = [entry(op, s) for s in op["schemas"]]
        if items:
            print(f'#line {op["line"]} "{path}"')
            print("DP_LIBRARY_META(aten, CPU, " + ", ".join(items) + ")\n")


if __name__ == "__main__":
    makers = {"schemas": (schemas, 1), "kernels": (kernels, 2), "entries": (entries, 2)}
    maker, n_files = makers.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if maker is None or len(sys.argv) != 2 + n_files:
        sys.exit(__doc__)
    maker(*sys.argv[2:])
