/* space.h -- tensors whose last dimensions are space, as kernels over windows see them: batches of
 * planes, [N, C, D, H, W], the depth and the height being 1 where a tensor has fewer dimensions.
 * They are computed from packed elements; channels lie innermost where PyTorch has
 * channels_last. */
#ifndef CPU_SPACE_H
#define CPU_SPACE_H

#include "core/dense.h"

enum { SPACE_MAX = 3 };

/* Geometry of a tensor with `dims` dimensions of space: with a batch it has two more, without one
 * more. */
typedef struct space {
    int dims;
    int64_t n, channels;     /* n is 1 without a batch */
    int64_t size[SPACE_MAX]; /* depth, height, width */
    dp_memory_format format; /* contiguous, or channels_last of 2 or 3 dimensions of space */
    bool restrides; /* an output that is given gets that format's strides, whatever its shape was */
    dp_dtype dtype, computed; /* the tensor's; what it is computed in */
    dp_device device;
} space;

/* Of t, whose rank was checked.  last: channels stay innermost where t suggests that. */
space space_of(const dp_tensor *t, int dims, bool last);
/* Planes that lie one after another, and how many elements lie beside one another at each place. */
int64_t space_planes(const space *s);
int64_t space_inner(const space *s);
/* Places of a plane. */
int64_t space_places(const space *s);
/* The sizes of a tensor of this geometry; returns their number. */
int space_sizes(const space *s, bool batched, int64_t sizes[DP_DIM_MAX]);

/* t's elements packed, in s->computed and s->format: t itself where it is that.  *out owned. */
int space_get(dp_ctx *ctx, const space *s, dp_tensor *t, dp_tensor **out);

/* An output while it is computed. */
typedef struct space_out {
    dp_tensor **out; /* of the kernel; made where it was NULL */
    dp_tensor
        *work; /* packed, in s->computed and s->format: *out itself, or another tensor; owned */
    bool given;
} space_out;

/* Make, resize or check *out, of t's rank.  inputs [n] may share memory with it.  o is to be ended
 * unless this fails.  Errors: those of dp_set_output(). */
int space_begin(dp_ctx *ctx, space_out *o, const space *s, bool batched, dp_tensor **out,
                dp_tensor *const *inputs, int n);
/* With rc 0 *out gets what was computed; else it is released if it was made.  Returns what
 * failed. */
int space_end(dp_ctx *ctx, int rc, space_out *o);
void *space_data(const dp_tensor *t);

/* out [n]: `list`, in which one number stands for n equal ones.  False: it has another length. */
bool space_list(const int64_t *list, size_t have, int n, int64_t *out);

/* For dense_check_type(). */
#define SPACE_FLOATS  DP_DTYPE_BITS(DP_DTYPES_FLOATING)
#define SPACE_BF16    DENSE_BIT(DP_BFLOAT16)
#define SPACE_F16     DENSE_BIT(DP_FLOAT16)
#define SPACE_COMPLEX DP_DTYPE_BITS(DP_DTYPES_COMPLEX)

#endif
