"""test_facts.py -- questions about tensors, numbers and dtypes, casts by name, factories' out=, pad_sequence."""

from harness import equal, main, raises
from daemon import TestDaemon


def setup():
    daemon = TestDaemon().__enter__()
    return daemon, daemon.connect()


def teardown(fixture):
    fixture[1].close()
    fixture[0].__exit__(None, None, None)


def t(data, dtype="float32"):
    return {"data": data, "dtype": dtype}


def test_answers(fixture):
    d = fixture[1]
    for name, args, want in (
            ("can_cast", ["float32", "int64"], False), ("can_cast", ["int64", "bfloat16"], True),
            ("promote_types", ["float16", "bfloat16"], "float32"), ("promote_types", ["uint8", "int8"], "int16"),
            ("result_type.Tensor", [t([1], "int64"), t([1])], "float32"),
            ("result_type.Scalar", [t([1], "int64"), 2.5], "float32"),
            ("result_type.Scalar", [t([1], "int8"), 1000], "int8"),
            ("result_type.Scalar_Tensor", [2.5, t([1], "float16")], "float16"),
            ("result_type.Scalar_Scalar", [1, True], "int64"),
            ("is_same_size", [t([1]), t([2])], True), ("is_same_size", [t([1]), t([[1]])], False),
            ("is_floating_point", [t([1], "bfloat16")], True), ("is_complex", [t([1])], False),
            ("is_signed", [t([1], "bool")], False), ("is_signed", [t([1], "int8")], True),
            ("is_conj", [t([1])], False), ("is_neg", [t([1])], False),
            ("is_nonzero", [t([[0.5]])], True), ("is_nonzero", [t(0, "bool")], False),
            ("size.int", [t([[1, 2, 3]]), -1], 3), ("stride.int", [t([[1, 2, 3]]), 0], 3)):
        equal(d.op("aten::" + name, *args), want, f"{name} {args}")
    raises(lambda: d.op("aten::is_nonzero", t([])), "RuntimeError", "no values is ambiguous")
    raises(lambda: d.op("aten::is_nonzero", t([1, 2])), "RuntimeError", "more than one value is ambiguous")
    raises(lambda: d.op("aten::size.int", t(1), 0), "IndexError", "tensor has no dimensions")
    raises(lambda: d.op("aten::stride.int", t([1]), 1), "IndexError", "Dimension out of range")


def test_casts_and_shapes(fixture):
    d = fixture[1]
    for name, dtype in (("Byte", "uint8"), ("Char", "int8"), ("Double", "float64"), ("Float", "float32"),
                        ("Half", "float16"), ("Int", "int32"), ("Long", "int64"), ("Short", "int16")):
        equal(d.op("aten::_cast_" + name, t([1, 2]), returns="data")["dtype"], dtype, name)
    shape = d.op("aten::_shape_as_tensor", t([[1, 2, 3]]), returns="data")
    equal((shape["dtype"], shape["data"]), ("int64", [1, 3]))
    for name in ("lift", "lift_fresh", "lift_fresh_copy", "data"):
        equal(d.op("aten::" + name, t([1, 2]), returns="data")["data"], [1, 2])


def test_storages(fixture):
    d = fixture[1]
    keep = lambda *args: {"tensor": d.op(*args)["tensor"]}
    a = keep("aten::arange", 4)
    b = keep("aten::data", a)
    equal(d.op("aten::is_set_to", a, b), True)
    d.op("aten::add_.Scalar", b, 1)
    equal((d.op("aten::_version", a), d.op("aten::_version", b)), (0, 1))
    d.op("aten::detach_", a)
    equal(d.op("aten::_version", a), 0)
    view = keep("aten::view", a, [2, 2])
    raises(lambda: d.op("aten::detach_", view), "RuntimeError", "Can't detach views in-place")
    d.op("aten::set_.source_Tensor_storage_offset", view, a, 1, [3])
    equal((d.op("aten::is_set_to", a, view), d.op("aten::_has_same_storage_numel", a, view)), (False, True))
    raises(lambda: d.op("aten::_assert_tensor_metadata", a, [4], [2]), "RuntimeError", "Tensor strides mismatch")
    raises(lambda: d.op("aten::_assert_async", t([0])), "RuntimeError", "but got zero")


def test_out(fixture):
    d = fixture[1]
    for name, args, dtype, want in (("zeros.out", [[2, 2]], "float32", [[0, 0], [0, 0]]), ("ones.out", [[2]], "int64", [1, 1]),
                                    ("full.out", [[3], 2.5], "int64", [2, 2, 2]), ("arange.out", [3], "float32", [0, 1, 2]),
                                    ("max.out", [t([1, 5]), t([2, 2])], "float32", [2, 5]),
                                    ("min.out", [t([1, 5]), t([2, 2])], "float64", [1, 2])):
        out = {"tensor": d.op("aten::zeros", [0], dtype=dtype)["tensor"]}
        d.op("aten::" + name, *args, out=out)
        equal(d.call("tensor.read", **out)["data"], want, name)
    raises(lambda: d.op("aten::full.out", [2, -1], 1, out=out), "RuntimeError", "negative")
    raises(lambda: d.op("aten::zeros.out", [1] * 65, out=out), "RuntimeError", "64 dimensions")


def test_pad_sequence(fixture):
    d = fixture[1]
    pad = lambda *args: d.op("aten::pad_sequence", *args, returns="data")["data"]
    equal(pad([t([1, 2]), t([3])]), [[1, 3], [2, 0]])
    equal(pad([t([1, 2]), t([3], "int64")], True, 7), [[1, 2], [3, 7]])
    raises(lambda: pad([]), "RuntimeError", "received an empty list of sequences")
    raises(lambda: pad([t(1)]), "IndexError", "tensor has no dimensions")
    raises(lambda: pad([t([1, 2]), t([[3], [4]])]), "RuntimeError", "doesn't match the broadcast shape")


main(setup, teardown)
