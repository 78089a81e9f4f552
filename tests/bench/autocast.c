/* autocast.c -- what autocast adds to a call in process.
 *
 * An operator of policy lower_precision_fp with two arguments.  Prints one JSON object: medians in
 * ns a boxed call.  None is the call without autocast's kernels; off has them, and autocast is off;
 * plain is an operator in no list, with autocast on; fits has arguments of the dtype already;
 * cached casts one parameter that is in the cache. */
#include <dispatchd/grad.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int first(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

static int lower(dp_call *call)
{
    return dp_autocast(call, DP_CAST_LOWER_PRECISION_FP);
}

/* Casts are not measured: this makes a tensor of the dtype without its values. */
static int to_copy(dp_call *call)
{
    dp_view v = {.size = sizeof(v)};
    dp_tensor *made = NULL;

    dp_tensor_view(call->args[0].u.t, &v);
    int rc = dp_empty(call->ctx, (dp_dtype)call->args[1].u.i, v.device, v.ndim, v.sizes,
                      DP_CONTIGUOUS, &made);
    call->rets[0] = dp_tensor_value(made);
    return rc;
}

#define DEF(schema)                                                                                \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_DEF, .name = schema                               \
    }
#define IMPL(op, fn)                                                                               \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_IMPL, .name = op, .boxed = fn                     \
    }
static const dp_item aten[] = {DEF(
    "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> "
    "Tensor")};
static const dp_item aten_cpu[] = {IMPL("_to_copy", to_copy)};
static const dp_item defs[] = {DEF("listed(Tensor a, Tensor b) -> Tensor"),
                               DEF("plain(Tensor a, Tensor b) -> Tensor")};
static const dp_item cpu[] = {IMPL("listed", first), IMPL("plain", first)};
static const dp_item cast[] = {IMPL("listed", lower)};
#define BLOCK(k, ns_, key_, items_)                                                                \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = k, .line = __LINE__,                                     \
        .n_items = sizeof(items_) / sizeof(*items_), .file = __FILE__,                             \
        .item_size = sizeof(dp_item), .ns = ns_, .key = key_, .items = items_                      \
    }
static const dp_block blocks[] = {
    BLOCK(DP_BLOCK_LIBRARY, "aten", "", aten), BLOCK(DP_BLOCK_IMPL, "aten", "CPU", aten_cpu),
    BLOCK(DP_BLOCK_LIBRARY, "bench", "", defs), BLOCK(DP_BLOCK_IMPL, "bench", "CPU", cpu)};
static const dp_block autocast[] = {BLOCK(DP_BLOCK_IMPL, "bench", "AutocastCPU", cast)};

enum { CALLS = 200000, ROUNDS = 31 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median_ns(dp_ctx *ctx, const char *name, dp_tensor *a, dp_tensor *b)
{
    double ns[ROUNDS];
    const dp_op *op = dp_op_find(ctx, name);
    const dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)};

    for (int r = 0; r < ROUNDS; r++) {
        struct timespec t0, t1;
        dp_value ret;
        clock_gettime(CLOCK_MONOTONIC, &t0);
        for (int i = 0; i < CALLS; i++) {
            if (dp_call_boxed(ctx, op, args, 2, &ret, 1) < 0)
                abort();
            dp_tensor_unref(ret.u.t);
        }
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
    dp_ctx *ctx = NULL;
    dp_tensor *w = NULL, *low = NULL;
    dp_keyset include, exclude;
    dp_mode on = {.size = sizeof(on), .cast_backends = DP_BBIT(DP_B_CPU)};

    if (dp_registry_new(&reg, &err) < 0 ||
        dp_registry_attach(reg, "bench", "1", blocks, 4, &unit, &err) < 0 ||
        dp_ctx_new(reg, &ctx, &err) < 0 ||
        dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &w, &err) < 0 ||
        dp_tensor_new(DP_BFLOAT16, DP_DEVICE_CPU, 0, NULL, NULL, &low, &err) < 0)
        return 1;
    printf("{\"none_ns\": %.2f", median_ns(ctx, "bench::listed", low, low));
    if (dp_registry_attach(reg, "autocast", "1", autocast, 1, &unit, &err) < 0)
        return 1;
    printf(", \"off_ns\": %.2f", median_ns(ctx, "bench::listed", low, low));
    dp_state_default(&include, &exclude);
    dp_ctx_set_state(ctx, include, exclude, &on);
    printf(", \"plain_ns\": %.2f", median_ns(ctx, "bench::plain", low, low));
    printf(", \"fits_ns\": %.2f", median_ns(ctx, "bench::listed", low, low));
    if (dp_tensor_set_requires_grad(ctx, w, true) < 0)
        return 1;
    printf(", \"cached_ns\": %.2f}\n", median_ns(ctx, "bench::listed", low, w));
    dp_tensor_unref(w);
    dp_tensor_unref(low);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    return 0;
}
