"""rude.py -- what clients of the soak do that do not keep to the protocol: RUDE, a function for each kind.

Each opens a socket of its own.  The daemon answers an error, closes the connection or waits for more; which of
these is checked where only one of them is right."""

import array
import json
import os
import socket
import time

import raw

RUDE = {}
ERRORS = (-32700, -32600)


def action(fn):
    RUDE[fn.__name__.replace("_", " ")] = fn
    return fn


class Raw(raw.Raw):
    def __init__(self, v):
        super().__init__(v.shared.socket, 300)

    def send(self, *parts):
        """Send all, or what the daemon takes before it closes the connection."""
        try:
            super().send(*parts)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def beside(self, fds, line):
        self.s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])

    def answer(self):
        """The next message; None: the end."""
        try:
            line = self.file.readline()
        except ConnectionResetError:
            return None
        return json.loads(line) if line else None

    def refuses(self):
        """The next message must be an error without an id, or the end."""
        answer = self.answer()
        if answer is not None and (answer["id"] is not None or "error" not in answer):
            raise AssertionError(f"got {answer}, want an error without an id")
        return answer

    def lives(self):
        self.send(request(4711))
        answer = self.answer()
        if answer is None or answer["id"] != 4711 or "result" not in answer:
            raise AssertionError(f"got {answer}, want the answer to request 4711")


def request(id_, method="store.stats", **more):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, **more}).encode() + b"\n"


CREATE = {"params": {"data": [1.0, 2.0]}}


@action
def half_a_line(v):
    with Raw(v) as c:
        c.send(request(1)[:v.rnd.randrange(1, 30)])
        if v.rnd.random() < 0.5:
            c.send(b'{"x":"' + b"y" * v.rnd.randrange(1 << 18))


@action
def garbage(v):
    with Raw(v) as c:
        for line in v.rnd.sample((b"garbage", b"{", b'{"a":1}x', b"\xff\xfe\x00", b'"\x01"', b"1e", b"[1,2", b'{"a":1,"a":2}',
                                  b"[" * 5000, b'{"a":' * 5000), 4):
            c.send(line, b"\n")
            error = c.answer()["error"]
            if error["code"] not in ERRORS:
                raise AssertionError(f"{line[:30]}: got {error}")
        c.lives()


@action
def noise(v):
    with Raw(v) as c:
        c.s.settimeout(0.05)
        try:
            c.s.sendall(bytes(b for b in v.rnd.randbytes(v.rnd.randrange(20000))))
            while c.s.recv(65536):
                pass
        except OSError:
            pass


@action
def lines_over_the_limit(v):
    with Raw(v) as c:
        c.send(b"z" * (1 << 20) + b"z" * v.rnd.randrange(1, 1 << 18), b"\n")
        if c.refuses()["error"]["code"] != -32600:
            raise AssertionError("a line over the limit")
        c.lives()


@action
def attachments_that_do_not_come(v):
    with Raw(v) as c:
        n = v.rnd.choice((1, 1000, 1 << 18, 1 << 22))
        c.send(request(1, "tensor.create", attachments=[n], **CREATE), bytes(v.rnd.randrange(min(n, 1 << 17))))
        if v.rnd.random() < 0.5:
            c.s.shutdown(socket.SHUT_WR)


@action
def announcements_that_are_none(v):
    with Raw(v) as c:
        c.send(request(1, attachments=v.rnd.choice(([-1], ["1"], 3, [1 << 40], [1] * 2000))), request(2))
        answer = c.answer()
        if "error" not in answer or c.answer() is not None:
            raise AssertionError(f"got {answer}, want an error and the end")


@action
def a_gigabyte_that_is_announced(v):
    with Raw(v) as c:
        c.send(request(1, "tensor.create", attachments=[1 << 30], **CREATE), bytes(v.rnd.randrange(1 << 20)))


@action
def attachments_over_the_quota(v):
    with Raw(v) as c:
        n = 9 << 20  # more than the session may have: refused, and read all the same
        c.send(request(1, "tensor.create", attachments=[n], **CREATE), bytes(n))
        answer = c.answer()
        if answer["id"] != 1 or answer["error"]["data"]["type"] != "ResourceExhausted":
            raise AssertionError(f"got {answer}, want ResourceExhausted")
        c.lives()


@action
def bytes_one_at_a_time(v):
    with Raw(v) as c:
        line = request(7, "tensor.create", attachments=[3], **CREATE) + b"abc" + request(8)
        for i, byte in enumerate(line):
            c.send(bytes([byte]))
            if i % 40 == 0:
                time.sleep(0.01)
        for id_ in (7, 8):
            if (answer := c.answer())["id"] != id_:
                raise AssertionError(f"got {answer}, want the answer to {id_}")


@action
def answers_that_are_not_read(v):
    with Raw(v) as c:
        c.send(request(1, "tensor.create", **CREATE))
        c.s.settimeout(0.2)
        try:
            c.s.sendall(request(2, "registry.list") * v.rnd.randrange(1, 400))
        except OSError:
            pass
        if v.rnd.random() < 0.3:
            c.s.settimeout(300)
            c.answer()


@action
def calls_that_are_left(v):
    with Raw(v) as c:
        sleep = {"op": "sleeps::sleep", "args": [{"data": [1.0]}, v.rnd.randrange(20)]}
        c.send(request(1, "op.call", params=sleep) * v.rnd.randint(1, 5),
               request(2, "tensor.create", **CREATE) * v.rnd.randint(1, 200))


@action
def half_closes(v):
    with Raw(v) as c:
        n = v.rnd.randint(1, 50)
        c.send(*[request(i, "tensor.create", **CREATE) for i in range(n)])
        c.s.shutdown(socket.SHUT_WR)
        ids = []
        while (answer := c.answer()) is not None:
            ids.append(answer["id"])
        if ids != list(range(n)):
            raise AssertionError(f"got answers to {ids}, want those of {n}")


@action
def urgent_data(v):
    with Raw(v) as c:
        c.lives()
        try:
            c.s.send(b"!", socket.MSG_OOB)
        except OSError:
            return
        if (answer := c.answer()) is not None:
            raise AssertionError(f"got {answer}, want the end")


@action
def descriptors_that_nobody_announced(v):
    with Raw(v) as c:
        ends = os.pipe()
        c.beside(ends, request(1))
        c.answer()
        c.lives()
        c.beside(ends, request(2))
        for end in ends:
            os.close(end)
        c.answer()
        if c.refuses() is not None and c.answer() is not None:
            raise AssertionError("the connection did not end at the second time")


@action
def descriptors_of_the_wrong_kind(v):
    with Raw(v) as c:
        pipe, file = os.pipe(), os.memfd_create("loose", os.MFD_CLOEXEC)
        wrong = {"params": {"dtype": "uint8", "shape": [1], "fd": 0}, "fds": 1}
        for fd in (pipe[0], c.s.fileno(), file):
            c.beside([fd], request(1, "tensor.create", **wrong))
            if (answer := c.answer())["error"]["data"]["type"] != "ValueError":
                raise AssertionError(f"got {answer}, want ValueError")
        for fd in (*pipe, file):
            os.close(fd)
        c.lives()


@action
def descriptors_by_the_dozen(v):
    with Raw(v) as c, open(os.devnull) as null:
        try:
            for _ in range(4):
                c.beside([null.fileno()] * 16, b" ")
        except OSError:
            pass
        if (answer := c.answer()) is not None and answer["error"]["data"]["type"] != "ResourceExhausted":
            raise AssertionError(f"got {answer}, want ResourceExhausted")


@action
def descriptors_beside_half_a_line(v):
    with Raw(v) as c, open(os.devnull) as null:
        c.beside([null.fileno()] * v.rnd.randint(1, 16), request(1, fds=2)[:v.rnd.randrange(1, 40)])
