/* test_limits.c -- what grows without a client's or a plugin's restraint stops at its limit, by
 * name, and goes on below it.  Limits of schemas, of recursion and of draining are tested with
 * those. */
#include "dispatch/registry/thread.h"
#include "dispatch/records.h"
#include <pthread.h>

static dp_error err;

static void refused(int rc, const char *limit)
{
    ck_assert_int_eq(rc, DP_ERESOURCE);
    ck_assert_msg(strstr(err.message, limit) != NULL, "no '%s' in '%s'", limit, err.message);
}

/* As if the registry had seen all the names it may. */
START_TEST(limits_operator_names)
{
    static const dp_item one[] = {REC_DEF("one() -> ()")}, two[] = {REC_DEF("two() -> ()")};
    dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", NULL, one),
                         REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", NULL, two)};
    dp_registry *reg = rec_registry();
    dp_unit *first = rec_attach(reg, "first", &blocks[0], 1), *second = NULL;
    uint32_t n = reg->n_ops;

    reg->n_ops = DP_LIMIT_OPERATORS;
    refused(dp_registry_attach(reg, "second", "1.0", &blocks[1], 1, &second, &err), "65535");
    reg->n_ops = n;
    rec_check(reg);
    second = rec_attach(reg, "second", &blocks[1], 1);
    rec_detach(reg, first);
    rec_detach(reg, second);
    dp_registry_free(reg);
}
END_TEST

START_TEST(limits_kernels_of_one_operator_and_key)
{
    enum { MOST = DP_LIMIT_KERNELS_PER_OP };
    static const dp_item item[] = {REC_IMPL("f", rec_kernel)};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 1, "t", "CPU", item);
    dp_unit **units = calloc(MOST + 1, sizeof(*units));
    dp_registry *reg = rec_registry();

    for (int i = 0; i < MOST; i++)
        units[i] = rec_attach(reg, "one of many", &block, 1);
    refused(dp_registry_attach(reg, "last", "1.0", &block, 1, &units[MOST], &err), "kernels");
    for (int i = 0; i < MOST; i++)
        rec_detach(reg, units[i]);
    dp_registry_free(reg);
    free(units);
}
END_TEST

/* A kernel that calls t::f more often than a trace has room for. */
static int calls_many(dp_call *call)
{
    const dp_op *f = dp_op_find(call->ctx, "t::f");

    for (int i = 0; i < DP_LIMIT_TRACE; i++) {
        dp_value out;
        int rc = dp_call_boxed(call->ctx, f, call->args, 1, &out, 1);
        if (rc < 0)
            return rc;
        dp_tensor_unref(out.u.t);
    }
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

START_TEST(limits_a_trace_is_cut)
{
    static const dp_item defs[] = {REC_DEF("f(Tensor a) -> Tensor"),
                                   REC_DEF("g(Tensor a) -> Tensor")};
    static const dp_item impls[] = {REC_IMPL("f", rec_kernel), REC_IMPL("g", calls_many)};
    dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", NULL, defs),
                         REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", impls)};
    dp_registry *reg = rec_registry();
    dp_unit *unit = rec_attach(reg, "t", blocks, 2);
    dp_ctx *ctx = NULL;
    dp_tensor *t = NULL;
    int64_t sizes[] = {1};
    dp_value arg, out;
    size_t n;
    bool cut;

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &t, &err), 0);
    arg = dp_tensor_value(t);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::g"), &arg, 1, &out, 1), 0);
    dp_tensor_unref(out.u.t);
    dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, DP_LIMIT_TRACE);
    ck_assert(cut);
    dp_tensor_unref(t);
    dp_ctx_free(ctx);
    rec_detach(reg, unit);
    dp_registry_free(reg);
}
END_TEST

static pthread_barrier_t all_in;

static void *enter(void *arg)
{
    dp_error *e = arg;

    dpi_thread_enter(e);
    pthread_barrier_wait(&all_in);
    return NULL;
}

START_TEST(limits_threads_that_call_at_once)
{
    enum { N = DP_LIMIT_THREADS + 1 };
    static dp_error errors[N];
    static pthread_t threads[N];
    pthread_attr_t small;
    int failed = 0;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    pthread_barrier_init(&all_in, NULL, N);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(pthread_create(&threads[i], &small, enter, &errors[i]), 0);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        if (errors[i].code != 0) {
            failed++;
            err = errors[i];
            refused(err.code, "1024");
        }
    ck_assert_int_ge(failed, 1);
    ck_assert_int_le(failed, 4); /* records that other threads of the process have */
    pthread_barrier_destroy(&all_in);
    pthread_attr_destroy(&small);
    pthread_barrier_init(&all_in, NULL, 1);
    dp_error_clear(&err);
    ck_assert_int_eq(pthread_create(&threads[0], NULL, enter, &err), 0);
    pthread_join(threads[0], NULL);
    ck_assert_int_eq(err.code, 0);
    pthread_barrier_destroy(&all_in);
}
END_TEST

UNIT_SUITE(limits)
{
    tcase_add_test(tc, limits_operator_names);
    tcase_add_test(tc, limits_kernels_of_one_operator_and_key);
    tcase_add_test(tc, limits_a_trace_is_cut);
    tcase_add_test(tc, limits_threads_that_call_at_once);
}
