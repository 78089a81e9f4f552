/* tensor.c -- the object: a dtype and a geometry over a storage, all in one home, and how its geometry
 * changes. */
#include "room.h"

/* -- homes -- */

_Static_assert(sizeof(dpi_home) == offsetof(dpi_home, geometry) + sizeof(dpi_geometry),
               "sizes and strides lie right behind the geometry");
enum { INSIDE_ALIGN = 64 }; /* as of dpi_memory_alloc() */

#define HOME_OF(part, p) ((dpi_home *)(void *)((char *)(p)-offsetof(dpi_home, part)))

/* With room for ndim dimensions, and for `inside` bytes of its storage.  Has only an empty geometry
 * as yet. */
static dpi_home *home_new(int ndim, size_t inside)
{
    size_t dims = 2 * (size_t)ndim * sizeof(int64_t);
    dpi_home *h = dp_malloc(sizeof(*h) + dims + (inside ? inside + INSIDE_ALIGN : 0));

    if (h == NULL)
        return NULL;
    atomic_init(&h->refs, 1);
    h->geometry.storage = NULL;
    atomic_init(&h->geometry.former, NULL);
    h->geometry.parts = NULL;
    return h;
}

/* Where the bytes of its storage lie. */
static void *home_inside(dpi_home *h, int ndim)
{
    uintptr_t end = (uintptr_t)((int64_t *)(h + 1) + 2 * (size_t)ndim);

    return (void *)((end + INSIDE_ALIGN - 1) & ~(uintptr_t)(INSIDE_ALIGN - 1));
}

static dpi_home *home_ref(dpi_home *h)
{
    DPI_COUNT_UP(&h->refs);
    return h;
}

/* Drop a reference; if it was the last one, put h on the list of those that end. */
static void drop(dpi_home *h, dpi_home **dead)
{
    if (dpi_unref_last(&h->refs)) {
        h->next_dead = *dead;
        *dead = h;
    }
}

/* The home of t's version, if t holds it; NULL where it is t's own, or that of its root, which is held as
 * a tensor. */
static dpi_home *held_for_version(const dp_tensor *t)
{
    dpi_home *h = HOME_OF(version, t->version);
    bool held = &h->tensor != t && &h->tensor != t->root;

    return held ? h : NULL;
}

/* What a tensor without references holds. */
static void tensor_end(dp_tensor *t, dpi_home **dead)
{
    dpi_home *h = HOME_OF(tensor, t), *of_version = held_for_version(t);
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_relaxed);
    dp_tensor *root = t->root;

    if (g != NULL && g != &h->geometry)
        drop(HOME_OF(geometry, g), dead);
    if (of_version != NULL)
        drop(of_version, dead);
    drop(h, dead);
    dpi_tally_add(DPI_TALLY_TENSORS, -1);
    if (DPI_UNLIKELY(root != NULL) && dp_refs_drop_(&root->refs))
        tensor_end(root, dead); /* once: it has no root */
}

static void parts_end(dpi_parts *p, dpi_home **dead)
{
    dpi_parts_let(p);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        if (dp_refs_drop_(&p->tensors[i]->refs))
            tensor_end(p->tensors[i], dead);
    dp_free(p);
}

/* A loop, since the chain of what homes hold can be long. */
static void bury(dpi_home *dead)
{
    for (dpi_home *h; (h = dead) != NULL;) {
        dpi_geometry *g = &h->geometry;
        dead = h->next_dead;
        if (DPI_UNLIKELY(g->parts != NULL))
            parts_end(g->parts, &dead);
        dpi_geometry *former = dpi_former_of(g);
        if (former)
            drop(HOME_OF(geometry, former), &dead);
        if (g->storage == &h->storage)
            dpi_storage_fini(&h->storage);
        else if (g->storage)
            drop(HOME_OF(storage, g->storage), &dead);
        dp_free(h);
    }
}

static void home_unref(dpi_home *h)
{
    dpi_home *dead = NULL;

    drop(h, &dead);
    bury(dead);
}

/* -- the object -- */

/* Complete h's tensor, which holds the homes of g and v. */
static dp_tensor *tensor_init(dpi_home *h, dp_dtype dtype, dpi_geometry *g, dpi_version *v)
{
    dp_tensor *t = &h->tensor;

    *t = (dp_tensor){.keys = dpi_backend_keys(dp_device_backend(g->storage->device)),
                     .refs = 1,
                     .dtype = dtype,
                     .version = v};
    if (DPI_UNLIKELY(g->storage->fake))
        t->keys.functionality |= DP_FBIT(DP_F_Fake);
    atomic_init(&t->geometry, g);
    dpi_tally_add(DPI_TALLY_TENSORS, 1);
    return t;
}

/* Complete h, which has its storage, with a geometry, a version and a tensor of its own. */
static dp_tensor *own_all(dpi_home *h, dp_dtype dtype, const dpi_layout *l)
{
    dpi_geometry_init(&h->geometry, l, &h->storage);
    atomic_init(&h->version.value, 0);
    return tensor_init(h, dtype, &h->geometry, &h->version);
}

_Static_assert(offsetof(dp_tensor, keys) == offsetof(dp_tensor_head, keys) &&
                   offsetof(dp_tensor, refs) == offsetof(dp_tensor_head, refs),
               "dp_tensor_head is the head of dp_tensor");

/* The same as dispatch.h's inline functions; the table for plugins needs their addresses. */
dp_tensor *dp_tensor_ref(dp_tensor *t)
{
    dp_refs_add_(&t->refs);
    return t;
}

dp_tensor *dp_tensor_unref(dp_tensor *t)
{
    return t != NULL && dp_refs_drop_(&t->refs) ? dp_tensor_destroy(t) : NULL;
}

dp_tensor *dp_tensor_destroy(dp_tensor *t)
{
    dpi_home *dead = NULL;

    tensor_end(t, &dead);
    bury(dead);
    return NULL;
}

/* -- changes of shape -- */

static int n_formers(const dpi_geometry *g)
{
    return atomic_load_explicit(&g->n_formers, memory_order_relaxed);
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
    if (n_formers(g) >= limit)
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s was given another one %d times, which is the "
                            "limit (DP_LIMIT_RESIZES)",
                            dp_shape_text(shape, g->sizes, (size_t)g->ndim), n_formers(g));
    return DP_OK;
}

/* What t was and no running call can see goes. */
static void forget_formers(const dp_tensor *t)
{
    uint64_t since = dpi_change_shapes_begin(), oldest = dpi_oldest_call();
    dpi_geometry *newest = atomic_load_explicit(&t->geometry, memory_order_relaxed);
    dpi_geometry *g = newest, *gone;
    int n = 0;

    while ((gone = dpi_former_of(g)) != NULL && g->since > oldest) {
        g = gone;
        n++;
    }
    if (gone != NULL) {
        atomic_store_explicit(&g->former, NULL, memory_order_relaxed);
        atomic_store_explicit(&newest->n_formers, n, memory_order_relaxed);
    }
    dpi_change_shapes_end(since - 1); /* nothing changed */
    if (gone != NULL)
        home_unref(HOME_OF(geometry, gone));
}

/* Looking who runs is not free, so it is done for a few at a time, and for what holds memory. */
static bool forgetting_is_due(const dpi_geometry *g, const dpi_geometry *next)
{
    enum { AT_A_TIME = 8 };
    const dpi_geometry *former = dpi_former_of(g);

    return former != NULL &&
           (n_formers(g) % AT_A_TIME == 0 || next->storage != g->storage || next->parts != NULL);
}

int dpi_change_check(const dp_tensor *t, dp_error *err)
{
    if (n_formers(dpi_geometry_of(t)) >= DP_LIMIT_RESIZES)
        forget_formers(t);
    return change_check(t, DP_LIMIT_RESIZES, err);
}

/* t's geometry, with a reference to its home. */
static dpi_geometry *take_geometry(dp_tensor *t)
{
    dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_relaxed);

    if (HOME_OF(geometry, g) == HOME_OF(tensor, t))
        home_ref(HOME_OF(geometry, g)); /* otherwise t's is taken */
    return g;
}

/* from's geometry, which leaves it. */
static dpi_geometry *strip(dp_tensor *from)
{
    dpi_geometry *g = take_geometry(from);

    atomic_store_explicit(&from->geometry, NULL, memory_order_relaxed);
    dp_tensor_unref(from);
    return g;
}

static void become(dp_tensor *t, dp_tensor *from, uint64_t since)
{
    dpi_geometry *g = strip(from);
    dpi_geometry *former = take_geometry(t);
    atomic_store_explicit(&g->former, former, memory_order_relaxed);
    atomic_store_explicit(&g->n_formers, n_formers(former) + 1, memory_order_relaxed);
    g->since = since;
    g->by = dpi_looker_self;
    atomic_store_explicit(&t->geometry, g, memory_order_release);
}

/* limit: of how often one may have been changed. */
static int all_become(int n, dp_tensor *const *ts, dp_tensor *const *from, int limit, dp_error *err)
{
    int first = 0, rc = DP_OK;

    while (first < n && (ts[first] == NULL || from[first] == NULL))
        first++;
    if (first == n)
        return DP_OK;
    for (int i = first; i < n; i++)
        if (ts[i] && from[i] && forgetting_is_due(dpi_geometry_of(ts[i]), dpi_geometry_of(from[i])))
            forget_formers(ts[i]);
    uint64_t since = dpi_change_shapes_begin();
    for (int i = first; rc == DP_OK && i < n; i++)
        rc = ts[i] && from[i] ? change_check(ts[i], limit, err) : DP_OK;
    if (rc == DP_OK && dpi_geometry_of(from[first])->parts != NULL) /* then there is no other */
        rc = dpi_parts_keep(dpi_geometry_of(from[first]), err);
    for (int i = first; rc == DP_OK && i < n; i++)
        if (ts[i] && from[i])
            become(ts[i], from[i], since);
    dpi_change_shapes_end(since);
    return rc;
}

int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err)
{
    return all_become(n, ts, from, DP_LIMIT_RESIZES, err);
}

static int on_storage(dp_dtype dtype, dpi_storage *s, const dpi_layout *l, dp_tensor **out,
                      dp_error *err);

dpi_parts *dpi_parts_copy(const dpi_parts *p)
{
    size_t tensors = p->n_tensors * sizeof(dp_tensor *), ints = p->n_ints * sizeof(int64_t);
    dpi_parts *copy = dp_malloc(sizeof(*copy) + ints + tensors);

    if (copy == NULL)
        return NULL;
    int64_t *own_ints = (int64_t *)(copy + 1);
    dp_tensor **own_tensors = (dp_tensor **)(own_ints + p->n_ints);
    if (ints > 0)
        memcpy(own_ints, p->ints, ints);
    for (uint32_t i = 0; i < p->n_tensors; i++)
        own_tensors[i] = dp_tensor_ref(p->tensors[i]);
    *copy = *p;
    copy->tensors = own_tensors;
    copy->ints = own_ints;
    copy->charged = 0;
    return copy;
}

void dpi_parts_free(dpi_parts *p)
{
    for (uint32_t i = 0; p != NULL && i < p->n_tensors; i++)
        dp_tensor_unref(p->tensors[i]);
    dp_free(p);
}

/* A tensor with a copy of t's former geometry g, parts and all. */
static int as_it_was(const dp_tensor *t, const dpi_geometry *g, dp_tensor **out, dp_error *err)
{
    dpi_layout l = {.ndim = g->ndim,
                    .sizes = g->sizes,
                    .strides = g->strides,
                    .offset = g->offset,
                    .numel = g->numel};
    dpi_parts *p = g->parts ? dpi_parts_copy(g->parts) : NULL;

    if (g->parts != NULL && p == NULL)
        return dpi_no_memory(err, "its parts");
    int rc = on_storage(t->dtype, g->storage, &l, out, err);
    if (rc < 0)
        dpi_parts_free(p);
    else
        HOME_OF(tensor, *out)->geometry.parts = p;
    return rc;
}

int dpi_tensor_restore(dp_tensor *t, uint64_t change, dp_error *err)
{
    const dpi_geometry *newest = atomic_load_explicit(&t->geometry, memory_order_acquire);
    const dpi_geometry *g = newest;
    dp_tensor *from;

    while (dpi_former_of(g) != NULL && g->since > change && g->by == dpi_looker_self)
        g = dpi_former_of(g);
    if (g == newest)
        return DP_OK;
    int rc = as_it_was(t, g, &from, err);
    if (rc == DP_OK && (rc = all_become(1, &t, &from, DP_LIMIT_RESIZES + 1, err)) < 0)
        dp_tensor_unref(from);
    return rc;
}

/* -- factories -- */

static int check_dtype(dp_dtype dtype, dp_error *err)
{
    return dp_dtype_size(dtype) ? DP_OK
                                : dp_error_set(err, DP_ETYPE, "no dtype has number %d", dtype);
}

/* A tensor over a new storage of `bytes`. */
static int over_new_storage(dp_dtype dtype, dpi_place at, const dpi_layout *l, size_t bytes,
                            dp_tensor **out, dp_error *err)
{
    dpi_home *h = home_new(l->ndim, dpi_storage_inside(at.device, bytes));

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    int rc = dpi_storage_init(&h->storage, at, bytes, home_inside(h, l->ndim), err);
    if (rc < 0) {
        dp_free(h);
        return rc;
    }
    *out = own_all(h, dtype, l);
    return DP_OK;
}

static inline __attribute__((always_inline)) int empty(dp_dtype dtype, dpi_place at, int ndim,
                                                       const int64_t *sizes, const int64_t *strides,
                                                       dp_tensor **out, dp_error *err)
{
    dpi_layout l;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK)
        rc = strides ? dpi_layout_check(ndim, sizes, strides, 0, &l, err)
                     : dpi_layout_packed(dtype, ndim, sizes, &l, err);
    if (rc < 0)
        return rc;
    return over_new_storage(dtype, at, &l, dpi_layout_bytes(&l, dp_dtype_size(dtype)), out, err);
}

int dpi_empty_strided(dp_dtype dtype, dpi_place at, int ndim, const int64_t *sizes,
                      const int64_t *strides, dp_tensor **out, dp_error *err)
{
    return empty(dtype, at, ndim, sizes, strides, out, err);
}

int dp_tensor_new(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                  const int64_t *strides, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    return empty(dtype, (dpi_place){device, NULL}, ndim, sizes, strides, out, err);
}

int dp_tensor_new_storage(dp_dtype dtype, dp_device device, int64_t n_elements, int ndim,
                          const int64_t *sizes, const int64_t *strides, int64_t offset,
                          dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dpi_layout l;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK && (n_elements < 0 || n_elements > DP_LIMIT_STORAGE_BYTES))
        rc = dp_error_set(err, DP_EVALUE, "a storage of %lld elements", (long long)n_elements);
    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, offset, &l, err);
    if (rc < 0)
        return rc;
    size_t bytes = (size_t)n_elements * dp_dtype_size(dtype);
    rc = dpi_fits_check(&l, dp_dtype_size(dtype), bytes, err);
    if (rc == DP_OK)
        rc = over_new_storage(dtype, (dpi_place){device, NULL}, &l, bytes, out, err);
    if (rc == DP_OK && dpi_storage_of(*out)->host && bytes > 0)
        memset(dpi_storage_of(*out)->data, 0, bytes);
    return rc;
}

int dp_tensor_wrap(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                   void *data, size_t bytes, void (*release)(void *arg), void *arg, dp_tensor **out,
                   dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dpi_layout l;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK && (uintptr_t)data % dp_dtype_size(dtype) % 8 != 0)
        rc = dp_error_set(err, DP_EVALUE, "memory at %p is not aligned for %s", data,
                          dp_dtype_name(dtype));
    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, 0, &l, err);
    if (rc == DP_OK)
        rc = dpi_fits_check(&l, dp_dtype_size(dtype), bytes, err);
    if (rc < 0)
        return rc;
    dpi_home *h = home_new(ndim, 0);
    if (h == NULL)
        return dpi_no_memory(err, "a tensor"); /* the memory stays the caller's */
    dpi_storage_init_foreign(&h->storage, data, bytes, release, arg);
    *out = own_all(h, dtype, &l);
    return DP_OK;
}

static int on_storage(dp_dtype dtype, dpi_storage *s, const dpi_layout *l, dp_tensor **out,
                      dp_error *err)
{
    dpi_home *h = home_new(l->ndim, 0);

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    dpi_geometry_init(&h->geometry, l, s);
    home_ref(HOME_OF(storage, s));
    atomic_init(&h->version.value, 0);
    *out = tensor_init(h, dtype, &h->geometry, &h->version);
    return DP_OK;
}

int dpi_tensor_on(const dp_tensor *t, const dpi_layout *l, dp_tensor **out, dp_error *err)
{
    return on_storage(t->dtype, dpi_storage_of(t), l, out, err);
}

/* Its home holds the storage, so parts lie with a geometry of another home, which goes when the tensor
 * becomes something else. */
int dpi_tensor_of_parts(dp_dtype dtype, dp_device device, const char *kind, const dpi_layout *l,
                        dpi_parts *p, dp_tensor **out, dp_error *err)
{
    size_t bytes = strlen(kind) + 1;
    dpi_home *h = home_new(l->ndim, bytes);
    dp_tensor *from;
    int rc =
        h ? dpi_storage_init(&h->storage, (dpi_place){device | DPI_MEMORYLESS, NULL}, 0, NULL, err)
          : dpi_no_memory(err, "a tensor");

    if (rc < 0) {
        dp_free(h);
        return rc;
    }
    h->storage.kind = memcpy(home_inside(h, l->ndim), kind, bytes);
    dp_tensor *t = own_all(h, dtype, l);
    if ((rc = dpi_tensor_of_other_parts(t, l, p, &from, err)) < 0) {
        dp_tensor_unref(t);
        return rc;
    }
    atomic_store_explicit(&t->geometry, strip(from), memory_order_relaxed);
    *out = t;
    return DP_OK;
}

bool dpi_parts_are_only(const dp_tensor *t)
{
    const dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_acquire);

    return g->parts != NULL && atomic_load(&HOME_OF(geometry, g)->refs) == 1 &&
           atomic_load(&HOME_OF(tensor, t)->refs) == 2;
}

int dpi_tensor_of_other_parts(const dp_tensor *t, const dpi_layout *l, dpi_parts *p,
                              dp_tensor **out, dp_error *err)
{
    int rc = dpi_tensor_on(t, l, out, err);

    if (rc == DP_OK)
        HOME_OF(tensor, *out)->geometry.parts = p;
    return rc;
}

/* t gets the version of another tensor, and this root, the reference to which it takes. */
static void share_version(dp_tensor *t, const dp_tensor *of, dp_tensor *root)
{
    dpi_home *former = held_for_version(t), *held;
    dp_tensor *former_root = t->root;

    t->version = of->version;
    t->root = root;
    if ((held = held_for_version(t)) != NULL)
        home_ref(held);
    if (former != NULL)
        home_unref(former);
    dp_tensor_unref(former_root);
}

void dpi_tensor_share_version(dp_tensor *t, dp_tensor *of)
{
    share_version(t, of, t->root ? dp_tensor_ref(t->root) : NULL);
}

void dpi_tensor_join(dp_tensor *v, dp_tensor *base, bool detached, int creation)
{
    share_version(v, base, detached ? NULL : dp_tensor_ref(base->root ? base->root : base));
    v->creation = (uint8_t)creation;
    if (base->root && (creation == DP_CREATED_DEFAULT || base->creation == DP_CREATED_INFERENCE))
        v->creation = base->creation;
    /* its root may come to need a gradient, by another view of it even */
    if (!detached && v->creation != DP_CREATED_INFERENCE && dpi_differentiable(v->dtype))
        v->keys.functionality |= DP_GRAD_BIT;
}

int dp_tensor_alias(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t, out))
        return DP_EVALUE;
    dpi_home *h = home_new(0, 0);
    dpi_geometry *g = (dpi_geometry *)(uintptr_t)dpi_geometry_of(t); /* is not written to */

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    home_ref(HOME_OF(geometry, g));
    home_ref(HOME_OF(version, t->version));
    *out = tensor_init(h, t->dtype, g, t->version);
    atomic_init(&(*out)->id, dp_tensor_id(t));
    (*out)->keys = dpi_keys_of(t);
    return DP_OK;
}

int dpi_tensor_fake(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dpi_layout l;
    int rc = dpi_layout_check(g->ndim, g->sizes, g->strides, g->offset, &l, err);

    if (rc == DP_OK)
        rc = over_new_storage(t->dtype, (dpi_place){g->storage->device | DPI_FAKE, NULL}, &l,
                              dpi_memory_of(g->storage)->bytes, out, err);
    if (rc == DP_OK)
        (*out)->wrapped = t->wrapped;
    return rc;
}
