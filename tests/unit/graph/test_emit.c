/* test_emit.c -- the steps that the functional program gets have the origins, the mode and the
 * condition of the step that they replace. */
#include "passes_fixture.h"

START_TEST(steps_keep_what_the_author_gave)
{
    dp_program *p = NULL, *q;
    dp_step_mode mode = {.size = sizeof(mode), .sets = DP_STEP_MODE_GRAD};
    uint32_t origins[] = {3, 8};
    dp_builder *b;
    dp_ref x, c, v;

    mode.mode = (dp_mode){.size = sizeof(dp_mode), .no_grad = true};
    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_text(b, "in x Tensor\nin c bool\nv = aten::select(x, 0, 1)"), 0);
    ck_assert_int_eq(dp_builder_find(b, "x", &x), 0);
    ck_assert_int_eq(dp_builder_find(b, "c", &c), 0);
    ck_assert_int_eq(dp_builder_find(b, "v", &v), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = "aten::relu_",
                 .args = &v,
                 .n_args = 1,
                 .n_rets = 1,
                 .origins = origins,
                 .n_origins = 2,
                 .mode = &mode,
                 .when = &c};
    ck_assert_int_eq(dp_builder_add(b, &s, NULL, NULL), 0);
    ck_assert_int_eq(dp_builder_output(b, "x", x), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    q = pass(dp_program_ref(p), "functionalize");
    ck_assert_uint_ge(q->n_steps, 5);
    for (uint32_t i = 1; i < q->n_steps; i++) {
        dp_step_info info = {.size = sizeof(info)};
        dp_program_step(q, i, &info);
        bool conditional =
            strcmp(info.name, "aten::relu") == 0 || strcmp(info.name, "aten::select_scatter") == 0;
        unit_each(info.n_origins == 2 && info.origins[1] == 8, "step %u\n%s", i, text_of(q));
        unit_each(info.mode != NULL && info.mode->mode.no_grad, "step %u\n%s", i, text_of(q));
        unit_each((info.when != NULL) == conditional, "step %u\n%s", i, text_of(q));
    }
    check_same(p, q);
    dp_program_unref(p);
    dp_program_unref(q);
}
END_TEST

UNIT_SUITE(emit)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, steps_keep_what_the_author_gave);
}
