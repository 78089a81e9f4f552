"""test_capture.py -- programs made of the calls of a connection (trace.start, trace.stop), or of a program
(program.capture): their steps, and that running them gives eager's bits."""

import os
import shutil
import tempfile
import time

from graphs import Graphs, teardown
from daemon import TestDaemon
from harness import BUILD, contains, equal, main, raises, wait_until
import dispatchd

PLUGINS = os.path.join(BUILD, "tests", "plugins")


def setup():
    daemon = TestDaemon("--plugin-path", PLUGINS)
    return Graphs(daemon, daemon.connect())


def t(handle):
    return {"tensor": handle}


def tensor(f, data, **more):
    return f.d.call("tensor.create", data=data, **more)["tensor"]


def text(f, program):
    """The lines of a program."""
    lines = f.d.call("program.describe", program=program, format="text")["text"].splitlines()
    return [line for line in lines if not line.startswith("  guard ")]


def ops(f, program):
    return [s.get("name") for s in f.d.call("program.describe", program=program).get("steps", [])]


def start(f, inputs=(), **more):
    discard(f)
    f.d.call("trace.start", inputs={f"i{k}": t(x) for k, x in enumerate(inputs)}, **more)


def discard(f):
    """End a recording that a test which failed left open."""
    try:
        f.d.call("trace.stop", discard=True)
    except dispatchd.Error:
        pass


def stop(f, *outputs):
    return f.d.call("trace.stop", outputs={f"o{k}": t(x) for k, x in enumerate(outputs)})["program"]


def values(f, program, *inputs):
    """What a run gives: for each output its data, or a list of them."""
    given = {f"i{k}": t(x) for k, x in enumerate(inputs)}
    got = f.d.call("program.run", program=program, inputs=given, **{"return": "data"})["outputs"]
    return [[x["data"] for x in o] if isinstance(o, list) else o["data"] for o in got]


def create(f, steps, outputs, inputs=("i0",)):
    return f.d.call("program.create", inputs=[{"name": n} for n in inputs], steps=steps, outputs=list(outputs))["program"]


def capture(f, program, *inputs, **more):
    discard(f)
    return f.d.call("program.capture", program=program, inputs={f"i{k}": t(x) for k, x in enumerate(inputs)}, **more)["program"]


def step(op, *args, as_=("y",), **more):
    return {"op": "aten::" + op, "args": [{"ref": a} if isinstance(a, str) else a for a in args], "as": list(as_), **more}


def seed(f, n=7):
    f.d.call("session.set", seed=n)


# -- what is recorded --

def test_order_numbers_and_names(f):
    x, y = tensor(f, [1.0, -2.0]), tensor(f, [[3.0], [4.0]])
    start(f, [x, y])
    a = f.of(x, "mul", 2.5)
    b = f.op("add", a, y)
    c = f.of(b, "sub", 1)
    d = f.of(c, "silu")
    p = stop(f, d)
    equal(ops(f, p), ["aten::mul.Scalar", "aten::add.Tensor", "aten::sub.Scalar", "aten::silu"])
    contains(text(f, p)[1], "aten::mul.Scalar(i0, 2.5)")
    equal(values(f, p, x, y), [f.data(d)], "the program, and the calls")
    equal(values(f, p, tensor(f, [5.0, 6.0]), y)[0] == f.data(d), False, "other inputs give other results")


def test_writes_in_place_and_views(f):
    def calls(x):
        row = f.of(x, "select.int", 0, 1)
        f.of(row, "mul_", 3.0)
        turned = f.of(x, "t")
        f.of(turned, "add_", 1.0)
        parts = f.d.call("op.call", op="aten::chunk", args=[t(x), 2])["outputs"]
        last = (parts[0] if isinstance(parts[0], list) else parts)[1]["tensor"]
        return f.op("add", last, row)
    x, other = tensor(f, [[1.0, 2.0], [3.0, 4.0]]), tensor(f, [[1.0, 2.0], [3.0, 4.0]])
    start(f, [x])
    p = stop(f, calls(x))
    equal(values(f, p, other), [f.data(calls(tensor(f, [[1.0, 2.0], [3.0, 4.0]])))])
    equal(f.data(other), f.data(x), "what was written to the input")
    about = f.d.call("program.describe", program=p)
    equal(about["inputs"][0]["written"], True)


def opened(f, number):
    """A tensor, and another one of the same storage that no recorded call has made."""
    x = tensor(f, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f.d.call("tensor.name", tensor=x, name=f"geometry{number}")
    y = f.d.call("tensor.open", name=f"geometry{number}")["tensor"]
    f.d.call("tensor.unlink", name=f"geometry{number}")
    return x, y


def test_changed_geometry(f):
    """A tensor is recognised by its storage with the geometry that t_ has given a value, not with the old one."""
    def calls(x, y):
        f.of(x, "t_")
        doubled = f.of(y, "mul", 2.0)
        f.of(x, "t_")
        f.of(x, "t_")
        return [doubled, f.of(x, "add", 1.0), f.of(y, "exp")]
    x, y = opened(f, 0)
    start(f, [x])
    p = stop(f, *calls(x, y))
    other = tensor(f, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    equal(values(f, p, other), [f.data(o) for o in calls(*opened(f, 1))])
    equal(f.data(other), f.data(x), "what t_ has made of the input")


def test_an_output_that_no_call_has_made(f):
    """A view that another session handle names, of an input that the recording knows."""
    x = tensor(f, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    f.d.call("tensor.name", tensor=f.of(x, "t"), name="turned")
    y = f.d.call("tensor.open", name="turned")["tensor"]
    f.d.call("tensor.unlink", name="turned")
    start(f, [x])
    p = stop(f, y)
    equal(ops(f, p), ["aten::as_strided"])
    equal(values(f, p, tensor(f, [[7.0, 8.0, 9.0], [1.0, 2.0, 3.0]])), [[[7, 1], [8, 2], [9, 3]]])


def test_outputs_that_share_memory_with_constants(f):
    """A run copies them, and so does the captured program; also those of a program that the program runs."""
    def make(inputs, steps, outputs, **constants):
        return f.d.call("program.create", inputs=inputs, steps=steps, outputs=outputs, constants=constants)["program"]
    k = {"data": [[1.0, 2.0], [3.0, 4.0]]}
    inner = make([], [step("t", "k", as_=["u"])], ["u", "k"], k=k)
    p = make([{"name": "i0"}], [step("select.int", "k", 0, 1, as_=["v"]), {"program": inner, "inputs": {}, "as": ["u", "w"]},
                                step("add.Tensor", "u", "i0"), step("neg_", "w", as_=["w2"])], ["v", "y", "w2", "k"], k=k)
    x = tensor(f, [10.0, 20.0])
    want = [[3, 4], [[11, 23], [12, 24]], [[-1, -2], [-3, -4]], [[1, 2], [3, 4]]]
    equal(values(f, p, x), want)
    for fakes in (True, False):
        q = capture(f, p, x, fakes=fakes)
        for _ in range(2):
            equal(values(f, q, x), want)


def test_constants_without_names_and_in_lists(f):
    k = tensor(f, [5.0, 6.0])
    steps = [step("add.Tensor", "i0", 10, as_=["a"]), step("add.Tensor", "a", 11, as_=["b"]),
             step("mul.Tensor", "b", {"data": [1.0, 2.0]}, as_=["c"]), step("mul.Tensor", "c", {"data": [3.0, 4.0]}, as_=["d"]),
             step("stack", "ks", as_=["e"])]
    p = f.d.call("program.create", inputs=[{"name": "i0"}], steps=steps, outputs=["d", "e", "k", "again"],
                 constants={"ks": [t(k), t(k), {"data": [7.0, 8.0]}], "k": t(k), "again": t(k)})["program"]
    x = tensor(f, [1.0, 2.0])
    for fakes in (True, False):
        equal(values(f, capture(f, p, x, fakes=fakes), x), values(f, p, x))
    equal(values(f, p, x), [[66, 184], [[5, 6], [5, 6], [7, 8]], [5, 6], [5, 6]])


def test_composite_operators_with_out(f):
    """Their results are copied to the out= argument by a call, which the program has, too."""
    for op in "square", "log_sigmoid", "logsumexp", "nuclear_norm", "std":
        more = {"logsumexp": [[0]], "nuclear_norm": [], "std": [[0]]}.get(op, [])
        name = {"std": "std.out", "logsumexp": "logsumexp.out"}.get(op, op + ".out")
        p = create(f, [{"op": "aten::" + name, "args": [{"ref": "i0"}, *more], "kwargs": {"out": {"ref": "i1"}}, "as": ["y"]}], ["y"], ["i0", "i1"])
        x = tensor(f, [[1.0, 2.0], [3.0, 5.0]])
        for fakes in (True, False):
            outs = [f.op("mul", f.of(x, op, *more), tensor(f, 0.0)) for _ in range(3)]
            q = capture(f, p, x, outs[0], fakes=fakes)
            values(f, p, x, outs[1])
            values(f, q, x, outs[2])
            equal(f.data(outs[2]), f.data(outs[1]), f"{name} {fakes}")


def test_a_storage_that_set_has_taken_away(f):
    x, y = opened(f, 2)
    start(f, [x])
    f.op("set_.source_Tensor", x, f.of(x, "mul", 3.0))
    raises(lambda: f.of(y, "exp"), "ValueError", "argument 'self'", "[2, 3]", "does not know")
    last = f.of(x, "exp")
    equal(values(f, stop(f, last), tensor(f, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])), [f.data(last)])


def test_lists(f):
    x = tensor(f, [1.0, 2.0, 3.0])
    f.d.call("trace.start", inputs={"l": [t(x), t(tensor(f, [4.0]))]})
    z = f.d.call("op.call", op="aten::split", args=[t(x), 2])["outputs"]
    parts = [v["tensor"] for v in (z[0] if isinstance(z[0], list) else z)]
    c = f.d.call("op.call", op="aten::cat", args=[[t(parts[1]), t(parts[0])]])["outputs"][0]["tensor"]
    p = f.d.call("trace.stop", outputs={"c": t(c), "parts": [t(v) for v in parts]})["program"]
    got = f.d.call("program.run", program=p, inputs={"l": [t(tensor(f, [7.0, 8.0, 9.0])), t(tensor(f, [5.0]))]}, **{"return": "data"})["outputs"]
    equal([got[0]["data"], [v["data"] for v in got[1]]], [[9, 7, 8], [[7, 8], [9]]])


def test_calls_keep_their_overloads(f):
    """What the values are when a program runs does not choose other overloads than those that were called."""
    given = {"inputs": [{"name": "l"}], "outputs": ["a", "b", "c"]}  # no type: an item of l may be anything
    steps = [step("clamp_", {"ref": "l", "index": 0}, 2.0, as_=["a"]), step("view", {"ref": "l", "index": 1}, [2, 1], as_=["b"]),
             step("special_chebyshev_polynomial_t.n_scalar", {"ref": "l", "index": 1}, 2, as_=["c"])]
    p = f.d.call("program.create", steps=steps, **given)["program"]
    inputs = {"l": [t(tensor(f, [1.0, 3.0])), t(tensor(f, [0.5, 4.0]))]}
    for whole in (False, True):
        q = f.d.call("program.capture", program=p, inputs=inputs, whole=whole)["program"]
        equal([op for op in ops(f, q) if op], ["aten::clamp_", "aten::view", "aten::special_chebyshev_polynomial_t" + ".n_scalar" * whole])
        for program in (q, f.d.call("program.pass", program=q, passes=["functionalize", "common"])["program"]):
            got = f.d.call("program.run", program=program, inputs=inputs, **{"return": "data"})["outputs"]
            equal([v["data"] for v in got], [[2, 3], [[0.5], [4]], [-0.5, 31]])


def test_random_operators_and_generators(f):
    x = tensor(f, [1.0] * 64)
    seed(f)
    start(f, [x])
    d = f.of(x, "dropout", 0.5, True)
    r = f.of(d, "rand_like")
    p = stop(f, d, r)
    seed(f)
    equal(values(f, p, x), [f.data(d), f.data(r)], "after the same seed")
    g = f.d.call("generator.create", seed=3)["generator"]
    f.d.call("trace.start", inputs={"x": t(x), "g": {"generator": g}})
    drawn = {"op": "aten::bernoulli", "args": [t(x), 0.5], "kwargs": {"generator": {"generator": g}}}
    b = f.d.call("op.call", **drawn)["outputs"][0]["tensor"]
    p = stop(f, b)
    g2 = f.d.call("generator.create", seed=3)["generator"]
    got = f.d.call("program.run", program=p, inputs={"x": t(x), "g": {"generator": g2}}, **{"return": "data"})["outputs"]
    equal(got[0]["data"], f.data(b), "with another generator of the same seed")
    start(f, [x])
    raises(lambda: f.d.call("op.call", **drawn), "ValueError", "aten::bernoulli", "generator that is no input")
    f.d.call("trace.stop", discard=True)
    f.d.call("generator.release", generators=[g, g2])


def test_whole_composites(f):
    x = tensor(f, [[1.0, -2.0]])
    start(f, [x], whole=True)
    p = stop(f, f.of(f.of(x, "dropout", 0.5, False), "relu"))
    equal(ops(f, p), ["aten::dropout", "aten::relu"])
    start(f, [x], whole=True)
    y = f.d.call("op.call", op="aten::softmax", args=[t(x), -1])["outputs"][0]["tensor"]
    equal(ops(f, stop(f, y))[0].startswith("aten::softmax"), True)
    start(f, [x])
    y = f.d.call("op.call", op="aten::softmax", args=[t(x), -1])["outputs"][0]["tensor"]
    equal(ops(f, stop(f, y)), ["aten::_softmax"])


# -- numbers --

def test_item_by_name(f):
    x = tensor(f, [4.0])
    start(f, [x])
    raises(lambda: f.d.call("op.call", op="aten::item", args=[t(x)]), "NotImplementedError", "aten::_local_scalar_dense",
           "numbers=true")
    equal(f.d.call("trace.stop", discard=True)["steps"], 0)
    p = create(f, [step("item", "i0", as_=["n"]), step("mul.Scalar", "i0", "n")], ["y"])
    for fakes in (True, False):
        raises(lambda: capture(f, p, x, fakes=fakes), "NotImplementedError", "aten::_local_scalar_dense", "numbers=true")
    raises(lambda: capture(f, p, x, fakes=True, numbers=True), "NotImplementedError", "aten::_local_scalar_dense")


def test_a_number_that_differs_is_an_error(f):
    x = tensor(f, [4.0])
    p = create(f, [step("item", "i0", as_=["n"]), step("mul.Scalar", "i0", "n")], ["y"])
    q = capture(f, p, x, fakes=False, numbers=True)
    contains("\n".join(text(f, q)), "expect")
    equal(values(f, q, x), [[16]])
    raises(lambda: values(f, q, tensor(f, [5.0])), "ValueError", "captured where this number was 4, but it is 5")


# -- errors --

def test_undeclared_tensors(f):
    x, other = tensor(f, [1.0]), tensor(f, [2.0, 3.0])
    start(f, [x])
    raises(lambda: f.op("add", x, other), "ValueError", "aten::add.Tensor: argument 'other' is a float32 tensor of shape [2]",
           "no input, no constant and no result")
    y = f.op("add", x, x)  # the recording goes on
    raises(lambda: stop(f, other), "ValueError", "output 'o0' is a float32 tensor of shape [2]")
    equal(ops(f, stop(f, y)), ["aten::add.Tensor"])
    f.d.call("trace.start", inputs={"i0": t(x)}, constants={"k": other})
    y = f.op("add", x, other)
    p = stop(f, y)
    contains(text(f, p)[1], "constant k")
    equal(values(f, p, x), [[3, 4]])
    raises(lambda: f.d.call("trace.start", inputs={"a": t(x), "b": t(x)}), "AlreadyExists",
           "'b' is a tensor that the capture knows")
    raises(lambda: f.d.call("trace.stop", outputs={}), "RuntimeError", "trace.start begins")


def test_failing_calls_are_not_in_it(f):
    x = tensor(f, [[1.0, 2.0]])
    start(f, [x])
    y = f.of(x, "neg")
    raises(lambda: f.op("mm", x, x), "RuntimeError")
    raises(lambda: f.of(x, "squeeze", 7), "IndexError")
    z = f.of(y, "abs")
    equal(ops(f, stop(f, z)), ["aten::neg", "aten::abs"])


def test_a_second_start_and_another_connection(f):
    x = tensor(f, [1.0])
    start(f, [x])
    raises(lambda: f.d.call("trace.start"), "RuntimeError", "records its calls already")
    p = create(f, [step("relu", "i0")], ["y"])
    raises(lambda: f.d.call("program.capture", program=p, inputs={"i0": t(x)}), "RuntimeError", "while a capture records")
    with f.daemon.connect() as other:
        other.call("server.hello", session_key=f.d.call("server.hello")["session_key"])
        raises(lambda: other.call("trace.stop", outputs={}), "RuntimeError", "this connection records no calls")
        other.call("op.call", op="aten::neg", args=[t(x)])
    equal(f.d.call("trace.stop", discard=True)["steps"], 0, "steps: the other connection's calls are not recorded")


def test_a_client_leaves(f):
    before = f.d.call("server.status")["live_tensors"]
    with f.daemon.connect() as d:
        x = d.call("tensor.create", data=[1.0, 2.0])["tensor"]
        k = d.call("tensor.create", data=[3.0])["tensor"]
        d.call("trace.start", inputs={"x": t(x)}, constants={"k": k})
        d.call("op.call", op="aten::add", args=[t(x), t(k)])
    wait_until(lambda: f.d.call("server.status")["live_tensors"] == before, "the client's tensors are gone")


def test_an_operator_with_another_schema(f):
    """The call was recorded with a number; now the operator takes a string there."""
    x, folder = tensor(f, [1.0]), tempfile.mkdtemp(prefix="dispatchd-test-")
    path = os.path.join(folder, "rescaled.so")

    def put(name):
        shutil.copy(os.path.join(PLUGINS, name + ".so"), path + ".new")
        os.rename(path + ".new", path)
    try:
        put("rescaled")
        f.d.call("plugin.load", path=path)
        start(f, [x])
        y = f.d.call("op.call", op="rescaled::scale", args=[t(x), 2.0])["outputs"][0]["tensor"]
        p = create(f, [{"op": "rescaled::scale", "args": [{"ref": "i0"}, 2.0], "as": ["y"]}], ["y"])
        put("rescaled_next")
        f.d.call("plugin.reload", plugin="rescaled")
        for name in ("inline", "dead", "common", "fold", "functionalize"):
            raises(lambda: f.d.call("program.pass", program=p, passes=[name]), "RuntimeError", "step 0: rescaled::scale",
                   "its schema has changed since the program was made")
        raises(lambda: stop(f, y), "TypeError", "step 0: rescaled::scale", "schema has changed", "by")
        f.d.call("plugin.unload", plugin="rescaled")
        raises(lambda: stop(f, y), "NotFound", "step 0", "rescaled::scale")
        equal(f.d.call("trace.stop", discard=True)["steps"], 1, "steps of the recording, which went on")
    finally:
        shutil.rmtree(folder)


def test_limits(f):
    """256 calls that each give 4,096 tensors are more values than a capture has."""
    x, n = tensor(f, [0.0] * 4096), 256
    p = create(f, [step("unbind.int", "i0", 0, as_=[f"l{k}"]) for k in range(n)], [f"l{n - 1}"])
    limit = f.d.call("server.hello")["limits"]["program_values"]
    error = raises(lambda: capture(f, p, x), "ResourceExhausted", f"a capture of more than {limit} values", "(program_values)")
    equal(error.data["limit"]["name"], "program_values")


# -- modes --

def test_fakes(f):
    x = tensor(f, [1.0, 2.0])
    start(f, [x], fakes=True)
    y = f.of(f.of(x, "exp"), "mul", 2)
    raises(lambda: f.data(y), "NotImplementedError", "has no memory")
    p = stop(f, y)
    equal(values(f, p, tensor(f, [0.0, 0.0])), [[2, 2]])
    program = create(f, [step("nonzero", "i0")], ["y"])
    raises(lambda: capture(f, program, x), "NotImplementedError", "aten::nonzero",
           "; without fakes the capture computes with the inputs themselves")
    capture(f, program, x, fakes=False)


def test_steps_over_fakes_are_those_over_reals(f):
    p = create(f, [step("linear", "i0", "i1", as_=["h"]), step("add_", "h", 1, as_=["h2"]),
                   step("layer_norm", "h2", [3], as_=["n"]), step("dropout", "n", 0.5, True, as_=["d"]), step("var", "d")], ["y"], ["i0", "i1"])
    x, w = tensor(f, [[1.0, 2.0], [3.0, 4.0]]), tensor(f, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    equal(text(f, capture(f, p, x, w)), text(f, capture(f, p, x, w, fakes=False)))


def test_no_grad_and_backward_inside(f):
    x, w = tensor(f, [[1.0, 2.0]]), f.leaf([[3.0], [4.0]])
    p = create(f, [step("mm", "i0", "i1", as_=["h"]), step("sum", "h", as_=["l"]),
                   {"op": "grad::gradients", "args": [[{"ref": "l"}], [{"ref": "i1"}]], "as": ["g"]}], ["l", "g"], ["i0", "i1"])
    for fakes in (True, False):
        q = capture(f, p, x, w, fakes=fakes)
        equal("grad::gradients" in ops(f, q), False, "a call of the engine in the program")
        equal(values(f, q, x, w), [11, [[[1], [2]]]])
    raises(lambda: capture(f, p, x, w, grad_enabled=False), "RuntimeError")
    start(f, [x, w], whole=True)
    f.d.call("op.call", op="aten::mm", args=[t(x), t(w)], grad_enabled=False)
    y = f.op("mm", x, w)
    q = stop(f, y)
    equal([s.get("grad_enabled") for s in f.d.call("program.describe", program=q)["steps"]], [False, None])


def test_autocast(f):
    x = tensor(f, [[1.0, 2.0], [3.0, 4.0]])
    p = create(f, [step("mm", "i0", "i0")], ["y"])
    q = capture(f, p, x, autocast={"device": "cpu", "dtype": "bfloat16", "enabled": True})
    equal(ops(f, q).count("aten::mm"), 1)
    contains(" ".join(ops(f, q)), "aten::_to_copy")
    got = f.d.call("program.run", program=q, inputs={"i0": t(x)}, **{"return": "data"})["outputs"][0]
    equal((got["dtype"], got["data"]), ("bfloat16", [[7, 10], [15, 22]]))


def test_recompute_inside(f):
    inner = create(f, [step("mul.Tensor", "i0", "i0", as_=["h"]), step("sigmoid", "h")], ["y"])
    p = f.d.call("program.create", inputs=[{"name": "i0"}], outputs=["l", "g"], steps=[
        {"program": inner, "inputs": {"i0": {"ref": "i0"}}, "as": ["y"], "recompute": True}, step("sum", "y", as_=["l"]),
        {"op": "grad::gradients", "args": [[{"ref": "l"}], [{"ref": "i0"}]], "as": ["g"]}])["program"]
    x = f.leaf([1.0, 2.0])
    q = capture(f, p, x)
    equal(ops(f, q).count("aten::sigmoid"), 2, "sigmoid runs again in backward")
    equal(values(f, q, x), values(f, p, x))


# -- how calls come --

def test_notifications_and_batches(f):
    x = tensor(f, [1.0, -2.0])
    start(f, [x])
    f.d.notify("op.call", op="aten::neg", args=[t(x)], into=-1)
    f.d.notify("op.call", op="aten::relu", args=[t(-1)], into=-2)
    equal(f.data(-2), [0, 2])
    p = stop(f, -2)
    equal(ops(f, p), ["aten::neg", "aten::relu"])
    equal(values(f, p, tensor(f, [-3.0, 4.0])), [[3, 0]])
    start(f, [x])
    f.d.send_message([{"jsonrpc": "2.0", "id": f"b{into}", "method": "op.call",
                       "params": {"op": "aten::" + op, "args": [t(h)], "into": into}}
                      for op, h, into in (("neg", x, -3), ("mm", x, -4), ("relu", -3, -5))])
    f.d.receive_message()
    equal(ops(f, stop(f, -5)), ["aten::neg", "aten::relu"], "a batch whose second call fails")


def test_a_list_of_lists_as_an_input(f):
    x = tensor(f, [1.0, -2.0])
    discard(f)
    for nested in ([[t(x)]], [3, [1, t(x)]]):
        raises(lambda: f.d.call("trace.start", inputs={"xs": nested}), "TypeError", "input 'xs'",
               f"item {len(nested) - 1} is a list with tensors")
    raises(lambda: f.d.call("trace.stop"), "RuntimeError", "records no calls")


def test_a_recording_within_a_batch(f):
    """Requests of a batch are recorded from its trace.start on, and go on to be after a trace.stop that failed."""
    x = tensor(f, [1.0, -2.0])
    discard(f)

    def request(method, **params):
        return {"jsonrpc": "2.0", "id": method, "method": method, "params": params}

    f.d.send_message([request("trace.start", inputs={"i0": t(x)}),
                      request("op.call", op="aten::neg", args=[t(x)], into=-6),
                      request("trace.stop", outputs={"o0": {"data": [1.0]}}),
                      request("op.call", op="aten::relu", args=[t(-6)], into=-7),
                      request("trace.stop", outputs={"o0": t(-7)}),
                      request("op.call", op="aten::exp", args=[t(-7)], into=-8)])
    answers = f.d.receive_message()
    contains(answers[2]["error"]["message"], "output 'o0' is a float32 tensor of shape [1] that the capture does not know")
    contains(answers[2]["error"]["message"], "begin with it as an input or a constant")
    p = answers[4]["result"]["program"]
    equal(ops(f, p), ["aten::neg", "aten::relu"])
    equal(values(f, p, tensor(f, [-3.0, 4.0])), [[3, 0]])


def test_cancel(f):
    f.d.call("plugin.load", path="sleeps")
    x = tensor(f, [1.0])
    p = create(f, [{"op": "sleeps::sleep", "args": [{"ref": "i0"}, 20], "as": [f"y{k}"]} for k in range(500)], ["y499"])
    discard(f)
    id_ = f.d.send("program.capture", program=p, inputs={"i0": t(x)}, fakes=False)
    time.sleep(0.1)
    f.d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
    raises(f.d.receive, "Cancelled")
    f.d.call("program.release", program=p)
    f.d.call("plugin.unload", plugin="sleeps")


def test_a_deadline(f):
    n = 5000
    p = create(f, [step("neg", "i0", as_=["v0"])] + [step("neg", f"v{k}", as_=[f"v{k + 1}"]) for k in range(n)], [f"v{n}"])
    x = tensor(f, [1.0])
    raises(lambda: capture(f, p, x, deadline_ms=0), "DeadlineExceeded")
    raises(lambda: capture(f, p, x, deadline_ms=1, fakes=False), "DeadlineExceeded")


def test_ten_thousand_steps(f):
    n = 10000
    p = create(f, [step("neg", "i0" if k == 0 else f"v{k - 1}", as_=[f"v{k}"]) for k in range(n)], [f"v{n - 1}"])
    x = tensor(f, [3.0])
    q = capture(f, p, x)
    equal(len(ops(f, q)), n)
    equal(values(f, q, x), [[3]])


def test_plugin_capture_is_named_where_it_is_missing(f):
    x = tensor(f, [1.0])
    p = create(f, [step("exp", "i0")], ["y"])
    d, inputs = f.d, {"i0": t(x)}
    discard(f)
    d.call("plugin.unload", plugin="capture")
    try:
        for whole in False, True:
            raises(lambda: d.call("trace.start", inputs=inputs, whole=whole), "NotFound", "a capture of calls needs plugin 'capture'",
                   "plugin.load loads it")
            raises(lambda: d.call("program.capture", program=p, inputs=inputs, whole=whole), "NotFound", "needs plugin 'capture'")
        raises(lambda: d.call("trace.stop"), "RuntimeError", "records no calls")
        for method in "program.grad", "program.jvp":
            raises(lambda: d.call(method, program=p, inputs=inputs, wrt=["i0"]), "NotFound", "needs plugin 'capture'")
        d.call("plugin.unload", plugin="autograd")
        raises(lambda: d.call("program.grad", program=p, inputs=inputs, wrt=["i0"]), "NotFound", "a gradient needs plugin 'autograd'")
    finally:
        loaded = [e["plugin"] for e in d.call("plugin.list")["plugins"]]
        for name in ("autograd", "capture"):
            if name not in loaded:
                d.call("plugin.load", path=os.path.join(BUILD, "plugins", name + ".so"))
    equal(d.call("program.grad", program=p, inputs=inputs, wrt=["i0"])["saved"], 1)


def test_a_trace_is_charged_to_the_session(f):
    with TestDaemon("--session-bytes", "3000000") as small, small.connect() as d:
        x = d.call("tensor.create", data=[1.0])["tensor"]
        d.call("trace.start", inputs={"x": {"tensor": x}})
        steps = [{"op": "aten::neg", "args": [{"ref": "x"}], "as": [f"y{i}"]} for i in range(5000)]
        run = lambda: d.call("program.run", steps=steps, outputs=[], inputs={"x": {"tensor": x}})

        def fill():
            for _ in range(100):
                run()
        raises(fill, "ResourceExhausted", "of 3000000 left")
        d.call("trace.stop", discard=True)
        equal(d.call("session.list")["sessions"][0]["account"]["intermediates"]["bytes"] < 100000, True)


main(setup, teardown)
