"""derivatives.py -- reads derivatives.yaml, which has formulas for the gradients of an operator's
arguments, and translates ("lowers") the formulas of each overload to the text of one program
(libdispatch/program/read.c)."""

import re

from formula_lower import Lowering, Operators
from formula_parse import Parser, names_in
from formula_values import METADATA, Value, kind_of, needs_missing
from ops import Op, forms
from tables import Listed, check, check_once, entries, is_a, load

WORDS = ("zero", "non_differentiable", "not_implemented")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
WHOLE = ("linear",)  # composite operators for which PyTorch has a derivative, too
LISTS = ("not_differentiable", "not_implemented", "through")


def is_tensors(type_):
    return kind_of(type_).replace("?", "") in ("Tensor", "Tensor[]")


class Function:
    """A function that formulas call by name: an entry with the fields "define: name(a, b)" and "as: expr"."""

    def __init__(self, entry):
        match = re.fullmatch(r"(\w+)\(([\w, ]*)\)", str(entry["define"]))
        check(match and set(entry) == {"define", "as"}, entry.where, "define: name(parameters) and the field `as` are wanted")
        self.where, self.name = entry.at("as"), match[1]
        self.params = re.split(", *", match[2]) if match[2] else []
        check_once(self.params, entry.where, f"{self.name}: ")
        parser = Parser(str(entry["as"]), self.where, self.name)
        self.tree = parser.formula()
        odd = names_in(self.tree) - set(self.params) - set(parser.local)
        check(not odd, self.where, f"{self.name}: no parameter '{', '.join(sorted(odd))}'")

    def apply(self, lowering, args, kwargs):
        values = dict(zip(self.params, args))
        check(len(args) <= len(self.params) and not set(values) & set(kwargs) and set(values) | set(kwargs) == set(self.params),
              lowering.where, f"{lowering.label}: {self.name} takes {', '.join(self.params)}")
        values.update(kwargs)
        return lowering.lower(self.tree, values)


def read_helper(entry, operators):
    """Add a helper, an operator for use in formulas only: the field "helper: grad::name(...) -> ...".  With
    `missing: true` it has no kernel yet, and formulas that call it count as not implemented."""
    match = re.fullmatch(r"(\w+)::(.*)", str(entry["helper"]))
    check(match and set(entry) <= {"helper", "missing", "does"}, entry.where,
          "helper: namespace::schema and, if wanted, the fields `missing` and `does` are wanted")
    op = Op(match[2], entry.where)
    operators.overloads.setdefault(f"{match[1]}::{op.base}", []).append(op)
    if entry.get("missing"):
        operators.missing.add(op)


class Formula:
    """The formula of one overload: flags and the text of its program."""

    def __init__(self, op, where, flags, lines):
        self.op, self.where, self.flags, self.lines = op, where, flags, lines

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


class Derivative:
    """An entry with the field `name`: the formulas of one overload."""

    def __init__(self, entry, ops, groups, operators):
        func = entry["name"]
        check(is_a(func, str), entry.at("name"), f"name: {func!r} is no str")
        self.entry, self.label, self.where = entry, func.split("(")[0], entry.where
        op = self.op = ops.get(self.label)
        check(op, entry.at("name"), f"{self.label}: name: not in native_functions.yaml")
        check(op.func == func, entry.at("name"), f"{self.label}: name: the schema is '{op.func}'")
        self.forms = groups[op.signature]
        check_overload(op, self.forms, entry.at("name"))
        self.differentiable = self.read_differentiable()
        self.lowering = Lowering(op, operators, self.label, self.differentiable)
        self.lower()

    def read_differentiable(self):
        op, at = self.op, self.entry.at("differentiable")
        default = [is_tensors(r.split(" ")[0]) for r in op.returns]
        given = self.entry.get("differentiable", default)
        check(is_a(given, [bool]) and len(given) == len(op.returns), at,
              f"{self.label}: differentiable: {given!r}; a bool for each of {len(op.returns)} returns is wanted")
        check(any(given), at, f"{self.label}: differentiable: list it under not_differentiable")
        return given

    def zero_of(self, name):
        """Return a zero gradient of argument `name`.  If the in-place overload writes this argument, the
        gradient of the return has the argument's shape, so zeros_like of it needs no saved tensor."""
        low, in_place = self.lowering, self.forms.get("in_place")
        if in_place and not reshapes(self.forms) and in_place.outs()[0].name == name:
            return low.call_op("zeros_like", [low.plain(low.gradient_of(self.differentiable.index(True)))], {})
        low.tested.add(("input", name))
        of = low.plain(low.argument(name))
        check(of.kind == "Tensor", low.where, f"{self.label}: zero is of a Tensor")
        sizes, dtype, device = (low.attribute(of, a) for a in ("sizes", "dtype", "device"))
        return low.call_op("zeros", [sizes], {"dtype": dtype, "device": device})

    def lower(self):
        op, entry, outs = self.op, self.entry, {}
        named = {a.name: a for a in op.args}
        for field in (f for f in entry if f not in ("name", "differentiable")):
            at, targets = entry.at(field), re.split(", *", str(field))
            for name in targets:
                check(name in named, at, f"{self.label}: no argument '{name}'")
                check(is_tensors(named[name].type), at, f"{self.label}: argument '{name}' is a {named[name].type}")
                check(name not in outs, at, f"{self.label}: argument '{name}' has two formulas")
            values = self.formula(str(entry[field]), at, f"{self.label}: {field}", targets)
            outs.update(zip(targets, values))
        missing = [a.name for a in op.args if is_tensors(a.type) and a.name not in outs]
        check(not missing, entry.where, f"{self.label}: no formula of {', '.join(missing)}")
        absent = Value("str", constant="not implemented")
        self.outs = {name: absent if needs_missing(outs[name]) else outs[name] for name in named if outs.get(name) is not None}
        check(self.outs, entry.where, f"{self.label}: no argument is differentiable; list it under not_differentiable")
        self.lines = self.program()

    def formula(self, text, at, label, targets):
        """Return a Value for each of `targets` (arguments); None: the argument is not differentiable."""
        low = self.lowering
        low.label = label
        if text == "non_differentiable":
            return [None] * len(targets)
        if text == "not_implemented":
            return [Value("str", constant="not implemented")] * len(targets)
        if text == "zero":
            low.where = at
            return [self.zero_of(name) for name in targets]
        zero = (lambda: self.zero_of(targets[0])) if len(targets) == 1 else None
        parser = Parser(text, at, label)
        tree = parser.formula()
        odd = [name for name in parser.local if name in low.arguments]
        check(not odd, at, f"{label}: '{', '.join(odd)}' has a value already")
        value = low.formula(tree, at, targets, zero)
        values = [value] if len(targets) == 1 else value.items
        check(len(values) == len(targets), at, f"{label}: {len(values)} values for {len(targets)} arguments")
        for name, v in zip(targets, values):
            wanted = kind_of(low.arguments[name].type).replace("?", "")
            kind = v.kind.replace("?", "")
            check(kind == wanted or kind in ("none", "any") or wanted == "Tensor[]" and kind in ("none[]", "any[]"), at,
                  f"{label}: a {v.kind} is no gradient of a {low.arguments[name].type}")
        return values

    def program(self):
        inputs, lines = self.lowering.steps.program(self.outs.values())
        for i in inputs:
            check(not (i.plain and i.tested), self.where,
                  f"{self.label}: one formula asks whether {i.name} is none, and another one does not")
            if i.plain and i.type == "Tensor?":
                i.type = "Tensor"
        self.inputs = inputs
        return [f"in {i.name} {i.type}" for i in inputs] + lines + [f"out {name} {v.text}" for name, v in self.outs.items()]

    def flags(self, op):
        words = []
        if self.differentiable != [is_tensors(r.split(" ")[0]) for r in op.returns] or not all(self.differentiable):
            words.append("differentiable=" + "".join(str(int(d)) for d in self.differentiable))
        read = {i.name for i in self.inputs if i.rank[0] != METADATA}
        words += [f"clone={a.name}" for a in op.outs() if a.name in read]
        if reshapes(self.forms) and op is self.forms.get("in_place"):
            words.append("reshapes")
        return " ".join(words)

    def formulas(self, ops):
        """Return the Formulas of the overload, of its in-place overload and of its view_copy operator."""
        found = with_in_place(self.op, self.forms)
        copy = ops.get(".".join(filter(None, [self.op.base + "_copy", self.op.overload])))
        if copy and "view_copy" in copy.tags and copy.signature[1] == self.op.signature[1]:
            found.append(copy)
        return [Formula(op, self.where, self.flags(op), self.lines) for op in found]


def reshapes(group):
    """Does the in-place overload only change sizes or strides, as t_ does?  Then the functional overload
    returns a view."""
    return "functional" in group and any("(" in r and "!" not in r for r in group["functional"].returns)


def is_composite(op):
    """Does the operator's kernel call other operators, which autograd records instead?  Not if the operator
    also has a kernel for the CPU, which need not call others."""
    return "CompositeImplicitAutograd" in op.keys and "CPU" not in op.keys


def is_out(op):
    """Is the overload an out= overload: does it write to keyword arguments?"""
    return op.variant == "out" and "*" in op.parts and op.outs()[-1].name in [a.name for a in op.args[op.parts.index("*"):]]


def check_overload(op, group, at):
    check(not is_out(op), at, f"{op.name}: an out= overload has no derivative")
    check(not is_composite(op), at, f"{op.name}: it calls differentiable operators, and needs no formula")
    functional = group.get("functional")
    check(op.variant != "in_place" or functional is None or is_composite(functional), at,
          f"{op.name}: the formula of {functional.name if functional else op.name} is for it, too")


def with_in_place(op, group):
    """Return `op` and, if it has one, the in-place overload, which has the same formula."""
    other = group.get("in_place")
    return [op] + ([other] if op.variant == "functional" and other and not is_composite(other) else [])


def listed(entry, kind, ops, groups):
    """Return the Formulas of an entry that only lists overloads (LISTS).  `kind`: the name of its field."""
    names, found = entry[kind], []
    check(is_a(names, [str]) and len(entry) == 1, entry.at(kind), f"{kind}: {names!r} is no list of str")
    for name, at in zip(names, names.locations):
        op = ops.get(name)
        check(op, at, f"{kind}: '{name}' is not in native_functions.yaml")
        check_overload(op, groups[op.signature], at)
        for form in with_in_place(op, groups[op.signature]):
            if kind == "not_implemented":
                tensors = [a.name for a in op.args if is_tensors(a.type)]
                found.append(Formula(form, at, "", [f"out {a} 'not implemented'" for a in tensors]))
            elif kind == "through":
                found.append(Formula(form, at, "through", []))
            elif "detached" in op.tags and form.variant == "in_place":
                found.append(Formula(form, at, "detaches", []))
            elif form.returns:
                found.append(Formula(form, at, "differentiable=" + "0" * len(form.returns), []))
    return found


def without_derivative(ops, groups, entered):
    """Return the Formulas of out= overloads that may be called even if an argument requires a gradient:
    those of operators without an entry, and comparisons.  Their calls are not recorded."""
    made = []
    for op in ops.values():
        group = groups[op.signature]
        of = op.generated_from or group.get("functional") or group.get("in_place")
        if is_out(op) and not is_composite(op) and (of not in entered and op.base not in WHOLE or op.base in COMPARISONS):
            made.append(Formula(op, op.where, "unrecorded", []))
    return sorted(made, key=lambda formula: formula.where)


def derivatives(path, ops, *more):
    """Return all Formulas, in the order of the files: `path`, then `more`."""
    groups, defined, found, by_name, entered = forms(ops), {}, [], {}, set()
    operators = Operators(ops, defined)
    for entry in (e for p in (path, *more) for e in entries(load(p, Listed, "entries"), (p, 1), "")):
        kind = next((k for k in ("define", "helper", "name", *LISTS) if k in entry), None)
        check(kind, entry.where, f"neither name, define, helper, {', '.join(LISTS[:-1])} nor {LISTS[-1]}")
        if kind == "helper":
            read_helper(entry, operators)
            continue
        if kind == "define":
            function = Function(entry)
            check(function.name not in defined, entry.where, f"define: '{function.name}' is there twice")
            defined[function.name] = function
            continue
        made = listed(entry, kind, ops, groups) if kind in LISTS else Derivative(entry, ops, groups, operators).formulas(ops)
        for formula in made:
            other = by_name.setdefault(formula.op.name, formula)
            check(other is formula, formula.where, f"{formula.op.name}: it has the formula of line {other.where[1]} already")
        found += made
        if kind in ("name", "through"):
            entered.update(formula.op for formula in made)
    return found + without_derivative(ops, groups, entered)
