/* empty.c -- new tensors in a memory format, or with the layout of another tensor (at::empty,
 * at::empty_like). */
#include "room.h"

int dpi_empty(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes, dp_memory_format f,
              dp_tensor **out, dp_error *err)
{
    int64_t strides[DP_DIM_MAX];

    if (f == DP_CONTIGUOUS)
        return dpi_empty_strided(dtype, at, ndim, sizes, NULL, out, err);
    /* first, because strides are products of sizes, which must fit int64 */
    int rc = dpi_packed_check(dtype, ndim, sizes, err);
    if (rc == DP_OK)
        rc = dpi_strides_format(ndim, sizes, f, strides, err);
    return rc < 0 ? rc : dpi_empty_strided(dtype, at, ndim, sizes, strides, out, err);
}

int dpi_empty_like(const dp_tensor *t, dp_dtype dtype, dpi_target at, dp_memory_format f,
                   dp_tensor **out, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    const int64_t *like = g->strides;
    dp_dtype wanted = dtype == DP_DTYPE_NONE ? t->dtype : dtype;

    if (f != DP_PRESERVE)
        return dpi_empty(wanted, at, g->ndim, g->sizes, f, out, err);
    int rc = dpi_packed_check(wanted, g->ndim, g->sizes, err);
    if (rc < 0)
        return rc;
    if (!g->dense) {
        dpi_strides_dense_like(g->ndim, g->sizes, g->strides, strides);
        like = strides;
    }
    return dpi_empty_strided(wanted, at, g->ndim, g->sizes, like, out, err);
}
