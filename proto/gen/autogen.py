"""autogen.py -- derives the schemas of overloads that only the field `autogen` of an operator
names.

The rules are torchgen's (torchgen/native_function_generation.py).  A functional, in-place or
mutable operator gets an out= overload; an in-place or mutable operator gets a functional
overload."""

import re

OPTIONS = ["dtype", "layout", "device", "pin_memory"]


def is_tensor(text):
    return text.startswith("Tensor")


def plain(text):
    """Return an argument or return of a schema without its alias set."""
    return re.sub(r"\([^)]*\)", "", text, count=1) if is_tensor(text) else text


def alias(text):
    match = re.match(r"Tensor\((\w)!\)", text)
    return match[1] if match else None


def annotated(text, letter):
    """Return the type of an argument as a written one: "Tensor[] self", letter "a" -> "Tensor(a!)[]"."""
    return f"Tensor({letter}!){plain(text).split(' ')[0][len('Tensor'):]}"


def returned(returns):
    return returns[0] if len(returns) == 1 else f"({', '.join(returns)})"


def without_options(parts):
    """Remove dtype, layout, device and pin_memory if all four are keyword-only: the out= tensor has them."""
    names = [p.partition("=")[0].split(" ")[-1] for p in parts]
    if "*" not in parts or not set(OPTIONS) <= set(names[parts.index("*"):]):
        return parts
    return [p for p, name in zip(parts, names) if name not in OPTIONS]


def out_of_in_place(op):
    """Return (arguments, out= arguments, returns) of the out= overload of an in-place operator.  That
    overload only reads `self` and writes the result to `out`."""
    letter = alias(op.parts[0])
    parts = [plain(op.parts[0])] + op.parts[1:]
    return parts, [f"{annotated(op.parts[0], letter)} out"], op.returns


def out_of_others(op):
    """Return (arguments, out= arguments, returns) of the out= overload of any other operator: each
    returned Tensor or Tensor[] becomes an out= argument."""
    parts = without_options(op.parts) if op.variant == "functional" else op.parts
    letters = [c for c in "abcdefghijklmnopqrstuvwxyz" if c not in map(alias, parts)]
    returns = [plain(r) for r in op.returns]
    outs = [(annotated(r, letter), "out" if len(returns) == 1 else f"out{i}")
            for i, (r, letter) in enumerate(zip(returns, letters)) if is_tensor(r)]
    rets = [kind for kind, _ in outs] if all(re.match(r"Tensor( |$)", r) for r in returns) else \
        [r for r in returns if not is_tensor(r)]
    return parts, [f"{kind} {name}" for kind, name in outs], rets


def out_schema(op, name):
    parts, outs, returns = (out_of_in_place if op.variant == "in_place" else out_of_others)(op)
    star = [] if "*" in parts else ["*"]
    return f"{name}({', '.join(parts + star + outs)}) -> {returned(returns)}"


def functional_schema(op, name):
    """Return the schema of the functional overload: after op's returns, it returns a new tensor for
    each written argument."""
    given = {alias(r) for r in op.returns} - {None}
    written = [p for p in op.parts if alias(p) and alias(p) not in given]
    returns = [plain(r) for r in op.returns] + [plain(p) + "_out" for p in written]
    return f"{name}({', '.join(plain(p) for p in op.parts)}) -> {returned(returns)}"


def tags(op):
    return ["generated"] + [t for t in op.tags if t == "nondeterministic_seeded" or ":" in t]


def is_out(name):
    """Does `name` name an out= overload?  If not, it names a functional one."""
    return name.rpartition(".")[2].endswith("out") and "." in name


def schema(op, name):
    """Return the schema of overload `name`, which the autogen field of `op` names."""
    return (out_schema if is_out(name) else functional_schema)(op, name)
