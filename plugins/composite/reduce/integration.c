/* integration.c -- integrals of samples by the trapezoidal rule: trapezoid and cumulative_trapezoid
 * (aten/src/ATen/native/Integration.cpp). */
#include "core/chain.h"

static dp_tensor *part(chain *c, dp_tensor *t, int64_t dim, int64_t start, int64_t end)
{
    return CHAIN(c, "aten::slice.Tensor", "Tioioi>T", t, dim, &start, &end);
}

static dp_tensor *slice_from(chain *c, dp_tensor *t, int64_t dim, int64_t start)
{
    return part(c, t, dim, start, INT64_MAX);
}

static dp_tensor *scaled(chain *c, dp_tensor *t, double by)
{
    return chain_Ts(c, "aten::mul.Scalar", t, dp_double(by));
}

/* Wrap *dim and set *size to the size of `t` in that dimension.  DP_EINDEX: t has no
 * such dimension. */
static int size_of(dp_ctx *ctx, dp_tensor *t, int64_t *dim, int64_t *size)
{
    DP_VIEW(x, t);

    if (x.ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", *dim);
    int rc = wrap_dim(ctx, dim, x.ndim);
    if (rc == 0)
        *size = x.sizes[*dim];
    return rc;
}

/* -- integrals -- */

static int check_samples(dp_ctx *ctx, const char *name, dp_tensor *y, dp_tensor *x)
{
    DP_VIEW(v, y);
    bool no = v.dtype == DP_BOOL;

    if (x != NULL) {
        DP_VIEW(w, x);
        no |= w.dtype == DP_BOOL;
    }
    return no ? dp_fail(ctx, DP_ERUNTIME,
                        "%s: received a bool input for `x` or `y`, but bool is not supported", name)
              : 0;
}

/* Return the coordinates `x` of the samples `y`, as a tensor that broadcasts with y: a vector
 * extends along `dim`; another tensor with fewer dimensions than y gets dimensions of size 1 in
 * front. */
static dp_tensor *expand_coordinates(chain *c, const char *name, dp_tensor *x, dp_tensor *y,
                                     int64_t dim)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(v, x);
    DP_VIEW(w, y);

    for (int d = 0; d < w.ndim; d++)
        sizes[d] = d - (w.ndim - v.ndim) >= 0 ? v.sizes[d - (w.ndim - v.ndim)] : 1;
    if (v.ndim == 1) {
        if (v.sizes[0] != w.sizes[dim])
            chain_fail(c, DP_ERUNTIME, "%s: There must be one `x` value for each sample point",
                       name);
        for (int d = 0; d < w.ndim; d++)
            sizes[d] = d == dim ? v.sizes[0] : 1;
    } else if (v.ndim >= w.ndim) {
        return x;
    }
    return CHAIN(c, "aten::view", "Tli>T", x, sizes, (size_t)w.ndim);
}

static dp_tensor *steps(chain *c, dp_tensor *x, int64_t dim)
{
    dp_tensor *left = part(c, x, dim, 0, -1), *right = slice_from(c, x, dim, 1);
    return chain_TT(c, "aten::sub.Tensor", right, left);
}

/* Make the integral over a dimension of size 0, which is zero. */
static int integral_of_none(dp_ctx *ctx, dp_tensor *y, int64_t dim, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    size_t n = 0;
    DP_VIEW(v, y);

    for (int d = 0; d < v.ndim; d++)
        if (d != dim)
            sizes[n++] = v.sizes[d];
    return dp_invoke(ctx, "aten::new_zeros", "Tli>T", y, sizes, n, out);
}

/* aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor */
static int trapezoid(dp_ctx *ctx, dp_tensor *y, dp_tensor *x, int64_t dim, dp_tensor **out)
{
    int64_t size = 0;
    chain c = {.ctx = ctx};
    int rc = size_of(ctx, y, &dim, &size);

    if (rc == 0 && size == 0)
        return integral_of_none(ctx, y, dim, out);
    if (rc == 0)
        rc = check_samples(ctx, "trapezoid", y, x);
    if (rc < 0)
        return rc;
    dp_tensor *width = steps(&c, expand_coordinates(&c, "trapezoid", x, y, dim), dim);
    dp_tensor *left = part(&c, y, dim, 0, -1), *right = slice_from(&c, y, dim, 1);
    dp_tensor *t =
        chain_TT(&c, "aten::mul.Tensor", chain_TT(&c, "aten::add.Tensor", right, left), width);
    t = CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", t, &dim, (size_t)1);
    return chain_end(&c, chain_Ts(&c, "aten::div.Scalar", t, dp_double(2)), out);
}

static int check_width(dp_ctx *ctx, const char *name, dp_tensor *y, dp_value dx)
{
    DP_VIEW(v, y);

    if (v.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: received a bool input for `y`, but bool is not supported", name);
    if (dx.tag == DP_TAG_COMPLEX || dx.tag == DP_TAG_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "%s: Currently, we only support dx as a real number.",
                       name);
    return 0;
}

/* aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor */
static int trapezoid_dx(dp_ctx *ctx, dp_tensor *y, dp_value dx, int64_t dim, dp_tensor **out)
{
    int64_t size = 0;
    chain c = {.ctx = ctx};
    int rc = size_of(ctx, y, &dim, &size);

    if (rc == 0 && size == 0)
        return integral_of_none(ctx, y, dim, out);
    if (rc == 0)
        rc = check_width(ctx, "trapezoid", y, dx);
    if (rc < 0)
        return rc;
    dp_tensor *first = CHAIN(&c, "aten::select.int", "Tii>T", y, dim, (int64_t)0);
    dp_tensor *last = CHAIN(&c, "aten::select.int", "Tii>T", y, dim, (int64_t)-1);
    dp_tensor *ends = scaled(&c, chain_TT(&c, "aten::add.Tensor", first, last), 0.5);
    dp_tensor *sum = CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", y, &dim, (size_t)1);
    dp_tensor *t = chain_TT(&c, "aten::sub.Tensor", sum, ends);
    return chain_end(&c, scaled(&c, t, as_double(dx)), out);
}

/* aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor */
static int cumulative(dp_ctx *ctx, dp_tensor *y, dp_tensor *x, int64_t dim, dp_tensor **out)
{
    int64_t size = 0;
    chain c = {.ctx = ctx};
    int rc = size_of(ctx, y, &dim, &size);

    if (rc == 0)
        rc = check_samples(ctx, "cumulative_trapezoid", y, x);
    if (rc < 0)
        return rc;
    dp_tensor *width = steps(&c, expand_coordinates(&c, "cumulative_trapezoid", x, y, dim), dim);
    dp_tensor *left = part(&c, y, dim, 0, -1), *right = slice_from(&c, y, dim, 1);
    dp_tensor *t =
        chain_TT(&c, "aten::mul.Tensor", chain_TT(&c, "aten::add.Tensor", left, right), width);
    t = CHAIN(&c, "aten::cumsum", "Ti>T", t, dim);
    return chain_end(&c, chain_Ts(&c, "aten::div.Scalar", t, dp_double(2)), out);
}

/* aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor */
static int cumulative_dx(dp_ctx *ctx, dp_tensor *y, dp_value dx, int64_t dim, dp_tensor **out)
{
    int64_t size = 0;
    chain c = {.ctx = ctx};
    int rc = size_of(ctx, y, &dim, &size);

    if (rc == 0)
        rc = check_width(ctx, "cumulative_trapezoid", y, dx);
    if (rc < 0)
        return rc;
    dp_tensor *left = part(&c, y, dim, 0, -1), *right = slice_from(&c, y, dim, 1);
    dp_tensor *t = scaled(&c, chain_TT(&c, "aten::add.Tensor", left, right), as_double(dx) / 2);
    return chain_end(&c, CHAIN(&c, "aten::cumsum", "Ti>T", t, dim), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("trapezoid.x", trapezoid, (T, T, i), (T)),
                DP_IMPL_UNBOXED("trapezoid.dx", trapezoid_dx, (T, s, i), (T)),
                DP_IMPL_UNBOXED("cumulative_trapezoid.x", cumulative, (T, T, i), (T)),
                DP_IMPL_UNBOXED("cumulative_trapezoid.dx", cumulative_dx, (T, s, i), (T)))
