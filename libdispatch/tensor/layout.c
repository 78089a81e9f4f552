/* layout.c -- geometry: sizes, strides, offset, and the flags computed from them
 * (c10/core/MemoryFormat.h, Contiguity.h).
 *
 * The sizes, strides, offset and flags of a geometry never change after it was made.  The aliases
 * of a tensor share its geometry. */
#include "room.h"

/* The dimensions of channels-last tensors, innermost first (c10/core/MemoryFormat.h). */
static const int8_t order_4d[] = {1, 3, 2, 0}, order_5d[] = {1, 4, 3, 2, 0};

/* Compute the stride of the next dimension.  If a size is 0, the product of the others may exceed
 * int64: then the stride wraps, as in PyTorch, and no element is read with it. */
static int64_t next_stride(int64_t stride, int64_t size)
{
    return (int64_t)((uint64_t)stride * (uint64_t)size);
}

/* -- flags -- */

/* Tell whether the elements are packed with the dimensions in `order`, innermost first; NULL:
 * row-major.  Dimensions of size 1 do not matter. */
static bool packed_in(const dpi_geometry *g, const int8_t *order)
{
    int64_t expected = 1;

    for (int i = 0; i < g->ndim; i++) {
        int d = order ? order[i] : g->ndim - 1 - i;
        if (g->sizes[d] == 1)
            continue;
        if (g->strides[d] != expected)
            return false;
        expected = next_stride(expected, g->sizes[d]);
    }
    return true;
}

/* Tell whether the strides grow in `order`, packed or not (c10 is_channels_last_strides_2d_s4). */
static bool strides_follow(const dpi_geometry *g, const int8_t *order)
{
    int64_t least = 0;

    if (g->numel == 0 || g->strides[1] == 0) /* without elements, strides mean nothing */
        return false;
    for (int i = 0; i < g->ndim; i++) {
        int d = order[i];
        if (g->strides[d] < least)
            return false;
        if (d == 0 && least == g->strides[1])
            return false; /* ambiguous, for example [N, 1, 1, 1]: counts as contiguous */
        least = g->strides[d];
        if (g->sizes[d] > 1)
            least *= g->sizes[d];
    }
    return true;
}

/* Sort dimensions by ascending stride; dimensions of size < 2 come last. */
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

/* Compute flags in local variables: reading several flags back at once, just after they were stored
 * one by one, stalls. */
void dpi_geometry_set_flags(dpi_geometry *g)
{
    bool contiguous = g->numel == 0 || packed_in(g, NULL);
    bool last = g->ndim == 4 && packed_in(g, order_4d);
    bool last_3d = g->ndim == 5 && packed_in(g, order_5d);

    g->contiguous = contiguous;
    g->channels_last = last;
    g->channels_last_3d = last_3d;
    g->like_channels_last = g->ndim == 4 && strides_follow(g, order_4d);
    g->like_channels_last_3d = g->ndim == 5 && strides_follow(g, order_5d);
    g->dense = contiguous || last || last_3d || is_dense(g);
}

/* -- strides -- */

void dpi_strides_contiguous(int ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t next = 1;

    for (int d = ndim - 1; d >= 0; d--) {
        strides[d] = next;
        next = next_stride(next, sizes[d] > 1 ? sizes[d] : 1);
    }
}

/* Compute packed strides in `order`, which is for tensors of `rank` dimensions.  A size of 0 gives
 * strides of 0, as in PyTorch.  For a tensor without the batch dimension (`ndim` is rank - 1), the
 * last entry of `order` is not used, and 1 is subtracted from the others. */
static void strides_in(int ndim, const int64_t *sizes, const int8_t *order, int rank,
                       int64_t *strides)
{
    int64_t next = 1;

    for (int i = 0; i < ndim; i++) {
        int d = order[i] - (rank - ndim);
        strides[d] = next;
        next = next_stride(next, sizes[d]);
    }
}

int dpi_strides_format(int ndim, const int64_t *sizes, dp_memory_format f, int64_t *strides,
                       dp_error *err)
{
    static const struct {
        const char *name;
        const int8_t *order;
        int rank;
    } formats[] = {[DP_CHANNELS_LAST] = {"channels_last", order_4d, 4},
                   [DP_CHANNELS_LAST_3D] = {"channels_last_3d", order_5d, 5}};

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

/* Compare dimensions `a` and `b`.  -1: `a` must be inside `b`; 1: `a` must be outside `b`; 0:
 * undecided. */
static int compare_dense(const int64_t *sizes, const int64_t *like, int a, int b)
{
    if (like[a] == 0 || like[b] == 0)
        return 0;
    if (like[a] != like[b])
        return like[a] < like[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
}

/* Source: at::infer_dense_strides. */
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
        next = next_stride(next, sizes[perm[i]] > 1 ? sizes[perm[i]] : 1);
    }
}

/* -- checks, and geometries from checked layouts -- */

static int check_any_sizes(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err)
{
    char shape[DP_SHAPE_TEXT];
    uint64_t product = 1;
    bool overflow =
        /* An overflow counts even if a later size is 0: as in PyTorch, [2^62, 4, 0] fails, but [0,
         * 2^62, 4] does not. */
        false;

    if (ndim < 0 || ndim > DP_DIM_MAX)
        return dp_error_set(err, DP_EVALUE, "a tensor of %d dimensions; 0 to %d are possible", ndim,
                            DP_DIM_MAX);
    for (int d = 0; d < ndim; d++) {
        if (sizes[d] < 0)
            return dp_error_set(err, DP_ERUNTIME,
                                "trying to create a tensor with negative dimension %lld: %s",
                                (long long)sizes[d], dp_shape_text(shape, sizes, (size_t)ndim));
        overflow |= __builtin_mul_overflow(product, (uint64_t)sizes[d], &product);
    }
    if (overflow || product > INT64_MAX)
        return dp_error_set(err, DP_ERUNTIME, "sizes %s have more elements than fit an int64",
                            dp_shape_text(shape, sizes, (size_t)ndim));
    *numel = (int64_t)product;
    return DP_OK;
}

/* Fast path of the check: all sizes are positive and their product fits. */
static inline bool sizes_are_plain(int ndim, const int64_t *sizes, int64_t *numel)
{
    int64_t n = 1;

    if (ndim < 0 || ndim > DP_DIM_MAX)
        return false;
    for (int d = 0; d < ndim; d++)
        if (sizes[d] <= 0 || __builtin_mul_overflow(n, sizes[d], &n))
            return false;
    *numel = n;
    return true;
}

int dpi_sizes_check(int ndim, const int64_t *sizes, int64_t *numel, dp_error *err)
{
    return DPI_LIKELY(sizes_are_plain(ndim, sizes, numel))
               ? DP_OK
               : check_any_sizes(ndim, sizes, numel, err);
}

static int check_bytes(dp_dtype dtype, int ndim, const int64_t *sizes, int64_t numel, dp_error *err)
{
    size_t itemsize = dpi_itemsize(dtype);

    return dp_sizes_check(dp_size_times(itemsize, (uint64_t)numel), DP_LIMIT_STORAGE_BYTES,
                          "DP_LIMIT_STORAGE_BYTES", sizes, (size_t)ndim, itemsize, err);
}

static inline int packed_numel(dp_dtype dtype, int ndim, const int64_t *sizes, int64_t *numel,
                               dp_error *err)
{
    if (DPI_UNLIKELY(!sizes_are_plain(ndim, sizes, numel))) {
        int rc = check_any_sizes(ndim, sizes, numel, err);
        if (rc < 0)
            return rc;
    }
    return DPI_LIKELY(*numel <= DP_LIMIT_STORAGE_BYTES / DPI_ITEM_MAX)
               ? DP_OK
               : check_bytes(dtype, ndim, sizes, *numel, err);
}

int dpi_packed_check(dp_dtype dtype, int ndim, const int64_t *sizes, dp_error *err)
{
    int64_t numel;
    return packed_numel(dtype, ndim, sizes, &numel, err);
}

/* Tell whether `l` has no elements and has contiguous strides, which may be negative because their
 * product wrapped. */
static bool strides_wrapped(const dpi_layout *l)
{
    int64_t packed[DP_DIM_MAX];

    dpi_strides_contiguous(l->ndim, l->sizes, packed);
    return l->numel == 0 && memcmp(packed, l->strides, (size_t)l->ndim * sizeof(int64_t)) == 0;
}

/* Set l->extent, and check that offset and strides are not negative and that the extent is at most
 * DP_LIMIT_STORAGE_BYTES. */
static int check_extent(dpi_layout *l, dp_error *err)
{
    char shape[DP_SHAPE_TEXT], steps[DP_SHAPE_TEXT];
    bool overflow = __builtin_add_overflow(l->strides ? 1 : l->numel, l->offset, &l->extent);

    if (l->offset < 0)
        return dp_error_set(err, DP_ERUNTIME, "storage offset %lld is negative",
                            (long long)l->offset);
    for (int d = 0; l->strides && d < l->ndim; d++) {
        int64_t step = 0;
        if (l->strides[d] < 0 && !strides_wrapped(l))
            return dp_error_set(err, DP_ERUNTIME, "negative strides are not supported, got %s",
                                dp_shape_text(steps, l->strides, (size_t)l->ndim));
        if (l->numel > 0)
            overflow |= __builtin_mul_overflow(l->sizes[d] - 1, l->strides[d], &step) ||
                        __builtin_add_overflow(l->extent, step, &l->extent);
    }
    if (overflow || l->extent > DP_LIMIT_STORAGE_BYTES)
        return dp_error_set(err, DP_ERUNTIME,
                            "sizes %s with strides %s at offset %lld reach beyond any storage",
                            dp_shape_text(shape, l->sizes, (size_t)l->ndim),
                            l->strides ? dp_shape_text(steps, l->strides, (size_t)l->ndim)
                                       : "of a contiguous tensor",
                            (long long)l->offset);
    return DP_OK;
}

int dpi_layout_check(int ndim, const int64_t *sizes, const int64_t *strides, int64_t offset,
                     dpi_layout *out, dp_error *err)
{
    *out = (dpi_layout){ndim, sizes, strides, offset, 0, 0};
    int rc = dpi_sizes_check(ndim, sizes, &out->numel, err);

    return rc < 0 ? rc : check_extent(out, err);
}

DPI_HOT int dpi_layout_packed(dp_dtype dtype, int ndim, const int64_t *sizes, dpi_layout *out,
                              dp_error *err)
{
    *out = (dpi_layout){ndim, sizes, NULL, 0, 0, 0};
    int rc = packed_numel(dtype, ndim, sizes, &out->numel, err);

    out->extent = out->numel;
    return rc;
}

/* Copy the values one by one: each was stored as 8 bytes just before, and reading two of them as
 * one vector of 16 bytes would stall. */
static void copy_dims(int64_t *to, const int64_t *from, int n)
{
    for (int d = 0; d < n; d++)
        to[d] = from[d];
}

DPI_HOT void dpi_geometry_init(dpi_geometry *g, const dpi_layout *l, dpi_storage *s)
{
    g->ndim = l->ndim;
    g->numel = l->numel;
    g->offset = l->offset;
    g->storage = s;
    atomic_init(&g->replaced, NULL);
    g->parts = NULL;
    atomic_init(&g->n_replaced, 0);
    g->needs = 0;
    g->sizes = (int64_t *)(g + 1);
    g->strides = g->sizes + l->ndim;
    copy_dims(g->sizes, l->sizes, l->ndim);
    if (l->strides == NULL)
        dpi_strides_contiguous(l->ndim, l->sizes, g->strides);
    else
        copy_dims(g->strides, l->strides, l->ndim);
    if (l->strides != NULL || l->ndim >= 4) {
        dpi_geometry_set_flags(g);
        return;
    }
    g->contiguous = g->dense = true;
    g->channels_last = g->channels_last_3d = g->like_channels_last = g->like_channels_last_3d =
        false;
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

int dpi_fits_check(const dpi_layout *l, size_t itemsize, size_t bytes, dp_error *err)
{
    char shape[DP_SHAPE_TEXT], steps[DP_SHAPE_TEXT];
    int64_t strides[DP_DIM_MAX];
    size_t need = dpi_layout_bytes(l, itemsize);

    if (need <= bytes)
        return DP_OK;
    if (l->strides == NULL)
        dpi_strides_contiguous(l->ndim, l->sizes, strides);
    return dp_error_set(err, DP_ERUNTIME,
                        "sizes %s, strides %s, offset %lld and itemsize %zu require a storage of "
                        "%zu bytes; it has %zu",
                        dp_shape_text(shape, l->sizes, (size_t)l->ndim),
                        dp_shape_text(steps, l->strides ? l->strides : strides, (size_t)l->ndim),
                        (long long)l->offset, itemsize, need, bytes);
}
