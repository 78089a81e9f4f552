/* test_wrapped.c -- kernels that may want bytes get no tensor without them. */
#include "fakes.h"

static int touches(dp_call *call)
{
    DP_VIEW(v, call->args[0].u.t);
    *(float *)v.data = 1;
    return 0;
}

START_TEST(kernels_that_say_nothing_never_get_one)
{
    static const dp_item def[] = {REC_DEF("touches(Tensor x) -> ()")};
    static const dp_item impl[] = {REC_IMPL("touches", touches)};
    static const dp_block b[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "mine", "", def),
                                 REC_BLOCK(DP_BLOCK_IMPL, 2, "mine", "CPU", impl)};
    dp_unit *mine = rec_attach(reg, "mine", b, 2);
    dp_tensor *f = fake_of(x);

    OK(dp_invoke(ctx, "mine::touches", "T>", x));
    failed(dp_invoke(ctx, "mine::touches", "T>", f), DP_ENOTIMPL,
           "mine::touches: no kernel for Meta");
    rec_detach(reg, mine);
    dp_tensor_unref(f);
}
END_TEST

/* Leaves out all but the kernel for CPU, as a layer might that knows no fakes. */
static int goes_straight_down(dp_call *call)
{
    dp_keyset keys = {DPI_BIT(Dense), DP_BBIT(DP_B_CPU)};
    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}

START_TEST(not_by_redispatch_either)
{
    static const dp_item def[] = {REC_DEF("touches(Tensor x) -> ()")};
    static const dp_item impl[] = {REC_IMPL("touches", touches)};
    static const dp_item layer[] = {REC_IMPL("touches", goes_straight_down)};
    static const dp_block b[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "mine", "", def),
                                 REC_BLOCK(DP_BLOCK_IMPL, 2, "mine", "CPU", impl),
                                 REC_BLOCK(DP_BLOCK_IMPL, 3, "mine", "AutogradCPU", layer),
                                 REC_BLOCK(DP_BLOCK_IMPL, 4, "mine", "AutogradMeta", layer)};
    dp_unit *mine = rec_attach(reg, "mine", b, DPI_COUNT(b));
    dp_tensor *f = fake_of(x), *m;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 0, NULL, NULL, &m, &err),
                     0);
    OK(dp_invoke(ctx, "mine::touches", "T>", x));
    failed(dp_invoke(ctx, "mine::touches", "T>", f), DP_ENOTIMPL,
           "mine::touches: no kernel for Meta");
    failed(dp_invoke(ctx, "mine::touches", "T>", m), DP_ENOTIMPL,
           "mine::touches: no kernel for Meta");
    rec_detach(reg, mine);
    dp_tensor_unref(m);
    dp_tensor_unref(f);
}
END_TEST

UNIT_SUITE(wrapped)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, kernels_that_say_nothing_never_get_one);
    tcase_add_test(tc, not_by_redispatch_either);
}
