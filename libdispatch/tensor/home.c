/* home.c -- frees homes.  After the last reference to a tensor was dropped, releases everything to
 * which the tensor refers. */
#include "home.h"

/* Drop a reference to `h`.  If it was the last one, add `h` to the list `dead`. */
DPI_HOT static void drop(dpi_home *h, dpi_home **dead)
{
    if (dpi_unref_last(&h->refs)) {
        h->next_dead = *dead;
        *dead = h;
    }
}

static _Atomic(void (*)(void *attached)) attached_end; /* set by libdispatch/dispatch */

void dpi_on_tensor_end(void (*fn)(void *attached))
{
    atomic_store_explicit(&attached_end, fn, memory_order_relaxed);
}

static _Atomic(void (*)(uintptr_t history)) history_end; /* set by libdispatch/autograd */

void dpi_on_history_end(void (*fn)(uintptr_t history))
{
    atomic_store_explicit(&history_end, fn, memory_order_relaxed);
}

/* Drop the references that `t` has, after the last reference to `t` was dropped.  Homes without
 * references are added to the list `dead`. */
DPI_HOT static void tensor_end(dp_tensor *t, dpi_home **dead)
{
    dpi_home *h = DPI_HOME_OF(tensor, t), *of_version = dpi_home_of_version(t);
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_relaxed);
    dp_tensor *root = t->root;
    void *attached = atomic_load_explicit(&t->attached, memory_order_acquire);

    uintptr_t history = atomic_load_explicit(&t->history, memory_order_acquire);

    if (DPI_UNLIKELY(history != 0))
        atomic_load_explicit(&history_end, memory_order_relaxed)(history);
    if (DPI_UNLIKELY(attached != NULL))
        atomic_load_explicit(&attached_end, memory_order_relaxed)(attached);
    if (g != NULL && g != &h->geometry)
        drop(DPI_HOME_OF(geometry, g), dead);
    if (of_version != NULL)
        drop(of_version, dead);
    drop(h, dead);
    dpi_tally_add(DPI_TALLY_TENSORS, -1);
    if (DPI_UNLIKELY(root != NULL) && dp_refs_drop_(&root->refs))
        tensor_end(root, dead); /* recursion of depth 1: a root has no root */
}

/* Free `p` and drop its references.  Homes without references are added to the list `dead`. */
static void parts_end(dpi_parts *p, dpi_home **dead)
{
    dpi_parts_discharge(p);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (dp_refs_drop_(&p->tensors[i]->refs))
            tensor_end(p->tensors[i], dead);
    dp_free(p);
}

void dpi_geometry_uncount_needs(dpi_geometry *g)
{
    if (DPI_UNLIKELY(g->needs > 0))
        dpi_storage_count_needs(g->storage, g->needs, -1);
    g->needs = 0;
}

/* Free the homes on the list.  This is a loop and not a recursion, because the chain of references
 * from home to home can be long. */
DPI_HOT static void free_dead(dpi_home *dead)
{
    for (dpi_home *h; (h = dead) != NULL;) {
        dpi_geometry *g = &h->geometry;
        dead = h->next_dead;
        if (DPI_UNLIKELY(g->parts != NULL))
            parts_end(g->parts, &dead);
        dpi_geometry *replaced = dpi_replaced_of(g);
        if (replaced)
            drop(DPI_HOME_OF(geometry, replaced), &dead);
        if (g->storage == &h->storage)
            dpi_storage_fini(&h->storage);
        else if (g->storage) {
            dpi_geometry_uncount_needs(g);
            drop(DPI_HOME_OF(storage, g->storage), &dead);
        }
        dpi_home_free(h);
    }
}

DPI_HOT void dpi_home_unref(dpi_home *h)
{
    dpi_home *dead = NULL;

    drop(h, &dead);
    free_dead(dead);
}

_Static_assert(offsetof(dp_tensor, keys) == offsetof(dp_tensor_head, keys) &&
                   offsetof(dp_tensor, refs) == offsetof(dp_tensor_head, refs),
               "dp_tensor_head is the head of dp_tensor");

/* These have the same code as the inline functions of dispatch.h; the function table of plugins
 * needs addresses. */
dp_tensor *dp_tensor_ref(dp_tensor *t)
{
    dp_refs_add_(&t->refs);
    return t;
}

dp_tensor *dp_tensor_unref(dp_tensor *t)
{
    return t != NULL && dp_refs_drop_(&t->refs) ? dp_tensor_destroy(t) : NULL;
}

DPI_HOT dp_tensor *dp_tensor_destroy(dp_tensor *t)
{
    dpi_home *dead = NULL;

    tensor_end(t, &dead);
    free_dead(dead);
    return NULL;
}
