/* slow_release.c -- tensors of the host whose last reference takes its time to go: an object that
 * they carry does. */
#include <dispatchd/plugin.h>
#include <time.h>

DP_PLUGIN(slow_release, "1.0")

static int end(void *data, dp_error *err)
{
    (void)data, (void)err;
    nanosleep(&(struct timespec){0, 30 * 1000000}, NULL);
    return 0;
}

static const dp_object_ops lingers = {.size = sizeof(lingers), .end = end};
DP_OBJECT_KIND(slow_release, Lingers, lingers)

/* make(Tensor self) -> Tensor: a copy that carries such an object. */
static int make(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_object *o = NULL;
    int rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc == 0)
        rc = dp_object_new(ctx, &lingers, 1, NULL, 0, &o);
    if (rc == 0) {
        dp_value v = dp_object_value(o);
        rc = dp_tensor_attach(ctx, *out, "slow_release", &v);
        dp_object_unref(o);
    }
    return rc;
}

DP_LIBRARY(slow_release, DP_DEF("make(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(slow_release, CPU, DP_IMPL_UNBOXED("make", make, (T), (T)))
