/* slow_copies.c -- a backend whose copies to and from the host take as long as it is told; it
 * counts them, and those that the process's first thread made, which is the daemon's loop. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

DP_PLUGIN(slow_copies, "1.0")

static atomic_long copies, first_thread, ms;

static int allocate(int index, size_t bytes, void *stream, void **out, dp_error *err)
{
    (void)index, (void)stream;
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *out != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory");
}

static void release(int index, void *p, size_t bytes, void *stream)
{
    (void)index, (void)stream;
    (void)bytes;
    free(p);
}

static int copy(int index, void *dst, const void *src, size_t bytes, int direction, dp_error *err)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    (void)index;
    (void)err;
    (void)direction;
    copies++;
    first_thread += syscall(SYS_gettid) == getpid();
    nanosleep(&t, NULL);
    memcpy(dst, src, bytes);
    return 0;
}

static const dp_device_ops ops = {
    .size = sizeof(ops), .allocate = allocate, .release = release, .copy = copy};
DP_BACKEND_DEVICE(slowdev, ops)

/* Copies from now on take so many milliseconds; the counts begin again. */
static int set(dp_ctx *ctx, int64_t milliseconds)
{
    (void)ctx;
    ms = milliseconds;
    copies = first_thread = 0;
    return 0;
}

static int counts(dp_ctx *ctx, int64_t *all, int64_t *on_first_thread)
{
    (void)ctx;
    *all = copies;
    *on_first_thread = first_thread;
    return 0;
}

/* Takes two tensors of the device, and copies nothing. */
static int take(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, int64_t *out)
{
    (void)ctx;
    DP_VIEW(x, a);
    DP_VIEW(y, b);
    *out = x.numel + y.numel;
    return 0;
}

/* Copies to the host, as item() does. */
static int fetch(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, DP_DEVICE_CPU, x.ndim, x.sizes, DP_CONTIGUOUS, out);

    return rc < 0 ? rc : dp_copy(ctx, *out, self);
}

/* Copies to the device that is named. */
static int send(dp_ctx *ctx, dp_tensor *self, int64_t device, dp_tensor **out)
{
    DP_VIEW(x, self);
    int rc = dp_empty(ctx, x.dtype, (dp_device)device, x.ndim, x.sizes, DP_CONTIGUOUS, out);

    return rc < 0 ? rc : dp_copy(ctx, *out, self);
}

DP_LIBRARY(slow, DP_DEF("set(int ms) -> ()"), DP_DEF("counts() -> (int, int)"),
           DP_DEF("take(Tensor a, Tensor b) -> int"), DP_DEF("fetch(Tensor self) -> Tensor"),
           DP_DEF("send(Tensor self, Device device) -> Tensor"))
DP_LIBRARY_IMPL(slow, CompositeExplicitAutograd, DP_IMPL_UNBOXED("set", set, (i), ()),
                DP_IMPL_UNBOXED("counts", counts, (), (i, i)))
DP_LIBRARY_IMPL(slow, CPU, DP_IMPL_UNBOXED("send", send, (T, i), (T)))
DP_LIBRARY_IMPL(slow, slowdev, DP_IMPL_UNBOXED("take", take, (T, T), (i)),
                DP_IMPL_UNBOXED("fetch", fetch, (T), (T)))
