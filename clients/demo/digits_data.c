/* digits_data.c -- loads the data of digits.json into the daemon, for train_digits.c and
 * train_digits_calls.c. */
#include "digits_data.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

dpc_client *client;
dpc_error err;

static double started;

void ok(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s%s%s\n", err.type, *err.type ? ": " : "", err.message);
    exit(1);
}

void die(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", what, name);
    exit(1);
}

/* -- values by name -- */

static value values[NAMES];
static size_t n_values;

void put(const char *name, const int64_t *handles, size_t n, bool list)
{
    char *copy = strdup(name);

    if (copy == NULL || n_values == NAMES || n > RESULTS)
        die("too many values", name);
    values[n_values].name = copy;
    values[n_values].n = n;
    values[n_values].list = list;
    memcpy(values[n_values++].handles, handles, n * sizeof(*handles));
}

value *find(const char *name)
{
    for (size_t i = n_values;
         i-- > 0;) /* a later value of the same name replaces the earlier one */
        if (strcmp(values[i].name, name) == 0)
            return &values[i];
    die("no value of this name", name);
    return NULL;
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
    int64_t *images = &find("images")->handles[0];
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

/* -- training -- */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

cJSON *begin(int argc, char **argv, int *batches)
{
    const char *path = getenv("DIGITS") ? getenv("DIGITS") : "clients/demo/digits.json";
    size_t size;

    if (argc < 2)
        die("usage", "DATA [BATCHES]");
    *batches = argc > 2 ? atoi(argv[2]) : 66;
    ok(dpc_connect(NULL, &client, &err));
    prepare(argv[1]);
    dpc_memory *text = read_file(path, &size);
    cJSON *program = cJSON_ParseWithLength(dpc_memory_data(text), size);
    if (program == NULL)
        die("no JSON", path);
    dpc_memory_free(text);
    started = seconds();
    return program;
}

void print_losses(size_t left)
{
    dpc_answer *a;
    double loss;

    while (dpc_outstanding(client) > left) {
        ok(dpc_receive(client, -1, &a, &err));
        ok(dpc_answer_error(a, &err));
        /* the answer of program.run has outputs, that of tensor.read is the tensor itself */
        const dpc_value *t = dpc_answer_outputs(a) ? dpc_answer_output(a, 0) : dpc_answer_result(a);
        if (dpc_value_float(dpc_value_member(t, "data"), &loss) != 0)
            die("no number", "loss");
        printf("%.17g\n", loss);
        dpc_answer_free(a);
    }
}

void end(cJSON *program, int batches)
{
    print_losses(0);
    fprintf(stderr, "%d steps in %.4f s\n", batches, seconds() - started);
    dpc_close(client); /* the session ends, and so do its tensors */
    cJSON_Delete(program);
}
