"""test_limits.py -- what a client can grow stops at the limit that server.hello reports, by name."""

import json
import os
import re
import resource
import select
import socket
import subprocess
import tempfile
import time

from harness import BUILD, ROOT, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

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


def test_standard_descriptors_may_be_closed(_):
    def close():
        for fd in (0, 1, 2):
            os.close(fd)
    with TestDaemon("--no-plugins", preexec=close) as daemon, daemon.connect() as d:
        for fd in (0, 1, 2):
            equal(os.readlink(f"/proc/{daemon.pid}/fd/{fd}"), "/dev/null", f"descriptor {fd}")
        equal(d.call("registry.check")["violations"], [])


def test_a_file_at_its_limit_is_an_error(_):
    """Of the one write: neither the log nor the copy of a plugin ends the daemon."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
    with TestDaemon("--no-plugins", preexec=limit) as daemon, daemon.connect() as d:
        raises(lambda: d.call("plugin.load", path=os.path.join(BUILD, "plugins", "template.so")),
               "ResourceExhausted", "cannot write the copy of plugin 'template'", "File too large")
        equal(d.call("plugin.list")["plugins"], [])


def test_stacks_do_not_follow_a_small_limit(_):
    """`ulimit -s 64`: kernels need more, on every thread."""
    soft = lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    with TestDaemon(preexec=soft) as daemon:
        clients = [daemon.connect() for _ in range(4)]
        for d in clients:
            d.send("op.call", op="aten::linalg_svd", args=[{"data": [[0.5] * 64] * 64}])
        for d in clients:
            equal(len(d.receive()["outputs"]), 3)
            d.close()


def test_a_stack_that_cannot_grow_is_refused(_):
    hard = lambda: resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, 512 << 10))
    ended = subprocess.run([os.path.join(BUILD, "dispatchd"), "--socket", "never-there"], preexec_fn=hard,
                           capture_output=True, text=True)
    equal((ended.returncode, ended.stderr), (1, "dispatchd: a stack of 512 KiB (ulimit -s), needed are 1024\n"))


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
    with daemon.connect() as d, daemon.connect() as other, daemon.gate() as gate:
        before = other.call("server.status")["requests"]
        d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path])
        d._sock.setblocking(True)
        d._sock.settimeout(0.3)
        try:
            d._sock.sendall(line * (2 * most))
        except (TimeoutError, socket.timeout):
            pass
        d._sock.settimeout(None)
        time.sleep(0.2)
        read = other.call("server.status")["requests"] - before
        gate.open()
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
                    answer = refused(daemon, late)
                    equal(answer["error"]["data"]["type"], "ResourceExhausted")
                    contains(answer["error"]["message"], f"{most} connections are open")
                contains(daemon.log(), f"{most} connections are open")
                told = subprocess.run([BUILD + "/dispatchctl", "--socket", daemon.socket, "status"],
                                      capture_output=True, text=True, timeout=60)
                contains(told.stderr, f"{most} connections are open")
                open_.pop(0).close()  # a low number: the client's select() takes none above 1023
                wait_until(lambda: d.call("server.status")["connections"] < most, "one is gone")
                with daemon.connect() as next_:
                    next_.call("server.status")
        finally:
            for c in open_:
                c.close()


def refused(daemon, s):
    """The answer to a connection that is not taken."""
    s.settimeout(60)
    s.connect(daemon.socket)
    with s.makefile("rb") as f:
        lines = f.readlines()
    equal(len(lines), 1, "lines for one that is not taken")
    answer = json.loads(lines[0])
    equal(answer["id"], None)
    return answer


def few_connections(n):
    """A daemon with descriptors for n connections."""
    return TestDaemon("--no-plugins", preexec=lambda: resource.setrlimit(
        resource.RLIMIT_NOFILE, (64 + 2 * n, 64 + 2 * n)))


def test_too_few_descriptors_are_refused_by_name(daemon):
    command = [os.path.join(BUILD, "dispatchd"), "--no-plugins", "--socket", daemon.socket + "2"]
    for n in (20, 66):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, f"(ulimit -n) is {n}, at least 67 are needed")
    with few_connections(2) as daemon, daemon.connect() as d:
        equal(d.call("server.hello")["limits"]["connections"], 2)


def test_silent_connections_make_room():
    """One that never asked anything goes for one that comes; one that has asked stays."""
    with few_connections(20) as daemon, daemon.connect() as d:
        known = d.call("server.hello")["limits"]
        equal(known["connections"], 20)
        wait_until(lambda: d.call("server.status")["connections"] == 1, "the first is gone")
        silent = [socket.socket(socket.AF_UNIX) for _ in range(19)]
        for i, s in enumerate(silent):
            s.connect(daemon.socket)
            if i == 0:
                s.sendall(b'{"jsonrpc":"2.0","id":1,"attachments":[5],"method":"x"}\nab')
            elif i == 1:
                s.sendall(b'{"jsonrpc"')
        wait_until(lambda: d.call("server.status")["connections"] == 20, "all are open")

        def connected():
            with daemon.connect() as late:
                try:
                    return late.call("server.status")["connections"] == 20
                except (dispatchd.Error, OSError):
                    return False
        equal(connected(), False, "taken while nobody has been silent for long")
        wait_until(connected, "room is made", known["silent_ms"] / 1000 + 30)
        answers = [json.loads(s.recv(4096)) for s in silent if readable(s)]
        equal(len(answers), 1, "connections that were closed")
        contains(answers[0]["error"]["message"], "silent_ms")
        d.call("server.status")
        for s in silent:
            s.close()


def readable(s):
    return bool(select.select([s], [], [], 0)[0])


def test_descriptors_run_out():
    """Those that come wait until one is free; who is connected is served, and the log stays short."""
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d:
        wait_until(lambda: d.call("server.status")["connections"] == 1, "the first is gone")
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = {int(name) for name in os.listdir(f"/proc/{daemon.pid}/fd")}
        free = min(set(range(len(taken) + 1)) - taken)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (free, hard))
        waiting = [daemon.connect() for _ in range(5)]
        for w in waiting:
            w.send("server.status")
        for _ in range(200):
            d.call("server.status")
            time.sleep(0.01)
        equal(d.call("server.status")["connections"], 1)
        contains(daemon.log(), "Too many open files")
        less(daemon.log().count("Too many open files"), 10, "lines in the log of two seconds")
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (hard, hard))
        for w in waiting:
            w.receive()
            w.close()


def test_requests_when_no_descriptor_is_free():
    """What needs one fails with that reason; all else goes on, and later the same requests are served."""
    with tempfile.TemporaryDirectory() as folder, TestDaemon("--no-plugins", "--data-path", folder) as daemon, \
            daemon.connect() as d:
        daemon.alone(d)
        t = d.call("tensor.create", data=[1.0, 2.0])["tensor"]
        d.call("store.save", path="w", tensors={"w": t})
        asked = (("tensor.read", {"tensor": t, "as": "fd"}), ("store.load", {"path": "w"}),
                 ("store.save", {"path": "w", "tensors": {"w": t}}),
                 ("plugin.load", {"path": os.path.join(PLUGINS, "template.so")}))
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        other = daemon.connect()
        other.call("server.status")
        taken = {int(name) for name in os.listdir(f"/proc/{daemon.pid}/fd")}
        free = min(set(range(len(taken) + 1)) - taken)
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (free, hard))
        for method, params in asked:
            raises(lambda: d.call(method, **params), "ResourceExhausted", "Too many open files")
        # a passed descriptor is lost, and with it what its line means
        shared = {"dtype": "float32", "shape": [1], "fd": dispatchd.share(b"abcd")}
        raises(lambda: other.call("tensor.create", **shared), "ResourceExhausted", "or none is free")
        other.close()
        equal(d.call("tensor.read", tensor=t)["data"], [1, 2])
        resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (hard, hard))
        for method, params in asked:
            fd = d.call(method, **params).get("fd")
            if fd is not None:
                os.close(fd)
        d.call("tensor.release", all=True)


def test_sessions():
    """Those that linger are bounded: the one that is due first ends for a new one."""
    daemon = TestDaemon("--no-plugins")
    with daemon.connect() as d:
        known = d.call("server.hello")["limits"]
        most = known["sessions"]
        key = linger(daemon, 3600 * 1000 - 1)
        for _ in range(most + 100):
            linger(daemon, 3600 * 1000)
        less(d.call("server.status")["sessions"], most + 1, "sessions")
        raises(lambda: d.call("server.hello", session_key=key), "NotFound")
    daemon.stop()  # not finish(): its sessions linger, with their tensors


def linger(daemon, ms):
    """Leave a session with a tensor behind; its key."""
    with daemon.connect() as d:
        key = d.call("server.hello", linger_ms=ms)["session_key"]
        d.call("tensor.create", data=[1.0])
        return key


def test_how_long_a_session_lingers(daemon):
    with daemon.connect() as d:
        most = d.call("server.hello")["limits"]["linger_ms"]
        key = d.call("server.hello", linger_ms=most)["session_key"]
        for ms in (most + 1, 18446744073709, (1 << 53) - 1):
            raises(lambda: d.call("server.hello", linger_ms=ms), "InvalidParams", str(most), str(ms))
    with daemon.connect() as d:
        d.call("server.hello", session_key=key, linger_ms=0)


def test_how_long_a_drain_takes(daemon):
    with daemon.connect() as d:
        most = d.call("server.hello")["limits"]["drain_ms"]
        raises(lambda: d.call("server.shutdown", drain_ms=most + 1), "InvalidParams", str(most + 1))
        d.call("server.status")


def test_attachments_of_an_answer():
    """They are counted before they are copied."""
    with TestDaemon("--no-plugins") as daemon, daemon.connect() as d:
        most = d.call("server.hello")["limits"]["answer_attachment_bytes"]
        t = d.call("tensor.create", dtype="uint8", shape=[most + 1], strides=[0], data=[1])["tensor"]
        before = daemon.resident_kb()
        raises(lambda: d.call("tensor.read", tensor=t, **{"as": "attachment"}), "ResourceExhausted",
               str(most + 1), str(most))
        less(daemon.resident_kb() - before, 64 << 10, "kB more than before")
        d.release(t)


def test_hello_reports_every_limit(daemon):
    """Of the daemon and of the library, one name for each."""
    tables = ((r"LIMIT_MAP", "daemon"), (r"DP_LIMIT_MAP", "libdispatch/include"),
              (r"DP_PROGRAM_LIMIT_MAP", "libdispatch/include"))
    names = [name for word, folder in tables for name in limit_names(word, folder)]
    equal(len(names), len(set(names)), "names, and different ones")
    known = limits(daemon)
    equal(sorted(known), sorted(names))
    for name in ("workers", "unsent_bytes", "descriptors", "plugins", "plugin_file", "sessions",
                 "linger_ms", "call_depth"):
        contains(names, name)


def limit_names(word, folder):
    """Second members of the table that is defined as `word` below a folder."""
    for directory, _, files in os.walk(os.path.join(ROOT, folder)):
        for file in files:
            with open(os.path.join(directory, file), errors="replace") as f:
                found = re.search(rf"#define {word}\(X\)((?:.*\\\n)*.*\n)", f.read())
            if found:
                return re.findall(r"\bX\(\w+, (\w+),", found[1])
    raise AssertionError(f"no table {word} in {folder}")


def threads(daemon):
    return len(os.listdir(f"/proc/{daemon.pid}/task"))


def test_workers(daemon):
    """More sleeping calls than there may be threads: they take turns."""
    most = limits(daemon)["workers"]
    before = threads(daemon)
    sleepers = [daemon.connect() for _ in range(most + 44)]
    with daemon.gate() as gate:
        for s in sleepers:
            s.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path])
        wait_until(lambda: threads(daemon) > 200, "the calls have threads")
        seen = threads(daemon)
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
