"""pointwise.py -- reads pointwise.yaml: operators that compute each element by one expression."""

import re

from expr import KINDS, TEXT, TYPES, Expr, by_kind
from ops import find, forms
from tables import Entry, check, check_choice, check_fields, check_once, entries, is_a, load

# Rules for the dtypes of inputs and result, as flags of pw_op.  Most are presets of
# at::TensorIterator.
PRESETS = {
    "unary": ["PW_SAME_DTYPE"], "unary_float": ["PW_TO_FLOAT"], "unary_bool": ["PW_RESULT_BOOL"],
    "unary_force_bool": ["PW_RESULT_BOOL", "PW_SAME_DTYPE"],
    "binary": [], "binary_float": ["PW_TO_FLOAT"], "comparison": ["PW_RESULT_BOOL"], "ternary": [],
    "same": ["PW_SAME_INPUTS"], "alike": ["PW_SAME_INPUTS", "PW_SAME_DTYPE"],
}
RESULTS = {"bool": "PW_RESULT_BOOL", "real": "PW_RESULT_REAL", "complex": "PW_RESULT_COMPLEX"}
SWITCHES = {"row_major": "PW_ROW_MAJOR", "like_input": "PW_LIKE_INPUT", "may_overlap": "PW_MAY_OVERLAP",
            "scalars_fit": "PW_SCALARS_FIT"}
# Names NAME of pw_check_NAME, and PW_INPUTS_MAX and PW_PARAMS_MAX, of
# plugins/cpu/pointwise/pointwise.h.
CHECKS = {"power", "hardtanh", "lerp", "addcdiv", "heaviside", "complex", "polar", "polygamma", "softshrink"}
INPUTS_MAX, PARAMS_MAX = 4, 4
# Fields of an entry and their types.
FIELDS = {"op": str, "func": (str, [str]), "preset": str, "args": [str], "params": [str], "rounded": [str], "defaults": dict, "result": str,
          "when": list, "no_bool": str, "check": str, "fault": str, **dict.fromkeys(SWITCHES, bool), **dict.fromkeys(KINDS, TEXT)}
CHOICE_FIELDS = {"func": FIELDS["func"], "choose": dict, "otherwise": str}
LISTS = ("composites", "exact", "by_hand", "copied", "called", "to_v3")


class Kernel:
    """One row of the table of loops: an expression for each type."""

    def __init__(self, name, entry, label):
        self.name, self.where = name, entry.where
        given = [k for k in KINDS if k in entry]
        kinds = {cls: by_kind(given, cls) for cls in TYPES}
        check(given, entry.where, f"{label}: no expression")
        for kind in given:
            check(kind in kinds.values(), entry.at(kind), f"{label}: {kind}: narrower ones stand for all that it is for")
        self.exprs = {cls: Expr(entry[kind], cls, entry.at(kind), f"{label}: {kind}") for cls, kind in kinds.items() if kind}


class Pointwise:
    """One entry of pointwise.yaml."""

    def __init__(self, entry, family, ops, groups):
        self.where, self.family, self.name, self.entry = entry.where, family, entry.get("op"), entry
        self.choose, self.otherwise = entry.get("choose"), entry.get("otherwise")
        label = self.label = str(self.name or entry.get("func"))
        check(self.name or self.choose, self.where, f"{label}: neither op nor choose")
        check_fields(entry, CHOICE_FIELDS if self.choose else FIELDS, label)
        self.funcs = find(entry, ops, groups, ("functional", "in_place", "out"), label)
        if self.choose:
            self.check_choice()
            return
        check(re.fullmatch(r"\w+", self.name), entry.at("op"), f"{label}: op: no name of C: '{self.name}'")
        self.read_arguments()
        self.read_result()
        self.no_bool, self.check, self.fault = (entry.get(k) for k in ("no_bool", "check", "fault"))
        check_choice(entry, "check", CHECKS, label)
        self.when = [self.special(w) for w in entries(entry["when"], entry.at("when"), f"{label}: when: ")] \
            if "when" in entry else []
        check_once([(name, value) for name, value, _ in self.when], entry.at("when"), f"{label}: when: ")
        self.rows = [Kernel(self.name, entry, label)] + [row for _, _, row in self.when]
        self.check_expressions()

    def check_choice(self):
        check(self.funcs, self.where, f"{self.label}: func: none that chooses")
        for key, choice in self.choose.items():
            names = list(choice.values()) if isinstance(choice, dict) else [choice]
            check(is_a(key, str) and is_a(names, [str]), self.entry.at("choose"), f"{self.label}: choose: {key}: {choice!r} is no op")
        by_value = any(isinstance(choice, dict) for choice in self.choose.values())
        check(re.fullmatch("[^%]*(%s[^%]*)?" if by_value else "[^%]*", self.otherwise or ""), self.entry.at("otherwise"),
              f"{self.label}: otherwise: '%s' stands for the str argument that chooses, and once: '{self.otherwise}'")

    def read_arguments(self):
        entry, label = self.entry, self.label
        overloads = [op for group in self.funcs for op in group]
        self.params, self.rounded = entry.get("params", []), entry.get("rounded", [])
        odd = [n for n in self.rounded if n not in self.params]
        check(not odd, entry.at("rounded"), f"{label}: rounded: '{', '.join(odd)}' is none of params")
        check("args" in entry or overloads, self.where, f"{label}: args: no func has them")
        self.args = entry.get("args") or [a.name for a in overloads[0].args if a.letter in ("T", "s", "oT", "os")
                                          and a.name not in self.params and not a.written]
        both = set(self.args) & set(self.params)
        check(not both, entry.at("params"), f"{label}: params: '{', '.join(sorted(both))}' is one of args")
        check(len(self.args) <= INPUTS_MAX and len(self.params) <= PARAMS_MAX, self.where,
              f"{label}: {len(self.args)} inputs and {len(self.params)} params, {INPUTS_MAX} and "
              f"{PARAMS_MAX} are the most")
        for op in overloads:
            arguments = {a.name: a for a in op.args}
            for field, names in ("args", self.args), ("params", self.params):
                odd = [n for n in names if n not in arguments]
                check(not odd, entry.at(field), f"{label}: {field}: {op.name} has no argument '{', '.join(odd)}'")
            more = [a.name for a in op.args
                    if a.letter in ("T", "oT") and not a.written and a.name not in self.args + self.params]
            check(not more, entry.at("func"), f"{label}: func: {op.name} takes {', '.join(more)}, too")
        self.defaults = entry.get("defaults", {})
        for name, value in self.defaults.items():
            at = entry.at("defaults")
            check(name in self.params, at, f"{label}: defaults: no param: {name}")
            check(is_a(value, (int, float)) or value == "NAN", at, f"{label}: defaults: {name}: no number: {value!r}")
            odd = [op.name for op in overloads for a in op.args if a.name == name and not a.type.endswith("?")]
            check(not odd, at, f"{label}: defaults: {name} is never None in {', '.join(odd)}")

    def read_result(self):
        entry = self.entry
        preset, result = entry.get("preset", "binary"), entry.get("result")
        check_choice(entry, "preset", PRESETS, self.label)
        check_choice(entry, "result", RESULTS, self.label)
        is_bool = "PW_RESULT_BOOL" in PRESETS[preset]
        check(not (result and is_bool), entry.at("result"), f"{self.label}: result: that of preset {preset} is bool")
        check(not (entry.get("row_major") and entry.get("like_input")), entry.at("like_input"),
              f"{self.label}: like_input: it is row_major")
        self.result = result or ("bool" if is_bool else None)
        self.flags = sorted(set(PRESETS[preset]) | ({RESULTS[result]} if result else set())
                            | {flag for field, flag in SWITCHES.items() if entry.get(field)})

    def special(self, entry):
        """Read one item of `when`; return (argument, value, Kernel)."""
        label = f"{self.label}: when"
        rest = {k: v for k, v in entry.items() if k not in KINDS}
        check(len(rest) == 1, entry.where, f"{label}: one argument and expressions, not {rest}")
        (name, value), = rest.items()
        check(name in self.args + self.params, entry.where, f"{label}: no argument '{name}'")
        check_fields(entry, {name: (int, float), **dict.fromkeys(KINDS, TEXT)}, label)
        return name, float(value), Kernel(f"{self.name}_{name}_{re.sub(chr(92) + 'W', '_', str(value))}", entry, label)

    def check_expressions(self):
        known = set(self.args) | set(self.params) | {f"{p}_d" for p in self.params} | {"T", "K", "fault", "limit", "bool", "I"}
        exprs = [expr for row in self.rows for expr in row.exprs.values()]
        for expr in exprs:
            expr.check_names(known)
            check(self.fault or "fault" not in expr.names, expr.where, f"{expr.label}: sets `fault`, and there is no field fault")
        check(not self.fault or any("fault" in expr.names for expr in exprs), self.entry.at("fault"),
              f"{self.label}: fault: no expression sets it")

    def cases(self):
        """Return the names of the ops that `choose` lists."""
        return [name for choice in self.choose.values()
                for name in (choice.values() if isinstance(choice, dict) else [choice])]


def check_lists(document, lists, aliases, families, ops):
    """Check that the lists and aliases of the document name existing operators or families."""
    bases = {base for op in ops.values() for base in (op.base, op.signature[0])}
    known = {"composites": bases, "exact": bases, "by_hand": ops, "copied": ops, "called": families, "to_v3": lists["called"]}
    for name, names in lists.items():
        at = document.at(name)
        check(name not in document or is_a(names, [str]), at, f"{name}: {names!r} is no list of str")
        check_once(names, at, f"{name}: ")
        odd = [n for n in names if n not in known[name]]
        check(not odd, at, f"{name}: '{', '.join(odd)}' is not there")
    check(isinstance(aliases, dict), document.at("aliases"), f"aliases: {aliases!r} is no dict")
    for alias, name in aliases.items():
        for side in alias, name:
            check(is_a(side, str) and (side in ops or side in bases), document.at("aliases"),
                  f"aliases: {alias}: {name}: '{side}' is not in native_functions.yaml")


def pointwise(path, ops):
    """Return ({family: [Pointwise]}, {alias: operator that it is another name of}, {list:
    [names]})."""
    document = load(path, Entry, "families of entries")
    groups = forms(ops)
    aliases, lists = document.get("aliases", {}), {name: document.get(name, []) for name in LISTS}
    families = {}
    for family, listed in document.items():
        if family not in (*LISTS, "aliases"):
            check(re.fullmatch(r"\w+", str(family)), document.at(family), f"{family}: no name of C")
            families[family] = [Pointwise(e, family, ops, groups) for e in entries(listed, document.at(family), f"{family}: ")]
    check_lists(document, lists, aliases, families, ops)
    known, runs = {}, {}
    every = [p for listed in families.values() for p in listed]
    for p in (p for p in every if not p.choose):
        check(p.name not in known, p.entry.at("op"), f"op: '{p.name}' is there twice")
        known[p.name] = p
    for p in (p for p in every if p.choose):
        for name in p.cases():
            check(name in known, p.entry.at("choose"), f"{p.label}: choose: no op '{name}'")
        p.known = known
    for p, op in ((p, op) for p in every for group in p.funcs for op in group):
        check(op.name not in runs, p.entry.at("func"), f"{p.label}: func: {op.name} is computed by {runs.get(op.name)}")
        runs[op.name] = p.label
    return families, aliases, lists
