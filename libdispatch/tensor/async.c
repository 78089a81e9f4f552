/* async.c -- work on streams: copies, setting bytes, pinned and exported memory, and recording
 * which streams use a tensor. */
#include "base/stream.h"
#include "room.h"

/* -- a copy as rows of bytes -- */

typedef struct rows {
    size_t row_bytes, n_rows;    /* bytes of one row; number of rows */
    size_t dst_pitch, src_pitch; /* in bytes */
} rows;

/* Tell whether the outer dimensions [0, d) of `g` can be merged into one.  `*stride` gets the
 * stride of the merged dimension, in elements. */
static bool outer_dims_merge(const dpi_geometry *g, int d, int64_t *stride)
{
    int64_t next = -1;

    *stride = 0;
    for (int i = d - 1; i >= 0; i--) {
        if (g->sizes[i] == 1)
            continue;
        if (next < 0)
            *stride = g->strides[i];
        else if (g->strides[i] != next)
            return false;
        next = g->strides[i] * g->sizes[i];
    }
    return true;
}

/* Describe a copy between tensors with equal sizes and dtype as rows.  Returns false if the rows do
 * not have one constant pitch in each tensor. */
static bool as_rows(const dpi_geometry *dst, const dpi_geometry *src, size_t itemsize, rows *out)
{
    int64_t run = 1, to, from;
    int d = dst->ndim;

    for (; d > 0; d--) {
        int64_t size = dst->sizes[d - 1];
        if (size != 1 && (dst->strides[d - 1] != run || src->strides[d - 1] != run))
            break;
        run *= size;
    }
    if (!outer_dims_merge(dst, d, &to) || !outer_dims_merge(src, d, &from))
        return false;
    *out = (rows){.row_bytes = (size_t)run * itemsize, .n_rows = (size_t)(dst->numel / run)};
    out->dst_pitch = out->n_rows > 1 ? (size_t)to * itemsize : out->row_bytes;
    out->src_pitch = out->n_rows > 1 ? (size_t)from * itemsize : out->row_bytes;
    return out->dst_pitch >= out->row_bytes && out->src_pitch >= out->row_bytes;
}

/* -- copies -- */

/* Tell whether a stream of `d` can copy to or from `t` asynchronously: `t` is on the stream's
 * device, or in host memory that d's code pinned. */
static bool stream_reaches(const dp_tensor *t, const dpi_device *d, dp_device device)
{
    const dpi_storage *s = dpi_storage_of(t);
    const dpi_block *b = dpi_block_of(s);

    return s->device == device || (b != NULL && dpi_block_pinned_by(b) == d);
}

/* Tell whether `src` is on the stream's device and `dst` on another device of the backend, and the
 * backend can copy between devices.  `d` is the stream's device. */
static bool is_between(const dp_tensor *dst, const dp_tensor *src, const dpi_device *d,
                       dp_device device)
{
    dp_device to = dpi_storage_of(dst)->device;

    return d->ops.copy_between && dpi_storage_of(src)->device == device && to != device &&
           dp_device_backend(to) == dp_device_backend(device);
}

/* Tell whether d->ops.copy_async can do the copy; `*r` is set to its rows. */
static bool can_enqueue(const dp_tensor *dst, const dp_tensor *src, const dpi_device *d,
                        dp_device device, rows *r)
{
    const dpi_geometry *to = dpi_geometry_of(dst), *from = dpi_geometry_of(src);

    return d->ops.copy_async && dst->dtype == src->dtype &&
           dpi_math_bits(dst) == dpi_math_bits(src) && dpi_same_sizes(to, from) &&
           (is_between(dst, src, d, device) || stream_reaches(dst, d, device)) &&
           stream_reaches(src, d, device) &&
           (to->storage->device == device || from->storage->device == device) &&
           as_rows(to, from, dp_dtype_size(dst->dtype), r);
}

/* The caller has entered `d`, the stream's device. */
static int enqueue(dpi_device *d, const rows *r, dp_tensor *dst, const dp_tensor *src, dp_stream *s,
                   dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    dp_device device = dp_stream_device(s);
    bool down = dpi_storage_of(src)->device != device, up = dpi_storage_of(dst)->device != device;
    bool between = is_between(dst, src, d, device);
    dp_device_copy c = {.size = (uint32_t)sizeof(c),
                        .index = dp_device_index(device),
                        .direction = between ? DP_BETWEEN_DEVICES
                                     : down  ? DP_HOST_TO_DEVICE
                                     : up    ? DP_DEVICE_TO_HOST
                                             : DP_ON_DEVICE,
                        .dst_index =
                            dp_device_index(between ? dpi_storage_of(dst)->device : device),
                        .dst = dpi_tensor_data(dst),
                        .src = dpi_tensor_data(src),
                        .bytes = r->row_bytes,
                        .rows = r->n_rows,
                        .dst_pitch = r->dst_pitch,
                        .src_pitch = r->src_pitch,
                        .stream = dp_stream_handle(s)};
    /* recorded before the copy starts, so that a failure here leaves no copy running */
    int rc = dpi_record_stream(dst, s, err);

    if (rc == DP_OK)
        rc = dpi_record_stream((dp_tensor *)(uintptr_t)src, s, err);
    if (rc == DP_OK && (rc = d->ops.copy_async(&c, &theirs)) != 0)
        rc = dpi_device_failed(d, "copy_async", rc, &theirs, err);
    return rc;
}

/* The caller has entered `d`. */
static int copy_async(dpi_device *d, dp_tensor *dst, const dp_tensor *src, dp_stream *s,
                      int threads, dp_error *err)
{
    rows r;

    if (dst != src && dpi_geometry_of(dst)->numel > 0 && !dpi_is_memoryless(dst) &&
        !dpi_is_memoryless(src) && can_enqueue(dst, src, d, dp_stream_device(s), &r)) {
        int rc = dpi_overlap_check(dst, NULL, err);
        if (rc == DP_OK)
            rc = dpi_overlap_check(dst, src, err);
        if (rc == DP_OK)
            rc = dpi_tensor_check_device(dst, err);
        if (rc == DP_OK)
            rc = dpi_tensor_check_device(src, err);
        return rc < 0 ? rc : enqueue(d, &r, dst, src, s, err);
    }
    int rc = dpi_stream_synchronize(s, err);
    return rc < 0 ? rc : dpi_copy(dst, src, threads, err);
}

int dpi_copy_async(dp_tensor *dst, const dp_tensor *src, dp_stream *s, int threads, dp_error *err)
{
    dpi_device *d;
    void *handle;
    int rc = dpi_stream_enter(s, &d, &handle, err);

    if (rc < 0)
        return rc;
    rc = copy_async(d, dst, src, s, threads, err);
    dpi_device_leave(d);
    return rc;
}

/* -- setting bytes -- */

/* Copy from a buffer in host memory, chunk by chunk.  The caller has entered `d`. */
static int fill_staged(const dpi_device *d, dp_device device, char *p, int byte, size_t bytes,
                       dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    char chunk[4096];
    int rc = 0;

    memset(chunk, byte, sizeof(chunk));
    for (size_t n; bytes > 0 && rc == 0; p += n, bytes -= n) {
        n = bytes < sizeof(chunk) ? bytes : sizeof(chunk);
        rc = d->ops.copy(dp_device_index(device), p, chunk, n, DP_HOST_TO_DEVICE, &theirs);
    }
    return rc ? dpi_device_failed(d, "copy", rc, &theirs, err) : DP_OK;
}

/* The caller has entered `d`. */
static int fill_on_device(const dpi_device *d, dp_tensor *t, int byte, size_t bytes, dp_stream *s,
                          dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    int rc;

    if (d->ops.fill == NULL) {
        rc = dpi_stream_synchronize(s, err);
        return rc < 0 ? rc
                      : fill_staged(d, dp_stream_device(s), dpi_tensor_data(t), byte, bytes, err);
    }
    if ((rc = dpi_record_stream(t, s, err)) < 0)
        return rc;
    rc = d->ops.fill(dp_device_index(dp_stream_device(s)), dp_stream_handle(s), dpi_tensor_data(t),
                     byte, bytes, &theirs);
    return rc ? dpi_device_failed(d, "fill", rc, &theirs, err) : DP_OK;
}

static int check_fill(const dp_tensor *t, const dp_stream *s, dp_error *err)
{
    char tensor_name[DP_KEY_NAME_MAX], stream_name[DP_KEY_NAME_MAX];
    const dpi_storage *storage = dpi_storage_of(t);

    if (!dpi_geometry_of(t)->dense)
        return dp_error_set(err, DP_ERUNTIME, "dp_fill_bytes() takes dense tensors only");
    if (!storage->host && storage->device != dp_stream_device(s))
        return dp_error_set(err, DP_ERUNTIME, "a tensor on %s and a stream of %s",
                            dp_device_name(storage->device, tensor_name),
                            dp_device_name(dp_stream_device(s), stream_name));
    return DP_OK;
}

int dpi_fill_bytes(dp_tensor *t, int byte, dp_stream *s, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    size_t bytes = dp_size_times((uint64_t)g->numel, dp_dtype_size(t->dtype));
    dpi_device *d;
    int rc = check_fill(t, s, err);

    if (rc < 0 || bytes == 0 || g->storage->memoryless)
        return rc;
    rc = dpi_storage_enter(g->storage, &d, err);
    if (rc < 0)
        return rc;
    if (g->storage->host) {
        rc = dpi_tensor_is_pinned(t) ? dpi_stream_synchronize(s, err) : DP_OK;
        if (rc == DP_OK)
            memset(dpi_tensor_data(t), byte, bytes);
    } else {
        rc = fill_on_device(d, t, byte, bytes, s, err);
    }
    dpi_device_leave(d);
    return rc;
}

/* -- memory shared with other processes -- */

/* The caller has entered `d`. */
static int export_block(dpi_device *d, const dpi_storage *s, dp_exported *out, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    dp_exported e = {.size = (uint32_t)sizeof(e), .index = dp_device_index(s->device)};

    if (s->host || d->ops.export_block == NULL || s->data == NULL)
        return dp_error_set(err, DP_ENOTIMPL,
                            "backend %s exports no such memory to other processes", d->name);
    e.bytes = dpi_memory_of(s)->bytes;
    int rc = d->ops.export_block(e.index, dpi_memory_of(s)->data, e.bytes, &e.name, &theirs);
    if (rc != 0)
        return dpi_device_failed(d, "export_block", rc, &theirs, err);
    memcpy((char *)out + sizeof(out->size), (char *)&e + sizeof(e.size),
           (out->size < sizeof(e) ? out->size : sizeof(e)) - sizeof(e.size));
    return DP_OK;
}

int dpi_tensor_export(const dp_tensor *t, dp_exported *out, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dpi_device *d;
    int rc = dpi_no_wrapper(t, err);

    if (rc == DP_OK && out->size < sizeof(*out))
        rc = dp_error_set(err, DP_EVALUE, "dp_exported has %u bytes, not %zu", out->size,
                          sizeof(*out));
    if (rc == DP_OK)
        rc = dpi_storage_enter(g->storage, &d, err);
    if (rc < 0)
        return rc;
    rc = export_block(d, g->storage, out, err);
    if (rc == DP_OK)
        out->offset_bytes = g->offset * (int64_t)dp_dtype_size(t->dtype);
    dpi_device_leave(d);
    return rc;
}

/* -- pinned memory, and memory that streams use -- */

bool dpi_tensor_is_pinned(const dp_tensor *t)
{
    const dpi_block *b = dpi_block_of(dpi_storage_of(t));

    return b != NULL && dpi_block_pinned_by(b) != NULL;
}

int dpi_record_stream(dp_tensor *t, dp_stream *s, dp_error *err)
{
    dpi_block *b = dpi_block_of(dpi_storage_of(t));

    return b ? dpi_block_record(b, s, err) : DP_OK;
}

/* The caller has entered `d`. */
static int empty_pinned(dpi_device *d, dp_dtype dtype, dpi_target at, int ndim,
                        const int64_t *sizes, dp_tensor **out, dp_error *err)
{
    dpi_block *b;
    int64_t numel;
    void *data;
    int rc = dpi_packed_check(dtype, ndim, sizes, err);

    if (rc == DP_OK)
        rc = dpi_sizes_check(ndim, sizes, &numel, err);
    if (rc < 0)
        return rc;
    size_t bytes = (size_t)numel * dp_dtype_size(dtype);
    if (d->ops.pin == NULL || bytes == 0)
        return dpi_empty(dtype, (dpi_target){DP_DEVICE_CPU, 0, at.account}, ndim, sizes,
                         DP_CONTIGUOUS, out, err);
    dpi_charge charge = {0};
    if (at.account != NULL && (rc = dpi_charge_begin(&charge, at.account, bytes, err)) < 0)
        return rc;
    rc = dpi_block_pin(d, at.device, bytes, &b, &data, err);
    if (rc == DP_OK) {
        rc = dp_tensor_wrap(dtype, ndim, sizes, NULL, data, bytes, dpi_block_release, b, out, err);
        if (rc < 0)
            dpi_block_drop(b);
    }
    if (rc == DP_OK)
        dpi_storage_set_charge(dpi_storage_of(*out), charge);
    else
        dpi_charge_end(charge);
    return rc;
}

int dpi_empty_pinned(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes, dp_tensor **out,
                     dp_error *err)
{
    dpi_device *d;
    int rc = dpi_device_enter(dp_device_backend(at.device), &d, err);

    if (rc < 0)
        return rc;
    rc = empty_pinned(d, dtype, at, ndim, sizes, out, err);
    dpi_device_leave(d);
    return rc;
}
