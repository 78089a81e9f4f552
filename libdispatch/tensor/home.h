/* home.h -- homes: one block of memory that holds a tensor and its own version, storage and
 * geometry. */
#ifndef DPI_HOME_H
#define DPI_HOME_H

#include "room.h"

#pragma GCC visibility push(hidden)

_Static_assert(sizeof(dpi_home) == offsetof(dpi_home, geometry) + sizeof(dpi_geometry),
               "sizes and strides lie right behind the geometry");
enum { INLINE_ALIGN = 64 }; /* bytes, as dpi_memory_alloc() aligns */

#define DPI_HOME_OF(part, p) ((dpi_home *)(void *)((char *)(p)-offsetof(dpi_home, part)))

/* Allocate a home with space for `ndim` sizes and strides, and for `inline_bytes` of storage data.
 * The geometry of the home is empty, and its other parts are not initialised. */
static inline dpi_home *dpi_home_new(int ndim, size_t inline_bytes)
{
    size_t dims = dp_size_times((size_t)ndim, 2 * sizeof(int64_t));
    size_t bytes = sizeof(dpi_home) + dims + (inline_bytes ? inline_bytes + INLINE_ALIGN : 0);
    bool small = bytes <= DPI_SMALL_BYTES;
    dpi_home *h = small ? dpi_small_alloc() : dp_malloc(bytes);

    if (h == NULL)
        return NULL;
    h->small = small;
    atomic_init(&h->refs, 1);
    h->geometry.storage = NULL;
    atomic_init(&h->geometry.replaced, NULL);
    h->geometry.parts = NULL;
    return h;
}

static inline void dpi_home_free(dpi_home *h)
{
    if (h->small)
        dpi_small_free(h);
    else
        dp_free(h);
}

/* Return the address of the storage data inside home `h`. */
static inline void *dpi_home_inline_data(dpi_home *h, int ndim)
{
    uintptr_t end = (uintptr_t)((int64_t *)(h + 1) + 2 * (size_t)ndim);

    return (void *)((end + INLINE_ALIGN - 1) & ~(uintptr_t)(INLINE_ALIGN - 1));
}

static inline dpi_home *dpi_home_ref(dpi_home *h)
{
    DPI_COUNT_UP(&h->refs);
    return h;
}

/* Return the home of t's version if `t` has a reference to that home.  NULL: the version lies in
 * t's own home, or in the home of t's root, to which `t` has a reference anyway. */
static inline dpi_home *dpi_home_of_version(const dp_tensor *t)
{
    dpi_home *h = DPI_HOME_OF(version, t->version);
    bool held = &h->tensor != t && &h->tensor != t->root;

    return held ? h : NULL;
}

/* Replace the dtype's key (Dense or Quantized) in `keys`, the keys of a tensor over the same
 * storage, by the one that `dtype` has (c10::computeDispatchKey). */
static inline dp_keyset dpi_keys_for(dp_keyset keys, dp_dtype dtype)
{
    const uint64_t dense = DPI_BIT(Dense), quantized = DPI_BIT(Quantized);

    if (keys.functionality & (dense | quantized)) {
        keys.functionality &= ~(dense | quantized);
        keys.functionality |= dp_dtype_is_quantized(dtype) ? quantized : dense;
    }
    return keys;
}

/* Initialise h's tensor.  Takes two references of the caller, one to the home of `g` and one to the
 * home of `v`. */
static inline dp_tensor *dpi_tensor_init(dpi_home *h, dp_dtype dtype, dpi_geometry *g,
                                         dpi_version *v)
{
    dp_tensor *t = &h->tensor;

    *t = (dp_tensor){.keys = dpi_backend_keys(dp_device_backend(g->storage->device)),
                     .refs = 1,
                     .dtype = dtype,
                     .version = v};
    if (DPI_UNLIKELY(dp_dtype_is_quantized(dtype)))
        t->keys = dpi_keys_for(t->keys, dtype);
    if (DPI_UNLIKELY(g->storage->fake))
        t->keys.functionality |= DPI_BIT(Fake);
    atomic_init(&t->geometry, g);
    dpi_tally_add(DPI_TALLY_TENSORS, 1);
    return t;
}

/* Initialise the geometry, the version and the tensor of `h`, whose storage is initialised. */
static inline dp_tensor *dpi_home_own_all(dpi_home *h, dp_dtype dtype, const dpi_layout *l)
{
    dpi_geometry_init(&h->geometry, l, &h->storage);
    atomic_init(&h->version.value, 0);
    return dpi_tensor_init(h, dtype, &h->geometry, &h->version);
}

/* Return t's geometry with a reference to its home.  If the geometry lies in t's own home, the
 * reference is new; otherwise t's reference is moved to the caller, and the caller must replace
 * t->geometry. */
static inline dpi_geometry *dpi_take_geometry(dp_tensor *t)
{
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_relaxed);

    if (DPI_HOME_OF(geometry, g) == DPI_HOME_OF(tensor, t))
        dpi_home_ref(DPI_HOME_OF(geometry, g));
    return g;
}

/* Take the geometry out of `from`, and release the tensor `from`. */
static inline dpi_geometry *dpi_tensor_strip(dp_tensor *from)
{
    dpi_geometry *g = dpi_take_geometry(from);

    atomic_store_explicit(&from->geometry, NULL, memory_order_relaxed);
    dp_tensor_unref(from);
    return g;
}

/* -- home.c -- */

void dpi_home_unref(dpi_home *h);
/* Stop counting `g` in dpi_growth.needs of its storage, because `g` is not used any more. */
void dpi_geometry_uncount_needs(dpi_geometry *g);

/* -- tensor.c -- */

/* Make a tensor with layout `l` over storage `s`. */
int dpi_tensor_on_storage(dp_dtype dtype, dpi_storage *s, const dpi_layout *l, dp_tensor **out,
                          dp_error *err);

#pragma GCC visibility pop

#endif
