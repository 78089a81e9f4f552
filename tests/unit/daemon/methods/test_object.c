/* test_object.c -- object.list and object.release at each allocation that fails. */
#include "dispatch/records.h"
#include "values.h"

enum { OBJECTS = 3 };
static const dp_object_ops kind = {.size = sizeof(kind)};
static dp_unit *unit;

static void setup(void)
{
    const dp_block block = {.size = sizeof(block),
                            .kind = DP_BLOCK_OBJECT,
                            .line = 1,
                            .file = "t.c",
                            .ns = "u",
                            .key = "Listed",
                            .data = &kind};
    dp_object *o = NULL;

    values_begin();
    unit = rec_attach(values_reg, "listed", &block, 1);
    for (int i = 0; i < OBJECTS; i++) {
        ck_assert_int_eq(dp_object_new(rq.ctx, &kind, 8, NULL, 0, &o), 0);
        ck_assert_uint_ne(session_object_put(rq.session, o, &err), 0);
        dp_object_unref(o);
    }
}

static void teardown(void)
{
    session_objects_drop(rq.session);
    rec_detach(values_reg, unit);
    values_end();
}

static int64_t held(void)
{
    uint64_t *list = NULL;
    int64_t n = session_objects(rq.session, &list, &err);

    dp_free(list);
    return n;
}

/* The first allocation is that of the list of handles: without it, the answer would be an empty
 * list. */
START_TEST(listing_without_memory_fails)
{
    dp_fault_arm(1);
    ck_assert_int_eq(object_list(&rq, &rq.out, &err), DP_ERESOURCE);
    ck_assert(dp_fault_hit());
    dp_fault_arm(0);
    ck_assert_str_eq(err.message, "out of memory: 3 handles");
    ck_assert_int_eq(object_list(&rq, &rq.out, &err), 0);
    ck_assert_ptr_nonnull(strstr(written(), "\"kind\":"));
}
END_TEST

/* It releases all objects, or none and fails. */
START_TEST(releasing_all_at_the_nth_allocation_that_fails)
{
    const object_release_params all = {.all = true};
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc < 0; n++) {
        dp_error_clear(&err);
        dp_fault_arm(n);
        rc = object_release(&rq, &all, &rq.out, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(held(), rc < 0 ? OBJECTS : 0);
        ck_assert(hit || rc == 0);
        ck_assert_uint_lt(n, 20);
    }
}
END_TEST

UNIT_SUITE(methods_object)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, listing_without_memory_fails);
    tcase_add_test(tc, releasing_all_at_the_nth_allocation_that_fails);
}
