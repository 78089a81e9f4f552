/* test_object.c -- objects in calls: the schema's class, copies of values, and what a kernel may
 * get wrong. */
#include "dispatch/records.h"

static const dp_object_ops kind = {.size = sizeof(kind)}, other = {.size = sizeof(other)};
static dp_registry *reg;
static dp_ctx *ctx;
static dp_unit *unit;

#define U_A "__torch__.torch.classes.u.A"

static int same(dp_call *call)
{
    call->rets[0] = dp_object_value(dp_object_ref(call->args[0].u.o));
    return 0;
}

static int null(dp_call *call)
{
    call->rets[0] = (dp_value){DP_TAG_OBJECT, 0, {0}};
    return 0;
}

static const dp_item items[] = {REC_DEF("same(" U_A " o) -> " U_A), REC_DEF("null() -> " U_A),
                                REC_IMPL("same", same), REC_IMPL("null", null)};

static void setup(void)
{
    dp_block blocks[] = {{.size = sizeof(dp_block),
                          .kind = DP_BLOCK_OBJECT,
                          .line = 1,
                          .file = "t.c",
                          .ns = "u",
                          .key = "A",
                          .data = &kind},
                         {.size = sizeof(dp_block),
                          .kind = DP_BLOCK_OBJECT,
                          .line = 2,
                          .file = "t.c",
                          .ns = "u",
                          .key = "B",
                          .data = &other},
                         REC_BLOCK(DP_BLOCK_LIBRARY, 3, "u", "", items)};
    dp_error err = DP_ERROR_INIT;

    reg = rec_registry();
    unit = rec_attach(reg, "objects", blocks, 3);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
}

static void teardown(void)
{
    dp_ctx_free(ctx);
    ck_assert_uint_eq(dp_objects_count(), 0);
    rec_detach(reg, unit);
    dp_registry_free(reg);
}

static dp_object *make(const dp_object_ops *k)
{
    dp_object *o = NULL;

    ck_assert_int_eq(dp_object_new(ctx, k, 8, NULL, 0, &o), 0);
    return o;
}

/* The reference that o had goes with the value. */
static void gives_back(dp_object *o)
{
    dp_value v = dp_object_value(o), copy, ret = dp_none();

    ck_assert_int_eq(dp_value_copy(ctx, &v, &copy), 0);
    dp_values_release(&v, 1);
    ck_assert_uint_eq(dp_objects_count(), 1);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "u::same"), &copy, 1, &ret, 1), 0);
    ck_assert_ptr_eq(ret.u.o, o);
    dp_value_free(&copy);
    ck_assert_uint_eq(dp_objects_count(), 1);
    dp_values_release(&ret, 1);
    ck_assert_uint_eq(dp_objects_count(), 0);
}

START_TEST(values_count_objects)
{
    gives_back(make(&kind));
}
END_TEST

START_TEST(a_kernel_gives_no_null)
{
    dp_value ret = dp_none();

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "u::null"), NULL, 0, &ret, 1), DP_EPLUGIN);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
}
END_TEST

START_TEST(arguments_are_given)
{
    dp_object_view v = {.size = sizeof(v)};
    dp_object *o = NULL;

    ck_assert_int_eq(dp_object_new(ctx, NULL, 8, NULL, 0, &o), DP_EPLUGIN);
    ck_assert_int_eq(dp_object_new(ctx, &kind, 8, NULL, 1, &o), DP_EPLUGIN);
    ck_assert_int_eq(dp_object_get(ctx, NULL, &kind, &v), DP_EPLUGIN);
    o = make(&other);
    ck_assert_int_eq(dp_object_get(ctx, o, &kind, &v), DP_ETYPE);
    v.size = 8; /* of a plugin that knows less */
    ck_assert_int_eq(dp_object_get(ctx, o, &other, &v), 0);
    ck_assert_ptr_null(v.data);
    dp_object_unref(o);
}
END_TEST

UNIT_SUITE(call_object)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, values_count_objects);
    tcase_add_test(tc, a_kernel_gives_no_null);
    tcase_add_test(tc, arguments_are_given);
}
