/* space.h -- the geometry of tensors with spatial dimensions, for kernels over windows: [N, C, D,
 * H, W], where depth and height are 1 if a tensor has fewer dimensions.
 *
 * Kernels compute from contiguous copies, which are channels_last where PyTorch uses that
 * format. */
#ifndef CPU_SPACE_H
#define CPU_SPACE_H

#include "core/dense.h"

enum { SPACE_MAX = 3 };

/* geometry of a tensor with `dims` spatial dimensions, a channel dimension and perhaps a batch
 * dimension */
typedef struct space {
    int dims;
    int64_t n, channels;     /* n is 1 without a batch */
    int64_t size[SPACE_MAX]; /* depth, height, width */
    dp_memory_format format; /* contiguous, or channels_last with 2 or 3 spatial dimensions */
    bool restrides; /* a given output gets the strides of `format`, whatever its shape was */
    dp_dtype dtype, computed; /* dtype of the tensor; dtype in which it is computed */
    dp_device device;
} space;

/* Return the geometry of `t`, whose number of dimensions was checked.  `last`: the format is
 * channels_last if that is t's suggested memory format and t has a batch dimension.  16-bit floats
 * are computed in float32, other dtypes in themselves. */
space space_of(const dp_tensor *t, int dims, bool last);
/* Return the number of planes, and the number of neighbouring elements at each position in a plane:
 * N * C planes with 1 element at each position or, if channels_last, N planes with C elements. */
int64_t space_planes(const space *s);
int64_t space_inner(const space *s);
/* Return the number of spatial positions in a plane. */
int64_t space_places(const space *s);
/* Set the sizes of a tensor of this geometry; return their number. */
int space_sizes(const space *s, bool batched, int64_t sizes[DP_DIM_MAX]);

/* Set *out, owned, to `t` itself if it has dtype s->computed and is contiguous in s->format, else
 * to such a copy. */
int space_get(dp_ctx *ctx, const space *s, dp_tensor *t, dp_tensor **out);

/* an output in preparation */
typedef struct space_out {
    dp_tensor **out; /* output of the kernel; *out was made by space_begin() unless `given` */
    /* contiguous, in s->computed and s->format: *out itself, or another tensor; owned */
    dp_tensor *work;
    bool given;
} space_out;

/* Make or resize *out, with a batch dimension if `batched`, and set up `o`.  If this function does
 * not fail, the caller writes o->work and then calls space_end().  *out may share memory with
 * inputs [n].  Errors: those of dp_set_output(), dp_resize() and dp_empty(). */
int space_begin(dp_ctx *ctx, space_out *o, const space *s, bool batched, dp_tensor **out,
                dp_tensor *const *inputs, int n);
/* If `rc` is 0, copy the result to *out; else release *out if it was made.  Return the code of the
 * step that failed, or 0. */
int space_end(dp_ctx *ctx, int rc, space_out *o);
/* Return the address of the first element of `t`. */
void *space_data(const dp_tensor *t);

/* Set out [n] to list [have]; a list of one number stands for n equal numbers.  False: `have` is
 * neither n nor 1. */
bool space_list(const int64_t *list, size_t have, int n, int64_t *out);

/* masks for dense_check_type() */
#define SPACE_FLOATS  DP_DTYPE_BITS(DP_DTYPES_FLOATING)
#define SPACE_BF16    DENSE_BIT(DP_BFLOAT16)
#define SPACE_F16     DENSE_BIT(DP_FLOAT16)
#define SPACE_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
