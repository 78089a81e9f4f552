"""session.py -- what the connections of one session share: a connection for each thread, until the thread has ended."""

from __future__ import annotations

import socket
import threading
import weakref

from . import private
from .client import Client, _check_server
from .errors import Closed, DaemonLost

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any

    from .connection import Connection

_HANDLES = 1 << 36  # handles of one connection


class Session:
    """What the connections of one session share: its members by thread, and whether it is closed."""

    def __init__(self, first: "Connection") -> None:
        self.members: dict[int, Connection] = {}  # those of other threads than the first
        self.first = weakref.ref(first)  # weak, so that a connection ends with its last reference
        self.closed: str | None = None  # why tensors of this session cannot be used any more
        self.lost = False  # has the daemon closed it?
        self.lock = threading.Lock()
        self._made = 0  # connections so far

    def error(self) -> Exception:
        """Return the exception for a use of this session after its end."""
        return (DaemonLost if self.lost else Closed)(self.closed)

    def check(self, c: "Connection", kind: str) -> None:
        """Raise the error about a `kind` of this session that a call on connection `c` takes, if it cannot."""
        for session in self, c.session:
            if session.closed:
                raise session.error()
        if c.session is not self:
            raise RuntimeError(f"{kind} of another connection's session is used: make one with this connection")

    def forget(self, c: "Connection", method: str, name: str, what: Any) -> None:
        """Send a notification before the next message of `c`, or of the first connection: that of a thread may have ended."""
        if not self.closed:
            (self.first() or c).forget(method, name, what)

    def end(self, c: "Connection") -> None:
        """Close `c`, and the other connections that no thread uses just now: each of these sees the end by itself."""
        Client.close(c)
        for other in (self.first(), *list(self.members.values())):
            if other is not None and other is not c and other.lock.acquire(blocking=False):
                try:
                    Client.close(other)
                finally:
                    other.lock.release()
        private.reap()

    def leave(self, c: "Connection", first: "Connection") -> None:
        """End the connection of one thread."""
        with c.lock:
            try:
                _end(c, first)
            finally:
                Client.close(c)
                if self.members.get(c.thread) is c:
                    del self.members[c.thread]

    def first_handle(self) -> int:
        """Return where a new connection begins to number its results; handles belong to the whole session."""
        self._made += 1
        return (1 - self._made) * _HANDLES

    def here(self) -> "Connection":
        """Return this thread's connection; make one if the thread has none."""
        ident = threading.get_ident()
        first = self.first()
        found = first if first is not None and first.thread == ident else self.members.get(ident)
        if found is None or found.thread_object() is not threading.current_thread():
            if self.closed or first is None:
                raise self.error() if self.closed else Closed("the connection of this tensor was closed")
            if self.members:
                sweep(self.members, first)
            with self.lock, first.lock:
                s = socket.socket(fileno=first.call("server.open")["fd"])
                _check_server(s, "the server")
            self.members[ident] = found = type(first)(s, first._timeout, self)
        return found


def sweep(members: "dict[int, Connection]", first: "Connection") -> None:
    """Close the connections whose threads have ended.  Their tensors become those of `first`, and what is to be released
    is released: no message of these threads will take it along."""
    for ident, c in list(members.items()):
        thread = c.thread_object()
        if thread is not None and thread.is_alive():
            continue
        held: list[bool] = []
        try:
            held.extend(map(c.lock.acquire, (False,)))  # in one step for signal handlers: who is interrupted knows that he has it
            if held == [True]:
                _end(c, first)
                if members.get(ident) is c:  # a new thread may have the number
                    del members[ident]
        except OSError:
            pass  # the next call says that the daemon is lost
        finally:
            if held == [True]:
                c.lock.release()


def _end(c: "Connection", first: "Connection") -> None:
    c.pipelined = 0
    c.settle()
    for handle, ref in list(c._alive.items()):
        t = ref()
        if t is not None:
            moved = type(ref)(t, first._dropped)
            moved.number = handle
            t._c, first._alive[handle] = first, moved
            del c._alive[handle]
    if c._drops or c._taken:
        c.send_releases()
    Client.close(c)
