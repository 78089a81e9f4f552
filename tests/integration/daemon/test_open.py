"""test_open.py -- server.open: other connections of a session, whose sockets come as descriptors."""

import os
import signal
import socket
import subprocess
import tempfile
import threading

from harness import BUILD, contains, equal, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

SLEEPS = os.path.join(BUILD, "tests", "plugins", "sleeps.so")


def setup():
    return TestDaemon("--plugin", SLEEPS)


def connections(d):
    return d.call("server.status")["connections"]


def ends(d, what):
    """The daemon must close this connection; returns the error that it says first, if any."""
    said = None
    try:
        d.send_message({"jsonrpc": "2.0", "id": 1, "method": "server.status"})
    except OSError:
        pass
    try:
        while True:
            said = d.receive_message().get("error", said)
    except OSError:
        return said
    raise AssertionError(f"{what} still answers")


def test_the_new_connection_has_the_session_and_a_state_of_its_own(daemon):
    with daemon.connect() as d:
        hello = d.call("server.hello")
        contains(hello["features"], "open")
        t = d.call("tensor.create", data=[1.0, 2.0])["tensor"]
        d.call("session.set", grad_enabled=False)
        with d.open() as second:
            got = second.call("server.hello")
            equal((got["session"], got["session_key"]), (hello["session"], hello["session_key"]))
            equal(second.op("aten::neg", {"tensor": t}, returns="data")["data"], [-1, -2])
            equal(second.call("session.get")["grad_enabled"], True, "as a new connection has it")
            equal(d.call("session.get")["grad_enabled"], False)
            with second.open() as third:
                equal(third.call("tensor.list")["tensors"][0]["tensor"], t)
                equal(connections(d), 3)
            raises(lambda: second.call("server.open", path="x"), "InvalidParams", "unknown member 'path'")
        wait_until(lambda: connections(d) == 1, "both are gone")


def test_connections_do_not_wait_for_one_another(daemon):
    with daemon.connect() as d, daemon.gate() as gate, d.open() as second:
        d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path], **{"return": "data"})
        equal(second.op("aten::neg", {"data": [1.0]}, returns="data")["data"], [-1])
        gate.open()
        equal(d.receive()["outputs"][0]["data"], [1])


def test_either_may_be_closed_first_and_the_session_lives_on(daemon):
    d = daemon.connect()
    t = d.call("tensor.create", data=[3.0])["tensor"]
    second = d.open()
    d.close()
    equal(second.call("tensor.read", tensor=t)["data"], [3])
    second.half_close()
    raises_os(second)


def raises_os(d):
    try:
        d.receive_message()
    except ConnectionError:
        d.close()
        return
    raise AssertionError("got a message, want the end of the connection")


def test_a_pipelined_answer_has_its_own_descriptor(daemon):
    with daemon.connect() as d:
        t = d.call("tensor.create", data=[7.0])["tensor"]
        for _ in range(5):
            d.send("server.open")
            d.send("tensor.list")
        d.send("tensor.read", tensor=t, **{"as": "fd"})
        d.send("server.open")
        opened = []
        for _ in range(5):
            opened.append(d.receive()["fd"])
            equal(len(d.receive()["tensors"]), 1)
        shared = d.receive()
        equal(os.pread(shared["fd"], 4, 0).hex(), "0000e040")
        os.close(shared["fd"])
        opened.append(d.receive()["fd"])
        clients = [dispatchd.Client(socket.socket(fileno=fd), 60) for fd in opened]
        equal([c.call("tensor.read", tensor=t)["data"] for c in clients], [[7]] * 6)
        equal(connections(d), 7)
        for c in clients:
            c.close()
        wait_until(lambda: connections(d) == 1, "they are gone")


def test_the_session_that_was_joined_is_the_one(daemon):
    with daemon.connect() as d, daemon.connect() as other:
        joined = other.call("server.hello")
        equal(d.call("server.hello", session_key=joined["session_key"])["session"], joined["session"])
        with d.open() as second:
            equal(second.call("server.hello")["session"], joined["session"])


def test_a_batch_and_a_notification_open_nothing(daemon):
    with daemon.connect() as d:
        daemon.alone(d)
        before = daemon.descriptors()
        d.send_message([{"jsonrpc": "2.0", "id": 1, "method": "server.open"}])
        error = d.receive_message()[0]["error"]
        contains(error["message"], "an answer in a batch cannot carry attachments or descriptors")
        d.notify("server.open")
        equal(d.call("session.sync")["failed"], [])
        wait_until(lambda: connections(d) == 1, "no connection is left")
        wait_until(lambda: daemon.descriptors() == before, "every descriptor is closed")


def test_the_limit_on_connections_holds(_):
    with tempfile.TemporaryDirectory() as folder:
        conf = os.path.join(folder, "conf")
        with open(conf, "w") as f:
            f.write("connections = 3\n")
        with TestDaemon("--no-plugins", "--config", conf) as daemon:
            with daemon.connect() as d:
                wait_until(lambda: connections(d) == 1, "the first one is gone")
                second, third = d.open(), d.open()
                raises(lambda: d.call("server.open"), "ResourceExhausted", "3 connections are open (connections)")
                raises(lambda: third.call("server.open"), "ResourceExhausted", "(connections)")
                before = daemon.descriptors()
                second.close()
                wait_until(lambda: connections(d) == 2, "one is gone")
                with d.open() as again:
                    again.call("server.hello")
                    equal(daemon.descriptors(), before)
                third.close()


def test_a_session_that_is_ended_takes_all_its_connections(daemon):
    with daemon.connect() as owner:
        d = daemon.connect()
        session = d.call("server.hello")["session"]
        second = d.open()
        third = second.open()
        fresh = d.call("server.open")["fd"]  # nothing was said on this one
        equal(owner.call("session.end", session=session), {"session": session, "connections": 4})
        for c in (d, second, third, dispatchd.Client(socket.socket(fileno=fresh), 60)):
            contains((ends(c, "a connection of an ended session") or {"message": "session.end"})["message"], "session.end")
            c.close()
        wait_until(lambda: connections(owner) == 1, "they are gone")


def test_sessions_that_end_while_they_open_connections(daemon):
    """No connection stays behind, whichever comes first."""
    with daemon.connect() as owner:
        for i in range(60):
            d = daemon.connect()
            session = d.call("server.hello")["session"]
            for _ in range(4):
                d.send("server.open")
            owner.call("session.end", session=session)
            try:
                for _ in range(4):
                    os.close(d.receive()["fd"])
            except (OSError, dispatchd.Error):
                pass
            d.close()
        wait_until(lambda: connections(owner) == 1, "they are gone")
        wait_until(lambda: owner.call("server.status")["sessions"] == 1, "so are their sessions")


def test_clients_that_die_leave_nothing(daemon):
    with daemon.connect() as watch:
        daemon.alone(watch)
        before = daemon.descriptors()
        for how in ("after the request", "after the answer", "with the descriptor"):
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    try:
                        d = daemon.connect()
                        for _ in range(3):
                            d.send("server.open")
                        got = [d.receive() for _ in range({"after the request": 0, "after the answer": 1}.get(how, 3))]
                        if how == "with the descriptor":
                            d.open().call("tensor.create", data=[1.0])
                        os.kill(os.getpid(), signal.SIGKILL)
                    finally:
                        os._exit(len(got))
                equal(os.waitpid(child, 0)[1], signal.SIGKILL, "how the client ended")
        wait_until(lambda: connections(watch) == 1, "their connections are gone")
        wait_until(lambda: daemon.descriptors() == before, "every descriptor is closed")
        daemon.alone(watch)


def test_another_process_may_get_the_socket(daemon):
    with daemon.connect() as d:
        t = d.call("tensor.create", data=[4.0])["tensor"]
        fd = d.call("server.open")["fd"]
        program = ("import socket, sys, dispatchd\n"
                   f"with dispatchd.Client(socket.socket(fileno={fd}), 60) as d:\n"
                   f"    print(d.call('tensor.read', tensor={t})['data'])\n")
        os.set_inheritable(fd, True)
        done = subprocess.run(["/usr/bin/python3", "-c", program], pass_fds=[fd], text=True, capture_output=True,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(dispatchd.__file__))}, timeout=120)
        os.close(fd)
        equal((done.stdout, done.returncode), ("[4]\n", 0), done.stderr)
        wait_until(lambda: connections(d) == 1, "the child's connection is gone")


def test_a_stop_answers_and_closes_all_of_them():
    with TestDaemon("--no-plugins") as daemon:
        d = daemon.connect()
        second, silent = d.open(), d.open()
        second.send("server.status")
        d.send("server.shutdown")
        try:
            d.send("server.open")
        except OSError:
            pass  # it came too late
        contains(second.receive(), "uptime_ms")
        d.receive()
        try:
            os.close(d.receive()["fd"])
        except (OSError, dispatchd.Error):
            pass  # it came too late
        for c in (d, second, silent):
            ends(c, "a connection of a stopped daemon")
            c.close()
        equal(daemon.process.wait(60), 0, "status of the daemon")
        daemon.finish = daemon.stop


def test_an_inherited_socket_gets_more_connections():
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([BUILD + "/dispatchd", "--no-plugins", "--serve-fd", str(theirs.fileno())],
                                   pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    d = dispatchd.Client(ours, 60)
    t = d.call("tensor.create", data=[5.0])["tensor"]
    second = d.open()
    equal(connections(second), 2)
    d.close()
    wait_until(lambda: connections(second) == 1, "the first one is gone")
    equal(second.call("tensor.read", tensor=t)["data"], [5], "the daemon and the session go on")
    equal(process.poll(), None)
    second.close()
    _, log = process.communicate(timeout=60)
    equal(process.returncode, 0, log)


def test_many_threads_open_at_once(daemon):
    with daemon.connect() as watch:
        failed = []

        def work():
            try:
                with daemon.connect() as d:
                    for i in range(20):
                        with d.open() as second:
                            equal(second.op("aten::add.Scalar", {"data": [1.0]}, i, returns="data")["data"], [1 + i])
            except Exception as e:
                failed.append(e)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(failed, [], "exceptions")
        wait_until(lambda: connections(watch) == 1, "they are gone")


main(setup, TestDaemon.finish)
