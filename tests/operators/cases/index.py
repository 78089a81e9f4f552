"""index.py -- selection by index and mask, gathering, scattering, and their gradients."""

import itertools

import torch

from cases.inputs import (ALL, CASES, MAIN, b8, bf16, c64, case, edges, f32, f64, i32, i64, make, nan, of, outs_of,
                          some, special, u8, upto, viewed, with_args)

CASES["repeat_interleave.Tensor"] = lambda: (((torch.tensor(v, dtype=d), *a), {}) for d in (i64, torch.int32, f32)
                                             for v, a in (([1, 2, 0, 3], ()), ([], ()), ([2, -1], ()), ([[1]], ())))


# -- by index and by mask --

def masks():
    return [torch.tensor([True, False, True]), torch.tensor([[True, False, True, True]] * 3), torch.zeros(3, dtype=b8),
            torch.tensor([1, 0, 1], dtype=u8), torch.ones(2, dtype=b8)]


def indices():
    at = torch.tensor([0, 2, 1, -1])
    return [[at], [None, at], [at, at], [at.reshape(2, 2)], [at[:1], at], [at.reshape(4, 1), at], [torch.tensor(1)], [None, torch.tensor(-4)],
            [torch.tensor([], dtype=i64)], [torch.tensor([5])], [torch.tensor([0, -9])], [at, at, at], [at, None, at[:2]],
            [torch.tensor([0, 1]), None, torch.tensor([[0], [1]])], [at.to(torch.int32)], [at[:3], at[:2]], [torch.tensor([1.5])]] + [
            [m] for m in masks()] + [[None, torch.tensor([True, False, True, True])], [at[:2], torch.tensor([True, False, False, True])]]


def indexed():
    return [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3, 4, 2), make(f32, 0, 4), make(f32, 3, 0), make(f32),
                                           make(i64, 6, 8)[::2, ::2], make(f32, 3, 1).expand(3, 4), make(f32, 3, 4, 2).permute(0, 2, 1)]


CASES["index.Tensor"] = lambda: (((x, i), {}) for x in indexed() for i in indices())
CASES["index.Tensor_out"] = lambda: (((x, i), {"out": o}) for x in indexed() for i in indices()[:6] for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(4, 8, dtype=x.dtype)[:, ::2]))


@case("index_put", "index_put_", "_index_put_impl_")
def put_at():
    for x in indexed():
        if x.stride() == (1, 0):
            continue
        for i in indices():
            for values in (make(x.dtype), make(x.dtype, 1), make(x.dtype, 4), make(x.dtype, 4, 4), make(i64 if x.dtype is f32 else f32)):
                # where an index is there twice, PyTorch's threads decide
                for add in (False, True) if x.dtype is not torch.float16 else (False,):
                    yield (x, i, values, add), {}
    for x, i in ((make(f32, 5, 40), torch.tensor([4, -5, 2])), (make(i64, 3, 5, 30), torch.tensor([1, 1, -1, 0])), (make(b8, 30, 6).t(), torch.tensor([2, 6])),
                 (make(f32, 0, 20), torch.tensor([0])), (make(torch.bfloat16, 4, 50)[:, ::2], torch.tensor([3, 0]))):
        for at in ([i], [None, i]) if x.dim() == 3 else ([i],):
            for values in (make(x.dtype), make(x.dtype, x.shape[-1])):
                yield (x, at, values, True), {}
                if i.numel() < 4:
                    yield (x, at, values, False), {}


CASES["nonzero"] = lambda: (((x,), {}) for x in indexed() + [special(f32), make(f32, 70, 1001), torch.tensor([-0.0, nan])])
CASES["nonzero.out"] = lambda: (((x,), {"out": o}) for x in indexed() for o in (
    torch.zeros(0, dtype=i64), torch.zeros(2, 2, dtype=i64), torch.zeros(0)))
CASES["masked_select"] = lambda: (((x, m), {}) for x in indexed() for m in masks() + [make(f32, 3, 4), torch.ones(3, 1, dtype=b8)])
CASES["masked_select.out"] = lambda: (((x, m), {"out": o}) for x in indexed() for m in masks()[:2] for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(20, dtype=x.dtype)[::2], torch.zeros(0, dtype=b8)))
CASES["masked_scatter"] = CASES["masked_scatter_"] = lambda: (
    ((x, m, s), {}) for x in indexed() if x.is_contiguous() for m in masks() + [make(f32, 3, 4)]
    for s in (make(x.dtype, 3, 4), make(x.dtype, 40), make(x.dtype, 1), make(f64, 12)))
CASES["masked_fill.Tensor"] = CASES["masked_fill_.Tensor"] = lambda: (
    ((x, m, v), {}) for x in indexed() if x.stride() != (1, 0) for m in masks()[:4]
    for v in (torch.tensor(2), torch.tensor(True), torch.tensor(2.5), torch.tensor([1])) if x.dtype is not b8 or v.dtype is b8)
CASES["take"] = lambda: (((x, i), {}) for x in indexed() for i in (
    torch.tensor([0, 5, -1]), torch.tensor([[0], [3]]), torch.tensor(2), torch.tensor([12]), torch.tensor([-13]), torch.tensor([], dtype=i64),
    torch.tensor([1], dtype=torch.int32), torch.tensor([[0, 1], [2, 3]]).t()))
CASES["take.out"] = lambda: (((x, torch.tensor([0, 5, -1])), {"out": o}) for x in indexed() for o in (
    torch.zeros(0, dtype=x.dtype), torch.zeros(6, dtype=x.dtype)[::2], torch.zeros(2, 2, dtype=x.dtype)))
CASES["put"] = CASES["put_"] = lambda: (((x, i, s, a), {}) for x in indexed() if x.stride() != (1, 0) for i in (
    torch.tensor([0, 5, -1]), torch.tensor([[0], [3], [7]]), torch.tensor([12, 0, 0]), torch.tensor([1, 2, 3], dtype=torch.int32))
    for s in (make(x.dtype, 3), make(x.dtype, 1, 3), make(x.dtype, 2), make(f64, 3)) for a in (False, True))


def vectors():
    """A tensor of every dtype and geometry, a dimension, and a vector of indices for it."""
    at = [torch.tensor(i, dtype=t) for i, t in (([0, 2, 1], i64), ([0, 0], i64), ([1, 0], i32), ([], i64), (0, i64), ([9], i64), ([-1], i64),
                                                ([[0]], i64), ([0.5], f32))]
    for x in [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3, 4, 3), make(f32, 3), make(f32, 3, 0), make(f32, 0, 3), make(f32),
                                             make(i64, 6, 8)[::2, ::2], make(f32, 3, 4, 3).permute(2, 0, 1), make(f32, 40, 300)]:
        for i in at[:3] if x.dtype not in (f32, i64) else at:
            for d in (0, -1, 1, 5)[:2 if x.dtype is not f32 else 4]:
                yield x, d, i


def sources(x, d, i, narrow=False):
    """What may go to those slices, and what may not."""
    n, shape = i.numel(), list(x.shape)
    if not -x.dim() <= d < x.dim() or i.dim() > 1:
        return [make(x.dtype, 3, 4)]
    shape[d] = n
    good = make(x.dtype, *shape)
    found = [good, good.clone().transpose(0, -1).contiguous().transpose(0, -1)]
    if x.dtype is f32:
        found += [make(f32, *shape[:-1], shape[-1] + 1), make(f64, *shape), make(f32), make(f32, n, 1), make(f32, n)]
    return found


def reduced(x):
    return ("prod", "mean", "amax", "amin") + (("sum", "foo") if x.dtype is f32 else ())


def written_outs(x):
    return [torch.zeros(0, dtype=x.dtype), torch.zeros(2, 2, dtype=x.dtype), torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=b8),
            torch.zeros(1, dtype=x.dtype).expand(3, 4)]


CASES["index_add"] = CASES["index_add_"] = some(120, lambda: (
    ((x, d, i, s), k) for x, d, i in vectors() for s in sources(x, d, i) for k in ({}, {"alpha": 2}, {"alpha": -1.5}) if k or x.numel() < 100))
CASES["index_copy"] = CASES["index_copy_"] = some(120, lambda: (((x, d, i, s), {}) for x, d, i in vectors() for s in sources(x, d, i) if i.tolist() != [0, 0] and x.numel()))
CASES["index_reduce"] = CASES["index_reduce_"] = some(120, lambda: (
    ((x, d, i, s, r), {"include_self": k}) for x, d, i in vectors() for s in sources(x, d, i) for r in reduced(x) for k in (True, False)))
CASES["index_fill.int_Scalar"] = CASES["index_fill_.int_Scalar"] = some(120, lambda: (
    ((x, d, i, v), {}) for x, d, i in [*vectors(), (make(f32, 3, 1).expand(3, 4), 0, torch.tensor([1])), (make(f32, 3), 0, torch.tensor([-3]))]
    for v in (2, 1.5, -1, 300)))
CASES["index_fill.int_Tensor"] = CASES["index_fill_.int_Tensor"] = some(120, lambda: (
    ((x, d, i, v), {}) for x, d, i in vectors() for v in (torch.tensor(2), torch.tensor(0.5), torch.tensor([1]))))
CASES["index_select.out"] = some(120, lambda: (((x, d, i), {"out": o}) for x, d, i in vectors() for o in written_outs(x) if x.dim() or i.numel()))
CASES["index_add.out"] = some(120, lambda: (((x, 0, i, s), {"out": o}) for x, d, i in vectors() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype or x.numel() and s.dim() == x.dim()))
CASES["index_copy.out"] = some(120, lambda: (((x, 0, i, s), {"out": o}) for x, d, i in vectors() if i.tolist() != [0, 0] and x.numel() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype if x.dim() or i.numel()))
CASES["index_reduce.out"] = some(120, lambda: (((x, 0, i, s, "amax"), {"out": o}) for x, d, i in vectors() for s in sources(x, 0, i) for o in written_outs(x) if o.dtype is x.dtype or x.numel() and s.dim() == x.dim()))


def places():
    """A tensor, a dimension and an index with as many dimensions."""
    wide = torch.randint(0, 3, (3, 4))
    for x in [make(d, 3, 4) for d in ALL] + [make(f32, 4, 3).t(), make(f32, 3), make(f32), make(f32, 3, 0), make(f32, 0, 3), make(i64, 6, 8)[::2, ::2],
                                             special(f32)[:12].reshape(3, 4), special(i64)[:8].reshape(2, 4)]:
        for i in (wide, torch.tensor([[0, 1], [1, 0]]), torch.tensor([[2]]).expand(3, 3), wide.t().contiguous().t(), torch.zeros(0, 4, dtype=i64),
                  torch.tensor([1, 0]), torch.tensor(0), torch.tensor([[9]]), torch.tensor([[-1]]), torch.tensor([[0]], dtype=i32),
                  torch.zeros(5, 4, dtype=i64), torch.zeros(3, 5, dtype=i64)):
            for d in (0, 1, -1):
                yield x, d, i
    yield make(f32, 50, 70, 20), 1, torch.randint(0, 70, (50, 60, 20))
    yield make(f32, 20, 70, 50).permute(2, 1, 0), 1, torch.randint(0, 70, (50, 60, 20))
    yield make(f32, 300, 200), 0, torch.randint(0, 300, (280, 200))


def scattered(x, i):
    return [make(x.dtype, *i.shape)] + ([make(f32, 4, 5), make(f64, *i.shape), make(f32)] if x.dtype is f32 and x.numel() < 100 else [])


def placed_outs(x):
    return [torch.zeros(0, dtype=x.dtype), torch.zeros(6, 8, dtype=x.dtype)[::2, ::2], torch.zeros(3, 4, dtype=b8), torch.zeros(1, dtype=x.dtype).expand(3, 4)]


CASES["gather.out"] = some(120, lambda: (((x, d, i), {"out": o}) for x, d, i in places() for o in placed_outs(x)))
# 16 bits: what one index names twice is rounded after each step, in an order of PyTorch's
CASES["scatter.src"] = CASES["scatter_.src"] = CASES["scatter_add"] = CASES["scatter_add_"] = some(120, lambda: (
    ((x, d, i, s), {}) for x, d, i in places() for s in scattered(x, i)))
CASES["scatter.value"] = CASES["scatter_.value"] = some(120, lambda: (((x, d, i, v), {}) for x, d, i in places() for v in (2, 1.5, 300, -1)))
CASES["scatter.reduce"] = CASES["scatter_.reduce"] = some(120, lambda: (
    ((x, d, i, s), {"reduce": r}) for x, d, i in places() for s in scattered(x, i) for r in ("add", "multiply", "sum") if r != "sum" or x.dim() == 2))
CASES["scatter.value_reduce"] = CASES["scatter_.value_reduce"] = some(120, lambda: (
    ((x, d, i, v), {"reduce": r}) for x, d, i in places() for v in (2, 1.5) for r in ("add", "multiply", "sum") if r != "sum" or x.dim() == 2))
CASES["scatter_reduce.two"] = CASES["scatter_reduce_.two"] = some(120, lambda: (
    ((x, d, i, s, r), {"include_self": k}) for x, d, i in places() for s in scattered(x, i) for r in ("sum", "prod", "mean", "amax", "amin", "foo")
    for k in (True, False)))
for _name, _more in (("src", ()), ("reduce", ("add",)), ("add", ()), ("two", ("amax",))):
    _full = {"add": "scatter_add.out", "two": "scatter_reduce.two_out"}.get(_name, f"scatter.{_name}_out")
    CASES[_full] = some(120, lambda more=_more, named=_name == "reduce": (
        ((x, d, i, s, *(() if named else more)), {"out": o, **({"reduce": more[0]} if named else {})})
        for x, d, i in places() for s in scattered(x, i) for o in placed_outs(x)))
CASES["scatter.value_out"] = some(120, lambda: (((x, d, i, 2), {"out": o}) for x, d, i in places() for o in placed_outs(x)))
CASES["scatter.value_reduce_out"] = some(120, lambda: (((x, d, i, 2), {"out": o, "reduce": "add"}) for x, d, i in places() for o in placed_outs(x)))
CASES["take_along_dim"] = some(120, lambda: itertools.chain((((x, i, d), {}) for x, d, i in places()), (((x, i), {}) for x, d, i in places())))
CASES["take_along_dim.out"] = some(120, lambda: (((x, i, d), {"out": o}) for x, d, i in places() for o in placed_outs(x)))
CASES["index_select"] = lambda: (((x, d, torch.tensor(i, dtype=t)), {}) for x in viewed() for d in (0, 1, -1, 4) for i, t in
                                 (([0], i64), ([0, 0, 1], i64), ([1, 0], i32), ([], i64), ([9], i64), ([-1], i64),
                                  (0, i64), ([[0]], i64), ([0], f32))
                                 if x.ndim or i == [0])
CASES["gather"] = lambda: (((x, d, torch.tensor(i, dtype=t)), {}) for x in viewed() for d in (0, 1, -1) for i, t in
                           (([0], i64), ([[0, 1], [1, 0]], i64), ([[[0, 1]]], i64), ([9], i64), ([], i64), (0, i64), (1, i64), ([0], i32), ([[9, 0]], i64)))
CASES["one_hot"] = lambda: (((torch.tensor(i, dtype=t), *n), {}) for n in ((), (6,), (2,), (0,)) for i, t in (
    ([0, 4, 1], i64), ([[1, 2], [3, 0]], i64), (2, i64), ([], i64), ([-1], i64), ([1], i32)))
CASES["cartesian_prod"] = lambda: (((x,), {}) for x in ([make(f32, 3)], [make(f32, 3), make(f32, 2)], [make(i64, 2), make(i64, 0)], [make(f32, 3), make(f32)], [make(f32, 2), make(f32, 3), make(f32, 2)]))
CASES["combinations"] = lambda: (((x, r, w), {}) for x in (make(f32, 4), make(i64, 1), make(f32, 0), make(f32, 2, 2), make(b8, 5)) for r in (0, 1, 2, 3, 5, -1) for w in (False, True))
CASES["repeat_interleave.self_int"] = with_args((2,), (0,), (2, 0), (3, -1), (-1,), (2, 5))
CASES["repeat_interleave.self_Tensor"] = with_args((torch.tensor(2),), (torch.tensor([1, 2]), 0), (torch.tensor([3]), -1), (torch.tensor([1, 0, 2]), 1), (torch.tensor([[1]]),), (torch.tensor([1.5]),))

# -- gradients of views and of picking --

CASES["select_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((4,), [3, 4], (0, 1)), ((3,), [3, 4], (-1, -1)), ((4,), [3, 4], (0, 9)), ((), [3], (0, 2)), ((2,), [3, 4], (0, 1))))
CASES["slice_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((2, 4), [3, 4], (0, 1, 3, 1)), ((3, 2), [3, 4], (1, 0, 4, 2)), ((3, 2), [3, 4], (1, 0, 100, 0)), ((1,), [3, 4], (0, 0, 2, 1))))
CASES["diagonal_backward"] = lambda: (((make(d, *g), s, *a), {}) for d in (f32, i64) for g, s, a in (((3,), [3, 4], (0, 0, 1)), ((2, 3), [3, 2, 4], (1, 0, 2)), ((3,), [3, 4], (0, 0, 0)), ((2,), [3, 4], (-1, 0, 1))))
CASES["index_select_backward"] = lambda: (((make(d, 3, 4), [5, 4], 0, torch.tensor(i)), {}) for d in (f32, i64) for i in ([0, 4, 4], [0, 1], [0, 1, 9]))
CASES["gather_backward"] = lambda: (((make(f32, 2, 2), make(f32, 3, 4), d, torch.tensor(i), False), {}) for d in (0, 1) for i in ([[0, 1], [1, 1]], [[0, 9], [1, 1]]))
CASES["masked_select_backward"] = lambda: (((make(f32, 9), x, m), {}) for x in (make(f32, 3, 4), make(f32, 4), make(f32, 3, 1)) for m in (make(b8, 3, 4), make(b8, 4)) if torch.broadcast_tensors(x, m)[1].sum() <= 9)
CASES["trace_backward"] = lambda: (((make(d), s), {}) for d in (f32, i64) for s in ([3, 4], [3], [0, 2]))
CASES["diag_backward"] = lambda: (((make(d, *g), s, k), {}) for d in (f32, i64) for g, s, k in (((3,), [3, 4], 0), ((3, 3), [3], 0), ((3,), [3, 4], 1), ((2,), [3, 4], -1), ((4, 4), [3], 1)))
CASES["value_selecting_reduction_backward"] = lambda: (((make(f32, *g), 1, torch.tensor(i), [3, 4], k), {}) for g, i, k in (((3,), [0, 3, 2], False), ((3, 1), [[0], [3], [2]], True), ((3,), [0, 9, 2], False)))
CASES["cummaxmin_backward"] = lambda: (((make(f32, 3, 4), make(f32, 3, 4), torch.tensor([[0, 0, 2, 2]] * 3), d), {}) for d in (0, 1, -1))
CASES["masked_fill.Scalar"] = CASES["masked_fill_.Scalar"] = lambda: (
    ((x, m, v), {}) for d in MAIN for x in (make(d, 3, 4), make(d, 4, 3).t(), make(d, 4)) for m in
    (make(b8, 3, 4), make(b8, 4), make(f32, 4)) for v in (2, 0))
CASES["_rowwise_prune"] = lambda: (((x, torch.tensor(m), d), {}) for x in (make(f32, 3, 4), make(i64, 3, 0), make(torch.bfloat16, 3, 2), make(f32, 3), make(b8, 3, 2))
                                   for m in ([True, False, True], [False] * 3, [True] * 2, [1, 0, 1]) for d in (i64, i32, f32))
CASES["_convert_indices_from_coo_to_csr"] = lambda: (((torch.tensor(v).to(d), n), {"out_int32": o}) for d in (i64, i32, u8, f32, b8) for o in (False, True)
                                                     for v, n in (([0, 0, 1, 3], 5), ([0, 2], 3), ([], 3), ([[0, 1]], 2)))
CASES["_convert_indices_from_csr_to_coo"] = lambda: (((torch.tensor(b).to(d), torch.tensor(v).to(d)), {"out_int32": o, "transpose": t})
                                                     for d in (i64, i32, f32) for o in (False, True) for t in (False, True)
                                                     for b, v in (([0, 2, 3, 3, 4], [0, 1, 1, 2]), ([0, 1], [1])))
# PyTorch writes as if out= were contiguous.
CASES.update({f"_convert_indices_from_{kind}.out": lambda kind=kind: ((a, k) for a, k in outs_of(f"_convert_indices_from_{kind}") if k["out"].is_contiguous())
              for kind in ("coo_to_csr", "csr_to_coo")})


# -- at the edges --

edges("take_along_dim", [[of(3.0), of(0, dtype=i64), d] for d in (0, -1, None)] + [[of(3.0), of([0], dtype=i64), 0]])
edges("index.Tensor", [[upto(4, 4, 4), [i]] for i in (upto(2, 4, dtype=i64)[:, ::2] // 2, upto(2, 2, dtype=i64).t(), upto(4, dtype=i64)[::2])] +
      [[upto(4, 4, 4), [None, upto(2, 2, dtype=i64).t()]], [upto(4, 4, 4), [upto(2, 2, dtype=i64).t(), None, upto(2, 2, dtype=i64)]],
       [upto(4, 4, 4).permute(2, 0, 1), [upto(2, 4, dtype=i64)[:, ::2] // 2]], [upto(3, dtype=f32).expand(2, 3), [of(1, 0, dtype=i64)]]])
edges("index_reduce", ([of(1, 2, dtype=d), 0, of(0, 0, dtype=i64), of(3, 4, dtype=d), r] for d in (c64, i64, b8, bf16) for r in ("prod", "mean", "amax", "amin")))

# Not compared, because PyTorch's answer there is not one:
#   index_add, index_reduce of complex infinities: it multiplies by alpha = 1 as a complex number, whose NaN is of no use
