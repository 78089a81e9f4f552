/* test_meta.c -- calls whose tensors have no memory. */
#include "dispatch/registry/dispatch_i.h"
#include "dispatch/records.h"

static dp_registry *reg;
static dp_unit *unit;
static dp_ctx *ctx;
static dp_tensor *m;
static dp_tensor_stats before;

static void touch(int64_t begin, int64_t end, void *user)
{
    (void)begin, (void)end;
    ++*(int *)user;
}

/* What a kernel that forgot to look for memory asks for. */
static int loops(dp_call *call)
{
    int touched = 0, rc = dp_parallel_for(call->ctx, 0, 1, 1, touch, &touched);

    ck_assert_int_eq(touched, 0);
    return rc;
}

static int draws(dp_call *call)
{
    uint64_t x;
    int rc = dp_generator_enter(call->ctx, NULL, DP_DEVICE_CPU);

    if (rc == 0)
        rc = dp_generator_u64(call->ctx, &x, 1);
    dp_generator_leave(call->ctx);
    return rc;
}

static const dp_item defs[] = {REC_DEF("loops(Tensor x) -> ()"), REC_DEF("draws(Tensor x) -> ()")};
static const dp_item impls[] = {REC_IMPL("loops", loops), REC_IMPL("draws", draws)};
static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
                                  REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "Meta", impls)};

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;
    int64_t sizes[] = {2, 3};

    dp_tensor_stats_get(&before);
    reg = rec_registry();
    unit = rec_attach(reg, "metal", blocks, DPI_COUNT(blocks));
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 2, sizes, NULL, &m, &err),
                     0);
}

static void teardown(void)
{
    dp_tensor_stats now;

    dp_tensor_unref(m);
    dp_ctx_free(ctx);
    if (unit != NULL)
        rec_detach(reg, unit);
    ck_assert_ptr_null(dp_registry_free(reg));
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.tensors, before.tensors);
    ck_assert_uint_eq(now.storages, before.storages);
}

static void fails(const char *op, dp_tensor *x, int code, const char *text)
{
    dp_value arg = dp_tensor_value(x), ret;

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, &ret, 0), code);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, text), "'%s' is not in '%s'", text,
                  dp_ctx_error(ctx)->message);
}

START_TEST(loops_over_bytes_that_are_not_there_are_the_plugins_fault)
{
    fails("t::loops", m, DP_EPLUGIN,
          "kernel of plugin 'metal' (t.c:7) asked for dp_parallel_for(), which works on "
          "bytes, and its tensors have no memory");
}
END_TEST

START_TEST(generators_do_not_advance)
{
    dp_generator *g;
    dp_error err = DP_ERROR_INIT;

    ck_assert_int_eq(dp_generators_get(reg->generators, DP_DEVICE_CPU, &g, &err), 0);
    size_t n = dp_generator_state_bytes(g);
    char *old = malloc(n), *new = malloc(n);
    dp_generator_state_get(g, old);
    fails("t::draws", m, DP_EPLUGIN, "a draw for tensors that have no memory");
    dp_generator_state_get(g, new);
    ck_assert_mem_eq(old, new, n);
    free(old);
    free(new);
    dp_generator_unref(g);
}
END_TEST

UNIT_SUITE(meta)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, loops_over_bytes_that_are_not_there_are_the_plugins_fault);
    tcase_add_test(tc, generators_do_not_advance);
}
