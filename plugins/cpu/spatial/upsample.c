/* upsample.c -- resampling in one to three dimensions, and its gradients, with tables of indices
 * and weights for each axis (aten/src/ATen/native/UpSample.h, cpu/UpSampleKernel.cpp).
 *
 * Operators: upsample_bicubic2d, _upsample_bicubic2d_aa, _upsample_bicubic2d_aa_backward,
 * upsample_bicubic2d_backward, upsample_bilinear2d, _upsample_bilinear2d_aa,
 * _upsample_bilinear2d_aa_backward, upsample_bilinear2d_backward, upsample_linear1d,
 * upsample_linear1d_backward, upsample_nearest1d, upsample_nearest1d_backward, upsample_nearest2d,
 * upsample_nearest2d_backward, upsample_nearest3d, upsample_nearest3d_backward,
 * _upsample_nearest_exact1d, _upsample_nearest_exact1d_backward, _upsample_nearest_exact2d,
 * _upsample_nearest_exact2d_backward, _upsample_nearest_exact3d,
 * _upsample_nearest_exact3d_backward, upsample_trilinear3d, upsample_trilinear3d_backward. */
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

/* Make the axes.  `args` begins with align_corners, except for nearest neighbours; then there is a
 * scale for each dimension. */
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
            p->axes[d].taps.list[0] = 0;
    }
    return rc;
}

/* arguments: self, output_size, [align_corners], scales */
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

/* arguments: grad_output, output_size, input_size, [align_corners], scales */
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
    {"upsample_nearest1d", "compute_indices_weights_nearest", "upsample_nearest1d_backward",
     US_NEAREST, 1, BYTES | SPACE_BF16, LINEAR, false, false},
    {"upsample_nearest2d", "compute_indices_weights_nearest", "upsample_nearest2d_backward",
     US_NEAREST, 2, BYTES | SPACE_BF16, LINEAR, true, true},
    {"upsample_nearest3d", "compute_indices_weights_nearest", "upsample_nearest3d_backward",
     US_NEAREST, 3, BYTES | SPACE_BF16, LINEAR, true, false},
    {"_upsample_nearest_exact1d", "compute_indices_weights_nearest",
     "_upsample_nearest_exact1d_backward", US_EXACT, 1, BYTES, LINEAR, false, false},
    {"_upsample_nearest_exact2d", "compute_indices_weights_nearest",
     "_upsample_nearest_exact2d_backward", US_EXACT, 2, BYTES, LINEAR, true, true},
    {"_upsample_nearest_exact3d", "compute_indices_weights_nearest",
     "_upsample_nearest_exact3d_backward", US_EXACT, 3, BYTES, LINEAR, true, false},
    {"upsample_linear1d", "compute_indices_weights_linear", "upsample_linear1d_backward", US_LINEAR,
     1, LINEAR, LINEAR, false, false},
    {"upsample_bilinear2d", "compute_indices_weights_linear", "upsample_bilinear2d_backward",
     US_LINEAR, 2, LINEAR, LINEAR, true, true},
    {"upsample_trilinear3d", "compute_indices_weights_linear", "upsample_trilinear3d_backward",
     US_LINEAR, 3, LINEAR, LINEAR, true, true},
    {"upsample_bicubic2d", "compute_indices_weights_cubic", "upsample_bicubic2d_backward", US_CUBIC,
     2, LINEAR, LINEAR | SPACE_F16, false, false},
    {"_upsample_bilinear2d_aa", "compute_indices_weights_aa", "_upsample_bilinear2d_aa_backward",
     US_LINEAR_AA, 2, SPACE_FLOATS, SPACE_FLOATS, true, true},
    {"_upsample_bicubic2d_aa", "compute_indices_weights_aa", "_upsample_bicubic2d_aa_backward",
     US_CUBIC_AA, 2, SPACE_FLOATS, SPACE_FLOATS, false, false},
};

#define UPSAMPLE(name, i)                                                                          \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return us_forward(call, &kinds[i]);                                                        \
    }                                                                                              \
    static int name##_back(dp_call *call)                                                          \
    {                                                                                              \
        return us_backward(call, &kinds[i]);                                                       \
    }
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

DP_LIBRARY_META(
    aten, CPU, DP_IMPL("upsample_nearest1d", upsample_nearest1d),
    DP_IMPL("upsample_nearest1d.out", upsample_nearest1d),
    DP_IMPL("upsample_nearest1d_backward", upsample_nearest1d_back),
    DP_IMPL("upsample_nearest1d_backward.grad_input", upsample_nearest1d_back),
    DP_IMPL("upsample_nearest2d", upsample_nearest2d),
    DP_IMPL("upsample_nearest2d.out", upsample_nearest2d),
    DP_IMPL("upsample_nearest2d_backward", upsample_nearest2d_back),
    DP_IMPL("upsample_nearest2d_backward.grad_input", upsample_nearest2d_back),
    DP_IMPL("upsample_nearest3d", upsample_nearest3d),
    DP_IMPL("upsample_nearest3d.out", upsample_nearest3d),
    DP_IMPL("upsample_nearest3d_backward", upsample_nearest3d_back),
    DP_IMPL("upsample_nearest3d_backward.grad_input", upsample_nearest3d_back),
    DP_IMPL("_upsample_nearest_exact1d", _upsample_nearest_exact1d),
    DP_IMPL("_upsample_nearest_exact1d.out", _upsample_nearest_exact1d),
    DP_IMPL("_upsample_nearest_exact1d_backward", _upsample_nearest_exact1d_back),
    DP_IMPL("_upsample_nearest_exact1d_backward.grad_input", _upsample_nearest_exact1d_back),
    DP_IMPL("_upsample_nearest_exact2d", _upsample_nearest_exact2d),
    DP_IMPL("_upsample_nearest_exact2d.out", _upsample_nearest_exact2d),
    DP_IMPL("_upsample_nearest_exact2d_backward", _upsample_nearest_exact2d_back),
    DP_IMPL("_upsample_nearest_exact2d_backward.grad_input", _upsample_nearest_exact2d_back),
    DP_IMPL("_upsample_nearest_exact3d", _upsample_nearest_exact3d),
    DP_IMPL("_upsample_nearest_exact3d.out", _upsample_nearest_exact3d),
    DP_IMPL("_upsample_nearest_exact3d_backward", _upsample_nearest_exact3d_back),
    DP_IMPL("_upsample_nearest_exact3d_backward.grad_input", _upsample_nearest_exact3d_back),
    DP_IMPL("upsample_linear1d", upsample_linear1d),
    DP_IMPL("upsample_linear1d.out", upsample_linear1d),
    DP_IMPL("upsample_linear1d_backward", upsample_linear1d_back),
    DP_IMPL("upsample_linear1d_backward.grad_input", upsample_linear1d_back),
    DP_IMPL("upsample_bilinear2d", upsample_bilinear2d),
    DP_IMPL("upsample_bilinear2d.out", upsample_bilinear2d),
    DP_IMPL("upsample_bilinear2d_backward", upsample_bilinear2d_back),
    DP_IMPL("upsample_bilinear2d_backward.grad_input", upsample_bilinear2d_back),
    DP_IMPL("upsample_trilinear3d", upsample_trilinear3d),
    DP_IMPL("upsample_trilinear3d.out", upsample_trilinear3d),
    DP_IMPL("upsample_trilinear3d_backward", upsample_trilinear3d_back),
    DP_IMPL("upsample_trilinear3d_backward.grad_input", upsample_trilinear3d_back),
    DP_IMPL("upsample_bicubic2d", upsample_bicubic2d),
    DP_IMPL("upsample_bicubic2d.out", upsample_bicubic2d),
    DP_IMPL("upsample_bicubic2d_backward", upsample_bicubic2d_back),
    DP_IMPL("upsample_bicubic2d_backward.grad_input", upsample_bicubic2d_back),
    DP_IMPL("_upsample_bilinear2d_aa", _upsample_bilinear2d_aa),
    DP_IMPL("_upsample_bilinear2d_aa.out", _upsample_bilinear2d_aa),
    DP_IMPL("_upsample_bilinear2d_aa_backward", _upsample_bilinear2d_aa_back),
    DP_IMPL("_upsample_bilinear2d_aa_backward.grad_input", _upsample_bilinear2d_aa_back),
    DP_IMPL("_upsample_bicubic2d_aa", _upsample_bicubic2d_aa),
    DP_IMPL("_upsample_bicubic2d_aa.out", _upsample_bicubic2d_aa),
    DP_IMPL("_upsample_bicubic2d_aa_backward", _upsample_bicubic2d_aa_back),
    DP_IMPL("_upsample_bicubic2d_aa_backward.grad_input", _upsample_bicubic2d_aa_back))
