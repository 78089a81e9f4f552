/* tensor.c -- make tensors: a dtype and a geometry over a storage, all in one home. */
#include "home.h"

/* Make a tensor over a new storage of `bytes`. */
DPI_HOT static int over_new_storage(dp_dtype dtype, dpi_target at, const dpi_layout *l,
                                    size_t bytes, dp_tensor **out, dp_error *err)
{
    dpi_home *h = dpi_home_new(l->ndim, dpi_storage_inline_bytes(at.device, bytes));

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    int rc = dpi_storage_init(&h->storage, at, bytes, dpi_home_inline_data(h, l->ndim), err);
    if (rc < 0) {
        dpi_home_free(h);
        return rc;
    }
    *out = dpi_home_own_all(h, dtype, l);
    return DP_OK;
}

static inline __attribute__((always_inline)) int empty(dp_dtype dtype, dpi_target at, int ndim,
                                                       const int64_t *sizes, const int64_t *strides,
                                                       dp_tensor **out, dp_error *err)
{
    dpi_layout l;
    int rc = dpi_dtype_check(dtype, err);

    if (rc == DP_OK)
        rc = strides ? dpi_layout_check(ndim, sizes, strides, 0, &l, err)
                     : dpi_layout_packed(dtype, ndim, sizes, &l, err);
    if (rc < 0)
        return rc;
    return over_new_storage(dtype, at, &l, dpi_layout_bytes(&l, dp_dtype_size(dtype)), out, err);
}

DPI_HOT int dpi_empty_strided(dp_dtype dtype, dpi_target at, int ndim, const int64_t *sizes,
                              const int64_t *strides, dp_tensor **out, dp_error *err)
{
    return empty(dtype, at, ndim, sizes, strides, out, err);
}

int dp_tensor_new(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                  const int64_t *strides, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    return empty(dtype, (dpi_target){device, 0, NULL}, ndim, sizes, strides, out, err);
}

int dp_tensor_new_storage(dp_dtype dtype, dp_device device, int64_t n_elements, int ndim,
                          const int64_t *sizes, const int64_t *strides, int64_t offset,
                          dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dpi_layout l;
    int rc = dpi_dtype_check(dtype, err);

    if (rc == DP_OK && (n_elements < 0 || n_elements > DP_LIMIT_STORAGE_BYTES))
        rc = dp_error_set(err, DP_EVALUE, "a storage of %lld elements", (long long)n_elements);
    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, offset, &l, err);
    if (rc < 0)
        return rc;
    size_t bytes = dp_size_times((uint64_t)n_elements, dp_dtype_size(dtype));
    rc = dpi_fits_check(&l, dp_dtype_size(dtype), bytes, err);
    if (rc == DP_OK)
        rc = over_new_storage(dtype, (dpi_target){device, 0, NULL}, &l, bytes, out, err);
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
    int rc = dpi_dtype_check(dtype, err);

    if (rc == DP_OK && (uintptr_t)data % dp_dtype_size(dtype) % 8 != 0)
        rc = dp_error_set(err, DP_EVALUE, "memory at %p is not aligned for %s", data,
                          dp_dtype_name(dtype));
    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, 0, &l, err);
    if (rc == DP_OK)
        rc = dpi_fits_check(&l, dp_dtype_size(dtype), bytes, err);
    if (rc < 0)
        return rc;
    dpi_home *h = dpi_home_new(ndim, 0);
    if (h == NULL)
        return dpi_no_memory(err, "a tensor"); /* the caller still owns `data` */
    dpi_storage_init_foreign(&h->storage, data, bytes, release, arg);
    *out = dpi_home_own_all(h, dtype, &l);
    return DP_OK;
}

int dpi_tensor_import(const dp_exported *from, dp_dtype dtype, dpi_target at, int ndim,
                      const int64_t *sizes, const int64_t *strides, int64_t offset, dp_tensor **out,
                      dp_error *err)
{
    dpi_layout l;
    int rc = dpi_dtype_check(dtype, err);

    if (rc == DP_OK &&
        (from->size < sizeof(*from) || from->bytes == 0 || from->bytes > DP_LIMIT_STORAGE_BYTES))
        rc = dp_error_set(err, DP_EVALUE, "an exported block of %llu bytes, described in %u",
                          (unsigned long long)from->bytes, from->size);
    if (rc == DP_OK)
        rc = dpi_layout_check(ndim, sizes, strides, offset, &l, err);
    if (rc == DP_OK)
        rc = dpi_fits_check(&l, dp_dtype_size(dtype), from->bytes, err);
    if (rc < 0)
        return rc;
    dpi_home *h = dpi_home_new(ndim, 0);
    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    if ((rc = dpi_storage_init_import(&h->storage, at, from->bytes, &from->name, err)) < 0) {
        dpi_home_free(h);
        return rc;
    }
    *out = dpi_home_own_all(h, dtype, &l);
    return DP_OK;
}

int dpi_tensor_on_storage(dp_dtype dtype, dpi_storage *s, const dpi_layout *l, dp_tensor **out,
                          dp_error *err)
{
    dpi_home *h = dpi_home_new(l->ndim, 0);

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    dpi_geometry_init(&h->geometry, l, s);
    dpi_home_ref(DPI_HOME_OF(storage, s));
    if (DPI_UNLIKELY(atomic_load_explicit(&s->growth, memory_order_relaxed) != NULL)) {
        size_t bytes = dpi_layout_bytes(l, dp_dtype_size(dtype));
        h->geometry.needs = dpi_storage_count_needs(s, bytes, 1) ? bytes : 0;
    }
    atomic_init(&h->version.value, 0);
    *out = dpi_tensor_init(h, dtype, &h->geometry, &h->version);
    return DP_OK;
}

int dpi_tensor_on(const dp_tensor *t, const dpi_layout *l, dp_tensor **out, dp_error *err)
{
    return dpi_tensor_on_storage(t->dtype, dpi_storage_of(t), l, out, err);
}

/* The storage lies in the tensor's home.  The geometry with the parts lies in a second home, which
 * can be released when dpi_wrapper_become() replaces it. */
int dpi_tensor_of_parts(dp_dtype dtype, dp_device device, const char *kind, const dpi_layout *l,
                        dpi_parts *p, dp_tensor **out, dp_error *err)
{
    size_t bytes = strlen(kind) + 1;
    dpi_home *h = dpi_home_new(l->ndim, bytes);
    dp_tensor *from;

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    int rc =
        dpi_storage_init(&h->storage, (dpi_target){device | DPI_MEMORYLESS, 0, NULL}, 0, NULL, err);
    if (rc < 0) {
        dpi_home_free(h);
        return rc;
    }
    h->storage.kind = memcpy(dpi_home_inline_data(h, l->ndim), kind, bytes);
    dp_tensor *t = dpi_home_own_all(h, dtype, l);
    if ((rc = dpi_tensor_with_parts(t, l, p, &from, err)) < 0) {
        dp_tensor_unref(t);
        return rc;
    }
    atomic_store_explicit(&t->geometry, dpi_tensor_strip(from), memory_order_relaxed);
    *out = t;
    return DP_OK;
}

bool dpi_parts_are_only(const dp_tensor *t)
{
    const dpi_geometry *g = atomic_load_explicit(&t->geometry, memory_order_acquire);

    return g->parts != NULL && atomic_load(&DPI_HOME_OF(geometry, g)->refs) == 1 &&
           atomic_load(&DPI_HOME_OF(tensor, t)->refs) == 2;
}

int dpi_tensor_with_parts(const dp_tensor *t, const dpi_layout *l, dpi_parts *p, dp_tensor **out,
                          dp_error *err)
{
    int rc = dpi_tensor_on(t, l, out, err);

    if (rc == DP_OK)
        DPI_HOME_OF(tensor, *out)->geometry.parts = p;
    return rc;
}

/* Make `t` share the version of `of`, and make `root` the root of `t`.  Takes the reference to
 * `root`. */
static void share_version(dp_tensor *t, const dp_tensor *of, dp_tensor *root)
{
    dpi_home *replaced = dpi_home_of_version(t), *held;
    dp_tensor *replaced_root = t->root;

    t->version = of->version;
    t->root = root;
    if ((held = dpi_home_of_version(t)) != NULL)
        dpi_home_ref(held);
    if (replaced != NULL)
        dpi_home_unref(replaced);
    dp_tensor_unref(replaced_root);
}

void dpi_tensor_share_version(dp_tensor *t, dp_tensor *of)
{
    share_version(t, of, t->root ? dp_tensor_ref(t->root) : NULL);
}

void dpi_tensor_leave_root(dp_tensor *v)
{
    share_version(v, v, NULL);
    v->creation = DP_CREATED_DEFAULT;
}

void dpi_tensor_join(dp_tensor *v, dp_tensor *base, bool detached, int creation)
{
    share_version(v, base, detached ? NULL : dp_tensor_ref(base->root ? base->root : base));
    v->creation = (uint8_t)creation;
    v->view_version = (uint32_t)dpi_version_of(base);
    if (base->root && (creation == DP_CREATED_DEFAULT || base->creation == DP_CREATED_INFERENCE))
        v->creation = base->creation;
    /* A root may come to need a gradient, even through another of its views. */
    if (!detached && v->creation != DP_CREATED_INFERENCE && dpi_differentiable(v->dtype)) {
        v->grad_by_root |= !(v->keys.functionality & DPI_GRAD_BIT);
        v->keys.functionality |= DPI_GRAD_BIT;
    }
}

int dp_tensor_alias(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t, out))
        return DP_EVALUE;
    dpi_home *h = dpi_home_new(0, 0);
    /* only the reference count of its home is written */
    dpi_geometry *g = (dpi_geometry *)(uintptr_t)dpi_geometry_of(t);

    if (h == NULL)
        return dpi_no_memory(err, "a tensor");
    dpi_home_ref(DPI_HOME_OF(geometry, g));
    dpi_home_ref(DPI_HOME_OF(version, t->version));
    *out = dpi_tensor_init(h, t->dtype, g, t->version);
    atomic_init(&(*out)->id, dp_tensor_id(t));
    (*out)->keys = dpi_keys_of(t);
    (*out)->grad_by_root = __atomic_load_n(&t->grad_by_root, __ATOMIC_RELAXED);
    return DP_OK;
}

void dp_tensor_fix(const dp_tensor *t)
{
    dpi_storage_fix(dpi_storage_of(t));
}

int dpi_tensor_fake(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dpi_layout l;
    int rc = dpi_layout_check(g->ndim, g->sizes, g->strides, g->offset, &l, err);

    if (rc == DP_OK)
        rc = over_new_storage(t->dtype, (dpi_target){g->storage->device | DPI_FAKE, 0, NULL}, &l,
                              dpi_memory_of(g->storage)->bytes, out, err);
    if (rc == DP_OK)
        (*out)->wrapped = t->wrapped;
    return rc;
}
