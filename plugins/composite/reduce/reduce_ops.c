/* reduce_ops.c -- reductions that call other reductions or other overloads of themselves
 * (aten/src/ATen/native/ReduceOps.cpp).
 *
 * Operators: count_nonzero, logsumexp, mean, nanmean, norm, special_logsumexp, std, std_mean, sum,
 * var, var_mean. */
#include "core/composite.h"

/* aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int sum(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", self, NULL, (size_t)0, (int)false,
                     dtype, out);
}

/* aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int mean(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::mean.dim", "Toliboi>T", self, NULL, (size_t)0, (int)false, dtype,
                     out);
}

/* aten::count_nonzero(Tensor self, int? dim=None) -> Tensor */
static int count_nonzero(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::count_nonzero.dim_IntList", "Tli>T", self, dim,
                     (size_t)(dim ? 1 : 0), out);
}

/* Count the elements of `self` that are not NaN, along `dim` [n], for nanmean.  *out owned.
 * DP_ERUNTIME: the dtype of self is not floating. */
static int count_numbers(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                         dp_tensor **out)
{
    dp_tensor *nans = NULL, *numbers = NULL;
    DP_VIEW(x, self);

    if (!dp_dtype_is_floating(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "nanmean(): expected input to have floating point dtype but got %s",
                       dp_dtype_name(x.dtype));
    int rc = dp_invoke(ctx, "aten::isnan", "T>T", self, &nans);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::logical_not", "T>T", nans, &numbers);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", numbers, dim, n, (int)keepdim,
                       NULL, out);
    dp_tensor_unref(nans);
    dp_tensor_unref(numbers);
    return rc;
}

/* aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
 *     -> Tensor
 * The result is nansum divided by the number of elements that are not NaN. */
static int nanmean(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                   const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *count = NULL, *total = NULL;
    int rc = count_numbers(ctx, self, dim, n, keepdim, &count);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::nansum", "Toliboi>T", self, dim, n, (int)keepdim, dtype, &total);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div.Tensor", "TT>T", total, count, out);
    dp_tensor_unref(count);
    dp_tensor_unref(total);
    return rc;
}

/* aten::nanmean.out(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None,
 *     Tensor(a!) out) -> Tensor(a!) */
static int nanmean_out(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                       const int64_t *dtype, dp_tensor *out)
{
    dp_tensor *count = NULL;
    int rc = count_numbers(ctx, self, dim, n, keepdim, &count);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_invoke(ctx, "aten::nansum.out", "ToliboiT>", self, dim, n, (int)keepdim, dtype, out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::div_.Tensor", "TT>", out, count);
    dp_tensor_unref(count);
    return rc;
}

/* -- var and std: `unbiased` true is correction 1, false is correction 0 -- */

#define VARIANCE(name)                                                                             \
    static int name##_dim(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,              \
                          bool unbiased, bool keepdim, dp_tensor **out)                            \
    {                                                                                              \
        int64_t correction = unbiased;                                                             \
        return dp_invoke(ctx, "aten::" #name ".correction", "Tolioib>T", self, dim, n,             \
                         &correction, (int)keepdim, out);                                          \
    }                                                                                              \
    static int name##_all(dp_ctx *ctx, dp_tensor *self, bool unbiased, dp_tensor **out)            \
    {                                                                                              \
        return name##_dim(ctx, self, NULL, 0, unbiased, false, out);                               \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,              \
                          bool unbiased, bool keepdim, dp_tensor *out)                             \
    {                                                                                              \
        int64_t correction = unbiased;                                                             \
        return dp_invoke(ctx, "aten::" #name ".correction_out", "TolioibT>", self, dim, n,         \
                         &correction, (int)keepdim, out);                                          \
    }                                                                                              \
    static int name##_mean_dim(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,         \
                               bool unbiased, bool keepdim, dp_tensor **out, dp_tensor **mean)     \
    {                                                                                              \
        int64_t correction = unbiased;                                                             \
        return dp_invoke(ctx, "aten::" #name "_mean.correction", "Tolioib>TT", self, dim, n,       \
                         &correction, (int)keepdim, out, mean);                                    \
    }                                                                                              \
    static int name##_mean_all(dp_ctx *ctx, dp_tensor *self, bool unbiased, dp_tensor **out,       \
                               dp_tensor **mean)                                                   \
    {                                                                                              \
        return name##_mean_dim(ctx, self, NULL, 0, unbiased, false, out, mean);                    \
    }
VARIANCE(var)
VARIANCE(std)

/* -- norms over all dimensions -- */

/* aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor */
static int norm(dp_ctx *ctx, dp_tensor *self, dp_value p, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::norm.ScalarOpt_dim", "Toslib>T", self, &p, NULL, (size_t)0,
                     (int)false, out);
}

/* aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor */
static int norm_dtype(dp_ctx *ctx, dp_tensor *self, const dp_value *p, int64_t dtype,
                      dp_tensor **out)
{
    return dp_invoke(ctx, "aten::norm.ScalarOpt_dim_dtype", "Toslibi>T", self, p, NULL, (size_t)0,
                     (int)false, dtype, out);
}

/* -- logsumexp -- */

/* Compute log(sum(exp(t))) into *out, and overwrite `t` with exp(t).  In this function,
 * logsumexp_floats() and write_logsumexp(), *out is set to a new tensor if it is NULL. */
static int log_sum_exp(dp_ctx *ctx, dp_tensor *t, const int64_t *dim, size_t n, bool keepdim,
                       dp_tensor **out)
{
    int rc = dp_invoke(ctx, "aten::exp_", "T>", t);

    if (rc == 0)
        rc = *out ? dp_invoke(ctx, "aten::sum.IntList_out", "ToliboiT>", t, dim, n, (int)keepdim,
                              NULL, *out)
                  : dp_invoke(ctx, "aten::sum.dim_IntList", "Toliboi>T", t, dim, n, (int)keepdim,
                              NULL, out);
    return rc < 0 ? rc : dp_invoke(ctx, "aten::log_", "T>", *out);
}

/* Set *out to a new tensor: the maxima of `self` along `dim` [n], with 0 in place of infinite
 * maxima. */
static int finite_maxima(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,
                         dp_tensor **out)
{
    dp_tensor *infinite = NULL;
    int rc = dp_invoke(ctx, "aten::amax", "Tlib>T", self, dim, n, (int)true, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::isinf", "T>T", *out, &infinite);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", *out, infinite, dp_int(0));
    dp_tensor_unref(infinite);
    return release_on_error(rc, out);
}

static int logsumexp_floats(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,
                            bool keepdim, dp_tensor **out)
{
    dp_tensor *max = NULL, *less = NULL, *flat = NULL;
    DP_VIEW(x, self);
    int rc;

    if (x.numel == 0) {
        rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, NULL, &less);
        rc = rc == 0 ? log_sum_exp(ctx, less, dim, n, keepdim, out) : rc;
        dp_tensor_unref(less);
        return rc;
    }
    rc = finite_maxima(ctx, self, dim, n, &max);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sub.Tensor", "TTs>T", self, max, dp_int(1), &less);
    if (rc == 0)
        rc = log_sum_exp(ctx, less, dim, n, keepdim, out);
    if (rc == 0) {
        DP_VIEW(y, *out);
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", max, y.sizes, (size_t)y.ndim, &flat);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", *out, flat, dp_int(1));
    }
    dp_tensor_unref(max);
    dp_tensor_unref(less);
    dp_tensor_unref(flat);
    return rc;
}

static int check_floating(dp_ctx *ctx, dp_dtype dtype)
{
    return dp_dtype_is_floating(dtype)
               ? 0
               : dp_refuse(
                     ctx, DP_ERUNTIME,
                     "logsumexp(): Expected floating point type for result tensor, but got: %s",
                     dp_dtype_name(dtype));
}

/* Compute logsumexp into *out.  The maximum is subtracted from the elements, so that exp() does not
 * overflow, and added to the result. */
static int write_logsumexp(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                           dp_tensor **out)
{
    dp_tensor *floats = NULL;
    DP_VIEW(x, self);
    int rc = 0;

    if (dp_dtype_is_integral(x.dtype, true))
        rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", self, (int64_t)DP_FLOAT32, &floats);
    if (rc == 0)
        rc = logsumexp_floats(ctx, floats ? floats : self, dim, n, keepdim, out);
    dp_tensor_unref(floats);
    return rc;
}

/* aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor */
static int logsumexp(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                     dp_tensor **out)
{
    DP_VIEW(x, self);
    int rc = dp_dtype_is_complex(x.dtype) ? check_floating(ctx, x.dtype) : 0;

    *out = NULL;
    if (rc == 0)
        rc = write_logsumexp(ctx, self, dim, n, keepdim, out);
    return release_on_error(rc, out);
}

/* aten::logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) ->
 * Tensor(a!) */
static int logsumexp_out(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, bool keepdim,
                         dp_tensor *out)
{
    DP_VIEW(y, out);
    int rc = check_floating(ctx, y.dtype);

    return rc < 0 ? rc : write_logsumexp(ctx, self, dim, n, keepdim, &out);
}

/* aten::special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor */
static int special_logsumexp(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,
                             bool keepdim, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::logsumexp", "Tlib>T", self, dim, n, (int)keepdim, out);
}

/* aten::special_logsumexp.out(Tensor self, int[1] dim, bool keepdim=False, *, Tensor(a!) out) ->
 * Tensor(a!) */
static int special_logsumexp_out(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n,
                                 bool keepdim, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::logsumexp.out", "TlibT>", self, dim, n, (int)keepdim, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("sum", sum, (T, oi), (T)),
                DP_IMPL_UNBOXED("mean", mean, (T, oi), (T)),
                DP_IMPL_UNBOXED("count_nonzero", count_nonzero, (T, oi), (T)),
                DP_IMPL_UNBOXED("norm.Scalar", norm, (T, s), (T)),
                DP_IMPL_UNBOXED("norm.ScalarOpt_dtype", norm_dtype, (T, os, i), (T)),
                DP_IMPL_UNBOXED("logsumexp", logsumexp, (T, li, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("logsumexp.out", logsumexp_out, (T, li, b, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("nanmean", nanmean, (T, oli, b, oi), (T)),
                DP_IMPL_UNBOXED("nanmean.out", nanmean_out, (T, oli, b, oi, T), ()),
                DP_IMPL_UNBOXED("special_logsumexp.out", special_logsumexp_out, (T, li, b, T), ()),
                DP_IMPL_UNBOXED("special_logsumexp", special_logsumexp, (T, li, b), (T)),
                DP_IMPL_UNBOXED("var", var_all, (T, b), (T)),
                DP_IMPL_UNBOXED("var.dim", var_dim, (T, oli, b, b), (T)),
                DP_IMPL_UNBOXED("var.out", var_out, (T, oli, b, b, T), ()),
                DP_IMPL_UNBOXED("var_mean", var_mean_all, (T, b), (T, T)),
                DP_IMPL_UNBOXED("var_mean.dim", var_mean_dim, (T, oli, b, b), (T, T)),
                DP_IMPL_UNBOXED("std", std_all, (T, b), (T)),
                DP_IMPL_UNBOXED("std.dim", std_dim, (T, oli, b, b), (T)),
                DP_IMPL_UNBOXED("std.out", std_out, (T, oli, b, b, T), ()),
                DP_IMPL_UNBOXED("std_mean", std_mean_all, (T, b), (T, T)),
                DP_IMPL_UNBOXED("std_mean.dim", std_mean_dim, (T, oli, b, b), (T, T)))
