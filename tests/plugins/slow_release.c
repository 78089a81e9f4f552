/* slow_release.c -- a backend whose memory takes its time to be given back. */
#include <dispatchd/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

DP_PLUGIN(slow_release, "1.0")

static int allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    (void)index, (void)stream;
    *out = aligned_alloc(64, (bytes + 64) / 64 * 64);
    return *out != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "no memory for %zu bytes", bytes);
}

static void release(int index, void *p, size_t bytes, void *stream)
{
    struct timespec t = {0, 30 * 1000000};

    (void)stream, (void)index, (void)bytes;
    nanosleep(&t, NULL);
    free(p);
}

static int copy(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err)
{
    (void)index, (void)direction, (void)err;
    memmove(dst, src, bytes);
    return 0;
}

static const dp_device_ops ops = {
    .size = (uint32_t)sizeof(dp_device_ops),
    .allocate = allocate,
    .release = release,
    .copy = copy,
};
DP_BACKEND_DEVICE(slowdev, ops)

/* make(Tensor self) -> Tensor: an element on the device. */
static int make(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device device;
    int64_t one = 1;
    int rc = dp_device_find(ctx, "slowdev", &device);

    (void)self;
    return rc < 0 ? rc : dp_empty(ctx, DP_FLOAT32, device, 1, &one, DP_CONTIGUOUS, out);
}

DP_LIBRARY(slow_release, DP_DEF("make(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(slow_release, CPU, DP_IMPL_UNBOXED("make", make, (T), (T)))
