"""wire.py -- Python values as the JSON of the protocol, and back."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any, Callable


def op_params(name: str, /, *args: Any, returns: str = "handle", into: int | list[int] | None = None,
              **kwargs: Any) -> dict[str, Any]:
    """Return the params of op.call for these arguments; returns, into: see Client.op()."""
    params: dict[str, Any] = {"op": name, "args": to_wire(args), "return": returns}
    if into is not None:
        params["into"] = into
    return {**params, "kwargs": {k: to_wire(v) for k, v in kwargs.items()}} if kwargs else params


def to_wire(value: Any) -> Any:
    """Convert a Python value to the protocol's JSON.  dicts stay unchanged: they are tensor literals,
    or handles such as {"tensor": 1}."""
    if isinstance(value, (list, tuple)):
        return [to_wire(v) for v in value]
    if isinstance(value, float) and (value.is_integer() or value - value != 0):
        return {"float": value if value - value == 0 else str(float(value))}
    if isinstance(value, complex):
        return {"complex": [z if z - z == 0 else str(z) for z in (value.real, value.imag)]}
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return {"int": str(value)}
    return value


_EXACT: dict[str, Callable[[Any], Any]] = {"float": float, "int": int, "complex": lambda z: complex(float(z[0]), float(z[1]))}


def from_wire(value: Any) -> Any:
    """Convert the protocol's JSON to Python values, the inverse of to_wire().  The objects
    that describe tensors stay unchanged."""
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if isinstance(value, dict) and len(value) == 1:
        (name, exact), = value.items()
        return _EXACT[name](exact) if name in _EXACT else value
    return value


def detach(value: Any, blobs: list[memoryview], fds: list[Any]) -> Any:
    """Return a copy of `value`; the bytes of every "attachment" move to `blobs`, and every Fd to
    `fds`, replaced by their index."""
    if isinstance(value, list):
        return [detach(v, blobs, fds) for v in value]
    if not isinstance(value, dict):
        return value
    copy = {}
    for k, v in value.items():
        if k == "attachment" and isinstance(v, (bytes, bytearray, memoryview)):
            blobs.append(memoryview(v).cast("B"))
            v = len(blobs) - 1
        if k == "fd" and hasattr(v, "fileno"):
            fds.append(v)
            v = len(fds) - 1
        copy[k] = detach(v, blobs, fds)
    return copy


def attach(value: Any, name: str, things: list[Any]) -> Any:
    """Return a copy of `value`; the index in every member `name` is replaced by that item of
    `things`."""
    if isinstance(value, list):
        return [attach(v, name, things) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: things[v] if k == name and isinstance(v, int) else attach(v, name, things)
            for k, v in value.items()}
