"""test_recompute.py -- programs that backward runs again: results and gradients are bit for bit those of the
same program without recompute, and what a session holds meanwhile is less."""

import threading

from graphs import setup, teardown
from harness import contains, equal, less, main, raises


def ref(name, **more):
    return {"ref": name, **more}


def step(op, *args, as_=("y",), **more):
    return {"op": "aten::" + op, "args": [ref(a) if isinstance(a, str) else a for a in args],
            "as": list(as_), **more}


def create(f, inputs, steps, outputs=("y",), constants=None):
    types = [{"name": i, "type": "Tensor"} if isinstance(i, str) else i for i in inputs]
    return f.d.call("program.create", inputs=types, steps=steps, outputs=list(outputs),
                    **({"constants": constants} if constants else {}))["program"]


def wrap(f, sub, inputs, recompute, outputs=("y",), **more):
    """A program whose one step runs `sub`."""
    names = [i if isinstance(i, str) else i["name"] for i in inputs]
    return create(f, inputs, [{"program": sub, "inputs": {n: ref(n) for n in names}, "as": list(outputs),
                               **({"recompute": True} if recompute else {}), **more}], outputs)


def run(f, program, inputs, **more):
    got = f.d.call("program.run", program=program, inputs=inputs, **{"return": "handle", **more})
    return [o.get("tensor") if isinstance(o, dict) else o for o in got["outputs"]]



def seed(f, n=3):
    f.d.call("session.set", seed=n)


def layer(f):
    """relu(x @ w + b) * sigmoid(x @ w + b), with dropout, twice used values and a write in place."""
    return create(f, ["x", "w", "b"], [
        step("mm", "x", "w", as_=["h"]),
        step("add_.Tensor", "h", "b", as_=["h2"]),
        step("sigmoid", "h2", as_=["s"]),
        step("relu", "h2", as_=["r"]),
        step("mul.Tensor", "r", "s", as_=["m"]),
        step("dropout", "m", 0.5, True, as_=["d"]),
        step("add.Tensor", "d", "x", as_=["y"])])


def tensors(f):
    seed(f, 7)
    made = [f.d.call("op.call", op="aten::randn", args=[s], **{"return": "handle"})["outputs"][0]["tensor"]
            for s in ([8, 8], [8, 8], [8])]
    for t in made:
        f.op("requires_grad_", t)
    return made


def gradients(f, program, leaves, names=("x", "w", "b"), times=3, **options):
    """Run `program` `times` times, each time on the output before; the output and the gradients."""
    seed(f, 11)
    x = leaves[0]
    for _ in range(times):
        values = dict(zip(names, [{"tensor": t} for t in [x] + leaves[1:]]))
        x = run(f, program, values)[0]
    loss = f.op("sum", f.op("mul.Tensor", x, x))
    held = f.d.call("session.get")["account"]
    grads = f.d.call("grad.backward", tensors=[{"tensor": loss}], inputs=[{"tensor": t} for t in leaves], **options)["grads"]
    after = f.op("rand", [2])  # the session's generator has not moved
    return [f.data(t) for t in [x, *[g["tensor"] for g in grads], after]], held, loss, grads


def test_gradients_are_bit_for_bit_the_same(f):
    sub, leaves = layer(f), tensors(f)
    plain, held, *_ = gradients(f, wrap(f, sub, ["x", "w", "b"], False), leaves)
    again, less_held, loss, _ = gradients(f, wrap(f, sub, ["x", "w", "b"], True), leaves)
    equal(again, plain)
    less(less_held["intermediates"]["bytes"], held["intermediates"]["bytes"])
    raises(lambda: f.backward(loss), "RuntimeError", "a second time")


def test_retained_and_differentiated_again(f):
    sub, leaves = layer(f), tensors(f)
    results = []
    for recompute in False, True:
        program = wrap(f, sub, ["x", "w", "b"], recompute)
        found, _, loss, grads = gradients(f, program, leaves, create_graph=True)
        total = f.op("sum", f.op("mul.Tensor", grads[0]["tensor"], grads[0]["tensor"]))
        second = f.d.call("grad.backward", tensors=[{"tensor": total}], inputs=[{"tensor": t} for t in leaves], retain_graph=True)["grads"]
        third = f.d.call("grad.backward", tensors=[{"tensor": total}], inputs=[{"tensor": t} for t in leaves])["grads"]
        results.append((found, [f.data(g["tensor"]) for g in second], [f.data(g["tensor"]) for g in third]))
    equal(results[1], results[0])


# torch.utils.checkpoint(..., use_reentrant=False) of PyTorch 1.13, with and without checkpoint, for the program of
# test_as_pytorch: the output, the gradients of x and w, that of w by the sum of the squares of x's, and torch.rand(2)
PYTORCH = [
    [[-0.0162963402, -0], [-0.24434872, -0.123116262]],
    [[-0.102446489, 0.114476472, 0.15366973], [0.0833446532, 0.0734712854, -0.125016987]],
    [[0.0358623713, -0.0609323755], [0.115019381, -0.0305979773], [-0.28375563, -0.0177779645]],
    [[-0.0384543762, 0.225023046], [-0.0535399318, -0.425964952], [0.0751745924, 0.896953702]],
    [0.980926931, 0.650158644],
]


def flat(v):
    return [x for item in v for x in flat(item)] if isinstance(v, list) else [v]


def test_as_pytorch(f):
    x, w = f.leaf([[0.5, -1, 2], [1.5, 0.25, -0.75]]), f.leaf([[1, -0.5], [0.25, 2], [-1.5, 0.75]])
    sub = create(f, ["x", "w"], [step("mm", "x", "w", as_=["h"]), step("tanh", "h", as_=["t"]),
                                 step("dropout", "t", 0.2, True, as_=["d"]), step("sigmoid", "h", as_=["s"]),
                                 step("mul.Tensor", "d", "s")])
    program = wrap(f, sub, ["x", "w"], True)
    seed(f, 5)
    y, = run(f, program, {"x": {"tensor": x}, "w": {"tensor": w}})
    first = f.of(y, "slice.Tensor", 1, 0, 1)
    wide = f.d.call("op.call", op="aten::cat", args=[[{"tensor": y}, {"tensor": first}], 1])["outputs"][0]["tensor"]
    z, = run(f, program, {"x": {"tensor": wide}, "w": {"tensor": w}})
    loss = f.op("add.Tensor", f.op("sum", f.op("mul.Tensor", z, z)), f.op("sum", y))
    gx, gw = (g["tensor"] for g in f.d.call("grad.backward", tensors=[{"tensor": loss}], inputs=[{"tensor": x}, {"tensor": w}],
                                            create_graph=True)["grads"])
    total = f.op("sum", f.op("mul.Tensor", gx, gx))
    hw, = (g["tensor"] for g in f.d.call("grad.backward", tensors=[{"tensor": total}], inputs=[{"tensor": w}])["grads"])
    found = [f.data(t) for t in (z, gx, gw, hw)] + [f.data(f.op("rand", [2]))]
    less(max(abs(a - b) for a, b in zip(flat(found), flat(PYTORCH))), 1e-6, "difference to PyTorch")
    equal(len(flat(found)), len(flat(PYTORCH)))


def test_nested(f):
    sub, leaves = layer(f), tensors(f)
    results = []
    for recompute in False, True:
        inner = wrap(f, sub, ["x", "w", "b"], recompute)
        two = create(f, ["x", "w", "b"], [
            {"program": inner, "inputs": {n: ref(n) for n in ("x", "w", "b")}, "as": ["a"]},
            {"program": inner, "inputs": {"x": ref("a"), "w": ref("w"), "b": ref("b")}, "as": ["c"]},
            step("mul.Tensor", "a", "c")])
        results.append(gradients(f, wrap(f, two, ["x", "w", "b"], recompute), leaves))
    equal(results[1][0], results[0][0])
    less(results[1][1]["intermediates"]["bytes"], results[0][1]["intermediates"]["bytes"])


def both(f, check):
    """check(recompute) is the same without and with recompute."""
    equal(check(True), check(False))


def one_leaf(f, steps, inputs, recompute, leaf, more=(), outputs=("y",), **values):
    """Run `steps` on the leaf and `values`; the sum of squares of the first output, and all outputs."""
    program = wrap(f, create(f, inputs, steps, outputs), inputs, recompute, outputs)
    got = run(f, program, {"x": leaf if isinstance(leaf, dict) else {"tensor": leaf}, **values})
    return f.op("sum", f.op("mul.Tensor", got[0], got[0])), got


def test_inputs_that_are_written(f):
    """A program may write to its inputs: it runs again from copies, and writes to nothing twice."""
    def batch_norm(recompute):
        x, mean, var = f.leaf([[1, 2], [3, 5], [7, 4]]), f.d.call("tensor.create", data=[0, 0])["tensor"], f.d.call("tensor.create", data=[1, 1])["tensor"]
        steps = [step("exp", "x", as_=["e"]),
                 step("native_batch_norm", "e", None, None, "m", "v", True, 0.1, 1e-5, as_=["y", "a", "b"])]
        loss, _ = one_leaf(f, steps, ["x", "m", "v"], recompute, x, m={"tensor": mean}, v={"tensor": var})
        before = f.data(mean), f.data(var)
        f.backward(loss)
        equal((f.data(mean), f.data(var)), before)
        return f.grad(x), before

    def in_place(recompute):
        x = f.leaf([1, 2, 3])
        h = f.op("mul.Tensor", x, x)
        steps = [step("sigmoid", "x", as_=["s"]), step("mul_.Tensor", "x", "s", as_=["w"]), step("sin", "x", as_=["y"])]
        loss, _ = one_leaf(f, steps, ["x"], recompute, h)
        f.backward(f.op("add.Tensor", loss, f.op("sum", h)))
        return f.grad(x), f.data(h)

    def a_column(recompute):
        """A view of a leaf's result, with strides; and the base is read after the write."""
        x = f.leaf([[1, 2], [3, 4]])
        base = f.op("neg", x)
        column = f.of(base, "select.int", 1, 0)
        steps = [step("sigmoid", "x", as_=["s"]), step("mul_.Tensor", "x", "s", as_=["w"]), step("tanh", "x", as_=["y"])]
        loss, _ = one_leaf(f, steps, ["x"], recompute, column)
        f.backward(f.op("add.Tensor", loss, f.op("sum", f.op("mul.Tensor", base, base))))
        return f.grad(x)

    both(f, batch_norm)
    both(f, in_place)
    both(f, a_column)


def test_memory_that_inputs_share(f):
    x = f.leaf([1, 2])
    steps = [step("exp_", "z", as_=["w"]), step("mul.Tensor", "x", "z")]
    h = f.op("neg", x)
    view = f.of(h, "alias")
    shared = dict(z={"tensor": view})
    one_leaf(f, steps, ["x", "z"], False, h, **shared)
    raises(lambda: one_leaf(f, steps, ["x", "z"], True, h, **shared), "RuntimeError",
           "recompute: the program writes to its input 'z', which shares memory with input 'x'")
    # nothing is written: it may be shared
    steps = [{"op": "aten::mul", "args": [ref("x"), ref("z")], "as": ["y"]}]
    untyped = [{"name": "x"}, {"name": "z"}]
    loss, _ = one_leaf(f, steps, untyped, True, x, z={"tensor": x})
    f.backward(loss)
    equal(f.grad(x), [4, 32])


def test_lists_numbers_and_generators(f):
    def lists(recompute):
        x, g = f.leaf([1, 2]), f.d.call("generator.create", seed=5)["generator"]
        inputs = [{"name": "x", "type": "Tensor[]"}, {"name": "n", "type": "float"}, {"name": "g", "type": "Generator"}]
        steps = [step("cat", "x", 0, as_=["c"]), step("mul.Tensor", "c", "n", as_=["m"]),
                 step("bernoulli.p", "c", 0.5, as_=["k"], kwargs={"generator": ref("g")}),
                 step("exp", "m", as_=["e"]), step("mul.Tensor", "e", "k")]
        program = wrap(f, create(f, inputs, steps), inputs, recompute)
        got = run(f, program, {"x": [{"tensor": x}, {"tensor": f.op("exp", x)}], "n": 0.5, "g": {"generator": g}})
        loss = f.op("sum", f.op("mul.Tensor", got[0], got[0]))
        f.backward(loss)
        after = f.d.call("op.call", op="aten::rand.generator", args=[[2]], kwargs={"generator": {"generator": g}})["outputs"][0]["tensor"]
        f.d.call("generator.release", generators=[g])
        return f.data(got[0]), f.grad(x), f.data(after)

    both(f, lists)
    x = f.leaf([1, 2])
    index = f.d.call("tensor.create", data=[1], dtype="int64")["tensor"]
    inputs = ["x", {"name": "i"}]
    program = wrap(f, create(f, inputs, [step("index.Tensor", "x", "i")]), inputs, True)
    raises(lambda: run(f, program, {"x": {"tensor": x}, "i": [None, {"tensor": index}]}), "ValueError",
           "input 'i' is a list of tensors and other values")


def test_a_list_without_a_type(f):
    """Its items are all tensors, so they can be saved."""
    def of_list(recompute):
        x = f.leaf([1, 2])
        program = wrap(f, create(f, [{"name": "xs"}], [step("cat", "xs", 0, as_=["c"]), step("exp", "c")]), [{"name": "xs"}], recompute)
        got = run(f, program, {"xs": [{"tensor": x}, {"tensor": f.op("neg", x)}]})
        f.backward(f.op("sum", got[0]))
        return f.data(got[0]), f.grad(x)

    both(f, of_list)


SQUARE = [step("exp", "x", as_=["e"]), step("mul.Tensor", "e", "e")]


def test_an_input_that_changed(f):
    x = f.leaf([1, 2])
    h = f.op("neg", x)
    loss, _ = one_leaf(f, SQUARE, ["x"], True, h)
    f.op("add_.Tensor", h, x)
    raises(lambda: f.backward(loss), "RuntimeError", "modified by an inplace operation", "[float32 [2]]",
           "its input 'x', is at version 1; expected version 0 instead")
    equal(f.grad(x), None)


def test_what_is_not_recorded_is_not_saved(f):
    x, before = f.d.call("tensor.create", data=[1, 2])["tensor"], f.history()
    one_leaf(f, SQUARE, ["x"], True, x)
    equal(f.history(), before)
    f.op("requires_grad_", x)
    program = wrap(f, create(f, ["x"], SQUARE), ["x"], True)
    got = run(f, program, {"x": {"tensor": x}}, grad_enabled=False)
    equal((f.history(), f.d.call("tensor.describe", tensor=got[0])["requires_grad"]), (before, False))
    off = wrap(f, create(f, ["x"], SQUARE), ["x"], True, grad_enabled=False)
    run(f, off, {"x": {"tensor": x}})
    equal(f.history(), before)


def test_a_leaf_that_requires_no_gradient_any_more(f):
    x, w = f.leaf([1, 2]), f.leaf([3, 4])
    steps = [step("mul.Tensor", "x", "w", as_=["m"]), step("mul.Tensor", "m", "m")]
    loss, _ = one_leaf(f, steps, ["x", "w"], True, x, w={"tensor": w})
    f.of(w, "requires_grad_", False)
    f.backward(loss)
    equal(f.grad(x), [4 * 81, 4 * 8 * 256])


def test_replaced_operators(f):
    """A reloaded operator may compute something else: backward fails.  A formula stays as it was."""
    x, c = f.leaf([1, 2]), f.d.call("tensor.create", data=[3, 4])["tensor"]
    steps = [{"op": "tutorial::scale", "args": [ref("c"), 2.0], "as": ["s"]}, step("mul.Tensor", "x", "s")]
    loss, _ = one_leaf(f, steps, ["x", "c"], True, x, c={"tensor": c})
    f.d.call("plugin.reload", plugin="autograd")
    f.backward(loss, retain_graph=True)
    equal(f.grad(x), [2 * 36, 2 * 128])
    f.d.call("plugin.reload", plugin="template")
    raises(lambda: f.backward(loss, retain_graph=True), "RuntimeError", "recompute: the kernels of tutorial::scale were replaced")
    f.d.call("plugin.unload", plugin="template")
    raises(lambda: f.backward(loss, retain_graph=True), "RuntimeError", "tutorial::scale")
    equal(f.grad(x), [2 * 36, 2 * 128])


def test_the_deadline_of_backward(f):
    x = f.of(f.leaf([0.001]), "expand", [600, 600])
    steps = [step("mm", "x", "x", as_=["y0"]), *[step("mm", f"y{i}", "x", as_=[f"y{i + 1}"]) for i in range(40)],
             step("exp", "y40")]
    loss, _ = one_leaf(f, steps, ["x"], True, x)
    before = f.d.call("session.get")["account"]
    raises(lambda: f.backward(loss, deadline_ms=10), "DeadlineExceeded")
    equal(f.grad(x), None)
    equal(f.d.call("session.get")["account"]["intermediates"], before["intermediates"])


def test_a_program_that_adds_gradients(f):
    x = f.leaf([1, 2])
    steps = [step("mul.Tensor", "x", "x"), step("sum", "y", as_=["s"]), step("_backward", "s", [], as_=[])]
    raises(lambda: one_leaf(f, steps, ["x"], True, x), "RuntimeError", "recompute: the program adds gradients")
    equal(f.grad(x), None)


def test_gradients_inside(f):
    """The program computes a gradient itself, of which the outer backward computes the gradient."""
    def inside(recompute):
        x = f.leaf([1, 2])
        steps = [step("exp", "x", as_=["e"]), step("mul.Tensor", "e", "x", as_=["m"]), step("sum", "m", as_=["s"]),
                 {"op": "grad::gradients", "args": [[ref("s")], [ref("x")]], "kwargs": {"create_graph": True}, "as": ["g"]},
                 step("mul.Tensor", {"ref": "g", "index": 0}, "m")]
        loss, _ = one_leaf(f, steps, ["x"], recompute, x)
        f.backward(loss)
        return f.grad(x)

    both(f, inside)


def test_leaves_that_get_other_elements(f):
    """Backward reads the new elements of a leaf (aten::set_data) where it reads the leaf, as without recompute."""
    def other(recompute):
        x, w = f.leaf([1, 2]), f.leaf([3, 4])
        steps = [step("mul.Tensor", "x", "w", as_=["m"]), step("exp", "m", as_=["e"]), step("mul.Tensor", "e", "w")]
        loss, _ = one_leaf(f, steps, ["x", "w"], recompute, x, w={"tensor": w})
        f.d.call("op.call", op="aten::set_data", args=[{"tensor": w}, {"data": [0.5, 0.25]}])
        f.backward(loss)
        return f.grad(x), f.grad(w)

    both(f, other)


def test_connections_at_once(f):
    """Each backward runs the programs again for itself; of those that release the graph, one succeeds."""
    sub, leaves = layer(f), tensors(f)
    inner = wrap(f, sub, ["x", "w", "b"], True)
    _, _, loss, grads = gradients(f, wrap(f, inner, ["x", "w", "b"], True), leaves, retain_graph=True)
    want, key = [f.data(g["tensor"]) for g in grads], f.d.call("server.hello")["session_key"]
    failures, released = [], []

    def run_backward(retain, rounds):
        try:
            with f.daemon.connect() as d:
                d.call("server.hello", session_key=key)
                for _ in range(rounds):
                    try:
                        got = d.call("grad.backward", tensors=[{"tensor": loss}], inputs=[{"tensor": t} for t in leaves], retain_graph=retain)["grads"]
                        equal([d.call("tensor.read", tensor=g["tensor"])["data"] for g in got], want)
                        released.append(retain)
                    except Exception as e:
                        if retain or "a second time" not in str(e):
                            raise
        except BaseException as e:  # noqa: B036
            failures.append(e)

    for retain, rounds in (True, 20), (False, 1):
        released.clear()
        threads = [threading.Thread(target=run_backward, args=(retain, rounds)) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(failures, [])
        less(4 * rounds - 1 if retain else 0, len(released), "backwards that succeeded")


def test_how_it_is_shown(f):
    sub = create(f, ["x"], SQUARE)
    plain, again = (f.d.call("program.describe", program=wrap(f, sub, ["x"], r)) for r in (False, True))
    equal(("flags" in plain["steps"][0], again["steps"][0]["flags"]), (False, ["recompute"]))
    text, dot = (f.d.call("program.describe", program=wrap(f, sub, ["x"], True), format=form)["text"] for form in ("text", "dot"))
    contains(text, "y = program of 2 steps(x)  # recompute")
    contains(dot, 'label="SUB recompute"')
    equal(plain["hash"] == again["hash"], False)
    raises(lambda: create(f, ["x"], [{**SQUARE[0], "recompute": True}]), "InvalidParams", "recompute")


main(setup, teardown)
