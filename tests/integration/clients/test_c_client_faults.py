"""test_c_client_faults.py -- libdispatchd-client against servers that answer garbage, parts of messages, or nothing, and
without memory (the C programs beside this file)."""

import contextlib
import fcntl
import json
import os
import resource
import socket
import subprocess
import tempfile
import threading

from harness import BUILD, SANITIZED, contains, equal, less, main
from daemon import TestDaemon

SECONDS = 300 if SANITIZED else 60
EARGUMENT, EMEMORY, ECONNECT, EPEER, EBROKEN, EPROTOCOL, EDAEMON, ETIMEOUT = range(-1, -9, -1)


def answer(id_, **members):
    return json.dumps({"jsonrpc": "2.0", "id": id_, **(members or {"result": {}})}).encode() + b"\n"


@contextlib.contextmanager
def server(serve):
    """A server that accepts one connection and runs serve(connection); yields its path."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = os.path.join(folder, "s")
        listening.bind(path)
        listening.listen()
        failed = []

        def run():
            try:
                connection, _ = listening.accept()
                with connection:
                    serve(connection)
            except Exception as e:
                failed.append(e)

        thread = threading.Thread(target=run)
        thread.start()
        yield path
        thread.join(SECONDS)
        equal(failed, [], "exceptions of the server")


def lines_of(connection, n):
    data = b""
    while data.count(b"\n") < n:
        more = connection.recv(1 << 16)
        if not more:
            break
        data += more
    return data


def faults(serve, *arguments):
    """Lines that client_faults prints."""
    with server(serve) as path:
        done = subprocess.run([os.path.join(BUILD, "tests", "client_faults"), path, *arguments], text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(done.returncode, 0, f"exit code, after {done.stdout}")
    return done.stdout.splitlines()


def said(*pieces):
    """Lines that client_faults prints after a server, once it has both requests, has sent these pieces and closed."""
    def serve(connection):
        lines_of(connection, 2)
        with contextlib.suppress(BrokenPipeError):  # the client may have enough
            for piece in pieces:
                connection.sendall(piece)
    return faults(serve)


def test_two_good_answers():
    equal(said(answer(1), answer(2)), ["result 1", "result 2"])
    equal(said(answer(1) + answer(2)), ["result 1", "result 2"])


def test_every_byte_may_come_alone():
    message = answer(1, result={}, attachments=[3, 0, 2]) + b"abcde" + answer(2)

    def serve(connection):
        lines_of(connection, 2)
        for byte in message:
            connection.sendall(bytes([byte]))
    equal(faults(serve), ["result 1 3:abc 0: 2:de", "result 2"])


def test_garbage():
    for garbage in (b"hello\n", b"\n", b"[]\n", b"{}\n", b"1\n", b"\0\n", b'{"id":1\n', b"\xff\xfe{}\n", b"{" * 5000 + b"\n",
                    answer(1, result={}, error={}), answer(2), answer(0), answer("1"), answer(None), answer(1.5),
                    answer(1, result={}, attachments=5), answer(1, result={}, attachments=[-1]),
                    answer(1, result={}, attachments=["x"]), answer(1, result={}, attachments=[1e300])):
        got = said(garbage, answer(1), answer(2))
        equal(len(got), 2, f"lines after {garbage[:40]}: {got}")
        for line in got:  # the second says the same: the client is broken
            contains(line, f"error {EPROTOCOL} the daemon's message", garbage[:40])
    contains(said(answer(1), b"x\n")[1], f"error {EPROTOCOL}")
    contains(said(answer(1), answer(1))[1], "another request")


def test_an_answer_too_many():
    equal(said(answer(1) + answer(2) + answer(3)), ["result 1", "result 2"])


def test_an_answer_before_its_request_is_there():
    """The daemon refuses a request before it has read its attachments, and closes."""
    refusal = answer(1, error={"code": -32000, "message": "too long", "data": {"type": "ResourceExhausted"}})

    def serve(connection):
        connection.recv(100)
        connection.sendall(refusal)
    equal(faults(serve, "60000", "1000000"), [f"error {EDAEMON} ResourceExhausted: too long"])


def test_the_connection_ends():
    ends = f"error {EBROKEN} the daemon closed the connection"
    middle = ends + " in the middle of a message"
    equal(said(), [ends, ends])
    equal(said(answer(1)), ["result 1", ends])
    equal(said(answer(1), b'{"jsonrpc"'), ["result 1", middle])
    for sent in (0, 1, 999, 9999, 99999):
        equal(said(answer(1, result={}, attachments=[100000]) + b"x" * sent), [middle, middle])


def test_the_daemon_says_why_it_ends_the_connection():
    full = answer(None, error={"code": -32000, "message": "1024 connections", "data": {"type": "ResourceExhausted"}})
    # it answers the oldest request
    equal(said(full), [f"error {EDAEMON} ResourceExhausted: 1024 connections",
                       f"error {EBROKEN} the daemon closed the connection"])
    equal(said(answer(1), answer(2), full), ["result 1", "result 2"])


def test_a_server_that_closes_at_once():
    full = answer(None, error={"code": -32000, "message": "no place", "data": {"type": "ResourceExhausted"}})

    def serve(connection):
        connection.sendall(full)
    got = faults(serve)
    contains("\n".join(got), "no place")
    less(1, len(got), "lines")


def test_notifications():
    first = b'{"jsonrpc":"2.0","method":"registry.changed","params":{"n":7}}\n'
    second = b'{"jsonrpc":"2.0","method":"bare"}\n'
    equal(said(first, answer(1), second + first, answer(2)),
          ["notification registry.changed 7", "result 1", "notification bare -1", "notification registry.changed 7",
           "result 2"])


def test_answers_that_do_not_come():
    done = threading.Event()

    def serve(connection):
        lines_of(connection, 2)
        connection.sendall(answer(1)[:10])
        lines_of(connection, 1)  # until the client leaves
        done.set()
    late = f"error {ETIMEOUT} the daemon did not answer in time"
    equal(faults(serve, "50"), [late, late])
    equal(done.wait(SECONDS), True)


# -- descriptors ----------------------------------------------------------------------------------

SHRINK, ADD_SEALS = 2, 1033


def memfd(data=b"x" * 8, seals=SHRINK):
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, ADD_SEALS, seals)
    return fd


def shared(id_, fds=1, **members):
    """An answer of tensor.read that passes shared memory of two float32."""
    result = {"dtype": "float32", "shape": [2], "strides": [1], "fd": 0, "map": 1, "offset": 0, "nbytes": 8, **members}
    return answer(id_, result={k: v for k, v in result.items() if v is not None}, **({"fds": fds} if fds else {}))


def passed(*pieces):
    """Lines that client_faults prints after a server has sent these pieces: (bytes, descriptors beside them)."""
    def serve(connection):
        lines_of(connection, 2)
        with contextlib.suppress(BrokenPipeError):
            for data, fds in pieces:
                socket.send_fds(connection, [data], fds)
        for _, fds in pieces:
            for fd in fds:
                with contextlib.suppress(OSError):  # one that was passed twice
                    os.close(fd)
    return faults(serve)


def test_shared_memory_comes_once():
    got = passed((shared(1), [memfd(b"abcdefgh")]), (shared(2, fds=None, fd=None, offset=4, nbytes=4, shape=[1]), []))
    equal(got, ["shared 8:abcdefgh", "shared 4:efgh"])
    # two in one piece, and a line that comes in two
    equal(passed((answer(1) + shared(2), [memfd(b"abcdefgh")])), ["result 1", "shared 8:abcdefgh"])
    line = shared(1)
    equal(passed((line[:20], [memfd(b"abcdefgh")]), (line[20:] + answer(2), [])), ["shared 8:abcdefgh", "result 2"])
    equal(passed((shared(1), [memfd(b"abcdefgh")]), (shared(2, map=2), [memfd(b"ijklmnop")])),
          ["shared 8:abcdefgh", "shared 8:ijklmnop"])
    # their lines come before the descriptors' only by a part
    a, b = shared(1), shared(2, map=2)
    equal(passed((a[:5], [memfd(b"abcdefgh")]), (a[5:] + b[:5], [memfd(b"ijklmnop")]), (b[5:], [])),
          ["shared 8:abcdefgh", "shared 8:ijklmnop"])


def test_descriptors_that_are_no_shared_memory():
    read, write = os.pipe()
    os.close(write)
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 8)
        file.flush()
        for fd in (read, os.open("/dev/zero", os.O_RDWR), os.dup(file.fileno()), memfd(seals=0), memfd(b""),
                   os.open("/", os.O_RDONLY)):
            got = passed((shared(1), [fd]), (answer(2), []))
            equal(len(got), 2, f"lines: {got}")
            for line in got:
                contains(line, f"error {EPROTOCOL} the daemon's message passes a descriptor that is no memfd sealed")


def test_descriptors_that_do_not_fit_their_line():
    for pieces, said in (
            ([(shared(1), [])], "announces descriptors that did not come"),
            ([(shared(1, fds=2), [memfd()])], "announces descriptors that did not come"),
            ([(shared(1, fds=-1), [memfd()])], "announces descriptors that did not come"),
            ([(shared(1, fds="x"), [memfd()])], "announces descriptors that did not come"),
            ([(shared(1), [memfd(), memfd()])], "comes with a descriptor that it does not announce"),
            ([(answer(1), [memfd()])], "comes with a descriptor that it does not announce"),
            ([(b'{"jsonrpc":"2.0","method":"n","fds":1}\n', [memfd()])], "comes with a descriptor that it does not announce"),
            ([(shared(1, fd=1), [memfd()])], "names a descriptor that it does not have"),
            ([(shared(1, fd="x"), [memfd()])], "names a descriptor that it does not have"),
            ([(shared(1, map="y"), [memfd()])], "names a descriptor that it does not have"),
            ([(shared(1, fds=None, fd=None), [])], "names shared memory of which no descriptor came"),
            ([(b"{", [memfd() for _ in range(16)]), (b" ", [memfd()])], "comes with more descriptors than it may have")):
        got = [line for line in passed(*pieces, (answer(2), [])) if not line.startswith("notification")]
        equal(len(got), 2, f"lines: {got}")
        contains(got[-1], f"error {EPROTOCOL} the daemon's message {said}", str(pieces))
    contains(passed((b"{", [memfd() for _ in range(17)]))[0], f"error {EBROKEN} a descriptor was lost")


def test_descriptors_that_nobody_asked_for_are_closed():
    equal(passed((answer(1, result={"fd": 0}, fds=1), [memfd()]), (answer(2, result={}, fds=3), [memfd() for _ in range(3)])),
          ["result 1", "result 2"])  # client_faults looks whether they are closed
    ends = f"error {EBROKEN} the daemon closed the connection"
    equal(passed((answer(1), []), (b"{", [memfd()])), ["result 1", ends + " in the middle of a message"])


def test_shared_tensors_that_are_not_inside_their_memory():
    for members in ({"nbytes": 9}, {"offset": 4}, {"offset": -1}, {"nbytes": -1}, {"offset": 2 ** 62, "nbytes": 2 ** 62},
                    {"shape": [3]}, {"strides": [2]}, {"strides": [-1]}, {"shape": [2 ** 62, 2], "strides": [2 ** 62, 1]},
                    {"offset": 2, "nbytes": 4, "shape": [1]}, {"nbytes": None}, {"offset": None},
                    {"dtype": "complex128", "shape": [1]}):
        contains(passed((shared(1, **members), [memfd()]), (answer(2), []))[0], f"error {EPROTOCOL} a tensor", str(members))
    equal(passed((shared(1, offset=8, nbytes=0, shape=[0]), [memfd()]), (answer(2), [])), ["shared 0:", "result 2"])
    equal(passed((shared(1, dtype="quint8"), [memfd(b"abcdefgh")]), (answer(2), [])), ["shared 8:abcdefgh", "result 2"])


def tensor(**members):
    return answer(1, result={"dtype": "float32", "shape": [2], "strides": [1], **members}, attachments=[8]) + b"x" * 8


def test_descriptions_that_contradict_themselves():
    for message, line in ((tensor(), "tensor of 1 dimensions"), (tensor(attachment=0), "tensor of 1 dimensions"),
                          (tensor(attachment=1), f"error {EPROTOCOL} a tensor is in attachment 1, the answer has 1"),
                          (tensor(attachment=0, shape=[3]), f"error {EPROTOCOL} a tensor of 12 bytes is in an attachment of 8"),
                          (tensor(attachment=0, shape=[2 ** 40, 2 ** 40], strides=[1, 1]), "is in an attachment of 8"),
                          (tensor(strides=[]), f"error {EPROTOCOL} a tensor's shape and strides"),
                          (tensor(shape=[1.5]), "shape and strides"), (tensor(shape=[1] * 65), "shape and strides"),
                          (tensor(shape=[-1], attachment=0), "is in an attachment of 8"),
                          (tensor(shape="x"), "shape and strides")):
        contains(said(message, answer(2))[0], line)


def test_a_server_of_another_user():
    if os.geteuid() != 0:
        print("     skipped: only root can run a server as another user")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = os.path.join(folder, "s")
        program = ("import os, socket, sys\nos.setuid(12345)\ns = socket.socket(socket.AF_UNIX)\n"
                   f"s.bind({path!r})\ns.listen()\nprint('ready', flush=True)\nsys.stdin.read()\n")
        other = subprocess.Popen(["/usr/bin/python3", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        other.stdout.readline()
        done = subprocess.run([os.path.join(BUILD, "tests", "client_faults"), path], text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE)
        other.communicate()
    equal(done.returncode, 1)
    contains(done.stdout, f"returned {EPEER}")
    contains(done.stdout, "runs as uid 12345, not as root or as you (0)")


def test_waiting_costs_no_processor_time():
    def serve(connection):
        lines_of(connection, 2)
        threading.Event().wait(2)
        connection.sendall(answer(1) + answer(2))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    equal(faults(serve), ["result 1", "result 2"])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    less(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1, "seconds of the client, of 2 s of waiting")


def test_every_allocation_may_fail():
    with TestDaemon() as daemon:
        done = subprocess.run([os.path.join(BUILD, "tests", "client_memory"), daemon.socket], text=True, timeout=SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(done.returncode, 0, done.stdout)
        print("     " + done.stdout.strip())


main()
