/* device.c -- the functions of api.h on devices, streams and events.
 *
 * Each function calls a function of the folders base or tensor, with the context's error and, if
 * needed, the current streams of the context's session. */
#include "base/stream.h"
#include "enter.h"

int dp_device_memory(dp_ctx *ctx, dp_device device, size_t *free_bytes, size_t *total_bytes)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, free_bytes, total_bytes))
        return DP_EPLUGIN;
    return dpi_device_memory(device, free_bytes, total_bytes, &ctx->error);
}

int dp_device_synchronize(dp_ctx *ctx, dp_device device)
{
    return dpi_device_synchronize(device, &ctx->error);
}

int dp_device_trim(dp_ctx *ctx, dp_device device, size_t bytes)
{
    return dpi_device_trim(device, bytes, &ctx->error);
}

int dp_stream_priorities(dp_ctx *ctx, dp_device device, int *least, int *greatest)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, least, greatest))
        return DP_EPLUGIN;
    return dpi_stream_priorities(device, least, greatest, &ctx->error);
}

int dp_stream_new(dp_ctx *ctx, dp_device device, const dp_stream_options *options, dp_stream **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    return dpi_stream_new(ctx, device, options, out, &ctx->error);
}

/* Set *out to `s`, or, if `s` is NULL, to the default stream of `device`.  The caller gets a
 * reference to *out. */
static int stream_or_default(dp_ctx *ctx, const dp_stream *s, dp_device device, dp_stream **out)
{
    if (s == NULL)
        return dpi_stream_default(device, out, &ctx->error);
    *out = dp_stream_ref((dp_stream *)(uintptr_t)s);
    return 0;
}

/* Return the device whose stream is needed to access the memory of `t`. */
static dp_device device_of(const dp_tensor *t)
{
    return dpi_geometry_of(t)->storage->device;
}

int dp_stream_query(dp_ctx *ctx, const dp_stream *s, bool *done)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, done))
        return DP_EPLUGIN;
    *done = true; /* a NULL stream is the CPU's */
    return s != NULL ? dpi_stream_query(s, done, &ctx->error) : 0;
}

int dp_stream_synchronize(dp_ctx *ctx, const dp_stream *s)
{
    return s != NULL ? dpi_stream_synchronize(s, &ctx->error) : 0;
}

/* Return the streams of the context's session.  For a context without a session, make streams that
 * live until the context is reset.  NULL: no memory; the error is set. */
static dp_streams *streams_of(dp_ctx *ctx)
{
    if (ctx->streams != NULL)
        return ctx->streams;
    if (ctx->own_streams == NULL)
        dp_streams_new(&ctx->own_streams, &ctx->error);
    dp_ctx_set_streams(ctx, ctx->own_streams);
    return ctx->streams;
}

int dp_stream_current(dp_ctx *ctx, dp_device device, dp_stream **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    dp_streams *all = streams_of(ctx);
    const dp_op *op = dpi_ctx_running(ctx); /* the kernel that will use the stream */

    return all != NULL ? dpi_streams_get(all, device, op ? op->name : NULL, out, &ctx->error)
                       : ctx->error.code;
}

int dp_stream_set_current(dp_ctx *ctx, dp_stream *s)
{
    dp_stream *stream;
    int rc = stream_or_default(ctx, s, DP_DEVICE_CPU, &stream);

    if (rc < 0)
        return rc;
    dp_streams *all = streams_of(ctx);
    rc = all != NULL ? dpi_streams_set(all, stream, &ctx->error) : ctx->error.code;
    dp_stream_unref(stream);
    return rc;
}

void dp_ctx_set_streams(dp_ctx *ctx, dp_streams *all)
{
    ctx->streams = all;
    ctx->streams_id = dpi_streams_id(all);
}

int dp_event_new(dp_ctx *ctx, dp_device device, uint32_t flags, dp_event **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    return dpi_event_new(device, flags, out, &ctx->error);
}

int dp_event_record(dp_ctx *ctx, dp_event *e, const dp_stream *s)
{
    dp_stream *stream;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, e))
        return DP_EPLUGIN;
    int rc = stream_or_default(ctx, s, dpi_event_device(e), &stream);
    if (rc < 0)
        return rc;
    rc = dpi_event_record(e, stream, &ctx->error);
    dp_stream_unref(stream);
    return rc;
}

int dp_event_wait(dp_ctx *ctx, const dp_event *e, const dp_stream *s)
{
    dp_stream *stream;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, e))
        return DP_EPLUGIN;
    int rc = stream_or_default(ctx, s, dpi_event_device(e), &stream);
    if (rc < 0)
        return rc;
    rc = dpi_event_wait(e, stream, &ctx->error);
    dp_stream_unref(stream);
    return rc;
}

int dp_event_query(dp_ctx *ctx, const dp_event *e, bool *done)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, e, done))
        return DP_EPLUGIN;
    return dpi_event_query(e, done, &ctx->error);
}

int dp_event_synchronize(dp_ctx *ctx, const dp_event *e)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, e))
        return DP_EPLUGIN;
    return dpi_event_synchronize(e, &ctx->error);
}

int dp_event_elapsed(dp_ctx *ctx, const dp_event *begin, const dp_event *end, double *ms)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, begin, end, ms))
        return DP_EPLUGIN;
    return dpi_event_elapsed(begin, end, ms, &ctx->error);
}

int dp_copy_async(dp_ctx *ctx, dp_tensor *dst, const dp_tensor *src, dp_stream *s)
{
    dp_stream *stream;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, dst, src))
        return DP_EPLUGIN;
    int rc = stream_or_default(
        ctx, s, device_of(dst) != DP_DEVICE_CPU ? device_of(dst) : device_of(src), &stream);
    if (rc < 0)
        return rc;
    dpi_ctx_touch(ctx);
    rc = dpi_copy_async(dst, src, stream, ctx->threads, &ctx->error);
    dp_stream_unref(stream);
    return rc;
}

int dp_fill_bytes(dp_ctx *ctx, dp_tensor *t, int byte, dp_stream *s)
{
    dp_stream *stream;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t))
        return DP_EPLUGIN;
    int rc = stream_or_default(ctx, s, device_of(t), &stream);
    if (rc < 0)
        return rc;
    dpi_ctx_touch(ctx);
    rc = dpi_fill_bytes(t, byte, stream, &ctx->error);
    dp_stream_unref(stream);
    return rc;
}

int dp_empty_pinned(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                    dp_tensor **out)
{
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    if (dpi_ctx_memoryless(ctx)) /* the tensor has no memory that could be pinned */
        return dpi_empty(dtype, dpi_ctx_target(ctx, DP_DEVICE_CPU), ndim, sizes, DP_CONTIGUOUS, out,
                         &ctx->error);
    return dpi_empty_pinned(dtype, (dpi_target){.device = device, .account = ctx->account}, ndim,
                            sizes, out, &ctx->error);
}

bool dp_tensor_is_pinned(const dp_tensor *t)
{
    return t != NULL && dpi_tensor_is_pinned(t);
}

int dp_record_stream(dp_ctx *ctx, dp_tensor *t, dp_stream *s)
{
    dp_stream *stream;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t))
        return DP_EPLUGIN;
    int rc = stream_or_default(ctx, s, device_of(t), &stream);
    if (rc < 0)
        return rc;
    rc = dpi_record_stream(t, stream, &ctx->error);
    dp_stream_unref(stream);
    return rc;
}

int dp_tensor_export(dp_ctx *ctx, const dp_tensor *t, dp_exported *out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    return dpi_tensor_export(t, out, &ctx->error);
}

int dp_tensor_import(dp_ctx *ctx, const dp_exported *from, dp_dtype dtype, dp_device device,
                     int ndim, const int64_t *sizes, const int64_t *strides, int64_t storage_offset,
                     dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, from, out) ||
        (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes)))
        return DP_EPLUGIN;
    return dpi_tensor_import(from, dtype, (dpi_target){.device = device, .account = ctx->account},
                             ndim, sizes, strides, storage_offset, out, &ctx->error);
}
