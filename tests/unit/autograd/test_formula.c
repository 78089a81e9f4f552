/* test_formula.c -- the text of formulas: what its inputs and flags mean, and what is refused. */
#include "graphs.h"

/* The error of a formula for t::wrong, with flags that `text` begins with. */
static void wrong(const char *text, const char *part)
{
    const dp_item item[1] = {
        {.size = sizeof(dp_item), .kind = DP_ITEM_FORMULA, .name = "wrong", .code = text}};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", item);
    dp_unit *unit = rec_attach(reg, "wrong", &block, 1);
    dp_tensor *x = leaf(FLOATS(1)), *none;

    for (int times = 0; times < 2; times++) { /* what failed is not kept */
        refused(try_call("t::wrong", &(dp_value){DP_TAG_TENSOR, 0, {.t = x}}, 1, &none), DP_EPLUGIN,
                "the formula of t::wrong (t.c:42): ");
        ck_assert_msg(strstr(said(), part) != NULL, "no '%s' in '%s'", part, said());
    }
    dp_tensor_unref(x);
    dp_ctx_reset(ctx);
    rec_detach(reg, unit);
}

START_TEST(wrong_text_is_named_by_file_and_line)
{
    wrong("flags \nin grad Tensor\na = t::nothing(grad)\nout self a\n",
          "line 2: no operator 't::nothing'");
    wrong("flags \nin grad Tensor\n\na = aten::real(grad)\na = aten::real(grad)\nout self a\n",
          "'a' is made by line 3 already");
}
END_TEST

static dpi_formula *formula_of(const char *op)
{
    dpi_formula *f;

    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    const dpi_entry *e = dpi_snapshot_entry(dpi_ctx_snapshot(ctx), dp_op_find(ctx, op));
    ck_assert_msg(dpi_formula_of(ctx, e, &f) == 0, "%s", said());
    if (f != NULL)
        dpi_formula_ref(f);
    dp_ctx_end(ctx);
    return f;
}

START_TEST(where_inputs_come_from)
{
    dpi_formula *f = formula_of("t::both"), *same = formula_of("t::both");

    ck_assert_ptr_eq(f, same); /* it was compiled once */
    ck_assert_uint_eq(f->n_inputs, 5);
    ck_assert(f->inputs[0].kind == DPI_FROM_GRAD && f->inputs[0].optional);
    ck_assert(f->inputs[1].kind == DPI_FROM_GRAD && !f->inputs[1].optional);
    ck_assert_uint_eq(f->inputs[1].index, 1);
    ck_assert(f->inputs[3].kind == DPI_FROM_ARG && f->inputs[3].index == 1);
    ck_assert(f->inputs[4].kind == DPI_FROM_NEED && f->inputs[4].index == 1);
    ck_assert_uint_eq(f->n_outputs, 2);
    ck_assert_uint_eq(f->output_args[1], 1);
    ck_assert_uint_eq(f->differentiable, UINT64_MAX);
    dpi_formula_unref(f);
    dpi_formula_unref(same);
    f = formula_of("t::many");
    ck_assert(f->inputs[0].kind == DPI_FROM_GRAD && f->inputs[0].list);
    dpi_formula_unref(f);
    ck_assert_ptr_null(formula_of("t::plain"));
    dpi_formula_unref(NULL);
}
END_TEST

START_TEST(what_flags_say)
{
    dpi_formula *f = formula_of("t::product_only");

    ck_assert_uint_eq(f->differentiable, 1);
    dpi_formula_unref(f);
    f = formula_of("aten::mul_.Tensor");
    ck_assert_uint_eq(f->clone, 1);
    ck_assert(!f->through && !f->reshapes && !f->detaches);
    dpi_formula_unref(f);
    f = formula_of("t::cube");
    ck_assert(f->through && !f->reshapes && !f->detaches);
    dpi_formula_unref(f);
}
END_TEST

START_TEST(flags_without_a_value)
{
    const dp_item item[1] = {FORMULA_FLAGS("wrong", "unrecorded  detaches reshapes", "")};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", item);
    dp_unit *unit = rec_attach(reg, "flags", &block, 1);
    dpi_formula *f = formula_of("t::wrong");

    ck_assert(f->unrecorded && f->detaches && f->reshapes && !f->through);
    dpi_formula_unref(f);
    dp_tensor *x = leaf(FLOATS(1)), *y = call1("t::wrong", x);
    ck_assert(!dp_tensor_requires_grad(y)); /* nothing was recorded */
    DROP(x, y);
    dp_ctx_reset(ctx);
    rec_detach(reg, unit);
}
END_TEST

START_TEST(a_gradient_that_is_not_implemented)
{
    const dp_item item[1] = {FORMULA("wrong", "in grad Tensor\nout self 'not_implemented'\n")};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", item);
    dp_unit *unit = rec_attach(reg, "missing", &block, 1);
    dp_tensor *x = leaf(FLOATS(1)), *y = call1("t::wrong", x);

    refused(try_backward(y, NULL, 0), DP_ENOTIMPL, "the derivative for 't::wrong'");
    DROP(x, y);
    dp_ctx_reset(ctx);
    rec_detach(reg, unit);
}
END_TEST

/* A node keeps the formula that it was recorded with. */
START_TEST(a_formula_outlives_its_plugin)
{
    const dp_item item[1] = {FORMULA("wrong", "in grad Tensor\nout self grad\n")};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", item);
    dp_unit *unit = rec_attach(reg, "short", &block, 1);
    dp_tensor *x = leaf(FLOATS(1)), *y = call1("t::wrong", x);

    dp_ctx_reset(ctx);
    rec_detach(reg, unit);
    backward(y);
    has_grad(x, FLOATS(1));
    dp_tensor_unref(y);
    y = call1("t::wrong", x);
    refused(try_backward(y, NULL, 0), DP_ENOTIMPL, "the derivative for 't::wrong'");
    DROP(x, y);
}
END_TEST

static void field(const char *name, const dp_value *v, dp_value *out)
{
    int i = dpi_field_find(name);

    ck_assert_msg(i >= 0, "no field is called %s", name);
    ck_assert_int_eq(dpi_field_read(ctx, (uint16_t)i, v, out), 0);
}

static int64_t number(const char *name, const dp_value *v)
{
    dp_value out = {0};

    field(name, v, &out);
    ck_assert(out.tag == DP_TAG_INT || out.tag == DP_TAG_BOOL);
    return out.tag == DP_TAG_INT ? out.u.i : out.u.b;
}

START_TEST(fields_of_tensors)
{
    dp_tensor *x = floats(FLOATS(1, 2, 3, 4)), *h = call1("t::half", x), *list[2] = {h, NULL};
    dp_value v = dp_tensor_value(h), none = {0}, many = dp_tensors(list, 2), out;

    ck_assert_int_eq(number("offset", &v), 1);
    ck_assert_int_eq(number("ndim", &v), 1);
    ck_assert_int_eq(number("numel", &v), 2);
    ck_assert_int_eq(number("dtype", &v), DP_FLOAT32);
    ck_assert_int_eq(number("device", &v), DP_DEVICE_CPU);
    ck_assert_int_eq(number("layout", &v), DP_LAYOUT_STRIDED);
    ck_assert_int_eq(number("is_complex", &v), 0);
    ck_assert_int_eq(number("defined", &v), 1);
    ck_assert_int_eq(number("defined", &none), 0);
    ck_assert_int_eq(number("len", &many), 2);
    field("strides", &v, &out);
    ck_assert(out.tag == DP_TAG_INTS && out.len == 1 && out.u.ints[0] == 2);
    dp_value_free(&out);
    field("sizes", &many, &out);
    ck_assert(out.tag == DP_TAG_LIST && out.len == 2);
    ck_assert_int_eq(out.u.values[0].u.ints[0], 2);
    ck_assert_uint_eq(out.u.values[1].tag, DP_TAG_NONE);
    dp_value_free(&out);
    field("sizes", &none, &out);
    ck_assert_uint_eq(out.tag, DP_TAG_NONE);
    DROP(x, h);
}
END_TEST

static int attach_and_compile(void)
{
    const dp_item item[1] = {FORMULA("wrong",
                                     "in grad Tensor\nin self.sizes int[]\nin self Tensor\n"
                                     "a = aten::mul.Tensor(grad, self)\nout self a\n")};
    const dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 42, "t", "AutogradFormula", item);
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit = NULL;
    dpi_formula *f = NULL;
    int rc = dp_registry_attach(reg, "wrong", "1", &block, 1, &unit, &err);

    if (rc < 0)
        return rc;
    if ((rc = dp_ctx_begin(ctx)) == 0) {
        const dp_op *op = dp_op_find(ctx, "t::wrong");
        rc = op == NULL ? dp_ctx_error(ctx)->code
                        : dpi_formula_of(ctx, dpi_snapshot_entry(dpi_ctx_snapshot(ctx), op), &f);
        dp_ctx_end(ctx);
    }
    bool hit = dp_fault_hit(); /* the rest is the test's own */
    if (hit)
        dp_fault_arm(0);
    dp_ctx_reset(ctx);
    if (hit) {
        rec_detach(reg, unit);
        dp_fault_arm(1);
        dp_free(dp_malloc(1));
    } else {
        int gone = dp_registry_detach(reg, unit, -1, &err);
        if (gone < 0) { /* the fault came here */
            dp_fault_arm(0);
            rec_detach(reg, unit);
            dp_fault_arm(1);
            dp_free(dp_malloc(1));
        }
        rc = rc == 0 ? gone : rc;
    }
    return rc;
}

START_TEST(no_allocation_of_a_compilation_leaks)
{
    ck_assert_uint_gt(each_allocation(attach_and_compile), 10);
}
END_TEST

UNIT_SUITE(autograd_formula)
{
    tcase_add_checked_fixture(tc, graphs_setup, graphs_teardown);
    tcase_add_test(tc, wrong_text_is_named_by_file_and_line);
    tcase_add_test(tc, where_inputs_come_from);
    tcase_add_test(tc, what_flags_say);
    tcase_add_test(tc, flags_without_a_value);
    tcase_add_test(tc, a_gradient_that_is_not_implemented);
    tcase_add_test(tc, a_formula_outlives_its_plugin);
    tcase_add_test(tc, fields_of_tensors);
    tcase_add_test(tc, no_allocation_of_a_compilation_leaks);
}
