"""elements.py -- elements of tensors as bytes and as Python numbers, rounded as PyTorch does."""

from __future__ import annotations

import math
import struct
from typing import Any

from . import dtypes

_CODES = {"uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "float32": "f",
          "float64": "d", "complex64": "f", "complex128": "d", "bool": "?"}


def pack(flat: list[Any], kind: dtypes.dtype) -> bytes:
    """Return numbers as the bytes of elements.  TypeError, ValueError, RuntimeError: a number that the dtype does not take."""
    if kind.is_complex:
        flat = [part for v in flat for z in (_as(complex, v, kind),) for part in (z.real, z.imag)]
    elif kind == "bool":
        flat = [bool(v) for v in flat]
    elif any(isinstance(v, complex) for v in flat):
        odd = next(v for v in flat if isinstance(v, complex))
        raise TypeError(f"value {odd} is complex: it cannot be converted to {kind}; its .real and .imag can")
    elif kind.kind in "iu":
        endless = [v for v in flat if v - v != 0]
        if endless:
            raise ValueError(f"value {endless[0]} cannot be converted to {kind}, which has only finite integers")
        flat = [int(v) for v in flat]
    if kind == "bfloat16":
        return b"".join([_round_bfloat16(_as(float, v, kind)) for v in flat])
    try:
        return struct.pack(f"={len(flat)}{_CODES[kind]}", *flat)
    except (OverflowError, struct.error):
        if kind.kind not in "iu":  # PyTorch's floats become infinite
            return struct.pack(f"={len(flat)}{_CODES[kind]}", *[_saturated(_as(float, v, kind), kind) for v in flat])
        limits = dtypes.iinfo(kind)
        worst: int = next(v for v in flat if not limits.min <= v <= limits.max)
        said = worst if worst.bit_length() < 1024 else f"of {worst.bit_length()} bits"  # Python prints no longer ones
        raise RuntimeError(f"value {said} cannot be converted to {kind} without overflow: it takes {limits.min} to "
                           f"{limits.max}") from None
    except TypeError as e:
        raise TypeError(f"{e}: elements of {kind} are numbers") from None


def _as(number: Any, v: Any, kind: dtypes.dtype) -> Any:
    """Return an element as `number`, which is float or complex."""
    try:
        return number(v)
    except OverflowError:
        raise RuntimeError(f"an integer of {v.bit_length()} bits cannot be converted to {kind} without overflow: it takes at "
                           "most 1023 bits") from None


def _saturated(v: float, kind: dtypes.dtype) -> float:
    try:
        struct.pack("=" + _CODES[kind], v)
        return v
    except OverflowError:
        return math.copysign(math.inf, v)


def _round_bfloat16(v: float) -> bytes:
    if v != v:
        return struct.pack("=H", 0x7FC0)
    bits: int = struct.unpack("=I", struct.pack("=f", _saturated(v, dtypes.float32)))[0]
    return struct.pack("=H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def numbers(data: bytes | bytearray, kind: dtypes.dtype) -> list[Any]:
    """Return the elements in `data` as Python numbers."""
    if kind == "bfloat16":
        wide = bytearray(2 * len(data))
        wide[2::4], wide[3::4] = data[0::2], data[1::2]
        return list(struct.unpack(f"={len(data) // 2}f", wide))
    n = len(data) // struct.calcsize(_CODES[kind])
    flat = list(struct.unpack(f"={n}{_CODES[kind]}", data))
    return [complex(a, b) for a, b in zip(flat[::2], flat[1::2])] if kind.is_complex else flat
