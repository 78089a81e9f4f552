"""test_autocast.py -- autocast: the dtypes that PyTorch's has, casts that backward runs through, the cache of casts, and
what goes wrong."""

import itertools
import json
import os

import yaml

from harness import BUILD, ROOT, equal, less, main, raises, wait_until
from daemon import TestDaemon
from on_device import Recorded

DEVICE = {"AutocastCPU": "cpu", "AutocastNamed": "npu:1"}
ON = {"enabled": True}
FLOAT16_MAX = 65504
DTYPES = ("float16", "bfloat16", "float32", "float64")
CALLED = {"aten::norm.Scalar": "aten::norm.ScalarOpt_dtype", "aten::norm.ScalarOpt_dim": "aten::norm.ScalarOpt_dim_dtype"}


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__("--plugin-path", os.path.join(BUILD, "tests", "plugins"))
        self.d = self.connect()

    def done(self):
        self.d.close()
        self.finish()


def create(d, data, dtype="float32"):
    return {"tensor": d.call("tensor.create", data=data, dtype=dtype)["tensor"]}


def dtypes_of(outputs):
    flat = [o for out in outputs for o in (out if isinstance(out, list) else [out])]
    return [o["dtype"] for o in flat if isinstance(o, dict) and "tensor" in o]


def dtype(d, op, *args, **params):
    return dtypes_of(d.call("op.call", op=op, args=list(args), **params)["outputs"])[0]


def recorded(d, line, case):
    """The recorded call with tensors of other dtypes: the params of op.call."""
    told = [{**t, "dtype": dt} for t, dt in zip(line["tensors"], case["dtypes"])]
    for t in told:
        if t["dtype"] == "float16" and "of" not in t:
            t["data"] = [x if isinstance(x, str) else max(-FLOAT16_MAX, min(x, FLOAT16_MAX)) for x in t["data"]]
    r = Recorded(d, {**line, "tensors": told}, DEVICE[case["key"]])
    autocast = {"enabled": True, "dtype": "bfloat16", "device": r.device.split(":")[0]}
    return r.made, {"op": line["op"], "args": [r.value(a) for a in line["args"]], "autocast": autocast,
                    "kwargs": {k: r.value(v) for k, v in line["kwargs"].items()}}


def outcome(d, call):
    """Dtypes of the results; None: autocast refuses the call."""
    try:
        return dtypes_of(d.call("op.call", **call)["outputs"])
    except Exception as e:
        return None if "autocast" in str(e) else str(e)


def arguments(d, call, made, dtypes):
    """Dtypes of the tensors that the operator gets, then its arguments that are dtypes, from a trace of whole operators
    below autocast; None: it is not called."""
    known = {f"t{i}": [dtype] for i, dtype in enumerate(dtypes)}  # dtypes of a tensor, or of a list of tensors
    d.call("trace.start", inputs={f"t{i}": {"tensor": t} for i, t in enumerate(made)}, whole=True)
    outcome(d, call)
    program = d.call("trace.stop", outputs={})["program"]
    steps = d.call("program.describe", program=program)["steps"]
    d.call("program.release", program=program)
    if not steps or steps[-1].get("name") != CALLED.get(call["op"], call["op"]):
        return None
    for s in steps[:-1]:
        if s["kind"] == "LIST":
            known[s["as"][0]] = [dtype for a in s["args"] for dtype in known[a["ref"]]]
        else:
            equal(s["name"], "aten::_to_copy", call["op"])
            known[s["as"][0]] = [s["args"][1]]
    flat = [x for a in steps[-1]["args"] for x in (a if isinstance(a, list) else [a])]
    tensors = [dtype for x in flat if isinstance(x, dict) and "ref" in x for dtype in known[x["ref"]]]
    return tensors + [x for x in flat if x in DTYPES]


def policies(key):
    """The operators of a key's lists."""
    with open(os.path.join(ROOT, "proto", "ops", "autocast.yaml")) as f:
        return {"aten::" + op for ops in yaml.safe_load(f)[key].values() for op in ops}


def compare(d, key):
    with open(os.path.join(ROOT, "tests", "data", "calls.jsonl")) as f:
        lines = {}
        for text in f:
            line = json.loads(text)
            lines.setdefault(line["op"], line)
    with open(os.path.join(ROOT, "tests", "data", "autocast_cases.jsonl")) as f:
        cases = [case for case in map(json.loads, f) if case["key"] == key]
    equal({case["op"] for case in cases}, policies(key), "operators that have cases")
    faults = []
    for case in cases:
        made, call = recorded(d, lines[case["op"]], case)
        got = outcome(d, call)
        taken = arguments(d, call, made, case["dtypes"])
        d.call("tensor.release", all=True)
        # npu's kernels are those of the CPU, some of which refuse the dtype that they get from autocast
        cast = key == "AutocastNamed" and "bfloat16" in (case["in"] or []) and "not implemented for 'BFloat16'" in str(got)
        if got != case.get("out", got) and not cast:
            faults.append(f"{case['op']} {case['dtypes']}: want {case['out']}, got {got}")
        if taken != case["in"] and not cast:
            faults.append(f"{case['op']} {case['dtypes']}: want the arguments {case['in']}, got {taken}, {got}")
    less(200, len(cases), "recorded cases")
    equal(faults, [])


def test_dtypes_are_those_of_pytorch(f):
    compare(f.d, "AutocastCPU")


def test_dtypes_of_a_named_backend_are_those_of_cuda(f):
    f.d.call("plugin.load", path="npu")
    compare(f.d, "AutocastNamed")
    equal(f.d.call("plugin.unload", plugin="npu")["unmapped"], True)


def test_a_named_backend_with_autocast_off_is_left_alone(f):
    """All named backends share the key AutocastNamed."""
    with f.connect() as d:
        for plugin in "npu", "far":
            d.call("plugin.load", path=plugin)
        x = create(d, [0.5, 0.25])
        there = {device: {"tensor": d.op("aten::to.device", x, device, "float16")["tensor"]} for device in ("npu:1", "far:0")}
        on_npu = {"enabled": True, "device": "npu"}
        for op, more in ("aten::norm.Scalar", []), ("aten::norm.ScalarOpt_dim", [2, [0]]), ("aten::sum", []), ("aten::exp", []):
            equal([dtype(d, op, t, *more, autocast=on_npu) for t in there.values()], ["float32", "float16"], op)
        whole = [{"tensor": d.op("aten::to.device", x, device, "float32")["tensor"]} for device in there]
        loss = lambda t: dtype(d, "aten::binary_cross_entropy", t, t, autocast=on_npu)
        raises(lambda: loss(whole[0]), "RuntimeError", "unsafe to autocast")
        equal(loss(whole[1]), "float32")
        d.call("tensor.release", all=True)
        for plugin in "npu", "far":
            equal(d.call("plugin.unload", plugin=plugin)["unmapped"], True)


def test_state_of_the_session(f):
    with f.connect() as d:
        x = create(d, [[1.0, 2.0], [3.0, 4.0]])
        equal(dtype(d, "aten::mm", x, x), "float32")
        state = d.call("session.set", autocast=ON)
        equal(state["autocast"], [{"device": "cpu", "dtype": "bfloat16", "cache": True}])
        equal("AutocastCPU" in state["exclude"], True)  # the connection's own sets stay as they are
        equal(dtype(d, "aten::mm", x, x), "bfloat16")
        equal(dtype(d, "aten::mm", x, x, autocast={"enabled": False}), "float32")
        equal(dtype(d, "aten::add.Tensor", x, x), "float32")
        d.call("session.set", autocast={"enabled": True, "dtype": "float16", "cache": False})
        equal(d.call("session.get")["autocast"], [{"device": "cpu", "dtype": "float16", "cache": False}])
        equal(dtype(d, "aten::mul.Tensor", x, x), "float32")
        equal(d.call("session.set", autocast={"enabled": False})["autocast"], [])
        equal(dtype(d, "aten::mm", x, x), "float32")
        equal(dtype(d, "aten::mm", x, x, autocast=ON), "bfloat16")
        equal(dtype(d, "aten::mm", x, x), "float32")


def step(op, args, name, **more):
    return {"op": op, "args": args, "as": [name], **more}


def run(d, steps, outputs, inputs, **params):
    return d.call("program.run", steps=steps, outputs=outputs, inputs=inputs, **params)["outputs"]


def test_ranges_of_steps(f):
    with f.connect() as d:
        x = create(d, [[1.0, 2.0], [3.0, 4.0]])
        ref = {"ref": "x"}
        steps = [step("aten::mm", [ref, ref], "a", autocast=ON), step("aten::mm", [ref, ref], "b"),
                 step("aten::mm", [ref, ref], "c", autocast={"enabled": False})]
        names = ["a", "b", "c"]
        equal([o["dtype"] for o in run(d, steps, names, {"x": x})], ["bfloat16", "float32", "float32"])
        equal([o["dtype"] for o in run(d, steps, names, {"x": x}, autocast=ON)], ["bfloat16", "bfloat16", "float32"])
        program = d.call("program.create", inputs=[{"name": "x"}], steps=steps, outputs=names)["program"]
        told = d.call("program.describe", program=program)["steps"]
        equal([s.get("autocast") for s in told], [[{"device": "cpu", "dtype": "bfloat16", "cache": True}], None, []])


def calls_of(d, op, **params):
    """Dtype of the gradient, and how often the parameter was cast."""
    w = create(d, [[1.0, 2.0], [3.0, 4.0]])
    d.op("aten::requires_grad_", w, True)
    x = create(d, [[1.0, 0.5], [0.25, 2.0]])
    a, b = {"ref": "x"}, {"ref": "w"}
    steps = [step("aten::mm", [a, b], "h"), step("aten::mm", [{"ref": "h"}, b], "y"),
             step("aten::sum", [{"ref": "y"}], "s")]
    s = run(d, steps, ["s"], {"x": x, "w": w}, **params)[0]
    graph = d.call("grad.graph", tensors=[s["tensor"]])["nodes"]
    d.call("grad.backward", tensors=[s["tensor"]])
    grad = d.call("grad.get", tensor=w)["grad"]
    return d.call("tensor.read", tensor=grad["tensor"]), sum(op in str(n.get("op")) for n in graph)


def test_a_parameter_is_cast_once_and_gets_its_gradient(f):
    with f.connect() as d:
        want, none = calls_of(d, "_to_copy")
        cached, once = calls_of(d, "_to_copy", autocast=ON)
        again, each = calls_of(d, "_to_copy", autocast={"enabled": True, "cache": False})
        equal((none, once, each), (0, 1, 2))
        for got in cached, again:
            equal((got["dtype"], got["data"]), ("float32", want["data"]))


def test_a_cast_without_history_serves_no_step_that_records(f):
    with f.connect() as d:
        w = create(d, [[1.0, 2.0], [3.0, 4.0]])
        d.op("aten::requires_grad_", w, True)
        b = {"ref": "w"}
        steps = [step("aten::mm", [b, b], "n", grad_enabled=False), step("aten::mm", [b, b], "y"),
                 step("aten::mul_.Scalar", [b, 2.0], None, grad_enabled=False), step("aten::mm", [b, b], "z")]
        n, y, z = run(d, steps, ["n", "y", "z"], {"w": w}, autocast=ON)
        equal([o["requires_grad"] for o in (n, y, z)], [False, True, True])
        equal([d.call("tensor.read", tensor=o["tensor"])["data"] for o in (y, z)],
              [[[7, 10], [15, 22]], [[28, 40], [60, 88]]])


def test_nested_programs_have_regions_of_their_own(f):
    with f.connect() as d:
        w, x = create(d, [[1.0, 2.0], [3.0, 4.0]]), create(d, [[1.0, 0.5], [0.25, 2.0]])
        d.op("aten::requires_grad_", w, True)
        a, b = {"ref": "x"}, {"ref": "w"}
        inputs = [{"name": "x"}, {"name": "w"}]
        inner = d.call("program.create", inputs=inputs, outputs=["h", "g"],
                       steps=[step("aten::mm", [a, b], "h"), step("aten::mm", [a, b], "g", autocast={"enabled": False})])["program"]

        def nest(n, **more):
            return {"program": inner, "inputs": {"x": a, "w": b}, "as": [f"h{n}", f"g{n}"], **more}
        # autocast of the run and of the two steps, the dtypes of h1 and h2, and how often w is cast; adjacent steps with
        # the same autocast are one region
        for run_, first, second, dtypes, casts in ((ON, {}, {}, ("bfloat16", "bfloat16"), 1), (None, ON, ON, ("bfloat16", "bfloat16"), 1),
                                                   (ON, {}, {"enabled": False}, ("bfloat16", "float32"), 1),
                                                   (None, {}, ON, ("float32", "bfloat16"), 1), (None, {}, {}, ("float32", "float32"), 0)):
            steps = [nest(1, **{"autocast": first} if first else {}), nest(2, **{"autocast": second} if second else {}),
                     step("aten::_to_copy", [{"ref": "h1"}], "f1", kwargs={"dtype": "float64"}),
                     step("aten::_to_copy", [{"ref": "h2"}], "f2", kwargs={"dtype": "float64"}),
                     step("aten::add.Tensor", [{"ref": "f1"}, {"ref": "f2"}], "s")]
            h1, g1, h2, g2, s = run(d, steps, ["h1", "g1", "h2", "g2", "s"], {"x": x, "w": w}, **{"autocast": run_} if run_ else {})
            equal((h1["dtype"], h2["dtype"], g1["dtype"], g2["dtype"]), (*dtypes, "float32", "float32"), f"{run_} {first} {second}")
            nodes = d.call("grad.graph", tensors=[s["tensor"]])["nodes"]
            equal(sum("_to_copy" in str(n.get("op")) for n in nodes) - 2, casts, f"casts of w, {run_} {first} {second}")
        d.call("tensor.release", all=True)
        d.call("program.release", program=inner)


def test_views_of_a_weight_follow_it(f):
    """A view is cast each time, as in PyTorch, and its gradient gets to the weight."""
    with f.connect() as d:
        w, x = create(d, [[1.0, 2.0], [3.0, 4.0]]), create(d, [[1.0, 0.0], [0.0, 1.0]])
        d.op("aten::requires_grad_", w, True)
        a, v = {"ref": "x"}, {"ref": "v"}
        steps = [step("aten::t", [{"ref": "w"}], "v"), step("aten::mm", [a, v], "y"),
                 step("aten::mul_.Scalar", [{"ref": "w"}, 2.0], None, grad_enabled=False),
                 step("aten::mm", [a, v], "z"), step("aten::add.Tensor", [{"ref": "y"}, {"ref": "z"}], "s"),
                 step("aten::sum", [{"ref": "s"}], "total")]
        y, z, total = run(d, steps, ["y", "z", "total"], {"w": w, "x": x}, autocast=ON)
        equal([d.call("tensor.read", tensor=o["tensor"])["data"] for o in (y, z)], [[[1, 3], [2, 4]], [[2, 6], [4, 8]]])
        d.call("grad.backward", tensors=[{"tensor": total["tensor"]}])
        grad = d.call("grad.get", tensor=w["tensor"])["grad"]
        equal((grad["dtype"], d.call("tensor.read", tensor=grad["tensor"])["data"]), ("float32", [[2, 2], [2, 2]]))
        d.call("tensor.release", all=True)


def sleepy(n):
    """Steps that use the weight again and again while time passes."""
    each = [[step("aten::mm", [{"ref": "w"}, {"ref": "w"}], f"y{i}"), step("sleeps::sleep", [{"ref": f"y{i}"}, 20], f"z{i}")]
            for i in range(n)]
    return [s for pair in each for s in pair]


def busy(d):
    return any(r["op"].startswith("sleeps") for r in d.call("server.status")["running"])


def test_a_cancelled_region_leaves_nothing(f):
    f.d.call("plugin.load", path="sleeps")
    with f.connect() as d:
        w = create(d, [[1.0, 2.0], [3.0, 4.0]])
        d.op("aten::requires_grad_", w, True)
        held = d.call("session.get")["account"]["tensors"]
        id_ = d.send("program.run", inputs={"w": w}, steps=sleepy(100), outputs=["z0"], autocast=ON)
        wait_until(lambda: busy(f.d), "it runs")
        d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
        raises(d.receive, "Cancelled", "cancelled while it ran")
        wait_until(lambda: not busy(f.d), "nothing runs")
        equal(d.call("session.get")["account"]["tensors"], held)
        equal(dtype(d, "aten::mm", w, w), "float32", "the next request")
        d.call("tensor.release", all=True)
    equal(f.d.call("plugin.unload", plugin="sleeps")["unmapped"], True)


def test_the_plugin_is_reloaded_inside_a_region(f):
    """A run keeps the registry with which it began, and its casts."""
    f.d.call("plugin.load", path="sleeps")
    with f.connect() as d:
        w = create(d, [[1.0, 2.0], [3.0, 4.0]])
        d.op("aten::requires_grad_", w, True)
        n = 30
        d.send("program.run", inputs={"w": w}, steps=sleepy(n), outputs=[f"y{i}" for i in range(n)], autocast=ON)
        wait_until(lambda: busy(f.d), "it runs")
        reloaded = 0
        while busy(f.d) and reloaded < 5:
            equal(f.d.call("plugin.reload", plugin="autocast")["impls"], sum(len(policies(key)) for key in DEVICE))
            reloaded += 1
        less(0, reloaded)
        outputs = d.receive()["outputs"]
        equal({o["dtype"] for o in outputs}, {"bfloat16"})
        wait_until(lambda: [p["plugin"] for p in f.d.call("plugin.list")["plugins"]].count("autocast") == 1, "old code is unmapped")
        equal({str(d.call("tensor.read", tensor=o["tensor"])["data"]) for o in outputs}, {"[[7, 10], [15, 22]]"})
        d.call("tensor.release", all=True)
    equal(f.d.call("plugin.unload", plugin="sleeps")["unmapped"], True)


def test_errors(f):
    with f.connect() as d:
        for wrong, error, *words in (({"enabled": True, "dtype": "float32"}, "ValueError", "float32"),
                                     ({"enabled": True, "device": "meta"}, "ValueError", "meta"),
                                     ({"enabled": True, "device": "tpu9"}, "RuntimeError", "tpu9"),
                                     ({"dtype": "bfloat16"}, "InvalidParams", "enabled"),
                                     ({"enabled": True, "weights": 1}, "InvalidParams", "weights")):
            before = d.call("session.get")
            raises(lambda w=wrong: d.call("session.set", autocast=w), error, *words)
            equal(d.call("session.get"), before)
            x = create(d, [[1.0]])
            raises(lambda w=wrong, x=x: d.call("op.call", op="aten::mm", args=[x, x], autocast=w), error, *words)
            equal(dtype(d, "aten::mm", x, x), "float32")
        half, whole = create(d, [1.0], "float16"), create(d, [1.0], "bfloat16")
        raises(lambda: d.call("op.call", op="aten::stack", args=[[half, whole]], autocast=ON), "RuntimeError",
               "at::autocast::prioritize", "float16")


def test_the_plugin_can_go_and_come(f):
    with f.connect() as d:
        x = create(d, [[1.0]])
        d.call("session.set", autocast=ON)
        equal(dtype(d, "aten::mm", x, x), "bfloat16")
        equal(d.call("plugin.unload", plugin="autocast")["unmapped"], True)
        equal(dtype(d, "aten::mm", x, x), "float32")
        raises(lambda: d.call("session.set", autocast=ON), "NotFound", "plugin 'autocast'")
        d.call("plugin.load", path=os.path.join(BUILD, "plugins", "autocast.so"))
        equal(dtype(d, "aten::mm", x, x), "bfloat16")


def test_operators_of_a_plugin_join_a_policy(f):
    """In every order of the loads of what defines, casts and has the device."""
    paths = {"autocast": os.path.join(BUILD, "plugins", "autocast.so"), "joins_autocast": "joins_autocast", "npu": "npu"}
    dumps = set()
    with f.connect() as d:
        d.call("plugin.unload", plugin="autocast")
        for order in itertools.permutations(paths):
            for plugin in order:
                d.call("plugin.load", path=paths[plugin])
            equal(d.call("registry.check")["violations"], [], str(order))
            dumps.add(d.call("registry.dump")["text"])
            x = create(d, [1.0])
            y = {"tensor": d.op("aten::to.device", x, "npu:1", "float32")["tensor"]}
            on_npu = {"enabled": True, "device": "npu"}
            for op, cpu, npu in ("lower", "bfloat16", "float16"), ("fp32", "float32", "float32"):
                equal((dtype(d, "joins::" + op, x, autocast=ON), dtype(d, "joins::" + op, y, autocast=on_npu),
                       dtype(d, "joins::" + op, x, autocast=on_npu)), (cpu, npu, "float32"), f"{op} {order}")
            d.call("tensor.release", all=True)
            for plugin in order[::-1]:
                equal(d.call("plugin.unload", plugin=plugin)["unmapped"], True)
        equal(len(dumps), 1, "dumps of the registry")
        d.call("plugin.load", path=paths["autocast"])


main(Fixture, Fixture.done)
