/* tensor.c -- what tensors and one-element operators cost in process.  Prints one JSON object: ns a
 * call, the least of 101 rounds.  make: a tensor of one element, made and dropped; view: another
 * geometry over it; iter: an iterator over three given operands set up, and its loop run; fresh:
 * the same with an output that is made and dropped; column: of [64,8] and [64,1], which are not
 * alike; sum: a reduction of 64.  With a folder of plugins as its argument also add, add_out, relu
 * and select of aten. */
#include <dispatchd/dispatch.h>
#include <dispatchd/iter.h>
#include <dispatchd/typed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 20000, ROUNDS = 101 };

typedef struct bench {
    dp_ctx *ctx;
    dp_tensor *a, *b, *out, *wide, *column, *row;
    dp_typed add, add_out, relu, select;
    dp_error err;
} bench;

static void need(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s failed: %d\n", what, rc);
    exit(1);
}

static dp_tensor *made(bench *x, int ndim, const int64_t *sizes)
{
    dp_tensor *t = NULL;
    need(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, ndim, sizes, NULL, &t, &x->err), "dp_tensor_new");
    DP_VIEW(v, t);
    for (int64_t i = 0; i < v.numel; i++)
        ((float *)v.data)[i] = 1;
    return t;
}

static void make(bench *x)
{
    int64_t one = 1;
    dp_tensor *t;
    for (int i = 0; i < CALLS; i++) {
        dp_empty(x->ctx, DP_FLOAT32, DP_DEVICE_CPU, 1, &one, DP_CONTIGUOUS, &t);
        dp_tensor_unref(t);
    }
}

static void view(bench *x)
{
    int64_t one = 1;
    dp_tensor *t;
    for (int i = 0; i < CALLS; i++) {
        dp_as_strided(x->ctx, x->a, 1, &one, &one, 0, &t);
        dp_tensor_unref(t);
    }
}

static void add_loop(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n1; i++)
        for (int64_t k = 0; k < n0; k++)
            *(float *)(data[0] + k * strides[0] + i * strides[3]) =
                *(float *)(data[1] + k * strides[1] + i * strides[4]) +
                *(float *)(data[2] + k * strides[2] + i * strides[5]);
}

static void loop_over(bench *x, dp_tensor *a, dp_tensor *b, dp_tensor *given)
{
    dp_tensor *ins[] = {a, b}, *out;
    dp_iter it;
    for (int i = 0; i < CALLS; i++) {
        out = given;
        dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, &out, 2, ins);
        if (dp_iter_init(x->ctx, &c, &it) != 0 || dp_iter_run(x->ctx, &it, add_loop, NULL) != 0)
            exit(1);
        if (given == NULL)
            dp_tensor_unref(out);
    }
}

static void iter(bench *x)
{
    loop_over(x, x->a, x->b, x->out);
}
static void fresh(bench *x)
{
    loop_over(x, x->a, x->b, NULL);
}
static void column(bench *x)
{
    loop_over(x, x->wide, x->column, NULL);
}

static void begin(char *acc, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        ((float *)acc)[i] = 0;
}
static void step(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                 int64_t index, void *user)
{
    (void)user, (void)index;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n0; k++)
            ((float *)acc)[i] += *(float *)(data[1] + k * strides[1] + i * strides[3]);
}
static void merge(char *acc, const char *from, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        ((float *)acc)[i] += ((const float *)from)[i];
}
static void finish(char **data, const int64_t *strides, const char *acc, int64_t n, void *user)
{
    (void)user;
    for (int64_t i = 0; i < n; i++)
        *(float *)(data[0] + i * strides[0]) = ((const float *)acc)[i];
}

static void sum(bench *x)
{
    static const dp_reduction r = {sizeof(r), sizeof(float), begin, step, merge, finish};
    dp_iter it;
    for (int i = 0; i < CALLS; i++) {
        dp_tensor *out = NULL;
        dp_iter_config c = dp_iter_of(DP_ITER_REDUCTION, 1, &out, 1, &x->row);
        c.reduced = 1;
        if (dp_iter_init(x->ctx, &c, &it) != 0 || dp_iter_reduce(x->ctx, &it, &r, NULL) != 0)
            exit(1);
        dp_tensor_unref(out);
    }
}

DP_TYPED(call_add, (T, T, s), (T))
DP_TYPED(call_add_out, (T, T, s, T), ())
DP_TYPED(call_relu, (T), (T))
DP_TYPED(call_select, (T, i, i), (T))

static void add(bench *x)
{
    for (int i = 0; i < CALLS; i++) {
        dp_tensor *out;
        if (call_add(x->ctx, &x->add, x->a, x->b, dp_int(1), &out) != 0)
            exit(1);
        dp_tensor_unref(out);
    }
}

static void add_out(bench *x)
{
    for (int i = 0; i < CALLS; i++)
        if (call_add_out(x->ctx, &x->add_out, x->a, x->b, dp_int(1), x->out) != 0)
            exit(1);
}

static void relu(bench *x)
{
    for (int i = 0; i < CALLS; i++) {
        dp_tensor *out;
        if (call_relu(x->ctx, &x->relu, x->a, &out) != 0)
            exit(1);
        dp_tensor_unref(out);
    }
}

static void select_(bench *x)
{
    for (int i = 0; i < CALLS; i++) {
        dp_tensor *out;
        if (call_select(x->ctx, &x->select, x->wide, 0, 1, &out) != 0)
            exit(1);
        dp_tensor_unref(out);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double least_ns(void (*run)(bench *x), bench *x)
{
    double least = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double before = now();
        run(x);
        double t = (now() - before) / CALLS;
        least = i == 0 || t < least ? t : least;
    }
    return least;
}

static void load(dp_registry *reg, bench *x, const char *folder)
{
    const char *names[] = {"aten", "composite", "cpu"};
    char path[4096];
    dp_arena *arena = dp_arena_new();
    dp_plugin_report report;

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s.so", folder, names[i]);
        need(dp_plugin_load(reg, path, NULL, arena, &report, &x->err), path);
    }
    dp_arena_free(arena);
    need(dp_typed_init(x->ctx, "aten::add.Tensor", "TTs>T", &x->add), "add");
    need(dp_typed_init(x->ctx, "aten::add.out", "TTsT>", &x->add_out), "add.out");
    need(dp_typed_init(x->ctx, "aten::relu", "T>T", &x->relu), "relu");
    need(dp_typed_init(x->ctx, "aten::select.int", "Tii>T", &x->select), "select");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(bench *x);
        bool operator;
    } benches[] = {{"make", make, 0},     {"view", view, 0},       {"iter", iter, 0},
                   {"fresh", fresh, 0},   {"column", column, 0},   {"sum", sum, 0},
                   {"add", add, 1},       {"add_out", add_out, 1}, {"relu", relu, 1},
                   {"select", select_, 1}};
    int64_t one[] = {1}, wide[] = {64, 8}, tall[] = {64, 1}, row[] = {64};
    bench x = {.err = DP_ERROR_INIT};
    dp_registry *reg;

    need(dp_registry_new(&reg, &x.err), "dp_registry_new");
    need(dp_ctx_new(reg, &x.ctx, &x.err), "dp_ctx_new");
    x.a = made(&x, 1, one);
    x.b = made(&x, 1, one);
    x.out = made(&x, 1, one);
    x.wide = made(&x, 2, wide);
    x.column = made(&x, 2, tall);
    x.row = made(&x, 1, row);
    if (argc > 1)
        load(reg, &x, argv[1]);
    const char *only = argc > 2 ? argv[2] : NULL, *sep = "{";
    for (size_t i = 0; i < sizeof(benches) / sizeof(*benches); i++)
        if ((argc > 1 || !benches[i].operator) && (!only || !strcmp(only, benches[i].name))) {
            printf("%s\"%s_ns\": %.1f", sep, benches[i].name, least_ns(benches[i].run, &x));
            sep = ", ";
        }
    printf("}\n");
    dp_tensor *all[] = {x.a, x.b, x.out, x.wide, x.column, x.row};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        dp_tensor_unref(all[i]);
    dp_ctx_free(x.ctx);
    dp_registry_free(reg);
    return 0;
}
