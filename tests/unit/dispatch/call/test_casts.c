/* test_casts.c -- the cast cache of a context: what is found again, and what ends it. */
#include "dispatch/call/casts.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>

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
    dp_ctx_free(ctx);
    ck_assert_ptr_null(dp_registry_free(reg));
}

static dp_tensor *tensor(dp_dtype dtype)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t;

    ck_assert_int_eq(dp_tensor_new(dtype, DP_DEVICE_CPU, 0, NULL, NULL, &t, &err), 0);
    return t;
}

static dp_tensor *find(const dp_tensor *t, dp_dtype to, bool no_grad)
{
    const dpi_cast_key k = dpi_cast_key_of(t, to, no_grad);

    return dpi_casts_find(ctx, &k);
}

static void keep(const dp_tensor *t, dp_tensor *cast)
{
    const dpi_cast_key k = dpi_cast_key_of(t, cast->dtype, false);

    dpi_casts_keep(ctx, &k, cast);
}

START_TEST(casts_are_found_by_all_of_their_key)
{
    dp_tensor *x = tensor(DP_FLOAT32), *y = tensor(DP_FLOAT32), *cast = tensor(DP_BFLOAT16);

    ck_assert_ptr_null(find(x, DP_BFLOAT16, false));
    keep(x, cast);
    ck_assert_ptr_eq(find(x, DP_BFLOAT16, false), cast);
    ck_assert_ptr_null(find(x, DP_BFLOAT16, true));
    ck_assert_ptr_null(find(x, DP_FLOAT16, false));
    ck_assert_ptr_null(find(y, DP_BFLOAT16, false));
    dp_tensor_bump_version(x);
    ck_assert_ptr_null(find(x, DP_BFLOAT16, false));
    dp_tensor_unref(x);
    dp_tensor_unref(y);
    dp_tensor_unref(cast);
}
END_TEST

START_TEST(casts_end_with_the_request_and_with_their_region)
{
    dp_tensor *x = tensor(DP_FLOAT32), *cast = tensor(DP_BFLOAT16);
    dp_mode on = {.size = sizeof(on), .cast_backends = DP_BBIT(DP_B_CPU)};
    int outer = dp_guard_mode(ctx, &on), inner;

    on.no_grad = true;
    inner = dp_guard_mode(ctx, &on);
    keep(x, cast);
    dp_guard_leave(ctx, inner);
    ck_assert_ptr_eq(find(x, DP_BFLOAT16, false), cast);
    dp_guard_leave(ctx, outer);
    ck_assert_ptr_null(find(x, DP_BFLOAT16, false));
    keep(x, cast);
    dp_ctx_reset(ctx);
    ck_assert_ptr_null(find(x, DP_BFLOAT16, false));
    ck_assert_uint_eq(cast->refs, 1);
    dp_tensor_unref(x);
    dp_tensor_unref(cast);
}
END_TEST

START_TEST(casts_are_bounded)
{
    dp_tensor *list[DPI_CASTS + 1], *cast = tensor(DP_BFLOAT16);
    unsigned found = 0;

    for (int i = 0; i <= DPI_CASTS; i++)
        keep(list[i] = tensor(DP_FLOAT32), cast);
    for (int i = 0; i <= DPI_CASTS; i++)
        found += find(list[i], DP_BFLOAT16, false) != NULL;
    ck_assert_uint_ge(found, 1);
    ck_assert_uint_eq(cast->refs, 1 + found);
    ck_assert_ptr_eq(find(list[DPI_CASTS], DP_BFLOAT16, false), cast);
    for (int i = 0; i <= DPI_CASTS; i++)
        dp_tensor_unref(list[i]);
    dpi_casts_clear(ctx);
    ck_assert_uint_eq(cast->refs, 1);
    dp_tensor_unref(cast);
}
END_TEST

UNIT_SUITE(casts)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, casts_are_found_by_all_of_their_key);
    tcase_add_test(tc, casts_end_with_the_request_and_with_their_region);
    tcase_add_test(tc, casts_are_bounded);
}
