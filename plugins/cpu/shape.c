/* shape.c -- copies in another order or shape: flip, roll, tril, triu, diag, pixel_shuffle and kin. */
#include "elements.h"

/* -- flip -- */

typedef struct flip_job {
    dp_view dst, src;
    uint64_t flipped; /* a bit a dimension */
    size_t size;      /* of an element */
} flip_job;

/* Rows [begin, end): the elements of the last dimension, for each index of the others. */
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
        copy_elements(j->size, n, dst, j->dst.strides[last] * size,
                      turn ? src + (n - 1) * step : src, turn ? -step : step);
    }
}

/* dims [n] as bits, each at most once.  Source: at::dim_list_to_bitset. */
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
    flip_job job;
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

/* dim begins `start` elements further in; what was in front of them comes last. */
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

/* Without dimensions: all elements as one. */
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

/* -- tril, triu -- */

typedef struct triangle {
    dp_view dst, src;
    int64_t diagonal;
    bool upper;
    size_t size;
} triangle;

/* Matrices' rows [begin, end). */
static void triangle_rows(int64_t begin, int64_t end, void *user)
{
    const triangle *t = user;
    int n = t->dst.ndim;
    int64_t size = (int64_t)t->size, columns = t->dst.sizes[n - 1];
    int64_t to = t->dst.strides[n - 1] * size, from = t->src.strides[n - 1] * size;
    static const double _Complex zero = 0;

    for (int64_t row = begin; row < end; row++) {
        char *dst = t->dst.data;
        const char *src = t->src.data;
        int64_t left = row, i = row % t->dst.sizes[n - 2];
        for (int d = n - 2; d >= 0; left /= t->dst.sizes[d], d--) {
            int64_t at = left % t->dst.sizes[d];
            dst += at * t->dst.strides[d] * size;
            src += at * t->src.strides[d] * size;
        }
        /* the first element that is kept of an upper triangle, or that is not of a lower one */
        int64_t at = i + t->diagonal + !t->upper;
        at = at < 0 ? 0 : at > columns ? columns : at;
        int64_t kept = t->upper ? at : 0, n_kept = t->upper ? columns - at : at;
        int64_t zeroed = t->upper ? 0 : at;
        copy_elements(t->size, n_kept, dst + kept * to, to, src + kept * from, from);
        copy_elements(t->size, columns - n_kept, dst + zeroed * to, to, (const char *)&zero, 0);
    }
}

/* The triangle of self in *out; NULL: it is made. */
static int write_triangle(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, bool upper,
                          dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_tensor *given = *out;

    if (x.ndim == 0)
        return dp_refuse(ctx, DP_EINDEX, "Dimension specified as -2 but tensor has no dimensions");
    if (x.ndim == 1 && x.numel > 0)
        return dp_refuse(ctx, DP_EINDEX,
                         "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
    int rc = dp_set_output(ctx, out, x.ndim, x.sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    if (x.numel == 0 || dp_memoryless(ctx))
        return 0;
    DP_VIEW(y, *out);
    int64_t columns = x.sizes[x.ndim - 1], rows = x.sizes[x.ndim - 2];
    int64_t limit = rows > columns ? rows : columns;
    diagonal = diagonal < -limit ? -limit : diagonal > limit ? limit : diagonal;
    triangle t = {y, x, diagonal, upper, dp_dtype_size(x.dtype)};
    rc = dp_parallel_for(ctx, 0, x.numel / columns, columns < 32768 ? 32768 / columns : 1,
                         triangle_rows, &t);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::tril(Tensor self, int diagonal=0) -> Tensor */
static int tril(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    *out = NULL;
    return write_triangle(ctx, self, diagonal, false, out);
}

/* aten::triu(Tensor self, int diagonal=0) -> Tensor */
static int triu(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor **out)
{
    *out = NULL;
    return write_triangle(ctx, self, diagonal, true, out);
}

/* aten::tril.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int tril_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    return write_triangle(ctx, self, diagonal, false, &out);
}

/* aten::triu.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int triu_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    return write_triangle(ctx, self, diagonal, true, &out);
}

/* aten::tril_(Tensor(a!) self, int diagonal=0) -> Tensor(a!) */
static int tril_(dp_ctx *ctx, dp_tensor *self, int64_t diagonal)
{
    return write_triangle(ctx, self, diagonal, false, &self);
}

/* aten::triu_(Tensor(a!) self, int diagonal=0) -> Tensor(a!) */
static int triu_(dp_ctx *ctx, dp_tensor *self, int64_t diagonal)
{
    return write_triangle(ctx, self, diagonal, true, &self);
}

/* -- diag, trace -- */

/* out becomes the matrix with the vector self on a diagonal. */
static int diag_of_vector(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    DP_VIEW(x, self);
    int64_t size, sizes[2];
    dp_tensor *part;

    if (diagonal == INT64_MIN ||
        __builtin_add_overflow(x.sizes[0], diagonal < 0 ? -diagonal : diagonal, &size))
        return dp_refuse(ctx, DP_ERUNTIME, "diag: diagonal %" PRId64 " is too large", diagonal);
    sizes[0] = sizes[1] = size;
    int rc = dp_set_output(ctx, &out, 2, sizes, NULL, x.dtype, x.device);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_invoke(ctx, "aten::zero_", "T>", out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diagonal", "Ti>T", out, diagonal, &part);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, part, self);
    dp_tensor_unref(part);
    return rc;
}

/* out becomes a diagonal of the matrix self. */
static int diag_of_matrix(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    dp_tensor *part;
    DP_VIEW(matrix, self);

    if (diagonal > matrix.sizes[1] || diagonal < -matrix.sizes[0])
        return dp_refuse(ctx, DP_ERUNTIME,
                         "diag: a matrix of %" PRId64 " rows and %" PRId64
                         " columns has no diagonal %" PRId64,
                         matrix.sizes[0], matrix.sizes[1], diagonal);
    int rc = dp_invoke(ctx, "aten::diagonal", "Ti>T", self, diagonal, &part);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, part);
    rc = dp_set_output(ctx, &out, 1, x.sizes, NULL, x.dtype, x.device);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_copy(ctx, out, part);
    dp_tensor_unref(part);
    return rc;
}

/* aten::diag.out(Tensor self, int diagonal=0, *, Tensor(a!) out) -> Tensor(a!) */
static int diag_out(dp_ctx *ctx, dp_tensor *self, int64_t diagonal, dp_tensor *out)
{
    DP_VIEW(x, self);

    if (x.ndim != 1 && x.ndim != 2)
        return dp_refuse(ctx, DP_ERUNTIME, "matrix or a vector expected");
    return x.ndim == 1 ? diag_of_vector(ctx, self, diagonal, out)
                       : diag_of_matrix(ctx, self, diagonal, out);
}

/* aten::trace(Tensor self) -> Tensor */
static int trace(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_tensor *part;

    if (x.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "trace: expected a matrix");
    if (x.dtype == DP_BOOL || x.dtype == DP_FLOAT16 || x.dtype == DP_BFLOAT16)
        return dp_fail(ctx, DP_ERUNTIME, "\"trace\" not implemented for '%s'",
                       x.dtype == DP_BOOL      ? "Bool"
                       : x.dtype == DP_FLOAT16 ? "Half"
                                               : "BFloat16");
    int rc = dp_invoke(ctx, "aten::diagonal", "T>T", self, &part);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::sum", "T>T", part, out);
    dp_tensor_unref(part);
    return rc;
}

/* -- pixel_shuffle, pixel_unshuffle -- */

/* Between `wide` [*, c r r, h, w] and `fine` [*, c, h r, w r], both as [*, c, r, r, h, w]; to_fine
 * says which is written. */
static int shuffle(dp_ctx *ctx, dp_tensor *wide, dp_tensor *fine, int64_t r, bool to_fine)
{
    int64_t sizes[DP_DIM_MAX], from[DP_DIM_MAX], to[DP_DIM_MAX];
    dp_tensor *a = NULL, *b = NULL;
    DP_VIEW(x, wide);
    DP_VIEW(y, fine);
    int n = x.ndim - 3;

    memcpy(sizes, y.sizes, (size_t)(n + 1) * sizeof(int64_t));
    memcpy(from, x.strides, (size_t)n * sizeof(int64_t));
    memcpy(to, y.strides, (size_t)(n + 1) * sizeof(int64_t));
    const int64_t own[] = {r, r, x.sizes[n + 1], x.sizes[n + 2]};
    const int64_t wides[] = {x.strides[n] * r * r, x.strides[n] * r, x.strides[n], x.strides[n + 1],
                             x.strides[n + 2]};
    const int64_t fines[] = {y.strides[n + 1], y.strides[n + 2], y.strides[n + 1] * r,
                             y.strides[n + 2] * r};
    memcpy(sizes + n + 1, own, sizeof(own));
    memcpy(from + n, wides, sizeof(wides));
    memcpy(to + n + 1, fines, sizeof(fines));
    int rc = dp_as_strided(ctx, wide, n + 5, sizes, from, dp_tensor_offset(wide), &a);
    if (rc == 0)
        rc = dp_as_strided(ctx, fine, n + 5, sizes, to, dp_tensor_offset(fine), &b);
    if (rc == 0)
        rc = dp_copy(ctx, to_fine ? b : a, to_fine ? a : b);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

static int check_shuffle(dp_ctx *ctx, const dp_view *x, int64_t r, bool to_fine)
{
    const char *name = to_fine ? "pixel_shuffle" : "pixel_unshuffle";

    if (x->ndim < 3)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s expects input to have at least 3 dimensions, but got input with %d "
                       "dimension(s)",
                       name, x->ndim);
    if (x->ndim > DP_DIM_MAX - 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s takes at most %d dimensions, not %d", name,
                       DP_DIM_MAX - 2, x->ndim);
    if (r <= 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s expects a positive %s_factor, but got %" PRId64, name,
                       to_fine ? "upscale" : "downscale", r);
    if (r >= (int64_t)1 << 31)
        return dp_fail(ctx, DP_ERUNTIME, "%s: a factor of %" PRId64 " is too large", name, r);
    return 0;
}

static int check_divides(dp_ctx *ctx, const dp_view *x, int64_t r, bool to_fine)
{
    int64_t c = x->sizes[x->ndim - 3], h = x->sizes[x->ndim - 2], w = x->sizes[x->ndim - 1];

    if (to_fine && c % (r * r) != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "pixel_shuffle expects its input's 'channel' dimension to be divisible by "
                       "the square of upscale_factor, but input.size(-3)=%" PRId64
                       " is not divisible by %" PRId64,
                       c, r * r);
    if (!to_fine && (h % r != 0 || w % r != 0))
        return dp_fail(ctx, DP_ERUNTIME,
                       "pixel_unshuffle expects %s to be divisible by downscale_factor, but "
                       "input.size(-%d)=%" PRId64 " is not divisible by %" PRId64,
                       h % r != 0 ? "height" : "width", h % r != 0 ? 2 : 1, h % r != 0 ? h : w, r);
    return 0;
}

static int shuffled(dp_ctx *ctx, dp_tensor *self, int64_t r, bool to_fine, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = check_shuffle(ctx, &x, r, to_fine);

    if (rc == 0)
        rc = check_divides(ctx, &x, r, to_fine);
    if (rc < 0)
        return rc;
    if (!to_fine && x.numel == 0) /* as it is (at::native::pixel_unshuffle_cpu) */
        return dp_invoke(ctx, "aten::clone", "T>T", self, out);
    memcpy(sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t));
    int64_t *s = sizes + x.ndim - 3;
    s[0] = to_fine ? s[0] / (r * r) : s[0] * r * r;
    for (int i = 1; i < 3; i++)
        if (!to_fine)
            s[i] /= r;
        else if (__builtin_mul_overflow(s[i], r, &s[i]))
            return dp_fail(ctx, DP_ERUNTIME, "pixel_shuffle: sizes do not fit int64");
    rc = dp_empty(ctx, x.dtype, x.device, x.ndim, sizes, dp_tensor_suggest_format(self), &made);
    if (rc < 0)
        return rc;
    rc = x.numel == 0 ? 0 : shuffle(ctx, to_fine ? self : made, to_fine ? made : self, r, to_fine);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

/* aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor */
static int pixel_shuffle(dp_ctx *ctx, dp_tensor *self, int64_t r, dp_tensor **out)
{
    return shuffled(ctx, self, r, true, out);
}

/* aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor */
static int pixel_unshuffle(dp_ctx *ctx, dp_tensor *self, int64_t r, dp_tensor **out)
{
    return shuffled(ctx, self, r, false, out);
}

/* -- others -- */

/* aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor */
static int narrow_copy(dp_ctx *ctx, dp_tensor *self, int64_t dim, int64_t start, int64_t length,
                       dp_tensor **out)
{
    int64_t contiguous = DP_CONTIGUOUS;
    dp_tensor *part;
    DP_VIEW(x, self);

    if (x.ndim > 0 && dim >= x.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "narrow_copy: dim %" PRId64 " is out of range for %d dimensions", dim,
                       x.ndim);
    if (x.ndim > 0 && dim >= 0 && length >= 0 && start > x.sizes[dim] - length)
        return dp_fail(ctx, DP_ERUNTIME,
                       "start (%" PRId64 ") + length (%" PRId64 ") exceeds dimension size (%" PRId64
                       ").",
                       start, length, x.sizes[dim]);
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, start, length, &part);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", part, &contiguous, out);
    dp_tensor_unref(part);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("flip", flip, (T, li), (T)),
                DP_IMPL_UNBOXED("roll", roll, (T, li, li), (T)),
                DP_IMPL_UNBOXED("tril", tril, (T, i), (T)),
                DP_IMPL_UNBOXED("tril.out", tril_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("tril_", tril_, (T, i), ()),
                DP_IMPL_UNBOXED("triu", triu, (T, i), (T)),
                DP_IMPL_UNBOXED("triu.out", triu_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("triu_", triu_, (T, i), ()),
                DP_IMPL_UNBOXED("diag.out", diag_out, (T, i, T), ()),
                DP_IMPL_UNBOXED("trace", trace, (T), (T)))
/* They call others, so any backend can have them. */
#define COPIES                                                                                     \
    DP_IMPL_UNBOXED("pixel_shuffle", pixel_shuffle, (T, i), (T)),                                  \
        DP_IMPL_UNBOXED("pixel_unshuffle", pixel_unshuffle, (T, i), (T)),                          \
        DP_IMPL_UNBOXED("narrow_copy", narrow_copy, (T, i, i, i), (T))
DP_LIBRARY_META(aten, CPU, COPIES)
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional, COPIES)
