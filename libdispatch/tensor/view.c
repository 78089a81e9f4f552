/* view.c -- makes views (tensors with another geometry over the same storage), and computes the
 * shape to which two shapes broadcast. */
#include "home.h"

int dpi_view_as(const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim, const int64_t *sizes,
                const int64_t *strides, int64_t offset, dp_tensor **out, dp_error *err)
{
    dpi_layout l;
    int rc = dpi_layout_check(ndim, sizes, strides, offset, &l, err);

    if (rc == DP_OK)
        rc = dpi_no_wrapper(t, err);
    if (rc == DP_OK)
        rc = dpi_fits_check(&l, dp_dtype_size(dtype), dpi_memory_of(dpi_storage_of(t))->bytes, err);
    if (rc == DP_OK)
        rc = dpi_tensor_on(t, &l, out, err);
    if (rc < 0)
        return rc;
    (*out)->dtype = dtype;
    (*out)->keys = dpi_keys_for((*out)->keys, dtype);
    (*out)->keys.functionality |= dpi_math_bits(t) ^ flip;
    return DP_OK;
}

int dpi_as_strided(const dp_tensor *t, int ndim, const int64_t *sizes, const int64_t *strides,
                   int64_t offset, dp_tensor **out, dp_error *err)
{
    return dpi_view_as(t, t->dtype, 0, ndim, sizes, strides, offset, out, err);
}

int dp_tensor_detached(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t, out))
        return DP_EVALUE;
    const dpi_geometry *g = dpi_geometry_of(t);
    int rc = dpi_as_strided(t, g->ndim, g->sizes, g->strides, g->offset, out, err);

    if (rc == DP_OK) /* only the reference count of the version's home is written */
        dpi_tensor_join(*out, (dp_tensor *)(uintptr_t)t, true, DP_CREATED_DEFAULT);
    return rc;
}

/* Walk the old dimensions from the last one.  Neighbours that could be merged into one dimension
 * form a chunk.  The new dimensions must divide every chunk exactly.  Source:
 * at::detail::computeStride. */
static bool tile_chunks(const dpi_geometry *g, int ndim, const int64_t *sizes, int64_t *strides)
{
    int64_t chunk = 1, tiled = 1, base = g->ndim ? g->strides[g->ndim - 1] : 1;
    int v = ndim - 1;

    for (int d = g->ndim - 1; d >= 0; d--) {
        chunk *= g->sizes[d];
        bool ends = d == 0 || (g->sizes[d - 1] != 1 && g->strides[d - 1] != chunk * base);
        if (!ends)
            continue;
        while (v >= 0 && (tiled < chunk || sizes[v] == 1)) {
            strides[v] = tiled * base;
            tiled *= sizes[v--];
            if (tiled > chunk)
                return false;
        }
        if (tiled < chunk)
            return false;
        if (d > 0)
            base = g->strides[d - 1];
        chunk = tiled = 1;
    }
    for (; v >= 0; v--) /* reached for a 0-dim tensor only; then all new sizes are 1 */
        strides[v] = 1;
    return true;
}

bool dp_view_strides(const dp_tensor *t, int ndim, const int64_t *sizes, int64_t *strides)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t numel;

    if (dpi_sizes_check(ndim, sizes, &numel, NULL) < 0 || numel != g->numel)
        return false;
    if (numel > 0)
        return tile_chunks(g, ndim, sizes, strides);
    if (ndim == g->ndim && memcmp(sizes, g->sizes, (size_t)ndim * sizeof(int64_t)) == 0)
        dp_copy_n(strides, g->strides, (size_t)ndim, sizeof(int64_t));
    else
        dpi_strides_contiguous(ndim, sizes, strides);
    return true;
}

/* A tensor with elements needs no check: the view has exactly t's elements, so it lies within t's
 * storage. */
int dpi_view_sizes(const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out,
                   dp_error *err)
{
    int64_t strides[DP_DIM_MAX];
    const dpi_geometry *g = dpi_geometry_of(t);

    *out = NULL;
    if (ndim > DP_DIM_MAX || !dp_view_strides(t, ndim, sizes, strides))
        return DP_OK;
    /* an empty tensor, whose strides may have wrapped, or a wrapper, which has no bytes: both need
     * the checks of dpi_as_strided() */
    if (DPI_UNLIKELY(g->numel == 0 || g->parts != NULL))
        return dpi_as_strided(t, ndim, sizes, strides, g->offset, out, err);
    /* memory that the running call has added stays as long as its tensors need it */
    bool grown = atomic_load_explicit(&g->storage->growth, memory_order_relaxed) != NULL;
    int64_t extent = DPI_UNLIKELY(grown) ? (int64_t)dpi_geometry_bytes(g, 1) : 0;
    dpi_layout l = {ndim, sizes, strides, g->offset, g->numel, extent};
    int rc = dpi_tensor_on(t, &l, out, err);
    if (rc == DP_OK)
        (*out)->keys.functionality |= dpi_math_bits(t);
    return rc;
}

int dpi_broadcast_shapes(int na, const int64_t *a, int nb, const int64_t *b, int64_t *out,
                         dp_error *err)
{
    int n = na > nb ? na : nb;

    for (int i = 1; i <= n; i++) { /* from the last dimension on: `out` may be `a` or `b` */
        int64_t sa = i <= na ? a[na - i] : 1, sb = i <= nb ? b[nb - i] : 1;
        if (sa != sb && sa != 1 && sb != 1)
            return dp_error_set(
                err, DP_ERUNTIME,
                "The size of tensor a (%lld) must match the size of tensor b (%lld) "
                "at non-singleton dimension %d",
                (long long)sa, (long long)sb, n - i);
        out[n - i] = sa == 1 ? sb : sa;
    }
    return DP_OK;
}
