"""encode.py -- arguments of operators as the JSON of the protocol."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any, Callable, TYPE_CHECKING

from .connection import Connection
from .defaults import current
from .dtypes import dtype, of

if TYPE_CHECKING:
    from .tensors import Tensor

_dumps = json.JSONEncoder(ensure_ascii=False).encode
_literal = json.JSONEncoder(allow_nan=False).encode
_MOST_INT = 1 << 53  # integers from here on are strings in JSON


class Unfit(TypeError):
    """A value that no operator takes.  For users it is a TypeError, and prints as one."""

    __module__, __qualname__ = "builtins", "TypeError"


def connection_of(first: "Tensor", others: "tuple[Any, ...] | list[Any]" = ()) -> Connection:
    """Return the connection for a call whose first tensor is `first`: its own, or that of this thread in its session."""
    c = first._c
    if c.thread != threading.get_ident():
        return c.session.here()
    return c


def find_connection(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Connection:
    """Return the connection of the first tensor among the arguments, else the thread's current one."""
    from .tensors import Tensor
    for v in args:
        if isinstance(v, Tensor):
            return connection_of(v)
        if v.__class__ in (list, tuple):
            for w in v:
                if isinstance(w, Tensor):
                    return connection_of(w)
    for v in kwargs.values():
        if isinstance(v, Tensor):
            return connection_of(v)
        if v.__class__ in (list, tuple):
            for w in v:
                if isinstance(w, Tensor):
                    return connection_of(w)
    return current()


def encode_float(v: float) -> str:
    if v - v != 0:
        return '{"float":"nan"}' if v != v else '{"float":"inf"}' if v > 0 else '{"float":"-inf"}'
    if v.is_integer():
        return f'{{"float":{float(v)!r}}}'
    return float.__repr__(v)


def encode_int(v: int) -> str:
    if -_MOST_INT < v < _MOST_INT:
        return int.__repr__(v)
    if v.bit_length() > 1023:  # Python prints no longer ones
        raise ValueError(f"an integer of {v.bit_length()} bits does not fit int64")
    return f'{{"int":"{int(v)}"}}'


def encode_complex(v: complex) -> str:
    parts = [float.__repr__(z) if z - z == 0 else f'"{z}"' for z in (v.real, v.imag)]
    return f'{{"complex":[{parts[0]},{parts[1]}]}}'


def encode_str(v: str) -> str:
    try:
        v.encode()
    except UnicodeEncodeError as e:
        raise ValueError(f"{v!r} cannot be sent as text: {e.reason} at index {e.start}") from None
    if "\0" in v:
        raise ValueError(f"{v!r} cannot be sent as text: NUL at index {v.index(chr(0))}")
    return _dumps(v)


# by the type of a value; for other types encode() looks further
_ENCODERS: dict[type, Callable[[Any], str]] = {
    int: encode_int, float: encode_float, bool: lambda v: "true" if v else "false",
    type(None): lambda v: "null", complex: encode_complex, str: encode_str, dtype: lambda v: f'"{v}"'}


def encode(v: Any, c: Connection) -> str:
    """Return `v` as JSON for a call on connection `c`."""
    known = _ENCODERS.get(v.__class__)
    if known is not None:
        return known(v)
    handle = getattr(v, "_handle_on", None)
    if handle is not None:
        return handle(c)  # type: ignore[no-any-return]
    if isinstance(v, (list, tuple)):
        return "[" + ",".join([encode(w, c) for w in v]) + "]"
    if isinstance(v, dict):  # a literal of the protocol
        return _encode_literal(v)
    return _encode_other(v, c)


def encode_kwargs(kwargs: dict[str, Any], c: Connection) -> str:
    """Return keyword arguments as a further param of a call; their names may be any text."""
    return ',"kwargs":{' + ",".join([f"{encode_str(k)}:{encode(v, c)}" for k, v in kwargs.items()]) + "}" if kwargs else ""


def _encode_literal(v: Any) -> str:
    try:
        return _literal(v)
    except ValueError as e:
        raise ValueError(f"a dict is given as a literal of docs/protocol.md, and is not JSON: {e}; nan and inf are spelled "
                         'as strings there: "nan"') from None


def _encode_array(v: Any, c: Connection) -> str:
    from .arrays import tensor
    made = tensor(v, connection=c)
    c.holding(made)  # until the call that uses it is sent
    return made._handle_on(c)


def _encode_other(v: Any, c: Connection) -> str:
    for kind in (bool, int, float, complex, str):
        if isinstance(v, kind):
            return _ENCODERS[kind](kind(v))
    if isinstance(v, range):
        return encode(list(v), c)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(v, numpy.generic):
            return encode(v.item(), c)
        if isinstance(v, numpy.ndarray):
            return _encode_array(v, c)
        if isinstance(v, numpy.dtype) or isinstance(v, type) and issubclass(v, numpy.generic):
            return f'"{of(v)}"'
    if isinstance(v, type) and v in (float, int, bool, complex):
        return f'"{of(v)}"'
    if type(v).__module__ == "torch" and type(v).__name__ in ("dtype", "device", "memory_format", "layout"):
        return f'"{str(v).removeprefix("torch.")}"'
    if "torch" in sys.modules:
        from .arrays import is_torch
        if is_torch(v):
            return _encode_array(v, c)
    if hasattr(v, "__index__"):
        return encode_int(v.__index__())
    raise Unfit(f"an argument is a {type(v).__module__}.{type(v).__name__}: operators take tensors, numbers, strings, "
                "dtypes, None and lists of them; dispatchd.tensor() makes a tensor of arrays")
