"""reduce.py -- the model of proto/ops/reduce.yaml: reductions, their loops' types and expressions."""

from ops import KINDS, TEXTS, TYPES, Expr, check, check_fields, forms, load

BY_TYPE = dict.fromkeys(("acc", "each", "merge", "finish", "none", "beats"), (str, int, float, dict))
FIELDS = {"op": str, "func": TEXTS, "types": TEXTS, "result": str, "form": str, "flags": list, "error": str,
          "same": str, "outputs": int, "bits": bool, **BY_TYPE}
FORMS = {None, "place", "var"}
RESULTS = {None: [], "bool": ["RD_RESULT_BOOL"], "long": ["RD_RESULT_LONG"], "real": ["RD_RESULT_REAL"]}
REAL = {"c64": "f32", "c128": "f64"}


def by_type(value, cls, default=None):
    """What `value` says of the type `cls`: for all alike, or {kind or type: ...}, of which the narrowest counts."""
    if not isinstance(value, dict):
        return default if value is None else value
    if cls in value:
        return value[cls]
    kinds = sorted((k for k in value if k in KINDS and cls in KINDS[k]), key=lambda k: len(KINDS[k]))
    return value[kinds[0]] if kinds else default


class Reduction:
    """One entry of reduce.yaml."""

    def __init__(self, entry, family, ops, groups, known):
        self.where, self.family, self.name = entry["where"], family, entry.get("op")
        check(self.name, self.where, "an entry without op")
        for field in BY_TYPE:
            odd = set(entry[field]) - set(KINDS) - set(TYPES) - {"where"} if isinstance(entry.get(field), dict) else ()
            check(not odd, self.where, f"{self.name}: {field}: no kind or type: {', '.join(sorted(map(str, odd)))}")
        self.same = entry.get("same")
        check(self.same is None or self.same in known, self.where, f"{self.name}: same: no op '{self.same}' before it")
        self.of = known[self.same] if self.same else self  # whose loops it has
        self.error = entry.get("error", f"{self.name}_cpu")
        self.outputs = entry.get("outputs", 1)
        self.funcs = self.find_funcs(entry.get("func", []), ops, groups)
        if self.same:
            self.flags = sorted((set(self.of.flags) | set(entry.get("flags", []))))
            return
        self.entry = entry
        kinds = entry.get("types", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        check(kinds and all(k in KINDS for k in kinds), self.where, f"{self.name}: types: {kinds}; kinds are wanted")
        self.types = [t for t in TYPES if any(t in KINDS[k] for k in kinds)]
        self.bits = entry.get("bits", False)
        self.form = entry.get("form")
        check(self.form in FORMS, self.where, f"{self.name}: form: no such: '{self.form}'")
        check(entry.get("result") in RESULTS, self.where, f"{self.name}: result: no such: '{entry.get('result')}'")
        self.result = entry.get("result")
        self.flags = sorted(set(entry.get("flags", [])) | set(RESULTS[self.result])
                            | (set() if "none" in entry or self.form == "var" else {"RD_NO_IDENTITY"})
                            | ({"RD_ROW_MAJOR"} if self.form == "place" else set()))

    def find_funcs(self, names, ops, groups):
        """The functional and the out= overload of each, as far as they are there."""
        found = []
        for name in [names] if isinstance(names, str) else names:
            check(name in ops, self.where, f"{self.name}: func: '{name}' is not in native_functions.yaml")
            group = groups[ops[name].signature]
            found += [group[f] for f in ("functional", "out") if f in group]
        return found

    def acc(self, cls):
        acc = by_type(self.entry.get("acc"), cls, cls)
        check(acc in TYPES, self.where, f"{self.name}: acc: no type: '{acc}'")
        return acc

    def out(self, cls):
        """Type of what finish gives."""
        if self.result == "real":
            return REAL.get(cls, cls)
        return "b8" if self.result == "bool" else "i64" if self.result == "long" else self.acc(cls)

    def expr(self, field, cls, default=None):
        text = by_type(self.entry.get(field), cls, default)
        check(text is not None, self.where, f"{self.name}: {field}: nothing for {cls}")
        return Expr(text, cls if field == "each" else self.acc(cls)).text


def reductions(path, ops):
    """{family: [Reduction]}"""
    groups, families, known = forms(ops), {}, {}
    document = load(path)
    check(isinstance(document, dict), (path, 1), "families of entries are wanted")
    for family, entries in document.items():
        for entry in entries if family != "where" else []:
            check_fields(entry, FIELDS, "op", (path, 1))
            r = Reduction(entry, family, ops, groups, known)
            check(r.name not in known, r.where, f"op: '{r.name}' is there twice")
            known[r.name] = r
            families.setdefault(family, []).append(r)
    return families
