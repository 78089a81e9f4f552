/* test_dump.c -- what can be asked of a registry: dump, check, describe, list, table, keys,
 * figures. */
#include "dispatch/records.h"

static dp_registry *reg;
static dp_arena *arena;
static dp_error err;

static const dp_item schemas[] = {
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "f.a(Tensor(a!) x, int[2] n=3, *, str s=\"q\") -> Tensor(a!)",
     .tags = "core pointwise"},
    REC_DEF("g(Tensor x) -> Tensor"),
};
static const dp_item composite[] = {REC_IMPL("g", rec_kernel)};
static const dp_item cpu[] = {REC_IMPL("f.a", rec_kernel)};
static const dp_item dangling[] = {REC_IMPL("h", rec_kernel)};

static const dp_block definer[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", schemas)};
static const dp_block kernels[] = {
    REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CPU", cpu),
    REC_BLOCK(DP_BLOCK_IMPL, 11, "t", "CompositeImplicitAutograd", composite)};
static const dp_block others[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 20, "npu", "", NULL),
                                  REC_BLOCK(DP_BLOCK_IMPL, 21, "t", "npu", dangling),
                                  REC_BLOCK(DP_BLOCK_IMPL, 22, "t", "CPU", cpu)};
static const dp_block fallback[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, 30, "_", "Batched", NULL)};

static void setup(void)
{
    err = (dp_error)DP_ERROR_INIT;
    arena = dp_arena_new();
    reg = rec_registry();
    rec_attach(reg, "definer", definer, DPI_COUNT(definer));
    rec_attach(reg, "kernels", kernels, DPI_COUNT(kernels));
    rec_attach(reg, "others", others, DPI_COUNT(others));
    rec_attach(reg, "falls", fallback, DPI_COUNT(fallback));
}

static void teardown(void)
{
    dp_registry_free(reg);
    dp_arena_free(arena);
}

static const char expected_dump[] =
    "plugins:\n"
    "  definer 1.0\n"
    "  falls 1.0\n"
    "  kernels 1.0\n"
    "  others 1.0\n"
    "\n"
    "backends:\n"
    "  npu: others t.c:20, memory: host\n"
    "\n"
    "libraries:\n"
    "  t: definer t.c:1\n"
    "\n"
    "fallbacks:\n"
    "  Batched: falls t.c:30 [fallthrough]\n"
    "\n"
    "host's fallthroughs: BackendSelect, ADInplaceOrView, AutogradOther, Autograd*, "
    "AutogradNestedTensor, Tracer, AutocastCPU, AutocastMTIA, AutocastMAIA, AutocastXPU, "
    "AutocastIPU, "
    "AutocastHPU, AutocastXLA, AutocastMPS, AutocastCUDA, AutocastPrivateUse1, Autocastnpu, "
    "FuncTorchVmapMode, VmapMode\n"
    "\n"
    "t::f.a\n"
    "  schema: t::f.a(Tensor(a!) x, int[2] n=3, *, str s=\"q\") -> Tensor(a!)\n"
    "  tags: core pointwise\n"
    "  defined: definer t.c:1\n"
    "  CPU: others t.c:22\n"
    "  CPU (inactive): kernels t.c:10\n"
    "  > kernel, others t.c:22: CPU\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n"
    "t::g\n"
    "  schema: t::g(Tensor x) -> Tensor\n"
    "  defined: definer t.c:1\n"
    "  CompositeImplicitAutograd[alias]: kernels t.c:11\n"
    "  > math kernel, kernels t.c:11: Undefined, Dense*, FPGA, Vulkan, Metal, Quantized*, "
    "CustomRNGKeyId, MkldnnCPU, Sparse*, SparseCsr*, NestedTensor*, Functionalize, AutogradOther, "
    "Autograd*, AutogradNestedTensor\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n"
    "t::h\n"
    "  schema: (none)\n"
    "  npu: others t.c:21\n"
    "  > kernel, others t.c:21: npu\n"
    "  > backend fallback, falls t.c:30 [fallthrough]: Batched\n";

START_TEST(dump)
{
    char *text = rec_dump(reg);
    ck_assert_str_eq(text, expected_dump);
    free(text);
}
END_TEST

/* -- check finds what is wrong -- */

/* How the current snapshot of t::f.a is broken, and what check must say. */
static void wrong_cell(dpi_entry *e)
{
    e->table[dpi_key_slot(DP_KEY_OF(DP_F_Dense, DP_B_CPU))] = DPI_CELL_MISSING;
}
static void wrong_provenance(dpi_entry *e)
{
    e->provenance[0] = DPI_P_MATH;
}
static void wrong_mask(dpi_entry *e)
{
    e->mask[3] ^= DP_FBIT(DP_F_Tracer);
}
static void wrong_even_mask(dpi_entry *e)
{
    e->mask[2] ^= DP_FBIT(DP_F_Tracer);
}
static void wrong_schema(dpi_entry *e)
{
    e->schema = NULL;
}
static void wrong_room(dpi_entry *e)
{
    e->n_slots = DPI_SLOTS(0);
}

static const struct {
    void (*harm)(dpi_entry *e);
    const char *says;
} broken[] = {
    {wrong_cell, "t::f.a: table of CPU says kernel (:0), its registrations say kernel (t.c:22)"},
    {wrong_provenance, "t::f.a: table of Undefined says math kernel"},
    {wrong_mask,
     "t::f.a: Tracer is passed over by its table, but kept by its mask with the skip bit"},
    {wrong_even_mask,
     "t::f.a: Tracer is passed over by its table, but kept by its mask without the skip bit"},
    {wrong_schema, "t::f.a: the snapshot's schema is not the one defined"},
    {wrong_room, "t::f.a: its table has no room for backend npu"},
};

START_TEST(check_names_what_is_wrong)
{
    const dpi_snapshot *s = dpi_snapshot_get(reg);
    const char *const *lines = NULL;
    size_t n = 0;

    rec_check(reg);
    dpi_entry *e = (dpi_entry *)(uintptr_t)dpi_snapshot_find(s, "t::f.a", strlen("t::f.a"));
    dpi_entry good = *e;
    uint16_t table[DPI_SLOTS_MAX];
    uint8_t provenance[DPI_SLOTS_MAX];
    memcpy(table, e->table, e->n_slots * sizeof(*table));
    memcpy(provenance, e->provenance, e->n_slots);
    const uint64_t masks[] = {e->mask[2], e->mask[3]};

    broken[_i].harm(e);
    ck_assert_int_eq(dp_registry_check(reg, arena, &lines, &n, &err), 0);
    *e = good;
    memcpy(e->table, table, e->n_slots * sizeof(*table));
    memcpy(e->provenance, provenance, e->n_slots);
    memcpy(&e->mask[2], masks, sizeof(masks));
    dpi_snapshot_put(s);
    ck_assert_uint_gt(n, 0);
    ck_assert_msg(strstr(lines[0], broken[_i].says) == lines[0], "'%s' is not '%s'", lines[0],
                  broken[_i].says);
    rec_check(reg);
}
END_TEST

/* -- describe -- */

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
    ck_assert_uint_eq(op.n_cells, DPI_SLOTS(1) - DPI_COLUMNS_BUILTIN);
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

/* -- list -- */

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

/* -- table and what-if -- */

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

/* -- figures -- */

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

/* -- while it changes -- */

static atomic_bool done;

static void *ask_and_call(void *arg)
{
    dp_tensor *t = arg;
    const dp_value self = dp_tensor_value(t);
    uint64_t answered = 0;
    dp_ctx *ctx = NULL;

    ck_assert_int_eq(dp_ctx_new(reg, &ctx, NULL), 0);
    do {
        dp_explanation x;
        dp_op_info op;
        dp_value ret;
        dp_bound b;
        if (dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b) == 0)
            answered += dp_explain(ctx, &b, dp_ctx_arena(ctx), &x) == 0;
        if (dp_bind(ctx, "t::g", &self, 1, NULL, 0, &b) == 0 &&
            dp_call_boxed(ctx, b.op, b.args, 1, &ret, 1) == 0)
            dp_values_release(&ret, 1);
        answered += dp_registry_describe(reg, "t::g", dp_ctx_arena(ctx), &op, NULL) == 0;
        dp_ctx_reset(ctx);
    } while (!atomic_load(&done));
    dp_ctx_free(ctx);
    return (void *)(uintptr_t)answered;
}

START_TEST(asked_while_it_changes)
{
    enum { THREADS = 3, ROUNDS = 200 };
    static const dp_item more[] = {REC_IMPL("f.a", rec_kernel), REC_DEF("f.b(Tensor x) -> Tensor"),
                                   REC_IMPL("g", rec_kernel)};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 40, "t", "", more)};
    pthread_t threads[THREADS];
    dp_tensor *t = NULL;
    void *answered;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &t, &err), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_and_call, t), 0);
    for (int i = 0; i < ROUNDS; i++) {
        dp_unit *u = rec_attach(reg, "more", block, 1);
        rec_check(reg);
        rec_detach(reg, u);
    }
    atomic_store(&done, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &answered);
        ck_assert_uint_gt((uintptr_t)answered, 0);
    }
    rec_same(reg, strdup(expected_dump));
    dp_tensor_unref(t);
}
END_TEST

/* -- without memory ------------------------------------------------------------------------------
 */

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

static int (*const questions[])(dp_arena *a) = {ask_describe, ask_dump,  ask_check,
                                                ask_list,     ask_table, ask_keys};

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

UNIT_SUITE(dump)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, dump);
    tcase_add_loop_test(tc, check_names_what_is_wrong, 0, DPI_COUNT(broken));
    tcase_add_test(tc, describe);
    tcase_add_test(tc, cells_cover_every_key);
    tcase_add_test(tc, describe_what_is_not_there);
    tcase_add_loop_test(tc, list, 0, DPI_COUNT(lists));
    tcase_add_test(tc, list_by_a_key_unknown);
    tcase_add_test(tc, table);
    tcase_add_test(tc, table_refuses);
    tcase_add_test(tc, stats);
    tcase_add_test(tc, asked_while_it_changes);
    tcase_add_loop_test(tc, asking_without_memory, 0, DPI_COUNT(questions));
}
