"""test_grad_tensors.py -- what a tensor remembers for gradients: retain_grad, output_nr, set_data, and what is answered of it."""

from graphs import setup, teardown
from harness import equal, main, raises


def value(f, op, *args):
    return f.d.call("op.call", op="aten::" + op, args=[{"tensor": a} if type(a) is int else a for a in args])["outputs"]


def test_retained_gradients_add_up(f):
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    value(f, "retain_grad", y)
    equal((value(f, "retains_grad", y), value(f, "retains_grad", x), f.grad(y)), ([True], [False], None))
    z = f.op("sum", f.op("mul.Tensor", y, y))
    f.backward(z, retain_graph=True)
    equal((f.grad(y), f.grad(x)), ([2, 8], [4, 32]))
    value(f, "retain_grad", y)
    f.backward(z, inputs=[{"tensor": x}], retain_graph=True)  # it is passed on the way to x
    equal((f.grad(y), f.grad(x)), ([4, 16], [4, 32]))
    f.backward(z, inputs=[{"tensor": y}])  # and not run for its own
    equal(f.grad(y), [4, 16])
    f.d.call("grad.zero", tensors=[y])
    equal((f.grad(y), value(f, "retains_grad", y)), (None, [True]))


def test_a_failed_backward_changes_no_retained_gradient(f):
    x = f.leaf([1, 2])
    e = f.op("exp", x)
    y = f.op("mul.Tensor", e, e)
    value(f, "retain_grad", y)
    z = f.op("sum", y)
    f.op("add_.Tensor", e, 1)
    raises(lambda: f.backward(z), "RuntimeError", "modified by an inplace operation")
    equal(f.grad(y), None)


def test_a_retained_gradient_is_that_of_the_last_write(f):
    x = f.leaf([1, 2])
    y, v = f.op("mul.Tensor", x, {"data": [2, 2]}), f.op("mul.Tensor", x, {"data": [2, 2]})
    value(f, "retain_grad", y)
    f.op("mul_.Tensor", y, {"data": [3, 3]})
    f.backward(f.op("sum", y))
    equal((f.grad(y), f.grad(x)), ([1, 1], [6, 6]))
    # a base that is written through a view: that of what it was before
    value(f, "retain_grad", v)
    f.op("mul_.Tensor", f.op("slice.Tensor", v, {"int": 0}, {"int": 0}, {"int": 1}), {"data": [2]})
    f.backward(f.op("sum", v))
    equal(f.grad(v), [2, 1])
    # a view that was written has it when it is used again, but not when only its base is
    for uses in 1, 2:
        base = f.op("mul.Tensor", x, {"data": [2, 2]})
        part = f.op("slice.Tensor", base, {"int": 0}, {"int": 0}, {"int": 1})
        value(f, "retain_grad", part)
        f.op("mul_.Tensor", part, {"data": [2]})
        f.backward(*[f.op("sum", t) for t in (base, part)[:uses]])
        equal(f.grad(part), [None, [1]][uses - 1])
    # a value that was overwritten before backward has none
    y = f.op("mul.Tensor", x, {"data": [2, 2]})
    value(f, "retain_grad", y)
    z = f.op("neg", y)
    f.op("add_.Tensor", y, {"data": [1, 1]})
    f.backward(f.op("sum", z))
    equal((f.grad(y), value(f, "retains_grad", y)), (None, [True]))
    # a view whose base is written: that of the view made anew
    base = f.op("mul.Tensor", x, {"data": [2, 2]})
    part = f.op("slice.Tensor", base, {"int": 0}, {"int": 0}, {"int": 1})
    value(f, "retain_grad", part)
    f.op("mul_.Tensor", base, {"data": [2, 2]})
    f.backward(f.op("sum", part))
    equal(f.grad(part), [1])


def test_what_retain_grad_refuses(f):
    plain = f.d.call("tensor.create", data=[1])["tensor"]
    raises(lambda: value(f, "retain_grad", plain), "RuntimeError", "can't retain_grad on Tensor that has requires_grad=False")
    x = f.leaf([1, 2])
    equal((value(f, "retain_grad", x), value(f, "retains_grad", x)), ([], [False]))


def test_output_nr(f):
    x = f.leaf([1, 2, 3, 4, 5, 6])
    parts = f.d.call("op.call", op="aten::split.Tensor", args=[{"tensor": x}, 2])["outputs"][0]
    equal([value(f, "output_nr", t["tensor"]) for t in parts], [[0], [1], [2]])
    equal(value(f, "output_nr", x), [0])


def test_backward_as_an_operator(f):
    x, w = f.leaf([1, 2]), f.leaf([3, 4])
    y = f.op("mul.Tensor", x, x)
    z = f.op("mul.Tensor", y, w)
    equal(value(f, "_backward", f.op("sum", z), [], None, True), [])
    equal((f.grad(x), f.grad(w)), ([6, 16], [1, 4]))
    value(f, "_backward", f.op("sum", z), [{"tensor": w}, {"tensor": y}], None, True)
    equal((f.grad(x), f.grad(w), f.grad(y), value(f, "retains_grad", y)), ([6, 16], [2, 8], [3, 4], [True]))
    value(f, "_backward", z, [{"tensor": x}, {"tensor": y}], {"data": [1, 1]})
    equal((f.grad(x), f.grad(y)), ([12, 32], [6, 8]))
    raises(lambda: value(f, "_backward", z, [], {"data": [1, 1]}), "RuntimeError", "a second time")
    raises(lambda: value(f, "_backward", z, []), "RuntimeError", "only for scalar outputs")
    plain = f.d.call("tensor.create", data=[1])["tensor"]
    raises(lambda: value(f, "_backward", plain, []), "RuntimeError", "does not require grad")
    raises(lambda: value(f, "_backward", f.op("sum", y), [{"tensor": plain}]), "RuntimeError", "can't retain_grad")


def test_set_data(f):
    x = f.leaf([1, 2])
    f.d.call("grad.set", tensor=x, grad={"data": [1, 1]})
    new = f.d.call("tensor.create", data=[5, 6, 7])["tensor"]
    f.op("add_.Tensor", new, {"data": [1, 1, 1]})
    value(f, "set_data", x, new)
    about = f.d.call("tensor.describe", tensor=x)
    storage = f.d.call("tensor.describe", tensor=new)["storage"]
    equal((f.data(x), about["version"], about["requires_grad"], about["storage"], f.grad(x)),
          ([6, 7, 8], 0, True, storage, [1, 1]))
    # history stays; what was saved of a leaf is its new elements, of a result the old ones
    y = f.leaf([1, 2])
    squares, exps = f.op("sum", f.op("mul.Tensor", y, y)), f.op("exp", y)
    value(f, "set_data", y, f.d.call("tensor.create", data=[9, 9])["tensor"])
    value(f, "set_data", exps, f.d.call("tensor.create", data=[9, 9])["tensor"])
    equal(f.d.call("tensor.describe", tensor=exps)["requires_grad"], True)
    f.backward(squares)
    f.backward(f.op("sum", exps))
    equal((f.data(exps), [round(g, 3) for g in f.grad(y)]), ([9, 9], [20.718, 25.389]))


def test_what_set_data_refuses(f):
    x, plain = f.leaf([1, 2]), f.d.call("tensor.create", data=[1, 2])["tensor"]
    for t, data, words in (
        (x, {"data": [1], "dtype": "int64"}, ("RuntimeError", "requires gradients must be floating point or complex")),
        (x, {"data": [1], "device": "meta"}, ("RuntimeError", "incompatible tensor type")),
        (plain, {"data": [1], "dtype": "float64"}, ("NotImplementedError", "float32", "float64")),
    ):
        raises(lambda: value(f, "set_data", t, data), *words)
    z = f.d.call("tensor.create", data=[[1, 2]], dtype="complex64")["tensor"]
    raises(lambda: value(f, "set_data", z, f.op("_conj", z)), "NotImplementedError", "resolve_conj")
    equal((f.data(x), f.data(plain)), ([1, 2], [1, 2]))


def test_detach_in_place(f):
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    f.op("detach_", y)
    f.op("detach_", x)
    equal([(t["requires_grad"], t["is_leaf"], t["version"]) for t in (f.d.call("tensor.describe", tensor=t) for t in (x, y))],
          [(False, True, 0)] * 2)
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    f.d.call("session.set", grad_enabled=False)
    f.op("detach_", y)
    equal(f.d.call("tensor.describe", tensor=y)["requires_grad"], False)
    f.d.call("session.set", grad_enabled=True)
    view = f.op("slice.Tensor", f.op("mul.Tensor", x, x))
    raises(lambda: f.op("detach_", view), "RuntimeError", "Can't detach views in-place")


def test_requires_grad_of_a_new_tensor(f):
    x = f.d.call("tensor.create", data=[1, 2], requires_grad=True)
    equal(x["requires_grad"], True)
    f.backward(f.op("sum", f.op("mul.Tensor", x["tensor"], x["tensor"])))
    equal(f.grad(x["tensor"]), [2, 4])
    equal(f.d.call("tensor.create", data=[1, 2], requires_grad=False)["requires_grad"], False)
    equal(f.d.call("tensor.create", shape=[2], dtype="bfloat16", device="meta", requires_grad=True)["requires_grad"], True)
    for dtype in "int64", "bool":
        raises(lambda: f.d.call("tensor.create", data=[1], dtype=dtype, requires_grad=True), "RuntimeError",
               "only Tensors of floating point and complex dtype can require gradients", dtype)
    equal(f.d.call("tensor.create", data=[1], dtype="int64", requires_grad=False)["requires_grad"], False)


def test_mode_of_one_request(f):
    x = f.leaf([1, 2])

    def recorded(method="op.call", **mode):
        params = {"op": "aten::exp", "args": [{"tensor": x}]}
        if method == "program.run":
            params = {"steps": [{"op": "aten::exp", "args": [{"ref": "x"}], "as": ["y"]}], "outputs": ["y"],
                      "inputs": {"x": {"tensor": x}}}
        return f.d.call(method, **params, **mode)["outputs"][0]["requires_grad"]

    for method in "op.call", "program.run":
        equal([recorded(method, **mode) for mode in ({}, {"grad_enabled": False}, {"inference": True}, {})],
              [True, False, False, True])
        f.d.call("session.set", grad_enabled=False)
        equal([recorded(method, **mode) for mode in ({}, {"grad_enabled": True}, {"grad_enabled": True, "inference": True}, {})],
              [False, True, False, False])
        f.d.call("session.set", grad_enabled=True, inference=True)
        equal([recorded(method, **mode) for mode in ({}, {"inference": False}, {})], [False, True, False])
        f.d.call("session.set", inference=False)
    raises(lambda: recorded(grad_enabled=1), "InvalidParams", "grad_enabled")
    raises(lambda: f.d.call("op.call", op="aten::no_such", args=[], grad_enabled=False), "NotFound")
    equal(recorded(), True)
    # each request of a batch has its own
    batch = [{"jsonrpc": "2.0", "id": i, "method": "op.call", "params": {"op": "aten::exp", "args": [{"tensor": x}], **mode}}
             for i, mode in enumerate(({"grad_enabled": False}, {}))]
    f.d.send_message(batch)
    equal([a["result"]["outputs"][0]["requires_grad"] for a in f.d.receive_message()], [False, True])


def test_what_is_described(f):
    x = f.leaf([1, 2])
    y = f.op("mul.Tensor", x, x)
    view = f.op("slice.Tensor", y)
    value(f, "retain_grad", y)
    names = "is_leaf", "grad_fn", "output_nr", "retains_grad", "requires_grad", "grad", "base"

    def about(t):
        a = f.d.call("tensor.describe", tensor=t)
        return [a.get(n) for n in names]

    equal(about(x), [True, None, 0, False, True, None, None])
    equal(about(y), [False, "aten::mul.Tensor", 0, True, True, None, None])
    equal(about(view), [False, "aten::slice.Tensor", 0, False, True, None, y])
    f.backward(f.op("sum", y))
    grad = f.d.call("tensor.describe", tensor=x)["grad"]
    equal((grad["shape"], grad["dtype"], "tensor" in grad), ([2], "float32", False))
    handle = f.d.call("grad.get", tensor=x)["grad"]["tensor"]
    equal(f.d.call("tensor.describe", tensor=x)["grad"]["tensor"], handle)
    ids = [f.d.call("tensor.describe", tensor=t)["id"] for t in (x, y, view, x)]
    equal((len(set(ids)), ids[0] == ids[3]), (3, True))
    # a view whose base was written has the history that it will get
    plain = f.d.call("tensor.create", data=[0, 0])["tensor"]
    first, other = f.op("slice.Tensor", plain), f.op("slice.Tensor", plain)
    f.op("add_.Tensor", first, x)
    equal(about(other)[:2], [False, "as_strided"])


def test_forward_mode_is_refused_by_name(f):
    for x in f.leaf([1, 2]), f.d.call("tensor.create", data=[1, 2])["tensor"]:
        for op, args in ("_make_dual", (x, x, {"int": "0"})), ("_fw_primal", (x, {"int": "0"})), ("_unpack_dual", (x, {"int": "0"})):
            raises(lambda: value(f, op, *args), "NotImplementedError", f"aten::{op}", "forward mode")


main(setup, teardown)
