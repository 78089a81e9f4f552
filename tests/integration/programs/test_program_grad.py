"""test_program_grad.py -- programs of the gradients of a program: program.grad and program.jvp."""

import random

from harness import equal, less, main, raises
from daemon import TestDaemon

SEED = 3


def setup():
    return TestDaemon()


def ref(name):
    return {"ref": name}


def x(*shape):
    return [x(*shape[1:]) for _ in range(shape[0])] if shape else random.uniform(-1, 1)


# name: shapes of the inputs; those with a gradient; steps as (operator, arguments, name); outputs
NETS = {
    "mlp": ({"x": [4, 8], "w1": [16, 8], "b1": [16], "w2": [3, 16]}, ["w1", "b1", "w2"],
            [("linear", [ref("x"), ref("w1"), ref("b1")], "h"), ("relu", [ref("h")], "a"),
             ("linear", [ref("a"), ref("w2")], "y"), ("log_softmax", [ref("y"), 1], "l"), ("mean", [ref("l")], "loss")],
            ["loss", "y"]),
    "in place": ({"x": [4, 8], "w": [4, 8]}, ["w"],
                 [("mul", [ref("x"), ref("w")], "h"), ("add_", [ref("h"), 1], "h2"), ("select", [ref("h"), 0, 1], "s"),
                  ("mul_", [ref("s"), 3], "s2"), ("exp", [ref("h")], "e"), ("sum", [ref("e")], "loss")], ["loss", "h"]),
    "convolution": ({"x": [2, 3, 8, 8], "w": [4, 3, 3, 3], "b": [4], "g": [4], "be": [4], "rm": [4], "rv": [4]},
                    ["w", "b", "g", "be"],
                    [("conv2d", [ref("x"), ref("w"), ref("b"), 1, 1], "h"),
                     ("batch_norm", [ref("h"), ref("g"), ref("be"), ref("rm"), ref("rv"), True, 0.1, 1e-5, False], "n"),
                     ("relu_", [ref("n")], "a"), ("max_pool2d", [ref("a"), 2], "m"), ("flatten", [ref("m"), 1], "f"),
                     ("sum", [ref("f")], "loss")], ["loss"]),
    "attention": ({"q": [2, 4, 8], "k": [2, 4, 8], "v": [2, 4, 8]}, ["q", "k", "v"],
                  [("transpose", [ref("k"), 1, 2], "kt"), ("bmm", [ref("q"), ref("kt")], "s"), ("softmax", [ref("s"), -1], "p"),
                   ("bmm", [ref("p"), ref("v")], "o"), ("layer_norm", [ref("o"), [8]], "ln"), ("gelu", [ref("ln")], "ge"),
                   ("sum", [ref("ge")], "loss")], ["loss", "p"]),
    "dropout": ({"x": [4, 8], "w": [4, 8]}, ["w"],
                [("mul", [ref("x"), ref("w")], "h"), ("dropout", [ref("h"), 0.5, True], "d"), ("sum", [ref("d")], "loss")], ["loss"]),
    "lists": ({"x": [4, 8], "w": [4, 8]}, ["w"],
              [("mul", [ref("x"), ref("w")], "h"), ("split", [ref("h"), 2, 1], "sp"), ("cat", [ref("sp"), 0], "c"),
               ("exp", [ref("c")], "e"), ("sum", [ref("e")], "loss")], ["loss"]),
    "written input": ({"x": [4], "w": [4]}, ["w"],
                      [("sigmoid", [ref("w")], "s"), ("add_", [ref("x"), ref("s")], "x2"), ("exp", [ref("x")], "e"),
                       ("mul", [ref("e"), ref("s")], "m"), ("sum", [ref("m")], "loss")], ["loss"]),
}
WAYS = ({}, {"partition": "min_cut"}, {"partition": "min_cut", "memory": 2**40})


class Net:
    def __init__(self, d, name):
        self.d = d
        self.shapes, self.wrt, steps, self.outputs = NETS[name]
        random.seed(SEED)
        self.data = {k: x(*s) for k, s in self.shapes.items()}
        self.program = d.call("program.create", inputs=[{"name": k} for k in self.shapes], outputs=self.outputs,
                              steps=[{"op": f"aten::{o}", "args": a, "as": [n]} for o, a, n in steps])["program"]
        self.eager()

    def fresh(self):
        self.d.call("session.set", seed=SEED)
        return {k: {"tensor": self.d.call("tensor.create", data=v, requires_grad=k in self.wrt)["tensor"]}
                for k, v in self.data.items()}

    def read(self, v):
        return self.d.call("tensor.read", tensor=v["tensor"])["data"]

    def run(self, program, inputs, **more):
        return self.d.call("program.run", program=program, inputs=inputs, **more)["outputs"]

    def seen(self, outputs, grads, inputs):
        return ([self.read(t) for t in outputs], [self.read(t) for t in grads],
                [self.read(inputs[k]) for k in self.shapes if k not in self.wrt])

    def eager(self):
        inputs = self.fresh()
        outs = self.run(self.program, inputs)
        roots = [(n, t) for n, t in zip(self.outputs, outs) if t["requires_grad"]]
        self.seeds = {f"grad_{n}": {"tensor": self.d.op("aten::ones_like", {"tensor": t["tensor"]})["tensor"]} for n, t in roots}
        grads = self.d.call("op.call", op="grad::gradients", args=[
            [{"tensor": t["tensor"]} for _, t in roots], [inputs[k] for k in self.wrt], list(self.seeds.values())])["outputs"][0]
        self.want = self.seen(outs, grads, inputs)

    def grad(self, **how):
        return self.d.call("program.grad", program=self.program, inputs=self.fresh(), wrt=self.wrt, **how)

    def joint(self, made):
        inputs = self.fresh()
        outs = self.run(made["program"], {**inputs, **self.seeds}, grad_enabled=False)
        n = len(self.outputs)
        return self.seen(outs[:n], outs[n:], inputs)

    def parts(self, made):
        inputs, n = self.fresh(), len(self.outputs)
        forward = self.run(made["forward"], inputs, grad_enabled=False)
        saved = {f"saved{i}": value(v) for i, v in enumerate(forward[n:])}
        equal(len(saved), made["saved"])
        return self.seen(forward[:n], self.run(made["backward"], {**saved, **self.seeds}, grad_enabled=False), inputs)


def value(v):
    if isinstance(v, list):
        return [value(i) for i in v]
    return {"tensor": v["tensor"]} if isinstance(v, dict) and "tensor" in v else v


def test_the_programs_give_the_bits_of_a_backward(f):
    for name in NETS:
        with f.connect() as d:
            net = Net(d, name)
            for how in WAYS:
                made = net.grad(**how)
                equal(net.joint(made), net.want, f"{name} {how} joint")
                equal(net.parts(made), net.want, f"{name} {how} forward and backward")
                less(made["saved_bytes"], made["default_bytes"] + 1, f"{name} {how}")


def test_less_memory_is_saved_where_it_is_asked_for(f):
    with f.connect() as d:
        net = Net(d, "attention")
        cut = net.grad(partition="min_cut")
        less(cut["saved_bytes"], cut["default_bytes"])
        least = net.grad(partition="min_cut", memory=1)
        equal(least["saved_bytes"], 0)
        equal(net.parts(least), net.want)
        random_net = Net(d, "dropout")
        raises(lambda: random_net.grad(partition="min_cut", memory=1), "ResourceExhausted", "needs at least 128 bytes")
        raises(lambda: net.grad(memory=1), "InvalidParams", "memory", "only with partition min_cut")


def test_each_program_holds_for_the_sizes_of_the_capture_only(f):
    """The sizes are numbers in the calls: with others, a run would give wrong gradients and no error."""
    with f.connect() as d:
        program = d.call("program.create", inputs=[{"name": "x"}], outputs=["s"], steps=[
            {"op": "aten::exp", "args": [ref("x")], "as": ["e"]}, {"op": "aten::sum", "args": [ref("e")], "as": ["s"]}])["program"]
        three, one, seed = {"data": [1.0, 2.0, 3.0]}, {"data": [1.0]}, {"data": 1.0}
        made = d.call("program.grad", program=program, inputs={"x": three}, wrt=["x"])

        def run(p, **inputs):
            return d.call("program.run", program=p, inputs=inputs)["outputs"]
        raises(lambda: run(made["forward"], x=one), "ValueError", "input 'x' has size 1 in dimension 0", "for size 3")
        saved = {"tensor": run(made["forward"], x=three)[1]["tensor"]}
        run(made["backward"], saved0=saved, grad_s=seed)
        raises(lambda: run(made["backward"], saved0=saved, grad_s=one), "ValueError", "input 'grad_s' has 1 dimensions")
        step = d.call("program.create", inputs=[{"name": "data", "type": "Tensor"}], outputs=["g"], constants={"seed": seed}, steps=[
            {"program": made["program"], "inputs": {"x": ref("data"), "grad_s": ref("seed")}, "as": ["s", "g"]}])["program"]
        inlined = d.call("program.pass", program=step, passes=["inline"])["program"]
        equal(d.call("program.describe", program=inlined)["depth"], 1)
        equal([len(run(p, data=three)) for p in (step, inlined)], [1, 1])
        raises(lambda: run(step, data=one), "ValueError", "step 0: input 'x' has size 1")
        raises(lambda: run(inlined, data=one), "ValueError", "input 'data' has size 1 in dimension 0", "for size 3")


def test_programs_that_cannot_be_recorded_twice_save_what_backward_needs(f):
    """A second run would draw other numbers, or write to an input again."""
    def steps(ops):
        return [{"op": f"aten::{op}", "args": [ref(a) if isinstance(a, str) else a for a in args], "as": [name]} for op, args, name in ops]
    with f.connect() as d:
        for ops in ([("dropout", ["h", 0.5, True], "d"), ("mul", ["d", "d"], "y")],
                    [("exp_", ["h"], "e"), ("mul", ["h", "h"], "y")]):
            net = Net(d, "dropout")
            inner = d.call("program.create", inputs=[{"name": "h"}], steps=steps(ops), outputs=["y"])["program"]
            for recompute in (False, True):
                before, after = steps([("mul", ["x", "w"], "h")]), steps([("sum", ["y"], "loss")])
                net.program = d.call("program.create", inputs=[{"name": "x"}, {"name": "w"}], outputs=["loss"], steps=[
                    *before, {"program": inner, "inputs": {"h": ref("h")}, "as": ["y"], "recompute": recompute}, *after])["program"]
                if not recompute:
                    net.eager()
                for how in WAYS[:2]:
                    made = net.grad(**how)
                    equal(net.joint(made), net.want, f"{ops} {recompute} joint")
                    equal(net.parts(made), net.want, f"{ops} {recompute} forward and backward")


def test_a_training_step_is_one_program(f):
    """Forward, joint backward and optimizer, captured: the losses are those of single calls."""
    with f.connect() as d:
        steps = [("linear", [ref("x"), ref("w"), ref("b")], "h"), ("tanh", [ref("h")], "a"), ("sum", [ref("a")], "loss")]
        body = [{"op": f"aten::{o}", "args": a, "as": [n]} for o, a, n in steps]
        update = [{"op": "grad::gradients", "args": [[ref("loss")], [ref("w"), ref("b")]], "as": ["g"]},
                  {"op": "optim::sgd_", "args": [[ref("w"), ref("b")], ref("g"), []], "kwargs": {"lr": 0.1}}]
        inputs = [{"name": n} for n in ("x", "w", "b")]
        eager = d.call("program.create", inputs=inputs, steps=body + update, outputs=["loss"])["program"]
        random.seed(SEED)
        data = {"x": x(4, 3), "w": x(2, 3), "b": x(2)}

        def tensors():
            return {k: {"tensor": d.call("tensor.create", data=v, requires_grad=k != "x")["tensor"]} for k, v in data.items()}
        captured = d.call("program.capture", program=eager, inputs=tensors())["program"]
        losses = []
        for program, grad in (eager, True), (captured, False):
            at = tensors()
            losses.append([d.call("program.run", program=program, inputs=at, grad_enabled=grad,
                                  **{"return": "data"})["outputs"][0]["data"] for _ in range(20)])
        equal(losses[1], losses[0])
        less(losses[0][-1], losses[0][0])


def test_a_joint_program_is_differentiated_again(f):
    with f.connect() as d:
        p = d.call("program.create", inputs=[{"name": n} for n in ("x", "w")], outputs=["l"], steps=[
            {"op": f"aten::{o}", "args": [ref(a) for a in args], "as": [name]}
            for o, args, name in (("mul", "xw", "a"), ("exp", "a", "e"), ("square", "e", "s"), ("sum", "s", "l"))])["program"]

        def fresh():
            return {k: value(d.call("tensor.create", data=v, requires_grad=True)) for k, v in (("x", [0.1, 0.2]), ("w", [0.3, 0.4]))}
        inputs, one, ones = fresh(), {"data": 1}, {"data": [1, 1]}
        loss = value(d.call("program.run", program=p, inputs=inputs)["outputs"][0])
        first = d.call("grad.backward", tensors=[loss], inputs=[inputs["x"]], create_graph=True)["grads"]
        second = d.call("grad.backward", tensors=[value(first[0])], gradients=[ones], inputs=[inputs["w"]])["grads"]
        joint = d.call("program.grad", program=p, inputs=fresh(), wrt=["x"])["program"]
        for how in WAYS:
            made = d.call("program.grad", program=joint, inputs={**fresh(), "grad_l": one}, wrt=["w"], **how)
            names = [i["name"] for i in d.call("program.describe", program=made["program"])["inputs"]]
            equal(names, ["x", "w", "grad_l", "grad_l_2", "grad_grad_x"])
            given = {**fresh(), "grad_l": one, "grad_l_2": {"data": 0}, "grad_grad_x": ones}
            outs = d.call("program.run", program=made["program"], inputs=given, grad_enabled=False)["outputs"]
            equal([d.call("tensor.read", **value(t))["data"] for t in outs],
                  [d.call("tensor.read", **value(t))["data"] for t in (loss, *first, *second)], f"{how}")


def test_a_derivative_in_a_direction(f):
    with f.connect() as d:
        net = Net(d, "attention")
        made = d.call("program.jvp", program=net.program, inputs=net.fresh(), wrt=["q"])
        random.seed(9)
        towards = x(2, 4, 8)

        def tensor(data):
            return {"tensor": d.call("tensor.create", data=data, dtype="float64")["tensor"]}

        def shifted(a, b, by):
            return [shifted(i, j, by) for i, j in zip(a, b)] if isinstance(a, list) else a + by * b
        wide = {k: tensor(v) for k, v in net.data.items()}
        made = d.call("program.jvp", program=net.program, inputs=wide, wrt=["q"])
        loss, p, dloss, dp = d.call("program.run", program=made["program"], inputs={**wide, "tangent_q": tensor(towards)},
                                    **{"return": "data"})["outputs"]
        ends = [d.call("program.run", program=net.program, inputs={**wide, "q": tensor(shifted(net.data["q"], towards, by))},
                       **{"return": "data"})["outputs"] for by in (1e-6, -1e-6)]
        less(abs((ends[0][0]["data"] - ends[1][0]["data"]) / 2e-6 - dloss["data"]), 1e-7)
        less(abs((ends[0][1]["data"][0][1][2] - ends[1][1]["data"][0][1][2]) / 2e-6 - dp["data"][0][1][2]), 1e-7)
        raises(lambda: d.call("program.jvp", program=net.program, inputs=wide, wrt=["nothing"]), "NotFound", "wrt[0]",
               "no input 'nothing'")


def test_inputs_that_are_lists(f):
    """Tensors of a list stay the session's, also where the derivative fails."""
    with f.connect() as d:
        program = d.call("program.create", inputs=[{"name": "l"}, {"name": "w"}], outputs=["y"], steps=[
            {"op": "aten::cat", "args": [ref("l"), 0], "as": ["c"]},
            {"op": "aten::mul", "args": [ref("c"), ref("w")], "as": ["m"]},
            {"op": "aten::exp", "args": [ref("m")], "as": ["y"]}])["program"]
        a, b, w = ({"tensor": d.call("tensor.create", data=data)["tensor"]} for data in ([1.0, 2.0], [-1.0], [0.5, 1.5, 2.5]))
        inputs = {"l": [a, b], "w": w}
        for method in ("program.grad", "program.jvp"):
            raises(lambda: d.call(method, program=program, inputs=inputs, wrt=["l"]), "TypeError", "input 'l' is a list")
        for _ in range(4):
            joint = d.call("program.grad", program=program, inputs=inputs, wrt=["w"])["program"]
            direction = d.call("program.jvp", program=program, inputs=inputs, wrt=["w"])["program"]
        ones = {"tensor": d.call("tensor.create", data=[1.0, 1.0, 1.0])["tensor"]}
        leaf = {"tensor": d.call("tensor.create", data=[0.5, 1.5, 2.5], requires_grad=True)["tensor"]}
        y = d.call("program.run", program=program, inputs={"l": [a, b], "w": leaf})["outputs"][0]["tensor"]
        want = d.call("grad.backward", tensors=[y], gradients=[ones], inputs=[leaf["tensor"]])["grads"][0]["tensor"]
        want = d.call("tensor.read", tensor=want)["data"]
        for made, more in ((joint, {"grad_y": ones}), (direction, {"tangent_w": ones})):
            got = d.call("program.run", program=made, inputs={**inputs, **more}, **{"return": "data"})["outputs"][1]["data"]
            equal(got, want, more)
        equal([d.call("tensor.read", tensor=v["tensor"])["data"] for v in (a, b)], [[1, 2], [-1]])


def test_lists_of_inputs_that_are_written(f):
    """What the forward overwrites at its end is saved as it was, also where only a list has it."""
    last = {**ref("l"), "index": 1}
    steps = [("_foreach_add_.Scalar", [[ref("x"), ref("y")], 1.5], []), ("mul", [ref("x"), ref("w")], ["h"]),
             ("add_", [last, ref("x")], ["r"]), ("mul", [last, ref("w")], ["q"]), ("exp_", [ref("z")], ["e"]),
             ("split", [ref("z"), 2], ["parts"]), ("mul", [{**ref("parts"), "index": 0}, ref("h")], ["s"]),
             ("mul", [ref("s"), ref("q")], ["t"]), ("mul", [ref("t"), {**ref("l"), "index": 0}], ["u"]), ("sum", [ref("u")], ["loss"])]
    with f.connect() as d:
        names = ["x", "y", "z", "w", "l"]
        p = d.call("program.create", inputs=[{"name": n} for n in names], outputs=["loss"],
                   steps=[{"op": f"aten::{o}", "args": a, "as": n} for o, a, n in steps])["program"]
        data = {"x": [1, 2], "y": [3, 4], "z": [5, 6, 7], "w": [0.5, 0.25]}

        def fresh():
            t = {k: value(d.call("tensor.create", data=v, requires_grad=k == "w")) for k, v in data.items()}
            return {**t, "l": [value(d.call("tensor.create", data=v)) for v in ([8, 9], [10, 11])]}

        def seen(inputs, outs):
            return [d.call("tensor.read", **t)["data"] for t in [*outs, *(inputs[k] for k in "xyz"), *inputs["l"]]]

        inputs = fresh()
        loss = value(d.call("program.run", program=p, inputs=inputs)["outputs"][0])
        want = seen(inputs, [loss, *map(value, d.call("op.call", op="grad::gradients", args=[[loss], [inputs["w"]]])["outputs"][0])])
        for how in (*WAYS, {"partition": "min_cut", "memory": 200}):
            made, inputs = d.call("program.grad", program=p, inputs=fresh(), wrt=["w"], **how), fresh()
            outs = [value(o) for o in d.call("program.run", program=made["forward"], inputs=inputs, grad_enabled=False)["outputs"]]
            given = {**{f"saved{i}": v for i, v in enumerate(outs[1:])}, "grad_loss": {"data": 1}}
            grads = d.call("program.run", program=made["backward"], inputs=given)["outputs"]
            equal(seen(inputs, [outs[0], value(grads[0])]), want, f"{how}")


def test_what_cannot_be_differentiated_is_named(f):
    with f.connect() as d:
        p = d.call("program.create", inputs=[{"name": "x"}], outputs=["y"],
                   steps=[{"op": "aten::nonzero", "args": [ref("x")], "as": ["i"]},
                          {"op": "aten::index", "args": [ref("x"), [ref("i")]], "as": ["y"]}])["program"]
        raises(lambda: d.call("program.grad", program=p, inputs={"x": {"data": [1.0, 0.0]}}, wrt=["x"]),
               "NotImplementedError", "step 0", "aten::nonzero")
        raises(lambda: d.call("program.grad", program=p, inputs={"x": {"data": [1.0]}}, wrt=["x", "x"]),
               "ValueError", "input 'x' is named twice")
        raises(lambda: d.call("program.grad", program=p, wrt=["x"]), "TypeError", "missing input 'x'")
        raises(lambda: d.call("program.grad", program=p, inputs={"x": {"data": [1, 0], "dtype": "int64"}}, wrt=["x"]), "RuntimeError",
               "input 'x' is of int64")
        raises(lambda: d.call("program.grad", program=99, wrt=["x"]), "NotFound", "99")


main(setup, TestDaemon.finish)
