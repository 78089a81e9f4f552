"""test_shadow.py -- shadow calls: a share of a connection's calls runs on a second backend, too. Wrong kernels, failures,
slow and hanging kernels and unloads are counted, and change no answer.

Most tests have a daemon of their own, since counts are those of the whole daemon."""

import os
import shutil
import tempfile
import threading
import time

from harness import BUILD, contains, equal, fresh, less, main, raises, wait_until
from daemon import TestDaemon
import exposition

PLUGINS = os.path.join(BUILD, "tests", "plugins")
DEVICE = "wnpu:0"


class Fixture:
    def __init__(self, **limits):
        self.dir = tempfile.mkdtemp(prefix="dispatchd-shadow-")
        self.waits = os.path.join(self.dir, "waits")  # while it exists, tanh waits
        conf = os.path.join(self.dir, "conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.writelines(f"{name} = {value}\n" for name, value in limits.items())
        self.daemon = TestDaemon("--plugin-path", PLUGINS, "--config", conf, env={"WRONG_NPU_WAITS": self.waits})
        self.connect = self.daemon.connect
        with self.connect() as d:
            d.call("plugin.load", path="wrong_npu")

    def hold(self):
        open(self.waits, "w", encoding="utf-8").close()

    def go_on(self):
        if os.path.exists(self.waits):
            os.unlink(self.waits)

    def shadowing(self, share=1, **more):
        d = self.connect()
        d.call("session.set", shadow={"backend": "wnpu", "share": share, **more})
        return d


    def finish(self):
        self.go_on()
        self.daemon.finish()
        shutil.rmtree(self.dir)


def row(d, op):
    rows = [r for r in d.call("server.status")["shadow"] if r["op"] == op]
    return rows[0] if rows else dict.fromkeys(("calls", "differs", "failed", "dropped", "largest"), 0)


def counts(d, op):
    return tuple(row(d, op)[k] for k in ("calls", "differs", "failed", "dropped"))


def total(d):
    """Chosen calls; those under (other) were dropped while the table was in use."""
    return sum(r["calls"] + r["dropped"] for r in d.call("server.status")["shadow"])


def settle(d, op, want):
    try:
        wait_until(lambda: counts(d, op) == want, op)
    except AssertionError:
        equal(counts(d, op), want, f"{op}: calls, differs, failed, dropped")


def data(d, op, *args, **kwargs):
    return d.call("op.call", op=op, args=list(args), kwargs=kwargs, **{"return": "data"})["outputs"][0]["data"]


def create(d, values):
    return {"tensor": d.call("tensor.create", data=values)["tensor"]}


def read(d, t):
    return d.call("tensor.read", tensor=t["tensor"])["data"]


@fresh(Fixture)
def test_a_wrong_kernel_is_found_under_load(f):
    clients, calls = 4, 200

    def work(i, wrong):
        with f.shadowing() as d:
            for k in range(calls):
                x = [float(k), -float(i), 101.0] if k % 10 == 0 else [float(k % 100), -float(i), 3.0]
                got = data(d, "aten::relu", {"data": x})
                if got != [max(v, 0.0) for v in x]:
                    wrong.append((x, got))
                if data(d, "aten::neg", {"data": x}) != [-v for v in x]:
                    wrong.append(x)
    wrong = []
    threads = [threading.Thread(target=work, args=(i, wrong)) for i in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(wrong, [], "answers")
    with f.connect() as d:
        def done():
            return total(d) == 2 * clients * calls
        wait_until(done, "all shadow calls have ended")
        r, n = row(d, "aten::relu"), row(d, "aten::neg")
        less(0, r["differs"], "wrong results")
        equal((r["largest"], r["failed"], r["backend"]), (1, 0, DEVICE))
        equal((n["differs"], n["failed"], n["largest"]), (0, 0, 0), "a right kernel")
        samples = exposition.read(d.call("server.metrics")["text"])
        for name, of in ("calls", "calls"), ("differs", "differs"), ("dropped", "dropped"):
            equal(int(exposition.value(samples, f"dispatchd_shadow_{name}_total", operator="aten::relu", backend=DEVICE)),
                  r[of], name)
    contains(f.daemon.log(), "shadow.differs")
    contains(f.daemon.log(), f"op='aten::relu' backend='{DEVICE}' output=0 element=[2] expected=101 got=102")


@fresh(Fixture)
def test_in_place_and_out(f):
    with f.shadowing() as d:
        x, y = create(d, [1, 2, 3]), create(d, [0, 0, 0])
        d.op("aten::mul_.Tensor", x, {"data": [2.0, 2.0, 2.0]})
        equal(read(d, x), [2, 4, 6], "the client's tensor")
        settle(d, "aten::mul_.Tensor", (1, 1, 0, 0))
        equal(row(d, "aten::mul_.Tensor")["largest"], 13, "6 and -7")
        d.op("aten::add_.Tensor", x, x)
        equal(read(d, x), [4, 8, 12])
        settle(d, "aten::add_.Tensor", (1, 0, 0, 0))
        d.call("op.call", op="aten::add.out", args=[x, {"data": [1.0, 1.0, 1.0]}], kwargs={"out": y})
        equal(read(d, y), [5, 9, 13])
        settle(d, "aten::add.out", (1, 0, 0, 0))
        empty = {"tensor": d.op("aten::empty.memory_format", [0])["tensor"]}
        d.call("op.call", op="aten::exp.out", args=[{"data": [0.0, 0.0]}], kwargs={"out": empty})
        settle(d, "aten::exp.out", (1, 0, 0, 0))
        d.op("aten::add_.Tensor", x, {"tensor": d.op("aten::view", x, [3])["tensor"]})
        d.op("aten::neg", x)
        settle(d, "aten::neg", (1, 0, 0, 0))
        equal(counts(d, "aten::add_.Tensor"), (1, 0, 0, 0), "arguments that share memory with a written one")


@fresh(Fixture)
def test_values_lists_and_dtypes(f):
    with f.shadowing() as d:
        equal(d.op("aten::equal", {"data": [1.0]}, {"data": [1.0]}), True)
        settle(d, "aten::equal", (1, 0, 0, 0))
        d.op("aten::cat", [{"data": [1.0]}, {"data": [2.0, 3.0]}], 0)
        settle(d, "aten::cat", (1, 0, 0, 0))
        d.op("aten::abs", {"data": [1, -2], "dtype": "int64"})
        settle(d, "aten::abs", (1, 0, 0, 0))
        d.op("aten::sort", {"data": [[3.0, 1.0], [float(2), 0.5]]})
        settle(d, "aten::sort", (1, 0, 0, 0))
        d.op("aten::log", {"data": [-1.0, 0.0, 2.0]})
        settle(d, "aten::log", (1, 0, 0, 0))
        d.op("aten::exp", {"data": [], "shape": [0], "dtype": "float32"})
        settle(d, "aten::exp", (1, 0, 0, 0))
        d.op("aten::sum", {"tensor": d.op("aten::expand", {"data": [[1.0], [2.0]]}, [2, 3])["tensor"]})
        settle(d, "aten::sum", (1, 0, 0, 0))
        device = {"tensor": d.op("aten::to.device", {"data": [101.0]}, DEVICE, "float32")["tensor"]}
        d.call("session.set", shadow={"backend": "cpu", "share": 1})
        equal(read(d, {"tensor": d.op("aten::relu", device)["tensor"]}), [102], "from the wrong kernel")
        wait_until(lambda: [r for r in d.call("server.status")["shadow"] if r["backend"] == "cpu" and r["differs"]],
                   "the CPU shadows the backend")


@fresh(Fixture)
def test_tolerance(f):
    with f.shadowing(rtol=0.1, atol=0) as d:
        d.op("aten::relu", {"data": [101.0]})
        settle(d, "aten::relu", (1, 0, 0, 0))
        equal(row(d, "aten::relu")["largest"], 1, "within the tolerance")
        d.call("session.set", shadow={"backend": "wnpu", "share": 1, "rtol": 0, "atol": 0.5})
        d.op("aten::relu", {"data": [101.0]})
        settle(d, "aten::relu", (2, 1, 0, 0))


@fresh(Fixture)
def test_calls_that_are_not_shadowed(f):
    with f.shadowing() as d:
        x = create(d, [1, 2, 3])
        d.op("aten::rand", [3])
        d.op("aten::bernoulli", {"data": [0.5]})
        d.op("aten::view", x, [3])
        d.op("aten::empty_like", x)
        d.op("aten::zeros_like", x, device="cpu")
        raises(lambda: d.op("aten::mm", x, x), "RuntimeError")
        d.call("op.call", op="aten::mm", args=[{"data": [[1.0]]}, {"data": [[1.0]]}], autocast={"enabled": True})
        d.call("trace.start", inputs={"x": x})
        d.op("aten::exp", x)
        d.call("trace.stop")
        d.op("aten::neg", x)
        settle(d, "aten::neg", (1, 0, 0, 0))
        equal([r["op"] for r in d.call("server.status")["shadow"]], ["aten::neg"])
        d.call("session.set", shadow=None)
        d.op("aten::neg", x)
        equal(d.call("session.get").get("shadow"), None)
        equal(counts(d, "aten::neg"), (1, 0, 0, 0), "off")
        d.call("session.set", shadow={"backend": "wnpu", "share": 0})
        for _ in range(50):
            d.op("aten::neg", x)
        equal(counts(d, "aten::neg"), (1, 0, 0, 0), "a share of 0")


@fresh(Fixture)
def test_a_share(f):
    calls = 400
    with f.shadowing(share=0.25) as d:
        for _ in range(calls):
            data(d, "aten::neg", {"data": [1.0]})
        d.call("session.set", shadow={"backend": "wnpu", "share": 1})
        data(d, "aten::abs", {"data": [1.0]})  # the last one in the queue
        wait_until(lambda: sum(counts(d, "aten::abs")) == 1, "the last one")
        chosen = row(d, "aten::neg")["calls"] + row(d, "aten::neg")["dropped"]
        less(calls * 0.1, chosen, "chosen calls")
        less(chosen, calls * 0.45, "chosen calls")


@fresh(Fixture)
def test_settings(f):
    with f.connect() as d:
        equal(d.call("session.get").get("shadow"), None)
        answer = d.call("session.set", shadow={"backend": "wnpu"})["shadow"]
        equal(answer, {"backend": DEVICE, "share": 0.1})
        equal(d.call("session.set", num_threads=1)["shadow"], answer, "unchanged")
        raises(lambda: d.call("session.set", shadow={"backend": "nothing"}), "RuntimeError", "shadow.backend")
        raises(lambda: d.call("session.set", shadow={"backend": "meta"}), "ValueError", "computes no values")
        for bad in {"share": 2}, {"share": -0.1}, {"rtol": -1}, {"atol": "x"}, {"more": 1}:
            raises(lambda: d.call("session.set", shadow={"backend": "cpu", **bad}), "InvalidParams")
        raises(lambda: d.call("session.set", shadow={"backend": "cpu"}, num_threads=1 << 20), "InvalidParams")
        raises(lambda: d.call("session.set", shadow={"backend": "cpu"}, exclude=["Nothing"]), "NotFound")
        equal(d.call("session.get")["shadow"], answer, "after failures")
    with f.connect() as d:
        equal(d.call("session.get").get("shadow"), None, "another connection")


@fresh(Fixture)
def test_failures(f):
    with f.shadowing() as d:
        equal(data(d, "aten::sigmoid", {"data": [0.0]}), [0.5])
        settle(d, "aten::sigmoid", (1, 0, 1, 0))
        contains(f.daemon.log(), "sigmoid is broken")
        d.call("session.set", fallback="forbid")
        d.op("aten::exp", {"data": [0.0]})
        settle(d, "aten::exp", (1, 0, 1, 0))


def test_a_slow_one_and_the_limit_of_the_queue():
    queue = 4
    f = Fixture(shadow_queue=queue)
    f.hold()
    with f.shadowing() as d:
        for _ in range(20):
            equal(data(d, "aten::tanh", {"data": [0.0]}), [0], "while the shadow waits")
        wait_until(lambda: row(d, "aten::tanh")["dropped"] == 20 - queue, "the queue is full")
        f.go_on()
        settle(d, "aten::tanh", (queue, 0, 0, 20 - queue))
    f.finish()


def test_the_limit_of_bytes_and_of_time():
    f = Fixture(shadow_bytes="1KiB", shadow_ms=50)
    with f.shadowing() as d:
        d.op("aten::neg", {"data": [0.0] * 256})
        settle(d, "aten::neg", (0, 0, 0, 1))
        d.op("aten::neg", {"data": [0.0] * 64})
        settle(d, "aten::neg", (1, 0, 0, 1))
        d.op("aten::cos", {"data": [0.0]})
        settle(d, "aten::cos", (1, 0, 1, 0))
    f.finish()


@fresh(Fixture)
def test_unload_and_reload(f):
    stop, answers = threading.Event(), []

    def load():
        with f.shadowing() as d:
            while not stop.is_set():
                answers.append(data(d, "aten::neg", {"data": [1.0] * 100}))
                data(d, "aten::relu", {"data": [1.0]})
    threads = [threading.Thread(target=load) for _ in range(3)]
    for t in threads:
        t.start()
    with f.connect() as d:
        for _ in range(10):
            d.call("plugin.reload", plugin="wrong_npu")
            time.sleep(0.01)
            d.call("plugin.unload", plugin="wrong_npu")
            time.sleep(0.02)
            d.call("plugin.load", path="wrong_npu")
        before = len(answers)
        wait_until(lambda: len(answers) > before + 10, "clients go on")
    stop.set()
    for t in threads:
        t.join()
    equal([a for a in answers if a != [-1] * 100], [])


@fresh(Fixture)
def test_unload_while_it_hangs(f):
    with f.shadowing() as d:
        d.op("aten::cos", {"data": [0.0]})
        for _ in range(3):
            d.op("aten::neg", {"data": [0.0]})
        wait_until(lambda: d.call("server.status")["running"], "it runs")
        d.call("plugin.unload", plugin="wrong_npu")
        settle(d, "aten::cos", (0, 0, 0, 1))
        settle(d, "aten::neg", (0, 0, 0, 3))
        d.op("aten::neg", {"data": [0.0]})
        settle(d, "aten::neg", (1, 0, 1, 3))
        f.hold()
        d.call("plugin.load", path="wrong_npu")
        d.op("aten::tanh", {"data": [0.0]})
        wait_until(lambda: d.call("server.status")["running"], "it runs")
        raises(lambda: d.call("plugin.unload", plugin="wrong_npu", timeout_ms=20), "Busy")
        f.go_on()
        settle(d, "aten::tanh", (0, 0, 0, 1))
        d.call("plugin.unload", plugin="wrong_npu")


@fresh(Fixture)
def test_the_schema_changes_meanwhile(f):
    f.hold()
    with f.shadowing() as d:
        d.call("plugin.load", path="dozes")
        d.op("aten::tanh", {"data": [0.0]})
        d.op("dozes::doze", {"data": [0.0]})
        f.go_on()
        settle(d, "dozes::doze", (1, 0, 0, 0))
        d.call("plugin.unload", plugin="dozes")


@fresh(Fixture)
def test_long_arguments_of_a_short_kernel(f):
    with f.shadowing() as d:
        x = create(d, [1.0] * 5000)
        for _ in range(100):
            equal(d.op("aten::relu", x, into=-1)["tensor"], -1)
            d.release(-1)
        wait_until(lambda: total(d) == 100, "each call is chosen once")
        d.call("plugin.load", path="dozes")
        for n in range(1, 200):  # until the kernel is proven to be short
            equal(d.op("dozes::doze", x), 0)
        wait_until(lambda: total(d) == 100 + n, "each call is chosen once")
        d.call("plugin.unload", plugin="dozes")


@fresh(Fixture)
def test_clients_that_leave(f):
    f.hold()
    for _ in range(5):
        with f.shadowing() as d:
            x = create(d, [1, 2, 3])
            d.op("aten::tanh", x)
            d.op("aten::relu", x)
    f.go_on()
    with f.connect() as d:
        settle(d, "aten::tanh", (5, 0, 0, 0))
        settle(d, "aten::relu", (5, 0, 0, 0))


def test_the_daemon_stops_meanwhile():
    f = Fixture()
    with f.shadowing() as d:
        d.op("aten::cos", {"data": [0.0]})
        for _ in range(10):
            d.op("aten::neg", {"data": [0.0]})
        wait_until(lambda: d.call("server.status")["running"], "it runs")
    f.daemon.stop()
    shutil.rmtree(f.dir)


main()
