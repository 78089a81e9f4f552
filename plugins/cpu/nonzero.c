/* nonzero.c -- nonzero and masked_select: which elements of a tensor are not 0, in row-major order.
 *
 * They are counted first, in pieces that threads take; then each piece knows where what it finds goes.
 * Neither has a branch for an element: of random masks half of those would be mispredicted.  The tensor
 * may be written between the two: no more are taken than were counted, and a piece that finds fewer
 * names its first element in place of the rest. */
#include "elements.h"

/* flags [n] = are these elements of dtype not 0? */
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

enum { FLAGS = 1024 };

/* places [n] of elements from number `first` on, all of one block, are the results `to` and following. */
typedef void (*found_fn)(const void *user, int64_t to, int64_t first, const int32_t *places,
                         int64_t n);

typedef struct search {
    dp_dtype dtype;
    const char *data; /* packed */
    int64_t size, n, piece;
    int64_t *before; /* of each piece, and of what follows the last: how many come first */
    found_fn found;
    const void *user;
} search;

static void flag_block(const search *s, int64_t at, int64_t n, bool *flags)
{
    flag_elements(s->dtype, n, s->data + at * s->size, flags);
}

static int64_t end_of(const search *s, int64_t piece)
{
    int64_t end = (piece + 1) * s->piece;
    return end < s->n ? end : s->n;
}

static void count_pieces(int64_t begin, int64_t end, void *user)
{
    search *s = user;
    bool flags[FLAGS];

    for (int64_t p = begin; p < end; p++) {
        int64_t sum = 0;
        for (int64_t at = p * s->piece, last = end_of(s, p); at < last; at += FLAGS) {
            int64_t n = last - at < FLAGS ? last - at : FLAGS;
            uint32_t some = 0;
            flag_block(s, at, n, flags);
            for (int64_t i = 0; i < n; i++)
                some += flags[i];
            sum += some;
        }
        s->before[p + 1] = sum;
    }
}

static int64_t find_block(const search *s, int64_t at, int64_t n, int32_t *places)
{
    bool flags[FLAGS];
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
    const search *s = user;
    int32_t places[FLAGS + 1];

    for (int64_t p = begin; p < end; p++) {
        int64_t to = s->before[p], left = s->before[p + 1] - to, last = end_of(s, p), m;
        for (int64_t at = p * s->piece; at < last && left > 0; at += FLAGS, to += m, left -= m) {
            m = find_block(s, at, last - at < FLAGS ? last - at : FLAGS, places);
            m = m < left ? m : left;
            s->found(s->user, to, at, places, m);
        }
        memset(places, 0, sizeof(places));
        for (; left > 0; to += m, left -= m) {
            m = left < FLAGS ? left : FLAGS;
            s->found(s->user, to, p * s->piece, places, m);
        }
    }
}

/* How many elements of t, which is contiguous, are not 0. */
static int count(dp_ctx *ctx, dp_tensor *t, search *s, int64_t *total)
{
    enum { PIECE = 16384, PIECES = 256 };
    DP_VIEW(x, t);
    int64_t each = x.numel / PIECES > PIECE ? x.numel / PIECES : PIECE;

    *s = (search){.dtype = x.dtype,
                  .data = x.data,
                  .size = (int64_t)dp_dtype_size(x.dtype),
                  .n = x.numel,
                  .piece = (each + FLAGS - 1) / FLAGS * FLAGS};
    int64_t pieces = (s->n + s->piece - 1) / s->piece;
    s->before = dp_alloc(ctx, (size_t)(pieces + 1) * sizeof(int64_t));
    if (s->before == NULL)
        return DP_ERESOURCE;
    s->before[0] = 0;
    int rc = dp_parallel_for(ctx, 0, pieces, 1, count_pieces, s);
    for (int64_t p = 0; rc == 0 && p < pieces; p++)
        s->before[p + 1] += s->before[p];
    *total = rc == 0 ? s->before[pieces] : 0;
    return rc;
}

static int find(dp_ctx *ctx, search *s, found_fn found, const void *user)
{
    s->found = found;
    s->user = user;
    return dp_parallel_for(ctx, 0, (s->n + s->piece - 1) / s->piece, 1, find_pieces, s);
}

/* -- nonzero -- */

typedef struct coordinates {
    dp_view self;
    int64_t *to, n; /* [ndim][n] */
} coordinates;

static void write_coordinates(const void *user, int64_t to, int64_t first, const int32_t *places,
                              int64_t n)
{
    const coordinates *c = user;
    uint64_t left[FLAGS];

    for (int64_t i = 0; i < n; i++)
        left[i] = (uint64_t)(first + places[i]);
    for (int d = c->self.ndim - 1; d >= 0; d--) {
        uint64_t size = (uint64_t)c->self.sizes[d], *out = (uint64_t *)c->to + d * c->n + to;
        if (d == 0)
            memcpy(out, left, (size_t)n * sizeof(*out));
        for (int64_t i = 0; i < n && d > 0; i++) {
            uint64_t whole = left[i] / size;
            out[i] = left[i] - whole * size;
            left[i] = whole;
        }
    }
}

/* As in PyTorch the places of one dimension lie beside one another. */
static int find_places(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    search s;
    int64_t n;
    DP_VIEW(x, self);
    int rc = count(ctx, self, &s, &n);
    int64_t sizes[2] = {n, x.ndim}, strides[2] = {1, n > 0 ? n : 1};

    if (rc == 0)
        rc = dp_empty_strided(ctx, DP_INT64, x.device, 2, sizes, strides, out);
    if (rc < 0)
        return rc;
    DP_VIEW(y, *out);
    coordinates c = {x, y.data, n};
    rc = find(ctx, &s, write_coordinates, &c);
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

/* -- masked_select -- */

typedef struct selection {
    size_t size;
    const char *from;
    char *to;
} selection;

static void select_elements(const void *user, int64_t to, int64_t first, const int32_t *places,
                            int64_t n)
{
    const selection *s = user;

    switch (s->size) {
#define EACH(bytes, type)                                                                          \
    case bytes: {                                                                                  \
        type *dst = (type *)s->to + to;                                                            \
        const type *src = (const type *)s->from + first;                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            dst[i] = src[places[i]];                                                               \
        break;                                                                                     \
    }
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
}

/* t over this shape, contiguous. */
static int spread(dp_ctx *ctx, dp_tensor *t, const int64_t *shape, size_t ndim, dp_tensor **out)
{
    dp_tensor *wide;
    int rc = dp_invoke(ctx, "aten::expand", "Tli>T", t, shape, ndim, &wide);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::contiguous", "T>T", wide, out);
    dp_tensor_unref(wide);
    return rc;
}

/* self and mask are contiguous and of one shape; *out NULL: it is made. */
static int select_packed(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    search s;
    dp_tensor *packed;
    int64_t n;
    bool fresh = *out == NULL;
    DP_VIEW(x, self);
    int rc = count(ctx, mask, &s, &n);

    if (rc == 0)
        rc = dp_set_output(ctx, out, 1, &n, NULL, x.dtype, x.device);
    if (rc == 0 && !fresh)
        rc = dp_empty(ctx, x.dtype, x.device, 1, &n, DP_CONTIGUOUS, &packed);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    packed = fresh ? *out : packed;
    DP_VIEW(y, packed);
    selection to = {dp_dtype_size(x.dtype), x.data, y.data};
    rc = find(ctx, &s, select_elements, &to);
    if (fresh)
        return rc;
    if (rc == 0)
        rc = dp_copy(ctx, *out, packed);
    dp_tensor_unref(packed);
    return rc;
}

static int write_selection(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX];
    dp_tensor *from = NULL, *flags = NULL;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    size_t ndim = (size_t)(x.ndim > m.ndim ? x.ndim : m.ndim);
    int rc = 0;

    if (m.dtype != DP_BOOL && m.dtype != DP_UINT8)
        rc = dp_fail(ctx, DP_ERUNTIME, "masked_select: expected BoolTensor or ByteTensor for mask");
    if (rc == 0 && x.numel > 0)
        rc = check_bits(ctx, mask);
    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, shape);
    if (rc == 0)
        rc = spread(ctx, self, shape, ndim, &from);
    if (rc == 0)
        rc = spread(ctx, mask, shape, ndim, &flags);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : select_packed(ctx, from, flags, out);
    dp_tensor_unref(from);
    dp_tensor_unref(flags);
    return rc;
}

/* aten::masked_select(Tensor self, Tensor mask) -> Tensor */
static int masked_select(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    *out = NULL;
    int rc = write_selection(ctx, self, mask, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!) */
static int masked_select_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_select(): self and result must have the same scalar type");
    dp_tensor *ins[] = {self, mask};
    int rc = check_apart(ctx, out, ins, 2);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return write_selection(ctx, self, mask, &out);
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("nonzero", nonzero, (T), (T)),
                DP_IMPL_UNBOXED("nonzero.out", nonzero_out, (T, T), ()),
                DP_IMPL_UNBOXED("masked_select", masked_select, (T, T), (T)),
                DP_IMPL_UNBOXED("masked_select.out", masked_select_out, (T, T, T), ()))
