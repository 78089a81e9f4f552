"""matmul.py -- products of vectors and matrices, einsum."""

import functools
import itertools

import torch

from cases.inputs import CASES, MAIN, b8, case, f32, f64, i32, i64, make, operator, outs_of, u8


@case("einsum")
def summed_products():
    for d in (f32, f64, i64, torch.complex64):
        for text, *shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
                              ("i,i->", (3,), (3,)), ("i,j->ij", (2,), (3,)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
                              ("ijk->", (2, 3, 4)), ("...->...", (2, 3)), ("a...,b->a...b", (2, 3), (4,)), ("bn,anm,bm->ba", (2, 5), (3, 5, 4), (2, 4)), (" i j , j k -> i k ", (2, 3), (3, 4)),
                              ("ij,ij->i", (2, 3), (1, 3)), ("Ab,bA", (2, 3), (3, 2)), ("i...->...", (3, 2)), ("...ii->...i", (2, 3, 3)), ("ij,kj->ik", (2, 3), (4, 3)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
                              ("ij,jk->il", (2, 3), (3, 4)), ("ij,jk->ii", (2, 3), (3, 4)), ("ij", (2, 3, 4)), ("i.j", (2, 3)), ("ij,jk", (2, 3), (4, 5)), ("i1", (2, 3)), ("ij,jk", (2, 3)), ("ij", (2, 3), (2, 3)),
                              ("ii", (2, 3)), ("->", ()), ("i,->i", (3,), ()), ("ij,k->k", (2, 3), (4,)), ("ij,j->", (0, 3), (3,))):
            yield (text, [make(d, *s) for s in shapes]), {}
    yield ("ij,jk,kl->il", [make(f32, 2, 3), make(f32, 3, 4), make(f32, 4, 5)]), {"path": [1, 2, 0, 1]}
    yield ("ij,jk,kl->il", [make(f32, 2, 3), make(f32, 3, 4), make(f32, 4, 5)]), {"path": [1, 1, 0, 1]}
    yield ("ij,jk", [make(f32, 3, 2).t(), make(f32, 3, 4)]), {"path": [0, 1]}
    yield ("ij,jk", [make(f32, 2, 3), make(f32, 3, 4)]), {"path": [0]}
    yield ("ij,jk", []), {}


# -- products, layers, reductions --

def matrices(*shapes):
    return lambda: ((tuple(make(d, *s) for s in group), {}) for d in (f32, f64, i64) for group in shapes)


CASES["mm"] = matrices(((3, 4), (4, 5)), ((3, 4), (5, 4)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3,), (3, 2)), ((33, 65), (65, 17)))
CASES["bmm"] = matrices(((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (3, 4, 5)), ((0, 3, 4), (0, 4, 5)), ((3, 4), (4, 5)))
CASES["mv"] = matrices(((3, 4), (4,)), ((3, 4), (3,)), ((0, 4), (4,)))
CASES["dot"] = matrices(((4,), (4,)), ((4,), (3,)), ((0,), (0,)), ((2, 2), (2, 2)))
CASES["matmul"] = matrices(*(itertools.product(
    ((4,), (3, 4), (2, 3, 4), (5, 1, 3, 4), ()), ((4,), (4, 6), (2, 4, 6), (1, 2, 4, 6), (3, 3), ()))))
CASES["linear"] = matrices(((3, 4), (5, 4)), ((3, 4), (5, 4), (5,)), ((2, 3, 4), (5, 4), (5,)), ((4,), (5, 4), (5,)), ((4,), (4,)),
                           ((3, 4), (5, 3), (5,)), ((0, 4), (5, 4), (5,)))
CASES["addmm"] = lambda: (((make(d, *s), make(d, 3, 4), make(d, 4, 5)), k) for d in (f32, f64, i64) for s in ((3, 5), (5,), (3, 1), (), (2, 5))
                          for k in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}))
CASES["baddbmm"] = lambda: (((make(d, *s), make(d, 2, 3, 4), make(d, 2, 4, 5)), k) for d in (f32, f64) for s in ((2, 3, 5), (5,), ())
                            for k in ({}, {"beta": 2, "alpha": 3}))  # beta=0: PyTorch adds what lay in memory


def with_forms(name):
    """name's cases also for name_, whose self is given a shape that fits, and for name.out with many outputs."""
    def in_place():
        for args, kwargs in CASES[name]():
            yield args, kwargs
            try:
                made = operator(name)(*args, **kwargs)
            except (RuntimeError, IndexError):
                continue
            yield ((make(args[0].dtype, *made.shape),) + args[1:]), kwargs

    def out():
        for args, kwargs in CASES[name]():
            try:
                made = operator(name)(*args, **kwargs)
            except (RuntimeError, IndexError):
                continue
            shape, dtype = made.shape, made.dtype
            for o in (make(dtype, *shape), make(dtype, 0), make(dtype, 7), make(dtype, *shape)
                      if len(shape) < 2 else make(dtype, *shape[:-2], shape[-1], shape[-2]).mT,
                      make(f64, *shape), make(dtype, *shape, 2)[..., 0]):
                yield args, {**kwargs, "out": o}

    CASES[name + ".out"] = out
    CASES[name + "_"] = in_place


PRODUCT_TYPES = (f32, f64, i64, i32, u8, b8, torch.int8, torch.complex64, torch.complex128)


def added(first, *shapes):
    """beta self + alpha times a product, for every shape of self."""
    return lambda: (((make(d, *s), *(make(d, *t) for t in shapes)), k) for d in PRODUCT_TYPES for s in first
                    for k in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}, {"alpha": 0}, {"beta": 0.5}))


for typed, shapes in (("mm", ((3, 4), (4, 5))), ("bmm", ((2, 3, 4), (2, 4, 5))), ("mv", ((3, 4), (4,))), ("dot", ((4,), (4,)))):
    CASES[typed] = lambda plain=CASES[typed], shapes=shapes: itertools.chain(plain(), (
        (tuple(make(d, *s) for s in shapes), {}) for d in PRODUCT_TYPES), (
        (tuple(make(d, *s, 2)[..., 1] for s in shapes), {}) for d in PRODUCT_TYPES), (
        ((make(f32, *shapes[0]), make(f64, *shapes[1])), {}),))
CASES["vdot"] = CASES["dot"] = lambda dots=CASES["dot"]: ((a, k) for a, k in dots() if not a[0].is_complex())  # there Debian's is wrong
CASES["addmv"] = added(((3,), (1,), (), (2,)), (3, 4), (4,))
CASES["addbmm"] = added(((3, 5), (5,), (2, 5)), (2, 3, 4), (2, 4, 5))
CASES["addr"] = lambda: itertools.chain(added(((3, 4), (4,), (), (2, 4)), (3,), (4,))(), (
    ((make(a, 3, 4), make(b, 3), make(c, 4)), {}) for a in MAIN for b in MAIN for c in (f32, b8)), (
    ((make(b8, 3, 4), make(b8, 3), make(b8, 4)), {"beta": b, "alpha": a}) for a in (True, False) for b in (True, False)))
CASES["outer"] = CASES["ger"] = lambda: ((tuple(make(d, *s) for d, s in zip(ds, ss)), {}) for ds in itertools.product(MAIN, MAIN)
                                         for ss in (((3,), (4,)), ((0,), (2,)), ((2, 2), (2,)), ((2,), ())))
CASES["inner"] = matrices(((4,), (4,)), ((3, 4), (4,)), ((2, 3, 4), (5, 4)), ((), (3,)), ((3, 4), (3, 5)), ((2, 0), (3, 0)))
CASES["kron"] = lambda: ((tuple(make(d, *s) for d, s in zip(ds, ss)), {}) for ds in itertools.product(MAIN, MAIN) for ss in (
    ((3, 2), (2, 4)), ((3,), (2, 4)), ((2, 1, 3), (2,)), ((), (3,)), ((), ()), ((0, 2), (3,))))
CASES["tensordot"] = lambda: (((make(d, *a), make(d, *b), x, y), {}) for d in (f32, f64, i64) for a, b, x, y in (
    ((2, 3, 4), (3, 4, 5), [1, 2], [0, 1]), ((2, 3, 4), (4, 3, 5), [1, 2], [1, 0]), ((2, 3), (4, 5), [], []), ((3, 4), (3, 4), [-1, 0], [1, 0]),
    ((2, 3, 1), (4, 4), [2], [0]), ((2, 3), (4, 1), [0], [1]), ((2, 3), (3, 4), [0], [0]), ((3, 3), (3, 3), [0, 0], [0, 1]),
    ((2, 3), (3, 4), [1], [0, 1]), ((2, 3), (3, 4), [5], [0]), ((), (), [], []), ((2, 0), (0, 3), [1], [0])))
CASES["chain_matmul"] = lambda: ((([make(d, *s) for s in shapes],), {}) for d in (f32, f64) for shapes in (
    ((2, 3), (3, 4)), ((10, 3), (3, 40), (40, 2)), ((2, 30), (30, 4), (4, 20), (20, 3), (3, 1)), ((2, 3),), ((2, 3), (4, 4)), ((2, 3), (3,)), ()))
CASES["linalg_multi_dot"] = lambda: itertools.chain(CASES["chain_matmul"](), ((([make(f32, *s) for s in shapes],), {}) for shapes in (
    ((3,), (3, 4)), ((3,), (3, 4), (4,)), ((2, 3), (3, 4), (4,)), ((2, 3), (3, 4, 1), (4,)), ((2, 2, 2), (2, 2)), ((3,), (3,)))),
    [(([make(f32, 2, 3), make(f64, 3, 2)],), {})])
CASES["linalg_matmul"] = CASES["matmul"]
CASES["bilinear"] = lambda: ((tuple(make(d, *s) if s is not None else None for s in shapes), {}) for d in (f32, f64, i64, torch.complex64)
                             for shapes in (((2, 3), (2, 4), (5, 3, 4), (5,)), ((3,), (4,), (5, 3, 4), None), ((2, 6, 3), (2, 6, 4), (5, 3, 4), (5,)),
                                            ((0, 3), (0, 4), (5, 3, 4), (5,)), ((2, 3), (2, 4), (5, 4, 3), None), ((2, 3), (1, 4), (5, 3, 4), None),
                                            ((2, 3), (2, 4), (5, 3, 4), (4,)), ((2, 1), (2, 1), (1, 1, 1), (1,)), ((2, 3), (2, 2, 4), (5, 3, 4), None)))
CASES["_trilinear"] = lambda: (((make(d, *a), make(d, *b), make(d, *c), e1, e2, e3, s, *u), {}) for d in (f32, f64) for a, b, c, e1, e2, e3, s, u in (
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], ()), ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (0,)),
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (2,)), ((2, 3), (2, 5), (2, 4), [2, 3], [1, 3], [1, 2], [0], ()),
    ((2, 3), (2, 5), (2, 4), [2, 3], [1, 3], [1, 2], [0], (0,)), ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 2], ()),
    ((2, 3), (5, 3, 4), (2, 4), [1, 3], [0], [1, 2], [2, 3], (4,)), ((0, 3), (5, 3, 4), (0, 4), [1, 3], [0], [1, 2], [2, 3], ())))
for emptied, self_shape, left, right in (("addmm", (3, 5), (3, 0), (0, 5)), ("baddbmm", (2, 3, 5), (2, 3, 0), (2, 0, 5)), ("addmv", (3,), (3, 0), (0,)),
                                         ("addbmm", (3, 5), (2, 3, 0), (2, 0, 5)), ("addbmm", (3, 5), (0, 3, 4), (0, 4, 5))):
    CASES[emptied] = lambda more=CASES[emptied], s=self_shape, x=left, y=right: itertools.chain(more(), (
        ((make(a, *s), make(b, *x), make(c, *y)), k) for a in (f32, i64, torch.float16, b8) for b in (f32, i64, torch.float16, b8)
        for c in (f32, i64, torch.float16, b8) for k in ({}, {"beta": 0}, {"beta": 2})
        if x != (2, 3, 0) or s != (3, 5) or b8 not in (a, b, c)))  # there PyTorch multiplies bool by 1
for emptied, left, right in (("mm", (3, 0), (0, 5)), ("bmm", (2, 3, 0), (2, 0, 5)), ("mv", (3, 0), (0,))):
    CASES[emptied] = lambda more=CASES[emptied], x=left, y=right: itertools.chain(more(), (
        ((make(a, *x), make(b, *y)), {}) for a in (f32, i64, torch.float16, b8) for b in (f32, i64, torch.float16, b8)))
for formed in "mm bmm addmm baddbmm mv addmv addbmm addr dot vdot outer ger inner kron tensordot linalg_matmul matmul chain_matmul linalg_multi_dot".split():
    with_forms(formed)
CASES["baddbmm_"] = CASES["baddbmm"]
CASES["matmul.out"] = CASES["linalg_matmul.out"] = lambda outs=CASES["matmul.out"]: (
    (a, k) for a, k in outs() if k["out"].stride() != (2,))  # which PyTorch packs, for a vector and a matrix
CASES["addbmm_"] = added(((3, 5), (2, 5)), (2, 3, 4), (2, 4, 5))  # PyTorch resizes self
CASES["_addmm_activation"] = lambda: (((make(d, *s), make(d, 3, 4), make(d, 4, 2)), k) for d in (f32, f64, i64, torch.bfloat16, torch.complex64, b8)
                                      for s in ((3, 2), (2,), (), (4, 4)) for k in ({}, {"beta": 2, "alpha": 3}, {"use_gelu": True}))
CASES["_addmm_activation.out"] = lambda: (((make(d, 3, 2), make(d, 3, 4), make(d, 4, 2)), {"out": torch.zeros(*s, dtype=o)})
                                          for d in (f32, i64) for s in ((3, 2), (0,)) for o in (f32, f64))
CASES["linear.out"] = functools.partial(outs_of, "linear")
