/* tensor.c -- the object: a dtype and a geometry over a counted storage, and the factories.
 *
 * Owns the number of tensors in the process, which is exact, and the number of shape changes. */
#include "room.h"
#include <pthread.h>

static atomic_uint_fast64_t n_tensors;

void dp_tensor_stats_get(dp_tensor_stats *out)
{
    *out = (dp_tensor_stats){.tensors = atomic_load(&n_tensors)};
    dpi_storage_stats(&out->bytes, &out->bytes_peak);
    for (int bit = 0; bit < 64; bit++) /* every backend counts its storages */
        out->storages += dpi_backend_storages(bit);
}

/* -- the object -- */

static dpi_version *version_unref(dpi_version *v)
{
    if (v && dpi_unref_last(&v->refs))
        dp_free(v);
    return NULL;
}

static dpi_version *version_get(dpi_version *shared)
{
    dpi_version *v = shared ? shared : dp_malloc(sizeof(*v));

    if (shared) {
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    } else if (v) {
        atomic_init(&v->refs, 1);
        atomic_init(&v->value, 0);
    }
    return v;
}

int dpi_tensor_make(dp_dtype dtype, dpi_geometry *g, dpi_version *v, dp_tensor **out, dp_error *err)
{
    dp_tensor *t = dp_malloc(sizeof(*t));
    dpi_version *version = t ? version_get(v) : NULL;

    if (version == NULL) {
        dp_free(t);
        dpi_geometry_unref(g);
        return dpi_no_memory(err, "a tensor");
    }
    *t = (dp_tensor){.keys = dpi_backend_keys(dp_device_backend(g->storage->device)),
                     .refs = 1,
                     .dtype = dtype,
                     .version = version};
    atomic_init(&t->geometry, g);
    atomic_fetch_add_explicit(&n_tensors, 1, memory_order_relaxed);
    *out = t;
    return DP_OK;
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
    dpi_geometry_unref(atomic_load_explicit(&t->geometry, memory_order_relaxed));
    version_unref(t->version);
    dp_free(t);
    atomic_fetch_sub_explicit(&n_tensors, 1, memory_order_relaxed);
    return NULL;
}

/* -- changes of shape -- */

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static int check_change(const dp_tensor *t, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    char shape[DP_SHAPE_TEXT];

    if (g != atomic_load_explicit(&t->geometry, memory_order_relaxed))
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s was given another one by another call, since "
                            "this one began",
                            dp_shape_text(shape, g->sizes, (size_t)g->ndim));
    if (g->n_formers >= DP_LIMIT_RESIZES)
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s was given another one %d times, which is the "
                            "limit (DP_LIMIT_RESIZES)",
                            dp_shape_text(shape, g->sizes, (size_t)g->ndim), g->n_formers);
    return DP_OK;
}

static void become(dp_tensor *t, dp_tensor *from, uint64_t since)
{
    dpi_geometry *g = atomic_load_explicit(&from->geometry, memory_order_relaxed);

    atomic_store_explicit(&from->geometry, NULL, memory_order_relaxed);
    g->former = atomic_load_explicit(&t->geometry, memory_order_relaxed);
    g->n_formers = g->former->n_formers + 1;
    g->since = since;
    g->by = &dpi_call_began;
    atomic_store_explicit(&t->geometry, g, memory_order_release);
    dp_tensor_unref(from);
}

int dpi_tensors_become(int n, dp_tensor *const *ts, dp_tensor *const *from, dp_error *err)
{
    int first = 0, rc = DP_OK;

    while (first < n && (ts[first] == NULL || from[first] == NULL))
        first++;
    if (first == n)
        return DP_OK;
    pthread_mutex_lock(&changing);
    uint64_t since = atomic_load_explicit(&dpi_changes.n, memory_order_relaxed) + 1;
    for (int i = first; rc == DP_OK && i < n; i++)
        rc = ts[i] && from[i] ? check_change(ts[i], err) : DP_OK;
    for (int i = first; rc == DP_OK && i < n; i++)
        if (ts[i] && from[i])
            become(ts[i], from[i], since);
    /* last: a call that begins at `since` must see all of these changes */
    atomic_store_explicit(&dpi_changes.n, since, memory_order_release);
    pthread_mutex_unlock(&changing);
    return rc;
}

/* -- asking -- */

void dp_tensor_view(const dp_tensor *t, dp_view *view)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    dp_view full = {.size = view->size,
                    .dtype = t->dtype,
                    .device = g->storage->device,
                    .ndim = g->ndim,
                    .data = dpi_geometry_data(g, t->dtype),
                    .sizes = g->sizes,
                    .strides = g->strides,
                    .numel = g->numel};

    if (DPI_LIKELY(view->size >= sizeof(full)))
        *view = full;
    else
        memcpy(view, &full, view->size);
}

dp_keyset dp_tensor_keys(const dp_tensor *t)
{
    return t->keys;
}

int64_t dp_tensor_offset(const dp_tensor *t)
{
    return dpi_geometry_of(t)->offset;
}

uint64_t dp_tensor_storage_id(const dp_tensor *t)
{
    return dpi_storage_of(t)->id;
}

size_t dp_tensor_storage_bytes(const dp_tensor *t)
{
    return dpi_storage_of(t)->bytes;
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
    atomic_fetch_add_explicit(&t->version->value, 1, memory_order_relaxed);
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

/* -- factories -- */

static int check_dtype(dp_dtype dtype, dp_error *err)
{
    return dp_dtype_size(dtype) ? DP_OK
                                : dp_error_set(err, DP_ETYPE, "no dtype has number %d", dtype);
}

/* A tensor over a new storage of `bytes`; SIZE_MAX: of as many as g needs.  Takes the reference to
 * g. */
static int over_new_storage(dp_dtype dtype, dp_device device, dpi_geometry *g, size_t bytes,
                            dp_tensor **out, dp_error *err)
{
    dpi_storage *s;
    size_t need = dpi_geometry_bytes(g, dp_dtype_size(dtype));
    int rc = dpi_storage_new(device, bytes == SIZE_MAX ? need : bytes, &s, err);

    if (rc < 0) {
        dpi_geometry_unref(g);
        return rc;
    }
    g->storage = s;
    return dpi_tensor_make(dtype, g, NULL, out, err);
}

int dp_tensor_new(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                  const int64_t *strides, dp_tensor **out, dp_error *err)
{
    dpi_geometry *g = NULL;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK)
        rc = strides ? dpi_geometry_new(ndim, sizes, strides, 0, &g, err)
                     : dpi_geometry_packed(dtype, ndim, sizes, &g, err);
    return rc < 0 ? rc : over_new_storage(dtype, device, g, SIZE_MAX, out, err);
}

int dp_tensor_new_storage(dp_dtype dtype, dp_device device, int64_t n_elements, int ndim,
                          const int64_t *sizes, const int64_t *strides, int64_t offset,
                          dp_tensor **out, dp_error *err)
{
    dpi_geometry *g = NULL;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK && (n_elements < 0 || n_elements > DP_LIMIT_STORAGE_BYTES))
        rc = dp_error_set(err, DP_EVALUE, "a storage of %lld elements", (long long)n_elements);
    if (rc == DP_OK)
        rc = dpi_geometry_new(ndim, sizes, strides, offset, &g, err);
    if (rc < 0)
        return rc;
    size_t bytes = (size_t)n_elements * dp_dtype_size(dtype);
    rc = dpi_fits_check(g, dp_dtype_size(dtype), bytes, err);
    if (rc < 0) {
        dpi_geometry_unref(g);
        return rc;
    }
    rc = over_new_storage(dtype, device, g, bytes, out, err);
    if (rc == DP_OK && dpi_storage_of(*out)->host && bytes > 0)
        memset(dpi_storage_of(*out)->data, 0, bytes);
    return rc;
}

int dp_tensor_wrap(dp_dtype dtype, int ndim, const int64_t *sizes, const int64_t *strides,
                   void *data, size_t bytes, void (*release)(void *arg), void *arg, dp_tensor **out,
                   dp_error *err)
{
    dpi_geometry *g = NULL;
    dpi_storage *s = NULL;
    int rc = check_dtype(dtype, err);

    if (rc == DP_OK && (uintptr_t)data % dp_dtype_size(dtype) % 8 != 0)
        rc = dp_error_set(err, DP_EVALUE, "memory at %p is not aligned for %s", data,
                          dp_dtype_name(dtype));
    if (rc == DP_OK)
        rc = dpi_geometry_new(ndim, sizes, strides, 0, &g, err);
    if (rc == DP_OK)
        rc = dpi_fits_check(g, dp_dtype_size(dtype), bytes, err);
    if (rc == DP_OK)
        rc = dpi_storage_wrap(data, bytes, NULL, NULL, &s, err);
    if (rc < 0) {
        dpi_geometry_unref(g);
        return rc;
    }
    g->storage = s;
    rc = dpi_tensor_make(dtype, g, NULL, out, err);
    if (rc == DP_OK && release) { /* only now: on failure the memory stays the caller's */
        s->release = release;
        s->release_arg = arg;
    }
    return rc;
}

int dp_tensor_alias(const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    return dpi_tensor_make(t->dtype, dpi_geometry_ref(dpi_geometry_of(t)), t->version, out, err);
}

int dpi_empty(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes, dp_memory_format f,
              dp_tensor **out, dp_error *err)
{
    int64_t strides[DP_DIM_MAX];

    if (f == DP_CONTIGUOUS)
        return dp_tensor_new(dtype, device, ndim, sizes, NULL, out, err);
    int rc = dpi_packed_check(dtype, ndim, sizes, err); /* products of sizes must fit int64 */
    if (rc == DP_OK)
        rc = dpi_strides_format(ndim, sizes, f, strides, err);
    return rc < 0 ? rc : dp_tensor_new(dtype, device, ndim, sizes, strides, out, err);
}

int dpi_empty_strided(dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                      const int64_t *strides, dp_tensor **out, dp_error *err)
{
    return dp_tensor_new(dtype, device, ndim, sizes, strides, out, err);
}

int dpi_empty_like(const dp_tensor *t, dp_dtype dtype, dp_memory_format f, dp_tensor **out,
                   dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    const int64_t *like = g->strides;
    dp_dtype wanted = dtype == DP_DTYPE_NONE ? t->dtype : dtype;

    if (f != DP_PRESERVE)
        return dpi_empty(wanted, dpi_storage_of(t)->device, g->ndim, g->sizes, f, out, err);
    int rc = dpi_packed_check(wanted, g->ndim, g->sizes, err);
    if (rc < 0)
        return rc;
    if (!g->dense) {
        dpi_strides_dense_like(g->ndim, g->sizes, g->strides, strides);
        like = strides;
    }
    return dp_tensor_new(wanted, dpi_storage_of(t)->device, g->ndim, g->sizes, like, out, err);
}
