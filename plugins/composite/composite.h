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
/* A Scalar as a 0-dim wrapped number. */
int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out);

#endif
