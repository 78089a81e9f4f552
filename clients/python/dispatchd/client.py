"""client.py -- a connection to the daemon: requests, answers, attachments and descriptors.

    import dispatchd
    with dispatchd.connect() as d:
        d.call("server.status")                              # any method, its params by name
        d.op("aten::add.Tensor", {"data": [[1, 2]]}, 10)     # an operator; its outputs
        d.op("aten::relu", {"dtype": "float32", "shape": [2], "attachment": raw_bytes})

Arguments of op() and results of call(), op() and receive() are Python values: a float stays a float
(2.0 does not become an int), and nan, inf, all 64-bit integers and complex numbers arrive
unchanged.  The elements of a tensor's "data" are spelled as in docs/protocol.md: "nan", "inf",
large integers as strings, [re, im].

Several connections of one session: Client.open() returns another Client, for another thread.

Shared memory: share(data) makes a memfd that a literal names, {"dtype": "float32", "shape": [2],
"fd": share(raw_bytes)}; Client.map(tensor) returns the memory of a tensor without a copy.

Bytes are sent as attachments: a bytes-like value of a member "attachment" in the params is sent
after the line, without a copy, and in an answer the value of every "attachment" is a bytearray.  Requests may be
pipelined: call send() several times, then receive() as many times; answers arrive in the order of
the requests.  With "into" a request gives its outputs handles of your choice, integers below 0,
which the next requests may use without waiting for its answer:

    d.send("tensor.create", data=[1, 2], into=-1)
    d.send("op.call", **dispatchd.op_params("aten::neg", {"tensor": -1}, into=-2))

A call() that is interrupted (Ctrl-C, a timeout) is abandoned: its answer is dropped
when it arrives.  Only one thread at a time may use a client.
"""

from __future__ import annotations

import array
import collections
import errno
import json
import math
import mmap
import os
import select
import socket
import struct

from .descriptors import Fd as Fd, control_of, descriptors_of, popped, share as share
from .errors import from_answer
from .wire import attach, detach, from_wire, op_params

TYPE_CHECKING = False  # importing typing takes longer than the rest of the package
if TYPE_CHECKING:
    from typing import Any, Sequence

# most bytes of one recv, unless more are expected; a buffer is allocated each time
_READ_BYTES = 1 << 14
_CONTROL_BYTES = socket.CMSG_SPACE(16 * array.array("i").itemsize)  # for 16 descriptors
_PARTS = 64  # buffers of one sendmsg; Linux takes up to 1024
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode


def socket_path(path: "str | os.PathLike[str] | None" = None) -> str:
    """Return the socket's path: `path`, else $DISPATCHD_SOCKET, else the default (docs/operating.md)."""
    runtime, tmp = (os.environ.get(name, "") for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    if path or os.environ.get("DISPATCHD_SOCKET"):
        return os.fspath(path or os.environ["DISPATCHD_SOCKET"])
    if runtime.startswith("/"):
        return runtime + "/dispatchd.sock"
    if os.geteuid() == 0:
        return "/run/dispatchd.sock"
    return f"{tmp if tmp.startswith('/') else '/tmp'}/dispatchd-{os.geteuid()}/dispatchd.sock"


def connect(path: "str | os.PathLike[str] | None" = None, timeout: float | None = None) -> Client:
    """Return a Client of the daemon at socket_path(path).  timeout: seconds to wait for each
    step of sending or receiving, then TimeoutError is raised; None: no limit.  PermissionError: the
    server runs as a user other than this one, root and the one whose number is in
    $DISPATCHD_SERVER_UID."""
    return Client(_connected(socket_path(path)), timeout)


def _connected(path: str) -> socket.socket:
    """Return a socket that is connected to a server which may be trusted."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
        _check_server(s, f"the server at '{path}'")
    except BaseException as e:
        s.close()
        if isinstance(e, OSError):
            e.filename = e.filename or path
        raise
    return s


def _check_server(s: socket.socket, name: str) -> None:
    uid = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    if uid not in (0, os.geteuid()) and str(uid) != os.environ.get("DISPATCHD_SERVER_UID"):
        raise PermissionError(f"{name} runs as uid {uid}, not as you or root; if you trust that user, set "
                              f"DISPATCHD_SERVER_UID={uid}")


def _checked(timeout: Any) -> float | None:
    """Return a timeout that the system takes, or None for those that are longer than any wait."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"a timeout is a number of seconds, or None for no limit, not {type(timeout).__name__} {timeout!r}")
    if not timeout > 0:
        raise ValueError(f"a timeout is {timeout} s: it must be above 0, or None for no limit")
    return timeout if timeout < 1 << 31 else None


class Client:
    """A connection to the daemon, made by connect()."""

    # A signal handler may raise an exception between any two steps of the interpreter.  So that no
    # byte is lost, one step stores each result of recv and send:
    # _in is [offset of the next message in the bytes, result of each recvmsg...] and
    # _out is [buffers to send, number of bytes sent by each send...].
    def __init__(self, sock: socket.socket, timeout: float | None = None) -> None:
        self._sock = sock
        try:
            self._timeout = timeout = _checked(timeout)
        except BaseException:
            sock.close()
            raise
        self._sock.setblocking(True)  # SO_RCVTIMEO limits the wait without a system call per recv
        seconds = timeout or 0
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                              struct.pack("ll", int(seconds), math.ceil(seconds % 1 * 999999)))
        self._in: list[Any] = [0]
        # Attachments that are being received, see receive_message(): (offset and bytes of _in, attachments,
        # [number of bytes there, result of each recvmsg_into...], message, offset of the next message)
        self._body: Any = None
        self._loose: list[int] = []  # descriptors of the newest message, until something else owns them
        self._out: list[Any] = []
        self._begun: list[Any] = []  # as _out, while the first bytes of a message with descriptors are sent
        self._last_id = 0
        # ids of requests from send() not yet received by receive()
        self._sent: collections.deque[int] = collections.deque()
        self.notifications: collections.deque[Any] = collections.deque()  # messages without an id, oldest first
        self._maps: dict[int, mmap.mmap] = {}  # number -> mmap
        self._given: dict[Any, list[Any]] = {}  # id of a request -> the Fds that it passed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._sock.close()
        for received in self._in[1:]:
            for fd in descriptors_of(received):
                os.close(fd)
        self._in = [0]
        self._close_loose()

    def open(self) -> Client:
        """Return a Client with the same timeout on another connection of the session, for which no path
        is needed.  Either may be closed first."""
        s = socket.socket(fileno=self.call("server.open")["fd"])
        try:
            _check_server(s, "the server")
        except OSError:
            s.close()
            raise
        return Client(s, self._timeout)

    # -- shared memory ---------------------------------------------------------------------------

    def map(self, tensor: int | dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        """Return (descriptor, memory) of a tensor: a read-only memoryview of the bytes from its first
        to its last element, which later calls that write the tensor change.  descriptor["strides"]
        tells how the elements lie there."""
        handle = tensor["tensor"] if isinstance(tensor, dict) else tensor
        t = self._result_of("tensor.read", {"tensor": handle, "as": "fd"})
        self._keep(t)
        if t["map"] not in self._maps:  # a call that was interrupted got its descriptor
            self.notify("map.release", maps=[t["map"]])
            t = self._result_of("tensor.read", {"tensor": handle, "as": "fd"})
            self._keep(t)
        return t, memoryview(self._maps[t["map"]])[t["offset"]:t["offset"] + t["nbytes"]]

    def _keep(self, result: dict[str, Any]) -> None:
        """Map the memfd of a result of tensor.read.  The next message closes the descriptor, as that of any other result."""
        fd = result.pop("fd", None)
        if isinstance(fd, int) and "map" in result:
            self._maps[result["map"]] = mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_SHARED, mmap.PROT_READ)

    def _drop_fd(self, result: dict[str, Any]) -> None:
        """Keep the map of an answer that nobody waits for: the daemon passes its descriptor only once."""
        self._keep(result)

    def unmap(self, *maps: int) -> None:
        """End maps, given by number; memory that map() returned stays valid while it is referenced."""
        self.call("map.release", maps=list(maps))
        for number in maps:
            self._maps.pop(number, None)

    # -- one call at a time ----------------------------------------------------------------------

    def call(self, method: str, /, **params: Any) -> Any:
        """Call a method and return its result; raises Error if the daemon answers an error.
        RuntimeError: answers to send() were not received yet."""
        result = self._result_of(method, params)
        self._loose = []  # the caller owns them
        return result

    def _result_of(self, method: str, params: dict[str, Any]) -> Any:
        """Return the result of a call; _loose owns its descriptors."""
        if self._sent:
            raise RuntimeError("receive() the answers to what was sent before a call()")
        return _result(self._answer(self._send(method, params)))

    def op(self, name: str, /, *args: Any, returns: str = "handle", into: int | list[int] | None = None, **kwargs: Any) -> Any:
        """Call an operator; return its output, or the list of its outputs if there is not exactly
        one.  returns: "handle", "data" or "attachment", how output tensors are returned.  into: the
        handle of the output, an integer below 0 that is free, or a list with one for each output."""
        params = op_params(name, *args, returns=returns, into=into, **kwargs)
        outputs = self.call("op.call", **params)["outputs"]
        return outputs[0] if len(outputs) == 1 else outputs

    def release(self, *tensors: int | dict[str, Any]) -> Any:
        """Release tensors, given by handle or by the dicts that op() and tensor.create return for
        them."""
        return self.call("tensor.release",
                         tensors=[t["tensor"] if isinstance(t, dict) else t for t in tensors])

    # -- pipelining ------------------------------------------------------------------------------

    def notify(self, method: str, /, **params: Any) -> None:
        """Send a notification, which is not answered; call("session.sync") tells which have
        failed."""
        self.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, method: str, /, **params: Any) -> int:
        """Send a request without waiting for its answer; returns its id.

        Never deadlocks: while the daemon accepts no bytes because its answers are unread, send()
        reads these answers and stores them for receive()."""
        id_ = self._send(method, params)
        self._sent.append(id_)
        return id_

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._last_id = id_ = self._last_id + 1
        try:
            self.send_message({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        except (BrokenPipeError, ConnectionResetError) as e:
            if self._sent:  # receive() returns their answers, and then the error
                raise
            raise self._why_closed(id_, e) from None
        return id_

    def _why_closed(self, id_: int, error: OSError) -> Exception:
        """Return the Error with which the daemon has closed the connection, or `error` if it gave none."""
        try:
            answer = self._answer(id_)
        except (OSError, ValueError):
            return error
        return from_answer(answer["error"]) if "error" in answer else error

    def send_message(self, message: Any) -> None:
        """Send a message object unchanged, followed by the bytes of its "attachment" members, and
        beside it the descriptors of its "fd" members."""
        try:
            self.send_bytes(_encode(message).encode() + b"\n")
        except TypeError:  # the message contains bytes or descriptors, which is rare
            blobs: list[memoryview] = []
            fds: list[Any] = []
            message = detach(message, blobs, fds)
            if blobs:
                message["attachments"] = [b.nbytes for b in blobs]
            if fds:
                message["fds"] = len(fds)
                self._given[message.get("id")] = fds
            self._send_parts([_encode(message).encode() + b"\n", *blobs], fds)

    def send_bytes(self, data: Any, fds: Sequence[Any] = ()) -> None:
        self._send_parts([data], fds)

    def _send_parts(self, parts: list[Any], fds: Sequence[Any] = ()) -> None:
        if self._out or self._begun:
            self._resume()
        out: list[Any] = [parts]
        if fds:  # they travel beside the first bytes
            rights = control_of([f.fileno() for f in fds])
            self._sock.settimeout(self._timeout)
            self._begun = out
            try:
                out.extend(map(self._sock.sendmsg, (parts[:1],), (rights,)))
            finally:
                self._sock.setblocking(True)
        self._out = out
        self._begun = []
        self._flush()

    def _resume(self) -> None:
        """Finish a message whose sending was interrupted.  One with descriptors that was not begun is dropped: nobody waits
        for its answer, and its descriptors may be closed."""
        if len(self._begun) > 1:
            self._out = self._begun
        self._begun = []
        if self._out:
            self._flush()

    def _flush(self) -> None:
        parts = self._out[0]
        total = sum(map(len, parts))
        at = sum(self._out[1:])
        while at < total:
            try:
                if len(parts) == 1:
                    self._out.extend(map(self._sock.send, (memoryview(parts[0])[at:],), (socket.MSG_DONTWAIT,)))
                else:
                    self._out.extend(map(self._sock.sendmsg, (_rest(parts, at),), ((),), (socket.MSG_DONTWAIT,)))
            except BlockingIOError:
                self._wait_to_send()
            at = sum(self._out[1:])
        self._out = []

    def _wait_to_send(self) -> None:
        poll = select.poll()  # select() takes no descriptors from 1024 on
        poll.register(self._sock, select.POLLIN | select.POLLOUT)
        ready = poll.poll(None if self._timeout is None else math.ceil(self._timeout * 1000))
        if not ready:
            raise TimeoutError(f"the daemon took no bytes within the connection's timeout of {self._timeout} s")
        if not ready[0][1] & select.POLLOUT:
            self._fill(0)

    def receive(self) -> Any:
        """Return the result of the oldest request not received yet; raises Error if that request
        failed."""
        answer = self._answer(self._sent[0] if self._sent else 0)
        while self._sent and self._sent.popleft() != answer["id"]:
            if not isinstance(answer["id"], int):  # an error answer without an id
                break
        result = _result(answer)
        self._loose = []
        return result

    def _answer(self, id_: int) -> dict[str, Any]:
        """Return the answer to request id_.  Earlier answers belong to interrupted calls and are
        dropped."""
        while True:
            answer: dict[str, Any] = self._next_message()
            for old in [n for n in self._given if isinstance(n, int) and n < id_]:  # of calls that were interrupted
                if old != answer.get("id"):
                    del self._given[old]
            for fd, number in zip(self._given.pop(answer.get("id"), ()), answer.get("maps", ())):
                fd.map = number
            if "id" not in answer:
                self.notifications.append(answer)
            elif not isinstance(answer["id"], int) or answer["id"] >= id_:
                return answer
            elif isinstance(answer.get("result"), dict):  # its descriptor will not come again
                self._drop_fd(answer["result"])

    def receive_message(self) -> Any:
        """Return the next message as an object, with bytearrays as the values of "attachment" members.

        Raises ConnectionError at the end of the stream."""
        message = self._next_message()
        self._loose = []
        return message

    def _next_message(self) -> Any:
        """Return the next message; _loose owns its descriptors until then, and is closed now."""
        self._close_loose()
        if not self._has_body():
            at, end = self._in[0], self._line_end()
            data, rights = self._joined()
            message = _decode(str(memoryview(data)[at:end], "utf-8"))[0]
            sizes = message.pop("attachments", ()) if isinstance(message, dict) else ()
            if not sizes:
                return self._finish(message, end, rights)
            lost = 0  # bytes for which there is no memory: they are received, so that the next answer is found
            try:
                body = [bytearray(n) for n in sizes]
            except MemoryError:
                lost, junk = sum(sizes), bytearray(_READ_BYTES)
                body = [junk] * (lost // _READ_BYTES) + [bytearray(lost % _READ_BYTES)]
            have = end
            for part in body:
                n = min(len(part), len(data) - have)
                part[:n] = memoryview(data)[have:have + n]
                have += n
            self._body = at, data, body, [have - end], message, have, lost
        _, _, body, counts, message, end, lost = self._body
        while self._missing():
            self._fill(0)
        message = message if lost else attach(message, "attachment", body)
        message = self._finish(message, end, [*self._in[1][1], *(right for r in counts[1:] for right in r[1])])
        if lost:
            raise MemoryError(f"there is no memory for the answer: it has {lost} bytes")
        return message

    def _finish(self, message: Any, end: int, rights: list[Any]) -> Any:
        """Return `message` with its descriptors, the first of `rights`; what follows it in _in is at `end`."""
        fds: list[int] = []
        missing = 0
        if isinstance(message, dict) and message.get("fds"):
            fds, n = descriptors_of((b"", rights)), message.pop("fds")
            missing = n - len(fds)
            message, rights, fds = message if missing > 0 else attach(message, "fd", fds[:n]), control_of(fds[n:]), fds[:n]
        data = self._in[1][0]
        rest = [end, (data, rights)] if end < len(data) else [0]
        # No signal handler runs between these two steps: CPython looks for signals behind a call.
        self._in[:] = rest
        self._loose = fds
        if missing > 0:  # the system closes those for which the process has no number left
            raise OSError(errno.EMFILE, f"{os.strerror(errno.EMFILE)}: an answer has {missing} descriptors more than fit this "
                          "process; close files, or raise its limit (ulimit -n)")
        return message

    def _own_loose(self) -> list[Fd]:
        """Return owners of the newest message's descriptors."""
        return list(map(Fd, popped(self._loose)))

    def _close_loose(self) -> None:
        list(map(os.close, popped(self._loose)))

    def half_close(self) -> None:
        """Tell the daemon that no more requests follow; answers can still be received."""
        self._sock.shutdown(socket.SHUT_WR)

    # -- bytes -----------------------------------------------------------------------------------

    def _fill(self, more: int) -> None:
        """Receive at least one byte: into _body if attachments are being received, else append it to _in.
        more: bytes known to follow, or 0."""
        missing = self._missing() if self._has_body() else []
        received = self._body[3] if missing else self._in
        try:
            if missing:
                received.extend(map(self._sock.recvmsg_into, (missing,), (_CONTROL_BYTES,),
                                    (socket.MSG_CMSG_CLOEXEC,)))
            else:
                received.extend(map(self._sock.recvmsg, (max(_READ_BYTES, min(more, 1 << 20)),),
                                    (_CONTROL_BYTES,), (socket.MSG_CMSG_CLOEXEC,)))
        except BlockingIOError:
            raise TimeoutError(f"no answer from the daemon within the connection's timeout of {self._timeout} s: it drops the "
                               "result when there is one") from None
        if not received[-1][0]:
            raise ConnectionError("the daemon closed the connection")

    def _has_body(self) -> bool:
        """Are attachments of the first message in _in being received?  If so, _body has them; once the
        message was returned, _in is another one and _body has no meaning."""
        return self._body is not None and len(self._in) > 1 and (
            self._body[0] == self._in[0] and self._body[1] is self._in[1][0])

    def _missing(self) -> list[memoryview]:
        """Return the buffers of attachments in _body that are still to be filled."""
        counts = self._body[3]
        return _rest(self._body[2], counts[0] + sum([received[0] for received in counts[1:]]))

    def _joined(self) -> Any:
        """Return (bytes, rights): all that was received, joined in _in[1]."""
        if len(self._in) > 2:
            data = b"".join([received[0] for received in self._in[1:]])
            rights = [right for received in self._in[1:] for right in received[1]]
            self._in[:] = [self._in[0], (data, rights)]
        return self._in[1][:2]

    def _line_end(self) -> int:
        """Receive up to the end of the first line; return the offset after its LF in _in[1].

        Joins all received bytes into _in[1]."""
        if len(self._in) == 1:
            self._fill(0)
        data, at = self._joined()[0], self._in[0]
        end: int = data.find(b"\n", at)
        while end < 0:
            have = sum(len(received[0]) for received in self._in[1:])
            self._fill(have)
            found = self._in[-1][0].find(b"\n")
            end = have + found if found >= 0 else -1
        self._joined()
        return end + 1


def _result(answer: dict[str, Any]) -> Any:
    if "error" in answer:
        raise from_answer(answer["error"])
    result = answer["result"]
    if isinstance(result, dict) and "outputs" in result:
        result["outputs"] = from_wire(result["outputs"])
    return result


def _rest(parts: Sequence[Any], at: int) -> list[memoryview]:
    """Return the buffers of `parts` without their first `at` bytes, at most as many as one sendmsg takes."""
    rest = []
    for part in parts:
        if at < len(part):
            rest.append(memoryview(part)[at:])
        at = max(0, at - len(part))
    return rest[:_PARTS]
