/* composite.h -- what the files of this plugin share. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "lib/dims.h"

/* The options that a factory takes; NULL: not given. */
typedef struct options {
    const int64_t *dtype, *layout, *device;
    const bool *pin;
} options;

/* The options as parameters of a factory's kernel, and as the struct made of these parameters. */
#define OPTIONS_PARAMS                                                                             \
    const int64_t *dtype, const int64_t *layout, const int64_t *device, const bool *pin
#define OPTIONS ((options){dtype, layout, device, pin})

/* Fails for another layout than strided, and for pinned memory. */
int options_check(dp_ctx *ctx, const options *o);
/* at::empty_like.  Options not given are those of t; format NULL means preserve_format. */
int like(dp_ctx *ctx, dp_tensor *t, const options *o, const int64_t *format, dp_tensor **out);
/* Intermediate tensors of one kernel; temps_fini() releases all of them. */
typedef struct temps {
    dp_tensor *made[12];
    int n;
} temps;

__attribute__((unused)) static void temps_fini(temps *s)
{
    for (int i = 0; i < s->n; i++)
        dp_tensor_unref(s->made[i]);
}

/* Where to put the next intermediate tensor. */
__attribute__((unused)) static dp_tensor **temps_next(temps *s)
{
    s->made[s->n] = NULL;
    return &s->made[s->n++];
}

__attribute__((unused)) static dp_tensor *temps_last(const temps *s)
{
    return s->made[s->n - 1];
}

/* A composite's out=: made, of a call that returned rc, is taken; out, which must have its dtype,
 * gets its shape and its elements. */
int give_out(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out);
/* Release *made, a result that a call which returned rc was to fill, if that call failed.  Return
 * rc. */
int release_on_error(int rc, dp_tensor **made);
/* Like give_out(), but convert `made` to out's dtype, which is refused where `made` cannot be cast
 * to it. */
int give_cast(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out);
/* Make a view of the part of t that begins at `starts` [ndim] and has `sizes` [ndim]; *out
 * owned. */
int subview(dp_ctx *ctx, dp_tensor *t, const int64_t *starts, const int64_t *sizes,
            dp_tensor **out);
/* Test whether t is a tensor that has functionality key bit `bit`. */
static inline bool has_bit(const dp_tensor *t, uint64_t bit)
{
    return t != NULL && dp_tensor_keys(t).functionality & bit;
}
/* A Scalar as a 0-dim wrapped number. */
int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out);

#endif
