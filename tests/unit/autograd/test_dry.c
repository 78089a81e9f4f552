/* test_dry.c -- a dry backward: its sums, storages that stay, and failures. */
#include "graphs.h"
#include "tensor/meter.h"

static int keep_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc = dp_empty_like(call->ctx, call->args[0].u.t, DP_DTYPE_NONE, DP_PRESERVE, &out);

    return give(call, rc, out);
}
/* Redispatch to Meta, as plugin composite does for calls in fake mode. */
static int fake_kernel(dp_call *call)
{
    dp_keyset keys = dp_keyset_of(DP_KEY_OF(DP_F_Dense, DP_B_Meta));

    keys.backend |= call->keys.backend;
    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}
static const dp_item keep_defs[] = {
    REC_DEF("keep(Tensor self) -> Tensor"),
    REC_DEF("pass(Tensor grad, Tensor self) -> Tensor"),
};
static const dp_item keep_kernels[] = {
    REC_IMPL_FLAGS("keep", keep_kernel, DP_FLAG_META),
    REC_IMPL_FLAGS("pass", keep_kernel, DP_FLAG_META),
};
static const dp_item keep_formulas[] = {
    FORMULA("keep", "in grad Tensor\nin self Tensor\na = t::pass(grad, self)\nout self a\n"),
};
static const dp_block keep_blocks[] = {
    REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", "", keep_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", keep_kernels),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "AutogradFormula", keep_formulas),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 4, "_", "Fake", fake_kernel),
};
enum { BYTES = sizeof(float), MANY = 100 };

static void keeps_setup(void)
{
    graphs_setup();
    rec_attach(reg, "keeps", keep_blocks, DPI_COUNT(keep_blocks));
}

static dp_tensor *x, *one;

static int try_dry(dp_tensor *y, uint32_t flags, dp_backward_dry *out)
{
    const dp_backward_options o = {.size = sizeof(o),
                                   .flags = flags,
                                   .tensors = &y,
                                   .gradients = &one,
                                   .n = 1,
                                   .inputs = &x,
                                   .n_inputs = 1,
                                   .dry = out};

    *out = (dp_backward_dry){.size = sizeof(*out)};
    return dp_backward(ctx, &o);
}

/* Return the result of n calls of t::keep, whose results only the graph keeps. */
static dp_tensor *chain(int n)
{
    dp_tensor *y = dp_tensor_ref(x);

    for (int i = 0; i < n; i++) {
        dp_tensor *next = call1("t::keep", y);
        dp_tensor_unref(y);
        y = next;
    }
    return y;
}

START_TEST(many_storages)
{
    x = leaf(FLOATS(1)), one = floats(FLOATS(1));
    dp_tensor *y = chain(MANY);
    dp_backward_dry d;

    ck_assert_int_eq(try_dry(y, 0, &d), 0);
    ck_assert_uint_eq(d.saved_bytes, MANY * BYTES);
    /* the first step makes a gradient before it releases what it has read; the second has two */
    ck_assert_uint_eq(d.peak_bytes, (MANY + 1) * BYTES);
    ck_assert_uint_eq(d.n_ops, 1);
    ck_assert_str_eq(d.ops[0].op, "t::keep");
    ck_assert(d.ops[0].calls == MANY && d.ops[0].saved_bytes == MANY * BYTES && !d.ops[0].missing);
    ck_assert_int_eq(try_dry(y, DP_BACKWARD_RETAIN, &d), 0);
    ck_assert_uint_eq(d.peak_bytes, (MANY + 2) * BYTES);
    DROP(x, one, y);
}
END_TEST

START_TEST(storages_that_stay)
{
    dp_holder_limit limits[DP_HOLDERS];
    dp_error err = DP_ERROR_INIT;
    dp_account *a;
    dp_backward_dry d;

    for (int i = 0; i < DP_HOLDERS; i++)
        limits[i] = (dp_holder_limit){"n", "bytes", UINT64_MAX, UINT64_MAX};
    ck_assert_int_eq(dp_account_new(limits, &a, &err), 0);
    dp_ctx_set_account(ctx, a);
    x = leaf(FLOATS(1)), one = floats(FLOATS(1));
    dp_tensor *y = chain(1), *z = call1("t::keep", y);
    ck_assert_int_eq(try_dry(z, 0, &d), 0);
    ck_assert_uint_eq(d.peak_bytes, 3 * BYTES); /* x and y; then x, a gradient and another one */
    ck_assert_int_eq(dp_account_charge_tensor(a, DP_HOLDER_TENSORS, y, &err), 0);
    ck_assert_int_eq(try_dry(z, 0, &d), 0);
    ck_assert_uint_eq(d.peak_bytes, 4 * BYTES); /* y is not freed */
    dp_account_refund_tensor(a, DP_HOLDER_TENSORS, y);
    ck_assert_int_eq(try_dry(z, 0, &d), 0);
    ck_assert_uint_eq(d.peak_bytes, 3 * BYTES);
    DROP(x, one, y, z);
    dp_ctx_reset(ctx); /* its arena was charged, too */
    dp_ctx_set_account(ctx, NULL);
    dp_account_close(a);
}
END_TEST

START_TEST(graphs_without_calls)
{
    x = leaf(FLOATS(1)), one = floats(FLOATS(1));
    dp_tensor *y = chain(1);
    dp_backward_dry d;

    ck_assert_int_eq(try_dry(x, 0, &d), 0);
    ck_assert(d.peak_bytes == 0 && d.saved_bytes == 0 && d.n_ops == 0);
    ck_assert_int_eq(try_backward(y, one, 0), 0); /* releases what was saved */
    refused(try_dry(y, 0, &d), DP_ERUNTIME, "a second time");
    ck_assert_ptr_null(dpi_meter_use(NULL)); /* the thread's meter is what it was: none */
    DROP(x, one, y);
}
END_TEST

static dp_tensor *of_chain;

static int dry_chain(void)
{
    dp_backward_dry d;
    int rc = try_dry(of_chain, 0, &d);

    unit_each(dpi_meter_use(NULL) == NULL, "a meter is left");
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    x = leaf(FLOATS(1)), one = floats(FLOATS(1));
    of_chain = chain(3);
    ck_assert_uint_gt(each_allocation(dry_chain), 8);
    DROP(x, one, of_chain);
}
END_TEST

UNIT_SUITE(autograd_dry)
{
    tcase_add_checked_fixture(tc, keeps_setup, graphs_teardown);
    tcase_add_test(tc, many_storages);
    tcase_add_test(tc, storages_that_stay);
    tcase_add_test(tc, graphs_without_calls);
    tcase_add_test(tc, each_allocation_fails_once);
}
