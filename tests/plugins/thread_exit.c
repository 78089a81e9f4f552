/* thread_exit.c -- leaves a destructor with the calling thread, as a C++ thread_local does: mapped
 * until that thread ends. */
#include <dispatchd/plugin.h>

DP_PLUGIN(thread_exit, "1.0")

extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

static int destroyed;

static void destroy(void *object)
{
    *(int *)object = 1;
}

static int kernel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    if (__cxa_thread_atexit_impl(destroy, &destroyed, &__dso_handle))
        return dp_fail(ctx, DP_ERESOURCE, "no memory for a destructor");
    *out = dp_tensor_ref(self);
    return 0;
}

DP_LIBRARY(thread_exit, DP_DEF("f(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(thread_exit, CPU, DP_IMPL_UNBOXED("f", kernel, (T), (T)))
