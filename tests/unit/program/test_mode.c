/* test_mode.c -- steps that run in a mode of their own. */
#include "programs.h"

static char seen[64]; /* a letter for each call: the mode that the kernel ran in */
static int n_seen;

static int sees(dp_call *call)
{
    const dp_mode *m = dp_ctx_mode(call->ctx);

    n_seen %= (int)sizeof(seen) - 1;
    seen[n_seen++] = (char)((m->no_grad ? 'a' : 'A') + (m->cast_backends != 0));
    seen[n_seen] = '\0';
    return fresh(call);
}

static int sees_and_fails(dp_call *call)
{
    dp_mode m = *dp_ctx_mode(call->ctx);

    m.no_grad = false;
    ck_assert_int_ge(dp_guard_mode(call->ctx, &m), 0); /* left open */
    return fails(call);
}

static const dp_item see_defs[] = {REC_DEF("sees(Tensor x) -> Tensor"),
                                   REC_DEF("sees_and_fails(Tensor x) -> Tensor")};
static const dp_item see_kernels[] = {REC_IMPL("sees", sees),
                                      REC_IMPL("sees_and_fails", sees_and_fails)};
static const dp_block see_blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "s", "", see_defs),
                                      REC_BLOCK(DP_BLOCK_IMPL, 2, "s", "CPU", see_kernels)};

static void setup_seeing(void)
{
    setup();
    rec_attach(reg, "sees", see_blocks, 2);
    n_seen = 0;
}

static dp_step_mode grad(bool on)
{
    return (dp_step_mode){.size = sizeof(dp_step_mode),
                          .sets = DP_STEP_MODE_GRAD,
                          .mode = {.size = sizeof(dp_mode), .no_grad = !on}};
}

static int add_in(dp_builder *b, const char *op, const dp_step_mode *mode, dp_ref *t)
{
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_CALL,
                 .name = op,
                 .args = t,
                 .n_args = 1,
                 .n_rets = 1,
                 .mode = mode};
    return dp_builder_add(b, &s, t, NULL);
}

/* Steps in the modes that the letters of `how` say: 'a' without gradients, 'A' with, '.' those of
 * the run, 'b' autocast for the CPU. */
static dp_program *steps_in(const char *how, const char *last)
{
    dp_step_mode off = grad(false), on = grad(true),
                 cast = {.size = sizeof(cast),
                         .sets = DP_STEP_MODE_CAST,
                         .mode = {.size = sizeof(dp_mode), .no_grad = true, .cast_backends = 1}};
    dp_ref t;
    dp_builder *b = begin(&t);

    for (; *how != '\0'; how++) {
        const dp_step_mode *mode = *how == 'a'   ? &off
                                   : *how == 'A' ? &on
                                   : *how == 'b' ? &cast
                                                 : NULL;
        ck_assert_int_eq(add_in(b, how[1] == '\0' ? last : "s::sees", mode, &t), 0);
    }
    return end(b, t);
}

START_TEST(each_step_runs_in_its_mode)
{
    static const struct {
        const char *how, *wants, *wants_in_no_grad;
    } cases[] = {{"..", "AA", "aa"},
                 {"aa..aAA.", "aaAAaAAA", "aaaaaAAa"},
                 {"Aa", "Aa", "Aa"},
                 {"b.ab", "BAaB", "baab"},
                 {".b", "AB", "ab"}};
    dp_value out;
    dp_run r;

    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        dp_program *p = steps_in(cases[i / 2].how, "s::sees");
        dp_mode around = *dp_ctx_mode(ctx);
        around.no_grad = i % 2;
        int depth = dp_guard_mode(ctx, &around);
        ck_assert_int_ge(depth, 0);
        n_seen = 0;
        ck_assert_int_eq(run1(p, &out, &r), 0);
        ck_assert_str_eq(seen, i % 2 ? cases[i / 2].wants_in_no_grad : cases[i / 2].wants);
        ck_assert_msg(dp_ctx_mode(ctx)->no_grad == i % 2 && dp_ctx_mode(ctx)->cast_backends == 0,
                      "'%s' left a mode behind", cases[i / 2].how);
        dp_guard_leave(ctx, depth);
        dp_values_release(&out, 1);
        dp_program_unref(p);
        dp_ctx_reset(ctx);
    }
}
END_TEST

START_TEST(a_program_runs_in_the_mode_of_the_step_that_runs_it)
{
    dp_program *inner = steps_in(".A.", "s::sees"), *p;
    dp_step_mode off = grad(false);
    dp_ref t;
    dp_value out;
    dp_run r;
    dp_builder *b = begin(&t);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = inner,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"x", t}},
                 .n_kwargs = 1,
                 .mode = &off};

    ck_assert_int_eq(dp_builder_add(b, &s, &t, NULL), 0);
    ck_assert_int_eq(add_in(b, "s::sees", NULL, &t), 0);
    p = end(b, t);
    ck_assert_int_eq(run1(p, &out, &r), 0);
    ck_assert_str_eq(seen, "aAaA");
    dp_values_release(&out, 1);
    dp_program_unref(p);
    dp_program_unref(inner);
}
END_TEST

START_TEST(no_mode_outlives_a_failure)
{
    static const char *const last[] = {"t::fails", "s::sees_and_fails"};
    dp_value out;
    dp_run r;

    for (size_t i = 0; i < 2; i++) {
        dp_program *p = around(steps_in("aa", last[i]), 1);
        ck_assert_ptr_nonnull(p);
        for (int k = 0; k < DP_LIMIT_GUARDS + 2; k++) {
            expect(run1(p, &out, &r), DP_ERUNTIME, "it fails");
            ck_assert(!dp_ctx_mode(ctx)->no_grad);
        }
        dp_program_unref(p);
    }
    dp_program *p = steps_in("A", "s::sees");
    int depth = 0, first = -1;
    while ((depth = dp_guard_enter(ctx, dp_ctx_include(ctx), dp_ctx_exclude(ctx))) >= 0)
        first = first < 0 ? depth : first;
    expect(run1(p, &out, &r), DP_ERESOURCE, "step 0: ");
    dp_guard_leave(ctx, first);
    ck_assert_int_eq(run1(p, &out, &r), 0);
    dp_values_release(&out, 1);
    dp_program_unref(p);
}
END_TEST

START_TEST(modes_are_checked_and_kept)
{
    dp_step_mode wrong = {.size = sizeof(wrong), .sets = 4}, mode = grad(false);
    dp_ref t;
    dp_step_info s = {.size = sizeof(s)};
    dp_builder *b = begin(&t);

    expect(add_in(b, "s::sees", &wrong, &t), DP_EVALUE, "a step's mode sets 0x4");
    wrong.sets = 0;
    expect(add_in(b, "s::sees", &wrong, &t), DP_EVALUE, "a step's mode sets 0");
    wrong.sets = DP_STEP_MODE_CAST;
    wrong.mode.cast_dtype[0] = 255;
    wrong.mode.size = sizeof(dp_mode);
    expect(add_in(b, "s::sees", &wrong, &t), DP_EVALUE, "a cast_dtype is 255");
    ck_assert_int_eq(add_in(b, "s::sees", &mode, &t), 0);
    ck_assert_int_eq(add_in(b, "s::sees", NULL, &t), 0);
    for (uint32_t i = 0; i < DP_LIMIT_PROGRAM_MODES - 1; i++) {
        mode = (dp_step_mode){.size = sizeof(mode), .sets = DP_STEP_MODE_CAST};
        mode.mode = (dp_mode){.size = sizeof(dp_mode), .cast_backends = i};
        unit_each(add_in(b, "s::sees", &mode, &t) == 0, "%s", dp_ctx_error(ctx)->message);
    }
    ck_assert_int_eq(add_in(b, "s::sees", &mode, &t), 0);
    mode.mode.no_cast_cache = true;
    expect(add_in(b, "s::sees", &mode, &t), DP_ERESOURCE, "more than 255 modes (program_modes)");
    dp_program *p = end(b, t);
    dp_program_step(p, 0, &s);
    ck_assert(s.mode->sets == DP_STEP_MODE_GRAD && s.mode->mode.no_grad);
    dp_program_step(p, 1, &s);
    ck_assert_ptr_null(s.mode);
    dp_program_step(p, DP_LIMIT_PROGRAM_MODES, &s);
    ck_assert(s.mode->mode.cast_backends == DP_LIMIT_PROGRAM_MODES - 2);
    dp_program_unref(p);
}
END_TEST

UNIT_SUITE(mode)
{
    tcase_add_checked_fixture(tc, setup_seeing, teardown);
    tcase_add_test(tc, each_step_runs_in_its_mode);
    tcase_add_test(tc, a_program_runs_in_the_mode_of_the_step_that_runs_it);
    tcase_add_test(tc, no_mode_outlives_a_failure);
    tcase_add_test(tc, modes_are_checked_and_kept);
}
