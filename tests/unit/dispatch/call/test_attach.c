/* test_attach.c -- values attached to tensors: copied, counted, refused where a tensor might hold
 * itself. */
#include "dispatch/records.h"

static dp_registry *reg;
static dp_ctx *ctx;

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;

    reg = rec_registry();
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
}

static void teardown(void)
{
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

static dp_tensor *tensor(void)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;
    int64_t n = 2;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 1, &n, NULL, &t, &err), 0);
    return t;
}

static int attach(dp_tensor *t, const char *key, dp_value v)
{
    return dp_tensor_attach(ctx, t, key, &v);
}

START_TEST(a_value_of_every_kind_comes_back)
{
    dp_tensor *t = tensor(), *other = tensor();
    double z[] = {1, 2};
    dp_value complex_value = {DP_TAG_COMPLEX, 0, {0}}, got;
    const dp_value inner[] = {dp_int(1), dp_tensor_value(other)};
    dp_value list = {DP_TAG_LIST, 2, {0}};

    complex_value.u.doubles = z;
    list.u.values = inner;
    ck_assert_int_eq(attach(t, "u.int", dp_int(7)), 0);
    ck_assert_int_eq(attach(t, "u.z", complex_value), 0);
    ck_assert_int_eq(attach(t, "u.list", list), 0);
    z[0] = 9;
    ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.z", &got), 0);
    ck_assert_double_eq(got.u.doubles[0], 1);
    dp_value_free(&got);
    ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.list", &got), 0);
    ck_assert_ptr_eq(got.u.values[1].u.t, other);
    dp_value_free(&got);
    ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.nothing", &got), 0);
    ck_assert_int_eq(got.tag, DP_TAG_NONE);
    ck_assert_int_eq(attach(t, "u.list", dp_none()), 0);
    ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.list", &got), 0);
    ck_assert_int_eq(got.tag, DP_TAG_NONE);
    dp_tensor_unref(other);
    dp_tensor_unref(t);
}
END_TEST

START_TEST(a_ring_is_refused)
{
    dp_tensor *a = tensor(), *b = tensor();

    ck_assert_int_eq(attach(a, "u.x", dp_tensor_value(a)), DP_EVALUE);
    ck_assert_int_eq(attach(a, "u.x", dp_tensor_value(b)), 0);
    ck_assert_int_eq(attach(b, "u.x", dp_tensor_value(a)), DP_EVALUE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message,
                                 "'u.x' cannot be attached: the tensor might hold itself"));
    ck_assert_int_eq(attach(b, "u.y", dp_int(1)), 0);
    dp_tensor_unref(b);
    dp_tensor_unref(a);
}
END_TEST

/* Whichever allocation fails, what was attached before stays as it was. */
START_TEST(every_allocation_may_fail)
{
    dp_tensor *t = tensor(), *other = tensor();
    dp_value got;
    int rc = DP_ERESOURCE;

    ck_assert_int_eq(attach(t, "u.first", dp_int(1)), 0);
    for (uint64_t n = 1; rc != 0; n++) {
        dp_fault_arm(n);
        rc = attach(t, "u.second", dp_tensors(&other, 1));
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc == 0, !hit);
        if (rc == 0)
            break;
        ck_assert_int_eq(rc, DP_ERESOURCE);
        ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.second", &got), 0);
        ck_assert_int_eq(got.tag, DP_TAG_NONE);
        ck_assert_uint_lt(n, 20);
    }
    ck_assert_int_eq(dp_tensor_attached(ctx, t, "u.first", &got), 0);
    ck_assert_int_eq(got.u.i, 1);
    dp_tensor_unref(t);
    dp_tensor_unref(other);
}
END_TEST

UNIT_SUITE(attach)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_value_of_every_kind_comes_back);
    tcase_add_test(tc, a_ring_is_refused);
    tcase_add_test(tc, every_allocation_may_fail);
}
