"""dispatchd.py -- a client of dispatchd in one file, with nothing but the standard library.

    import dispatchd
    with dispatchd.connect() as d:
        d.call("server.status")                              # any method, its params by name
        d.op("aten::add.Tensor", {"data": [[1, 2]]}, 10)     # an operator; its outputs
        d.op("aten::relu", {"dtype": "float32", "shape": [2], "attachment": raw_bytes})

Bytes travel as attachments: a bytes-like value of a member "attachment" in the params is sent behind
the line, and in an answer every "attachment" is the bytes themselves.  Requests may be pipelined:
send() any number, then receive() as often; answers come in the order of the requests.  A client
belongs to one thread at a time.
"""

import collections
import json
import os
import select
import socket
import struct

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
    def __init__(self, sock, timeout=None):
        self._sock = sock
        self._timeout = timeout
        self._sock.setblocking(False)
        self._in = bytearray()
        self._last_id = 0
        self._pending = 0  # requests sent whose answers were not received
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
        if self._pending:
            raise RuntimeError("receive() the answers to what was sent before a call()")
        self.send(method, **params)
        return self.receive()

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
        self._last_id += 1
        self.send_message({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        self._pending += 1
        return self._last_id

    def send_message(self, message):
        """Send a message object as it is, its "attachment" bytes behind it."""
        blobs = []
        message = _detach(message, blobs)
        if blobs:
            message["attachments"] = [len(b) for b in blobs]
        line = json.dumps(message, separators=(",", ":"), allow_nan=False)
        self.send_bytes(b"".join([line.encode(), b"\n", *blobs]))

    def send_bytes(self, data):
        rest = memoryview(data)
        while rest:
            readable, writable, _ = select.select([self._sock], [self._sock], [], self._timeout)
            if not readable and not writable:
                raise TimeoutError("the daemon takes no bytes")
            if writable:
                rest = rest[self._sock.send(rest):]
            elif readable:
                self._fill()

    def receive(self):
        """The result of the oldest request not received yet; raises Error if it failed."""
        answer = self.receive_message()
        while "id" not in answer:
            self.notifications.append(answer)
            answer = self.receive_message()
        self._pending -= 1
        if "error" in answer:
            raise Error(answer["error"])
        return answer["result"]

    def receive_message(self):
        """The next message as it came, attachments in place.  ConnectionError at the end."""
        line = self._take_line()
        message = json.loads(line)
        if isinstance(message, dict) and "attachments" in message:
            blobs = [self._take(n) for n in message.pop("attachments")]
            message = _attach(message, blobs)
        return message

    def half_close(self):
        """Say that no more requests come; answers can still be received."""
        self._sock.shutdown(socket.SHUT_WR)

    # -- bytes -----------------------------------------------------------------------------------

    def _fill(self):
        data = self._sock.recv(1 << 20)
        if not data:
            raise ConnectionError("the daemon closed the connection")
        self._in += data

    def _wait(self):
        if not select.select([self._sock], [], [], self._timeout)[0]:
            raise TimeoutError("no answer from the daemon")
        self._fill()

    def _take_line(self):
        seen = 0
        while (end := self._in.find(b"\n", seen)) < 0:
            seen = len(self._in)
            self._wait()
        return self._take(end + 1)

    def _take(self, n):
        while len(self._in) < n:
            self._wait()
        data = bytes(self._in[:n])
        del self._in[:n]
        return data


def op_params(name, /, *args, returns="handle", **kwargs):
    """Params of op.call."""
    params = {"op": name, "args": list(args), "return": returns}
    return {**params, "kwargs": kwargs} if kwargs else params


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
