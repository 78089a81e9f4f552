"""tracebacks.py -- tracebacks of the daemon's errors, of the system's, and of what this package raises on purpose end at
the user's line: frames of this package say nothing to him, unless it has a fault."""

from __future__ import annotations

import sys

from .errors import Closed, Error

TYPE_CHECKING = False  # importing typing takes long
if TYPE_CHECKING:
    from typing import Any

_FOLDER = __file__.rpartition("tracebacks")[0]


def _cut(error: BaseException | None, traceback: Any) -> None:
    last = inner = entry = traceback
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(_FOLDER):
            last = entry
        inner, entry = entry, entry.tb_next
    if inner is last or last is None:
        return
    if not isinstance(error, (Error, Closed, OSError)):
        from opcode import opmap
        if inner.tb_frame.f_code.co_code[inner.tb_lasti] != opmap["RAISE_VARARGS"]:
            return
    last.tb_next = None


def install() -> None:
    """Cut the tracebacks of errors that end the program."""
    before = sys.excepthook

    def hook(kind: Any, error: BaseException, traceback: Any) -> None:
        _cut(error, traceback)
        before(kind, error, traceback)
    sys.excepthook = hook


def install_in_threads() -> None:
    """Cut the tracebacks of errors that end a thread.  It imports threading, which takes longer than all of the package."""
    import threading
    before = threading.excepthook

    def hook(args: Any) -> None:
        _cut(args.exc_value, args.exc_traceback)
        before(args)
    threading.excepthook = hook
