"""test_outputs.py -- out= of any shape: resized with PyTorch's warning, its views with it."""

from harness import contains, equal, main, raises, warnings
from daemon import TestDaemon

RESIZED = ("An output with one or more elements was resized since it had shape {}, which does not match the "
           "required output shape {}.")


class Fixture(TestDaemon):
    def __init__(self):
        super().__init__()
        self.d = self.connect()

    def done(self):
        self.d.call("tensor.release", all=True)
        self.d.close()
        self.finish()

    def tensor(self, *data, **more):
        return {"tensor": self.d.call("tensor.create", data=list(data), **more)["tensor"]}

    def call(self, op, *args, out):
        """The answer of an operator with out=, and what that holds then."""
        answer = self.d.call("op.call", op=op, args=list(args), kwargs={"out": out})
        equal(answer["outputs"][0]["tensor"], out["tensor"], "the handle of out=")
        return self.d.call("tensor.read", **out)["data"], warnings(answer)


def test_an_empty_output_is_resized_silently(f):
    equal(f.call("aten::arange.start_out", 0, 5, out=f.tensor()), ([0, 1, 2, 3, 4], []))
    equal(f.call("aten::neg.out", f.tensor(1, 2), out=f.tensor()), ([-1, -2], []))


def test_another_shape_is_resized_with_a_warning(f):
    data, said = f.call("aten::neg.out", f.tensor([1, 2], [3, 4]), out=f.tensor(7, 8, 9))
    equal((data, len(said)), ([[-1, -2], [-3, -4]], 1))
    contains(said[0], RESIZED.format("[3]", "[2, 2]"))
    data, said = f.call("aten::add.out", f.tensor([1], [2]), f.tensor(10, 20), out=f.tensor(7, 8, 9))
    equal((data, len(said)), ([[11, 21], [12, 22]], 1))
    contains(said[0], RESIZED.format("[3]", "[2, 2]"))
    data, said = f.call("aten::arange.start_out", 0, 5, out=f.tensor(7, 8))
    equal((data, len(said)), ([0, 1, 2, 3, 4], 1))
    contains(said[0], "The number of elements in the out tensor of shape [2] is 2 which does not match")
    equal(f.call("aten::arange.start_out", 0, 4, out=f.tensor([7, 8], [9, 10])), ([[0, 1], [2, 3]], []))


def test_the_variance_of_complex_numbers_fits_any_float(f):
    x = f.tensor([1, 2], [3, -1], [0, 2], dtype="complex64", shape=[3])  # real parts 1, 3, 0; imaginary ones 2, -1, 2
    for dtype, zero in (("float32", []), ("float64", []), ("float16", []), ("complex64", [0]), ("complex128", [0])):
        out = f.tensor(dtype=dtype)
        (value, _) = f.call("aten::var.out", x, [0], False, False, out=out)
        real = value[0] if zero else value
        equal(abs(real - (14 / 9 + 2)) < 1e-2, True, f"{dtype}: {value}")
    raises(lambda: f.call("aten::var.out", x, [0], False, False, out=f.tensor(dtype="int64")), "RuntimeError",
           "can't be cast to the desired output type Long")


def test_a_view_is_resized_in_its_base(f):
    base = f.tensor(0, 0, 0, 0)
    view = f.d.call("op.call", op="aten::slice.Tensor", args=[base, 0, 1, 3])["outputs"][0]
    view = {"tensor": view["tensor"]}
    equal(f.call("aten::neg.out", f.tensor(1, 1, 1), out=view)[0], [-1, -1, -1])
    equal(f.d.call("tensor.read", **base)["data"], [0, -1, -1, -1])
    equal(f.call("aten::neg.out", f.tensor(*range(8)), out=view)[0], [-i for i in range(8)])
    equal(f.d.call("tensor.read", **base)["data"], [0, 0, -1, -2], "the storage grew, for both")
    equal(f.d.call("tensor.describe", **view)["storage_offset"], 1)


def test_in_place_keeps_the_shape(f):
    x = f.tensor(1, 2)
    raises(lambda: f.d.op("aten::add_.Tensor", x, f.tensor([1], [2])), "RuntimeError",
           "output with shape [2] doesn't match the broadcast shape [2, 2]")
    raises(lambda: f.d.call("op.call", op="aten::add.out", args=[x, f.tensor([1], [2])], kwargs={"out": x}),
           "RuntimeError", "output with shape [2] doesn't match the broadcast shape [2, 2]")
    equal(f.d.call("tensor.read", **x)["data"], [1, 2])


main(Fixture, Fixture.done)
