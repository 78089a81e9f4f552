"""ops.py -- reads native_functions.yaml: the schema, variant and dispatch keys of each overload.

The variant of an overload is "functional", "in_place" or "out".  Overloads of one operator that differ
only in variant have one signature."""

import re

import autogen
from tables import Listed, check, check_fields, entries, load, words

# Letters of C types (dispatchd/plugin.h): type in a schema -> letter.
LETTERS = {
    "Tensor": "T", "Scalar": "s", "int": "i", "SymInt": "i", "ScalarType": "i", "Layout": "i",
    "MemoryFormat": "i", "Device": "i", "float": "f", "bool": "b", "str": "S", "Generator": "g",
    "Tensor?": "oT", "Scalar?": "os", "int?": "oi", "ScalarType?": "oi", "Layout?": "oi",
    "MemoryFormat?": "oi", "Device?": "oi", "float?": "of", "bool?": "ob", "str?": "oS",
    "Generator?": "og", "Tensor[]": "lT", "int[]": "li", "int[]?": "oli", "float[]": "lf", "bool[]": "lb",
    "SymInt?": "oi", "SymInt[]": "li", "SymInt[]?": "oli", "float[]?": "olf", "Scalar[]": "ls", "str[]": "lS",
}

# Type names of schemas, without ? and [].
TYPE_NAMES = {re.sub(r"[?]|\[\]", "", name) for name in LETTERS} | {"Storage", "Stream", "complex"}
# Patterns of default values, by type.  For other types the only default is None.
NUMBER = r"-?(\d+\.?\d*(e[-+]?\d+)?|inf)|nan"
SPELLED = {**dict.fromkeys(("int", "SymInt"), r"-?\d+"), **dict.fromkeys(("float", "Scalar"), NUMBER),
           **dict.fromkeys(("ScalarType", "Layout", "MemoryFormat"), r"\d+"), "bool": "True|False",
           "str": r'"([^"\\]|\\.)*"'}
FIELDS = {"func": str, "structured": bool, "structured_delegate": str, "dispatch": str, "autogen": str, "tags": str}
KEYS = {"CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"}
# PyTorch's tags, and this project's tags that change what the host does
# (dispatchd/plugin_macros.h).
TAGS = {"data_dependent_output", "dynamic_output_shape", "generated", "inplace_view", "nondeterministic_bitwise",
        "nondeterministic_seeded", "view_copy"} | {"also_written", "keeps_version", "detached", "reads_once"}


def is_default(kind, text):
    """Is `text` a valid default value of type `kind`?"""
    if text == "None":
        return kind.endswith("?")
    match = re.fullmatch(r"(.+)\[(\d*)\]", kind.rstrip("?"))
    if match is None:
        return re.fullmatch(SPELLED.get(kind.rstrip("?"), r"\b\B"), text) is not None
    if text[:1] + text[-1:] == "[]":
        return all(is_default(match[1], part) for part in re.split(", *", text[1:-1]) if text != "[]")
    # one value for every element: int[2] stride=1
    return match[2] != "" and is_default(match[1], text)


def without_alias(text):
    return re.sub(r"\([^)]*\)", "", text)


def is_type(text):
    return re.sub(r"[?]|\[\d*\]", "", text) in TYPE_NAMES


class Argument:
    """One argument of a schema, such as "Tensor(a!) self" or "Scalar alpha=1".  type: without the
    alias set; written: does the operator write it?"""

    def __init__(self, text, where, label):
        text, equals, self.default = text.partition("=")
        check(" " in text, where, f"{label}: func: an argument without a name: '{text}'")
        kind, self.name = text.rsplit(" ", 1)
        check(self.name.isidentifier(), where, f"{label}: func: no name of an argument: '{self.name}'")
        self.written = "!" in kind
        self.alias = kind[:kind.index(")") + 1] if self.written else None  # "Tensor(a!)"
        self.type = without_alias(kind)
        check(is_type(self.type), where, f"{label}: func: no such type: '{kind}'")
        check(not equals or is_default(self.type, self.default), where,
              f"{label}: func: no default of a {self.type}: '{self.name}={self.default}'")

    @property
    def letter(self):
        return LETTERS.get(re.sub(r"\[\d+\]", "[]", self.type))


class Op:
    """One overload: an entry of native_functions.yaml, or an overload that the autogen field of an
    entry names."""

    def __init__(self, func, where, generated_from=None):
        self.func, self.where, self.generated_from = func, where, generated_from
        match = re.fullmatch(r"(\w+(?:\.\w+)?)\((.*)\) -> (.+)", func)
        check(match, where, f"{func.split('(')[0]}: func: not a schema: '{func}'")
        self.name, arguments, returns = match.groups()
        self.base, _, self.overload = self.name.partition(".")
        self.parts = re.split(r", (?![^\[(]*[\])])", arguments) if arguments else []
        self.args = [Argument(a, where, self.name) for a in self.parts if a != "*"]
        self.returns = [returns] if not returns.startswith("(") else returns[1:-1].split(", ") if returns != "()" else []
        self.tags, self.dispatch, self.autogen = [], [], []
        # abstract: the field `structured`; delegate: the overload named by `structured_delegate`
        self.abstract, self.delegate = False, None
        self.check_schema()

    def check_schema(self):
        names = [a.name for a in self.args]
        check(len(set(names)) == len(names), self.where, f"{self.name}: func: two arguments have one name: '{self.func}'")
        check(self.parts.count("*") <= 1 and self.parts[-1:] != ["*"], self.where,
              f"{self.name}: func: '*' stands once, before an argument: '{self.func}'")
        sets = re.findall(r"\((\w)[! )]", " ".join(self.parts))
        for returned in self.returns:
            check(is_type(without_alias(returned).split(" ")[0]), self.where,
                  f"{self.name}: func: no such type: '{returned}'")
            match = re.search(r"\((\w)", returned)
            check(not match or match[1] in sets, self.where,
                  f"{self.name}: func: '{returned}' is returned, and no argument has that alias set")

    def read(self, entry):
        """Read the fields of the entry other than func."""
        check_fields(entry, FIELDS, self.name)
        self.tags, self.dispatch, self.autogen = (words(entry, f, self.name) for f in ("tags", "dispatch", "autogen"))
        for tag in self.tags:
            kind, colon, of = tag.partition(":")
            check(kind in TAGS and bool(colon) == (kind == "also_written"), entry.at("tags"), f"{self.name}: tags: no such: '{tag}'")
            check(not colon or of in (a.name for a in self.args), entry.at("tags"), f"{self.name}: tags: no argument '{of}'")
        odd = set(self.dispatch) - KEYS
        check(not odd, entry.at("dispatch"), f"{self.name}: dispatch: no such key: {', '.join(sorted(odd))}")
        check(not {"CompositeImplicitAutograd", "CompositeExplicitAutograd"} <= set(self.dispatch), entry.at("dispatch"),
              f"{self.name}: dispatch: CompositeImplicitAutograd and CompositeExplicitAutograd are for every backend: one of them")
        self.abstract = entry.get("structured", False)
        check("structured" not in entry or self.abstract and self.variant == "out", entry.at("structured"),
              f"{self.name}: structured: True, of an out= overload")
        check(not self.abstract or "structured_delegate" not in entry, entry.at("structured_delegate"),
              f"{self.name}: structured_delegate: of one that is structured itself")

    @property
    def structured(self):
        return self.abstract or self.delegate is not None

    @property
    def variant(self):
        if re.fullmatch(r".*[^_]_|__i\w+__", self.base):
            return "in_place"
        return "out" if any(a.written for a in self.args) else "functional"

    @property
    def signature(self):
        """Return (base name, read arguments), which the variants of one operator have in common."""
        args = [(a.type, a.name) for a in self.args if not (self.variant == "out" and a.written)]
        base = re.sub(r"^__i(\w+)__$", r"__\1__", self.base)
        return base[:-1] if self.variant == "in_place" and base == self.base else base, tuple(args)

    @property
    def keys(self):
        """Return the dispatch keys for which PyTorch has a kernel of this overload."""
        if self.structured:
            default = ["CompositeExplicitAutogradNonFunctional"] if self.delegate else []
            return ["CPU"] + default + [key for key in self.dispatch if key != "CPU"]
        if self.dispatch:
            return self.dispatch
        return ["CompositeExplicitAutograd" if self.generated_from else "CompositeImplicitAutograd"]

    def outs(self):
        return [a for a in self.args if a.written]


def link(op, entry, ops):
    """Resolve the fields of `op` that name other overloads; called after all entries were read."""
    if "structured_delegate" in entry:
        to = ops.get(entry["structured_delegate"])
        check(to and to.abstract and to.signature[1] == op.signature[1], entry.at("structured_delegate"),
              f"{op.name}: structured_delegate: no structured out= overload of it: '{entry['structured_delegate']}'")
        op.delegate = to
    at = entry.at("autogen")
    for name in op.autogen:
        check(re.fullmatch(r"\w+(\.\w+)?", name) and name.split(".")[0] in (op.base, op.signature[0], op.base + "_functional"),
              at, f"{op.name}: autogen: no overload of it: '{name}'")
        check(name not in ops, at, f"{op.name}: autogen: {name} is made by this alone, not by line "
              f"{ops[name].where[1] if name in ops else 0} too")
        check(autogen.is_out(name) or op.outs(), at, f"{op.name}: autogen: {name} would be what {op.name} is: neither writes")
        ops[name] = Op(autogen.schema(op, name), op.where, op)
        ops[name].tags = autogen.tags(op)


def native(path):
    """Return {name: Op}, in the order of the file."""
    ops, read = {}, []
    for entry in entries(load(path, Listed, "entries"), (path, 1), ""):
        check(isinstance(entry.get("func"), str), entry.at("func"), "func: a schema is wanted")
        op = Op(entry["func"], entry.where)
        op.read(entry)
        check(op.name not in ops, entry.at("func"), f"{op.name} is there twice")
        ops[op.name] = op
        read.append((op, entry))
    for op, entry in read:
        link(op, entry, ops)
    return ops


def forms(ops):
    """Return {signature: {variant: Op}}."""
    groups = {}
    for op in ops.values():
        groups.setdefault(op.signature, {}).setdefault(op.variant, op)
    return groups


def find(entry, ops, groups, kinds, label):
    """For each name in the entry's func, return the list of its overloads whose variant is in
    `kinds`."""
    found, names = [], entry.get("func", [])
    for name in [names] if isinstance(names, str) else names:
        check(name in ops, entry.at("func"), f"{label}: func: '{name}' is not in native_functions.yaml")
        group = groups[ops[name].signature]
        found.append([group[f] for f in kinds if f in group])
        check(any("CPU" in op.keys for op in found[-1]), entry.at("func"),
              f"{label}: func: no variant of '{name}' has a kernel for the CPU")
    return found
