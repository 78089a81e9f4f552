"""test_extremes.py -- arguments at the edge of what a schema lets through: each is answered in time, by a value or
an error with a name, and the daemon goes on.  Under sanitizers what a kernel touches beyond them is a report."""

import itertools

from harness import SANITIZED, contains, equal, less, main, raises
from daemon import TestDaemon
import dispatchd

ANSWER_SECONDS = 120 if SANITIZED else 20  # for what takes milliseconds
FLOATS = "float32", "float64", "complex64", "complex128"


def setup():
    daemon = TestDaemon()
    return daemon, daemon.connect(ANSWER_SECONDS)


def teardown(f):
    f[1].call("tensor.release", tensors=[], all=True)
    f[1].close()
    f[0].finish()


def answer(d, name, *args, **kwargs):
    """The type of the error, or None."""
    try:
        d.op("aten::" + name, *args, **kwargs)
        return None
    except dispatchd.Error as e:
        return e.type


def data(rows, dtype):
    return {"dtype": dtype, "data": rows}


def empty(shape, dtype):
    return {"dtype": dtype, "shape": shape, "attachment": b""}


# -- matrices that are not finite: routines of LAPACK iterate until what they have converges --

DRIVERS = [("linalg_lstsq", (None,), {"driver": d}) for d in ("gels", "gelsy", "gelsd", "gelss")]
DECOMPOSED = [("_linalg_svd", (True,), {}), ("_linalg_svd", (False, False), {}), ("_linalg_eigh", ("L",), {}), ("linalg_eig", (), {}),
              ("linalg_eigvals", (), {}), ("linalg_qr", (), {}), ("linalg_lu", (), {}), ("linalg_inv_ex", (), {}),
              ("linalg_cholesky_ex", (), {}), ("linalg_ldl_factor_ex", (), {}), ("linalg_matrix_exp", (), {}), ("linalg_pinv", (), {})]


def not_finite(dtype):
    """Squares with one in each corner, in the diagonal and everywhere."""
    n, one = range(3), (lambda x: [x, 0]) if "complex" in dtype else (lambda x: x)
    places = [{(0, 0)}, {(2, 2)}, {(2, 0)}, {(0, 2)}, {(i, i) for i in n}, {(i, j) for i in n for j in n}]
    for odd, at in itertools.product(("inf", "nan"), places):
        yield data([[one(odd if (i, j) in at else 1 + i * j) for j in n] for i in n], dtype)


def test_matrices_that_are_not_finite_end(f):
    for dtype in FLOATS:
        for a in not_finite(dtype):
            for name, rest, options in DECOMPOSED:
                contains((None, "RuntimeError"), answer(f[1], name, a, *rest, **options), f"{name} of {a}")
            for name, rest, options in DRIVERS:
                b = f[1].op("aten::ones", [3, 1], dtype=dtype)
                contains((None, "RuntimeError"), answer(f[1], name, a, {"tensor": b["tensor"]}, *rest, **options), f"{name} {options} of {a}")


# -- sizes that are asked for: no work before there is memory for what it makes --

def test_images_of_as_many_rows_as_are_counted(f):
    image = data([[[[1, 2], [3, 4]]]], "float32")
    for name in ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
        for size in ([2**31 - 1, 2], [2, 2**31 - 1], [2**31 - 1, 2**31 - 1]):
            equal(answer(f[1], name, image, size, False, None, None), "ResourceExhausted", f"{name} to {size}")


def test_points_of_no_dimensions(f):
    for n in (0, 3, 2**40):
        x = h(f[1].op("aten::empty.memory_format", [n, 0]))
        equal(read(f[1], f[1].op("aten::_histogramdd_from_bin_cts", x, [])), 0, f"{n} points")


def test_strides_of_one_place(f):
    far = [{"int": str(2**62)}, 1]
    for name, dtype in ("_conj", "complex64"), ("_neg_view", "float32"):
        x = h(f[1].op("aten::ones", [4], dtype=dtype))
        y = h(f[1].op("aten::" + name, h(f[1].op("aten::as_strided", x, [1, 2], far))))
        kept = f[1].op("aten::resolve_conj" if dtype == "complex64" else "aten::resolve_neg", y)
        equal(kept["shape"], [1, 2], f"{name} with a stride of 2^62")


# -- no elements: what is set to zeros has no address --

def test_steps_of_convolutions(f):
    """What is never taken may be any; the rest is refused where places could not be counted."""
    d, image, ones = f[1], data([[[[1.0, 2.0], [3.0, 4.0]]]], "float32"), data([[[[1.0]]]], "float32")
    taps = data([[[[1.0] * 3] * 3]], "float32")
    for far in (1 << 31, {"int": str(1 << 61)}, {"int": str((1 << 63) - 1)}):
        equal(read(d, d.op("aten::conv2d", image, ones, None, [1], [0], [far])), [[[[1, 2], [3, 4]]]])
        equal(read(d, d.op("aten::conv2d", image, ones, None, [far])), [[[[1]]]])
        equal(answer(d, "conv2d.padding", image, taps, None, [1], "same", [far]), "RuntimeError", far)
        equal(answer(d, "conv2d", image, taps, None, [1], [far], [1]), "RuntimeError", far)
        equal(answer(d, "conv2d", image, taps, None, [far], [far], [1]), "RuntimeError", far)
        equal(answer(d, "conv_transpose2d", image, taps, None, [far], [far]), "RuntimeError", far)
    equal(read(d, d.op("aten::conv2d.padding", image, taps, None, [1], "same", [1 << 30])), [[[[1, 2], [3, 4]]]])


def test_steps_of_blocks(f):
    d, image = f[1], data([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]], "float32")
    for far in (1 << 31, {"int": str(1 << 61)}, {"int": str((1 << 63) - 1)}):
        columns = d.op("aten::im2col", image, [1, 3], [1, 1], [0, 2], [1, far])
        equal(read(d, columns), [[[0, 0], [0, 0], [1, 4]]], f"blocks {far} apart")
        equal(read(d, d.op("aten::col2im", h(columns), [2, 3], [1, 3], [1, 1], [0, 2], [1, far])), [[[[1, 0, 0], [4, 0, 0]]]])


def test_degrees_of_polygamma(f):
    for n in (1 << 31) - 1, {"int": str((1 << 63) - 1)}:
        raises(lambda: f[1].op("aten::polygamma", n, data([1.0], "float32")), "RuntimeError", "at most 2147483646")


def test_values_beyond_the_dtype_in_between(f):
    """PyTorch computes 35! in double, and products of narrow integers in int."""
    d = f[1]
    for n, x, want in (40, 2.0, -3.7104e35), (35, 1.5, 4.7309e33), (100, 4.0, 0.0):
        got = read(d, d.op("aten::polygamma", n, data([x], "float32")))[0]
        equal(abs(got - want) <= 1e-4 * abs(want), True, f"polygamma({n}, {x}): got {got}, want {want}")
    for dtype, x, y, want in ("int8", [127, 100, -128], [4, 7, 3], [-4, -68, -128]), ("int16", [32767], [4], [-4]), \
            ("int32", [65537, -6], [65536, 4], [65536, 12]):
        equal(read(d, d.op("aten::lcm", data(x, dtype), data(y, dtype))), want, f"lcm of {dtype}")


def test_the_least_number_divided_by_minus_one(f):
    """The processor refuses it, which ended the daemon; pooling wraps as the other operators do."""
    d, least = f[1], {"int": str(-1 << 63)}
    for n in 2, 3:
        image = h(d.op("aten::full", [1] * (n + 1), least, dtype="int64"))
        equal(read(d, d.op(f"aten::avg_pool{n}d", image, [1] * n, divisor_override=-1)), read(d, {"tensor": image["tensor"]}), n)


def test_points_past_the_last_number(f):
    d = f[1]
    state, quasi = h(d.op("aten::ones", [1, 30], dtype="int64")), {"data": [0], "dtype": "int64"}
    equal(answer(d, "_sobol_engine_draw", quasi, 3, state, 1, {"int": str((1 << 63) - 2)}, None), "RuntimeError",
          "a state of 30 columns where 64 are needed")


def test_variances_of_no_elements(f):
    d = f[1]
    none = h(d.op("aten::zeros", [0, 3]))
    for op in "var", "std":
        equal(read(d, d.op(f"aten::{op}.correction", none, [0], correction=-2)), ["nan"] * 3, op)
        equal(read(d, d.op(f"aten::{op}_mean.correction", none, [0], correction=-2)[0]), ["nan"] * 3, op + "_mean")


def test_reductions_of_the_most_elements(f):
    """2^63 - 1 of them: their number, rounded up to whole chunks, is more than an int64 holds."""
    d = f[1]
    x = {"tensor": d.op("aten::expand", {"data": [1.0]}, [2**63 - 1])["tensor"]}
    for name in "sum", "prod", "amax", "argmax", "std", "linalg_vector_norm":
        equal(answer(d, name, x), "ResourceExhausted", name)


def test_bags_of_no_columns(f):
    at, from_ = data([0, 1], "int64"), data([0], "int64")
    for dtype in ("float32", "float64"):
        weight = empty([2, 0], dtype)
        for mode in (0, 1, 2):
            bags = f[1].op("aten::_embedding_bag", weight, at, from_, False, mode)
            equal(bags[0]["shape"], [1, 0], f"bags of mode {mode}")
        grad = empty([1, 0], dtype)
        slope = f[1].op("aten::_embedding_bag_dense_backward", grad, at, data([0, 0], "int64"), data([2], "int64"), data([0], "int64"),
                        2, False, 0, None)
        equal(slope["shape"], [2, 0], "slope of no columns")
        still = {"dtype": dtype, "shape": [2, 0], "strides": [1, 0], "storage_offset": 0, "data": []}
        bags = f[1].op("aten::_embedding_bag", still, at, from_, False, 2)
        equal(bags[0]["shape"], [1, 0], "bags of columns that are one place, of which there is none")


def test_indices_of_no_bag(f):
    weight = data([[1, 2], [3, 4]], "float32")
    bags = f[1].op("aten::_embedding_bag", weight, data([1, 0, 1], "int64"), empty([0], "int64"), False, 1, returns="data")
    equal(bags[1]["data"], [-1, -1, -1], "the bag of each index")


def test_slopes_of_no_elements(f):
    rows, none = empty([0, 5], "float32"), empty([0], "float32")
    slope = f[1].op("aten::multi_margin_loss_backward", none, rows, empty([0], "int64"), 1, 1, None, 0)
    equal(slope["shape"], [0, 5], "slope of no rows")


# -- elements that share memory, and masks of bytes --

def shared(d, *shape, dtype="float32"):
    """Zeros of this shape, all in one place."""
    return h(d.op("aten::expand", h(d.op("aten::zeros", [1] * len(shape), dtype=dtype)), list(shape)))


def h(x):
    return {"tensor": x["tensor"]}


def read(d, x):
    return d.call("tensor.read", tensor=x["tensor"])["data"]


def test_sequences_of_no_time(f):
    """There the sums over paths have no memory: a target of no labels costs nothing, any other is out of reach."""
    x = empty([0, 2, 3], "float32")
    for targets, lengths, want in (([[1], [1]], [0, 0], [0, 0]), ([1], [0, 1], [0, "inf"]), ([1, 1], [1, 1], ["inf", "inf"])):
        loss, _ = f[1].op("aten::_ctc_loss", x, data(targets, "int64"), [0, 0], lengths, returns="data")
        equal(loss["data"], want, f"losses of targets of {lengths} labels")


def test_outputs_whose_elements_share_memory(f):
    d = f[1]
    x, square, at = data([1, 2, 3, 4], "float32"), data([[1, 2], [3, 4]], "float32"), data([0, 1], "int64")
    out, places = shared(d, 2), shared(d, 2, dtype="int64")
    for name, args, outs in (("index.Tensor_out", [x, [at]], {"out": out}), ("take.out", [x, at], {"out": out}),
                             ("masked_select.out", [x, data([True, False, False, True], "bool")], {"out": out}),
                             ("min.dim_min", [square, 0], {"min": out, "min_indices": at}),
                             ("max.dim_max", [square, 0], {"max": data([0, 0], "float32"), "max_values": places}),
                             ("cumsum_", [out, 0], {}), ("cumprod_", [out, 0], {})):
        raises(lambda: d.op("aten::" + name, *args, **outs), "RuntimeError", "single memory location")
    equal(read(d, out), [0, 0], "what was not written")


def test_outputs_that_are_inputs_of_another_shape(f):
    """In the output's shape the input would be read beyond its end; so it is not resized."""
    d = f[1]
    for name, sizes, args, kwargs in (
            ("max_pool2d_with_indices.out", [1, 1, 6000, 6000], [[2, 2], [2, 2]], {"indices": empty([0], "int64")}),
            ("avg_pool2d.out", [1, 1, 6000, 6000], [[2, 2], [2, 2]], {}),
            ("im2col.out", [1, 1, 600, 600], [[2, 2], [1, 1], [0, 0], [1, 1]], {})):
        x = shared(d, *sizes)
        raises(lambda: d.op("aten::" + name, x, *args, out=x, **kwargs), "RuntimeError", "output with shape")
        equal(d.call("tensor.describe", tensor=x["tensor"])["shape"], sizes, f"{name}: the shape is as it was")
    batch = h(d.op("aten::ones", [2, 3, 3]))
    raises(lambda: d.op("aten::addbmm.out", data(0, "float32"), batch, batch, out=batch), "RuntimeError", "output with shape")
    equal(read(d, d.op("aten::neg.out", batch, out=batch)), [[[-1] * 3] * 3] * 2, "of its own shape")


def test_filling_where_several_elements_are_one_place(f):
    d, true = f[1], data([False, True, False], "bool")
    for mask, want in (true, [[2, 2, 2]] * 2), (data([[False] * 3, [True] * 3], "bool"), [[2, 2, 2]] * 2), \
                      (data([False], "bool"), [[0, 0, 0]] * 2):
        equal(read(d, d.op("aten::masked_fill_.Scalar", shared(d, 2, 3), mask, 2)), want, f"filled where {mask}")
    rows = h(d.op("aten::expand", h(d.op("aten::zeros", [2, 1])), [2, 3]))
    d.op("aten::index_put_", rows, [data([[False] * 3, [True, False, False]], "bool")], data(5, "float32"))
    equal(read(d, rows), [[0, 0, 0], [5, 5, 5]], "rows by a mask")
    many = shared(d, 4 * 10**8)
    before = f[0].resident_kb()
    d.op("aten::masked_fill_.Scalar", many, data(True, "bool"), 2)
    d.op("aten::sum.dim_IntList", many, [0])
    d.op("aten::zero_", many)
    less(f[0].resident_kb() - before, 100000, "KB for 4e8 elements in one place")


def test_masks_of_other_bytes_than_0_and_1(f):
    d, x, mask = f[1], data([1, 2], "float32"), data([1, 2], "uint8")
    for name, args in ("masked_fill.Scalar", [x, mask, 0]), ("masked_select", [x, mask]), ("masked_scatter", [x, mask, x]):
        raises(lambda: d.op("aten::" + name, *args), "RuntimeError", "Mask tensor can take 0 and 1 values only")


def test_a_reduction_that_a_dtype_has_not(f):
    for dtype, reduce in itertools.product(("complex64", "complex128"), ("amin", "amax")):
        x = data([[1, 0]], dtype)
        equal(answer(f[1], "index_reduce", x, 0, data([0], "int64"), x, reduce), "RuntimeError", f"{reduce} of {dtype}")


def test_outputs_across_what_they_are_made_of(f):
    d = f[1]
    whole = h(d.op("aten::arange", 8, dtype="float32"))
    parts = [h(d.op("aten::as_strided", whole, [7], [1], i)) for i in (0, 1)]
    equal(answer(d, "tril.out", h(d.op("aten::view", parts[0], [1, 7])), -1, out=h(d.op("aten::view", parts[1], [1, 7]))),
          None, "tril.out, one element further")


def test_observers_of_the_widest_ranges(f):
    d = f[1]
    for low, high in (-2**31, -1), (2**30, 2**31 - 1):
        for symmetric in False, True:
            ends = [h(d.op("aten::clone", data([x], "float32"))) for x in ("inf", "-inf", 1, 0)]
            zero = h(d.op("aten::clone", data([0], "int32")))
            on = data([1], "int64")
            said = answer(d, "_fused_moving_avg_obs_fq_helper", data([-1, 2], "float32"), on, on, ends[0], ends[1], ends[2],
                          zero, 0.5, low, high, 0, False, symmetric)
            equal(said, None, f"{low}, {high}, symmetric {symmetric}")


def test_skipping_points_costs_nothing_by_their_number(f):
    d = f[1]
    for start, n in (-2**63, 2**53), (0, 2**29), (5, 2**63 - 1):
        quasi = h(d.op("aten::zeros", [2], dtype="int64"))
        state = h(d.op("aten::ones", [2, 30], dtype="int64"))
        error = answer(d, "_sobol_engine_ff_", quasi, {"int": str(n)}, state, 2, {"int": str(start)})
        equal(error, "RuntimeError" if n > 2**60 else None, f"{n} points from {start} on")


def test_layouts_and_refusals_are_those_of_pytorch(f):
    d = f[1]
    zeros, wide = h(d.op("aten::zeros", [3, 2])), h(d.op("aten::empty_strided", [1, 50], [100, 1]))
    for name, args, strides in (("nonzero", [zeros], [1, 0]), ("argwhere", [zeros], [1, 0]),
                                ("deg2rad", [wide], [100, 1]), ("rad2deg", [wide], [100, 1]),
                                ("nan_to_num", [wide], [100, 1])):
        made = d.op("aten::" + name, *args)
        equal(d.call("tensor.describe", tensor=made["tensor"])["strides"], strides, name)
    none = h(d.op("aten::empty.memory_format", [0]))
    for args, shape in (([none], [0, 0]), ([none, 0, True], [0, 0]), ([{"data": [1, 2]}, 0], [2, 0]), ([{"data": [1, 2]}, 1], [2, 1])):
        made = d.call("tensor.describe", tensor=d.op("aten::vander", *args)["tensor"])
        equal((made["shape"], made["strides"]), (shape, [1, 1]), f"vander {args}")
    half, to = h(d.op("aten::zeros", [3], dtype="float16")), h(d.op("aten::zeros", [1], dtype="bfloat16"))
    lengths = h(d.op("aten::full", [1], 3, dtype="int64"))
    sums = h(d.op("aten::segment_reduce", half, "sum", lengths=lengths))
    for reduce, error in ("sum", None), ("max", None), ("prod", "RuntimeError"):
        equal(answer(d, "_segment_reduce_backward", sums, sums, half, reduce, lengths=lengths, initial=70000.0), error,
              f"the gradient of {reduce} with an initial value beyond float16")
    equal(answer(d, "range.out", 1, 1, 1e39, out=to), "RuntimeError", "a step of range beyond float32")
    for start, end, step in (2.2, 2.0, 1), (2.0, 2.9, -1.5), (-0.5, -0.9, 2):
        for dtype in "uint8", "int32", "int64":
            made = d.op("aten::arange.start_step", start, end, step, dtype=dtype)
            equal(made["shape"], [0], f"integers of {dtype} from {start} to {end} by {step}")
        equal(answer(d, "arange.start_step", start, end, step), "RuntimeError", f"numbers from {start} to {end} by {step}")
    for start, end in (3.0, 1.9), (1e300, 1e300), (2e300, 1e300):
        equal(answer(d, "arange.start_step", start, end, 1, dtype="int32"), "RuntimeError", f"integers from {start} to {end}")
    whole = {"data": [1, 2, 0, 3], "dtype": "int16"}, {"data": [1, -1, -1, 1], "dtype": "int64"}
    for reduction, dtype, data in (0, "int16", [1, 0, 1, 3]), (2, "int64", 5):
        made = d.op("aten::hinge_embedding_loss", *whole, 1.3, reduction, returns="data")
        equal((made["dtype"], made["data"]), (dtype, data), f"a hinge loss of integers, reduction {reduction}")
    equal(answer(d, "hinge_embedding_loss", *whole, 1.3, 1), "RuntimeError", "a mean of integers")
    halves, counts = {"data": [1, 2], "dtype": "bfloat16"}, {"data": [1, 2], "dtype": "int32"}
    made = d.op("aten::poisson_nll_loss", halves, counts, True, True, 1e-5, 0)
    equal(made["dtype"], "bfloat16", "the dtype of a loss that Stirling's term is added to")
    turned = h(d.op("aten::t", {"data": [[1, 3], [2, 4]]}))
    factors = turned, {"data": [[1, 2]]}
    equal(answer(d, "kron", *factors), "RuntimeError", "kron of a matrix in columns")
    product = d.op("aten::kron.out", *factors, out=h(d.op("aten::zeros", [2, 4])), returns="data")
    equal(product["data"], [[1, 2, 2, 4], [3, 6, 4, 8]], "kron.out of a matrix in columns")
    equal(answer(d, "positive", {"data": [True]}), "RuntimeError", "positive of bool")
    equal(answer(d, "deg2rad", h(d.op("aten::zeros", [2], dtype="complex64"))), "RuntimeError", "deg2rad of complex numbers")
    equal(answer(d, "sum.dim_IntList", zeros, [0, 0, 5]), "IndexError", "range before duplicates")
    for op, args in ("std.dim", ([0, 0, 5],)), ("nansum", ([0, 0, 5],)), ("linalg_vector_norm", (2, [0, 0, 5])):
        equal(answer(d, op, zeros, *args), "RuntimeError", f"{op}: each dimension in its turn, as PyTorch does here")
    equal(answer(d, "fft_fftn", zeros, None, [0, 0, 5]), "IndexError", "fft_fftn: range before duplicates")
    equal(answer(d, "sum.dim_IntList", zeros, [0, -2]), "RuntimeError", "duplicates")


def test_powers_that_are_no_computation(f):
    d = f[1]
    z = {"data": [[0, 0], [1, 1], ["inf", 0], ["nan", 2]], "dtype": "complex128"}
    ones = [[1, 0]] * 4
    for exponent in 0, 0.0, {"complex": [0, 0]}:
        equal(d.op("aten::pow.Tensor_Scalar", z, exponent, returns="data")["data"], ones, f"to the power of {exponent}")
    equal(d.op("aten::pow.Scalar", 1, z, returns="data")["data"], ones, "1 to any power")
    equal(d.op("aten::pow.Tensor_Scalar", z, 1, returns="data")["data"], [[0, 0], [1, 1], ["inf", 0], ["nan", 2]])
    equal(d.op("aten::pow.Tensor_Scalar", z, -1, returns="data")["data"][1], [0.5, -0.5])


if __name__ == "__main__":
    main(setup, teardown)
