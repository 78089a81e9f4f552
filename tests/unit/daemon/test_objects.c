/* test_objects.c -- a session's handles of objects: found, released, counted, dropped at its
 * end. */
#include "dispatch/records.h"
#include "session.h"

static const dp_object_ops kind = {.size = sizeof(kind)};
static sessions all;
static struct session *s;
static dp_registry *reg;
static dp_ctx *ctx;
static dp_unit *unit;
static dp_error err;

static void setup(void)
{
    const dp_block block = {.size = sizeof(block),
                            .kind = DP_BLOCK_OBJECT,
                            .line = 1,
                            .file = "t.c",
                            .ns = "u",
                            .key = "Handled",
                            .data = &kind};

    reg = rec_registry();
    unit = rec_attach(reg, "handled", &block, 1);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    sessions_init(&all, limit_defaults);
    s = session_new(&all, &err);
    ck_assert_ptr_nonnull(s);
    dp_ctx_set_account(ctx, session_account(s));
}

static void teardown(void)
{
    if (s != NULL)
        session_leave(s);
    dp_ctx_free(ctx);
    sessions_fini(&all);
    ck_assert_uint_eq(dp_objects_count(), 0);
    rec_detach(reg, unit);
    dp_registry_free(reg);
}

static dp_object *make(void)
{
    dp_object *o = NULL;

    ck_assert_int_eq(dp_object_new(ctx, &kind, 8, NULL, 0, &o), 0);
    return o;
}

static uint64_t held(void)
{
    dp_usage h[DP_HOLDERS];

    dp_account_usage(session_account(s), h);
    return h[DP_HOLDER_OBJECTS].count;
}

START_TEST(an_object_is_found_until_it_is_released)
{
    dp_object *o = make();
    uint64_t first = session_object_put(s, o, &err), second = session_object_put(s, o, &err), *ids;

    ck_assert_uint_lt(first, second);
    ck_assert_uint_eq(held(), 3);
    dp_object_unref(o);
    ck_assert_ptr_eq(session_object_get(s, first), o);
    dp_object_unref(o);
    ck_assert_int_eq(session_objects(s, &ids, &err), 2);
    ck_assert_uint_eq(ids[1], second);
    dp_free(ids);
    ck_assert(session_object_release(s, first));
    ck_assert(!session_object_release(s, first));
    ck_assert_ptr_null(session_object_get(s, first));
    ck_assert_uint_eq(held(), 2);
    ck_assert(session_object_release(s, second));
    ck_assert_uint_eq(held(), 0);
}
END_TEST

START_TEST(handles_are_dropped_with_the_session)
{
    dp_object *o = make();

    ck_assert_uint_ne(session_object_put(s, o, &err), 0);
    dp_object_unref(o);
    ck_assert_uint_eq(dp_objects_count(), 1);
    dp_ctx_set_account(ctx, NULL);
    session_leave(s);
    s = NULL;
    sessions_reap(&all, 0, true);
    ck_assert_uint_eq(dp_objects_count(), 0);
}
END_TEST

UNIT_SUITE(objects)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_object_is_found_until_it_is_released);
    tcase_add_test(tc, handles_are_dropped_with_the_session);
}
