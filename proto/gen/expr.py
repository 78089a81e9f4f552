"""expr.py -- translates the expressions of pointwise.yaml and reduce.yaml to C for one type at a
time."""

import re

from tables import check

# Types that loops compute in (plugins/cpu/pointwise/loops/types.h), in the order of a row.
TYPES = ["b8", "u8", "i8", "i16", "i32", "i64", "f32", "f64", "c64", "c128"]
INTS, FLOATS, COMPLEX = TYPES[1:6], TYPES[6:8], TYPES[8:]
# Keys of expressions and the types that each key covers; the key with the fewest types wins.
KINDS = {
    "bool": ["b8"], "int": INTS, "float": FLOATS, "complex": COMPLEX, "real": INTS + FLOATS,
    "inexact": FLOATS + COMPLEX, "number": INTS + FLOATS + COMPLEX, "any": TYPES,
}
TEXT = (str, int, float)  # Python types of an expression in the yaml
# Functions with long code.  They are compiled into one loop, for contiguous operands; other
# operands are copied to contiguous blocks first (plugins/cpu/pointwise/pointwise_run.c).
LONG = {"exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin",
        "acos", "atan", "asinh", "acosh", "atanh", "atan2", "erf", "erfc", "sigmoid", "pow"}
# Functions that have long code for float32 only (plugins/cpu/special/loops/special_f32.h).
LONG_F32 = {"lgamma", "ndtri", "i0", "i1", "i0e", "i1e", "k0", "k1", "k0e", "k1e"}
# Functions with a second, vectorisable variant FUNCTION_near, and by type the function that tells
# whether the arguments are outside the range of that variant.
NEAR = {**dict.fromkeys(FLOATS, {"sin": "far", "cos": "far", "tan": "far", "fmod": "quotient_far",
                                 "rem_floor": "quotient_far", "div_floor": "quotient_far"}),
        **dict.fromkeys(KINDS["complex"], {"exp": "far"})}
NEAR["f32"] = {**NEAR["f32"], **dict.fromkeys(["j0", "j1", "y0", "y1", "spherical_j0"], "bessel_far")}
CLOSING = {"(": ")", "[": "]", "{": "}"}


def is_balanced(text):
    """Is every bracket closed by a bracket of its kind?"""
    open_ = []
    for c in text:
        if c in CLOSING:
            open_.append(CLOSING[c])
        elif c in CLOSING.values() and (not open_ or open_.pop() != c):
            return False
    return not open_


class Expr:
    """An expression for one type.  text: the C text, with the functions of that type; names: all
    names in it; packed: its loop takes contiguous operands only; near, far: see NEAR (None: no such
    variant)."""

    def __init__(self, text, cls, where, label):
        text = str(text)
        check(is_balanced(text), where, f"{label}: a parenthesis is left open or closed twice: '{text}'")
        self.cls, self.where, self.label = cls, where, label
        self.names = set(re.findall(r"\b[A-Za-z_]\w*\b", text))
        nears = NEAR.get(cls, {})
        called = set(re.findall(r"\b([a-z_]\w*)\(", text))
        self.far = self.far_test(text, nears) if called & set(nears) else None
        self.packed = self.far is not None or (cls in FLOATS and bool(called & LONG)) \
            or (cls == "f32" and bool(called & LONG_F32))
        self.text = self.typed(text)
        self.near = self.typed(re.sub(rf"\b({'|'.join(nears)})\(", r"\1_near(", text)) if self.far else None

    def typed(self, text):
        return re.sub(r"\b([a-z_]\w*)\(", rf"pw_\1_{self.cls}(", text)

    def far_test(self, text, nears):
        """Return the C test for arguments outside the range of FUNCTION_near, for the first
        function in `text` that has such a variant; all such functions of an expression have the
        same arguments."""
        match = re.search(rf"\b({'|'.join(nears)})\(", text)
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        return self.typed(f"{nears[match[1]]}({text[match.end():end - 1]})")

    def check_names(self, known):
        """Check that the expression uses only `known` names, functions, constants and types."""
        odd = {n for n in self.names - known
               if not re.match(r"[A-Z]\w*$|u?int\d+_t$", n) and f"pw_{n}_{self.cls}(" not in self.text}
        check(not odd, self.where, f"{self.label}: no argument '{', '.join(sorted(odd))}'")


def by_kind(kinds, cls):
    """Return the key in `kinds` that covers type `cls` and the fewest types; None: no key covers
    it."""
    return min((k for k in kinds if k in KINDS and cls in KINDS[k]), key=lambda k: len(KINDS[k]), default=None)
