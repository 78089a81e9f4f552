/* host_tensor.c -- the tensor functions of api.h.
 *
 * Each function calls the function of the same purpose in libdispatch/tensor, with the context's
 * error, memory and threads. */
#include "base/kind.h"
#include "enter.h"
#include "viewed.h"
#include <dispatchd/iter.h>

int dp_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
             dp_memory_format format, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    return dpi_empty(dtype, dpi_ctx_target(ctx, device), ndim, sizes, format, out, &ctx->error);
}

int dp_empty_strided(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                     const int64_t *strides, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    return dpi_empty_strided(dtype, dpi_ctx_target(ctx, device), ndim, sizes, strides, out,
                             &ctx->error);
}

int dp_empty_like(dp_ctx *ctx, const dp_tensor *t, dp_dtype dtype, dp_memory_format format,
                  dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    return dpi_empty_like(t, dtype, dpi_ctx_target(ctx, dpi_storage_of(t)->device), format, out,
                          &ctx->error);
}

int dp_fake(dp_ctx *ctx, const dp_tensor *t, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    return dpi_tensor_fake(t, out, &ctx->error);
}

/* Call dpi_viewed_made() for *out, a view of `t`, if `rc` is 0.  `rc` is the result of the function
 * that made the view; return it unchanged. */
static int join_view(dp_ctx *ctx, const dp_tensor *t, int rc, dp_tensor **out)
{
    if (rc == 0 && *out != NULL)
        dpi_viewed_made(ctx, (dp_tensor *)(uintptr_t)t, *out);
    return rc;
}

int dp_as_strided(dp_ctx *ctx, const dp_tensor *t, int ndim, const int64_t *sizes,
                  const int64_t *strides, int64_t storage_offset, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    return join_view(
        ctx, t, dpi_as_strided(t, ndim, sizes, strides, storage_offset, out, &ctx->error), out);
}

int dp_view_sizes(dp_ctx *ctx, const dp_tensor *t, int ndim, const int64_t *sizes, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    return join_view(ctx, t, dpi_view_sizes(t, ndim, sizes, out, &ctx->error), out);
}

int dp_view_as(dp_ctx *ctx, const dp_tensor *t, dp_dtype dtype, uint64_t flip, int ndim,
               const int64_t *sizes, const int64_t *strides, int64_t storage_offset,
               dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, out))
        return DP_EPLUGIN;
    if (dp_dtype_size(dtype) == 0)
        return dp_fail(ctx, DP_ETYPE, "a view in dtype number %d, which no dtype has", dtype);
    if (flip & ~DPI_MATH_BITS)
        return dp_fail(ctx, DP_EVALUE, "a view flips Conjugate and Negative, no other keys");
    return join_view(
        ctx, t, dpi_view_as(t, dtype, flip, ndim, sizes, strides, storage_offset, out, &ctx->error),
        out);
}

int dp_scalar_tensor(dp_ctx *ctx, dp_value scalar, dp_dtype dtype, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, out))
        return DP_EPLUGIN;
    return dpi_scalar_tensor(ctx->account, scalar, dtype, out, &ctx->error);
}

static bool on_host(const dp_tensor *t)
{
    return dp_device_backend(dpi_geometry_of(t)->storage->device) == DP_B_CPU;
}

static int report_stop(dp_ctx *ctx, int rc)
{
    bool is_stop = rc == DP_ECANCELLED || rc == DP_EDEADLINE || rc == DPI_THREAD_LEFT;

    return DPI_UNLIKELY(is_stop) ? dpi_fail_stopped(ctx, rc) : rc;
}

int dp_copy(dp_ctx *ctx, dp_tensor *dst, const dp_tensor *src)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, dst, src))
        return DP_EPLUGIN;
    int rc = dpi_copy_until(dst, src, ctx->threads, &ctx->stop, &ctx->error);
    bool stopped_early = rc == DP_ECANCELLED || rc == DP_EDEADLINE;

    /* On the CPU, any other failure is a failed check: no byte was written. */
    if (rc == 0 || stopped_early || !on_host(dst) || !on_host(src))
        dpi_ctx_touch(ctx);
    /* Outside of kernels no schema marks `dst` as written, so its version is increased here. */
    if ((rc == 0 || stopped_early) && is_top(ctx))
        dp_tensor_bump_version(dst);
    return report_stop(ctx, rc);
}

int dp_broadcast_shapes(dp_ctx *ctx, int na, const int64_t *a, int nb, const int64_t *b,
                        int64_t *out)
{
    return dpi_broadcast_shapes(na, a, nb, b, out, &ctx->error);
}

DPI_HOT int dp_iter_build(dp_ctx *ctx, const dp_iter_config *config, dp_iter *it)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, config, it))
        return DP_EPLUGIN;
    int rc = dpi_iter_init(config, dpi_ctx_fake(ctx), ctx->account, &ctx->arena, it, &ctx->error);

    if (rc == 0)
        dpi_ctx_touch(ctx); /* the kernel learns from `it` that there is memory to write to */
    if (DPI_LIKELY(rc < 0 || it->resized == 0))
        return rc;
    for (int k = 0; k < it->n_out; k++) {
        const dpi_geometry *replaced = dpi_replaced_of(dpi_geometry_of(it->tensors[k]));
        if ((it->resized >> k & 1) && replaced != NULL && replaced->numel > 0)
            dpi_warn_resized(ctx, replaced, it->tensors[k]);
    }
    return DP_OK;
}

DPI_HOT int dp_iter_run(dp_ctx *ctx, const dp_iter *it, dp_iter_loop2d loop, void *user)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, it, loop))
        return DP_EPLUGIN;
    return report_stop(ctx, dpi_iter_run(it, ctx->threads, loop, user, &ctx->stop, &ctx->error));
}

int dp_iter_run_1d(dp_ctx *ctx, const dp_iter *it, dp_iter_loop loop, void *user)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, it, loop))
        return DP_EPLUGIN;
    return report_stop(ctx, dpi_iter_run_1d(it, ctx->threads, loop, user, &ctx->stop, &ctx->error));
}

int dp_iter_reduce(dp_ctx *ctx, const dp_iter *it, const dp_reduction *r, void *user)
{
    return report_stop(
        ctx, dpi_iter_reduce(it, ctx->threads, r, user, &ctx->arena, &ctx->stop, &ctx->error));
}

int dp_resize(dp_ctx *ctx, dp_tensor *t, int ndim, const int64_t *sizes, dp_memory_format format)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    if (dpi_check_changes(ctx, t) < 0)
        return ctx->error.code;
    return dpi_resize(ctx->account, t, ndim, sizes, format, &ctx->error);
}

int dp_set_storage(dp_ctx *ctx, dp_tensor *t, const dp_tensor *source, int64_t storage_offset,
                   int ndim, const int64_t *sizes, const int64_t *strides)
{
    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, t, source))
        return DP_EPLUGIN;
    if (ndim > 0 && !DPI_GIVEN(&ctx->error, DP_EPLUGIN, sizes))
        return DP_EPLUGIN;
    if (dpi_check_changes(ctx, t) < 0)
        return ctx->error.code;
    return dpi_set_storage(ctx->account, t, source, storage_offset, ndim, sizes, strides,
                           &ctx->error);
}

/* Check that the plugin of the running kernel may make wrappers of w's kind.  DP_EPLUGIN: another
 * plugin has declared that kind. */
static int check_maker(dp_ctx *ctx, const dp_wrapper *w)
{
    const dpi_kernel *k = dpi_ctx_kernel(ctx);

    return k != NULL && w->size >= offsetof(dp_wrapper, keys) && w->kind != NULL
               ? dpi_kind_check_maker(w->kind, k->gen->plugin, &ctx->error)
               : 0;
}

int dp_wrapper_new(dp_ctx *ctx, const dp_wrapper *w, dp_tensor **out)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, w, out))
        return DP_EVALUE;
    int rc = check_maker(ctx, w);
    return rc == 0 ? dpi_wrapper_new(w, out, &ctx->error) : rc;
}

int dp_wrapper_become(dp_ctx *ctx, dp_tensor *t, const dp_wrapper *w)
{
    if (!DPI_GIVEN(&ctx->error, DP_EVALUE, t, w))
        return DP_EVALUE;
    int rc = dpi_check_changes(ctx, t);
    if (rc == 0)
        rc = check_maker(ctx, w);
    return rc == 0 ? dpi_wrapper_become(t, w, &ctx->error) : rc;
}
