"""formula_lower.py -- translates ("lowers") the syntax tree of a formula (formula_parse.py) to the steps of
a program (formula_values.py): finds the kind of each value, chooses overloads, and turns "a ? b : c"
into steps with a condition."""

import math

from formula_values import ARGUMENT, FLAG, GRADIENT, METADATA, NUMBERS, RESULT, Input, Steps, Value, constant_kind, kind_of
from tables import check

# Attributes of a tensor: the kind of the value, and the type of a program input that has the value.
TENSOR_ATTRIBUTES = {
    "sizes": ("int[]", "int[]"), "strides": ("int[]", "int[]"), "offset": ("int", "int"), "ndim": ("int", "int"),
    "numel": ("int", "int"), "dtype": ("ScalarType", "int"), "device": ("Device", "any"), "layout": ("Layout", "any"),
    "is_complex": ("bool", "bool"), "defined": ("bool", "bool"),
}
LIST_ATTRIBUTES = {"len": ("int", "int"), "sizes": ("int[][]", "any"), "dtypes": ("ScalarType[]", "any")}
# Operations on numbers (libdispatch/program/scalar.c) that are called by name: number of arguments, and
# kind of the result; None: arithmetic_kind() of the arguments.
SCALAR_CALLS = {"floordiv": (2, None), "mod": (2, None), "max": (2, None), "min": (2, None), "pow": (2, "float"),
                "log": (1, "float"), "exp": (1, "float"), "sqrt": (1, "float"), "conj": (1, None)}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
FOLDED = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
          "pow": lambda a, b: float(a) ** b, "log": math.log, "exp": math.exp, "sqrt": math.sqrt, "lt": lambda a, b: a < b,
          "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b,
          "ne": lambda a, b: a != b}
# Kinds of the values that `scalar eq` and `scalar ne` can compare.
COMPARED = NUMBERS + ("str", "ScalarType", "Layout", "MemoryFormat")


def fits(kind, type_, tested=False):
    """May a value of `kind` be an argument of schema type `type_`?  tested: the formula has tested whether
    the value is none."""
    length = type_.rstrip("?")[-2:-1].isdigit()  # int[2]: one int stands for both
    to = kind_of(type_)
    if kind == "any":
        return True
    if to.endswith("?"):
        return kind == "none" or fits(kind.rstrip("?") if kind.endswith("?") else kind, type_[:-1], True)
    if kind.endswith("?"):
        return tested and fits(kind[:-1], type_)
    if to.endswith("[]"):
        return kind == "empty[]" or kind.endswith("[]") and (fits(kind[:-2], to[:-2]) or kind[:-2] == "any") \
            or length and fits(kind, to[:-2])
    return kind == to or kind in {"float": ("int", "bool"), "Scalar": NUMBERS, "Device": ("str",), "Layout": ("str",),
                                  "MemoryFormat": ("str",)}.get(to, ())


def joined(a, b):
    """Return the kind of a value that has kind a or kind b."""
    if a == b:
        return a
    if "none" in (a, b):
        kind = b if a == "none" else a
        return kind if kind.endswith("?") else kind + "?"
    optional = "?" if a.endswith("?") or b.endswith("?") else ""
    a, b = a.rstrip("?"), b.rstrip("?")
    if a == b:
        return a + optional
    if a in NUMBERS and b in NUMBERS:
        return "Scalar" + optional
    if a.endswith("[]") and b.endswith("[]"):
        return (b if a == "empty[]" else a if b == "empty[]" else joined(a[:-2], b[:-2]) + "[]") + optional
    return "any"


def arithmetic_kind(kinds):
    if "Scalar" in kinds:
        return "Scalar"
    return "float" if "float" in kinds else "int"


class Operators:
    """The operators and functions that a formula may call.  overloads: by base name, those that write no
    argument, and helpers, with their namespace; defined: functions of the file; missing: helpers that
    have no kernel yet."""

    def __init__(self, ops, defined):
        self.defined, self.overloads, self.missing = defined, {}, set()
        for op in ops.values():
            if not op.outs() and op.returns:
                self.overloads.setdefault(op.base, []).append(op)


def bound(op, args, kwargs, tested):
    """Return [(keyword or None, Value)], the arguments of a call of `op`; None: they do not fit."""
    positional = op.args[:op.parts.index("*")] if "*" in op.parts else op.args
    by_name = {a.name: a for a in op.args}
    if len(args) > len(positional) or any(name not in by_name for name in kwargs):
        return None
    given = dict(zip((a.name for a in positional), args))
    if set(given) & set(kwargs):
        return None
    given.update(kwargs)
    for a in op.args:
        if a.name not in given and not a.default:
            return None
    for name, value in given.items():
        if not fits(value.kind, by_name[name].type, tested(value)):
            return None
    return [(None if i < len(args) else name, value) for i, (name, value) in enumerate(given.items())]


class Lowering:
    """Lowers the formulas of one operator to one program."""

    def __init__(self, op, operators, label, differentiable):
        self.op, self.operators, self.label = op, operators, label
        self.steps, self.inputs, self.where = Steps(), {}, op.where
        self.joint, self.tested, self.zero = [], set(), None  # state of the formula that is being lowered
        self.arguments = {a.name: a for a in op.args}
        self.returns = [(name, kind_of(r.split(" ")[0])) for name, r in zip(self.return_names(), op.returns)]
        self.differentiable = differentiable
        self.gradient = "grad0" if "grad" in self.arguments else "grad"
        self.mask = "need" if "mask" in self.arguments else "mask"

    def return_names(self):
        named = [r.split(" ")[1] if " " in r else None for r in self.op.returns]
        return [name if name and name not in self.arguments else f"result{i}" if len(named) > 1 else "result"
                for i, name in enumerate(named)]

    def fail(self, text):
        check(False, self.where, f"{self.label}: {text}")

    # -- inputs --

    def input(self, rank, name, type_, kind):
        if name not in self.inputs:
            if name in ("inf", "nan", "none", "true", "false"):
                self.fail(f"argument '{name}' has the name of a constant in the text of programs")
            self.inputs[name] = Input(rank, name, type_, kind)
        return Value(kind, input_=self.inputs[name])

    def gradient_of(self, i):
        check(isinstance(i, int) and 0 <= i < len(self.returns), self.where, f"{self.label}: grads[{i}]: there are {len(self.returns)} returns")
        check(self.returns[i][1] == "Tensor", self.where, f"{self.label}: grads[{i}]: that return is no Tensor")
        check(self.differentiable[i], self.where, f"{self.label}: grads[{i}]: that return is not differentiable")
        return self.input((GRADIENT, i), f"grad{i}" if i else self.gradient, "Tensor?", "Tensor?")

    def argument(self, name):
        i = [a.name for a in self.op.args].index(name)
        type_ = self.arguments[name].type
        return self.input((ARGUMENT, i), name, type_, kind_of(type_))

    def result(self, i):
        name, kind = self.returns[i]
        return self.input((RESULT, i), name, kind, kind)

    def metadata(self, of, name, type_, kind):
        rank = (METADATA, *of.input.rank, name)
        if name != "defined" and of.input.kind.endswith("?"):  # none if the argument is not given
            type_ = type_ if type_ == "any" else type_ + "?"
            kind = kind + "?" if of.kind.endswith("?") else kind
        return self.input(rank, f"{of.input.name}.{name}", type_, kind)

    def name(self, name, local):
        if name in local:
            return local[name]
        if name in self.arguments:
            return self.argument(name)
        if name == "grad":
            return self.gradient_of(0)
        if name == "grads" and self.returns[0][1] == "Tensor[]":
            return self.input((GRADIENT, 0), "grads", "Tensor?[]", "Tensor?[]")
        names = [n for n, _ in self.returns]
        if name in names:
            return self.result(names.index(name))
        if name == "create_graph":
            return self.input((FLAG, -1), name, "bool", "bool")
        if name == self.mask and self.joint:
            return self.listed([self.input((FLAG, i), f"need.{n}", "bool", "bool") for i, n in enumerate(self.joint)])
        if name == "zero" and self.zero:
            return self.zero()
        return self.fail(f"no name '{name}'")

    # -- steps --

    def is_tested(self, value):
        """Has the formula tested whether the value is none, or whether the tensor is none whose attribute it is?"""
        return value.key in self.tested or value.input is not None and ("input", value.input.name.split(".")[0]) in self.tested

    def plain(self, value):
        """Return `value` for use where none is not allowed, without "?" in its kind if it was tested."""
        if value.input and value.input.rank[0] == GRADIENT:
            value.input.plain |= not self.is_tested(value)
        elif not (value.kind.endswith("?") and self.is_tested(value)):
            return value
        return Value(value.kind.rstrip("?"), value.constant, value.input, value.step, value.index)

    def call_op(self, name, args, kwargs):
        namespace, _, base = name.rpartition("::")
        overloads = self.operators.overloads.get(base if namespace in ("", "aten") else name)
        if not overloads:
            self.fail(f"no operator '{name}'")
        tested = lambda v: self.is_tested(v) or v.input is not None and v.input.rank[0] == GRADIENT
        for op in overloads:
            made = bound(op, args, kwargs, tested)
            if made is not None:
                types = {a.name: a.type for a in op.args}
                for (_, value), of in zip(made, [a.name for a in op.args[:len(args)]] + list(kwargs)):
                    if not types[of].endswith("?"):
                        self.plain(value)
                kinds = [kind_of(r.split(" ")[0]) for r in op.returns]
                return self.steps.add(f"{namespace or 'aten'}::{op.name}", made, kinds if len(kinds) > 1 else kinds[0],
                                      op in self.operators.missing)
        given = [v.kind for v in args] + [f"{n}={v.kind}" for n, v in kwargs.items()]
        return self.fail(f"no {name}({', '.join(given)}); there are {'; '.join(op.func for op in overloads)}")

    def scalar(self, name, args, kind):
        if all(v.is_constant and v.kind != "none" for v in args) and name in FOLDED:
            try:
                folded = FOLDED[name](*(v.constant for v in args))
                return Value(constant_kind(folded), constant=folded)
            except (ArithmeticError, TypeError, ValueError) as e:
                self.fail(f"{name} of constants: {e}")
        return self.steps.add(f"scalar {name}", [(None, v) for v in args], kind)

    def listed(self, items):
        if not items:
            return Value("empty[]", constant=[])
        tensors = any(v.kind == "Tensor" for v in items)
        items = [self.plain(v) if self.is_tested(v) or tensors and v.kind == "Tensor?" else v for v in items]
        if all(v.is_constant and v.kind == "int" for v in items):
            return Value("int[]", constant=[v.constant for v in items])
        kind = items[0].kind
        for v in items[1:]:
            kind = joined(kind, v.kind)
        return self.steps.add("list", [(None, v) for v in items], kind + "[]")

    def number(self, value):
        """Return `value` if it is a number, else None."""
        if value.kind.rstrip("?") not in NUMBERS:
            return None
        value = self.plain(value)
        return value if value.kind in NUMBERS else None

    def infix(self, name, a, b):
        a, b = self.plain(a), self.plain(b)
        x, y = self.number(a), self.number(b)
        if name in ("and", "or"):
            if a.kind == b.kind == "Tensor":
                return self.call_op(f"logical_{name}", [a, b], {})
            check("Tensor" not in (a.kind, b.kind), self.where, f"{self.label}: {name} of a Tensor and a {a.kind if b.kind == 'Tensor' else b.kind}")
            return self.steps.add(f"scalar {name}", [(None, a), (None, b)], "bool")
        if x and y:
            kind = "bool" if name in COMPARISONS else arithmetic_kind([x.kind, y.kind])
            return self.scalar(name, [x, y], "float" if name == "div" and kind == "int" else kind)
        if name in ("eq", "ne") and a.kind.rstrip("?") in COMPARED and b.kind.rstrip("?") in COMPARED:
            return self.scalar(name, [a, b], "bool")
        if a.kind == "Tensor" and (b.kind == "Tensor" or y):
            return self.call_op(name, [a, y or b], {})
        if x and b.kind == "Tensor":
            if name == "div":
                return self.call_op("mul", [self.call_op("reciprocal", [b], {}), x], {})
            return self.call_op({"sub": "rsub"}.get(name) or FLIPPED.get(name, name), [b, x], {})
        return self.fail(f"no {name} of {a.kind} and {b.kind}")

    def minus(self, value):
        value = self.plain(value)
        if value.kind == "Tensor":
            return self.call_op("neg", [value], {})
        x = self.number(value)
        if x is None:
            self.fail(f"no minus of {value.kind}")
        return Value(x.kind, constant=-x.constant) if x.is_constant else self.scalar("neg", [x], arithmetic_kind([x.kind]))

    def is_none(self, value):
        self.tested.add(value.key)
        if value.input and value.input.rank[0] == GRADIENT:
            value.input.tested = True
        if not value.kind.endswith("?"):
            return Value("bool", constant=value.kind == "none")
        if value.input and value.input.rank[0] in (ARGUMENT, RESULT) and value.kind == "Tensor?":
            return self.negated(self.metadata(value, "defined", "bool", "bool"))
        return self.steps.add("scalar is_none", [(None, value)], "bool")

    def negated(self, value):
        if value.kind == "Tensor":
            return self.call_op("logical_not", [value], {})
        if value.is_constant:
            return Value("bool", constant=not value.constant)
        if value.step and value.step.what == "scalar not":
            return value.step.args[0][1]
        return self.steps.add("scalar not", [(None, value)], "bool")

    def attribute(self, value, name):
        tensor = value.kind.rstrip("?") == "Tensor"
        known = TENSOR_ATTRIBUTES if tensor else LIST_ATTRIBUTES if value.kind.rstrip("?").endswith("[]") else {}
        if name not in known:
            self.fail(f"no attribute '{name}' of a {value.kind}")
        kind, type_ = known[name]
        if name == "defined":
            return self.negated(self.is_none(value))
        if value.input and value.input.rank[0] in (ARGUMENT, RESULT) and (tensor or value.kind.startswith("Tensor")):
            return self.metadata(value, name, type_, kind)
        if name != "len" and not tensor:
            self.fail(f"'{name}' is of a list that is an argument or a result")
        return self.steps.add(f"get {name}", [(None, self.plain(value))], kind)

    def item(self, value, index):
        if value.items is not None:
            check(index.is_constant and index.kind == "int" and 0 <= index.constant < len(value.items), self.where,
                  f"{self.label}: there are {len(value.items)} returns")
            return value.items[index.constant]
        kind = value.kind.rstrip("?")
        if not kind.endswith("[]") or index.kind != "int":
            self.fail(f"no item {index.kind} of a {value.kind}")
        if value.is_constant and index.is_constant:
            return Value("int", constant=value.constant[index.constant])
        constant = index.is_constant and index.constant >= 0
        return self.steps.add("item" if constant else "get item", [(None, value), (None, index)], kind[:-2])

    def choose(self, tree, local, lower):
        """Lower "a ? b : c".  `lower`: the function that lowers b and c."""
        condition = self.lower(tree[1], local)
        if condition.kind.rstrip("?") == "Tensor":
            self.fail("the condition is a Tensor; where(condition, a, b) chooses by element")
        if condition.is_constant:
            return lower(tree[2] if condition.constant else tree[3], local)
        if condition.step and condition.step.what == "scalar not" and condition.step.guard is self.steps.guard:
            condition, tree = condition.step.args[0][1], (tree[0], tree[1], tree[3], tree[2])
        around, sides = self.steps.guard, []
        for negated in (False, True):
            self.steps.under(condition, negated)
            sides.append(lower(tree[3 if negated else 2], local))
            self.steps.guard = around
        first, second = sides
        if first.items is not None and second.items is not None and len(first.items) == len(second.items):
            return Value("tuple", items=[self.select(condition, a, b) for a, b in zip(first.items, second.items)])
        return self.select(condition, first, second)

    def select(self, condition, a, b):
        if a.key == b.key:
            return a
        a, b = self.in_select(a, b), self.in_select(b, a)
        return self.steps.add("select", [(None, condition), (None, a), (None, b)], joined(a.kind, b.kind))

    def in_select(self, value, beside):
        """Return `value`, an operand of select; without "?" in its kind if it was tested for none."""
        return self.plain(value) if value.kind.endswith("?") and (self.is_tested(value) or beside.kind == "Tensor") else value

    def let(self, tree, local, lower):
        _, name, expression, body = tree
        return lower(body, {**local, name: self.lower(expression, local)})

    def both(self, tree, local):
        """Lower "a and b" or "a or b" of conditions.  The steps of b run only if a does not decide."""
        a = self.lower(tree[2], local)
        if a.kind.rstrip("?") == "Tensor":
            return self.infix(tree[1], a, self.lower(tree[3], local))
        if a.is_constant:
            return self.lower(tree[3], local) if bool(a.constant) == (tree[1] == "and") else a
        around = self.steps.guard
        self.steps.under(a, tree[1] == "or")
        b = self.lower(tree[3], local)
        self.steps.guard = around
        return self.infix(tree[1], a, b)

    def apply(self, name, args, kwargs):
        if name in self.operators.defined:
            return self.operators.defined[name].apply(self, args, kwargs)
        if name == "given" and len(args) == 1 and not kwargs:
            self.tested.add(args[0].key)
            return self.plain(args[0])
        numbers = [self.number(v) for v in args]
        if name in SCALAR_CALLS and all(numbers) and not kwargs and len(args) == SCALAR_CALLS[name][0]:
            kind = arithmetic_kind([v.kind for v in numbers])
            return self.scalar(name, numbers, "Scalar" if kind == "Scalar" else SCALAR_CALLS[name][1] or kind)
        return self.call_op(name, args, kwargs)

    def lower(self, tree, local):
        """Return the Value of a node of the tree.  `local`: {name: Value} of the local names."""
        what = tree[0]
        down = lambda node: self.lower(node, local)
        if what == "constant":
            return Value(constant_kind(tree[1]), constant=tree[1])
        if what == "name":
            return self.name(tree[1], local)
        if what == "item" and tree[1] == ("name", "grads") and "grads" not in self.arguments and self.returns[0][1] == "Tensor":
            return self.gradient_of(tree[2][1])
        if what == "item":
            return self.item(down(tree[1]), down(tree[2]))
        if what == "call":
            return self.apply(tree[1], [down(a) for a in tree[2]], {n: down(a) for n, a in tree[3].items()})
        if what == "method":
            of, args = down(tree[1]), [down(a) for a in tree[3]]
            if tree[2] in ("size", "stride") and len(args) == 1 and not tree[4]:
                if of.input and of.input.rank[0] in (ARGUMENT, RESULT):
                    return self.item(self.attribute(of, tree[2] + "s"), args[0])
                return self.steps.add(f"get {tree[2]}", [(None, self.plain(of)), (None, args[0])], "int")
            return self.apply(tree[2], [of, *args], {n: down(a) for n, a in tree[4].items()})
        if what == "attribute":
            return self.attribute(down(tree[1]), tree[2])
        if what == "list":
            return self.listed([down(v) for v in tree[1]])
        if what == "minus":
            return self.minus(down(tree[1]))
        if what == "not":
            return self.negated(self.plain(down(tree[1])))
        if what == "is_none":
            return self.is_none(down(tree[1]))
        if what == "choose":
            return self.choose(tree, local, self.lower)
        if what == "let":
            return self.let(tree, local, self.lower)
        return self.both(tree, local) if tree[1] in ("and", "or") else self.infix(tree[1], down(tree[2]), down(tree[3]))

    def several(self, tree, local):
        """Lower a formula that computes the gradients of several arguments: a call with several returns, or a
        list."""
        if tree[0] in ("choose", "let"):
            return (self.choose if tree[0] == "choose" else self.let)(tree, local, self.several)
        if tree[0] == "list":
            return Value("tuple", items=[self.lower(node, local) for node in tree[1]])
        value = self.lower(tree, local)
        check(value.items is not None, self.where, f"{self.label}: a {value.kind} is no gradient of {len(self.joint)} arguments")
        return value

    def formula(self, tree, where, targets, zero):
        """Lower one formula.  Return the gradient of the argument in `targets`; if there are several arguments,
        return a Value whose `items` are their gradients."""
        self.where, self.joint, self.zero = where, targets if len(targets) > 1 else [], zero
        self.tested = {("input", targets[0])} if len(targets) == 1 else set()  # none has no gradient
        return (self.several if self.joint else self.lower)(tree, {})
