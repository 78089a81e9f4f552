/* composite.h -- tensor options, temporary tensors and out= arguments of composite kernels. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "lib/dims.h"

/* The TensorOptions arguments of a factory function; NULL: the argument was not given. */
typedef struct options {
    const int64_t *dtype, *layout, *device;
    const bool *pin;
} options;

/* OPTIONS_PARAMS are the TensorOptions parameters of a factory function's kernel; OPTIONS makes an
 * `options` of them. */
#define OPTIONS_PARAMS                                                                             \
    const int64_t *dtype, const int64_t *layout, const int64_t *device, const bool *pin
#define OPTIONS ((options){dtype, layout, device, pin})

/* Check `o`.  DP_ERUNTIME: the layout is not strided, or `pin` is true. */
int options_check(dp_ctx *ctx, const options *o);
/* Make a tensor like `t`, with the options `o`, as at::empty_like does.  Options that are not given
 * are taken from t; `format` NULL means preserve_format.  *out owned. */
int like(dp_ctx *ctx, dp_tensor *t, const options *o, const int64_t *format, dp_tensor **out);

/* intermediate tensors of one kernel, at most 12; temps_fini() releases all of them */
typedef struct temps {
    dp_tensor *made[12];
    int n;
} temps;

__attribute__((unused)) static void temps_fini(temps *s)
{
    for (int i = 0; i < s->n; i++)
        dp_tensor_unref(s->made[i]);
}

/* Return the slot for the next intermediate tensor. */
__attribute__((unused)) static dp_tensor **temps_next(temps *s)
{
    s->made[s->n] = NULL;
    return &s->made[s->n++];
}

__attribute__((unused)) static dp_tensor *temps_last(const temps *s)
{
    return s->made[s->n - 1];
}

/* Refuse to copy *made to an out= argument if *made requires a gradient, as PyTorch does: release
 * *made and fail with DP_ERUNTIME.  If `rc`, the code of the call that made *made, is an error,
 * only return it. */
int refuse_recorded(dp_ctx *ctx, int rc, dp_tensor **made);
/* Resize `out` to the shape of `made`, copy the elements of `made` to `out`, and release `made`.
 * `rc` is the code of the call that was to return `made`; if rc is an error, only return it.
 * DP_ERUNTIME: `out` has another dtype than `made`. */
int give_out(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out);
/* Release *made if `rc`, the code of the call that was to fill it, is an error.  Return rc. */
int release_on_error(int rc, dp_tensor **made);
/* Like give_out(), but convert `made` to the dtype of `out`.
 * DP_ERUNTIME: `made` cannot be cast to that dtype. */
int give_cast(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out);
/* Make a view of the part of t that begins at `starts` [ndim] and has `sizes` [ndim]; *out
 * owned. */
int subview(dp_ctx *ctx, dp_tensor *t, const int64_t *starts, const int64_t *sizes,
            dp_tensor **out);
/* Test whether `t` is not NULL and its key set has the functionality bit `bit`. */
static inline bool has_bit(const dp_tensor *t, uint64_t bit)
{
    return t != NULL && dp_tensor_keys(t).functionality & bit;
}
/* Make a 0-dim tensor of `scalar` that type promotion treats like a Python number (a wrapped
 * number).  *out owned. */
int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out);

/* dp_empty(), dp_empty_like() and dp_scalar_tensor() by a call of an operator, which a capture
 * records, unlike these functions.  An operator that is decomposed in a capture (one for
 * CompositeImplicitAutograd) makes its tensors with these.  *out owned; `dtype` DP_DTYPE_NONE: the
 * default. */
int call_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
               dp_tensor **out);
int call_empty_like(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_memory_format format,
                    dp_tensor **out);
int call_scalar_tensor(dp_ctx *ctx, dp_value scalar, dp_dtype dtype, dp_device device,
                       dp_tensor **out);

#endif
