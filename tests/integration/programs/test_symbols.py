"""test_symbols.py -- programs captured for any size of a dimension: they give eager's bits for each size that
their guards allow, and an error that names both sides for others."""

from graphs import setup, teardown
from harness import contains, equal, main, raises

SIZES = (2, 3, 5, 7, 8, 16, 31, 64, 100)


def ref(name):
    return {"ref": name}


def h(t):
    return {"tensor": t}


def step(op, *args, as_=("y",), **kwargs):
    return {"op": "aten::" + op, "args": [ref(a) if isinstance(a, str) else a for a in args],
            "as": list(as_), **({"kwargs": kwargs} if kwargs else {})}


def create(f, inputs, steps, outputs=("y",)):
    return f.d.call("program.create", inputs=[{"name": i, "type": "Tensor"} for i in inputs], steps=steps,
                    outputs=list(outputs))["program"]


def random(f, *sizes):
    return f.d.call("op.call", op="aten::randn", args=[list(sizes)])["outputs"][0]["tensor"]


def run(f, program, inputs):
    got = f.d.call("program.run", program=program, inputs={k: h(v) for k, v in inputs.items()})["outputs"]
    data = [(o["shape"], o["strides"], f.data(o["tensor"])) for o in got]
    for o in got:
        f.d.call("tensor.release", tensors=[o["tensor"]])
    return data


def guards(f, p, kind):
    return [g["text"] for g in f.d.call("program.describe", program=p)["guards"] if g["kind"] == kind]


def names(f, p):
    return [name for s in f.d.call("program.describe", program=p)["steps"] for name in s["as"] if name[0] != "%"]


def batches(f, steps, inputs, dynamic="x", sizes=SIZES, least=None, outputs=("y",)):
    """Capture `steps` with any size of dimension 0 of one input, and compare runs with the program itself."""
    program = create(f, list(inputs), steps, outputs)
    given = {k: random(f, *n) for k, n in inputs.items()}
    captured = f.d.call("program.capture", program=program, inputs={k: h(v) for k, v in given.items()},
                        dynamic={dynamic: [0]})["program"]
    bound = guards(f, captured, "size")
    if least is not None:
        equal(bound, [f"{dynamic}.size(0) >= {least}"] if least > 0 else [], "guards of sizes")
    low = int(bound[0].split()[-1]) if bound else 0
    for n in sorted({n for n in (0, 1, *sizes) if n >= low}):
        some = {**given, dynamic: random(f, n, *inputs[dynamic][1:])}
        equal(run(f, captured, some), run(f, program, some), f"results for size {n}")
    if low > 0:
        some = {**given, dynamic: random(f, low - 1, *inputs[dynamic][1:])}
        raises(lambda: run(f, captured, some), "ValueError", f"input '{dynamic}' has size {low - 1} in dimension 0",
               f"at least {low}")
    return captured


def test_matmul(f):
    batches(f, [step("matmul", "x", "w")], {"x": [4, 8], "w": [8, 3]})
    batches(f, [step("matmul", "x", "w")], {"x": [4, 5, 8], "w": [8, 3]})
    batches(f, [step("matmul", "x", "w")], {"x": [4, 5, 8], "w": [4, 8, 3][1:]})


def test_linear_and_softmax(f):
    batches(f, [step("linear", "x", "w", "b", as_=["h"]), step("relu", "h", as_=["r"]),
                step("softmax.int", "r", -1)], {"x": [6, 8], "w": [3, 8], "b": [3]})
    batches(f, [step("linear", "x", "w", "b", as_=["h"]), step("log_softmax.int", "h", 2)],
            {"x": [3, 5, 8], "w": [3, 8], "b": [3]})


def test_reshape_and_flatten(f):
    p = batches(f, [step("reshape", "x", [-1, 6])], {"x": [4, 2, 3]})
    batches(f, [step("flatten.using_ints", "x", 0, 1)], {"x": [4, 2, 3]})
    batches(f, [step("flatten.using_ints", "x", 1, -1)], {"x": [4, 2, 3]})
    batches(f, [step("transpose.int", "x", 0, 1, as_=["t"]), step("reshape", "t", [-1])], {"x": [4, 2, 3]})
    equal(names(f, p)[:1], ["s0"], "names of values")


def test_cat_stack_and_expand(f):
    batches(f, [{"op": "aten::cat", "args": [[ref("x"), ref("x")], 0], "as": ["c"]}, step("mul.Tensor", "c", "c")],
            {"x": [4, 3]})
    batches(f, [{"op": "aten::stack", "args": [[ref("x"), ref("x")], 0], "as": ["c"]}, step("sum", "c")],
            {"x": [4, 3]})
    batches(f, [step("expand_as", "b", "x", as_=["e"]), step("mul.Tensor", "e", "x")], {"x": [4, 3], "b": [3]})


def test_long_lists(f):
    """More items than an operator has arguments."""
    n = 300
    batches(f, [step("neg", "x", as_=[f"v{k}"]) for k in range(n)] + [step("cat", [ref(f"v{k}") for k in range(n)])], {"x": (4, 2)}, least=0,
            sizes=(2, 3))


def test_convolutions(f):
    batches(f, [step("conv2d", "x", "w", "b", [2, 2], [1, 1], as_=["c"]), step("relu", "c", as_=["r"]),
                step("max_pool2d", "r", [2, 2], as_=["p"]), step("flatten.using_ints", "p", 1, -1)],
            {"x": [4, 3, 8, 8], "w": [5, 3, 3, 3], "b": [5]}, sizes=(2, 3, 9))


def test_a_convolution_of_any_height(f):
    program = create(f, ["x", "w"], [step("conv2d", "x", "w", None, [2, 2], [1, 1], as_=["c"]),
                                     step("flatten.using_ints", "c", 1, -1)])
    given = {"x": random(f, 2, 3, 9, 9), "w": random(f, 4, 3, 3, 3)}
    p = f.d.call("program.capture", program=program, inputs={k: h(v) for k, v in given.items()},
                 dynamic={"x": [2]})["program"]
    contains(names(f, p), "20*((s0+1)//2)")
    for n in (3, 8, 12, 33):
        some = {**given, "x": random(f, 2, 3, n, 9)}
        equal(run(f, p, some), run(f, program, some), f"results for height {n}")


def test_normalizations(f):
    batches(f, [step("layer_norm", "x", [8], "w", "b")], {"x": [4, 5, 8], "w": [8], "b": [8]})
    batches(f, [step("group_norm", "x", 2, "w", "b")], {"x": [4, 6, 5], "w": [6], "b": [6]})


def test_losses(f):
    batches(f, [step("linear", "x", "w", as_=["h"]), step("mean", "h")], {"x": [6, 8], "w": [3, 8]})
    batches(f, [step("var.correction", "x", [0], correction=0)], {"x": [6, 8]})


def test_sizes_that_must_be_equal(f):
    program = create(f, ["x", "z"], [step("mul.Tensor", "x", "z", as_=["m"]), step("reshape", "m", [-1])])
    x, z = random(f, 4, 3), random(f, 4, 3)
    p = f.d.call("program.capture", program=program, inputs={"x": h(x), "z": h(z)},
                 dynamic={"x": [0], "z": [0]})["program"]
    equal(guards(f, p, "equal"), ["z.size(0) == x.size(0)"], "guards of equal sizes")
    equal(f.d.call("program.describe", program=p)["symbols"],
          [{"name": "s0", "least": 0, "sizes": [{"input": "x", "dim": 0}, {"input": "z", "dim": 0}]}])
    equal(guards(f, p, "tensor"), [f"{k} is float32 on cpu, sizes [s0, 3] dense, ordered as strides [3, 1]" for k in "xz"])
    some = {"x": random(f, 9, 3), "z": random(f, 9, 3)}
    equal(run(f, p, some), run(f, program, some), "results")
    raises(lambda: run(f, p, {**some, "z": z}), "ValueError", "input 'z' has size 4 in dimension 0",
           "input 'x' in dimension 0, which is 9")


def test_two_sizes(f):
    program = create(f, ["x", "w"], [step("mm", "x", "w", as_=["m"]), step("reshape", "m", [-1])])
    p = f.d.call("program.capture", program=program, inputs={"x": h(random(f, 4, 3)), "w": h(random(f, 3, 4))},
                 dynamic={"x": [0], "w": [1]})["program"]
    equal(guards(f, p, "equal"), [], "guards of equal sizes")
    contains(names(f, p), "s0*s1")
    equal(f.d.call("program.describe", program=p)["symbols"],
          [{"name": "s0", "least": 0, "sizes": [{"input": "x", "dim": 0}]}, {"name": "s1", "least": 0, "sizes": [{"input": "w", "dim": 1}]}])
    for n, m in ((2, 7), (5, 3), (8, 8)):
        some = {"x": random(f, n, 3), "w": random(f, 3, m)}
        equal(run(f, p, some), run(f, program, some), f"results for {n} and {m}")


def test_other_dimensions_are_guarded(f):
    p = batches(f, [step("relu", "x")], {"x": [4, 3]})
    raises(lambda: run(f, p, {"x": random(f, 4, 5)}), "ValueError", "input 'x' has size 5 in dimension 1",
           "captured for size 3")


def test_what_cannot_be_dynamic(f):
    def capture(program, dynamic, **more):
        return lambda: f.d.call("program.capture", program=program, inputs={"x": h(random(f, 4, 3))},
                                dynamic=dynamic, **more)
    fixed = create(f, ["x"], [step("reshape", "x", [12])])
    relu = create(f, ["x"], [step("relu", "x")])
    split = create(f, ["x"], [step("split.Tensor", "x", 2, as_=["p"]), {"op": "aten::cat", "args": [ref("p")],
                                                                       "as": ["y"]}])
    raises(capture(fixed, {"x": [0]}), "RuntimeError", "capture with s0=5 (x.size(0))", "shape")
    raises(capture(split, {"x": [0]}), "ValueError", "depend")
    raises(capture(relu, {"x": [2]}), "ValueError", "dimension 2 of input 'x'", "has 2 dimensions")
    raises(capture(relu, {"x": [0, 0]}), "ValueError", "dimension 0 of input 'x' is named twice")
    raises(capture(relu, {"z": [0]}), "NotFound", "no input 'z'")
    raises(capture(relu, {"x": [0]}, fakes=False), "ValueError", "over fakes")
    raises(capture(relu, {"x": [0] * 9}), "ResourceExhausted", "program_symbols")


main(setup, teardown)
