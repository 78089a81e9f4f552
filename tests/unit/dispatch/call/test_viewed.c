/* test_viewed.c -- versions and roots of what kernels return, with and without a view in the
 * schema. */
#include "base/base.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *x, *cached;

/* The first half of the argument. */
static int half(dp_ctx *c, dp_tensor *self, dp_tensor **out)
{
    int64_t two = 2;
    return dp_as_strided(c, self, 1, &two, NULL, 0, out);
}
static int boxed_calls;
static int half_boxed(dp_call *call)
{
    dp_tensor *out;
    boxed_calls++;
    int rc = half(call->ctx, call->args[0].u.t, &out);

    if (rc == 0)
        call->rets[0] = dp_tensor_value(out);
    return rc;
}
static int keeps_one(dp_call *call)
{
    int rc = cached ? 0 : half(call->ctx, call->args[0].u.t, &cached);

    if (rc == 0)
        call->rets[0] = dp_tensor_value(dp_tensor_ref(cached));
    return rc;
}
static int itself(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}
static int halves(dp_call *call)
{
    static dp_tensor *both[2]; /* of no use to anyone: the host copies the list */
    int rc = half(call->ctx, call->args[0].u.t, &both[0]);

    if (rc == 0)
        rc = half(call->ctx, call->args[0].u.t, &both[1]);
    call->rets[0] = dp_tensors(both, rc == 0 ? 2 : 0);
    return rc;
}
static int through(dp_call *call) /* the view that another operator made */
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, "v::half"), call->args, 1, call->rets, 1);
}

static const dp_item defs[] = {
    REC_DEF("half(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("made(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("unsafe(Tensor self) -> Tensor"),
    REC_DEF("made_unsafe(Tensor self) -> Tensor"),
    REC_DEF("cached(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("itself(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("through(Tensor(a) self) -> Tensor(a)"),
    REC_DEF("halves(Tensor(a -> *) self) -> Tensor(a)[]"),
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "loose(Tensor(a) self) -> Tensor(a)",
     .tags = "core detached"},
    {.size = sizeof(dp_item),
     .kind = DP_ITEM_DEF,
     .name = "made_loose(Tensor(a) self) -> Tensor(a)",
     .tags = "core detached"},
};
static const dp_item impls[] = {
    REC_IMPL_UNBOXED("half", half_boxed, (dp_any_fn)half, "T>T", 0),
    REC_IMPL_UNBOXED("made", half_boxed, (dp_any_fn)half, "T>T", DP_FLAG_VIEWS),
    REC_IMPL("unsafe", half_boxed),
    REC_IMPL_UNBOXED("made_unsafe", half_boxed, (dp_any_fn)half, "T>T", DP_FLAG_VIEWS),
    REC_IMPL("cached", keeps_one),
    REC_IMPL("itself", itself),
    REC_IMPL("through", through),
    REC_IMPL("halves", halves),
    REC_IMPL("loose", half_boxed),
    REC_IMPL_UNBOXED("made_loose", half_boxed, (dp_any_fn)half, "T>T", DP_FLAG_VIEWS),
};
static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "v", "", defs),
                                  REC_BLOCK(DP_BLOCK_IMPL, 2, "v", "CPU", impls)};

static void setup(void)
{
    int64_t four = 4;

    reg = rec_registry();
    rec_attach(reg, "viewed", blocks, 2);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &four, NULL, &x, &err), 0);
}

static void teardown(void)
{
    x = dp_tensor_unref(x);
    cached = dp_tensor_unref(cached);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

static dp_tensor *call(const char *op, dp_tensor *self)
{
    dp_value arg = dp_tensor_value(self), ret;
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, &ret, 1);

    ck_assert_msg(rc == 0, "%s: %s", op, dp_ctx_error(ctx)->message);
    return ret.u.t;
}

START_TEST(a_view_joins_its_argument)
{
    dp_tensor *v = call("v::half", x), *deep = call("v::through", v), *same = call("v::itself", v);

    ck_assert_ptr_eq(dp_tensor_root(v), x);
    ck_assert_ptr_eq(dp_tensor_root(deep), x);
    ck_assert_ptr_eq(same, v);
    ck_assert_ptr_null(dp_tensor_root(x));
    ck_assert(dp_tensor_may_grad(v) && dp_tensor_may_grad(deep)); /* x may come to need one */
    ck_assert(!dp_tensor_may_grad(x));
    dp_tensor_bump_version(deep);
    ck_assert_uint_eq(dp_tensor_version(x), 1);
    ck_assert_uint_eq(dp_tensor_version(v), 1);
    x = dp_tensor_unref(x); /* the views keep it */
    ck_assert_uint_eq(dp_tensor_version(dp_tensor_root(deep)), 1);
    dp_tensor_unref(same);
    dp_tensor_unref(v);
    ck_assert_int_eq(dp_tensor_root(deep) != NULL, 1);
    dp_tensor_unref(deep);
}
END_TEST

START_TEST(who_writes_past_the_operators_counts)
{
    dp_tensor *y = call("v::unsafe", x), *one;

    ck_assert_int_eq(dp_scalar_tensor(ctx, dp_int(1), DP_FLOAT32, &one), 0);
    ck_assert_int_eq(dp_copy(ctx, x, one), 0);
    dp_tensor_unref(one);
    ck_assert_uint_eq(dp_tensor_version(x), 1);
    ck_assert_int_eq(dp_tensor_write(x, (float[]){1, 2, 3, 4}, &err), 0);
    ck_assert_uint_eq(dp_tensor_version(x), 2);
    ck_assert_uint_eq(dp_tensor_version(y), 0); /* its memory, but no view of it */
    dp_tensor_unref(y);
}
END_TEST

START_TEST(what_is_no_view_has_a_version_of_its_own)
{
    dp_tensor *v = call("v::unsafe", x), *loose = call("v::loose", x), *of = call("v::half", loose);

    dp_tensor_bump_version(x);
    ck_assert_ptr_null(dp_tensor_root(v));
    ck_assert_uint_eq(dp_tensor_version(v), 0);
    ck_assert_ptr_null(dp_tensor_root(loose));
    ck_assert_uint_eq(dp_tensor_version(loose), 1);
    ck_assert_ptr_eq(dp_tensor_root(of), loose);
    ck_assert_uint_eq(dp_tensor_version(of), 1);
    dp_tensor_unref(v);
    dp_tensor_unref(loose);
    dp_tensor_unref(of);
}
END_TEST

START_TEST(a_tensor_that_others_hold_is_left_alone)
{
    dp_tensor *v = call("v::cached", x), *w = call("v::cached", x);

    ck_assert_ptr_ne(v, cached);
    ck_assert_ptr_null(dp_tensor_root(cached));
    ck_assert_ptr_eq(dp_tensor_root(v), x);
    ck_assert_ptr_eq(dp_tensor_root(w), x);
    ck_assert_uint_eq(dp_tensor_storage_id(v), dp_tensor_storage_id(x));
    dp_tensor_unref(v);
    dp_tensor_unref(w);
}
END_TEST

static int creation(const char *op, dp_tensor *self, dp_mode mode)
{
    int depth = dp_guard_mode(ctx, &mode);
    dp_tensor *v = call(op, self);
    int c = dp_tensor_creation(v);

    dp_tensor_unref(v);
    dp_guard_leave(ctx, depth);
    return c;
}

START_TEST(a_view_says_how_it_was_made)
{
    dp_mode plain = {.size = sizeof(plain)}, no_grad = plain, inference = plain;
    dp_value arg = dp_tensor_value(x), ret;

    no_grad.no_grad = inference.no_grad = inference.inference = true;
    ck_assert_int_eq(creation("v::half", x, plain), DP_CREATED_DEFAULT);
    ck_assert_int_eq(creation("v::half", x, no_grad), DP_CREATED_NO_GRAD);
    ck_assert_int_eq(creation("v::half", x, inference), DP_CREATED_INFERENCE);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "v::halves"), &arg, 1, &ret, 1), 0);
    ck_assert_uint_eq(ret.len, 2);
    dp_tensor *one = ret.u.tensors[1];
    ck_assert_ptr_eq(dp_tensor_root(one), x);
    ck_assert_int_eq(dp_tensor_creation(one), DP_CREATED_MULTIPLE);
    /* a view of it is as it is, unless it is made in another mode */
    ck_assert_int_eq(creation("v::half", one, plain), DP_CREATED_MULTIPLE);
    ck_assert_int_eq(creation("v::half", one, no_grad), DP_CREATED_NO_GRAD);
    dp_tensor_set_creation(one, DP_CREATED_INFERENCE);
    ck_assert_int_eq(creation("v::half", one, no_grad), DP_CREATED_INFERENCE);
    dp_values_release(&ret, 1);
}
END_TEST

DP_TYPED(call_half, (T), (T))

/* The view that a call with C types gives, three times, since the first is found another way. */
static dp_tensor *typed(const char *name, dp_tensor *self)
{
    dp_typed op;
    dp_tensor *v = NULL;

    ck_assert_int_eq(dp_typed_init(ctx, name, DP_CODE((T), (T)), &op), 0);
    for (int i = 0; i < 3; i++) {
        dp_tensor_unref(v);
        ck_assert_int_eq(call_half(ctx, &op, self, &v), 0);
    }
    return v;
}

START_TEST(calls_with_c_types_join_too)
{
    dp_tensor *v = typed("v::half", x);

    ck_assert_ptr_eq(dp_tensor_root(v), x);
    dp_tensor_unref(v);
}
END_TEST

START_TEST(kernels_that_make_their_views_are_called_unboxed)
{
    boxed_calls = 0;
    dp_tensor *v = typed("v::made", x), *w = typed("v::made", v),
              *loose = typed("v::made_loose", x), *copy = typed("v::made_unsafe", x);

    ck_assert_int_eq(boxed_calls, 0);
    ck_assert_ptr_eq(dp_tensor_root(v), x);
    ck_assert_ptr_eq(dp_tensor_root(w), x);
    ck_assert_ptr_eq(dp_tensor_root(loose), NULL);
    ck_assert_ptr_eq(dp_tensor_root(copy), NULL);
    dp_tensor_bump_version(w);
    ck_assert_uint_eq(dp_tensor_version(x), 1);
    ck_assert_uint_eq(dp_tensor_version(v), 1);
    ck_assert_uint_eq(dp_tensor_version(loose), 1);
    ck_assert_uint_eq(dp_tensor_version(copy), 0);
    dp_tensor_unref(v), dp_tensor_unref(w), dp_tensor_unref(loose), dp_tensor_unref(copy);
    dp_mode plain = {.size = sizeof(plain)}, no_grad = plain;
    no_grad.no_grad = true;
    ck_assert_int_eq(creation("v::made", x, plain), DP_CREATED_DEFAULT);
    ck_assert_int_eq(creation("v::made", x, no_grad), DP_CREATED_NO_GRAD);
    v = call("v::made", x); /* boxed calls see that it has joined */
    ck_assert_ptr_eq(dp_tensor_root(v), x);
    dp_tensor_unref(v);
}
END_TEST

UNIT_SUITE(viewed)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_view_joins_its_argument);
    tcase_add_test(tc, who_writes_past_the_operators_counts);
    tcase_add_test(tc, what_is_no_view_has_a_version_of_its_own);
    tcase_add_test(tc, a_tensor_that_others_hold_is_left_alone);
    tcase_add_test(tc, a_view_says_how_it_was_made);
    tcase_add_test(tc, calls_with_c_types_join_too);
    tcase_add_test(tc, kernels_that_make_their_views_are_called_unboxed);
}
