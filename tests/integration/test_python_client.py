"""test_python_client.py -- clients/python: interrupted calls, timeouts, what comes in pieces."""

import json
import os
import random
import select
import signal
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, equal, less, main, wait_until
from daemon import TestDaemon
import dispatchd

ROUNDS = 1500


class Interrupt(BaseException):
    """As KeyboardInterrupt is: no Exception."""


def interrupted(when, fn):
    """What fn returns, or None: a signal's handler raised in the middle of it.  when: after so many
    seconds, or as soon as this function of another thread returns."""
    armed, trigger = False, None

    def handler(*_):
        if armed:
            raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        armed = True
        if callable(when):
            trigger = threading.Thread(target=lambda: (when(), signal.pthread_kill(
                threading.main_thread().ident, signal.SIGALRM)))
            trigger.start()
        else:
            signal.setitimer(signal.ITIMER_REAL, when)
        result = fn()
        armed = False
        return result
    except Interrupt:
        return None
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        if trigger:
            trigger.join()
        signal.signal(signal.SIGALRM, before)


def floats(n, value):
    return struct.pack(f"<{n}f", *[value] * n)


def test_call_after_an_interrupted_one_gets_its_own_answer(daemon):
    with daemon.connect() as d, daemon.connect() as watch:
        def it_runs():
            wait_until(lambda: watch.call("server.status")["running"], "the call runs")

        equal(interrupted(it_runs, lambda: d.op("sleeps::sleep", {"data": [1.0]}, 3000, returns="data")), None,
              "what the interrupted call returned")
        equal(d.op("sleeps::sleep", {"data": [2.0]}, 0, returns="data")["data"], [2.0], "the next call's answer")


def test_interrupts_at_any_point_keep_answers_whole(daemon):
    """Short lines, lines of several reads, attachments both ways."""
    def data(n, value):
        return d.op("aten::add.Tensor", {"data": [value] * n}, 1, returns="data")["data"]

    def attachment(n, value):
        raw = {"dtype": "float32", "shape": [n], "attachment": floats(n, value)}
        return list(struct.unpack(f"<{n}f", d.op("aten::add.Tensor", raw, 1, returns="attachment")["attachment"]))

    rng, cut = random.Random(1), 0
    with daemon.connect() as d:
        for i in range(ROUNDS):
            ask = rng.choice((data, attachment))
            n = rng.choice((1, 1, 100, 9000))
            got = interrupted(rng.random() * (4e-3 if n == 9000 else 4e-4), lambda: ask(n, i))
            cut += got is None
            if got is not None:
                equal(got, [i + 1.0] * n, f"answer of call {i}")
        equal(data(2, 1), [2.0, 2.0], "the answer of the call after all of them")
    less(ROUNDS / 100, cut, f"calls that were cut short, of {ROUNDS}")


def test_timed_out_call_is_dropped(daemon):
    with daemon.connect(1) as d:
        try:
            d.op("sleeps::sleep", {"data": [1.0]}, 1200, returns="data")
            raise AssertionError("a call of 1.2 s did not time out after 1")
        except TimeoutError:
            pass
        equal(d.op("sleeps::sleep", {"data": [2.0]}, 0, returns="data")["data"], [2.0], "the next call's answer")


def test_receive_after_a_timeout_gets_the_same_answer(daemon):
    with daemon.connect(1) as d:
        d.send("op.call", op="sleeps::sleep", args=[{"data": [1.0]}, 1200], **{"return": "data"})
        d.send("op.call", op="sleeps::sleep", args=[{"data": [2.0]}, 0], **{"return": "data"})
        try:
            d.receive()
            raise AssertionError("an answer after 1.2 s did not time out after 1")
        except TimeoutError:
            pass
        for want in [1.0], [2.0]:
            equal(d.receive()["outputs"][0]["data"], want, "answers in order")


def test_message_that_was_cut_short_is_sent_to_its_end():
    """An interrupt in the middle of a long message: its rest goes before the next one."""
    ours, theirs = socket.socketpair()
    d, got = dispatchd.Client(ours, 20), []
    messages = [{"long": "x" * (4 << 20)}, {"next": 1}]
    interrupted(lambda: select.select([theirs], [], []),  # nobody reads, so it cannot all be sent
                lambda: d.send_message(messages[0]))
    got.append(theirs.recv(4 << 20, socket.MSG_DONTWAIT))  # and now there is room again

    def read():
        while data := theirs.recv(1 << 20):
            got.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    d.send_message(messages[1])
    d.close()
    reader.join()
    theirs.close()
    equal(b"".join(got) == b"".join(json.dumps(m, separators=(",", ":")).encode() + b"\n" for m in messages), True,
          "both messages came, whole and in order")


def test_messages_in_pieces():
    """However the bytes are cut, the messages are the same."""
    line = b'{"jsonrpc":"2.0","id":%d,"result":{"attachment":0,"next":{"attachment":1}},"attachments":[5,0]}\n'
    stream = b"".join(line % i + b"\n\xff{}%d" % i + b'{"jsonrpc":"2.0","method":"note"}\n' for i in range(5, 9))
    rng = random.Random(2)
    for most in 1, 7, 200, 1000:
        ours, theirs = socket.socketpair()
        d = dispatchd.Client(ours, 20)

        def write():
            at = 0
            while at < len(stream):
                at += theirs.send(stream[at:at + rng.randint(1, most)])

        writer = threading.Thread(target=write)
        writer.start()
        for i in range(5, 9):
            equal(d.receive(), {"attachment": b"\n\xff{}%d" % i, "next": {"attachment": b""}}, f"at most {most} bytes")
        equal(d.receive_message(), {"jsonrpc": "2.0", "method": "note"}, "the last message")
        equal(len(d.notifications), 3, "notifications between them")
        writer.join()
        theirs.close()
        try:
            equal(d.receive_message(), "an error", "after the end")
        except ConnectionError:
            pass
        d.close()


main(lambda: TestDaemon("--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so")), TestDaemon.finish)
