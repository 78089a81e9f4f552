"""test_math_bits.py -- conjugates and negatives that are views: what reads, writes and views of them see."""

from harness import equal, main, raises
from daemon import TestDaemon


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.d = self.connect()

    def done(self):
        self.d.call("tensor.release", all=True)
        self.d.close()
        self.finish()

    def complex(self, *data):
        return {"tensor": self.d.call("tensor.create", data=[list(x) for x in data], dtype="complex64")["tensor"]}

    def op(self, name, *args, **kwargs):
        out = self.d.call("op.call", op="aten::" + name, args=list(args), kwargs=kwargs)["outputs"]
        return {"tensor": out[0]["tensor"]} if out and isinstance(out[0], dict) else out

    def read(self, t):
        return self.d.call("tensor.read", **t)["data"]

    def keys(self, t):
        return [k for k in self.d.call("tensor.describe", **t)["keys"] if k in ("Conjugate", "Negative")]


def pairs(f, t):
    """The elements of a complex tensor by way of its two parts."""
    return list(zip(f.read(f.op("real", t)), f.read(f.op("imag", t))))


def test_a_conjugate_is_a_view(f):
    x = f.complex([1, 2], [3, -4])
    y = f.op("conj", x)
    equal(f.keys(y), ["Conjugate"])
    equal(f.d.call("tensor.describe", **y)["storage"], f.d.call("tensor.describe", **x)["storage"])
    equal(f.read(y), f.read(f.complex([1, -2], [3, 4])))
    equal(pairs(f, y), [(1, -2), (3, 4)])
    equal(f.keys(f.op("conj", y)), [])
    equal(f.keys(f.op("slice.Tensor", y, 0, 1)), ["Conjugate"], "a view of a conjugate is one")
    equal(f.read(f.op("slice.Tensor", y, 0, 1)), f.read(f.complex([3, 4])))


def test_operators_see_the_values(f):
    x = f.complex([1, 2], [3, -4])
    y = f.op("conj", x)
    equal(pairs(f, f.op("add.Tensor", y, x)), [(2, 0), (6, 0)])
    equal(pairs(f, f.op("mul.Tensor", y, y)), [(-3, -4), (-7, 24)])
    equal(pairs(f, f.op("cat", [x, y])), [(1, 2), (3, -4), (1, -2), (3, 4)])
    equal(f.keys(f.op("clone", y)), [])
    equal(pairs(f, f.op("clone", y)), [(1, -2), (3, 4)])
    equal(pairs(f, f.op("resolve_conj", y)), [(1, -2), (3, 4)])
    equal(pairs(f, f.op("conj_physical", x)), [(1, -2), (3, 4)])


def test_writes_reach_what_it_is_a_view_of(f):
    x = f.complex([1, 2], [3, -4])
    y = f.op("conj", x)
    f.op("mul_.Tensor", y, f.complex([0, 1], [2, 0]))
    equal(pairs(f, y), [(2, 1), (6, 8)])
    equal(pairs(f, x), [(2, -1), (6, -8)])
    f.op("copy_", y, f.complex([5, 6], [7, 8]))
    equal(pairs(f, x), [(5, -6), (7, -8)])
    f.op("copy_", x, y)
    equal(pairs(f, x), [(5, 6), (7, 8)], "a tensor conjugated in place, by its own view")
    f.op("add.out", f.complex([1, 1], [1, 1]), f.complex([0, 1], [0, 1]), out=y)
    equal(pairs(f, x), [(1, -2), (1, -2)])
    f.op("conj_physical_", x)
    equal(pairs(f, x), [(1, 2), (1, 2)])


def test_lists_that_are_written_are_refused(f):
    """As in PyTorch; other lists are resolved."""
    x, plain = f.complex([1, 2], [3, -4]), f.complex([5, 6], [7, 8])
    for view, key in (f.op("conj", x), "Conjugate"), (f.op("_neg_view", x), "Negative"):
        for op, args in ("_foreach_add_.Scalar", [1]), ("_foreach_sqrt_", []), ("_foreach_mul_.List", [[plain, plain]]):
            raises(lambda: f.op(op, [plain, view], *args), "RuntimeError", op, f"the key {key}", "materialize")
        for t, want in (x, [(1, 2), (3, -4)]), (plain, [(5, 6), (7, 8)]):
            equal(pairs(f, t), want, f"after the refusals for {key}")
            equal(f.d.call("tensor.describe", **t)["version"], 0, f"version after the refusals for {key}")
    y = f.complex([0, 0], [0, 0])
    f.op("_foreach_add_.List", [y], [f.op("conj", x)])
    equal(pairs(f, y), [(1, -2), (3, 4)], "a list that is read")


def test_the_imaginary_part_of_a_conjugate_is_negative(f):
    x = f.complex([1, 2], [3, -4])
    part = f.op("imag", f.op("conj", x))
    equal(f.keys(part), ["Negative"])
    equal(f.read(part), [-2, 4])
    equal(f.read(f.op("add.Tensor", part, 1)), [-1, 5])
    f.op("fill_.Scalar", part, 9)
    equal(pairs(f, x), [(1, -9), (3, -9)])
    equal(f.read(f.op("resolve_neg", part)), [9, 9])


def test_negatives_of_every_dtype(f):
    for dtype in ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"):
        x = {"tensor": f.d.call("tensor.create", data=[[1, 2], [0, 3]], dtype=dtype)["tensor"]}
        y = f.op("t", f.op("_neg_view", x))
        equal(f.read(f.op("clone", y)), [[255, 0], [254, 253]] if dtype == "uint8" else [[-1, 0], [-2, -3]], dtype)
    raises(lambda: f.op("_neg_view",
           {"tensor": f.d.call("tensor.create", data=[True])["tensor"]}), "RuntimeError", "not for bool")


def test_bytes_as_another_dtype(f):
    x = f.complex([1, 2], [3, -4])
    equal(f.read(f.op("view_as_real", x)), [[1, 2], [3, -4]])
    equal(f.read(f.op("view_as_complex", f.op("view_as_real", x))), f.read(x))
    raises(lambda: f.op("view_as_real",
           f.op("conj", x)), "RuntimeError", "view_as_real doesn't work on unresolved conjugated tensors")
    raises(lambda: f.op("view.dtype", f.op("conj", x), "float32"), "RuntimeError", "not supported for conjugate view tensors")
    equal(f.read(f.op("view.dtype", x, "float32")), [1, 2, 3, -4])
    raises(lambda: f.op("view.dtype",
           {"tensor": f.d.call("tensor.create", data=[1, 2, 3], dtype="int32")["tensor"]}, "int64"), "RuntimeError", "self.size(-1) must be divisible by 2")


main(Fixture, Fixture.done)
