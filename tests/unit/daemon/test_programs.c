/* test_programs.c -- a session's programs by handle and by content. */
#include "session.h"
#include "unit.h"

static sessions all;
static struct session *s;
static dp_registry *reg;
static dp_ctx *ctx;
static dp_program *p;
static dp_error err;

static void setup(void)
{
    dp_builder *b;

    ck_assert_int_eq(dp_registry_new(&reg, &err), 0);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    sessions_init(&all, limit_defaults);
    s = session_new(&all, &err);
    ck_assert_ptr_nonnull(s);
}

static void teardown(void)
{
    dp_program_unref(p);
    session_leave(s);
    sessions_fini(&all);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}

START_TEST(a_program_is_found_until_it_is_released)
{
    programs *ps = session_programs(s);
    uint64_t first = programs_put(ps, p, &err), second = programs_put(ps, p, &err);
    dp_program *got = programs_get(ps, first);

    ck_assert_uint_gt(second, first);
    ck_assert_ptr_eq(got, p);
    dp_program_unref(got);
    ck_assert(programs_release(ps, first));
    ck_assert(!programs_release(ps, first));
    ck_assert_ptr_null(programs_get(ps, first));
    got = programs_get(ps, second);
    ck_assert_ptr_eq(got, p);
    dp_program_unref(got);
}
END_TEST

START_TEST(a_program_is_recalled_by_its_whole_content)
{
    programs *ps = session_programs(s);

    programs_remember(ps, "ab", 2, p);
    dp_program *got = programs_recall(ps, "ab", 2);
    ck_assert_ptr_eq(got, p);
    dp_program_unref(got);
    ck_assert_ptr_null(programs_recall(ps, "ab", 1));
    ck_assert_ptr_null(programs_recall(ps, "ac", 2));
    ck_assert_ptr_null(programs_recall(ps, "", 0));
}
END_TEST

START_TEST(programs_are_charged_to_the_session)
{
    dp_usage held[DP_HOLDERS];
    uint64_t id = programs_put(session_programs(s), p, &err);

    dp_account_usage(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAMS].count, 1);
    programs_release(session_programs(s), id);
    dp_account_usage(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAMS].count, 0);
}
END_TEST

/* What was used least lately goes first, by number and by bytes. */
START_TEST(programs_used_least_lately_go_first)
{
    enum { MOST = LIMIT_PROGRAM_CACHE };
    static char large[LIMIT_PROGRAM_CACHE_BYTES / 2];
    programs *ps = session_programs(s);
    dp_usage held[DP_HOLDERS];
    dp_program *found;

    for (int i = 0; i <= MOST; i++) /* one too many: that of 0 goes */
        programs_remember(ps, (const char *)&i, sizeof(i), p);
    for (int i = 0; i <= MOST; i++) {
        found = programs_recall(ps, (const char *)&i, sizeof(i));
        ck_assert_msg((found != NULL) == (i > 0), "%d", i);
        dp_program_unref(found);
    }
    dp_account_usage(session_account(s), held);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAM_CACHE].count, MOST);
    for (int i = 0; i < 3; i++) { /* two of these do not fit together */
        large[0] = (char)i;
        programs_remember(ps, large, sizeof(large), p);
    }
    dp_account_usage(session_account(s), held);
    ck_assert_uint_le(held[DP_HOLDER_PROGRAM_CACHE].bytes, LIMIT_PROGRAM_CACHE_BYTES);
    ck_assert_uint_eq(held[DP_HOLDER_PROGRAM_CACHE].count, 1);
    found = programs_recall(ps, large, sizeof(large));
    ck_assert_ptr_eq(found, p);
    dp_program_unref(found);
}
END_TEST

UNIT_SUITE(programs)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_program_is_found_until_it_is_released);
    tcase_add_test(tc, a_program_is_recalled_by_its_whole_content);
    tcase_add_test(tc, programs_are_charged_to_the_session);
    tcase_add_test(tc, programs_used_least_lately_go_first);
}
