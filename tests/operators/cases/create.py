"""create.py -- factories, copies and conversions of dtypes, windows and frequencies."""

import itertools

import torch

from cases.inputs import (ALL, BITS, CASES, FORMATS, MAIN, MORE, MOST, b8, c64, case, edges, f32, f64, i32, i64, inf,
                          layouts, make, nan, none, u8, upto)


@case("empty.memory_format", "zeros", "ones")
def sized():
    for dtype in [None] + MORE:
        for size in ([2, 3], [], [0, 4], [2, 3, 4, 5]):
            yield (size,), {"dtype": dtype} if dtype else {}
    yield ([2, -3],), {}
    yield ([2, 3],), {"device": torch.device("cpu")}


@case("full")
def filled_sized():
    for value in (2, 2.5, -1):
        for dtype in [None] + MAIN:
            yield ([2, 3], value), {"dtype": dtype} if dtype else {}


@case("new_empty", "new_zeros", "new_ones")
def new_sized():
    for dtype in MAIN:
        for size in ([2, 3], [], [0]):
            yield (make(dtype, 2), size), {}
    yield (make(f32, 2), [3]), {"dtype": i64}


CASES["new_full"] = lambda: (((make(d, 2), [2, 3], v), {}) for d in MAIN for v in (2, 1.5, 300, -1))


@case("empty_strided")
def strided():
    yield ([2, 3], [1, 2]), {}
    yield ([2, 3], [0, 1]), {"dtype": i64}
    yield ([2, 3], [1]), {}


CASES["new_empty_strided"] = lambda: (((make(i64, 2), *a), k) for a, k in strided())


@case("empty_like", "zeros_like", "ones_like")
def likes():
    for dtype in MAIN:
        for x in layouts(dtype):
            yield (x,), {}
    yield (make(f32, 2, 3),), {"dtype": i64}
    for x in layouts(f32):
        yield (x,), {"memory_format": torch.contiguous_format}
        yield (x,), {"memory_format": torch.channels_last}


CASES["full_like"] = lambda: (((x, v), {}) for d in MAIN for x in layouts(d) for v in (3, 2.5, -1, 300, inf))
CASES["scalar_tensor"] = lambda: (((v,), {"dtype": d} if d else {}) for v in (2, 2.5) for d in [None] + MAIN)
CASES["arange"] = lambda: (((e,), {"dtype": d} if d else {}) for e in (0, 5, 4.5, 100000) for d in (None, f32, f64, i64, i32))
CASES["arange.start"] = lambda: (((s, e), {}) for s, e in ((0, 5), (2, 7), (0.5, 3), (5, 2), (2**60, 2**60 + 3), (nan, 2)))
CASES["arange.start_step"] = lambda: (
    ((s, e, t), {"dtype": d} if d else {}) for d in (None, f32, f64, i64, torch.float16) for s, e, t in
    ((0, 10, 3), (0, 1, 0.25), (10, 0, -3), (0, 5, 0), (1, 2, -1), (0.0, 1.0, 0.1), (-3, 3, 2)))
CASES["range.step"] = lambda: (
    ((s, e, t), {"dtype": d} if d else {}) for d in (None, f32, f64, i64, torch.bfloat16, torch.float16, u8) for s, e, t in
    ((0, 10, 3), (0, 1, 0.25), (10, 0, -3), (0, 5, 0), (1, 2, -1), (0.0, 1.0, 0.1), (-3, 3, 2), (1, 1, -1), (0, inf, 1), (0, 1e20, 1e17)))
CASES["range"] = CASES["arange.start"]
CASES["range.out"] = lambda: (((s, 9, 3), {"out": o}) for s in (0, 1, 10) for d in (f32, i64, f64, b8) for o in (
    torch.zeros(4, dtype=d), torch.zeros(0, dtype=d), torch.zeros(4, 2, dtype=d)[:, 1], torch.zeros(2, 2, dtype=d).t()))
CASES["range.out_"] = lambda: (((0, 3), {"out": torch.zeros(n, dtype=d)}) for d in (f32, i64) for n in (4, 2))
CASES["empty.out"] = lambda: (((s,), {"out": torch.zeros(2, 3, dtype=d)}) for d in (f32, i64) for s in ([3, 2], [2, 3], [], [0], [-1]))
CASES["arange.start_out"] = lambda: (((0, 10, 3), {"out": torch.zeros(4, dtype=d)}) for d in (f32, i64, f64))
CASES["fill_.Scalar"] = CASES["full_like"]
CASES["fill_.Tensor"] = lambda: (((x, make(f32, *s)), {}) for d in MAIN for x in layouts(d) for s in ((), (1,)))
CASES["zero_"] = lambda: (((x,), {}) for d in MORE for x in layouts(d))


@case("copy_")
def copies():
    for a, b in itertools.product(MORE, MORE):
        for x, y in ((make(a, 3, 4), make(b, 3, 4)), (make(a, 4, 3).t(), make(b, 4)), (make(a, 2, 2), make(b))):
            yield (x, y), {}
    yield (make(f32, 2), make(f32, 3)), {}


@case("clone")
def clones():
    for dtype in MORE:
        for x in layouts(dtype):
            yield (x,), {}
    for x in layouts(f32):
        for f in FORMATS:
            yield (x,), {"memory_format": f}


CASES["contiguous"] = lambda: (((x,), {"memory_format": f}) for x in layouts(f32) for f in FORMATS)
CASES["_to_copy"] = lambda: itertools.chain(
    (((x,), {"dtype": d}) for e in MAIN for x in layouts(e) for d in MAIN),
    (((x,), {"memory_format": f}) for x in layouts(f32) for f in FORMATS))
CASES["to.dtype"] = lambda: (((x, d, False, c), {}) for x in layouts(f32) for d in MAIN for c in (False, True))
CASES["to.device"] = lambda: (((x, torch.device("cpu"), d), {}) for x in layouts(f32) for d in MAIN)
CASES["to.dtype_layout"] = lambda: (((x,), {"dtype": d}) for x in layouts(f32) for d in MAIN)
CASES["to.other"] = CASES["type_as"] = lambda: (((x, make(d, 2)), {}) for x in layouts(f32) for d in MAIN)


@case("equal")
def compared():
    for dtype in ALL:
        x = make(dtype, 3, 4)
        for y in (x, x.clone(), x.t().contiguous().t(), x[:2], make(dtype, 4), make(f32, 3, 4)):
            yield (x, y), {}
        yield (make(dtype, 0), make(dtype, 0)), {}
    yield (torch.tensor([nan]), torch.tensor([nan])), {}


# -- ranges --

CASES["linspace"] = lambda: (((a, b, n), {"dtype": d} if d else {}) for a, b in ((0, 1), (-2.5, 7), (3, -3), (1, 1))
                             for n in (0, 1, 2, 5, 50, -1) for d in (None, f32, f64, torch.float16, torch.bfloat16, torch.complex64))
CASES["logspace"] = lambda: (((a, b, n, *p), {"dtype": d} if d else {}) for a, b in ((0, 1), (-2.5, 3), (3, -3))
                             for n in (0, 1, 2, 5, -1) for p in ((), (2.0,)) for d in (None, f32, f64, torch.complex64))
CASES["linspace.out"] = lambda: (((0, 4, n), {"out": o()}) for n in (0, 1, 5) for o in (
    lambda: torch.zeros(0), lambda: torch.zeros(5), lambda: torch.zeros(10)[::2], lambda: torch.zeros(2, 2)))
CASES["logspace.out"] = CASES["linspace.out"]
CASES["eye"] = lambda: (((n,), {"dtype": d} if d else {}) for n in (0, 1, 3, -1) for d in [None] + ALL)
CASES["eye.m"] = lambda: (((n, m), {}) for n in (0, 2, -1) for m in (0, 3, -1))
CASES["eye.out"] = lambda: (((n,), {"out": o}) for n in (0, 3, -1) for o in (torch.zeros(0), torch.zeros(2, 2), torch.zeros(3, 6)[:, ::2]))
CASES["eye.m_out"] = lambda: (((n, 2), {"out": o}) for n in (0, 3, -1) for o in (torch.zeros(0), torch.zeros(2, 2), torch.zeros(3, 2)))
CASES["tril_indices"] = CASES["triu_indices"] = lambda: (
    ((r, c, o), {}) for r in (0, 1, 3, 5, -1) for c in (0, 1, 4, -1) for o in (0, 1, -1, 3, -3, 100, -100))

# -- windows and frequencies --

kinds = [{}, {"dtype": f64}, {"dtype": torch.bfloat16}, {"dtype": i64}, {"dtype": c64}]
for name in "bartlett", "blackman", "hann", "hamming", "kaiser":
    CASES[name + "_window"] = lambda: (((n,), k) for n in (0, 1, 2, 3, 10, 11, 100, -1) for k in kinds)
    CASES[name + "_window.periodic"] = lambda: (((n, p), k) for n in (0, 1, 2, 3, 10, 11) for p in (True, False) for k in kinds)
CASES["kaiser_window.beta"] = lambda: (((n, p, b), k) for n in (0, 1, 10, 11) for p in (True, False) for b in (0.0, 5.0, 50.0) for k in kinds)
CASES["hamming_window.periodic_alpha"] = lambda: (((n, p, 0.3), k) for n in (0, 1, 10) for p in (True, False) for k in kinds)
CASES["hamming_window.periodic_alpha_beta"] = lambda: (((n, p, 0.3, 0.9), k) for n in (0, 1, 10) for p in (True, False) for k in kinds)
CASES["fft_fftfreq"] = CASES["fft_rfftfreq"] = lambda: (((n, *d), k) for n in (0, 1, 2, 7, 8, -1) for d in ((), (0.5,), (0.0,)) for k in kinds)
CASES["fft_fftfreq.out"] = CASES["fft_rfftfreq.out"] = lambda: (((n,), {"out": torch.zeros(m, dtype=d)}) for n in (1, 7, 8) for m in (0, n)
                                                                 for d in (f32, f64, i64))


# -- at the edges --

edges("logspace", [([2.5, 5, n], {"dtype": d}) for n in (1, 2, 4) for d in (i64, u8, f32, i32)] + [([-1, 10, 4], {"dtype": i64})] +
      [([a, b, n], {"dtype": d}) for a, b in ((inf, 5), (0, MOST), (-1, 2), (-2**63, nan)) for n in (0, 1, 2) for d in (u8, i64, f32)])
edges("linspace", (([a, b, n], {"dtype": d}) for a, b in ((inf, 5), (5, -2**63), (10, -1), (5, 300), (1e300, 0), (-3, -9)) for n in (0, 1, 2)
                   for d in (u8, i64, f32)))
edges("arange.start_step", (([10, b, s], {"dtype": d}) for b, s in ((10, inf), (12, inf), (12, -inf), (12, nan)) for d in (u8, i64, f32)))
edges("clone", ([t] for t in BITS))


def overlapping():
    """A tensor to copy, and places for it of which elements share some: the last one that goes to a place stays there."""
    t = upto(4, 3, dtype=c64) * 1j + 1
    return ((t, seen) for o in [none(9, dtype=c64).as_strided((4, 3), s) for s in ((1, 2), (2, 1), (1, 1))] for seen in (o, o.conj()))


edges("copy_", ([o, t] for t, o in overlapping()))
edges("clone.out", (([t], {"out": o}) for t, o in overlapping()))

# Not compared, because PyTorch's answer there is not one:
#   tril_indices, triu_indices, arange, range near 2^63: its sums wrap
