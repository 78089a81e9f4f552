/* copy.c -- elements from one tensor to another: any dtypes, any layouts, any two devices.
 *
 * Elements move in host memory.  A tensor on a device of its own is staged: the bytes between its
 * first and its last element come up, or go down, in one piece.  Only one device is entered at a
 * time, so two copies in opposite directions cannot wait for each other. */
#include "room.h"

enum { TILE = 64 }; /* elements of a run, where runs are cut short */

/* One side of a copy, in host memory or in a device's. */
typedef struct side {
    dp_dtype dtype;
    const int64_t *strides; /* elements */
    char *data;             /* first element */
} side;

/* -- in host memory -- */

typedef struct copy_job {
    const dpi_nest *nest;
    dp_dtype dtypes[2]; /* to, from */
} copy_job;

static void copy_run(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const dp_dtype *dtypes = user;
    dpi_run_copy(dtypes[0], data[0], strides[0], dtypes[1], data[1], strides[1], n);
}

static void copy_range(int64_t begin, int64_t end, void *user)
{
    copy_job *j = user;
    dpi_nest_run(j->nest, begin, end, copy_run, j->dtypes);
}

/* When the source lies across the destination, run after run would touch the same lines of the
 * source and miss them each time; in tiles they are still there.  The innermost dimension becomes
 * two: TILE elements inside, the tiles outermost.  What is left over at its end follows.  nest has
 * room for one more dimension. */
static void run_tiled(dpi_nest *nest, copy_job *j, int threads)
{
    int64_t rest = nest->sizes[0] % TILE, tiles = nest->sizes[0] / TILE;
    int last = nest->ndim++;

    nest->sizes[last] = tiles;
    for (int k = 0; k < 2; k++)
        nest->strides[2 * last + k] = nest->strides[k] * TILE;
    nest->numel = nest->numel / nest->sizes[0];
    nest->sizes[0] = TILE;
    dpi_pool_run(threads, 0, nest->numel * TILE * tiles, DPI_GRAIN, copy_range, j);
    nest->ndim--;
    nest->sizes[0] = rest;
    for (int k = 0; k < 2; k++)
        nest->data[k] += nest->strides[2 * last + k] * tiles;
    copy_range(0, nest->numel * rest, j);
}

/* sizes [ndim], none of them 0. */
static void copy_host(int ndim, const int64_t *sizes, side dst, side src, int threads)
{
    int64_t at[DP_DIM_MAX + 1] = {1}, steps[2 * (DP_DIM_MAX + 1)];
    dpi_nest nest = {
        2, ndim ? ndim : 1, 1, at, steps, {dst.data, src.data}
    };
    int64_t to_bytes = (int64_t)dp_dtype_size(dst.dtype);
    int64_t from_bytes = (int64_t)dp_dtype_size(src.dtype);
    copy_job j = {
        &nest, {dst.dtype, src.dtype}
    };
    int perm[DP_DIM_MAX];

    steps[0] = steps[1] = 0; /* of a tensor without dimensions */
    for (int d = 0; d < ndim; d++) {
        int i = ndim - 1 - d;
        at[i] = sizes[d];
        nest.numel *= sizes[d];
        steps[2 * i] = sizes[d] > 1 ? dst.strides[d] * to_bytes : 0;
        steps[2 * i + 1] = sizes[d] > 1 ? src.strides[d] * from_bytes : 0;
    }
    dpi_nest_order(&nest, perm);
    dpi_nest_coalesce(&nest);
    if (nest.ndim > 1 && nest.sizes[0] > TILE && steps[1] > steps[3])
        run_tiled(&nest, &j, threads);
    else
        dpi_pool_run(threads, 0, nest.numel, DPI_GRAIN, copy_range, &j);
}

/* -- staging -- */

static size_t span_bytes(const dp_tensor *t) /* from the first element to the end of the last */
{
    const dpi_geometry *g = dpi_geometry_of(t);
    size_t itemsize = dp_dtype_size(t->dtype);

    return dpi_geometry_bytes(g, itemsize) - (size_t)g->offset * itemsize;
}

static bool is_meta(const dp_tensor *t)
{
    return dp_device_backend(dpi_storage_of(t)->device) == DP_B_Meta;
}

/* Inside the device.  direction: dp_device_ops.copy's. */
static int device_copy(const dp_device_ops *ops, dp_device device, void *dst, const void *src,
                       size_t bytes, int direction, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    int rc = ops->copy(dp_device_index(device), dst, src, bytes, direction, &theirs);

    return rc ? dpi_device_failed(dp_device_backend(device), "copy", rc, &theirs, err) : DP_OK;
}

/* Bytes between t's device and host memory, in direction 0 (down) or 1 (up). */
static int transfer(const dp_tensor *t, void *host, size_t bytes, int direction, dp_error *err)
{
    const dp_device_ops *ops;
    const dpi_storage *s = dpi_storage_of(t);
    char *there = dpi_tensor_data(t);
    int rc = dpi_storage_enter(s, &ops, err);

    if (rc < 0)
        return rc;
    rc = device_copy(ops, s->device, direction ? host : there, direction ? there : host, bytes,
                     direction, err);
    dpi_storage_leave(s);
    return rc;
}

/* The bytes of t in host memory: its own (*owned NULL), or, of a device, *owned of span_bytes(t),
 * filled if asked to. */
static int stage(const dp_tensor *t, bool filled, void **owned, char **data, dp_error *err)
{
    const dp_device_ops *ops;
    const dpi_storage *s = dpi_storage_of(t);
    int rc = dpi_storage_enter(s, &ops, err);

    *owned = NULL;
    *data = dpi_tensor_data(t);
    if (rc < 0)
        return rc;
    dpi_storage_leave(s); /* was it unloaded? host memory stays while t does */
    if (s->host)
        return DP_OK;
    size_t bytes = span_bytes(t);
    *data = *owned = dpi_memory_alloc(bytes);
    if (*owned == NULL)
        return dp_error_set(err, DP_ERESOURCE,
                            "out of memory: %zu bytes to stage a tensor of a device", bytes);
    rc = filled ? transfer(t, *owned, bytes, 1, err) : DP_OK;
    if (rc < 0) {
        dpi_memory_free(*owned, bytes);
        *owned = NULL;
    }
    return rc;
}

/* src, which is in host memory and has dst's sizes, to dst. */
static int put(dp_tensor *dst, side src, int threads, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(dst);
    void *owned;
    side to = {dst->dtype, g->strides, NULL};
    /* bytes between the elements go down again as they came up */
    int rc = stage(dst, !g->dense, &owned, &to.data, err);

    if (rc < 0)
        return rc;
    copy_host(g->ndim, g->sizes, to, src, threads);
    if (owned)
        rc = transfer(dst, owned, span_bytes(dst), 0, err);
    dpi_memory_free(owned, span_bytes(dst));
    return rc;
}

/* src, with these strides for dst's sizes, to dst by way of host memory. */
static int copy_staged(dp_tensor *dst, const dp_tensor *src, const int64_t *strides, int threads,
                       dp_error *err)
{
    void *owned;
    side from = {src->dtype, strides, NULL};
    int rc = stage(src, true, &owned, &from.data, err);

    if (rc < 0)
        return rc;
    rc = put(dst, from, threads, err);
    dpi_memory_free(owned, span_bytes(src));
    return rc;
}

/* One block of bytes within one device, the host included. */
static int copy_block(dp_tensor *dst, const dp_tensor *src, dp_error *err)
{
    const dp_device_ops *ops;
    const dpi_storage *to = dpi_storage_of(dst);
    int bit = dp_device_backend(to->device), rc = dpi_storage_enter(to, &ops, err);

    if (rc < 0)
        return rc;
    if (ops == NULL)
        memmove(dpi_tensor_data(dst), dpi_tensor_data(src), span_bytes(dst));
    else if (dpi_storage_of(src)->registration != to->registration)
        rc = dp_error_set(err, DP_ERUNTIME, "backend %s was unloaded", dpi_backend_name(bit));
    else
        rc = device_copy(ops, to->device, dpi_tensor_data(dst), dpi_tensor_data(src),
                         span_bytes(dst), 2, err);
    dpi_storage_leave(to);
    return rc;
}

/* -- the public ones -- */

/* Strides of src stretched to dst's sizes. */
static int expand(const dp_tensor *dst, const dp_tensor *src, int64_t *strides, dp_error *err)
{
    const dpi_geometry *d = dpi_geometry_of(dst), *s = dpi_geometry_of(src);
    char own[DPI_SHAPE_TEXT], both[DPI_SHAPE_TEXT];
    int ndim = d->ndim > s->ndim ? d->ndim : s->ndim, lead = d->ndim - s->ndim;
    int64_t shape[DP_DIM_MAX];
    int rc = dpi_broadcast_shapes(d->ndim, d->sizes, s->ndim, s->sizes, shape, err);

    if (rc < 0)
        return rc;
    if (lead < 0 || memcmp(shape, d->sizes, (size_t)ndim * sizeof(int64_t)) != 0)
        return dp_error_set(
            err, DP_ERUNTIME, "output with shape %s doesn't match the broadcast shape %s",
            dpi_shape_print(own, d->ndim, d->sizes), dpi_shape_print(both, ndim, shape));
    for (int i = 0; i < ndim; i++)
        strides[i] = i >= lead && s->sizes[i - lead] != 1 ? s->strides[i - lead] : 0;
    return DP_OK;
}

static int check_copy(const dp_tensor *dst, const dp_tensor *src, int64_t *strides, dp_error *err)
{
    int rc = expand(dst, src, strides, err);

    if (rc == DP_OK)
        rc = dpi_overlap_check(dst, NULL, err);
    if (rc == DP_OK)
        rc = dpi_overlap_check(dst, src, err);
    if (rc == DP_OK && is_meta(src) && !is_meta(dst) && dpi_geometry_of(dst)->numel > 0)
        rc = dp_error_set(err, DP_ENOTIMPL, "cannot copy out of a meta tensor; it has no data");
    return rc;
}

int dpi_copy(dp_tensor *dst, const dp_tensor *src, int threads, dp_error *err)
{
    const dpi_geometry *d = dpi_geometry_of(dst), *s = dpi_geometry_of(src);
    int64_t strides[DP_DIM_MAX];

    if (dst == src)
        return DP_OK;
    int rc = check_copy(dst, src, strides, err);
    if (rc < 0 || d->numel == 0 || is_meta(dst))
        return rc;
    bool alike =
        dst->dtype == src->dtype && d->dense && dpi_same_sizes(d, s) && dpi_same_strides(d, s);
    if (alike && d->storage->device == s->storage->device)
        return copy_block(dst, src, err);
    return copy_staged(dst, src, strides, threads, err);
}

static int no_data(const dp_tensor *t, dp_error *err)
{
    return is_meta(t) ? dp_error_set(err, DP_ENOTIMPL, "a meta tensor has no data") : DP_OK;
}

int dp_tensor_read(const dp_tensor *t, void *dst, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    side to = {t->dtype, strides, dst}, from = {t->dtype, g->strides, NULL};
    void *owned;
    int rc = no_data(t, err);

    if (rc < 0 || g->numel == 0)
        return rc;
    rc = stage(t, true, &owned, &from.data, err);
    if (rc < 0)
        return rc;
    dpi_strides_contiguous(g->ndim, g->sizes, strides);
    copy_host(g->ndim, g->sizes, to, from, 1);
    dpi_memory_free(owned, span_bytes(t));
    return DP_OK;
}

int dp_tensor_write(dp_tensor *t, const void *src, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    /* bytes that are to be bools may hold anything: as uint8 they are converted */
    side from = {t->dtype == DP_BOOL ? DP_UINT8 : t->dtype, strides, (char *)src};
    int rc = no_data(t, err);

    if (rc == DP_OK)
        rc = dpi_overlap_check(t, NULL, err);
    if (rc < 0 || g->numel == 0)
        return rc;
    dpi_strides_contiguous(g->ndim, g->sizes, strides);
    return put(t, from, 1, err);
}
