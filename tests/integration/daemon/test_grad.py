"""test_grad.py -- grad.backward, grad.get, grad.set and grad.zero."""

from graphs import Graphs, setup, teardown
from harness import equal, main, raises, wait_until


def test_gradients_add_up_at_leaves_until_they_are_removed(f):
    x = f.leaf([1, 2, 3])
    equal(f.grad(x), None)
    for want in [2, 4, 6], [4, 8, 12]:
        equal(f.backward(f.op("sum", f.op("mul.Tensor", x, x))), {})
        equal(f.grad(x), want)
    equal(f.d.call("grad.zero", tensors=[x]), {"zeroed": 1})
    equal(f.grad(x), None)
    f.d.call("grad.set", tensor=x, grad={"data": [7, 8, 9]})
    equal(f.grad(x), [7, 8, 9])
    f.d.call("grad.set", tensor=x, grad=None)
    equal(f.grad(x), None)


def test_gradients_of_inputs_are_answered(f):
    x, y, unused = f.leaf([2, 3]), f.leaf([5, 7]), f.leaf([1])
    z = f.op("sum", f.op("mul.Tensor", x, f.op("mul.Tensor", x, y)))
    grads = f.backward(z, inputs=[{"tensor": t} for t in (y, x, unused)], create_graph=True)["grads"]
    equal([g and f.data(g["tensor"]) for g in grads], [[4, 9], [20, 42], None])
    equal(f.grad(x), None)
    second = f.backward(f.op("sum", grads[1]["tensor"]), inputs=[{"tensor": x}])["grads"]
    equal(f.data(second[0]["tensor"]), [10, 14])


def test_gradients_add_up_in_the_order_of_the_calls(f):
    """Those of later calls first, whichever threads the requests ran on: single calls and programs have others."""
    def times(x, k, many):
        if many:
            step = {"op": "aten::mul.Scalar", "args": [{"ref": "x"}, k], "as": ["y"]}
            return f.d.call("program.run", steps=[step], outputs=["y"], inputs={"x": {"tensor": x}})["outputs"][0]["tensor"]
        return f.of(x, "mul.Scalar", k)

    x = f.leaf([1])
    for warm in False, True:  # gives the threads of one kind higher numbers, if numbers were the threads'
        for _ in range(100):
            times(x, 1, warm)
        for kinds in (False, False, True), (True, False, False), (False, True, True), (True, True, False):
            ys = [times(x, k, many) for k, many in zip((1.0, 1e8, -1e8), kinds)]  # (-1e8 + 1e8) + 1 is 1
            grads = f.backward(*ys, inputs=[{"tensor": x}], gradients=[{"data": [1]}] * 3)["grads"]
            equal(f.data(grads[0]["tensor"]), [1], f"{warm} {kinds}")


def test_tensors_are_handles_or_objects(f):
    x = f.leaf([1, 2])
    for form in (lambda t: t), (lambda t: {"tensor": t}):
        y = f.op("sum", f.op("mul.Tensor", x, x))
        graph = f.d.call("grad.graph", tensors=[form(y)])
        equal((graph["roots"], len(graph["nodes"])), ([{"tensor": y, "node": 0, "nr": 0}], 3))
        f.d.call("grad.backward", tensors=[form(y)], retain_graph=True)
        grads = f.d.call("grad.backward", tensors=[form(y)], inputs=[form(x)])["grads"]
        equal([f.data(g["tensor"]) for g in grads], [[2, 4]])
        equal(f.data(f.d.call("grad.get", tensor=form(x))["grad"]["tensor"]), [2, 4])
        f.d.call("grad.set", tensor=form(x), grad={"data": [5, 6]})
        equal(f.grad(x), [5, 6])
        equal(f.d.call("grad.zero", tensors=[form(x), form(y)]), {"zeroed": 1})
    for method, params in (("get", {"tensor": 0.5}), ("get", {"tensor": {"tensor": "1"}}), ("get", {"tensor": {}}),
                           ("get", {"tensor": {"tensor": 1, "more": 1}}), ("zero", {"tensors": [0.5]}),
                           ("graph", {"tensors": ["1"]}), ("set", {"tensor": [1]}), ("backward", {"tensors": [0.5]}),
                           ("backward", {"tensors": [None]}), ("backward", {"tensors": [1.5]}),
                           ("backward", {"tensors": [x], "gradients": [x]}), ("set", {"tensor": x, "grad": x})):
        raises(lambda: f.d.call("grad." + method, **params), "InvalidParams")
    for method, params in (("get", {"tensor": 0}), ("get", {"tensor": {"tensor": -1}}), ("get", {"tensor": {"tensor": 99999}}), ("backward", {"tensors": [99999]})):
        raises(lambda: f.d.call("grad." + method, **params), "NotFound", "in this session")


def test_requires_grad_is_shown(f):
    x = f.leaf([1.5])
    y = f.d.call("tensor.describe", tensor=f.op("exp", x))
    equal((y["requires_grad"], f.d.call("tensor.describe", tensor=f.op("detach", x))["requires_grad"]), (True, False))


def test_what_backward_refuses(f):
    x = f.leaf([1, 2])
    y = f.op("exp", x)
    plain = f.d.call("tensor.create", data=[1])["tensor"]
    raises(lambda: f.backward(y), "RuntimeError", "only for scalar outputs", "2 elements")
    raises(lambda: f.backward(plain), "RuntimeError", "does not require grad")
    raises(lambda: f.backward(y, gradients=[{"data": [1, 2, 3]}]), "RuntimeError", "shape")
    raises(lambda: f.backward(y, gradients=[]), "InvalidParams", "1 tensors and 0 gradients")
    raises(lambda: f.backward(y, inputs=[]), "RuntimeError", "'inputs' argument to backward() cannot be empty.")
    raises(lambda: f.d.call("grad.set", tensor=x, grad={"tensor": x}), "RuntimeError", "as its own grad")
    raises(lambda: f.op("add_.Tensor", x, x), "RuntimeError", "leaf Variable that requires grad")
    f.op("mul_.Tensor", y, y)
    raises(lambda: f.backward(f.op("sum", y)), "RuntimeError", "modified by an inplace operation", "expected version 0")
    s = f.op("sum", f.op("mul.Tensor", x, x))
    f.backward(s)
    raises(lambda: f.backward(s), "RuntimeError", "a second time")
    integers = f.d.call("tensor.create", data=[1], dtype="int64")["tensor"]
    raises(lambda: f.op("requires_grad_", integers), "RuntimeError", "floating point", "int64")


def test_a_view_of_a_written_base_knows_of_it(f):
    base = f.d.call("tensor.create", data=[0, 0, 0, 0])["tensor"]
    first = f.d.call("op.call", op="aten::slice.Tensor", args=[{"tensor": base}, 0, 0, 2])["outputs"][0]["tensor"]
    other = f.d.call("op.call", op="aten::slice.Tensor", args=[{"tensor": base}, 0, 1, 3])["outputs"][0]["tensor"]
    x = f.leaf([3, 4])
    f.op("add_.Tensor", first, x)
    equal([f.d.call("tensor.describe", tensor=t)["requires_grad"] for t in (base, first, other)], [True] * 3)
    f.backward(f.op("sum", f.op("mul.Tensor", other, other)))
    equal((f.data(other), f.grad(x)), ([4, 0], [0, 8]))


def test_views_without_history_are_not_written(f):
    x = f.leaf([1, 2, 3])
    for op, args in (("mul_.Scalar", [10]), ("zero_", [])):
        base = f.of(x, "mul.Scalar", 2)
        view = f.d.call("op.call", op="aten::slice.Tensor", args=[{"tensor": base}, 0, 0, 2], grad_enabled=False,
                        **{"return": "handle"})["outputs"][0]["tensor"]
        raises(lambda: f.of(view, op, *args), "RuntimeError", "a view was created in no_grad mode and is being modified inplace")
        f.d.call("op.call", op="aten::" + op, args=[{"tensor": view}, *args], grad_enabled=False)  # not tracked
        f.backward(f.op("sum", base))
        equal(f.grad(x), [2, 2, 2])
        f.d.call("grad.zero", tensors=[x])
        detached = f.of(f.of(base, "detach"), "slice.Tensor", 0, 0, 2)
        f.of(detached, op, *args)  # a detached tensor is no view of its base
        plain = f.d.call("tensor.create", data=[1, 2, 3])["tensor"]
        view = f.of(plain, "slice.Tensor", 0, 0, 2)
        f.of(view, op, *args)
        f.of(plain, "requires_grad_")
        raises(lambda: f.of(view, op, *args), "RuntimeError", "a view of a leaf Variable that requires grad")


def test_operators_over_lists_record_a_call_for_each_element(f):
    x, y = f.leaf([1, 2]), f.leaf([3])
    lists = [[{"tensor": x}, {"tensor": y}], [{"tensor": y}, {"tensor": y}]]
    a, b = (t["tensor"] for t in f.d.call("op.call", op="aten::_foreach_mul.List", args=lists)["outputs"][0])
    f.d.call("op.call", op="aten::_foreach_maximum_.List", args=[[{"tensor": a}, {"tensor": b}], [{"tensor": y}] * 2])
    equal((f.data(a), f.data(b)), ([3, 6], [9]))
    f.backward(f.op("sum", a))
    equal((f.grad(x), f.grad(y)), ([1.5, 3], [3]))
    raises(lambda: f.d.call("op.call", op="aten::_foreach_zero_", args=[[{"tensor": x}]]), "RuntimeError", "leaf Variable")


def test_an_operator_without_a_formula_fails_in_backward(f):
    x = f.leaf([1, 2])
    y = f.op("floor_divide", x, x)
    equal(f.d.call("tensor.describe", tensor=y)["requires_grad"], True)
    raises(lambda: f.backward(f.op("sum", y)), "NotImplementedError", "the derivative for 'aten::floor_divide' is not implemented")
    equal(f.grad(x), None)


def test_sparse_gradients_are_refused_in_backward(f):
    x, indices = f.leaf([[1, 2], [3, 4]]), [{"data": [[0, 1]], "dtype": "int64"}]
    flat = {"data": [1, 0], "dtype": "int64"}
    for op, args, kwargs in (("gather", [0, *indices], {"sparse_grad": True}), ("embedding", [flat, -1, False, True], {}),
                             ("embedding_bag", [flat, {"data": [0], "dtype": "int64"}, False, 0, True], {})):
        y = f.d.call("op.call", op="aten::" + op, args=[{"tensor": x}, *args], kwargs=kwargs)["outputs"][0]["tensor"]
        raises(lambda: f.backward(f.op("sum", y)), "NotImplementedError", "the derivative of aten::" + ("_" if "bag" in op else "") + op, "sparse")
    equal(f.grad(x), None)


def test_geometry_changed_in_place_is_of_the_view_alone(f):
    x = f.leaf([[1, 2, 3], [4, 5, 6]])
    base = f.of(x, "mul.Scalar", 2)
    view = f.of(base, "slice.Tensor", 1, 0, 2)
    f.of(view, "t_")
    f.op("square_", view)
    f.backward(f.op("sum", base), retain_graph=True)
    equal(f.grad(x), [[8, 16, 2], [32, 40, 2]])
    f.d.call("grad.zero", tensors=[x])
    f.backward(f.op("sum", f.of(view, "select.int", 0, 1)))
    equal(f.grad(x), [[0, 16, 0], [0, 40, 0]])


def test_detaching_in_place(f):
    before, x = f.history(), f.leaf([1, 2])
    y = f.of(x, "mul.Scalar", 2)
    equal(f.history(), before + 1)
    for t in y, x:
        f.op("detach_", t)
        equal(f.d.call("tensor.describe", tensor=t)["requires_grad"], False)
    equal(f.history(), before)


def test_results_written_through_a_view_are_differentiated_twice(f):
    x = f.leaf([1, 2, 0])
    base = f.op("clone", x)
    f.op("square_", f.of(base, "slice.Tensor", 0, 0, 2))
    f.op("reciprocal_", f.of(base, "slice.Tensor", 0, 0, 2))  # x ** -2, saved as its result
    first = f.backward(f.op("sum", base), inputs=[{"tensor": x}], create_graph=True)["grads"][0]["tensor"]
    equal(f.data(first), [-2, -0.25, 1])
    f.backward(f.op("sum", first))
    equal(f.grad(x), [6, 0.375, 0])


def test_a_gradient_lies_like_its_leaf(f):
    for strides, want in ([1, 2], [1, 2]), ([3, 1], [3, 1]), ([6, 2], [3, 1]), ([0, 1], [3, 1]):
        flat = f.d.call("tensor.create", data=[1] * 11)["tensor"]
        x = f.of(f.of(flat, "as_strided", [2, 3], strides), "detach")
        f.op("requires_grad_", x)
        for total in 1, 2:  # a new gradient, and what is added to it
            f.backward(f.op("sum", x))
            grad = f.d.call("grad.get", tensor=x)["grad"]
            equal((grad["strides"], f.data(grad["tensor"])), (want, [[total] * 3] * 2), f"strides {strides}")


def test_out_is_refused_where_its_history_would_be_lost(f):
    x, a, b = f.leaf([[1, 3], [2, 4]]), f.leaf([1, 2]), f.leaf([3, 4])
    out = f.d.call("tensor.create", data=[0, 0])["tensor"]
    for op, args in ("exp", [a]), ("square", [a]), ("mv", [x, a]), ("matmul", [x, a]), ("linalg_multi_dot", [[{"tensor": x}, {"tensor": a}]]):
        args = [{"tensor": t} if isinstance(t, int) else t for t in args]
        raises(lambda: f.d.call("op.call", op=f"aten::{op}.out", args=args, kwargs={"out": {"tensor": out}}), "RuntimeError",
               "functions with out=... arguments don't support automatic differentiation")
    equal(f.data(out), [0, 0])
    indices = f.d.call("tensor.create", data=[0, 0], dtype="int64")["tensor"]
    f.d.call("op.call", op="aten::argmax.out", args=[{"tensor": x}, 1], kwargs={"out": {"tensor": indices}})
    f.d.call("op.call", op="aten::heaviside.out", args=[{"tensor": a}, {"tensor": b}], kwargs={"out": {"tensor": out}})
    equal((f.data(indices), f.data(out)), ([1, 1], [1, 1]))
    equal(f.d.call("tensor.describe", tensor=out)["requires_grad"], False)
    f.d.call("session.set", grad_enabled=False)
    f.d.call("op.call", op="aten::square.out", args=[{"tensor": b}], kwargs={"out": {"tensor": out}})
    f.d.call("session.set", grad_enabled=True)
    equal(f.data(out), [9, 16])


def test_losses_that_depend_on_a_phase(f):
    """Complex eigenvectors and singular vectors are given up to e^{i phi}: as PyTorch, backward fails if the loss
    depends on phi."""
    def outputs(op, *args):
        given = [{"tensor": a} if isinstance(a, int) else a for a in args]
        return [o["tensor"] for o in f.d.call("op.call", op="aten::" + op, args=given, **{"return": "handle"})["outputs"]]

    a, = outputs("complex", f.leaf([[1, 2, -1], [0.5, 3, 1], [2, -1, 0.25]]), f.leaf([[0.5, -1, 2], [1, 0, -3], [-2, 1, 1]]))
    hermitian, = outputs("matmul", a, f.of(a, "mH"))
    for op, matrix, error in (
            ("linalg_svd", a, "svd_backward: The singular vectors in the complex case are specified up to multiplication by "
                              "e^{i phi}. The specified loss function depends on this phase term, making it ill-defined."),
            ("linalg_eig", a, "linalg_eig_backward: The eigenvectors in the complex case are specified up to multiplication by "
                              "e^{i phi}. The specified loss function depends on this quantity, so it is ill-defined."),
            ("linalg_eigh", hermitian, "linalg_eigh_backward: The eigenvectors in the complex case are specified")):
        u = outputs(op, matrix)
        vectors = u[0] if op == "linalg_svd" else u[1]
        raises(lambda: f.backward(f.op("sum", f.op("real", vectors)), retain_graph=True), "RuntimeError", error)
        f.backward(f.op("sum", f.op("abs", vectors)), retain_graph=True)
        f.backward(f.op("sum", f.op("real", vectors)), retain_graph=True, dry=True)
    u, _, vh = outputs("linalg_svd", a)
    raises(lambda: f.backward(f.op("sum", f.op("real", vh)), retain_graph=True), "RuntimeError", "svd_backward: The singular")
    f.backward(f.op("sum", f.op("real", f.op("matmul", u, vh))))
    raises(lambda: f.d.call("grad.check", op="aten::linalg_svd", args=[{"tensor": f.op("detach", a)}]), "RuntimeError", "svd_backward")


def test_nothing_is_left_of_a_session(f):
    before = f.d.call("server.status")["tensors"]
    with f.daemon.connect() as d:
        g = Graphs(f.daemon, d)
        x = g.leaf([1, 2])
        y = x
        for _ in range(100):
            y = g.op("mul.Tensor", y, x)
        equal(g.history(), 100)
        d.call("tensor.release", all=True)
        equal(g.history(), 0)
        z = g.op("sum", g.op("exp", g.leaf([1])))
        equal(g.history(), 2)
        g.data(z)
    wait_until(lambda: f.d.call("server.status")["tensors"] == before, "the session's tensors are gone")


main(setup, teardown)
