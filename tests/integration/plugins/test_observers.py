"""test_observers.py -- observers: what they are told, by a profiler that writes a Chrome trace."""

import json
import os
import threading

from harness import BUILD, contains, equal, less, main, raises
from daemon import TestDaemon

X = {"data": [[1.0, 2.0, 3.0]]}


class Fixture:
    def __init__(self):
        self.daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.daemon.connect()
        self.d.call("plugin.load", path="profiler")

    def spans(self, work):
        """[(name, thread, begin, end, args)] of the calls that work() made; what is malformed fails."""
        self.d.op("profiler::clear")
        work()
        stacks, spans = {}, []
        for e in json.loads(self.d.op("profiler::trace"))["traceEvents"]:
            if e["ph"] == "M":
                continue
            stack = stacks.setdefault(e["tid"], [])
            if e["ph"] == "B":
                equal(e["args"]["depth"], len(stack) and e["args"]["depth"], "depth of an outermost call")
                stack.append(e)
                continue
            equal((e["ph"], bool(stack)), ("E", True), "an end without a beginning")
            begun = stack.pop()
            equal((e["name"], e["args"]["id"]), (begun["name"], begun["args"]["id"]), "nesting")
            equal(e["ts"] >= begun["ts"], True, f"duration of {e['name']}")
            spans.append((begun["name"], e["tid"], begun["ts"], e["ts"], begun["args"]))
        equal([s for s in stacks.values() if s], [], "calls that never ended")
        equal(len({s[4]["id"] for s in spans}), len(spans), "ids")
        return [s for s in spans if not s[0].startswith("profiler::cl")]


def test_names_arguments_keys_and_labels(f):
    spans = f.spans(lambda: f.d.op("aten::add.Tensor", X, {"data": [1.0, 2.0, 3.0]}, returns="data"))
    equal([s[0] for s in spans], ["aten::add.Tensor"])
    args = spans[0][4]
    equal((args["args"], args["rc"], args["depth"]), ("float32[1,3] float32[3] tag2", 0, 0))
    contains(args["label"], "session")


def test_calls_inside_calls_nest(f):
    spans = f.spans(lambda: f.d.op("aten::linear", X, X, returns="data"))
    names = [s[0] for s in spans]
    equal(names[-1], "aten::linear", "the outermost call ends last")
    equal(len(names) > 1, True, f"inner calls in {names}")
    outer = spans[-1]
    for name, thread, begin, end, args in spans[:-1]:
        equal((thread, begin >= outer[2], end <= outer[3], args["depth"] > 0), (outer[1], True, True, True), name)


def test_typed_calls_are_seen_with_their_arguments(f):
    spans = f.spans(lambda: equal(f.d.op("profiler::through", X, returns="data")["data"], [[-1, -2, -3]]))
    equal([(s[0], s[4]["args"]) for s in spans],
          [("aten::neg", "float32[1,3]"), ("profiler::through", "float32[1,3]")])


def test_failures_say_their_code(f):
    spans = f.spans(lambda: raises(lambda: f.d.op("aten::mm", X, X), "RuntimeError", "shapes"))
    equal([(s[0], s[4]["rc"]) for s in spans], [("aten::mm", -1)])


def test_programs_and_threads(f):
    program = {"inputs": {"x": X}, "outputs": ["b"], "return": "data", "steps": [
        {"op": "aten::neg", "args": [{"ref": "x"}], "as": ["a"]},
        {"op": "aten::add.Tensor", "args": [{"ref": "a"}, {"ref": "x"}], "as": ["b"]}]}

    def work():
        def client():
            with f.daemon.connect() as d:
                for _ in range(50):
                    equal(d.call("program.run", **program)["outputs"][0]["data"], [[0, 0, 0]])
        threads = [threading.Thread(target=client) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    spans = f.spans(work)
    equal(sorted({s[0] for s in spans}), ["aten::add.Tensor", "aten::neg"])
    equal(len(spans), 400, "calls")


def test_several_observers_and_their_limit(f):
    f.d.call("plugin.load", path="observer")
    begun, ended = f.d.op("observer::counts", X)
    spans = f.spans(lambda: f.d.op("aten::neg", X, returns="data"))
    equal([s[0] for s in spans], ["aten::neg"])
    begun2, ended2 = f.d.op("observer::counts", X)
    equal((begun2 - begun, ended2 - ended), (4, 4), "clear, neg, trace, counts")
    limit = f.d.call("server.hello")["limits"]["observers"]
    equal(limit, 16)
    e = raises(lambda: f.d.call("plugin.load", path="many_observers"), "ResourceExhausted", "observers", "16", "17")
    contains(e.message, "many_observers")
    equal(f.d.call("plugin.unload", plugin="observer")["unmapped"], True)
    f.d.call("plugin.load", path="many_observers")
    equal(f.d.op("many_observers::states", X), 0, "a state that another observer got")
    equal(f.d.call("plugin.unload", plugin="many_observers")["unmapped"], True)


def test_observers_of_one_operator_and_of_one_key(f):
    daemon = TestDaemon("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
    with daemon.connect() as d:
        loaded = d.call("plugin.load", path="observes_some")
        contains(d.call("registry.dump")["text"], ", of aten::mm\n")
        square = {"data": [[1.0, 2.0], [3.0, 4.0]]}
        equal(d.op("aten::neg", square, returns="data")["data"], [[-1, -2], [-3, -4]])
        equal(d.call("op.call", op="observes_some::counts", **{"return": "data"})["outputs"], [0, 0, 0])
        for _ in range(3):
            equal(d.op("aten::mm", square, square, returns="data")["data"], [[7, 10], [15, 22]])
        d.op("aten::matmul", square, square, returns="data")  # calls mm
        d.op("aten::neg", {"tensor": d.op("aten::empty.memory_format", [2], device="meta")["tensor"]})
        mm, meta, wrong = d.call("op.call", op="observes_some::counts", **{"return": "data"})["outputs"]
        equal((mm, meta, wrong), (4, 2, 0), "mm; empty, by a redispatch below BackendSelect, and neg")
        cpu = [p for p in d.call("plugin.list")["plugins"] if p["plugin"] == "cpu"]
        equal(d.call("op.call", op="observes_some::last", **{"return": "data"})["outputs"],
              ["aten::mm", "cpu", cpu[0]["generation"], True])
        equal(d.call("plugin.unload", plugin="observes_some")["unmapped"], True, loaded)
    daemon.finish()


def test_a_profiler_comes_and_goes_while_others_call(f):
    stop, failures = threading.Event(), []

    def client():
        with f.daemon.connect() as d:
            while not stop.is_set():
                try:
                    equal(d.op("aten::linear", X, X, returns="data")["data"], [[14]])
                except Exception as e:
                    failures.append(e)
                    return
    threads = [threading.Thread(target=client) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for _ in range(10):
            equal(f.d.call("plugin.unload", plugin="profiler")["unmapped"], True)
            f.d.call("plugin.load", path="profiler")
    finally:
        stop.set()
        for t in threads:
            t.join()
    equal(failures, [])


def finish(f):
    equal(f.d.call("plugin.unload", plugin="profiler")["unmapped"], True, "unmapped")
    f.d.close()
    f.daemon.stop()


main(Fixture, finish)
