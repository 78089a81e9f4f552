"""test_grad_nan.py -- grad.backward with check_nan: the first step whose gradients are not finite."""

from graphs import setup, teardown
from harness import equal, main, raises


def test_the_first_step_is_named(f):
    x = f.leaf([[4, 1, 0], [9, 0, 1]])
    y = f.op("sum", f.op("mul.Tensor", f.op("sqrt", f.of(x, "mul.Scalar", 2)), x))
    equal(f.backward(y, retain_graph=True), {})
    equal(f.grad(x)[0][2], "nan")
    f.d.call("grad.zero", tensors=[x])
    for create in False, True:
        raises(lambda: f.backward(y, retain_graph=True, create_graph=create, check_nan=True), "RuntimeError",
               "aten::sqrt returned a gradient of its argument 'self' that is not finite, at [0, 2], although",
               "(backward of aten::sqrt, request ")
    equal(f.grad(x), None)


def test_a_step_of_a_program_is_named(f):
    x = f.leaf([1, 0])
    steps = [{"op": "aten::neg", "args": [{"ref": "x"}], "as": ["a"]}, {"op": "aten::reciprocal", "args": [{"ref": "a"}], "as": ["b"]},
             {"op": "aten::sum", "args": [{"ref": "b"}], "as": ["c"]}]
    y = f.d.call("program.run", steps=steps, outputs=["c"], inputs={"x": {"tensor": x}})["outputs"][0]["tensor"]
    raises(lambda: f.backward(y, check_nan=True), "RuntimeError", "aten::reciprocal", "at [1]", ", step 1)")


def test_finite_gradients_pass(f):
    x = f.leaf([1, 2])
    z = f.leaf([[1, 2], [3, 4]], "complex64")
    empty = f.leaf([])
    for y, leaf in ((f.op("mul.Tensor", x, x), x), (f.op("abs", f.op("mul.Tensor", z, z)), z), (f.op("exp", empty), empty)):
        s = f.op("sum", y)
        equal(f.backward(s, retain_graph=True), {})
        want = f.grad(leaf)
        f.d.call("grad.zero", tensors=[leaf])
        equal(f.backward(s, check_nan=True), {})
        equal(f.grad(leaf), want)


def test_a_gradient_that_was_not_finite_already_is_no_fault_of_a_step(f):
    x = f.leaf([1, 2])
    y = f.op("neg", f.op("exp", x))
    equal(f.backward(y, gradients=[{"data": ["nan", 1]}], check_nan=True), {})
    equal(f.grad(x)[0], "nan")


def test_steps_after_the_first_are_not_named(f):
    x = f.leaf([1, 0])
    y = f.op("sum", f.op("log", f.op("sqrt", x)))  # the gradient of sqrt is inf because that of log is
    raises(lambda: f.backward(y, check_nan=True), "RuntimeError", "aten::log returned", "at [1]")


def test_sums_and_casts_that_overflow(f):
    x = f.leaf([1], "float16")
    half = {"data": [60000], "dtype": "float16"}
    y, z = f.of(x, "neg"), f.of(x, "clone")
    raises(lambda: f.backward(y, z, gradients=[{"data": [-60000], "dtype": "float16"}, half], check_nan=True), "RuntimeError",
           "the sum of two gradients of a leaf is not finite, at [0], although both are")
    twice = f.of(x, "clone")
    y, z = f.of(twice, "clone"), f.of(twice, "clone")
    raises(lambda: f.backward(y, z, gradients=[half, half], check_nan=True), "RuntimeError", "a tensor returned by aten::clone")
    wide = f.d.call("op.call", op="aten::to.dtype", args=[{"tensor": x}, "float32"])["outputs"][0]["tensor"]
    raises(lambda: f.backward(wide, gradients=[{"data": [1e6]}], check_nan=True), "RuntimeError", "_to_copy", "'self'", "at [0]")
    equal(f.grad(x), None)


def test_views_that_were_written(f):
    x, base = f.leaf([4, 0]), f.d.call("tensor.create", data=[1, 1, 1, 1])["tensor"]
    view = f.of(base, "slice.Tensor", 0, 1, 3)
    f.op("mul_.Tensor", view, x)
    f.op("sqrt_", view)
    raises(lambda: f.backward(f.op("sum", base), check_nan=True), "RuntimeError", "that is not finite", "although", "sqrt_")


main(setup, teardown)
