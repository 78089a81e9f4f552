"""test_limits.py -- what a client can grow stops at the limit that server.hello reports, by name."""

import json
import os
import resource
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon

PLUGINS = os.path.join(BUILD, "plugins")
SLEEPS = os.path.join(BUILD, "tests", "plugins", "sleeps.so")


def setup():
    wanted = 4096
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard > 0 else wanted, hard))
    return TestDaemon("--no-plugins", "--plugin", SLEEPS)


def limits(daemon):
    with daemon.connect() as d:
        return d.call("server.hello", client="test")["limits"]


def status(id_):
    return {"jsonrpc": "2.0", "id": id_, "method": "server.status"}


def send_sleep(d, ms):
    d.send("op.call", op="sleeps::sleep", args=[{"data": [1.0]}, ms])


def test_requests_of_a_batch(daemon):
    most = limits(daemon)["batch"]
    with daemon.connect() as d:
        d.send_message([status(i) for i in range(most)])
        equal(len(d.receive_message()), most, "answers")
        d.send_message([status(i) for i in range(most + 1)])
        answer = d.receive_message()
        equal(answer["error"]["code"], -32600)
        contains(answer["error"]["message"], f"{most + 1}")


def test_steps_of_a_program(daemon):
    most = limits(daemon)["program_steps"]
    with daemon.connect() as d:
        raises(lambda: d.call("program.run", inputs={}, steps=[{"op": "t::x"}] * (most + 1), outputs=[]),
               "ResourceExhausted", str(most + 1), str(most))


def held_back(daemon, line, most):
    """A client that sends far more than `most` lines behind a call that sleeps: how many are read."""
    with daemon.connect() as d, daemon.connect() as other:
        before = other.call("server.status")["requests"]
        send_sleep(d, 1500)
        d._sock.setblocking(True)
        d._sock.settimeout(0.3)
        try:
            d._sock.sendall(line * (2 * most))
        except (TimeoutError, socket.timeout):
            pass
        time.sleep(0.2)
        read = other.call("server.status")["requests"] - before
        equal(d.receive_message()["id"], 1)
        return read


def test_requests_read_ahead(daemon):
    most = limits(daemon)["outstanding"]
    line = json.dumps(status(7)).encode() + b"\n"
    less(held_back(daemon, line, most), most + 10, "requests read behind one that sleeps")


def test_bytes_read_ahead(daemon):
    most = limits(daemon)["outstanding_bytes"]
    line = json.dumps({**status(7), "params": {}, "method": "server.hello" + " " * 50000}).encode() + b"\n"
    n = most // len(line)
    less(held_back(daemon, line, 4 * n), n + 10, "lines of 50 kB read behind one that sleeps")


def test_connections():
    with TestDaemon("--no-plugins") as daemon:
        most = limits(daemon)["connections"]
        open_ = []
        try:
            with daemon.connect() as d:
                wait_until(lambda: d.call("server.status")["connections"] == 1, "the first is gone")
                for _ in range(most - 1):
                    open_.append(daemon.connect())
                wait_until(lambda: d.call("server.status")["connections"] == most, "all are open")
                with socket.socket(socket.AF_UNIX) as late:
                    late.settimeout(60)
                    late.connect(daemon.socket)
                    equal(late.recv(1), b"", "bytes for the one too many")
                contains(daemon.log(), f"{most} connections are open")
                open_.pop(0).close()  # a low number: the client's select() takes none above 1023
                wait_until(lambda: d.call("server.status")["connections"] < most, "one is gone")
                with daemon.connect() as next_:
                    next_.call("server.status")
        finally:
            for c in open_:
                c.close()


def threads(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/task"))


def test_workers(daemon):
    """More sleeping calls than there may be threads: they take turns."""
    most = 256
    before = threads(daemon)
    sleepers = [daemon.connect() for _ in range(most + 44)]
    for s in sleepers:
        send_sleep(s, 3000 if SANITIZED else 1500)
    seen = 0
    for s in sleepers:
        s.receive()
        seen = max(seen, threads(daemon))
        s.close()
    less(seen, most + before + 1, "threads")
    less(200, seen, "threads")


def test_bytes_of_a_plugins_file(daemon):
    path = os.path.join(daemon.dir, "huge.so")
    with open(path, "wb") as f:
        f.truncate((256 << 20) + 1)
    with daemon.connect() as d:
        for method in ("plugin.load", "plugin.describe"):
            raises(lambda: d.call(method, path=path), "ResourceExhausted", "huge.so", str(256 << 20))


def test_plugins_loaded_at_once():
    most = 1024
    with open(os.path.join(PLUGINS, "template.so"), "rb") as f:
        template = f.read()
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d:
        path = os.path.join(daemon.dir, "p.so")

        def load(i):
            with open(path + ".new", "wb") as f:
                f.write(template.replace(b"template", b"t%07d" % i).replace(b"tutorial", b"u%07d" % i))
            os.replace(path + ".new", path)
            return d.call("plugin.load", path=path)["plugin"]

        for i in range(most):
            equal(load(i), "t%07d" % i)
        raises(lambda: load(most), "ResourceExhausted", f"{most} plugins")
        d.call("plugin.unload", plugin="t0000000")
        load(most)


main(setup, TestDaemon.finish)
