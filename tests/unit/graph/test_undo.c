/* test_undo.c -- writes through each kind of view. */
#include "passes_fixture.h"

/* Views of b, float32 [4, 3], and the operator with which a write through it is stored; NULL: the
 * write is to a copy. */
static const struct {
    const char *view, *inverse;
} cases[] = {
    {"v = aten::select(b, 1, 2)", "aten::select_scatter"},
    {"v = aten::slice(b, 0, 1, 9, 2)", "aten::slice_scatter"},
    {"v = aten::slice(b, -1, -2)", "aten::slice_scatter"},
    {"v = aten::diagonal(b, -1)", "aten::diagonal_scatter"},
    {"v = aten::as_strided(b, [2, 2], [1, 2], 3)", "aten::as_strided_scatter"},
    {"v = aten::transpose(b, 0, 1)", "aten::transpose.int"},
    {"v = aten::swapaxes(b, 0, -1)", "aten::swapaxes"},
    {"v = aten::t(b)", "aten::t"},
    {"v = aten::mT(b)", "aten::mT"},
    {"v = aten::numpy_T(b)", "aten::numpy_T"},
    {"v = aten::movedim(b, 0, 1)", "aten::movedim.int"},
    {"v = aten::permute(b, [-1, 0])", "aten::permute"},
    {"v = aten::view(b, [2, 6])", "aten::reshape"},
    {"v = aten::unflatten(b, 0, [2, 2])", "aten::reshape"},
    {"v = aten::unsqueeze(b, 1)", "aten::reshape"},
    {"u = aten::unsqueeze(b, 1); v = aten::squeeze(u)", "aten::reshape"},
    {"v = aten::alias(b)", "aten::mul.Scalar"},
    {"v = aten::detach(b)", "aten::mul.Scalar"},
    {"v = aten::narrow(b, 1, 1, 2)", "aten::slice_scatter"},
    {"v = aten::narrow(b, 1, -2, 2)", NULL},
    {"l = aten::split(b, 3); v = l[1]", "aten::slice_scatter"},
    {"l = aten::split_with_sizes(b, [1, 2, 1]); v = l[1]", "aten::slice_scatter"},
    {"l = aten::unbind(b, 1); v = l[1]", "aten::select_scatter"},
    {"l = aten::chunk(b, 3, 0); v = l[1]", NULL},
    {"l = aten::tensor_split(b, 3, 0); v = l[2]", NULL},
    {"v = aten::unfold(b, 0, 2, 2)", NULL},
    {"v = aten::real(b)", NULL},
    {"n = get size(b, 1); v = aten::narrow(b, 1, 0, n)", NULL},
    {"v = aten::view(b, 3)", NULL},
};

START_TEST(views_are_turned_back)
{
    char text[300];

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        snprintf(
            text, sizeof(text),
            "in x Tensor\nb = aten::add(x, 1)\n%s\nw = aten::mul_(v, 2)\nout b b\nout v v\nout w w",
            cases[i].view);
        dp_program *p = read_program(text), *q = pass(dp_program_ref(p), "functionalize");
        if (cases[i].inverse != NULL)
            ck_assert_msg(count_writes(q) == 0 && count(q, cases[i].inverse) > 0, "%s\n%s",
                          cases[i].view, text_of(q));
        else
            ck_assert_msg(count_writes(q) == 1 && count(q, "aten::clone") == 1, "%s\n%s",
                          cases[i].view, text_of(q));
        check_same(p, q);
        dp_program_unref(p);
        dp_program_unref(q);
    }
}
END_TEST

static const struct {
    const char *text, *message;
} refused[] = {
    {"in x Tensor\nv = aten::expand(x, [2, 4, 3])\nw = aten::mul_(v, 2)\nout w w",
     "line 3: aten::mul_.Scalar cannot be made functional: it writes to an expanded tensor"},
    {"in x Tensor\nv = aten::reshape(x, [12])\nw = aten::mul_(v, 2)\nout w w",
     "line 3: aten::mul_.Scalar cannot be made functional: it writes to what may be a view or a "
     "copy"},
    {"in x Tensor\nv = aten::contiguous(x)\nw = aten::mul_(x, 2)\nz = aten::neg(v)\nout z z",
     "line 2: aten::contiguous cannot be made functional: it may return a view or a copy, and its "
     "argument is written before the result is read"},
    {"in x Tensor\nv = aten::as_strided(x, [2], [1])\nw = aten::mul_(x, 2)\nout w w",
     "line 2: aten::as_strided cannot be made functional: it views the memory of an input that a "
     "step "
     "writes to"},
    {"in x Tensor\nw = aten::resize_(x, [2])\nout w w",
     "line 2: aten::resize_ cannot be made functional: it changes the sizes, the memory or the "
     "gradient of a tensor"},
    {"in x Tensor\nw = aten::set_(x)\nout w w",
     "line 2: aten::set_ cannot be made functional: it changes"},
    {"in x Tensor\nw = aten::t_(x)\nout w w",
     "line 2: aten::t_ cannot be made functional: it changes"},
    {"in x any\nw = aten::add(x, 1)\nout w w",
     "line 2: aten::add cannot be made functional: its overload is chosen when the program runs; "
     "give types to the inputs, or name the overload"},
    {"in c int\nin x Tensor\nin y Tensor\nv = select(c, x, y)\nw = aten::mul_(v, 2)\nout w w",
     "line 5: aten::mul_.Scalar cannot be made functional: it writes to a value that was chosen by "
     "select"},
    {"in l Tensor[]\naten::_foreach_add_(l, 1)\na = l[0]\nout a a",
     "line 2: aten::_foreach_add_.Scalar cannot be made functional: it writes to the tensors of "
     "input "
     "'l', a list whose length is not known"},
    {"in l Tensor[]\na = l[0]\nw = aten::add_(a, 1)\nb = aten::cat(l)\nout b b",
     "line 4: aten::cat cannot be made functional: the list 'l' is used as a whole after one of "
     "its "
     "items was written"},
};

START_TEST(what_is_not_functional_is_named)
{
    for (size_t i = 0; i < DPI_COUNT(refused); i++) {
        dp_program *p = read_program(refused[i].text), *out = NULL;
        int rc = dp_program_functionalize(ctx, p, &out);
        const char *message = dp_ctx_error(ctx)->message;
        ck_assert_msg(rc == DP_ENOTIMPL &&
                          strncmp(message, refused[i].message, strlen(refused[i].message)) == 0,
                      "%d '%s', want '%s'", rc, message, refused[i].message);
        ck_assert_ptr_null(out);
        dp_program_unref(p);
    }
}
END_TEST

UNIT_SUITE(undo)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, views_are_turned_back);
    tcase_add_test(tc, what_is_not_functional_is_named);
}
