"""operators.py -- Python's operators on tensors: x + y, y - x, x *= y, x == y and the others."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .connection import Cell, Connection, Handle
from .encode import connection_of, encode, encode_float

if TYPE_CHECKING:
    from .tensors import Tensor

# operators whose overload for tensors also takes numbers in PyTorch (should_allow_numbers_as_tensors)
NUMBERS_AS_TENSORS = frozenset("add sub mul div".split())
_INT_LIMIT = 1 << 53  # from here on an integer is a string in JSON
_new = object.__new__


class Operators:
    """The base of Tensor; the methods are set below."""

    __slots__ = ("_c", "_h", "_cell", "__weakref__")

    _c: Connection
    _h: int
    _cell: Cell

    if TYPE_CHECKING:  # set below
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __iadd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __isub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __imul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __itruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...

    def _make(self, c: Connection, handle: int, cell: Cell) -> Any:
        t = _new(self.__class__)
        t._c, t._h, t._cell = c, handle, cell
        c._alive[handle] = ref = Handle(t, c._dropped)
        ref.number = handle
        c._unowned = 0
        return t


def call_in_place(op: str, t: Any, more: str) -> Any:
    """Call an operator that writes its first argument and returns it; what is known of the tensor is new then."""
    c = t._c
    if c.thread != threading.get_ident():
        c = c.session.here()
    if isinstance(t._cell[0], Exception):
        t._info
    cell = c.request("op.call", f'"op":"{op}","args":[{t._handle_on(c)},{more}]' if more else
                     f'"op":"{op}","args":[{t._handle_on(c)}]')
    t._cell = cell
    return t


def _binary(op: str) -> tuple[Any, Any, Any]:
    """Return the methods x op y, y op x, and x op= y of operator `op`."""
    overload = ".Tensor" if op in NUMBERS_AS_TENSORS else ""
    name = "aten::" + op + overload

    def forward(self: Any, other: Any) -> Any:
        c = self._c
        if c.thread != threading.get_ident():
            c = c.session.here()
        kind = other.__class__
        if kind is self.__class__:
            text = other._handle_on(c)
        elif kind is int and -_INT_LIMIT < other < _INT_LIMIT:
            text = int.__repr__(other)
        elif kind is float:
            text = encode_float(other)
        elif _foreign(other):
            return NotImplemented
        else:
            text = encode(other, c)
        handle, cell = c.submit(name, f'{self._handle_on(c)},{text}', "")
        t = _new(self.__class__)
        t._c, t._h, t._cell = c, handle, cell
        c._alive[handle] = ref = Handle(t, c._dropped)
        ref.number = handle
        c._unowned = 0
        return t

    def backward(self: Any, other: Any) -> Any:
        if _foreign(other):
            return NotImplemented
        c = connection_of(self)
        return self._make(c, *c.submit(name, f'{encode(other, c)},{self._handle_on(c)}', ""))

    def in_place(self: Any, other: Any) -> Any:
        if _foreign(other):
            return NotImplemented
        c = connection_of(self)
        return call_in_place(f"aten::{op}_{overload}", self, encode(other, c))

    return forward, backward, in_place


def _foreign(value: Any) -> bool:
    """Is `value` of a type that no operator takes, so that Python asks the other operand?"""
    return not (isinstance(value, (Operators, bool, int, float, complex)) or hasattr(value, "__array__") or
                hasattr(value, "__index__"))


for _name, _op in {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
                   "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                   "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "matmul": "matmul"}.items():
    _f, _r, _i = _binary(_op)
    _methods = {f"__{_name}__": _f, f"__r{_name}__": _r}
    if _name != "matmul":
        _methods[f"__i{_name}__"] = _i
    for _k, _v in _methods.items():
        _v.__name__, _v.__qualname__ = _k, f"Tensor.{_k}"
        setattr(Operators, _k, _v)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _f, _, _ = _binary(_name)
    _f.__name__, _f.__qualname__ = f"__{_name}__", f"Tensor.__{_name}__"
    setattr(Operators, _f.__name__, _f)


def _unary(op: str) -> Any:
    def method(self: Any) -> Any:
        c = connection_of(self)
        return self._make(c, *c.submit("aten::" + op, self._handle_on(c), ""))
    return method


for _name, _op in {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}.items():
    setattr(Operators, f"__{_name}__", _unary(_op))
setattr(Operators, "__pos__", lambda self: self)
setattr(Operators, "__hash__", lambda self: id(self))
