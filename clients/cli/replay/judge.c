/* judge.c -- compares what both sides made of a request, and makes equal what differs, so that each
 * call is judged by itself */
#include "replay.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- reading -- */

static double handle_of(const cJSON *node)
{
    const cJSON *handle = member(node, "tensor");

    return cJSON_IsNumber(handle) ? handle->valuedouble : NAN;
}

/* Can a handle be this number, which may be from a damaged file? */
static bool is_handle(double x)
{
    return fabs(x) <= 0x1p53; /* false for NAN */
}

static bool read_geometry(const cJSON *node, geometry *g)
{
    const cJSON *shape = member(node, "shape"), *strides = member(node, "strides"), *size;

    memset(g, 0, sizeof(*g));
    if (cJSON_GetArraySize(shape) > CONFORM_DIMS)
        return false;
    cJSON_ArrayForEach(size, shape)
    {
        const cJSON *stride = cJSON_GetArrayItem(strides, g->ndim);
        g->shape[g->ndim] = (int64_t)size->valuedouble;
        g->strides[g->ndim++] = stride ? (int64_t)stride->valuedouble : 0;
    }
    return true;
}

/* Read a tensor.  What cannot be read, because it has no memory or is made of others, is a value of
 * its dtype and shape. */
static void read_tensor(dpc_client *c, double handle, const cJSON *node, result_value *out)
{
    dpc_answer *hold = NULL;
    dpc_error err;
    dpc_tensor t;

    memset(out, 0, sizeof(*out));
    bool known = is_handle(handle) && (node == NULL || read_geometry(node, &out->geometry)) &&
                 dpc_tensor_read(c, (int64_t)handle, DPC_COPY, &t, &hold, &err) == 0 &&
                 t.ndim <= CONFORM_DIMS;
    if (known) {
        value_of_tensor(out, &t);
    } else {
        char *shape = member(node, "shape") ? json_text(member(node, "shape")) : text_printf("?");
        out->text = text_printf("%s%s", text_of(node, "dtype"), shape);
        free(shape);
    }
    dpc_answer_free(hold);
}

static result_value *add_value(outcome *o)
{
    o->values = need(realloc(o->values, (o->n + 1) * sizeof(*o->values)));
    memset(&o->values[o->n], 0, sizeof(*o->values));
    return &o->values[o->n++];
}

/* Add the values in `j` that are no tensors, each number by itself. */
static void add_others(outcome *o, const cJSON *j)
{
    const cJSON *inner;

    if (cJSON_IsObject(j) && (member(j, "dtype") != NULL || member(j, "object") != NULL))
        return;
    if (cJSON_IsObject(j) || cJSON_IsArray(j)) {
        cJSON_ArrayForEach(inner, j) add_others(o, inner);
        return;
    }
    add_value(o)->text = cJSON_IsString(j) ? text_printf("%s", j->valuestring) : json_text(j);
}

void keep(outcome *o, dpc_client *aside, const dpc_answer *a, const cJSON *nodes)
{
    const cJSON *node;
    dpc_error err;

    memset(o, 0, sizeof(*o));
    if (a == NULL) {
        o->state = STATE_LOST;
        return;
    }
    if (dpc_answer_error(a, &err) != 0) {
        o->state = strcmp(err.type, "DeadlineExceeded") == 0 ? STATE_HUNG : STATE_REFUSED;
        snprintf(o->type, sizeof(o->type), "%s", err.type);
        snprintf(o->message, sizeof(o->message), "%s", err.message);
        return;
    }
    cJSON_ArrayForEach(node, nodes) read_tensor(aside, handle_of(node), node, add_value(o));
    add_others(o, member(dpc_answer_result(a), "outputs"));
}

/* Read the tensors that an operator has written without answering them. */
static void keep_written(outcome *o, const replay *r, const judged *j, int side)
{
    const cJSON *handle;
    int n = cJSON_GetArraySize(j->written);

    if (o->state == STATE_LOST || n == 0 || n > CONFORM_TENSORS)
        return;
    o->after = need(calloc((size_t)n, sizeof(*o->after)));
    cJSON_ArrayForEach(handle, j->written)
    {
        const entry *e = handles_find(&r->handles, j->of->number, TENSOR, handle->valuedouble);
        read_tensor(j->of->aside[side], e ? e->at[side] : handle->valuedouble, NULL,
                    &o->after[o->n_after++]);
    }
}

/* -- making equal -- */

static bool same_bits(const result_value *a, const result_value *b)
{
    if (!a->is_tensor || !b->is_tensor)
        return a->is_tensor == b->is_tensor && strcmp(a->text, b->text) == 0;
    return a->dtype == b->dtype && a->geometry.ndim == b->geometry.ndim && a->nbytes == b->nbytes &&
           memcmp(a->geometry.shape, b->geometry.shape,
                  (size_t)a->geometry.ndim * sizeof(*a->geometry.shape)) == 0 &&
           (a->nbytes == 0 || memcmp(a->bytes, b->bytes, a->nbytes) == 0);
}

static bool all_same(const outcome *a, const outcome *b)
{
    bool same = a->state == b->state && a->n == b->n && a->n_after == b->n_after;

    for (size_t i = 0; same && i < a->n; i++)
        same = same_bits(&a->values[i], &b->values[i]);
    for (size_t i = 0; same && i < a->n_after; i++)
        same = same_bits(&a->after[i], &b->after[i]);
    return same && strcmp(a->type, b->type) == 0;
}

static bool succeeds(dpc_client *c, dpc_request *r, dpc_answer **out)
{
    dpc_error err;
    bool ok = dpc_call(c, r, out, &err) == 0;

    dpc_request_free(r);
    return ok;
}

static bool reads_as(dpc_client *c, double handle, const result_value *want)
{
    result_value now;

    read_tensor(c, handle, NULL, &now);
    bool same = same_bits(want, &now);
    free(now.bytes);
    free(now.text);
    return same;
}

/* Write a value into a tensor. */
static bool copy_into(dpc_client *c, double handle, const result_value *value)
{
    dpc_request *r = need(dpc_op_new("aten::copy_"));
    dpc_answer *a = NULL;

    dpc_add_tensor(r, NULL, (int64_t)handle);
    dpc_add_data(r, NULL, value->dtype, value->geometry.shape, (size_t)value->geometry.ndim,
                 value->bytes);
    dpc_set_json(r, "grad_enabled", "false");
    if (!succeeds(c, r, &a))
        return false;
    dpc_answer_free(a);
    return reads_as(c, handle, value);
}

/* Return the elements of a packed value where strides put them, owned. */
static char *spread(const result_value *value, geometry *g)
{
    size_t size = dpc_dtype_size(value->dtype);
    int64_t n = geometry_count(g);

    g->offset = 0;
    geometry_fit(g);
    char *to = need(calloc((size_t)g->elements + 1, size));
    for (int64_t i = 0; i < n; i++)
        memcpy(to + (size_t)geometry_at(g, i) * size, (char *)value->bytes + (size_t)i * size,
               size);
    return to;
}

/* Make a tensor with a value and the strides of `like` on a device.  Returns its handle; NAN: that
 * failed. */
static double create(dpc_client *c, const result_value *value, const cJSON *like,
                     const char *device)
{
    geometry g = value->geometry;
    dpc_request *r = need(dpc_request_new("tensor.create"));
    dpc_answer *a = NULL;

    if (like == NULL || !read_geometry(like, &g) || g.ndim != value->geometry.ndim)
        g = value->geometry;
    char *bytes = spread(value, &g);
    dpc_add_str(r, "dtype", dpc_dtype_name(value->dtype));
    dpc_add_ints(r, "shape", g.shape, (size_t)g.ndim);
    dpc_add_ints(r, "strides", g.strides, (size_t)g.ndim);
    dpc_add_str(r, "device", device);
    dpc_add_int(r, "attachment",
                (int64_t)dpc_attach(r, bytes, (size_t)g.elements * dpc_dtype_size(value->dtype)));
    bool ok = succeeds(c, r, &a);
    free(bytes);
    if (!ok)
        return NAN;
    double handle = handle_of(dpc_answer_result(a));
    dpc_answer_free(a);
    return reads_as(c, handle, value) ? handle : NAN;
}

/* Give the tensor with recorded handle `recorded` on side `to` the value that it has on the other
 * side.  `there`: its handle on `to`; NAN: none.  `like` describes it on the other side. */
static void mend(replay *r, judged *j, int to, double recorded, double there,
                 const result_value *value, const cJSON *like)
{
    entry *e = handles_bind(&r->handles, j->of->number, TENSOR, recorded);
    dpc_client *c = j->of->aside[to];
    const char *device = like && *text_of(like, "device") ? text_of(like, "device") : "cpu";
    bool done = value->is_tensor && is_handle(there) && copy_into(c, there, value);

    if (!done && value->is_tensor) {
        int64_t old = is_handle(recorded) ? (int64_t)recorded : 0;
        dpc_error err;
        if (isnan(there) && old < 0)
            dpc_tensor_release(c, &old, 1, &err); /* it has failed, and would be in the way */
        double made = create(c, value, like, place_of(&r->sides[to].places, device));
        done = isfinite(made);
        if (done)
            e->at[to] = made;
    }
    e->tainted = !done;
    if (like != NULL && cJSON_IsTrue(member(like, "requires_grad")))
        j->of->grads_lost = true;
}

/* -- handles -- */

/* Append the handles that a request has chosen, as the answer would name them. */
static void flatten_into(cJSON *list, const cJSON *into)
{
    const cJSON *j;

    if (cJSON_IsNumber(into)) {
        cJSON *node = params_new();
        cJSON_AddNumberToObject(node, "tensor", into->valuedouble);
        cJSON_AddItemToArray(list, node);
    }
    if (cJSON_IsArray(into))
        cJSON_ArrayForEach(j, into) flatten_into(list, j);
}

static void bind_others(replay *r, const judged *j)
{
    for (int of = PROGRAM; of < N_THINGS; of++) {
        cJSON *lists[3] = {need(cJSON_CreateArray()), need(cJSON_CreateArray()),
                           need(cJSON_CreateArray())};
        collect(lists[2], member(j->answer, "result"), (thing)of);
        for (int side = 0; side < 2; side++)
            if (j->answers[side] != NULL)
                collect(lists[side], dpc_answer_result(j->answers[side]), (thing)of);
        for (int i = 0; i < cJSON_GetArraySize(lists[2]); i++) {
            double recorded = number_of(cJSON_GetArrayItem(lists[2], i), thing_names[of]);
            entry *e = handles_bind(&r->handles, j->of->number, (thing)of, recorded);
            for (int side = 0; side < 2; side++)
                e->at[side] = number_of(cJSON_GetArrayItem(lists[side], i), thing_names[of]);
        }
        for (int i = 0; i < 3; i++)
            cJSON_Delete(lists[i]);
    }
}

/* Bind the tensors that both sides have, make equal those that differ, and release those that the
 * recorded client did not keep. */
static void settle(replay *r, judged *j, const outcome o[2], const cJSON *const nodes[3],
                   bool keep_close)
{
    int n = cJSON_GetArraySize(nodes[WANT]), n_got = cJSON_GetArraySize(nodes[GOT]);

    for (int i = 0; i < (n > n_got ? n : n_got); i++) {
        const cJSON *node[2] = {cJSON_GetArrayItem(nodes[WANT], i),
                                cJSON_GetArrayItem(nodes[GOT], i)};
        double recorded = handle_of(cJSON_GetArrayItem(nodes[2], i));
        const entry *old = handles_find(&r->handles, j->of->number, TENSOR, recorded);
        double before[2] = {old ? old->at[WANT] : NAN, old ? old->at[GOT] : NAN};
        for (int side = 0; side < 2; side++) {
            int64_t handle = node[side] ? (int64_t)handle_of(node[side]) : 0;
            dpc_error err;
            if (isnan(recorded) && node[side] != NULL)
                dpc_tensor_release(j->of->aside[side], &handle, 1, &err);
            else if (node[side] != NULL)
                handles_bind(&r->handles, j->of->number, TENSOR, recorded)->at[side] =
                    (double)handle;
        }
        if (isnan(recorded))
            continue;
        int to = node[WANT] ? GOT : WANT;
        double there = node[to] ? handle_of(node[to]) : before[to];
        bool grad = cJSON_IsTrue(member(node[!to], "requires_grad"));
        if (node[to] == NULL ||
            (!same_bits(&o[WANT].values[i], &o[GOT].values[i]) && !(grad && keep_close)))
            mend(r, j, to, recorded, there, &o[!to].values[i], node[!to]);
        else if (old != NULL)
            handles_bind(&r->handles, j->of->number, TENSOR, recorded)->tainted = false;
    }
}

static void settle_written(replay *r, judged *j, const outcome o[2])
{
    const cJSON *handle;
    size_t i = 0;

    cJSON_ArrayForEach(handle, j->written)
    {
        if (i >= o[WANT].n_after || i >= o[GOT].n_after)
            return;
        const entry *e = handles_find(&r->handles, j->of->number, TENSOR, handle->valuedouble);
        if (!same_bits(&o[WANT].after[i], &o[GOT].after[i]))
            mend(r, j, GOT, handle->valuedouble, e ? e->at[GOT] : handle->valuedouble,
                 &o[WANT].after[i], NULL);
        i++;
    }
}

/* -- the verdict -- */

/* Return how the first values differ that are not the same bits, owned. */
static char *small_difference(const outcome o[2])
{
    for (size_t i = 0; i < o[WANT].n && i < o[GOT].n; i++)
        if (!same_bits(&o[WANT].values[i], &o[GOT].values[i]))
            return text_printf("output %zu is not the same bits, but within the tolerance", i);
    return text_printf("an argument is not the same bits after the call, but within the tolerance");
}

/* Has an outcome a tensor that could not be read? */
static bool unread(const outcome *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (!o->values[i].is_tensor && strchr(o->values[i].text, '[') != NULL)
            return true;
    return false;
}

static void count(replay *r, judged *j, const outcome o[2], verdict v, char *why, bool same)
{
    bool faulty = v != VERDICT_PASS && v != VERDICT_FELL_BACK;
    bool behind = faulty && (j->tainted || (j->of_gradients && j->of->grads_lost));

    r->result.calls++;
    r->result.unread += unread(&o[WANT]) && unread(&o[GOT]);
    result_call(&r->result, j->op, faulty && !behind);
    r->result.same += same;
    r->result.close += !same && !faulty;
    r->result.faults += faulty && !behind;
    r->result.behind += behind;
    if (!same && !faulty && !draws_values(j->op))
        result_fault(&r->result.first, j->op, r->number, v, j->call, small_difference(o));
    if (faulty && !behind) {
        result_fault(&r->result.first, j->op, r->number, v, j->call, text_printf("%s", why));
        result_fault(&r->result.matters, j->op, r->number, v, j->call, text_printf("%s", why));
    }
    j->faulty = faulty && !behind;
    free(why);
}

bool judge(replay *r, judged *j)
{
    static trial about; /* large, and all zero but for the operator */
    cJSON *nodes[3] = {need(cJSON_CreateArray()), need(cJSON_CreateArray()),
                       need(cJSON_CreateArray())};
    outcome o[2];
    char *why = NULL;

    for (int side = 0; side < 2; side++)
        if (j->answers[side] != NULL)
            collect(nodes[side], dpc_answer_result(j->answers[side]), TENSOR);
    if (member(j->answer, "result") != NULL)
        collect(nodes[2], member(j->answer, "result"), TENSOR);
    else
        flatten_into(nodes[2], j->into);
    for (int side = 0; side < 2; side++) {
        keep(&o[side], j->of->aside[side], j->answers[side], nodes[side]);
        keep_written(&o[side], r, j, side);
    }
    about.op = j->op;
    verdict v = compare(&about, &o[WANT], &o[GOT], &why);
    bool same = all_same(&o[WANT], &o[GOT]),
         lost = o[WANT].state == STATE_LOST || o[GOT].state == STATE_LOST;
    if (o[WANT].state == STATE_REFUSED && o[GOT].state == STATE_REFUSED && !j->refused)
        result_skip(&r->result, r->number, j->op, o[WANT].message);
    else
        count(r, j, o, v, why, same);
    if (!lost) {
        settle(r, j, o, (const cJSON *const *)nodes, v == VERDICT_PASS);
        settle_written(r, j, o);
        bind_others(r, j);
    }
    for (int i = 0; i < 3; i++)
        cJSON_Delete(nodes[i]);
    outcome_free(&o[WANT]);
    outcome_free(&o[GOT]);
    return !lost;
}
