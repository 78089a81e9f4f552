/* test_pin.c -- which snapshot a call holds, and until when. */
#include "../calls.h"

START_TEST(call_inside_a_call_sees_the_same_snapshot)
{
    attach_as("cpu", "CPU", first, NULL, 0);
    dp_item items[2] = {REC_DEF("outer(Tensor a, Tensor b) -> Tensor"), REC_IMPL("outer", invokes)};
    dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_unit *u = NULL;

    ck_assert_msg(dp_registry_attach(reg, "outer", "1", &block, 1, &u, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, "t::outer"), args, 2, &ret, 1);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_ptr_eq(ret.u.t, a);
    dp_values_release(&ret, 1);
    size_t n;
    bool cut;
    const dp_trace_step *s = dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(s[0].provenance, "math kernel");
    ck_assert_str_eq(s[1].provenance, "kernel");
    ck_assert_uint_eq(s[1].depth, 1);
    detach(u);
}
END_TEST

static int begins(dp_call *call)
{
    int rc = dp_ctx_begin(call->ctx);
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return rc;
}

START_TEST(call_holds_its_snapshot_alone)
{
    attach_as("cpu", "CPU", begins, NULL, 0);
    expect_fail(DP_ERUNTIME, "inside a call");
    ck_assert_int_eq(dp_ctx_begin(ctx), 0); /* a program's calls may: it nests */
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    dp_ctx_end(ctx);
    dp_ctx_end(ctx);
    dp_ctx_end(ctx); /* one too many */
    expect_fail(DP_ERUNTIME, "inside a call");
}
END_TEST

static void *begin_and_leave(void *c)
{
    return (void *)(intptr_t)(dp_ctx_begin(c) == 0 && dp_ctx_begin(c) == 0);
}

static void *call_once(void *c)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    int rc = dp_call_boxed(c, dp_op_find(c, "t::first"), args, 2, &ret, 1);

    if (rc == 0)
        dp_values_release(&ret, 1);
    return (void *)(intptr_t)(rc == 0);
}

static void on_a_thread(void *(*work)(void *), dp_ctx *c)
{
    pthread_t thread;
    void *ok = NULL;

    ck_assert_int_eq(pthread_create(&thread, NULL, work, c), 0);
    pthread_join(thread, &ok);
    ck_assert_msg(ok != NULL, "%s", dp_ctx_error(c)->message);
}

/* A thread ends with a snapshot that it began to hold: neither the next one with its record nor the
 * registry sees any of it, and the context is as before. */
START_TEST(call_context_lets_go_when_its_thread_ends)
{
    dp_registry *reg2 = rec_registry();
    dp_ctx *ctx2 = NULL, *begun = NULL;
    dp_unit *u = attach_as("cpu", "CPU", first, NULL, 0);

    ck_assert_int_eq(dp_ctx_new(reg2, &ctx2, &err), 0);
    ck_assert_int_eq(dp_ctx_new(reg2, &begun, &err), 0);
    on_a_thread(begin_and_leave, begun);
    on_a_thread(call_once, ctx); /* of another registry, with the same record */
    ck_assert_int_eq(dp_ctx_begin(begun), 0);
    dp_ctx_end(begun);
    dp_ctx_end(begun);
    on_a_thread(begin_and_leave, ctx);
    detach(u); /* nobody holds the snapshot it was in */
    u = attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_ptr_nonnull(call_once(ctx));
    detach(u);
    dp_ctx_free(begun);
    dp_ctx_free(ctx2);
    dp_registry_free(reg2);
}
END_TEST

UNIT_SUITE(pin)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_inside_a_call_sees_the_same_snapshot);
    tcase_add_test(tc, call_holds_its_snapshot_alone);
    tcase_add_test(tc, call_context_lets_go_when_its_thread_ends);
}
