/* test_known.c -- kernels whose headers knew fewer dtypes than the host are never called with the
 * others. */
#include "dispatch/records.h"

static dp_registry *reg;
static dp_ctx *ctx;
static int calls;

static int counted(dp_call *call)
{
    calls++;
    return rec_kernel(call);
}

static int unboxed(dp_ctx *c, dp_tensor *self, dp_tensor **out)
{
    (void)c;
    calls++;
    *out = dp_tensor_ref(self);
    return 0;
}

static int listed(dp_call *call)
{
    calls++;
    call->rets[0] = dp_int(call->args[0].len);
    return 0;
}

static const dp_item defs[] = {
    REC_DEF("f(Tensor self) -> Tensor"),
    REC_DEF("of(Tensor? self, ScalarType? d=None) -> Tensor"),
    REC_DEF("list(Tensor?[] all) -> int"),
};
static const dp_item impls[] = {REC_IMPL_UNBOXED("f", counted, unboxed, "T>T", 0),
                                REC_IMPL("of", counted), REC_IMPL("list", listed)};
static dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", impls),
};

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;

    calls = 0;
    reg = rec_registry();
    blocks[1].dtypes = DP_DTYPES_KNOWN & ~(1ull << DP_BFLOAT16);
    rec_attach(reg, "old", blocks, 2);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
}

static void teardown(void)
{
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

static dp_tensor *of_dtype(dp_dtype d)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    int64_t n = 2;

    ck_assert_int_eq(dp_tensor_new(d, 0, 1, &n, NULL, &t, &err), 0);
    return t;
}

static int call(const char *op, const dp_value *args, size_t n)
{
    dp_value ret = dp_none();
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, op), args, n, &ret, 1);

    dp_values_release(&ret, 1);
    return rc;
}

static void refused(int rc, const char *argument)
{
    const dp_error *err = dp_ctx_error(ctx);

    ck_assert_int_eq(rc, DP_ENOTIMPL);
    ck_assert_msg(strstr(err->message, argument) && strstr(err->message, "bfloat16") &&
                      strstr(err->message, "plugin 'old'"),
                  "got: %s", err->message);
    ck_assert_int_eq(calls, 0);
}

START_TEST(tensors_numbers_and_lists_are_looked_at)
{
    dp_tensor *x = of_dtype(DP_BFLOAT16), *y = of_dtype(DP_FLOAT32);
    dp_tensor *all[] = {y, NULL, x};
    dp_value one = dp_tensor_value(x), list = dp_tensors(all, 3);

    refused(call("t::f", &one, 1), "argument 'self' (position 1)");
    refused(call("t::of", (dp_value[]){dp_tensor_value(y), dp_int(DP_BFLOAT16)}, 2),
            "argument 'd' (position 2)");
    refused(call("t::list", &list, 1), "argument 'all' (position 1)");
    list.len = 2;
    one = dp_tensor_value(y);
    ck_assert_int_eq(call("t::list", &list, 1), 0);
    ck_assert_int_eq(call("t::f", &one, 1), 0);
    ck_assert_int_eq(call("t::of", (dp_value[]){dp_tensor_value(y), dp_none()}, 2), 0);
    ck_assert_int_eq(calls, 3);
    dp_tensor_unref(x);
    dp_tensor_unref(y);
}
END_TEST

START_TEST(calls_with_c_types_are_looked_at)
{
    dp_tensor *x = of_dtype(DP_BFLOAT16), *y = of_dtype(DP_INT8), *out = NULL;

    refused(dp_invoke(ctx, "t::f", "T>T", x, &out), "argument 'self' (position 1)");
    ck_assert_int_eq(dp_invoke(ctx, "t::f", "T>T", y, &out), 0);
    ck_assert_ptr_eq(out, y);
    ck_assert_int_eq(calls, 1);
    dp_tensor_unref(out);
    dp_tensor_unref(x);
    dp_tensor_unref(y);
}
END_TEST

UNIT_SUITE(known)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, tensors_numbers_and_lists_are_looked_at);
    tcase_add_test(tc, calls_with_c_types_are_looked_at);
}
