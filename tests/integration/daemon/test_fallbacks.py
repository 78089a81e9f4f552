"""test_fallbacks.py -- which operators fell back, how often, and how many bytes that copied: in a trace, explain,
registry.describe, server.status and server.metrics; with threads, failures, reloads and unloads. And the fallback of
each dispatch key beside PyTorch's."""

import os
import shutil
import tempfile

from harness import BUILD, contains, equal, main, raises, together, wait_until, warnings
from daemon import TestDaemon
import exposition

PLUGINS = os.path.join(BUILD, "tests", "plugins")
LISTED, SERIES = 5, 8


def start(*options):
    f = TestDaemon("--plugin-path", PLUGINS, *options)
    with f.connect() as d:
        d.call("plugin.load", path="npu")
    return f


def setup():
    return start()


def teardown(f):
    with f.connect() as d:
        equal(d.call("server.status")["live_tensors"], 0, "tensors that are left")
    f.finish()


def put(d, data, device="npu:0"):
    """A tensor on a device, by a copy that is no fallback."""
    return {"tensor": d.op("aten::to.device", {"data": data}, device, "float32")["tensor"]}


def rows(answer):
    return {(r["op"], r["key"]): (r["calls"], r["bytes"]) for r in answer["fallbacks"]}


def counts(d, op, key="npu"):
    return rows(d.call("registry.describe", op=op)).get((op, key), (0, 0))


def change(d, act, op, key="npu"):
    """By how much act() changes (calls, bytes) of `op`, which all who count agree on."""
    def metric(name):
        return int(exposition.value(exposition.read(d.call("server.metrics")["text"]), name, operator=op, key=key))

    def seen():
        return metric("dispatchd_fallbacks_total"), metric("dispatchd_fallback_bytes_total")
    before, metrics_before = counts(d, op, key), seen()
    act()
    after, metrics_after = counts(d, op, key), seen()
    changed = tuple(b - a for a, b in zip(before, after))
    equal(tuple(b - a for a, b in zip(metrics_before, metrics_after)), changed, f"metrics of {op}")
    return changed


def test_calls_and_bytes(f):
    with f.connect() as d:
        x, y = put(d, [1, 2, 3]), put(d, [4, 5, 6])
        equal(change(d, lambda: d.op("aten::relu", x), "aten::relu"), (1, 24), "3 floats there and back")
        equal(change(d, lambda: d.op("aten::relu_", x), "aten::relu_"), (1, 24))
        equal(change(d, lambda: [d.op("aten::dot", x, y) for _ in range(4)], "aten::dot"), (4, 4 * 28))
        equal(change(d, lambda: d.op("aten::maximum", x, y), "aten::maximum.out"), (1, 48),
              "a structured operator calls its out= form; the memory of the output goes both ways")
        equal(change(d, lambda: d.op("aten::logit", x), "aten::logit"), (1, 24), "a kernel that hands its calls on")
        equal(change(d, lambda: d.op("aten::relu", {"data": [1.0]}), "aten::relu"), (0, 0), "on the CPU")
        equal(change(d, lambda: d.op("aten::view", x, [3]), "aten::view"), (0, 0), "a view copies nothing")
        explained = d.call("registry.explain", op="aten::relu", args=[x])
        equal(rows(explained)[("aten::relu", "npu")], counts(d, "aten::relu"), "explain")


def test_calls_that_fail(f):
    with f.connect() as d:
        x, y = put(d, [1, 2]), put(d, [3, 4, 5])
        fails = lambda: raises(lambda: d.op("aten::dot", x, y), "RuntimeError")
        equal(change(d, fails, "aten::dot"), (1, 20), "two tensors went to the CPU before it failed")
        d.call("session.set", fallback="forbid")
        forbidden = lambda: raises(lambda: d.op("aten::dot", x, y), "NotImplementedError")
        equal(change(d, forbidden, "aten::dot"), (0, 0), "forbidden: it did not fall back")
        contains(d.call("registry.explain", op="aten::dot", args=[x, y])["path"][-1]["why"], "the mode forbids it")
        d.call("session.set", fallback="report")
        contains(d.call("registry.explain", op="aten::dot", args=[x, y])["path"][-1]["why"], "the mode reports it")
        answer = d.call("op.call", op="aten::relu", args=[x])
        contains(warnings(answer)[0], "served by the fallback of plugin 'npu'")


def test_a_trace_has_the_bytes_of_each_step(f):
    with f.connect() as d:
        x = put(d, [1, 2, 3])
        for op in "aten::relu", "aten::logit":
            trace = d.call("op.call", op=op, args=[x], trace=True)["trace"]
            equal([(s["key"], s.get("copied")) for s in trace], [("npu", 24), ("CPU", None)], op)
        trace = d.call("op.call", op="aten::relu", args=[{"data": [1.0]}], trace=True)["trace"]
        equal([s.get("copied") for s in trace], [None])


def test_programs_and_batches(f):
    with f.connect() as d:
        x = put(d, [1, 2])
        steps = [{"op": "aten::relu", "args": [{"ref": f"x{i - 1}"} if i else x], "as": [f"x{i}"]} for i in range(10)]
        equal(change(d, lambda: d.call("program.run", steps=steps, outputs=["x9"]), "aten::relu"), (10, 160))
        batch = [{"jsonrpc": "2.0", "id": i, "method": "op.call", "params": {"op": "aten::relu", "args": [x]}}
                 for i in range(5)]

        def run_batch():
            d.send_message(batch)
            equal(len(d.receive_message()), 5)
        equal(change(d, run_batch, "aten::relu"), (5, 80))


def test_many_threads(f):
    with f.connect() as d:
        def work(i):
            with f.connect() as mine:
                x, bad = put(mine, [1, 2, 3, i]), put(mine, [1, 2])
                for k in range(50):
                    mine.op("aten::relu", x)
                    if k % 5 == 0:
                        raises(lambda: mine.op("aten::dot", x, bad), "RuntimeError")
        def run():
            together(work, 6)
        dots = counts(d, "aten::dot")
        equal(change(d, run, "aten::relu"), (300, 300 * 32))
        equal(tuple(b - a for a, b in zip(dots, counts(d, "aten::dot"))), (60, 60 * 24), "calls that failed")


def test_the_lists_are_bounded():
    names = ["sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "erf", "abs", "neg", "ceil", "floor", "sign", "asin"]
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(f"status_fallbacks = {LISTED}\nmetric_fallbacks = {SERIES}\n")
        conf.flush()
        f = start("--config", conf.name)
    with f.connect() as d:
        x = put(d, [0.1, 0.2])
        before = exposition.value(exposition.read(d.call("server.metrics")["text"]), "dispatchd_fallbacks_total")
        for i, name in enumerate(names):
            for _ in range(i + 1):
                d.op("aten::" + name, x)
        status = d.call("server.status")
        calls = [r["calls"] for r in status["fallbacks"]]
        equal((len(calls), status["fallbacks_cut"]), (LISTED, True))
        equal(calls, sorted(calls, reverse=True), "the most frequent first")
        samples = exposition.read(d.call("server.metrics")["text"])
        equal(len(samples["dispatchd_fallbacks_total"]), SERIES + 1, "series, with that of the others")
        equal(exposition.value(samples, "dispatchd_fallbacks_total") - before, len(names) * (len(names) + 1) / 2)
        equal(status["fallbacks"][0]["op"], "(other)", "the sum of those over the limit has most calls")
    f.finish()


def test_a_fallback_of_the_plugins_own(f):
    """Nobody but plugin far knows what its fallback copies."""
    with f.connect() as d:
        d.call("plugin.load", path="far")
        y = put(d, [1, 2], "far")
        equal(change(d, lambda: d.op("aten::relu", y), "aten::relu", "far"), (1, 0))
        trace = d.call("op.call", op="aten::relu", args=[y], trace=True)["trace"]
        equal([(s["key"], s.get("copied")) for s in trace], [("far", 0), ("CPU", None)])
        equal(change(d, lambda: d.op("aten::relu", put(d, [1, 2])), "aten::relu", "far"), (0, 0), "on npu")
        d.call("tensor.release", all=True)
        equal(d.call("plugin.unload", plugin="far")["unmapped"], True)


def test_a_request_that_passed_its_deadline(f):
    """The main thread answers it; the worker counts its call when the kernel ends."""
    with f.connect() as d:
        d.call("plugin.load", path="sleeps")
        x = put(d, [1, 2])
        before = counts(d, "sleeps::until")
        with f.gate() as gate:
            raises(lambda: d.call("op.call", op="sleeps::until", args=[x, gate.path], deadline_ms=50), "DeadlineExceeded")
            equal(counts(d, "sleeps::until"), before, "it still runs")
            gate.open()
        wait_until(lambda: counts(d, "sleeps::until")[0] == before[0] + 1, "it is counted")
        d.call("tensor.release", all=True)
        wait_until(lambda: d.call("server.status")["stuck"] == [], "it has ended")
        d.call("plugin.unload", plugin="sleeps")


def test_keys_have_pytorchs_fallbacks_or_a_reason(f):
    with f.connect() as d:
        of = {row["key"]: row["fallback"] for row in d.call("registry.keys")["keys"] if "fallback" in row}
        differ = {key for key, fallback in of.items() if fallback["pytorch"] not in ("none", fallback["kind"])}
        equal({key for key, fallback in of.items() if "reason" in fallback}, differ)
        for key, plugin in {"Conjugate": "composite", "Negative": "composite", "AutogradCPU": "autograd", "npu": "npu",
                            "BackendSelect": "(built in)"}.items():
            equal(of[key]["plugin"], plugin, f"whose the fallback of {key} is")
        for key in "Conjugate", "Negative", "BackendSelect", "ADInplaceOrView", "AutocastCPU", "VmapMode":
            equal(key in differ, False, f"{key}: {of[key]}")


def test_counts_outlive_the_backend(f):
    path = os.path.join(f.dir, "npu.so")
    with f.connect() as d:
        d.call("plugin.unload", plugin="npu")
        shutil.copy(os.path.join(PLUGINS, "npu.so"), path)
        d.call("plugin.load", path=path)
        x = put(d, [1, 2])
        d.op("aten::relu", x)
        before = counts(d, "aten::relu")
        d.call("tensor.release", all=True)
        d.call("plugin.reload", plugin="npu")
        equal(change(d, lambda: d.op("aten::relu", put(d, [1, 2])), "aten::relu"), (1, 16), "after a reload")
        d.call("tensor.release", all=True)
        equal(d.call("plugin.unload", plugin="npu")["unmapped"], True)
        equal(counts(d, "aten::relu"), (before[0] + 1, before[1] + 16), "after the unload")
        equal("npu" in [r["key"] for r in d.call("server.status")["fallbacks"]], True, "server.status has it, too")
        d.call("plugin.load", path="npu")


main(setup, teardown)
