/* resize.c -- give a tensor another geometry: at::resize_, at::set_ and outputs
 * (aten/src/ATen/native/Resize.cpp).
 *
 * Other calls that are running still see the old geometry (dpi_tensors_become) and the old bytes
 * (dpi_storage_grow). */
#include "room.h"

/* Make a tensor with the dtype and the storage of `of`, and grow the storage if it is too small. */
static int over_storage(dp_account *a, const dp_tensor *of, int64_t offset, int ndim,
                        const int64_t *sizes, const int64_t *strides, dp_tensor **out,
                        dp_error *err)
{
    size_t itemsize = dp_dtype_size(of->dtype);
    dpi_layout l;
    int rc = dpi_packed_check(of->dtype, ndim, sizes, err);

    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, offset, &l, err);
    if (rc == DP_OK)
        rc = dp_sizes_check(dp_size_times(itemsize, (uint64_t)l.extent), DP_LIMIT_STORAGE_BYTES,
                            "DP_LIMIT_STORAGE_BYTES", sizes, (size_t)ndim, itemsize, err);
    if (rc == DP_OK)
        rc = dpi_storage_grow(dpi_storage_of(of), a, dpi_layout_bytes(&l, itemsize), err);
    return rc < 0 ? rc : dpi_tensor_on(of, &l, out, err);
}

int dpi_reshaped(dp_account *a, const dp_tensor *t, int ndim, const int64_t *sizes,
                 const int64_t *strides, dp_tensor **out, dp_error *err)
{
    int rc = dpi_no_wrapper(t, err);

    if (rc == DP_OK)
        rc = dpi_change_check(t, err);
    return rc < 0 ? rc
                  : over_storage(a, t, dpi_geometry_of(t)->offset, ndim, sizes, strides, out, err);
}

/* Give `t` the geometry of `fresh`, and release `fresh` in any case. */
static int become(dp_tensor *t, dp_tensor *fresh, dp_error *err)
{
    int rc = dpi_tensors_become(1, &t, &fresh, err);

    if (rc < 0) /* another call changed `t` meanwhile */
        dp_tensor_unref(fresh);
    return rc;
}

int dpi_resize_output(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes,
                      const int64_t *strides, dp_error *err)
{
    dp_tensor *fresh = NULL;
    int rc = dpi_reshaped(a, t, ndim, sizes, strides, &fresh, err);

    return rc < 0 ? rc : become(t, fresh, err);
}

int dpi_resize(dp_account *a, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format f,
               dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    int rc = dpi_sizes_check(ndim, sizes, &(int64_t){0}, err);

    if (rc < 0)
        return rc;
    bool same = ndim == g->ndim &&
                (ndim == 0 || memcmp(sizes, g->sizes, (size_t)ndim * sizeof(*sizes)) == 0);
    if (same && f == DP_PRESERVE)
        return DP_OK;
    rc = dpi_strides_format(ndim, sizes, f == DP_PRESERVE ? DP_CONTIGUOUS : f, strides, err);
    return rc < 0 ? rc : dpi_resize_output(a, t, ndim, sizes, strides, err);
}

int dpi_set_storage(dp_account *a, dp_tensor *t, const dp_tensor *source, int64_t offset, int ndim,
                    const int64_t *sizes, const int64_t *strides, dp_error *err)
{
    char own_name[DP_KEY_NAME_MAX], source_name[DP_KEY_NAME_MAX];
    dp_device device = dpi_storage_of(t)->device, source_device = dpi_storage_of(source)->device;
    dp_tensor *fresh = NULL;
    int rc = dpi_no_wrapper(t, err);

    if (rc == DP_OK)
        rc = dpi_no_wrapper(source, err);
    if (rc < 0)
        return rc;
    if (t->dtype != source->dtype)
        return dp_error_set(err, DP_ERUNTIME,
                            "Expected a Storage of type %s, but got type %s for argument 1 "
                            "'storage'",
                            dp_dtype_name(t->dtype), dp_dtype_name(source->dtype));
    if (device != source_device)
        return dp_error_set(
            err, DP_ERUNTIME,
            "Attempted to set the storage of a tensor on device \"%s\" to a storage "
            "on different device \"%s\"",
            dp_device_name(device, own_name), dp_device_name(source_device, source_name));
    if (dpi_storage_of(t)->memoryless != dpi_storage_of(source)->memoryless)
        return dp_error_set(
            err, DP_ERUNTIME,
            "Attempted to set the storage of a tensor with memory to one without, or "
            "the reverse (a fake)");
    rc = over_storage(a, source, offset, ndim, sizes, strides, &fresh, err);
    return rc < 0 ? rc : become(t, fresh, err);
}
