"""reduce.py -- reductions, scans, histograms, segments, differences, integrals, statistics."""

import functools

import torch

from cases.inputs import (ALL, CASES, MAIN, MORE, b8, bf16, c128, c64, copy, edges, f32, f64, i32, i64, inf, layouts,
                          make, nan, none, of, outs_of, shaped, shared, some, special, u8, upto)


def counted():
    for x in [make(d, *s) for d in MORE for s in ((7,), (3, 4), (0,))] + [make(f32), special(f32), special(i64), make(f32, 4, 3).t(), make(f64, 3, 200)]:
        yield x


CASES["isin.Tensor_Tensor"] = some(150, lambda: (((x, y), k) for x in counted() for y in counted() for k in ({}, {"invert": True}) if y.is_contiguous()))  # 1.13 takes no view of others
CASES["isin.Tensor_Tensor_out"] = some(60, lambda: (((x, y), {"out": o}) for x in counted() for y in counted() if y.is_contiguous() for o in (torch.zeros(0, dtype=b8), torch.zeros(3, 4, dtype=b8), torch.zeros(0))))
CASES["isin.Tensor_Scalar"] = some(60, lambda: (((x, v), {"invert": n}) for x in counted() for v in (2, -1, 1.5) for n in (False, True)))
CASES["isin.Scalar_Tensor"] = some(60, lambda: (((v, x), {"invert": n}) for x in counted() for v in (2, -1, 1.5) for n in (False, True)))
CASES["isin.Tensor_Scalar_out"] = some(60, lambda: (((x, 2), {"out": torch.zeros(0, dtype=o)}) for x in counted() for o in (b8, f32)))
CASES["isin.Scalar_Tensor_out"] = some(60, lambda: (((2, x), {"out": torch.zeros(0, dtype=o)}) for x in counted() for o in (b8, f32)))
CASES["bincount"] = some(100, lambda: (((x.abs() if x.dtype is i64 else x, w, n), {}) for x in counted() for w in (
    None, make(f32, *x.shape), make(f64, *x.shape), make(i64, *x.shape), make(f32, 3)) for n in (0, 12, -1)
    if x.numel() == 0 or not x.dtype.is_floating_point and x.max() < 99))
CASES["histc"] = some(100, lambda: (((x, *a), {}) for x in counted() if x.dtype is not torch.bfloat16 and x.shape != (14,) for a in ((), (5,), (4, -1, 2), (0,), (3, 2, 1), (3, 0, inf))))
CASES["histc.out"] = some(60, lambda: (((x, 5), {"out": torch.zeros(n, dtype=d)}) for x in counted() for n in (0, 5, 3) for d in (x.dtype, i64)))


def weights_of(x):
    return [{}, {"density": True}, {"weight": make(x.dtype, *x.shape, low=0)}, {"weight": make(i64, *x.shape)}, {"weight": make(x.dtype, 2)}]


CASES["histogram.bin_ct"] = some(100, lambda: (((x, *b), {**k, **r}) for x in counted() for b in ((), (5,), (0,)) for k in weights_of(x)
                                               for r in ({}, {"range": [-1.0, 3.0]}, {"range": [1.0]}, {"range": [2.0, 1.0]}, {"range": [2.0, 2.0]})))
CASES["histogram.bins_tensor"] = some(100, lambda: (((x, make(d, *s).sort().values), k) for x in counted() for d, s in ((x.dtype, (6,)), (f32, (6,)), (x.dtype, (1,)), (x.dtype, (2, 3)))
                                                    for k in weights_of(x)))
CASES["histogram.bin_ct_out"] = some(40, lambda: (((x, 5), {"hist": torch.zeros(n, dtype=d), "bin_edges": torch.zeros(0, dtype=e)}) for x in counted()
                                                  for n in (0, 5, 3) for d in (x.dtype, i64) for e in (x.dtype, i64)))
CASES["histogram.bins_tensor_out"] = some(40, lambda: (((x, make(x.dtype, 6).sort().values), {"hist": torch.zeros(n, dtype=d), "bin_edges": torch.zeros(0, dtype=x.dtype)})
                                                       for x in counted() for n in (0, 5, 3) for d in (x.dtype, i64)))
points = lambda: [make(d, *s) for d in (f32, f64, i64) for s in ((30, 2), (4, 5, 3), (0, 2), (5,), (9, 1))]
CASES["_histogramdd_bin_edges"] = CASES["_histogramdd_from_bin_cts"] = some(100, lambda: (
    ((x, b), {**r, **d}) for x in points() for b in ([3, 4], [3, 2, 5], [1, 0]) if x.shape[-1] == len(b) for r in ({}, {"range": [-2.0, 3.0] * len(b)}, {"range": [1.0]}) for d in ({}, {"density": True})))
CASES["_histogramdd_from_bin_tensors"] = some(100, lambda: (((x, [make(d, n).sort().values for n in b]), k) for x in points() for d in (x.dtype, f32) for b in ([3, 4], [3, 2, 5], [4], [1, 1])
                                                            for k in ({}, {"density": True}, {"weight": make(x.dtype, *x.shape[:-1])})))


def segmented():
    """data, and what says where its segments are"""
    for d in (f32, f64, torch.float16, torch.bfloat16, i64):
        for x in (make(d, 6, 3), make(d, 6), make(d, 3, 6).t(), special(f32)[:6].to(d)):
            for where in ({"lengths": torch.tensor([2, 0, 3, 1])}, {"lengths": torch.tensor([6], dtype=i32)}, {"offsets": torch.tensor([0, 2, 2, 6])},
                          {"lengths": torch.tensor([2, 3])}, {"lengths": torch.tensor([7, -1])}, {}):
                yield x, where
        yield make(d, 2, 4, 3), {"lengths": torch.tensor([[1, 3], [4, 0]]), "axis": 1}
        yield make(d, 2, 4, 3), {"lengths": torch.tensor([1, 3]), "axis": 1}


CASES["segment_reduce"] = some(150, lambda: (((x, r), {**w, **k}) for x, w in segmented() for r in ("sum", "mean", "max", "min", "prod", "amax") for k in ({}, {"initial": 1})))
CASES["_segment_reduce_backward"] = some(100, lambda: (
    ((make(x.dtype, *y.shape), y, x, r), {**w, **k}) for x, w in segmented() if x.dtype is not i64 and w and sum(w.get("lengths", torch.tensor([6])).flatten()) >= 6
    and (w.get("lengths") is None or w["lengths"].min() >= 0 and w["lengths"].dim() == w.get("axis", 0) + 1)
    for r in ("sum", "mean", "max", "min", "prod") for k in ({}, {"initial": 1}) for y in (torch.segment_reduce(x, r, **w, **k),)))


# -- differences and integrals --

def samples():
    return [make(d, *s) for d in (f32, i64, b8, u8, torch.complex64) for s in ((5,), (3, 4))] + [make(f32, 4, 3).t(), make(f32), make(f32, 0, 3), make(f32, 2, 3, 4)]


CASES["diff"] = some(100, lambda: (((x, n, d, p, a), {}) for x in samples() for n in (0, 1, 2, 9, -1) for d in (-1, 0, 5) for p in (None, make(x.dtype, *x.shape)) for a in (None, p, make(x.dtype, 2))))
CASES["diff.out"] = some(60, lambda: (((x, n, d), {"out": torch.zeros(s, dtype=e)}) for x in samples() for n in (0, 1, 2) for d in (-1, 0) for s in ((0,), (2, 4)) for e in (x.dtype, i64)))
CASES["trapezoid.x"] = CASES["trapz.x"] = CASES["cumulative_trapezoid.x"] = some(80, lambda: (
    ((y, x), {"dim": d}) for y in samples() for d in (-1, 0) for x in (make(f32, 5), make(f32, 4), make(f32, 3), make(i64, 3, 4), make(f32, 2, 3, 4), make(b8, 4))))
CASES["trapezoid.dx"] = CASES["cumulative_trapezoid.dx"] = lambda: (((y,), {"dx": v, "dim": d}) for y in samples() for d in (-1, 0) for v in (1, 0.5))
CASES["trapz.dx"] = lambda: (((y,), {"dx": v, "dim": d}) for y in samples() for d in (-1, 0) for v in (1.0, 0.5))


def graded():
    return [make(f32, 5), make(f64, 4, 3), make(f32, 3, 4, 5), make(i64, 4, 4), make(u8, 5), make(f32), make(f32, 2), make(torch.complex64, 4), make(f32, 4, 5).t()]


CASES["gradient.scalarint"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in (None, 2, 0.5) for d in (None, 0, -1, 3) for o in (1, 2, 3))
CASES["gradient.scalararray"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in (2, 0.5) for d in ([0], [1, 0], [0, 0], []) for o in (1, 2))
CASES["gradient.array"] = lambda: (((x,), {"dim": d, "edge_order": o}) for x in graded() for d in ([0], [1, 0], [0, 0], [-1]) for o in (1, 2))
CASES["gradient.scalarrayint"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() if x.dim() for s in ([2.0], [1.0, 0.5]) for d in (None, 0) if d == 0 or len(s) == x.dim() for o in (1, 2))
CASES["gradient.scalarrayarray"] = lambda: (((x,), {"spacing": s, "dim": d, "edge_order": o}) for x in graded() for s in ([2.0], [1.0, 0.5]) for d in ([0], [1, 0]) for o in (1, 2))


def placed(x, n):
    return [torch.cumsum(torch.rand(s, dtype=f64 if x.dtype is f64 else f32) + 0.5, 0) for s in list(x.shape)[:n]]


CASES["gradient.tensorarrayint"] = lambda: (((x,), {"spacing": placed(x, n), "dim": d, "edge_order": o}) for x in graded() for n, d in ((1, 0), (3, None), (2, 0)) for o in (1, 2))
CASES["gradient.tensorarray"] = lambda: (((x,), {"spacing": placed(x, n), "dim": d, "edge_order": o}) for x in graded() for n, d in ((1, [0]), (2, [0, 1])) for o in (1, 2))


# -- statistics --

def spread_samples():
    nans = make(f32, 4, 5)
    nans[1, 2] = nans[3] = nan
    return [make(f32, 4, 5), make(f64, 7), make(f32), make(f32, 2, 3, 4), make(f32, 0), nans, nans.t(), make(i64, 3), make(f32, 5, 4).t()]


CASES["quantile"] = CASES["nanquantile"] = some(150, lambda: (
    ((x, q, d, k), {"interpolation": m}) for x in spread_samples() for q in (torch.tensor(0.5, dtype=x.dtype), torch.tensor([0.1, 0.9, 1.0], dtype=x.dtype), torch.tensor([0.25], dtype=f32),
                                                                             torch.tensor([1.5], dtype=x.dtype), torch.tensor([[0.5]], dtype=x.dtype))
    for d in (None, 0, -1, 5) for k in (False, True) for m in ("linear", "lower", "higher", "midpoint", "nearest", "odd")))
CASES["quantile.scalar"] = CASES["nanquantile.scalar"] = some(80, lambda: (((x, q, d, k), {}) for x in spread_samples() for q in (0.3, 1.0, 1.5) for d in (None, 0, -1) for k in (False, True)))
CASES["quantile.out"] = CASES["nanquantile.out"] = some(40, lambda: (((x, torch.tensor([0.2, 0.6], dtype=x.dtype), 0), {"out": torch.zeros(n, dtype=d)}) for x in spread_samples()
                                                                     for n in (0, 3) for d in (x.dtype, i64)))
CASES["quantile.scalar_out"] = CASES["nanquantile.scalar_out"] = some(40, lambda: (((x, 0.2, 0), {"out": torch.zeros(n, dtype=d)}) for x in spread_samples() for n in (0, 3) for d in (x.dtype, i64)))
CASES["cov"] = lambda: (((x,), {**k, **f, **a}) for x in (make(f32, 3, 5), make(f64, 5), make(f32), make(torch.complex64, 3, 5), make(i64, 2, 5), make(b8, 5), make(f32, 2, 2, 5), make(f32, 5, 3).t())
                        for k in ({}, {"correction": 0}, {"correction": 9}) for f in ({}, {"fweights": torch.tensor([1, 2, 0, 1, 3])}, {"fweights": torch.tensor([-1, 2, 0, 1, 3])},
                                                                                     {"fweights": torch.tensor([1.5])}, {"fweights": torch.tensor([0] * 5)})
                        for a in ({}, {"aweights": torch.rand(5, dtype=f64)}))
CASES["corrcoef"] = lambda: (((x,), {}) for x in (make(f32, 3, 5), make(f64, 5), make(f32), make(torch.complex64, 3, 5), make(i64, 2, 5), make(b8, 5), make(f32, 2, 2, 5)))
CASES["histogramdd"] = some(60, lambda: (((x, b), {**r, **d}) for x in points() for b in ([3, 4], [3, 2, 5]) if x.shape[-1] == len(b) for r in ({}, {"range": [-2.0, 3.0] * len(b)}) for d in ({}, {"density": True})))
CASES["histogramdd.int_bins"] = some(40, lambda: (((x, b), d) for x in points() for b in (3, 0) for d in ({}, {"density": True})))
CASES["histogramdd.TensorList_bins"] = CASES["_histogramdd_from_bin_tensors"]
CASES["sum"] = CASES["prod"] = CASES["mean"] = lambda: (((x,), {"dtype": t} if t else {}) for d in MAIN for x in layouts(d)
                                                        if x.numel() < 1000 and x.numel() != 9 for t in (None, f64))
CASES["max"] = CASES["min"] = CASES["any"] = CASES["all"] = lambda: (((x,), {}) for d in MAIN for x in layouts(d))
CASES["sum.dim_IntList"] = CASES["mean.dim"] = lambda: (((x, a, k), {}) for d in (f32, f64, i64) for x in layouts(d) if x.numel() < 1000
                                                        for a in ([0], [-1], [0, 1], [], None, [0, 0], [7]) for k in (False, True))
CASES["amax"] = CASES["amin"] = lambda: (((x, a, k), {}) for d in MAIN for x in layouts(d) for a in ([0], [-1], [0, 1], []) for k in (False, True))
CASES["prod.dim_int"] = CASES["any.dim"] = CASES["all.dim"] = CASES["max.dim"] = CASES["min.dim"] = lambda: (
    ((x, a, k), {}) for d in MAIN for x in layouts(d) if x.numel() < 1000 for a in (0, -1, 7) for k in (False, True))
CASES["argmax"] = CASES["argmin"] = lambda: (((x, a, k), {}) for d in MAIN if d is not b8 for x in layouts(d) for a in (None, 0, -1, 7) for k in (False, True))


def reduced_into(dims, names=("out",), result=None):
    """With outputs of the right shape, of others, of other dtypes, strided."""
    def given():
        for d in MORE + [torch.complex64]:
            for dim in dims:
                out = result or d
                for o in (torch.zeros(0, dtype=out), torch.zeros(8, dtype=out)[::2], torch.zeros(2, 2, dtype=out)):
                    yield (make(d, 3, 4), *dim), {n: o if i == 0 else copy(o).to(i64) for i, n in enumerate(names)}
        for out in (f64, i64, b8, u8, torch.bfloat16):
            yield (make(f32, 3, 4), *dims[0]), {n: torch.zeros(4, dtype=out) for n in names}
    return given


CASES["sum.IntList_out"] = CASES["mean.out"] = CASES["amax.out"] = CASES["amin.out"] = reduced_into((([0],), ([0], True), ([],)))
CASES["prod.int_out"] = reduced_into(((0,), (0, True)))
CASES["argmax.out"] = CASES["argmin.out"] = reduced_into(((0,), (0, True), (None,)), result=i64)
CASES["any.all_out"] = CASES["all.all_out"] = reduced_into(((),), result=b8)
CASES["any.out"] = CASES["all.out"] = reduced_into(((0,), (0, True)), result=b8)
CASES["max.dim_max"] = reduced_into(((0,), (0, True)), ("max", "max_values"))
CASES["min.dim_min"] = reduced_into(((0,), (0, True)), ("min", "min_indices"))


def reduced_by(*lists, dtypes=None, keywords=({},)):
    """Small tensors of every geometry with each list of arguments; floats of every dtype."""
    return lambda: (((x, *a), k) for d in dtypes or ALL for x in (layouts(d) if d in (f32, i64) else [make(d, 3, 4), make(d, 2, 0)])
                    if x.numel() < 1000 and not (x.dim() == 1 and x.numel() in (9, 14)) for a in lists for k in keywords)


DIMS = ([0],), ([-1], True), ([0, 1],), ([],), ([],  True), (None,), ([0, 0],), ([7],)
ONE_DIM = (0,), (-1, True), (7,)
NORMS = [torch.float16, torch.bfloat16, f32, f64, torch.complex64, torch.complex128, i64]
CASES["allclose"] = lambda: ((a, {}) for d in MAIN for x in (make(d, 3, 4), special(d)) for a in (
    (x, x), (x, x.clone(), 1e-3, 1e-3, True), (x, make(d, *x.shape)), (x, make(d)), (x, make(d, 5, 5))))
CASES["nansum"] = reduced_by(*DIMS, keywords=({}, {"dtype": f64}))
CASES["nansum.out"] = reduced_into(DIMS[:3])
CASES["nanmean"] = reduced_by(*DIMS, dtypes=MAIN)
CASES["count_nonzero"] = reduced_by((), (0,), (-1,), (7,))
CASES["count_nonzero.dim_IntList"] = reduced_by(([0],), ([0, 1],), ([],), ([0, 0],), ([7],))
CASES["aminmax"] = reduced_by((), keywords=({}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"keepdim": True}, {"dim": 7}))
CASES["aminmax.out"] = lambda: (((make(d, 3, 4),), {"dim": 0, "min": torch.zeros(n, dtype=d), "max": torch.zeros(n, dtype=e)})
                                for d in (f32, i64) for e in (d, f64) for n in (0, 4, 5))
for _w in ("var", "std"):
    CASES[_w] = CASES[_w + "_mean"] = reduced_by((), (False,))
    CASES[_w + ".dim"] = CASES[_w + "_mean.dim"] = reduced_by(*[(d[0], u, len(d) > 1) for d in DIMS for u in (True, False)])
    CASES[_w + ".correction"] = CASES[_w + "_mean.correction"] = reduced_by(
        *[(d[0],) for d in DIMS], dtypes=MORE, keywords=[{"correction": c, "keepdim": k} for c in (None, 0, 1, 3, 100) for k in (False, True)])
    CASES[_w + ".out"] = reduced_into([(d[0], True, len(d) > 1) for d in DIMS[:3]])
    CASES[_w + ".correction_out"] = lambda: ((a, {**k, "correction": c}) for a, k in reduced_into([(d[0],) for d in DIMS[:3]])() for c in (0, 1))
CASES["norm.ScalarOpt_dim"] = reduced_by(*[(p, *d) for p in (None, 0, 1, 2, 3, 0.5, -1, inf, -inf) for d in DIMS if d[0] is not None], dtypes=NORMS)
CASES["norm.out"] = reduced_into([(p, *d) for p in (None, 1, 3, inf) for d in DIMS[:2]])
CASES["norm.ScalarOpt_dim_dtype"] = lambda: (((make(d, 3, 4), p, *(a if len(a) > 1 else (*a, False))), {"dtype": t}) for d in NORMS for t in (f64, f32)
                                             for p in (None, 1, inf) for a in DIMS[:2] if d.is_complex <= t.is_complex)
CASES["norm.dtype_out"] = lambda: (((make(f32, 3, 4), p, [0], False), {"dtype": f64, "out": torch.zeros(n, dtype=f64)}) for n in (0, 4, 5) for p in (None, 1, inf))
CASES["norm.Scalar"] = reduced_by((), (1,), (inf,), dtypes=NORMS)
CASES["norm.ScalarOpt_dtype"] = lambda: (((make(d, 3, 4), p), {"dtype": f64}) for d in (f32, f64) for p in (None, 1))
CASES["linalg_vector_norm"] = reduced_by(*[(p, *d) for p in (0, 1, 2, 3, 0.5, -1, inf, -inf) for d in DIMS], dtypes=NORMS,
                                         keywords=({}, {"dtype": f64}))
CASES["linalg_vector_norm.out"] = lambda: (((make(d, 3, 4), p, [0]), {"out": torch.zeros(n, dtype=d)}) for d in (f32, f64) for n in (0, 4, 5) for p in (2, inf))
# no empty list: PyTorch 1.13.1 cannot add what it has taken the maxima from
CASES["logsumexp"] = CASES["special_logsumexp"] = reduced_by(*[d for d in DIMS if d[0]], dtypes=MAIN + [torch.complex64])

# -- scans --

CASES["cumsum"] = CASES["cumprod"] = reduced_by((0,), (-1,), (7,), dtypes=[d for d in ALL if d is not torch.float16],
                                                keywords=({}, {"dtype": f64}, {"dtype": i64}, {"dtype": torch.int32}))
CASES["cumsum_"] = CASES["cumprod_"] = lambda: (((make(d, 3, 4), dim), k) for d in MORE if d is not b8 for dim in (0, 1, 2) for k in ({}, {"dtype": f64}))
CASES["cumsum.out"] = CASES["cumprod.out"] = lambda: (((make(d, 3, 4), dim), {"out": o}) for d in MORE for dim in (0, 1) for o in (
    torch.zeros(0, dtype=d), torch.zeros(3, 4), torch.zeros(4, 3, dtype=f64).t(), torch.zeros(2, 2, dtype=i64)) if o.dtype is not b8)
CASES["cummax"] = CASES["cummin"] = reduced_by((0,), (-1,), (7,))
CASES["cummax.out"] = CASES["cummin.out"] = lambda: (
    ((make(d, 3, 4), dim), {"values": torch.zeros(*s, dtype=e), "indices": torch.zeros(*s, dtype=i64)})
    for d in (f32, i64, torch.bfloat16) for e in (d, f64) for dim in (0, 1, 2) for s in ((0,), (3, 4), (2, 2)))
CASES["_cummax_helper"] = CASES["_cummin_helper"] = lambda: (
    ((make(d, 3, 4), torch.zeros(3, 4, dtype=d), torch.zeros(3, 4, dtype=i64), dim), {}) for d in MORE for dim in (0, 1))
CASES["logcumsumexp"] = CASES["_logcumsumexp"] = reduced_by((0,), (-1,), (7,), dtypes=[f32, f64, torch.bfloat16, i64])
CASES["logcumsumexp.out"] = CASES["_logcumsumexp.out"] = lambda: (((make(d, 3, 4), 0), {"out": torch.zeros(n, 4, dtype=d)}) for d in (f32, f64) for n in (0, 3))
CASES["_aminmax"] = shaped(())
CASES["_aminmax.dim"] = shaped((0,), (-1, True), (3,))
CASES["cumprod_backward"] = lambda: (((make(x.dtype, *x.shape), x, d, x.cumprod(d)), {}) for x in (
    make(f64, 3, 4), make(f64, 1), make(f32, 4, 1), make(f64, 3, 5).round(), make(f64, 4, 5, 6).round(), torch.zeros(3, 4), make(torch.complex64, 3, 2), make(i64, 3, 2),
    torch.tensor([[1.0, 0, 2], [0, 0, 3], [0, 2, 3], [1, 2, 0]])) for d in (0, -1) if d < x.dim())
CASES["logsumexp.out"] = functools.partial(outs_of, "logsumexp")
CASES["special_logsumexp.out"] = functools.partial(outs_of, "logsumexp")
CASES["nanmean.out"] = functools.partial(outs_of, "nanmean")


# -- at the edges --

# one tensor as two outputs: the last one is what it holds
edges("max.dim_max", (([of([[3, 1], [2, 9], [3, 9]], dtype=i64), 0, True], {"max": m, "max_values": v}) for m, v in (
    *((o.long(), o.long()) for o in (none(0), none(2, 3))), *((o, o) for o in (none(0, dtype=i64), none(1, 2, dtype=i64))))))
edges("histogram.bin_ct_out", (([upto(4), 2], {"hist": none(2), "bin_edges": shared(n)}) for n in (2, 3)))
for _name in "var", "std":
    _outs = [([torch.randn(3, 4, dtype=c64), [0], False, False], {"out": none(0, dtype=d)}) for d in (f32, f64, bf16, c64, c128, i64)]
    edges(_name + ".out", _outs)
    edges(_name + ".correction_out", ((a[:2], {"correction": 0, **k}) for a, k in _outs))
