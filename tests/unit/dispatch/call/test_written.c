/* test_written.c -- arguments that kernels write. */
#include "../calls.h"

static int fails(dp_call *call)
{
    (void)call;
    return dp_fail(call->ctx, DP_ERUNTIME, "it fails");
}

START_TEST(call_that_fails_has_written_what_it_was_to_write)
{
    static const dp_item writer[] = {
        REC_DEF("w(Tensor x, Tensor(a!) y, Tensor(b!)[] l, Tensor(c!)? n) -> ()")};
    static const dp_item failing[] = {REC_IMPL("w", fails)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", writer),
                                      REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", failing)};
    dp_unit *u = NULL;
    dp_tensor *c = NULL, *list[1];
    int64_t one = 1;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &c, &err), 0);
    list[0] = c;
    ck_assert_msg(dp_registry_attach(reg, "w", "1", blocks, 2, &u, &err) == 0, "%s", err.message);
    dp_value args[4] = {dp_tensor_value(a), dp_tensor_value(b), {DP_TAG_TENSORS, 1, {0}}, {0}};
    args[2].u.tensors = list;
    uint64_t before[] = {dp_tensor_version(a), dp_tensor_version(b), dp_tensor_version(c)};
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::w"), args, 4, NULL, 0), DP_ERUNTIME);
    ck_assert_uint_eq(dp_ctx_error(ctx)->written, 0x6); /* None is not damaged */
    ck_assert_uint_eq(dp_tensor_version(a), before[0]);
    ck_assert_uint_eq(dp_tensor_version(b), before[1] + 1);
    ck_assert_uint_eq(dp_tensor_version(c), before[2] + 1);
    dp_tensor_unref(c);
    detach(u);
}
END_TEST

static int writes_boxed(dp_call *call)
{
    call->rets[1] = dp_int(7);
    return 0;
}
static int writes_unboxed(dp_ctx *c, dp_tensor *y, int64_t *n)
{
    (void)c, (void)y;
    *n = 8;
    return 0;
}
/* As a plugin's thunk: into the first of the slots that its C type has. */
static int writes_thunk(dp_call *call)
{
    call->rets[0] = dp_int(0);
    return writes_unboxed(call->ctx, call->args[0].u.t, &call->rets[0].u.i);
}
DP_TYPED(typed_writes, (T), (i))

START_TEST(call_gives_written_arguments_itself)
{
    static const dp_item def[] = {REC_DEF("w(Tensor(a!) y) -> (Tensor(a!), int)")};
    static const dp_item boxed[] = {REC_IMPL("w", writes_boxed)};
    static const dp_item thunk[] = {REC_IMPL_UNBOXED("w", writes_thunk, writes_unboxed, "T>i", 0)};
    static const dp_block blocks[][2] = {{REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", def),
                                          REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", boxed)},
                                         {REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", def),
                                          REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", thunk)}};

    for (int i = 0; i < 2; i++) {
        dp_unit *u = NULL;
        dp_value arg = dp_tensor_value(a), rets[2];
        dp_typed t;
        int64_t n = 0;

        ck_assert_msg(dp_registry_attach(reg, "w", "1", blocks[i], 2, &u, &err) == 0, "%s",
                      err.message);
        ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::w"), &arg, 1, rets, 2), 0);
        ck_assert_ptr_eq(rets[0].u.t, a);
        ck_assert_int_eq(rets[1].u.i, 7 + i);
        ck_assert_uint_eq(atomic_load(&a->refs), 2);
        dp_values_release(rets, 2);
        ck_assert_int_eq(dp_typed_init(ctx, "t::w", DP_CODE((T), (i)), &t), 0);
        ck_assert_int_eq(typed_writes(ctx, &t, a, &n), 0);
        ck_assert_int_eq(n, 7 + i);
        n = 0;
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>i", a, &n), 0);
        ck_assert_int_eq(n, 7 + i);
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>Ti", a, &n, &n), DP_ETYPE);
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>T", a, &n), DP_ETYPE);
        ck_assert_str_eq(dp_ctx_error(ctx)->message,
                         "t::w returns the C types 'i', the caller's 'T>T' says 'T'");
        ck_assert_int_eq(n, 7 + i);
        ck_assert_uint_eq(atomic_load(&a->refs), 1);
        detach(u);
    }
}
END_TEST

UNIT_SUITE(written)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_that_fails_has_written_what_it_was_to_write);
    tcase_add_test(tc, call_gives_written_arguments_itself);
}
