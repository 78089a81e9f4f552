/* matrices.c -- batches of matrices: checks, column-major copies, and a LAPACK routine that runs on
 * each matrix (aten/src/ATen/native/LinearAlgebraUtils.h). */
#include "lib/poll.h"
#include "matrices.h"
#include "core/elements.h"
#include "matmul/openblas.h"
#include <stdio.h>
#include <string.h>

/* -- dtypes -- */

int la_index(dp_dtype d)
{
    return d == DP_FLOAT32 ? 0 : d == DP_FLOAT64 ? 1 : d == DP_COMPLEX64 ? 2 : 3;
}

dp_dtype mx_real(dp_dtype d)
{
    return d == DP_COMPLEX64 ? DP_FLOAT32 : d == DP_COMPLEX128 ? DP_FLOAT64 : d;
}

dp_dtype mx_complex(dp_dtype d)
{
    return d == DP_FLOAT32          ? DP_COMPLEX64
           : d == DP_FLOAT64        ? DP_COMPLEX128
           : dp_dtype_is_complex(d) ? d
                                    : DP_DTYPE_NONE;
}

int mx_check_inexact(dp_ctx *ctx, const char *name, dp_dtype d)
{
    if (dp_dtype_is_floating(d) || dp_dtype_is_complex(d))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: Expected a floating point or complex tensor as input. Got %s", name,
                   dense_type_name(d));
}

int mx_check_precise(dp_ctx *ctx, const char *name, dp_dtype d)
{
    int rc = mx_check_inexact(ctx, name, d);

    if (rc < 0 || MX_TYPES & DENSE_BIT(d))
        return rc;
    return dp_fail(ctx, DP_ERUNTIME, "%s: Low precision dtypes not supported. Got %s", name,
                   dense_type_name(d));
}

/* -- shapes -- */

int mx_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg)
{
    if (v->ndim >= 2)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: The input tensor %s must have at least 2 dimensions.",
                   name, arg);
}

int mx_check_square(dp_ctx *ctx, const dp_view *v, const char *name)
{
    int rc = mx_check_matrix(ctx, v, name, "A");

    if (rc < 0 || mx_rows(v) == mx_cols(v))
        return rc;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: A must be batches of square matrices, but they are %" PRId64 " by %" PRId64
                   " matrices",
                   name, mx_rows(v), mx_cols(v));
}

int mx_check_dims(dp_ctx *ctx, const dp_view *a, const char *name)
{
    char text[DP_SHAPE_TEXT];

    if (a->ndim >= 2)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: Expected tensor with 2 or more dimensions. Got size: %s instead", name,
                   dp_shape_text(text, a->sizes, (size_t)a->ndim));
}

int mx_check_fits(dp_ctx *ctx, const dp_view *v)
{
    if (v->numel == 0 || (mx_rows(v) <= INT_MAX && mx_cols(v) <= INT_MAX))
        return 0;
    return dp_fail(ctx, DP_ERESOURCE,
                   "a matrix of %" PRId64 " by %" PRId64 " elements: LAPACK counts to %d",
                   mx_rows(v), mx_cols(v), INT_MAX);
}

int mx_check_square_scratch(dp_ctx *ctx, int64_t k, const char *name)
{
    enum { MOST = 16384 }; /* LAPACK can count 8 * MOST^2 elements */

    if (k < MOST)
        return 0;
    return dp_fail(ctx, DP_ERESOURCE,
                   "%s: of %" PRId64 " rows or columns, LAPACK's scratch is more than it can "
                   "count; %d are the most",
                   name, k, MOST - 1);
}

int mx_check_solve(dp_ctx *ctx, const dp_view *b, const dp_view *a, const char *name)
{
    if (b->dtype != a->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected b and A to have the same dtype, but found b of type %s and A of "
                       "type %s instead.",
                       dense_type_name(b->dtype), dense_type_name(a->dtype));
    if (mx_rows(a) != mx_cols(a))
        return dp_fail(ctx, DP_ERUNTIME,
                       "A must be batches of square matrices, but they are %" PRId64 " by %" PRId64
                       " matrices",
                       mx_rows(a), mx_cols(a));
    if (mx_cols(a) == mx_rows(b))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "Incompatible matrix sizes for %s: each A matrix is %" PRId64 " by %" PRId64
                   " but each b matrix is %" PRId64 " by %" PRId64,
                   name, mx_cols(a), mx_cols(a), mx_rows(b), mx_cols(b));
}

int mx_broadcast(dp_ctx *ctx, const dp_view *b, const dp_view *a, int64_t *sizes, int *ndim)
{
    int rc = dp_broadcast_shapes(ctx, b->ndim - 2, b->sizes, a->ndim - 2, a->sizes, sizes);
    int n = (b->ndim > a->ndim ? b->ndim : a->ndim) - 2;

    if (rc < 0)
        return rc;
    sizes[n] = mx_rows(b);
    sizes[n + 1] = mx_cols(b);
    *ndim = n + 2;
    return 0;
}

/* -- memory -- */

void mx_strides(int ndim, const int64_t *sizes, bool columns, int64_t *strides)
{
    uint64_t step = 1; /* an overflow wraps; such sizes are refused elsewhere */

    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = (int64_t)(step & INT64_MAX);
        step *= sizes[d] > 1 ? (uint64_t)sizes[d] : 1;
    }
    if (columns && ndim >= 2) {
        strides[ndim - 1] = sizes[ndim - 2] > 1 ? sizes[ndim - 2] : 1;
        strides[ndim - 2] = 1;
    }
}

int mx_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
             bool columns, dp_tensor **out)
{
    int64_t strides[DP_DIM_MAX];

    mx_strides(ndim, sizes, columns, strides);
    return dp_empty_strided(ctx, dtype, device, ndim, sizes, strides, out);
}

int mx_transposed(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX], strides[DP_DIM_MAX];
    DP_VIEW(x, t);

    for (int d = 0; d < x.ndim; d++) {
        int from = d == x.ndim - 1 ? d - 1 : d == x.ndim - 2 ? d + 1 : d;
        sizes[d] = x.sizes[from];
        strides[d] = x.strides[from];
    }
    return dp_as_strided(ctx, t, x.ndim, sizes, strides, dp_tensor_offset(t), out);
}

static int copy_of(dp_ctx *ctx, dp_tensor *t, bool columns, dp_tensor **out)
{
    dp_tensor *made;
    DP_VIEW(x, t);
    int rc = mx_empty(ctx, x.dtype, x.device, x.ndim, x.sizes, columns, &made);

    if (rc == 0 && (rc = dp_copy(ctx, made, t)) < 0)
        dp_tensor_unref(made);
    if (rc == 0)
        *out = made;
    return rc;
}

int mx_columns(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    return copy_of(ctx, t, true, out);
}

/* Test whether the last `inner` dimensions are contiguous; column-major if `inner` is 2. */
static bool lies(const dp_view *v, int inner)
{
    int d = v->ndim - 1;

    if (inner == 0 || v->numel == 0)
        return true;
    if (inner == 1)
        return v->strides[d] == 1 || v->sizes[d] == 1;
    return (v->strides[d - 1] == 1 || v->sizes[d - 1] == 1) &&
           (v->strides[d] == v->sizes[d - 1] || v->sizes[d] == 1);
}

int mx_borrow(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    DP_VIEW(x, t);

    if (!lies(&x, 2))
        return mx_columns(ctx, t, out);
    *out = dp_tensor_ref(t);
    return 0;
}

int mx_contiguous(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    if (!dp_tensor_is_contiguous(t, DP_CONTIGUOUS))
        return copy_of(ctx, t, false, out);
    *out = dp_tensor_ref(t);
    return 0;
}

/* -- outputs -- */

static bool is_output(const dp_call *call, uint32_t n_args, const dp_tensor *t)
{
    bool found = false;

    for (uint32_t i = n_args; i < call->n_args && !found; i++)
        found = dp_tensor_id(call->args[i].u.t) == dp_tensor_id(t);
    return found;
}

int mx_call(dp_call *call, uint32_t n_args, outs_fn *fn)
{
    enum { ARGS_MAX = 8 };
    dp_value args[ARGS_MAX + OUTS_MAX];
    dp_tensor *seen[ARGS_MAX] = {NULL};
    dp_call own = *call;
    int rc = 0;

    if (call->n_args == n_args)
        return outs_run(call, n_args, fn);
    if (call->n_args > ARGS_MAX + OUTS_MAX || n_args > ARGS_MAX)
        return dp_fail(call->ctx, DP_EPLUGIN, "%s has %u arguments", dp_op_name(call->op),
                       call->n_args);
    dp_copy_n(args, call->args, call->n_args, sizeof(dp_value));
    own.args = args;
    for (uint32_t i = 0; i < n_args && rc == 0; i++)
        if (args[i].tag == DP_TAG_TENSOR && is_output(call, n_args, args[i].u.t)) {
            DP_VIEW(v, args[i].u.t);
            rc = dp_as_strided(call->ctx, args[i].u.t, v.ndim, v.sizes, v.strides,
                               dp_tensor_offset(args[i].u.t), &seen[i]);
            args[i] = dp_tensor_value(seen[i]);
        }
    rc = rc == 0 ? outs_run(&own, n_args, fn) : dp_refuse(call->ctx, rc, NULL);
    for (uint32_t i = 0; i < n_args; i++)
        dp_tensor_unref(seen[i]);
    return rc;
}

int mx_lapack_call(dp_call *call, uint32_t n_args, outs_fn *fn)
{
    int rc = blas_ready(call->ctx);

    return rc < 0 ? dp_refuse(call->ctx, rc, NULL) : mx_call(call, n_args, fn);
}

int mx_out(dp_ctx *ctx, outs *o, int i, dp_dtype dtype, int ndim, const int64_t *sizes,
           bool columns)
{
    int64_t strides[DP_DIM_MAX];

    mx_strides(ndim, sizes, columns, strides);
    int rc = dp_set_output(ctx, &o->t[i], ndim, sizes, strides, dtype, o->device);
    return rc == 0 && o->given ? check_apart(ctx, o->t[i], NULL, 0) : rc;
}

int mx_work(dp_ctx *ctx, const outs *o, int i, int inner, dp_tensor **work)
{
    DP_VIEW(v, o->t[i]);
    /* LAPACK reads pivots back as indices, so another thread must not be able to change them */
    bool shared = o->given && v.dtype == DP_INT32;

    if (!shared && !o->aside[i] && lies(&v, inner) && dp_internal_overlap(o->t[i]) == 0) {
        *work = dp_tensor_ref(o->t[i]);
        return 0;
    }
    return mx_empty(ctx, v.dtype, v.device, v.ndim, v.sizes, inner == 2, work);
}

int mx_done(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *work)
{
    if (rc == 0 && work != o->t[i]) {
        /* the copy refuses an output with internal overlap */
        o->written |= dp_internal_overlap(o->t[i]) != 1;
        rc = dp_copy(ctx, o->t[i], work);
    }
    dp_tensor_unref(work);
    return rc;
}

int mx_give(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *made, bool strided)
{
    if (rc < 0 || o->t[i] == NULL) {
        if (rc < 0)
            dp_tensor_unref(made);
        else
            o->t[i] = made;
        return rc;
    }
    DP_VIEW(x, made);
    DP_VIEW(y, o->t[i]);
    rc = dp_set_output(ctx, &o->t[i], x.ndim, x.sizes, strided && y.numel == 0 ? x.strides : NULL,
                       DP_DTYPE_NONE, o->device);
    return mx_done(ctx, rc, o, i, made);
}

int mx_check_cast(dp_ctx *ctx, const outs *o, int i, dp_dtype from, const char *name,
                  const char *arg)
{
    if (o->t[i] == NULL)
        return 0;
    DP_VIEW(v, o->t[i]);
    if (v.device != o->device) {
        char there[DP_KEY_NAME_MAX], here[DP_KEY_NAME_MAX];
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: Expected %s and input tensors to be on the same device, but got %s on "
                       "%s and input on %s",
                       name, arg, arg,
                       dp_key_name(DP_KEY_OF(DP_F_Dense, dp_device_backend(v.device)), there),
                       dp_key_name(DP_KEY_OF(DP_F_Dense, dp_device_backend(o->device)), here));
    }
    if (dp_can_cast(from, v.dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%s: Expected %s to be safely castable from %s dtype, but got %s with dtype %s",
                   name, arg, dense_type_name(from), arg, dense_type_name(v.dtype));
}

/* -- running -- */

void mx_begin(mx_batch *b, mx_one *one, const void *user, int n_dims, const int64_t *sizes)
{
    b->one = one;
    b->user = user;
    b->work = 0;
    b->cost = 1;
    b->plain = false;
    b->n_dims = n_dims;
    b->n_ops = 0;
    b->count = 1;
    for (int d = 0; d < n_dims; d++) {
        b->sizes[d] = sizes[d];
        b->count *= sizes[d];
    }
}

void mx_add(mx_batch *b, const dp_tensor *t, int inner)
{
    DP_VIEW(v, t);
    int64_t item = (int64_t)dp_dtype_size(v.dtype);
    int own = v.ndim - inner;

    b->op[b->n_ops].data = v.data;
    for (int d = 0; d < b->n_dims; d++) {
        int k = d - (b->n_dims - own);
        b->op[b->n_ops].steps[d] = k < 0 || v.sizes[k] == 1 ? 0 : v.strides[k] * item;
    }
    b->n_ops++;
}

int mx_cut(dp_ctx *ctx, mx_batch *b, int64_t lines, size_t step)
{
    enum { LEAST = 64, PANELS = 8, ALIGN = 16 };
    int64_t each = (lines / PANELS + ALIGN - 1) / ALIGN * ALIGN;
    each = each < LEAST ? LEAST : each;
    int64_t n = lines > each ? (lines + each - 1) / each : 1;
    int *sizes = dense_array(ctx, n, sizeof(int));

    if (sizes == NULL)
        return DP_ERESOURCE;
    for (int64_t i = 0; i < n; i++)
        sizes[i] = (int)(i + 1 < n ? each : lines - i * each);
    for (int k = 0; k < b->n_ops; k++)
        b->op[k].steps[b->n_dims] = k == 0 ? each * (int64_t)step : 0;
    b->op[b->n_ops].data = (char *)sizes;
    memset(b->op[b->n_ops].steps, 0, sizeof(b->op[b->n_ops].steps));
    b->op[b->n_ops++].steps[b->n_dims] = (int64_t)sizeof(int);
    if (n == 1)
        return 0;
    b->sizes[b->n_dims++] = n;
    b->count *= n;
    b->cost /= (double)n;
    return 0;
}

static void run_slots(int64_t begin, int64_t end, void *user)
{
    const mx_batch *b = user;
    char *at[MX_OPERANDS];
    poll look = {0};
    int64_t steps = b->cost < POLL_STEPS ? (int64_t)b->cost + 1 : POLL_STEPS;

    if (!b->plain)
        blas_enter();
    for (int64_t slot = begin; slot < end; slot++) {
        int64_t last = (int64_t)((__int128)b->count * (slot + 1) / b->slots);
        int64_t i = (int64_t)((__int128)b->count * slot / b->slots);
        for (; i < last && !poll_stops(&look, steps); i++) {
            for (int k = 0; k < b->n_ops; k++)
                at[k] = b->op[k].data;
            int64_t rest = i;
            for (int d = b->n_dims - 1; d >= 0; d--) {
                for (int k = 0; k < b->n_ops; k++)
                    at[k] += rest % b->sizes[d] * b->op[k].steps[d];
                rest /= b->sizes[d];
            }
            b->one(b, at, b->scratch + (size_t)slot * b->work);
        }
    }
    if (!b->plain)
        blas_leave();
}

int mx_run(dp_ctx *ctx, mx_batch *b)
{
    enum {
        SLOTS = 16,
        SCRATCH = 1 << 28
    }; /* greatest number of parts of a batch; greatest number of bytes of their scratch memory */
    int64_t grain = dense_grain(b->cost), slots = b->count / grain;

    if (b->count == 0 || dp_memoryless(ctx))
        return 0;
    b->work = (b->work + 63) / 64 * 64;
    if (slots > SLOTS)
        slots = SLOTS;
    if (b->work > 0 && slots > (int64_t)(SCRATCH / b->work))
        slots = (int64_t)(SCRATCH / b->work);
    b->slots = slots > 0 ? slots : 1;
    b->scratch = NULL;
    if (b->work > 0) {
        b->scratch = dense_array(ctx, b->slots, b->work);
        if (b->scratch == NULL)
            return DP_ERESOURCE;
    }
    return dp_parallel_for(ctx, 0, b->slots, 1, run_slots, b);
}

int mx_lwork(dp_ctx *ctx, dp_dtype dtype, const void *answer, int64_t least)
{
    /* LAPACK stores the length as a float, which may be less than the length */
    const double rounded = 1 + 0x1p-22;
    double n = mx_is_double(dtype) ? *(const double *)answer : *(const float *)answer * rounded;

    n = ceil(n);
    if (n < (double)least)
        n = (double)least;
    if (n >= 1 && n <= INT_MAX)
        return (int)n;
    dp_fail(ctx, DP_ERESOURCE, "LAPACK's scratch would be %g elements: it counts to %d", n,
            INT_MAX);
    return 0;
}

size_t mx_reserve(size_t *bytes, size_t n, size_t item)
{
    size_t at = *bytes;

    *bytes += (n * item + 63) / 64 * 64;
    return at;
}

bool mx_finite(dp_dtype dtype, const void *data, size_t n)
{
    bool odd = false;

    n *= dp_dtype_is_complex(dtype) ? 2 : 1;
    if (mx_is_double(dtype))
        for (size_t i = 0; i < n; i++)
            odd |= !(fabs(((const double *)data)[i]) <= __DBL_MAX__);
    else
        for (size_t i = 0; i < n; i++)
            odd |= !(fabsf(((const float *)data)[i]) <= __FLT_MAX__);
    return !odd;
}

int mx_check_info(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix)
{
    const dp_str s = {name, strlen(name)};
    return dp_invoke(ctx, "aten::_linalg_check_errors", "TSb>", info, s, (int)is_matrix);
}

int mx_zero(dp_ctx *ctx, dp_tensor *t)
{
    return dp_invoke(ctx, "aten::zero_", "T>", t);
}
