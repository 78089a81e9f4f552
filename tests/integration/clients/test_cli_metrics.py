"""test_cli_metrics.py -- dispatchctl metrics, watch, top and bench: what they print, as text, as JSON and over
HTTP, and how they end."""

import json
import os
import pty
import re
import select
import signal
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree

from harness import BUILD, contains, equal, less, main, wait_until
from daemon import TestDaemon
import exposition

CTL = os.path.join(BUILD, "dispatchctl")
VERSION = os.path.join(BUILD, "tests", "plugins", "version_1.so")
WRONG_NPU = os.path.join(BUILD, "tests", "plugins", "wrong_npu.so")
TRIAL = os.path.join(BUILD, "tests", "plugins", "trial.so")


class Fixture(TestDaemon):
    def environment(self):
        return {**os.environ, "DISPATCHD_SOCKET": self.socket}

    def ctl(self, *words, status=0):
        done = subprocess.run([CTL, *words], capture_output=True, text=True, timeout=120, env=self.environment())
        equal(done.returncode, status, f"exit code of {words}; {done.stdout}{done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def begin(self, *words):
        return subprocess.Popen([CTL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment())


class Served:
    """dispatchctl metrics --listen on a port that the system chose."""

    def __init__(self, f):
        self.process = f.begin("metrics", "--listen", "127.0.0.1:0")
        self.url = self.process.stdout.readline().split()[1]
        self.port = int(re.search(r":(\d+)/metrics$", self.url)[1])

    def get(self, path="/metrics", method="GET"):
        """(status, headers, text)"""
        request = urllib.request.Request(self.url.replace("/metrics", path), method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read().decode()

    def send(self, data):
        """What is answered to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: s.recv(1 << 16), b""))

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.process.terminate()
        self.process.communicate()


def test_metrics_prints_the_text(f):
    samples = exposition.read(f.ctl("metrics"))
    less(0, len(samples["dispatchd_info"]))
    samples = exposition.read(json.loads(f.ctl("metrics", "--json"))["text"])
    less(0, len(samples["dispatchd_info"]))


def test_metrics_over_http(f):
    with Served(f) as served:
        status, headers, text = served.get()
        equal((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        less(0, len(exposition.read(text)["dispatchd_info"]))
        status, headers, text = served.get(method="HEAD")
        equal((status, text), (200, ""))
        less(1000, int(headers["Content-Length"]), "length of what GET would answer")
        equal(served.get("/metrics?x=1")[0], 200)
        equal(served.get("/")[0], 404)
        equal(served.get("/metricsx")[0], 404)
        status, headers, _ = served.get(method="POST")
        equal((status, headers["Allow"]), (405, "GET, HEAD"))


def test_clients_of_http_that_misbehave(f):
    with Served(f) as served:
        contains(served.send(b"GET /metrics"), b"400 Bad Request")
        contains(served.send(b""), b"400 Bad Request")
        try:  # longer than a request may be: the connection may be reset while it is sent
            served.send(b"x" * 20000)
        except OSError:
            pass
        contains(served.send(b"\r\n\r\n"), b"405")
        contains(served.send(b"GET\r\n\r\n"), b"40")
        equal(served.get()[0], 200)


def test_http_while_there_is_no_daemon():
    with TestDaemon() as other:  # whose directory outlives the daemons that are stopped
        path = os.path.join(other.dir, "served.sock")
        first = Fixture(socket=path)
        with Served(first) as served:
            equal(served.get()[0], 200)
            first.finish()
            status, _, text = served.get()
            equal((status, text), (503, "no daemon\n"))
            second = Fixture(socket=path)
            equal(served.get()[0], 200, "after another daemon has started")
            second.finish()


def test_addresses_that_are_none(f):
    for address in ("9464", "127.0.0.1", ":9464", "127.0.0.1:", "::1:9464", "[::1:9464", "[]:1"):
        contains(f.ctl("metrics", "--listen", address, status=2), f"not '{address}'")
    contains(f.ctl("metrics", "--listen", "192.0.2.1:9464", status=2), "cannot listen at '192.0.2.1:9464'")
    f.ctl("metrics", "more", status=2)


def test_watch(f):
    watching = f.begin("watch", "--count", "2")
    loads = 0
    while watching.poll() is None:  # it says nothing until something changes
        f.ctl("plugin", "load", VERSION)
        f.ctl("plugin", "unload", "version")
        loads += 1
        less(loads, 100, "loads")
    lines = watching.communicate()[0].splitlines()
    equal(len(lines), 2)
    assert any(re.fullmatch(r"version  generation \d+  \+3 -0", line) for line in lines), lines
    assert any(re.fullmatch(r"version  generation \d+  \+0 -3", line) for line in lines), lines


def test_watch_as_json(f):
    watching = f.begin("watch", "--count", "1", "--json")
    while watching.poll() is None:
        f.ctl("plugin", "load", VERSION)
        f.ctl("plugin", "unload", "version")
    change = json.loads(watching.communicate()[0])
    equal((change["plugin"], change["added"] + change["removed"]), ("version", 3))


def test_watch_ends_with_the_daemon():
    with TestDaemon() as other:
        f = Fixture(socket=os.path.join(other.dir, "watched.sock"))
        watching = f.begin("watch")
        with f.connect() as d:
            wait_until(lambda: d.call("server.status")["connections"] == 2, "it watches")
        f.finish()
        equal(watching.wait(60), 3, "no connection")
        contains(watching.communicate()[1], "the daemon closed the connection")


def test_top_once(f):
    f.ctl("call", "aten::add.Tensor", "[1]", "2")
    out = f.ctl("top")  # standard output is a pipe: once
    contains(out, "connections 1 (0 paused, 0 wait)")
    row = next(line for line in out.splitlines() if line.startswith("aten::add.Tensor"))
    equal(row.split()[1:3], ["CPU", "cpu"])
    top = json.loads(f.ctl("top", "--json"))
    operators = {o["operator"]: o for o in top["operators"]}
    less(0, operators["aten::add.Tensor"]["calls"])
    less(0, top["status"]["connections"])
    with f.connect() as small, f.connect() as large:
        small.call("tensor.create", data=[1])
        t = large.op("aten::zeros", [1000])
        first = json.loads(f.ctl("top", "--json"))["sessions"][0]
        equal((first["uid"], first["connections"], first["bytes"]), (os.getuid(), 1, 4000))
        screen = " ".join(f.ctl("top").split())
        contains(screen, "uid sessions connections requests workers maps tensors objects names named bytes bytes")
        contains(screen, f"session uid connections bytes {first['session']} {os.getuid()} 1 4000")
        large.release(t["tensor"])
    f.ctl("top", "word", status=2)


def test_status_and_top_tell_of_shadow_calls(f):
    """Nothing of them before the first one."""
    for verb in ("status", "top"):
        if "shadow calls" in f.ctl(verb):
            raise AssertionError(f"{verb} tells of shadow calls before there is one")
    with f.connect() as d:
        d.call("plugin.load", path=WRONG_NPU)
        d.call("session.set", shadow={"backend": "wnpu", "share": 1})
        # relu there is wrong above 100, sigmoid fails; a call beside the comparison of another one might be dropped
        for n, (op, value) in enumerate((("relu", 1), ("relu", 200), ("sigmoid", 1)), 1):
            d.op(f"aten::{op}", {"data": [value, 0.5]}, returns="data")
            wait_until(lambda: sum(r["calls"] + r["dropped"] for r in d.call("server.status")["shadow"]) == n, "shadow calls")
    lines = f.ctl("status").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("shadow calls of"))
    rows = {line.split()[0]: line.split()[1:] for line in lines[head + 1:head + 3]}
    equal(lines[head].split(), "shadow calls of on calls differ failed dropped largest difference".split())
    equal(rows, {"aten::relu": ["wnpu:0", "2", "1", "0", "0", "1"], "aten::sigmoid": ["wnpu:0", "1", "0", "1", "0", "0"]})
    contains(f.ctl("top"), "\nshadow calls 3   differ 1   failed 1   dropped 0\n\n")


def test_status_tells_of_a_canary(f):
    path = os.path.join(f.dir, "trial.so")
    shutil.copy(TRIAL, path)
    equal("canary of" in f.ctl("status"), False, "a canary before there is one")
    contains(f.ctl("plugin", "load", path), "trial 1.0 is loaded")
    contains(f.ctl("plugin", "reload", "trial", "--canary", "0.5", "--differences", "2"), "trial 1.0 is the canary, generation ")
    lines = f.ctl("status").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("canary of"))
    words = lines[head + 1].split()
    equal([words[0]] + words[2:], ["trial", "runs", "0.5", "0", "0", "0", "0"])
    contains(f.ctl("plugin", "rollback", "trial"), f"generation {words[1]} is gone")
    contains(f.ctl("plugin", "reload", "trial", "--canary", "1"), "is the canary")
    contains(f.ctl("plugin", "promote", "trial"), "trial 1.0 is loaded")
    contains(f.ctl("status"), "promoted")
    contains(f.ctl("plugin", "unload", "trial"), "registrations removed")


def read_terminal(fd, wants, seconds=60):
    """Read until wants(text), and return the text."""
    text, end = "", time.monotonic() + seconds
    while not wants(text):
        less(time.monotonic(), end, f"the time for {text!r}")
        if select.select([fd], [], [], 0.1)[0]:
            text += os.read(fd, 1 << 16).decode()
    return text


def test_top_on_a_terminal(f):
    ours, its = pty.openpty()
    process = subprocess.Popen([CTL, "top", "--interval-ms", "50"], stdout=its, env=f.environment())
    os.close(its)
    with f.connect() as d:
        read_terminal(ours, lambda text: text.count("\x1b[2J") >= 2)
        for _ in range(3):  # between two looks, so a rate is shown
            d.op("aten::mul.Tensor", {"data": [1]}, {"data": [2]}, returns="data")
        text = read_terminal(ours, lambda text: re.search(r"aten::mul.Tensor .*\n", text))
        contains(text, "calls/s")
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    os.close(ours)


def test_bench(f):
    out = f.ctl("bench", "aten::add.Tensor", "[1,2]", "3", "--calls", "50").splitlines()
    equal(out[0], "aten::add.Tensor  50 calls, one after the other")
    equal([line.split()[0] for line in out[2:8]], ["mean", "min", "p50", "p90", "p99", "max"])
    equal(sum(int(line.split()[4]) for line in out[9:]), 50, "calls of the histogram")


def test_bench_as_json(f):
    with f.connect() as d:
        before = exposition.value(exposition.read(d.call("server.metrics")["text"]), "dispatchd_calls_total",
                                  operator="aten::mm")
        r = json.loads(f.ctl("bench", "aten::mm", "[[1,2],[3,4]]", "[[1,2],[3,4]]", "--calls", "20", "--json"))
        after = exposition.value(exposition.read(d.call("server.metrics")["text"]), "dispatchd_calls_total",
                                 operator="aten::mm")
    equal(after - before, 22, "calls, with those before the measurement")
    equal((r["op"], r["calls"], sum(bin["calls"] for bin in r["histogram"])), ("aten::mm", 20, 20))
    times = [r[k] for k in ("min_us", "p50_us", "p90_us", "p99_us", "max_us")]
    equal(times, sorted(times))
    assert r["histogram"][0]["to_us"] >= r["min_us"] and r["histogram"][-1]["to_us"] >= r["max_us"], r


def test_bench_on_a_terminal_shows_how_far_it_is(f):
    ours, its = pty.openpty()
    process = subprocess.Popen([CTL, "bench", "aten::neg", "[1]", "--calls", "10000000"], stderr=its, env=f.environment())
    os.close(its)
    bar = read_terminal(ours, lambda text: text.count("\r[") >= 3)
    process.terminate()
    process.wait(60)
    os.close(ours)
    match = re.search(r"\r\[#* *\] +\d+ % of 11000000 calls", bar)
    equal(match is not None, True, bar)


def test_bench_of_a_device(f):
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "bench.svg")
        found = json.loads(f.ctl("bench", "--device", "cpu", "aten::relu", "--dtype", "float64", "--svg", picture, "--json"))
        equal((found["device"], found["dtype"]), ("cpu", "float64"))
        equal([r["elements"] for r in found["rows"] if r["op"] == "aten::relu"], [1 << 10, 1 << 15, 1 << 20], "sizes of relu")
        equal([r for r in found["rows"] if not (r["device_ns"] > 0 and r["cpu_ns"] > 0)], [], "rows without a time")
        tree = xml.etree.ElementTree.parse(picture)
        bars = tree.findall("{http://www.w3.org/2000/svg}rect")
        equal(len(bars), len(found["rows"]), "bars of the picture")
    contains(f.ctl("bench", "--device", "cpu", "aten::relu"), "1048576")
    contains(f.ctl("bench", "--device", "nowhere", "aten::relu", status=1), "nowhere")
    contains(f.ctl("bench", "--device", "cpu", "--dtype", "float31", status=2), "float31")


def test_bench_waits_for_the_device(f):
    """A kernel returns at once, and its device works for 30 ms more."""
    with tempfile.TemporaryDirectory() as folder, f.connect() as d:
        samples = os.path.join(folder, "samples")
        with open(samples, "w") as out:
            out.write('{"op":"doze::doze_","dtypes":["float32"],"args":[{"tensor":-1}],'
                      '"tensors":[{"shape":[2],"dtype":"*","draw":[0,1]}]}\n')
        d.call("plugin.load", path=os.path.join(BUILD, "tests", "plugins", "async_device.so"))
        rows = json.loads(f.ctl("bench", "--device", "simdev", "--samples", samples, "--json"))["rows"]
        equal(([r["elements"] for r in rows], [r for r in rows if r["device_ns"] < 15e6]),
              ([1 << 10, 1 << 15, 1 << 20], []), "rows, and those that end too early")
        equal(d.call("plugin.unload", plugin="async_device")["unmapped"], True)


def test_bench_that_fails(f):
    contains(f.ctl("bench", "aten::mm", "[1]", "[1]", status=1), "aten::mm")
    contains(f.ctl("bench", "no::op", status=1), "no::op")
    for calls in ("0", "-1", "x", "10000001"):
        f.ctl("bench", "aten::neg", "[1]", "--calls", calls, status=2)
    f.ctl("bench", status=2)


main(Fixture, Fixture.finish)
