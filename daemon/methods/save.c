/* save.c -- store.save: writes tensors to a file of the safetensors format.
 *
 * Elements are written in pieces, between which the request can stop: from the memory of a tensor
 * that is contiguous in the host, else by way of a buffer, into which a piece is copied. */
#include "transfer.h"
#include <string.h>

/* The disk has all but the last two windows of this many bytes, so that the last step, which cannot
 * be cancelled, is short. */
enum { WINDOW_BYTES = 64 << 20 };

/* Write `bytes` bytes, which follow those that were written before. */
static int save_bytes(transfer *t, const void *from, size_t bytes, dp_error *err)
{
    int rc = store_write(t->fd, t->path, from, bytes, t->done, err);

    if (rc == 0)
        rc = transfer_moved(t, bytes, err);
    if (rc == 0 && t->done - t->synced >= WINDOW_BYTES) {
        store_file_advance(t->fd, t->synced, WINDOW_BYTES);
        t->synced += WINDOW_BYTES;
    }
    return rc;
}

/* Write the contiguous elements of `x` from its memory, a piece at a time.  Between dp_ctx_begin()
 * and dp_ctx_end() the memory stays, even if another call replaces it. */
static int save_contiguous(transfer *t, const dp_tensor *x, dp_error *err)
{
    uint64_t bytes = tensor_bytes(x), at = 0;
    int rc = 0;

    while (at < bytes && rc == 0) {
        size_t n = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
        if (dp_ctx_begin(t->rq->ctx) < 0)
            return run_ctx_error(t->rq, err);
        DP_VIEW(v, x);
        rc = save_bytes(t, (const char *)v.data + at, n, err);
        dp_ctx_end(t->rq->ctx);
        at += n;
    }
    return rc;
}

/* How a tensor that is not contiguous is cut into pieces: index i of dimensions [0, outer), and up
 * to `rows` indices of dimension `outer`, which are whole in all later dimensions. */
typedef struct pieces {
    int outer;
    int64_t n, rows;
    uint64_t row_bytes;
} pieces;

static pieces cut(const dp_view *v)
{
    pieces p = {v->ndim - 1, 1, 1, dp_dtype_size(v->dtype)};

    while (p.outer > 0 && dp_size_times(p.row_bytes, (uint64_t)v->sizes[p.outer]) <= PIECE_BYTES)
        p.row_bytes *= (uint64_t)v->sizes[p.outer--];
    for (int d = 0; d < p.outer; d++)
        p.n *= v->sizes[d];
    p.rows = p.row_bytes < PIECE_BYTES ? (int64_t)(PIECE_BYTES / p.row_bytes) : 1;
    return p;
}

/* Copy the piece of `x` that begins at element offset `offset` into `buffer`, and write it. */
static int save_piece(transfer *t, const dp_tensor *x, const dp_view *v, const int64_t *sizes,
                      int outer, int64_t offset, uint64_t bytes, void *buffer, dp_error *err)
{
    dp_ctx *ctx = t->rq->ctx;
    dp_tensor *piece = NULL;

    if (dp_ctx_begin(ctx) < 0)
        return run_ctx_error(t->rq, err);
    int rc = dp_as_strided(ctx, x, v->ndim - outer, sizes + outer, v->strides + outer, offset,
                           &piece) < 0
                 ? run_ctx_error(t->rq, err)
                 : dp_tensor_read(piece, buffer, err);
    dp_ctx_end(ctx);
    dp_tensor_unref(piece);
    return rc == 0 ? save_bytes(t, buffer, (size_t)bytes, err) : rc;
}

static int save_strided(transfer *t, const dp_tensor *x, void *buffer, dp_error *err)
{
    int64_t sizes[DP_DIM_MAX];
    int rc = 0;

    DP_VIEW(v, x);
    if (v.numel == 0)
        return 0;
    if (v.ndim == 0)
        return save_piece(t, x, &v, sizes, 0, dp_tensor_offset(x), dp_dtype_size(v.dtype), buffer,
                          err);
    pieces p = cut(&v);
    dp_copy_n(sizes, v.sizes, (size_t)v.ndim, sizeof(*sizes));
    for (int64_t i = 0; i < p.n && rc == 0; i++) {
        int64_t offset = dp_tensor_offset(x), rest = i;
        for (int d = p.outer - 1; d >= 0; rest /= v.sizes[d--])
            offset += rest % v.sizes[d] * v.strides[d];
        for (int64_t row = 0; row < v.sizes[p.outer] && rc == 0; row += p.rows) {
            int64_t left = v.sizes[p.outer] - row;
            sizes[p.outer] = left < p.rows ? left : p.rows;
            rc = save_piece(t, x, &v, sizes, p.outer, offset + row * v.strides[p.outer],
                            (uint64_t)sizes[p.outer] * p.row_bytes, buffer, err);
        }
    }
    return rc;
}

/* Check that `x` can be in a file, and describe it.  Its shape stays: a second tensor is made,
 * which nobody can resize. */
static int describe(request *rq, const char *name, const dp_tensor *x, const json_path *at,
                    stored *out, dp_error *err)
{
    dp_wrapper parts = {.size = sizeof(parts)};
    char device[DP_KEY_NAME_MAX];
    dp_tensor *own = NULL;

    DP_VIEW(v, x);
    if (tensor_name_check(name, at, err) < 0)
        return err->code;
    if (strcmp(name, "__metadata__") == 0)
        return json_path_fail(err, DP_EVALUE, at, "no tensor of a file can have this name");
    if (dp_wrapper_get(x, &parts))
        return json_path_fail(err, DP_ENOTIMPL, at,
                              "a wrapper tensor of kind '%s' cannot be saved: save its parts",
                              parts.kind);
    if (dp_tensor_is_memoryless(x))
        return json_path_fail(err, DP_ENOTIMPL, at,
                              "a tensor on device %s has no elements that could be saved",
                              dp_device_name(v.device, device));
    if (stored_dtype_name(v.dtype) == NULL)
        return json_path_fail(err, DP_ENOTIMPL, at, "safetensors has no dtype %s",
                              dp_dtype_name(v.dtype));
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    int rc = dp_tensor_detached(x, &own, err);
    dp_ctx_end(rq->ctx);
    if (rc == 0)
        rc = run_keep(rq, own, err);
    if (rc < 0)
        return rc;
    DP_VIEW(o, own);
    *out = (stored){name, o.dtype, o.ndim, o.sizes, 0, 0, own};
    return 0;
}

static int describe_all(request *rq, const store_save_params *p, stored *all, dp_error *err)
{
    const cJSON *list = p->tensors != NULL ? p->tensors : p->names, *item;
    const json_path at = {NULL, p->tensors != NULL ? "tensors" : "names", 0};
    size_t n = 0;

    cJSON_ArrayForEach(item, list)
    {
        const char *name = p->tensors != NULL ? item->string : item->valuestring;
        json_path inside = {&at, p->tensors != NULL ? name : NULL, n};
        dp_tensor *x;
        int rc = p->tensors != NULL ? run_pin(rq, (uint64_t)item->valuedouble, &inside, &x, err)
                                    : run_find_name(rq, name, &inside, &x, err);
        if (rc == 0)
            rc = describe(rq, name, x, &inside, &all[n++], err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int save_tensors(transfer *t, const stored *all, size_t n, dp_error *err)
{
    void *buffer = dp_malloc(PIECE_BYTES);
    int rc = buffer != NULL ? 0 : dp_error_set(err, DP_ERESOURCE, "out of memory: a file's piece");

    for (size_t i = 0; i < n && rc == 0; i++) {
        const dp_tensor *x = all[i].tensor;
        DP_VIEW(v, x);
        rc = host_elements(x, &v) != NULL ? save_contiguous(t, x, err)
                                          : save_strided(t, x, buffer, err);
    }
    dp_free(buffer);
    return rc;
}

/* Write the file.  It replaces the old one only if the main thread has not answered the request
 * meanwhile because of its deadline. */
static int save_file(transfer *t, const stored *all, size_t n, const jw *header, dp_error *err)
{
    int rc = store_replace_begin(store_of(t->rq), t->path, t->total, &t->file, err);

    t->fd = t->file.fd;
    if (rc == 0)
        rc = save_bytes(t, header->s, header->len, err);
    if (rc == 0)
        rc = save_tensors(t, all, n, err);
    if (rc == 0)
        rc = store_replace_sync(&t->file, err);
    if (rc == 0)
        rc = transfer_moved(t, 0, err);
    if (rc == 0 && !deadline_end(t->rq))
        rc = DP_EANSWERED;
    if (rc == 0)
        rc = store_replace_commit(&t->file, err);
    store_replace_end(&t->file);
    return rc;
}

/* Write the file over the one that came as a descriptor.  It is empty after a failure: nobody can
 * take a part for a whole. */
static int save_descriptor(transfer *t, const stored *all, size_t n, const jw *header,
                           dp_error *err)
{
    int rc = store_rewrite_begin(t->fd, t->path, t->total, err);

    if (rc == 0)
        rc = save_bytes(t, header->s, header->len, err);
    if (rc == 0)
        rc = save_tensors(t, all, n, err);
    if (rc == 0)
        rc = store_rewrite_sync(t->fd, t->path, err);
    if (rc == 0)
        rc = transfer_moved(t, 0, err);
    if (rc == 0 && !deadline_end(t->rq))
        rc = DP_EANSWERED;
    if (rc != 0)
        store_rewrite_drop(t->fd);
    return rc;
}

static int save(request *rq, const store_save_params *p, stored *all, size_t n, uint64_t *bytes,
                dp_error *err)
{
    transfer t = {.rq = rq, .path = p->path, .progress = p->progress, .notified_at = nanos()};
    int rc = p->has_fd ? transfer_descriptor(&t, p->fd, true, err) : 0;
    jw header;

    if (rc == 0)
        rc = describe_all(rq, p, all, err);

    if (rc == 0)
        rc = stored_arrange(all, n, err);
    if (rc < 0)
        return rc;
    jw_init(&header);
    header.account = session_account(rq->session);
    header.err = err;
    stored_header_write(all, n, p->metadata, &header);
    rc = stored_header_end(&header, err);
    t.total = header.len + (n > 0 ? all[n - 1].end : 0);
    if (rc == 0)
        rc = (p->has_fd ? save_descriptor : save_file)(&t, all, n, &header, err);
    jw_fini(&header);
    *bytes = t.total;
    return rc;
}

int store_save(request *rq, const store_save_params *p, jw *w, dp_error *err)
{
    store *s = store_of(rq);
    const cJSON *list = p->tensors != NULL ? p->tensors : p->names;
    size_t n = (size_t)cJSON_GetArraySize(list);
    uint64_t bytes = 0;
    int rc = file_check(rq, p->path, p->has_fd, "store.save to a path", err);

    if (rc == DP_EPARAMS)
        return rc;
    if (rc == 0 && (p->tensors == NULL) == (p->names == NULL))
        return json_path_fail(err, DP_EPARAMS, NULL, "expected either 'tensors' or 'names'");
    if (rc == 0 && n > LIMIT_SIZE(STORE_TENSORS))
        rc = LIMIT_REACHED(STORE_TENSORS, n,
                           dp_error_set(err, DP_ERESOURCE,
                                        "%zu tensors for one file, at most %lld (store_tensors)", n,
                                        (long long)LIMIT(STORE_TENSORS)));
    stored *all = rc == 0 ? run_alloc(rq, dp_size_times(n + 1, sizeof(*all)), err) : NULL;
    if (rc == 0)
        rc = all != NULL ? save(rq, p, all, n, &bytes, err) : err->code;
    if (transfer_counted(rq, rc, &s->saves, &s->bytes_saved, bytes) < 0)
        return rc;
    jw_object(w);
    member_int(w, "tensors", (int64_t)n);
    member_int(w, "bytes", (int64_t)bytes);
    jw_object_end(w);
    return 0;
}
