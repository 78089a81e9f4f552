"""test_gradient_edges.py -- first and second gradients where a function is not smooth: at bounds, at 0, and with
exponents that make a derivative vanish.  The numbers are those of PyTorch 1.13."""

from daemon import TestDaemon
from harness import equal, main

INF, NAN = "inf", "nan"
# operator, arguments (X: the tensor that is differentiated), its elements, first and second gradient
X = object()
EDGES = (
    ("pow.Tensor_Scalar", (X, 1), [0, 1, -1, 2], [1, 1, 1, 1], [0, 0, 0, 0]),
    ("pow.Tensor_Scalar", (X, 2), [0, 1, -1, 2], [0, 2, -2, 4], [2, 2, 2, 2]),
    ("pow.Tensor_Scalar", (X, -1), [0, 1, -1, 2], ["-inf", -1, -1, -0.25], [INF, 2, -2, 0.25]),
    ("pow.Tensor_Scalar", (X, 1.5), [0, 1, -1], [0, 1.5, NAN], [INF, 0.75, NAN]),
    ("pow.Scalar", (0.0, X), [0, 1, 2, -1], [0, 0, 0, "-inf"], [NAN, NAN, NAN, INF]),
    ("pow.Tensor_Tensor", (X, [0, 1, 2, 0.5]), [0, 0, 0, 0], [0, 1, 0, INF], [NAN, 0, 2, "-inf"]),
    ("pow.Tensor_Tensor", ([0, 0, 0, 1], X), [0, 1, 2, 0], [0, 0, 0, 0], [NAN, NAN, NAN, 0]),
    ("logit", (X,), [0, 1, 0.5, -1, 2], [INF, INF, 4, NAN, NAN], [NAN, NAN, 0, 0, 0]),
    ("logit", (X, 0.25), [0, 0.5, 1, -1], [0, 4, 0, 0], [NAN, 0, NAN, 0]),
    ("logit", (X, 0.0), [0, 0.5, 1, -1], [INF, 4, INF, 0], [NAN, 0, NAN, 0]),
    ("var", (X, False), [3], [0], [0]),
    ("std", (X, False), [3, 3], [0, 0], [0, 0]),
)


def setup():
    daemon = TestDaemon()
    daemon.client = daemon.connect()
    return daemon


def teardown(f):
    f.client.close()
    f.finish()


def tensor(f, data, **options):
    return f.client.call("tensor.create", data=data, dtype="float64", **options)["tensor"]


def data(f, t):
    return f.client.call("tensor.read", tensor=t)["data"]


def call(f, op, *args):
    answer = f.client.call("op.call", op="aten::" + op, args=list(args), **{"return": "handle"})
    return answer["outputs"][0]["tensor"]


def gradient(f, y, x, **options):
    total = call(f, "sum", {"tensor": y})
    return f.client.call("grad.backward", tensors=[total], inputs=[x], **options)["grads"][0]["tensor"]


def test_first_and_second_gradients(f):
    for op, args, elements, first, second in EDGES:
        x = tensor(f, elements, requires_grad=True)
        given = [{"tensor": x} if a is X else {"tensor": tensor(f, a)} if isinstance(a, list) else a for a in args]
        once = gradient(f, call(f, op, *given), x, create_graph=True)
        equal(data(f, once), first, f"the gradient of {op}{args[1:]} at {elements}")
        equal(data(f, gradient(f, once, x)), second, f"the second gradient of {op}{args[1:]} at {elements}")
        alone = gradient(f, call(f, op, *given), x)
        equal(data(f, alone), first, f"the gradient of {op}{args[1:]} at {elements}, without create_graph")


def test_a_result_that_is_a_view_of_inner_memory_is_written_in_place(f):
    """The result of embedding is a view of a tensor that no one else sees: the write keeps embedding's gradient."""
    weight = tensor(f, [[1, 2], [3, 4]], requires_grad=True)
    indices = f.client.call("tensor.create", data=[[1, 0, 1]], dtype="int64")["tensor"]
    taken = call(f, "embedding", {"tensor": weight}, {"tensor": indices})
    part = call(f, "select", {"tensor": taken}, 1, 0)
    call(f, "mul_", {"tensor": taken}, 3)
    call(f, "mul_", {"tensor": part}, 2)
    equal(data(f, taken), [[[18, 24], [3, 6], [9, 12]]], "the result after the writes")
    equal(data(f, gradient(f, taken, weight)), [[3, 3], [9, 9]], "the gradient of the weights")


main(setup, teardown)
