/* test_order.c -- registrations commute and can be undone; a failed one is invisible. */
#include "dispatch/records.h"

enum { UNITS = 6, ORDERS = 720 };

/* Six units that share no (operator, key).  Unit 1 implements before 0 defines, when it comes
 * first; the named backends of 4 and 5 get their bits in the order of their coming. */
static const dp_item definitions[] = {
    REC_DEF("foo(Tensor x) -> Tensor"),
    REC_DEF("bar.two(Tensor x, Tensor y) -> Tensor"),
};
static const dp_item cpu[] = {REC_IMPL("foo", rec_kernel), REC_IMPL("bar.two", rec_kernel)};
static const dp_item fragment[] = {REC_DEF("baz(int n=3) -> Tensor"), REC_IMPL("baz", rec_kernel)};
static const dp_item meta[] = {REC_IMPL("foo", rec_kernel)};
static const dp_item npu[] = {REC_IMPL("foo", rec_kernel)};
static const dp_item npu_autograd[] = {REC_IMPL_FLAGS("foo", rec_kernel, DP_FLAG_BELOW)};
static const dp_item abc[] = {REC_IMPL("bar.two", rec_kernel)};
static const dp_item explicit[] = {REC_IMPL("bar.two", rec_kernel)};

static const dp_block unit0[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", definitions)};
static const dp_block unit1[] = {REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CPU", cpu)};
static const dp_block unit2[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 20, "t", "", fragment),
                                 REC_BLOCK(DP_BLOCK_IMPL, 21, "t", "Meta", meta)};
static const dp_block unit3[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 30, "_", "AutogradCPU", rec_kernel),
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, 31, "_", "Batched", NULL),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 32, "_", "Sparse", rec_kernel)};
static const dp_block unit4[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 40, "npu", "", NULL),
                                 REC_BLOCK(DP_BLOCK_IMPL, 41, "t", "npu", npu),
                                 REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "Autogradnpu", npu_autograd),
                                 REC_PLAIN(DP_BLOCK_FALLBACK, 0, 43, "_", "Sparsenpu", rec_kernel)};
static const dp_block unit5[] = {
    REC_PLAIN(DP_BLOCK_BACKEND, 0, 50, "abc", "", NULL),
    REC_BLOCK(DP_BLOCK_IMPL, 51, "t", "Sparseabc", abc),
    REC_BLOCK(DP_BLOCK_IMPL, 52, "t", "CompositeExplicitAutograd", explicit)};

static const struct {
    const char *name;
    const dp_block *blocks;
    size_t n;
} unit[UNITS] = {
    {"definer", unit0, DPI_COUNT(unit0)}, {"cpu", unit1, DPI_COUNT(unit1)},
    {"more", unit2, DPI_COUNT(unit2)},    {"falling", unit3, DPI_COUNT(unit3)},
    {"npu", unit4, DPI_COUNT(unit4)},     {"abc", unit5, DPI_COUNT(unit5)},
};

/* The number-th of the 720 orders. */
static void order(int number, int out[UNITS])
{
    int left[UNITS];

    for (int i = 0; i < UNITS; i++)
        left[i] = i;
    for (int n = UNITS; n > 0; n--) {
        int at = number % n;
        number /= n;
        out[UNITS - n] = left[at];
        memmove(left + at, left + at + 1, (size_t)(n - at - 1) * sizeof(int));
    }
}

/* The first dump seen of a set of units is what every later one must be. */
static void compare(dp_registry *reg, char *seen[1 << UNITS], unsigned set)
{
    char *dump = rec_dump(reg);

    rec_check(reg);
    if (seen[set] == NULL) {
        seen[set] = dump;
        return;
    }
    ck_assert_str_eq(dump, seen[set]);
    free(dump);
}

START_TEST(every_order_gives_one_dump)
{
    char *seen[1 << UNITS] = {NULL};
    dp_registry *reg = rec_registry();

    for (int i = 0; i < ORDERS; i++) {
        dp_unit *attached[UNITS];
        int in[UNITS], out[UNITS];
        unsigned set = 0;
        order(i, in);
        order((i * 7 + 311) % ORDERS, out); /* 7 and 720 share no factor: every order once */
        for (int j = 0; j < UNITS; j++) {
            attached[in[j]] = rec_attach(reg, unit[in[j]].name, unit[in[j]].blocks, unit[in[j]].n);
            compare(reg, seen, set |= 1u << in[j]);
        }
        for (int j = 0; j < UNITS; j++) {
            rec_detach(reg, attached[out[j]]);
            compare(reg, seen, set &= ~(1u << out[j]));
        }
    }
    dp_registry_free(reg);
    for (int i = 0; i < 1 << UNITS; i++) {
        ck_assert_ptr_ne(seen[i], NULL); /* 720 orders pass through every subset */
        free(seen[i]);
    }
}
END_TEST

/* -- a fallback for a functionality: every backend without its own has it, later ones, too -- */

static void expect_line(dp_registry *reg, const char *key, uint32_t line)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    dp_op_info op;
    const dp_cell_info *cell = NULL;
    dp_key want = dp_key_parse(key);

    rec_check(reg);
    ck_assert_msg(dp_registry_describe(reg, "t::bar.two", a, &op, &err) == 0, "%s", err.message);
    for (uint32_t i = 0; i < op.n_cells; i++)
        if (op.cells[i].key == want)
            cell = &op.cells[i];
    ck_assert_msg(cell != NULL, "no cell for %s", key);
    uint32_t have = cell->kernel ? cell->kernel->from.line : 0;
    ck_assert_msg(have == line, "%s: line %u, want %u", key, have, line);
    ck_assert_str_eq(cell->provenance, line == 0    ? "missing"
                                       : line == 10 ? "kernel"
                                                    : "backend fallback");
    dp_arena_free(a);
}

START_TEST(a_fallback_of_a_functionality_serves_every_backend)
{
    static const dp_block all[] = {REC_PLAIN(DP_BLOCK_FALLBACK, 0, 60, "_", "Dense", rec_kernel)},
                          cuda[] = {REC_PLAIN(DP_BLOCK_FALLBACK, 0, 61, "_", "CUDA", rec_kernel)},
                          own[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 62, "npu", "", NULL),
                                   REC_PLAIN(DP_BLOCK_FALLBACK, 0, 63, "_", "npu", rec_kernel)},
                          later[] = {REC_PLAIN(DP_BLOCK_BACKEND, 0, 64, "abc", "", NULL)};
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_unit *twice = NULL;

    rec_attach(reg, unit[0].name, unit[0].blocks, unit[0].n);
    rec_attach(reg, "cpu", unit1, 1);
    dp_unit *of_all = rec_attach(reg, "all", all, 1), *one = rec_attach(reg, "cuda", cuda, 1);
    rec_attach(reg, "own", own, 2);
    rec_attach(reg, "later", later, 1);
    expect_line(reg, "CPU", 10);
    expect_line(reg, "Meta", 60);
    expect_line(reg, "XLA", 60);
    expect_line(reg, "CUDA", 61);
    expect_line(reg, "npu", 63);
    expect_line(reg, "abc", 60);
    expect_line(reg, "Sparseabc", 0);
    ck_assert_int_eq(dp_registry_attach(reg, "twice", "1", all, 1, &twice, &err), DP_EEXISTS);
    ck_assert_msg(strstr(err.message, "fallback for 'Dense' at t.c:60: already there") != NULL,
                  "%s", err.message);
    char *dump = rec_dump(reg);
    ck_assert_msg(strstr(dump, "  Dense: all t.c:60") != NULL, "%s", dump);
    free(dump);
    rec_detach(reg, one);
    expect_line(reg, "CUDA", 60);
    rec_detach(reg, of_all);
    expect_line(reg, "CUDA", 0);
    expect_line(reg, "npu", 63);
    expect_line(reg, "abc", 0);
    dp_registry_free(reg);
}
END_TEST

/* A registry that never saw the others is the same as one that lost them. */
START_TEST(a_fresh_registry_gives_the_same_dump)
{
    dp_registry *old = rec_registry();
    dp_unit *units[UNITS];

    for (int i = UNITS; i-- > 0;)
        units[i] = rec_attach(old, unit[i].name, unit[i].blocks, unit[i].n);
    for (int i = 2; i < UNITS; i++)
        rec_detach(old, units[i]);
    char *want = rec_dump(old);
    dp_registry_free(old);
    dp_registry *fresh = rec_registry();
    rec_attach(fresh, unit[0].name, unit[0].blocks, unit[0].n);
    rec_attach(fresh, unit[1].name, unit[1].blocks, unit[1].n);
    rec_same(fresh, want);
    dp_registry_free(fresh);
}
END_TEST

/* -- stacks on one cell -- */

static const dp_block stacked[3] = {REC_BLOCK(DP_BLOCK_IMPL, 101, "t", "Meta", meta),
                                    REC_BLOCK(DP_BLOCK_IMPL, 102, "t", "Meta", meta),
                                    REC_BLOCK(DP_BLOCK_IMPL, 103, "t", "Meta", meta)};

/* Line of the kernel that serves t::foo on Meta; 0: none. */
static uint32_t active(dp_registry *reg)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    dp_op_info op;
    uint32_t line = 0;

    rec_check(reg);
    ck_assert_msg(dp_registry_describe(reg, "t::foo", a, &op, &err) == 0, "%s", err.message);
    for (uint32_t i = 0; i < op.n_cells; i++)
        if (op.cells[i].key == DP_KEY_OF(DP_F_Dense, DP_B_Meta) && op.cells[i].kernel != NULL)
            line = op.cells[i].kernel->from.line;
    dp_arena_free(a);
    return line;
}

START_TEST(newest_wins_and_removal_restores)
{
    dp_registry *reg = rec_registry();
    dp_unit *on[3];

    rec_attach(reg, unit[0].name, unit[0].blocks, unit[0].n);
    char *empty = rec_dump(reg);
    on[0] = rec_attach(reg, "first", &stacked[0], 1);
    char *one = rec_dump(reg);
    ck_assert_uint_eq(active(reg), 101);
    on[1] = rec_attach(reg, "second", &stacked[1], 1);
    ck_assert_uint_eq(active(reg), 102);
    on[2] = rec_attach(reg, "third", &stacked[2], 1);
    ck_assert_uint_eq(active(reg), 103);
    char *dump = rec_dump(reg);
    const char *newest = strstr(dump, "  Meta: third"),
               *middle = strstr(dump, "  Meta (inactive): second");
    ck_assert_msg(newest != NULL && middle != NULL && newest < middle, "%s", dump);
    free(dump);

    rec_detach(reg, on[1]); /* the middle: nothing seen from above */
    ck_assert_uint_eq(active(reg), 103);
    rec_detach(reg, on[2]); /* the top: what was below is back */
    ck_assert_uint_eq(active(reg), 101);
    rec_same(reg, one);
    rec_detach(reg, on[0]);
    ck_assert_uint_eq(active(reg), 0);
    rec_same(reg, empty);
    dp_registry_free(reg);
}
END_TEST

/* What a reload does: new code in the old one's place, and the dump does not tell. */
START_TEST(a_replacement_keeps_its_place)
{
    const dp_block *list[] = {&stacked[0]};
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_unit *fresh = NULL;

    rec_attach(reg, unit[0].name, unit[0].blocks, unit[0].n);
    dpi_attach_options o = {.replace = rec_attach(reg, "first", &stacked[0], 1)};
    dp_unit *second = rec_attach(reg, "second", &stacked[1], 1);
    char *before = rec_dump(reg);
    int rc = dpi_registry_attach(reg, "first", "1.0", list, 1, &o, &fresh, NULL, &err);
    ck_assert_msg(rc == 0, "%s", err.message);
    dpi_unit_free(o.replace);
    ck_assert_uint_eq(active(reg), 102);
    rec_same(reg, before);
    rec_detach(reg, second);
    ck_assert_uint_eq(active(reg), 101);
    dp_registry_free(reg);
}
END_TEST

/* A tensor outlives its backend: the bit stays taken, but nothing is registered for it. */
START_TEST(a_backend_held_by_a_tensor_is_not_dumped)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    dp_device device;

    rec_attach(reg, unit[2].name, unit[2].blocks, unit[2].n);
    char *before = rec_dump(reg);
    dp_unit *npu_unit = rec_attach(reg, unit[4].name, unit[4].blocks, unit[4].n);
    ck_assert_msg(dp_device_parse("npu", &device, &err) == 0, "%s", err.message);
    ck_assert_msg(dp_tensor_new(DP_FLOAT32, device, 0, NULL, NULL, &t, &err) == 0, "%s",
                  err.message);
    rec_detach(reg, npu_unit);
    rec_check(reg);
    rec_same(reg, before);
    dp_tensor_unref(t);
    dp_registry_free(reg);
}
END_TEST

/* As in PyTorch: TORCH_LIBRARY_IMPL(t, Undefined, m) is the catch-all. */
START_TEST(kernels_for_undefined_are_composite_implicit_ones)
{
    static const dp_item named[] = {REC_IMPL("t::foo", rec_kernel)};
    static const dp_block undefined = REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "Undefined", cpu),
                          composite =
                              REC_BLOCK(DP_BLOCK_IMPL, 10, "t", "CompositeImplicitAutograd", cpu),
                          whole = REC_BLOCK(DP_BLOCK_IMPL, 60, "t", "CPU", named);
    dp_registry *reg = rec_registry();

    rec_attach(reg, "definer", unit0, 1);
    dp_unit *u = rec_attach(reg, "all", &composite, 1);
    char *want = rec_dump(reg);
    rec_detach(reg, u);
    rec_detach(reg, rec_attach(reg, "whole", &whole, 1)); /* its namespace may be said again */
    rec_attach(reg, "all", &undefined, 1);
    rec_check(reg);
    rec_same(reg, want);
    dp_registry_free(reg);
}
END_TEST

/* -- failures are invisible -- */

static const dp_item twice[] = {REC_IMPL("foo", rec_kernel), REC_DEF("foo(Tensor x) -> Tensor")};
static const dp_item bad_schema[] = {REC_IMPL("foo", rec_kernel),
                                     REC_DEF("qux(Tensor x -> Tensor")};
static const dp_item no_function[] = {REC_IMPL("bar.two", rec_kernel), REC_IMPL("foo", NULL)};
static const dp_item no_overload[] = {REC_DEF("foo.default(Tensor x) -> Tensor")};
static const dp_item dunder[] = {REC_IMPL("foo.__get__", rec_kernel)};
static const dp_item two_words[] = {REC_IMPL("foo bar", rec_kernel)};
static const dp_item whole_schema[] = {REC_IMPL("foo(Tensor x) -> Tensor", rec_kernel)};
static const dp_item elsewhere[] = {REC_IMPL("u::foo", rec_kernel)};
static const dp_item no_argument[] = {{.size = sizeof(dp_item),
                                       .kind = DP_ITEM_DEF,
                                       .name = "norm(Tensor x, Tensor? mean) -> Tensor",
                                       .tags = "core also_written:meen also_written:mean"}};

/* Records that are refused, and the two things that the error must name. */
#define REFUSED(records, error, one, other)                                                        \
    {                                                                                              \
        .block = records, .code = error, .mine = one, .theirs = other                              \
    }
static const struct {
    dp_block block;
    int code;
    const char *mine, *theirs;
} refused[] = {
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 201, "t", "", twice), DP_EEXISTS, "t.c:201", "t.c:1"),
    REFUSED(REC_BLOCK(DP_BLOCK_LIBRARY, 202, "t", "", meta), DP_EEXISTS, "t.c:202", "t.c:1"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 203, "t", "", bad_schema), DP_EPLUGIN, "t.c:203", "qux"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 204, "t", "Nowhere", cpu), DP_EPLUGIN, "t.c:204", "Nowhere"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 205, "t", "CPU", no_function), DP_EPLUGIN, "t.c:205", "foo"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 206, "no good", "CPU", cpu), DP_EPLUGIN, "t.c:206", "no good"),
    REFUSED(REC_PLAIN(DP_BLOCK_FALLBACK, 0, 207, "_", "Batched", rec_kernel), DP_EEXISTS, "t.c:207",
            "t.c:31"),
    REFUSED(REC_PLAIN(DP_BLOCK_BACKEND, 0, 208, "npu", "", NULL), DP_EEXISTS, "npu", "npu"),
    REFUSED(REC_PLAIN(DP_BLOCK_BACKEND, 0, 209, "cpu", "", NULL), DP_EEXISTS, "cpu", "cpu"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 210, "t", "", no_overload), DP_EPLUGIN, "t.c:210",
            "'default'"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 211, "t", "CPU", dunder), DP_EPLUGIN, "t.c:211", "'__get__'"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 212, "t", "CPU", two_words), DP_EPLUGIN, "t.c:212", "foo bar"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 213, "t", "CPU", whole_schema), DP_EPLUGIN, "t.c:213",
            "only a name"),
    REFUSED(REC_BLOCK(DP_BLOCK_IMPL, 214, "t", "CPU", elsewhere), DP_EPLUGIN, "t.c:214", "u::foo"),
    REFUSED(REC_PLAIN(DP_BLOCK_FALLBACK, 0, 215, "_", "Undefined", rec_kernel), DP_EPLUGIN,
            "t.c:215", "falls back"),
    REFUSED(REC_BLOCK(DP_BLOCK_FRAGMENT, 216, "t", "", no_argument), DP_EPLUGIN, "t.c:216",
            "'meen'"),
};

START_TEST(a_refused_attach_changes_nothing)
{
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    /* a good block before the bad one: what it registered must go again */
    dp_block both[2] = {REC_BLOCK(DP_BLOCK_IMPL, 199, "t", "CUDA", cpu), refused[_i].block};
    dp_unit *u = NULL;

    for (int i = 0; i < UNITS; i++)
        rec_attach(reg, unit[i].name, unit[i].blocks, unit[i].n);
    char *before = rec_dump(reg);
    int rc = dp_registry_attach(reg, "bad", "1.0", both, 2, &u, &err);
    ck_assert_msg(rc == refused[_i].code, "%d: %s", rc, err.message);
    ck_assert_msg(strstr(err.message, refused[_i].mine) != NULL &&
                      strstr(err.message, refused[_i].theirs) != NULL,
                  "'%s' does not name %s and %s", err.message, refused[_i].mine,
                  refused[_i].theirs);
    rec_check(reg);
    rec_same(reg, before);
    dp_registry_free(reg);
}
END_TEST

/* A backend whose kernels came from elsewhere cannot leave before them. */
START_TEST(a_backend_in_use_stays)
{
    static const dp_block user[] = {REC_BLOCK(DP_BLOCK_IMPL, 301, "t", "Quantizednpu", cpu)};
    dp_registry *reg = rec_registry();
    dp_error err = DP_ERROR_INIT;
    dp_unit *backend = rec_attach(reg, unit[4].name, unit[4].blocks, unit[4].n);
    dp_unit *other = rec_attach(reg, "user", user, 1);
    char *before = rec_dump(reg);

    ck_assert_int_eq(dp_registry_detach(reg, backend, -1, &err), DP_EBUSY);
    ck_assert_msg(strstr(err.message, "t.c:301") != NULL, "%s", err.message);
    rec_same(reg, before);
    rec_detach(reg, other);
    rec_detach(reg, backend);
    dp_registry_free(reg);
}
END_TEST

/* -- the N-th allocation fails -- */

/* Attach unit i with every allocation failing in turn, then detach it the same way. */
static void starve_unit(dp_registry *reg, int i)
{
    char *without = rec_dump(reg);
    dp_unit *u = NULL;
    uint64_t n;

    for (n = 1; u == NULL; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_fault_arm(n);
        int rc = dp_registry_attach(reg, unit[i].name, "1.0", unit[i].blocks, unit[i].n, &u, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : 0), "allocation %llu: %d, %s",
                      (unsigned long long)n, rc, err.message);
        rec_check(reg);
        if (rc < 0)
            rec_same(reg, strdup(without));
    }
    ck_assert_uint_gt(n, 5); /* it did fail now and then */
    char *with = rec_dump(reg);
    for (n = 1; u != NULL; n++) {
        dp_error err = DP_ERROR_INIT;
        dp_fault_arm(n);
        int rc = dp_registry_detach(reg, u, -1, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == (hit ? DP_ERESOURCE : 0), "allocation %llu: %d, %s",
                      (unsigned long long)n, rc, err.message);
        rec_check(reg);
        rec_same(reg, strdup(rc < 0 ? with : without));
        u = rc < 0 ? u : NULL;
    }
    free(with);
    free(without);
}

START_TEST(attach_and_detach_without_memory)
{
    dp_registry *reg = rec_registry();

    for (int i = 0; i < UNITS; i++)
        if (i != _i)
            rec_attach(reg, unit[i].name, unit[i].blocks, unit[i].n);
    starve_unit(reg, _i);
    dp_registry_free(reg);
}
END_TEST

UNIT_SUITE(order)
{
    tcase_add_test(tc, every_order_gives_one_dump);
    tcase_add_test(tc, a_fallback_of_a_functionality_serves_every_backend);
    tcase_add_test(tc, a_fresh_registry_gives_the_same_dump);
    tcase_add_test(tc, newest_wins_and_removal_restores);
    tcase_add_test(tc, a_replacement_keeps_its_place);
    tcase_add_test(tc, a_backend_held_by_a_tensor_is_not_dumped);
    tcase_add_test(tc, kernels_for_undefined_are_composite_implicit_ones);
    tcase_add_loop_test(tc, a_refused_attach_changes_nothing, 0, DPI_COUNT(refused));
    tcase_add_test(tc, a_backend_in_use_stays);
    tcase_add_loop_test(tc, attach_and_detach_without_memory, 0, UNITS);
}
