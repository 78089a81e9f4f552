"""test_metrics.py -- server.metrics: the text is valid, and each figure follows what it counts."""

import os
import shutil
import subprocess

from harness import BUILD, contains, equal, less, main, raises, wait_until
from daemon import TestDaemon
import dispatchd
import exposition

PLUGINS = os.path.join(BUILD, "plugins")
TEST_PLUGINS = os.path.join(BUILD, "tests", "plugins")
ADD = {"operator": "aten::add.Tensor", "key": "CPU", "plugin": "cpu"}


def scrape(d):
    return exposition.read(d.call("server.metrics")["text"])


def change(d, act, name, **labels):
    """By how much act() changes a figure."""
    before = exposition.value(scrape(d), name, **labels)
    act()
    return exposition.value(scrape(d), name, **labels) - before


def setup():
    daemon = TestDaemon("--plugin-path", f"{PLUGINS}:{TEST_PLUGINS}")
    return daemon


def add(d, n=1):
    for _ in range(n):
        d.op("aten::add.Tensor", {"data": [1, 2]}, {"data": [3, 4]}, returns="data")


def test_the_text_is_valid(f):
    with f.connect() as d:
        add(d)
        samples = scrape(d)
        equal(samples["dispatchd_connections"][()], 1)
        equal(samples["dispatchd_sessions"][()] >= 1, True)
        equal([dict(k) for k in samples["dispatchd_info"]], [{"version": d.call("server.hello")["version"]}])
        less(0, samples["dispatchd_uptime_seconds"][()])
        less(0, exposition.value(samples, "dispatchd_loop_turn_max_seconds"), "longest turn")


def test_promtool_finds_nothing_to_complain_about(f):
    promtool = shutil.which("promtool")
    if promtool is None:
        print("skipped: promtool, of package prometheus, is not installed")
        return
    with f.connect() as d:
        add(d)
        text = d.call("server.metrics")["text"]
    done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


def test_calls_by_kernel(f):
    with f.connect() as d:
        equal(change(d, lambda: add(d, 5), "dispatchd_calls_total", **ADD), 5)
        equal(change(d, lambda: add(d, 5), "dispatchd_call_seconds_count", **ADD), 5)
        equal(change(d, lambda: add(d, 2), "dispatchd_call_errors_total", **ADD), 0)
        less(0, change(d, lambda: add(d), "dispatchd_call_seconds_sum", **ADD))
        equal(change(d, lambda: add(d, 3), "dispatchd_operator_calls_total", operator="aten::add.Tensor"), 3)
        only = {dict(k)["operator"] for k in scrape(d)["dispatchd_calls_total"]}
        equal("aten::mul.Tensor" in only, False, "operators that were not called")


def test_a_kernel_that_fails(f):
    def fail():
        raises(lambda: d.op("aten::mm", {"data": [[1, 2]]}, {"data": [[1, 2]]}), "RuntimeError")
    with f.connect() as d:
        equal(change(d, fail, "dispatchd_call_errors_total", operator="aten::mm"), 1)
        equal(change(d, fail, "dispatchd_calls_total", operator="aten::mm"), 1)
        equal(change(d, fail, "dispatchd_request_errors_total", method="op.call", type="RuntimeError"), 1)


def test_a_long_call_is_in_a_late_bucket(f):
    with f.connect() as d:
        d.call("plugin.load", path="sleeps")
        with f.gate() as gate:
            d.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
            with f.connect() as other:
                wait_until(lambda: other.call("server.status")["running"], "the call runs")
                wait_until(lambda: other.call("server.status")["running"][0]["ms"] > 20, "it ran for 20 ms")
                equal(exposition.value(scrape(other), "dispatchd_calls_total", operator="sleeps::until"), 0)
            gate.open()
            d.receive()
        samples = scrape(d)
        short = exposition.value(samples, "dispatchd_call_seconds_bucket", operator="sleeps::until", le="0.01")
        every = exposition.value(samples, "dispatchd_call_seconds_bucket", operator="sleeps::until", le="+Inf")
        equal((short, every), (0, 1), "calls of at most 10 ms, all calls")
        d.call("plugin.unload", plugin="sleeps")


def test_programs_count_by_operator(f):
    step = {"op": "aten::add.Tensor", "args": [{"data": [1]}, {"data": [2]}], "as": ["x"]}
    with f.connect() as d:
        def run():
            d.call("program.run", steps=[step], outputs=["x"])
        equal(change(d, run, "dispatchd_calls_total", **ADD), 0)
        equal(change(d, run, "dispatchd_operator_calls_total", operator="aten::add.Tensor"), 1)
        equal(change(d, run, "dispatchd_request_seconds_count", method="program.run"), 1)


def version_of(d, name, generation="any"):
    return exposition.value(scrape(d), "dispatchd_calls_total", plugin=name,
                            **({} if generation == "any" else {"generation": str(generation)}))


def test_generations_that_are_gone_are_one_series(f):
    path = os.path.join(f.dir, "version.so")
    shutil.copy(os.path.join(TEST_PLUGINS, "version_1.so"), path)
    with f.connect() as d:
        name = d.call("plugin.load", path=path)["plugin"]
        op = d.call("registry.list", plugin=name)["ops"][0]
        old = []
        for _ in range(5):
            d.call("op.call", op=op, args=[{"data": [1]}])
            old.append(d.call("plugin.reload", plugin=name)["old"]["generation"])
        d.call("op.call", op=op, args=[{"data": [1]}])
        wait_until(lambda: version_of(d, name, "(gone)") == 5, "five calls of generations that are gone")
        equal([version_of(d, name, g) for g in old], [0] * 5)
        equal(version_of(d, name), 6, "calls of the plugin")
        series = [dict(k) for k in scrape(d)["dispatchd_calls_total"] if dict(k)["plugin"] == name]
        equal(len(series), 2, f"series {series}")
        d.call("plugin.unload", plugin=name)
        wait_until(lambda: version_of(d, name, "(gone)") == 6, "the last one is gone, too")


def test_errors_by_method_and_type(f):
    name = "dispatchd_request_errors_total"
    with f.connect() as d:
        equal(change(d, lambda: raises(lambda: d.call("tensor.read", tensor=99), "NotFound"), name,
                     method="tensor.read", type="NotFound"), 1)
        equal(change(d, lambda: raises(lambda: d.call("no.method"), "MethodNotFound"), name,
                     method="(none)", type="MethodNotFound"), 1)
        equal(change(d, lambda: raises(lambda: d.call("tensor.read"), "InvalidParams"), name,
                     method="tensor.read", type="InvalidParams"), 1)

        def unreadable():
            d.send_bytes(b"[1\n")
            equal(d.receive_message()["error"]["code"], -32700)
        equal(change(d, unreadable, name, method="(none)", type="ParseError"), 1)

        def notification():
            d.send_message({"jsonrpc": "2.0", "method": "tensor.release", "params": {"tensors": [99]}})
        equal(change(d, notification, name, method="tensor.release", type="NotFound"), 1)


def test_refusals_by_limit(f):
    name = "dispatchd_limit_refusals_total"
    with f.connect() as d:
        def threads():
            raises(lambda: d.call("session.set", num_threads=1 << 20), "InvalidParams", "session_threads")
        equal(change(d, threads, name, limit="session_threads"), 1)

        def batch():
            d.send_message([{"jsonrpc": "2.0", "id": 1, "method": "server.hello"}] * 1001)
            contains(d.receive_message()["error"]["message"], "1001")
        equal(change(d, batch, name, limit="batch"), 1)

        def line():
            d.send_bytes(b" " * (2 << 20) + b"\n")
            contains(d.receive_message()["error"]["message"], "line_bytes")
        equal(change(d, line, name, limit="line_bytes"), 1)


def test_bytes_by_holder(f):
    with f.connect() as d:
        def create():
            made.append(d.call("tensor.create", data=[0] * 4096)["tensor"])
        made = []
        less(4 * 4096 - 1, change(d, create, "dispatchd_held_bytes", holder="tensors"))
        equal(change(d, create, "dispatchd_held_things", holder="tensors"), 1)
        d.release(*made)


def test_a_client_that_does_not_read(f):
    with f.connect() as d, f.connect() as slow:
        x = slow.op("aten::rand", [1 << 18])["tensor"]
        for _ in range(8):
            slow.send("tensor.read", tensor=x)
        wait_until(lambda: exposition.value(scrape(d), "dispatchd_connections_paused") == 1, "the daemon stops reading")
        less(4 << 20, exposition.value(scrape(d), "dispatchd_unsent_bytes"), "bytes of unsent answers")
        for _ in range(8):
            slow.receive()
        wait_until(lambda: exposition.value(scrape(d), "dispatchd_connections_paused") == 0, "it reads again")
        equal(exposition.value(scrape(d), "dispatchd_unsent_bytes"), 0)
        slow.release(x)


def test_the_oldest_request_that_waits():
    with TestDaemon("--workers", "1", "--plugin-path", TEST_PLUGINS) as daemon, \
            daemon.connect() as d, daemon.connect() as slow, daemon.connect() as second:
        second.call("server.hello", session_key=slow.call("server.hello")["session_key"])
        slow.call("plugin.load", path="sleeps")
        with daemon.gate() as gate:
            def oldest():
                return exposition.value(scrape(d), "dispatchd_queue_oldest_seconds")
            slow.send("op.call", op="sleeps::until", args=[{"data": [1]}, gate.path])
            wait_until(lambda: d.call("server.status")["running"], "the call runs")
            equal(oldest(), 0, "nothing waits")
            second.send("registry.dump")  # one worker may run requests of the session, and it is busy
            wait_until(lambda: oldest() > 0.02, "the second request has waited for 20 ms")
            equal(exposition.value(scrape(d), "dispatchd_connections_waiting"), 1)
            gate.open()
            slow.receive()
            second.receive()
            equal(oldest(), 0, "nothing waits any more")


def test_many_clients_read_figures_while_others_call(f):
    with f.connect() as d, f.connect() as other:
        before = exposition.value(scrape(d), "dispatchd_calls_total", **ADD)
        for _ in range(50):
            other.send("op.call", op="aten::add.Tensor", args=[{"data": [1]}, {"data": [2]}])
            d.send("server.metrics")
        for _ in range(50):
            other.receive()
            exposition.read(d.receive()["text"])
        equal(exposition.value(scrape(d), "dispatchd_calls_total", **ADD) - before, 50)


main(setup, TestDaemon.finish)
