/* layout.c -- geometry: sizes, strides, offset, and the flags that follow from them
 * (c10/core/MemoryFormat.h, Contiguity.h).
 *
 * A geometry never changes once it is made; views share it when they can. */
#include "room.h"
#include <stdio.h>

/* Dimensions of a channels-last tensor, innermost first (c10/core/MemoryFormat.h). */
static const int8_t order_4d[] = {1, 3, 2, 0}, order_5d[] = {1, 4, 3, 2, 0};

const char *dpi_shape_print(char buf[DPI_SHAPE_TEXT], int ndim, const int64_t *sizes)
{
    size_t at = (size_t)snprintf(buf, DPI_SHAPE_TEXT, "[");

    for (int i = 0; i < ndim && at < DPI_SHAPE_TEXT - 32; i++)
        at += (size_t)snprintf(buf + at, DPI_SHAPE_TEXT - at, "%s%lld", i ? ", " : "",
                               (long long)sizes[i]);
    snprintf(buf + at, DPI_SHAPE_TEXT - at, "%s]", at < DPI_SHAPE_TEXT - 32 ? "" : ", ...");
    return buf;
}

/* -- flags -- */

/* Packed when walked in this order; dimensions of size 1 do not matter. */
static bool packed_in(const dpi_geometry *g, const int8_t *order)
{
    int64_t expected = 1;

    for (int i = 0; i < g->ndim; i++) {
        int d = order ? order[i] : g->ndim - 1 - i;
        if (g->sizes[d] == 1)
            continue;
        if (g->strides[d] != expected)
            return false;
        expected *= g->sizes[d];
    }
    return true;
}

/* Strides grow in this order, not necessarily packed (c10 is_channels_last_strides_2d_s4). */
static bool strides_like(const dpi_geometry *g, const int8_t *order)
{
    int64_t least = 0;

    if (g->strides[1] == 0)
        return false;
    for (int i = 0; i < g->ndim; i++) {
        int d = order[i];
        if (g->sizes[d] == 0 || g->strides[d] < least)
            return false;
        if (d == 0 && least == g->strides[1])
            return false; /* N111 and sliced channels: plain contiguous tensors look the same */
        least = g->strides[d];
        if (g->sizes[d] > 1)
            least *= g->sizes[d];
    }
    return true;
}

/* Dimensions by stride ascending, those of size < 2 last. */
static void sort_by_stride(const dpi_geometry *g, int *perm)
{
    for (int i = 0; i < g->ndim; i++) {
        int at = i;
        for (; at > 0; at--) {
            int before = perm[at - 1];
            bool stays =
                g->sizes[i] < 2 || (g->sizes[before] >= 2 && g->strides[before] <= g->strides[i]);
            if (stays)
                break;
            perm[at] = before;
        }
        perm[at] = i;
    }
}

static bool is_dense(const dpi_geometry *g)
{
    int perm[DP_DIM_MAX];
    int64_t expected = 1;

    sort_by_stride(g, perm);
    for (int i = 0; i < g->ndim && g->sizes[perm[i]] >= 2; i++) {
        if (g->strides[perm[i]] != expected)
            return false;
        expected *= g->sizes[perm[i]];
    }
    return true;
}

static void set_flags(dpi_geometry *g)
{
    g->contiguous = g->numel == 0 || packed_in(g, NULL);
    g->channels_last = g->ndim == 4 && packed_in(g, order_4d);
    g->channels_last_3d = g->ndim == 5 && packed_in(g, order_5d);
    g->like_channels_last = g->ndim == 4 && strides_like(g, order_4d);
    g->like_channels_last_3d = g->ndim == 5 && strides_like(g, order_5d);
    g->dense = g->contiguous || g->channels_last || g->channels_last_3d || is_dense(g);
}

/* -- strides -- */

void dpi_strides_contiguous(int ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t next = 1;

    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = next;
        next *= sizes[d] > 1 ? sizes[d] : 1;
    }
}

/* Sizes are not clamped, so a size of 0 gives strides of 0, as in PyTorch.  An unbatched tensor
 * takes the order without its last entry, N. */
static void strides_in(int ndim, const int64_t *sizes, const int8_t *order, int rank,
                       int64_t *strides)
{
    int64_t next = 1;

    for (int i = 0; i < ndim; i++) {
        int d = order[i] - (rank - ndim);
        strides[d] = next;
        next *= sizes[d];
    }
}

int dpi_strides_format(int ndim, const int64_t *sizes, dp_memory_format f, int64_t *strides,
                       dp_error *err)
{
    static const struct {
        const char *name;
        const int8_t *order;
        int rank;
    } formats[] = {
        [DP_CHANNELS_LAST] = {"channels_last",    order_4d, 4},
        [DP_CHANNELS_LAST_3D] = {"channels_last_3d", order_5d, 5}
    };

    if (f == DP_CONTIGUOUS) {
        dpi_strides_contiguous(ndim, sizes, strides);
        return DP_OK;
    }
    if (f != DP_CHANNELS_LAST && f != DP_CHANNELS_LAST_3D)
        return dp_error_set(err, DP_ERUNTIME, "memory format %s has no strides of its own here",
                            f == DP_PRESERVE ? "preserve_format" : "of an unknown number");
    int rank = formats[f].rank;
    if (ndim != rank && ndim != rank - 1)
        return dp_error_set(err, DP_ERUNTIME,
                            "required rank %d tensor to use %s format, got rank %d", rank,
                            formats[f].name, ndim);
    strides_in(ndim, sizes, formats[f].order, rank, strides);
    return DP_OK;
}

/* Does dimension a belong inside b?  1 it does not, -1 it does, 0 cannot be told. */
static int compare_dense(const int64_t *sizes, const int64_t *like, int a, int b)
{
    if (like[a] == 0 || like[b] == 0)
        return 0;
    if (like[a] != like[b])
        return like[a] < like[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
}

/* at::infer_dense_strides */
void dpi_strides_dense_like(int ndim, const int64_t *sizes, const int64_t *like, int64_t *strides)
{
    int perm[DP_DIM_MAX];
    int64_t next = 1;

    for (int i = 0; i < ndim; i++)
        perm[i] = ndim - 1 - i;
    for (int i = 1; i < ndim; i++)
        for (int hi = i, lo = i - 1; lo >= 0; lo--) {
            int c = compare_dense(sizes, like, perm[lo], perm[hi]);
            if (c < 0)
                break;
            if (c > 0) {
                int t = perm[lo];
                perm[lo] = perm[hi];
                perm[hi] = t;
                hi = lo;
            }
        }
    for (int i = 0; i < ndim; i++) {
        strides[perm[i]] = next;
        next *= sizes[perm[i]] > 1 ? sizes[perm[i]] : 1;
    }
}

/* -- making one -- */

int dpi_sizes_check(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err)
{
    char shape[DPI_SHAPE_TEXT];
    int64_t n = 1, padded = 1; /* padded counts a size of 0 as 1: strides are products of these */
    bool overflow = false;

    if (ndim < 0 || ndim > DP_DIM_MAX)
        return dp_error_set(err, DP_EVALUE, "a tensor of %d dimensions; 0 to %d are possible", ndim,
                            DP_DIM_MAX);
    for (int d = 0; d < ndim; d++) {
        if (sizes[d] < 0)
            return dp_error_set(err, DP_ERUNTIME,
                                "trying to create a tensor with negative dimension %lld: %s",
                                (long long)sizes[d], dpi_shape_print(shape, ndim, sizes));
        n = overflow ? 0 : n * (sizes[d] != 0);
        overflow |= __builtin_mul_overflow(padded, sizes[d] ? sizes[d] : 1, &padded);
    }
    if (overflow)
        return dp_error_set(err, DP_ERUNTIME, "sizes %s have more elements than fit an int64",
                            dpi_shape_print(shape, ndim, sizes));
    *numel = n ? padded : 0;
    return DP_OK;
}

/* Elements from the storage's start to the last one of the tensor; strides of NULL are contiguous,
 * whose extent is numel. */
static int check_extent(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                        int64_t numel, dp_error *err)
{
    char shape[DPI_SHAPE_TEXT], steps[DPI_SHAPE_TEXT];
    int64_t extent = strides ? 1 : numel;
    bool overflow = __builtin_add_overflow(extent, offset, &extent);

    if (offset < 0)
        return dp_error_set(err, DP_ERUNTIME, "storage offset %lld is negative", (long long)offset);
    for (int d = 0; strides && d < ndim; d++) {
        int64_t step = 0;
        if (strides[d] < 0)
            return dp_error_set(err, DP_ERUNTIME, "negative strides are not supported, got %s",
                                dpi_shape_print(steps, ndim, strides));
        if (numel > 0)
            overflow |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &step) ||
                        __builtin_add_overflow(extent, step, &extent);
    }
    if (overflow || extent > DPI_EXTENT_MAX)
        return dp_error_set(
            err, DP_ERUNTIME, "sizes %s with strides %s at offset %lld reach beyond any storage",
            dpi_shape_print(shape, ndim, sizes),
            strides ? dpi_shape_print(steps, ndim, strides) : "of a contiguous tensor",
            (long long)offset);
    return DP_OK;
}

int dpi_geometry_new(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     dpi_geometry **out, dp_error *err)
{
    int64_t numel;
    int rc = dpi_sizes_check(ndim, sizes, &numel, err);

    if (rc == DP_OK)
        rc = check_extent(ndim, sizes, strides, offset, numel, err);
    if (rc < 0)
        return rc;
    size_t row = (size_t)ndim * sizeof(int64_t);
    dpi_geometry *g = dp_malloc(sizeof(*g) + 2 * row);
    if (g == NULL)
        return dpi_no_memory(err, "a tensor's geometry");
    atomic_init(&g->refs, 1);
    g->ndim = ndim;
    g->numel = numel;
    g->offset = offset;
    g->storage = NULL;
    g->former = NULL;
    g->n_formers = 0;
    g->sizes = (int64_t *)(g + 1);
    g->strides = g->sizes + ndim;
    if (ndim > 0)
        memcpy(g->sizes, sizes, row);
    if (strides == NULL)
        dpi_strides_contiguous(ndim, sizes, g->strides);
    else if (ndim > 0)
        memcpy(g->strides, strides, row);
    set_flags(g);
    *out = g;
    return DP_OK;
}

dpi_geometry *dpi_geometry_unref(dpi_geometry *g)
{
    while (g && dpi_unref_last(&g->refs)) {
        dpi_geometry *former = g->former;
        dpi_storage_unref(g->storage);
        dp_free(g);
        g = former;
    }
    return NULL;
}

size_t dpi_geometry_bytes(const dpi_geometry *g, size_t itemsize)
{
    int64_t extent = 1;

    if (g->numel == 0)
        return 0;
    for (int d = 0; d < g->ndim; d++)
        extent += (g->sizes[d] - 1) * g->strides[d];
    return (size_t)(g->offset + extent) * itemsize;
}
