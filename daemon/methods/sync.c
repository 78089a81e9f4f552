/* sync.c -- session.sync: answers which notifications of the connection have failed.
 *
 * A notification is not answered, so its failure is stored, as JSON text, in the state of its
 * connection.  Only the thread that runs, or instead of running answers, the current request of the
 * connection uses that state. */
#include "methods.h"

enum { INTO_BYTES = 1 << 10 }; /* about as many bytes of a long param "into" are stored */

/* Write `into`, whose kind was not checked, until about INTO_BYTES were written. */
static void into_to_json(jw *w, const cJSON *into, size_t end)
{
    const cJSON *item;

    if (into != NULL && json_is_int(into)) {
        jw_int(w, (int64_t)into->valuedouble);
        return;
    }
    if (into == NULL || json_type(into) != cJSON_Array) {
        jw_null(w);
        return;
    }
    jw_array(w);
    cJSON_ArrayForEach(item, into)
    {
        if (w->len > end)
            break;
        into_to_json(w, item, end);
    }
    jw_array_end(w);
}

static void failure_to_json(jw *w, const failed_request *f, const dp_error *err)
{
    const char *type = dp_error_name(err->code), *op = param_str(f->params, "op");

    jw_object(w);
    /* params that do not fit have no type of their own */
    member_str(w, "type", type != NULL ? type : "ValueError");
    member_str(w, "message", err->message);
    member_str(w, "op", err->op[0] != '\0' ? err->op : op);
    jw_key(w, "into");
    into_to_json(w, param(f->params, "into"), w->len + INTO_BYTES);
    jw_object_end(w);
}

void sync_note(request *rq, const failed_request *f, const dp_error *err)
{
    jw w;

    /* a METHOD_AT_ONCE method runs beside earlier requests, which may use the state */
    if (rq->state == NULL || (f->method != NULL && f->method->where == METHOD_AT_ONCE))
        return;
    sync_failures *failures = &rq->state->failures;
    if (failures->n >= LIMIT_SYNC_FAILED) {
        failures->dropped++;
        return;
    }
    jw_init(&w);
    failure_to_json(&w, f, err);
    if (w.failed) {
        failures->dropped++;
        jw_fini(&w);
        return;
    }
    failures->items[failures->n++] = w; /* its buffer belongs to the state now */
}

void sync_drop(sync_failures *failures)
{
    for (unsigned i = 0; i < failures->n; i++)
        jw_fini(&failures->items[i]);
    *failures = (sync_failures){.n = 0};
}

int session_sync(request *rq, jw *w, dp_error *err)
{
    sync_failures *failures = &rq->state->failures;

    (void)err;
    jw_object(w);
    jw_key(w, "failed");
    jw_array(w);
    for (unsigned i = 0; i < failures->n; i++)
        jw_raw(w, failures->items[i].s, failures->items[i].len);
    jw_array_end(w);
    member_int(w, "dropped", (int64_t)failures->dropped);
    jw_object_end(w);
    if (!w->failed)
        sync_drop(failures);
    return 0;
}
