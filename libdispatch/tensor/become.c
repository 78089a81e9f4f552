/* become.c -- gives a tensor another geometry.  Replaced geometries stay while a call may use them,
 * and are restored if a kernel fails. */
#include "home.h"

static int n_replaced(const dpi_geometry *g)
{
    return atomic_load_explicit(&g->n_replaced, memory_order_relaxed);
}

static int change_check(const dp_tensor *t, int limit, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    char shape[DP_SHAPE_TEXT];

    if (g != atomic_load_explicit(&t->geometry, memory_order_relaxed))
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s was given another one by another call, since "
                            "this one began",
                            dp_shape_text(shape, g->sizes, (size_t)g->ndim));
    if (n_replaced(g) >= limit)
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s was given another one %d times, which is the "
                            "limit (DP_LIMIT_RESIZES)",
                            dp_shape_text(shape, g->sizes, (size_t)g->ndim), n_replaced(g));
    return DP_OK;
}

/* Tell whether no call that began at change `began` or later uses the geometry that `g` replaced.
 * Such a call uses `g` or a newer geometry, unless `g` was undone. */
static bool hides_replaced(const dpi_geometry *g, uint64_t began)
{
    return g->since <= began &&
           atomic_load_explicit(&g->state, memory_order_acquire) != DPI_CHANGE_UNDONE;
}

/* Release the replaced geometries of `t` that no running call can use. */
static void release_replaced(const dp_tensor *t)
{
    uint64_t since = dpi_change_shapes_begin(), oldest = dpi_oldest_call();
    dpi_geometry *newest = atomic_load_explicit(&t->geometry, memory_order_relaxed);
    dpi_geometry *g = newest, *gone;
    int n = 0;

    while ((gone = dpi_replaced_of(g)) != NULL && !hides_replaced(g, oldest)) {
        g = gone;
        n++;
    }
    if (gone != NULL) {
        atomic_store_explicit(&g->replaced, NULL, memory_order_relaxed);
        atomic_store_explicit(&newest->n_replaced, n, memory_order_relaxed);
    }
    dpi_change_shapes_end(since - 1); /* there was no change */
    if (gone != NULL)
        dpi_home_unref(DPI_HOME_OF(geometry, gone));
}

/* Tell whether replaced geometries should be released now.  Releasing takes a search for the oldest
 * running call, so it is done only at every INTERVAL-th change, and whenever a replaced geometry
 * keeps a storage or parts alive. */
static bool release_is_due(const dpi_geometry *g, const dpi_geometry *next)
{
    enum { INTERVAL = 8 };
    const dpi_geometry *replaced = dpi_replaced_of(g);

    return replaced != NULL &&
           (n_replaced(g) % INTERVAL == 0 || next->storage != g->storage || next->parts != NULL);
}

int dpi_change_check(const dp_tensor *t, dp_error *err)
{
    if (n_replaced(dpi_geometry_of(t)) >= DP_LIMIT_RESIZES)
        release_replaced(t);
    return change_check(t, DP_LIMIT_RESIZES, err);
}

static void become(dp_tensor *t, dp_tensor *from, uint64_t since)
{
    dpi_geometry *g = dpi_tensor_strip(from);
    dpi_geometry *replaced = dpi_take_geometry(t);
    atomic_store_explicit(&g->replaced, replaced, memory_order_relaxed);
    atomic_store_explicit(&g->n_replaced, n_replaced(replaced) + 1, memory_order_relaxed);
    g->since = since;
    g->by = dpi_looker_self;
    atomic_store_explicit(&g->state, DPI_CHANGE_OWN, memory_order_relaxed);
    atomic_store_explicit(&t->geometry, g, memory_order_release);
}

/* Give every ts[i] the geometry of from[i], or change none of them.  `limit`: the number of
 * replaced geometries at which a tensor cannot change any more. */
static int change_all(int n, dp_tensor *const *ts, dp_tensor *const *from, int limit, dp_error *err)
{
    int first = 0, rc = DP_OK;

    while (first < n && (ts[first] == NULL || from[first] == NULL))
        first++;
    if (first == n)
        return DP_OK;
    for (int i = first; i < n; i++)
        if (ts[i] && from[i] && release_is_due(dpi_geometry_of(ts[i]), dpi_geometry_of(from[i])))
            release_replaced(ts[i]);
    uint64_t since = dpi_change_shapes_begin();
    for (int i = first; rc == DP_OK && i < n; i++)
        rc = ts[i] && from[i] ? change_check(ts[i], limit, err) : DP_OK;
    /* a wrapper is always the only tensor of such a change */
    if (rc == DP_OK && dpi_geometry_of(from[first])->parts != NULL)
        rc = dpi_parts_charge(dpi_geometry_of(from[first]), err);
    for (int i = first; rc == DP_OK && i < n; i++)
        if (ts[i] && from[i])
            become(ts[i], from[i], since);
    dpi_change_shapes_end(since);
    return rc;
}

int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err)
{
    return change_all(n, ts, from, DP_LIMIT_RESIZES, err);
}

dpi_parts *dpi_parts_copy(const dpi_parts *p)
{
    size_t tensors = dp_size_times(p->n_tensors, sizeof(dp_tensor *)),
           ints = dp_size_times(p->n_ints, sizeof(int64_t)),
           doubles = dp_size_times(p->n_doubles, sizeof(double));
    dpi_parts *copy = dp_malloc(sizeof(*copy) + ints + doubles + tensors);

    if (copy == NULL)
        return NULL;
    int64_t *own_ints = (int64_t *)(copy + 1);
    void *after_ints = own_ints + p->n_ints;
    double *own_doubles = after_ints;
    dp_tensor **own_tensors = (dp_tensor **)(own_doubles + p->n_doubles);
    if (ints > 0)
        memcpy(own_ints, p->ints, ints);
    if (doubles > 0)
        memcpy(own_doubles, p->doubles, doubles);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        own_tensors[i] = dp_tensor_ref(p->tensors[i]);
    *copy = *p;
    copy->tensors = own_tensors;
    copy->ints = own_ints;
    copy->doubles = own_doubles;
    copy->charged = 0;
    return copy;
}

void dpi_parts_free(dpi_parts *p)
{
    for (uint32_t i = 0; p != NULL && i < p->n_tensors; i++)
        dp_tensor_unref(p->tensors[i]);
    dp_free(p);
}

/* Make a tensor with a copy of `g`, a replaced geometry of `t`, and of its parts. */
static int clone_with_geometry(const dp_tensor *t, const dpi_geometry *g, dp_tensor **out,
                               dp_error *err)
{
    size_t itemsize = dp_dtype_size(t->dtype);
    dpi_layout l = {.ndim = g->ndim,
                    .sizes = g->sizes,
                    .strides = g->strides,
                    .offset = g->offset,
                    .numel = g->numel,
                    .extent = (int64_t)(dpi_geometry_bytes(g, itemsize) / itemsize)};
    dpi_parts *p = g->parts ? dpi_parts_copy(g->parts) : NULL;

    if (g->parts != NULL && p == NULL)
        return dpi_no_memory(err, "its parts");
    int rc = dpi_tensor_on_storage(t->dtype, g->storage, &l, out, err);
    if (rc < 0)
        dpi_parts_free(p);
    else
        DPI_HOME_OF(tensor, *out)->geometry.parts = p;
    return rc;
}

/* Mark `g` as undone, so that no call uses it any more.  Returns false, and leaves `g` usable, if
 * another thread has used `g`, or an alias or a saved tensor refers to it. */
static bool undo(dpi_geometry *g)
{
    int state = DPI_CHANGE_OWN;

    if (atomic_load_explicit(&DPI_HOME_OF(geometry, g)->refs, memory_order_acquire) > 1)
        return false;
    return atomic_compare_exchange_strong_explicit(&g->state, &state, DPI_CHANGE_UNDONE,
                                                   memory_order_acq_rel, memory_order_acquire) ||
           state == DPI_CHANGE_UNDONE;
}

/* Undo the geometries from `newest` down to the one above `to`.  If a geometry cannot be undone,
 * its storage's growths since `change` are protected from being undone, because the geometry may
 * need them. */
static void undo_all(dpi_geometry *newest, const dpi_geometry *to, uint64_t change)
{
    for (dpi_geometry *g = newest; g != to; g = dpi_replaced_of(g))
        if (undo(g))
            dpi_geometry_uncount_needs(g);
        else
            dpi_storage_protect_growths(g->storage, change);
}

int dpi_tensor_restore(dp_tensor *t, uint64_t change, dp_error *err)
{
    dpi_geometry *newest = atomic_load_explicit(&t->geometry, memory_order_acquire), *g = newest;
    dp_tensor *from;

    while (dpi_replaced_of(g) != NULL && g->since > change && g->by == dpi_looker_self)
        g = dpi_replaced_of(g);
    if (g == newest)
        return DP_OK;
    int rc = clone_with_geometry(t, g, &from, err);
    if (rc == DP_OK && (rc = change_all(1, &t, &from, DP_LIMIT_RESIZES + 1, err)) < 0)
        dp_tensor_unref(from);
    if (rc == DP_OK)
        undo_all(newest, g, change);
    return rc;
}

/* Every storage that `t` has had since `change` is visited. */
void dpi_tensor_shrink(dp_tensor *t, uint64_t change)
{
    const dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_acquire);
    bool changed_here = true;

    for (; g != NULL && changed_here; g = dpi_replaced_of(g)) {
        changed_here = dpi_replaced_of(g) != NULL && g->since > change && g->by == dpi_looker_self;
        if (atomic_load_explicit(&g->storage->growth, memory_order_acquire) == NULL)
            continue;
        uint64_t since = dpi_change_shapes_begin();
        dpi_storage_undo_growths(g->storage, change);
        /* there was no change that another call could have seen */
        dpi_change_shapes_end(since - 1);
    }
}
