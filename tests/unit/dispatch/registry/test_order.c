/* test_order.c -- registrations commute and can be undone. */
#include "units.h"

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

UNIT_SUITE(order)
{
    tcase_add_test(tc, every_order_gives_one_dump);
    tcase_add_test(tc, a_fresh_registry_gives_the_same_dump);
    tcase_add_test(tc, newest_wins_and_removal_restores);
    tcase_add_test(tc, a_replacement_keeps_its_place);
}
