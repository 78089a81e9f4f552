/* copy.c -- copy elements between two tensors of any dtypes and layouts, on any two devices.
 *
 * Elements move in host memory.  For device memory, the bytes from a tensor's first to its last
 * element are copied to or from a host buffer.  Only one device is entered at a time, so that
 * threads that copy in opposite directions cannot deadlock. */
#include "nest.h"

/* One side of a copy, in host memory or on a device. */
typedef struct side {
    dp_dtype dtype;
    const int64_t *strides; /* in elements; NULL in a source: both sides are packed, of one dtype */
    char *data;             /* first element */
    uint64_t bits;          /* subset of DPI_MATH_BITS */
} side;

/* -- in host memory -- */

typedef struct copy_job {
    const dpi_nest *nest;
    dp_dtype to, from;
    bool uncached; /* stores bypass the caches; the destination is packed along dimension 0 */
    /* number of elements that the source repeats (merge_period()), 0: none; bytes between them */
    int64_t period, step;
    uint64_t bits; /* subset of DPI_MATH_BITS that is applied during the copy, not after it */
} copy_job;

/* Write `n` elements of the repeated sequence: first its elements from number `at` on, then the
 * sequence again and again. */
static void make_period(const copy_job *j, char *dst, const char *src, int64_t at, int64_t n)
{
    int64_t bytes = (int64_t)dp_dtype_size(j->to), head = j->period - at;

    head = head < n ? head : n;
    dpi_run_copy(j->to, dst, bytes, j->from, src + at * j->step, j->step, head);
    at = at < n - head ? at : n - head;
    dpi_run_copy(j->to, dst + head * bytes, bytes, j->from, src, j->step, at);
    dpi_repeat(dst, (head + at) * bytes, n * bytes);
}

enum { TILE = 16 << 10 }; /* bytes of a buffer of whole sequences, written again and again */

static void copy_repeated(const copy_job *j, char *dst, const char *src, int64_t at, int64_t n)
{
    _Alignas(64) char tile[TILE];
    int64_t bytes = (int64_t)dp_dtype_size(j->to), whole = TILE / (j->period * bytes) * j->period;

    if (!j->uncached) {
        make_period(j, dst, src, at, n);
        return;
    }
    whole = whole < n ? whole : n;
    make_period(j, tile, src, at, whole);
    for (int64_t m; n > 0; n -= m, dst += m * bytes) {
        m = whole < n ? whole : n;
        dpi_run_copy_uncached(DP_UINT8, dst, DP_UINT8, tile, 1, m * bytes);
    }
}

/* Copy, and conjugate and negate in a buffer, since elements of the destination may overlap. */
static void copy_with_math_bits(const copy_job *j, char *dst, int64_t dst_stride, const char *src,
                                int64_t src_stride, int64_t n)
{
    enum { CHUNK = 256 };
    _Alignas(64) char buffer[CHUNK * DPI_ITEM_MAX];
    const int64_t packed = 1;
    int64_t bytes = (int64_t)dp_dtype_size(j->to);

    for (int64_t m; n > 0; n -= m, dst += m * dst_stride, src += m * src_stride) {
        m = n < CHUNK ? n : CHUNK;
        dpi_run_copy(j->to, buffer, bytes, j->from, src, src_stride, m);
        dpi_twist(j->to, j->bits, 1, &m, &packed, buffer);
        dpi_run_copy(j->to, dst, dst_stride, j->to, buffer, bytes, m);
    }
}

static void copy_run(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    const copy_job *j = user;

    if (j->bits)
        copy_with_math_bits(j, data[0], strides[0], data[1], strides[1], n);
    else if (j->period > 0)
        copy_repeated(j, data[0], data[1],
                      (data[0] - j->nest->data[0]) / (int64_t)dp_dtype_size(j->to) % j->period, n);
    else if (j->uncached)
        dpi_run_copy_uncached(j->to, data[0], j->from, data[1], strides[1], n);
    else
        dpi_run_copy(j->to, data[0], strides[0], j->from, data[1], strides[1], n);
}

static void copy_range(int64_t begin, int64_t end, void *user)
{
    const copy_job *j = user;

    dpi_nest_run(j->nest, begin, end, copy_run, user);
    if (j->uncached)
        dpi_uncached_end();
}

/* Merge dimensions 0 and 1 if dimension 1 has source stride 0, and so repeats the source's elements
 * of dimension 0 (the period), the destination is packed, and two periods fit into TILE bytes. */
static void merge_period(dpi_nest *nest, copy_job *j)
{
    int64_t bytes = (int64_t)dp_dtype_size(j->to), packed = bytes;

    if (nest->ndim < 2 || nest->strides[3] != 0 || nest->sizes[0] > TILE / 2 / bytes)
        return;
    for (int d = 0; d < nest->ndim; packed *= nest->sizes[d], d++)
        if (nest->strides[2 * d] != packed)
            return;
    j->period = nest->sizes[0];
    j->step = nest->strides[1];
    nest->sizes[1] *= nest->sizes[0];
    nest->strides[2] = bytes;
    nest->ndim--;
    nest->sizes++;
    nest->strides += 2;
}

/* Tell whether elements of the destination, whose dimensions are sorted by stride, may overlap. */
static bool may_overlap(const dpi_nest *nest, int64_t bytes)
{
    int64_t span = bytes, more; /* bytes that the dimensions so far span */

    for (int d = 0; d < nest->ndim; d++) {
        int64_t stride = nest->strides[2 * d];
        if (nest->sizes[d] > 1 && stride < span)
            return true;
        if (nest->sizes[d] > 1 && (__builtin_mul_overflow(nest->sizes[d] - 1, stride, &more) ||
                                   __builtin_add_overflow(span, more, &span)))
            return true;
    }
    return false;
}

/* Copy in dpi_nest_run()'s order: at a shared address the last element remains, as in PyTorch. */
static void copy_in_order(copy_job *j, uint64_t bits)
{
    j->bits = bits;
    copy_range(0, j->nest->numel, j);
}

/* Copy sizes [ndim] elements in host memory; no size is 0.  Returns DP_OK or the code of `stop`. */
static int copy_host(int ndim, const int64_t *sizes, side dst, side src, int threads,
                     const dpi_stop *stop)
{
    int64_t at[DP_DIM_MAX], steps[2 * DP_DIM_MAX];
    dpi_nest nest = {2, ndim ? ndim : 1, 1, at, steps, {dst.data, src.data}, 0};
    int64_t to_bytes = (int64_t)dp_dtype_size(dst.dtype);
    int64_t from_bytes = (int64_t)dp_dtype_size(src.dtype);
    copy_job j = {.nest = &nest, .to = dst.dtype, .from = src.dtype};
    int perm[DP_DIM_MAX];

    at[0] = 1; /* for a tensor without dimensions */
    steps[0] = steps[1] = 0;
    for (int d = 0; d < ndim; d++) {
        int i = ndim - 1 - d;
        at[i] = sizes[d];
        nest.numel *= sizes[d];
        steps[2 * i] = sizes[d] > 1 ? dst.strides[d] * to_bytes : 0;
        steps[2 * i + 1] = sizes[d] > 1 ? src.strides[d] * from_bytes : 0;
    }
    dpi_nest_order(&nest, perm, false);
    dpi_nest_coalesce(&nest);
    if (may_overlap(&nest, to_bytes)) {
        copy_in_order(&j, dst.bits ^ src.bits);
        return DP_OK;
    }
    merge_period(&nest, &j);
    int rc, source_inner = j.period ? 0 : dpi_nest_source_inner(&nest);
    j.uncached = nest.strides[0] == to_bytes && dpi_goes_past(nest.numel * to_bytes);
    if (source_inner > 0)
        rc = dpi_copy_transposed(&nest, source_inner, j.to, j.from, j.uncached, threads, stop);
    else
        rc = dpi_thread_pool_run(threads, 0, nest.numel, DPI_GRAIN, copy_range, &j, stop);
    if (DPI_UNLIKELY(rc == DP_OK && dst.bits != src.bits))
        dpi_twist(dst.dtype, dst.bits ^ src.bits, ndim, sizes, dst.strides, dst.data);
    return rc;
}

/* -- staging -- */

static size_t span_bytes(const dp_tensor *t) /* bytes from the first to the last element */
{
    const dpi_geometry *g = dpi_geometry_of(t);
    size_t itemsize = dp_dtype_size(t->dtype);

    return dpi_geometry_bytes(g, itemsize) - (size_t)g->offset * itemsize;
}

/* Call d->ops.copy, which has these parameters.  The caller has entered `d`. */
static int device_copy(dpi_device *d, dp_device device, void *dst, const void *src, size_t bytes,
                       int direction, dp_error *err)
{
    dp_error theirs = DP_ERROR_INIT;
    int rc = d->ops.copy(dp_device_index(device), dst, src, bytes, direction, &theirs);

    return dpi_device_waited(d, "copy", rc, &theirs, device, DPI_ALL_STREAMS, err);
}

/* Copy `bytes`, from the first element of `t` on, between `host` and t's device. */
static int transfer(const dp_tensor *t, void *host, size_t bytes, int direction, dp_error *err)
{
    dpi_device *d;
    const dpi_storage *s = dpi_storage_of(t);
    bool up = direction == DP_DEVICE_TO_HOST;
    int rc = dpi_storage_enter(s, &d, err);

    if (rc < 0)
        return rc;
    char *device_data = dpi_tensor_data(t);
    rc = device_copy(d, s->device, up ? host : device_data, up ? device_data : host, bytes,
                     direction, err);
    dpi_device_leave(d);
    return rc;
}

/* Set `*data` to t's first element in host memory.  For device memory, this is a new buffer
 * `*owned` of span_bytes(t), with a copy of t's bytes if `filled`; otherwise `*owned` is NULL. */
static int stage(const dp_tensor *t, bool filled, void **owned, char **data, dp_error *err)
{
    dpi_device *d;
    const dpi_storage *s = dpi_storage_of(t);
    int rc = dpi_storage_enter(s, &d, err);

    *owned = NULL;
    *data = dpi_tensor_data(t);
    if (rc < 0)
        return rc;
    dpi_device_leave(d); /* entered only to check that the device exists; host memory stays valid */
    if (s->host)
        return DP_OK;
    size_t bytes = span_bytes(t);
    *data = *owned = dpi_memory_alloc(bytes);
    if (*owned == NULL)
        return dp_error_set(err, DP_ERESOURCE,
                            "out of memory: %zu bytes to stage a tensor of a device", bytes);
    rc = filled ? transfer(t, *owned, bytes, DP_DEVICE_TO_HOST, err) : DP_OK;
    if (rc < 0) {
        dpi_memory_free(*owned, bytes);
        *owned = NULL;
    }
    return rc;
}

/* Copy `src`, in host memory and with dst's sizes, to `dst`. */
static int copy_from_host(dp_tensor *dst, side src, int threads, const dpi_stop *stop,
                          dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(dst);
    void *owned;
    side to = {dst->dtype, g->strides, NULL, dpi_math_bits(dst)};
    /* If there are gaps between elements, read all bytes first: the gaps are written, too. */
    int rc = stage(dst, !g->dense, &owned, &to.data, err);

    if (rc < 0)
        return rc;
    if (src.strides == NULL)
        memcpy(to.data, src.data, span_bytes(dst));
    else
        rc = copy_host(g->ndim, g->sizes, to, src, threads, stop);
    if (owned && rc == DP_OK)
        rc = transfer(dst, owned, span_bytes(dst), DP_HOST_TO_DEVICE, err);
    dpi_memory_free(owned, span_bytes(dst));
    return rc;
}

/* Copy `src` through host memory to `dst`.  `strides` expand it to dst's sizes. */
static int copy_staged(dp_tensor *dst, const dp_tensor *src, const int64_t *strides, int threads,
                       const dpi_stop *stop, dp_error *err)
{
    void *owned;
    side from = {src->dtype, strides, NULL, dpi_math_bits(src)};
    int rc = stage(src, true, &owned, &from.data, err);

    if (rc < 0)
        return rc;
    rc = copy_from_host(dst, from, threads, stop, err);
    dpi_memory_free(owned, span_bytes(src));
    return rc;
}

typedef struct bytes_job {
    char *dst;
    const char *src;
    bool uncached;
} bytes_job;

static void copy_bytes(int64_t begin, int64_t end, void *user)
{
    const bytes_job *j = user;

    if (j->uncached)
        dpi_run_copy_uncached(DP_UINT8, j->dst + begin, DP_UINT8, j->src + begin, 1, end - begin);
    else
        memcpy(j->dst + begin, j->src + begin, (size_t)(end - begin));
    if (j->uncached)
        dpi_uncached_end();
}

/* Copy bytes; `dst` and `src` do not overlap, or are equal. */
static int copy_packed(char *dst, const char *src, int64_t bytes, int threads, const dpi_stop *stop)
{
    bytes_job j = {dst, src, dpi_goes_past(bytes)};

    return dst != src ? dpi_thread_pool_run(threads, 0, bytes, 4 * DPI_GRAIN, copy_bytes, &j, stop)
                      : DP_OK;
}

/* Copy one block of bytes within one device, or in host memory.  Entering the device fails if the
 * memory of one tensor belongs to code of the device that was replaced. */
static int copy_block(dp_tensor *dst, const dp_tensor *src, int threads, const dpi_stop *stop,
                      dp_error *err)
{
    dpi_device *d, *from;
    const dpi_storage *to = dpi_storage_of(dst);
    int rc = dpi_storage_enter(to, &d, err);

    if (rc < 0)
        return rc;
    rc = dpi_storage_enter(dpi_storage_of(src), &from, err);
    if (rc == DP_OK) {
        if (to->host)
            rc = copy_packed(dpi_tensor_data(dst), dpi_tensor_data(src), (int64_t)span_bytes(dst),
                             threads, stop);
        else
            rc = device_copy(d, to->device, dpi_tensor_data(dst), dpi_tensor_data(src),
                             span_bytes(dst), DP_ON_DEVICE, err);
        dpi_device_leave(from);
    }
    dpi_device_leave(d);
    return rc;
}

/* -- public functions -- */

/* Compute the strides with which `src` has dst's sizes (expand). */
static int expand(const dp_tensor *dst, const dp_tensor *src, int64_t *strides, dp_error *err)
{
    const dpi_geometry *d = dpi_geometry_of(dst), *s = dpi_geometry_of(src);
    char dst_text[DP_SHAPE_TEXT], broadcast_text[DP_SHAPE_TEXT];
    int ndim = d->ndim > s->ndim ? d->ndim : s->ndim, lead = d->ndim - s->ndim;
    int64_t shape[DP_DIM_MAX];
    int rc = dpi_broadcast_shapes(d->ndim, d->sizes, s->ndim, s->sizes, shape, err);

    if (rc < 0)
        return rc;
    if (lead < 0 || memcmp(shape, d->sizes, (size_t)ndim * sizeof(int64_t)) != 0)
        return dp_error_set(err, DP_ERUNTIME,
                            "output with shape %s doesn't match the broadcast shape %s",
                            dp_shape_text(dst_text, d->sizes, (size_t)d->ndim),
                            dp_shape_text(broadcast_text, shape, (size_t)ndim));
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
    if (rc == DP_OK && dpi_is_memoryless(src) && !dpi_is_memoryless(dst) &&
        dpi_geometry_of(dst)->numel > 0)
        rc = dpi_no_data(dpi_storage_of(src), err);
    return rc;
}

int dpi_copy(dp_tensor *dst, const dp_tensor *src, int threads, dp_error *err)
{
    return dpi_copy_until(dst, src, threads, NULL, err);
}

int dpi_copy_until(dp_tensor *dst, const dp_tensor *src, int threads, const dpi_stop *stop,
                   dp_error *err)
{
    const dpi_geometry *d = dpi_geometry_of(dst), *s = dpi_geometry_of(src);
    int64_t strides[DP_DIM_MAX];

    if (dst == src)
        return DP_OK;
    int rc = dpi_no_wrapper(dst, err);
    if (rc == DP_OK)
        rc = dpi_no_wrapper(src, err);
    if (rc == DP_OK && dst->dtype != src->dtype)
        rc = dpi_convert_check(dst->dtype, src->dtype, err);
    if (rc == DP_OK)
        rc = check_copy(dst, src, strides, err);
    if (rc < 0 || d->numel == 0 || dpi_is_memoryless(dst))
        return rc;
    bool same_layout = dst->dtype == src->dtype && d->dense && dpi_same_sizes(d, s) &&
                       dpi_same_strides(d, s) && dpi_math_bits(dst) == dpi_math_bits(src);
    if (same_layout && d->storage->device == s->storage->device)
        return copy_block(dst, src, threads, stop, err);
    if (same_layout && dpi_copies_between(dst, src))
        return dpi_copy_between(dst, src, span_bytes(dst), err);
    return copy_staged(dst, src, strides, threads, stop, err);
}

/* Check that t's elements, packed, do not exceed the limit of a storage. */
static int check_packed(const dp_tensor *t, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int rc = dpi_no_wrapper(t, err);

    return rc < 0 ? rc : dpi_packed_check(t->dtype, g->ndim, g->sizes, err);
}

/* Are t's bytes its packed elements?  Not if it is bool, whose bytes may be other than 0 and 1. */
static bool is_packed(const dp_tensor *t)
{
    return dpi_geometry_of(t)->contiguous && t->dtype != DP_BOOL && dpi_math_bits(t) == 0;
}

int dp_tensor_read(const dp_tensor *t, void *dst, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t))
        return DP_EVALUE;
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    side to = {t->dtype, strides, dst, 0}, from = {t->dtype, g->strides, NULL, dpi_math_bits(t)};
    void *owned;
    int rc = g->storage->memoryless && g->numel > 0 ? dpi_no_data(g->storage, err)
                                                    : check_packed(t, err);

    if (rc < 0 || g->numel == 0)
        return rc;
    rc = stage(t, true, &owned, &from.data, err);
    if (rc < 0)
        return rc;
    if (is_packed(t)) {
        memcpy(dst, from.data, span_bytes(t));
    } else {
        dpi_strides_contiguous(g->ndim, g->sizes, strides);
        rc = copy_host(g->ndim, g->sizes, to, from, 1, NULL);
    }
    dpi_memory_free(owned, span_bytes(t));
    return rc;
}

/* A bool is read as uint8, because its byte may hold any value; conversion to bool gives 0 or 1. */
static dp_dtype stored_as(dp_dtype of)
{
    return of == DP_BOOL ? DP_UINT8 : of;
}

/* Write the packed elements at `src`, which have dtype `of`, to `t`. */
static int write_elements(dp_tensor *t, dp_dtype of, const void *src, dp_error *err)
{
    const dpi_geometry *g = dpi_geometry_of(t);
    int64_t strides[DP_DIM_MAX];
    side from = {stored_as(of), strides, (char *)src, 0};
    int rc = check_packed(t, err);

    if (rc == DP_OK)
        rc = dpi_overlap_check(t, NULL, err);
    if (rc < 0 || g->numel == 0 || g->storage->memoryless)
        return rc;
    if (is_packed(t) && of == t->dtype)
        from.strides = NULL;
    else
        dpi_strides_contiguous(g->ndim, g->sizes, strides);
    return copy_from_host(t, from, 1, NULL, err);
}

int dp_tensor_write(dp_tensor *t, const void *src, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, t))
        return DP_EVALUE;
    int rc = write_elements(t, t->dtype, src, err);

    if (rc == DP_OK)
        dp_tensor_bump_version(t);
    return rc;
}

int dp_tensor_from(dp_account *a, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
                   dp_dtype of, const void *src, dp_tensor **out, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, out))
        return DP_EVALUE;
    dp_tensor *made;
    int rc = dpi_empty_strided(dtype, (dpi_target){device, 0, a}, ndim, sizes, NULL, &made, err);

    if (rc < 0)
        return rc;
    const dpi_geometry *g = dpi_geometry_of(made);
    if (g->storage->host && g->numel > 0) /* contiguous: no staging needed */
        dp_convert(dtype, g->storage->data, stored_as(of), src, (size_t)g->numel);
    else
        rc = write_elements(made, of, src, err);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}
