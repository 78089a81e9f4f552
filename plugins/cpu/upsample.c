/* upsample.c -- resampling one to three dimensions, and its gradients: tables of places and weights for each
 * axis (aten/src/ATen/native/UpSample.h, cpu/UpSampleKernel.cpp). */
#include "upsample.h"
#include <string.h>

enum { ARGS_MAX = 2 + 1 + 1 + SPACE_MAX };

/* align_corners of the call; always false for nearest neighbours. */
static bool is_nearest(const us_kind *k)
{
    return k->mode == US_NEAREST || k->mode == US_EXACT;
}

static int check_sizes(dp_ctx *ctx, const us_kind *k, const int64_t *in, size_t n_in,
                       const dp_value *out)
{
    char from[DP_SHAPE_TEXT], to[DP_SHAPE_TEXT];
    bool bad = false;

    if (out->len != (uint32_t)k->dims)
        return dp_fail(ctx, DP_ERUNTIME, "It is expected output_size equals to %d, but got size %u",
                       k->dims, out->len);
    if (n_in != (size_t)k->dims + 2)
        return dp_fail(ctx, DP_ERUNTIME, "It is expected input_size equals to %d, but got size %zu",
                       k->dims + 2, n_in);
    for (int d = 0; d < k->dims; d++)
        bad = bad || in[d + 2] <= 0 || out->u.ints[d] <= 0;
    if (bad)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Input and output sizes should be greater than 0, but got input %s and output %s",
            dp_shape_text(from, in + 2, (size_t)k->dims),
            dp_shape_text(to, out->u.ints, (size_t)k->dims));
    for (int d = 0; d < k->dims; d++)
        if (in[d + 2] > INT32_MAX || out->u.ints[d] > INT32_MAX)
            return dp_fail(ctx, DP_ERUNTIME, "%s: sizes %" PRId64 " and %" PRId64 " are too large",
                           k->name, in[d + 2], out->u.ints[d]);
    return 0;
}

/* args: align_corners but for nearest neighbours, then a scale for each dimension. */
static int make_axes(dp_ctx *ctx, const us_kind *k, const dp_value *args, bool by_index, pooling *p)
{
    bool align = !is_nearest(k) && args[0].u.b;
    const dp_value *scales = args + !is_nearest(k);
    int first = SPACE_MAX - k->dims, rc = 0;

    if (pool_is_empty(ctx, p))
        return 0;
    p->axes = pool_axes(ctx, 1);
    if (p->axes == NULL)
        return DP_ERESOURCE;
    for (int d = 0; rc == 0 && d < WN_AXES; d++) {
        us_axis a = {p->from.size[d], p->to.size[d], align, 0, p->from.computed == DP_FLOAT64,
                     by_index};
        if (d >= first && scales[d - first].tag)
            a.scale = scales[d - first].u.d;
        rc = d < first ? wn_places(ctx, &p->axes[d], 1, 1) : us_make(ctx, k->mode, &a, &p->axes[d]);
        if (rc == 0 && d < first)
            p->axes[d].list[0] = 0;
    }
    return rc;
}

/* self, output_size, [align_corners], scales */
int us_forward(dp_call *call, const us_kind *k)
{
    uint32_t n_args = 2 + !is_nearest(k) + (uint32_t)k->dims;
    dp_ctx *ctx = call->ctx;
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, n_args);
    pooling p = {.name = k->name, .batched = true};
    DP_VIEW(x, self);
    int rc = check_sizes(ctx, k, x.sizes, (size_t)x.ndim, &call->args[1]);

    if (rc == 0 && x.sizes[1] == 0)
        rc =
            dp_fail(ctx, DP_ERUNTIME,
                    "Non-empty %dD data tensor expected but got one without channels", k->dims + 2);
    if (rc == 0)
        rc = dense_check_type(ctx, k->types_name, x.dtype, k->types);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    p.from = p.to = space_of(self, k->dims, k->last);
    for (int d = 0; d < k->dims; d++)
        p.to.size[SPACE_MAX - k->dims + d] = call->args[1].u.ints[d];
    bool last = k->dims > 1 && dp_tensor_is_contiguous(self, k->dims == 2 ? DP_CHANNELS_LAST
                                                                          : DP_CHANNELS_LAST_3D);
    rc = make_axes(ctx, k, call->args + 2, last, &p);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = is_nearest(k) ? pool_copy(ctx, &p, self, &out) : pool_add(ctx, &p, self, &out);
    return pool_return(call, rc, n_args, 0, &out);
}

/* grad_output, output_size, input_size, [align_corners], scales */
int us_backward(dp_call *call, const us_kind *k)
{
    uint32_t n_args = 3 + !is_nearest(k) + (uint32_t)k->dims;
    dp_ctx *ctx = call->ctx;
    dp_tensor *grad = call->args[0].u.t, *out = pool_given(call, n_args);
    const dp_value *in = &call->args[2];
    pooling p = {.name = k->name, .batched = true}, back;
    DP_VIEW(g, grad);
    int rc = check_sizes(ctx, k, in->u.ints, in->len, &call->args[1]);

    if (rc == 0 && g.ndim != k->dims + 2)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "Expected grad_output to be a tensor of dimension %d but got: dimension %d",
                     k->dims + 2, g.ndim);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    p.to = space_of(grad, k->dims, k->last_back);
    for (int d = 0; d < k->dims; d++)
        p.to.size[SPACE_MAX - k->dims + d] = call->args[1].u.ints[d];
    p.to.n = in->u.ints[0];
    p.to.channels = in->u.ints[1];
    rc = pool_check_grad(ctx, &p, grad);
    if (rc == 0)
        rc = dense_check_type(ctx, k->back_name, g.dtype, k->back_types);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    p.from = p.to;
    for (int d = 0; d < k->dims; d++)
        p.from.size[SPACE_MAX - k->dims + d] = in->u.ints[d + 2];
    size_t weight = is_nearest(k) ? 0 : dp_dtype_size(p.to.computed);
    rc = make_axes(ctx, k, call->args + 3, true, &p);
    if (rc == 0)
        rc = pool_turn(ctx, &p, weight, &back);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return pool_return(call, pool_add(ctx, &back, grad, &out), n_args, 0, &out);
}

#define LINEAR (SPACE_FLOATS | SPACE_BF16)
#define BYTES  (SPACE_FLOATS | DENSE_BIT(DP_UINT8))
static const us_kind kinds[] = {
#define KIND(name, mode, dims, types_name, types, back_types, last, last_back)                     \
    {                                                                                              \
#name, "compute_indices_weights_" types_name, #name "_backward", mode, dims, types,        \
            back_types, last, last_back                                                            \
    }
    KIND(upsample_nearest1d, US_NEAREST, 1, "nearest", BYTES | SPACE_BF16, LINEAR, false, false),
    KIND(upsample_nearest2d, US_NEAREST, 2, "nearest", BYTES | SPACE_BF16, LINEAR, true, true),
    KIND(upsample_nearest3d, US_NEAREST, 3, "nearest", BYTES | SPACE_BF16, LINEAR, true, false),
    KIND(_upsample_nearest_exact1d, US_EXACT, 1, "nearest", BYTES, LINEAR, false, false),
    KIND(_upsample_nearest_exact2d, US_EXACT, 2, "nearest", BYTES, LINEAR, true, true),
    KIND(_upsample_nearest_exact3d, US_EXACT, 3, "nearest", BYTES, LINEAR, true, false),
    KIND(upsample_linear1d, US_LINEAR, 1, "linear", LINEAR, LINEAR, false, false),
    KIND(upsample_bilinear2d, US_LINEAR, 2, "linear", LINEAR, LINEAR, true, true),
    KIND(upsample_trilinear3d, US_LINEAR, 3, "linear", LINEAR, LINEAR, true, true),
    KIND(upsample_bicubic2d, US_CUBIC, 2, "cubic", LINEAR, LINEAR | SPACE_F16, false, false),
    KIND(_upsample_bilinear2d_aa, US_LINEAR_AA, 2, "aa", SPACE_FLOATS, SPACE_FLOATS, true, true),
    KIND(_upsample_bicubic2d_aa, US_CUBIC_AA, 2, "aa", SPACE_FLOATS, SPACE_FLOATS, false, false),
#undef KIND
};

#define UPSAMPLE(name, i)                                                                          \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return us_forward(call, &kinds[i]);                                                        \
    }                                                                                              \
    static int name##_back(dp_call *call)                                                          \
    {                                                                                              \
        return us_backward(call, &kinds[i]);                                                       \
    }                                                                                              \
    DP_LIBRARY_META(aten, CPU, DP_IMPL(#name, name), DP_IMPL(#name ".out", name),                  \
                    DP_IMPL(#name "_backward", name##_back),                                       \
                    DP_IMPL(#name "_backward.grad_input", name##_back))
UPSAMPLE(upsample_nearest1d, 0)
UPSAMPLE(upsample_nearest2d, 1)
UPSAMPLE(upsample_nearest3d, 2)
UPSAMPLE(_upsample_nearest_exact1d, 3)
UPSAMPLE(_upsample_nearest_exact2d, 4)
UPSAMPLE(_upsample_nearest_exact3d, 5)
UPSAMPLE(upsample_linear1d, 6)
UPSAMPLE(upsample_bilinear2d, 7)
UPSAMPLE(upsample_trilinear3d, 8)
UPSAMPLE(upsample_bicubic2d, 9)
UPSAMPLE(_upsample_bilinear2d_aa, 10)
UPSAMPLE(_upsample_bicubic2d_aa, 11)
