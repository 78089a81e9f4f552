/* test_output.c -- one kernel function, three forms: what dp_set_output() does in each. */
#include "base/base.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/iter.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_dtype wanted;
static dp_device device;

/* The output is as long as the first argument's sizes say, whatever the form. */
static int kernel(dp_call *call)
{
    dp_tensor *given = call->n_args > 1 ? call->args[1].u.t : NULL, *t = given;
    const int64_t strides[] = {1, 2};

    if (given == NULL && call->args[0].tag == DP_TAG_TENSOR)
        given = t = call->args[0].u.t;
    int rc = dp_set_output(call->ctx, &t, 2, (int64_t[]){2, 3}, strides, wanted, device);
    if (rc == 0 && given == NULL)
        call->rets[0] = dp_tensor_value(t);
    return rc;
}

static bool takes_ins;

static int kernel_of_lists(dp_call *call)
{
    dp_tensor *t = call->args[takes_ins ? 0 : 1].u.tensors[0];

    return dp_set_output(call->ctx, &t, 2, (int64_t[]){2, 3}, NULL, wanted, device);
}

/* Gives a tensor of its own another shape, then its second argument. */
static int resizes(dp_call *call)
{
    dp_tensor *own = NULL, *y = call->args[1].u.t;
    int rc = dp_empty(call->ctx, DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, DP_CONTIGUOUS, &own);

    if (rc == 0)
        rc = dp_resize(call->ctx, own, 1, (int64_t[]){4}, DP_CONTIGUOUS);
    ck_assert_int_eq(rc, 0);
    rc = takes_ins ? dp_set_storage(call->ctx, y, own, 0, 1, (int64_t[]){4}, NULL)
                   : dp_resize(call->ctx, y, 1, (int64_t[]){4}, DP_CONTIGUOUS);
    dp_tensor_unref(own);
    return rc;
}

static const dp_item defs[] = {
    REC_DEF("resizes(int[] x, Tensor y) -> Tensor"),
    REC_DEF("resizes_(int[] x, Tensor(a!) y) -> Tensor(a!)"),
    REC_DEF("f(int[] x) -> Tensor"),
    REC_DEF("f.out(int[] x, *, Tensor(a!) out) -> Tensor(a!)"),
    REC_DEF("f_(Tensor(a!) self) -> Tensor(a!)"),
    REC_DEF("reads(int[] x, Tensor y) -> ()"),
    REC_DEF("other.out(int[] x, Tensor y, *, Tensor(a!) out) -> Tensor(a!)"),
    REC_DEF("lists.out(Tensor[] ins, *, Tensor(a!)[] outs) -> ()"),
};
static const dp_item impls[] = {
    REC_IMPL("resizes", resizes),  REC_IMPL("resizes_", resizes),
    REC_IMPL("f", kernel),         REC_IMPL("f.out", kernel),
    REC_IMPL("f_", kernel),        REC_IMPL("reads", kernel),
    REC_IMPL("other.out", kernel), REC_IMPL("lists.out", kernel_of_lists)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "o", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "o", "CompositeExplicitAutograd", impls)};

static void setup(void)
{
    wanted = DP_FLOAT32;
    device = DP_DEVICE_CPU;
    reg = rec_registry();
    rec_attach(reg, "outputs", blocks, 2);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
}

static void teardown(void)
{
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

static dp_tensor *make(int64_t a, int64_t b)
{
    dp_tensor *t = NULL;
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 2, (int64_t[]){a, b}, NULL, &t, &err), 0);
    return t;
}

static int call(const char *name, dp_tensor *t, dp_value *ret)
{
    dp_value args[2] = {dp_ints(NULL, 0), dp_tensor_value(t)};
    bool in_place = strcmp(name, "o::f_") == 0;

    return dp_call_boxed(ctx, dp_op_find(ctx, name), in_place ? args + 1 : args,
                         in_place || t == NULL ? 1 : 2, ret, 1);
}

static void expect(const char *name, dp_tensor *t, int64_t stride)
{
    dp_value ret;
    int rc = call(name, t, &ret);

    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    DP_VIEW(v, ret.u.t);
    ck_assert_int_eq(v.ndim, 2);
    ck_assert_int_eq(v.sizes[1], 3);
    ck_assert_int_eq(v.strides[0], stride);
    if (t != NULL)
        ck_assert_ptr_eq(ret.u.t, t);
    dp_values_release(&ret, 1);
}

static void refuse(const char *name, dp_tensor *t, const char *message)
{
    dp_value ret;

    ck_assert_int_eq(call(name, t, &ret), DP_ERUNTIME);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, message) != NULL, "'%s' not in '%s'", message,
                  dp_ctx_error(ctx)->message);
}

START_TEST(outputs_are_made_resized_or_checked)
{
    dp_tensor *right = make(2, 3), *empty = make(0, 9), *wrong = make(4, 4);
    size_t n;

    expect("o::f", NULL, 1);
    expect("o::f.out", right, 3); /* it keeps its own strides */
    expect("o::f_", right, 3);
    expect("o::f.out", empty, 1);
    dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 0);
    refuse("o::f_", wrong, "output with shape [4, 4] doesn't match the broadcast shape [2, 3]");
    expect("o::f.out", wrong, 1);
    const dp_warning *texts = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(texts[0].op, "o::f.out");
    ck_assert_str_eq(
        texts[0].text,
        "An output with one or more elements was resized since it had shape [4, 4], which does not "
        "match the required output shape [2, 3]. This behavior is deprecated, and in a future "
        "PyTorch release outputs will not be resized unless they have zero elements. You can "
        "explicitly reuse an out tensor t by resizing it, inplace, to zero elements with "
        "t.resize_(0).");
    dp_tensor_unref(right);
    dp_tensor_unref(empty);
    dp_tensor_unref(wrong);
}
END_TEST

/* Whoever passes an argument that only is read finds it as it was. */
START_TEST(only_written_arguments_are_outputs)
{
    dp_tensor *y = make(4, 4), *out = make(0, 0);
    dp_value args[] = {dp_ints(NULL, 0), dp_tensor_value(y), dp_tensor_value(out)}, ret;
    dp_value lists[] = {dp_tensors(&y, 1), dp_tensors(&out, 1)};
    const dp_op *reads = dp_op_find(ctx, "o::reads"), *other = dp_op_find(ctx, "o::other.out"),
                *of_lists = dp_op_find(ctx, "o::lists.out");
    const char *text = dp_ctx_error(ctx)->message;

    ck_assert_int_eq(dp_call_boxed(ctx, reads, args, 2, NULL, 0), DP_EPLUGIN);
    ck_assert_str_eq(text,
                     "o::reads: its kernel gives argument 'y' another shape, as an output, and "
                     "its schema does not say that it writes it");
    ck_assert_int_eq(dp_call_boxed(ctx, other, args, 3, &ret, 1), DP_EPLUGIN);
    ck_assert_msg(strstr(text, "o::other.out: its kernel gives argument 'y'") != NULL, "%s", text);
    takes_ins = true;
    ck_assert_int_eq(dp_call_boxed(ctx, of_lists, lists, 2, NULL, 0), DP_EPLUGIN);
    ck_assert_msg(strstr(text, "argument 'ins'") != NULL, "%s", text);
    DP_VIEW(v, y);
    ck_assert_int_eq(v.sizes[0], 4);
    takes_ins = false;
    ck_assert_int_eq(dp_call_boxed(ctx, of_lists, lists, 2, NULL, 0), 0);
    args[2] = args[1]; /* read and written */
    ck_assert_int_eq(dp_call_boxed(ctx, other, args, 3, &ret, 1), 0);
    dp_values_release(&ret, 1);
    dp_tensor_unref(y);
    dp_tensor_unref(out);
}
END_TEST

START_TEST(only_written_arguments_change_their_shape)
{
    dp_tensor *t = make(2, 3);
    dp_value unused;

    for (int how = 0; how < 2; how++) {
        takes_ins = how != 0;
        int rc = call("o::resizes", t, &unused);
        ck_assert_msg(rc == DP_EPLUGIN, "%d: %s", rc, dp_ctx_error(ctx)->message);
        ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message,
                                     "its kernel changes argument 'y', and its schema does not"));
        DP_VIEW(before, t);
        ck_assert_int_eq(before.ndim, 2 - how);
        ck_assert_int_eq(call("o::resizes_", t, &unused), 0);
        dp_values_release(&unused, 1);
        DP_VIEW(after, t);
        ck_assert_int_eq(after.ndim, 1);
    }
    dp_tensor_unref(t);
}
END_TEST

START_TEST(outputs_have_the_dtype_and_the_device)
{
    dp_tensor *t = make(2, 3);

    wanted = DP_INT8;
    refuse("o::f.out", t, "Expected out tensor to have dtype int8, but got float32 instead");
    refuse("o::f_", t,
           "Bad in-place call: input tensor dtype float32 and output tensor dtype int8");
    wanted = DP_DTYPE_NONE;
    expect("o::f.out", t, 3);
    device = DP_DEVICE(DP_B_Meta, 0);
    refuse("o::f.out", t, "Expected out tensor to have device meta, but got cpu instead");
    refuse("o::f_", t, "Bad in-place call: input tensor device cpu and output tensor device meta");
    dp_tensor_unref(t);
}
END_TEST

/* The iterator tells of what it resized, and leaves alone what it reads, too. */
START_TEST(outputs_of_the_iterator_are_resized_with_the_warning)
{
    dp_tensor *in = make(2, 3), *out = make(4, 4), *outs[1] = {out};
    dp_iter it;
    size_t n;
    dp_iter_config config = dp_iter_of(DP_ITER_UNARY, 1, outs, 1, &in);

    ck_assert_int_eq(dp_iter_init(ctx, &config, &it), 0);
    ck_assert_ptr_eq(outs[0], out);
    DP_VIEW(v, out);
    ck_assert_int_eq(v.sizes[0], 2);
    const dp_warning *texts = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_ptr_nonnull(strstr(texts[0].text,
                                 "had shape [4, 4], which does not match the required "
                                 "output shape [2, 3]"));
    dp_tensor *small = make(1, 3), *ins[2] = {small, in};
    dp_iter_config both = dp_iter_of(DP_ITER_BINARY, 1, &small, 2, ins);
    ck_assert_int_eq(dp_iter_init(ctx, &both, &it), DP_ERUNTIME);
    ck_assert_str_eq(dp_ctx_error(ctx)->message,
                     "output with shape [1, 3] doesn't match the broadcast shape [2, 3]");
    dp_tensor_unref(in);
    dp_tensor_unref(out);
    dp_tensor_unref(small);
}
END_TEST

UNIT_SUITE(output)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, outputs_are_made_resized_or_checked);
    tcase_add_test(tc, only_written_arguments_are_outputs);
    tcase_add_test(tc, only_written_arguments_change_their_shape);
    tcase_add_test(tc, outputs_have_the_dtype_and_the_device);
    tcase_add_test(tc, outputs_of_the_iterator_are_resized_with_the_warning);
}
