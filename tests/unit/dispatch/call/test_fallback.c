/* test_fallback.c -- dp_fallback_cpu(): which calls it serves, and what is left when the CPU's
 * kernel or the device fails. */
#include "base/base.h"
#include "dispatch/records.h"
#include "../../../plugins/faulting_device.h"
#include <dispatchd/dispatch.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static int bit;
static dp_tensor *x;

/* fill_(Tensor(a!) self, int how) -> Tensor(a!): every byte 1; how 1: fails after that, 2:
 * refuses */
static int fill_(dp_call *call)
{
    DP_VIEW(v, call->args[0].u.t);

    ck_assert_int_eq(v.device, DP_DEVICE_CPU);
    if (call->args[1].u.i == 2)
        return dp_refuse(call->ctx, DP_EVALUE, "refused");
    memset(v.data, 1, (size_t)v.numel);
    return call->args[1].u.i == 1 ? dp_fail(call->ctx, DP_ERUNTIME, "failed") : 0;
}

/* make(Tensor self) -> Tensor: a new tensor of three bytes */
static int make(dp_call *call)
{
    dp_tensor *out;
    int64_t n = 3;
    int rc = dp_empty(call->ctx, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &out);

    if (rc == 0)
        call->rets[0] = dp_tensor_value(out);
    return rc;
}

static const dp_item defs[] = {
    REC_DEF("fill_(Tensor(a!) self, int how) -> Tensor(a!)"),
    REC_DEF("make(Tensor self) -> Tensor"),
    REC_DEF("none(Tensor self) -> Tensor"),
};
static const dp_item cpu[] = {REC_IMPL("fill_", fill_), REC_IMPL("make", make)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", cpu),
};
static const dp_block fallbacks[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 3, "_", "Dense", dp_fallback_cpu),
};

static dp_unit *fallback_unit;

static void setup(void)
{
    int64_t n = 4;

    ck_assert_int_eq(dpi_backend_register("unitnpu", "test", &faultdev_ops, &bit, &err), 0);
    reg = rec_registry();
    rec_attach(reg, "kernels", blocks, 2);
    fallback_unit = rec_attach(reg, "fallbacks", fallbacks, 1);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_empty(ctx, DP_UINT8, DP_DEVICE(bit, 1), 1, &n, DP_CONTIGUOUS, &x), 0);
}

static void teardown(void)
{
    faultdev.refuse = 0;
    dp_tensor_unref(x);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
    ck_assert_uint_eq(faultdev.live, 0);
    dpi_backend_unregister(bit);
}

static int call(const char *op, dp_tensor *t, int64_t how, dp_value *ret)
{
    dp_value args[] = {dp_tensor_value(t), dp_int(how)};

    return dp_call_boxed(ctx, dp_op_find(ctx, op), args, how < 0 ? 1 : 2, ret, 1);
}

static bool has_bytes(int byte)
{
    dp_tensor *host;
    int64_t n = 4;
    bool all = true;

    ck_assert_int_eq(dp_empty(ctx, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &host), 0);
    ck_assert_int_eq(dp_copy(ctx, host, x), 0);
    DP_VIEW(v, host);
    for (int i = 0; i < 4; i++)
        all &= ((char *)v.data)[i] == byte;
    dp_tensor_unref(host);
    return all;
}

START_TEST(a_kernel_of_the_cpu_writes_to_the_device)
{
    dp_value ret;
    uint64_t before = dp_tensor_version(x);

    ck_assert_int_eq(call("t::fill_", x, 0, &ret), 0);
    ck_assert_ptr_eq(ret.u.t, x);
    dp_values_release(&ret, 1);
    ck_assert(has_bytes(1));
    ck_assert_uint_eq(dp_tensor_version(x), before + 1);
    ck_assert_int_eq(call("t::make", x, -1, &ret), 0);
    DP_VIEW(v, ret.u.t);
    ck_assert_int_eq(v.device, DP_DEVICE(bit, 1));
    dp_values_release(&ret, 1);
}
END_TEST

/* Whether the kernel refused or wrote before it failed: it had a copy. */
START_TEST(a_kernel_that_fails_wrote_nothing)
{
    dp_value ret;
    uint64_t before = dp_tensor_version(x);

    for (int how = 1; how <= 2; how++) {
        ck_assert_int_eq(call("t::fill_", x, how, &ret), how == 1 ? DP_ERUNTIME : DP_EVALUE);
        ck_assert_uint_eq(dp_ctx_error(ctx)->written, 0);
        ck_assert_uint_eq(dp_tensor_version(x), before);
        ck_assert(!has_bytes(1));
    }
}
END_TEST

START_TEST(a_device_that_fails_is_named)
{
    dp_value ret;

    faultdev.refuse = DP_EBUSY;
    ck_assert_int_eq(call("t::fill_", x, 0, &ret), DP_EBUSY);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "unitnpu"));
    ck_assert_uint_eq(dp_ctx_error(ctx)->written, 0);
    ck_assert_int_eq(call("t::make", x, -1, &ret), DP_EBUSY);
}
END_TEST

/* The fallback of all backends is that of CPU and Meta, too; there it would call itself. */
START_TEST(it_serves_neither_cpu_nor_meta)
{
    const int devices[] = {DP_B_CPU, DP_B_Meta, bit};

    for (int i = 0; i < 3; i++) {
        dp_tensor *t;
        dp_value ret;
        int64_t n = 4;
        ck_assert_int_eq(
            dp_empty(ctx, DP_UINT8, DP_DEVICE(devices[i], 0), 1, &n, DP_CONTIGUOUS, &t), 0);
        ck_assert_int_eq(call("t::none", t, -1, &ret), DP_ENOTIMPL);
        ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "t::none"));
        dp_tensor_unref(t);
    }
    ck_assert_int_eq(dp_fallback_cpu(NULL), DP_EPLUGIN);
}
END_TEST

/* Only where the CPU has a kernel. */
START_TEST(errors_without_one_name_it)
{
    dp_value ret;

    rec_detach(reg, fallback_unit);
    ck_assert_int_eq(call("t::make", x, -1, &ret), DP_ENOTIMPL);
    ck_assert_str_eq(dp_ctx_error(ctx)->message,
                     "t::make: no kernel for unitnpu (the call's keys: unitnpu): "
                     "DP_FALLBACK(unitnpu, dp_fallback_cpu) in its plugin would run it on the CPU; "
                     "keys that have one: CPU");
    ck_assert_int_eq(call("t::none", x, -1, &ret), DP_ENOTIMPL);
    ck_assert_ptr_null(strstr(dp_ctx_error(ctx)->message, "dp_fallback_cpu"));
}
END_TEST

UNIT_SUITE(fallback)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, errors_without_one_name_it);
    tcase_add_test(tc, a_kernel_of_the_cpu_writes_to_the_device);
    tcase_add_test(tc, a_kernel_that_fails_wrote_nothing);
    tcase_add_test(tc, a_device_that_fails_is_named);
    tcase_add_test(tc, it_serves_neither_cpu_nor_meta);
}
