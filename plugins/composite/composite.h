/* composite.h -- what the files of this plugin share. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "../dims.h"

/* What a factory is asked for: dtype, layout, device, pin_memory, each NULL when not given. */
typedef struct options {
    const int64_t *dtype, *layout, *device;
    const bool *pin;
} options;

/* Layouts and memory that are not ours are refused by name. */
int options_check(dp_ctx *ctx, const options *o);
/* at::empty_like: NULLs are taken from t.  format NULL: preserve. */
int like(dp_ctx *ctx, dp_tensor *t, const options *o, const int64_t *format, dp_tensor **out);
/* A Scalar as a 0-dim wrapped number. */
int wrap_scalar(dp_ctx *ctx, dp_value scalar, dp_tensor **out);

#endif
