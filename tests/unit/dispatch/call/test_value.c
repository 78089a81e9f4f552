/* test_value.c -- values that outlive their call, and warnings, which outlive their kernel. */
#include "../../alive.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *t;

static void setup(void)
{
    alive_begin();
    reg = rec_registry();
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &t, &err), 0);
}

static void teardown(void)
{
    dp_tensor_unref(t);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
    alive_end();
}

/* Keep v, scribble over what it points to (bytes), and hand out the copy. */
static dp_value kept(dp_value v, void *memory, size_t bytes)
{
    dp_value copy;

    ck_assert_int_eq(dp_value_copy(ctx, &v, &copy), 0);
    ck_assert_uint_eq(copy.tag, v.tag);
    ck_assert_uint_eq(copy.len, v.len);
    memset(memory, 0xee, bytes);
    return copy;
}

START_TEST(value_kept_has_its_own_memory)
{
    int64_t ints[] = {1, 2, 3};
    double complex_[] = {1.5, -2};
    char text[] = "text";
    dp_value c = {DP_TAG_COMPLEX, 0, {.doubles = complex_}}, s = {DP_TAG_STR, 4, {.s = text}};

    dp_value v = kept(dp_ints(ints, 3), ints, sizeof(ints));
    ck_assert_int_eq(v.u.ints[2], 3);
    dp_value_free(&v);
    ck_assert_uint_eq(v.tag, DP_TAG_NONE);
    v = kept(c, complex_, sizeof(complex_));
    ck_assert(v.u.doubles[1] == -2);
    dp_value_free(&v);
    v = kept(s, text, sizeof(text));
    ck_assert_str_eq(v.u.s, "text");
    dp_value_free(&v);
    int64_t none;
    v = kept(dp_ints(&none, 0), &none, sizeof(none)); /* an empty list is no None */
    ck_assert_ptr_nonnull(v.u.ints);
    dp_value_free(&v);
    v = dp_double(0.25);
    ck_assert_int_eq(dp_value_copy(ctx, &v, &v), 0);
    ck_assert(v.u.d == 0.25);
    dp_value_free(&v);
}
END_TEST

START_TEST(value_kept_owns_tensors_and_generators)
{
    dp_tensor *list[] = {t, NULL, t};
    dp_generator *g;
    dp_value items[3], v, copy;

    ck_assert_int_eq(dp_generator_new(DP_DEVICE_CPU, 1, &g, &err), 0);
    items[0] = dp_tensors(list, 3);
    items[1] = dp_tensor_value(t);
    items[2] = (dp_value){DP_TAG_GENERATOR, 0, {.g = g}};
    v = (dp_value){DP_TAG_LIST, 3, {.values = items}};
    ck_assert_int_eq(dp_value_copy(ctx, &v, &copy), 0);
    memset(items, 0xee, sizeof(items));
    dp_generator_unref(g);
    t = dp_tensor_unref(t);
    const dp_value *in = copy.u.values;
    ck_assert_ptr_eq(in[0].u.tensors[1], NULL);
    ck_assert_ptr_eq(in[0].u.tensors[2], in[1].u.t);
    ck_assert_uint_eq(dp_tensor_version(in[1].u.t), 0);
    ck_assert_uint_eq(dp_generator_initial_seed(in[2].u.g), 1);
    dp_value_free(&copy);
}
END_TEST

START_TEST(value_without_memory_is_an_error)
{
    int64_t ints[] = {1};
    dp_value v = dp_ints(ints, 1), copy = dp_int(1);

    dp_fault_arm(1);
    ck_assert_int_eq(dp_value_copy(ctx, &v, &copy), DP_ERESOURCE);
    dp_fault_arm(0);
    ck_assert_uint_eq(copy.tag, DP_TAG_NONE);
}
END_TEST

START_TEST(warnings_come_once_each_and_are_bounded)
{
    char long_one[2 * DP_LIMIT_WARNING_BYTES];
    size_t n;

    for (int i = 0; i < 3; i++) {
        dp_warn(ctx, "%s", "again");
        dp_warn(ctx, "number %d", i);
    }
    const dp_warning *texts = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 4);
    ck_assert_str_eq(texts[0].text, "again");
    ck_assert_str_eq(texts[3].text, "number 2");
    ck_assert_ptr_null(texts[3].op); /* no kernel runs */
    /* cut where a character begins: the limit falls between the two bytes of one */
    ck_assert_int_eq(DP_LIMIT_WARNING_BYTES % 2, 0);
    long_one[0] = 'x';
    for (size_t i = 1; i + 2 < sizeof(long_one); i += 2)
        memcpy(long_one + i, "\xc3\xa4", 3);
    dp_warn(ctx, "%s", long_one);
    texts = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(strlen(texts[4].text), DP_LIMIT_WARNING_BYTES - 1);
    for (int i = 0; i < 100; i++)
        dp_warn(ctx, "more %d", i);
    texts = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, DP_LIMIT_WARNINGS);
    ck_assert_ptr_nonnull(strstr(texts[n - 1].text, "more warnings than the 32"));
    dp_ctx_reset(ctx);
    dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

UNIT_SUITE(value)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, value_kept_has_its_own_memory);
    tcase_add_test(tc, value_kept_owns_tensors_and_generators);
    tcase_add_test(tc, value_without_memory_is_an_error);
    tcase_add_test(tc, warnings_come_once_each_and_are_bounded);
}
