/* about.c -- query and set properties of a tensor, and count tensors and storages. */
#include "room.h"

void dp_tensor_stats_get(dp_tensor_stats *out)
{
    *out = (dp_tensor_stats){.tensors = (uint64_t)dpi_tally_sum(DPI_TALLY_TENSORS),
                             .storages = (uint64_t)dpi_tally_sum(DPI_TALLY_STORAGES)};
    dpi_storage_stats(&out->bytes, &out->bytes_peak);
    for (int bit = 0; bit < 64; bit++) /* the numbers for CPU and Meta are 0 here */
        out->storages += dpi_backend_storages(bit);
}

void dp_tensor_view(const dp_tensor *t, dp_view *view)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dp_view whole = {.size = view->size}; /* if the caller's struct is shorter */
    dp_view *v = DPI_LIKELY(view->size >= sizeof(whole)) ? view : &whole;

    /* Set the members one by one: a struct copy would read larger words than those just stored,
     * which stalls. */
    v->dtype = t->dtype;
    v->device = g->storage->device;
    v->ndim = g->ndim;
    v->data = dpi_geometry_data(g, t->dtype);
    v->sizes = g->sizes;
    v->strides = g->strides;
    v->numel = g->numel;
    if (v == &whole)
        memcpy(view, &whole, view->size);
}

dp_keyset dp_tensor_keys(const dp_tensor *t)
{
    dp_keyset keys = dpi_keys_of(t);

    return (dp_keyset){keys.functionality & ~DPI_GRAD_BIT, keys.backend & ~DPI_WRAPPER_BIT};
}

bool dp_tensor_may_grad(const dp_tensor *t)
{
    return (__atomic_load_n(&t->keys.functionality, __ATOMIC_RELAXED) & DPI_GRAD_BIT) != 0;
}

void dpi_tensor_may_grad(dp_tensor *t, bool on)
{
    if (on && t->root != NULL)
        __atomic_store_n(&t->grad_by_root, false, __ATOMIC_RELAXED);
    if (on)
        __atomic_fetch_or(&t->keys.functionality, DPI_GRAD_BIT, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&t->keys.functionality, ~DPI_GRAD_BIT, __ATOMIC_RELAXED);
}

int64_t dp_tensor_offset(const dp_tensor *t)
{
    return dpi_geometry_of(t)->offset;
}

/* Assign an id when it is first queried: most objects never need one, so making them does not touch
 * the shared counter. */
static uint64_t id_of(atomic_uint_fast64_t *own, atomic_uint_fast64_t *last)
{
    uint64_t id = atomic_load_explicit(own, memory_order_relaxed), next;

    if (id != 0)
        return id;
    next = atomic_fetch_add_explicit(last, 1, memory_order_relaxed) + 1;
    return atomic_compare_exchange_strong_explicit(own, &id, next, memory_order_relaxed,
                                                   memory_order_relaxed)
               ? next
               : id;
}

uint64_t dp_tensor_storage_id(const dp_tensor *t)
{
    static atomic_uint_fast64_t last;
    return id_of(&dpi_storage_of(t)->id, &last);
}

uint64_t dp_tensor_id(const dp_tensor *t)
{
    static atomic_uint_fast64_t last;
    return id_of((atomic_uint_fast64_t *)(uintptr_t)&t->id, &last);
}

size_t dp_tensor_storage_bytes(const dp_tensor *t)
{
    return dpi_memory_of(dpi_storage_of(t))->bytes;
}

bool dp_tensor_is_memoryless(const dp_tensor *t)
{
    return dpi_is_memoryless(t);
}

bool dp_tensor_is_wrapped(const dp_tensor *t)
{
    return t->wrapped;
}

void dp_tensor_set_wrapped(dp_tensor *t, bool on)
{
    t->wrapped = on && dpi_geometry_of(t)->ndim == 0;
}

uint64_t dp_tensor_version(const dp_tensor *t)
{
    return atomic_load_explicit(&t->version->value, memory_order_relaxed);
}

void dp_tensor_bump_version(dp_tensor *t)
{
    DPI_COUNT_UP(&t->version->value);
}

dp_tensor *dp_tensor_root(const dp_tensor *t)
{
    return t->root;
}

int dp_tensor_creation(const dp_tensor *t)
{
    return t->creation;
}

void dp_tensor_set_creation(dp_tensor *t, int creation)
{
    if (t->root != NULL && creation >= 0 && creation < DP_CREATED_END)
        t->creation = (uint8_t)creation;
}

bool dp_tensor_is_contiguous(const dp_tensor *t, dp_memory_format f)
{
    const dpi_geometry *g = dpi_geometry_of(t);

    return f == DP_CONTIGUOUS         ? g->contiguous
           : f == DP_CHANNELS_LAST    ? g->channels_last
           : f == DP_CHANNELS_LAST_3D ? g->channels_last_3d
                                      : false;
}

bool dp_tensor_is_dense(const dp_tensor *t)
{
    return dpi_geometry_of(t)->dense;
}

dp_memory_format dp_tensor_suggest_format(const dp_tensor *t)
{
    return dpi_geometry_of(t)->like_channels_last      ? DP_CHANNELS_LAST
           : dpi_geometry_of(t)->like_channels_last_3d ? DP_CHANNELS_LAST_3D
                                                       : DP_CONTIGUOUS;
}
