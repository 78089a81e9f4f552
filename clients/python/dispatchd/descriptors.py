"""descriptors.py -- descriptors that are sent and received: class Fd, share(), and the control data of sendmsg and recvmsg."""

from __future__ import annotations

import array
import fcntl
import io
import os
import socket
from itertools import repeat, starmap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# of fcntl.h; Python has names for them since 3.12
_F_ADD_SEALS, _F_SEAL_SHRINK, _F_SEAL_GROW, _F_SEAL_WRITE = 1033, 2, 4, 8


class Fd(io.FileIO):
    """A file descriptor as the value of a member "fd" of the params: Fd(number) takes it over, Fd(path) opens a file.  It
    stays open until close(), or until the object is collected: both are C code, which no signal handler interrupts.
    map: the number that the newest answer gave to the memfd, for a member "map" of later params; None: none yet."""

    map: int | None = None
    _finalizing = False  # hides FileIO's member, so that an object whose last reference ends gives no ResourceWarning

    @property
    def fd(self) -> int:
        return self.fileno()



def share(data: Any) -> Fd:
    """Return an Fd of a new memfd with these bytes, which nobody can write or resize: the daemon maps
    it without a copy."""
    # A list of what C code makes, so that no signal handler comes between a descriptor and the object that owns it.
    fd, = list(map(Fd, map(os.memfd_create, ("dispatchd",), (os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING,))))
    with memoryview(data).cast("B") as bytes_:
        at = 0
        while at < len(bytes_):
            at += os.write(fd.fd, bytes_[at:])
    fcntl.fcntl(fd.fd, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_WRITE)
    return fd


def descriptors_of(received: Any) -> list[int]:
    """Return the descriptors in a result of recvmsg."""
    return [fd for _, _, fds in received[1] for fd in array.array("i", fds)]


def popped(numbers: list[int]) -> Any:
    """Yield the items of a list and remove them, by C code alone: what takes them in one step loses none to a signal."""
    return starmap(numbers.pop, repeat((0,), len(numbers)))


def control_of(fds: list[int]) -> list[tuple[int, int, bytes]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds).tobytes())] if fds else []
