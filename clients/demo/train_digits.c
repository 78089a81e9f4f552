/* train_digits.c -- trains the network of digits.json on hand-written digits from C.
 *
 *     train_digits program|calls DATA [BATCHES]
 *
 * prints the loss of each batch.  DATA is the directory of the .safetensors files (tests/data), and
 * digits.json is the file at $DIGITS or clients/demo/digits.json.  With `program` each step of
 * training is one request; with `calls` each operator is one.  No request waits for the answer to
 * the one before it. */
#include <cjson/cJSON.h>
#include <dispatchd-client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    NAMES = 96,   /* most names of inputs and results in the program */
    CALLS = 32,   /* most steps of the program */
    RESULTS = 16, /* most tensors that one step returns */
    AHEAD = 500   /* answers that may wait while more requests are sent */
};

static dpc_client *client;
static dpc_error err;

/* a value of the program by its name: one tensor, or the tensors of a list */
static struct {
    const char *name;
    int64_t handles[RESULTS];
    size_t n;
    bool list;
} values[NAMES];
static size_t n_values;

/* End the program if a function of the library has failed. */
static void ok(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "train_digits: %s%s%s\n", err.type, *err.type ? ": " : "", err.message);
    exit(1);
}

static void die(const char *what, const char *name)
{
    fprintf(stderr, "train_digits: %s: %s\n", what, name);
    exit(1);
}

/* -- values by name -- */

static void put(const char *name, const int64_t *handles, size_t n, bool list)
{
    char *copy = strdup(name);

    if (copy == NULL || n_values == NAMES || n > RESULTS)
        die("too many values", name);
    values[n_values].name = copy;
    values[n_values].n = n;
    values[n_values].list = list;
    memcpy(values[n_values++].handles, handles, n * sizeof(*handles));
}

static size_t find(const char *name)
{
    for (size_t i = n_values;
         i-- > 0;) /* a later value of the same name replaces the earlier one */
        if (strcmp(values[i].name, name) == 0)
            return i;
    die("no value of this name", name);
    return 0;
}

/* -- files -- */

/* Read a file into memory that the daemon can read, too: *size bytes. */
static dpc_memory *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    dpc_memory *m;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        die("cannot be read", path);
    *size = (size_t)ftell(f);
    rewind(f);
    ok(dpc_memory_new(*size, &m, &err));
    if (fread(dpc_memory_data(m), 1, *size, f) != *size)
        die("cannot be read", path);
    fclose(f);
    return m;
}

/* Load the tensors of a safetensors file.  `prefix` is cut off from names that are
 * longer. */
static void load(const char *folder, const char *file, const char *prefix)
{
    char path[4096];
    size_t size;
    dpc_answer *a;

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    dpc_memory *m = read_file(path, &size);
    dpc_request *r = dpc_request_new("store.load");
    dpc_add_int(r, "fd", (int64_t)dpc_attach_memory(r, m));
    dpc_add_str(r, "prefix", prefix);
    ok(dpc_call(client, r, &a, &err));
    const dpc_value *t; /* a node of cJSON, as all of an answer */
    cJSON_ArrayForEach(t, dpc_value_member(dpc_answer_result(a), "tensors"))
    {
        int64_t handle;
        dpc_value_int(dpc_value_member(t, "tensor"), &handle);
        const char *rest = t->string + strlen(prefix);
        put(*rest ? rest : t->string, &handle, 1, false);
    }
    dpc_answer_free(a);
    dpc_request_free(r);
    dpc_memory_free(m);
}

/* -- calls -- */

/* Call an operator of one tensor and, if `dtype` or `by` is given, that argument; return the handle
 * of the result. */
static int64_t call(const char *op, int64_t tensor, const char *dtype, int by)
{
    dpc_request *r = dpc_op_new(op);
    dpc_answer *a;
    dpc_tensor t;

    dpc_add_tensor(r, NULL, tensor);
    if (dtype != NULL)
        dpc_add_str(r, "dtype", dtype);
    if (by != 0)
        dpc_add_int(r, NULL, by);
    ok(dpc_call(client, r, &a, &err));
    ok(dpc_value_tensor(a, dpc_answer_output(a, 0), &t, &err));
    dpc_answer_free(a);
    dpc_request_free(r);
    return t.handle;
}

/* Load the data and the initial weights, and make the momentum of each weight, which is 0. */
static void prepare(const char *folder)
{
    load(folder, "digits.safetensors", "");
    load(folder, "digits_training.safetensors", "batches");
    /* bytes from 0 to 16; the network takes numbers from 0 to 1 */
    int64_t *images = &values[find("images")].handles[0];
    *images = call("aten::_to_copy", *images, "float64", 0);
    *images = call("aten::div.Scalar", *images, NULL, 16);
    size_t first = n_values;
    load(folder, "digits_training.safetensors", "init.");
    for (size_t i = first, n = n_values; i < n; i++) {
        char name[64];
        if (strstr(values[i].name, ".running_") != NULL)
            continue; /* a buffer of batch_norm, which is not trained */
        int64_t momentum = call("aten::zeros_like", values[i].handles[0], NULL, 0);
        snprintf(name, sizeof(name), "%s.momentum", values[i].name);
        put(name, &momentum, 1, false);
        call("aten::requires_grad_", values[i].handles[0], NULL, 0);
    }
}

/* -- a step of training as one request -- */

static void submit_program(dpc_request *r, const cJSON *program, int k)
{
    const cJSON *input;

    dpc_request_reset(r);
    cJSON_ArrayForEach(input, cJSON_GetObjectItem(program, "inputs"))
    {
        const char *name = cJSON_GetObjectItem(input, "name")->valuestring;
        if (strcmp(name, "k") == 0)
            dpc_add_int(r, name, k);
        else
            dpc_add_tensor(r, name, values[find(name)].handles[0]);
    }
    dpc_set_return(r, DPC_RETURN_DATA);
    ok(dpc_submit(client, r, NULL, &err));
}

/* -- a step of training as calls -- */

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
        size_t i = find(ref->valuestring);
        if (values[i].list)
            dpc_add_tensors(r, name, values[i].handles, values[i].n);
        else
            dpc_add_tensor(r, name, values[i].handles[0]);
    } else if (cJSON_IsBool(v)) {
        dpc_add_bool(r, name, cJSON_IsTrue(v));
    } else if (v->valuedouble == (int)v->valuedouble) {
        dpc_add_int(r, name, (int)v->valuedouble);
    } else {
        dpc_add_float(r, name, v->valuedouble);
    }
}

/* Choose handles for what a step returns.  grad::gradients returns a list with a tensor for each of
 * its second argument, all others of the steps return one tensor. */
static void choose_handles(const cJSON *step)
{
    const cJSON *as = cJSON_GetArrayItem(cJSON_GetObjectItem(step, "as"), 0);
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
    const cJSON *as = cJSON_GetArrayItem(cJSON_GetObjectItem(step, "as"), 0), *v;
    char into[RESULTS * 24 + 8] = "[[", *at = into + 2;

    cJSON_ArrayForEach(v, cJSON_GetObjectItem(step, "args")) add(r, NULL, v, k);
    cJSON_ArrayForEach(v, cJSON_GetObjectItem(step, "kwargs")) add(r, v->string, v, k);
    if (as == NULL)
        return;
    size_t value = find(as->valuestring);
    if (!values[value].list) {
        dpc_set_into(r, values[value].handles, 1);
        return;
    }
    for (size_t i = 0; i < values[value].n; i++)
        at += sprintf(at, "%s%lld", i ? "," : "", (long long)values[value].handles[i]);
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
    size_t first = n_values;

    cJSON_ArrayForEach(step, steps)
    {
        if (n_calls == CALLS)
            die("too many steps", "digits.json");
        choose_handles(step);
        calls[n_calls] = dpc_op_new(cJSON_GetObjectItem(step, "op")->valuestring);
        build(calls[n_calls++], step, 0);
    }
    read_loss = dpc_request_new("tensor.read");
    dpc_add_int(read_loss, "tensor", values[find("loss")].handles[0]);
    release = dpc_request_new("tensor.release");
    dpc_begin_list(release, "tensors");
    for (size_t i = first; i < n_values; i++)
        for (size_t j = 0; j < values[i].n; j++)
            dpc_add_int(release, NULL, values[i].handles[j]);
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

/* -- training -- */

static void print_loss(bool as_program)
{
    dpc_answer *a;
    double loss;

    ok(dpc_receive(client, -1, &a, &err));
    ok(dpc_answer_error(a, &err));
    const dpc_value *t = as_program ? dpc_answer_output(a, 0) : dpc_answer_result(a);
    if (dpc_value_float(dpc_value_member(t, "data"), &loss) != 0)
        die("no number", "loss");
    printf("%.17g\n", loss);
    dpc_answer_free(a);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 3 || (strcmp(argv[1], "program") != 0 && strcmp(argv[1], "calls") != 0))
        return fprintf(stderr, "usage: train_digits program|calls DATA [BATCHES]\n"), 2;
    bool as_program = strcmp(argv[1], "program") == 0;
    const char *path = getenv("DIGITS") ? getenv("DIGITS") : "clients/demo/digits.json";
    int batches = argc > 3 ? atoi(argv[3]) : 66;
    size_t size;
    int64_t handle = 0;

    ok(dpc_connect(NULL, &client, &err));
    prepare(argv[2]);
    dpc_memory *text = read_file(path, &size);
    cJSON *program = cJSON_ParseWithLength(dpc_memory_data(text), size);
    if (program == NULL)
        die("no JSON", path);
    char *json = cJSON_PrintUnformatted(program);
    if (as_program)
        ok(dpc_program_create(client, json, &handle, &err));
    else
        build_calls(program);
    dpc_request *run = dpc_run_new(handle);
    double start = seconds();
    for (int k = 0; k < batches; k++) {
        as_program ? submit_program(run, program, k) : submit_calls(program, k);
        while (dpc_outstanding(client) >= AHEAD)
            print_loss(as_program);
    }
    while (dpc_outstanding(client) > 0)
        print_loss(as_program);
    fprintf(stderr, "%d steps in %.4f s\n", batches, seconds() - start);
    dpc_close(client); /* the session ends, and so do its tensors */
    for (size_t i = 0; i < n_calls; i++)
        dpc_request_free(calls[i]);
    dpc_request_free(read_loss);
    dpc_request_free(release);
    dpc_request_free(run);
    dpc_memory_free(text);
    cJSON_free(json);
    cJSON_Delete(program);
    return 0;
}
