"""test_grad_dry.py -- grad.backward with dry: what backward would need, over tensors without memory."""

from graphs import setup, teardown
from harness import equal, less, main, raises


def dry(f, *tensors, **options):
    return f.backward(*tensors, dry=True, **options)


def ops(found):
    return [(o["op"].removeprefix("aten::"), o["calls"], o["saved_bytes"], o["has_formula"]) for o in found["ops"]]


def chain(f, n, release=False):
    """A leaf of 4000 bytes, and the sum of exp(exp(...)) of it; `release`: only the graph keeps the results."""
    x = f.leaf([0.0] * 1000)
    results = [x]
    for _ in range(n):
        results.append(f.op("exp", results[-1]))
    s = f.op("sum", results[-1])
    if release:
        f.d.call("tensor.release", tensors=results[1:])
    return x, s


def test_bytes_are_what_the_arithmetic_says(f):
    x = f.leaf([1.0] * 1000)
    found = dry(f, f.op("sum", f.op("mul.Tensor", x, x)))
    equal(ops(found), [("sum", 1, 0, True), ("mul.Tensor", 1, 8000, True)])
    # x, which is saved; the gradient of the sum; two products, each as large as x
    equal((found["saved_bytes"], found["peak_bytes"]), (4000, 4000 + 4 + 2 * 4000))
    _, s = chain(f, 3, release=True)
    found = dry(f, s)
    equal(ops(found), [("sum", 1, 0, True), ("exp", 3, 12000, True)])
    # at first all three results, the gradient of the sum and one product; then a result goes for each product
    equal((found["saved_bytes"], found["peak_bytes"]), (12000, 12000 + 4 + 4000))
    equal(dry(f, s, retain_graph=True)["peak_bytes"], 12000 + 2 * 4000)
    # what a handle keeps is not freed; nor is a leaf without a handle, which the graph keeps
    _, s = chain(f, 3)
    equal(dry(f, s)["peak_bytes"], 12000 + 2 * 4000)
    x = f.leaf([1.0] * 1000)
    y = f.op("mul.Tensor", x, x)
    s = f.op("sum", f.op("exp", f.op("neg", y)))
    f.d.call("tensor.release", tensors=[x])
    # x; of exp the result, which a handle keeps; products of the gradient by exp, neg and mul, two at a time
    equal(dry(f, s)["peak_bytes"], 4000 + 4000 + 3 * 4000)


def test_gradients_that_are_added(f):
    """A gradient that a leaf has already counts as what backward makes for the sum."""
    x, s = chain(f, 1, release=True)
    equal(dry(f, s, retain_graph=True)["peak_bytes"], 4000 + 4 + 4000)
    f.backward(s, retain_graph=True)
    equal(dry(f, s)["peak_bytes"], 4000 + 4 + 4000)
    equal(f.data(x)[0], 0)


# of bytes_peak, which two threads count: 64 KiB each (dpi_storage_stats())
COUNTED_TOO_LOW = 2 * 65536


def real_peak(make, **options):
    """Peak of backward by dry, by what all storages had together, and the largest operand of its kernels."""
    f = setup()
    s, largest = make(f)
    found = dry(f, s, **options)
    before = f.d.call("server.status")
    f.backward(s, **options)
    after = f.d.call("server.status")
    teardown(f)
    less(before["bytes_peak"], after["bytes_peak"], "the peak is backward's")
    return found["peak_bytes"], after["bytes_peak"] - before["bytes"] + found["saved_bytes"], largest


def made(f, op, *args):
    """The first output; the other outputs are released."""
    outputs = f.d.call("op.call", op="aten::" + op, args=[{"tensor": a} if isinstance(a, T) else a for a in args],
                       **{"return": "handle"})["outputs"]
    f.d.call("tensor.release", tensors=[o["tensor"] for o in outputs[1:]])
    return T(outputs[0]["tensor"])


class T(int):
    """A handle."""


def leaf(f, *sizes):
    return T(f.op("requires_grad_", made(f, "randn", list(sizes))))


def test_a_real_backward_takes_as_much(f):
    def perceptron(f):
        x = made(f, "randn", [256, 256])
        for _ in range(4):
            x = made(f, "relu", made(f, "linear", x, leaf(f, 256, 256), leaf(f, 256)))
        return made(f, "cross_entropy_loss", x, made(f, "randint", 256, [256])), 256 * 256 * 4

    def convolution(f):
        y = made(f, "conv2d", leaf(f, 8, 8, 32, 32), leaf(f, 16, 8, 3, 3), leaf(f, 16), [1, 1], [1, 1])
        return made(f, "sum", made(f, "max_pool2d", made(f, "relu", y), [2, 2])), 8 * 16 * 32 * 32 * 4

    def attention(f):
        q, k, v = (leaf(f, 8, 64, 32) for _ in range(3))
        return made(f, "sum", made(f, "_scaled_dot_product_attention", q, k, v, None, 0.1)), 8 * 64 * 64 * 4

    for make in perceptron, convolution, attention:
        for options in {}, {"retain_graph": True}:
            dry_peak, real, _ = real_peak(make, **options)
            less(abs(dry_peak - real), COUNTED_TOO_LOW + 1, make.__name__)


def test_by_how_much_it_differs(f):
    """A kernel that copies an argument for itself does so only in a real backward, one at a time; and one
    whose results are fakes makes some that a real one computes elsewhere."""
    def upsampling(f):
        y = made(f, "upsample_bilinear2d", leaf(f, 4, 8, 32, 32), [64, 64], False)
        return made(f, "sum", y), 4 * 8 * 64 * 64 * 4

    def pooling(f):
        return made(f, "sum", made(f, "avg_pool2d", leaf(f, 4, 8, 64, 64), [2, 2])), 4 * 8 * 64 * 64 * 4

    def norm(f):
        y = made(f, "layer_norm", leaf(f, 64, 512), [512], leaf(f, 512), leaf(f, 512))
        return made(f, "sum", made(f, "gelu", y)), 64 * 512 * 4

    def statistics(f):
        y = made(f, "batch_norm", leaf(f, 16, 32, 16, 16), leaf(f, 32), leaf(f, 32), None, None, True, 0.1, 1e-5, False)
        return made(f, "sum", y), 16 * 32 * 16 * 16 * 4

    for make in upsampling, pooling, norm, statistics:
        dry_peak, real, largest = real_peak(make)
        less(abs(dry_peak - real), largest + COUNTED_TOO_LOW + 1, make.__name__)


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
