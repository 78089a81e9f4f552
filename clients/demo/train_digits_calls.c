/* train_digits_calls.c -- does what train_digits.c does with one request for each operator.
 *
 * The steps of digits.json are sent as calls.  This program chooses the handles of their results,
 * so it can send a call that uses a result before that exists. */
#include "digits_data.h"
#include <stdio.h>
#include <string.h>

enum { CALLS = 32 }; /* most steps of the program */

/* Add an argument of a step to a request; a name is replaced by its tensors. */
static void add(dpc_request *r, const char *name, const cJSON *v, int k)
{
    const cJSON *ref = cJSON_GetObjectItem(v, "ref"), *item;

    if (cJSON_IsArray(v)) {
        dpc_begin_list(r, name);
        cJSON_ArrayForEach(item, v) add(r, NULL, item, k);
        dpc_end(r);
    } else if (ref != NULL && strcmp(ref->valuestring, "k") == 0) {
        dpc_add_int(r, name, k);
    } else if (ref != NULL) {
        const value *of = find(ref->valuestring);
        if (of->list)
            dpc_add_tensors(r, name, of->handles, of->n);
        else
            dpc_add_tensor(r, name, of->handles[0]);
    } else if (cJSON_IsBool(v)) {
        dpc_add_bool(r, name, cJSON_IsTrue(v));
    } else if (v->valuedouble == (int)v->valuedouble) {
        dpc_add_int(r, name, (int)v->valuedouble);
    } else {
        dpc_add_float(r, name, v->valuedouble);
    }
}

/* Return the name of what a step returns; NULL: it returns nothing. */
static const cJSON *result_of(const cJSON *step)
{
    return cJSON_GetArrayItem(cJSON_GetObjectItem(step, "as"), 0);
}

/* Choose handles for what a step returns.  grad::gradients returns a list with a tensor for each of
 * its second argument, all others of the steps return one tensor. */
static void choose_handles(const cJSON *step)
{
    const cJSON *as = result_of(step);
    bool list = strcmp(cJSON_GetObjectItem(step, "op")->valuestring, "grad::gradients") == 0;
    int64_t handles[RESULTS];
    size_t n = 1;

    if (as == NULL)
        return;
    if (list)
        n = (size_t)cJSON_GetArraySize(cJSON_GetArrayItem(cJSON_GetObjectItem(step, "args"), 1));
    for (size_t i = 0; i < n && i < RESULTS; i++)
        handles[i] = dpc_handle_new(client);
    put(as->valuestring, handles, n, list);
}

/* Build the request of a step. */
static void build(dpc_request *r, const cJSON *step, int k)
{
    const cJSON *as = result_of(step), *v;
    char into[RESULTS * 24 + 8] = "[[", *at = into + 2;

    cJSON_ArrayForEach(v, cJSON_GetObjectItem(step, "args")) add(r, NULL, v, k);
    cJSON_ArrayForEach(v, cJSON_GetObjectItem(step, "kwargs")) add(r, v->string, v, k);
    if (as == NULL)
        return;
    const value *of = find(as->valuestring);
    if (!of->list) {
        dpc_set_into(r, of->handles, 1);
        return;
    }
    for (size_t i = 0; i < of->n; i++)
        at += sprintf(at, "%s%lld", i ? "," : "", (long long)of->handles[i]);
    strcpy(at, "]]");
    dpc_set_json(r, "into", into);
}

static dpc_request *calls[CALLS], *read_loss, *release;
static size_t n_calls;

/* Build the requests of all steps once: a step of training sends all of them again, with the same
 * handles, which are free again after the release. */
static void build_calls(const cJSON *program)
{
    const cJSON *steps = cJSON_GetObjectItem(program, "steps"), *step;

    cJSON_ArrayForEach(step, steps)
    {
        if (n_calls == CALLS)
            die("too many steps", "digits.json");
        choose_handles(step);
        calls[n_calls] = dpc_op_new(cJSON_GetObjectItem(step, "op")->valuestring);
        build(calls[n_calls++], step, 0);
    }
    read_loss = dpc_request_new("tensor.read");
    dpc_add_int(read_loss, "tensor", find("loss")->handles[0]);
    release = dpc_request_new("tensor.release");
    dpc_begin_list(release, "tensors");
    cJSON_ArrayForEach(step, steps)
    {
        const cJSON *as = result_of(step);
        const value *of = as != NULL ? find(as->valuestring) : NULL;
        for (size_t i = 0; of != NULL && i < of->n; i++)
            dpc_add_int(release, NULL, of->handles[i]);
    }
    dpc_end(release);
}

/* Send a step of training.  Calls are notifications, which are not answered: if one fails, its
 * result does not exist, and reading the loss answers that error. */
static void submit_calls(const cJSON *program, int k)
{
    dpc_request_reset(calls[0]); /* only this step has `k` among its arguments */
    build(calls[0], cJSON_GetArrayItem(cJSON_GetObjectItem(program, "steps"), 0), k);
    for (size_t i = 0; i < n_calls; i++)
        ok(dpc_notify(client, calls[i], &err));
    ok(dpc_submit(client, read_loss, NULL, &err));
    ok(dpc_notify(client, release, &err));
}

int main(int argc, char **argv)
{
    int batches;
    cJSON *program = begin(argc, argv, &batches);

    build_calls(program);
    for (int k = 0; k < batches; k++) {
        submit_calls(program, k);
        print_losses(AHEAD);
    }
    end(program, batches);
    for (size_t i = 0; i < n_calls; i++)
        dpc_request_free(calls[i]);
    dpc_request_free(read_loss);
    dpc_request_free(release);
    return 0;
}
