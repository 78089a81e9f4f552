/* nonzero.c -- nonzero, the indices of the elements that are not 0, in row-major order
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp).
 *
 * The nonzero elements of each piece of the tensor are counted first, in parallel; the counts give
 * each piece the position of its results.  Neither pass has a branch per element, because half of
 * such branches would be mispredicted with a random mask.  Another thread may write to the tensor
 * between the passes: no piece writes more results than were counted, and a piece that finds fewer
 * repeats its first element. */
#include "nonzero.h"

/* Set flags [n] to whether each of `n` elements of `dtype` is not 0. */
static void flag_elements(dp_dtype dtype, int64_t n, const char *src, bool *flags)
{
    switch (dtype) {
#define EACH(name, dtype, memory, value, load, store)                                              \
    case dtype:                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                            \
            flags[i] = load(((const memory *)src)[i]) != 0;                                        \
        break;
        DP_DTYPES_ALL(EACH)
#undef EACH
    }
}

static void flag_block(const nz_search *s, int64_t at, int64_t n, bool *flags)
{
    flag_elements(s->dtype, n, s->data + at * s->size, flags);
}

static int64_t end_of(const nz_search *s, int64_t piece)
{
    int64_t end = (piece + 1) * s->piece;
    return end < s->n ? end : s->n;
}

static void count_pieces(int64_t begin, int64_t end, void *user)
{
    nz_search *s = user;
    bool flags[NZ_FLAGS];

    for (int64_t p = begin; p < end; p++) {
        int64_t sum = 0;
        for (int64_t at = p * s->piece, last = end_of(s, p); at < last; at += NZ_FLAGS) {
            int64_t n = last - at < NZ_FLAGS ? last - at : NZ_FLAGS;
            uint32_t some = 0;
            flag_block(s, at, n, flags);
            for (int64_t i = 0; i < n; i++)
                some += flags[i];
            sum += some;
        }
        s->before[p + 1] = sum;
    }
}

static int64_t find_block(const nz_search *s, int64_t at, int64_t n, int32_t *places)
{
    bool flags[NZ_FLAGS];
    int64_t found = 0;

    flag_block(s, at, n, flags);
    for (int32_t i = 0; i < (int32_t)n; i++) {
        places[found] = i;
        found += flags[i];
    }
    return found;
}

static void find_pieces(int64_t begin, int64_t end, void *user)
{
    const nz_search *s = user;
    int32_t places[NZ_FLAGS + 1];

    for (int64_t p = begin; p < end; p++) {
        int64_t to = s->before[p], left = s->before[p + 1] - to, last = end_of(s, p), m;
        for (int64_t at = p * s->piece; at < last && left > 0; at += NZ_FLAGS, to += m, left -= m) {
            m = find_block(s, at, last - at < NZ_FLAGS ? last - at : NZ_FLAGS, places);
            m = m < left ? m : left;
            s->found(s->user, to, at, places, m);
        }
        memset(places, 0, sizeof(places));
        for (; left > 0; to += m, left -= m) {
            m = left < NZ_FLAGS ? left : NZ_FLAGS;
            s->found(s->user, to, p * s->piece, places, m);
        }
    }
}

int nz_count(dp_ctx *ctx, dp_tensor *t, nz_search *s, int64_t *total)
{
    enum { PIECE = 16384, PIECES = 256 };
    DP_VIEW(x, t);
    int64_t each = x.numel / PIECES > PIECE ? x.numel / PIECES : PIECE;

    *s = (nz_search){.dtype = x.dtype,
                     .data = x.data,
                     .size = (int64_t)dp_dtype_size(x.dtype),
                     .n = x.numel,
                     .piece = (each + NZ_FLAGS - 1) / NZ_FLAGS * NZ_FLAGS};
    int64_t pieces = (s->n + s->piece - 1) / s->piece;
    s->before = dp_alloc_n(ctx, (size_t)(pieces + 1), sizeof(int64_t));
    if (s->before == NULL)
        return DP_ERESOURCE;
    s->before[0] = 0;
    int rc = dp_parallel_for(ctx, 0, pieces, 1, count_pieces, s);
    for (int64_t p = 0; rc == 0 && p < pieces; p++)
        s->before[p + 1] += s->before[p];
    *total = rc == 0 ? s->before[pieces] : 0;
    return rc;
}

int nz_find(dp_ctx *ctx, nz_search *s, nz_found_fn found, const void *user)
{
    s->found = found;
    s->user = user;
    return dp_parallel_for(ctx, 0, (s->n + s->piece - 1) / s->piece, 1, find_pieces, s);
}

/* -- nonzero -- */

typedef struct coordinates {
    dp_view self;
    int64_t *to, n; /* indices [ndim][n] of the results; their number */
} coordinates;

static void write_coordinates(const void *user, int64_t to, int64_t first, const int32_t *places,
                              int64_t n)
{
    const coordinates *c = user;
    uint64_t left[NZ_FLAGS];

    for (int64_t i = 0; i < n; i++)
        left[i] = (uint64_t)(first + places[i]);
    for (int d = c->self.ndim - 1; d >= 0; d--) {
        uint64_t size = (uint64_t)c->self.sizes[d], *out = (uint64_t *)c->to + d * c->n + to;
        if (d == 0)
            dp_copy_n(out, left, (size_t)n, sizeof(*out));
        for (int64_t i = 0; i < n && d > 0; i++) {
            uint64_t whole = left[i] / size;
            out[i] = left[i] - whole * size;
            left[i] = whole;
        }
    }
}

/* Make the result of nonzero; as in PyTorch, the indices of one dimension are contiguous. */
static int find_places(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    nz_search s;
    int64_t n;
    DP_VIEW(x, self);
    int rc = nz_count(ctx, self, &s, &n);
    int64_t sizes[2] = {n, x.ndim}, strides[2] = {1, n};

    if (rc == 0)
        rc = dp_empty_strided(ctx, DP_INT64, x.device, 2, sizes, strides, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    coordinates c = {x, y.data, n};
    rc = nz_find(ctx, &s, write_coordinates, &c);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::nonzero(Tensor self) -> Tensor */
static int nonzero(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_tensor *packed;
    int rc = dp_invoke(ctx, "aten::contiguous", "T>T", self, &packed);

    if (rc < 0)
        return rc;
    rc = find_places(ctx, packed, out);
    dp_tensor_unref(packed);
    return rc;
}

/* aten::nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!) */
static int nonzero_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *out)
{
    dp_tensor *made = NULL;
    DP_VIEW(y, out);

    if (y.dtype != DP_INT64)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "nonzero: Expected out tensor to have scalar type Long but got scalar type "
            "%s",
            dp_dtype_name(y.dtype));
    int rc = nonzero(ctx, self, &made);
    if (rc == 0) {
        DP_VIEW(x, made);
        rc = dp_set_output(ctx, &out, 2, x.sizes, x.strides, DP_INT64, x.device);
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_copy(ctx, out, made);
    dp_tensor_unref(made);
    return rc;
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("nonzero", nonzero, (T), (T)),
                DP_IMPL_UNBOXED("nonzero.out", nonzero_out, (T, T), ()))
