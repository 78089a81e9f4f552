"""autogen.py -- overloads that an operator's `autogen` names and no line of its own defines: their schemas.

The rules are torchgen's (torchgen/native_function_generation.py): out= of a functional, in-place or mutable
operator, and the functional one of an in-place or mutable one."""

import re

OPTIONS = ["dtype", "layout", "device", "pin_memory"]


def is_tensor(text):
    return text.startswith("Tensor")


def plain(text):
    """An argument or return without its alias set."""
    return re.sub(r"\([^)]*\)", "", text, count=1) if is_tensor(text) else text


def alias(text):
    match = re.match(r"Tensor\((\w)!\)", text)
    return match[1] if match else None


def annotated(text, letter):
    """"Tensor[] self" of letter a -> "Tensor(a!)[]"."""
    return f"Tensor({letter}!){plain(text).split(' ')[0][len('Tensor'):]}"


def returned(returns):
    return returns[0] if len(returns) == 1 else f"({', '.join(returns)})"


def without_options(parts):
    """Without dtype, layout, device and pin_memory, if all four are there by name: out= has them."""
    names = [p.partition("=")[0].split(" ")[-1] for p in parts]
    if "*" not in parts or not set(OPTIONS) <= set(names[parts.index("*"):]):
        return parts
    return [p for p, name in zip(parts, names) if name not in OPTIONS]


def out_of_in_place(op):
    """self is read, what it becomes is out."""
    letter = alias(op.parts[0])
    parts = [plain(op.parts[0])] + op.parts[1:]
    return parts, [f"{annotated(op.parts[0], letter)} out"], op.returns


def out_of_others(op):
    """Each Tensor, or list of them, that is returned becomes an argument."""
    parts = without_options(op.parts) if op.form == "functional" else op.parts
    letters = [c for c in "abcdefghijklmnopqrstuvwxyz" if c not in map(alias, parts)]
    returns = [plain(r) for r in op.returns]
    outs = [(annotated(r, letter), "out" if len(returns) == 1 else f"out{i}")
            for i, (r, letter) in enumerate(zip(returns, letters)) if is_tensor(r)]
    kept = [kind for kind, _ in outs] if all(re.match(r"Tensor( |$)", r) for r in returns) else \
        [r for r in returns if not is_tensor(r)]
    return parts, [f"{kind} {name}" for kind, name in outs], kept


def out_schema(op, name):
    parts, outs, returns = (out_of_in_place if op.form == "in_place" else out_of_others)(op)
    star = [] if "*" in parts else ["*"]
    return f"{name}({', '.join(parts + star + outs)}) -> {returned(returns)}"


def functional_schema(op, name):
    """What was written is returned, behind what was returned before."""
    given = {alias(r) for r in op.returns} - {None}
    written = [p for p in op.parts if alias(p) and alias(p) not in given]
    returns = [plain(r) for r in op.returns] + [plain(p) + "_out" for p in written]
    return f"{name}({', '.join(plain(p) for p in op.parts)}) -> {returned(returns)}"


def tags(op):
    return ["generated"] + [t for t in op.tags if t == "nondeterministic_seeded" or ":" in t]


def is_out(name):
    """Is it an out= overload?  Otherwise it is the functional one."""
    return name.rpartition(".")[2].endswith("out") and "." in name


def schema(op, name):
    """That of `name`, which op's autogen names."""
    return (out_schema if is_out(name) else functional_schema)(op, name)
