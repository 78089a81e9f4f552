"""defaults.py -- the connection that a thread's functions use, and what becomes of connections in a forked child and at
the end of the program."""

from __future__ import annotations

import atexit
import os
import threading

from . import private
from .client import _connected, socket_path
from .connection import Connection, _all, local


def connect(path: "str | os.PathLike[str] | None" = None, timeout: float | None = None) -> Connection:
    """Return a Connection to the daemon at `path`, else at $DISPATCHD_SOCKET, else at the usual place
    (docs/operating.md).  If neither is named and no daemon listens at the usual place, start a private daemon,
    which ends with this program.

    timeout: seconds to wait for each step of sending or receiving, then TimeoutError is raised; None: no limit.
    PermissionError: the server runs as a user other than this one, root and the one whose number is in
    $DISPATCHD_SERVER_UID."""
    named = path or os.environ.get("DISPATCHD_SOCKET")
    try:
        return Connection(_connected(socket_path(path)), timeout)
    except (FileNotFoundError, ConnectionRefusedError):
        if named:
            raise
    return Connection(private.start(), timeout)


_default: Connection | None = None
_default_lock = threading.Lock()


def current() -> Connection:
    """Return this thread's connection for functions without tensors: that of the innermost `with`, or of use(),
    else one of the default session, which begins at the first use."""
    global _default
    here: Connection | None = getattr(local, "current", None)
    if here is None:
        with _default_lock:
            if _default is None or _default.session.closed:
                _default = connect()
            here = _default
        if here.thread != threading.get_ident():
            here = here.session.here()
        local.current = here
    elif here.session.closed:
        del local.current
        return current()
    elif here.thread != threading.get_ident():  # use() in another thread than that of connect()
        return here.session.here()
    return here


def use(connection: Connection) -> Connection:
    """Make `connection` the one that this thread's functions use, and return it."""
    if not isinstance(connection, Connection):
        raise TypeError(f"use() takes a connection of connect(), got {type(connection).__name__}")
    local.current = connection
    return connection


def _after_fork() -> None:
    """In a child: connections of the parent are the parent's, and tensors of theirs cannot be used."""
    global _default, _default_lock
    for c in list(_all):
        c.session.closed = "this tensor belongs to the process that has forked this one: a child makes its own"
        c._sock.close()  # the parent's descriptor stays open; no message ends its session
        c._drops.clear()
        c.lock = threading.RLock()
    _all.clear()
    _default, _default_lock = None, threading.Lock()
    local.__dict__.clear()


def _at_exit() -> None:
    """Close what is still open: nobody else closes the default connection."""
    for c in list(_all):
        if not c.session.closed:
            c.session.closed = "the program ends"
        c._sock.close()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)
