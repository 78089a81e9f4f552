"""operators.py -- operators, and what Python computes for them from small matrices of whole numbers."""

import math
import struct

X, Y, K = "<x>", "<y>", "<k>"  # two matrices of one shape, and a number from 1 to 3
FORMATS = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "bool": "?"}
FLOATS, ALL = ("float32", "float64"), ("float32", "float64", "int64", "int32")


def each(f):
    return lambda x, y, k: [[f(v, k) for v in row] for row in x]


def both(f):
    return lambda x, y, k: [[f(a, b) for a, b in zip(r, s)] for r, s in zip(x, y)]


def rows(f):
    return lambda x, y, k: [f(row) for row in x]


def columns(f):
    return lambda x, y, k: [f(column) for column in zip(*x)]


def flat(x):
    return [v for row in x for v in row]


def turned(x):
    return [list(column) for column in zip(*x)]


def times(x, y):
    """The product of x and the transposed y."""
    return [[sum(a * b for a, b in zip(r, s)) for s in y] for r in x]


def sums(row):
    return [sum(row[:i + 1]) for i in range(len(row))]


def softmax(row):
    e = [math.exp(v - max(row)) for v in row]
    return [v / sum(e) for v in e]


def order(row):
    return sorted(range(len(row)), key=lambda i: row[i])


def index(*numbers):
    return {"dtype": "int64", "data": list(numbers)}


# operator, arguments, result (a list of results, of an operator that has several), dtypes, arguments by name
OPERATORS = [
    ("aten::add.Tensor", [X, Y], both(lambda a, b: a + b)),
    ("aten::sub.Tensor", [X, Y], both(lambda a, b: a - b)),
    ("aten::mul.Tensor", [X, Y], both(lambda a, b: a * b)),
    ("aten::maximum", [X, Y], both(max)),
    ("aten::minimum", [X, Y], both(min)),
    ("aten::eq.Tensor", [X, Y], both(lambda a, b: a == b)),
    ("aten::lt.Tensor", [X, Y], both(lambda a, b: a < b)),
    ("aten::add.Scalar", [X, K], each(lambda v, k: v + k)),
    ("aten::mul.Scalar", [X, K], each(lambda v, k: v * k)),
    ("aten::rsub.Scalar", [X, K], each(lambda v, k: k - v)),
    ("aten::remainder.Scalar", [X, K], each(lambda v, k: v % k)),
    ("aten::pow.Tensor_Scalar", [X, 2], each(lambda v, k: v * v)),
    ("aten::ge.Scalar", [X, K], each(lambda v, k: v >= k)),
    ("aten::clamp", [X, 0, K], each(lambda v, k: min(max(v, 0), k))),
    ("aten::neg", [X], each(lambda v, k: -v)),
    ("aten::abs", [X], each(lambda v, k: abs(v))),
    ("aten::sign", [X], each(lambda v, k: (v > 0) - (v < 0))),
    ("aten::relu", [X], each(lambda v, k: max(v, 0))),
    ("aten::square", [X], each(lambda v, k: v * v)),
    ("aten::logical_not", [X], each(lambda v, k: v == 0)),
    ("aten::t", [X], lambda x, y, k: turned(x)),
    ("aten::transpose.int", [X, 0, 1], lambda x, y, k: turned(x)),
    ("aten::flip", [X, [1]], rows(lambda row: row[::-1])),
    ("aten::roll", [X, [1], [0]], lambda x, y, k: x[-1:] + x[:-1]),
    ("aten::reshape", [X, [-1]], lambda x, y, k: flat(x)),
    ("aten::select.int", [X, 0, 0], lambda x, y, k: x[0]),
    ("aten::slice.Tensor", [X, 1, 0, 1], rows(lambda row: row[:1])),
    ("aten::narrow", [X, 0, 0, 1], lambda x, y, k: x[:1]),
    ("aten::unsqueeze", [X, 0], lambda x, y, k: [x]),
    ("aten::cat", [[X, Y], 0], lambda x, y, k: x + y),
    ("aten::cat", [[X, Y], 1], lambda x, y, k: [r + s for r, s in zip(x, y)]),
    ("aten::stack", [[X, Y], 0], lambda x, y, k: [x, y]),
    ("aten::repeat", [X, [2, 1]], lambda x, y, k: x + x),
    ("aten::tril", [X], lambda x, y, k: [[v if j <= i else 0 for j, v in enumerate(r)] for i, r in enumerate(x)]),
    ("aten::triu", [X, 1], lambda x, y, k: [[v if j > i else 0 for j, v in enumerate(r)] for i, r in enumerate(x)]),
    ("aten::trace", [X], lambda x, y, k: sum(row[i] for i, row in enumerate(x) if i < len(row))),
    ("aten::diagonal", [X], lambda x, y, k: [row[i] for i, row in enumerate(x) if i < len(row)]),
    ("aten::diff", [X], rows(lambda row: [b - a for a, b in zip(row, row[1:])])),
    ("aten::sum", [X], lambda x, y, k: sum(flat(x))),
    ("aten::sum.dim_IntList", [X, [1]], rows(sum)),
    ("aten::prod.dim_int", [X, 1], rows(math.prod)),
    ("aten::amax", [X, [0]], columns(max)),
    ("aten::amin", [X, [1]], rows(min)),
    ("aten::argmax", [X, 1], rows(lambda row: row.index(max(row)))),
    ("aten::cumsum", [X, 1], rows(sums)),
    ("aten::max.dim", [X, 1], lambda x, y, k: [[max(row) for row in x], [row.index(max(row)) for row in x]]),
    ("aten::sort.stable", [X], lambda x, y, k: [[sorted(row) for row in x], [order(row) for row in x]], ALL,
     {"stable": True, "dim": 1}),
    ("aten::any", [X], lambda x, y, k: any(flat(x))),
    ("aten::all", [X], lambda x, y, k: all(flat(x))),
    ("aten::count_nonzero", [X], lambda x, y, k: sum(v != 0 for v in flat(x))),
    ("aten::nonzero", [X], lambda x, y, k: [[i, j] for i, r in enumerate(x) for j, v in enumerate(r) if v]),
    ("aten::index_select", [X, 1, index(0, 0)], rows(lambda row: [row[0], row[0]])),
    ("aten::take", [X, index(0)], lambda x, y, k: [x[0][0]]),
    ("aten::unbind.int", [X, 0], lambda x, y, k: x),
    ("aten::split.Tensor", [X, 1, 0], lambda x, y, k: [[row] for row in x]),
    ("aten::eye", [K], lambda x, y, k: [[int(i == j) for j in range(k)] for i in range(k)]),
    ("aten::arange", [K], lambda x, y, k: list(range(k))),
    ("aten::full", [[K, 2], 7], lambda x, y, k: [[7, 7]] * k),
    ("aten::linear", [X, Y], lambda x, y, k: times(x, y), FLOATS),
    ("aten::mean", [X], lambda x, y, k: float(sum(flat(x)) / len(flat(x))), FLOATS),
    ("aten::softmax.int", [X, 1], rows(softmax), FLOATS),
    ("aten::exp", [X], each(lambda v, k: math.exp(v)), FLOATS),
    ("aten::sin", [X], each(lambda v, k: math.sin(v)), FLOATS),
    ("aten::tanh", [X], each(lambda v, k: math.tanh(v)), FLOATS),
    ("aten::sigmoid", [X], each(lambda v, k: 1 / (1 + math.exp(-v))), FLOATS),
]

# Operators for chains: each gives a matrix of the same shape and of numbers that stay small.
STEPS = [
    ("aten::neg", [X], lambda x: [[-v for v in row] for row in x]),
    ("aten::abs", [X], lambda x: [[abs(v) for v in row] for row in x]),
    ("aten::flip", [X, [0]], lambda x: x[::-1]),
    ("aten::flip", [X, [1]], lambda x: [row[::-1] for row in x]),
    ("aten::roll", [X, [1], [1]], lambda x: [row[-1:] + row[:-1] for row in x]),
    ("aten::rsub.Scalar", [X, 3], lambda x: [[3 - v for v in row] for row in x]),
    ("aten::clamp", [X, -5, 5], lambda x: [[min(max(v, -5), 5) for v in row] for row in x]),
    ("aten::remainder.Scalar", [X, 7], lambda x: [[v % 7 for v in row] for row in x]),
]


def matrix(rnd, most=6):
    """A matrix of at most that many rows and columns."""
    r, c = rnd.randint(1, most), rnd.randint(1, most)
    return [[rnd.randint(-9, 9) for _ in range(c)] for _ in range(r)]


def like(rnd, x):
    return [[rnd.randint(-9, 9) for _ in row] for row in x]


def pack(x, dtype):
    values = flat(x)
    return struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)


def unpack(data, dtype, shape, strides=None):
    """Nested lists of the elements; strides: contiguous by default."""
    values = memoryview(data).cast("B").cast(FORMATS[dtype]) if len(data) else ()
    if strides is None:
        strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]

    def inside(dims, at):
        if not dims:
            return values[at]
        (n, stride), rest = dims[0], dims[1:]
        return [inside(rest, at + i * stride) for i in range(n)]
    return inside(list(zip(shape, strides)), 0)


def same(got, want):
    """Are they equal?  Floats in `want` may differ by rounding, ints may not."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, float):
        return isinstance(got, (int, float)) and math.isclose(got, want, rel_tol=1e-4, abs_tol=1e-5)
    return got == want
