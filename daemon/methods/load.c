/* load.c -- store.load: reads tensors from a file of the safetensors format.
 *
 * All tensors are made, and charged to the session, before the first of them is read.  Handles and
 * names are made when everything was read; run_undo() removes them if one of them fails. */
#include "transfer.h"
#include <string.h>
#include <unistd.h>

/* Check that each byte of a tensor of bools is 0 or 1: other bytes are no bool to kernels. */
static int check_bools(const transfer *t, const stored *s, const uint8_t *bytes, size_t n,
                       uint64_t at, dp_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] > 1)
            return dp_error_set(err, DP_EVALUE,
                                "'%.200s': element %llu of tensor '%.100s' is %d, but a BOOL is 0 "
                                "or 1",
                                t->path, (unsigned long long)(at + i), s->name, bytes[i]);
    return 0;
}

/* Read the elements of s->tensor, a new tensor that nobody else has.  `data`: offset of the data in
 * the file. */
static int load_elements(transfer *t, const stored *s, uint64_t data, dp_error *err)
{
    uint64_t bytes = s->end - s->begin;
    int rc = 0;

    DP_VIEW(v, s->tensor);
    for (uint64_t at = 0; at < bytes && rc == 0; at += PIECE_BYTES) {
        size_t n = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
        rc = store_read(t->fd, t->path, (char *)v.data + at, n, data + s->begin + at, err);
        if (rc == 0 && s->dtype == DP_BOOL)
            rc = check_bools(t, s, (const uint8_t *)v.data + at, n, at, err);
        if (rc == 0)
            rc = transfer_moved(t, n, err);
    }
    return rc;
}

static bool chosen(const stored *s, const char *prefix)
{
    return prefix == NULL || strncmp(s->name, prefix, strlen(prefix)) == 0;
}

/* Make the tensors, which are charged to the session, before any of them is read. */
static int make_tensors(transfer *t, const stored_header *h, const char *prefix, dp_error *err)
{
    for (stored *s = h->tensors; s < h->tensors + h->n; s++) {
        dp_tensor *x;
        if (!chosen(s, prefix))
            continue;
        int rc = run_empty(t->rq, s->dtype, s->ndim, s->sizes, &x, err);
        if (rc < 0 || (rc = run_keep(t->rq, x, err)) < 0)
            return rc;
        s->tensor = x;
        t->total += s->end - s->begin;
    }
    return 0;
}

/* Give `t` a copy of `name`, whose memory goes with the header. */
static int add_name(request *rq, const dp_tensor *t, const char *name, dp_error *err)
{
    size_t bytes = strlen(name) + 1;
    char *copy = run_alloc(rq, bytes, err);

    return copy != NULL ? run_add_name(rq, t, memcpy(copy, name, bytes), err) : err->code;
}

static int write_loaded(request *rq, const stored_header *h, bool named, jw *w, dp_error *err)
{
    const cJSON *m;
    uint64_t handle;
    int rc = 0;

    jw_object(w);
    jw_key(w, "tensors");
    jw_object(w);
    for (const stored *s = h->tensors; s < h->tensors + h->n && rc == 0 && !w->failed; s++) {
        if (s->tensor == NULL)
            continue;
        jw_name(w, s->name);
        rc = run_put(rq, s->tensor, &handle, err);
        if (rc == 0 && named)
            rc = add_name(rq, s->tensor, s->name, err);
        if (rc == 0)
            rc = tensor_to_json(rq, w, s->tensor, handle, RETURN_HANDLE, err);
    }
    jw_object_end(w);
    jw_key(w, "metadata");
    jw_object(w);
    cJSON_ArrayForEach(m, h->metadata)
    {
        jw_name(w, m->string);
        jw_str(w, m->valuestring);
    }
    jw_object_end(w);
    jw_object_end(w);
    return rc;
}

static int load_tensors(transfer *t, const stored_header *h, uint64_t data,
                        const store_load_params *p, jw *w, dp_error *err)
{
    int rc = make_tensors(t, h, p->prefix, err);

    for (const stored *s = h->tensors; s < h->tensors + h->n && rc == 0; s++)
        if (s->tensor != NULL)
            rc = load_elements(t, s, data, err);
    return rc == 0 ? write_loaded(t->rq, h, p->named, w, err) : rc;
}

/* Set `*err` to `*why`, which says what is wrong with the file, behind the file's path. */
static int file_fail(const transfer *t, const dp_error *why, dp_error *err)
{
    return dp_error_set(err, why->code, "'%.200s': %s", t->path, why->message);
}

/* Read the header's `bytes` bytes of text and then the tensors.  The header's memory is charged to
 * the session while it is in use. */
static int load_header(transfer *t, size_t bytes, uint64_t file_bytes, const store_load_params *p,
                       jw *w, dp_error *err)
{
    dp_account *a = session_account(t->rq->session);
    uint64_t cost = stored_header_cost(bytes), data = STORE_LENGTH_BYTES + bytes;
    dp_error why = DP_ERROR_INIT;
    stored_header h = {0};
    int rc = dp_account_charge(a, DP_HOLDER_INTERMEDIATES, 0, cost, err);

    if (rc < 0)
        return rc;
    char *text = dp_malloc(bytes + 1);
    rc = text != NULL
             ? store_read(t->fd, t->path, text, bytes, STORE_LENGTH_BYTES, err)
             : dp_error_set(err, DP_ERESOURCE, "out of memory: a header of %zu bytes", bytes);
    if (rc == 0 && stored_header_read(text, bytes, file_bytes - data, &h, &why) < 0)
        rc = file_fail(t, &why, err);
    dp_free(text);
    if (rc == 0)
        rc = load_tensors(t, &h, data, p, w, err);
    stored_header_fini(&h);
    dp_account_refund(a, DP_HOLDER_INTERMEDIATES, 0, cost);
    return rc;
}

static int load_file(transfer *t, const store_load_params *p, jw *w, dp_error *err)
{
    uint8_t first[STORE_LENGTH_BYTES] = {0};
    dp_error why = DP_ERROR_INIT;
    uint64_t file_bytes;
    size_t bytes;
    int rc = store_file_bytes(t->fd, t->path, &file_bytes, err);

    if (rc == 0 && file_bytes >= sizeof(first))
        rc = store_read(t->fd, t->path, first, sizeof(first), 0, err);
    if (rc == 0 && stored_length(first, file_bytes, &bytes, &why) < 0)
        rc = file_fail(t, &why, err);
    return rc == 0 ? load_header(t, bytes, file_bytes, p, w, err) : rc;
}

int store_load(request *rq, const store_load_params *p, jw *w, dp_error *err)
{
    transfer t = {.rq = rq, .path = p->path, .progress = p->progress, .notified_at = nanos()};
    store *s = store_of(rq);
    int rc = file_check(rq, p->path, p->has_fd, "store.load of a path", err);

    if (rc == DP_EPARAMS)
        return rc;
    if (rc == 0)
        rc = p->has_fd ? transfer_descriptor(&t, p->fd, false, err)
                       : store_file_open(s, p->path, &t.fd, err);
    if (rc == 0) {
        rc = load_file(&t, p, w, err);
        if (!p->has_fd)
            close(t.fd);
    }
    return transfer_counted(rq, rc, &s->loads, &s->bytes_loaded, t.done);
}
