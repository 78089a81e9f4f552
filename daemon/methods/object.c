/* object.c -- object.*: lists and releases the session's handles of plugins' objects. */
#include "methods.h"

void object_to_json(jw *w, uint64_t handle, dp_object *o)
{
    jw_object(w);
    member_int(w, "object", (int64_t)handle);
    member_str(w, "kind", dp_object_kind(o));
    member_str(w, "plugin", dp_object_plugin(o));
    member_int(w, "bytes", (int64_t)dp_object_bytes(o));
    member_bool(w, "ended", dp_object_check(o, NULL) < 0);
    jw_object_end(w);
}

int object_list(request *rq, jw *w, dp_error *err)
{
    uint64_t *handles = NULL;
    int64_t n = session_objects(rq->session, &handles, err);

    if (n < 0)
        return (int)n;
    jw_object(w);
    jw_key(w, "objects");
    jw_array(w);
    for (int64_t i = 0; i < n && !w->failed; i++) {
        dp_object *o = session_object_get(rq->session, handles[i]);
        if (o == NULL)
            continue; /* another connection of the session released the handle */
        object_to_json(w, handles[i], o);
        dp_object_unref(o);
    }
    jw_array_end(w);
    jw_object_end(w);
    dp_free(handles);
    return 0;
}

/* Check that the session has every handle in `list`.  An object that ended with its plugin can be
 * released like any other. */
static int check_listed(request *rq, const cJSON *list, dp_error *err)
{
    json_path at = {NULL, "objects", 0}, inside = {&at, NULL, 0};
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        dp_object *o = session_object_get(rq->session, (uint64_t)item->valuedouble);
        if (o == NULL)
            return json_path_fail(err, DP_ENOTFOUND, &inside, "no object %.0f in this session",
                                  item->valuedouble);
        dp_object_unref(o);
        inside.index++;
    }
    return 0;
}

int object_release(request *rq, const object_release_params *p, jw *w, dp_error *err)
{
    uint64_t *all = NULL;
    int64_t released = 0, n = 0;
    const cJSON *item;

    if (p->objects == NULL && !p->all)
        return json_path_fail(err, DP_EPARAMS, NULL, "missing member 'objects', or all: true");
    int rc = check_listed(rq, p->objects, err);
    if (rc < 0)
        return rc;
    if (p->all && (n = session_objects(rq->session, &all, err)) < 0)
        return (int)n;
    cJSON_ArrayForEach(item, p->objects) released +=
        session_object_release(rq->session, (uint64_t)item->valuedouble);
    for (int64_t i = 0; i < n; i++)
        released += session_object_release(rq->session, all[i]);
    dp_free(all);
    jw_object(w);
    member_int(w, "released", released);
    jw_object_end(w);
    return 0;
}
