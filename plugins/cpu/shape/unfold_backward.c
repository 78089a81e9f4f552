/* unfold_backward.c -- unfold_backward, which adds overlapping windows to the elements from which
 * they were read (aten/src/ATen/native/UnfoldBackward.h). */
#include "lib/dims.h"

/* Add windows first, first + by, first + 2 by ... of grad to those of `unfolded`; these windows do
 * not overlap. */
static int add_windows(dp_ctx *ctx, dp_tensor *unfolded, dp_tensor *grad, int64_t dim,
                       int64_t first, int64_t by)
{
    dp_tensor *to = NULL, *from = NULL;
    int rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioii>T", unfolded, dim, &first,
                       (int64_t *)NULL, by, &to);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioii>T", grad, dim, &first, (int64_t *)NULL,
                       by, &from);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", to, from, dp_int(1));
    dp_tensor_unref(to);
    dp_tensor_unref(from);
    return rc;
}

/* aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) ->
 * Tensor */
static int unfold_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *sizes, size_t n,
                           int64_t dim, int64_t size, int64_t step, dp_tensor **out)
{
    dp_tensor *unfolded = NULL;
    DP_VIEW(g, grad);
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = wrap_dim(ctx, &dim, (int64_t)n);
    if (rc == 0)
        rc = dp_empty(ctx, g.dtype, g.device, (int)n, sizes, DP_CONTIGUOUS, out);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::zero_", "T>", *out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::unfold", "Tiii>T", *out, dim, size, step, &unfolded);
    /* windows that are `by` apart share no element */
    for (int64_t i = 0, by = rc == 0 && size > 0 ? (size - 1) / step + 1 : 0; rc == 0 && i < by;
         i++)
        rc = add_windows(ctx, unfolded, grad, dim, i, by);
    dp_tensor_unref(unfolded);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("unfold_backward", unfold_backward, (T, li, i, i, i), (T)))
