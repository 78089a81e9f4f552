"""test_python_client.py -- clients/python: interrupted calls, timeouts, what comes in pieces."""

import json
import math
import os
import random
import select
import signal
import socket
import struct
import tempfile
import threading

from harness import BUILD, equal, less, main, raises, wait_until
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


def patient(d):
    """From here on, a busy machine may take its time to answer."""
    d._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 60, 0))


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
    with daemon.connect(1) as d, daemon.gate() as gate:
        try:
            d.op("sleeps::until", {"data": [1.0]}, gate.path, returns="data")
            raise AssertionError("a call that does not end did not time out after 1 s")
        except TimeoutError:
            pass
        gate.open()
        patient(d)
        equal(d.op("sleeps::sleep", {"data": [2.0]}, 0, returns="data")["data"], [2.0], "the next call's answer")


def test_receive_after_a_timeout_gets_the_same_answer(daemon):
    with daemon.connect(1) as d, daemon.gate() as gate:
        d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path], **{"return": "data"})
        d.send("op.call", op="sleeps::sleep", args=[{"data": [2.0]}, 0], **{"return": "data"})
        try:
            d.receive()
            raise AssertionError("an answer that does not come did not time out after 1 s")
        except TimeoutError:
            pass
        gate.open()
        patient(d)
        for want in [1.0], [2.0]:
            equal(d.receive()["outputs"][0]["data"], want, "answers in order")


def test_descriptors_of_abandoned_calls(daemon):
    """A descriptor of memory comes once, so it is kept; one of a connection is closed."""
    with daemon.connect(1) as d, daemon.gate() as gate:
        t = d.call("tensor.create", data=[4.0])["tensor"]
        d.notify("op.call", op="sleeps::until", args=[{"tensor": t}, gate.path])
        for ask in lambda: d.map(t), lambda: d.call("server.open"):
            try:
                ask()
                raise AssertionError("an answer came before the call ahead of it had ended")
            except TimeoutError:
                pass
        gate.open()
        patient(d)
        equal(bytes(d.map(t)[1]), floats(1, 4.0), "what is mapped")
        wait_until(lambda: d.call("server.status")["connections"] == 1, "the other connection is gone")


def test_another_connection_of_the_session(daemon):
    with daemon.connect() as d:
        t = d.call("tensor.create", data=[4.0])["tensor"]
        with d.open() as second:
            equal(second.call("tensor.read", tensor=t)["data"], [4])
            d.send("tensor.list")
            try:
                d.open()
                raise AssertionError("open() while an answer was not received")
            except RuntimeError:
                d.receive()


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


def test_values_are_pythons(daemon):
    """What an operator gives and takes as a number is Python's, of the same type and value."""
    def item(dtype, *data, **kwargs):
        return daemon.op("aten::item", {"dtype": dtype, "data": data[0] if data else 1, **kwargs})

    with daemon.connect() as daemon:
        for dtype, data, want in (("float32", 1, 1.0), ("float64", 0.1, 0.1), ("float64", "inf", math.inf),
                                  ("float64", "-inf", -math.inf), ("int64", str(2**63 - 1), 2**63 - 1),
                                  ("int64", str(-2**63), -2**63), ("int64", 7, 7), ("bool", True, True),
                                  ("complex128", [1, -2.5], 1 - 2.5j), ("complex64", ["inf", 0], complex(math.inf, 0))):
            got = item(dtype, data)
            equal((type(got), got), (type(want), want), f"item() of {dtype} {data}")
        equal(math.isnan(item("float32", "nan")), True)
        daemon.send("op.call", **dispatchd.op_params("aten::item", {"data": 2}))
        equal(daemon.receive()["outputs"], [2.0], "by receive()")
        ints = {"dtype": "int64", "data": [1, 2]}
        for value, dtype, data in ((2.0, "float32", [3, 4]), (2, "int64", [3, 4]), (math.inf, "float32", ["inf", "inf"]),
                                   (math.nan, "float32", ["nan", "nan"]), (1j, "complex64", [[1, 1], [2, 1]]),
                                   (2**53, "int64", [str(2**53 + 1), str(2**53 + 2)])):
            got = daemon.op("aten::add.Scalar", ints, value, returns="data")
            equal((got["dtype"], got["data"]), (dtype, data), f"ints + {value!r}")
            got = daemon.op("aten::add.Scalar", ints, other=value, returns="data")
            equal((got["dtype"], got["data"]), (dtype, data), f"ints + other={value!r}")
        program = {"steps": [{"op": "aten::item", "args": [{"ref": "x"}], "as": ["n"]},
                             {"get": "sizes", "args": [{"ref": "x"}], "as": ["s"]}],
                   "outputs": ["n", "s"], "inputs": {"x": {"data": [3]}}}
        equal(repr(daemon.call("program.run", **program)["outputs"]), "[3.0, [1]]", "of a program, in lists")


def test_handles_of_the_client(daemon):
    with daemon.connect() as d:
        d.notify("tensor.create", data=[1.0, 2.0], into=-1)
        d.send("op.call", **dispatchd.op_params("aten::neg", {"tensor": -1}, into=-2))
        d.send("tensor.read", tensor=-2)
        equal(d.receive()["outputs"][0]["tensor"], -2)
        equal(d.receive()["data"], [-1, -2])
        values, indices = d.op("aten::sort", {"tensor": -2}, into=[-3, None])
        equal([values["tensor"], indices["tensor"] > 0], [-3, True])
        d.notify("tensor.release", tensors=[-9])
        equal([f["type"] for f in d.call("session.sync")["failed"]], ["NotFound"])
        d.release(-1, values)


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


def test_the_reason_of_a_closed_connection_is_raised():
    """The daemon answers an error and closes while the client still sends."""
    with tempfile.TemporaryDirectory() as folder:
        conf = os.path.join(folder, "conf")
        with open(conf, "w") as f:
            f.write("attachment_bytes = 1 MiB\n")
        with TestDaemon("--config", conf, "--no-plugins") as daemon:
            for _ in range(5):
                with daemon.connect() as d:
                    large = {"dtype": "uint8", "shape": [3 << 20], "attachment": bytes(3 << 20)}
                    raises(lambda: d.call("tensor.create", **large), "InvalidRequest", "attachment_bytes", "1048576")


main(lambda: TestDaemon("--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so")), TestDaemon.finish)
