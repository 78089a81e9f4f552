"""arrays.py -- tensors from lists, arrays and buffers, and back: what is small goes as bytes behind the message, what is
large in a memfd that the daemon maps without a copy."""

from __future__ import annotations

import array
import mmap
import os
import sys
import weakref
from functools import reduce
from typing import Any

from . import dtypes, elements
from .client import share
from .connection import Connection
from .defaults import current
from .errors import from_answer
from .tensors import Tensor, make

_SHARE_FROM = 1 << 16  # bytes from which the daemon maps a memfd and does not copy it
_MOST_DIMS = 64  # dimensions of a tensor
_NUMPY = {"b1": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "f2": "float16",
          "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}
_PYTHON = {bool: dtypes.bool_, int: dtypes.int64, float: dtypes.float32, complex: dtypes.complex64}  # a bool is an int, too
_LITTLE = sys.byteorder == "little"


# -- into the daemon ------------------------------------------------------------------------------

def create(c: Connection, dtype: str, shape: tuple[int, ...], data: Any, device: str | None = None) -> Tensor:
    """Return a new tensor of the bytes of `data`, packed and row-major."""
    handle = c.new_handle()
    params: dict[str, Any] = {"dtype": str(dtype), "shape": list(shape), "into": handle}
    if device is not None and device != "cpu":
        params["device"] = str(device)
    size = memoryview(data).nbytes
    try:
        if size >= _SHARE_FROM:
            memory = share(data)
            try:
                answer = c.call("tensor.create", fd=memory, **params)
                if memory.map is not None:  # the tensor keeps the memory; the number is not needed any more
                    c.notify("map.release", maps=[memory.map])
            finally:
                memory.close()
        else:
            answer = c.call("tensor.create", attachment=data, **params)
    except Exception as e:
        c._unowned = 0
        if isinstance(e, OSError):
            raise c._lost(e) from None
        raise
    return make(c, handle, [answer, 0, None])


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           connection: Connection | None = None) -> Tensor:
    """Return a new tensor with the elements of a number, nested lists, a NumPy array, a buffer or a tensor.

    dtype: as PyTorch infers it by default: int64 for integers, float32 for floats, bool, complex64; an array's own.
    device: "cpu" by default.  requires_grad: record calls with it, so that backward() computes its gradient."""
    c = connection or current()
    wanted = None if dtype is None else dtypes.of(dtype)
    if isinstance(data, Tensor):
        made: Tensor = data.clone().detach()
        if wanted is not None or device is not None:
            made = made.to(dtype=wanted, device=device)
    elif hasattr(data, "__array_interface__") and not is_torch(data):
        made = _from_numpy(data, wanted, c, device)
    elif is_torch(data):
        made = _from_torch(data, wanted, c, device)
    elif (buffer := _buffer(data)) is not None:
        made = _from_buffer(buffer, wanted, c, device)
    elif hasattr(data, "__dlpack__"):
        from .dlpack import from_dlpack
        made = from_dlpack(data)
        if wanted is not None or device is not None:
            made = made.to(dtype=wanted, device=device)
    else:
        made = _from_list(data, wanted, c, device)
    if requires_grad:
        made.requires_grad_()
    return made


def as_tensor(data: Any, *, dtype: Any = None, device: Any = None, connection: Connection | None = None) -> Tensor:
    """Return `data` itself if it is a tensor of that dtype on that device; make any other tensor one with Tensor.to(), which
    keeps its history, and anything else as tensor() does."""
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device, connection=connection)
    if dtype is None and device is None:
        return data
    return data.to(dtype=None if dtype is None else dtypes.of(dtype), device=device)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of a tensor, an array, a DLPack capsule, a buffer, a number or nested lists: torch.asarray.

    A tensor is returned itself where dtype and device fit, and copied otherwise; copy=True: always, copy=False: never, then
    what cannot be shared is a ValueError.  Everything else is copied, since the daemon has memory of its own.  The bytes of a
    buffer are elements of `dtype`, float32 by default.  requires_grad: False takes the history away, and a leaf that is
    returned itself does not require a gradient any more, as in PyTorch."""
    wanted = None if dtype is None else dtypes.of(dtype)
    if isinstance(obj, Tensor):
        for name, of, to in ("device", obj.device, device), ("dtype", obj.dtype, wanted):
            if copy is False and to is not None and to != of:
                raise ValueError(f"a tensor of {name} {of} cannot be shared as one of {name} {to}: copy=None makes a copy")
        made = obj.to(dtype=wanted, device=device, copy=True) if copy else as_tensor(obj, dtype=wanted, device=device)
        if made.requires_grad == bool(requires_grad):
            return made
        return made.requires_grad_(requires_grad) if made.is_leaf else made.detach()  # type: ignore[no-any-return]
    if copy is False:
        raise ValueError(f"the memory of a {type(obj).__name__} cannot be shared, since the daemon has memory of its own: "
                         "copy=None makes a copy")
    if type(obj).__name__ == "PyCapsule":
        from .dlpack import from_dlpack
        obj = from_dlpack(obj)
    elif not hasattr(obj, "__array_interface__") and not is_torch(obj) and (buffer := _buffer(obj)) is not None:
        obj = _from_bytes(buffer, wanted or dtypes.float32)
    if isinstance(obj, Tensor):
        return asarray(obj, dtype=wanted, device=device, requires_grad=requires_grad)
    return tensor(obj, dtype=wanted, device=device, requires_grad=requires_grad)


def is_torch(data: Any) -> bool:
    """Is `data` a tensor of PyTorch?"""
    return type(data).__module__.startswith("torch") and hasattr(data, "data_ptr")


def _buffer(data: Any) -> memoryview | None:
    """Return the memory of an object with the buffer protocol, else None."""
    try:
        return memoryview(data)
    except TypeError:
        return None


def _from_torch(data: Any, wanted: dtypes.dtype | None, c: Connection, device: Any) -> Tensor:
    if str(data.device) != "cpu":
        raise TypeError(f"a PyTorch tensor on {data.device} is given: the daemon takes CPU memory; x.cpu() copies it")
    if str(data.layout) != "torch.strided":
        raise TypeError(f"a PyTorch tensor of layout {data.layout} is given: the daemon takes strided ones; x.to_dense() is one")
    plain = data.detach().resolve_conj().resolve_neg().contiguous()
    name = str(data.dtype).removeprefix("torch.")
    if name not in dtypes.ALL:
        raise TypeError(f"a PyTorch tensor of {data.dtype} is given: the daemon has {', '.join(dtypes.ALL)}")
    import torch
    flat = plain.as_strided((plain.numel(),), (1,))  # of one element, a contiguous tensor has any stride, and view() wants 1
    raw = flat.view(torch.uint8) if plain.numel() and name != "bool" else flat.to(torch.uint8)
    made = create(c, name, tuple(data.shape), memoryview(raw.numpy()), device)
    return made if wanted is None else made.to(dtype=wanted)


def _from_numpy(data: Any, wanted: dtypes.dtype | None, c: Connection, device: Any) -> Tensor:
    import numpy
    data = numpy.asarray(data)
    kind = data.dtype
    if kind.byteorder == (">" if _LITTLE else "<"):
        raise TypeError(f"an array of dtype '{kind.str}' has another byte order than this machine: "
                        f"x.astype('{kind.newbyteorder('=').str}') has the right one")
    name = _NUMPY.get(kind.str[1:]) or (kind.name if kind.name in dtypes.ALL else None)
    if kind.str[1:] == "u2" and wanted in ("bfloat16", "float16"):
        name, raw = str(wanted), True
    if name is None:
        raise TypeError(f"an array of dtype '{kind.name}' is given: the daemon has {', '.join(dtypes.ALL)}; "
                        "x.astype() converts it")
    packed = numpy.ascontiguousarray(data).reshape(data.shape)
    made = create(c, name, data.shape, packed.view(numpy.uint8).data if data.ndim and data.size else packed.tobytes(),
                  device)
    return made if wanted is None or wanted == name else made.to(dtype=wanted)


def _from_buffer(data: memoryview, wanted: dtypes.dtype | None, c: Connection, device: Any) -> Tensor:
    names = {"B": "uint8", "b": "int8", "h": "int16", "i": "int32", "l": "int64", "q": "int64", "e": "float16",
             "f": "float32", "d": "float64", "?": "bool", "c": "uint8"}
    name = names.get(data.format.lstrip("@=<" if _LITTLE else "@=>"))  # ctypes names the order
    if name is None or dtypes.ALL[name].itemsize != data.itemsize:
        raise TypeError(f"a buffer of format '{data.format}' is given: the daemon takes {', '.join(sorted(names))}, in the "
                        "byte order of this machine")
    shape = data.shape or ()
    made = create(c, name, shape, data if data.c_contiguous and data.nbytes else data.tobytes(), device)
    return made if wanted is None or wanted == name else made.to(dtype=wanted)


def _from_bytes(data: memoryview, kind: dtypes.dtype) -> Tensor:
    if data.nbytes % kind.itemsize:
        raise ValueError(f"a buffer has {data.nbytes} bytes: elements of {kind} need a multiple of {kind.itemsize}")
    return create(current(), kind, (data.nbytes // kind.itemsize,), data if data.c_contiguous else data.tobytes())


def _shape_of(data: Any) -> tuple[int, ...]:
    """Return the shape of nested lists by their first elements."""
    shape = []
    while isinstance(data, (list, tuple, range)):
        shape.append(len(data))
        if not data:
            break
        if len(shape) > _MOST_DIMS:
            raise ValueError(f"lists are nested more than {_MOST_DIMS} deep: a tensor has at most {_MOST_DIMS} dimensions")
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], depth: int, flat: list[Any]) -> None:
    if depth == len(shape):
        if isinstance(data, (list, tuple, range)):
            raise ValueError(f"expected a number at dim {depth}, got a sequence of length {len(data)}: lists must not be "
                             "ragged")
        flat.append(data)
        return
    if not isinstance(data, (list, tuple, range)):
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {type(data).__name__} "
                         f"{data!r}): lists must not be ragged")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)}): lists must not be "
                         "ragged")
    if depth + 1 == len(shape) and not any(isinstance(v, (list, tuple, range)) for v in data):
        flat.extend(data)
        return
    for item in data:
        _flatten(item, shape, depth + 1, flat)


def _kind_of(v: Any) -> dtypes.dtype:
    """Return the dtype that PyTorch gives to an element: that of a tensor, of an array or of NumPy's number is its own."""
    if isinstance(v, Tensor):
        return v.dtype
    if is_torch(v) or hasattr(v, "__array_interface__"):
        name = str(v.dtype).removeprefix("torch.")
        if name not in dtypes.ALL:
            raise TypeError(f"an element of dtype '{name}' is given: the daemon has {', '.join(dtypes.ALL)}")
        return dtypes.ALL[name]
    found = next((kind for python, kind in _PYTHON.items() if isinstance(v, python)), None)
    if found is None:
        raise TypeError(f"an element is a {type(v).__name__}: tensors are made of numbers")
    return found


def _infer(flat: list[Any]) -> dtypes.dtype:
    kinds = set(map(type, flat))
    found = [_PYTHON[k] for k in kinds] if kinds <= _PYTHON.keys() else dict.fromkeys(map(_kind_of, flat))
    return reduce(dtypes.promoted, found) if flat else dtypes.float32


def _kinds_in(data: Any) -> list[dtypes.dtype]:
    """Return the dtypes in nested lists that have arrays."""
    if not isinstance(data, (list, tuple, range)):
        return [_kind_of(data)]
    return list(dict.fromkeys(kind for v in data for kind in _kinds_in(v))) or [dtypes.float32]


def _has_arrays(data: Any, depth: int) -> bool:
    """Are there arrays with dimensions in lists that are nested `depth` deep?"""
    if depth == 0 or not isinstance(data, (list, tuple)):
        return False
    kinds = set(map(type, data))
    return (any(hasattr(k, "__array_interface__") for k in kinds) and
            any(v.ndim for v in data if hasattr(v, "__array_interface__")) or
            (list in kinds or tuple in kinds) and any(_has_arrays(v, depth - 1) for v in data))


def _plain(v: Any) -> Any:
    """Return an element as a Python number: one of NumPy, or a tensor of one element, becomes one."""
    is_tensor = isinstance(v, Tensor) or is_torch(v)
    if is_tensor and v.numel() != 1:
        raise TypeError(f"an element is a tensor of shape {list(v.shape)}: dispatchd.stack() joins tensors")
    return v.item() if is_tensor or (type(v).__module__ == "numpy" and hasattr(v, "item")) else v


def _from_list(data: Any, wanted: dtypes.dtype | None, c: Connection, device: Any) -> Tensor:
    shape = _shape_of(data)
    flat: list[Any] = []
    if _has_arrays(data, len(shape)):
        import numpy
        shapes = {numpy.shape(v) for v in data}
        if len(shapes) > 1:
            raise ValueError(f"the elements have shapes {' and '.join(map(str, sorted(shapes)))}: arrays and lists must not be "
                             "ragged")
        kind = None if wanted is not None else numpy_dtype(reduce(dtypes.promoted, _kinds_in(data)))
        return _from_numpy(numpy.array(data, kind), wanted, c, device)
    _flatten(data, shape, 0, flat)
    given = flat
    if not set(map(type, flat)) <= _PYTHON.keys():
        flat = [_plain(v) for v in flat]
        _infer(flat)  # refuses what is no number
    kind = wanted or _infer(given)
    return create(c, kind, shape, elements.pack(flat, kind), device)


# -- out of the daemon ----------------------------------------------------------------------------

def to_bytes(t: Tensor) -> bytearray:
    """Return the elements, packed and row-major."""
    t._info
    c = t._c.session.here()
    return c.call("tensor.read", tensor=t._h, **{"as": "attachment"})["attachment"]  # type: ignore[no-any-return]


def to_list(t: Tensor) -> Any:
    """Return the elements as nested lists."""
    info = t._info
    shape = info["shape"]
    flat: Any = elements.numbers(to_bytes(t), t.dtype)
    if not shape:
        return flat[0]
    if 0 in shape:
        return _empty(shape)
    for size in shape[:0:-1]:
        flat = [flat[i:i + size] for i in range(0, len(flat), size)]
    return flat


def _empty(shape: list[int]) -> list[Any]:
    return [] if shape[0] == 0 or len(shape) == 1 else [_empty(shape[1:]) for _ in range(shape[0])]


def numpy_dtype(kind: dtypes.dtype) -> Any:
    """Return NumPy's dtype for `kind`; ml_dtypes brings bfloat16, without it the elements are raw uint16."""
    import numpy
    if kind == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            return numpy.dtype("uint16")
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(str(kind))


class _Map:
    """A memfd of the daemon that this program has mapped: the memory, and a descriptor to map it again."""

    __slots__ = ("memory", "file", "__weakref__")

    def __init__(self, c: Connection) -> None:
        """Take the descriptor of the newest answer of `c`."""
        self.file, = c._own_loose()
        self.memory = mmap.mmap(self.file.fd, os.fstat(self.file.fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ)


def _map(t: Tensor) -> tuple[dict[str, Any], _Map]:
    """Return what the daemon says of the tensor's memory, and the map of it."""
    t._info
    c = t._c.session.here()
    try:
        return _mapped(t, c)
    except OSError as e:
        raise c._lost(e) from None


def _mapped(t: Tensor, c: Connection) -> tuple[dict[str, Any], _Map]:
    with c.lock:
        maps: "weakref.WeakValueDictionary[int, _Map]" = c.__dict__.setdefault("_kept", weakref.WeakValueDictionary())
        given: set[int] = c.__dict__.setdefault("_numbers", set())
        held = list(maps.values())  # so that none ends between the request and its answer
        for number in given - set(maps.keys()):
            c.notify("map.release", maps=[number])  # it may have been released by a call that was interrupted
            given.discard(number)
        if "_shares" not in c.__dict__ and t.nbytes >= _SHARE_FROM:
            # From now on results are in memfds from the start, so that nothing is copied for the next array.
            c.__dict__["_shares"] = True
            c.call("session.set", share_from=_SHARE_FROM)
        if c._recording is not None:
            c._recording.refuse("tensor.read")
        result = _read_fd(t, c)
        if "fd" not in result and result["map"] not in maps:  # the call that got its descriptor was interrupted
            c.notify("map.release", maps=[result["map"]])
            result = _read_fd(t, c)
        fd, number = result.pop("fd", None), result["map"]
        if fd is not None:
            maps[number] = made = _Map(c)
            given.add(number)
        else:
            made = maps[number]
        del held
        return result, made


def _read_fd(t: Tensor, c: Connection) -> dict[str, Any]:
    answer = c._answer(c._send("tensor.read", {"tensor": t._h, "as": "fd"}))
    if "error" in answer:
        raise from_answer(answer["error"])
    return answer["result"]  # type: ignore[no-any-return]


def _may_leave(t: Tensor, requires_grad: bool) -> None:
    """Refuse an array of a tensor whose calls are recorded: what NumPy computes of it would have no gradient."""
    if requires_grad:
        from .autograd import records
        if records(t._c.session.here()):
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")


def to_numpy(t: Tensor, writable: bool) -> Any:
    """Return an array on the tensor's memory: read-only and shared, or private and copied where it is written."""
    import numpy
    kind = numpy_dtype(t.dtype)
    shape = tuple(t.shape)
    if t.device != "cpu":
        raise TypeError(f"a tensor on {t.device} has no memory that NumPy can read: x.cpu().numpy() copies it")
    if 0 in shape:
        _may_leave(t, t.requires_grad)
        made = numpy.empty(shape, kind)
        made.flags.writeable = writable
        return made
    if "Conjugate" in t._info["keys"] or "Negative" in t._info["keys"]:
        t = t.resolve_conj().resolve_neg()
    info, held = _map(t)
    _may_leave(t, info["requires_grad"])
    memory = held.memory if not writable else mmap.mmap(held.file.fd, len(held.memory), mmap.MAP_PRIVATE,
                                                        mmap.PROT_READ | mmap.PROT_WRITE)
    strides = [s * kind.itemsize for s in info["strides"]]
    base: Any = numpy.ndarray(shape, kind, memory, info["offset"], strides)
    return base if writable else numpy.asarray(_Exported(base, held, t))


class _Exported:
    """What keeps a NumPy array of a map valid: NumPy holds a reference to it."""

    __slots__ = ("__array_interface__", "_kept")

    def __init__(self, base: Any, *kept: Any) -> None:
        self.__array_interface__ = base.__array_interface__
        self._kept = (base, *kept)


def rebuild(data: bytes, dtype: str, shape: tuple[int, ...], requires_grad: bool = False) -> Tensor:
    """Return the tensor that was pickled."""
    made = create(current(), dtype, shape, data)
    return made.requires_grad_() if requires_grad else made


def from_numpy(array: Any) -> Tensor:
    """Return a tensor with the elements of a NumPy array, which are copied once."""
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"expected a NumPy array (got {type(array).__name__})")
    return tensor(array)
