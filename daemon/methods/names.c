/* names.c -- tensor.name, tensor.open, tensor.unlink and tensor.names: tensors with a name, which
 * belong to the client's uid and outlive sessions. */
#include "methods.h"
#include <string.h>

static user *user_of(const request *rq)
{
    return session_user(rq->session);
}

int tensor_name_check(const char *name, const json_path *at, dp_error *err)
{
    size_t bytes = strlen(name);

    if (bytes > 0 && bytes <= LIMIT_SIZE(TENSOR_NAME_BYTES))
        return 0;
    return LIMIT_REACHED(
        TENSOR_NAME_BYTES, bytes,
        json_path_fail(err, DP_EPARAMS, at,
                       "a name has 1 to %lld bytes (tensor_name_bytes) but this one has %zu",
                       (long long)LIMIT(TENSOR_NAME_BYTES), bytes));
}

/* Make a second tensor of `t` (dp_tensor_detached()).  A call of another connection may resize `t`
 * meanwhile, so its shape is read between dp_ctx_begin() and dp_ctx_end(). */
static int detach(request *rq, const dp_tensor *t, dp_tensor **out, dp_error *err)
{
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    int rc = dp_tensor_detached(t, out, err);
    dp_ctx_end(rq->ctx);
    return rc;
}

int run_add_name(request *rq, const dp_tensor *t, const char *name, dp_error *err)
{
    const json_path at = {NULL, "name", 0};
    run *r = rq->run;
    dp_tensor *own = NULL;
    int rc = tensor_name_check(name, &at, err);

    if (rc < 0)
        return rc;
    const char **named = array_grow(r->named, r->n_named, &r->cap_named, sizeof(*named));
    if (named == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a name");
    r->named = named;
    rc = detach(rq, t, &own, err);
    if (rc < 0)
        return rc;
    rc = names_add(user_of(rq), name, own, err);
    if (rc == 0) {
        dp_tensor_fix(own);
        named[r->n_named++] = name;
    }
    dp_tensor_unref(own);
    return rc;
}

/* Find the name in the table that is most like `name`, for an error message.  false: none is
 * close. */
static bool nearest(request *rq, const char *name, char out[LIMIT_TENSOR_NAME_BYTES + 1])
{
    char next[LIMIT_TENSOR_NAME_BYTES + 1] = "";
    const char *both[2] = {next, out};
    dp_tensor *t;

    out[0] = '\0';
    while ((t = names_next(user_of(rq), next)) != NULL) {
        if (nearest_name(name, both, out[0] != '\0' ? 2 : 1) == next)
            memcpy(out, next, strlen(next) + 1);
        dp_tensor_unref(t);
    }
    return out[0] != '\0';
}

static int fail_unknown(request *rq, const char *name, const json_path *at, dp_error *err)
{
    char near[LIMIT_TENSOR_NAME_BYTES + 1];
    bool some = nearest(rq, name, near);

    return json_path_fail(err, DP_ENOTFOUND, at,
                          "no tensor of uid %ld has the name '%.100s'%s%.100s%s",
                          (long)session_uid(rq->session), name, some ? ", did you mean '" : "",
                          some ? near : "", some ? "'?" : "");
}

int run_find_name(request *rq, const char *name, const json_path *at, dp_tensor **out,
                  dp_error *err)
{
    int rc = tensor_name_check(name, at, err);
    dp_tensor *t = rc == 0 ? names_get(user_of(rq), name) : NULL;

    if (rc < 0)
        return rc;
    if (t == NULL)
        return fail_unknown(rq, name, at, err);
    *out = t;
    return run_keep(rq, t, err);
}

int tensor_name(request *rq, const tensor_name_params *p, jw *w, dp_error *err)
{
    dp_tensor *t;
    int rc = run_pin(rq, (uint64_t)p->tensor, &(json_path){NULL, "tensor", 0}, &t, err);

    if (rc == 0)
        rc = run_add_name(rq, t, p->name, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    member_str(w, "name", p->name);
    jw_object_end(w);
    return 0;
}

int tensor_open(request *rq, const tensor_open_params *p, jw *w, dp_error *err)
{
    dp_tensor *named, *t = NULL;
    uint64_t handle;
    int rc = run_find_name(rq, p->name, &(json_path){NULL, "name", 0}, &named, err);

    if (rc == 0)
        rc = detach(rq, named, &t, err);
    if (rc == 0)
        rc = run_keep(rq, t, err);
    if (rc == 0)
        rc = run_put_one(rq, t, p->into, &handle, err);
    return rc == 0 ? tensor_to_json(rq, w, t, handle, RETURN_HANDLE, err) : rc;
}

/* Releasing the memory of a large tensor, or of one on a device, takes long: a worker does it.
 * Another connection may remove the same name at this time; one of the two finds it. */
int tensor_unlink(request *rq, const tensor_unlink_params *p, jw *w, dp_error *err)
{
    const json_path at = {NULL, "name", 0};
    dp_tensor *t;
    int rc = run_find_name(rq, p->name, &at, &t, err);

    if (rc < 0)
        return rc;
    DP_VIEW(v, t);
    if (!run_may_reach(rq, v.device) || !run_is_quick(rq, tensor_bytes(t) / FREED_BYTES))
        return DP_EWORKER;
    t = names_take(user_of(rq), p->name);
    if (t == NULL)
        return fail_unknown(rq, p->name, &at, err);
    dp_tensor_unref(t);
    jw_object(w);
    member_str(w, "name", p->name);
    jw_object_end(w);
    return 0;
}

int tensor_names(request *rq, jw *w, dp_error *err)
{
    char name[LIMIT_TENSOR_NAME_BYTES + 1] = "";
    dp_tensor *t;
    int rc = 0;

    jw_object(w);
    jw_key(w, "names");
    jw_array(w);
    while (rc == 0 && !w->failed && (t = names_next(user_of(rq), name)) != NULL) {
        jw_object(w);
        member_str(w, "name", name);
        jw_key(w, "value");
        rc = tensor_to_json(rq, w, t, 0, RETURN_HANDLE, err);
        jw_object_end(w);
        dp_tensor_unref(t);
    }
    jw_array_end(w);
    jw_object_end(w);
    return rc;
}
