/* softmax.c -- _softmax, _log_softmax and their gradients along one dimension
 * (aten/src/ATen/native/SoftMax.cpp).  The loops take contiguous tensors [outer, length, inner];
 * other tensors are copied first.  bfloat16 is computed as float32.
 *
 * Operators: _log_softmax, _log_softmax_backward_data, _softmax, _softmax_backward_data. */
#include "softmax.h"
#include "core/dense.h"
#include "core/pack.h"

typedef struct sm_call {
    int op;
    const char *error; /* name of the loops in error messages */
    dp_tensor *x, *y;  /* y is NULL in the forward call */
    int64_t dim;
    dp_dtype opmath;
} sm_call;

/* Run the loops; all operands are contiguous and have dtype `opmath`. */
static int run_lines(dp_ctx *ctx, const sm_call *c, const void *x, const void *y, void *out)
{
    DP_VIEW(v, c->x);
    sm_job job = {x, y, out, 1, 1, 1};
    int64_t n = v.numel;

    if (n == 0 || dp_memoryless(ctx))
        return 0;
    job.length = v.ndim ? v.sizes[c->dim] : 1;
    for (int i = (int)c->dim + 1; i < v.ndim; i++)
        job.inner *= v.sizes[i];
    job.blocks = (job.inner + SM_WIDE - 1) / SM_WIDE;
    int64_t lines = n / job.length, units = job.inner == 1 ? lines : lines / job.inner * job.blocks;
    return dp_parallel_for(ctx, 0, units, dense_grain(4 * (double)n / (double)units),
                           CPU_CHOSEN(sm_loops)[c->op].lines[c->opmath == DP_FLOAT64], &job);
}

static int check(dp_ctx *ctx, sm_call *c)
{
    char shape[DP_SHAPE_TEXT], other[DP_SHAPE_TEXT];
    DP_VIEW(v, c->x);
    int rc = wrap_dim(ctx, &c->dim, v.ndim);

    if (rc == 0)
        rc = dense_check_type(ctx, c->error, v.dtype, DENSE_FLOATS);
    c->opmath = dense_opmath(v.dtype);
    if (rc < 0 || c->y == NULL)
        return rc;
    DP_VIEW(w, c->y);
    bool same = v.ndim == w.ndim;
    for (int i = 0; same && i < v.ndim; i++)
        same = v.sizes[i] == w.sizes[i];
    if (!same)
        return dp_fail(ctx, DP_ERUNTIME, "Expected tensor to have size %s, but got size %s",
                       dp_shape_text(shape, v.sizes, (size_t)v.ndim),
                       dp_shape_text(other, w.sizes, (size_t)w.ndim));
    return dense_check_same(ctx, v.dtype, w.dtype);
}

/* Run the operator into *out; NULL: it is set to a new tensor, which the caller owns. */
static int run(dp_ctx *ctx, sm_call *c, dp_tensor **out)
{
    pack p = {.ctx = ctx, .rc = check(ctx, c)};
    dp_tensor *packed = NULL, *given = *out;
    DP_VIEW(v, c->x);

    if (p.rc == 0)
        p.rc = dp_set_output(ctx, out, v.ndim, v.sizes, NULL, v.dtype, v.device);
    if (p.rc < 0)
        return dp_refuse(ctx, p.rc, NULL);
    DP_VIEW(o, *out);
    bool direct = o.dtype == c->opmath && dp_tensor_is_contiguous(*out, DP_CONTIGUOUS);
    const void *x = pack_get(&p, c->x, c->opmath), *y = pack_get(&p, c->y, c->opmath);
    void *to = direct ? o.data : pack_new(&p, c->opmath, v.ndim, v.sizes, &packed);
    if (p.rc == 0)
        p.rc = run_lines(ctx, c, x, y, to);
    if (p.rc == 0 && !direct)
        p.rc = dp_copy(ctx, *out, packed);
    if (p.rc < 0 && !direct)
        dp_refuse(ctx, p.rc, NULL);
    if (p.rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return pack_end(&p);
}

static int forward(dp_ctx *ctx, bool log, dp_tensor *self, int64_t dim, bool half_to_float,
                   dp_tensor **out)
{
    sm_call c = {.op = log ? SM_LOG_SOFTMAX : SM_SOFTMAX,
                 .error = log ? "log_softmax_lastdim_kernel_impl" : "softmax_lastdim_kernel_impl",
                 .x = self,
                 .dim = dim};
    if (half_to_float)
        return dp_fail(ctx, DP_ERUNTIME, "%s with half to float conversion is not supported on CPU",
                       log ? "log_softmax" : "softmax");
    return run(ctx, &c, out);
}

/* Run the gradient.  `input_dtype` is the dtype of softmax's input; as in PyTorch, it matters only
 * if it is float16. */
static int backward(dp_ctx *ctx, bool log, dp_tensor *grad, dp_tensor *output, int64_t dim,
                    int64_t input_dtype, dp_tensor **out)
{
    sm_call c = {.op = log ? SM_LOG_BACKWARD : SM_BACKWARD,
                 .error = log ? "log_softmax_backward_lastdim_kernel_impl"
                              : "softmax_backward_lastdim_kernel_impl",
                 .x = grad,
                 .y = output,
                 .dim = dim};
    DP_VIEW(g, grad);
    if (g.dtype != input_dtype && input_dtype == DP_FLOAT16)
        return dp_fail(ctx, DP_ERUNTIME,
                       "softmax backward with half to float conversion is not supported on CPU");
    return run(ctx, &c, out);
}

#define FORMS(name, log)                                                                           \
    static int name(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool half_to_float,                 \
                    dp_tensor **out)                                                               \
    {                                                                                              \
        *out = NULL;                                                                               \
        return forward(ctx, log, self, dim, half_to_float, out);                                   \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, int64_t dim, bool half_to_float,           \
                          dp_tensor *out)                                                          \
    {                                                                                              \
        return forward(ctx, log, self, dim, half_to_float, &out);                                  \
    }                                                                                              \
    static int name##_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *output, int64_t dim,       \
                               int64_t input_dtype, dp_tensor **out)                               \
    {                                                                                              \
        *out = NULL;                                                                               \
        return backward(ctx, log, grad, output, dim, input_dtype, out);                            \
    }                                                                                              \
    static int name##_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *output, int64_t dim,   \
                                   int64_t input_dtype, dp_tensor *out)                            \
    {                                                                                              \
        return backward(ctx, log, grad, output, dim, input_dtype, &out);                           \
    }
FORMS(softmax, false)
FORMS(log_softmax, true)

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_softmax", softmax, (T, i, b), (T)),
                DP_IMPL_UNBOXED("_softmax.out", softmax_out, (T, i, b, T), ()),
                DP_IMPL_UNBOXED("_softmax_backward_data", softmax_backward, (T, T, i, i), (T)),
                DP_IMPL_UNBOXED("_softmax_backward_data.out", softmax_backward_out, (T, T, i, i, T),
                                ()),
                DP_IMPL_UNBOXED("_log_softmax", log_softmax, (T, i, b), (T)),
                DP_IMPL_UNBOXED("_log_softmax.out", log_softmax_out, (T, i, b, T), ()),
                DP_IMPL_UNBOXED("_log_softmax_backward_data", log_softmax_backward, (T, T, i, i),
                                (T)),
                DP_IMPL_UNBOXED("_log_softmax_backward_data.out", log_softmax_backward_out,
                                (T, T, i, i, T), ()))
