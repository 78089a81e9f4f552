"""test_sizes.py -- sizes that no memory could hold, at every place where they are multiplied: one error
by name, quickly, and the daemon goes on.  Under sanitizers a product that wraps is a report in its log."""

from harness import contains, equal, main, raises
from daemon import TestDaemon

ANSWER_SECONDS = 60
ANSWER_BYTES, ATTACHMENT_BYTES = "268435456 (answer_bytes)", "1073741824 (answer_attachment_bytes)"
STORAGE_BYTES = "288230376151711744 (DP_LIMIT_STORAGE_BYTES)"
TOP = 2**63 - 1


def setup():
    daemon = TestDaemon()
    return daemon, daemon.connect(ANSWER_SECONDS)


def teardown(f):
    f[1].call("tensor.release", tensors=[], all=True)
    f[1].close()
    f[0].finish()


def ints(*sizes):
    return [n if abs(n) < 2**53 else {"int": str(n)} for n in sizes]


def empty(d, *sizes, dtype="float32"):
    return d.op("aten::empty.memory_format", ints(*sizes), dtype=dtype)


def expanded(d, *sizes, dtype="float32"):
    """One element under these sizes."""
    return d.op("aten::expand", h(d.op("aten::zeros", [1], dtype=dtype)), ints(*sizes))


def h(x):
    return {"tensor": x["tensor"]}


def test_a_view_of_more_bytes_than_int64_counts_is_not_read(f):
    for dtype, n, size in ("float64", 2**61, 8), ("float32", 2**62, 4), ("complex128", 2**60, 16):
        x = expanded(f[1], n, dtype=dtype)
        for form, limit in ("json", ANSWER_BYTES), ("attachment", ATTACHMENT_BYTES):
            raises(lambda: f[1].call("tensor.read", **{"tensor": x["tensor"], "as": form}),
                   "ResourceExhausted", f"sizes [{n}]", f"items of {size} bytes", limit)
        for how, limit in ("data", ANSWER_BYTES), ("attachment", ATTACHMENT_BYTES):
            raises(lambda: f[1].op("aten::detach", h(x), returns=how),
                   "ResourceExhausted", f"sizes [{n}]", limit)
        raises(lambda: f[1].op("aten::clone", h(x)), "ResourceExhausted", STORAGE_BYTES)


def test_brackets_are_counted_before_they_are_printed(f):
    for sizes in (10**12, 0), (10**6, 10**6, 0), (2**31, 2**30, 0, 1), (3 * 10**8, 0):
        x = empty(f[1], *sizes)
        raises(lambda: f[1].call("tensor.read", tensor=x["tensor"]), "ResourceExhausted",
               f"sizes {list(sizes)}", ANSWER_BYTES)
        raises(lambda: f[1].op("aten::detach", h(x), returns="data"), "ResourceExhausted", ANSWER_BYTES)
        read = f[1].call("tensor.read", **{"tensor": x["tensor"], "as": "attachment"})
        equal(read["attachment"], b"", "bytes of no elements")
    equal(f[1].call("tensor.read", tensor=empty(f[1], 0, 10**12)["tensor"])["data"], [], "[0, 10^12]")
    equal(f[1].call("tensor.read", tensor=empty(f[1], 3, 0)["tensor"])["data"], [[], [], []], "[3, 0]")


def test_attachments_of_one_answer_are_limited_together(f):
    x = expanded(f[1], 2**29, dtype="uint8")  # half of the limit
    raises(lambda: f[1].op("aten::split.Tensor", h(expanded(f[1], 3 * 2**29, dtype="uint8")), 2**29,
                           returns="attachment"), "ResourceExhausted", ATTACHMENT_BYTES)
    f[1].release(x)


def test_a_literal_does_not_begin_behind_its_bytes(f):
    for offset in 2, 2**53 - 1:
        raises(lambda: f[1].call("tensor.create", dtype="float32", shape=[0], storage_offset=offset,
                                 attachment=bytes(4)),
               "ValueError", f"storage_offset {offset}", "the 1 elements given")
    x = f[1].call("tensor.create", dtype="float32", shape=[0], storage_offset=1, attachment=bytes(4))
    equal(x["storage_offset"], 1, "at the end")
    # the operator takes any, as PyTorch's does
    x = f[1].op("aten::as_strided", h(x), [0], [1], 2**53 - 1)
    equal(x["storage_offset"], 2**53 - 1, "of as_strided without elements")


def test_new_tensors_are_refused_by_the_limit(f):
    d, x = f[1], expanded(f[1], 2**31)
    for what in (
            lambda: empty(d, 2**61, dtype="float64"),
            lambda: d.op("aten::zeros", ints(2**40, 2**20)),
            lambda: d.op("aten::repeat", {"data": [1]}, ints(2**60)),
            lambda: d.op("aten::arange", {"int": str(2**61)}),
            lambda: d.op("aten::add.Tensor", h(expanded(d, 2**60)), 1),
            lambda: d.op("aten::add.Tensor", h(expanded(d, 2**30, 1)), h(expanded(d, 1, 2**30))),
            lambda: d.op("aten::sum", h(expanded(d, 2**60))),
            lambda: d.op("aten::cat", [h(expanded(d, 2**60)), h(expanded(d, 2**60))])):
        raises(what, "ResourceExhausted")
    raises(lambda: d.op("aten::repeat", h(x), ints(2**32)), "RuntimeError", "too large dimension")
    raises(lambda: d.op("aten::expand", {"data": [1]}, ints(2**40, 2**40)), "RuntimeError",
           "[1099511627776, 1099511627776]", "fit an int64")


def test_strides_without_elements_are_any_numbers(f):
    d = f[1]
    x = h(d.op("aten::as_strided", {"data": [1, 2, 3, 4, 5]}, [0, 8, 4, 2], ints(5, 2**62, 3, 3)))
    for op, args in (("unsqueeze", (1,)), ("transpose.int", (1, 2)), ("detach", ()), ("expand", ([3, 0, 8, 4, 2],)),
                     ("slice.Tensor", (1, 0, 4)), ("clone", ()), ("add.Tensor", (1,)), ("sum", ())):
        d.op("aten::" + op, x, *args)
    for op, args in ("slice.Tensor", (1, 5)), ("select.int", (1, 5)):
        raises(lambda: d.op("aten::" + op, x, *args), "RuntimeError", "steps of 4611686018427387904")
    wide = h(d.op("aten::as_strided", {"data": [1]}, [1, 1], ints(2**62, 2**62)))
    raises(lambda: d.op("aten::diagonal", wide), "RuntimeError", "4611686018427387904")


def test_pieces_of_the_longest_dimension_end_at_its_end(f):
    parts = f[1].op("aten::split.Tensor", h(expanded(f[1], TOP)), {"int": str(2**62 + 1)})
    equal([p["shape"] for p in parts], [[2**62 + 1], [TOP - 2**62 - 1]], "pieces")


def test_view_strides_of_huge_views_do_not_wrap(f):
    x = f[1].op("aten::as_strided", {"data": list(range(16))}, ints(2**61, 2), [0, 8])
    raises(lambda: f[1].op("aten::view", h(x), ints(2, 1, 2**61)), "RuntimeError", "not compatible")
    equal(f[1].op("aten::view", h(x), ints(2**61, 1, 2))["strides"][2], 8, "stride")


def test_repeat_of_nothing_takes_no_strides(f):
    x = h(expanded(f[1], 2**31, 2**31))
    equal(f[1].op("aten::repeat", x, ints(0, 2**31))["shape"], [0, 2**62], "shape")


def test_scratch_of_a_kernel_is_a_checked_product(f):
    x = h(empty(f[1], 1, 2**61, 0))
    raises(lambda: f[1].op("aten::native_batch_norm", x, None, None, None, None, True, 0.1, 1e-5),
           "ResourceExhausted", "2305843009213693952 items of 8 bytes")


def test_what_has_no_elements_is_not_walked(f):
    d = f[1]
    y = d.op("aten::native_batch_norm", h(empty(d, 2**50, 4, 0)), None, None, None, None, True, 0.1, 1e-5)
    equal(y[0]["shape"], [2**50, 4, 0], "batch norm")
    batch = d.op("aten::expand", {"data": [[[1], [2]]]}, ints(2**58, 2, 1))
    equal(d.op("aten::bmm", h(empty(d, 2**58, 0, 2)), h(batch))["shape"], [2**58, 0, 1], "bmm")
    equal(d.op("aten::cat", [h(empty(d, 2**40, 0)), h(empty(d, 2**40, 0))])["shape"], [2**41, 0], "cat")


def test_a_product_of_integers_takes_as_long_as_its_memory(f):
    a = h(expanded(f[1], 1, 2**58, dtype="int64"))
    b = h(expanded(f[1], 2**58, 1, dtype="int64"))
    raises(lambda: f[1].op("aten::mm", a, b), "ResourceExhausted")


def test_windows_larger_than_anything_are_refused(f):
    d = f[1]
    x = {"data": [[[1.0]]]}
    raises(lambda: d.op("aten::avg_pool2d", x, [2**40, 2**40], [1, 1], [2**39, 2**39]),
           "RuntimeError", "too large", str(2**40))
    raises(lambda: d.op("aten::avg_pool2d", h(expanded(d, 1, 1, TOP)), [1, 2], [1, 1], [0, 1]),
           "RuntimeError", "too large", str(TOP))
    # as large as may be: the window is cut to the plane before it is walked
    y = d.op("aten::avg_pool2d", x, [2**31 - 1] * 2, [1, 1], [2**30 - 1] * 2, returns="data")
    equal(y["shape"], [1, 1, 1], "shape")
    w = {"data": [[[1.0, 1.0]]]}
    raises(lambda: d.op("aten::conv1d", x, w, None, [1], [0], [{"int": str(TOP)}]), "RuntimeError",
           "too large")


def test_lengths_of_packed_sequences_are_copied_by_a_checked_product(f):
    d = f[1]
    x = {"data": [[1.0, 2.0], [3.0, 4.0]]}
    for n in 2**61, 2**61 + 2, 2**62:  # times 8 they wrap: to 0, to 16, to 0
        lengths = h(expanded(d, n, dtype="int64"))
        raises(lambda: d.op("aten::_pack_padded_sequence", x, lengths, False), "ResourceExhausted")
        raises(lambda: d.op("aten::_pack_padded_sequence_backward", x, [2, 2], lengths, False),
               "ResourceExhausted")
        raises(lambda: d.op("aten::_pad_packed_sequence", x, lengths, False, 0.0, 0),
               "ResourceExhausted")


def test_tensors_without_elements_have_any_sizes(f):
    """Where a size of 0 comes before the product of the others is too large, as in PyTorch."""
    d = f[1]
    sizes = ints(0, 4, 2**61)
    none = {"data": [], "dtype": "float32"}
    for x in (d.op("aten::empty.memory_format", sizes), d.op("aten::zeros", sizes), d.op("aten::ones", sizes), d.op("aten::full", sizes, 1),
              d.op("aten::view", none, sizes),
              d.op("aten::expand", {**none, "shape": [0, 1, 1]}, sizes)):
        equal(x["shape"], [0, 4, 2**61], "shape")
        equal(d.op("aten::add.Tensor", h(x), h(x))["shape"], x["shape"], "shape of a sum")
        raises(lambda: d.op("aten::sum.dim_IntList", h(x), [0]), "RuntimeError", "fit an int64")
    equal(d.op("aten::reshape", none, ints(0, 2**40, 2**40))["shape"], [0, 2**40, 2**40], "shape")
    raises(lambda: empty(d, TOP, TOP, 0), "RuntimeError", "fit an int64")


def test_an_operator_without_kernels_is_named():
    with TestDaemon() as daemon, daemon.connect() as d:
        d.call("plugin.unload", plugin="cpu")
        x = {"data": [[1.0]]}
        raises(lambda: d.op("aten::mm", x, x), "NotImplementedError", "aten::mm: the backend of its tensors has no kernel for it",
               "aten::mm.out")


def test_the_error_says_what_the_sizes_are(f):
    e = raises(lambda: empty(f[1], 2**61, 4, dtype="float64"), "RuntimeError", "fit an int64")
    contains(e.message, "sizes [2305843009213693952, 4]")
    e = raises(lambda: empty(f[1], 2**59, dtype="float64"), "ResourceExhausted", "items of 8 bytes",
               STORAGE_BYTES)
    contains(e.message, "come to 4611686018427387904 bytes")


if __name__ == "__main__":
    main(setup, teardown)
