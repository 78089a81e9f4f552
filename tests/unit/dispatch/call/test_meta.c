/* test_meta.c -- calls whose tensors have no memory. */
#include "../../alive.h"
#include "dispatch/call/ctx.h"
#include "dispatch/records.h"

static dp_registry *reg;
static dp_unit *unit;
static dp_ctx *ctx;
static dp_tensor *m;

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

/* Says in which way it was called: 1 without memory, 0 with. */
static int asks(dp_call *call)
{
    call->rets[0] = dp_int(dp_memoryless(call->ctx));
    return 0;
}
static int composite(dp_call *call)
{
    call->rets[0] = dp_int(2);
    return 0;
}

static const dp_item defs[] = {REC_DEF("loops(Tensor x) -> ()"), REC_DEF("draws(Tensor x) -> ()"),
                               REC_DEF("asks(Tensor x) -> int"), REC_DEF("both(Tensor x) -> int")};
static const dp_item impls[] = {REC_IMPL("loops", loops), REC_IMPL("draws", draws)};
static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
                                  REC_BLOCK(DP_BLOCK_IMPL, 7, "t", "Meta", impls)};

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;
    int64_t sizes[] = {2, 3};

    alive_begin();
    reg = rec_registry();
    unit = rec_attach(reg, "metal", blocks, DPI_COUNT(blocks));
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 2, sizes, NULL, &m, &err),
                     0);
}

static void teardown(void)
{
    dp_tensor_unref(m);
    dp_ctx_free(ctx);
    if (unit != NULL)
        rec_detach(reg, unit);
    ck_assert_ptr_null(dp_registry_free(reg));
    alive_end();
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

/* -- which kernels serve Meta -- */

static const dp_item flagged[] = {REC_IMPL_FLAGS("asks", asks, DP_FLAG_META)};
static const dp_item plain[] = {REC_IMPL("asks", asks)};
static const dp_item both[] = {REC_IMPL_FLAGS("both", asks, DP_FLAG_META)};
static const dp_item composites[] = {REC_IMPL_FLAGS("both", composite, DP_FLAG_META)};

static dp_unit *attach(const char *plugin, const char *key, const dp_item *items)
{
    dp_block b = {.size = sizeof(b),
                  .kind = DP_BLOCK_IMPL,
                  .line = 9,
                  .n_items = 1,
                  .item_size = sizeof(dp_item),
                  .file = "t.c",
                  .ns = "t",
                  .key = key,
                  .items = items};

    return rec_attach(reg, plugin, &b, 1);
}

static int64_t answer(const char *op, dp_tensor *x)
{
    dp_value arg = dp_tensor_value(x), ret;

    ck_assert_msg(dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, &ret, 1) == 0, "%s",
                  dp_ctx_error(ctx)->message);
    return ret.u.i;
}

static void refused(const char *op, const char *text)
{
    dp_value arg = dp_tensor_value(m), ret;

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, &ret, 1), DP_ENOTIMPL);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, text), "'%s' is not in '%s'", text,
                  dp_ctx_error(ctx)->message);
}

START_TEST(kernels_of_cpu_serve_meta_if_they_say_so)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x;
    dp_unit *cpu = attach("cpu", "CPU", flagged);

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &x, &err), 0);
    ck_assert_int_eq(answer("t::asks", x), 0);
    ck_assert_int_eq(answer("t::asks", m), 1);
    dp_unit *newer = attach("newer", "CPU", plain); /* it is this one that CPU has now */
    ck_assert_int_eq(answer("t::asks", x), 0);
    refused("t::asks", "t::asks: no kernel for Meta (the call's keys: Meta): the one for CPU needs "
                       "the bytes of its tensors; keys that have one: CPU");
    rec_check(reg);
    rec_detach(reg, newer);
    ck_assert_int_eq(answer("t::asks", m), 1);
    rec_detach(reg, cpu);
    refused("t::asks",
            "t::asks: no kernel for Meta (the call's keys: Meta); keys that have one: none");
    rec_check(reg);
    dp_tensor_unref(x);
}
END_TEST

/* As if it were registered for Meta: it comes before composite ones, and an implicit one does not
 * stand above it, whichever came first. */
START_TEST(such_kernels_stand_where_kernels_of_meta_would)
{
    const char *const aliases[] = {"CompositeExplicitAutograd", "CompositeImplicitAutograd"};

    for (size_t i = 0; i < 2 * DPI_COUNT(aliases); i++) {
        dp_unit *alias = i % 2 ? attach("all", aliases[i / 2], composites) : NULL;
        if (alias)
            ck_assert_int_eq(answer("t::both", m), 2);
        dp_unit *cpu = attach("cpu", "CPU", both);
        if (!alias)
            alias = attach("all", aliases[i / 2], composites);
        ck_assert_int_eq(answer("t::both", m), 1);
        rec_check(reg);
        rec_detach(reg, cpu);
        rec_detach(reg, alias);
    }
}
END_TEST

static int composite_unboxed(dp_ctx *c, dp_tensor *x, int64_t *out)
{
    (void)c, (void)x;
    *out = 3;
    return 0;
}
static const dp_item wary[] = {REC_IMPL_UNBOXED("both", composite, composite_unboxed, "T>i", 0)};
static const dp_item decomposes[] = {REC_IMPL("both", dp_decompose)};

/* Boxed, typed and in place of another kernel; where there is memory it runs like any other. */
START_TEST(a_composite_kernel_without_the_flag_gets_no_tensor_without_memory)
{
    static const char text[] =
        "the kernel for CompositeExplicitAutograd (plugin 'all', t.c:9) has no "
        "DP_FLAG_META, so it may read bytes, and in this call tensors have none";
    dp_error err = DP_ERROR_INIT;
    dp_tensor *x;
    dp_typed t;
    dp_entered entered;
    dp_unit *all = attach("all", "CompositeExplicitAutograd", wary);

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &x, &err), 0);
    ck_assert_int_eq(dp_typed_init(ctx, "t::both", "T>i", &t), 0);
    for (int i = 0; i < 3; i++) { /* what the context keeps of one is not for the other */
        refused("t::both", text);
        ck_assert_int_eq(dp_enter(ctx, &t, dp_tensor_keys(m), &entered), DP_ENOTIMPL);
        ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, text));
        ck_assert_int_eq(answer("t::both", x), 2);
        ck_assert_int_eq(dp_enter(ctx, &t, dp_tensor_keys(x), &entered), 0);
        ck_assert_ptr_eq((void *)entered.unboxed, (void *)composite_unboxed);
        ck_assert_int_eq(dp_leave(ctx, &entered, 0), 0);
    }
    dp_unit *above = attach("meta", "Meta", decomposes);
    refused("t::both", text);
    rec_check(reg);
    rec_detach(reg, above);
    rec_detach(reg, all);
    dp_tensor_unref(x);
}
END_TEST

START_TEST(explain_and_dump_tell_where_the_kernel_is_from)
{
    dp_value arg = dp_tensor_value(m);
    dp_explanation x;
    dp_bound b;
    dp_unit *cpu = attach("cpu", "CPU", flagged);

    ck_assert_int_eq(dp_bind(ctx, "t::asks", &arg, 1, NULL, 0, &b), 0);
    ck_assert_int_eq(dp_explain(ctx, &b, dp_ctx_arena(ctx), &x), 0);
    ck_assert_str_eq(x.path[0].provenance, "cpu kernel without memory");
    ck_assert_str_eq(x.path[0].from.plugin, "cpu");
    ck_assert_str_eq(x.path[0].why, "highest key that is not fallthrough; Meta has no kernel of "
                                    "its own; the one for CPU needs no memory");
    char *dump = rec_dump(reg);
    ck_assert_ptr_nonnull(strstr(dump, "  CPU: cpu t.c:9 [without memory, too]\n"));
    ck_assert_ptr_nonnull(strstr(dump, "  > cpu kernel without memory, cpu t.c:9: Meta\n"));
    free(dump);
    rec_detach(reg, cpu);
}
END_TEST

START_TEST(the_flag_is_for_kernels_of_cpu)
{
    dp_block b = REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "Meta", flagged);
    dp_error err = DP_ERROR_INIT;
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &b, 1, &u, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message,
                     "kernel 'asks' at t.c:3: DP_FLAG_META is for kernels of CPU, which "
                     "then serve Meta, too, and for composite ones");
    b = (dp_block)REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "Meta", plain);
    b.flags = DP_FLAG_META; /* what DP_LIBRARY_META writes */
    ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &b, 1, &u, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message,
                     "kernel 'asks' at t.c:3: DP_LIBRARY_META is for kernels of CPU, which "
                     "then serve Meta, too, and for composite ones");
    b.flags = DP_FLAG_GRAD;
    ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &b, 1, &u, &err), DP_EPLUGIN);
    ck_assert_str_eq(err.message, "kernel 'asks' at t.c:3: DP_LIBRARY_GRAD is for layers, and this "
                                  "key is no layer's");
}
END_TEST

/* DP_LIBRARY_VIEWS for a backend: its kernels make their views, and need not serve Meta. */
START_TEST(views_are_for_any_backend)
{
    dp_block b = REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "CUDA", plain);

    b.flags = DP_FLAG_META | DP_FLAG_VIEWS;
    dp_unit *u = rec_attach(reg, "views", &b, 1);
    char *dump = rec_dump(reg);
    ck_assert_ptr_nonnull(strstr(dump, "  CUDA: views t.c:3 [makes its views]\n"));
    free(dump);
    rec_detach(reg, u);
    b.key = "CPU";
    u = rec_attach(reg, "views", &b, 1);
    dump = rec_dump(reg);
    ck_assert_ptr_nonnull(
        strstr(dump, "  CPU: views t.c:3 [without memory, too] [makes its views]\n"));
    free(dump);
    rec_detach(reg, u);
}
END_TEST

UNIT_SUITE(meta)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, loops_over_bytes_that_are_not_there_are_the_plugins_fault);
    tcase_add_test(tc, generators_do_not_advance);
    tcase_add_test(tc, kernels_of_cpu_serve_meta_if_they_say_so);
    tcase_add_test(tc, such_kernels_stand_where_kernels_of_meta_would);
    tcase_add_test(tc, a_composite_kernel_without_the_flag_gets_no_tensor_without_memory);
    tcase_add_test(tc, explain_and_dump_tell_where_the_kernel_is_from);
    tcase_add_test(tc, the_flag_is_for_kernels_of_cpu);
    tcase_add_test(tc, views_are_for_any_backend);
}
