"""store.py -- tensors beyond a program: files in the safetensors format, and names by which programs share tensors."""

from __future__ import annotations

import errno
import os
from typing import Any, Mapping

from .client import Fd
from .connection import Connection
from .defaults import current
from .encode import connection_of
from .errors import Error
from .tensors import Tensor, wrap


def save(tensors: "Mapping[str, Tensor] | Tensor", path: "str | os.PathLike[str]",
         metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors, by name, to a file in the safetensors format; torch.load cannot read it, safetensors can.

    The file is written beside its place and then renamed, so that a reader finds the old file or the new one."""
    if isinstance(tensors, Tensor):
        tensors = {"tensor": tensors}
    if not isinstance(tensors, Mapping) or not all(isinstance(k, str) and isinstance(t, Tensor) for k, t in tensors.items()):
        odd = {k: type(t).__name__ for k, t in tensors.items() if not (isinstance(k, str) and isinstance(t, Tensor))} if isinstance(
            tensors, Mapping) else type(tensors).__name__
        raise TypeError(f"save() takes a dict of tensors by name, got {odd}")
    first = next(iter(tensors.values()), None)
    c = connection_of(first) if first is not None else current()
    for t in tensors.values():
        t._handle_on(c)
    path = os.path.realpath(path)  # the file that a link names is replaced, and not the link
    if os.path.exists(path) and not os.path.isfile(path):
        raise (IsADirectoryError if os.path.isdir(path) else FileExistsError)(
            errno.EISDIR if os.path.isdir(path) else errno.EEXIST, "a saved file replaces files only, and this is none", path)
    beside = f"{path}.{os.getpid()}.new"
    fd = Fd(beside, "w+")
    try:
        params: dict[str, Any] = {"fd": fd, "tensors": {k: t._h for k, t in tensors.items()}}
        if metadata is not None:
            params["metadata"] = dict(metadata)
        _named(c, path, "store.save", params)
        os.fsync(fd.fd)
        os.rename(beside, path)
    except BaseException:
        if os.path.exists(beside):  # else the interrupt came behind rename()
            os.unlink(beside)
        raise
    finally:
        fd.close()


def _named(c: Connection, path: str, method: str, params: dict[str, Any]) -> Any:
    """Call a method with the descriptor of a file; its error names the file."""
    try:
        return c.call(method, **params)
    except Error as e:
        e.message = e.message.replace("'descriptor 0'", repr(path))
        e.args = (e.message,)
        raise


def load(path: "str | os.PathLike[str]", prefix: str | None = None, named: bool = False) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name; with `prefix` those whose names begin with it.

    named: give each tensor its name in the file, so that open_tensor() finds it; if one name is taken or not valid, no
    tensor is loaded."""
    c = current()
    fd = Fd(os.fspath(path))
    try:
        params: dict[str, Any] = {"fd": fd, "named": named} if prefix is None else {"fd": fd, "named": named, "prefix": prefix}
        answer = _named(c, os.fspath(path), "store.load", params)
    finally:
        fd.close()
    try:
        return {name: wrap(t, c) for name, t in answer["tensors"].items()}
    except BaseException:  # an interrupt
        c._drop_outputs(answer)
        raise


def name_tensor(t: Tensor, name: str) -> None:
    """Give a tensor a name, by which other programs open the same tensor: what one writes, all see.

    The daemon keeps a named tensor, also after this program has ended, until unlink_tensor()."""
    if not isinstance(t, Tensor) or not isinstance(name, str):
        raise TypeError(f"name_tensor() takes a tensor and a name, got {type(t).__name__} and {type(name).__name__}")
    c = connection_of(t)
    t._handle_on(c)
    c.call("tensor.name", tensor=t._h, name=name)


def open_tensor(name: str) -> Tensor:
    """Return the tensor of a name."""
    c = current()
    return wrap(c.call("tensor.open", name=name), c)  # type: ignore[no-any-return]


def unlink_tensor(name: str) -> None:
    """Remove a name; the tensor stays where it is in use."""
    current().call("tensor.unlink", name=name)
