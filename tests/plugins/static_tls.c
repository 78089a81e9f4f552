/* static_tls.c -- needs static TLS, of which a process has little and never gets any back. */
/* CFLAGS: -ftls-model=initial-exec */
#include <dispatchd/plugin.h>

DP_PLUGIN(static_tls, "1.0")

static __thread volatile int64_t calls;

static int kernel(dp_ctx *ctx, dp_tensor *self, int64_t *out)
{
    (void)ctx;
    (void)self;
    *out = ++calls;
    return 0;
}

DP_LIBRARY(static_tls, DP_DEF("f(Tensor self) -> int"))
DP_LIBRARY_IMPL(static_tls, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (i)))
