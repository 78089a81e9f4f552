"""reduce.py -- reads reduce.yaml: reductions, the types of their loops and their expressions."""

import re

from expr import KINDS, TEXT, TYPES, Expr, by_kind
from ops import find, forms
from tables import Entry, check, check_choice, check_fields, entries, is_a, load

BY_TYPE = dict.fromkeys(("acc", "each", "merge", "finish", "none", "beats"), (*TEXT, dict))
FIELDS = {"op": str, "func": (str, [str]), "types": (str, [str]), "result": str, "form": str, "flags": [str], "error": str,
          "same": str, "outputs": int, "bits": bool, **BY_TYPE}
# fields of an entry that uses the loops of another entry
SAME_FIELDS = ("op", "func", "flags", "error", "same", "outputs")
# By form: the fields that define the computation.
FORMS = {None: {"acc", "each", "merge", "finish", "none", "result", "bits"}, "place": {"beats", "merge"}, "var": {"result"}}
RESULTS = {None: [], "bool": ["RD_RESULT_BOOL"], "long": ["RD_RESULT_LONG"], "real": ["RD_RESULT_REAL"]}
# Flags that an entry may list, and RD_OUTPUTS_MAX, of plugins/cpu/reduce/reduce.h.
FLAGS = {"RD_DTYPE", "RD_INT_TO_LONG", "RD_ROOT", "RD_NO_HALF", "RD_CAST_RESULT", "RD_NONE_IS_NONE", "RD_FLOAT_ONLY",
         "RD_SAME_KIND", "RD_DIMS_IN_TURN"}
OUTPUTS_MAX = 2
REAL = {"c64": "f32", "c128": "f64"}


def by_type(value, cls, default=None):
    """Return `value` for type `cls`.  A dict {kind or type: value} is looked up by the narrowest
    key."""
    if not isinstance(value, dict):
        return default if value is None else value
    return value.get(cls, value.get(by_kind(value, cls), default))


class Reduction:
    """One entry of reduce.yaml."""

    def __init__(self, entry, family, ops, groups, known):
        self.where, self.family, self.name, self.entry = entry.where, family, entry.get("op"), entry
        check(is_a(self.name, str), self.where, "op: a name is wanted")
        check_fields(entry, FIELDS, self.name)
        check(re.fullmatch(r"\w+", self.name), entry.at("op"), f"{self.name}: op: no name of C")
        check(self.name not in known, entry.at("op"), f"op: '{self.name}' is there twice")
        self.same = entry.get("same")
        check(self.same is None or self.same in known, entry.at("same"), f"{self.name}: same: no op '{self.same}' before it")
        self.of = known[self.same].of if self.same else self  # the entry that defines the loops
        self.error = entry.get("error", f"{self.name}_cpu")
        self.outputs = entry.get("outputs", 1)
        check(1 <= self.outputs <= OUTPUTS_MAX, entry.at("outputs"), f"{self.name}: outputs: {self.outputs}, from 1 to {OUTPUTS_MAX}")
        self.funcs = [op for group in find(entry, ops, groups, ("functional", "out"), self.name) for op in group]
        odd = set(entry.get("flags", [])) - FLAGS
        check(not odd, entry.at("flags"), f"{self.name}: flags: no such: {', '.join(sorted(odd))}")
        if self.same:
            odd = [field for field in entry if field not in SAME_FIELDS]
            check(not odd, entry.at(odd[0] if odd else ""), f"{self.name}: {', '.join(odd)}: it has the loops of '{self.same}'")
            self.flags = sorted(set(known[self.same].flags) | set(entry.get("flags", [])))
        else:
            self.read_loops()

    def read_loops(self):
        entry = self.entry
        self.variant, self.result, self.bits = entry.get("form"), entry.get("result"), entry.get("bits", False)
        check_choice(entry, "form", {form for form in FORMS if form}, self.name)
        check_choice(entry, "result", {result for result in RESULTS if result}, self.name)
        for field in (*BY_TYPE, "result", "bits"):
            check(field not in entry or field in FORMS[self.variant], entry.at(field),
                  f"{self.name}: {field}: form {self.variant} has none")
        check(not self.bits or entry.get("each") == "x != 0", entry.at("bits"), f"{self.name}: bits: of each x != 0 alone")
        kinds = entry.get("types", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        check(kinds and all(k in KINDS for k in kinds), entry.at("types"), f"{self.name}: types: {kinds}; kinds are wanted")
        self.types = [t for t in TYPES if any(t in KINDS[k] for k in kinds)]
        for field in (f for f in BY_TYPE if isinstance(entry.get(f), dict)):
            self.check_by_type(entry[field], field)
        self.flags = sorted(set(entry.get("flags", [])) | set(RESULTS[self.result])
                            | (set() if "none" in entry or self.variant == "var" else {"RD_NO_IDENTITY"})
                            | ({"RD_ROW_MAJOR"} if self.variant == "place" else set()))

    def check_by_type(self, by, field):
        check_fields(by, dict.fromkeys((*KINDS, *TYPES), TEXT), f"{self.name}: {field}")
        used = {cls if cls in by else by_kind(by, cls) for cls in TYPES}
        for key in by:
            check(key in used, by.at(key), f"{self.name}: {field}: {key}: narrower ones stand for all that it is for")

    def acc(self, cls):
        acc = by_type(self.entry.get("acc"), cls, cls)
        check(acc in TYPES, self.entry.at("acc"), f"{self.name}: acc: no type: '{acc}'")
        return acc

    def out(self, cls):
        """Return the type of the result of `finish`."""
        if self.result == "real":
            return REAL.get(cls, cls)
        return "b8" if self.result == "bool" else "i64" if self.result == "long" else self.acc(cls)

    def expr(self, field, cls, default=None):
        text, at = by_type(self.entry.get(field), cls, default), self.entry.at(field)
        check(text is not None, at, f"{self.name}: {field}: nothing for {cls}")
        made = Expr(text, cls if field == "each" else self.acc(cls), at, f"{self.name}: {field}")
        made.check_names({"each": {"x", "s"}, "finish": {"a", "s"}, "none": set()}.get(field, {"a", "b"}) | {"n", "p"})
        return made.text


def reductions(path, ops):
    """Return {family: [Reduction]}."""
    groups, families, known, runs = forms(ops), {}, {}, {}
    document = load(path, Entry, "families of entries")
    for family, listed in document.items():
        check(re.fullmatch(r"\w+", str(family)), document.at(family), f"{family}: no name of C")
        for entry in entries(listed, document.at(family), f"{family}: "):
            r = known[entry.get("op")] = Reduction(entry, family, ops, groups, known)
            families.setdefault(family, []).append(r)
            for op in r.funcs:
                check(op.name not in runs, entry.at("func"), f"{r.name}: func: {op.name} is computed by {runs.get(op.name)}")
                runs[op.name] = r.name
    return families
