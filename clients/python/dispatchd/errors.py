"""errors.py -- the exceptions of the package: the daemon's errors as the exceptions that Python has for them.

Every error that the daemon answers is an Error, and also the built-in exception of that name where there is one:
both `except dispatchd.Error` and `except IndexError` catch an index that is out of range."""

from __future__ import annotations

import builtins
import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any

# JSON-RPC's own errors have only a number; every other error names its type.
_RPC_TYPES = {-32700: "ParseError", -32600: "InvalidRequest", -32601: "MethodNotFound",
              -32602: "InvalidParams", -32603: "InternalError"}


_PACKAGE = os.path.dirname(__file__) + os.sep


def call_site() -> tuple[Any, int]:
    """Return (code, line) of the innermost frame that is not of this package."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code, frame.f_lineno


class Error(Exception):
    """An error that the daemon answered: .type ("TypeError", "NotFound", ...), .message, .code, .data.

    site: (file, line) of the call that failed, if the error came later than that call; else None."""

    type: str
    site: tuple[str, int] | None = None

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error.get("data") or {}
        self.type = type_of(error)
        super().__init__(self.message if type(self) is not Error else f"{self.type}: {self.message}")

    def __reduce__(self) -> Any:
        """Let copy and pickle make it of the answer, as multiprocessing does to bring an error to the parent."""
        return from_answer, ({"code": self.code, "message": self.message, "data": self.data},), self.__dict__


class NotFound(Error, LookupError):
    """There is no operator, tensor, name or plugin like that."""


class AlreadyExists(Error, ValueError):
    """The name, or the number of a handle, is taken."""


class Busy(Error, RuntimeError):
    """A plugin cannot go while its calls run or its memory is in use."""


class AbiMismatch(Error, RuntimeError):
    """A plugin was built for another version of the plugin interface."""


class PluginError(Error, RuntimeError):
    """A plugin cannot be loaded."""


class PluginCrashed(PluginError):
    """A plugin crashed when it was tried."""


class ResourceExhausted(Error, MemoryError):
    """A limit of the session, of the user or of the daemon is reached; .data["limit"] names it."""


class DeadlineExceeded(Error, TimeoutError):
    """The call took longer than its deadline."""


class InvalidParams(Error, TypeError, ValueError):
    """A param has a type, or a value, that the method does not take."""


class InvalidRequest(Error, ValueError):
    """A request is more than the daemon takes: its line is too long, for example."""


class ParseError(Error, ValueError):
    """The daemon could not read a request: a text in it has a NUL character, for example."""


class Cancelled(Error):
    """The call was cancelled."""


class DaemonLost(ConnectionError):
    """The daemon has ended, or has closed the connection: tensors of that connection are gone."""


class Closed(RuntimeError):
    """The connection was closed by this program, or belongs to the process that has forked this one."""


def _with_builtin(name: str) -> type[Error]:
    return type(name, (Error, getattr(builtins, name)),
                {"__doc__": f"A {name} that the daemon answered.", "__module__": __name__})


_CLASSES: dict[str, type[Error]] = {
    **{c.__name__: c for c in (NotFound, AlreadyExists, Busy, AbiMismatch, PluginError, PluginCrashed,
                               ResourceExhausted, DeadlineExceeded, InvalidParams, InvalidRequest, ParseError, Cancelled)},
    **{name: _with_builtin(name) for name in ("RuntimeError", "TypeError", "ValueError", "IndexError",
                                              "NotImplementedError", "PermissionError")}}


LinAlgError: type[Error] = type("LinAlgError", (_CLASSES["RuntimeError"],), {
    "__doc__": "A matrix that linear algebra cannot treat: singular, not positive-definite, or without convergence.",
    "__module__": __name__})


def type_of(error: dict[str, Any]) -> str:
    """Return the name of an error's type."""
    named: str = (error.get("data") or {}).get("type") or ""
    return named if named else _RPC_TYPES.get(error["code"], "Error")


def from_answer(error: dict[str, Any]) -> Error:
    """Return the exception for the member "error" of an answer."""
    made = _CLASSES.get(type_of(error), Error)
    # PyTorch raises LinAlgError in one place, and there for all texts but those of lu_factor and of impossible numbers.
    if made is _CLASSES["RuntimeError"] and (error.get("data") or {}).get("op") == "aten::_linalg_check_errors":
        made = LinAlgError if ": The " in error["message"] else made
    return made(error)
