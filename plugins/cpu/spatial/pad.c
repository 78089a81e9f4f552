/* pad.c -- reflection and replication padding of one to three dimensions, and their gradients
 * (aten/src/ATen/native/{ReflectionPad,ReplicationPadding}.cpp).
 *
 * Operators: reflection_pad1d, reflection_pad1d_backward, reflection_pad2d,
 * reflection_pad2d_backward, reflection_pad3d, reflection_pad3d_backward, replication_pad1d,
 * replication_pad1d_backward, replication_pad2d, replication_pad2d_backward, replication_pad3d,
 * replication_pad3d_backward. */
#include "pool.h"
#include <string.h>

typedef struct kind {
    const char *name, *types_name,
        /* names in error messages: of the operator, of the dtype error, of the gradient */
        *back_name;
    int dims;
    bool reflects; /* reflection padding; else the last element is repeated */
    unsigned types;
} kind;

/* Return the index in the input of the result's element `o`; `pad` elements are added before the
 * first one (negative: removed).  Source: the kernels' index computation. */
static int64_t source_of(const kind *k, int64_t o, int64_t in, int64_t pad)
{
    int64_t place = o;

    if (o < pad)
        place = k->reflects ? 2 * pad - o : pad;
    else if (o >= in + pad)
        place = k->reflects ? 2 * (in + pad - 1) - o : in + pad - 1;
    return place - pad;
}

static int check_rank(dp_ctx *ctx, const kind *k, const dp_view *x)
{
    char shape[DP_SHAPE_TEXT];
    bool empty = false, batched = x->ndim == k->dims + 2;

    dp_shape_text(shape, x->sizes, (size_t)x->ndim);
    if (k->dims > 1 && x->ndim <= k->dims)
        return dp_fail(ctx, DP_EINDEX, "%s: Dimension out of range, of an input of size %s",
                       k->name, shape);
    /* an input without a batch must have channels, except for reflection in one or two
     * dimensions */
    for (int d = batched || (k->reflects && k->dims < 3); d < x->ndim; d++)
        empty = empty || x->sizes[d] == 0;
    if ((x->ndim != k->dims + 1 && !batched) || empty)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: Expected %dD or %dD (batch mode) tensor with possibly 0 batch size and "
                       "other non-zero dimensions for input, but got: %s",
                       k->name, k->dims + 1, k->dims + 2, shape);
    return 0;
}

/* Set the sizes of dimension `d`.  `pad` has the padding before and after the last dimension, then
 * of the dimension before it, and so on. */
static int size_dim(dp_ctx *ctx, const kind *k, pooling *p, int d, const int64_t *pad)
{
    int64_t in = p->from.size[d], sum;
    int64_t least = k->dims == 1; /* with several dimensions, PyTorch checks all of them together */

    if (k->reflects && (pad[0] >= in || pad[1] >= in))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%s: Padding size should be less than the corresponding input dimension, but "
            "got: padding (%" PRId64 ", %" PRId64 ") at dimension of size %" PRId64,
            k->name, pad[0], pad[1], in);
    if (__builtin_add_overflow(pad[0], pad[1], &sum) || __builtin_add_overflow(sum, in, &sum) ||
        sum < least || sum > INT32_MAX || in > INT32_MAX || pad[0] < -INT32_MAX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: input of size %" PRId64
                       " is too small or too large for a padding of %" PRId64 " and %" PRId64,
                       k->name, in, pad[0], pad[1]);
    p->to.size[d] = sum;
    /* the ends may be cut off by more than the other side has elements */
    const int64_t ends[] = {source_of(k, 0, in, pad[0]), source_of(k, sum - 1, in, pad[0])};
    for (int i = 0; i < 2 && sum > 0; i++)
        if (ends[i] < 0 || ends[i] >= in)
            return dp_fail(ctx, DP_ERUNTIME,
                           "%s: a padding of %" PRId64 " and %" PRId64
                           " leaves nothing of an input of "
                           "size %" PRId64,
                           k->name, pad[0], pad[1], in);
    return 0;
}

static int plan(dp_ctx *ctx, const kind *k, dp_tensor *self, const dp_value *padding, pooling *p)
{
    DP_VIEW(x, self);
    bool some = false;
    int rc = 0;

    if (padding->len != (uint32_t)(2 * k->dims))
        return dp_fail(ctx, DP_ERUNTIME, "%s: padding size is expected to be %d, not %u", k->name,
                       2 * k->dims, padding->len);
    rc = check_rank(ctx, k, &x);
    if (rc < 0)
        return rc;
    *p = (pooling){.name = k->name, .batched = x.ndim == k->dims + 2};
    p->from = p->to = space_of(self, k->dims, false);
    for (int i = 0; rc == 0 && i < k->dims; i++)
        rc = size_dim(ctx, k, p, WN_WIDTH - i, padding->u.ints + (size_t)2 * (size_t)i);
    for (int d = SPACE_MAX - k->dims; rc == 0 && d < SPACE_MAX; d++)
        some = some || p->to.size[d] > 0;
    if (rc == 0 && !some)
        rc = dp_fail(ctx, DP_ERUNTIME, "%s: input is too small, nothing of it is left", k->name);
    return rc;
}

static int make_axes(dp_ctx *ctx, const kind *k, const dp_value *padding, pooling *p)
{
    int rc = 0;

    if (pool_is_empty(ctx, p))
        return 0;
    p->axes = pool_axes(ctx, 1);
    if (p->axes == NULL)
        return DP_ERESOURCE;
    for (int d = 0; rc == 0 && d < WN_AXES; d++) {
        wn_axis *a = &p->axes[d];
        int64_t pad = d < SPACE_MAX - k->dims ? 0 : padding->u.ints[2 * (WN_WIDTH - d)];
        rc = wn_places(ctx, a, p->from.size[d], p->to.size[d]);
        for (int64_t o = 0; rc == 0 && o < a->out; o++)
            a->taps.list[o] = (int32_t)source_of(k, o, a->in, pad);
    }
    return rc;
}

/* arguments: self, padding */
static int pad(dp_call *call, const kind *k)
{
    enum { ARGS = 2 };
    dp_tensor *self = call->args[0].u.t, *out = pool_given(call, ARGS);
    pooling p;
    int rc = plan(call->ctx, k, self, &call->args[1], &p);

    if (rc == 0)
        rc = dense_check_type(call->ctx, k->types_name, p.from.dtype, k->types);
    if (rc == 0)
        rc = make_axes(call->ctx, k, &call->args[1], &p);
    if (rc < 0)
        return dp_refuse(call->ctx, rc, NULL);
    return pool_return(call, pool_copy(call->ctx, &p, self, &out), ARGS, 0, &out);
}

/* arguments: grad_output, self, padding */
static int pad_back(dp_call *call, const kind *k)
{
    enum { ARGS = 3 };
    dp_tensor *grad = call->args[0].u.t, *out = pool_given(call, ARGS);
    dp_ctx *ctx = call->ctx;
    pooling p, back;
    DP_VIEW(g, grad);
    int rc = plan(ctx, k, call->args[1].u.t, &call->args[2], &p);

    if (rc == 0)
        rc = dense_check_type(ctx, k->back_name, p.from.dtype, k->types);
    if (rc == 0)
        rc = dense_check_same(ctx, p.from.dtype, g.dtype);
    if (rc == 0)
        rc = pool_check_grad(ctx, &p, grad);
    if (rc == 0)
        rc = make_axes(ctx, k, &call->args[2], &p);
    if (rc == 0)
        rc = pool_turn(ctx, &p, 0, &back);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return pool_return(call, pool_add(ctx, &back, grad, &out), ARGS, 0, &out);
}

#define TYPES (SPACE_FLOATS | SPACE_COMPLEX)
static const kind kinds[] = {
    {"reflection_pad1d", "reflection_pad1d", "reflection_pad1d_backward_cpu", 1, true, TYPES},
    {"reflection_pad2d", "reflection_pad2d", "reflection_pad2d_backward", 2, true, TYPES},
    {"reflection_pad3d", "reflection_pad3d_cpu", "reflection_pad3d_backward_cpu", 3, true,
     TYPES | SPACE_F16 | SPACE_BF16},
    {"replication_pad1d", "replication_pad1d_cpu", "replication_pad1d_backward_cpu", 1, false,
     TYPES},
    {"replication_pad2d", "replication_pad2d_cpu", "replication_pad2d_backward_cpu", 2, false,
     TYPES},
    {"replication_pad3d", "replication_pad3d_cpu", "replication_pad3d_backward_cpu", 3, false,
     TYPES},
};

#define PAD(name, i)                                                                               \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return pad(call, &kinds[i]);                                                               \
    }                                                                                              \
    static int name##_back(dp_call *call)                                                          \
    {                                                                                              \
        return pad_back(call, &kinds[i]);                                                          \
    }
PAD(reflection_pad1d, 0)
PAD(reflection_pad2d, 1)
PAD(reflection_pad3d, 2)
PAD(replication_pad1d, 3)
PAD(replication_pad2d, 4)
PAD(replication_pad3d, 5)

DP_LIBRARY_META(aten, CPU, DP_IMPL("reflection_pad1d", reflection_pad1d),
                DP_IMPL("reflection_pad1d.out", reflection_pad1d),
                DP_IMPL("reflection_pad1d_backward", reflection_pad1d_back),
                DP_IMPL("reflection_pad1d_backward.grad_input", reflection_pad1d_back),
                DP_IMPL("reflection_pad2d", reflection_pad2d),
                DP_IMPL("reflection_pad2d.out", reflection_pad2d),
                DP_IMPL("reflection_pad2d_backward", reflection_pad2d_back),
                DP_IMPL("reflection_pad2d_backward.grad_input", reflection_pad2d_back),
                DP_IMPL("reflection_pad3d", reflection_pad3d),
                DP_IMPL("reflection_pad3d.out", reflection_pad3d),
                DP_IMPL("reflection_pad3d_backward", reflection_pad3d_back),
                DP_IMPL("reflection_pad3d_backward.grad_input", reflection_pad3d_back),
                DP_IMPL("replication_pad1d", replication_pad1d),
                DP_IMPL("replication_pad1d.out", replication_pad1d),
                DP_IMPL("replication_pad1d_backward", replication_pad1d_back),
                DP_IMPL("replication_pad1d_backward.grad_input", replication_pad1d_back),
                DP_IMPL("replication_pad2d", replication_pad2d),
                DP_IMPL("replication_pad2d.out", replication_pad2d),
                DP_IMPL("replication_pad2d_backward", replication_pad2d_back),
                DP_IMPL("replication_pad2d_backward.grad_input", replication_pad2d_back),
                DP_IMPL("replication_pad3d", replication_pad3d),
                DP_IMPL("replication_pad3d.out", replication_pad3d),
                DP_IMPL("replication_pad3d_backward", replication_pad3d_back),
                DP_IMPL("replication_pad3d_backward.grad_input", replication_pad3d_back))
