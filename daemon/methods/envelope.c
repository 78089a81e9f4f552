/* envelope.c -- one message in, one answer's line out: JSON-RPC 2.0 around the methods.
 *
 * No other file knows what JSON-RPC calls its members and errors.  Owns nothing.  A failed method
 * leaves nothing in the answer but its error. */
#include "methods.h"
#include <math.h>
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

/* Drop what was written since w was copied to *mark. */
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

static void write_data(jw *w, const dp_error *err, const run *r)
{
    const char *type = dp_error_name(err->code);

    jw_key(w, "data");
    jw_object(w);
    member_str(w, "type", type != NULL ? type : "RuntimeError");
    if (err->op[0] != '\0')
        member_str(w, "op", err->op);
    if (err->key[0] != '\0')
        member_str(w, "key", err->key);
    if (r != NULL && r->step >= 0)
        member_int(w, "step", r->step);
    if (r != NULL && r->n_written > 0) {
        jw_key(w, "written");
        jw_array(w);
        for (size_t i = 0; i < r->n_written; i++)
            jw_int(w, (int64_t)r->written[i]);
        jw_array_end(w);
    }
    jw_object_end(w);
}

/* r is what the method kept; NULL: no method ran.  An error is short: its session is not asked. */
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
}

/* End the line.  If there was no memory for it, the connection is closed instead. */
static void end_line(request *rq)
{
    rq->out.account = NULL; /* its last byte is not refused */
    if (rq->out.len > 0 || rq->out.failed)
        jw_text(&rq->out, "\n", 1);
    if (rq->out.failed) {
        rq->out.len = 0;
        rq->close_after = true;
    }
}

/* -- the envelope -- */

/* A request whose members were checked. */
typedef struct envelope {
    const cJSON *id; /* NULL: a notification.  JSON's null is an id like others */
    const method *method;
    const cJSON *params;
} envelope;

static int refuse(dp_error *err, int code, const char *what)
{
    dp_error_set(err, DP_EVALUE, "%s", what);
    return code;
}

static bool is_id(const cJSON *id)
{
    return cJSON_IsString(id) || json_is_int(id);
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

/* The announcement must be the one that was acted on when the attachments were read. */
static int check_attachments(const request *rq, const cJSON *attachments, const cJSON *fds,
                             bool in_batch, dp_error *err)
{
    size_t n = cJSON_IsArray(attachments) ? (size_t)cJSON_GetArraySize(attachments) : 0;

    if (in_batch && (attachments != NULL || fds != NULL))
        return refuse(err, RPC_REQUEST, "a batch carries neither attachments nor fds");
    if (attachments != NULL && !cJSON_IsArray(attachments))
        return refuse(err, RPC_REQUEST, "attachments: expected an array of byte counts");
    if (!in_batch && n != rq->n_attachments) {
        dp_error_set(err, DP_EVALUE, "attachments: %zu announced but %zu came", n,
                     rq->n_attachments);
        return RPC_REQUEST;
    }
    return 0;
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

/* 0, or the JSON-RPC code that goes with *err.  On failure too e->id is the request's id, if that
 * could be read. */
static int open_envelope(const request *rq, const cJSON *msg, bool in_batch, envelope *e,
                         dp_error *err)
{
    const cJSON *found[KNOWN];

    *e = (envelope){0};
    if (!cJSON_IsObject(msg))
        return refuse(err, RPC_REQUEST, "expected a request object");
    const cJSON *unknown = params_find(msg, known, KNOWN, found);
    const cJSON *id = found[ID], *version = found[JSONRPC], *name = found[METHOD];
    if (id != NULL && !cJSON_IsNull(id) && !is_id(id))
        return refuse(err, RPC_REQUEST, "id: expected a string or an integer below 2^53");
    e->id = id; /* null too: only what has no id is a notification */
    e->params = found[PARAMS];
    if (!cJSON_IsString(version) || strcmp(version->valuestring, "2.0") != 0)
        return refuse(err, RPC_REQUEST, "jsonrpc: expected \"2.0\"");
    if (!cJSON_IsString(name))
        return refuse(err, RPC_REQUEST, "method: expected a string");
    if (e->params != NULL && !cJSON_IsObject(e->params) && !cJSON_IsArray(e->params))
        return refuse(err, RPC_REQUEST, "params: expected an object");
    int code = unknown != NULL
                   ? fail_unknown(unknown, err)
                   : check_attachments(rq, found[ATTACHMENTS], found[FDS], in_batch, err);
    e->method = in_batch ? method_find(name->valuestring) : rq->method;
    return code != 0 ? code : check_method(name->valuestring, e, err);
}

/* -- what can be known before it runs -- */

static const method *find_method(const request *rq)
{
    static const method batch = {"", NULL, METHOD_WORKER}; /* it may hold anything */
    const char *name;

    if (request_is_batch(rq))
        return &batch;
    name = param_str(rq->root, "method");
    return name != NULL ? method_find(name) : NULL;
}

bool request_is_batch(const request *rq)
{
    return cJSON_IsArray(rq->root);
}

bool request_has_id(const request *rq, const cJSON *id)
{
    const cJSON *own = param(rq->root, "id");

    return own != NULL && cJSON_Compare(own, id, true);
}

static bool whole(const cJSON *j, size_t most, size_t *out)
{
    if (!cJSON_IsNumber(j) || !(j->valuedouble >= 0 && j->valuedouble <= (double)most) ||
        j->valuedouble != floor(j->valuedouble))
        return false;
    *out = (size_t)j->valuedouble;
    return true;
}

/* Read "attachments":[n...] into rq, and the sum of the sizes into *total. */
static int read_sizes(request *rq, const cJSON *list, size_t max_bytes, size_t *total,
                      dp_error *err)
{
    size_t n = (size_t)cJSON_GetArraySize(list);
    const cJSON *j;

    if (!cJSON_IsArray(list) || n > LIMIT_ATTACHMENTS)
        goto fail;
    rq->attachment_bytes = dp_calloc(n + 1, sizeof(size_t));
    rq->attachment_offset = dp_calloc(n + 1, sizeof(size_t));
    if (rq->attachment_bytes == NULL || rq->attachment_offset == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: attachments");
    cJSON_ArrayForEach(j, list)
    {
        size_t i = rq->n_attachments;
        if (!whole(j, max_bytes - *total, &rq->attachment_bytes[i]))
            goto fail;
        rq->attachment_offset[i] = *total;
        *total += rq->attachment_bytes[i];
        rq->n_attachments++;
    }
    return 0;
fail:
    return dp_error_set(err, DP_EVALUE,
                        "attachments: expected an array of at most %d sizes that add up to at "
                        "most %zu bytes (attachments, attachment_bytes)",
                        LIMIT_ATTACHMENTS, max_bytes);
}

int64_t request_announced(request *rq, size_t max_bytes, size_t came, size_t *n_fds)
{
    const cJSON *list = param(rq->root, "attachments"), *fds = param(rq->root, "fds");
    dp_error err = DP_ERROR_INIT;
    size_t total = 0;

    *n_fds = 0;
    if (list != NULL)
        read_sizes(rq, list, max_bytes, &total, &err);
    if (err.code == 0 && fds != NULL && (!whole(fds, LIMIT_DESCRIPTORS, n_fds) || *n_fds > came))
        dp_error_set(&err, DP_EVALUE,
                     "fds: expected a count of at most %d descriptors, all of them sent beside "
                     "this line; %zu came",
                     LIMIT_DESCRIPTORS, came);
    if (err.code == 0)
        return (int64_t)total;
    request_refuse(rq, &err);
    return -1;
}

/* -- running -- */

static int rpc_code(int rc)
{
    return rc == DP_EPARAMS ? RPC_PARAMS : RPC_SERVER;
}

/* When what runs is to stop at its checkpoints; 0: never. */
static uint64_t deadline_of(const request *rq, const cJSON *params)
{
    const int64_t longest = INT64_MAX / 2000000;
    int64_t ms = param_int(params, "deadline_ms", -1);

    return ms >= 0 && ms < longest ? rq->t_read + (uint64_t)ms * 1000000 : 0;
}

static int call_method(request *rq, const envelope *e, dp_error *err)
{
    static const cJSON no_params = {.type = cJSON_Object};
    const cJSON *params = e->params != NULL ? e->params : &no_params;
    int rc = proto_check(proto_find(e->method->name)->params, params, NULL, err);

    if (rc < 0)
        return rc;
    uint64_t deadline = deadline_of(rq, params);
    if (deadline != 0)
        dp_ctx_set_deadline(rq->ctx, deadline);
    rc = e->method->fn(rq, params, &rq->out, err);
    if (deadline != 0)
        dp_ctx_set_deadline(rq->ctx, 0); /* the batch goes on */
    return rc;
}

static void write_attachments(request *rq)
{
    jw *w = &rq->out;

    if (rq->n_parts == 0)
        return;
    jw_key(w, "attachments");
    jw_array(w);
    for (size_t i = 0; i < rq->n_parts; i++)
        jw_int(w, (int64_t)rq->parts[i].bytes);
    jw_array_end(w);
}

/* Is the method's answer one that can be sent? */
static int check_answer(const request *rq, bool in_batch, dp_error *err)
{
    if (in_batch && rq->n_parts > 0)
        return dp_error_set(err, DP_EVALUE, "an answer in a batch cannot carry attachments");
    if (rq->out.refused)
        return err->code;
    if (rq->out.failed)
        return dp_error_set(err, DP_ERESOURCE, "an answer of more than %d bytes, or out of memory",
                            LIMIT_ANSWER_BYTES);
    return 0;
}

/* Append the answer that holds the method's result to rq->out. */
static int write_result(request *rq, const envelope *e, bool in_batch, dp_error *err)
{
    open_answer(&rq->out, e->id);
    jw_key(&rq->out, "result");
    int rc = call_method(rq, e, err);

    if (rc < 0)
        return rc;
    write_attachments(rq);
    jw_object_end(&rq->out);
    return check_answer(rq, in_batch, err);
}

/* Append the answer that holds the method's result, or its error, to rq->out. */
static int run_method(request *rq, const envelope *e, bool in_batch)
{
    dp_error err;
    jw mark = rq->out;

    dp_error_clear(&err); /* its texts are long: not all of it */
    int rc = run_begin(rq, &err);

    rq->out.err = &err;
    if (rc == 0)
        rc = write_result(rq, e, in_batch, &err);
    rq->out.err = NULL;
    run *r = rq->run;
    if (rc == 0 && e->id == NULL) /* drop the answer, but not the handles that were made */
        r->n_fresh = r->fresh_generator = 0;
    if (r != NULL && (rc < 0 || e->id == NULL)) {
        run_undo(rq);
        rewind_to(&rq->out, &mark);
    }
    if (rc == DP_EWORKER && r->called)
        return rc;
    if (rc < 0 && rc != DP_EWORKER && e->id != NULL)
        write_error(&rq->out, e->id, rpc_code(rc), &err, r);
    request_drop(rq);
    return rc;
}

/* One request of the message.  DP_EWORKER: it has to run again on a worker; nothing was done. */
static int run_one(request *rq, const cJSON *msg, bool in_batch)
{
    envelope e;
    dp_error err;

    dp_error_clear(&err);
    int code = open_envelope(rq, msg, in_batch, &e, &err);

    if (code == 0 && dp_shapes_hold(&err) < 0)
        code = RPC_SERVER;
    if (code == 0)
        return run_method(rq, &e, in_batch);
    if (e.id != NULL || code == RPC_REQUEST)
        write_error(&rq->out, e.id, code, &err, NULL);
    return 0;
}

static int run_batch(request *rq)
{
    int n = cJSON_GetArraySize(rq->root);
    const cJSON *msg;

    if (n == 0 || n > LIMIT_BATCH) {
        dp_error err = DP_ERROR_INIT;
        dp_error_set(&err, DP_EVALUE, "a batch of %d requests: expected 1 to %d", n, LIMIT_BATCH);
        write_error(&rq->out, NULL, RPC_REQUEST, &err, NULL);
        return 0;
    }
    jw_array(&rq->out);
    size_t empty = rq->out.len;
    cJSON_ArrayForEach(msg, rq->root) if (run_one(rq, msg, true) == DP_EWORKER) return DP_EWORKER;
    jw_array_end(&rq->out);
    if (!rq->out.failed && rq->out.len == empty + 1)
        rq->out.len = 0; /* only notifications: no answer at all */
    return 0;
}

void request_run(request *rq)
{
    int rc = cJSON_IsArray(rq->root) ? run_batch(rq) : run_one(rq, rq->root, false);

    dp_shapes_let();
    if (rc == DP_EWORKER) {
        jw_fini(&rq->out);
        return;
    }
    end_line(rq);
}

void request_fail(request *rq, const dp_error *err)
{
    envelope e;
    dp_error ignored = DP_ERROR_INIT;

    open_envelope(rq, rq->root, false, &e, &ignored);
    if (e.id != NULL)
        write_error(&rq->out, e.id, RPC_SERVER, err, NULL);
    end_line(rq);
}

void request_refuse(request *rq, const dp_error *err)
{
    write_error(&rq->out, NULL, err->code == DP_EVALUE ? RPC_REQUEST : RPC_SERVER, err, NULL);
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
        return true;
    }
    write_error(&rq->out, NULL, rc == DP_ERESOURCE ? RPC_SERVER : RPC_PARSE, &err, NULL);
    end_line(rq);
    return false;
}
