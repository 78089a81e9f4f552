/* method.c -- one message in, one answer line out: JSON-RPC 2.0 around the methods.
 *
 * It owns what a method keeps while it runs (struct run): arguments pinned by handle, and the fresh
 * handles that are taken back when the method fails.  A failed method leaves nothing in the answer
 * but its error. */
#include "method.h"
#include <math.h>
#include <string.h>

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    RPC_SERVER = -32000
};

#define METHOD_ROW_(name, fn, where) {name, fn, where, "methods/" name ".json"},
const method methods[] = {
    METHOD_MAP(METHOD_ROW_){NULL, NULL, 0, NULL}
};
#undef METHOD_ROW_

#define METHOD_NAME_(name, fn, where) name,
static const char *const method_names[] = {METHOD_MAP(METHOD_NAME_)};
#undef METHOD_NAME_
enum { METHODS = sizeof(method_names) / sizeof(method_names[0]) };

const method *method_find(const char *name)
{
    for (const method *m = methods; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

/* -- what a running method keeps -- */

static int pin_add(run *r, dp_tensor *t, uint64_t handle, dp_error *err)
{
    pin *pins = array_grow(r->pins, r->n_pins, &r->cap_pins, sizeof(*pins));

    if (pins == NULL) {
        dp_tensor_unref(t);
        return dp_error_set(err, DP_ERESOURCE, "out of memory: %zu tensors of one request",
                            r->n_pins + 1);
    }
    r->pins = pins;
    pins[r->n_pins++] = (pin){t, handle};
    return 0;
}

int run_pin(request *rq, uint64_t handle, const place *at, dp_tensor **out, dp_error *err)
{
    dp_tensor *t = session_get(rq->session, handle);

    if (t == NULL)
        return place_fail(err, DP_ENOTFOUND, at, "no tensor %llu in this session",
                          (unsigned long long)handle);
    if (pin_add(rq->run, t, handle, err) < 0)
        return DP_ERESOURCE;
    *out = t;
    return 0;
}

int run_keep(request *rq, dp_tensor *t, dp_error *err)
{
    return pin_add(rq->run, t, 0, err);
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
    const uint64_t never_proven = UINT64_MAX; /* no kernel has this id */

    return bytes <= QUICK_BYTES || executor_may_run(rq, never_proven, bytes);
}

static void run_undo(request *rq)
{
    run *r = rq->run;

    while (r->n_fresh > 0)
        session_release(rq->session, r->fresh[--r->n_fresh]);
    while (rq->n_parts > 0) {
        answer_part *p = &rq->parts[--rq->n_parts];
        dp_tensor_unref(p->tensor);
        dp_free(p->owned);
    }
}

static void run_fini(run *r)
{
    for (size_t i = 0; i < r->n_pins; i++)
        dp_tensor_unref(r->pins[i].tensor);
    dp_free(r->pins);
    dp_free(r->fresh);
}

int run_ctx_error(request *rq, dp_error *err)
{
    *err = *dp_ctx_error(rq->ctx);
    return err->code;
}

/* -- answers -- */

/* A jw as it was; what was written since is dropped. */
static void rewind_to(jw *w, const jw *mark)
{
    w->len = mark->len;
    w->depth = mark->depth;
    w->comma = mark->comma;
    w->failed = mark->failed;
}

static void open_answer(jw *w, const cJSON *id)
{
    jw_object(w);
    member_str(w, "jsonrpc", "2.0");
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
    if (err->op[0] != '\0') {
        member_str(w, "op", err->op);
    }
    if (err->key[0] != '\0') {
        member_str(w, "key", err->key);
    }
    if (r != NULL && r->step >= 0) {
        member_int(w, "step", r->step);
    }
    if (r != NULL && r->n_written > 0) {
        jw_key(w, "written");
        jw_array(w);
        for (size_t i = 0; i < r->n_written; i++)
            jw_int(w, (int64_t)r->written[i]);
        jw_array_end(w);
    }
    jw_object_end(w);
}

/* r may be NULL: nothing ran. */
static void write_error(jw *w, const cJSON *id, int code, const dp_error *err, const run *r)
{
    open_answer(w, id);
    jw_key(w, "error");
    jw_object(w);
    member_int(w, "code", code);
    member_str(w, "message", err->message);
    if (code == RPC_SERVER)
        write_data(w, err, r);
    jw_object_end(w);
    jw_object_end(w);
}

/* Ends the line.  An answer there is no memory for ends the connection instead. */
static void end_line(request *rq)
{
    if (rq->out.len > 0 || rq->out.failed)
        jw_text(&rq->out, "\n", 1);
    if (rq->out.failed) {
        rq->out.len = 0;
        rq->close_after = true;
    }
}

/* -- the envelope -- */

/* A message that was checked. */
typedef struct envelope {
    const cJSON *id; /* NULL: a notification */
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
    return cJSON_IsString(id) || (cJSON_IsNumber(id) && floor(id->valuedouble) == id->valuedouble &&
                                  fabs(id->valuedouble) < (double)JSON_EXACT_INT);
}

static int check_members(const cJSON *msg, dp_error *err)
{
    static const char *const known[] = {"jsonrpc", "id", "method", "params", "attachments", "fds"};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    const cJSON *m;

    cJSON_ArrayForEach(m, msg)
    {
        size_t i = 0;
        while (i < KNOWN && strcmp(known[i], m->string) != 0)
            i++;
        if (i < KNOWN)
            continue;
        const char *near = nearest_name(m->string, known, KNOWN);
        dp_error_set(err, DP_EVALUE, "unknown member '%.100s' of a request%s%s%s", m->string,
                     near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
        return RPC_REQUEST;
    }
    return 0;
}

/* Top-level announcements must be what frame.c acted on. */
static int check_attachments(const request *rq, const cJSON *msg, bool in_batch, dp_error *err)
{
    const cJSON *attachments = param(msg, "attachments"), *fds = param(msg, "fds");
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

static int find_method(const char *name, envelope *e, dp_error *err)
{
    const char *near;

    e->method = method_find(name);
    if (e->method != NULL)
        return 0;
    near = nearest_name(name, method_names, METHODS);
    dp_error_set(err, DP_ENOTFOUND, "no method '%.100s'%s%s%s", name,
                 near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    return RPC_METHOD;
}

/* 0, or the JSON-RPC code of *err.  e->id is set as far as it could be read. */
static int open_envelope(const request *rq, const cJSON *msg, bool in_batch, envelope *e,
                         dp_error *err)
{
    const cJSON *id = param(msg, "id"), *name = param(msg, "method");
    const char *version = param_str(msg, "jsonrpc");

    *e = (envelope){.params = param(msg, "params")};
    if (!cJSON_IsObject(msg))
        return refuse(err, RPC_REQUEST, "expected a request object");
    if (id != NULL && !cJSON_IsNull(id) && !is_id(id))
        return refuse(err, RPC_REQUEST, "id: expected a string or an integer below 2^53");
    if (!cJSON_IsNull(id))
        e->id = id;
    if (version == NULL || strcmp(version, "2.0") != 0)
        return refuse(err, RPC_REQUEST, "jsonrpc: expected \"2.0\"");
    if (!cJSON_IsString(name))
        return refuse(err, RPC_REQUEST, "method: expected a string");
    if (e->params != NULL && !cJSON_IsObject(e->params) && !cJSON_IsArray(e->params))
        return refuse(err, RPC_REQUEST, "params: expected an object");
    int code = check_members(msg, err);
    if (code == 0)
        code = check_attachments(rq, msg, in_batch, err);
    return code != 0 ? code : find_method(name->valuestring, e, err);
}

/* -- running -- */

static int rpc_code(int rc)
{
    return rc == DP_EPARAMS ? RPC_PARAMS : RPC_SERVER;
}

static int call_method(request *rq, const envelope *e, dp_error *err)
{
    static cJSON nothing = {.type = cJSON_Object};
    const cJSON *params = e->params != NULL ? e->params : &nothing;
    int rc = proto_check(proto_find(e->method->name)->params, params, NULL, err);

    return rc < 0 ? rc : e->method->fn(rq, params, &rq->out, err);
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

/* Can what the method answered be sent? */
static int check_answer(const request *rq, bool in_batch, dp_error *err)
{
    if (in_batch && rq->n_parts > 0)
        return dp_error_set(err, DP_EVALUE, "an answer in a batch cannot carry attachments");
    if (rq->out.failed)
        return dp_error_set(err, DP_ERESOURCE, "an answer of more than %d bytes, or out of memory",
                            LIMIT_ANSWER_BYTES);
    return 0;
}

/* The method's answer, or its error, after what rq->out holds. */
static int run_method(request *rq, const envelope *e, bool in_batch)
{
    run r = {.step = -1};
    dp_error err = DP_ERROR_INIT;
    jw mark = rq->out;

    rq->run = &r;
    open_answer(&rq->out, e->id);
    jw_key(&rq->out, "result");
    int rc = call_method(rq, e, &err);
    if (rc == 0) {
        write_attachments(rq);
        jw_object_end(&rq->out);
        rc = check_answer(rq, in_batch, &err);
    }
    if (rc != 0) {
        run_undo(rq);
        rewind_to(&rq->out, &mark);
    }
    if (rc != 0 && rc != DP_EWORKER && e->id != NULL)
        write_error(&rq->out, e->id, rpc_code(rc), &err, &r);
    if (rc == 0 && e->id == NULL) {
        r.n_fresh = 0; /* they are the session's; only the answer goes */
        run_undo(rq);
        rewind_to(&rq->out, &mark);
    }
    rq->run = NULL;
    run_fini(&r);
    return rc;
}

/* One request of the message.  DP_EWORKER: it must move, nothing was done. */
static int run_one(request *rq, const cJSON *msg, bool in_batch)
{
    envelope e;
    dp_error err = DP_ERROR_INIT;
    int code = open_envelope(rq, msg, in_batch, &e, &err);

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

void request_refuse(request *rq, int code, const char *message)
{
    dp_error err = DP_ERROR_INIT;

    dp_error_set(&err, DP_EVALUE, "%s", message);
    write_error(&rq->out, NULL, code, &err, NULL);
    end_line(rq);
}

bool request_parse(request *rq)
{
    dp_error err = DP_ERROR_INIT;
    int rc = json_parse(rq->line, rq->line_bytes, &rq->root, &err);

    rq->t_parsed = nanos();
    if (rc == 0)
        return true;
    write_error(&rq->out, NULL, rc == DP_ERESOURCE ? RPC_SERVER : RPC_PARSE, &err, NULL);
    end_line(rq);
    return false;
}
