"""dispatchd.py -- a client of dispatchd in one file that needs only the standard library.

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
after the line, and in an answer the value of every "attachment" is bytes.  Requests may be
pipelined: call send() several times, then receive() as many times; answers arrive in the order of
the requests.  With "into" a request gives its outputs handles of your choice, integers below 0,
which the next requests may use without waiting for its answer:

    d.send("tensor.create", data=[1, 2], into=-1)
    d.send("op.call", **dispatchd.op_params("aten::neg", {"tensor": -1}, into=-2))

A call() that is interrupted (Ctrl-C, a timeout) is abandoned: its answer is dropped
when it arrives.  Only one thread at a time may use a client.
"""

import array
import collections
import fcntl
import itertools
import json
import mmap
import os
import select
import socket
import struct

# most bytes of one recv, unless more are expected; a buffer is allocated each time
_READ_BYTES = 1 << 14
_CONTROL_BYTES = socket.CMSG_SPACE(16 * array.array("i").itemsize)  # for 16 descriptors
# of fcntl.h; Python has names for them since 3.12
_F_ADD_SEALS, _F_SEAL_SHRINK, _F_SEAL_GROW, _F_SEAL_WRITE = 1033, 2, 4, 8
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode

# JSON-RPC's own errors have only a number; every other error names its type.
_RPC_TYPES = {-32700: "ParseError", -32600: "InvalidRequest", -32601: "MethodNotFound",
              -32602: "InvalidParams", -32603: "InternalError"}


class Error(Exception):
    """An error that the daemon answered: .type ("TypeError", "NotFound", ...), .message, .code,
    .data."""

    def __init__(self, error):
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data") or {}
        self.type = self.data.get("type") or _RPC_TYPES.get(self.code, "Error")
        super().__init__(f"{self.type}: {self.message}")


def socket_path(path=None):
    """Return the socket's path: `path`, else $DISPATCHD_SOCKET, else the default
    (docs/operating.md)."""
    runtime, tmp = (os.environ.get(name, "") for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    if path or os.environ.get("DISPATCHD_SOCKET"):
        return path or os.environ["DISPATCHD_SOCKET"]
    if runtime.startswith("/"):
        return runtime + "/dispatchd.sock"
    if os.geteuid() == 0:
        return "/run/dispatchd.sock"
    return f"{tmp if tmp.startswith('/') else '/tmp'}/dispatchd-{os.geteuid()}/dispatchd.sock"


def connect(path=None, timeout=None):
    """Return a Client of the daemon at socket_path(path).  timeout: seconds to wait for each
    step of sending or receiving, then TimeoutError is raised; None: no limit.  PermissionError: the
    server runs as a user other than this one, root and the one whose number is in
    $DISPATCHD_SERVER_UID."""
    path = socket_path(path)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
        _check_server(s, f"the server at '{path}'")
    except OSError as e:
        s.close()
        e.filename = e.filename or path
        raise
    return Client(s, timeout)


def _check_server(s, name):
    uid = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    if uid not in (0, os.geteuid()) and str(uid) != os.environ.get("DISPATCHD_SERVER_UID"):
        raise PermissionError(f"{name} runs as uid {uid}, not as you or root; if you trust that user, set "
                              f"DISPATCHD_SERVER_UID={uid}")


class Fd:
    """A file descriptor as the value of a member "fd" of the params.  It stays open until close(), or
    until the object is collected.  map: the number that the newest answer gave to the memfd, for a
    member "map" of later params; None: none yet."""

    def __init__(self, fd):
        self.fd, self.map = fd, None

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    __del__ = close


def share(data):
    """Return an Fd of a new memfd with these bytes, which nobody can write or resize: the daemon maps
    it without a copy."""
    fd = Fd(os.memfd_create("dispatchd", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
    with memoryview(data).cast("B") as bytes_:
        at = 0
        while at < len(bytes_):
            at += os.write(fd.fd, bytes_[at:])
    fcntl.fcntl(fd.fd, _F_ADD_SEALS, _F_SEAL_SHRINK | _F_SEAL_GROW | _F_SEAL_WRITE)
    return fd


class Client:
    """A connection to the daemon, made by connect()."""

    # A signal handler may raise an exception between any two steps of the interpreter.  So that no
    # byte is lost, one step stores each result of recv and send:
    # _in is [offset of the next message in the bytes, result of each recvmsg...] and
    # _out is [bytes to send, number of bytes sent by each send...].
    def __init__(self, sock, timeout=None):
        self._sock = sock
        self._timeout = timeout
        self._sock.setblocking(True)  # SO_RCVTIMEO limits the wait without a system call per recv
        seconds = timeout or 0
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                              struct.pack("ll", int(seconds), int(seconds % 1 * 1e6)))
        self._in = [0]
        self._out = []
        self._last_id = 0
        # ids of requests from send() not yet received by receive()
        self._sent = collections.deque()
        self.notifications = collections.deque()  # messages without an id, oldest first
        self._maps = {}  # number -> mmap
        self._given = {}  # id of a request -> the Fds that it passed

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self._sock.close()
        for received in self._in[1:]:
            for fd in _descriptors(received):
                os.close(fd)
        self._in = [0]

    def open(self):
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

    def map(self, tensor):
        """Return (descriptor, memory) of a tensor: a read-only memoryview of the bytes from its first
        to its last element, which later calls that write the tensor change.  descriptor["strides"]
        tells how the elements lie there."""
        handle = tensor["tensor"] if isinstance(tensor, dict) else tensor
        t = self.call("tensor.read", tensor=handle, **{"as": "fd"})
        self._keep(t)
        return t, memoryview(self._maps[t["map"]])[t["offset"]:t["offset"] + t["nbytes"]]

    def _keep(self, result):
        """Map the memfd of a result of tensor.read, and close the descriptor of any other result."""
        fd = result.pop("fd", None)
        if not isinstance(fd, int):
            return
        try:
            if "map" in result:
                self._maps[result["map"]] = mmap.mmap(fd, os.fstat(fd).st_size, mmap.MAP_SHARED,
                                                      mmap.PROT_READ)
        finally:
            os.close(fd)

    def unmap(self, *maps):
        """End maps, given by number; memory that map() returned stays valid while it is referenced."""
        self.call("map.release", maps=list(maps))
        for number in maps:
            self._maps.pop(number, None)

    # -- one call at a time ----------------------------------------------------------------------

    def call(self, method, /, **params):
        """Call a method and return its result; raises Error if the daemon answers an error.
        RuntimeError: answers to send() were not received yet."""
        if self._sent:
            raise RuntimeError("receive() the answers to what was sent before a call()")
        return _result(self._answer(self._send(method, params)))

    def op(self, name, /, *args, returns="handle", into=None, **kwargs):
        """Call an operator; return its output, or the list of its outputs if there is not exactly
        one.  returns: "handle", "data" or "attachment", how output tensors are returned.  into: the
        handle of the output, an integer below 0 that is free, or a list with one for each output."""
        params = op_params(name, *args, returns=returns, into=into, **kwargs)
        outputs = self.call("op.call", **params)["outputs"]
        return outputs[0] if len(outputs) == 1 else outputs

    def release(self, *tensors):
        """Release tensors, given by handle or by the dicts that op() and tensor.create return for
        them."""
        return self.call("tensor.release",
                         tensors=[t["tensor"] if isinstance(t, dict) else t for t in tensors])

    # -- pipelining ------------------------------------------------------------------------------

    def notify(self, method, /, **params):
        """Send a notification, which is not answered; call("session.sync") tells which have
        failed."""
        self.send_message({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, method, /, **params):
        """Send a request without waiting for its answer; returns its id.

        Never deadlocks: while the daemon accepts no bytes because its answers are unread, send()
        reads these answers and stores them for receive()."""
        id_ = self._send(method, params)
        self._sent.append(id_)
        return id_

    def _send(self, method, params):
        self._last_id = id_ = self._last_id + 1
        try:
            self.send_message({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        except (BrokenPipeError, ConnectionResetError) as e:
            if self._sent:  # receive() returns their answers, and then the error
                raise
            raise self._why_closed(id_, e) from None
        return id_

    def _why_closed(self, id_, error):
        """Return the Error with which the daemon has closed the connection, or `error` if it gave none."""
        try:
            answer = self._answer(id_)
        except (OSError, ValueError):
            return error
        return Error(answer["error"]) if "error" in answer else error

    def send_message(self, message):
        """Send a message object unchanged, followed by the bytes of its "attachment" members, and
        beside it the descriptors of its "fd" members."""
        try:
            self.send_bytes(_encode(message).encode() + b"\n")
        except TypeError:  # the message contains bytes or descriptors, which is rare
            blobs, fds = [], []
            message = _detach(message, blobs, fds)
            if blobs:
                message["attachments"] = [len(b) for b in blobs]
            if fds:
                message["fds"] = len(fds)
                self._given[message.get("id")] = fds
            self.send_bytes(b"".join([_encode(message).encode(), b"\n", *blobs]), fds)

    def send_bytes(self, data, fds=()):
        if len(self._out) > 1:  # finish a message whose sending was interrupted
            self._flush()
        self._out = [data]
        if fds:  # they travel beside the first bytes
            rights = _rights([f.fd for f in fds])
            self._sock.settimeout(self._timeout)
            try:
                self._out.extend(map(self._sock.sendmsg, ([data],), (rights,)))
            finally:
                self._sock.setblocking(True)
        self._flush()

    def _flush(self):
        data, at = self._out[0], sum(self._out[1:])
        while at < len(data):
            try:
                self._out.extend(map(self._sock.send, (memoryview(data)[at:],), (socket.MSG_DONTWAIT,)))
            except BlockingIOError:
                self._wait_to_send()
            at = sum(self._out[1:])
        self._out = []

    def _wait_to_send(self):
        readable, writable, _ = select.select([self._sock], [self._sock], [], self._timeout)
        if not readable and not writable:
            raise TimeoutError("the daemon takes no bytes")
        if not writable:
            self._fill(0)

    def receive(self):
        """Return the result of the oldest request not received yet; raises Error if that request
        failed."""
        answer = self._answer(self._sent[0] if self._sent else 0)
        while self._sent and self._sent.popleft() != answer["id"]:
            if not isinstance(answer["id"], int):  # an error answer without an id
                break
        return _result(answer)

    def _answer(self, id_):
        """Return the answer to request id_.  Earlier answers belong to interrupted calls and are
        dropped."""
        while True:
            answer = self.receive_message()
            for fd, number in zip(self._given.pop(answer.get("id"), ()), answer.get("maps", ())):
                fd.map = number
            if "id" not in answer:
                self.notifications.append(answer)
            elif not isinstance(answer["id"], int) or answer["id"] >= id_:
                return answer
            elif isinstance(answer.get("result"), dict):  # its descriptor will not come again
                self._keep(answer["result"])

    def receive_message(self):
        """Return the next message as an object, with bytes as the values of "attachment" members.

        Raises ConnectionError at the end of the stream."""
        at, end = self._in[0], self._line_end()
        message = _decode(str(memoryview(self._in[1][0])[at:end], "utf-8"))[0]
        sizes = message.get("attachments", ()) if isinstance(message, dict) else ()
        have = len(self._in[1][0])
        while have < end + sum(sizes):
            self._fill(end + sum(sizes) - have)
            have += len(self._in[-1][0])
        data, rights = self._joined()
        if sizes:
            ends = list(itertools.accumulate(sizes, initial=end))
            message.pop("attachments")
            message = _attach(message, "attachment", [data[a:b] for a, b in zip(ends, ends[1:])])
            end = ends[-1]
        if isinstance(message, dict) and message.get("fds"):
            fds, n = _descriptors((data, rights)), message.pop("fds")
            message, rights = _attach(message, "fd", fds[:n]), _rights(fds[n:])
        self._in[:] = [end, (data, rights)] if end < len(data) else [0]
        return message

    def half_close(self):
        """Tell the daemon that no more requests follow; answers can still be received."""
        self._sock.shutdown(socket.SHUT_WR)

    # -- bytes -----------------------------------------------------------------------------------

    def _fill(self, more):
        """Receive at least one byte and append it to _in; more: bytes known to follow, or 0."""
        try:
            self._in.extend(map(self._sock.recvmsg, (max(_READ_BYTES, min(more, 1 << 20)),),
                                (_CONTROL_BYTES,), (socket.MSG_CMSG_CLOEXEC,)))
        except BlockingIOError:
            raise TimeoutError("no answer from the daemon") from None
        if not self._in[-1][0]:
            raise ConnectionError("the daemon closed the connection")

    def _joined(self):
        """Return (bytes, rights): all that was received, joined in _in[1]."""
        if len(self._in) > 2:
            data = b"".join([received[0] for received in self._in[1:]])
            rights = [right for received in self._in[1:] for right in received[1]]
            self._in[:] = [self._in[0], (data, rights)]
        return self._in[1][:2]

    def _line_end(self):
        """Receive up to the end of the first line; return the offset after its LF in _in[1].

        Joins all received bytes into _in[1]."""
        if len(self._in) == 1:
            self._fill(0)
        data, at = self._joined()[0], self._in[0]
        end = data.find(b"\n", at)
        while end < 0:
            have = sum(len(received[0]) for received in self._in[1:])
            self._fill(have)
            found = self._in[-1][0].find(b"\n")
            end = have + found if found >= 0 else -1
        self._joined()
        return end + 1


def _descriptors(received):
    """Return the descriptors in a result of recvmsg."""
    return [fd for _, _, fds in received[1] for fd in array.array("i", fds)]


def _rights(fds):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds).tobytes())] if fds else []


def _result(answer):
    if "error" in answer:
        raise Error(answer["error"])
    result = answer["result"]
    if isinstance(result, dict) and "outputs" in result:
        result["outputs"] = from_wire(result["outputs"])
    return result


def op_params(name, /, *args, returns="handle", into=None, **kwargs):
    """Return the params of op.call for these arguments; returns, into: see Client.op()."""
    params = {"op": name, "args": to_wire(args), "return": returns}
    if into is not None:
        params["into"] = into
    return {**params, "kwargs": {k: to_wire(v) for k, v in kwargs.items()}} if kwargs else params


def to_wire(value):
    """Convert a Python value to the protocol's JSON.  dicts stay unchanged: they are tensor literals,
    or handles such as {"tensor": 1}."""
    if isinstance(value, (list, tuple)):
        return [to_wire(v) for v in value]
    if isinstance(value, float) and (value.is_integer() or value - value != 0):
        return {"float": value if value - value == 0 else str(float(value))}
    if isinstance(value, complex):
        return {"complex": [z if z - z == 0 else str(z) for z in (value.real, value.imag)]}
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return {"int": str(value)}
    return value


_EXACT = {"float": float, "int": int, "complex": lambda z: complex(float(z[0]), float(z[1]))}


def from_wire(value):
    """Convert the protocol's JSON to Python values, the inverse of to_wire().  The objects
    that describe tensors stay unchanged."""
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if isinstance(value, dict) and len(value) == 1:
        (name, exact), = value.items()
        return _EXACT[name](exact) if name in _EXACT else value
    return value


def _detach(value, blobs, fds):
    """Return a copy of `value`; the bytes of every "attachment" move to `blobs`, and every Fd to
    `fds`, replaced by their index."""
    if isinstance(value, list):
        return [_detach(v, blobs, fds) for v in value]
    if not isinstance(value, dict):
        return value
    copy = {}
    for k, v in value.items():
        if k == "attachment" and isinstance(v, (bytes, bytearray, memoryview)):
            blobs.append(bytes(v))
            v = len(blobs) - 1
        if k == "fd" and isinstance(v, Fd):
            fds.append(v)
            v = len(fds) - 1
        copy[k] = _detach(v, blobs, fds)
    return copy


def _attach(value, name, things):
    """Return a copy of `value`; the index in every member `name` is replaced by that item of
    `things`."""
    if isinstance(value, list):
        return [_attach(v, name, things) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: things[v] if k == name and isinstance(v, int) else _attach(v, name, things)
            for k, v in value.items()}
