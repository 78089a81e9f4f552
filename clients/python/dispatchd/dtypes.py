"""dtypes.py -- the dtypes of tensors, which are strings that know their size."""

from __future__ import annotations


class dtype(str):
    """A dtype: dispatchd.float32 and the others.  It is a string, so "float32" can stand in its place."""

    itemsize: int  # bytes of an element
    kind: str  # what NumPy calls it: b, i, u, f or c; V for those that NumPy lacks
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __new__(cls, name: str, itemsize: int = 0, kind: str = "V") -> "dtype":
        self = super().__new__(cls, name)
        self.itemsize, self.kind = itemsize, kind
        self.is_floating_point = "float" in name
        self.is_complex = kind == "c"
        self.is_signed = kind != "u" and name != "bool"
        return self

    def __repr__(self) -> str:
        return "dispatchd." + self

    def __reduce__(self) -> tuple[object, ...]:
        return of, (str(self),)


uint8 = dtype("uint8", 1, "u")
int8 = dtype("int8", 1, "i")
int16 = short = dtype("int16", 2, "i")
int32 = dtype("int32", 4, "i")
int64 = long = dtype("int64", 8, "i")
float16 = half = dtype("float16", 2, "f")
bfloat16 = dtype("bfloat16", 2, "V")
float32 = dtype("float32", 4, "f")
float64 = double = dtype("float64", 8, "f")
complex64 = cfloat = dtype("complex64", 8, "c")
complex128 = cdouble = dtype("complex128", 16, "c")
bool_ = dtype("bool", 1, "b")

ALL: dict[str, dtype] = {str(d): d for d in (uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64,
                                             complex64, complex128, bool_)}
# names under which the package offers them, PyTorch's
PUBLIC: dict[str, dtype] = {**ALL, "byte": uint8, "char": int8, "half": half, "short": short, "int": int32, "long": long, "float": float32,
                            "double": double, "cfloat": cfloat, "cdouble": cdouble}


def of(value: object) -> dtype:
    """Return the dtype that `value` names: a dtype, its name, a Python type, or a dtype of NumPy or PyTorch."""
    if isinstance(value, dtype):
        return value
    python = {float: float32, int: int64, bool: bool_, complex: complex64}
    if isinstance(value, type) and value in python:
        return python[value]
    name = value if isinstance(value, str) else getattr(value, "name", None) or str(value)
    name = name.removeprefix("torch.")
    if name in ALL:
        return ALL[name]
    names = getattr(value, "__name__", None)  # numpy.float32 is a type
    if names in ALL:
        return ALL[str(names)]
    raise TypeError(f"{value!r} is no dtype that the daemon has; it has {', '.join(ALL)}")


def promoted(a: dtype, b: dtype) -> dtype:
    """Return the dtype that has the elements of both: torch.promote_types."""
    if a == b or "bool" in (a, b):
        return b if a == "bool" else a
    if a.is_complex or b.is_complex:
        return complex128 if {a, b} & {complex128, float64} else complex64
    if a.is_floating_point or b.is_floating_point:
        if not (a.is_floating_point and b.is_floating_point):
            return a if a.is_floating_point else b
        return float64 if float64 in (a, b) else float32
    wide, narrow = (a, b) if a.itemsize >= b.itemsize else (b, a)
    return int16 if wide.itemsize == narrow.itemsize else wide


def get_default_dtype() -> dtype:
    """Return the dtype of floats and of new tensors for which none is given: it is always float32."""
    return float32


class finfo:
    """Limits of a floating-point dtype: bits, eps, max, min, tiny."""

    _VALUES = {"float16": (11, 15), "bfloat16": (8, 127), "float32": (24, 127), "float64": (53, 1023)}

    def __init__(self, type: object = float32) -> None:
        d = of(type)
        if d.is_complex:
            d = float32 if d == "complex64" else float64
        if d not in self._VALUES:
            raise TypeError(f"finfo() takes a floating-point dtype, not {d}")
        digits, exponent = self._VALUES[d]
        self.dtype, self.bits = d, d.itemsize * 8
        self.eps = 2.0 ** (1 - digits)
        self.max = (2 - self.eps) * 2.0 ** exponent
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - exponent)


class iinfo:
    """Limits of an integer dtype: bits, max, min."""

    def __init__(self, type: object) -> None:
        d = of(type)
        if d.kind not in "iu":
            raise TypeError(f"iinfo() takes an integer dtype, not {d}")
        self.dtype, self.bits = d, d.itemsize * 8
        self.min = -(1 << self.bits - 1) if d.kind == "i" else 0
        self.max = (1 << self.bits - (d.kind == "i")) - 1
