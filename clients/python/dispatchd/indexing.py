"""indexing.py -- x[index] and x[index] = value, lowered as PyTorch does (torch/csrc/autograd/python_variable_indexing.cpp).

Integers become select, slices slice, None unsqueeze; tensors, masks and lists are collected for one index or index_put_.
The daemon checks bounds, so most indices need nothing to be known of the tensor."""

from __future__ import annotations

import operator
from typing import Any

from . import dtypes
from .arrays import is_torch
from .encode import connection_of, encode, encode_int
from .operators import call_in_place
from .tensors import Tensor, make

_LARGEST = (1 << 63) - 1  # of an int64
_MOST_IN_A_TUPLE = 32  # a list of so many elements or more is an index of its own, as in PyTorch


def _call(t: Tensor, op: str, more: str) -> Tensor:
    c = connection_of(t)
    return make(c, *c.submit(op, t._handle_on(c) + more, ""))


def _is_array(item: Any) -> bool:
    return hasattr(item, "__array_interface__") and getattr(item, "ndim", 0) > 0


def _tuple(index: Any) -> tuple[Any, ...]:
    """Return the index as a tuple of indices of dimensions."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < _MOST_IN_A_TUPLE and any(
            isinstance(i, (list, tuple, range, Tensor, slice)) or i is None or i is Ellipsis or _is_array(i) for i in index):
        return tuple(index)
    return (index,)


def _index_tensor(item: Any, t: Tensor) -> Tensor:
    """Return a list or an array as a tensor of indices: int64, or a mask."""
    from .arrays import tensor
    made = tensor(item, connection=connection_of(t))
    if made.dtype in ("bool", "uint8", "int64"):
        return made
    if made.dtype.is_floating_point or made.dtype.is_complex:
        if made.numel():
            raise IndexError(f"tensors used as indices must be long, byte or bool tensors: an index is {made.dtype}")
    return made.to(dtype=dtypes.int64)


def _normal(item: Any, t: Tensor) -> Any:
    """Return an index as an int, slice, None, Ellipsis, bool or Tensor."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice, Tensor)):
        return item
    if isinstance(item, (list, tuple, range)) or _is_array(item) or is_torch(item):
        return _index_tensor(item, t)
    kind = type(item).__name__
    if kind in ("bool_", "bool"):
        return bool(item)
    if hasattr(item, "__array_interface__") and getattr(item, "ndim", 1) == 0 and hasattr(item, "item"):
        return _normal(item.item(), t)
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                         f"(got {kind})") from None


def _specified(items: list[Any]) -> int:
    """Return how many dimensions the indices take."""
    n = 0
    for i in items:
        if isinstance(i, Tensor):
            n += i.ndim if i.dtype in ("bool", "uint8") else 1
        elif i is not None and i is not Ellipsis and not isinstance(i, bool):
            n += 1
    return n


def _fitting(item: int, t: Tensor) -> str:
    if not -_LARGEST <= item <= _LARGEST:
        raise IndexError(f"an index of {item.bit_length()} bits is out of range for a tensor of shape {list(t.shape)}")
    return encode_int(item)


def _slice_part(v: Any) -> str:
    if v is None:
        return "null"
    try:
        at = operator.index(v)
    except TypeError:
        raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(v).__name__}") from None
    return encode(max(-_LARGEST, min(at, _LARGEST)), None)  # type: ignore[arg-type]  # beyond any size, as Python's slices


def _sliced(t: Tensor, items: list[Any]) -> tuple[Tensor, list[Tensor | None]]:
    """Apply all indices but tensors; return the view, and the tensors by dimension of the view."""
    result = t
    dim = 0
    indices: list[Tensor | None] = []

    def record(index: Tensor) -> None:
        while len(indices) < dim:
            indices.append(None)
        indices.append(index)

    for item in items:
        if isinstance(item, bool):
            result = _call(result, "aten::unsqueeze", f",{dim}")
            record(_bool_index(item, t))
            dim += 1
        elif isinstance(item, int):
            result = _call(result, "aten::select.int", f",{dim},{_fitting(item, t)}")
        elif isinstance(item, slice):
            if item.start is not None or item.stop is not None or item.step not in (None, 1):
                step = 1 if item.step is None else operator.index(item.step)
                if step <= 0:
                    raise ValueError("step must be greater than zero: a slice of a tensor cannot go backwards; flip() does")
                result = _call(result, "aten::slice.Tensor",
                               f",{dim},{_slice_part(item.start)},{_slice_part(item.stop)},{_slice_part(step)}")
            dim += 1
        elif item is Ellipsis:
            dim += t.ndim - _specified(items)
        elif item is None:
            result = _call(result, "aten::unsqueeze", f",{dim}")
            dim += 1
        elif item.ndim == 0 and item.dtype.kind in "iub":
            if item.dtype in ("bool", "uint8"):
                result = _call(result, "aten::unsqueeze", f",{dim}")
                record(_bool_index(bool(item), t))
                dim += 1
            else:
                result = _call(result, "aten::select.int", f",{dim},{int(item)}")
        else:
            record(item)
            dim += item.ndim if item.dtype in ("bool", "uint8") else 1
    return result, indices


def _bool_index(value: bool, t: Tensor) -> Tensor:
    from .arrays import tensor
    return tensor([0] if value else [], dtype=dtypes.int64, connection=connection_of(t))


def _lower(t: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    items = [_normal(i, t) for i in _tuple(index)]
    if len(items) == 1 and isinstance(items[0], int) and not isinstance(items[0], bool) and not t.shape:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number")
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if _specified(items) > t.ndim:
        raise IndexError(f"too many indices for tensor of dimension {t.ndim}: {_specified(items)} were given")
    return _sliced(t, items)


def get(t: Tensor, index: Any) -> Tensor:
    """Return t[index]: a view, or a copy where tensors, masks or lists stand in the index."""
    if index.__class__ is int:  # most indices are
        try:
            return _call(t, "aten::select.int", f",0,{_fitting(index, t)}")
        except IndexError as e:
            if not t.shape:
                raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor "
                                 "to a number") from None
            raise e.with_traceback(None)
    result, indices = _lower(t, index)
    if indices:
        c = connection_of(t)
        return make(c, *c.submit("aten::index.Tensor", f"{result._handle_on(c)},{encode(indices, c)}", ""))
    return _call(t, "aten::alias", "") if result is t else result


def _without_prefix_ones(value: Tensor) -> Tensor:
    """Return `value` without leading dimensions of size 1: an assignment ignores them."""
    shape = list(value.shape)
    while shape and shape[0] == 1:
        shape.pop(0)
    return value if len(shape) == value.ndim else value.view(shape)  # type: ignore[no-any-return]


def _copy_to(target: Tensor, value: Any) -> None:
    c = connection_of(target)
    if not isinstance(value, Tensor):
        call_in_place("aten::fill_.Scalar", target, encode(value, c))
    elif value.ndim == 0:
        call_in_place("aten::fill_.Tensor", target, encode(value, c))
    else:
        source = _without_prefix_ones(value)  # lives until the call is sent
        call_in_place("aten::copy_", target, encode(source, c))


def put(t: Tensor, index: Any, value: Any) -> None:
    """Do t[index] = value."""
    c = connection_of(t)
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 and hasattr(value, "__array_interface__"):
            value = value.item()
        elif isinstance(value, (list, tuple, range)):
            raise TypeError(f"can't assign a {type(value).__name__} to a dispatchd.{t.dtype} tensor: dispatchd.tensor() makes "
                            "one that can be assigned")
        else:
            from .arrays import tensor
            value = tensor(value, connection=c)
    if index is False:
        return
    if index is Ellipsis or (isinstance(index, slice) and index == slice(None)):
        _copy_to(t, value)
        return
    if index is True:
        _copy_to(_call(t, "aten::unsqueeze", ",0"), value)
        return
    view, indices = _lower(t, index)
    if not indices:
        _copy_to(view, value)
        return
    if isinstance(value, Tensor):
        source = _without_prefix_ones(value)
    else:
        source = make(c, *c.submit("aten::full", f"[],{encode(value, c)}", f',"kwargs":{{"dtype":"{t.dtype}"}}'))
    call_in_place("aten::index_put_", view, f"{encode(indices, c)},{encode(source, c)}")
    t._cell = view._cell if view is t else t._cell
