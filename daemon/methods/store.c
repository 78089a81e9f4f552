/* store.c -- store.stats, and what store.save and store.load share: how far a transfer is, and when
 * it must stop. */
#include "transfer.h"

enum { NOTIFY_NS = 100 * 1000 * 1000 }; /* least time between two notifications */

store *store_of(request *rq)
{
    return rq->daemon->store(rq->conn);
}

int transfer_descriptor(transfer *t, int64_t index, bool writes, dp_error *err)
{
    int rc = descriptor_of_file(t->rq, index, writes, &t->fd, err);

    if (rc < 0)
        return rc;
    snprintf(t->descriptor, sizeof(t->descriptor), "descriptor %lld", (long long)index);
    t->path = t->descriptor;
    return 0;
}

static void notify(const transfer *t)
{
    const cJSON *id = request_id(t->rq);
    jw w;

    if (id == NULL)
        return;
    jw_init(&w);
    notification_begin(&w, "store.progress");
    jw_object(&w);
    jw_key(&w, "id");
    if (cJSON_IsString(id))
        jw_str(&w, id->valuestring);
    else if (cJSON_IsNumber(id))
        jw_int(&w, (int64_t)id->valuedouble);
    else
        jw_null(&w);
    member_int(&w, "done", (int64_t)t->done);
    member_int(&w, "total", (int64_t)t->total);
    jw_object_end(&w);
    notification_end(&w);
    t->rq->daemon->notify(t->rq->conn, &w);
}

int transfer_moved(transfer *t, size_t bytes, dp_error *err)
{
    uint64_t now = t->progress ? nanos() : 0;

    t->done += bytes;
    if (t->progress && (now - t->notified_at >= NOTIFY_NS || (t->done == t->total && bytes > 0))) {
        t->notified_at = now;
        notify(t);
    }
    return dp_checkpoint(t->rq->ctx) < 0 ? run_ctx_error(t->rq, err) : 0;
}

int transfer_counted(request *rq, int rc, atomic_uint_fast64_t *calls, atomic_uint_fast64_t *bytes,
                     uint64_t n)
{
    if (rc == 0)
        atomic_fetch_add(bytes, n);
    if (rc != DP_EWAIT)
        atomic_fetch_add(rc == 0 ? calls : &store_of(rq)->failed, 1);
    return rc;
}

int store_stats(request *rq, jw *w, dp_error *err)
{
    const store *s = store_of(rq);

    (void)err;
    jw_object(w);
    jw_key(w, "data_path");
    jw_str(w, s->path);
    member_int(w, "saves", (int64_t)atomic_load(&s->saves));
    member_int(w, "loads", (int64_t)atomic_load(&s->loads));
    member_int(w, "failed", (int64_t)atomic_load(&s->failed));
    member_int(w, "bytes_saved", (int64_t)atomic_load(&s->bytes_saved));
    member_int(w, "bytes_loaded", (int64_t)atomic_load(&s->bytes_loaded));
    jw_object_end(w);
    return 0;
}
