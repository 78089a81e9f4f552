/* outer_ger_addr.c -- outer, ger and addr, which call mul
 * (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "core/composite.h"
#include <dispatchd/check.h>

/* View self [n] as [n, 1]. */
static int column(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, temps *s)
{
    DP_VIEW(x, self);
    DP_VIEW(y, vec2);

    if (x.ndim != 1 || y.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "outer: Expected 1-D argument %s, but got %d-D",
                       x.ndim != 1 ? "self" : "vec2", x.ndim != 1 ? x.ndim : y.ndim);
    return dp_invoke(ctx, "aten::unsqueeze", "Ti>T", self, (int64_t)1, temps_next(s));
}

/* aten::outer(Tensor self, Tensor vec2) -> Tensor
 * self [n], vec2 [m] -> [n, m], of their common dtype. */
static int outer(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, dp_tensor **out)
{
    temps s = {0};
    int rc = column(ctx, self, vec2, &s);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Tensor", "TT>T", temps_last(&s), vec2, out);
    temps_fini(&s);
    return rc;
}

static int outer_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec2, dp_tensor *out)
{
    temps s = {0};
    int rc = column(ctx, self, vec2, &s);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.out", "TTT>", temps_last(&s), vec2, out);
    temps_fini(&s);
    return rc;
}

/* -- addr -- */

static int check_addr_scalar(dp_ctx *ctx, dp_dtype d, dp_value v, const char *name)
{
    if (v.tag == DP_TAG_BOOL && d != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "Boolean %s only supported for Boolean results.", name);
    if (dp_dtype_is_integral(d, true) && v.tag != DP_TAG_BOOL && v.tag != DP_TAG_INT)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "For integral input tensors, argument %s must not be a floating point number.", name);
    return 0;
}

static bool is_nonzero(dp_value v)
{
    if (v.tag == DP_TAG_COMPLEX)
        return v.u.doubles[0] != 0 || v.u.doubles[1] != 0;
    return as_double(v) != 0;
}

/* Round *v, beta or alpha, to float16 or bfloat16 `d`, as addr_kernel of LinearAlgebraKernel.cpp
 * does. */
static int round_addr_scalar(dp_ctx *ctx, dp_dtype d, dp_value *v)
{
    if (v->tag == DP_TAG_COMPLEX)
        return 0;
    double given = as_double(*v);
    *v = dp_double(as_stored(given, d));
    return isfinite(given) && isinf(v->u.d)
               ? dp_fail(ctx, DP_ERUNTIME,
                         "value cannot be converted to type at::%s without overflow",
                         dp_dtype_aten_name(d))
               : 0;
}

/* Set the product alpha vec1 vec2, in dtype d. */
static int scaled_outer(dp_ctx *ctx, temps *s, dp_dtype d, dp_tensor *vec1, dp_tensor *vec2,
                        dp_value alpha)
{
    dp_tensor *to[2] = {vec1, vec2};
    dp_value by = d == DP_BOOL ? dp_bool(is_nonzero(alpha)) : alpha;
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", to[i], (int64_t)d, temps_next(s));
        to[i] = temps_last(s);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", to[0], by, temps_next(s));
    dp_tensor *scaled = temps_last(s);
    return rc == 0 ? outer(ctx, scaled, to[1], temps_next(s)) : rc;
}

/* Check that both are vectors, and that self expands to their product. */
static int check_addr(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, temps *s)
{
    DP_VIEW(x, vec1);
    DP_VIEW(y, vec2);

    if (x.ndim != 1 || y.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "addr: Expected 1-D argument %s, but got %d-D",
                       x.ndim != 1 ? "vec1" : "vec2", x.ndim != 1 ? x.ndim : y.ndim);
    const int64_t sizes[] = {x.numel, y.numel};
    return dp_invoke(ctx, "aten::expand", "Tli>T", self, sizes, (size_t)2, temps_next(s));
}

/* aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * The result is beta self + alpha (vec1 x vec2) in the common dtype; for bool, + is `or` and * is
 * `and`.  If beta is 0, self is not read. */
static int addr(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, dp_value beta,
                dp_value alpha, dp_tensor **out)
{
    temps s = {0};
    dp_tensor *all[] = {self, vec1, vec2};
    dp_dtype d = dp_result_type(all, 3);
    /* ATen rounds the result of each step to the 16-bit dtype */
    bool half = d == DP_BFLOAT16 || d == DP_FLOAT16;
    int rc = check_addr(ctx, self, vec1, vec2, &s);

    if (rc == 0)
        rc = check_addr_scalar(ctx, d, beta, "beta");
    if (rc == 0)
        rc = check_addr_scalar(ctx, d, alpha, "alpha");
    if (rc == 0 && half)
        rc = round_addr_scalar(ctx, d, &beta);
    if (rc == 0 && half)
        rc = round_addr_scalar(ctx, d, &alpha);
    if (rc == 0)
        rc = scaled_outer(ctx, &s, d, vec1, vec2, alpha);
    dp_tensor *sum = rc == 0 ? temps_last(&s) : NULL;
    if (rc == 0 && half && is_nonzero(beta)) {
        rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", self, beta, temps_next(&s));
        self = temps_last(&s);
        beta = dp_double(1);
    }
    if (rc == 0 && is_nonzero(beta))
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", sum, self,
                       d == DP_BOOL ? dp_bool(true) : beta);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", sum, (int64_t)d, out);
    temps_fini(&s);
    return rc;
}

static int addr_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2, dp_value beta,
                    dp_value alpha, dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = addr(ctx, self, vec1, vec2, beta, alpha, &made);
    return give_cast(ctx, rc, made, out);
}

static int addr_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *vec1, dp_tensor *vec2,
                         dp_value beta, dp_value alpha)
{
    DP_VIEW(x, self);

    if (x.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "2D tensor expected, got %dD tensor for input", x.ndim);
    return addr_out(ctx, self, vec1, vec2, beta, alpha, self);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("outer", outer, (T, T), (T)),
                DP_IMPL_UNBOXED("outer.out", outer_out, (T, T, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("ger", outer, (T, T), (T)),
                DP_IMPL_UNBOXED("ger.out", outer_out, (T, T, T), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("addr", addr, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addr_", addr_in_place, (T, T, T, s, s), ()),
                DP_IMPL_UNBOXED("addr.out", addr_out, (T, T, T, s, s, T), ()))
DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("addr", addr, (T, T, T, s, s), (T)),
                DP_IMPL_UNBOXED("addr.out", addr_out, (T, T, T, s, s, T), ()))
