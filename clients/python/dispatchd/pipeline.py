"""pipeline.py -- calls that are not waited for."""

from __future__ import annotations

from .connection import Connection
from .defaults import current


class pipelined:
    """Do not wait for answers, inside `with pipelined():`, until a value or a shape is read.

    A call that fails says so where its result is read, at the latest at the end of the block; the exception names
    the line of the call that failed."""

    def __init__(self, connection: Connection | None = None) -> None:
        self._given = connection

    def __enter__(self) -> None:
        self._c = self._given or current()
        self._c.pipelined += 1

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self._c.pipelined -= 1
        if kind is None and not self._c.pipelined:
            self._c.raise_failed()


def synchronize(connection: Connection | None = None) -> None:
    """Wait for all calls; raise the first error of a pipelined call that nobody has read."""
    (connection or current()).raise_failed()
