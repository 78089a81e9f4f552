"""emit_calls.py -- emits dispatchd/aten.h: a C function for each overload whose types all have
letters."""

import re

from emit import literal
from ops import LETTERS
from tables import Fault

POINTERS = {"i": "const int64_t *", "f": "const double *", "b": "const bool *", "T": "dp_tensor *const *"}
HEAD = """\
/* dispatchd/aten.h -- every operator of aten as a C function.
 *
 * Made from native_functions.yaml: do not edit.
 *
 *     dp_tensor *sum;
 *     int rc = dp_aten_add_Tensor(ctx, x, y, dp_int(1), &sum);
 *
 * The name is the operator's: "add.Tensor" is dp_aten_add_Tensor, "add_.Tensor" is
 * dp_aten_add__Tensor.  A function takes all arguments of the schema, with the C types of the
 * letters in plugin.h.  A list is a pointer and a count; an optional argument is a pointer that may
 * be NULL.  Returns come last and are owned; a return that is a written argument has no parameter.
 * Each function returns 0, or an error code that the context's error describes, also where no plugin
 * defines the operator.
 *
 * The first call of each function in a file looks the operator up.  Later calls cost as much as a
 * call by DP_TYPED (typed.h), for contexts of the registry that the first call used; with contexts
 * of another registry, every call pays for the look-up.  Operators with an argument type that has
 * no letter, such as Tensor?[], have no function: use dp_call_boxed().
 *
 * Include plugin.h or dispatch.h before this header. */
#ifndef DISPATCHD_ATEN_H
#define DISPATCHD_ATEN_H

#if !defined(DISPATCHD_PLUGIN_H) && !defined(DISPATCHD_DISPATCH_H)
#error "include dispatchd/plugin.h or dispatchd/dispatch.h before dispatchd/aten.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif
"""
WORDS = {"auto", "bool", "char", "class", "const", "default", "delete", "double", "export", "float", "for",
         "int", "long", "namespace", "new", "operator", "register", "return", "short", "signed", "static", "struct",
         "template", "this", "union", "unsigned", "using", "virtual", "void", "ctx", "min", "max"}


def returned(op):
    """Return the letters of the returns that are not written arguments; None: a return has no
    letter."""
    kinds = [re.sub(r"\[\d+\]", "[]", re.sub(r"\([^)]*\)", "", r.split(" ")[0])) for r in op.returns if "!" not in r]
    letters = [LETTERS.get(k) for k in kinds]
    return letters if all(letters) else None


def word(name):
    return name + "_" if name in WORDS else name


def parameter(arg):
    name = word(arg.name)
    if "l" in arg.letter[:2]:
        return f"{POINTERS.get(arg.letter[-1], 'const dp_value *')}{name}, size_t {name}_n", f"{name}, {name}_n"
    kind = {"T": "dp_tensor *", "i": "int64_t ", "f": "double ", "b": "bool ", "s": "dp_value ", "S": "dp_str ",
            "g": "dp_generator *", "oT": "dp_tensor *", "oS": "dp_str ", "og": "dp_generator *", "oi": "const int64_t *",
            "of": "const double *", "ob": "const bool *", "os": "const dp_value *"}[arg.letter]
    return kind + name, name


def call(op, rets, by):
    slots = [({"T": "dp_tensor **", "i": "int64_t *", "f": "double *", "b": "bool *"}.get(letter, "dp_value *"),
              "out" if len(rets) == 1 else f"out{i}") for i, letter in enumerate(rets)]
    taken = {a.name for a in op.args}
    slots = [(kind, name if name not in taken else name + "_ret") for kind, name in slots]
    pairs = [parameter(a) for a in op.args]
    declared = ", ".join(["dp_ctx *ctx"] + [p for p, _ in pairs] + [kind + name for kind, name in slots])
    passed = "".join(", " + p for p in [p for _, p in pairs] + [name for _, name in slots])
    code = "".join(a.letter for a in op.args) + ">" + "".join(rets)
    name = op.name.replace(".", "_")
    return name, (f"/* {op.func} */\n"
                  f"__attribute__((unused)) static inline int dp_aten_{name}({declared})\n"
                  f"{{\n    DP_HANDLE_CALL({by}, {literal('aten::' + op.name)}, {literal(code)}{passed});\n}}")


def calls(ops):
    out, kinds, made = [], {}, {}
    for op in ops.values():
        rets = returned(op)
        letters = [a.letter for a in op.args]
        if rets is None or not all(letters):
            continue
        code = tuple(letters), tuple(rets)
        by = f"dp_call_{'_'.join(letters) or '0'}__{'_'.join(rets) or '0'}"
        if code not in kinds:
            kinds[code] = by
            out.append(f"DP_TYPED({by}, ({', '.join(letters)}), ({', '.join(rets)}))")
        name, text = call(op, rets, by)
        if name in made:
            raise Fault(op.where, f"{op.name} and {made[name]} would both be dp_aten_{name}")
        made[name] = op.name
        out.append(text)
    return HEAD + "\n" + "\n".join(out) + "\n\n#ifdef __cplusplus\n}\n#endif\n#endif\n"
