"""test_config.py -- the config file, SIGHUP, the log in JSON, an inherited socket, and a daemon whose files,
clock or process go away under it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile

from harness import BUILD, SANITIZED, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd

CLOCK = os.path.join(BUILD, "tests", "plugins", "jumping_clock.so")


@contextlib.contextmanager
def configured(*lines, options=(), **more):
    """A daemon with a config file of these lines, and the path of that file."""
    with tempfile.TemporaryDirectory() as directory:
        path = write(os.path.join(directory, "conf"), *lines)
        with TestDaemon("--config", path, *options, **more) as f:
            yield f, path


def write(path, *lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def limits(f):
    with f.connect() as d:
        return d.call("server.hello")["limits"]


def hang_up(f, said):
    """SIGHUP, and wait until the log says so."""
    before = f.log().count(said)
    f.process.send_signal(signal.SIGHUP)
    wait_until(lambda: f.log().count(said) > before, f"the log says: {said}")


def refused(*lines, options=()):
    """What a daemon says that does not start with this config."""
    with tempfile.TemporaryDirectory() as directory:
        path = write(os.path.join(directory, "conf"), *lines)
        done = subprocess.run([BUILD + "/dispatchd", "--config", path, *options], capture_output=True, text=True, timeout=60)
        equal(done.returncode, 2, done.stderr)
        return done.stderr.replace(path, "conf")


def test_a_config_sets_limits_that_hold():
    with configured("no-plugins = true", "batch = 2", "# comment", "line_bytes = 2 KiB", "session_tensors = 1",
                    "json_depth = 20", "linger_ms = 3 s") as (f, _), f.connect() as d:
        known = limits(f)
        equal([known[n] for n in ("batch", "line_bytes", "session_tensors", "linger_ms")], [2, 2048, 1, 3000])
        d.send_message([{"jsonrpc": "2.0", "id": i, "method": "server.status"} for i in range(3)])
        contains(d.receive_message()["error"]["message"], "a batch of 3 requests: expected 1 to 2")
        raises(lambda: d.call("server.hello", linger_ms=3001), "InvalidParams", "at most 3000 (linger_ms)")
        d.call("tensor.create", data=[1])
        raises(lambda: d.call("tensor.create", data=[1]), "ResourceExhausted", "(session_tensors)")
        d.call("tensor.release", all=True)
        deep = "[" * 25 + "]" * 25
        d.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"tensor.create","params":{"data":' + deep.encode() + b"}}\n")
        contains(d.receive_message()["error"]["message"], "nested 21 deep, at most 20 (json_depth)")
        d.send_bytes(b"x" * 3000 + b"\n")
        contains(d.receive_message()["error"]["message"], "bytes or more, at most 2048 (line_bytes)")


def test_a_wrong_config_is_refused_with_file_and_line():
    equal(refused("workers = 2", "linger_ms = 5 MiB").splitlines()[0],
          "dispatchd: conf:2: linger_ms: expected a number of milliseconds from 0 to 31622400000 "
          "(a unit may follow: ms, s, min or h), got '5 MiB'")
    contains(refused("descriptors = 3"), "conf:1: descriptors: this limit is fixed at 16")
    contains(refused("warm_bytes = 3"), "conf:1: warm_bytes: this limit is fixed at 268435456")
    contains(refused("sesions = 3"), "conf:1: sesions: unknown key")
    contains(refused("workers = 2", options=["--workers", "0"]), "--workers: expected a number from 1 to 256, got '0'")


def test_hangup_changes_limits_and_access():
    with configured("no-plugins = true", "batch = 2", "session_tensors = 1", "uid_names = 1") as (f, path), f.connect() as d:
        first = d.call("tensor.create", data=[1], name="a")["tensor"]
        write(path, "no-plugins = true", "session_tensors = 2", "uid_names = 2", "workers = 3", "log-level = debug")
        hang_up(f, "info server.reload config=")
        contains(f.log(), "server.reload.restart key='workers' warning=\"this option takes effect when the daemon starts again\"")
        equal(limits(f)["batch"], 1000, "back to its default")
        d.call("tensor.create", data=[1])  # the session from before has the new limit, too
        raises(lambda: d.call("tensor.create", data=[1]), "ResourceExhausted", "0 of 2 left (session_tensors)")
        d.call("tensor.name", tensor=first, name="b")  # and so have the names of the uid
        raises(lambda: d.call("tensor.name", tensor=first, name="c"), "ResourceExhausted", "0 of 2 left (uid_names)")
        for name in ("a", "b"):
            d.call("tensor.unlink", name=name)
        wait_until(lambda: "debug connection.open" in f.log(), "the new level holds")


def test_hangup_with_a_broken_config_keeps_the_old_one():
    with configured("no-plugins = true", "batch = 2") as (f, path):
        for broken in ("batch = 3\nsessions = many", "batch = 3\nlog = /nowhere/at/all", "batch = 3\nwhat"):
            write(path, broken)
            hang_up(f, "the options that were in force stay")
            equal(limits(f)["batch"], 2)
        contains(f.log(), f"{path}:2: sessions: expected a number from 1 to 1048576, got 'many'")
        os.unlink(path)
        hang_up(f, "No such file or directory")
        equal(limits(f)["batch"], 2)
        write(path, "no-plugins = true", "batch = 4")
        hang_up(f, "info server.reload config=")
        equal(limits(f)["batch"], 4)


def test_each_wrong_line_is_reported():
    with configured("no-plugins = true", "batch = 2") as (f, path):
        write(path, "batch = many", "sessions = 5", "what", "walkers = 3")
        hang_up(f, "the options that were in force stay")
        equal([line.split(path)[1].split(",")[0] for line in f.log().splitlines() if "error server.reload error=" in line],
              [":1: batch: expected a number from 1 to 1048576", ":3: expected 'key = value'", ":4: walkers: unknown key"])
        equal(limits(f)["batch"], 2)


def check(*lines, options=()):
    """(exit status, standard output, standard error) of dispatchd --check-config."""
    with tempfile.TemporaryDirectory() as directory:
        path = write(os.path.join(directory, "conf"), *lines)
        done = subprocess.run([BUILD + "/dispatchd", "--config", path, "--check-config", *options], capture_output=True,
                              text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr.replace(path, "conf").splitlines()


def test_a_config_is_checked_without_a_start():
    equal(check("batch = 3", "log = /nowhere/at/all"), (0, "", []))
    code, out, err = check("workers = 0", "batch = 3", "what")
    equal((code, out, err[:2]), (2, "", ["dispatchd: conf:1: workers: expected a number from 1 to 256, got '0'",
                                         "dispatchd: conf:3: expected 'key = value', got 'what'"]))
    code, out, err = check(*[f"k{i} = 1" for i in range(20)])
    equal((code, len(err), err[15].split(",")[0], err[16]),
          (2, 18, "dispatchd: conf:16: k15: unknown key", "dispatchd: conf: 4 more lines are wrong"))
    contains(check("what", options=["--workers", "0"])[2][0], "--workers: expected a number from 1 to 256")
    done = subprocess.run([BUILD + "/dispatchd", "--check-config"], capture_output=True, text=True, timeout=60)
    equal(done.returncode, 2)
    contains(done.stderr, "--check-config checks the file of --config, got none")


def test_hangup_reopens_the_log():
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "log")
        with TestDaemon("--no-plugins", "--log", log) as f:
            for i in range(3):
                os.rename(log, f"{log}.{i}")
                f.process.send_signal(signal.SIGHUP)
                wait_until(lambda: os.path.exists(log) and "server.reload" in open(log).read(), "a new log")
            equal([os.path.getsize(f"{log}.{i}") > 0 for i in range(3)], [True] * 3)
            fds = f.descriptors()
            for _ in range(20):
                f.process.send_signal(signal.SIGHUP)
            wait_until(lambda: "server.reload" in open(log).read(), "it lives")
            equal(f.descriptors() <= fds + 1, True, "descriptors do not grow")
        contains(open(log).read(), "server.leave status=0")


def test_the_log_in_json():
    """Every line is an object with time, level and event, whatever clients put into it."""
    plugin = os.path.join(BUILD, "plugins", "template.so")
    with TestDaemon("--log-format", "json", "--log-level", "debug") as f:
        with f.connect() as d:
            d.call("plugin.unload", plugin="template")
            d.call("plugin.load", path=plugin)
            d.call("plugin.reload", plugin="template")
            for name in ("/no' x='1", "/a\"b\\", "/\u00e4\u20ac\U0001f600", "/line\nbreak\x01"):
                raises(lambda: d.call("plugin.load", path=name), "NotFound")
            raises(lambda: d.call("plugin.load", path="/" + "x" * 9000), "RuntimeError")
        f.process.send_signal(signal.SIGHUP)
        wait_until(lambda: '"event":"server.reload"' in f.log(), "it is reloaded")
        events = [json.loads(line) for line in f.log().splitlines()]
        for e in events:
            equal(list(e)[:3], ["time", "level", "event"])
        names = {e["event"] for e in events}
        for name in ("server.start", "plugin.load", "plugin.unload", "plugin.reload", "connection.open", "connection.close"):
            contains(names, name)
        start = next(e for e in events if e["event"] == "server.start")
        equal((start["pid"], start["socket"], start["version"]), (f.pid, f.socket, "0.1.0"))
        refused_ = [e["refused"] for e in events if e["event"] == "plugin.load" and "refused" in e]
        equal(refused_[:4], ["/no' x='1", "/a\"b\\", "/\u00e4\u20ac\U0001f600", "/line\nbreak\x01"])


def test_a_crash_report_in_json():
    if SANITIZED:
        return  # the sanitizer's own report stands in the log, too
    f = TestDaemon("--log-format", "json", "--no-plugins")
    f.process.send_signal(signal.SIGSEGV)
    f.process.wait(60)
    events = [json.loads(line) for line in f.log().splitlines()]
    equal([e["level"] for e in events if e["event"] == "server.crash"], ["error"])
    contains(next(e["text"] for e in events if e["event"] == "server.crash"), "signal=SIGSEGV")
    equal(len([e for e in events if e["event"] == "server.crash.stack"]) > 1, True, "the stack")


# -- an inherited socket --

def serve(fd, *options):
    return subprocess.Popen([BUILD + "/dispatchd", "--no-plugins", "--serve-fd", str(fd), *options], pass_fds=[fd],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def test_an_inherited_socket_is_served():
    ours, theirs = socket.socketpair()
    with theirs:
        process = serve(theirs.fileno())
    with dispatchd.Client(ours, 60) as d:
        hello = d.call("server.hello")
        equal(hello["pid"], process.pid)
        equal(d.call("server.status")["connections"], 1)
    _, log = process.communicate(timeout=60)
    equal(process.returncode, 0, log)
    contains(log, "server.leave status=0")


def test_an_inherited_socket_may_be_standard_input():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([BUILD + "/dispatchd", "--no-plugins", "--serve-fd", "0"], stdin=theirs, stderr=subprocess.PIPE)
    theirs.close()
    with dispatchd.Client(ours, 60) as d:
        d.call("server.status")
        ours.shutdown(socket.SHUT_WR)
        equal(ours.recv(1), b"", "its last descriptor is closed")
    process.communicate(timeout=60)
    equal(process.returncode, 0)


def test_other_descriptors_are_refused():
    listening, datagrams, inet = socket.socket(socket.AF_UNIX), socket.socketpair(type=socket.SOCK_DGRAM), socket.socket()
    with tempfile.TemporaryDirectory() as directory, open(os.devnull) as null, listening, datagrams[0], datagrams[1], inet:
        listening.bind(directory + "/s")
        listening.listen()
        for fd, why in ((null.fileno(), "no socket"), (listening.fileno(), "a socket that listens"),
                        (datagrams[0].fileno(), "a Unix socket that is no stream"), (inet.fileno(), "a socket of another kind")):
            _, log = (process := serve(fd)).communicate(timeout=60)
            equal(process.returncode, 1, log)
            contains(log, f"--serve-fd: expected a connected Unix stream socket, descriptor {fd} is {why}")
    done = subprocess.run([BUILD + "/dispatchd", "--serve-fd", "99"], capture_output=True, text=True, timeout=60)
    contains(done.stderr, "descriptor 99 is not open")


# -- what goes away under a daemon --

def test_its_socket_and_lock_may_be_removed():
    with TestDaemon("--no-plugins") as f, f.connect() as d:
        session = d.call("server.hello")["session"]
        os.unlink(f.socket)
        os.unlink(f.socket + ".lock")
        equal(d.call("server.hello")["session"], session, "who is connected stays so")
        with TestDaemon("--no-plugins", socket=f.socket) as second:
            equal(d.call("server.hello")["session"], session)
            f.process.send_signal(signal.SIGHUP)
            d.call("server.status")
            with second.connect() as other:
                equal(other.call("server.hello")["pid"], second.pid)
        f.finish = f.stop  # whose clients would need the path


def test_killed_and_started_again():
    with tempfile.TemporaryDirectory() as directory:
        path, cache = os.path.join(directory, "s"), os.path.join(directory, "cache")
        for _ in range(3):
            f = TestDaemon("--cache-dir", cache, socket=path)
            with f.connect() as d:
                equal(d.op("aten::add.Tensor", {"data": [1.0]}, 1, returns="data")["data"], [2])
                f.process.kill()
                f.process.wait(60)
            equal(os.path.exists(path), True, "its socket stays")
        with TestDaemon("--cache-dir", cache, socket=path) as f:
            contains(f.log(), "socket.replace")
            contains(f.log(), "cache.sweep")
            equal(len(os.listdir(cache)), 1, "copies of dead daemons are removed")


def test_clocks_that_jump_end_no_session():
    """Each reading of the wall clock jumps by a day, back and forth: only the times in the log do."""
    if SANITIZED:
        return  # a sanitizer must be loaded first
    with TestDaemon("--no-plugins", "--plugin", os.path.join(BUILD, "tests", "plugins", "sleeps.so"),
                    env={"LD_PRELOAD": CLOCK}) as f:
        days = {line[:10] for line in f.log().splitlines() if " info " in line}
        equal(len(days) > 1, True, f"the clock jumps: {days}")
        with f.connect() as d:
            hello = d.call("server.hello", linger_ms=60000)
            t = d.call("tensor.create", data=[1, 2])["tensor"]
            with f.gate() as gate:
                d.send("op.call", op="sleeps::until", args=[{"data": [1.0]}, gate.path], deadline_ms=60000)
                with f.connect() as other:
                    equal(other.call("server.status")["sessions"] >= 2, True)
                gate.open()
                d.receive()
        with f.connect() as d:
            equal(d.call("server.hello", session_key=hello["session_key"], linger_ms=0)["session"], hello["session"])
            equal(d.call("tensor.read", tensor=t)["data"], [1, 2])
            less(d.call("server.status")["uptime_ms"], 3600000, "uptime")


# -- requests that are being read --

def test_requests_that_are_read_are_charged():
    with configured("session_intermediate_bytes = 1 MiB", "line_bytes = 8 MiB", "no-plugins = true") as (f, _):
        with f.connect() as d, f.connect() as other:
            key = d.call("server.hello")["session_key"]
            other.call("server.hello", session_key=key)
            held = lambda: other.call("session.get")["account"]["intermediates"]["bytes"]
            d.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"server.status","attachments":[600000]}\n' + b"x" * 1000)
            wait_until(lambda: held() >= 600000, "announced attachments are charged")
            d.send_bytes(b"x" * 599000)
            equal(d.receive_message()["id"], 1)
            wait_until(lambda: held() == 0, "and refunded")
            # refused before they are stored, and read all the same
            d.send_bytes(b'{"jsonrpc":"2.0","id":2,"method":"server.status","attachments":[2000000]}\n' + b"x" * 2000000)
            error = d.receive_message()["error"]
            equal(error["data"]["type"], "ResourceExhausted")
            contains(error["message"], "(session_intermediate_bytes)")
            equal(d.call("server.status")["connections"], 2)
            # a line: refused while it is read, and skipped
            d.send_bytes(b'{"jsonrpc":"2.0","id":3,"method":"' + b"m" * 3000000 + b'"}\n')
            error = d.receive_message()
            equal((error["id"], error["error"]["data"]["type"]), (None, "ResourceExhausted"))
            equal(d.call("server.status")["connections"], 2)
            d.send_bytes(b'{"jsonrpc":"2.0","id":3,"method":"' + b"m" * 400000)
            wait_until(lambda: held() >= 400000, "a line that has not ended is charged")
            d.send_bytes(b'"}\n')
            equal(d.receive_message()["error"]["code"], -32601)
            d.send_bytes(b'{"jsonrpc":"2.0","id":3,"method":"' + b"m" * 400000)
            wait_until(lambda: held() >= 400000, "a line that has not ended is charged")
            d.close()
            wait_until(lambda: held() == 0, "a client that leaves in the middle")


main()
