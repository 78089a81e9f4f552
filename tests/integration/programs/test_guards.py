"""test_guards.py -- what a captured program requires of its inputs: program.describe shows it, and a run
whose inputs break it is an error that names both sides."""

from graphs import setup, teardown
from harness import equal, main, raises


def ref(name):
    return {"ref": name}


def step(op, *args, as_=("y",), **more):
    return {"op": "aten::" + op, "args": [ref(a) if isinstance(a, str) else a for a in args],
            "as": list(as_), **more}


def tensor(f, sizes, dtype="float32"):
    return f.d.call("op.call", op="aten::ones", args=[sizes], kwargs={"dtype": dtype})["outputs"][0]["tensor"]


def call(f, op, *args):
    return f.d.call("op.call", op="aten::" + op, args=list(args))["outputs"][0]["tensor"]


def h(t):
    return {"tensor": t}


def captured(f, inputs, steps, given, types=None):
    types = types or [{"name": i, "type": "Tensor"} for i in inputs]
    p = f.d.call("program.create", inputs=types, steps=steps, outputs=["y"])["program"]
    return f.d.call("program.capture", program=p, inputs=given)["program"]


def texts(f, p):
    return [g["text"] for g in f.d.call("program.describe", program=p)["guards"]]


def fails(f, p, inputs, *parts):
    raises(lambda: f.d.call("program.run", program=p, inputs=inputs), "ValueError", *parts)


def test_a_tensor_has_the_geometry_of_the_capture(f):
    x = tensor(f, [2, 3])
    p = captured(f, ["x"], [step("mul.Tensor", "x", "x")], {"x": h(x)})
    equal(texts(f, p), ["x is float32 on cpu, sizes [2, 3] strides [3, 1]"], "guards")
    f.d.call("program.run", program=p, inputs={"x": h(x)})
    f.d.call("program.run", program=p, inputs={"x": h(tensor(f, [2, 3]))})
    fails(f, p, {"x": h(tensor(f, [2, 4]))}, "input 'x' has size 4 in dimension 1", "for size 3")
    fails(f, p, {"x": h(tensor(f, [2]))}, "input 'x' has 1 dimensions", "for 2")
    fails(f, p, {"x": h(tensor(f, [2, 3], "float64"))}, "input 'x' is float64", "for float32")
    fails(f, p, {"x": h(call(f, "t", h(tensor(f, [3, 2]))))}, "input 'x' has stride 1 in dimension 0", "for stride 3")


def test_other_values_are_those_of_the_capture(f):
    x = tensor(f, [2, 3])
    types = [{"name": "x", "type": "Tensor"}, {"name": "n", "type": "int"}, {"name": "how", "type": "str"}]
    steps = [{"op": "aten::sum.dim_IntList", "args": [ref("x"), [0]], "as": ["s"]},
             step("mul.Scalar", "s", "n")]
    p = captured(f, ["x"], steps, {"x": h(x), "n": 3, "how": "mean"}, types)
    equal(texts(f, p)[:2], ["n == 3", "how == 'mean'"], "guards of values")
    f.d.call("program.run", program=p, inputs={"x": h(x), "n": 3, "how": "mean"})
    fails(f, p, {"x": h(x), "n": 4, "how": "mean"}, "input 'n' is 4", "captured for 3")
    fails(f, p, {"x": h(x), "n": 3, "how": "sum"}, "input 'how' is 'sum'", "captured for 'mean'")


def test_a_list_has_the_items_of_the_capture(f):
    x, y = tensor(f, [2, 3]), tensor(f, [4, 3])
    types = [{"name": "xs", "type": "Tensor[]"}]
    p = captured(f, ["xs"], [{"op": "aten::cat", "args": [ref("xs"), 0], "as": ["y"]}], {"xs": [h(x), h(y)]}, types)
    equal(texts(f, p)[0], "xs has 2 items", "guard of the list")
    f.d.call("program.run", program=p, inputs={"xs": [h(x), h(y)]})
    fails(f, p, {"xs": [h(x)]}, "input 'xs' has 1 items", "captured for 2")
    fails(f, p, {"xs": [h(x), h(x)]}, "item 1 of input 'xs' has size 2 in dimension 0", "for size 4")


def test_inputs_share_storage_as_in_the_capture(f):
    x = tensor(f, [4, 3])
    row, other = call(f, "select.int", h(x), 0, 1), tensor(f, [3])
    steps = [step("add_.Tensor", "r", "r", as_=["a"]), step("mul.Tensor", "x", "a")]
    p = captured(f, ["x", "r"], steps, {"x": h(x), "r": h(row)})
    equal(texts(f, p)[-2:], ["r begins 12 bytes after x, in its storage", "written inputs overlap with no others"],
          "guards of storages")
    f.d.call("program.run", program=p, inputs={"x": h(x), "r": h(row)})
    fails(f, p, {"x": h(x), "r": h(other)}, "input 'r' has another storage than input 'x'", "share one")
    first = call(f, "select.int", h(x), 0, 0)
    fails(f, p, {"x": h(x), "r": h(first)}, "input 'r' begins 0 bytes after input 'x'", "for 12")
    q = captured(f, ["x", "r"], steps, {"x": h(x), "r": h(other)})
    f.d.call("program.run", program=q, inputs={"x": h(x), "r": h(other)})
    fails(f, q, {"x": h(x), "r": h(first)}, "input 'r' is written and overlaps with input 'x'")


def test_a_program_that_runs_a_captured_one_checks_its_guards(f):
    x = tensor(f, [2, 3])
    p = captured(f, ["x"], [step("mul.Tensor", "x", "x")], {"x": h(x)})
    outer = f.d.call("program.create", inputs=[{"name": "x", "type": "Tensor"}], outputs=["y"],
                     steps=[{"program": p, "inputs": {"x": ref("x")}, "as": ["y"]}])["program"]
    f.d.call("program.run", program=outer, inputs={"x": h(x)})
    fails(f, outer, {"x": h(tensor(f, [3, 3]))}, "step 0: input 'x' has size 3 in dimension 0", "for size 2")


def test_guards_are_part_of_the_hash(f):
    steps = [step("mul.Tensor", "x", "x")]
    hashes = [f.d.call("program.describe", program=captured(f, ["x"], steps, {"x": h(tensor(f, n))}))["hash"]
              for n in ([2], [3], [2])]
    equal(hashes[0] == hashes[2], True, "hashes of equal programs")
    equal(hashes[0] == hashes[1], False, "hashes of programs with other guards")


def test_a_run_may_capture_again(f):
    d = f.d
    source = d.call("program.create", inputs=[{"name": "x"}], outputs=["y"],
                    steps=[{"op": "aten::softmax", "args": [{"ref": "x"}, 0], "as": ["y"]}])["program"]
    small, large = {"x": {"data": [1.0, 2.0]}}, {"x": {"data": [1.0, 2.0, 3.0]}}
    p = d.call("program.capture", program=source, inputs=small)["program"]
    run = lambda program, inputs, **more: d.call("program.run", program=program, inputs=inputs, **{"return": "data"}, **more)
    raises(lambda: run(p, large), "ValueError", "captured for size 2")
    equal("program" in run(p, small, recapture=source), False)
    again = run(p, large, recapture=source)
    equal(again["outputs"][0]["data"], run(source, large)["outputs"][0]["data"])
    equal("program" in run(again["program"], large, recapture=source), False, "the new one fits")
    raises(lambda: run(p, large, recapture=10**6), "NotFound", "recapture", "1000000")
    raises(lambda: d.call("program.run", steps=[], outputs=[], recapture=source), "InvalidParams", "recapture")
    other = d.call("program.create", inputs=[{"name": "x"}], outputs=["y"],
                   steps=[{"op": "aten::nonzero", "args": [{"ref": "x"}], "as": ["y"]}])["program"]
    before = d.call("session.list")["sessions"][0]["account"]["programs"]["count"]
    raises(lambda: run(p, large, recapture=other), "NotImplementedError", "aten::nonzero")
    equal(d.call("session.list")["sessions"][0]["account"]["programs"]["count"], before)


main(setup, teardown)
