/* tensor_transformations.c -- flip and roll (aten/src/ATen/native/TensorTransformations.cpp). */
#include "core/elements.h"

typedef struct flip_job {
    const dp_ctx *ctx;
    dp_view dst, src;
    uint64_t flipped; /* bit d: dimension d is flipped */
    size_t size;      /* bytes of an element */
} flip_job;

/* Copy rows [begin, end); a row is all elements along the last dimension. */
static void flip_rows(int64_t begin, int64_t end, void *user)
{
    const flip_job *j = user;
    int last = j->dst.ndim - 1;
    int64_t size = (int64_t)j->size, n = j->dst.sizes[last];
    bool turn = j->flipped >> last & 1;

    for (int64_t row = begin; row < end; row++) {
        char *dst = j->dst.data;
        const char *src = j->src.data;
        int64_t left = row;
        for (int d = last - 1; d >= 0; d--) {
            int64_t at = left % j->dst.sizes[d];
            left /= j->dst.sizes[d];
            dst += at * j->dst.strides[d] * size;
            at = j->flipped >> d & 1 ? j->dst.sizes[d] - 1 - at : at;
            src += at * j->src.strides[d] * size;
        }
        int64_t step = j->src.strides[last] * size;
        copy_line(j->ctx, j->size, n, dst, j->dst.strides[last] * size,
                  turn ? src + (n - 1) * step : src, turn ? -step : step);
    }
}

/* Convert dims [n] to a bit mask.  DP_ERUNTIME: a dimension is repeated.  Source:
 * at::dim_list_to_bitset. */
static int dims_as_bits(dp_ctx *ctx, const int64_t *dims, size_t n, int ndim, uint64_t *bits)
{
    *bits = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t d = dims[i];
        int rc = wrap_dim(ctx, &d, ndim);
        if (rc < 0)
            return rc;
        if (*bits >> d & 1)
            return dp_fail(ctx, DP_ERUNTIME,
                           "dim %" PRId64 " appears multiple times in the list of dims", d);
        *bits |= (uint64_t)1 << d;
    }
    return 0;
}

/* aten::flip(Tensor self, int[] dims) -> Tensor */
static int flip(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, size_t n, dp_tensor **out)
{
    flip_job job = {.ctx = ctx};
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = dims_as_bits(ctx, dims, n, x.ndim, &job.flipped);

    if (rc == 0)
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &made);
    if (rc < 0)
        return rc;
    DP_VIEW(y, made);
    job.dst = y, job.src = x, job.size = dp_dtype_size(x.dtype);
    if (x.ndim == 0)
        rc = dp_copy(ctx, made, self);
    else if (x.numel > 0 && !dp_memoryless(ctx)) {
        int64_t length = x.sizes[x.ndim - 1], rows = x.numel / length;
        rc = dp_parallel_for(ctx, 0, rows, length < 32768 ? 32768 / length : 1, flip_rows, &job);
    }
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* -- roll -- */

/* Roll `dim` by `shift`: the result has the elements from index `start` on first, then the elements
 * before them. */
static int roll_dim(dp_ctx *ctx, dp_tensor *self, int64_t shift, int64_t dim, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_tensor *parts[2] = {NULL, NULL};
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc < 0)
        return rc;
    if (x.ndim == 0)
        return dp_fail(ctx, DP_EINDEX,
                       "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
    int64_t size = x.sizes[dim], start = (int64_t)(((__int128)size - shift) % size);
    start += start < 0 ? size : 0;
    rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, start, size - start, &parts[0]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, (int64_t)0, start, &parts[1]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", parts, (size_t)2, dim, out);
    dp_tensor_unref(parts[0]);
    dp_tensor_unref(parts[1]);
    return rc;
}

/* Roll all elements as one dimension. */
static int roll_flat(dp_ctx *ctx, dp_tensor *self, int64_t shift, dp_tensor **out)
{
    int64_t one[1] = {-1};
    dp_tensor *flat = NULL, *rolled = NULL;
    DP_VIEW(x, self);
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, one, (size_t)1, &flat);

    if (rc == 0)
        rc = roll_dim(ctx, flat, shift, 0, &rolled);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_unsafe_view", "Tli>T", rolled, x.sizes, (size_t)x.ndim, out);
    dp_tensor_unref(flat);
    dp_tensor_unref(rolled);
    return rc;
}

/* aten::roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor */
static int roll(dp_ctx *ctx, dp_tensor *self, const int64_t *shifts, size_t n, const int64_t *dims,
                size_t n_dims, dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t preserve = DP_PRESERVE;
    dp_tensor *now = NULL, *next;
    int rc = 0;

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "`shifts` required");
    if (!(n_dims == 0 && n == 1) && n != n_dims)
        return dp_fail(ctx, DP_ERUNTIME, "shifts and dimensions must align. shifts: %zu, dims:%zu",
                       n, n_dims);
    if (x.numel == 0)
        return dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);
    if (n_dims == 0)
        return roll_flat(ctx, self, shifts[0], out);
    now = dp_tensor_ref(self);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = roll_dim(ctx, now, shifts[i], dims[i], &next);
        dp_tensor_unref(now);
        now = rc == 0 ? next : NULL;
    }
    *out = now;
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("flip", flip, (T, li), (T)),
                DP_IMPL_UNBOXED("roll", roll, (T, li, li), (T)))
