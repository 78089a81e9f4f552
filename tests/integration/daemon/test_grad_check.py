"""test_grad_check.py -- grad.check: gradients of operators, programs and plugins beside finite differences."""

import os

from graphs import setup as graphs_setup
from graphs import teardown
from harness import BUILD, equal, less, main, raises

PLUGIN = os.path.join(BUILD, "tests", "plugins", "wrong_slopes.so")


def setup():
    f = graphs_setup()
    f.d.call("plugin.load", path=PLUGIN)
    return f


def near(got, want):
    less(abs(got - want), 1e-6, f"|{got} - {want}|")


def check(f, op, *args, **options):
    return f.d.call("grad.check", op=op if "::" in op else "aten::" + op, args=list(args), **options)


def real(data):
    return {"data": data, "dtype": "float64"}


def imaginary(data):
    return {"data": data, "dtype": "complex128"}


def test_right_operators_pass(f):
    z = imaginary([[[1, 2], [-3, 0.5]], [[0.3, -1], [2, 2]]])
    for op, args in (("mul.Tensor", (real([1, 2, 3]), real([4, 5, 6]))), ("mm", (real([[1, 2], [3, 4]]), real([[1, 2], [3, 4.5]]))),
                     ("mm", (z, z)), ("cat", ([real([1, 2]), real([3, 4, 5])],)), ("view_as_real", (z,)), ("abs", (z,)),
                     ("conj", (z,)), ("real", (z,)), ("var_mean.dim", (real([1, 2, 4, 8]), [0])), ("amax", (real([1, 3]),)), ("special_logsumexp", (real([[1, 2], [3, 5]]), [1])),
                     ("_softmax", (real([1, 2, 3]), 0, False)), ("mul.Tensor", (real([1, 2]), {"data": [[3, 4]], "dtype": "int64"}))):
        found = check(f, op, *args)
        equal((op, found["passes"], found.get("failure")), (op, True, None))
        less(0, found["compared"], op)
        equal(check(f, op, *args, gradgrad=True)["passes"], True)
    equal(check(f, "mul.Tensor", real([1, 2, 3]), real([4, 5, 6])), {"passes": True, "compared": 18})


def test_only_what_requires_a_gradient_is_checked_and_nothing_changes(f):
    x, y = f.leaf([1, 2]), f.leaf([[3, 4]])
    equal(check(f, "mul.Tensor", {"tensor": x}, {"tensor": x})["compared"], 4)  # one tensor, given twice
    equal(check(f, "mul.Tensor", {"tensor": x}, {"tensor": y})["compared"], 8)
    equal(check(f, "mul.Tensor", {"tensor": x}, real([1, 1]))["compared"], 4)
    equal((f.grad(x), f.data(x), f.d.call("tensor.describe", tensor=x)["version"]), (None, [1, 2], 0))
    f.d.call("session.set", grad_enabled=False)
    equal(check(f, "mul.Tensor", {"tensor": x}, real([1, 1])), {"passes": True, "compared": 4})
    f.d.call("session.set", grad_enabled=True)


def test_a_wrong_formula_fails_with_its_first_entry(f):
    x, y = real([[1, 2]]), real([[3, 5]])
    equal(check(f, "slopes::right", x, y, gradgrad=True)["passes"], True)
    found = check(f, "slopes::wrong", x, y)
    failure = found.pop("failure")
    equal(found, {"passes": False, "compared": 5})
    near(failure.pop("numerical"), 1)
    equal(failure, {"check": "gradcheck", "input": "y", "input_index": [0, 0], "output": "result", "output_index": [0, 0],
                    "analytical": 3})
    found = check(f, "slopes::wrong", real([[2, 2]]), real([[2, 5]]))["failure"]  # the first element agrees
    equal((found["input_index"], found["output_index"], found["analytical"]), ([0, 1], [0, 1], 5))


def test_complex_derivatives_are_named_by_part(f):
    found = check(f, "slopes::wrong", imaginary([[1, 2]]), imaginary([[3, 5]]))["failure"]
    for got, want in zip(found.pop("numerical"), (1, -2)):
        near(got, want)
    equal(found, {"check": "gradcheck", "input": "y", "input_index": [0], "output": "result", "output_index": [0],
                  "part": "real", "analytical": [3, -5]})


def test_gradients_of_gradients_are_checked_if_asked(f):
    equal(check(f, "slopes::detached", real([1, 2]))["passes"], True)
    found = check(f, "slopes::detached", real([1, 2]), gradgrad=True)["failure"]
    equal({k: found[k] for k in ("check", "input", "output", "analytical")},
          {"check": "gradgradcheck", "input": "x", "output": "gradient of x", "analytical": 0})


def test_programs(f):
    steps = [{"op": "aten::clone", "args": [{"ref": "a"}], "as": ["c"]},
             {"op": "slopes::wrong", "args": [{"ref": "c"}, {"ref": "b"}], "as": ["d"]},
             {"op": "aten::exp_", "args": [{"ref": "c"}], "as": ["e"]}]
    for used, outputs, wrong in ((steps[::2], ["e"], None), (steps[:2], ["c", "d"], ("b", "d"))):
        program = f.d.call("program.create", inputs=[{"name": "a"}, {"name": "b"}], steps=used, outputs=outputs)["program"]
        found = f.d.call("grad.check", program=program, inputs={"a": real([1, 2]), "b": real([3, 5])})
        failure = found.get("failure")
        equal((found["passes"], failure and (failure["input"], failure["output"])), (wrong is None, wrong))
        f.d.call("program.release", program=program)


def test_random_arguments(f):
    for op, least in (("aten::mul.Tensor", 20), ("aten::mm", 20), ("aten::log", 20), ("aten::addcmul", 20), ("aten::stack", 20),
                      ("aten::pow.Tensor_Scalar", 20), ("slopes::right", 20)):
        found = f.d.call("grad.check", op=op, random={"n": 20}, gradgrad=True)
        equal((op, found["passes"], found.get("failure"), found["checked"]), (op, True, None, least))
    found = f.d.call("grad.check", op="slopes::wrong", random={"n": 20, "seed": 7})
    equal((found["passes"], found["failure"]["input"], len(found["failure"]["args"])), (False, "y", 2))
    again = f.d.call("grad.check", op="slopes::wrong", random={"n": 20, "seed": 7})
    args = [[a["data"] for a in r["failure"].pop("args")] for r in (found, again)]
    equal((args[0], found), (args[1], again))
    given = f.d.call("grad.check", op="aten::einsum", kwargs={"equation": "ij,jk->ik"}, random={"n": 5})
    equal((given["passes"], given["checked"]), (True, 5))
    less(0, given["refused"], "refused")


def test_complex_arguments_that_only_backward_refuses_are_counted(f):
    for op in ("aten::silu", "aten::mse_loss"):
        raises(lambda: check(f, op, *[imaginary([[1, 2]])] * (1 + (op == "aten::mse_loss"))), "RuntimeError",
               "backward_cpu\" not implemented for 'ComplexDouble'")
        found = f.d.call("grad.check", op=op, random={"n": 20})
        equal((op, found["passes"], found["checked"]), (op, True, 20))
        less(0, found["refused"], f"refused sets of {op}")
    raises(lambda: f.d.call("grad.check", op="slopes::fails", random={"n": 20}), "RuntimeError",
           "the derivative of slopes::fails: line 2: shape '[7, 11]' is invalid")


def test_what_is_refused(f):
    x, n = real([1, 2]), {"data": [1, 2], "dtype": "int64"}
    for op, args, options, *error in (
            ("slopes::without", [x], {}, "NotImplementedError", "the derivative for 'slopes::without' is not implemented"),
            ("aten::floor_divide", [x, x], {}, "NotImplementedError", "the derivative for 'aten::floor_divide'"),
            ("aten::argmax", [x], {}, "RuntimeError", "aten::argmax: no output requires a gradient"),
            ("aten::add_.Tensor", [x, x], {}, "RuntimeError", "aten::add_.Tensor writes its argument 'self'"),
            ("aten::add.out", [x, x], {"kwargs": {"out": x}}, "RuntimeError", "aten::add.out writes its argument 'out'"),
            ("aten::neg", [n], {}, "RuntimeError", "aten::neg", "no argument is one"),
            ("aten::neg", [x | {"data": [1], "device": "meta"}], {}, "NotImplementedError", "aten::neg", "meta"),
            ("aten::mm", [x, x], {}, "RuntimeError", "self must be a matrix"),
            ("aten::add_.Tensor", [], {"random": {"n": 1}}, "RuntimeError", "writes its argument 'self'"),
            ("aten::einsum", [], {"random": {"n": 1}}, "InvalidParams", "'equation'", "str"),
            ("aten::neg", [], {"random": {"n": 10**6}}, "ResourceExhausted", "random.n", "check_draws"),
            ("aten::neg", [], {"random": {"n": 0}}, "InvalidParams", "random.n"),
            ("aten::nowhere", [], {"random": {"n": 1}}, "NotFound", "aten::nowhere"),
            ("aten::nowhere", [x], {}, "NotFound", "aten::nowhere"),
            ("aten::neg", [x], {"inputs": {}}, "InvalidParams", "inputs with program")):
        raises(lambda: f.d.call("grad.check", op=op, args=args, **options), *error)
    raises(lambda: f.d.call("grad.check"), "InvalidParams", "either op or program")
    raises(lambda: f.d.call("grad.check", program=999), "NotFound", "999")
    limit = f.d.call("server.hello")["limits"]["check_elements"]
    for op, args in (("sum", [real([1] * limit)]), ("expand", [real([1]), [limit]])):
        raises(lambda: check(f, op, *args), "ResourceExhausted", f"{limit + 1} elements" if op == "expand" else "elements", "check_elements", str(limit))


def test_a_program_that_writes_its_input_is_refused(f):
    program = f.d.call("program.create", inputs=[{"name": "a"}], steps=[{"op": "aten::exp_", "args": [{"ref": "a"}], "as": ["b"]}],
                       outputs=["b"])["program"]
    raises(lambda: f.d.call("grad.check", program=program, inputs={"a": real([1])}), "RuntimeError", "writes its argument 'a'")
    raises(lambda: f.d.call("grad.check", program=program, inputs={}), "TypeError", "missing input 'a'")
    raises(lambda: f.d.call("grad.check", program=program, inputs={"a": real([1])}, random={"n": 1}), "InvalidParams")
    f.d.call("program.release", program=program)


def test_a_check_ends_at_its_deadline_or_when_cancelled(f):
    steps = [{"op": "aten::cumsum", "args": [{"ref": f"a{i}"}, 0], "as": [f"a{i + 1}"]} for i in range(100)]
    program = f.d.call("program.create", inputs=[{"name": "a0"}], steps=steps, outputs=["a100"])["program"]
    long = {"program": program, "inputs": {"a0": real([1] * 600)}, "gradgrad": True}  # seconds of work
    raises(lambda: f.d.call("grad.check", **long, deadline_ms=50), "DeadlineExceeded")
    id_ = f.d.send("grad.check", **long)
    f.d.send_message({"jsonrpc": "2.0", "method": "call.cancel", "params": {"id": id_}})
    raises(f.d.receive, "Cancelled")
    f.d.call("program.release", program=program)


main(setup, teardown)
