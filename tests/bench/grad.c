/* grad.c -- what gradients cost in process, on tensors of one element.  argv: the plugins to load
 * first, then the plugin of autograd.  Prints one JSON object: medians in ns.
 *
 * A second thread lives during the measurements, as in a daemon, so that no lock of the C library
 * takes its single-threaded way. */
#include <dispatchd/grad.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CALLS = 2000, ROUNDS = 101, LONG = 100000, LONG_ROUNDS = 7, SHORT = 50 };

typedef struct bench {
    dp_ctx *ctx;
    const dp_op *op;  /* called by calls() */
    dp_value args[4]; /* arguments of `op` */
    uint32_t n_args;
    dp_value keep; /* the last value of a chain */
    const dp_op *mul, *sum;
} bench;

/* Operators whose formulas call nothing, and neg twice. */
static int negated(dp_call *call)
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::neg"), call->args, 1, call->rets,
                         1);
}
#define ITEM(what, name_, ...)                                                                     \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = what, .name = name_, ##__VA_ARGS__                        \
    }
#define BLOCK(k, key_, items_)                                                                     \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = k, .line = __LINE__, .n_items = 2, .file = __FILE__,     \
        .item_size = sizeof(dp_item), .ns = "bench", .key = key_, .items = items_                  \
    }
static const dp_item defs[] = {ITEM(DP_ITEM_DEF, "none(Tensor x) -> Tensor"),
                               ITEM(DP_ITEM_DEF, "two(Tensor x) -> Tensor")};
static const dp_item impls[] = {ITEM(DP_ITEM_IMPL, "none", .boxed = negated),
                                ITEM(DP_ITEM_IMPL, "two", .boxed = negated)};
static const dp_item formulas[] = {
    ITEM(DP_ITEM_FORMULA, "none", .code = "flags\nin grad Tensor\nout x grad\n"),
    ITEM(DP_ITEM_FORMULA, "two",
         .code = "flags\nin grad Tensor\na = aten::neg(grad)\nb = aten::neg(a)\nout x b\n")};
static const dp_block blocks[] = {BLOCK(DP_BLOCK_LIBRARY, "", defs),
                                  BLOCK(DP_BLOCK_IMPL, "CPU", impls),
                                  BLOCK(DP_BLOCK_IMPL, "AutogradFormula", formulas)};

static void check(const bench *b, int rc)
{
    if (rc < 0) {
        fprintf(stderr, "%s\n", dp_ctx_error(b->ctx)->message);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *ns, size_t n)
{
    qsort(ns, n, sizeof(double), by_value);
    return ns[n / 2];
}

static double calls_ns(bench *b)
{
    double ns[ROUNDS];
    dp_value out;

    for (int r = 0; r < ROUNDS; r++) {
        double t0 = now_ns();
        for (int i = 0; i < CALLS; i++) {
            check(b, dp_call_boxed(b->ctx, b->op, b->args, b->n_args, &out, 1));
            dp_values_release(&out, 1);
        }
        ns[r] = (now_ns() - t0) / CALLS;
        dp_ctx_reset(b->ctx);
    }
    return median(ns, ROUNDS);
}

static double op_ns(bench *b, const char *name, dp_value x, dp_value k, uint32_t n_args)
{
    b->op = dp_op_find(b->ctx, name);
    b->args[0] = x;
    b->args[1] = k;
    b->n_args = n_args;
    return calls_ns(b);
}

static void backward(bench *b, dp_value of)
{
    dp_tensor *t = of.u.t;
    dp_backward_options o = {.size = sizeof(o), .tensors = &t, .n = 1};

    check(b, dp_backward(b->ctx, &o));
}

/* mul, sum and backward, after which the gradient has been added to the leaf's. */
static double step_ns(bench *b, dp_value x, dp_value k)
{
    double ns[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        double t0 = now_ns();
        for (int i = 0; i < CALLS / 10; i++) {
            dp_value args[2] = {x, k}, product, sum, none[2] = {{0}, {0}};
            check(b, dp_call_boxed(b->ctx, b->mul, args, 2, &product, 1));
            none[0] = product;
            check(b, dp_call_boxed(b->ctx, b->sum, none, 2, &sum, 1));
            backward(b, sum);
            dp_values_release(&product, 1);
            dp_values_release(&sum, 1);
        }
        ns[r] = (now_ns() - t0) / (CALLS / 10);
        dp_ctx_reset(b->ctx);
    }
    return median(ns, ROUNDS);
}

static void chain(bench *b, const dp_op *op, dp_value x, dp_value k, uint32_t n_args, int length)
{
    dp_value args[3] = {x, k, dp_int(1)};

    dp_tensor_ref(x.u.t);
    for (int i = 0; i < length; i++) {
        check(b, dp_call_boxed(b->ctx, op, args, n_args, &b->keep, 1));
        dp_values_release(args, 1);
        args[0] = b->keep;
    }
    dp_ctx_reset(b->ctx);
}

/* Wait until no more than `n` nodes are left.  A thread frees the nodes of a large graph, and while
 * it does so on another core, this one gets less of the caches and of the memory. */
static void wait_for_nodes(uint64_t n)
{
    static const struct timespec pause = {.tv_nsec = 1000000};

    while (dp_grad_nodes() > n)
        nanosleep(&pause, NULL);
}

static void long_chains(bench *b, dp_value x, dp_value k, double *back, double *freeing)
{
    double a[LONG_ROUNDS], f[LONG_ROUNDS];
    uint64_t nodes = dp_grad_nodes();

    for (int r = 0; r < LONG_ROUNDS; r++) {
        chain(b, b->mul, x, k, 2, LONG);
        double t0 = now_ns();
        backward(b, b->keep);
        a[r] = (now_ns() - t0) / LONG;
        dp_values_release(&b->keep, 1);
        wait_for_nodes(nodes);
        chain(b, b->mul, x, k, 2, LONG);
        t0 = now_ns();
        dp_values_release(&b->keep, 1);
        f[r] = now_ns() - t0;
        wait_for_nodes(nodes);
    }
    *back = median(a, LONG_ROUNDS);
    *freeing = median(f, LONG_ROUNDS);
}

/* Backward of a short chain, whose memory stays in the caches: ns a node. */
static double short_chains_ns(bench *b, const char *name, dp_value x, dp_value k, uint32_t n_args)
{
    double ns[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        ns[r] = 0;
        for (int i = 0; i < CALLS / SHORT; i++) {
            chain(b, dp_op_find(b->ctx, name), x, k, n_args, SHORT);
            double t0 = now_ns();
            backward(b, b->keep);
            ns[r] += (now_ns() - t0) / CALLS;
            dp_values_release(&b->keep, 1);
        }
    }
    return median(ns, ROUNDS);
}

static void *sleeps(void *arg)
{
    struct timespec t = {3600, 0};

    nanosleep(&t, NULL);
    return arg;
}

static dp_value one(dp_error *err, float x)
{
    int64_t size = 1;
    dp_tensor *t = NULL;

    if (dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &size, NULL, &t, err) < 0 ||
        dp_tensor_write(t, &x, err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
    return dp_tensor_value(t);
}

static void load(dp_registry *reg, const char *path, dp_arena *a, dp_error *err)
{
    dp_plugin_report report;

    if (dp_plugin_load(reg, path, NULL, a, &report, err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static const char *const ops[] = {"aten::mul.Tensor", "aten::relu", "aten::exp"};
    static const char *const names[] = {"mul", "relu", "exp"};
    static const int64_t size = 1;
    dp_registry *reg = NULL;
    dp_error err = DP_ERROR_INIT;
    dp_arena *a = dp_arena_new();
    bench b = {0};
    dp_unit *unit;
    pthread_t second;
    double without, with, view, back, freeing;

    pthread_create(&second, NULL, sleeps, NULL);
    if (argc < 2 || dp_registry_new(&reg, &err) < 0)
        return 1;
    for (int i = 1; i < argc - 1; i++)
        load(reg, argv[i], a, &err);
    if (dp_registry_attach(reg, "bench", "1", blocks, 3, &unit, &err) < 0 ||
        dp_ctx_new(reg, &b.ctx, &err) < 0)
        return 1;
    dp_value x = one(&err, 1), k = one(&err, 1), none = {0}, sizes = dp_ints(&size, 1), v;
    b.mul = dp_op_find(b.ctx, "aten::mul.Tensor");
    b.sum = dp_op_find(b.ctx, "aten::sum");
    check(&b,
          dp_call_boxed(b.ctx, dp_op_find(b.ctx, "aten::view"), (dp_value[]){k, sizes}, 2, &v, 1));
    op_ns(&b, "aten::mul.Tensor", k, k, 2);
    op_ns(&b, "aten::view", v, sizes, 2);
    without = op_ns(&b, "aten::mul.Tensor", k, k, 2);
    view = op_ns(&b, "aten::view", v, sizes, 2);
    load(reg, argv[argc - 1], a, &err);
    check(&b, dp_tensor_set_requires_grad(b.ctx, x.u.t, true)); /* kernels are looked up anew */
    with = op_ns(&b, "aten::mul.Tensor", k, k, 2);
    printf("{\"clear_ns\": %.1f, \"without_ns\": %.1f", with, without);
    printf(", \"view_ns\": %.1f, \"view_without_ns\": %.1f", op_ns(&b, "aten::view", v, sizes, 2),
           view);
    for (int i = 0; i < 3; i++) {
        op_ns(&b, ops[i], k, k, i == 0 ? 2 : 1);
        without = op_ns(&b, ops[i], k, k, i == 0 ? 2 : 1);
        printf(", \"%s_ns\": %.1f, \"record_%s_ns\": %.1f", names[i], without, names[i],
               op_ns(&b, ops[i], x, k, i == 0 ? 2 : 1) - without);
    }
    printf(", \"step_ns\": %.1f", step_ns(&b, x, k));
    long_chains(&b, x, k, &back, &freeing);
    printf(", \"chain_mul_ns\": %.1f, \"chain_free_ms\": %.3f", back, freeing * 1e-6);
    back = short_chains_ns(&b, "bench::two", x, none, 1) -
           short_chains_ns(&b, "bench::none", x, none, 1);
    printf(", \"formula_ns\": %.1f}\n", back - 2 * op_ns(&b, "aten::neg", k, none, 1));
    dp_tensor_unref(x.u.t);
    dp_tensor_unref(k.u.t);
    dp_tensor_unref(v.u.t);
    dp_ctx_free(b.ctx);
    dp_arena_free(a);
    dp_registry_free(reg);
    return 0;
}
