"""ops.py -- the model of the operators: schemas, their forms and keys, and what pointwise.yaml says of them.

Emitters (emit_*.py) print C from it.  Whatever is wrong in a yaml ends the program with the file, the line,
the entry and the field."""

import re

import autogen
import yaml

# Letters of C types (dispatchd/plugin.h): type in a schema -> letter.
LETTERS = {
    "Tensor": "T", "Scalar": "s", "int": "i", "SymInt": "i", "ScalarType": "i", "Layout": "i",
    "MemoryFormat": "i", "Device": "i", "float": "f", "bool": "b", "str": "S", "Generator": "g",
    "Tensor?": "oT", "Scalar?": "os", "int?": "oi", "ScalarType?": "oi", "Layout?": "oi",
    "MemoryFormat?": "oi", "Device?": "oi", "float?": "of", "bool?": "ob", "str?": "oS",
    "Generator?": "og", "Tensor[]": "lT", "int[]": "li", "int[]?": "oli", "float[]": "lf", "bool[]": "lb",
    "SymInt?": "oi", "SymInt[]": "li", "SymInt[]?": "oli", "float[]?": "olf", "Scalar[]": "ls", "str[]": "lS",
}

# Without ? and [].
TYPE_NAMES = {re.sub(r"[?]|\[\]", "", name) for name in LETTERS} | {"Storage", "Stream", "complex"}

# Types that loops compute in (plugins/cpu/loops/types.h), in the order of a row.
TYPES = ["b8", "u8", "i8", "i16", "i32", "i64", "f32", "f64", "c64", "c128"]
INTS, FLOATS, COMPLEX = TYPES[1:6], TYPES[6:8], TYPES[8:]
# What may stand before an expression, and for which types; the narrower wins.
KINDS = {
    "bool": ["b8"], "int": INTS, "float": FLOATS, "complex": COMPLEX, "real": INTS + FLOATS,
    "inexact": FLOATS + COMPLEX, "number": INTS + FLOATS + COMPLEX, "any": TYPES,
}
# Functions that are long: one loop for packed operands has them, and others are brought into that form.
LONG = {"exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin",
        "acos", "atan", "asinh", "acosh", "atanh", "atan2", "erf", "erfc", "sigmoid", "pow"}
# ... and what is one for float32 alone (plugins/cpu/loops/special_f32.h).
LONG_F32 = {"lgamma", "ndtri", "i0", "i1", "i0e", "i1e", "k0", "k1", "k0e", "k1e"}
# Functions with a form for loops, and what says of their arguments that it does not do.
TURNS = {**dict.fromkeys(FLOATS, {"sin": "far", "cos": "far", "tan": "far", "fmod": "quotient_far",
                                  "rem_floor": "quotient_far", "div_floor": "quotient_far"}),
         **dict.fromkeys(KINDS["complex"], {"exp": "far"})}
TURNS["f32"] = {**TURNS["f32"], **dict.fromkeys(["j0", "j1", "y0", "y1", "spherical_j0"], "bessel_far")}

# What the inputs and the result are (semantics of at::TensorIterator's presets): flags of pw_op.
PRESETS = {
    "unary": ["PW_SAME_DTYPE"], "unary_float": ["PW_TO_FLOAT"], "unary_bool": ["PW_RESULT_BOOL"],
    "unary_force_bool": ["PW_RESULT_BOOL", "PW_SAME_DTYPE"],
    "binary": [], "binary_float": ["PW_TO_FLOAT"], "comparison": ["PW_RESULT_BOOL"], "ternary": [],
    "same": ["PW_SAME_INPUTS"], "alike": ["PW_SAME_INPUTS", "PW_SAME_DTYPE"],
}
RESULTS = {"bool": "PW_RESULT_BOOL", "real": "PW_RESULT_REAL", "complex": "PW_RESULT_COMPLEX"}
INPUTS_MAX, PARAMS_MAX = 4, 4  # of plugins/cpu/pointwise.h
# What an entry may have, and of which type.
TEXTS = (str, list)
FIELDS = {"op": str, "func": TEXTS, "preset": str, "args": list, "params": list, "defaults": dict, "result": str,
          "when": list, "no_bool": str, "check": str, "choose": dict, "otherwise": str, "row_major": bool,
          "like_input": bool, "may_overlap": bool, "scalars_fit": bool, "fault": str, **dict.fromkeys(KINDS, (str, int, float))}
NATIVE_FIELDS = {"func": str, "variants": str, "structured": bool, "structured_delegate": str, "dispatch": str,
                 "autogen": str, "tags": str}
KEYS = {"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}


class Fault(SystemExit):
    def __init__(self, where, text):
        path, line = where
        super().__init__(f"{path}:{line}: {text}")


def check(condition, where, text):
    if not condition:
        raise Fault(where, text)


def check_fields(entry, fields, first, place):
    """An entry is a mapping of `fields`, each of its type, by what `first` says; place: where its file begins."""
    check(isinstance(entry, dict), place, f"an entry has fields: {entry!r} is none")
    label = f"{str(entry.get(first) or entry.get('func')).split('(')[0]}: "
    odd = [str(field) for field in entry if field not in fields and field != "where"]
    check(not odd, entry["where"], f"{label}no such field: {', '.join(odd)}")
    for field, type_ in fields.items():
        names = " or ".join(t.__name__ for t in (type_ if isinstance(type_, tuple) else (type_,)))
        check(field not in entry or isinstance(entry[field], type_), entry["where"],
              f"{label}{field}: {entry.get(field)!r} is no {names}")


def load(path):
    """The yaml document, every mapping with the place where it starts as `where`."""
    with open(path) as f:
        text = f.read()
    try:
        document, node = yaml.safe_load(text), yaml.compose(text)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        raise Fault((path, mark.line + 1 if mark else 1), f"no yaml: {getattr(e, 'problem', e)}")
    mark_places(document, node, path)
    return document


def mark_places(value, node, path):
    place = (path, node.start_mark.line + 1)
    if isinstance(value, dict):
        check(len(value) - ("where" in value) == len(node.value), place, "a field is there twice")
        for (key, child), (_, child_node) in zip(list(value.items()), node.value):
            mark_places(child, child_node, path)
        value["where"] = place
    elif isinstance(value, list):
        entries = any(isinstance(child, dict) for child in value)
        for child, child_node in zip(value, node.value):
            check(isinstance(child, dict) or not entries, (path, child_node.start_mark.line + 1),
                  f"{child!r} has no fields, as what stands beside it has")
            mark_places(child, child_node, path)


# -- operators ---------------------------------------------------------------------------------------

class Argument:
    """"Tensor(a!) self" or "Scalar alpha=1": its type without alias set, and whether it is written."""

    def __init__(self, text, where):
        text, _, self.default = text.partition("=")
        check(" " in text, where, f"func: an argument without a name: '{text}'")
        kind, self.name = text.rsplit(" ", 1)
        self.written = "!" in kind
        self.alias = kind[:kind.index(")") + 1] if self.written else None  # "Tensor(a!)"
        self.type = re.sub(r"\([^)]*\)", "", kind)
        check(re.sub(r"[?]|\[\d*\]", "", self.type) in TYPE_NAMES, where, f"func: no such type: '{kind}'")

    @property
    def letter(self):
        return LETTERS.get(re.sub(r"\[\d+\]", "[]", self.type))


class Op:
    """One entry of native_functions.yaml."""

    def __init__(self, entry):
        self.where, self.func = entry["where"], entry["func"]
        self.tags = entry.get("tags", "").replace(",", " ").split()
        match = re.fullmatch(r"([\w.]+)\((.*)\) -> (.+)", self.func)
        check(match, self.where, f"func: not a schema: '{self.func}'")
        self.name, arguments, returns = match.groups()
        self.base, _, self.overload = self.name.partition(".")
        self.parts = re.split(r", (?![^\[(]*[\])])", arguments) if arguments else []
        self.args = [Argument(a, self.where) for a in self.parts if a != "*"]
        self.returns = [returns] if not returns.startswith("(") else returns[1:-1].split(", ") if returns != "()" else []
        names = [a.name for a in self.args]
        check(len(set(names)) == len(names), self.where, f"func: two arguments have one name: '{self.func}'")
        self.structured = bool(entry.get("structured") or entry.get("structured_delegate"))
        self.delegate = entry.get("structured_delegate")  # a name; the operator when native() has read all
        self.dispatch = entry.get("dispatch", "").replace(",", " ").split()
        odd = set(self.dispatch) - KEYS
        check(not odd, self.where, f"{self.name}: dispatch: no such key: {', '.join(sorted(odd))}")
        self.autogen = entry.get("autogen", "").replace(",", " ").split()
        self.generated_from = None  # the operator whose autogen names this one

    @property
    def form(self):
        if re.fullmatch(r".*[^_]_|__i\w+__", self.base):
            return "in_place"
        return "out" if any(a.written for a in self.args) else "functional"

    @property
    def signature(self):
        """What the forms of one operator have in common: base name and the arguments that are read."""
        kept = [(a.type, a.name) for a in self.args if not (self.form == "out" and a.written)]
        base = re.sub(r"^__i(\w+)__$", r"__\1__", self.base)
        return base[:-1] if self.form == "in_place" and base == self.base else base, tuple(kept)

    @property
    def keys(self):
        """Where PyTorch has a kernel of it."""
        if self.structured:
            default = ["CompositeExplicitAutogradNonFunctional"] if self.delegate else []
            return ["CPU"] + default + [key for key in self.dispatch if key != "CPU"]
        if self.dispatch:
            return self.dispatch
        return ["CompositeExplicitAutograd" if self.generated_from else "CompositeImplicitAutograd"]

    def outs(self):
        return [a for a in self.args if a.written]


def native(path):
    """{name: Op}, in the order of the file."""
    ops = {}
    for entry in load(path):
        check_fields(entry, NATIVE_FIELDS, "func", (path, 1))
        where = entry["where"]
        check("func" in entry, where, "an entry without func")
        op = Op(entry)
        check(op.name not in ops, where, f"{op.name} is there twice")
        ops[op.name] = op
    for op in list(ops.values()):
        if op.delegate:
            to = ops.get(op.delegate)
            check(to and to.structured and to.signature[1] == op.signature[1], op.where,
                  f"{op.name}: structured_delegate: no structured out= overload of it: '{op.delegate}'")
            op.delegate = to
        for name in op.autogen:
            check(name.split(".")[0] in (op.base, op.signature[0], op.base + "_functional"), op.where,
                  f"{op.name}: autogen: no overload of it: '{name}'")
            check(name not in ops, op.where, f"{name} is made by autogen of {op.name}: it has no line and no kernel of its own")
            ops[name] = Op({"func": autogen.schema(op, name), "where": op.where, "tags": autogen.tags(op)})
            ops[name].generated_from = op
    return ops


def forms(ops):
    """{signature: {form: Op}}"""
    groups = {}
    for op in ops.values():
        groups.setdefault(op.signature, {}).setdefault(op.form, op)
    return groups


# -- pointwise operators -----------------------------------------------------------------------------

class Expr:
    """An expression for one type: `text` with the functions of that type, and what it uses."""

    def __init__(self, text, cls):
        text = str(text)
        self.cls = cls
        self.names = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
        turns = TURNS.get(cls, {})
        called = set(re.findall(r"\b([a-z_]\w*)\(", text))
        self.far = self.turned(text, turns) if called & set(turns) else None
        self.packed = self.far is not None or (cls in FLOATS and bool(called & LONG)) \
            or (cls == "f32" and bool(called & LONG_F32))
        self.text = self.typed(text)
        self.near = self.typed(re.sub(rf"\b({'|'.join(turns)})\(", r"\1_near(", text)) if self.far else None

    def typed(self, text):
        return re.sub(r"\b([a-z_]\w*)\(", rf"pw_\1_{self.cls}(", text)

    def turned(self, text, turns):
        """What tells whether its first such function has no form for loops; all of an expression are of the
        same arguments."""
        match = re.search(rf"\b({'|'.join(turns)})\(", text)
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        return self.typed(f"{turns[match[1]]}({text[match.end():end - 1]})")


class Kernel:
    """One row of loops: expressions by type."""

    def __init__(self, name, entry, where):
        self.name, self.where = name, where
        self.exprs = {}
        for kind in sorted((k for k in KINDS if k in entry), key=lambda k: -len(KINDS[k])):
            for cls in KINDS[kind]:
                self.exprs[cls] = Expr(entry[kind], cls)


class Pointwise:
    """One entry of pointwise.yaml."""

    def __init__(self, entry, family, ops, groups):
        self.where, self.family = entry["where"], family
        self.name = entry.get("op")
        self.entry = entry
        label = self.label = self.name or str(entry.get("func"))
        self.funcs = self.find_funcs(entry, ops, groups, label)
        self.choose, self.otherwise = entry.get("choose"), entry.get("otherwise")
        if self.choose:
            self.choose = {k: v for k, v in self.choose.items() if k != "where"}
            return
        check(self.name, self.where, f"{label}: neither op nor choose")
        self.params = entry.get("params", [])
        self.defaults = {k: v for k, v in entry.get("defaults", {}).items() if k != "where"}
        self.args = entry.get("args") or [
            a.name for a in self.funcs[0][0].args
            if a.letter in ("T", "s", "oT", "os") and a.name not in self.params and not a.written]
        preset = entry.get("preset", "binary")
        check(preset in PRESETS, self.where, f"{label}: preset: no such: '{preset}'")
        result = entry.get("result")
        check(result is None or result in RESULTS, self.where, f"{label}: result: no such: '{result}'")
        self.result = result or ("bool" if "PW_RESULT_BOOL" in PRESETS[preset] else None)
        self.flags = sorted(set(PRESETS[preset]) | ({RESULTS[result]} if result else set())
                            | ({"PW_ROW_MAJOR"} if entry.get("row_major") else set())
                            | ({"PW_LIKE_INPUT"} if entry.get("like_input") else set())
                            | ({"PW_MAY_OVERLAP"} if entry.get("may_overlap") else set())
                            | ({"PW_SCALARS_FIT"} if entry.get("scalars_fit") else set()))
        self.no_bool, self.check, self.fault = (entry.get(k) for k in ("no_bool", "check", "fault"))
        self.rows = [Kernel(self.name, entry, self.where)]
        self.when = [self.special(w, label) for w in entry.get("when", [])]
        self.rows += [row for _, _, row in self.when]
        check(len(self.args) <= INPUTS_MAX and len(self.params) <= PARAMS_MAX, self.where,
              f"{label}: {len(self.args)} inputs and {len(self.params)} params, {INPUTS_MAX} and "
              f"{PARAMS_MAX} are the most")
        for op in (op for group in self.funcs for op in group):
            more = [a.name for a in op.args
                    if a.letter in ("T", "oT") and not a.written and a.name not in self.args + self.params]
            check(not more, self.where, f"{label}: func: {op.name} takes {', '.join(more)}, too")
        odd = set(self.defaults) - set(self.params)
        check(not odd, self.where, f"{label}: defaults: no param: {', '.join(sorted(odd))}")
        check(re.fullmatch(r"\w+", self.name), self.where, f"{label}: op: no name of C: '{self.name}'")
        self.check_names(label)

    def find_funcs(self, entry, ops, groups, label):
        """[[functional, in-place, out] that are there, of each func]"""
        found = []
        names = entry.get("func", [])
        for name in [names] if isinstance(names, str) else names:
            check(name in ops, self.where, f"{label}: func: '{name}' is not in native_functions.yaml")
            group = groups[ops[name].signature]
            found.append([group[f] for f in ("functional", "in_place", "out") if f in group])
        return found

    def special(self, entry, label):
        """(argument, value, Kernel) of one `when`"""
        rest = {k: v for k, v in entry.items() if k not in KINDS and k != "where"}
        check(len(rest) == 1, entry["where"], f"{label}: when: one argument and expressions, not {rest}")
        (name, value), = rest.items()
        check(name in self.args + self.params, entry["where"], f"{label}: when: no argument '{name}'")
        text = re.sub(r"\W", lambda m: {"-": "minus", ".": "point"}[m[0]], str(value))
        return name, float(value), Kernel(f"{self.name}_{name}_{text}", entry, entry["where"])

    def check_names(self, label):
        """Every expression uses arguments, functions, constants and T."""
        known = set(self.args) | set(self.params) | {f"{p}_d" for p in self.params} | {"T", "K", "fault", "limit", "bool", "I"}
        for row in self.rows:
            check(row.exprs, row.where, f"{label}: no expression")
            for expr in row.exprs.values():
                odd = {n for n in expr.names - known
                       if not re.match(r"[A-Z]\w*$|u?int\d+_t$", n)
                       and f"pw_{n}_{expr.cls}(" not in expr.text}
                check(not odd, row.where, f"{label}: expression: no argument '{', '.join(sorted(odd))}'")


def pointwise(path, ops):
    """({family: [Pointwise]}, {base name: the one that it is another name of}, {list's name: [names]})"""
    document = load(path)
    groups = forms(ops)
    check(isinstance(document, dict), (path, 1), "families of entries are wanted")
    aliases = {k: v for k, v in document.pop("aliases", {}).items() if k != "where"}
    lists = {name: document.pop(name, []) for name in ("composites", "exact", "by_hand", "copied", "called", "to_v3")}
    families = {}
    for family, entries in document.items():
        if family != "where":
            for e in entries or []:
                check_fields(e, FIELDS, "op", (path, 1))
            families[family] = [Pointwise(e, family, ops, groups) for e in entries or []]
    known, runs = {}, {}
    for p in (p for entries in families.values() for p in entries if not p.choose):
        check(p.name not in known, p.where, f"op: '{p.name}' is there twice")
        known[p.name] = p
    for p in (p for entries in families.values() for p in entries if p.choose):
        for name in cases(p):
            check(name in known, p.where, f"{p.entry.get('func')}: choose: no op '{name}'")
        p.known = known
    for p, op in ((p, op) for entries in families.values() for p in entries for group in p.funcs for op in group):
        check(runs.setdefault(op.name, p) is p, p.where, f"{p.label}: func: {op.name} is computed by {runs[op.name].label}")
    for name in ("called", "to_v3"):
        odd = set(lists[name]) - set(families)
        check(not odd, (path, 1), f"{name}: no such family: {', '.join(odd)}")
    return families, aliases, lists


def cases(p):
    """Names of the ops that a `choose` names."""
    return [name for choice in p.choose.values() for name in
            ([v for k, v in choice.items() if k != "where"] if isinstance(choice, dict) else [choice])]
