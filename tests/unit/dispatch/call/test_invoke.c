/* test_invoke.c -- functions of api.h without what they need. */
#include "../calls.h"

START_TEST(null_where_it_is_forbidden_is_an_error)
{
    dp_arena *arena = dp_arena_new();
    dp_plugin_report report;
    const char *text;

    ck_assert_int_eq(dp_plugin_load(reg, "/x.so", NULL, NULL, &report, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_load: a is NULL");
    ck_assert_int_eq(dp_plugin_load(reg, "/x.so", NULL, arena, NULL, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_load: report is NULL");
    ck_assert_int_eq(dp_plugin_unload(reg, NULL, 0, false, NULL, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_unload: name is NULL");
    ck_assert_int_eq(dp_registry_dump(reg, NULL, &text, &err), DP_EVALUE);
    ck_assert_int_eq(dp_ctx_new(reg, NULL, &err), DP_EVALUE);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 0, NULL, NULL, NULL, &err), DP_EVALUE);
    ck_assert_int_eq(dp_empty_like(ctx, NULL, DP_DTYPE_NONE, DP_PRESERVE, NULL), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_empty_like: t is NULL");
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", NULL, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_invoke(ctx, NULL, "T>"), DP_EPLUGIN);
    ck_assert_int_eq(dp_iter_build(ctx, NULL, NULL), DP_EPLUGIN);
    dp_arena_free(arena);
}
END_TEST

static void no_range(int64_t begin, int64_t end, void *user)
{
    (void)begin, (void)end, (void)user;
}

/* Letters that stand for nothing, or for another list than is there: the error names the
 * operator. */
START_TEST(an_error_in_letters_names_the_operator)
{
    dp_tensor *out = NULL, *missing[] = {a, NULL};
    dp_value number;
#define REFUSED_CODE(call, code, text)                                                             \
    do {                                                                                           \
        ck_assert_int_eq(call, code);                                                              \
        ck_assert_str_eq(dp_ctx_error(ctx)->message, text);                                        \
    } while (0)

    attach_as("cpu", "CPU", first, NULL, 0);
    REFUSED_CODE(dp_invoke(ctx, "t::first", "Tx>T", a, b, &out), DP_ETYPE,
                 "t::first: argument 2 has no C type 'x>T' (the caller's code is 'Tx>T')");
    REFUSED_CODE(dp_invoke(ctx, "t::many", "lx>Ti", NULL, (size_t)0, &out, &number), DP_ETYPE,
                 "t::many: argument 1 has no C type 'lx>Ti' (the caller's code is 'lx>Ti')");
    REFUSED_CODE(dp_invoke(ctx, "t::many", "lT>Ti", missing, (size_t)2, &out, &number), DP_EPLUGIN,
                 "t::many: argument 1: a tensor in a list of 2 is NULL");
    REFUSED_CODE(dp_invoke(ctx, "t::many", "lT>Ti", NULL, (size_t)2, &out, &number), DP_EPLUGIN,
                 "t::many: argument 1: a list of 2 is NULL");
#undef REFUSED_CODE
}
END_TEST

static int given_n, given_items;
static int many(dp_call *call)
{
    given_items = (int)call->args[0].len;
    given_n = (int)call->args[1].u.i;
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.tensors[0]));
    call->rets[1] = dp_int(call->args[1].u.i + 1);
    return 0;
}

START_TEST(invoke_by_types)
{
    dp_item items[1] = {REC_IMPL("many", many)};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", items);
    dp_tensor *both[] = {b, a}, *out = NULL;
    int64_t number = 0;
    int times = 0;

    rec_attach(reg, "cpu_many", &block, 1);
    attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_int_eq(DP_INVOKE(ctx, "t::first", (T, T), (T), (times++, a), b, &out), 0);
    ck_assert_ptr_eq(out, a);
    ck_assert_int_eq(times, 1);
    dp_tensor_unref(out);
    ck_assert_int_eq(DP_INVOKE(ctx, "t::many", (lT, i), (T, i), both, 2, 0, &out, &number), 0);
    ck_assert_int_eq(given_items, 2);
    ck_assert_int_eq(given_n, 0); /* a plain 0, as an int64_t */
    ck_assert_int_eq(number, 1);
    ck_assert_ptr_eq(out, b);
    dp_tensor_unref(out);
    ck_assert_int_eq(DP_INVOKE(ctx, "t::many", (lT), (T, i), both, 1, &out, &number), 0);
    ck_assert_int_eq(given_n, 3); /* the default */
    dp_tensor_unref(out);
    ck_assert_int_eq(DP_INVOKE(ctx, "t::missing", (T), (T), a, &out), DP_ENOTFOUND);
}
END_TEST

/* What a kernel's author may leave out by mistake. */
START_TEST(null_from_a_kernel_is_an_error)
{
    static const int64_t sizes[1] = {2};
    dp_tensor *out = NULL;
    uint64_t id;
    dp_value v = dp_int(1);
#define REFUSED(call, text)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq(call, DP_EPLUGIN);                                                        \
        ck_assert_str_eq(dp_ctx_error(ctx)->message, text);                                        \
    } while (0)

    REFUSED(dp_empty(ctx, DP_FLOAT32, 0, 1, NULL, DP_CONTIGUOUS, &out), "dp_empty: sizes is NULL");
    REFUSED(dp_set_output(ctx, NULL, 1, sizes, NULL, DP_FLOAT32, 0), "dp_set_output: out is NULL");
    REFUSED(dp_set_output(ctx, &out, 1, NULL, NULL, DP_FLOAT32, 0), "dp_set_output: sizes is NULL");
    REFUSED(dp_parallel_for(ctx, 0, 1, 1, NULL, NULL), "dp_parallel_for: fn is NULL");
    REFUSED(dp_iter_run(ctx, NULL, NULL, NULL), "dp_iter_run: it is NULL");
    REFUSED(dp_thread_start(ctx, "t", NULL, NULL, &id), "dp_thread_start: fn is NULL");
    REFUSED(dp_value_copy(ctx, &v, NULL), "dp_value_copy: out is NULL");
    REFUSED(dp_schema_info_get(ctx, NULL, NULL), "dp_schema_info_get: out is NULL");
    REFUSED(dp_enter_with(ctx, NULL, (dp_keyset){0}, (dp_keyset){0}, NULL),
            "dp_enter_with: t is NULL");
    ck_assert_ptr_null(dp_op_find(ctx, NULL));
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_op_find: name is NULL");
    ck_assert_int_eq(dp_key_find(ctx, NULL), DP_KEY_Undefined);
    dp_value_free(NULL);
    ck_assert_int_eq(dp_parallel_for(ctx, INT64_MIN, INT64_MAX, 1, no_range, NULL), DP_EVALUE);
    ck_assert_int_eq(dp_fail(ctx, DP_ERUNTIME, NULL), DP_ERUNTIME);
#undef REFUSED
}
END_TEST

UNIT_SUITE(invoke)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, null_where_it_is_forbidden_is_an_error);
    tcase_add_test(tc, an_error_in_letters_names_the_operator);
    tcase_add_test(tc, invoke_by_types);
    tcase_add_test(tc, null_from_a_kernel_is_an_error);
}
