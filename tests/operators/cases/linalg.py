"""linalg.py -- linear algebra.

Matrices of every dtype that LAPACK has, by rows, by columns and with gaps, in batches and without, of no rows or
columns; what is singular, not finite, or of other dtypes and shapes; out= of the right shape in another layout,
and without elements."""

import torch

from cases.inputs import CASES, c128, c64, edges, f32, f64, i32, i64, inf, nan, none, of, shared, upto

TYPES = f32, f64, c64, c128
ops = torch.ops.aten


def random(*shape, dtype=f64):
    return torch.randn(shape, dtype=dtype)


def square(n, *batch, dtype=f64):
    """Well conditioned, with pivots."""
    return (random(*batch, n, n, dtype=dtype) + 3 * torch.eye(n, dtype=dtype)).flip(-1)


def hermitian(n, *batch, dtype=f64, positive=False):
    a = random(*batch, n, n, dtype=dtype)
    return (a @ a.mH + n * torch.eye(n, dtype=dtype) if positive else a + a.mH).contiguous()


def layouts(x):
    """The same values in memory in other ways."""
    yield x
    yield x.mT.contiguous().mT
    wide = torch.zeros(*x.shape[:-1], 2 * x.shape[-1] + 1, dtype=x.dtype)
    wide[..., 1::2] = x
    yield wide[..., 1::2]


def squares(of=square, **kwargs):
    for dtype in TYPES:
        for x in (of(3, dtype=dtype, **kwargs), of(4, 2, dtype=dtype, **kwargs), of(1, dtype=dtype, **kwargs)):
            yield from layouts(x)
    yield of(3, 2, 1, dtype=f32, **kwargs)
    yield of(2, dtype=f64, **kwargs).expand(3, 2, 2)
    yield torch.zeros(0, 0)
    yield torch.zeros(2, 0, 0, dtype=c64)
    yield torch.zeros(0, 3, 3)


def wrong():
    yield random(3)
    yield torch.tensor(1.0)
    yield torch.ones(3, 3, dtype=i64)
    yield torch.eye(3, dtype=torch.bool)


def not_square():
    yield from wrong()
    yield random(2, 3)


def rectangles():
    for dtype in TYPES:
        for shape in ((5, 3), (3, 5), (2, 4, 3), (3, 4)):
            yield from layouts(random(*shape, dtype=dtype))
    yield random(1, 1)
    yield from (torch.zeros(s) for s in ((0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 0), (0, 2, 3)))


def out_shapes(x, sizes):
    """Tensors to be written: empty, right, by columns, too small."""
    yield torch.empty(0, dtype=x)
    yield torch.zeros(*sizes, dtype=x)
    if len(sizes) >= 2:
        yield torch.zeros(*sizes, dtype=x).mT.contiguous().mT
    yield torch.zeros(1, 1, dtype=x)


def given(args, function, names):
    """out= of function's results, in each layout, and one of another dtype."""
    want = function(*args)
    want = want if isinstance(want, tuple) else (want,)
    kinds = [list(out_shapes(w.dtype, w.shape)) + [torch.zeros(w.shape, dtype=c128), torch.zeros(w.shape, dtype=i64)]
             if len(w.shape) >= 2 or len(want) == 1 else list(out_shapes(w.dtype, w.shape)) for w in want]
    for i in range(max(map(len, kinds))):
        yield args, dict(zip(names, (k[i % len(k)] for k in kinds)))


def one(xs, *options):
    """Calls with one matrix."""
    return lambda: (((x, *o), {}) for x in xs() for o in (options or ((),)))


def keyword(xs, *options):
    return lambda: (((x,), k) for x in xs() for k in options)


def chain(*generators):
    return lambda: (x for g in generators for x in g())


def bad_values():
    for dtype in TYPES:
        for v in (nan, inf):
            x = square(3, dtype=dtype)
            x[1, 1] = v
            yield x


def singular():
    yield from (torch.zeros(2, 2, dtype=d) for d in TYPES)
    yield torch.ones(2, 3, 3)


def positive():
    yield from squares(hermitian, positive=True)


# -- two matrices --

def equations(vector=False, right=True):
    """A and B, with options left."""
    for dtype in TYPES:
        a = square(3, dtype=dtype)
        for x in layouts(a):
            yield x, random(3, 2, dtype=dtype), True
        yield a, random(2, 3, 2, dtype=dtype), True
        yield square(3, 2, dtype=dtype), random(3, 2, dtype=dtype).mT.contiguous().mT, True
        yield square(3, 2, dtype=dtype), random(4, 1, 3, 2, dtype=dtype), True
        yield square(3, 2, dtype=dtype), random(2, 3, 150, dtype=dtype), True  # cut into panels
        if vector:
            yield a, random(3, dtype=dtype), True
            yield square(3, 2, dtype=dtype), random(2, 3, dtype=dtype), True
        if right:
            for x in layouts(a):
                yield x, random(4, 3, dtype=dtype), False
            yield square(3, 2, dtype=dtype), random(4, 3, dtype=dtype), False
            yield square(3, dtype=dtype), random(150, 3, dtype=dtype), False
    yield torch.zeros(0, 0), torch.zeros(0, 2), True
    yield torch.zeros(2, 0, 0), torch.zeros(2, 0, 3), True
    yield square(3, dtype=f32), torch.zeros(3, 0), True
    yield square(2), random(3, 2), True
    yield square(2), random(2, 2, dtype=f32), True
    yield square(3, 2), random(3, 3, 2), True
    yield torch.ones(2, 2, dtype=i64), torch.ones(2, 2, dtype=i64), True
    yield random(2, 3), random(2, 2), True


def lu_of(a):
    return torch.ops.aten.linalg_lu_factor_ex(a)[:2]


def lu_equations():
    for a, b, left in equations():
        try:
            factors = lu_of(a)
        except RuntimeError:
            continue
        for adjoint in (False, True):
            yield (*factors, b), {"left": left, "adjoint": adjoint}
    lu, p = lu_of(square(3))
    yield (lu, p + 5, random(3, 2)), {}
    yield (lu, p - 5, random(3, 2)), {}
    yield (lu, p.long(), random(3, 2)), {}
    yield (lu, p[:2], random(3, 2)), {}


def ldl_equations():
    for dtype in TYPES:
        for batch in ((), (2,)):
            for flag in (False, True):
                a = hermitian(4, *batch, dtype=dtype) if flag else (lambda x: x + x.mT)(random(*batch, 4, 4, dtype=dtype))
                ld, p, _ = torch.ops.aten.linalg_ldl_factor_ex(a, hermitian=flag)
                yield (ld, p, random(*batch, 4, 2, dtype=dtype)), {"hermitian": flag}
    yield (ld, p.long(), random(*batch, 4, 2, dtype=dtype)), {}
    yield (ld[0], p[0].double(), random(4, 2, dtype=dtype)), {}
    yield (ld[0], p[0, :2], random(4, 2, dtype=dtype)), {}
    yield (random(2, 3), p, random(2, 2)), {}


def reflectors():
    for dtype in TYPES:
        for shape in ((4, 3), (2, 4, 3), (3, 3), (4, 0)):
            for x in layouts(random(*shape, dtype=dtype)):
                yield torch.geqrf(x)
    a, tau = torch.geqrf(random(4, 3))
    yield a, tau[:2]
    yield a, tau.float()
    yield a.mT, tau
    yield a, random(4)
    yield a[0], tau
    yield torch.ones(2, 2, dtype=i64), torch.ones(2, dtype=i64)


def applied():
    for dtype in TYPES:
        for batch in ((), (2,)):
            a, tau = torch.geqrf(random(*batch, 4, 3, dtype=dtype))
            for transpose in (False, True):
                for c in layouts(random(*batch, 4, 2, dtype=dtype)):
                    yield (a, tau, c, True, transpose), {}
                yield (a, tau, random(*batch, 2, 4, dtype=dtype), False, transpose), {}
    yield (a, tau, random(3, 2), True, False), {}
    yield (a[0], tau[0], random(4, 2), True, False), {}
    yield (a, tau, random(4, 2, dtype=dtype), True, False), {}


def unpacked():
    for dtype in TYPES + (i64,):
        for shape in ((3, 3), (2, 4, 3), (3, 5), (0, 3), (2, 0, 0)):
            a = random(*shape)
            lu, p = lu_of(a if dtype is i64 else a.to(dtype))
            for options in ((True, True), (True, False), (False, True), (False, False)):
                yield (lu.to(dtype), p, *options), {}
    lu, p = lu_of(random(3, 3))
    yield (lu, p + 5), {}
    yield (lu, p.long()), {}
    yield (lu[0], p), {}


def squares_least():
    """Least squares; gels alone where the rank is not full."""
    drivers = "gels", "gelsy", "gelsd", "gelss"
    for dtype in TYPES:
        for a, b in (((5, 3), (5, 2)), ((3, 5), (3, 2)), ((2, 4, 3), (2, 4, 2)), ((4, 3), (4,)), ((2, 4, 3), (2, 4)), ((1, 4, 3), (3, 4, 2))):
            for x in layouts(random(*a, dtype=dtype)):
                for driver in drivers:
                    yield (x, random(*b, dtype=dtype), None), {"driver": driver}
        yield (random(4, 3, dtype=dtype), random(4, 2, dtype=dtype), 0.5), {"driver": "GELSD"}
        yield (random(4, 3, dtype=dtype), random(4, 2, dtype=dtype)), {}
        for driver in drivers[1:]:
            yield (torch.ones(4, 3, dtype=dtype), random(4, 2, dtype=dtype)), {"driver": driver}
    for shape in ((0, 3), (3, 0), (0, 0), (2, 0, 3), (2, 3, 0), (0, 3, 2)):
        for driver in drivers:
            yield (torch.zeros(shape), torch.zeros(*shape[:-1], 2)), {"driver": driver}
    yield (random(3, 2), random(3, 2)), {"driver": "foo"}
    for a, b in (((3, 2), (4, 2)), ((3, 2), (4,)), ((3,), (3,)), ((3, 2), ()), ((3, 2), (2, 3, 2)), ((2, 3, 2), (4, 3, 2)), ((2, 2, 3), (3, 2))):
        yield (random(*a), random(*b)), {}
    yield (random(3, 2), random(3, 2).float()), {}
    yield (torch.ones(3, 2, dtype=i64), torch.ones(3, 2, dtype=i64)), {}


def crossed():
    for dtype in (f32, f64, c64, c128, i64, i32, torch.uint8, torch.int8, torch.int16, torch.bfloat16, torch.float16, torch.bool):
        make = lambda *s: (random(*s) * 9).clamp(-15, 15).round().to(dtype) if not dtype.is_complex else random(*s, dtype=dtype)
        yield (make(4, 3), make(4, 3)), {}
        yield (make(3, 4), make(3, 4)), {"dim": 0}
        yield (make(2, 4, 3).mT, make(2, 3, 4)), {"dim": 1}
        yield (make(1, 3), make(5, 3)), {}
        yield (make(0, 3), make(1, 3)), {}
        yield (make(3), make(3)), {}
    yield (random(3), random(2, 3)), {}
    yield (random(4, 4), random(4, 4)), {}
    yield (random(3, 3), random(3, 3)), {"dim": 2}
    yield (torch.tensor(1.0), torch.tensor(1.0)), {}
    yield (random(3), random(3).float()), {}


def exponents():
    for dtype in TYPES:
        for size in (1e-9, 1e-5, 1e-3, 0.1, 0.3, 1, 5):
            yield random(4, 4, dtype=dtype) * size
            yield random(2, 3, 3, dtype=dtype) * size
    yield torch.tensor([[inf, 0], [0, 0]])
    yield random(2, 3, 3).mT
    yield random(3, 3).t()
    yield from (random(1, 1), random(2, 1, 1), torch.zeros(0, 0), torch.zeros(0, 3, 3), torch.zeros(2, 0, 0))
    yield from not_square()


def ranks():
    """Matrices of full rank and of less, with tolerances."""
    for dtype in TYPES:
        yield random(4, 3, dtype=dtype)
        yield random(2, 3, 4, dtype=dtype)
        yield random(4, 2, dtype=dtype) @ random(2, 3, dtype=dtype)
    yield from (torch.zeros(s) for s in ((0, 3), (2, 3, 0), (3, 3), (0, 0)))
    yield from wrong()


def norms(orders, named):
    for dtype in TYPES + (torch.bfloat16, torch.float16, i64):
        for shape, dims in (((3, 4), [0, 1]), ((2, 3, 4), [-2, -1]), ((2, 3, 4), [2, 0]), ((3, 4, 2), [0, 1])):
            for o in orders:
                if dtype not in TYPES and dims != [0, 1]:
                    continue
                yield (random(*shape).to(dtype), o, dims, False), {}
                yield (random(*shape).to(dtype), o, dims, True), {}
    x = random(3, 4)
    yield (x.float(), orders[0], [0, 1]), {"dtype": f64}
    yield (x, orders[0], [0, 1]), {"dtype": f32}
    yield (x, orders[0], [0, 1]), {"dtype": c128}
    yield (x, orders[0], [0, 1]), {"dtype": i64}
    for dims in ([0], [0, 0], [0, 1, 2], [0, 5]):
        yield (x, orders[0], dims), {}
    yield (x, "what" if named else 3, [0, 1]), {}
    yield (random(3), orders[0]), {}
    for o in orders:
        yield (torch.zeros(0, 3), o), {}
        yield (torch.zeros(2, 3, 0), o), {}


def normed(orders):
    for o in orders:
        for shape, dim in (((3, 4), None), ((4,), None), ((2, 3, 4), None), ((2, 3, 4), [0, 2]), ((2, 3, 4), [1]), ((2, 3), [0, 1, 1])):
            for keep in (False, True):
                yield (random(*shape), o, dim, keep), {}
                yield (random(*shape, dtype=c64), o, dim, keep), {}
    yield (random(3, 4).float(), o), {"dtype": f64}


def norm_outs(op, args, key="out"):
    want = op(*args)
    for o in (torch.zeros(0, dtype=f64), torch.zeros(want.shape, dtype=f64), torch.zeros(2, 2, dtype=f64), torch.zeros(0)):
        yield args, {key: o}


NORMS = 1, -1, 2, -2, inf, -inf
NAMED = "fro", "nuc"

# -- factors and solutions --

# PyTorch reads beyond coefficients that do not fit, and complex ones as real: they are not tried
CASES["_compute_linear_combination"] = lambda: (((torch.ones(2, 3, dtype=d) if d.is_floating_point else torch.ones(2, 3, 2).to(d), torch.ones(4, 2).to(
    {c64: f32, c128: f64}.get(d, d))), {})
                                                for d in (*TYPES, i64, i32, torch.bool, torch.float16, torch.bfloat16))
CASES["_compute_linear_combination.out"] = lambda: (((random(2, 3), random(4, 2)), {"out": torch.ones(4, 3, dtype=f64)}) for _ in range(2))
CASES["lu_unpack"] = unpacked
CASES["lu_unpack.out"] = lambda: given(lu_of(random(2, 4, 3)), ops.lu_unpack, ("P", "L", "U"))
CASES["linalg_lu"] = keyword(chain(squares, rectangles, singular, wrong), {}, {"pivot": False})
CASES["linalg_lu.out"] = lambda: given((random(2, 4, 3),), ops.linalg_lu, ("P", "L", "U"))
CASES["linalg_lstsq"] = squares_least
CASES["linalg_lstsq.out"] = lambda: (((random(4, 3), random(4, 2)), {"solution": torch.zeros(*s), "residuals": torch.zeros(0, dtype=f64),
                                       "rank": torch.zeros(n, dtype=i64), "singular_values": torch.zeros(2, dtype=f64), "driver": d})
                                     for d in ("gelsd", "gelsy") for n in ((), (3,)) for s in ((1, 1), (3, 3)))
CASES["linalg_cross"] = crossed
CASES["linalg_cross.out"] = lambda: given((random(4, 3), random(1, 3)), ops.linalg_cross, ("out",))
CASES["linalg_matrix_exp"] = one(exponents)
CASES["linalg_lu_factor_ex"] = keyword(chain(squares, rectangles, singular, wrong), {}, {"pivot": False})
CASES["linalg_lu_factor_ex.out"] = lambda: given((random(2, 4, 3),), ops.linalg_lu_factor_ex, ("LU", "pivots", "info"))
CASES["linalg_lu_solve"] = lu_equations
CASES["linalg_lu_solve.out"] = lambda: given((*lu_of(square(3)), random(2, 3, 2)), ops.linalg_lu_solve, ("out",))
CASES["_linalg_solve_ex"] = lambda: (((a, b), {"left": left}) for a, b, left in equations(vector=True))
CASES["_linalg_solve_ex.result"] = lambda: given((square(3, 2), random(3, 2)), ops._linalg_solve_ex, ("result", "LU", "pivots", "info"))
CASES["linalg_inv_ex"] = keyword(chain(squares, singular, not_square), {}, {"check_errors": True})
CASES["linalg_inv_ex.inverse"] = lambda: given((square(3, 2),), ops.linalg_inv_ex, ("inverse", "info"))
CASES["_linalg_det"] = CASES["_linalg_slogdet"] = one(chain(squares, singular, not_square))
CASES["_linalg_det.result"] = lambda: given((square(3, 2),), ops._linalg_det, ("result", "LU", "pivots"))
CASES["_linalg_slogdet.sign"] = lambda: given((square(3, 2, dtype=c64),), ops._linalg_slogdet, ("sign", "logabsdet", "LU", "pivots"))
CASES["linalg_cholesky_ex"] = keyword(chain(positive, not_square), {}, {"upper": True, "check_errors": True})
CASES["linalg_cholesky_ex.L"] = lambda: given((hermitian(3, 2, positive=True),), ops.linalg_cholesky_ex, ("L", "info"))
CASES["cholesky"] = one(chain(positive, not_square, lambda: [-torch.eye(3)]), (False,), (True,))
CASES["cholesky.out"] = lambda: given((hermitian(3, 2, positive=True),), ops.cholesky, ("out",))
CASES["cholesky_inverse"] = one(chain(positive, not_square, singular), (False,), (True,))
CASES["cholesky_inverse.out"] = lambda: given((hermitian(3, 2, positive=True),), ops.cholesky_inverse, ("out",))
CASES["_cholesky_solve_helper"] = lambda: (((random(2, 3, 2, dtype=d), hermitian(3, 2, dtype=d, positive=True), u), {})
                                           for d in TYPES for u in (False, True))
CASES["_cholesky_solve_helper.out"] = lambda: given((random(3, 2), square(3), True), ops._cholesky_solve_helper, ("out",))
CASES["linalg_ldl_factor_ex"] = keyword(chain(lambda: squares(hermitian), not_square), {}, {"hermitian": True})
CASES["linalg_ldl_factor_ex.out"] = lambda: given((hermitian(3, 2),), ops.linalg_ldl_factor_ex, ("LD", "pivots", "info"))
CASES["linalg_ldl_solve"] = ldl_equations
CASES["linalg_ldl_solve.out"] = lambda: given((*ops.linalg_ldl_factor_ex(hermitian(3))[:2], random(2, 3, 2)), ops.linalg_ldl_solve, ("out",))
# beside an infinity PyTorch's vectors are what LAPACK left there; here they are NaN as the values are
CASES["_linalg_svd"] = chain(one(chain(rectangles, wrong), (False, True), (True, True), (False, False)),
                             one(bad_values, (False, False)))
CASES["_linalg_svd.U"] = lambda: given((random(2, 4, 3, dtype=c64),), ops._linalg_svd, ("U", "S", "Vh"))
CASES["_linalg_eigh"] = one(chain(lambda: squares(hermitian), not_square), ("L", True), ("U", True), ("l", False), ("X", True), ("", True))
CASES["_linalg_eigh.eigenvalues"] = lambda: given((hermitian(3, 2, dtype=c64),), ops._linalg_eigh, ("eigenvalues", "eigenvectors"))
CASES["_symeig_helper"] = one(lambda: squares(hermitian), (True, True), (False, False))
CASES["_symeig_helper.out"] = lambda: given((hermitian(3), True, True), ops._symeig_helper, ("out0", "out1"))
CASES["linalg_eig"] = one(chain(squares, not_square, bad_values))
CASES["linalg_eig.out"] = lambda: given((square(3, 2),), ops.linalg_eig, ("eigenvalues", "eigenvectors"))
CASES["linalg_eigvals.out"] = lambda: given((square(4),), ops.linalg_eigvals, ("out",))
CASES["geqrf"] = one(chain(rectangles, wrong))
CASES["geqrf.a"] = lambda: given((random(2, 4, 3),), ops.geqrf, ("a", "tau"))
CASES["linalg_householder_product"] = lambda: ((x, {}) for x in reflectors())
CASES["linalg_householder_product.out"] = lambda: given(torch.geqrf(random(2, 4, 3)), ops.linalg_householder_product, ("out",))
CASES["ormqr"] = applied
CASES["ormqr.out"] = lambda: given((*torch.geqrf(random(4, 3)), random(4, 2)), ops.ormqr, ("out",))
CASES["linalg_qr"] = one(chain(rectangles, wrong), ("reduced",), ("complete",), ("r",), ("q",))
CASES["linalg_qr.out"] = lambda: given((random(2, 4, 3),), ops.linalg_qr, ("Q", "R"))
CASES["triangular_solve"] = lambda: (((b, a, u, t, d), {}) for a, b, left in equations(right=False) for u in (False, True)
                                     for t, d in ((False, False), (True, True)))
CASES["triangular_solve.X"] = lambda: given((random(3, 2), square(3, 2)), ops.triangular_solve, ("X", "M"))
CASES["linalg_solve_triangular"] = lambda: (((a, b), {"upper": u, "left": left, "unitriangular": not u})
                                            for a, b, left in equations() for u in (False, True))
CASES["linalg_solve_triangular.out"] = lambda: (
    (args, {**kwargs, "upper": True}) for args, kwargs in
    given((square(3, 2), random(2, 3, 2)), lambda a, b: ops.linalg_solve_triangular(a, b, upper=True), ("out",)))
CASES["_linalg_check_errors"] = lambda: (((torch.tensor(info, dtype=i32), name), {"is_matrix": m})
                                         for info in ([0, 0], [0, 2], [-4], 3, []) for m in (False, True)
                                         for name in ("linalg.svd", "inv", "linalg.solve", "torch.linalg.eig", "cholesky", "torch.linalg.lu_factor", "lstsq"))

# -- what is made of them --

tensors = lambda: (((x,), {"atol": a, "rtol": r}) for x in ranks() for a in (None, torch.tensor(0.1), torch.tensor(1j))
                   for r in (None, torch.rand(x.shape[:-2], dtype=f64)))
floats = keyword(ranks, {}, {"atol": 0.5}, {"rtol": 0.3}, {"atol": 0.1, "rtol": 0.2})
hermitians = keyword(lambda: squares(hermitian), {"hermitian": True})
CASES["linalg_pinv.atol_rtol_tensor"] = CASES["linalg_matrix_rank.atol_rtol_tensor"] = chain(tensors, hermitians)
CASES["linalg_pinv.atol_rtol_float"] = CASES["linalg_matrix_rank.atol_rtol_float"] = chain(floats, hermitians)
CASES["linalg_pinv"] = CASES["linalg_matrix_rank"] = one(ranks, (0.3,))
CASES["linalg_pinv.rcond_tensor"] = CASES["linalg_matrix_rank.tol_tensor"] = one(ranks, (torch.tensor(0.3),), (torch.tensor(1j),))
CASES["pinverse"] = one(ranks)
x = random(4, 3)
CASES["linalg_pinv.atol_rtol_tensor_out"] = CASES["linalg_pinv.atol_rtol_float_out"] = lambda: given((x,), ops.linalg_pinv.atol_rtol_float, ("out",))
CASES["linalg_pinv.out"] = lambda: given((x, 0.3), ops.linalg_pinv, ("out",))
CASES["linalg_pinv.out_rcond_tensor"] = lambda: given((x, torch.tensor(0.3)), ops.linalg_pinv.rcond_tensor, ("out",))
y = random(2, 4, 3)
CASES["linalg_matrix_rank.atol_rtol_tensor_out"] = CASES["linalg_matrix_rank.atol_rtol_float_out"] = lambda: (
    ((y,), {"out": torch.zeros(*s, dtype=i64)}) for s in ((0,), (2,), (3,)))
CASES["linalg_matrix_rank.out"] = lambda: (((y, 0.3), {"out": torch.zeros(*s, dtype=i64)}) for s in ((0,), (2,), (3,)))
CASES["linalg_matrix_rank.out_tol_tensor"] = lambda: (((y, torch.tensor(0.3)), {"out": torch.zeros(*s, dtype=i64)}) for s in ((0,), (2,)))
CASES["linalg_matrix_norm"] = lambda: norms(NORMS, False)
CASES["linalg_matrix_norm.str_ord"] = lambda: norms(NAMED, True)
CASES["linalg_norm"] = lambda: normed(NORMS + (None, 3, 0))
CASES["linalg_norm.ord_str"] = lambda: normed(NAMED)
CASES["linalg_matrix_norm.out"] = lambda: norm_outs(ops.linalg_matrix_norm, (y, 1))
CASES["linalg_matrix_norm.str_ord_out"] = lambda: norm_outs(ops.linalg_matrix_norm.str_ord, (y, "nuc"))
CASES["linalg_norm.out"] = lambda: norm_outs(ops.linalg_norm, (x, 2))
CASES["linalg_norm.ord_str_out"] = lambda: norm_outs(ops.linalg_norm.ord_str, (x, "fro"))
CASES["nuclear_norm"] = lambda: (((m, k), {}) for m in (x, y, random(3, 3, dtype=c64), torch.zeros(0, 3)) for k in (False, True))
CASES["nuclear_norm.dim"] = lambda: (((y, d, k), {}) for d in ([0, 1], [2, 0], [0, 0], [1], [-1, 0], [0, 7]) for k in (False, True))
CASES["nuclear_norm.out"] = lambda: norm_outs(ops.nuclear_norm, (x,))
CASES["nuclear_norm.dim_out"] = lambda: norm_outs(ops.nuclear_norm.dim, (y, [0, 1]))
CASES["frobenius_norm"] = one(lambda: (x, y, random(3, dtype=c64)))
CASES["frobenius_norm.dim"] = lambda: (((m, d, k), {}) for m in (y, y.to(c64)) for d in ([0, 1], [1], [], [0, 1, 2], [0, 0], [7]) for k in (False, True))
CASES["frobenius_norm.out"] = lambda: (((y, [0, 1], False), {"out": torch.zeros(*s, dtype=f64)}) for s in ((0,), (3,)))
conds = lambda: chain(squares, singular, not_square, lambda: [random(4, 3), torch.zeros(2, 0, 0, dtype=c64)])()
CASES["linalg_cond"] = one(conds, *((p,) for p in NORMS + (None, 3)))
CASES["linalg_cond.p_str"] = one(conds, ("fro",), ("nuc",), ("x",))
CASES["linalg_cond.out"] = lambda: norm_outs(ops.linalg_cond, (square(3, 2), 1))
CASES["linalg_cond.p_str_out"] = lambda: norm_outs(ops.linalg_cond.p_str, (square(3, 2), "fro"))
CASES["linalg_svd"] = one(chain(rectangles, wrong), (False,), (True,))
CASES["linalg_svd.U"] = lambda: given((random(2, 4, 3),), ops.linalg_svd, ("U", "S", "Vh"))
CASES["linalg_svdvals"] = one(chain(rectangles, wrong))
CASES["linalg_svdvals.out"] = lambda: norm_outs(ops.linalg_svdvals, (x,))
CASES["svd"] = one(chain(rectangles, wrong), (True, True), (False, True), (True, False))
CASES["svd.U"] = lambda: (((x, some, uv), {"U": torch.zeros(0, dtype=f64), "S": torch.zeros(n, dtype=f64), "V": torch.zeros(0, dtype=f64)})
                          for some in (False, True) for uv in (False, True) for n in (0, 3))
CASES["linalg_eigh"] = CASES["linalg_eigvalsh"] = one(chain(lambda: squares(hermitian), not_square), ("L",), ("U",), ("x",))
CASES["linalg_eigh.eigvals"] = lambda: given((hermitian(3, 2),), ops.linalg_eigh, ("eigvals", "eigvecs"))
CASES["linalg_eigvalsh.out"] = lambda: norm_outs(ops.linalg_eigvalsh, (hermitian(3),))
CASES["linalg_eigvals"] = one(chain(squares, not_square))
CASES["linalg_det"] = CASES["det"] = CASES["linalg_slogdet"] = CASES["slogdet"] = one(chain(squares, singular, not_square))
CASES["logdet"] = one(chain(squares, not_square, lambda: [torch.zeros(2, 2), -torch.eye(3)]))
CASES["linalg_det.out"] = lambda: norm_outs(ops.linalg_det, (square(3, 2),))
CASES["linalg_slogdet.out"] = CASES["slogdet.out"] = lambda: given((square(3, 2),), ops.linalg_slogdet, ("sign", "logabsdet"))
CASES["linalg_inv"] = CASES["inverse"] = one(chain(squares, singular, not_square))
CASES["linalg_inv.out"] = CASES["inverse.out"] = lambda: given((square(3, 2),), ops.linalg_inv, ("out",))
CASES["linalg_solve_ex"] = CASES["linalg_solve"] = lambda: (((a, b), {"left": left}) for a, b, left in equations(vector=True))
CASES["linalg_solve_ex.out"] = lambda: given((square(3, 2), random(3, 2)), ops.linalg_solve_ex, ("result", "info"))
CASES["linalg_solve.out"] = lambda: given((square(3, 2), random(3, 2)), ops.linalg_solve, ("out",))
CASES["linalg_cholesky"] = one(chain(positive, not_square, lambda: [-torch.eye(3)]))
CASES["linalg_cholesky.out"] = lambda: given((hermitian(3, 2, positive=True),), ops.linalg_cholesky, ("out",))
CASES["linalg_lu_factor"] = one(chain(squares, rectangles, singular, wrong))
CASES["linalg_lu_factor.out"] = lambda: given((random(2, 4, 3),), ops.linalg_lu_factor, ("LU", "pivots"))
CASES["_lu_with_info"] = one(chain(squares, wrong))
CASES["lu_solve"] = lambda: (((b, *lu_of(a)), {}) for a, b, left in equations() if left and a.dtype in TYPES and a.shape[-1] == a.shape[-2])
CASES["lu_solve.out"] = lambda: given((random(3, 2), *lu_of(square(3))), ops.lu_solve, ("out",))
CASES["linalg_ldl_factor"] = keyword(chain(lambda: squares(hermitian), not_square), {}, {"hermitian": True})
CASES["linalg_ldl_factor.out"] = lambda: given((hermitian(3, 2),), ops.linalg_ldl_factor, ("LD", "pivots"))
CASES["orgqr"] = CASES["linalg_householder_product"]
CASES["orgqr.out"] = CASES["linalg_householder_product.out"]
CASES["qr"] = one(chain(rectangles, wrong), (True,), (False,))
CASES["qr.Q"] = lambda: given((random(2, 4, 3),), ops.qr, ("Q", "R"))
CASES["symeig"] = one(chain(lambda: squares(hermitian), not_square), (True, True), (False, False))
CASES["symeig.e"] = lambda: (((hermitian(3), True), {"e": torch.zeros(n, dtype=f64), "V": torch.zeros(n, n, dtype=f64)}) for n in (0, 3))
CASES["cholesky_solve"] = lambda: (((b, a, u), {}) for a, b, left in equations(right=False) for u in (False, True))
CASES["cholesky_solve.out"] = lambda: given((random(3, 2), square(3, 2)), ops.cholesky_solve, ("out",))
CASES["matrix_exp"] = CASES["linalg_matrix_exp"]
CASES["linalg_matrix_power"] = CASES["matrix_power"] = one(chain(squares, singular, not_square), *((n,) for n in (0, 1, 2, 3, 5, -1, -2)))
CASES["linalg_matrix_power.out"] = CASES["matrix_power.out"] = lambda: (c for n in (0, 1, 2, 5, -1) for c in given((square(3, 2), n), ops.linalg_matrix_power, ("out",)))
CASES["matrix_exp_backward"] = lambda: (((random(3, 3, dtype=d), random(3, 3, dtype=d)), {}) for d in TYPES)
CASES["linalg_tensorinv"] = lambda: (((random(*s), i), {}) for s, i in (((2, 3, 6), 2), ((4, 4), 1), ((6, 2, 3), 1), ((4, 5), 1), ((4, 4), 0)))
CASES["linalg_tensorinv.out"] = lambda: given((random(2, 3, 6),), ops.linalg_tensorinv, ("out",))
CASES["linalg_tensorsolve"] = lambda: (((random(*a), random(*b), d), {}) for a, b, d in (
    ((2, 3, 6), (2, 3), None), ((2, 6, 3), (2, 3), [1]), ((2, 6, 4), (2, 3), None), ((4, 4), (4,), None), ((2, 3, 6), (2, 3), [5])))
CASES["linalg_tensorsolve.out"] = lambda: given((random(2, 3, 6), random(2, 3)), ops.linalg_tensorsolve, ("out",))
CASES["linalg_vander"] = lambda: (((v,), {"N": n}) for v in (random(3), random(2, 3, dtype=c64), torch.arange(4), torch.ones(3, dtype=i32),
                                  torch.ones(3, dtype=torch.bool), torch.tensor(2.0), torch.zeros(0)) for n in (None, 4, 2, 1, -1))
CASES["vander"] = lambda: (((v, n, up), {}) for v in (random(3), torch.arange(4), random(2, 2)) for n in (None, 2, 5) for up in (False, True))
CASES["linalg_vecdot"] = lambda: (((random(*s).to(d), random(*t).to(e)), {"dim": k}) for s, t, k in (
    ((3,), (3,), -1), ((2, 3), (2, 3), 0), ((2, 3), (3,), -1), ((2, 4, 3), (4, 3), 1), ((0, 3), (0, 3), 1), ((2, 3), (2, 3), 5))
    for d, e in ((f64, f64), (c64, c64), (f32, f64), (i64, i64)) if len(s) > 1 or d is f64)
CASES["linalg_vecdot.out"] = lambda: norm_outs(ops.linalg_vecdot, (random(2, 3), random(2, 3)))
CASES["cross"] = lambda: (((random(*s), random(*s), d), {}) for s, d in (((4, 3), None), ((3, 3), None), ((3, 4), 0), ((4, 4), None), ((4, 3), 0)))
CASES["cross.out"] = lambda: given((random(4, 3), random(4, 3)), ops.cross, ("out",))
CASES["linalg_diagonal"] = lambda: (((x,), {"offset": o}) for o in (0, 1, -1, 9))


# -- at the edges --

edges("linalg_qr.out", (([upto(3, 2)], {"Q": none(*q), "R": shared(*r)}) for q in ((3, 2), (0,)) for r in ((2, 2), (2, 3))))
edges("svd.U", (([of([[1.0, 2], [0, 3]])], {"U": none(*s), "S": none(0), "V": none(0)}) for s in ((0,), (2, 2, 2), (2, 2))))

# Not compared, because PyTorch's answer there is not one:
#   LAPACK's results into one tensor given as two outputs: it computes in their memory, or fails; here an error
