/* run.c -- struct run, the state of one running method.
 *
 * It holds references (pins) to the arguments that were given by handle, so that these live until
 * the method ends.  It lists the handles that the method made, so that run_undo() can release them
 * if the method fails. */
#include "methods.h"
#include <dispatchd/grad.h>
#include <stddef.h>
#include <string.h>

int run_begin(request *rq, dp_error *err)
{
    static atomic_uint_fast64_t runs;

    if (rq->run != NULL)
        return 0;
    /* not dp_calloc(): zeroing the array `written` would be slow */
    rq->run = dp_malloc(sizeof(*rq->run));
    if (rq->run == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a request");
    memset(rq->run, 0, offsetof(run, written));
    rq->run->step = -1;
    rq->run->records = rq->state->capture != NULL;
    if (rq->run->records)
        rq->run->recorded = dp_capture_now(rq->state->capture);
    rq->run->number = atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed) + 1;
    return 0;
}

bool request_is_batch(const request *rq)
{
    return cJSON_IsArray(rq->root);
}

const cJSON *request_id(const request *rq)
{
    return param(request_is_batch(rq) ? rq->member : rq->root, "id");
}

void run_name(request *rq)
{
    const cJSON *id = request_id(rq);
    int64_t number = cJSON_IsNumber(id) ? (int64_t)id->valuedouble : 0;

    dp_ctx_set_request(rq->ctx, cJSON_IsString(id) ? id->valuestring : NULL,
                       cJSON_IsNumber(id) ? &number : NULL);
}

static bool asks(const asked_mode *asked)
{
    return asked->has_grad_enabled || asked->has_inference || asked->autocast != NULL;
}

int run_mode(request *rq, const asked_mode *asked, dp_error *err)
{
    const conn_state *s = rq->state;
    dp_mode mode = s->mode;

    if (!asks(asked))
        return 0;
    mode.size = (uint32_t)sizeof(mode);
    if (asked->has_grad_enabled)
        mode.no_grad = !asked->grad_enabled;
    if (asked->has_inference)
        mode.inference = asked->inference;
    if (autocast_from_json(rq, asked->autocast, NULL, &mode, err) < 0)
        return err->code;
    dp_ctx_set_state(rq->ctx, s->include, s->exclude, &mode);
    return 0;
}

void run_mode_end(request *rq, const asked_mode *asked)
{
    if (asks(asked))
        dp_ctx_set_state(rq->ctx, rq->state->include, rq->state->exclude, &rq->state->mode);
}

int run_check_deadline(const request *rq, uint64_t now, dp_error *err)
{
    if (rq->deadline == 0 || now < rq->deadline)
        return 0;
    return dp_error_set(err, DP_EDEADLINE, "queued for %.3f ms, deadline_ms is %llu",
                        (double)(now - rq->t_read) / 1e6,
                        (unsigned long long)((rq->deadline - rq->t_read) / 1000000));
}

void *run_alloc(request *rq, size_t bytes, dp_error *err)
{
    void *p = dp_arena_alloc(dp_ctx_arena(rq->ctx), bytes);

    if (p == NULL)
        dp_arena_failed(dp_ctx_arena(rq->ctx), bytes, "arguments", err);
    return p;
}

static void unpin(const pin *p)
{
    dp_tensor_unref(p->tensor);
    dp_generator_unref(p->generator);
    dp_object_unref(p->object);
}

/* Append `p` to the pins of `r`; takes over the reference in `p`, also on failure. */
static int pin_add(run *r, pin p, dp_error *err)
{
    pin *pins = array_grow(r->pins, r->n_pins, &r->cap_pins, sizeof(*pins));

    if (pins == NULL) {
        unpin(&p);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu tensors of one request",
                            r->n_pins + 1);
    }
    r->pins = pins;
    pins[r->n_pins++] = p;
    return 0;
}

/* -- arguments of stuck calls (executor.c) -- */

/* Do `a` and `b` share a storage?  A wrapper tensor has the storages of its parts. */
static bool share_storage(const dp_tensor *a, const dp_tensor *b)
{
    dp_wrapper parts = {.size = sizeof(parts)};

    if (a == b)
        return true;
    if (!dp_wrapper_get(a, &parts))
        return dp_wrapper_get(b, &parts) ? share_storage(b, a)
                                         : dp_tensor_storage_id(a) == dp_tensor_storage_id(b);
    for (uint32_t i = 0; i < parts.n_tensors; i++)
        if (share_storage(parts.tensors[i], b))
            return true;
    return false;
}

/* Does the call of `r` use the storage of tensor `t`?  The call may have given its argument another
 * storage, and may still use the one that the argument had at the beginning. */
static bool run_uses_tensor(const run *r, const void *t)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (r->pins[i].tensor != NULL &&
            (share_storage(r->pins[i].tensor, t) || r->pins[i].storage == dp_tensor_storage_id(t)))
            return true;
    return false;
}

static bool run_uses_generator(const run *r, const void *g)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (r->pins[i].generator == g)
            return true;
    return false;
}

static bool run_uses_object(const run *r, const void *o)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (r->pins[i].object == o)
            return true;
    return false;
}

/* Check that no stuck call of the session uses `what`.  DP_EWAIT: a stuck call does, and `rq` must
 * wait.  DP_EBUSY: a stuck call does, and `rq` must not wait. */
static int check_stuck(request *rq, bool (*uses)(const run *r, const void *what), const void *what,
                       const json_path *at, dp_error *err)
{
    if (!session_stuck_find(rq->session, uses, what, &rq->waits_for))
        return 0;
    if (!rq->never_waits)
        return DP_EWAIT;
    return json_path_fail(
        err, DP_EBUSY, at,
        "in use by a call that has not ended after its deadline, and the daemon leaves");
}

/* Describe why the session has no tensor `handle`.  A handle that has failed gives its own error,
 * and is the cause of the request's failure. */
static int fail_handle(request *rq, uint64_t handle, const json_path *at, dp_error *err)
{
    failure *f = is_client_handle(handle) ? session_failure(rq->session, handle) : NULL;

    if (f == NULL)
        return json_path_fail(err, DP_ENOTFOUND, at, "no tensor %lld in this session",
                              (long long)handle);
    failure_unref(rq->run->cause);
    rq->run->cause = f;
    rq->run->cause_handle = handle;
    failure_get(f, err);
    return err->code;
}

int run_pin(request *rq, uint64_t handle, const json_path *at, dp_tensor **out, dp_error *err)
{
    dp_tensor *t = session_tensor_get(rq->session, handle);

    if (t == NULL)
        return fail_handle(rq, handle, at, err);
    pin p = {.tensor = t, .handle = handle, .storage = dp_tensor_storage_id(t)};
    if (pin_add(rq->run, p, err) < 0)
        return DP_ERESOURCE;
    *out = t;
    return check_stuck(rq, run_uses_tensor, t, at, err);
}

int run_keep(request *rq, dp_tensor *t, dp_error *err)
{
    return pin_add(rq->run, (pin){.tensor = t}, err);
}

int run_pin_generator(request *rq, uint64_t handle, const json_path *at, dp_generator **out,
                      dp_error *err)
{
    dp_generator *g = session_generator_get(rq->session, handle);

    if (g == NULL)
        return json_path_fail(err, DP_ENOTFOUND, at, "no generator %llu in this session",
                              (unsigned long long)handle);
    if (pin_add(rq->run, (pin){.generator = g}, err) < 0)
        return DP_ERESOURCE;
    *out = g;
    return check_stuck(rq, run_uses_generator, g, at, err);
}

int run_keep_generator(request *rq, dp_generator *g, dp_error *err)
{
    return pin_add(rq->run, (pin){.generator = g}, err);
}

int run_pin_object(request *rq, uint64_t handle, const json_path *at, dp_object **out,
                   dp_error *err)
{
    dp_object *o = session_object_get(rq->session, handle);
    dp_error why = DP_ERROR_INIT;

    if (o == NULL)
        return json_path_fail(err, DP_ENOTFOUND, at, "no object %llu in this session",
                              (unsigned long long)handle);
    if (pin_add(rq->run, (pin){.object = o}, err) < 0)
        return DP_ERESOURCE;
    if (dp_object_check(o, &why) < 0)
        return json_path_fail(err, why.code, at, "object %llu: %s", (unsigned long long)handle,
                              why.message);
    *out = o;
    return check_stuck(rq, run_uses_object, o, at, err);
}

uint64_t run_handle(const run *r, const dp_tensor *t)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (r->pins[i].tensor == t && r->pins[i].handle != 0)
            return r->pins[i].handle;
    return 0;
}

void run_written(run *r, const dp_tensor *t)
{
    uint64_t handle = t != NULL ? run_handle(r, t) : 0;

    if (handle != 0 && r->n_written < DP_LIMIT_ARGUMENTS)
        r->written[r->n_written++] = handle;
}

/* Reserve memory for one more entry in `r->fresh`. */
static int fresh_reserve(run *r, dp_error *err)
{
    uint64_t *fresh = array_grow(r->fresh, r->n_fresh, &r->cap_fresh, sizeof(*fresh));

    if (fresh == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu handles of one request",
                            r->n_fresh + 1);
    r->fresh = fresh;
    return 0;
}

static int fresh_add(run *r, uint64_t handle, const dp_error *err)
{
    if (handle == 0)
        return err->code;
    r->fresh[r->n_fresh++] = handle;
    return 0;
}

int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err)
{
    if (fresh_reserve(rq->run, err) < 0)
        return err->code;
    *handle = session_put(rq->session, t, err);
    return fresh_add(rq->run, *handle, err);
}

int run_put_at(request *rq, dp_tensor *t, const cJSON *into, uint64_t *handle, dp_error *err)
{
    run *r = rq->run;

    if (!into_is_given(into))
        return run_put(rq, t, handle, err);
    if (fresh_reserve(r, err) < 0)
        return err->code;
    *handle = handle_of(into);
    int rc = session_put_at(rq->session, t, *handle, r->number, err);
    if (rc < 0)
        return rc;
    r->n_reserved--;
    return fresh_add(r, *handle, err);
}

int run_put_one(request *rq, dp_tensor *t, const cJSON *into, uint64_t *handle, dp_error *err)
{
    int rc = into_check(into, RETURN_HANDLE, err);

    if (rc == 0)
        rc = into_check_count(into, 1, "the answer", err);
    const cJSON *entry = into_first(into);
    if (rc == 0)
        rc = into_check_value(entry, &(dp_value){DP_TAG_TENSOR, 0, {0}},
                              &(json_path){&(json_path){NULL, "into", 0}, NULL, 0}, err);
    if (rc == 0)
        rc = into_reserve(rq, into, err);
    return rc == 0 ? run_put_at(rq, t, entry, handle, err) : rc;
}

int run_put_generator(request *rq, dp_generator *g, uint64_t *handle, dp_error *err)
{
    if (fresh_reserve(rq->run, err) < 0)
        return err->code;
    *handle = session_generator_put(rq->session, g, err);
    return fresh_add(rq->run, *handle, err);
}

int run_put_object(request *rq, dp_object *o, uint64_t *handle, dp_error *err)
{
    if (fresh_reserve(rq->run, err) < 0)
        return err->code;
    *handle = session_object_put(rq->session, o, err);
    return fresh_add(rq->run, *handle, err);
}

bool run_is_quick(request *rq, size_t bytes)
{
    return placement_may_take(rq, bytes, rq->run->called);
}

bool run_may_reach(request *rq, dp_device device)
{
    return device_is_host(device) || run_is_quick(rq, SIZE_MAX);
}

void run_undo(request *rq)
{
    run *r = rq->run;

    while (r->n_fresh > 0) {
        uint64_t handle = r->fresh[--r->n_fresh];
        if (!session_release(rq->session, handle) &&
            !session_generator_release(rq->session, handle))
            session_object_release(rq->session, handle);
    }
    while (r->n_named > 0)
        dp_tensor_unref(names_take(session_user(rq->session), r->named[--r->n_named]));
    while (rq->n_parts > 0)
        dp_tensor_unref(rq->parts[--rq->n_parts].packed);
    if (r->records && rq->state->capture != NULL && !r->called)
        dp_capture_undo(rq->state->capture, &r->recorded);
}

static run *run_free(run *r, struct session *s)
{
    if (r == NULL)
        return NULL;
    if (r->called)
        dp_values_release(r->rets, r->bound.n_rets);
    for (size_t i = 0; i < r->n_pins; i++) {
        pin *p = &r->pins[i];
        if (p->handle != 0 && dp_tensor_storage_id(p->tensor) != p->storage)
            session_moved(s, p->tensor); /* an operator gave the tensor another storage */
        unpin(p);
    }
    into_unreserve(r, s);
    failure_unref(r->cause);
    dp_free(r->pins);
    dp_free(r->fresh);
    dp_free(r->named);
    dp_free(r);
    return NULL;
}

void request_drop(request *rq)
{
    rq->run = run_free(rq->run, rq->session);
}

int run_ctx_error(request *rq, dp_error *err)
{
    *err = *dp_ctx_error(rq->ctx);
    return err->code;
}

int run_attach(request *rq, dp_tensor *packed, size_t bytes)
{
    answer_part *parts = array_grow(rq->parts, rq->n_parts, &rq->cap_parts, sizeof(*parts));
    DP_VIEW(v, packed);

    if (parts == NULL) {
        dp_tensor_unref(packed);
        return -1;
    }
    rq->parts = parts;
    parts[rq->n_parts] = (answer_part){packed, v.data, bytes};
    return (int)rq->n_parts++;
}

void warnings_to_json(const request *rq, jw *w)
{
    size_t n;
    const dp_warning *all = dp_ctx_warnings(rq->ctx, &n);

    if (n == 0)
        return;
    jw_key(w, "warnings");
    jw_array(w);
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        member_str(w, "type", "UserWarning"); /* PyTorch's, for what TORCH_WARN() says */
        member_str(w, "message", all[i].text);
        jw_key(w, "op");
        jw_str(w, all[i].op); /* NULL: null */
        jw_object_end(w);
    }
    jw_array_end(w);
}

int run_empty(request *rq, dp_dtype dtype, int ndim, const int64_t *sizes, dp_tensor **out,
              dp_error *err)
{
    const conn_state *st = rq->state;
    dp_keyset include, exclude;

    dp_state_default(&include, &exclude);
    dp_ctx_set_capture(rq->ctx, NULL);
    dp_ctx_set_state(rq->ctx, include, exclude, &st->mode);
    int rc = dp_empty(rq->ctx, dtype, DP_DEVICE_CPU, ndim, sizes, DP_CONTIGUOUS, out);
    dp_ctx_set_state(rq->ctx, st->include, st->exclude, &st->mode);
    dp_ctx_set_capture(rq->ctx, st->capture);
    return rc < 0 ? run_ctx_error(rq, err) : 0;
}
