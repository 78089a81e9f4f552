"""private.py -- a daemon of one's own, for programs that find none: it has no path and ends with its last connection."""

from __future__ import annotations

import os
import socket

_NAME = "dispatchd"


def program() -> str:
    """Return the path of the daemon's program: $DISPATCHD, else the one of the source tree or of the
    installation that this package lies in, else the first in $PATH.  FileNotFoundError: there is none."""
    named = os.environ.get("DISPATCHD")
    if named:
        return named
    here = os.path.dirname(os.path.realpath(__file__))
    build = os.environ.get("BUILD", "build")
    above = os.path.abspath(os.path.join(here, "..", "..", ".."))
    places = [os.path.join(above, build, _NAME)] if os.path.isdir(os.path.join(above, "libdispatch")) else []
    places += [os.path.join(folder, _NAME) for folder in
               [os.path.join(above, "..", "bin"), *os.environ.get("PATH", "/usr/bin:/bin").split(":"),
                "/usr/local/bin", "/usr/bin"]]
    for path in places:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError("no daemon is running, and there is no program 'dispatchd' to start one: pip installs only the "
                            "Python package; install the daemon by 'make install' or as the Debian package dispatchd, put the "
                            "program in $PATH, or name it in $DISPATCHD")


_started: set[int] = set()  # process ids of daemons whose status nobody has collected


def start(path: str | None = None) -> socket.socket:
    """Start a daemon that serves one socket; return the other end of the socket.

    The daemon ends when the last connection of this program is closed, at the latest with this program."""
    reap()
    path = path or program()
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        os.set_inheritable(number, True)
        quiet = os.open(os.devnull, os.O_RDWR)
        try:
            # A process group of its own: Ctrl-C is for this program and does not end the daemon.
            pid = os.posix_spawn(path, [path, "--serve-fd", str(number)], os.environ, setpgroup=0, file_actions=[
                (os.POSIX_SPAWN_DUP2, quiet, 0), (os.POSIX_SPAWN_DUP2, quiet, 1),
                *([] if os.environ.get("DISPATCHD_LOG") else [(os.POSIX_SPAWN_DUP2, quiet, 2)])])
        except OSError as e:
            ours.close()
            raise type(e)(e.errno, f"cannot start a daemon: {e.strerror}", path) from None
        finally:
            os.close(quiet)
            os.set_inheritable(number, False)
    _started.add(pid)
    return ours


def reap() -> None:
    """Collect the status of the daemons that have ended, so that no zombies are left; does not wait for those that run."""
    for pid in list(_started):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0]
        except ChildProcessError:  # collected by others, or we are a child of the process that has started it
            ended = pid
        if ended:
            _started.discard(pid)
