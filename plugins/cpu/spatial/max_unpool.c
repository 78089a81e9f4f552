/* max_unpool.c -- max_unpool2d and max_unpool3d, which write elements to the positions given by
 * indices (aten/src/ATen/native/MaxUnpooling.cpp). */
#include "pool.h"
#include <string.h>

static int check_lists(dp_ctx *ctx, int dims, const dp_value *lists, uint32_t n)
{
    static const char *const names[] = {"output_size", "stride", "padding"};
    char text[DP_SHAPE_TEXT];

    for (uint32_t i = 0; i < n; i++)
        if (lists[i].len != (uint32_t)dims)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "There should be exactly %s elements (%sheight, width) in %s, but got %u "
                "elements.",
                dims == 2 ? "two" : "three", dims == 2 ? "" : "depth, ", names[i], lists[i].len);
    for (int d = 0; n > 1 && d < dims; d++)
        if (lists[1].u.ints[d] <= 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "strides should be greater than zero, but got stride: %s",
                           dp_shape_text(text, lists[1].u.ints, (size_t)dims));
    return 0;
}

static int check_tensors(dp_ctx *ctx, int dims, const dp_view *x, const dp_view *i)
{
    char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];

    if (i->dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME, "elements in indices should be type int64 but got: %s",
                       dense_type_name(i->dtype));
    if (x->ndim != dims + 1 && x->ndim != dims + 2)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with "
            "%d dimensions.",
            dims, dims + 1, dims + 2, x->ndim);
    if (x->ndim != i->ndim || memcmp(x->sizes, i->sizes, (size_t)x->ndim * sizeof(int64_t)) != 0)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected shape of indices to be same as that of the input tensor (%s) but got "
            "indices tensor with shape: %s",
            dp_shape_text(want, x->sizes, (size_t)x->ndim),
            dp_shape_text(got, i->sizes, (size_t)i->ndim));
    for (int d = 1; d < x->ndim; d++)
        if (x->sizes[d] == 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "max_unpooling%dd_forward_out_cpu(): Expected input to have non-zero size "
                "for non-batch dimensions, but got %s with dimension %d being empty.",
                dims, dp_shape_text(got, x->sizes, (size_t)x->ndim), d);
    return 0;
}

/* arguments: self, indices, output_size; in 3-d also stride and padding */
static int unpool(dp_call *call, int dims)
{
    const uint32_t lists = dims == 2 ? 1 : 3, n_args = 2 + lists;
    dp_ctx *ctx = call->ctx;
    dp_tensor *self = call->args[0].u.t, *indices = call->args[1].u.t,
              *out = pool_given(call, n_args);
    pooling p = {.name = dims == 2 ? "max_unpool2d" : "max_unpool3d"};
    DP_VIEW(x, self);
    DP_VIEW(i, indices);
    int rc = check_tensors(ctx, dims, &x, &i);

    if (rc == 0)
        rc = check_lists(ctx, dims, &call->args[2], lists);
    if (rc == 0 && x.numel > 0)
        rc = dense_check_type(ctx, p.name, x.dtype, SPACE_FLOATS);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    p.batched = x.ndim == dims + 2;
    p.from = p.to = space_of(self, dims, dims == 2);
    p.from.restrides = true;
    for (int d = 0; d < dims; d++) {
        int64_t size = p.from.size[SPACE_MAX - dims + d] = call->args[2].u.ints[d];
        if (size < 0)
            return dp_refuse(ctx, DP_ERUNTIME, "%s: an output_size of %" PRId64, p.name, size);
    }
    return pool_return(call, pool_scatter(ctx, &p, false, self, indices, &out), n_args, 0, &out);
}

static int unpool2(dp_call *call)
{
    return unpool(call, 2);
}

static int unpool3(dp_call *call)
{
    return unpool(call, 3);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL("max_unpool2d", unpool2), DP_IMPL("max_unpool2d.out", unpool2),
                DP_IMPL("max_unpool3d", unpool3), DP_IMPL("max_unpool3d.out", unpool3))
