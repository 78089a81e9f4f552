"""linalg_cases.py -- arguments for the operators of linear algebra; a part of test_ops.py.

Matrices of every dtype that LAPACK has, by rows, by columns and with gaps, in batches and without, of no rows or
columns; what is singular, not finite, or of other dtypes and shapes; out= of the right shape in another layout,
and without elements."""

import torch

f32, f64, c64, c128 = TYPES = torch.float32, torch.float64, torch.complex64, torch.complex128
i32, i64 = torch.int32, torch.int64
nan, inf = float("nan"), float("inf")


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
        if vector:
            yield a, random(3, dtype=dtype), True
            yield square(3, 2, dtype=dtype), random(2, 3, dtype=dtype), True
        if right:
            for x in layouts(a):
                yield x, random(4, 3, dtype=dtype), False
            yield square(3, 2, dtype=dtype), random(4, 3, dtype=dtype), False
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


def add(CASES):
    ops = torch.ops.aten
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
    CASES["_linalg_svd"] = one(chain(rectangles, wrong, bad_values), (False, True), (True, True), (False, False))
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
