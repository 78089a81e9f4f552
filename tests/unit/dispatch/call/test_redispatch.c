/* test_redispatch.c -- redispatch below a key, and layers that are passed over. */
#include "../calls.h"

/* Kernels that ran since last asked. */
static uint64_t ran(void)
{
    static uint64_t before;
    dp_registry_stats now;

    dp_registry_stats_get(reg, &now);
    uint64_t n = now.calls - before;
    before = now.calls;
    return n;
}

START_TEST(call_redispatches_below_and_honours_guards)
{
    dp_keyset none = {0, 0}, autograd = {DPI_AUTOGRAD_BITS, 0};

    attach_as("cpu", "CPU", first, NULL, 0);
    attach_as("auto", "AutogradCPU", below, NULL, 0);
    ran();
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 2);
    ck_assert_uint_eq(dp_ctx_stats(ctx).n_calls, 1); /* a layer does not make it another call */
    int g = dp_guard_enter(ctx, none, autograd);
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 1);
    dp_guard_leave(ctx, g);
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 2);
}
END_TEST

/* As PyTorch has it for the layers that no plugin brings. */
START_TEST(call_passes_modes_over_that_nobody_serves)
{
    static const int modes[] = {DP_F_Tracer, DP_F_FuncTorchVmapMode, DP_F_VmapMode,
                                DP_F_AutocastCPU};
    dp_keyset none = {0, 0}, mode = {0, 0};

    attach_as("cpu", "CPU", first, NULL, 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        mode = dp_keyset_of(DP_KEY(modes[i]));
        int g = dp_guard_enter(ctx, mode, none);
        expect_tensor(a);
        dp_guard_leave(ctx, g);
    }
    mode.functionality = DPI_BIT(FuncTorchGradWrapper);
    dp_guard_enter(ctx, mode, none);
    expect_fail(DP_ENOTIMPL, "FuncTorchGradWrapper");
}
END_TEST

START_TEST(call_skips_fallthrough_kernels)
{
    dp_ctx_set_label(ctx, "session 12");
    attach_as("cpu", "CPU", second, NULL, 0);
    attach_as("skip", "AutogradCPU", NULL, NULL, DP_FLAG_FALLTHROUGH);
    expect_tensor(b);
    ck_assert_uint_eq(dp_ctx_stats(ctx).n_calls, 1);
}
END_TEST

UNIT_SUITE(redispatch)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_redispatches_below_and_honours_guards);
    tcase_add_test(tc, call_passes_modes_over_that_nobody_serves);
    tcase_add_test(tc, call_skips_fallthrough_kernels);
}
