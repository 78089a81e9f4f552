/* run.c -- what one running method keeps (struct run): the arguments that came as handles, so that
 * they live until it ends, and the handles and attachments that it made, so that they can be taken
 * back when it fails. */
#include "methods.h"
#include <stddef.h>
#include <string.h>

int run_begin(request *rq, dp_error *err)
{
    if (rq->run != NULL)
        return 0;
    rq->run = dp_malloc(sizeof(*rq->run)); /* calloc is slow here */
    if (rq->run == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a request");
    memset(rq->run, 0, offsetof(run, written));
    rq->run->step = -1;
    return 0;
}

void *run_alloc(request *rq, size_t bytes, dp_error *err)
{
    void *p = dp_arena_alloc(dp_ctx_arena(rq->ctx), bytes);

    if (p == NULL)
        dp_arena_failed(dp_ctx_arena(rq->ctx), bytes, "arguments", err);
    return p;
}

/* Takes t or g, whichever there is. */
static int pin_add(run *r, dp_tensor *t, dp_generator *g, uint64_t handle, dp_error *err)
{
    pin *pins = array_grow(r->pins, r->n_pins, &r->cap_pins, sizeof(*pins));

    if (pins == NULL) {
        dp_tensor_unref(t);
        dp_generator_unref(g);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu tensors of one request",
                            r->n_pins + 1);
    }
    r->pins = pins;
    pins[r->n_pins++] = (pin){t, handle, handle ? dp_tensor_storage_id(t) : 0, g};
    return 0;
}

int run_pin(request *rq, uint64_t handle, const place *at, dp_tensor **out, dp_error *err)
{
    dp_tensor *t = session_get(rq->session, handle);

    if (t == NULL)
        return place_fail(err, DP_ENOTFOUND, at, "no tensor %llu in this session",
                          (unsigned long long)handle);
    if (pin_add(rq->run, t, NULL, handle, err) < 0)
        return DP_ERESOURCE;
    *out = t;
    return 0;
}

int run_keep(request *rq, dp_tensor *t, dp_error *err)
{
    return pin_add(rq->run, t, NULL, 0, err);
}

int run_pin_generator(request *rq, uint64_t handle, const place *at, dp_generator **out,
                      dp_error *err)
{
    dp_generator *g = session_generator_get(rq->session, handle);

    if (g == NULL)
        return place_fail(err, DP_ENOTFOUND, at, "no generator %llu in this session",
                          (unsigned long long)handle);
    if (pin_add(rq->run, NULL, g, 0, err) < 0)
        return DP_ERESOURCE;
    *out = g;
    return 0;
}

int run_keep_generator(request *rq, dp_generator *g, dp_error *err)
{
    return pin_add(rq->run, NULL, g, 0, err);
}

uint64_t run_handle(const run *r, const dp_tensor *t)
{
    for (size_t i = 0; i < r->n_pins; i++)
        if (r->pins[i].tensor == t && r->pins[i].handle != 0)
            return r->pins[i].handle;
    return 0;
}

int run_put(request *rq, dp_tensor *t, uint64_t *handle, dp_error *err)
{
    run *r = rq->run;
    uint64_t *fresh = array_grow(r->fresh, r->n_fresh, &r->cap_fresh, sizeof(*fresh));

    if (fresh == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu handles of one request",
                            r->n_fresh + 1);
    r->fresh = fresh;
    *handle = session_put(rq->session, t, err);
    if (*handle == 0)
        return err->code;
    fresh[r->n_fresh++] = *handle;
    return 0;
}

bool run_is_quick(request *rq, size_t bytes)
{
    return placement_may_take(rq, bytes, rq->run->called);
}

void run_undo(request *rq)
{
    run *r = rq->run;

    while (r->n_fresh > 0)
        session_release(rq->session, r->fresh[--r->n_fresh]);
    if (r->fresh_generator != 0)
        session_generator_release(rq->session, r->fresh_generator);
    while (rq->n_parts > 0)
        answer_part_free(&rq->parts[--rq->n_parts]);
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
            session_moved(s, p->tensor); /* an operator has resized it */
        dp_tensor_unref(p->tensor);
        dp_generator_unref(p->generator);
    }
    dp_free(r->pins);
    dp_free(r->fresh);
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

int run_attach(request *rq, void *elements, size_t bytes)
{
    answer_part *parts = array_grow(rq->parts, rq->n_parts, &rq->cap_parts, sizeof(*parts));
    answer_part p = {elements, bytes, dp_account_ref(session_account(rq->session))};

    if (parts == NULL) {
        answer_part_free(&p);
        return -1;
    }
    rq->parts = parts;
    parts[rq->n_parts] = p;
    return (int)rq->n_parts++;
}

void warnings_to_json(const request *rq, jw *w)
{
    size_t n;
    const char *const *texts = dp_ctx_warnings(rq->ctx, &n);

    if (n > 0)
        member_strings(w, "warnings", texts, n);
}
