"""formula_values.py -- values and steps of a formula while it is translated ("lowered") to a program, and
the text of that program (libdispatch/program/read.c).

A kind is the type of a value, written as in a schema, but with int for SymInt and without the length of
lists; or "none"; or "any" if the type is known only at run time."""

import math
import re

NUMBERS = ("int", "float", "bool", "Scalar")
NO_CONSTANT = object()
# Classes of inputs, in the order in which a program declares them.
GRADIENT, ARGUMENT, RESULT, METADATA, FLAG = range(5)


def kind_of(type_):
    """Return the kind of a schema type."""
    return re.sub(r"\[\d+\]", "[]", re.sub(r"\([^)]*\)", "", type_)).replace("SymInt", "int")


def constant_kind(x):
    return {type(None): "none", bool: "bool", int: "int", float: "float", str: "str"}[type(x)]


class Input:
    """An input of a program.  rank: its position, which begins with its class; type: the type in the
    program's text."""

    def __init__(self, rank, name, type_, kind):
        self.rank, self.name, self.type, self.kind = rank, name, type_, kind
        # For gradients: is it used where none is not allowed, and does a formula test whether it is none?
        self.plain, self.tested = False, False


class Value:
    """A constant, an input or one return of a step.  items: the Values of a call with several returns."""

    def __init__(self, kind, constant=NO_CONSTANT, input_=None, step=None, index=0, items=None):
        self.kind, self.constant, self.input, self.step, self.index, self.items = kind, constant, input_, step, index, items

    @property
    def is_constant(self):
        return self.constant is not NO_CONSTANT

    @property
    def key(self):
        """A key that is equal for two Values only if both surely have the same value."""
        if self.is_constant:
            return "constant", type(self.constant), str(self.constant)
        return ("input", self.input.name) if self.input else ("step", id(self.step), self.index)

    @property
    def text(self):
        if self.is_constant:
            return spelled(self.constant)
        return self.input.name if self.input else self.step.names[self.index]


def spelled(x):
    """Return a constant as it is written in the text of a program."""
    if isinstance(x, bool) or x is None:
        return str(x).lower()
    if isinstance(x, str):
        return f"'{x}'"
    if isinstance(x, list):
        return "[" + ", ".join(spelled(i) for i in x) + "]"
    return repr(x) if isinstance(x, int) or math.isfinite(x) else str(x)


class Guard:
    """A condition under which steps run: `value` is true.  around: the guard that contains this one; if
    that guard's value is false, `value` is false, too."""

    def __init__(self, around, value):
        self.around, self.value = around, value


class Step:
    """One step.  what: its kind and name; args: (keyword or None, Value); guard: a Guard, or None: the step
    always runs; missing: it calls a helper that has no kernel yet."""

    def __init__(self, what, args, guard, n_rets=1, missing=False):
        self.missing = missing
        self.what, self.args, self.guard, self.n_rets, self.names = what, args, guard, n_rets, None

    def needs(self):
        return [value for _, value in self.args] + ([self.guard.value] if self.guard else [])

    def text(self):
        args = ", ".join((f"{keyword}=" if keyword else "") + value.text for keyword, value in self.args)
        body = {"list": f"[{args}]"}.get(self.what) or (
            f"{self.args[0][1].text}[{self.args[1][1].constant}]" if self.what == "item" else f"{self.what}({args})")
        when = f"when {self.guard.value.text}: " if self.guard else ""
        return f"{', '.join(self.names)} = {when}{body}"


def needs_missing(value, seen=None):
    """Does the value depend on a step that calls a missing helper?"""
    seen = set() if seen is None else seen
    if value.step is None or value.step in seen:
        return False
    seen.add(value.step)
    return value.step.missing or any(needs_missing(v, seen) for v in value.step.needs())


class Steps:
    """The steps of a formula, in the order in which they were added."""

    def __init__(self):
        self.all, self.guard, self.known, self.guards = [], None, {}, {}

    def add(self, what, args, kind, missing=False):
        """Add a step and return its Value.  If an equal step has surely run before, return that step's Value
        instead.  `kind`: the kind of the return, or a list of kinds if there are several returns."""
        key = what, tuple((keyword, value.key) for keyword, value in args)
        guard = self.guard
        while (guard, key) not in self.known and guard is not None:
            guard = guard.around
        if (guard, key) in self.known:
            return self.known[guard, key]
        many = isinstance(kind, list)
        step = Step(what, args, self.guard, len(kind) if many else 1, missing)
        self.all.append(step)
        made = Value("tuple", items=[Value(k, step=step, index=i) for i, k in enumerate(kind)]) if many \
            else Value(kind, step=step)
        self.known[self.guard, key] = made
        return made

    def under(self, condition, negated):
        """Enter a guard: the next steps run only if `condition` is true or, if `negated`, false.  The caller
        restores `self.guard` afterwards."""
        around = self.guard
        if negated:
            condition = self.add("scalar not", [(None, condition)], "bool")
        if around and not (condition.step and condition.step.guard is around):
            condition = self.add("scalar and", [(None, around.value), (None, condition)], "bool")
        self.guard = self.guards.setdefault((around, condition.key), Guard(around, condition))

    def program(self, outputs):
        """Return (inputs used, lines of the steps that `outputs` need)."""
        found, inputs, todo = set(), {}, list(outputs)
        used = set()  # (step, index)
        while todo:
            value = todo.pop()
            if value.input:
                inputs[value.input.name] = value.input
            elif value.step:
                used.add((value.step, value.index))
                if value.step not in found:
                    found.add(value.step)
                    todo += value.step.needs()
        lines, n = [], 0
        for step in (s for s in self.all if s in found):
            step.names = []
            for i in range(step.n_rets):
                n += (step, i) in used
                step.names.append(f"v{n}" if (step, i) in used else "_")
            lines.append(step.text())
        return sorted(inputs.values(), key=lambda i: i.rank), lines
