/* test_rewrite.c -- copies of programs, and which values share memory that is written or leaves. */
#include "passes_fixture.h"

static const char *const texts[] = {
    "in x Tensor; in n int\na = aten::add(x, 2.5, alpha=n)\nl = [a, x]\nb = l[1]\ns = get size(a, "
    "0)\n"
    "t = scalar mul(s, n)\nu = select(t, a, b)\nv = when n: aten::neg(u)\nout y v\nout z l\nout n "
    "3",
    "in x any\na = aten::add(x, 1)\nout y a",
    "in x Tensor?\na = aten::zeros([2, 3], dtype=7)\nb = aten::add_(a, 1)\nout y b\nout x x",
};

static dp_program *copy(const dp_program *p)
{
    dpi_rewrite r;
    dp_program *out = NULL;
    int rc = dpi_rewrite_begin(&r, ctx, p);

    for (uint32_t i = 0; i < p->n_steps && rc == 0; i++)
        rc = dpi_rewrite_keep(&r, i);
    if (rc == 0)
        rc = dpi_rewrite_outputs(&r);
    if (rc == 0)
        rc = dpi_rewrite_finish(&r, &out);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dpi_rewrite_end(&r);
    return out;
}

START_TEST(a_copy_is_the_same_program)
{
    for (size_t i = 0; i < DPI_COUNT(texts); i++) {
        dp_program *p = read_program(texts[i]), *q = copy(p);
        uint64_t hash[2], copied[2];
        dp_program_hash(p, hash);
        dp_program_hash(q, copied);
        ck_assert_msg(memcmp(hash, copied, sizeof(hash)) == 0, "%s\n%s", text_of(p), text_of(q));
        ck_assert_str_eq(text_of(p), text_of(q));
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

START_TEST(modes_flags_and_origins_stay)
{
    dp_program *inner = read_program("in x Tensor\ny = aten::neg(x)\nout y y"), *p = NULL, *q;
    dp_step_mode mode = {.size = sizeof(mode), .sets = DP_STEP_MODE_GRAD};
    uint32_t origins[] = {7, 9};
    dp_builder *b;
    dp_ref x;

    mode.mode = (dp_mode){.size = sizeof(dp_mode), .no_grad = true};
    ck_assert_int_eq(dp_builder_new(ctx, &b), 0);
    ck_assert_int_eq(dp_builder_input(b, "x", "Tensor", &x), 0);
    dp_step s = {.size = sizeof(s),
                 .kind = DP_STEP_SUB,
                 .program = inner,
                 .n_rets = 1,
                 .kwargs = (dp_ref_kwarg[]){{"x", x}},
                 .n_kwargs = 1,
                 .origins = origins,
                 .n_origins = 2,
                 .mode = &mode,
                 .flags = DP_STEP_FLAG_RECOMPUTE};
    ck_assert_int_eq(dp_builder_add(b, &s, &x, NULL), 0);
    ck_assert_int_eq(dp_builder_output(b, "y", x), 0);
    ck_assert_int_eq(dp_builder_finish(b, &p), 0);
    dp_builder_free(b);
    q = copy(p);
    dp_step_info info = {.size = sizeof(info)};
    dp_program_step(q, 0, &info);
    ck_assert(info.flags & DP_STEP_FLAG_RECOMPUTE);
    ck_assert(info.mode != NULL && info.mode->mode.no_grad);
    ck_assert(info.n_origins == 2 && info.origins[0] == 7 && info.origins[1] == 9);
    ck_assert_ptr_eq(info.program, inner);
    dp_program_unref(p);
    dp_program_unref(q);
    dp_program_unref(inner);
}
END_TEST

START_TEST(touched_and_kept_values_are_found)
{
    static const struct {
        const char *text, *touched, *kept; /* a letter a value */
    } cases[] = {
        {"in x Tensor\nv = aten::t(x)\nw = aten::neg(x)\nz = aten::add_(v, 1)\nout w w", "yy-y",
         "--y-"},
        {"in x Tensor\na = aten::neg(x)\nb = aten::abs(x)\nl = [a, b]\nc = l[0]\nd = aten::add_(a, "
         "1)\n"
         "out c c",
         "-y-yyy", "-yyyy-"},
    };

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_program *p = read_program(cases[i].text);
        bool touched[20], kept[20];
        char have[2][20] = {{0}};
        dpi_find_touched(p, touched);
        dpi_find_kept(p, kept);
        for (uint32_t v = 0; v < p->n_values; v++) {
            have[0][v] = touched[v] ? 'y' : '-';
            have[1][v] = kept[v] ? 'y' : '-';
        }
        ck_assert_str_eq(have[0], cases[i].touched);
        ck_assert_str_eq(have[1], cases[i].kept);
        dp_program_unref(p);
    }
}
END_TEST

UNIT_SUITE(rewrite)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_copy_is_the_same_program);
    tcase_add_test(tc, modes_flags_and_origins_stay);
    tcase_add_test(tc, touched_and_kept_values_are_found);
}
