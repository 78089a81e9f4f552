/* tensor.c -- tensor.*: creates, describes, reads, lists and releases the session's tensors. */
#include "methods.h"
#include <string.h>

int tensor_create(request *rq, const tensor_create_params *p, jw *w, dp_error *err)
{
    dp_tensor *t;
    uint64_t handle = 0;
    int rc = tensor_from_params(rq, p, NULL, &t, err);

    if (rc == 0)
        rc = run_keep(rq, t, err);
    if (rc == 0 && p->requires_grad && dp_tensor_set_requires_grad(rq->ctx, t, true) < 0)
        rc = run_ctx_error(rq, err);
    if (rc == 0)
        rc = run_put_one(rq, t, p->into, &handle, err);
    if (rc == 0 && p->name != NULL)
        rc = run_add_name(rq, t, p->name, err);
    return rc == 0 ? tensor_to_json(rq, w, t, handle, RETURN_HANDLE, err) : rc;
}

/* Find the tensor that param "tensor" names, and hold a reference to it until the method ends. */
static int find(request *rq, int64_t handle, dp_tensor **out, dp_error *err)
{
    return run_pin(rq, (uint64_t)handle, &(json_path){NULL, "tensor", 0}, out, err);
}

int tensor_describe(request *rq, const tensor_describe_params *p, jw *w, dp_error *err)
{
    dp_tensor *t;
    int rc = find(rq, p->tensor, &t, err);

    return rc == 0 ? tensor_to_json(rq, w, t, (uint64_t)p->tensor, RETURN_DESCRIBED, err) : rc;
}

/* Move the storage of `t` into shared memory: `*out`, owned.  The request has pinned the shapes of
 * before, and so the memory that was replaced; the new pin lets a second call release it. */
static int share(request *rq, const dp_tensor *t, dp_shared **out, dp_error *err)
{
    bool was_shared = dp_tensor_is_shared(t);
    dp_shared *again;
    int rc = dp_tensor_share(t, session_account(rq->session), out, err);

    if (rc == 0 && !was_shared && dp_shapes_pin(NULL) == 0 &&
        dp_tensor_share(t, session_account(rq->session), &again, NULL) == 0)
        dp_shared_unref(again);
    return rc;
}

/* Move the storage of `t` into shared memory, and describe `t` with the place of its elements. */
static int read_shared(request *rq, dp_tensor *t, uint64_t handle, jw *w, dp_error *err)
{
    dp_shared *s;
    bool fresh;

    if (!dp_keyset_is_empty(dp_keyset_only(dp_tensor_keys(t), dp_keyset_named(DP_KEYSET_MATH))))
        return dp_error_set(err, DP_EVALUE,
                            "as 'fd': the bytes of a conjugate or negative view are not its "
                            "elements; call aten::resolve_conj and aten::resolve_neg first");
    if (!dp_tensor_is_shared(t) && !run_is_quick(rq, dp_tensor_storage_bytes(t)))
        return DP_EWORKER; /* its bytes are copied, once */
    int rc = share(rq, t, &s, err);
    if (rc < 0)
        return rc;
    uint64_t map = shared_to_answer(rq, s, &fresh, err);
    dp_shared_unref(s);
    return map != 0 ? shared_tensor_to_json(rq, w, t, handle, map, fresh, err) : err->code;
}

int tensor_read(request *rq, const tensor_read_params *p, jw *w, dp_error *err)
{
    int how = p->as == TENSOR_READ_AS_JSON ? RETURN_DATA : RETURN_ATTACHMENT;
    dp_tensor *t;

    int rc = find(rq, p->tensor, &t, err);
    if (rc == 0 && p->as == TENSOR_READ_AS_FD)
        return read_shared(rq, t, (uint64_t)p->tensor, w, err);
    if (rc == 0 && dp_tensor_is_memoryless(t))
        rc = dp_tensor_read(t, NULL, err); /* fails unless the tensor has no elements */
    if (rc < 0)
        return rc;
    uint64_t bytes = tensor_host_bytes(t), text = how == RETURN_DATA ? tensor_text_bytes(t) : 0;
    if (!run_is_quick(rq, bytes > text ? bytes : text))
        return DP_EWORKER;
    return tensor_to_json(rq, w, t, (uint64_t)p->tensor, how, err);
}

int tensor_list(request *rq, jw *w, dp_error *err)
{
    uint64_t *handles = NULL;
    int64_t n = session_handles(rq->session, false, &handles, err);
    int rc = 0;

    if (n < 0)
        return (int)n;
    jw_object(w);
    jw_key(w, "tensors");
    jw_array(w);
    for (int64_t i = 0; i < n && rc == 0 && !w->failed; i++) {
        dp_tensor *t = session_tensor_get(rq->session, handles[i]);
        if (t == NULL)
            continue; /* another connection of the session released the handle */
        rc = tensor_to_json(rq, w, t, handles[i], RETURN_HANDLE, err);
        dp_tensor_unref(t);
    }
    jw_array_end(w);
    jw_object_end(w);
    dp_free(handles);
    return rc;
}

/* Is `handle` one of the client's, which has failed?  It names no tensor but can be released. */
static bool has_failed(const request *rq, uint64_t handle)
{
    failure *f = is_client_handle(handle) ? session_failure(rq->session, handle) : NULL;

    failure_unref(f);
    return f != NULL;
}

/* Find the tensor to release, and add to `*bytes` what its release costs. */
static int count_released(request *rq, uint64_t handle, const json_path *at, size_t *bytes,
                          dp_error *err)
{
    dp_tensor *t;
    int rc = run_pin(rq, handle, at, &t, err);

    if (rc < 0)
        return rc;
    DP_VIEW(v, t);
    if (!run_may_reach(rq, v.device)) /* a release may wait for the device */
        return DP_EWORKER;
    *bytes += tensor_bytes(t) / FREED_BYTES;
    return 0;
}

static int release_listed(request *rq, const cJSON *list, int64_t *released, dp_error *err)
{
    json_path at = {NULL, "tensors", 0}, inside = {&at, NULL, 0};
    const cJSON *item;
    size_t bytes = 0;

    cJSON_ArrayForEach(item, list)
    {
        int rc = has_failed(rq, handle_of(item))
                     ? DP_OK
                     : count_released(rq, handle_of(item), &inside, &bytes, err);
        if (rc < 0)
            return rc;
        inside.index++;
    }
    if (!run_is_quick(rq, bytes))
        return DP_EWORKER;
    cJSON_ArrayForEach(item, list) *released += session_release(rq->session, handle_of(item));
    return 0;
}

int tensor_release(request *rq, const tensor_release_params *p, jw *w, dp_error *err)
{
    uint64_t *all = NULL;
    int64_t released = 0, n = 0;

    if (p->tensors == NULL && !p->all)
        return json_path_fail(err, DP_EPARAMS, NULL, "missing member 'tensors', or all: true");
    if (!run_is_quick(rq, p->all ? SIZE_MAX : 0))
        return DP_EWORKER;
    if (p->all && (n = session_handles(rq->session, true, &all, err)) < 0)
        return (int)n;
    int rc = release_listed(rq, p->tensors, &released, err);
    for (int64_t i = 0; rc == 0 && i < n; i++)
        released += session_release(rq->session, all[i]);
    dp_free(all);
    if (rc < 0)
        return rc;
    jw_object(w);
    member_int(w, "released", released);
    jw_object_end(w);
    return 0;
}
