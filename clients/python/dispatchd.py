"""dispatchd.py -- a client of dispatchd in one file, with nothing but the standard library.

    import dispatchd
    with dispatchd.connect() as d:
        d.call("server.status")                              # any method, its params by name
        d.op("aten::add.Tensor", {"data": [[1, 2]]}, 10)     # an operator; its outputs
        d.op("aten::relu", {"dtype": "float32", "shape": [2], "attachment": raw_bytes})

Values are Python's: a float stays a float (2.0 is no int), as do nan, inf, integers of any 64 bits and complex
numbers, in arguments of op() and in what call(), op() and receive() return.  The elements of a tensor's
"data" are as docs/protocol.md spells them: "nan", "inf", large integers as strings, [re, im].

Bytes travel as attachments: a bytes-like value of a member "attachment" in the params is sent behind
the line, and in an answer every "attachment" is the bytes themselves.  Requests may be pipelined:
send() any number, then receive() as often; answers come in the order of the requests.  A call() that
is interrupted (Ctrl-C, a timeout) is abandoned: its answer is dropped when it comes.  A client belongs
to one thread at a time.
"""

import collections
import itertools
import json
import os
import select
import socket
import struct

_READ_BYTES = 1 << 14  # of one recv, unless more is known to come: room for it is made each time
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_decode = json.JSONDecoder().raw_decode

# JSON-RPC's own faults have a number only; every other error carries its type.
_RPC_TYPES = {-32700: "ParseError", -32600: "InvalidRequest", -32601: "MethodNotFound",
              -32602: "InvalidParams", -32603: "InternalError"}


class Error(Exception):
    """The daemon answered an error: .type ("TypeError", "NotFound", ...), .message, .code, .data."""

    def __init__(self, error):
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data") or {}
        self.type = self.data.get("type") or _RPC_TYPES.get(self.code, "Error")
        super().__init__(f"{self.type}: {self.message}")


def socket_path(path=None):
    """Where the daemon listens: path, else what the environment says, else the usual place."""
    runtime, tmp = (os.environ.get(name, "") for name in ("XDG_RUNTIME_DIR", "TMPDIR"))
    if path or os.environ.get("DISPATCHD_SOCKET"):
        return path or os.environ["DISPATCHD_SOCKET"]
    if runtime.startswith("/"):
        return runtime + "/dispatchd.sock"
    if os.geteuid() == 0:
        return "/run/dispatchd.sock"
    return f"{tmp if tmp.startswith('/') else '/tmp'}/dispatchd-{os.geteuid()}/dispatchd.sock"


def connect(path=None, timeout=None):
    """A Client of the daemon at socket_path(path).  timeout: seconds to wait for bytes, None: for ever."""
    path = socket_path(path)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.connect(path)
        uid = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (0, os.geteuid()):
            raise PermissionError(f"the server at '{path}' runs as uid {uid}, not as you or root")
    except OSError as e:
        s.close()
        e.filename = e.filename or path
        raise
    return Client(s, timeout)


class Client:
    # A signal's handler may raise between any two steps of ours, so what must not be lost is kept by
    # single ones: _in is [where the next message begins, bytes as they were received...] and _out
    # [bytes to send, how many of them went at each send...].
    def __init__(self, sock, timeout=None):
        self._sock = sock
        self._timeout = timeout
        self._sock.setblocking(True)  # the kernel's timeout costs no system call of its own
        seconds = timeout or 0
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                              struct.pack("ll", int(seconds), int(seconds % 1 * 1e6)))
        self._in = [0]
        self._out = []
        self._last_id = 0
        self._sent = collections.deque()  # ids of what send() sent and receive() has not received
        self.notifications = collections.deque()  # messages without an id, oldest first

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self._sock.close()

    # -- one call at a time ----------------------------------------------------------------------

    def call(self, method, /, **params):
        """Call a method and return its result; raises Error.  Waits out the answers before it."""
        if self._sent:
            raise RuntimeError("receive() the answers to what was sent before a call()")
        return _result(self._answer(self._send(method, params)))

    def op(self, name, /, *args, returns="handle", **kwargs):
        """Call an operator: its one output, or the list of them."""
        outputs = self.call("op.call", **op_params(name, *args, returns=returns, **kwargs))["outputs"]
        return outputs[0] if len(outputs) == 1 else outputs

    def release(self, *tensors):
        """Drop handles: numbers, or descriptors as op() and tensor.create give them."""
        return self.call("tensor.release",
                         tensors=[t["tensor"] if isinstance(t, dict) else t for t in tensors])

    # -- pipelining ------------------------------------------------------------------------------

    def send(self, method, /, **params):
        """Send a request without waiting for its answer; returns its id.

        Never deadlocks: while the daemon takes no bytes because of answers that nobody read, they
        are read and kept for receive()."""
        id_ = self._send(method, params)
        self._sent.append(id_)
        return id_

    def _send(self, method, params):
        self._last_id = id_ = self._last_id + 1
        self.send_message({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        return id_

    def send_message(self, message):
        """Send a message object as it is, its "attachment" bytes behind it."""
        try:
            self.send_bytes(_encode(message).encode() + b"\n")
        except TypeError:  # mostly there are no bytes
            blobs = []
            message = _detach(message, blobs)
            message["attachments"] = [len(b) for b in blobs]
            self.send_bytes(b"".join([_encode(message).encode(), b"\n", *blobs]))

    def send_bytes(self, data):
        if len(self._out) > 1:  # the rest of a message whose sending was interrupted
            self._flush()
        self._out = [data]
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
        """The result of the oldest request not received yet; raises Error if it failed."""
        answer = self._answer(self._sent[0] if self._sent else 0)
        while self._sent and self._sent.popleft() != answer["id"]:
            if not isinstance(answer["id"], int):  # an error that could not say whose it is
                break
        return _result(answer)

    def _answer(self, id_):
        """To request id_.  Those to earlier ones are of calls that were interrupted."""
        while True:
            answer = self.receive_message()
            if "id" not in answer:
                self.notifications.append(answer)
            elif not isinstance(answer["id"], int) or answer["id"] >= id_:
                return answer

    def receive_message(self):
        """The next message as it came, attachments in place.  ConnectionError at the end."""
        at, end = self._in[0], self._line_end()
        message = _decode(str(memoryview(self._in[1])[at:end], "utf-8"))[0]
        sizes = message.get("attachments", ()) if isinstance(message, dict) else ()
        have = len(self._in[1])
        while have < end + sum(sizes):
            self._fill(end + sum(sizes) - have)
            have += len(self._in[-1])
        data = self._joined()
        if sizes:
            ends = list(itertools.accumulate(sizes, initial=end))
            message.pop("attachments")
            message = _attach(message, [data[a:b] for a, b in zip(ends, ends[1:])])
            end = ends[-1]
        self._in[:] = [end, data] if end < len(data) else [0]
        return message

    def half_close(self):
        """Say that no more requests come; answers can still be received."""
        self._sock.shutdown(socket.SHUT_WR)

    # -- bytes -----------------------------------------------------------------------------------

    def _fill(self, more):
        """Receive something; more: bytes that are known to come, if any are."""
        try:
            self._in.extend(map(self._sock.recv, (max(_READ_BYTES, min(more, 1 << 20)),)))
        except BlockingIOError:
            raise TimeoutError("no answer from the daemon") from None
        if not self._in[-1]:
            raise ConnectionError("the daemon closed the connection")

    def _joined(self):
        if len(self._in) > 2:
            self._in[:] = [self._in[0], b"".join(self._in[1:])]
        return self._in[1]

    def _line_end(self):
        """Where the first line ends, its LF included, in what has come; all of it is one piece then."""
        if len(self._in) == 1:
            self._fill(0)
        data, at = self._joined(), self._in[0]
        end = data.find(b"\n", at)
        while end < 0:
            have = sum(map(len, self._in[1:]))
            self._fill(have)
            found = self._in[-1].find(b"\n")
            end = have + found if found >= 0 else -1
        self._joined()
        return end + 1


def _result(answer):
    if "error" in answer:
        raise Error(answer["error"])
    result = answer["result"]
    if isinstance(result, dict) and "outputs" in result:
        result["outputs"] = from_wire(result["outputs"])
    return result


def op_params(name, /, *args, returns="handle", **kwargs):
    """Params of op.call."""
    params = {"op": name, "args": to_wire(args), "return": returns}
    return {**params, "kwargs": {k: to_wire(v) for k, v in kwargs.items()}} if kwargs else params


def to_wire(value):
    """A value of Python as the protocol spells it; objects (literals, handles, exact forms) as they are."""
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
    """The inverse of to_wire(); tensors' descriptors as they are."""
    if isinstance(value, list):
        return [from_wire(v) for v in value]
    if isinstance(value, dict) and len(value) == 1:
        (name, exact), = value.items()
        return _EXACT[name](exact) if name in _EXACT else value
    return value


def _detach(value, blobs):
    """A copy of value with every "attachment": bytes replaced by its index in blobs."""
    if isinstance(value, list):
        return [_detach(v, blobs) for v in value]
    if not isinstance(value, dict):
        return value
    copy = {}
    for k, v in value.items():
        if k == "attachment" and isinstance(v, (bytes, bytearray, memoryview)):
            blobs.append(bytes(v))
            v = len(blobs) - 1
        copy[k] = _detach(v, blobs)
    return copy


def _attach(value, blobs):
    """The inverse of _detach."""
    if isinstance(value, list):
        return [_attach(v, blobs) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: blobs[v] if k == "attachment" and isinstance(v, int) else _attach(v, blobs)
            for k, v in value.items()}
