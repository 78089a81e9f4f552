/* test_dump.c -- everything registered as text. */
#include "asked.h"

START_TEST(dump)
{
    char *text = rec_dump(reg);
    ck_assert_str_eq(text, expected_dump);
    free(text);
}
END_TEST

static atomic_bool done;

static void *ask_and_call(void *arg)
{
    dp_tensor *t = arg;
    const dp_value self = dp_tensor_value(t);
    uint64_t answered = 0;
    dp_ctx *ctx = NULL;

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, NULL), 0);
    do {
        dp_explanation x;
        dp_op_info op;
        dp_value ret;
        dp_bound b;
        if (dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b) == 0)
            answered += dp_explain(ctx, &b, dp_ctx_arena(ctx), &x) == 0;
        if (dp_bind(ctx, "t::g", &self, 1, NULL, 0, &b) == 0 &&
            dp_call_boxed(ctx, b.op, b.args, 1, &ret, 1) == 0)
            dp_values_release(&ret, 1);
        answered += dp_registry_describe(reg, "t::g", dp_ctx_arena(ctx), &op, NULL) == 0;
        dp_ctx_reset(ctx);
    } while (!atomic_load(&done));
    dp_ctx_free(ctx);
    return (void *)(uintptr_t)answered;
}

START_TEST(asked_while_it_changes)
{
    enum { THREADS = 3, ROUNDS = 200 };
    static const dp_item more[] = {REC_IMPL("f.a", rec_kernel), REC_DEF("f.b(Tensor x) -> Tensor"),
                                   REC_IMPL("g", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 40, "t", "", more)};
    pthread_t threads[THREADS];
    dp_tensor *t = NULL;
    void *answered;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &t, &err), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_and_call, t), 0);
    for (int i = 0; i < ROUNDS; i++) {
        dp_unit *u = rec_attach(reg, "more", block, 1);
        rec_check(reg);
        rec_detach(reg, u);
    }
    atomic_store(&done, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &answered);
        ck_assert_uint_gt((uintptr_t)answered, 0);
    }
    rec_same(reg, strdup(expected_dump));
    dp_tensor_unref(t);
}
END_TEST

UNIT_SUITE(dump)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, dump);
    tcase_add_test(tc, asked_while_it_changes);
}
