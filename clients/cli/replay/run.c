/* run.c -- makes the calls of a recording on both sides, one after the other */
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An operator, as the reference describes it. */
struct described {
    described *next;
    char *op;         /* owned */
    cJSON *arguments; /* owned; NULL: the registry does not know it, or not without its overload */
};

static const described *describe(replay *r, dpc_client *c, const char *op)
{
    described *f = r->ops;
    dpc_answer *a = NULL;
    dpc_error err;

    while (f != NULL && strcmp(f->op, op) != 0)
        f = f->next;
    if (f != NULL)
        return f;
    f = need(calloc(1, sizeof(*f)));
    f->op = text_printf("%s", op);
    f->next = r->ops;
    r->ops = f;
    dpc_request *q = need(dpc_request_new("registry.describe"));
    dpc_add_str(q, "op", op);
    if (dpc_call(c, q, &a, &err) == 0) {
        const cJSON *arguments = member(dpc_answer_result(a), "arguments");
        f->arguments = arguments ? need(cJSON_Duplicate(arguments, true)) : NULL;
    }
    dpc_request_free(q);
    dpc_answer_free(a);
    return f;
}

/* -- operators -- */

/* Return the value of argument `i` of a call; NULL: its default. */
static const cJSON *argument(const cJSON *params, const cJSON *about, int i)
{
    const cJSON *args = member(params, "args");

    return i < cJSON_GetArraySize(args) ? cJSON_GetArrayItem(args, i)
                                        : member(member(params, "kwargs"), text_of(about, "name"));
}

/* Append the handles of the tensors in a value. */
static void add_handles(cJSON *list, const cJSON *value)
{
    const cJSON *j, *handle = member(value, "tensor");

    if (cJSON_IsNumber(handle))
        cJSON_AddItemToArray(list, need(cJSON_CreateNumber(handle->valuedouble)));
    else
        cJSON_ArrayForEach(j, value) add_handles(list, j);
}

/* Remove the handles that an answer names anyway. */
static void remove_answered(cJSON *list, const cJSON *answer)
{
    cJSON *nodes = need(cJSON_CreateArray()), *next;
    const cJSON *node;

    collect(nodes, member(answer, "result"), TENSOR);
    for (cJSON *handle = list->child; handle != NULL; handle = next) {
        bool there = false;
        next = handle->next;
        cJSON_ArrayForEach(node, nodes) there =
            there || number_of(node, "tensor") == handle->valuedouble;
        if (there)
            cJSON_Delete(cJSON_DetachItemViaPointer(list, handle));
    }
    cJSON_Delete(nodes);
}

/* Return the recorded handles of what a call writes and does not answer, an owned array. */
static cJSON *written_by(const described *f, const cJSON *params, const cJSON *answer)
{
    cJSON *list = need(cJSON_CreateArray());
    const cJSON *about;
    int i = 0;

    cJSON_ArrayForEach(about, f->arguments)
    {
        const cJSON *value = argument(params, about, i++);
        if (value != NULL && cJSON_IsTrue(member(about, "written")))
            add_handles(list, value);
    }
    remove_answered(list, answer);
    return list;
}

/* Operators that make tensors make them on the CPU where no device is named. */
static void place_factory(const described *f, cJSON *params, const places *p)
{
    const char *place = place_of(p, "cpu");
    const cJSON *about;
    int i = 0;

    cJSON_ArrayForEach(about, f->arguments)
    {
        if (strcmp(text_of(about, "name"), "device") == 0 && strcmp(place, "cpu") != 0 &&
            argument(params, about, i) == NULL) {
            if (member(params, "kwargs") == NULL)
                cJSON_AddItemToObject(params, "kwargs", params_new());
            params_text(cJSON_GetObjectItem(params, "kwargs"), "device", place);
        }
        i++;
    }
}

/* -- inputs -- */

/* Return the dtype of the literal that has attachment `k`. */
static dpc_dtype dtype_of_part(const cJSON *value, uint32_t k)
{
    const cJSON *at = member(value, "attachment"), *j;
    dpc_dtype found = DPC_DTYPE_OTHER;

    if (cJSON_IsNumber(at) && at->valuedouble == k)
        return dtype_named(text_of(value, "dtype"));
    cJSON_ArrayForEach(j, value) if (found == DPC_DTYPE_OTHER) found = dtype_of_part(j, k);
    return found;
}

/* Draw elements in the place of those that are not in the file: the same ones for the same hash. */
static void draw(char *to, uint64_t nbytes, dpc_dtype dtype, uint64_t hash)
{
    size_t size = dpc_dtype_size(dtype);

    memset(to, 0, nbytes);
    for (uint64_t at = 0; size > 0 && at + size <= nbytes; at += size) {
        double x = ldexp((double)(random_next(&hash) >> 11), -52) - 1;
        element e = {x, dtype_is_complex(dtype) ? -x : 0, (int64_t)(x > 0)};
        element_write(dtype, to + at, e);
    }
}

/* Return the bytes of part `k`, owned; NULL: the file is damaged, or there is no memory. */
static void *part_bytes(replay *r, const frame *f, uint32_t k, const cJSON *params)
{
    const part *p = &f->parts[k];

    if (p->how == PART_BYTES)
        return recording_bytes(r->from, f, p);
    char *bytes = malloc(p->nbytes + 1);
    if (bytes == NULL)
        recording_refuse(r->from, f, "no memory for the inputs of this call");
    else if (p->how == PART_HERE)
        memcpy(bytes, p->bytes, p->nbytes);
    else
        draw(bytes, p->nbytes, dtype_of_part(params, k), p->number);
    return bytes;
}

/* -- a call -- */

typedef struct making {
    const frame *f;
    const char *method;
    cJSON *params;       /* as recorded */
    void **bytes;        /* [f->n_parts] */
    const described *op; /* NULL: no call of an operator */
    judged j;
} making;

/* Change what only matters to the recorded client. */
static void simplify(const replay *r, const char *method, cJSON *params)
{
    static const char *const gone[] = {"return", "deadline_ms", "trace", "timing", "progress"};
    bool waits = strcmp(method, "op.call") == 0 || strcmp(method, "program.run") == 0;

    for (size_t i = 0; i < COUNT(gone); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(params, gone[i]);
    if (waits)
        cJSON_AddNumberToObject(params, "deadline_ms", r->deadline_ms);
}

/* Names are for all sessions of a user: those of a replay must not meet others, nor the other
 * side's. */
static void rename_tensor(replay *r, cJSON *params, int side)
{
    const cJSON *name = member(params, "name"), *known;

    if (!cJSON_IsString(name))
        return;
    char *text = text_printf("replay-%d-%d-%s", (int)getpid(), side, name->valuestring);
    cJSON_ReplaceItemInObjectCaseSensitive(params, "name", need(cJSON_CreateString(text)));
    if (r->names[side] == NULL)
        r->names[side] = need(cJSON_CreateArray());
    cJSON_ArrayForEach(known, r->names[side]) if (strcmp(known->valuestring, text) == 0) break;
    if (known == NULL)
        cJSON_AddItemToArray(r->names[side], need(cJSON_CreateString(text)));
    free(text);
}

/* Remove the names that the recorded sessions have left. */
static void remove_names(replay *r)
{
    const cJSON *name;

    for (int side = 0; side < 2; side++) {
        bool any = r->names[side] != NULL && !r->result.lost;
        peer *at = any ? peers_get(&r->peers, UINT32_MAX) : NULL;
        for (name = at ? r->names[side]->child : NULL; name != NULL; name = name->next) {
            dpc_request *q = need(dpc_request_new("tensor.unlink"));
            dpc_answer *a = NULL;
            dpc_error err;
            dpc_add_str(q, "name", name->valuestring);
            if (dpc_call(at->client[side], q, &a, &err) == 0) /* else there is none any more */
                dpc_answer_free(a);
            dpc_request_free(q);
        }
        cJSON_Delete(r->names[side]);
        r->names[side] = NULL;
    }
}

/* Make the request on a side.  Returns NULL, or owned text that says why it cannot be made. */
static char *make(replay *r, making *m, const peer *at, int side)
{
    cJSON *params = need(cJSON_Duplicate(m->params, true));
    bool tainted = false;
    dpc_error err;

    simplify(r, m->method, params);
    if (strncmp(m->method, "tensor.", 7) == 0)
        rename_tensor(r, params, side);
    char *missing =
        translate(params, &r->handles, at->of->number, side, &r->sides[side].places, &tainted);
    if (missing == NULL) {
        m->j.tainted = m->j.tainted || tainted;
        if (m->op != NULL)
            place_factory(m->op, params, &r->sides[side].places);
        char *text = json_text(params);
        dpc_request *q = need(dpc_request_json(m->method, text));
        for (uint32_t i = 0; i < m->f->n_parts; i++)
            dpc_attach(q, m->bytes[i], m->f->parts[i].nbytes);
        if (dpc_submit(at->client[side], q, NULL, &err) != 0 ||
            dpc_receive(at->client[side], -1, &m->j.answers[side], &err) != 0)
            fprintf(stderr, "dispatchctl: %s: %s\n", r->sides[side].name, err.message);
        dpc_request_free(q);
        free(text);
    }
    cJSON_Delete(params);
    return missing;
}

/* Forget the handles that a request has released. */
static void forget_released(replay *r, const making *m, uint32_t session)
{
    const cJSON *j, *lists = member(m->params, "tensors");

    if (strcmp(m->method, "tensor.release") == 0 && cJSON_IsTrue(member(m->params, "all")))
        handles_forget(&r->handles, session, TENSOR, NAN);
    if (strcmp(m->method, "tensor.release") == 0)
        cJSON_ArrayForEach(j, lists) handles_forget(&r->handles, session, TENSOR, j->valuedouble);
    if (strcmp(m->method, "program.release") == 0)
        handles_forget(&r->handles, session, PROGRAM, number_of(m->params, "program"));
}

/* Keep how a program was made.  If a run of one is the first fault, name the step. */
static void look_into_program(replay *r, const making *m, const peer *at)
{
    const cJSON *made = member(member(m->j.answer, "result"), "program");
    fault step = {.op = NULL};

    if (strcmp(m->method, "program.create") == 0 && cJSON_IsNumber(made)) {
        entry *e = handles_find(&r->handles, at->of->number, PROGRAM, made->valuedouble);
        if (e != NULL && e->made_from == NULL)
            e->made_from = need(cJSON_Duplicate(m->params, true));
    }
    if (strcmp(m->method, "program.run") == 0 && m->j.faulty &&
        r->result.matters.number == r->number && find_step(r, at, m->params, &step))
        result_step(&r->result, r->number, &step);
}

/* Return the request as short text, owned. */
static char *short_text(const making *m)
{
    enum { MOST = 160 };
    char *args = json_text(m->params);
    bool long_ = strlen(args) > MOST;
    char *text = text_printf("%s %.*s%s", m->method, MOST, args, long_ ? "..." : "");

    free(args);
    return text;
}

/* Make the request on both sides, and judge it.  false: a daemon has ended. */
static bool make_both(replay *r, making *m, peer *at)
{
    const cJSON *answer = m->j.answer;
    bool ok = true;
    char *missing = NULL;

    m->j.into = member(m->params, "into");
    m->j.refused = member(answer, "error") != NULL;
    m->j.of = at->of;
    m->j.of_gradients = strncmp(m->method, "grad.", 5) == 0;
    m->j.op = m->method;
    if (strcmp(m->method, "op.call") == 0) {
        m->j.op = text_of(m->params, "op");
        m->op = describe(r, at->of->aside[WANT], m->j.op);
        m->j.written = written_by(m->op, m->params, answer);
    }
    m->j.call = short_text(m);
    for (int side = 0; side < 2 && missing == NULL; side++)
        missing = make(r, m, at, side);
    if (missing != NULL)
        result_skip(&r->result, r->number, m->j.op, missing);
    else
        ok = judge(r, &m->j);
    if (missing == NULL && ok)
        look_into_program(r, m, at);
    if (missing == NULL)
        forget_released(r, m, at->of->number);
    free(missing);
    free(m->j.call);
    cJSON_Delete(m->j.written);
    dpc_answer_free(m->j.answers[WANT]);
    dpc_answer_free(m->j.answers[GOT]);
    return ok;
}

/* Read the JSON of a call.  false: it is none of a recording, see the fault. */
static bool read_call(replay *r, const frame *f, cJSON **request, cJSON **answer)
{
    *request = cJSON_ParseWithOpts(f->request, NULL, true);
    *answer = *f->answer ? cJSON_ParseWithOpts(f->answer, NULL, true) : NULL;
    const cJSON *params = member(*request, "params");
    const char *method = text_of(*request, "method");

    if (*method == '\0' || (params != NULL && !cJSON_IsObject(params)))
        return recording_refuse(r->from, f, "the request in this frame is none");
    if (*f->answer && !cJSON_IsObject(*answer))
        return recording_refuse(r->from, f, "the answer in this frame is none");
    if (is_recorded(method))
        return true;
    char *how = text_printf("no recording has calls of '%.64s'", method);
    recording_refuse(r->from, f, how);
    free(how);
    return false;
}

/* Is there memory for the attachments of a call?  Those that were left out take none of the file,
 * so that a damaged one could ask for any. */
static bool parts_fit(replay *r, const frame *f)
{
    uint64_t most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < f->n_parts; i++)
        sum += f->parts[i].nbytes;
    if (sum <= most)
        return true;
    char *how = text_printf("the call in this frame has inputs of %.0f bytes, more than half of "
                            "this machine's memory",
                            (double)sum);
    recording_refuse(r->from, f, how);
    free(how);
    return false;
}

/* false: no further call can be made. */
static bool run_call(replay *r, const frame *f)
{
    cJSON *request, *answer;
    making m = {.f = f};
    bool ok = read_call(r, f, &request, &answer) && parts_fit(r, f);
    peer *at = ok ? peers_get(&r->peers, f->connection) : NULL;

    r->number++;
    m.method = text_of(request, "method");
    m.j.answer = answer;
    m.params = cJSON_DetachItemFromObjectCaseSensitive(request, "params");
    if (m.params == NULL)
        m.params = params_new();
    m.bytes = need(calloc(f->n_parts + 1, sizeof(*m.bytes)));
    ok = at != NULL;
    for (uint32_t i = 0; i < f->n_parts && ok; i++)
        ok = (m.bytes[i] = part_bytes(r, f, i, m.params)) != NULL;
    if (ok && !make_both(r, &m, at)) {
        r->result.lost = true;
        ok = false;
    }
    for (uint32_t i = 0; i < f->n_parts; i++)
        free(m.bytes[i]);
    free(m.bytes);
    cJSON_Delete(m.params);
    cJSON_Delete(request);
    cJSON_Delete(answer);
    return ok;
}

static bool run_session(replay *r, const frame *f)
{
    cJSON *json = cJSON_ParseWithOpts(f->body, NULL, true);
    bool ok = cJSON_IsNumber(member(json, "session"))
                  ? peers_join(&r->peers, f->connection, json)
                  : recording_refuse(r->from, f, "the session in this frame has no number");

    cJSON_Delete(json);
    return ok;
}

static bool run_frame(replay *r, const frame *f)
{
    if (f->kind == FRAME_CALL)
        return run_call(r, f);
    if (f->kind == FRAME_SESSION)
        return run_session(r, f);
    uint32_t session = peers_leave(&r->peers, f->connection);
    if (session != 0)
        handles_forget(&r->handles, session, TENSOR, NAN);
    return true;
}

bool replay_run(replay *r)
{
    bool ok = true;
    frame f;

    recording_rewind(r->from);
    r->peers.sides = r->sides;
    for (int side = 0; side < 2; side++)
        r->sides[side].places.recorded = r->from->devices;
    while (ok && recording_next(r->from, &f)) {
        ok = run_frame(r, &f);
        frame_free(&f);
        if (r->first_only && r->result.matters.op != NULL)
            break;
    }
    remove_names(r);
    return ok;
}

void replay_free(replay *r)
{
    peers_free(&r->peers);
    handles_free(&r->handles);
    result_free(&r->result);
    for (described *f = r->ops, *next; f != NULL; f = next) {
        next = f->next;
        free(f->op);
        cJSON_Delete(f->arguments);
        free(f);
    }
    r->ops = NULL;
}
