"""ended.py -- the connections of threads that have ended: their tensors move, and the connections are closed."""

from __future__ import annotations

from .client import Client

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from .connection import Connection


def sweep(members: "dict[int, Connection]", first: "Connection") -> None:
    """Close the connections whose threads have ended.  Their tensors become those of `first`, and what is to be released
    is released: no message of these threads will take it along."""
    for ident, c in list(members.items()):
        thread = c.thread_object()
        if (thread is None or not thread.is_alive()) and c.lock.acquire(blocking=False):
            try:
                _end(c, first)
                if members.get(ident) is c:  # a new thread may have the number
                    del members[ident]
            except OSError:
                pass  # the next call says that the daemon is lost
            finally:
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
    if c._drops:
        c.send_bytes(c._release_line().encode())
    Client.close(c)
