"""test_grad_dry.py -- grad.backward with dry: what backward would need, over tensors without memory."""

from graphs import setup, teardown
from harness import equal, less, main, raises


def dry(f, *tensors, **options):
    return f.backward(*tensors, dry=True, **options)


def ops(found):
    return [(o["op"].removeprefix("aten::"), o["calls"], o["saved_bytes"], o["has_formula"]) for o in found["ops"]]


def chain(f, n):
    """A leaf of 4000 bytes, and the sum of exp(exp(...)) of it."""
    x = f.leaf([0.0] * 1000)
    y = x
    for _ in range(n):
        y = f.op("exp", y)
    return x, f.op("sum", y)


def test_bytes_are_what_the_arithmetic_says(f):
    x = f.leaf([1.0] * 1000)
    found = dry(f, f.op("sum", f.op("mul.Tensor", x, x)))
    equal(ops(found), [("sum", 1, 0, True), ("mul.Tensor", 1, 8000, True)])
    # x, which is saved; the gradient of the sum; two products, each as large as x
    equal((found["saved_bytes"], found["peak_bytes"]), (4000, 4000 + 4 + 2 * 4000))
    _, s = chain(f, 3)
    found = dry(f, s)
    equal(ops(found), [("sum", 1, 0, True), ("exp", 3, 12000, True)])
    # at first all three results, the gradient of the sum and one product; then a result goes for each product
    equal((found["saved_bytes"], found["peak_bytes"]), (12000, 12000 + 4 + 4000))
    equal(dry(f, s, retain_graph=True)["peak_bytes"], 12000 + 2 * 4000)


def test_nothing_changes(f):
    x, s = chain(f, 2)
    y = f.op("neg", x)
    f.d.call("op.call", op="aten::retain_grad", args=[{"tensor": y}])
    t = f.op("add.Tensor", s, f.op("sum", f.of(y, "dropout", 0.5, True)))
    before = f.d.call("session.get")["account"], f.d.call("server.status")["tensors"], f.d.call("grad.graph", tensors=[t])
    state = f.d.call("session.get")
    for options in {}, {"retain_graph": True}, {"create_graph": True}, {"inputs": [{"tensor": x}]}:
        found = dry(f, t, **options)
        equal("grads" in found, False)
        less(0, found["peak_bytes"])
    raises(lambda: dry(f, x), "RuntimeError", "only for scalar outputs")
    equal((f.d.call("session.get")["account"], f.d.call("server.status")["tensors"], f.d.call("grad.graph", tensors=[t])), before)
    equal(f.d.call("session.get"), state)
    equal((f.grad(x), f.grad(y)), (None, None))
    f.backward(t)
    equal(f.data(x)[0], 0)
    raises(lambda: dry(f, t), "RuntimeError", "a second time")


def test_operators_without_a_formula_are_listed(f):
    a = f.leaf([[1, 2], [3, 5]])
    y = f.op("sum", f.op("floor_divide", f.op("exp", a), a))
    equal(ops(dry(f, y)), [("sum", 1, 0, True), ("floor_divide", 1, 0, False), ("exp", 1, 16, True)])
    raises(lambda: f.backward(y), "NotImplementedError", "floor_divide")


def test_what_depends_on_elements_fails_by_name(f):
    a = f.leaf([[1, 2], [3, 5]])
    mask = f.d.call("tensor.create", data=[[True, False], [True, True]])["tensor"]
    y = f.d.call("op.call", op="aten::index.Tensor", args=[{"tensor": a}, [{"tensor": mask}]])["outputs"][0]["tensor"]
    raises(lambda: dry(f, f.op("sum", y)), "NotImplementedError", "aten::index.Tensor", "aten::nonzero", "(backward of aten::index.Tensor, request ")
    equal(f.grad(a), None)
    f.backward(f.op("sum", y))
    equal(f.grad(a), [[1, 0], [1, 1]])


def test_views_that_were_written(f):
    base, z = f.d.call("tensor.create", data=[0, 0, 0, 0])["tensor"], f.leaf([2, 3])
    view = f.of(base, "slice.Tensor", 0, 1, 3)
    f.op("mul_.Tensor", view, z)
    s = f.op("sum", base)
    equal(ops(dry(f, s)), [("sum", 1, 0, True), ("mul_.Tensor", 1, 8, True)])
    f.backward(s)
    equal(f.grad(z), [0, 0])


def test_a_graph_of_fakes(f):
    fake = f.d.call("tensor.create", shape=[1000, 1000], dtype="float32", device="meta")["tensor"]
    f.op("requires_grad_", fake)
    found = dry(f, f.op("sum", f.op("mm", fake, fake)))
    equal((found["saved_bytes"], ops(found)), (4000000, [("sum", 1, 0, True), ("mm", 1, 8000000, True)]))
    less(12000000 - 1, found["peak_bytes"])


def test_it_ends_at_its_deadline(f):
    _, s = chain(f, 2)
    raises(lambda: dry(f, s, deadline_ms=0), "DeadlineExceeded")


main(setup, teardown)
