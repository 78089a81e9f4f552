/* test_record_as.c -- calls whose gradients a plugin's own operator computes. */
#include "graphs.h"

/* The recording that the kernel of own::f at the Autograd keys passes to dp_record_as(). */
static dp_recording how;
static int asked; /* calls of own::back */
static dp_value got[12];
static float got_extra; /* argument `extra` of own::one */
static bool none_for_w; /* own::back returns None for `w` */

static int record_f(dp_call *call)
{
    return dp_record_as(call, &how);
}

/* own::back(Tensor? grad, Tensor? grad1, Tensor x, Tensor w, ...) -> (Tensor?, Tensor?): the
 * gradients of x and w for (x * w, x + w).  It calls operators, so it can be differentiated. */
static int back(dp_call *call)
{
    const dp_value *a = call->args;
    dp_tensor *dx = NULL, *dw = NULL;
    const dp_value by_w[2] = {a[0], a[3]}, by_x[2] = {a[0], a[2]};

    asked++;
    memcpy(got, a, call->n_args * sizeof(dp_value));
    if (a[0].tag == DP_TAG_NONE)
        return 0;
    int rc = dpi_call_one(call->ctx, "aten::mul.Tensor", by_w, 2, &dx);
    if (rc == 0 && call->n_args > 4 && a[4].tag == DP_TAG_TENSOR) {
        const dp_value more[2] = {dp_tensor_value(dx), a[4]};
        dp_tensor *product = NULL;
        rc = dpi_call_one(call->ctx, "aten::mul.Tensor", more, 2, &product);
        dp_tensor_unref(dx);
        dx = product;
    }
    if (rc == 0 && !none_for_w)
        rc = dpi_call_one(call->ctx, "aten::mul.Tensor", by_x, 2, &dw);
    call->rets[0] = dp_tensor_value(dx);
    call->rets[1] = dp_tensor_value(dw);
    return rc;
}
static int total_back(dp_call *call)
{
    static dp_tensor *list[2];

    list[0] = dp_tensor_ref(call->args[0].u.t);
    list[1] = dp_tensor_ref(call->args[0].u.t);
    call->rets[0] = dp_tensors(list, 2);
    return 0;
}
static int many_back(dp_call *call)
{
    dp_tensor *first = call->args[0].u.tensors[0];

    call->rets[0] = dp_tensor_value(dp_tensor_ref(first));
    return 0;
}

static const dp_item own_defs[] = {
    REC_DEF("f(Tensor x, Tensor w, int k=7) -> (Tensor, Tensor)"),
    REC_DEF("f_(Tensor(a!) x, Tensor w) -> Tensor(a!)"),
    REC_DEF("total(Tensor[] x) -> Tensor"),
    REC_DEF("many(Tensor x) -> Tensor[]"),
    REC_DEF("mixed(Tensor x) -> (Tensor[], Tensor)"),
    REC_DEF("back(Tensor? grad, Tensor? grad1, Tensor x, Tensor w, Tensor? extra=None, int k=0, "
            "bool need=False) -> (Tensor?, Tensor?)"),
    REC_DEF("strict(Tensor grad, Tensor grad1, Tensor x, Tensor w) -> (Tensor?, Tensor?)"),
    REC_DEF("one(Tensor grad, Tensor grad1, Tensor x, Tensor w, Tensor extra) -> Tensor"),
    REC_DEF("f_back(Tensor grad, Tensor w) -> (Tensor, Tensor)"),
    REC_DEF("total_back(Tensor grad) -> Tensor[]"),
    REC_DEF("many_back(Tensor[] grads) -> Tensor"),
    REC_DEF("numbers(Tensor grad, Tensor grad1) -> (int, int)"),
};
static int one(dp_call *call)
{
    dp_tensor *dx = NULL;
    const dp_value by_w[2] = {call->args[0], call->args[3]};
    int rc = dpi_call_one(call->ctx, "aten::mul.Tensor", by_w, 2, &dx);

    dp_view v = view_of_tensor(call->args[4].u.t);
    got_extra = *element(&v, 0);
    return give(call, rc, dx);
}
static int f_back(dp_call *call)
{
    dp_tensor *dx = NULL;
    int rc = dpi_call_one(call->ctx, "aten::mul.Tensor", call->args, 2, &dx);

    call->rets[1] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return give(call, rc, dx);
}
static int fails(dp_call *call)
{
    return dp_error_set(&call->ctx->error, DP_EVALUE, "it fails");
}
static const dp_item own_kernels[] = {REC_IMPL("f", both_kernel), REC_IMPL("f_", mul_in_place),
                                      REC_IMPL("total", total_kernel),
                                      REC_IMPL("many", many_kernel), REC_IMPL("mixed", fails)};
static const dp_item own_composites[] = {REC_IMPL("back", back),
                                         REC_IMPL("strict", back),
                                         REC_IMPL("one", one),
                                         REC_IMPL("f_back", f_back),
                                         REC_IMPL("total_back", total_back),
                                         REC_IMPL("many_back", many_back),
                                         REC_IMPL("numbers", fails)};
static const dp_item own_layer[] = {REC_IMPL("f", record_f), REC_IMPL("f_", record_f),
                                    REC_IMPL("total", record_f), REC_IMPL("many", record_f),
                                    REC_IMPL("mixed", record_f)};
static const dp_block own_blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "own", "", own_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "own", "CPU", own_kernels),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "own", "CompositeImplicitAutograd", own_composites),
    REC_BLOCK(DP_BLOCK_IMPL, 4, "own", "Autograd", own_layer),
};

static dp_saved saved[8];

/* Record with backward operator `name` and the first `n` of `saved`: x, w, then what a test
 * sets. */
static void record_with(const char *name, size_t n)
{
    saved[0] = dp_save_argument(0);
    saved[1] = dp_save_argument(1);
    how = (dp_recording){.size = sizeof(how), .backward = name, .saved = saved, .n_saved = n};
}

static void own_setup(void)
{
    graphs_setup();
    rec_attach(reg, "own", own_blocks, DPI_COUNT(own_blocks));
    asked = 0;
    none_for_w = false;
    record_with("own::back", 2);
}

static int try_f(dp_tensor *x, dp_tensor *w, dp_tensor **y)
{
    const dp_value args[3] = {dp_tensor_value(x), dp_tensor_value(w), dp_int(7)};
    dp_value rets[2];
    const dp_op *op = dp_op_find(ctx, "own::f");
    int rc = dp_call_boxed(ctx, op, args, 3, rets, 2);

    y[0] = rets[0].u.t;
    y[1] = rets[1].u.t;
    return rc;
}
static void f(dp_tensor *x, dp_tensor *w, dp_tensor **y)
{
    int rc = try_f(x, w, y);

    ck_assert_msg(rc == 0, "%s", said());
}

START_TEST(the_backward_operator_computes_the_gradients)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y[2];

    f(x, w, y);
    is_floats(y[0], FLOATS(15));
    is_floats(y[1], FLOATS(8));
    ck_assert_str_eq(dp_tensor_grad_fn(y[0]), "own::f");
    ck_assert_int_eq(dp_tensor_output_nr(y[1]), 1);
    backward(y[0]);
    ck_assert_int_eq(asked, 1);
    ck_assert_int_eq(got[1].tag, DP_TAG_TENSOR); /* zeros stand for a gradient that is undefined */
    has_grad(x, FLOATS(5));
    has_grad(w, FLOATS(3));
    refused(try_backward(y[0], NULL, 0), DP_ERUNTIME, "a second time");
    DROP(x, w, y[0], y[1]);
}
END_TEST

START_TEST(nothing_is_recorded_without_need)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *y[2];
    dp_mode no_grad = {.size = sizeof(no_grad), .no_grad = true};

    int depth = dp_guard_mode(ctx, &no_grad);
    record_with("own::gone", 2); /* is not asked for */
    f(x, w, y);
    dp_guard_leave(ctx, depth);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    DROP(x, y[0], y[1]);
    f(w, w, y);
    ck_assert(!dp_tensor_requires_grad(y[0]));
    DROP(w, y[0], y[1]);
}
END_TEST

START_TEST(other_values_are_saved)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *extra = leaf(FLOATS(2)), *y[2];
    dp_tensor *twice = call1("t::square", extra);

    record_with("own::back", 5);
    saved[2] = dp_save_value(dp_tensor_value(twice));
    saved[3] = dp_save_value(dp_int(42));
    saved[4] = dp_save_needed(1);
    f(x, w, y);
    ck_assert_int_eq(try_backward(y[0], NULL, DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN), 0);
    ck_assert_int_eq(got[5].u.i, 42);
    ck_assert_int_eq(got[6].u.b, false);
    has_grad(x, FLOATS(20)); /* 1 * w * extra * extra */
    dp_tensor *grad = dp_tensor_grad(x);
    backward(grad); /* the saved tensor has its history: d/dextra (w * extra * extra) */
    has_grad(extra, FLOATS(20));
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    write2("aten::mul_.Tensor", twice, w);
    refused(try_backward(y[0], NULL, 0), DP_ERUNTIME, "own::f saved as 'saved2', is at version 1");
    DROP(x, w, extra, twice, y[0], y[1], grad);
}
END_TEST

START_TEST(an_extra_tensor_alone_records_nothing)
{
    dp_tensor *x = floats(FLOATS(3)), *extra = leaf(FLOATS(2)), *w = leaf(FLOATS(5)), *y[2];

    record_with("own::back", 3);
    saved[2] = dp_save_value(dp_tensor_value(extra));
    f(x, x, y);
    ck_assert(!dp_tensor_requires_grad(y[0]));
    DROP(y[0], y[1]);
    f(x, w, y);
    backward(y[0]);
    ck_assert_ptr_null(dp_tensor_grad(extra));
    DROP(x, w, extra, y[0], y[1]);
}
END_TEST

START_TEST(a_saved_return_can_be_differentiated)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y[2], *grad;

    record_with("own::one", 3);
    how.arguments = 1;
    saved[2] = dp_save_return(0);
    f(x, w, y);
    int rc = try_backward(y[0], NULL, DP_BACKWARD_CREATE | DP_BACKWARD_RETAIN);
    ck_assert_msg(rc == 0, "%s", said());
    ck_assert(got_extra == 15);
    has_grad(x, FLOATS(5));
    ck_assert_ptr_null(dp_tensor_grad(w)); /* `arguments` does not name it */
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    write2("aten::mul_.Tensor", y[0], w);
    refused(try_backward(y[1], NULL, 0), DP_ERUNTIME, "own::f saved as 'result', is at version 1");
    grad = dp_tensor_grad(w);
    ck_assert_ptr_null(grad);
    DROP(x, w, y[0], y[1]);
}
END_TEST

START_TEST(undefined_gradients)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y[2];

    how.flags = DP_RECORD_UNDEFINED;
    f(x, w, y);
    backward(y[1]);
    ck_assert_int_eq(got[0].tag, DP_TAG_NONE);
    ck_assert_int_eq(got[1].tag, DP_TAG_TENSOR);
    ck_assert_ptr_null(dp_tensor_grad(x)); /* own::back gave none */
    DROP(y[0], y[1]);
    none_for_w = true;
    how.flags = 0;
    f(x, w, y);
    backward(y[0]);
    has_grad(x, FLOATS(5));
    ck_assert_ptr_null(dp_tensor_grad(w));
    DROP(y[0], y[1]);
    record_with("own::strict", 2);
    f(x, w, y);
    backward(y[1]);
    ck_assert_int_eq(got[0].tag, DP_TAG_TENSOR);
    DROP(x, w, y[0], y[1]);
}
END_TEST

START_TEST(some_returns_are_not_differentiable)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y[2];

    how.non_differentiable = 2;
    f(x, w, y);
    ck_assert(dp_tensor_requires_grad(y[0]) && !dp_tensor_requires_grad(y[1]));
    backward(y[0]);
    has_grad(x, FLOATS(5));
    DROP(x, w, y[0], y[1]);
}
END_TEST

START_TEST(gradients_can_be_differentiated_unless_once)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y[2], *grad;

    f(x, w, y);
    ck_assert_int_eq(try_backward(y[0], NULL, DP_BACKWARD_CREATE), 0);
    grad = dp_tensor_grad(x);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, w, NULL), 0);
    backward(grad);
    has_grad(w, FLOATS(1));
    DROP(grad, y[0], y[1]);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    how.flags = DP_RECORD_ONCE;
    f(x, w, y);
    ck_assert_int_eq(try_backward(y[0], NULL, DP_BACKWARD_CREATE), 0);
    grad = dp_tensor_grad(x);
    is_floats(grad, FLOATS(5));
    refused(try_backward(grad, NULL, 0), DP_ERUNTIME,
            "own::f: trying to differentiate twice a function that was marked with "
            "@once_differentiable");
    ck_assert_int_eq(dp_tensor_set_grad(ctx, x, NULL), 0);
    ck_assert_int_eq(dp_tensor_set_grad(ctx, w, NULL), 0);
    DROP(grad, x, w, y[0], y[1]);
}
END_TEST

START_TEST(what_is_written_gets_the_node)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5));
    dp_tensor *h = call1("aten::clone", x);

    saved[0] = dp_save_argument(1);
    how = (dp_recording){
        .size = sizeof(how), .backward = "own::f_back", .saved = saved, .n_saved = 1};
    write2("own::f_", h, w);
    is_floats(h, FLOATS(15));
    ck_assert_str_eq(dp_tensor_grad_fn(h), "own::f_");
    backward(h);
    has_grad(x, FLOATS(5));
    dp_tensor *same;
    refused(try_call2("own::f_", x, w, &same), DP_ERUNTIME, "a leaf Variable that requires grad");
    DROP(x, w, h);
}
END_TEST

START_TEST(lists_of_tensors)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *y;
    dp_tensor *pair[2] = {x, w};
    const dp_value list = dp_tensors(pair, 2), arg = dp_tensor_value(x);
    dp_value ret;

    how = (dp_recording){.size = sizeof(how), .backward = "own::total_back"};
    ck_assert_int_eq(try_call("own::total", &list, 1, &y), 0);
    backward(y);
    has_grad(x, FLOATS(1));
    has_grad(w, FLOATS(1));
    how.backward = "own::many_back";
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "own::many"), &arg, 1, &ret, 1), 0);
    backward(ret.u.tensors[0]);
    has_grad(x, FLOATS(2));
    dp_values_release(&ret, 1);
    DROP(x, w, y);
}
END_TEST

static void refuse(int code, const char *part)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = floats(FLOATS(5)), *y[2];

    refused(try_f(x, w, y), code, part);
    ck_assert_uint_eq(dp_grad_nodes(), 0);
    DROP(x, w);
}

START_TEST(what_does_not_fit_is_refused)
{
    const dp_recording good = how;
    dp_tensor *x = leaf(FLOATS(3));
    const dp_value arg = dp_tensor_value(x);
    dp_value rets[2];

    how.size = 8;
    refuse(DP_EPLUGIN, "how->size is 8, want at least");
    how = good, how.backward = NULL;
    refuse(DP_EPLUGIN, "own::f: it names no backward operator");
    how = good, how.backward = "own::gone";
    refuse(DP_ENOTFOUND, "its backward operator own::gone is not defined");
    how = good, how.arguments = 8;
    refuse(DP_EPLUGIN, "`arguments` 0x8 or `non_differentiable` 0 has bits for more than 3");
    how = good, how.arguments = 1;
    refuse(DP_EPLUGIN, "own::back returns 2 values, want 1");
    how = good, how.backward = "own::numbers";
    refuse(DP_EPLUGIN, "return 0 of own::numbers is no tensor, the gradient of 'x'");
    how = good, saved[0] = dp_save_argument(3);
    refuse(DP_EPLUGIN, "saved value 0 is argument 3, and the operator has 3");
    saved[0] = dp_save_return(2);
    refuse(DP_EPLUGIN, "saved value 0 is return 2, and the operator has 2");
    saved[0].kind = 9;
    refuse(DP_EPLUGIN, "saved value 0 is of kind 9");
    record_with("own::back", 8);
    for (int i = 2; i < 8; i++)
        saved[i] = dp_save_value(dp_int(1));
    refuse(DP_EPLUGIN, "own::f: step 0: own::back: takes from 4 to 7 positional arguments, but 10");
    record_with("own::one", 2);
    how.arguments = 1;
    refuse(DP_EPLUGIN, "own::f: step 0: own::one");
    record_with("own::many_back", 0);
    refused(dp_call_boxed(ctx, dp_op_find(ctx, "own::mixed"), &arg, 1, rets, 2), DP_ENOTIMPL,
            "own::mixed: return 0 is a list beside other returns");
    DROP(x);
}
END_TEST

START_TEST(a_kernel_may_record_in_several_ways)
{
    dp_tensor *x = leaf(FLOATS(3)), *w = leaf(FLOATS(5)), *a[2], *b[2], *c[2];

    f(x, w, a);
    record_with("own::strict", 2);
    f(x, w, b);
    record_with("own::back", 2);
    f(x, w, c);
    dpi_edge e = dpi_edge_recorded(a[0]), other = dpi_edge_recorded(b[0]);
    dpi_edge same = dpi_edge_recorded(c[0]);
    ck_assert_ptr_eq(((dpi_node *)e.to)->formula, ((dpi_node *)same.to)->formula);
    ck_assert_ptr_ne(((dpi_node *)e.to)->formula, ((dpi_node *)other.to)->formula);
    dpi_edge_unref(e), dpi_edge_unref(other), dpi_edge_unref(same);
    backward(a[0]), backward(b[0]), backward(c[0]);
    has_grad(x, FLOATS(15));
    DROP(x, w, a[0], a[1], b[0], b[1], c[0], c[1]);
}
END_TEST

static dp_tensor *x, *extra;

static int record_once_more(void)
{
    dp_tensor *y[2] = {NULL, NULL};

    record_with("own::back", 3 + (size_t)(asked++ % 3)); /* formulas are kept: now and then a new */
    saved[2] = dp_save_value(dp_tensor_value(extra));
    saved[3] = dp_save_value(dp_int(1));
    saved[4] = dp_save_needed(0);
    how.arguments = asked % 2 ? 3 : 0;
    how.flags = DP_RECORD_ONCE;
    int rc = try_f(x, extra, y);
    if (rc == 0)
        rc = try_backward(y[0], NULL, DP_BACKWARD_CREATE);
    if (rc == 0)
        rc = dp_tensor_set_grad(ctx, x, NULL);
    DROP(y[0], y[1]);
    return rc;
}

START_TEST(no_allocation_leaks)
{
    x = leaf(FLOATS(3));
    extra = floats(FLOATS(2));
    ck_assert_uint_gt(each_allocation(record_once_more), 10);
    DROP(x, extra);
}
END_TEST

UNIT_SUITE(autograd_record_as)
{
    tcase_add_checked_fixture(tc, own_setup, graphs_teardown);
    tcase_add_test(tc, the_backward_operator_computes_the_gradients);
    tcase_add_test(tc, nothing_is_recorded_without_need);
    tcase_add_test(tc, other_values_are_saved);
    tcase_add_test(tc, an_extra_tensor_alone_records_nothing);
    tcase_add_test(tc, a_saved_return_can_be_differentiated);
    tcase_add_test(tc, undefined_gradients);
    tcase_add_test(tc, some_returns_are_not_differentiable);
    tcase_add_test(tc, gradients_can_be_differentiated_unless_once);
    tcase_add_test(tc, what_is_written_gets_the_node);
    tcase_add_test(tc, lists_of_tensors);
    tcase_add_test(tc, what_does_not_fit_is_refused);
    tcase_add_test(tc, a_kernel_may_record_in_several_ways);
    tcase_add_test(tc, no_allocation_leaks);
}
