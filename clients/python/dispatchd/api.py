"""api.py -- the operators as functions and methods, made from their schemas when they are first used.

The daemon chooses the overload, so a function only has to know which names its arguments have in PyTorch, whether it
returns one tensor (then the call need not wait for a handle), and which tensors it writes."""

from __future__ import annotations

import collections
import functools
from typing import Any, Callable

from .connection import Connection
from .defaults import current
from .encode import encode, encode_kwargs, encode_str, find_connection
from .operators import NUMBERS_AS_TENSORS
from .schema import Schema, parse

# PyTorch's other names of arguments: NumPy's
_RENAMED = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "a": "self", "x1": "self", "x2": "other"}
_ALPHA = {"alpha", "out"}
_FACTORY = {"dtype", "layout", "device"}
Function = Callable[..., Any]


def _tables() -> Any:
    from . import _schemas
    return _schemas


class _Operator:
    """What is known of the overloads of one name."""

    __slots__ = ("name", "schemas", "single", "in_place", "tensors", "names", "factory", "sizes_at", "self_at", "writes", "outs",
                 "fields")

    def __init__(self, base: str, schemas: list[Schema]) -> None:
        self.name = "aten::" + base
        self.schemas = schemas
        plain = [s for s in schemas if not s.out] or schemas
        self.tensors = self.name + ".Tensor" if base in NUMBERS_AS_TENSORS else None
        self.in_place = base.endswith("_") and not base.endswith("__") and plain[0].returns[:1] == [("Tensor!", "")]
        self.single = all(s.single for s in plain)
        self.writes = any(a.written for s in plain for a in s.arguments)
        self.names = {a.name for s in schemas for a in s.arguments}
        first = [a.name for a in plain[0].arguments]
        self.self_at = first.index("self") if "self" in first else 0
        self.factory = _FACTORY <= self.names and not any(a.type == "Tensor" and a.default is None
                                                          for s in plain for a in s.arguments if a.name != "self")
        self.sizes_at = _sizes_at(plain)
        self.outs = {len(s.out): s.out for s in schemas if s.out}
        self.fields = {len(s.returns): [n for _, n in s.returns] for s in plain
                       if len(s.returns) > 1 and all(n for _, n in s.returns)}

    def keyword(self, name: str, function: str) -> str:
        """Return the schema's name of keyword argument `name`."""
        if name in self.names and name != "self":
            return name
        other = _RENAMED.get(name, name)
        if other in self.names and (name != "self" or "input" not in self.names):
            return other
        public = ["input" if n == "self" else n for n in sorted(self.names)]
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'; it has {', '.join(public)}")


def _sizes_at(schemas: list[Schema]) -> int | None:
    """Return the position from which integers may stand one by one, as in view(2, 3): the last positional argument of an
    overload is a list of integers, and no overload takes a single one there."""
    for s in schemas:
        positional = [a for a in s.arguments if not a.keyword]
        if positional and positional[-1].type in ("int[]", "SymInt[]"):
            at = len(positional) - 1
            others = [t.arguments[at].type for t in schemas if len(t.arguments) > at]
            return at if not any(t.rstrip("?") in ("int", "SymInt", "Scalar") for t in others) else None
    return None


@functools.cache
def known(base: str) -> _Operator | None:
    """Return what is known of operator aten::`base`, or None."""
    text = _tables().SCHEMAS.get(base)
    return None if text is None else _Operator(base, [parse(line) for line in text.split("\n")])


def run(o: _Operator, function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call operator `o` with Python's arguments; return what PyTorch's function of that name returns."""
    from .tensors import Tensor, make
    c = find_connection(args, kwargs)
    more, wants_grad, out = "", False, None
    at = o.sizes_at
    if at is not None and len(args) > at and args[at].__class__ is int:
        args = (*args[:at], list(args[at:]))
    if kwargs:
        parts: list[str] = []
        taken: dict[str, str] = {}
        for name, value in kwargs.items():
            if name == "out":
                out = value
                if value is None:
                    continue
                targets = value if isinstance(value, (tuple, list)) else (value,)
                names = o.outs.get(len(targets))
                if names is None:
                    raise TypeError(f"{function}() takes no out= of {len(targets)} tensors")
                parts += [f'"{n}":{encode(t, c)}' for n, t in zip(names, targets)]
            elif name == "requires_grad" and o.factory and name not in o.names:
                wants_grad = bool(value)
            else:
                keyword = o.keyword(name, function)
                if taken.setdefault(keyword, name) != name:  # two members of one name are no JSON that the daemon takes
                    raise TypeError(f"{function}() got one argument by two names: '{taken[keyword]}' and '{name}'")
                parts.append(f'"{keyword}":{encode(value, c)}')
        more = ',"kwargs":{' + ",".join(parts) + "}" if parts else ""
    text = ",".join([encode(a, c) for a in args])
    if o.in_place and args and isinstance(args[0], Tensor):
        args[0]._cell = c.request("op.call", f'"op":"{o.name}","args":[{text}]{more}')
        return args[0]
    if out is None and o.single and not o.in_place:
        name = o.name
        if o.tensors and len(args) == 2 and kwargs.keys() <= _ALPHA and isinstance(args[0], Tensor) and not isinstance(args[1], (list, tuple)):
            name = o.tensors
        result = make(c, *c.submit(name, text, more))
        return result.requires_grad_() if wants_grad else result
    outputs = c.outputs(o.name, text, more)
    return results(outputs, c, out, o, args, kwargs)


def results(outputs: list[Any], c: Connection, out: Any, o: _Operator | None, args: tuple[Any, ...],
            kwargs: dict[str, Any]) -> Any:
    """Return the outputs of an answer as Python values: an argument that was written is that argument itself."""
    from .tensors import Tensor, wrap
    given = {}
    if out is not None or o is None or o.writes:
        for v in [*args, *kwargs.values()]:
            for t in v if isinstance(v, (list, tuple)) else (v,):
                if isinstance(t, Tensor):
                    given[t._h] = t
    values = []
    for output in outputs:
        written = given.get(output["tensor"]) if isinstance(output, dict) and "tensor" in output else None
        if written is not None:
            written._cell = [output, 0, None]
            values.append(written)
        else:
            values.append(wrap(output, c))
    c.claim()
    if len(values) == 1:
        return values[0]
    names = o.fields.get(len(values)) if o is not None else None
    if not values:
        return None
    return _named(o.name.partition("::")[2], tuple(names))(*values) if names and o is not None else tuple(values)


@functools.cache
def _named(name: str, fields: tuple[str, ...]) -> Any:
    return collections.namedtuple(name, fields, rename=True, module="dispatchd.return_types")


def _documented(f: Function, name: str, o: _Operator, is_method: bool) -> Function:
    f.__name__ = f.__qualname__ = name
    f.__module__ = "dispatchd"
    f.__doc__ = _doc(o, is_method)
    return f


def _doc(o: _Operator, is_method: bool) -> str:
    lines = [s.text for s in o.schemas]
    what = "its tensor is `self`" if is_method else "the argument `self` is called `input`"
    return (f"Call operator {o.name}; {what}.  The overload is chosen by the arguments:\n\n    " + "\n    ".join(lines) +
            "\n\nNumbers are wrapped numbers: they do not change the dtype within its kind.")


def operator(name: str) -> Function:
    """Return a function for operator `name`, such as "aten::add" or "aten::add.Tensor"."""
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    o = known(base) if space == "aten" else None
    if o is not None and overload:
        wanted = [s for s in o.schemas if s.name == rest]
        o = _Operator(base, wanted) if wanted else None
        if o is not None:
            o.name = name
    if o is None:
        def unknown(*args: Any, **kwargs: Any) -> Any:
            c = find_connection(args, kwargs)
            outputs = c.outputs(encode_str(name)[1:-1], ",".join([encode(a, c) for a in args]), encode_kwargs(kwargs, c))
            return results(outputs, c, None, None, args, kwargs)
        unknown.__name__ = rest
        return unknown
    found = o

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(found, rest, args, kwargs)
    return _documented(call, rest, o, True)


@functools.cache
def function(base: str, name: str) -> Function | None:
    """Return the function `name` of operator aten::`base`, or None if there is no such operator."""
    o = known(base)
    if o is None:
        return None
    found = o

    def call(*args: Any, **kwargs: Any) -> Any:
        return run(found, name, args, kwargs)
    return _documented(call, name, o, False)


def call_named(base: str, *args: Any, **kwargs: Any) -> Any:
    """Call operator aten::`base`."""
    o = known(base)
    assert o is not None, base
    return run(o, base, args, kwargs)


def method(name: str) -> Function | None:
    """Return the method of Tensor called `name` and make it an attribute of the class; None if there is none."""
    from .tensors import Tensor
    if name not in _tables().METHODS:
        return None
    o = known(name)
    assert o is not None
    found = o
    at = o.self_at

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if at:
            return run(found, name, (*args[:at], self, *args[at:]), kwargs)
        return run(found, name, (self, *args), kwargs)
    _documented(call, name, o, True)
    setattr(Tensor, name, call)
    return call


def method_names() -> frozenset[str]:
    """Return the names of the methods that are operators."""
    return _tables().METHODS  # type: ignore[no-any-return]


def function_names() -> frozenset[str]:
    """Return the names of the functions that are operators."""
    return _tables().FUNCTIONS  # type: ignore[no-any-return]


def nearest(name: str) -> str:
    """Return "; did you mean 'relu'?" for a name that is nearly right, else nothing."""
    import difflib
    close = difflib.get_close_matches(name, [*function_names(), *method_names()], 1)
    return f"; did you mean '{close[0]}'?" if close else ""


class Namespace:
    """dispatchd.linalg, dispatchd.fft and dispatchd.special: functions of the operators with that prefix."""

    def __init__(self, name: str) -> None:
        self.__name__ = "dispatchd." + name
        self._prefix = name + "_"
        self._kind = name.upper()

    def __getattr__(self, name: str) -> Any:
        made: Any = None
        if name == "LinAlgError" and self._prefix == "linalg_":
            from .errors import LinAlgError as made  # noqa: N811
        elif not name.startswith("_") and name in getattr(_tables(), self._kind):
            made = function(self._prefix + name, name)
        if made is None:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted([*getattr(_tables(), self._kind), *(["LinAlgError"] if self._prefix == "linalg_" else [])])

    def __repr__(self) -> str:
        return f"<operators {self.__name__}>"


class _Overloads:
    """dispatchd.ops.NAMESPACE.name: callable; its attributes are the overloads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._call = operator(name)
        self.__doc__ = self._call.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("_"):
            raise AttributeError(overload)
        return _Overloads(self._name if overload == "default" else f"{self._name}.{overload}")

    def __dir__(self) -> list[str]:
        found = current().call("registry.list", namespace=self._name.partition("::")[0])["ops"]
        return [n[len(self._name) + 1:] for n in found if n.startswith(self._name + ".")]

    def describe(self) -> dict[str, Any]:
        """Return what the registry knows of the operator: its schema, kernels and dispatch table."""
        return current().call("registry.describe", op=self._name)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<operator {self._name}>"


class _OpNamespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Overloads:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _Overloads(f"{self._name}::{name}")
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        found = current().call("registry.list", namespace=self._name)["ops"]
        return sorted({n.partition("::")[2].partition(".")[0] for n in found})


class Ops:
    """dispatchd.ops.NAMESPACE.name.overload: every operator of the daemon, those of plugins as soon as they are loaded."""

    def __getattr__(self, name: str) -> _OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _OpNamespace(name)
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted({n.partition("::")[0] for n in current().call("registry.list")["ops"]})
