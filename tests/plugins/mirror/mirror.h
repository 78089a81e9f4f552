/* mirror.h -- makes the sources of plugin cpu those of plugin mirror, whose backend has the host's
 * memory: `dispatchctl conform --device mirror` must find nothing.
 *
 * The compiler includes it before each source.  Kernels of CPU become kernels of mirror, what the
 * sources register for other keys is left to plugin cpu, and where they say CPU they mean mirror.
 */
#ifndef MIRROR_H
#define MIRROR_H
#include <dispatchd/plugin.h>
#include <string.h>

/* -- the device -- */

static inline dp_device mirror_device(void)
{
    static int found; /* 0, the CPU's: not yet; all threads find the same */
    char name[DP_KEY_NAME_MAX];
    int backend = __atomic_load_n(&found, __ATOMIC_RELAXED);

    for (int b = 0; backend == 0 && b < 64; b++)
        if (strcmp(dp_key_name(DP_KEY_OF(DP_F_Dense, b), name), "mirror") == 0)
            backend = b;
    __atomic_store_n(&found, backend, __ATOMIC_RELAXED);
    return DP_DEVICE(backend, 0);
}

static inline int mirror_backend(dp_device d)
{
    return d == mirror_device() ? DP_B_CPU : d >> 16;
}

/* The session's generator of the CPU: a device's own is no stream. */
static inline int mirror_generator_enter(dp_ctx *ctx, dp_generator *g)
{
    return dp_generator_enter(ctx, g, DP_DEVICE_CPU);
}

static inline int mirror_scalar_tensor(dp_ctx *ctx, dp_value scalar, dp_dtype dtype,
                                       dp_tensor **out)
{
    dp_tensor *here;
    int rc = dp_scalar_tensor(ctx, scalar, dtype, &here);

    if (rc < 0)
        return rc;
    DP_VIEW(x, here);
    rc = dp_empty(ctx, x.dtype, mirror_device(), 0, NULL, DP_CONTIGUOUS, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, here);
    if (rc == 0)
        dp_tensor_set_wrapped(*out, dp_tensor_is_wrapped(here));
    dp_tensor_unref(here);
    return rc;
}

#undef DP_DEVICE_CPU
#define DP_DEVICE_CPU                      mirror_device()
#define dp_device_backend                  mirror_backend
#define dp_generator_enter(ctx, g, device) mirror_generator_enter(ctx, g)
#define dp_scalar_tensor                   mirror_scalar_tensor

/* -- registrations -- */

#undef DP_PLUGIN
#define DP_PLUGIN(name, version)                                                                   \
    DP_BLOCK_PLAIN(__COUNTER__, DP_BLOCK_PLUGIN, 0,                                                \
                   "plugin\t" DP_STR(DP_ABI_MAJOR) "." DP_STR(DP_ABI_MINOR) "-draft" DP_STR(       \
                       DP_ABI_DRAFT) "\t" DP_STR(DP_ABI_TARGET),                                   \
                   "mirror", version, 0, 0)                                                        \
    DP_BACKEND(mirror)

#define MIRROR_CPU(flags, ns, ...)                                                                 \
    DP_BLOCK_ITEMS(__COUNTER__, DP_BLOCK_IMPL, flags, "impl", #ns, "mirror", __VA_ARGS__)
#define MIRROR_Autograd(...)
#define MIRROR_BackendSelect(...)
#define MIRROR_CompositeExplicitAutograd(...)
#define MIRROR_CompositeExplicitAutogradNonFunctional(...)

#undef DP_LIBRARY_IMPL
#undef DP_LIBRARY_META
#undef DP_LIBRARY_VIEWS
#define DP_LIBRARY_IMPL(ns, key, ...)  MIRROR_##key(0, ns, __VA_ARGS__)
#define DP_LIBRARY_META(ns, key, ...)  MIRROR_##key(0, ns, __VA_ARGS__)
#define DP_LIBRARY_VIEWS(ns, key, ...) MIRROR_##key(DP_FLAG_META | DP_FLAG_VIEWS, ns, __VA_ARGS__)

#endif
