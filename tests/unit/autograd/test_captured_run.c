/* test_captured_run.c -- programs that are captured while another program runs. */
#include "checkpoints.h"
#include "program/capture.h"

static const dp_block capture_blocks[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 20, "_", "Functionalize", dp_capture_call),
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 21, "_", "Tracer", dp_capture_call),
};

static void captured_setup(void)
{
    graphs_setup();
    rec_attach(reg, "capture", capture_blocks, 2);
}

static dp_program *source;
static dp_tensor *in;

/* Capture `source`, run with `in`: *out, owned. */
static int capture_source(bool whole, dp_program **out)
{
    const dp_capture_options o = {sizeof(o), whole, false, false};
    const dp_value input = dp_tensor_value(in);

    return dp_program_capture(ctx, source, &input, &o, out);
}

START_TEST(its_calls_are_the_steps)
{
    dp_program *p = NULL;

    source = program("in x Tensor\na = t::square(x)\ny = aten::mul.Tensor(a, x)\nout y y\n");
    in = leaf(FLOATS(2, 3));
    ck_assert_msg(capture_source(false, &p) == 0, "%s", said());
    const char *steps = strstr(dp_program_text(p, dp_ctx_arena(ctx)), "     2  ");
    ck_assert_str_eq(steps, "     2  %1 = t::square(x)\n"
                            "     3  %2 = aten::mul.Tensor(%1, x)  # ends: %1\n");
    ck_assert_ptr_null(ctx->capture);
    dp_program_unref(p);
    dp_program_unref(source);
    DROP(in);
}
END_TEST

START_TEST(a_capture_that_records_refuses_another)
{
    dp_capture *c = NULL;
    dp_program *p = NULL;

    source = program("in x Tensor\ny = t::square(x)\nout y y\n");
    in = leaf(FLOATS(2));
    ck_assert_int_eq(dp_capture_new(ctx, NULL, &c), 0);
    dp_ctx_set_capture(ctx, c);
    refused(capture_source(false, &p), DP_ERUNTIME, "while a capture records");
    dp_ctx_set_capture(ctx, NULL);
    dp_capture_free(c);
    dp_program_unref(source);
    DROP(in);
}
END_TEST

static int capture_once(void)
{
    dp_program *p = NULL;
    int rc = capture_source(true, &p);

    unit_each(ctx->capture == NULL, "the context still records");
    dp_program_unref(p);
    return rc;
}

START_TEST(each_allocation_fails_once)
{
    source = program("in x Tensor\na = t::square(x)\ny = aten::mul.Tensor(a, x)\nout y y\n");
    in = leaf(FLOATS(2, 3));
    ck_assert_uint_gt(each_allocation(capture_once), 20);
    dp_program_unref(source);
    DROP(in);
}
END_TEST

UNIT_SUITE(captured_run)
{
    tcase_add_checked_fixture(tc, captured_setup, graphs_teardown);
    tcase_add_test(tc, its_calls_are_the_steps);
    tcase_add_test(tc, a_capture_that_records_refuses_another);
    tcase_add_test(tc, each_allocation_fails_once);
}
