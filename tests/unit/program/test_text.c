/* test_text.c -- programs as text. */
#include "programs.h"

START_TEST(program_as_text_and_as_dot)
{
    dp_ref t, k, y, z;
    dp_builder *b = begin(&t);
    dp_value two = dp_double(0.1);

    ck_assert_int_eq(dp_builder_constant(b, "k", &two, &k), 0);
    ck_assert_int_eq(add(b, 0, "t::scaled", (dp_ref[]){t, k}, 2, &y), 0);
    ck_assert_int_eq(dp_builder_name(b, "mid", y, 0), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_GET,
                 .name = "sizes",
                 .args = &y,
                 .n_args = 1,
                 .n_rets = 1,
                 .origin = 1};
    ck_assert_int_eq(dp_builder_add(b, &s, &z, NULL), 0);
    dp_program *p = end(b, z);
    ck_assert_str_eq(dp_program_text(p, dp_ctx_arena(ctx)),
                     "program(Tensor x) -> (y: %2)\n"
                     "  constant k = 0.1\n"
                     "     0  mid = t::scaled(x, k, None)\n"
                     "     1  %2 = get sizes(mid)  # ends: mid\n");
    ck_assert_str_eq(dp_program_dot(p, dp_ctx_arena(ctx)),
                     "digraph program {\n"
                     "  input0 [shape=ellipse, label=\"x\"];\n"
                     "  step0 [shape=box, label=\"t::scaled\"];\n"
                     "  step1 [shape=box, label=\"sizes\"];\n"
                     "  output0 [shape=ellipse, label=\"y\"];\n"
                     "  input0 -> step0 [label=\"\"];\n"
                     "  step0 -> step1 [label=\"mid\"];\n"
                     "  step1 -> output0 [label=\"%2\"];\n"
                     "}\n");
    dp_program_unref(p);
}
END_TEST

START_TEST(text_shows_the_flags_and_the_origins_of_steps)
{
    dp_ref t, y;
    dp_builder *b = begin(&t);

    ck_assert_int_eq(add(b, 0, "t::draws", &t, 1, &y), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = "t::same_",
                 .args = &y,
                 .n_args = 1,
                 .n_rets = 1,
                 .origins = (uint32_t[]){1, 12},
                 .n_origins = 2,
                 .mode = &(dp_step_mode){.size = sizeof(dp_step_mode),
                                         .sets = DP_STEP_MODE_GRAD | DP_STEP_MODE_CAST,
                                         .mode = {.size = sizeof(dp_mode), .no_grad = true}}};
    ck_assert_int_eq(dp_builder_add(b, &s, &t, NULL), 0);
    dp_program *p = end(b, t);
    ck_assert_str_eq(dp_program_text(p, dp_ctx_arena(ctx)),
                     "program(Tensor x) -> (y: %2)\n"
                     "     0  %1 = t::draws(x)  # random\n"
                     "     1,12  %2 = t::same_(%1)  # effect, grad off, autocast off, ends: %1\n");
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(program_text)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, program_as_text_and_as_dot);
    tcase_add_test(tc, text_shows_the_flags_and_the_origins_of_steps);
}
