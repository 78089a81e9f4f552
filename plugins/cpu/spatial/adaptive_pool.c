/* adaptive_pool.c -- adaptive and fractional pooling, whose windows depend on the size of the
 * result (aten/src/ATen/native/{Adaptive,FractionalMax}*Pooling*.cpp).
 *
 * Operators: _adaptive_avg_pool2d, adaptive_avg_pool2d, _adaptive_avg_pool2d_backward,
 * _adaptive_avg_pool3d, adaptive_avg_pool3d, _adaptive_avg_pool3d_backward,
 * adaptive_avg_pool3d_backward, adaptive_max_pool2d, adaptive_max_pool2d_backward,
 * adaptive_max_pool3d, adaptive_max_pool3d_backward, fractional_max_pool2d,
 * fractional_max_pool2d_backward, fractional_max_pool3d, fractional_max_pool3d_backward. */
#include "pool.h"
#include <string.h>

typedef struct kind {
    const char *name, *types_name,
        /* names in error messages: of the operator, of the dtype error, of the gradient */
        *back_name;
    int dims;
    bool last; /* the result may be channels_last */
    unsigned types;
    bool no_channels; /* a batch may have no channels */
} kind;

static int check_rank(dp_ctx *ctx, const kind *k, const dp_view *x)
{
    char shape[DP_SHAPE_TEXT];

    if (x->ndim != k->dims + 1 && x->ndim != k->dims + 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s(): Expected %dD or %dD tensor, but got: %s", k->name,
                       k->dims + 1, k->dims + 2, dp_shape_text(shape, x->sizes, (size_t)x->ndim));
    for (int d = k->no_channels ? x->ndim - k->dims : 1; d < x->ndim; d++)
        if (x->sizes[d] == 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "%s(): Expected input to have non-zero size for non-batch dimensions, but "
                "input has sizes %s with dimension %d being empty",
                k->name, dp_shape_text(shape, x->sizes, (size_t)x->ndim), d);
    return 0;
}

/* Set the geometry of the result, whose spatial sizes are `size`. */
static int plan(dp_ctx *ctx, const kind *k, dp_tensor *self, const dp_value *size, pooling *p)
{
    DP_VIEW(x, self);
    int rc = 0;

    if (size->len != (uint32_t)k->dims)
        return dp_fail(ctx, DP_ERUNTIME, "%s: output_size must be %d", k->name, k->dims);
    rc = check_rank(ctx, k, &x);
    if (rc < 0)
        return rc;
    *p = (pooling){.name = k->name, .batched = x.ndim == k->dims + 2};
    p->from = p->to = space_of(self, k->dims, k->last);
    for (int d = 0; d < k->dims; d++) {
        int64_t to = p->to.size[SPACE_MAX - k->dims + d] = size->u.ints[d];
        if (to < 0 || to > INT32_MAX)
            return dp_fail(ctx, DP_ERUNTIME, "%s: output_size of %" PRId64 " is %s", k->name, to,
                           to < 0 ? "negative" : "too large");
    }
    return 0;
}

/* Make the windows: the result's element o covers the input from o in / out (rounded down) to (o +
 * 1) in / out (rounded up). */
static int make_axes(dp_ctx *ctx, pooling *p)
{
    int rc = 0;

    if (pool_is_empty(ctx, p))
        return 0;
    p->axes = pool_axes(ctx, 1);
    if (p->axes == NULL)
        return DP_ERESOURCE;
    for (int d = 0; rc == 0 && d < WN_AXES; d++) {
        wn_axis *a = &p->axes[d];
        __int128 in = p->from.size[d], out = p->to.size[d];
        rc = wn_windows(ctx, a, p->from.size[d], p->to.size[d]);
        for (int64_t o = 0; rc == 0 && o < out; o++) {
            a->begin[o] = (int64_t)(o * in / out);
            a->count[o] = (int64_t)(((o + 1) * in + out - 1) / out) - a->begin[o];
        }
        if (rc == 0)
            wn_seal(a);
    }
    return rc;
}

static int make_averages(dp_ctx *ctx, pooling *p)
{
    int rc = make_axes(ctx, p);

    for (int d = 0; rc == 0 && p->axes && d < WN_AXES; d++)
        p->axes[d].divide = p->axes[d].count;
    return rc;
}

/* -- averages; arguments: self, output_size -- */

static int average(dp_call *call, const kind *k)
{
    enum { ARGS = 2 };
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, ARGS);
    pooling p;
    int rc = plan(call->ctx, k, self, &call->args[1], &p);

    if (rc == 0)
        rc = dense_check_type(call->ctx, k->types_name, p.from.dtype, k->types);
    p.to.restrides = true;
    if (rc == 0)
        rc = make_averages(call->ctx, &p);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    return pool_return(call, pool_add(call->ctx, &p, self, &out), ARGS, 0, &out);
}

/* Plan the windows from the sizes of `grad`, which has the shape of the result for self. */
static int plan_back(dp_ctx *ctx, const kind *k, dp_tensor *grad, dp_tensor *self, pooling *p)
{
    DP_VIEW(g, grad);
    DP_VIEW(x, self);
    dp_value size = {.len = (uint32_t)k->dims};

    if (g.ndim != x.ndim || g.ndim < k->dims)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s(): expected grad_output of %d dimensions, as input, but got %d",
                       k->back_name, x.ndim, g.ndim);
    size.u.ints = g.sizes + g.ndim - k->dims;
    int rc = plan(ctx, k, self, &size, p);
    for (int d = g.ndim - k->dims; k->dims == 2 && rc == 0 && d < g.ndim; d++)
        if (g.sizes[d] == 0)
            rc = dp_fail(
                ctx, DP_ERUNTIME,
                "%s(): Expected grad_output to have non-zero size for non-batch dimensions, "
                "but grad_output has dimension %d being empty",
                k->back_name, d);
    if (rc == 0)
        rc = pool_check_grad(ctx, p, grad);
    if (rc == 0 && g.dtype != x.dtype)
        rc = dp_fail(ctx, DP_ERUNTIME, "expected dtype %s for `grad_output` but got dtype %s",
                     dense_type_name(x.dtype), dense_type_name(g.dtype));
    return rc < 0 ? rc : dense_check_type(ctx, k->back_name, x.dtype, k->types);
}

/* arguments: grad_output, self */
static int average_back(dp_call *call, const kind *k)
{
    enum { ARGS = 2 };
    dp_tensor *grad = call->args[0].u.t, *out = pool_given(call, ARGS);
    pooling p;
    int rc = plan_back(call->ctx, k, grad, call->args[1].u.t, &p);

    if (rc == 0)
        rc = make_averages(call->ctx, &p);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    return pool_return(call, pool_add_back(call->ctx, &p, grad, &out), ARGS, 0, &out);
}

/* -- maxima; arguments: self, output_size -- */

static int maximum(dp_call *call, const kind *k)
{
    enum { ARGS = 2 };
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, ARGS),
              *indices = pool_given(call, ARGS + 1);
    pooling p;
    int rc = plan(call->ctx, k, self, &call->args[1], &p);

    if (rc == 0)
        rc = dense_check_type(call->ctx, k->types_name, p.from.dtype, k->types);
    if (rc == 0)
        rc = make_axes(call->ctx, &p);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    rc = pool_max(call->ctx, &p, self, &out, &indices);
    pool_return(call, rc, ARGS, 0, &out);
    return pool_return(call, rc, ARGS, 1, &indices);
}

static int check_indices(dp_ctx *ctx, const pooling *p, dp_tensor *indices)
{
    DP_VIEW(i, indices);
    int rc = pool_check_grad(ctx, p, indices);
    return rc < 0 ? rc : dense_check_same(ctx, DP_INT64, i.dtype);
}

/* arguments: grad_output, self, indices */
static int maximum_back(dp_call *call, const kind *k)
{
    enum { ARGS = 3 };
    dp_tensor *grad = call->args[0].u.t, *indices = call->args[2].u.t,
              *out = pool_given(call, ARGS);
    pooling p;
    int rc = plan_back(call->ctx, k, grad, call->args[1].u.t, &p);

    if (rc == 0)
        rc = check_indices(call->ctx, &p, indices);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    rc = pool_scatter(call->ctx, &p, true, grad, indices, &out);
    return pool_return(call, rc, ARGS, 0, &out);
}

/* -- fractional pooling: windows of one size, whose positions depend on a random sample -- */

/* Return the first index of window `o` of `out`.  `room` is the number of possible positions.
 * Source: generate_intervals. */
static double interval(int64_t o, int64_t out, int64_t room, double sample, bool single)
{
    if (o == out - 1)
        return (double)room;
    if (single) {
        float alpha = (float)room / (float)(out - 1);
        return trunc((double)(((float)o + (float)sample) * alpha)) -
               trunc((double)((float)sample * alpha));
    }
    double alpha = (double)room / (double)(out - 1);
    return trunc(((double)o + sample) * alpha) - trunc(sample * alpha);
}

static int make_intervals(dp_ctx *ctx, const pooling *p, int d, int64_t kernel, double sample,
                          wn_axis *a)
{
    int64_t in = p->from.size[d], out = p->to.size[d];
    int rc = wn_windows(ctx, a, in, out);

    for (int64_t o = 0; rc == 0 && o < out; o++) {
        double begin = interval(o, out, in - kernel, sample, p->from.computed == DP_FLOAT32);
        if (!(begin >= 0 && begin <= (double)(in - kernel)))
            return dp_fail(ctx, DP_ERUNTIME, "%s(): a sample of %g is not between 0 and 1", p->name,
                           sample);
        a->begin[o] = (int64_t)begin;
        a->count[o] = kernel;
    }
    if (rc == 0)
        wn_seal(a);
    return rc;
}

/* Make the windows of each plane.  `samples` has a number for each plane and spatial dimension; in
 * 2-d, the width's comes first. */
static int make_planes(dp_ctx *ctx, pooling *p, const int64_t *kernel, dp_tensor *samples)
{
    int64_t planes = space_planes(&p->from), dims = p->from.dims, first = SPACE_MAX - dims;
    dp_tensor *packed;
    int rc = 0;

    if (pool_is_empty(ctx, p))
        return 0;
    space s = {.computed = p->from.dtype, .format = DP_CONTIGUOUS};
    p->by_plane = 1;
    p->axes = pool_axes(ctx, planes);
    if (p->axes == NULL)
        return DP_ERESOURCE;
    rc = space_get(ctx, &s, samples, &packed);
    if (rc < 0)
        return rc;
    const char *numbers = space_data(packed);
    for (int64_t plane = 0; rc == 0 && plane < planes; plane++)
        for (int64_t d = 0; rc == 0 && d < WN_AXES; d++) {
            wn_axis *a = &p->axes[plane * WN_AXES + d];
            int64_t at = plane * dims + (dims == 2 ? WN_WIDTH - d : d - first);
            if (d < first)
                rc = wn_same(ctx, a, 1);
            else
                rc = make_intervals(ctx, p, (int)d, kernel[d],
                                    p->from.dtype == DP_FLOAT32 ? ((const float *)numbers)[at]
                                                                : ((const double *)numbers)[at],
                                    a);
        }
    dp_tensor_unref(packed);
    return rc;
}

/* Set up a fractional pooling; kernel [SPACE_MAX]. */
static int plan_fractional(dp_ctx *ctx, const kind *k, dp_tensor *self, const dp_value *list,
                           const dp_value *size, int64_t *kernel, pooling *p)
{
    if (list->len != (uint32_t)k->dims || size->len != (uint32_t)k->dims)
        return dp_fail(ctx, DP_ERUNTIME, "%s: %s must either be a single Int or tuple of %d Ints",
                       k->name, list->len != (uint32_t)k->dims ? "kernel_size" : "output_size",
                       k->dims);
    int rc = plan(ctx, k, self, size, p);
    for (int d = SPACE_MAX - k->dims; rc == 0 && d < SPACE_MAX; d++) {
        kernel[d] = list->u.ints[d - SPACE_MAX + k->dims];
        if (kernel[d] < 0 || kernel[d] > p->from.size[d] ||
            p->to.size[d] + kernel[d] - (k->dims == 2) > p->from.size[d])
            rc = dp_fail(ctx, DP_ERUNTIME,
                         "%s(): pool size %" PRId64 " too large relative to input size %" PRId64
                         " and output size %" PRId64,
                         k->name, kernel[d], p->from.size[d], p->to.size[d]);
    }
    return rc;
}

/* arguments: self, kernel_size, output_size, random_samples */
static int fractional(dp_call *call, const kind *k)
{
    enum { ARGS = 4 };
    dp_ctx *ctx = call->ctx;
    dp_tensor *self = call->args[0].u.t, *samples = call->args[3].u.t,
              *out = pool_given(call, ARGS), *indices = pool_given(call, ARGS + 1);
    int64_t kernel[SPACE_MAX] = {1, 1, 1};
    pooling p;
    DP_VIEW(s, samples);
    int rc = plan_fractional(ctx, k, self, &call->args[1], &call->args[2], kernel, &p);

    if (rc == 0)
        rc = dense_check_type(ctx, k->types_name, p.from.dtype, k->types);
    if (rc == 0)
        rc = dense_check_same(ctx, p.from.dtype, s.dtype);
    if (rc == 0 && s.numel / k->dims < space_planes(&p.from))
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "%s(): expected %d random samples for each of %" PRId64
                     " planes but got %" PRId64 " together",
                     k->name, k->dims, space_planes(&p.from), s.numel);
    if (rc == 0)
        rc = make_planes(ctx, &p, kernel, samples);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = pool_max(ctx, &p, self, &out, &indices);
    pool_return(call, rc, ARGS, 0, &out);
    return pool_return(call, rc, ARGS, 1, &indices);
}

/* arguments: grad_output, self, kernel_size, output_size, indices */
static int fractional_back(dp_call *call, const kind *k)
{
    enum { ARGS = 5 };
    dp_ctx *ctx = call->ctx;
    dp_tensor *grad = call->args[0].u.t, *indices = call->args[4].u.t,
              *out = pool_given(call, ARGS);
    int64_t kernel[SPACE_MAX] = {1, 1, 1};
    pooling p;
    int rc = plan_fractional(ctx, k, call->args[1].u.t, &call->args[2], &call->args[3], kernel, &p);

    if (rc == 0)
        rc = dense_check_type(ctx, k->back_name, p.from.dtype, k->types);
    DP_VIEW(g, grad);
    if (rc == 0)
        rc = dense_check_same(ctx, p.from.dtype, g.dtype);
    if (rc == 0)
        rc = pool_check_grad(ctx, &p, grad);
    if (rc == 0)
        rc = check_indices(ctx, &p, indices);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = pool_scatter(ctx, &p, true, grad, indices, &out);
    return pool_return(call, rc, ARGS, 0, &out);
}

static const kind average2 = {"adaptive_avg_pool2d",
                              "adaptive_avg_pool2d",
                              "adaptive_avg_pool2d_backward",
                              2,
                              true,
                              SPACE_FLOATS | SPACE_BF16,
                              true};
static const kind average3 = {"adaptive_avg_pool3d",
                              "adaptive_avg_pool3d_cpu",
                              "adaptive_avg_pool3d_backward_cpu",
                              3,
                              false,
                              SPACE_FLOATS | SPACE_F16,
                              false};
static const kind max2 = {"adaptive_max_pool2d",
                          "adaptive_max_pool2d",
                          "adaptive_max_pool2d_backward",
                          2,
                          true,
                          SPACE_FLOATS | SPACE_BF16,
                          false};
static const kind max3 = {"adaptive_max_pool3d",
                          "adaptive_max_pool3d_cpu",
                          "adaptive_max_pool3d_backward",
                          3,
                          false,
                          SPACE_FLOATS,
                          false};
static const kind part2 = {"fractional_max_pool2d",
                           "fractional_max_pool2d_out_frame",
                           "fractional_max_pool2d_backward_out_frame",
                           2,
                           false,
                           SPACE_FLOATS,
                           false};
static const kind part3 = {"fractional_max_pool3d",
                           "fractional_max_pool3d_out_frame",
                           "fractional_max_pool3d_backward_out_frame",
                           3,
                           false,
                           SPACE_FLOATS,
                           false};

#define POOL(fn, run, kind)                                                                        \
    static int fn(dp_call *call)                                                                   \
    {                                                                                              \
        return run(call, &kind);                                                                   \
    }
POOL(average2_forward, average, average2)
POOL(average3_forward, average, average3)
POOL(average2_backward, average_back, average2)
POOL(average3_backward, average_back, average3)
POOL(max2_forward, maximum, max2)
POOL(max3_forward, maximum, max3)
POOL(max2_backward, maximum_back, max2)
POOL(max3_backward, maximum_back, max3)
POOL(part2_forward, fractional, part2)
POOL(part3_forward, fractional, part3)
POOL(part2_backward, fractional_back, part2)
POOL(part3_backward, fractional_back, part3)

DP_LIBRARY_META(aten, CPU, DP_IMPL("_adaptive_avg_pool2d", average2_forward),
                DP_IMPL("adaptive_avg_pool2d.out", average2_forward),
                DP_IMPL("_adaptive_avg_pool2d_backward", average2_backward),
                DP_IMPL("_adaptive_avg_pool3d", average3_forward),
                DP_IMPL("adaptive_avg_pool3d.out", average3_forward),
                DP_IMPL("_adaptive_avg_pool3d_backward", average3_backward),
                DP_IMPL("adaptive_avg_pool3d_backward.grad_input", average3_backward),
                DP_IMPL("adaptive_max_pool2d", max2_forward),
                DP_IMPL("adaptive_max_pool2d.out", max2_forward),
                DP_IMPL("adaptive_max_pool2d_backward", max2_backward),
                DP_IMPL("adaptive_max_pool2d_backward.grad_input", max2_backward),
                DP_IMPL("adaptive_max_pool3d", max3_forward),
                DP_IMPL("adaptive_max_pool3d.out", max3_forward),
                DP_IMPL("adaptive_max_pool3d_backward", max3_backward),
                DP_IMPL("adaptive_max_pool3d_backward.grad_input", max3_backward))
DP_LIBRARY_META(aten, CPU, DP_IMPL("fractional_max_pool2d", part2_forward),
                DP_IMPL("fractional_max_pool2d.output", part2_forward),
                DP_IMPL("fractional_max_pool2d_backward", part2_backward),
                DP_IMPL("fractional_max_pool2d_backward.grad_input", part2_backward),
                DP_IMPL("fractional_max_pool3d", part3_forward),
                DP_IMPL("fractional_max_pool3d.output", part3_forward),
                DP_IMPL("fractional_max_pool3d_backward", part3_backward),
                DP_IMPL("fractional_max_pool3d_backward.grad_input", part3_backward))
