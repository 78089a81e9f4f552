"""sort.py -- sorting, order statistics, unique elements, searches in sorted lists."""

import functools
import itertools

import torch

from cases.inputs import (ALL, CASES, MORE, b8, bf16, edges, f32, f64, i64, layouts_of, make, nan, none, of, outs_of,
                          some, special, u8)


def sorted_ones():
    for a in ALL:
        for b in (a, f32, i64):
            yield make(a, 7).sort().values if not a.is_complex else make(a, 7), make(b, 3, 4)
    yield make(f32, 3, 7).sort().values, make(f32, 3, 4)
    yield make(f32, 7, 3).t().sort().values, make(f32, 4, 3).t()
    yield make(f32, 7).sort().values, special(f32)
    yield special(i64).sort().values, special(i64)
    for x, y in ((make(f32, 0), make(f32, 2)), (make(f32, 3), make(f32, 0)), (make(f32), make(f32, 2)), (make(f32, 2, 3), make(f32, 3, 3)), (make(f32, 2, 3), make(f32)),
                 (make(f32, 3).sort().values, make(f32)), (make(f32, 2000).sort().values, make(f32, 5000))):
        yield x, y


CASES["searchsorted.Tensor"] = lambda: itertools.chain(
    (((x, y), k) for x, y in sorted_ones() for k in ({}, {"right": True}, {"out_int32": True}, {"side": "right"}, {"side": "left", "right": True}, {"side": "up"})),
    (((x, make(f32, 4)), {"sorter": torch.tensor(s)}) for x in (make(f32, 3),) for s in ([2, 1, 0], [0, 1], [0.5, 1, 2])),  # 1.13 reads where an index that is out of range points
    [((x := make(f32, 3, 5), make(f32, 3, 4)), {"sorter": x.argsort(-1)})])
CASES["searchsorted.Scalar"] = lambda: (((x, v), {"right": r}) for x, _ in sorted_ones() for v in (1, 0.5) for r in (False, True))
CASES["bucketize.Tensor"] = lambda: (((y, x), {"right": r, "out_int32": o}) for x, y in sorted_ones() for r in (False, True) for o in (False, True))
CASES["bucketize.Scalar"] = lambda: (((v, x), {"right": r}) for x, _ in sorted_ones() for v in (1, 0.5) for r in (False, True))


def repeated():
    return [make(d, *s) for d in MORE + [torch.complex64] for s in ((3, 4), (9,))] + [
        make(f32, 4, 3).t(), make(f32), make(f32, 0), make(f32, 0, 3), make(f32, 3, 0), make(f32, 0, 0), make(i64, 3, 2, 2, low=0, high=2), make(b8, 6, 2), special(i64)]


CASES["_unique2"] = lambda: (((x, True, i, c), {}) for x in repeated() for i in (False, True) for c in (False, True))
CASES["unique_consecutive"] = lambda: (((x, i, c, *d), {}) for x in repeated() for i in (False, True) for c in (False, True) for d in ((), (0,), (-1,), (5,)))
CASES["unique_dim"] = lambda: (((x, d, True, i, True), {}) for x in repeated() for d in (0, -1, 5) for i in (False, True))
CASES["unique_dim_consecutive"] = lambda: (((x, d), {}) for x in repeated() for d in (0, -1, 5))


# -- order --

def lines(types=MORE):
    """A tensor of every dtype and geometry, with equal elements, lines short and long, and a dimension."""
    for x in [make(d, *s) for d in types for s in ((3, 4), (9,), (7, 5))] + [special(f32), special(i64), special(torch.bfloat16), special(f32).repeat(3, 2)] + [
            make(f32, 4, 3).t(), make(f32, 6, 8)[::2, ::2], make(f32), make(i64), make(f32, 0), make(f32, 3, 0), make(f32, 2, 3, 4, 2).to(memory_format=torch.channels_last),
            make(f32, 3, 1).expand(3, 4), make(i64, 30, 70), make(i64, 2, 900), make(f32, 2, 500), make(f64, 300, 4), make(b8, 8, 90), make(torch.complex64, 3)]:
        for d in (-1, 0, 1) if x.dtype is f32 else (-1, 5) if x.dtype is i64 else (-1,):
            yield x, d


def pair_outs(x):
    return [{"values": v, "indices": i} for v, i in (
        (torch.zeros(0, dtype=x.dtype), torch.zeros(0, dtype=i64)), (torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=i64)),
        (torch.zeros(2, dtype=x.dtype), torch.zeros(2, dtype=i64)), (torch.zeros(0, dtype=x.dtype), torch.zeros(0)), (torch.zeros(0, dtype=torch.int8), torch.zeros(0, dtype=i64)))]


CASES["sort"] = CASES["argsort"] = some(60, lambda: (((x, d, r), {}) for x, d in lines() for r in (False, True)))
CASES["sort.stable"] = some(60, lambda: (((x,), {"stable": True, "dim": d, "descending": r}) for x, d in lines() for r in (False, True)))
CASES["argsort.stable"] = CASES["sort.stable"]
CASES["sort.values"] = some(60, lambda: (((x, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["sort.values_stable"] = some(60, lambda: (((x,), {"stable": True, "dim": d, **o}) for x, d in lines() for o in pair_outs(x)))
CASES["msort"] = some(60, lambda: (((x,), {}) for x, _ in lines()))
CASES["msort.out"] = some(60, lambda: (((x,), {"out": torch.zeros(0, dtype=e)}) for x, _ in lines() for e in (x.dtype, b8)))
long_lines = lambda: [(y.repeat(40), -1) for d in MORE if d is not b8 for y in (special(d), make(d, 9))] + [(make(f64, 300, 2), 0)]
CASES["topk"] = some(90, lambda: (((x, k, d, g, s), {}) for x, d in [*lines(), *long_lines()] for k in (0, 1, 3, 20, 60, -1) for g in (True, False) for s in (True, False)))
CASES["topk.values"] = some(60, lambda: (((x, 2, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["kthvalue"] = some(60, lambda: (((x, k, d, e), {}) for x, d in lines() for k in (0, 1, 3, 35, 400) for e in (False, True)))
CASES["kthvalue.values"] = some(60, lambda: (((x, 2, d), o) for x, d in lines() for o in pair_outs(x)))
CASES["median"] = CASES["nanmedian"] = some(60, lambda: (((x,), {}) for x, _ in lines()))
# 1.13's medians take an expanded dimension for a packed one
CASES["median.dim"] = CASES["nanmedian.dim"] = CASES["mode"] = some(60, lambda: (((x, d, e), {}) for x, d in lines() if 0 not in x.stride() for e in (False, True)))
CASES["median.dim_values"] = CASES["nanmedian.dim_values"] = CASES["mode.values"] = some(60, lambda: (
    ((x, d), o) for x, d in lines() if 0 not in x.stride() for o in pair_outs(x)))
CASES["_unique"] = lambda: (((x, True, i), {}) for d in (f32, i64, u8, b8, torch.complex64) for x in layouts_of(d) for i in (False, True))
CASES["searchsorted.Tensor_out"] = functools.partial(outs_of, "searchsorted.Tensor")
CASES["bucketize.Tensor_out"] = functools.partial(outs_of, "bucketize.Tensor")


# -- at the edges --

edges("mode", ([of(*v, dtype=d), 0] for d in (f32, f64, bf16) for v in ((1.5, nan, 0.25, nan), (nan, 1.5, 1.5), (0.0, nan), (nan, nan, nan), (1, 1, nan, nan, nan))))
edges("kthvalue", ([torch.tensor(x), 1] for x in (True, 1 + 2j, 2.0)))
edges("median.dim", ([torch.tensor(x), 0] for x in (True, 2.0)))
edges("topk", [[torch.tensor(True), 1, 0], [torch.tensor(1 + 2j), 1, -1], [torch.tensor(3.0), 0], [of(True, False, dtype=b8), 1]])
# one tensor as two outputs: the last one is what it holds
edges("unique_dim.out", (([of([[3, 1], [2, 0], [3, 1]], dtype=i64), 0, True, True, True], dict(zip(("out0", "out1", "out2"), (none(0, dtype=i64), o, o))))
                         for o in (none(0), none(2, 3))))
edges("sort.stable", (([torch.tensor(x)], {"stable": True, "descending": d}) for x in (1 + 2j, True, 2.5) for d in (False, True)))

# Not compared, because PyTorch's answer there is not one:
#   median of an expanded tensor along the dimension that was expanded: it sorts in the one place there is
#   mode of lines with NaN: it sorts them by a < b, which orders no NaN, so where they end is chance; here they are last
