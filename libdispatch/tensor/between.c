/* between.c -- copies between two devices of one backend that do not go through host memory. */
#include "room.h"

bool dpi_copies_between(const dp_tensor *dst, const dp_tensor *src)
{
    dp_device to = dpi_storage_of(dst)->device, from = dpi_storage_of(src)->device;
    dpi_device *d;
    bool can = false;

    if (to != from && dp_device_backend(to) == dp_device_backend(from) &&
        dpi_device_enter(dp_device_backend(to), &d, NULL) == DP_OK) {
        can = d->ops.copy_between != NULL;
        dpi_device_leave(d);
    }
    return can;
}

int dpi_copy_between(dp_tensor *dst, const dp_tensor *src, size_t bytes, dp_error *err)
{
    dp_device to = dpi_storage_of(dst)->device, from = dpi_storage_of(src)->device;
    dp_error theirs = DP_ERROR_INIT;
    dpi_device *d, *src_d;
    int rc = dpi_storage_enter(dpi_storage_of(dst), &d, err);

    if (rc < 0)
        return rc;
    rc = dpi_storage_enter(dpi_storage_of(src), &src_d, err);
    if (rc < 0) {
        dpi_device_leave(d);
        return rc;
    }
    if (d != src_d || d->ops.copy_between == NULL) /* the backend was reloaded meanwhile */
        rc = dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", d->name);
    else if ((rc = d->ops.copy_between(dp_device_index(to), dpi_tensor_data(dst),
                                       dp_device_index(from), dpi_tensor_data(src), bytes,
                                       &theirs)) != 0)
        rc = dpi_device_waited(d, "copy_between", rc, &theirs, from, DPI_ALL_STREAMS, err);
    dpi_device_leave(src_d);
    dpi_device_leave(d);
    return rc;
}
