"""test_c_client_faults.py -- libdispatchd-client against servers that answer garbage, parts of messages, or nothing, and
without memory (the C programs beside this file)."""

import contextlib
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
