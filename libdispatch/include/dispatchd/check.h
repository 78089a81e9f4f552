/* dispatchd/check.h -- checks of tensor arguments, with PyTorch's error messages
 * (aten/src/ATen/TensorUtils.cpp).
 *
 *     const dp_checked self = {x, "self", 1}, weight = {w, "weight", 2};
 *     int rc = dp_check_dim(ctx, "layer", &self, 2);
 *     if (rc == 0)
 *         rc = dp_check_same_dtype(ctx, "layer", &self, &weight);
 *
 * fails with "Expected 2-dimensional tensor, but got 3-dimensional tensor for argument #1 'self'
 * (while checking arguments for layer)".  All checks fail with dp_refuse(): call them before the
 * kernel writes anything.  `fn` is the name after "checking arguments for".  Include plugin.h or
 * dispatch.h before this header. */
#ifndef DISPATCHD_CHECK_H
#define DISPATCHD_CHECK_H

#include "sizes.h"
#include <inttypes.h>
#include <stdio.h>

/* A tensor argument with its name and its position, from 1; position 0: messages give the name
 * only.  Source: at::TensorArg. */
typedef struct dp_checked {
    const dp_tensor *t;
    const char *name;
    int position;
} dp_checked;

#define DP_CHECK_TEXT 160 /* bytes of an argument's description */
#define DP_CHECK_FN   __attribute__((unused)) static inline

/* Return PyTorch's name of a dtype: "Long" for int64.  Source: c10::toString. */
DP_CHECK_FN const char *dp_dtype_aten_name(dp_dtype d)
{
    switch (d) {
#define DP_DTYPE_CASE_(id, number, name, aten, bytes, category)                                    \
    case id:                                                                                       \
        return aten;
        DP_DTYPE_MAP(DP_DTYPE_CASE_)
#undef DP_DTYPE_CASE_
    default:
        return "Undefined";
    }
}

DP_CHECK_FN const char *dp_checked_text(const dp_checked *a, char buf[DP_CHECK_TEXT])
{
    if (a->position > 0)
        snprintf(buf, DP_CHECK_TEXT, "argument #%d '%s'", a->position, a->name);
    else
        snprintf(buf, DP_CHECK_TEXT, "'%s'", a->name);
    return buf;
}

/* Check that least <= ndim <= most.  Source: checkDimRange; if `least` equals `most`, checkDim. */
DP_CHECK_FN int dp_check_dim_range(dp_ctx *ctx, const char *fn, const dp_checked *a, int least,
                                   int most)
{
    char text[DP_CHECK_TEXT];
    DP_VIEW(x, a->t);

    if (x.ndim >= least && x.ndim <= most)
        return 0;
    dp_checked_text(a, text);
    if (least == most)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "Expected %d-dimensional tensor, but got %d-dimensional tensor for %s "
                         "(while checking arguments for %s)",
                         least, x.ndim, text, fn);
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected %d to %d dimensions, but got %d-dimensional tensor for %s (while "
                     "checking arguments for %s)",
                     least, most, x.ndim, text, fn);
}

DP_CHECK_FN int dp_check_dim(dp_ctx *ctx, const char *fn, const dp_checked *a, int ndim)
{
    return dp_check_dim_range(ctx, fn, a, ndim, ndim);
}

/* Check that dimension `dim`, which must exist, has size `size`.  Source: checkSize with a
 * dimension. */
DP_CHECK_FN int dp_check_size_at(dp_ctx *ctx, const char *fn, const dp_checked *a, int dim,
                                 int64_t size)
{
    char text[DP_CHECK_TEXT];
    DP_VIEW(x, a->t);

    if (x.sizes[dim] == size)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor to have size %" PRId64 " at dimension %d, but got size "
                     "%" PRId64 " for %s (while checking arguments for %s)",
                     size, dim, x.sizes[dim], dp_checked_text(a, text), fn);
}

DP_CHECK_FN bool dp_same_sizes(int na, const int64_t *a, int nb, const int64_t *b)
{
    bool same = na == nb;

    for (int i = 0; same && i < na; i++)
        same = a[i] == b[i];
    return same;
}

/* Check that `a` has these sizes [ndim].  Source: checkSize. */
DP_CHECK_FN int dp_check_size(dp_ctx *ctx, const char *fn, const dp_checked *a, int ndim,
                              const int64_t *sizes)
{
    char text[DP_CHECK_TEXT], want[DP_SHAPE_TEXT], has[DP_SHAPE_TEXT];
    DP_VIEW(x, a->t);

    if (dp_same_sizes(x.ndim, x.sizes, ndim, sizes))
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor of size %s, but got tensor of size %s for %s (while checking "
                     "arguments for %s)",
                     dp_shape_text(want, sizes, (size_t)ndim),
                     dp_shape_text(has, x.sizes, (size_t)x.ndim), dp_checked_text(a, text), fn);
}

DP_CHECK_FN int dp_check_same_size(dp_ctx *ctx, const char *fn, const dp_checked *a,
                                   const dp_checked *b)
{
    char first[DP_CHECK_TEXT], second[DP_CHECK_TEXT], has[DP_SHAPE_TEXT], other[DP_SHAPE_TEXT];
    DP_VIEW(x, a->t);
    DP_VIEW(y, b->t);

    if (dp_same_sizes(x.ndim, x.sizes, y.ndim, y.sizes))
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor for %s to have same size as tensor for %s; but %s does not "
                     "equal %s (while checking arguments for %s)",
                     dp_checked_text(a, first), dp_checked_text(b, second),
                     dp_shape_text(has, x.sizes, (size_t)x.ndim),
                     dp_shape_text(other, y.sizes, (size_t)y.ndim), fn);
}

DP_CHECK_FN int dp_check_numel(dp_ctx *ctx, const char *fn, const dp_checked *a, int64_t numel)
{
    char text[DP_CHECK_TEXT];
    DP_VIEW(x, a->t);

    if (x.numel == numel)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor for %s to have %" PRId64 " elements; but it actually has "
                     "%" PRId64 " elements (while checking arguments for %s)",
                     dp_checked_text(a, text), numel, x.numel, fn);
}

/* Check that the dtype is one of dtypes [n].  Source: checkScalarTypes; if `n` is 1,
 * checkScalarType. */
DP_CHECK_FN int dp_check_dtypes(dp_ctx *ctx, const char *fn, const dp_checked *a, int n,
                                const dp_dtype *dtypes)
{
    char text[DP_CHECK_TEXT], names[DP_CHECK_TEXT];
    size_t at = 0;
    DP_VIEW(x, a->t);

    for (int i = 0; i < n; i++)
        if (dtypes[i] == x.dtype)
            return 0;
    names[0] = '\0';
    for (int i = 0; i < n && at < sizeof(names); i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
                               dp_dtype_aten_name(dtypes[i]));
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor for %s to have %s %s; but got torch.%sTensor instead (while "
                     "checking arguments for %s)",
                     dp_checked_text(a, text),
                     n > 1 ? "one of the following scalar types:" : "scalar type", names,
                     dp_dtype_aten_name(x.dtype), fn);
}

/* Check that both arguments have the same dtype.  Source: checkSameType. */
DP_CHECK_FN int dp_check_same_dtype(dp_ctx *ctx, const char *fn, const dp_checked *a,
                                    const dp_checked *b)
{
    char first[DP_CHECK_TEXT], second[DP_CHECK_TEXT];
    DP_VIEW(x, a->t);
    DP_VIEW(y, b->t);

    if (x.dtype == y.dtype)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "Expected tensor for %s to have the same type as tensor for %s; but type "
                     "torch.%sTensor does not equal torch.%sTensor (while checking arguments for "
                     "%s)",
                     dp_checked_text(a, first), dp_checked_text(b, second),
                     dp_dtype_aten_name(x.dtype), dp_dtype_aten_name(y.dtype), fn);
}

/* Fail because kernel `what` has no loop for dtype `d`, with the message of AT_DISPATCH. */
DP_CHECK_FN int dp_refuse_dtype(dp_ctx *ctx, const char *what, dp_dtype d)
{
    return dp_refuse(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", what,
                     dp_dtype_aten_name(d));
}

#endif
