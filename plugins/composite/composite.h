/* composite.h -- what the files of this plugin share. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "../dims.h"

/* The options that a factory takes; NULL: not given. */
typedef struct options {
    const int64_t *dtype, *layout, *device;
    const bool *pin;
} options;

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

/* A composite's out=: made, of a call that returned rc, is taken; out, which must have its dtype, gets its
 * shape and its elements. */
int give_out(dp_ctx *ctx, int rc, dp_tensor *made, dp_tensor *out);
/* A Scalar as a 0-dim wrapped number. */
int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out);

#endif
