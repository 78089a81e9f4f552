/* trial.c -- makes a call on a device of a daemon: sends the inputs, the call and the reads of what
 * it wrote in one go, and keeps what came back */
#include "conform.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answers to requests that were sent one behind the other. */
typedef struct flight {
    dpc_client *client;
    int answer_ms; /* within which the daemon has to answer */
    dpc_answer *answers[2 * CONFORM_TENSORS + 8];
    size_t sent, got;
    int rc; /* of the first request or answer that failed */
} flight;

static int deadline_of(const target *on)
{
    return on->deadline_ms > 0 ? on->deadline_ms : CONFORM_DEADLINE_MS;
}

/* The daemon answers at the deadline, if it can, and may be slow to. */
static flight flight_to(const target *on)
{
    return (flight){.client = on->c->client, .answer_ms = deadline_of(on) / 2 * 3 + 1000};
}

static void receive_one(flight *f)
{
    dpc_error err;

    f->rc = dpc_receive(f->client, f->answer_ms, &f->answers[f->got], &err);
    if (f->rc == 0)
        f->got++;
}

/* Send a request, and free it. */
static void launch(flight *f, dpc_request *r)
{
    dpc_error err;

    if (f->rc == 0)
        f->rc = dpc_submit(f->client, r, NULL, &err);
    while (f->rc == DPC_EFULL && f->got < f->sent) {
        receive_one(f);
        if (f->rc == 0)
            f->rc = dpc_submit(f->client, r, NULL, &err);
    }
    dpc_request_free(r);
    if (f->rc == 0)
        f->sent++;
}

/* -- requests -- */

static dpc_request *create(const input *in, const char *device, int64_t handle)
{
    dpc_request *r = need(dpc_request_new("tensor.create"));

    dpc_add_str(r, "dtype", dpc_dtype_name(in->dtype));
    dpc_add_ints(r, "shape", in->geometry.shape, (size_t)in->geometry.ndim);
    dpc_add_ints(r, "strides", in->geometry.strides, (size_t)in->geometry.ndim);
    dpc_add_int(r, "storage_offset", in->geometry.elements > 0 ? in->geometry.offset : 0);
    dpc_add_str(r, "device", in->on_cpu ? "cpu" : device);
    dpc_add_int(r, "attachment", (int64_t)dpc_attach(r, in->bytes, in->nbytes));
    dpc_set_into(r, &handle, 1);
    return r;
}

/* Write the handles and the device into an argument. */
static void name_handles(cJSON *value, const int64_t *handles, const char *device)
{
    for (cJSON *j = value->child, *next; j != NULL; j = next) {
        next = j->next;
        const cJSON *tensor = member(j, "tensor");
        if (cJSON_IsNumber(tensor)) {
            cJSON_SetNumberValue((cJSON *)tensor, (double)handles[(int)-tensor->valuedouble - 1]);
        } else if (cJSON_IsString(member(j, "device"))) {
            cJSON *named = need(cJSON_CreateString(device));
            if (value->type & cJSON_Array)
                cJSON_ReplaceItemViaPointer(value, j, named);
            else
                cJSON_ReplaceItemInObjectCaseSensitive(value, j->string, named);
        } else {
            name_handles(j, handles, device);
        }
    }
}

/* `how`: what is answered of the tensors that are returned. */
static dpc_request *call(const trial *t, const target *on, bool trace, const int64_t *handles,
                         const char *how)
{
    cJSON *params = params_new();

    params_text(params, "op", t->op);
    cJSON_AddItemToObject(params, "args", need(cJSON_Duplicate(t->args, true)));
    name_handles(cJSON_GetObjectItem(params, "args"), handles, on->device);
    if (t->kwargs != NULL) {
        cJSON_AddItemToObject(params, "kwargs", need(cJSON_Duplicate(t->kwargs, true)));
        name_handles(cJSON_GetObjectItem(params, "kwargs"), handles, on->device);
    }
    params_text(params, "return", how);
    cJSON_AddNumberToObject(params, "deadline_ms", deadline_of(on));
    params_bool(params, "trace", trace);
    params_bool(params, "timing", true);
    char *text = json_text(params);
    dpc_request *r = need(dpc_request_json("op.call", text));
    free(text);
    cJSON_Delete(params);
    return r;
}

/* Read a tensor, or (`whole`) all elements of its storage. */
static dpc_request *look(const input *in, const target *on, int64_t handle)
{
    int64_t stride = 1;
    dpc_request *r;

    if (in->whole && on->views && in->geometry.elements > 0) {
        r = need(dpc_op_new("aten::as_strided"));
        dpc_add_tensor(r, NULL, handle);
        dpc_add_ints(r, NULL, &in->geometry.elements, 1);
        dpc_add_ints(r, NULL, &stride, 1);
        dpc_add_int(r, NULL, 0);
        dpc_set_return(r, DPC_RETURN_BYTES);
        return r;
    }
    r = need(dpc_request_new("tensor.read"));
    dpc_add_int(r, "tensor", handle);
    dpc_add_str(r, "as", "attachment");
    return r;
}

static dpc_request *release(const int64_t *handles, size_t n)
{
    dpc_request *r = need(dpc_request_new("tensor.release"));

    dpc_add_ints(r, "tensors", handles, n);
    return r;
}

/* -- what came back -- */

void value_of_tensor(result_value *out, const dpc_tensor *t)
{
    out->is_tensor = true;
    out->dtype = t->dtype;
    out->geometry.ndim = t->ndim;
    memcpy(out->geometry.shape, t->shape, (size_t)t->ndim * sizeof(*t->shape));
    geometry_pack(&out->geometry);
    memcpy(out->device, t->device, sizeof(out->device));
    out->nbytes = t->data ? t->nbytes : 0;
    out->bytes = need(malloc(out->nbytes + 1));
    if (out->nbytes > 0)
        memcpy(out->bytes, t->data, out->nbytes);
}

static void keep_value(result_value *out, const dpc_answer *a, const dpc_value *v)
{
    dpc_tensor t;
    dpc_error err;

    memset(out, 0, sizeof(*out));
    if (dpc_value_kind(v) == DPC_KIND_TENSOR && dpc_value_tensor(a, v, &t, &err) == 0 &&
        t.ndim <= CONFORM_DIMS)
        value_of_tensor(out, &t);
    else
        out->text = v ? json_text(v) : text_printf("null");
}

/* Keep a result; a list of tensors is kept tensor by tensor. */
static void keep_result(outcome *out, const dpc_answer *a, const dpc_value *v)
{
    const dpc_value *first = dpc_value_at(v, 0);

    if (dpc_value_kind(v) == DPC_KIND_LIST && dpc_value_kind(first) == DPC_KIND_TENSOR) {
        for (size_t i = 0; i < dpc_value_len(v); i++)
            keep_result(out, a, dpc_value_at(v, i));
        return;
    }
    out->values = need(realloc(out->values, (out->n + 1) * sizeof(*out->values)));
    keep_value(&out->values[out->n++], a, v);
}

/* Keep the first error. */
static void keep_error(outcome *out, const dpc_answer *a)
{
    dpc_error err;

    if (out->state != STATE_DONE || dpc_answer_error(a, &err) == 0)
        return;
    out->state = strcmp(err.type, "DeadlineExceeded") == 0 ? STATE_HUNG : STATE_REFUSED;
    snprintf(out->type, sizeof(out->type), "%s", err.type);
    snprintf(out->message, sizeof(out->message), "%s", err.message);
}

/* Return the names of the operators in a trace that fell back, or NULL.  What ran behind the last
 * step of a trace that is cut may have fallen back: the call does not count as one that passed. */
static char *fallen(const cJSON *result)
{
    const cJSON *step;
    char *names = NULL;

    cJSON_ArrayForEach(step, member(result, "trace"))
    {
        const char *op = text_of(step, "op");
        if (member(step, "copied") == NULL || (names != NULL && strstr(names, op) != NULL))
            continue;
        char *longer = text_printf("%s%s%s", names ? names : "", names ? ", " : "", op);
        free(names);
        names = longer;
    }
    if (names == NULL && cJSON_IsTrue(member(result, "trace_cut")))
        names = text_printf("perhaps a kernel behind the last one of the trace");
    return names;
}

static void keep(outcome *out, const trial *t, dpc_answer *const *answers)
{
    const dpc_answer *called = answers[t->n];

    for (size_t i = 0; i <= t->n; i++)
        keep_error(out, answers[i]);
    for (size_t i = 0; out->state == STATE_DONE && i < dpc_answer_outputs(called); i++)
        keep_result(out, called, dpc_answer_output(called, i));
    const cJSON *result = dpc_answer_result(called);
    out->kernel_ns = result ? number_of(member(result, "timing"), "kernel") : 0;
    out->fell_back = result ? fallen(result) : NULL;
    out->after = need(calloc(t->n + 1, sizeof(*out->after)));
    for (; out->n_after < t->n; out->n_after++) {
        const dpc_answer *a = answers[t->n + 1 + out->n_after];
        const cJSON *v = dpc_answer_result(a);
        keep_value(&out->after[out->n_after], a,
                   dpc_answer_outputs(a) > 0 ? dpc_answer_output(a, 0) : v);
    }
}

void trial_run(const trial *t, const target *on, bool trace, outcome *out)
{
    int64_t handles[CONFORM_TENSORS];
    flight f = flight_to(on);

    *out = (outcome){.place = on->place};
    for (size_t i = 0; i < t->n; i++) {
        handles[i] = dpc_handle_new(f.client);
        launch(&f, create(&t->inputs[i], on->device, handles[i]));
    }
    launch(&f, call(t, on, trace, handles, "attachment"));
    for (size_t i = 0; i < t->n; i++)
        launch(&f, look(&t->inputs[i], on, handles[i]));
    if (t->n > 0)
        launch(&f, release(handles, t->n));
    while (f.got < f.sent && f.rc == 0)
        receive_one(&f);
    if (f.rc == 0) {
        keep(out, t, f.answers);
    } else if (f.rc == DPC_ETIMEOUT) { /* a short kernel runs where the daemon reads requests */
        out->state = STATE_STUCK;
        snprintf(out->message, sizeof(out->message), "the daemon answers nothing for %.1f s",
                 f.answer_ms / 1e3);
    } else {
        out->state = STATE_LOST;
    }
    for (size_t i = 0; i < f.got; i++)
        dpc_answer_free(f.answers[i]);
}

static void values_free(result_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(values[i].bytes);
        free(values[i].text);
    }
    free(values);
}

void outcome_free(outcome *o)
{
    values_free(o->values, o->n);
    values_free(o->after, o->n_after);
    free(o->fell_back);
    memset(o, 0, sizeof(*o));
}

/* -- times -- */

/* Read the only element of a tensor, and time it: a copy from a device waits for its work. */
static dpc_request *wait_for_device(int64_t handle)
{
    char *text = text_printf("{\"op\":\"aten::as_strided\",\"args\":[{\"tensor\":%lld},[1],[1],0],"
                             "\"return\":\"data\",\"timing\":true}",
                             (long long)handle);
    dpc_request *r = need(dpc_request_json("op.call", text));

    free(text);
    return r;
}

static double stage(const dpc_answer *a, const char *name)
{
    return number_of(member(dpc_answer_result(a), "timing"), name);
}

/* Return how long a request ran and was answered, from the end of the one before; 0: it failed. */
static double time_run(const dpc_answer *a)
{
    dpc_error err;

    if (dpc_answer_error(a, &err) != 0)
        return 0;
    return stage(a, "total") - stage(a, "queue") - stage(a, "parse");
}

/* Release the tensors in a value, but not those among `inputs` [n], which the call wrote. */
static void release_value(const target *on, const dpc_answer *a, const dpc_value *v,
                          const int64_t *inputs, size_t n)
{
    dpc_tensor t;
    dpc_error err;
    bool mine = false;

    for (size_t i = 0; dpc_value_kind(v) == DPC_KIND_LIST && i < dpc_value_len(v); i++)
        release_value(on, a, dpc_value_at(v, i), inputs, n);
    if (dpc_value_kind(v) != DPC_KIND_TENSOR || dpc_value_tensor(a, v, &t, &err) != 0)
        return;
    for (size_t i = 0; i < n; i++)
        mine = mine || inputs[i] == t.handle;
    if (!mine && t.handle != 0)
        dpc_tensor_release(on->c->client, &t.handle, 1, &err);
}

bool trial_time(const trial *t, const target *on, trial_times *out)
{
    float zero = 0;
    input probe = {.geometry = {.ndim = 1, .shape = {1}},
                   .dtype = DPC_FLOAT32,
                   .bytes = &zero,
                   .nbytes = sizeof(zero)};
    int64_t handles[CONFORM_TENSORS + 1];
    flight f = flight_to(on);
    size_t called = t->n + 2;
    dpc_error err;

    geometry_pack(&probe.geometry);
    for (size_t i = 0; i <= t->n; i++) {
        handles[i] = dpc_handle_new(f.client);
        launch(&f, create(i < t->n ? &t->inputs[i] : &probe, on->device, handles[i]));
    }
    launch(&f, wait_for_device(handles[t->n])); /* until the inputs are there */
    launch(&f, call(t, on, false, handles, "handle"));
    launch(&f, wait_for_device(handles[t->n]));
    launch(&f, wait_for_device(handles[t->n]));
    while (f.got < f.sent && f.rc == 0)
        receive_one(&f);
    bool ok = f.rc == 0;
    for (size_t i = 0; i <= called && ok; i++)
        ok = i == called - 1 || dpc_answer_error(f.answers[i], &err) == 0;
    if (ok) {
        const dpc_answer *a = f.answers[called];
        *out = (trial_times){stage(a, "kernel"), time_run(f.answers[called + 1]),
                             time_run(f.answers[called + 2])};
        for (size_t i = 0; i < dpc_answer_outputs(a); i++)
            release_value(on, a, dpc_answer_output(a, i), handles, t->n);
    }
    if (f.rc == 0)
        dpc_tensor_release(f.client, handles, t->n + 1, &err);
    for (size_t i = 0; i < f.got; i++)
        dpc_answer_free(f.answers[i]);
    return ok;
}

/* -- views -- */

static bool read_handle(cli *c, dpc_request *r, dpc_tensor *t, dpc_error *err)
{
    dpc_answer *a;
    bool ok = dpc_call(c->client, r, &a, err) == 0;

    dpc_request_free(r);
    if (!ok)
        return false;
    const dpc_value *v = dpc_answer_outputs(a) > 0 ? dpc_answer_output(a, 0) : dpc_answer_result(a);
    ok = dpc_value_tensor(a, v, t, err) == 0;
    dpc_answer_free(a);
    return ok;
}

/* Say why no tensor can be made on the device, and where a device that is not there comes from. */
static void print_no_device(const target *t, const dpc_error *err)
{
    fprintf(stderr, "dispatchctl: device %s: %s\n", t->device, err->message);
    if (strncmp(err->message, "no device '", 11) != 0 &&
        strstr(err->message, " has no device in this process") == NULL)
        return;
    fprintf(stderr, "dispatchctl: %s\n",
            t->mine ? "the file of --plugin does not bring this device"
                    : "a plugin brings a device: 'dispatchctl plugin load ./FILE.so', or "
                      "'dispatchctl conform --plugin FILE.so', with a daemon of its own");
}

bool target_probe(target *t)
{
    input in = {.geometry = {.ndim = 1, .shape = {4}}, .dtype = DPC_FLOAT32};
    float bytes[4] = {0};
    int64_t handles[2] = {dpc_handle_new(t->c->client), dpc_handle_new(t->c->client)}, size = 2,
            stride = 1;
    dpc_tensor made, view;
    dpc_error err;

    geometry_pack(&in.geometry);
    in.bytes = bytes;
    in.nbytes = sizeof(bytes);
    if (!read_handle(t->c, create(&in, t->device, handles[0]), &made, &err)) {
        print_no_device(t, &err);
        return false;
    }
    memcpy(t->place, made.device, sizeof(t->place));
    dpc_request *r = need(dpc_op_new("aten::as_strided"));
    dpc_add_tensor(r, NULL, handles[0]);
    dpc_add_ints(r, NULL, &size, 1);
    dpc_add_ints(r, NULL, &stride, 1);
    dpc_add_int(r, NULL, 0);
    dpc_set_into(r, &handles[1], 1);
    t->views = read_handle(t->c, r, &view, &err) && view.storage == made.storage;
    dpc_tensor_release(t->c->client, handles, 2, &err);
    return true;
}

/* -- the call as text -- */

static char *joined(char *text, const char *separator, const char *name, char *value)
{
    char *longer = text_printf("%s%s%s%s%s", text, separator, name, *name ? "=" : "", value);

    free(text);
    free(value);
    return longer;
}

static char *argument_text(const trial *t, const cJSON *j)
{
    const cJSON *tensor = member(j, "tensor"), *device = member(j, "device");
    const char *separator = "";

    if (cJSON_IsNumber(tensor)) {
        const input *in = &t->inputs[(int)-tensor->valuedouble - 1];
        char *text = text_printf("%s[", dpc_dtype_name(in->dtype));
        for (int d = 0; d < in->geometry.ndim; d++)
            text = joined(text, d > 0 ? ", " : "", "",
                          text_printf("%lld", (long long)in->geometry.shape[d]));
        return joined(text, "", "", text_printf("]"));
    }
    if (cJSON_IsObject(j) && device == NULL && j->child != NULL)
        return json_text(j->child); /* {"float": 1.5} */
    if (!cJSON_IsArray(j))
        return device ? text_printf("device") : json_text(j);
    char *text = text_printf("[");
    for (j = j->child; j != NULL; j = j->next, separator = ", ")
        text = joined(text, separator, "", argument_text(t, j));
    return joined(text, "", "", text_printf("]"));
}

char *trial_text(const trial *t)
{
    char *text = text_printf("%s(", t->op);
    const char *separator = "";

    for (const cJSON *j = t->args->child; j != NULL; j = j->next, separator = ", ")
        text = joined(text, separator, "", argument_text(t, j));
    for (const cJSON *j = t->kwargs ? t->kwargs->child : NULL; j != NULL;
         j = j->next, separator = ", ")
        text = joined(text, separator, j->string, argument_text(t, j));
    return joined(text, "), ", "", text_printf("%s", form_names[t->form]));
}

char *trial_json(const trial *t)
{
    cJSON *line = params_new(), *tensors = need(cJSON_CreateArray());

    params_text(line, "op", t->op);
    for (size_t i = 0; i < t->n; i++) {
        const input *in = &t->inputs[i];
        cJSON *j = params_new(), *shape = need(cJSON_CreateArray());
        for (int d = 0; d < in->geometry.ndim; d++)
            cJSON_AddItemToArray(shape, need(cJSON_CreateNumber((double)in->geometry.shape[d])));
        params_text(j, "dtype", dpc_dtype_name(in->dtype));
        cJSON_AddItemToObject(j, "shape", shape);
        cJSON_AddItemToArray(tensors, j);
    }
    cJSON_AddItemToObject(line, "tensors", tensors);
    cJSON_AddItemToObject(line, "args", need(cJSON_Duplicate(t->args, true)));
    cJSON_AddItemToObject(line, "kwargs",
                          t->kwargs ? need(cJSON_Duplicate(t->kwargs, true)) : params_new());
    char *text = json_text(line);
    cJSON_Delete(line);
    return text;
}
