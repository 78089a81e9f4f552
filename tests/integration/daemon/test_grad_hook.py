"""test_grad_hook.py -- grad.hook: operators that change the gradients of leaves and of tensors that retain theirs."""

import os

from graphs import setup, teardown
from harness import BUILD, equal, main, raises

PLUGIN = os.path.join(BUILD, "tests", "plugins", "wrong_slopes.so")


def hook(f, t, op):
    return f.d.call("grad.hook", tensor=t, op=op and (op if "::" in op else "aten::" + op))["hooks"]


def retaining(f, t):
    f.d.call("op.call", op="aten::retain_grad", args=[{"tensor": t}])
    return t


def grads(f, y, *inputs, **options):
    found = f.backward(y, inputs=[{"tensor": t} for t in inputs], retain_graph=True, **options)["grads"]
    return [g and f.data(g["tensor"]) for g in found]


def test_the_hook_of_a_leaf_gets_the_sum_of_one_backward(f):
    x = f.leaf([1, 2])
    y = f.op("sum", f.op("add.Tensor", f.op("mul.Tensor", x, x), x))  # the gradient is 2x + 1
    equal(hook(f, x, "square"), 1)
    f.backward(y, retain_graph=True)
    equal(f.grad(x), [9, 25])
    f.backward(y, retain_graph=True)  # the sum of both backwards is not squared again
    equal(f.grad(x), [18, 50])
    equal(grads(f, y, x), [[9, 25]])


def test_hooks_run_in_the_order_in_which_they_were_added(f):
    x = f.leaf([3])
    equal([hook(f, x, op) for op in ("neg", "abs", "neg", "exp2")], [1, 2, 3, 4])
    f.backward(f.op("sum", f.of(x, "mul.Scalar", 2)))
    equal(f.grad(x), [0.25])  # exp2(-|-2|)
    equal((hook(f, x, None), hook(f, x, None)), (0, 0))
    f.d.call("grad.zero", tensors=[x])
    f.backward(f.op("sum", f.of(x, "mul.Scalar", 2)))
    equal(f.grad(x), [2])


def test_the_hook_of_a_computed_tensor_changes_what_flows_on(f):
    x = f.leaf([1, 2])
    y = retaining(f, f.of(x, "mul.Scalar", 3))
    z = f.op("sum", f.op("mul.Tensor", y, y))  # the gradient of y is 2y: 6 and 12
    hook(f, y, "neg")
    hook(f, x, "square")
    f.backward(z, retain_graph=True)
    equal((f.grad(y), f.grad(x)), ([-6, -12], [18 ** 2, 36 ** 2]))
    equal(grads(f, z, y, x), [[-6, -12], [324, 1296]])  # inputs get what the hooks returned
    f.d.call("grad.zero", tensors=[x, y])
    raises(lambda: f.d.call("op.call", op="aten::_backward", args=[{"tensor": f.op("neg", y)}, []]), "RuntimeError", "scalar")
    equal(f.backward(z, retain_graph=True, dry=True)["ops"][0]["op"], "aten::sum")
    equal(f.grad(y), None)


def test_a_hook_ends_with_its_tensor(f):
    x = f.leaf([1, 2])
    y = retaining(f, f.of(x, "mul.Scalar", 3))
    z = f.op("sum", f.of(y, "mul.Scalar", 1))
    hook(f, y, "neg")
    equal(grads(f, z, x), [[-3, -3]])
    f.d.call("tensor.release", tensors=[y])
    equal(grads(f, z, x), [[3, 3]])


def test_a_hook_stays_with_the_value_before_a_write(f):
    x = f.leaf([1, 2])
    y = retaining(f, f.of(x, "mul.Scalar", 3))
    hook(f, y, "neg")
    f.op("mul_.Tensor", y, f.d.call("tensor.create", data=[10, 10])["tensor"])
    z = f.op("sum", y)
    f.backward(z)
    equal((f.grad(y), f.grad(x)), ([1, 1], [-30, -30]))


def test_hooks_are_recorded_with_create_graph(f):
    x = f.leaf([2])
    hook(f, x, "square")
    y = f.op("sum", f.op("mul.Tensor", x, x))
    first = f.backward(y, inputs=[{"tensor": x}], create_graph=True)["grads"][0]["tensor"]
    equal(f.data(first), [16])  # (2x)^2
    equal(grads(f, f.op("sum", first), x), [[16 ** 2]])  # 8x, and the hook of x runs again


def test_a_hook_that_fails_changes_nothing(f):
    x, other = f.leaf([1, 2]), f.leaf([3, 4])
    y = retaining(f, f.op("mul.Tensor", x, other))
    z = f.op("sum", y)
    for t in x, y:
        for op, *error in (("sum", "RuntimeError", "hook aten::sum has changed the gradient from float32 [2] on cpu to float32 [] on cpu"),
                           ("isfinite", "RuntimeError", "hook aten::isfinite has changed", "to bool [2] on cpu"),
                           ("inverse", "RuntimeError", "hook aten::inverse: ")):
            hook(f, t, "neg")
            hook(f, t, op)
            raises(lambda: f.backward(z, retain_graph=True), *error)
            equal([f.grad(g) for g in (x, other, y)], [None] * 3)
            hook(f, t, None)
    f.backward(z)
    equal((f.grad(x), f.grad(other)), ([3, 4], [1, 2]))


def test_check_nan_finds_a_hook(f):
    x = f.leaf([1, 0])
    y = retaining(f, f.of(x, "mul.Scalar", 2))
    z = f.op("sum", f.op("mul.Tensor", y, y))  # the gradient of y is 4 and 0
    for t in y, x:
        hook(f, t, "reciprocal")
        raises(lambda: f.backward(z, retain_graph=True, check_nan=True), "RuntimeError",
               "hook aten::reciprocal returned a gradient that is not finite, at [1], although")
        hook(f, t, None)
    hook(f, x, "neg")
    f.backward(z, check_nan=True)
    equal(f.grad(x), [-8, 0])


def test_the_plugin_of_a_hook_can_go(f):
    f.d.call("plugin.load", path=PLUGIN)
    x = f.leaf([3])
    y = f.op("sum", f.op("mul.Tensor", x, x))
    hook(f, x, "slopes::detached")  # the square
    equal(grads(f, y, x), [[36]])
    f.d.call("plugin.unload", plugin="wrong_slopes")
    raises(lambda: f.backward(y, retain_graph=True), "NotFound", "hook slopes::detached: slopes::detached: no plugin defines")
    equal(f.grad(x), None)
    f.d.call("plugin.load", path=PLUGIN)
    equal(grads(f, y, x), [[36]])
    f.d.call("plugin.unload", plugin="wrong_slopes")
    hook(f, x, None)
    equal(grads(f, y, x), [[6]])


def test_what_is_refused(f):
    x, plain = f.leaf([1, 2]), f.d.call("tensor.create", data=[1])["tensor"]
    for t, op, *error in ((plain, "neg", "RuntimeError", "a tensor that doesn't require gradient"),
                          (f.op("exp", x), "neg", "RuntimeError", "does not retain its gradient", "aten::retain_grad"),
                          (x, "add_.Tensor", "TypeError", "(Tensor grad) -> Tensor", "aten::add_.Tensor"),
                          (x, "mul.Tensor", "TypeError", "aten::mul.Tensor"), (x, "max.dim", "TypeError", "aten::max.dim"),
                          (x, "neg_", "TypeError", "writes no argument"), (x, "stack", "TypeError", "aten::stack"),
                          (x, "nowhere", "NotFound", "aten::nowhere"), (999, "neg", "NotFound", "999")):
        raises(lambda: hook(f, t, op), *error)
    raises(lambda: f.d.call("grad.hook", tensor=x), "InvalidParams", "op")
    raises(lambda: f.d.call("grad.hook", tensor=x, op=1), "InvalidParams", "op")
    limit = f.d.call("server.hello")["limits"]["hooks"]
    equal([hook(f, x, "neg") for _ in range(limit)][-1], limit)
    raises(lambda: hook(f, x, "neg"), "ResourceExhausted", f"{limit} hooks already (hooks)")
    f.backward(f.op("sum", x))
    equal(f.grad(x), [1, 1])


main(setup, teardown)
