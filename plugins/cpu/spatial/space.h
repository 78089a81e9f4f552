/* space.h -- tensors with spatial dimensions, for kernels over windows: batches of planes [N, C, D,
 * H, W], with depth and height 1 if a tensor has fewer dimensions.
 *
 * Kernels compute from contiguous copies, with channels innermost where PyTorch uses
 * channels_last. */
#ifndef CPU_SPACE_H
#define CPU_SPACE_H

#include "core/dense.h"

enum { SPACE_MAX = 3 };

/* Geometry of a tensor with `dims` spatial dimensions, one channel dimension and, with a batch, one
 * more. */
typedef struct space {
    int dims;
    int64_t n, channels;     /* n is 1 without a batch */
    int64_t size[SPACE_MAX]; /* depth, height, width */
    dp_memory_format format; /* contiguous, or channels_last with 2 or 3 spatial dimensions */
    bool restrides; /* a given output gets the strides of `format`, whatever its shape was */
    dp_dtype dtype, computed; /* dtype of the tensor; dtype in which it is computed */
    dp_device device;
} space;

/* Return the geometry of `t`, whose rank was checked.  `last`: keep channels innermost if t
 * suggests that format. */
space space_of(const dp_tensor *t, int dims, bool last);
/* Return the number of consecutive planes, and the number of neighbouring elements at each
 * index. */
int64_t space_planes(const space *s);
int64_t space_inner(const space *s);
/* Return the number of spatial positions in a plane. */
int64_t space_places(const space *s);
/* Set the sizes of a tensor of this geometry; return their number. */
int space_sizes(const space *s, bool batched, int64_t sizes[DP_DIM_MAX]);

/* Return t's elements contiguous in s->computed and s->format: t itself if it is so.  *out
 * owned. */
int space_get(dp_ctx *ctx, const space *s, dp_tensor *t, dp_tensor **out);

/* an output in preparation */
typedef struct space_out {
    dp_tensor **out; /* output of the kernel; made if it was NULL */
    /* contiguous, in s->computed and s->format: *out itself, or another tensor; owned */
    dp_tensor *work;
    bool given;
} space_out;

/* Make, resize or check *out, with the rank of the input.  inputs [n] may share memory with it.
 * Call space_end() unless this fails.  Errors: those of dp_set_output(). */
int space_begin(dp_ctx *ctx, space_out *o, const space *s, bool batched, dp_tensor **out,
                dp_tensor *const *inputs, int n);
/* If `rc` is 0, copy the result to *out; else release *out if it was made.  Return the code of the
 * step that failed, or 0. */
int space_end(dp_ctx *ctx, int rc, space_out *o);
void *space_data(const dp_tensor *t);

/* Set out [n] to `list`; a list of one number stands for n equal numbers.  False: it has another
 * length. */
bool space_list(const int64_t *list, size_t have, int n, int64_t *out);

/* masks for dense_check_type() */
#define SPACE_FLOATS  DP_DTYPE_BITS(DP_DTYPES_FLOATING)
#define SPACE_BF16    DENSE_BIT(DP_BFLOAT16)
#define SPACE_F16     DENSE_BIT(DP_FLOAT16)
#define SPACE_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
