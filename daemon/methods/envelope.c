/* envelope.c -- JSON-RPC 2.0: reads one message, runs its methods and writes one answer's line.
 *
 * Only this file knows the names of JSON-RPC's members and its error codes.  The answer of a failed
 * method contains only its error.  Over 500 lines: a second file would have to know them, too. */
#include "methods.h"
#include <stddef.h>
#include <string.h>

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_SERVER = -32000
};

/* -- answers -- */

/* Drop everything that was written to `w` after `*w` was copied to `*mark`. */
static void rewind_to(jw *w, const jw *mark)
{
    w->len = mark->len;
    w->depth = mark->depth;
    w->comma = mark->comma;
    w->failed = mark->failed;
    w->refused = false;
}

static void open_answer(jw *w, const cJSON *id)
{
    static const char version[] = "\"jsonrpc\":\"2.0\"";

    jw_object(w);
    jw_raw(w, version, sizeof(version) - 1);
    jw_key(w, "id");
    if (cJSON_IsString(id))
        jw_str(w, id->valuestring);
    else if (cJSON_IsNumber(id))
        jw_int(w, (int64_t)id->valuedouble);
    else
        jw_null(w);
}

/* Write which failed handle the request used, and which request should have made its tensor. */
static void write_cause(jw *w, uint64_t handle, const failure *f)
{
    jw_key(w, "cause");
    jw_object(w);
    member_int(w, "tensor", (int64_t)handle);
    member_str(w, "method", f->method);
    jw_key(w, "id");
    jw_raw(w, f->request_id, strlen(f->request_id));
    jw_object_end(w);
}

void notification_begin(jw *w, const char *name)
{
    jw_object(w);
    member_str(w, "jsonrpc", "2.0");
    member_str(w, "method", name);
    jw_key(w, "params");
}

void notification_end(jw *w)
{
    jw_object_end(w);
    jw_text(w, "\n", 1);
}

static void write_data(jw *w, const dp_error *err, const run *r)
{
    const char *type = dp_error_name(err->code);
    const dp_refusal *limit = dp_error_refusal(err);
    int64_t step = r == NULL             ? -1
                   : r->step_now != NULL ? __atomic_load_n(r->step_now, __ATOMIC_RELAXED)
                                         : r->step;

    jw_key(w, "data");
    jw_object(w);
    member_str(w, "type", type != NULL ? type : "RuntimeError");
    if (err->op[0] != '\0')
        member_str(w, "op", err->op);
    if (err->key[0] != '\0')
        member_str(w, "key", err->key);
    if (step >= 0)
        member_int(w, "step", step);
    if (limit != NULL) {
        jw_key(w, "limit");
        jw_object(w);
        member_str(w, "name", limit->limit);
        member_int(w, "most", (int64_t)limit->most);
        member_int(w, "asked", (int64_t)limit->asked);
        jw_object_end(w);
    }
    if (r != NULL && r->n_written > 0) {
        jw_key(w, "written");
        jw_array(w);
        for (size_t i = 0; i < r->n_written; i++)
            jw_int(w, (int64_t)r->written[i]);
        jw_array_end(w);
    }
    if (r != NULL && r->cause != NULL)
        write_cause(w, r->cause_handle, r->cause);
    jw_object_end(w);
}

/* Write an error answer, which is not charged to the session.  `r`: NULL if no method ran.  The
 * record of the limit that the error is due to ends: the next error on this thread may have another
 * cause. */
static void write_error(jw *w, const cJSON *id, int code, const dp_error *err, const run *r)
{
    dp_account *account = w->account;

    w->account = NULL;
    open_answer(w, id);
    jw_key(w, "error");
    jw_object(w);
    member_int(w, "code", code);
    member_str(w, "message", err->message);
    if (code == RPC_SERVER)
        write_data(w, err, r);
    jw_object_end(w);
    jw_object_end(w);
    w->account = account;
    dp_error_refusal_clear();
}

/* End the answer's line.  If there was no memory for the line, drop it and close the connection. */
static void end_line(request *rq)
{
    rq->out.account = NULL; /* the last byte is not charged, so it cannot fail */
    if (rq->out.len > 0 || rq->out.failed)
        jw_text(&rq->out, "\n", 1);
    if (rq->out.failed) {
        rq->out.len = 0;
        rq->close_after = true;
    }
}

/* -- the members of a request object -- */

/* The checked members of a request object. */
typedef struct envelope {
    const cJSON *id; /* NULL: a notification; a JSON null is an ordinary id */
    const method *method;
    const cJSON *params;
} envelope;

/* Refuse a request because of its member `j` (NULL: the member is missing); `what` tells what was
 * expected. */
static int refuse(dp_error *err, const char *what, const cJSON *j)
{
    const char *got = j == NULL ? "nothing" : cJSON_IsString(j) ? j->valuestring : json_kind(j);

    dp_error_set(err, DP_EVALUE, "%s but got %.64s", what, got);
    return RPC_REQUEST;
}

enum { JSONRPC, ID, METHOD, PARAMS, ATTACHMENTS, FDS, KNOWN };
static const char *const known[KNOWN] = {"jsonrpc", "id", "method", "params", "attachments", "fds"};

static int fail_unknown(const cJSON *m, dp_error *err)
{
    const char *near = nearest_name(m->string, known, KNOWN);

    dp_error_set(err, DP_EVALUE, "unknown member '%.100s' of a request%s%s%s", m->string,
                 near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return RPC_REQUEST;
}

static int check_method(const char *name, const envelope *e, dp_error *err)
{
    const char *near;

    if (e->method != NULL)
        return 0;
    near = nearest_name(name, method_names, n_methods);
    dp_error_set(err, DP_ENOTFOUND, "no method '%.100s'%s%s%s", name,
                 near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return RPC_METHOD;
}

/* Check the members of `msg` and store them in `*e`.  Returns 0, or the JSON-RPC code for `*err`.
 * On failure, too, `e->id` is the request's id, if that is valid. */
static int open_envelope(const request *rq, const cJSON *msg, bool in_batch, envelope *e,
                         dp_error *err)
{
    const cJSON *found[KNOWN];

    *e = (envelope){0};
    if (!cJSON_IsObject(msg))
        return refuse(err, "expected a request object", msg);
    const cJSON *unknown = params_find(msg, known, KNOWN, found);
    const cJSON *id = found[ID], *version = found[JSONRPC], *name = found[METHOD];
    if (id != NULL && !cJSON_IsNull(id) && !cJSON_IsString(id) && !json_is_int(id))
        return refuse(err, "id: expected a string or an integer below 2^53", id);
    e->id = id; /* also if it is null: only a request without "id" is a notification */
    e->params = found[PARAMS];
    if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
        return refuse(err, "jsonrpc: expected \"2.0\"", version);
    if (!cJSON_IsString(name))
        return refuse(err, "method: expected a string", name);
    if (e->params != NULL && !cJSON_IsObject(e->params) && !cJSON_IsArray(e->params))
        return refuse(err, "params: expected an object", e->params);
    int code = 0;
    if (unknown != NULL)
        code = fail_unknown(unknown, err);
    else if (announcement_check(rq, found[ATTACHMENTS], found[FDS], in_batch, err) < 0)
        code = RPC_REQUEST;
    e->method = in_batch ? method_find(name->valuestring) : rq->method;
    return code != 0 ? code : check_method(name->valuestring, e, err);
}

/* -- method and deadline, known before running -- */

static const method *find_method(const request *rq)
{
    static const method batch = {.name = "", .where = METHOD_WORKER};
    const char *name;

    if (request_is_batch(rq))
        return &batch;
    name = param_str(rq->root, "method");
    return name != NULL ? method_find(name) : NULL;
}

/* Return the time (nanos()) at which a request with these params must stop; 0: no deadline. */
static uint64_t deadline_of(const request *rq, const cJSON *params)
{
    const double longest = INT64_MAX / 2000000;
    const cJSON *ms = param(params, "deadline_ms");

    return cJSON_IsNumber(ms) && ms->valuedouble >= 0 && ms->valuedouble < longest
               ? rq->t_read + (uint64_t)ms->valuedouble * 1000000
               : 0;
}

/* Return the deadline of the current request: `rq`, or the next request of a batch. */
static uint64_t next_deadline(const request *rq)
{
    const cJSON *current = rq->root;

    if (request_is_batch(rq))
        current = rq->batch_begun ? rq->member : rq->root->child;
    return current != NULL ? deadline_of(rq, param(current, "params")) : 0;
}

bool request_has_id(const request *rq, const cJSON *id)
{
    const cJSON *own = param(rq->root, "id");

    return own != NULL && cJSON_Compare(own, id, true);
}

/* -- running -- */

static int rpc_code(int rc)
{
    return rc == DP_EPARAMS ? RPC_PARAMS : RPC_SERVER;
}

static _Thread_local dp_ctx *running; /* context of this thread's method; NULL: none */

void request_warn(const char *text)
{
    if (running != NULL)
        dp_warn(running, "%s", text);
}

static int run_function(request *rq, const envelope *e, const proto_params *p, dp_error *err)
{
    running = rq->ctx;
    atomic_store_explicit(&rq->running, e->method->name, memory_order_relaxed);
    int rc = e->method->fn(rq, p, &rq->out, err);
    running = NULL;
    return rc;
}

static int call_method(request *rq, const envelope *e, dp_error *err)
{
    static const cJSON no_params = {.type = cJSON_Object};
    const cJSON *params = e->params != NULL ? e->params : &no_params;
    proto_params p;

    if (e->method->owner_only && owner_check(rq, e->method->name, err) < 0)
        return err->code;
    memset(&p, 0, e->method->params_bytes);
    int rc = proto_read(e->method->params, params, &p, err);
    if (rc < 0)
        return rc;
    rq->deadline = deadline_of(rq, params);
    if (rq->deadline == 0)
        return run_function(rq, e, &p, err);
    dp_ctx_set_deadline(rq->ctx, rq->deadline);
    rq->daemon->watch(rq, rq->deadline);
    rc = run_function(rq, e, &p, err);
    dp_ctx_set_deadline(rq->ctx, 0); /* the next request of a batch uses the same context */
    return deadline_end(rq) ? rc : DP_EANSWERED;
}

/* Check that the method's answer can be sent. */
static int check_answer(const request *rq, bool in_batch, dp_error *err)
{
    if (in_batch && (rq->n_parts > 0 || rq->sends_fd))
        return dp_error_set(err, DP_EVALUE,
                            "an answer in a batch cannot carry attachments or descriptors");
    if (rq->out.refused)
        return err->code;
    if (rq->out.failed)
        return LIMIT_REACHED(ANSWER_BYTES, rq->out.len,
                             dp_error_set(err, DP_ERESOURCE,
                                          "an answer of more than %zu bytes, or out of memory",
                                          LIMIT_SIZE(ANSWER_BYTES)));
    return 0;
}

/* Run the method and append its answer to `rq->out`.  There must be memory for a short answer
 * before: afterwards, the method could not be undone. */
static int write_result(request *rq, const envelope *e, bool in_batch, dp_error *err)
{
    enum { SHORT_BYTES = 512 };

    if (!answer_reserve(&rq->out, SHORT_BYTES, err))
        return err->code;
    open_answer(&rq->out, e->id);
    jw_key(&rq->out, "result");
    int rc = call_method(rq, e, err);

    if (rc < 0)
        return rc;
    attachments_to_json(rq);
    descriptors_to_json(rq);
    jw_object_end(&rq->out);
    jw_reserve(&rq->out, 2); /* the end of the line, for which end_line() must find memory */
    return check_answer(rq, in_batch, err);
}

/* Read the members of `msg`, which need not be valid, for into_fail() and sync_note(). */
static failed_request failed_of(const cJSON *msg)
{
    const char *name = param_str(msg, "method");

    return (failed_request){name != NULL ? method_find(name) : NULL, param(msg, "params"),
                            param(msg, "id")};
}

/* Record that request `msg` has failed with `*err`: server.metrics counts that, its handles fail,
 * and session.sync answers the failure of a notification.  `code`: the JSON-RPC code.  `r`: NULL if
 * no method ran. */
static void note_failure(request *rq, const cJSON *msg, int code, const dp_error *err, const run *r)
{
    const failed_request f = failed_of(msg);

    request_failed(rq, f.method, code, err);
    into_fail(rq, &f, r, err);
    if (f.id == NULL && code != RPC_REQUEST) /* an invalid request is answered, with id null */
        sync_note(rq, &f, err);
}

static bool runs_again(int rc)
{
    return rc == DP_EWORKER || rc == DP_EWAIT;
}

/* Run the method and append its answer or its error to `rq->out`. */
static int run_method(request *rq, const cJSON *msg, const envelope *e, bool in_batch)
{
    dp_error err;

    rq->mark = rq->out;
    dp_error_clear(&err); /* only the first byte of each text is set: the texts are long */
    int rc = run_begin(rq, &err);

    rq->out.err = &err;
    if (rc == 0)
        rc = write_result(rq, e, in_batch, &err);
    rq->out.err = NULL;
    if (rc == DP_EANSWERED)
        return rc;
    run *r = rq->run;
    /* run_undo() must not undo what a notification did */
    if (rc == 0 && e->id == NULL) {
        r->n_fresh = r->n_named = 0;
        r->records = false;
    }
    if (r != NULL && (rc < 0 || e->id == NULL)) {
        run_undo(rq);
        rewind_to(&rq->out, &rq->mark);
    }
    if ((rc < 0 && !runs_again(rc)) || e->id == NULL)
        maps_undo(rq);
    if (rc == DP_EWORKER && r->called)
        return rc;
    if (rc < 0 && !runs_again(rc))
        note_failure(rq, msg, rpc_code(rc), &err, r);
    if (rc < 0 && !runs_again(rc) && e->id != NULL)
        write_error(&rq->out, e->id, rpc_code(rc), &err, r);
    request_drop(rq);
    return rc;
}

/* Run one request of the message.  DP_EWORKER, DP_EWAIT, DP_EANSWERED: see request_run(); after any
 * other result, the request is answered. */
static int run_one(request *rq, const cJSON *msg, bool in_batch)
{
    envelope e;
    dp_error err;

    dp_error_clear(&err);
    dp_error_refusal_clear();
    int code = open_envelope(rq, msg, in_batch, &e, &err);

    if (code == 0 && dp_shapes_pin(&err) < 0)
        code = RPC_SERVER;
    if (code == 0)
        return run_method(rq, msg, &e, in_batch);
    note_failure(rq, msg, code, &err, NULL);
    if (e.id != NULL || code == RPC_REQUEST)
        write_error(&rq->out, e.id, code, &err, NULL);
    return 0;
}

static int begin_batch(request *rq)
{
    int n = cJSON_GetArraySize(rq->root);

    if (n == 0 || n > LIMIT(BATCH)) {
        dp_error err = DP_ERROR_INIT;
        dp_error_set(&err, DP_EVALUE, "a batch of %d requests: expected 1 to %lld%s", n,
                     (long long)LIMIT(BATCH), n > 0 ? " (batch)" : "");
        if (n > 0)
            LIMIT_REACHED(BATCH, n, err.code);
        request_failed(rq, NULL, RPC_REQUEST, &err);
        write_error(&rq->out, NULL, RPC_REQUEST, &err, NULL);
        return DP_EVALUE;
    }
    jw_array(&rq->out);
    rq->batch_begun = true;
    rq->member = rq->root->child;
    return 0;
}

static void end_batch(request *rq)
{
    bool empty = rq->out.len == sizeof("[") - 1;

    jw_array_end(&rq->out);
    if (!rq->out.failed && empty)
        rq->out.len = 0; /* only notifications: no answer at all */
}

/* Run the requests of a batch from `rq->member` on. */
static int run_batch(request *rq)
{
    if (!rq->batch_begun && begin_batch(rq) < 0)
        return 0;
    while (rq->member != NULL) {
        int rc = run_one(rq, rq->member, true);
        if (rc == DP_EANSWERED || runs_again(rc))
            return rc;
        rq->member = rq->member->next;
    }
    end_batch(rq);
    return 0;
}

int request_run(request *rq)
{
    int rc = request_is_batch(rq) ? run_batch(rq) : run_one(rq, rq->root, false);

    dp_shapes_unpin();
    if (rc == DP_EANSWERED)
        return rc;
    if (!runs_again(rc)) {
        end_line(rq);
        return 0;
    }
    if (!request_is_batch(rq))
        jw_fini(&rq->out);
    return rc;
}

/* -- deadlines -- */

static void set_overdue_error(const request *rq, bool calls, dp_error *err)
{
    unsigned long long ms = (rq->deadline - rq->t_read) / 1000000;
    const dp_op *op = calls ? rq->run->bound.op : NULL; /* NULL for a program */

    if (calls)
        dp_error_set(err, DP_EDEADLINE,
                     "%s still runs after deadline_ms of %llu; its result will be dropped",
                     op != NULL ? dp_op_name(op) : "the program", ms);
    else
        dp_error_set(err, DP_EDEADLINE, "no operator was called within deadline_ms of %llu", ms);
    if (op != NULL)
        snprintf(err->op, sizeof(err->op), "%s", dp_op_name(op));
}

bool request_overdue(request *rq, bool calls, request *successor)
{
    bool batch = request_is_batch(rq);
    const cJSON *msg = batch ? rq->member : rq->root;
    dp_error err = DP_ERROR_INIT;

    set_overdue_error(rq, calls, &err);
    note_failure(rq, msg, RPC_SERVER, &err, NULL);
    if (rq->mark.len > 0) {
        jw_text(&successor->out, rq->out.s, rq->mark.len);
        successor->out.depth = rq->mark.depth;
        successor->out.comma = rq->mark.comma;
    }
    if (param(msg, "id") != NULL) /* `msg` was a valid request: its method has begun */
        write_error(&successor->out, param(msg, "id"), RPC_SERVER, &err, calls ? rq->run : NULL);
    if (!batch) {
        end_line(successor);
        return false;
    }
    successor->root = json_ref(rq->root);
    successor->member = rq->member->next;
    successor->batch_begun = true;
    successor->deadline = next_deadline(successor);
    return true;
}

/* Answer `*err` to one request of the message. */
static void fail_one(request *rq, const cJSON *msg, bool in_batch, const dp_error *err)
{
    envelope e;
    dp_error ignored = DP_ERROR_INIT;

    int code = open_envelope(rq, msg, in_batch, &e, &ignored);
    note_failure(rq, msg, code == RPC_REQUEST ? code : RPC_SERVER, err, NULL);
    if (e.id != NULL)
        write_error(&rq->out, e.id, RPC_SERVER, err, NULL);
}

void request_fail(request *rq, const dp_error *err)
{
    fail_one(rq, rq->root, false, err);
    end_line(rq);
}

bool request_give_up(request *rq, const dp_error *err)
{
    bool begun = !request_is_batch(rq) || rq->batch_begun || begin_batch(rq) == 0;

    if (begun && !request_is_batch(rq)) {
        fail_one(rq, rq->root, false, err);
    } else if (begun) {
        fail_one(rq, rq->member, true, err);
        rq->member = rq->member->next;
        rq->deadline = next_deadline(rq);
        if (rq->member != NULL)
            return false;
        end_batch(rq);
    }
    end_line(rq);
    return true;
}

void request_abandon(request *rq, const dp_error *err)
{
    const cJSON *msg =
        request_is_batch(rq) ? rq->batch_begun ? rq->member : rq->root->child : rq->root;

    for (; msg != NULL; msg = request_is_batch(rq) ? msg->next : NULL) {
        const failed_request f = failed_of(msg);
        into_fail(rq, &f, NULL, err);
    }
}

void request_refuse(request *rq, const dp_error *err)
{
    int code = err->code == DP_EVALUE ? RPC_REQUEST : RPC_SERVER;

    request_failed(rq, NULL, code, err);
    write_error(&rq->out, NULL, code, err, NULL);
    end_line(rq);
}

bool request_parse(request *rq)
{
    dp_error err;

    dp_error_clear(&err);
    int rc = json_parse(rq->line, rq->line_bytes, &rq->root, &err);

    rq->t_parsed = nanos();
    if (rc == 0) {
        rq->method = find_method(rq);
        rq->deadline = next_deadline(rq);
        return true;
    }
    int code = rc == DP_ERESOURCE ? RPC_SERVER : RPC_PARSE;
    request_failed(rq, NULL, code, &err);
    write_error(&rq->out, NULL, code, &err, NULL);
    end_line(rq);
    return false;
}
