/* upsample.c -- resampling with scale factors, from which the size of the result is computed
 * (aten/src/ATen/native/UpSample*.cpp: .vec overloads).
 *
 * Operators: upsample_bicubic2d, _upsample_bicubic2d_aa, _upsample_bicubic2d_aa_backward,
 * upsample_bicubic2d_backward, upsample_bilinear2d, _upsample_bilinear2d_aa,
 * _upsample_bilinear2d_aa_backward, upsample_bilinear2d_backward, upsample_linear1d,
 * upsample_linear1d_backward, upsample_nearest1d, upsample_nearest1d_backward, upsample_nearest2d,
 * upsample_nearest2d_backward, upsample_nearest3d, upsample_nearest3d_backward,
 * _upsample_nearest_exact1d, _upsample_nearest_exact1d_backward, _upsample_nearest_exact2d,
 * _upsample_nearest_exact2d_backward, _upsample_nearest_exact3d,
 * _upsample_nearest_exact3d_backward, upsample_trilinear3d, upsample_trilinear3d_backward. */
#include "core/composite.h"

enum { SPACE_MAX = 3, ARGS_MAX = 3 + 1 + SPACE_MAX };

typedef struct us_vec {
    const char *target;
    uint32_t dims;
    bool aligned, backward; /* align_corners is an argument; input_size is an argument */
} us_vec;

static int fail_size(dp_ctx *ctx, const us_vec *v, const char *what, uint32_t n)
{
    return dp_fail(ctx, DP_ERUNTIME, "%s: expected %s of %u numbers but got %u", v->target, what,
                   v->dims, n);
}

/* Set size [dims] to output_size, or to the spatial sizes of `in` times the factors; the first two
 * sizes of `in` are batch and channels. */
static int find_size(dp_ctx *ctx, const us_vec *v, const int64_t *in, uint32_t n_in,
                     const dp_value *output, const dp_value *factors, int64_t *size)
{
    if (!output->tag == !factors->tag)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Must specify exactly one of output_size and scale_factors");
    if (n_in != v->dims + 2)
        return dp_fail(ctx, DP_ERUNTIME, "It is expected input_size equals to %u, but got size %u",
                       v->dims + 2, n_in);
    if (output->tag && output->len != v->dims)
        return fail_size(ctx, v, "output_size", output->len);
    if (factors->tag && factors->len != v->dims)
        return fail_size(ctx, v, "scale_factors", factors->len);
    for (uint32_t d = 0; d < v->dims; d++) {
        double scaled = factors->tag ? (double)in[d + 2] * factors->u.doubles[d] : 0;
        if (!(fabs(scaled) < 0x1p62))
            return dp_fail(ctx, DP_ERUNTIME, "%s: a size of %" PRId64 " times %g is out of range",
                           v->target, in[d + 2], factors->u.doubles[d]);
        size[d] = output->tag ? output->u.ints[d] : (int64_t)scaled;
    }
    return 0;
}

/* arguments: input, output_size, [align_corners], scale_factors; backward: grad_output,
 * output_size, input_size, ... */
static int resample(dp_call *call, const us_vec *v)
{
    uint32_t at = v->backward ? 3 : 2, n = 0;
    const dp_value *factors = &call->args[at + v->aligned];
    dp_value args[ARGS_MAX];
    int64_t size[SPACE_MAX];
    DP_VIEW(x, call->args[0].u.t);
    const int64_t *in = v->backward ? call->args[2].u.ints : x.sizes;
    uint32_t n_in = v->backward ? call->args[2].len : (uint32_t)x.ndim;
    int rc = find_size(call->ctx, v, in, n_in, &call->args[1], factors, size);

    if (rc < 0)
        return rc;
    for (; n < at + v->aligned; n++)
        args[n] = call->args[n];
    args[1].tag = DP_TAG_INTS;
    args[1].len = v->dims;
    args[1].u.ints = size;
    for (uint32_t d = 0; d < v->dims; d++)
        args[n++] = factors->tag ? dp_double(factors->u.doubles[d]) : dp_none();
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, v->target), args, n, call->rets, 1);
}

#define VEC(name, dims, aligned)                                                                   \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        static const us_vec v = {"aten::" #name, dims, aligned, false};                            \
        return resample(call, &v);                                                                 \
    }                                                                                              \
    static int name##_backward(dp_call *call)                                                      \
    {                                                                                              \
        static const us_vec v = {"aten::" #name "_backward", dims, aligned, true};                 \
        return resample(call, &v);                                                                 \
    }
VEC(upsample_nearest1d, 1, false)
VEC(upsample_nearest2d, 2, false)
VEC(upsample_nearest3d, 3, false)
VEC(_upsample_nearest_exact1d, 1, false)
VEC(_upsample_nearest_exact2d, 2, false)
VEC(_upsample_nearest_exact3d, 3, false)
VEC(upsample_linear1d, 1, true)
VEC(upsample_bilinear2d, 2, true)
VEC(upsample_trilinear3d, 3, true)
VEC(upsample_bicubic2d, 2, true)
VEC(_upsample_bilinear2d_aa, 2, true)
VEC(_upsample_bicubic2d_aa, 2, true)

DP_LIBRARY_META(
    aten, CompositeExplicitAutograd, DP_IMPL("upsample_nearest1d.vec", upsample_nearest1d),
    DP_IMPL("upsample_nearest1d_backward.vec", upsample_nearest1d_backward),
    DP_IMPL("upsample_nearest2d.vec", upsample_nearest2d),
    DP_IMPL("upsample_nearest2d_backward.vec", upsample_nearest2d_backward),
    DP_IMPL("_upsample_nearest_exact1d.vec", _upsample_nearest_exact1d),
    DP_IMPL("_upsample_nearest_exact1d_backward.vec", _upsample_nearest_exact1d_backward),
    DP_IMPL("_upsample_nearest_exact2d.vec", _upsample_nearest_exact2d),
    DP_IMPL("_upsample_nearest_exact2d_backward.vec", _upsample_nearest_exact2d_backward),
    DP_IMPL("upsample_linear1d.vec", upsample_linear1d),
    DP_IMPL("upsample_linear1d_backward.vec", upsample_linear1d_backward),
    DP_IMPL("upsample_bilinear2d.vec", upsample_bilinear2d),
    DP_IMPL("upsample_bilinear2d_backward.vec", upsample_bilinear2d_backward),
    DP_IMPL("upsample_trilinear3d.vec", upsample_trilinear3d),
    DP_IMPL("upsample_trilinear3d_backward.vec", upsample_trilinear3d_backward),
    DP_IMPL("upsample_bicubic2d.vec", upsample_bicubic2d),
    DP_IMPL("upsample_bicubic2d_backward.vec", upsample_bicubic2d_backward),
    DP_IMPL("_upsample_bilinear2d_aa.vec", _upsample_bilinear2d_aa),
    DP_IMPL("_upsample_bilinear2d_aa_backward.vec", _upsample_bilinear2d_aa_backward),
    DP_IMPL("_upsample_bicubic2d_aa.vec", _upsample_bicubic2d_aa),
    DP_IMPL("_upsample_bicubic2d_aa_backward.vec", _upsample_bicubic2d_aa_backward))
DP_LIBRARY_META(aten, CPU, DP_IMPL("upsample_nearest3d.vec", upsample_nearest3d),
                DP_IMPL("upsample_nearest3d_backward.vec", upsample_nearest3d_backward),
                DP_IMPL("_upsample_nearest_exact3d.vec", _upsample_nearest_exact3d),
                DP_IMPL("_upsample_nearest_exact3d_backward.vec",
                        _upsample_nearest_exact3d_backward))
