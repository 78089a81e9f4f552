/* op.c -- op.call: reads JSON arguments, binds and calls the operator, writes its outputs.
 *
 * If the client asks for handles, every output gets a new one, or that in param "into", with one
 * exception: if the schema marks an output as a written argument, its answer has the handle of that
 * argument. */
#include "methods.h"
#include <stdio.h>
#include <string.h>

/* printing a tensor's descriptor takes as long as printing this many bytes of elements */
enum { DESCRIPTOR_BYTES = 64 };

/* -- arguments -- */

static int kwargs_from_json(request *rq, const cJSON *j, const json_path *at, dp_kwarg **out,
                            size_t *n, dp_error *err)
{
    const cJSON *m;
    size_t i = 0;

    *n = j != NULL ? (size_t)cJSON_GetArraySize(j) : 0;
    *out = dp_arena_alloc_n(dp_ctx_arena(rq->ctx), *n, sizeof(**out));
    if (*out == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu arguments by name", *n);
    cJSON_ArrayForEach(m, j)
    {
        json_path inside = {at, m->string, 0};
        int rc = value_from_json(rq, m, &inside, &(*out)[i].value, err);
        if (rc < 0)
            return rc;
        (*out)[i++].name = m->string;
    }
    return 0;
}

int bind_from_json(request *rq, const char *op, const cJSON *args_json, const cJSON *kwargs_json,
                   dp_bound *out, dp_error *err)
{
    json_path in_args = {NULL, "args", 0}, in_kwargs = {NULL, "kwargs", 0};
    size_t n_args, n_kwargs;
    dp_value *args;
    dp_kwarg *kwargs;
    int rc = values_from_json(rq, args_json, &in_args, &args, &n_args, err);

    if (rc == 0)
        rc = kwargs_from_json(rq, kwargs_json, &in_kwargs, &kwargs, &n_kwargs, err);
    if (rc == 0 && dp_bind(rq->ctx, op, args, n_args, kwargs, n_kwargs, out) < 0)
        rc = run_ctx_error(rq, err);
    return rc;
}

/* -- calling -- */

/* Return a factor, at least 1, by which the numeric argument `x` may enlarge the output.  A number
 * near 0 can enlarge the output, too: arange() with a step of 1e-6. */
static double magnitude(double x)
{
    x = x < 0 ? -x : x;
    return x > 0 && x < 1 ? 1 / x : x > 1 ? x : 1;
}

/* Describe a call for placement.c, which distinguishes the large and the small calls of a kernel.
 * `how`: RETURN_HANDLE, RETURN_DATA, ... */
static work work_of(const request *rq, uint64_t kernel, const dp_bound *b, int how)
{
    work w = {kernel, dp_op_name(b->op), rq->bytes_charged, 1, how, NULL};

    for (uint32_t i = 0; i < b->n_args; i++) {
        const dp_value *v = &b->args[i];
        if (v->tag == DP_TAG_TENSOR)
            w.bytes = dp_size_plus(w.bytes, tensor_host_bytes(v->u.t));
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            w.bytes = dp_size_plus(w.bytes, tensor_host_bytes(v->u.tensors[k]));
        if (v->tag == DP_TAG_INT)
            w.asked *= magnitude((double)v->u.i);
        if (v->tag == DP_TAG_DOUBLE)
            w.asked *= magnitude(v->u.d);
        for (uint32_t k = 0; v->tag == DP_TAG_INTS && k < v->len; k++)
            w.asked *= magnitude((double)v->u.ints[k]);
    }
    return w;
}

/* Estimate how many bytes are printed for one tensor: the descriptor, the elements, and the
 * brackets of nested arrays, which are most of the text if there are few elements or none. */
static double printed_bytes(const dp_tensor *t, int how)
{
    dp_view v = {.size = sizeof(v)};
    double lists = 1;

    if (t == NULL || how == RETURN_HANDLE)
        return DESCRIPTOR_BYTES;
    dp_tensor_view(t, &v);
    double bytes = DESCRIPTOR_BYTES + (double)tensor_host_bytes(t);
    for (int d = 0; how == RETURN_DATA && d < v.ndim && v.sizes[d] > 0; d++)
        bytes += lists *= (double)v.sizes[d];
    return bytes;
}

/* Estimate how many bytes are copied or printed to answer the `n` values in `rets`. */
static size_t answer_bytes(const dp_value *rets, uint32_t n, int how)
{
    double bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        const dp_value *v = &rets[i];
        bytes += v->tag == DP_TAG_TENSOR ? printed_bytes(v->u.t, how) : sizeof(*v);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            bytes += printed_bytes(v->u.tensors[k], how);
        if (v->tag == DP_TAG_LIST)
            bytes += (double)answer_bytes(v->u.values, v->len, how);
        else if (v->tag > DP_TAG_TENSORS || v->tag == DP_TAG_STR)
            bytes += v->len * (double)sizeof(*v);
    }
    return bytes < 0x1p62 ? (size_t)bytes : SIZE_MAX;
}

/* Add to `r->written` the handles of the arguments that the kernel may have written to: bit i of
 * `written` stands for argument i. */
static void note_written(run *r, const dp_bound *b, uint64_t written)
{
    for (uint32_t i = 0; i < b->n_args && i < 64; i++) {
        const dp_value *v = &b->args[i];
        if (!(written & (uint64_t)1 << i))
            continue;
        if (v->tag == DP_TAG_TENSOR)
            run_written(r, v->u.t);
        for (uint32_t k = 0; v->tag == DP_TAG_TENSORS && k < v->len; k++)
            run_written(r, v->u.tensors[k]);
    }
}

/* Call the bound operator.  On success the caller owns the b->n_rets values in `rets`. */
static int call(request *rq, const dp_bound *b, dp_value *rets, dp_error *err)
{
    /* if the deadline passes during the call, the answer lists these handles */
    if (rq->deadline != 0)
        note_written(rq->run, b, b->written);
    if (!deadline_call(rq))
        return DP_EANSWERED;
    request_call_begin(rq, b);
    int rc = dp_call_boxed(rq->ctx, b->op, b->args, b->n_args, rets, b->n_rets);
    request_call_end(rq, rc < 0);
    dp_ctx_fp_settle(rq->ctx, dp_op_name(b->op));
    if (!deadline_end(rq)) {
        if (rc == 0)
            dp_values_release(rets, b->n_rets);
        return DP_EANSWERED;
    }
    rq->run->n_written = 0;
    if (rc < 0) {
        run_ctx_error(rq, err);
        note_written(rq->run, b, err->written);
        return err->code;
    }
    if (dp_name_returns(rq->ctx, b, rets) == 0)
        return 0;
    dp_values_release(rets, b->n_rets);
    return run_ctx_error(rq, err);
}

/* -- answering -- */

/* If the schema says that return `i` is an argument which the call wrote, return the handle of this
 * argument.  0: the schema does not say so, or the argument has no handle. */
static uint64_t written_handle(const request *rq, const dp_bound *b, uint32_t i)
{
    const dp_value *argument;

    if (i >= 64 || !(b->ret_written & (uint64_t)1 << i) || b->ret_alias[i] < 0)
        return 0;
    argument = &b->args[b->ret_alias[i]];
    return argument->tag == DP_TAG_TENSOR ? run_handle(rq->run, argument->u.t) : 0;
}

/* Check that an entry of "into" fits return `i` by the schema in `info`, before the call. */
static int check_into_return(const request *rq, const dp_bound *b, const dp_schema_info *info,
                             uint32_t i, const cJSON *entry, dp_error *err)
{
    json_path into = {NULL, "into", 0}, at = {&into, NULL, i};
    dp_arg_info ret = {.size = sizeof(ret)};
    uint64_t written = written_handle(rq, b, i);

    if (!into_is_given(entry))
        return 0;
    if (written != 0)
        return json_path_fail(err, DP_EVALUE, &at,
                              "%s answers the handle %lld of the argument that it writes: expected "
                              "null",
                              dp_op_name(b->op), (long long)written);
    /* the length of a list, and what an Any is, are known after the call only */
    bool is_list = dp_op_ret(info, i, &ret) && ret.type == DP_TYPE_TENSOR && ret.depth > 0;
    if (ret.type == DP_TYPE_OTHER || (is_list && json_type(entry) == cJSON_Array))
        return 0;
    const dp_value like = {ret.type != DP_TYPE_TENSOR ? DP_TAG_INT
                           : is_list                  ? DP_TAG_TENSORS
                                                      : DP_TAG_TENSOR,
                           0,
                           {0}};
    return into_check_value(entry, &like, &at, err);
}

/* Check param "into" against the schema of the bound operator, and reserve its handles. */
static int reserve_into(request *rq, const dp_bound *b, const cJSON *into, dp_error *err)
{
    dp_schema_info info = {.size = sizeof(info)};
    uint32_t i = 0;

    if (into == NULL)
        return 0;
    int rc = into_check_count(into, b->n_rets, dp_op_name(b->op), err);
    if (rc < 0)
        return rc;
    if (dp_ctx_begin(rq->ctx) < 0)
        return run_ctx_error(rq, err);
    if (dp_schema_info_get(rq->ctx, b->op, &info) < 0)
        rc = run_ctx_error(rq, err);
    for (const cJSON *e = into_first(into); e != NULL && rc == 0; e = into_next(into, e))
        rc = check_into_return(rq, b, &info, i++, e, err);
    dp_ctx_end(rq->ctx);
    return rc == 0 ? into_reserve(rq, into, err) : rc;
}

static int output_to_json(request *rq, jw *w, const dp_bound *b, const dp_value *rets, uint32_t i,
                          int how, const cJSON *into, dp_error *err)
{
    json_path at = {NULL, "into", 0};

    uint64_t handle = how == RETURN_HANDLE ? written_handle(rq, b, i) : 0;

    if (handle != 0 && rets[i].tag == DP_TAG_TENSOR)
        return tensor_to_json(rq, w, rets[i].u.t, handle, how, err);
    int rc = into_check_value(into, &rets[i], &(json_path){&at, NULL, i}, err);
    return rc == 0 ? value_to_json(rq, w, &rets[i], how, into, err) : rc;
}

static int outputs_to_json(request *rq, jw *w, const dp_bound *b, const dp_value *rets,
                           const op_call_params *p, dp_error *err)
{
    const cJSON *entry = into_first(p->into);
    int rc = 0;

    jw_key(w, "outputs");
    jw_array(w);
    for (uint32_t i = 0; i < b->n_rets && rc == 0; i++) {
        rc = output_to_json(rq, w, b, rets, i, p->return_, entry, err);
        entry = into_next(p->into, entry);
    }
    jw_array_end(w);
    return rc;
}

static void write_step(jw *w, const dp_trace_step *s)
{
    char key[DP_KEY_NAME_MAX];
    const struct {
        const char *name, *value;
    } texts[] = {
        {"op", dp_op_name(s->op)},
        {"key", dp_key_name(s->key, key)},
        {"provenance", s->provenance},
        {"plugin", s->from.plugin},
        {"file", s->from.file ? s->from.file : ""},
    };

    jw_object(w);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        member_str(w, texts[i].name, texts[i].value);
    member_int(w, "line", s->from.line);
    member_int(w, "generation", s->from.generation);
    member_int(w, "depth", s->depth);
    member_bool(w, "redispatch", s->redispatch);
    member_int(w, "nanos", s->nanos);
    if (s->fell_back)
        member_int(w, "copied", s->copied);
    jw_object_end(w);
}

static void trace_to_json(const request *rq, jw *w)
{
    bool cut = false;
    size_t n;
    const dp_trace_step *steps = dp_ctx_trace_get(rq->ctx, &n, &cut);

    jw_key(w, "trace");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_step(w, &steps[i]);
    jw_array_end(w);
    if (cut)
        member_bool(w, "trace_cut", true);
}

/* Write the times of the request's stages.  The line was parsed either before the request waited in
 * the queue, or after the wait by the worker that runs the request (`parsed_late`). */
static void timing_to_json(const request *rq, jw *w)
{
    dp_call_stats info = dp_ctx_stats(rq->ctx);
    bool parsed_late = rq->t_started != 0 && rq->t_started <= rq->t_parsed;
    uint64_t parse = rq->t_parsed - (parsed_late ? rq->t_started : rq->t_read);
    uint64_t begun = parsed_late ? rq->t_started : rq->t_read + parse;
    const struct {
        const char *name;
        uint64_t nanos;
    } rows[] = {
        {"parse", parse},
        {"queue", parsed_late                    ? begun - rq->t_read
                  : rq->t_started > rq->t_parsed ? rq->t_started - rq->t_parsed
                                                 : 0},
        {"dispatch", info.dispatch_nanos},
        {"kernel", info.kernel_nanos},
        {"total", nanos() - rq->t_read},
    };

    jw_key(w, "timing");
    jw_object(w);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        member_int(w, rows[i].name, rows[i].nanos);
    jw_object_end(w);
}

/* -- op.call: begin, bind, run, answer -- */

/* Check that the call may begin on this thread now.  DP_EDEADLINE: the deadline has passed.
 * DP_EWORKER: the call may have to wait for a generator, so a worker must run it. */
static int begin_call(request *rq, dp_error *err)
{
    if (rq->deadline != 0 && run_check_deadline(rq, nanos(), err) < 0)
        return err->code;
    /* a kernel uses a generator of the session: a call that needs it would block this thread */
    if (session_draws(rq->session) && !placement_may_take(rq, SIZE_MAX, false))
        return DP_EWORKER;
    return 0;
}

/* Choose the overload and check that its kernel may run on this thread. */
static int bind_call(request *rq, const op_call_params *p, dp_error *err)
{
    dp_bound *b = &rq->run->bound;

    rq->run->borrows = true;
    rq->run->borrowed = false;
    int rc = bind_from_json(rq, p->op, p->args, p->kwargs, b, err);
    rq->run->borrows = false;
    if (rc == 0 && rq->run->borrowed && !dp_bound_reads_once(rq->ctx, b))
        rc = bind_from_json(rq, p->op, p->args, p->kwargs, b, err);
    if (rc < 0)
        return rc;
    work w = work_of(rq, dp_bound_kernel(rq->ctx, b), b, p->return_);
    return placement_may_run(rq, &w) ? 0 : DP_EWORKER;
}

/* Run the call that the canary of a plugin serves.  If it fails, the loaded build runs it, too, and
 * answers the client. */
static int call_canary(request *rq, const dp_bound *b, dp_value *rets, struct shadow_call **copy,
                       bool trace, dp_error *err)
{
    int rc = call(rq, b, rets, err);

    if (!request_canary_retry(rq, *copy, rc == DP_EANSWERED ? 0 : rc))
        return rc;
    const dp_error first = *err;
    dp_error_clear(err);
    rq->run->n_written = 0;
    if (trace) /* the answer tells which code gave it; there is memory, as for the first trace */
        dp_ctx_trace(rq->ctx, true);
    rc = call(rq, b, rets, err);
    request_canary_retried(rq, b, &rq->run->canary, &first, err);
    if (*copy != NULL)
        request_shadow_end(rq, *copy, b, NULL);
    *copy = NULL;
    return rc;
}

/* Run the kernel; `rq->run` owns the returned values until they are answered. */
static int run_call(request *rq, const op_call_params *p, dp_error *err)
{
    run *r = rq->run;

    r->rets = dp_arena_alloc_n(dp_ctx_arena(rq->ctx), r->bound.n_rets, sizeof(*r->rets));
    if (r->rets == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %u returns", r->bound.n_rets);
    dp_ctx_timing(rq->ctx, p->timing);
    if (dp_ctx_trace(rq->ctx, p->trace) < 0)
        return run_ctx_error(rq, err);
    struct shadow_call *shadow = NULL;
    int rc = request_canary_begin(rq, &r->bound, &r->canary, &shadow);
    bool canary = r->canary.how == CANARY_SERVED;
    if (rc == 0 && !canary && rq->state->shadow != NULL)
        rc = request_shadow_begin(rq, &r->bound, &shadow);
    if (rc < 0)
        return rc;
    rc = canary ? call_canary(rq, &r->bound, r->rets, &shadow, p->trace, err)
                : call(rq, &r->bound, r->rets, err);
    r->called = rc == 0;
    if (shadow != NULL)
        request_shadow_end(rq, shadow, &r->bound, rc == 0 ? r->rets : NULL);
    dp_ctx_timing(rq->ctx, false);
    return rc;
}

static int answer_call(request *rq, const op_call_params *p, jw *w, dp_error *err)
{
    const run *r = rq->run;

    /* A short kernel may have a long answer: it may return a view of a large tensor. */
    if (!run_is_quick(rq, answer_bytes(r->rets, r->bound.n_rets, p->return_)))
        return DP_EWORKER;
    jw_object(w);
    int rc = outputs_to_json(rq, w, &r->bound, r->rets, p, err);
    warnings_to_json(rq, w);
    if (p->trace)
        trace_to_json(rq, w);
    if (p->timing)
        timing_to_json(rq, w);
    jw_object_end(w);
    return rc;
}

int op_call(request *rq, const op_call_params *p, jw *w, dp_error *err)
{
    const asked_mode asked = {p->has_grad_enabled, p->grad_enabled, p->has_inference, p->inference,
                              p->autocast};
    int rc = 0;

    /* otherwise the main thread has run the call, and this worker only answers it */
    if (!rq->run->called) {
        rc = into_check(p->into, p->return_, err);
        if (rc == 0)
            rc = begin_call(rq, err);
        run_name(rq);
        if (rc == 0)
            rc = run_mode(rq, &asked, err);
        if (rc == 0)
            rc = bind_call(rq, p, err);
        if (rc == 0)
            rc = reserve_into(rq, &rq->run->bound, p->into, err);
        if (rc == 0)
            rc = run_call(rq, p, err);
        run_mode_end(rq, &asked);
    }
    if (rc == 0)
        rc = answer_call(rq, p, w, err);
    if (rc != DP_EWORKER)
        dp_ctx_trace(rq->ctx, false);
    return rc;
}
