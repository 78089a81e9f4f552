/* home.h -- homes: one block of memory for a tensor and for what was made with it. */
#ifndef DPI_HOME_H
#define DPI_HOME_H

#include "room.h"

#pragma GCC visibility push(hidden)

_Static_assert(sizeof(dpi_home) == offsetof(dpi_home, geometry) + sizeof(dpi_geometry),
               "sizes and strides lie right behind the geometry");
enum { INLINE_ALIGN = 64 }; /* as of dpi_memory_alloc() */

#define DPI_HOME_OF(part, p) ((dpi_home *)(void *)((char *)(p)-offsetof(dpi_home, part)))

/* With room for ndim dimensions, and for `inside` bytes of its storage.  Has only an empty geometry
 * as yet. */
static inline dpi_home *dpi_home_new(int ndim, size_t inline_bytes)
{
    size_t dims = dp_size_times((size_t)ndim, 2 * sizeof(int64_t));
    dpi_home *h = dp_malloc(sizeof(*h) + dims + (inline_bytes ? inline_bytes + INLINE_ALIGN : 0));

    if (h == NULL)
        return NULL;
    atomic_init(&h->refs, 1);
    h->geometry.storage = NULL;
    atomic_init(&h->geometry.replaced, NULL);
    h->geometry.parts = NULL;
    return h;
}

/* Where the bytes of its storage lie. */
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

/* The home of t's version, if t holds it; NULL where it is t's own, or that of its root, which is
 * held as a tensor. */
static inline dpi_home *dpi_home_of_version(const dp_tensor *t)
{
    dpi_home *h = DPI_HOME_OF(version, t->version);
    bool held = &h->tensor != t && &h->tensor != t->root;

    return held ? h : NULL;
}

/* The keys of a tensor of this dtype among `keys`, which are a tensor's with the same storage
 * (c10::computeDispatchKey). */
static inline dp_keyset dpi_keys_for(dp_keyset keys, dp_dtype dtype)
{
    const uint64_t dense = DPI_BIT(Dense), quantized = DPI_BIT(Quantized);

    if (keys.functionality & (dense | quantized)) {
        keys.functionality &= ~(dense | quantized);
        keys.functionality |= dp_dtype_is_quantized(dtype) ? quantized : dense;
    }
    return keys;
}

/* Complete h's tensor, which holds the homes of g and v. */
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

/* Complete h, which has its storage, with a geometry, a version and a tensor of its own. */
static inline dp_tensor *dpi_home_own_all(dpi_home *h, dp_dtype dtype, const dpi_layout *l)
{
    dpi_geometry_init(&h->geometry, l, &h->storage);
    atomic_init(&h->version.value, 0);
    return dpi_tensor_init(h, dtype, &h->geometry, &h->version);
}

/* t's geometry, with a reference to its home. */
static inline dpi_geometry *dpi_take_geometry(dp_tensor *t)
{
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_relaxed);

    if (DPI_HOME_OF(geometry, g) == DPI_HOME_OF(tensor, t))
        dpi_home_ref(DPI_HOME_OF(geometry, g)); /* otherwise t's is taken */
    return g;
}

/* from's geometry, which leaves it. */
static inline dpi_geometry *dpi_tensor_strip(dp_tensor *from)
{
    dpi_geometry *g = dpi_take_geometry(from);

    atomic_store_explicit(&from->geometry, NULL, memory_order_relaxed);
    dp_tensor_unref(from);
    return g;
}

/* -- home.c -- */

void dpi_home_unref(dpi_home *h);
/* The storage of `g` need not have the bytes for `g` any more (dpi_growth.needs). */
void dpi_geometry_uncount_needs(dpi_geometry *g);

/* -- tensor.c -- */

/* Make a tensor of this layout over `s`. */
int dpi_tensor_on_storage(dp_dtype dtype, dpi_storage *s, const dpi_layout *l, dp_tensor **out,
                          dp_error *err);

#pragma GCC visibility pop

#endif
