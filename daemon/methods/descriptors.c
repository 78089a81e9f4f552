/* descriptors.c -- memory that passes between a client and the daemon as a descriptor: received
 * memfds, the descriptor of an answer, and the numbers (`map`) that both sides use afterwards. */
#define _GNU_SOURCE /* O_PATH */
#include "methods.h"
#include <fcntl.h>
#include <unistd.h>

void descriptors_free(descriptors *d)
{
    for (size_t i = 0; d != NULL && i < d->n; i++)
        close(d->fds[i]);
    dp_free(d);
}

void sent_descriptor_drop(request *rq)
{
    if (rq->sends_fd)
        close(rq->sent_fd);
    rq->sends_fd = false;
    rq->shared = dp_shared_unref(rq->shared);
}

int file_check(request *rq, const char *path, bool has_fd, const char *what, dp_error *err)
{
    if ((path != NULL) == has_fd)
        return json_path_fail(err, DP_EPARAMS, NULL, "expected either 'path' or 'fd'");
    return has_fd ? 0 : owner_check(rq, what, err);
}

int descriptor_of_file(request *rq, int64_t index, bool writes, int *fd, dp_error *err)
{
    const json_path at = {NULL, "fd", 0};
    const descriptors *d = rq->received;
    size_t n = d != NULL ? d->n : 0;

    if ((uint64_t)index >= n)
        return json_path_fail(err, DP_EVALUE, &at, "descriptor %lld, but the message has %zu",
                              (long long)index, n);
    int flags = fcntl(d->fds[index], F_GETFL), access = flags & O_ACCMODE;
    if (flags < 0 || (flags & O_PATH) != 0 ||
        (access != O_RDWR && access != (writes ? O_WRONLY : O_RDONLY)))
        return json_path_fail(err, DP_EVALUE, &at, "descriptor %lld is not open for %s",
                              (long long)index, writes ? "writing" : "reading");
    if (writes && (flags & O_APPEND) != 0)
        return json_path_fail(err, DP_EVALUE, &at,
                              "descriptor %lld is open for appending (O_APPEND) but the file is "
                              "written from its start",
                              (long long)index);
    *fd = d->fds[index];
    return 0;
}

static bool any_map(const descriptors *d)
{
    for (size_t i = 0; d != NULL && i < d->n; i++)
        if (d->maps[i] != 0)
            return true;
    return false;
}

void descriptors_to_json(request *rq)
{
    jw *w = &rq->out;

    if (rq->sends_fd)
        member_int(w, "fds", 1);
    if (!any_map(rq->received))
        return;
    jw_key(w, "maps");
    jw_array(w);
    for (size_t i = 0; i < rq->received->n; i++)
        if (rq->received->maps[i] != 0)
            jw_int(w, (int64_t)rq->received->maps[i]);
        else
            jw_null(w);
    jw_array_end(w);
}

/* Adopt the descriptor with this index, unless the message named it before. */
static int map_of_descriptor(request *rq, size_t index, const json_path *at, uint64_t *number,
                             dp_error *err)
{
    json_path inside = {at, "fd", 0};
    descriptors *d = rq->received;
    dp_error why = DP_ERROR_INIT;
    dp_shared *s;
    bool fresh;

    if (d == NULL || index >= d->n)
        return json_path_fail(err, DP_EVALUE, &inside, "descriptor %zu, but the message has %zu",
                              index, d != NULL ? d->n : 0);
    if (d->maps[index] == 0) {
        if (dp_shared_adopt(d->fds[index], session_account(rq->session), &s, &why) < 0)
            return json_path_fail(err, why.code, &inside, "descriptor %zu: %s", index, why.message);
        d->maps[index] = maps_put(&rq->state->maps, session_user(rq->session), s, &fresh, err);
        dp_shared_unref(s);
    }
    *number = d->maps[index];
    return *number != 0 ? 0 : err->code;
}

int shared_from_params(request *rq, const tensor_create_params *p, const json_path *at,
                       dp_shared **out, dp_error *err)
{
    uint64_t number = p->has_map ? (uint64_t)p->map : 0;
    int rc = p->has_map ? 0 : map_of_descriptor(rq, (size_t)p->fd, at, &number, err);

    if (rc < 0)
        return rc;
    *out = maps_get(rq->state->maps, number);
    if (*out != NULL)
        return 0;
    return json_path_fail(err, DP_ENOTFOUND, &(json_path){at, "map", 0},
                          "this connection has no map %llu", (unsigned long long)number);
}

uint64_t shared_to_answer(request *rq, dp_shared *s, bool *fresh, dp_error *err)
{
    uint64_t number = maps_put(&rq->state->maps, session_user(rq->session), s, fresh, err);

    if (number == 0 || !*fresh)
        return number;
    rq->shared = dp_shared_ref(s);
    rq->shared_map = number;
    /* A client of the daemon's own uid may keep its map as long as it likes; pages that another uid
     * maps are freed when its session ends, or before that with the last tensor and map number. */
    bool revocable = !session_is_owner(rq->session);
    rq->sends_fd = dp_shared_reader(s, revocable, &rq->sent_fd, err) == 0;
    return rq->sends_fd ? number : 0;
}

int shared_tensor_to_json(request *rq, jw *w, dp_tensor *t, uint64_t handle, uint64_t map,
                          bool fresh, dp_error *err)
{
    dp_view v = {.size = sizeof(v)};

    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    dp_tensor_view(t, &v);
    jw_object(w);
    descriptor_to_json(w, t, handle);
    if (fresh)
        member_int(w, "fd", 0);
    member_int(w, "map", map);
    member_int(w, "offset", (uint64_t)dp_tensor_offset(t) * dp_dtype_size(v.dtype));
    member_int(w, "nbytes",
               dp_size_times(spanned_elements(v.ndim, v.sizes, v.strides), dp_dtype_size(v.dtype)));
    jw_object_end(w);
    dp_ctx_end(rq->ctx);
    return 0;
}

void maps_undo(request *rq)
{
    if (rq->shared != NULL)
        maps_release(rq->state->maps, rq->shared_map);
    sent_descriptor_drop(rq);
    for (size_t i = 0; rq->received != NULL && i < rq->received->n; i++) {
        if (rq->received->maps[i] != 0)
            maps_release(rq->state->maps, rq->received->maps[i]);
        rq->received->maps[i] = 0;
    }
}

int map_release(request *rq, const map_release_params *p, jw *w, dp_error *err)
{
    json_path at = {NULL, "maps", 0}, inside = {&at, NULL, 0};
    const cJSON *item;
    int64_t released = 0;
    size_t bytes = 0;

    cJSON_ArrayForEach(item, p->maps)
    {
        const dp_shared *s = maps_get(rq->state->maps, (uint64_t)item->valuedouble);
        if (s == NULL)
            return json_path_fail(err, DP_ENOTFOUND, &inside, "this connection has no map %llu",
                                  (unsigned long long)item->valuedouble);
        bytes += dp_shared_bytes(s) / FREED_BYTES;
        inside.index++;
    }
    if (!run_is_quick(rq, bytes))
        return DP_EWORKER;
    cJSON_ArrayForEach(item, p->maps) released +=
        maps_release(rq->state->maps, (uint64_t)item->valuedouble);
    jw_object(w);
    member_int(w, "released", released);
    jw_object_end(w);
    return 0;
}
