/* test_captured_guard.c -- a captured program has guards of what its inputs were. */
#include "programs.h"

static const dp_block capturing[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 1, "_", "Functionalize", dp_capture_call)};

static void setup_capture(void)
{
    setup();
    rec_attach(reg, "capturing", capturing, 1);
}

/* Capture a run of `p` with `inputs`: *out. */
static int capture(const dp_program *p, const dp_value *inputs, dp_program **out)
{
    const dp_capture_options o = {.size = sizeof(o)};

    return dp_program_capture(ctx, p, inputs, &o, out);
}

static void has_guards(const dp_program *p, const char *const *texts, uint32_t n)
{
    dp_arena *a = dp_arena_new();

    ck_assert_uint_eq(dp_program_guards(p), n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_str_eq(dp_program_guard_text(p, i, a), texts[i]);
    dp_arena_free(a);
}

START_TEST(inputs_are_guarded)
{
    static const char *const texts[] = {"n == 4",
                                        "xs has 2 items",
                                        "x is float32 on cpu, sizes [1] strides [1]",
                                        "xs[0] is float32 on cpu, sizes [1] strides [1]",
                                        "xs[0] begins 0 bytes after x, in its storage",
                                        "xs[1] is float32 on cpu, sizes [1] strides [1]"};
    dp_program *p = read_program("in x Tensor; in n int; in xs Tensor[]\n"
                                 "a = t::fresh(x); b = t::join(xs); out y a\n");
    dp_program *q = NULL;
    dp_error err = DP_ERROR_INIT;
    const int64_t one = 1;
    dp_tensor *list[2] = {NULL, NULL};

    ck_assert_int_eq(dp_as_strided(ctx, x, 1, &one, &one, 0, &list[0]), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &list[1], &err), 0);
    const dp_value in[3] = {dp_tensor_value(x), dp_int(4), dp_tensors(list, 2)};
    int rc = capture(p, in, &q);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    has_guards(q, texts, DPI_COUNT(texts));
    dp_tensor_unref(list[0]);
    dp_tensor_unref(list[1]);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

START_TEST(inputs_are_apart_only_where_one_is_written)
{
    static const char *const texts[] = {"x is float32 on cpu, sizes [1] strides [1]",
                                        "y is float32 on cpu, sizes [1] strides [1]",
                                        "written inputs overlap with no others"};
    static const char *const programs[] = {
        "in x Tensor; in y Tensor\na = t::fresh(x); b = t::fresh(y); out a a\n",
        "in x Tensor; in y Tensor\na = t::same_(x); b = t::fresh(y); out a a\n"};
    dp_error err = DP_ERROR_INIT;
    const int64_t one = 1;
    dp_tensor *y = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &y, &err), 0);
    const dp_value in[2] = {dp_tensor_value(x), dp_tensor_value(y)};
    for (uint32_t i = 0; i < 2; i++) {
        dp_program *p = read_program(programs[i]), *q = NULL;
        int rc = capture(p, in, &q);
        ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
        has_guards(q, texts, 2 + i);
        dp_program_unref(p);
        dp_program_unref(q);
    }
    dp_tensor_unref(y);
}
END_TEST

START_TEST(capturing_at_the_nth_allocation_that_fails)
{
    dp_program *p = read_program("in x Tensor; in n int; a = t::fresh(x); out y a\n"), *q = NULL;
    const dp_value in[2] = {dp_tensor_value(x), dp_int(4)};
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc == DP_ERESOURCE; n++) {
        dp_fault_arm(n);
        rc = capture(p, in, &q);
        dp_fault_arm(0);
        ck_assert_uint_lt(n, 300);
    }
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(captured_guard)
{
    tcase_add_checked_fixture(tc, setup_capture, teardown);
    tcase_add_test(tc, inputs_are_guarded);
    tcase_add_test(tc, inputs_are_apart_only_where_one_is_written);
    tcase_add_test(tc, capturing_at_the_nth_allocation_that_fails);
}
