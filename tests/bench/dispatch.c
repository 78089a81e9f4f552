/* dispatch.c -- what a call through the dispatcher costs in process: an operator with two tensor
 * arguments whose kernel returns the first.  Prints one JSON object: medians in ns a call.  Turns,
 * label and thread are unboxed calls that are spared less: with two key sets that take turns, of a
 * context with a label (as the daemon's have), and in a process with a second thread, where
 * references are atomic.  Guard enters and leaves one inside another that has set the mode; layer
 * is unboxed below a layer that has nothing to do. */
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int first(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, dp_tensor **out)
{
    (void)ctx;
    (void)b;
    *out = dp_tensor_ref(a);
    return 0;
}

static int first_boxed(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

static const dp_item defs[] = {
    {.size = sizeof(dp_item), .kind = DP_ITEM_DEF, .name = "first(Tensor a, Tensor b) -> Tensor"}};
static const dp_item impls[] = {{.size = sizeof(dp_item),
                                 .kind = DP_ITEM_IMPL,
                                 .name = "first",
                                 .boxed = first_boxed,
                                 .unboxed = (dp_any_fn)first,
                                 .code = "TT>T"}};
#define BLOCK(k, key_, items_)                                                                     \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = k, .line = __LINE__, .n_items = 1, .file = __FILE__,     \
        .item_size = sizeof(dp_item), .ns = "bench", .key = key_, .items = items_                  \
    }
static int hands_on(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

static const dp_item layers[] = {{.size = sizeof(dp_item),
                                  .kind = DP_ITEM_IMPL,
                                  .flags = DP_FLAG_GRAD | DP_FLAG_BELOW,
                                  .name = "first",
                                  .boxed = hands_on}};
static const dp_block layer[] = {BLOCK(DP_BLOCK_IMPL, "Autograd", layers)};
static const dp_block blocks[] = {BLOCK(DP_BLOCK_LIBRARY, "", defs),
                                  BLOCK(DP_BLOCK_IMPL, "CPU", impls),
                                  BLOCK(DP_BLOCK_IMPL, "Meta", impls)};

DP_TYPED(call_first, (T, T), (T))

enum { CALLS = 200000, ROUNDS = 31 };

typedef struct bench {
    dp_ctx *ctx;
    const dp_op *op;
    dp_typed typed;
    dp_tensor *a, *b, *meta;
} bench;

static void boxed(bench *x)
{
    dp_value args[2] = {dp_tensor_value(x->a), dp_tensor_value(x->b)}, ret;
    for (int i = 0; i < CALLS; i++) {
        dp_call_boxed(x->ctx, x->op, args, 2, &ret, 1);
        dp_tensor_unref(ret.u.t);
    }
}

static void unboxed(bench *x)
{
    dp_tensor *out;
    for (int i = 0; i < CALLS; i++) {
        call_first(x->ctx, &x->typed, x->a, x->b, &out);
        dp_tensor_unref(out);
    }
}

/* Every other call has another key set. */
static void unboxed_turns(bench *x)
{
    dp_tensor *out;
    for (int i = 0; i < CALLS / 2; i++) {
        call_first(x->ctx, &x->typed, x->a, x->b, &out);
        dp_tensor_unref(out);
        call_first(x->ctx, &x->typed, x->meta, x->b, &out);
        dp_tensor_unref(out);
    }
}

static void guard(bench *x)
{
    dp_keyset none = {0, 0}, autograd = dp_keyset_named(DP_KEYSET_AUTOGRAD);
    DP_MODE(mode, x->ctx);
    mode.no_grad = true;
    int outer = dp_guard_mode(x->ctx, &mode);
    for (int i = 0; i < CALLS; i++)
        dp_guard_leave(x->ctx, dp_guard_enter(x->ctx, none, autograd));
    dp_guard_leave(x->ctx, outer);
}

static void *sleeps(void *arg)
{
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

static void lookup(bench *x)
{
    for (int i = 0; i < CALLS; i++)
        if (dp_op_find(x->ctx, "bench::first") != x->op)
            abort();
}

/* What any kernel of this shape costs: the reference taken and dropped, through a pointer. */
static void bare(bench *x)
{
    int (*volatile fn)(dp_ctx *, dp_tensor *, dp_tensor *, dp_tensor **) = first;
    dp_tensor *out;
    for (int i = 0; i < CALLS; i++) {
        fn(x->ctx, x->a, x->b, &out);
        dp_tensor_unref(out);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_ns(void (*fn)(bench *), bench *x)
{
    double ns[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        fn(x);
        clock_gettime(CLOCK_MONOTONIC, &t1);
        ns[r] = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / CALLS;
    }
    qsort(ns, ROUNDS, sizeof(double), by_value);
    return ns[ROUNDS / 2];
}

int main(void)
{
    dp_registry *reg = NULL;
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit = NULL;
    bench x = {0};
    int64_t sizes[1] = {4};

    if (dp_registry_new(&reg, &err) < 0 ||
        dp_registry_attach(reg, "bench", "1", blocks, 3, &unit, &err) < 0 ||
        dp_ctx_new(reg, &x.ctx, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &x.a, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &x.b, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 1, sizes, NULL, &x.meta, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    x.op = dp_op_find(x.ctx, "bench::first");
    if (x.op == NULL || dp_typed_init(x.ctx, "bench::first", DP_CODE((T, T), (T)), &x.typed) < 0) {
        fprintf(stderr, "%s\n", dp_ctx_error(x.ctx)->message);
        return 1;
    }
    printf("{\"bare_ns\": %.2f, \"unboxed_ns\": %.2f, \"boxed_ns\": %.2f, \"lookup_ns\": %.2f",
           median_ns(bare, &x), median_ns(unboxed, &x), median_ns(boxed, &x),
           median_ns(lookup, &x));
    printf(", \"turns_ns\": %.2f", median_ns(unboxed_turns, &x));
    printf(", \"guard_ns\": %.2f", median_ns(guard, &x));
    dp_ctx_set_label(x.ctx, "session 1");
    printf(", \"label_ns\": %.2f", median_ns(unboxed, &x));
    dp_ctx_set_label(x.ctx, "");
    if (dp_registry_attach(reg, "layer", "1", layer, 1, &unit, &err) < 0)
        return 1;
    printf(", \"layer_ns\": %.2f", median_ns(unboxed, &x));
    pthread_t thread;
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&held);
    if (pthread_create(&thread, NULL, sleeps, &held) != 0)
        return 1;
    printf(", \"thread_ns\": %.2f}\n", median_ns(unboxed, &x));
    pthread_mutex_unlock(&held);
    pthread_join(thread, NULL);
    dp_tensor_unref(x.meta);
    dp_tensor_unref(x.a);
    dp_tensor_unref(x.b);
    dp_ctx_free(x.ctx);
    dp_registry_free(reg);
    return 0;
}
