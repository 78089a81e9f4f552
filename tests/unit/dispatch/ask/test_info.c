/* test_info.c -- answers about operators, keys and figures. */
#include "asked.h"

static const dp_cell_info *cell(const dp_op_info *op, const char *key)
{
    for (uint32_t i = 0; i < op->n_cells; i++)
        if (op->cells[i].key == dp_key_parse(key))
            return &op->cells[i];
    ck_abort_msg("no cell for %s", key);
    return NULL;
}

START_TEST(describe)
{
    dp_op_info op;

    ck_assert_int_eq(dp_registry_describe(reg, "t::f.a", arena, &op, &err), 0);
    ck_assert_str_eq(op.name, "t::f.a");
    ck_assert_str_eq(op.schema, "t::f.a(Tensor(a!) x, int[2] n=3, *, str s=\"q\") -> Tensor(a!)");
    ck_assert_str_eq(op.tags, "core pointwise");
    ck_assert_str_eq(op.defined_by.plugin, "definer");
    ck_assert_str_eq(op.defined_by.file, "t.c");
    ck_assert_uint_eq(op.defined_by.line, 1);
    ck_assert_uint_eq(op.n_args, 3);
    ck_assert_str_eq(op.args[0].type, "Tensor(a!)");
    ck_assert_ptr_eq(op.args[0].default_value, NULL);
    ck_assert(op.args[0].written && !op.args[0].kwarg_only);
    ck_assert_str_eq(op.args[1].name, "n");
    ck_assert_str_eq(op.args[1].default_value, "3");
    ck_assert_str_eq(op.args[2].default_value, "\"q\"");
    ck_assert(!op.args[2].written && op.args[2].kwarg_only);
    ck_assert_uint_eq(op.n_rets, 1);
    ck_assert_uint_eq(op.n_kernels, 2);
    ck_assert_str_eq(op.kernels[0].from.plugin, "others");
    ck_assert(op.kernels[0].active && !op.kernels[1].active);
    ck_assert_ptr_eq(cell(&op, "CPU")->kernel, &op.kernels[0]);
    ck_assert_str_eq(cell(&op, "Meta")->provenance, "missing");
    ck_assert_ptr_eq(cell(&op, "Meta")->kernel, NULL);
    ck_assert_str_eq(cell(&op, "Tracer")->provenance, "fallthrough");
    ck_assert_str_eq(cell(&op, "Tracer")->kernel->from.plugin, "(built in)");
    ck_assert_str_eq(cell(&op, "Batched")->provenance, "backend fallback");
    ck_assert(cell(&op, "Batched")->kernel->fallthrough);
    ck_assert_uint_eq(op.calls, 0);
}
END_TEST

/* Every runtime key of the backends alive once, Undefined first; AutocastNamed of named ones only.
 */
START_TEST(cells_cover_every_key)
{
    char name[DP_KEY_NAME_MAX];
    const dp_key *keys;
    dp_op_info op;

    ck_assert_int_eq(dp_registry_describe(reg, "t::g", arena, &op, &err), 0);
    ck_assert_uint_eq(op.n_cells, DPI_SLOTS(1) - DPI_COLUMNS_BUILTIN - DP_LIMIT_KINDS);
    ck_assert_uint_eq(op.cells[0].key, DP_KEY_Undefined);
    for (uint32_t i = 1; i < op.n_cells; i++)
        ck_assert_uint_gt(dpi_key_slot(op.cells[i].key), dpi_key_slot(op.cells[i - 1].key));
    size_t n = dp_registry_keys(reg, arena, &keys);
    ck_assert_uint_eq(n, op.n_cells + (DP_ALIAS_END - DP_ALIAS_FIRST));
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(dp_key_parse(dp_key_name(keys[i], name)), keys[i]);
    for (uint32_t i = 0; i < op.n_cells; i++)
        ck_assert_uint_eq(op.cells[i].key, keys[i]);
}
END_TEST

START_TEST(describe_what_is_not_there)
{
    dp_op_info op;

    ck_assert_int_eq(dp_registry_describe(reg, "t::f", arena, &op, &err), DP_ENOTFOUND);
    ck_assert_str_eq(err.message, "operator 't::f' has no overload ''; it has 't::f.a'");
    ck_assert_int_eq(dp_registry_describe(reg, "t::gg", arena, &op, &err), DP_ENOTFOUND);
    ck_assert_msg(strstr(err.message, "'t::g'") != NULL, "%s", err.message);
    ck_assert_int_eq(dp_registry_describe(reg, "t::h", arena, &op, &err), 0);
    ck_assert_ptr_eq(op.schema, NULL);
}
END_TEST

static const struct {
    dp_list_filter filter;
    const char *want;
} lists[] = {
    {{.ns = NULL}, "t::f.a t::g t::h "},
    {{.ns = "t"}, "t::f.a t::g t::h "},
    {{.ns = "tt"}, ""},
    {{.match = "f."}, "t::f.a "},
    {{.key = "CPU"}, "t::f.a "},
    {{.key = "CompositeImplicitAutograd"}, "t::g "},
    {{.key = "npu"}, "t::h "},
    {{.plugin = "others"}, "t::f.a t::h "},
    {{.plugin = "definer"}, "t::f.a t::g "},
    {{.dangling = true}, "t::h "},
};

START_TEST(list)
{
    const char *const *names = NULL;
    dpi_text t = {0};
    size_t n = 0;

    dpi_text_add(&t, "");
    ck_assert_int_eq(dp_registry_list(reg, &lists[_i].filter, arena, &names, &n, &err), 0);
    for (size_t i = 0; i < n; i++)
        dpi_text_printf(&t, "%s ", names[i]);
    ck_assert_str_eq(t.s ? t.s : "", lists[_i].want);
    dpi_text_fini(&t);
}
END_TEST

START_TEST(list_by_a_key_unknown)
{
    const dp_list_filter filter = {.key = "Nowhere"};
    const char *const *names;
    size_t n;

    ck_assert_int_eq(dp_registry_list(reg, &filter, arena, &names, &n, &err), DP_ENOTFOUND);
    ck_assert_str_eq(err.message,
                     "no dispatch key 'Nowhere'; nearest: 'Named', 'Tracer', 'Python'");
}
END_TEST

static const char *const ops[] = {"t::f.a", "t::g"};
static const char *const columns[] = {"CPU", "Meta", "AutogradCPU", "Undefined"};

static void expect_table(const dp_what_if *with, size_t n_with, const char *want)
{
    dp_key keys[DPI_COUNT(columns)];
    const char **cells = NULL;
    dpi_text t = {0};

    for (size_t i = 0; i < DPI_COUNT(columns); i++)
        keys[i] = dp_key_parse(columns[i]);
    ck_assert_msg(dp_registry_table(reg, ops, 2, keys, DPI_COUNT(keys), with, n_with, arena, &cells,
                                    &err) == 0,
                  "%s", err.message);
    for (size_t i = 0; i < 2 * DPI_COUNT(keys); i++)
        dpi_text_printf(&t, "%s%s", cells[i], (i + 1) % DPI_COUNT(keys) ? ", " : "\n");
    ck_assert_str_eq(t.s, want);
    dpi_text_fini(&t);
}

START_TEST(table)
{
    const dp_what_if one[] = {{"t::g", "CPU"}};
    const dp_what_if more[] = {
        {"t::f.a", "CompositeImplicitAutograd"}, {"t::g", "CPU"}, {"t::g", "Autograd"}};
    char *before = rec_dump(reg);

    expect_table(NULL, 0,
                 "kernel, missing, fallthrough, missing\n"
                 "math kernel, math kernel, math kernel, math kernel\n");
    expect_table(one, 1,
                 "kernel, missing, fallthrough, missing\n"
                 "kernel, math kernel, fallthrough, math kernel\n");
    expect_table(more, 3,
                 "kernel, math kernel, fallthrough, math kernel\n"
                 "kernel, math kernel, autograd kernel, math kernel\n");
    rec_same(reg, before); /* only asked */
}
END_TEST

START_TEST(table_refuses)
{
    const dp_key cpu_key = dp_key_parse("CPU"), alias = DP_KEY(DP_ALIAS_Autograd);
    const dp_what_if unknown = {"t::g", "Nowhere"}, other = {"t::h", "CPU"},
                     undefined = {"t::g", "Undefined"};
    const char *const missing[] = {"t::nothing"};
    const char **cells;

    ck_assert_int_eq(dp_registry_table(reg, missing, 1, &cpu_key, 1, NULL, 0, arena, &cells, &err),
                     DP_ENOTFOUND);
    ck_assert_int_eq(dp_registry_table(reg, ops, 2, &alias, 1, NULL, 0, arena, &cells, &err),
                     DP_EVALUE);
    ck_assert_int_eq(dp_registry_table(reg, ops, 2, &cpu_key, 1, &unknown, 1, arena, &cells, &err),
                     DP_ENOTFOUND);
    ck_assert_int_eq(dp_registry_table(reg, ops, 2, &cpu_key, 1, &other, 1, arena, &cells, &err),
                     DP_EVALUE);
    ck_assert_int_eq(
        dp_registry_table(reg, ops, 2, &cpu_key, 1, &undefined, 1, arena, &cells, &err), DP_EVALUE);
}
END_TEST

START_TEST(stats)
{
    dp_registry_stats s, then;

    dp_registry_stats_get(reg, &s);
    ck_assert_uint_eq(s.plugins, 4);
    ck_assert_uint_eq(s.draining, 0);
    ck_assert_uint_eq(s.ops, 3);
    ck_assert_uint_eq(s.kernels, 4);
    ck_assert_uint_eq(s.backends, 1);
    ck_assert_uint_eq(s.calls, 0);
    rec_detach(reg, rec_attach(reg, "more", definer, 0));
    dp_registry_stats_get(reg, &then);
    ck_assert_uint_eq(then.snapshots, s.snapshots + 2); /* one each */
}
END_TEST

static int ask_describe(dp_arena *a)
{
    return dp_registry_describe(reg, "t::f.a", a, &(dp_op_info){0}, &err);
}
static int ask_dump(dp_arena *a)
{
    return dp_registry_dump(reg, a, &(const char *){0}, &err);
}
static int ask_check(dp_arena *a)
{
    const char *const *lines;
    size_t n;
    return dp_registry_check(reg, a, &lines, &n, &err);
}
static int ask_list(dp_arena *a)
{
    const char *const *names;
    size_t n;
    return dp_registry_list(reg, NULL, a, &names, &n, &err);
}
static int ask_table(dp_arena *a)
{
    const dp_key key = DP_KEY_OF(DP_F_Dense, DP_B_CPU);
    const dp_what_if with = {"t::g", "CPU"};
    const char **cells;
    return dp_registry_table(reg, ops, 2, &key, 1, &with, 1, a, &cells, &err);
}
static int ask_keys(dp_arena *a)
{
    const dp_key *keys;
    return dp_registry_keys(reg, a, &keys) > 0 ? 0 : DP_ERESOURCE;
}

static int ask_calls(dp_arena *a)
{
    const dp_op_calls *rows;
    size_t n;
    return dp_registry_calls(reg, a, &rows, &n, &err);
}

static int (*const questions[])(dp_arena *a) = {ask_describe, ask_dump, ask_check, ask_list,
                                                ask_table,    ask_keys, ask_calls};

START_TEST(asking_without_memory)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        dp_arena *cold = dp_arena_new();
        dp_fault_arm(n);
        int rc = questions[_i](cold);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : 0), "allocation %llu: %d", (unsigned long long)n,
                      rc);
        dp_arena_free(cold);
        rec_same(reg, strdup(expected_dump));
    }
}
END_TEST

UNIT_SUITE(info)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, describe);
    tcase_add_test(tc, cells_cover_every_key);
    tcase_add_test(tc, describe_what_is_not_there);
    tcase_add_loop_test(tc, list, 0, DPI_COUNT(lists));
    tcase_add_test(tc, list_by_a_key_unknown);
    tcase_add_test(tc, table);
    tcase_add_test(tc, table_refuses);
    tcase_add_test(tc, stats);
    tcase_add_loop_test(tc, asking_without_memory, 0, DPI_COUNT(questions));
}
