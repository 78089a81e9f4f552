"""dlpack.py -- tensors of other libraries on the CPU, by the DLPack protocol (dlpack.h, version 0.8)."""

from __future__ import annotations

import ctypes
from typing import Any

from . import dtypes
from .arrays import _SHARE_FROM, create, to_numpy
from .defaults import current
from .tensors import Tensor

_NAME = b"dltensor"
_USED = b"used_dltensor"
_CODES = {("i", 8): "int8", ("i", 16): "int16", ("i", 32): "int32", ("i", 64): "int64", ("u", 8): "uint8",
          ("f", 16): "float16", ("f", 32): "float32", ("f", 64): "float64", ("b", 16): "bfloat16", ("c", 64): "complex64",
          ("c", 128): "complex128", ("t", 8): "bool"}
_KINDS = {0: "i", 1: "u", 2: "f", 4: "b", 5: "c", 6: "t"}  # DLDataTypeCode
_DEVICES = {1: "CPU", 2: "CUDA", 3: "CUDA host", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 11: "ROCm host",
            13: "CUDA managed", 14: "oneAPI", 15: "WebGPU", 16: "Hexagon"}
_READABLE = (1, 3, 11)


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_raw_is_valid = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_raw_pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))

_exported: dict[int, Any] = {}  # address of a _Managed -> what it needs


def _forget(managed: Any) -> None:
    _exported.pop(ctypes.addressof(managed.contents), None)


def _forget_capsule(capsule: int) -> None:
    try:
        unused = _raw_is_valid(capsule, _NAME)
    except ctypes.ArgumentError:  # an exception is on its way, which ctypes takes for one about the argument
        unused = _raw_is_valid(capsule, _NAME)
    if unused:  # nobody has taken the tensor
        _exported.pop(_raw_pointer(capsule, _NAME), None)


_delete, _destroy = _Deleter(_forget), _Destructor(_forget_capsule)


def export(t: Tensor) -> Any:
    """Return a capsule of the tensor's elements for another library: memory that the other may write without changing
    the tensor (DLPack has no way to say read-only)."""
    if t.requires_grad:
        raise BufferError("a tensor that requires a gradient cannot be exported: x.detach() can")
    if t.dtype == "bool":
        raise BufferError("DLPack of version 0.8 has no bool: x.to(dispatchd.uint8) can be exported")
    array = to_numpy(t, True)
    kind = t.dtype
    managed = _Managed()
    d = managed.tensor
    code = {"i": 0, "u": 1, "f": 2, "c": 5}.get(kind.kind, 4)
    d.data, d.device_type, d.device_id, d.ndim = array.ctypes.data, 1, 0, array.ndim
    d.code, d.bits, d.lanes, d.byte_offset = code, kind.itemsize * 8, 1, 0
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*[s // kind.itemsize for s in array.strides])
    d.shape, d.strides = shape, strides
    managed.deleter = _delete
    address = ctypes.addressof(managed)
    _exported[address] = managed, array, shape, strides
    return _api.PyCapsule_New(address, _NAME, _destroy)


def from_dlpack(x: Any) -> Tensor:
    """Return a tensor with the elements of another library's tensor, which are copied once.

    x: an object with the method __dlpack__, or a capsule.  The memory must be the CPU's."""
    device = getattr(x, "__dlpack_device__", None)
    if device is not None:
        kind = int(device()[0])
        if kind not in _READABLE:
            raise BufferError(f"the tensor is on device {_DEVICES.get(kind, kind)}: the daemon takes memory of the CPU; copy it "
                              "there first")
    capsule = x.__dlpack__() if hasattr(x, "__dlpack__") else x
    try:
        address = _api.PyCapsule_GetPointer(capsule, _NAME)
    except ValueError:
        raise TypeError("expected an object with __dlpack__, or a capsule 'dltensor' that nobody has used yet, "
                        f"got {type(x).__name__}") from None
    managed = ctypes.cast(address, ctypes.POINTER(_Managed))
    d = managed.contents.tensor
    try:
        name = _CODES.get((_KINDS.get(d.code, "?"), d.bits))
        if d.device_type not in _READABLE:
            raise BufferError(f"the tensor is on device {_DEVICES.get(d.device_type, d.device_type)}: the daemon takes memory of "
                              "the CPU; copy it there first")
        if name is None or d.lanes != 1:
            raise BufferError(f"the elements have DLPack type code {d.code}, {d.bits} bits and {d.lanes} lanes: the daemon has "
                              f"{', '.join(dtypes.ALL)}")
        return _read(d, name)
    finally:
        _api.PyCapsule_SetName(capsule, _USED)
        if managed.contents.deleter:
            managed.contents.deleter(managed)


def _read(d: Any, name: str) -> Tensor:
    size = dtypes.ALL[name].itemsize
    shape = tuple(d.shape[i] for i in range(d.ndim))
    packed = [1] * d.ndim
    for i in range(d.ndim - 2, -1, -1):
        packed[i] = packed[i + 1] * shape[i + 1]
    strides = tuple(d.strides[i] for i in range(d.ndim)) if d.strides else tuple(packed)
    if any(s < 0 for s in strides):
        raise BufferError(f"strides {strides} are negative: copy the tensor first")
    n = 1
    for s in shape:
        n *= s
    if n == 0:
        return create(current(), name, shape, b"")
    extent = 1 + sum((a - 1) * s for a, s in zip(shape, strides))
    memory = memoryview((ctypes.c_uint8 * (extent * size)).from_address(d.data + d.byte_offset)).cast("B")
    # Small memory is copied here: what an interrupted call has not sent would be read when its owner has freed it.
    data = memory if memory.nbytes >= _SHARE_FROM else bytes(memory)
    if all(a == 1 or s == p for a, s, p in zip(shape, strides, packed)):
        return create(current(), name, shape, data)
    made = create(current(), name, (extent,), data)
    return made.as_strided(shape, strides).contiguous()  # type: ignore[no-any-return]


def to_dlpack(t: Tensor) -> Any:
    """Return a DLPack capsule of the tensor."""
    if not isinstance(t, Tensor):
        raise TypeError(f"to_dlpack() takes a tensor, got {type(t).__name__}")
    return export(t)
