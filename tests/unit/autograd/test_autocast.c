/* test_autocast.c -- dp_autocast() and dp_cached_cast(): what each policy casts, for the keys of
 * which backend, and that casts have a history. */
#include "graphs.h"

static dp_dtype seen[2]; /* dtypes that the kernel of m::f got */

static int to_copy(dp_call *call)
{
    dp_view v = view_of_tensor(call->args[0].u.t);
    dp_tensor *made;
    int rc = dp_empty(call->ctx, (dp_dtype)call->args[1].u.i, v.device, v.ndim, v.sizes,
                      DP_CONTIGUOUS, &made);

    return give(call, rc == 0 ? dp_copy(call->ctx, made, call->args[0].u.t) : rc, made);
}

static int see(dp_call *call)
{
    seen[0] = call->args[0].u.t->dtype;
    seen[1] = call->args[1].u.t->dtype;
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

static int first(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.tensors[0]));
    return 0;
}

#define POLICY(name, policy)                                                                       \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return dp_autocast(call, policy);                                                          \
    }
POLICY(lower, DP_CAST_LOWER_PRECISION_FP)
POLICY(fp32, DP_CAST_FP32)
POLICY(promote, DP_CAST_PROMOTE)
POLICY(unknown, 99)

static void setup(void)
{
    static const dp_item aten[] = {
        REC_DEF("_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                "device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? "
                "memory_format=None) -> Tensor")};
    static const dp_item aten_cpu[] = {REC_IMPL("_to_copy", to_copy)};
    static const dp_item defs[] = {REC_DEF("lower(Tensor x, Tensor y) -> Tensor"),
                                   REC_DEF("fp32(Tensor x, Tensor y) -> Tensor"),
                                   REC_DEF("promote(Tensor x, Tensor y) -> Tensor"),
                                   REC_DEF("unknown(Tensor x, Tensor y) -> Tensor"),
                                   REC_DEF("list(Tensor[] xs) -> Tensor"),
                                   REC_DEF("plain(Tensor x, Tensor y) -> Tensor")};
    static const dp_item cpu[] = {REC_IMPL("lower", see),   REC_IMPL("fp32", see),
                                  REC_IMPL("promote", see), REC_IMPL("unknown", see),
                                  REC_IMPL("plain", see),   REC_IMPL("list", first)};
    static const dp_item cast[] = {REC_IMPL("lower", lower), REC_IMPL("fp32", fp32),
                                   REC_IMPL("promote", promote), REC_IMPL("unknown", unknown),
                                   REC_IMPL("list", lower)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "aten", "", aten),
                                      REC_BLOCK(DP_BLOCK_IMPL, 2, "aten", "CPU", aten_cpu),
                                      REC_BLOCK(DP_BLOCK_LIBRARY, 3, "m", "", defs),
                                      REC_BLOCK(DP_BLOCK_IMPL, 4, "m", "CPU", cpu),
                                      REC_BLOCK(DP_BLOCK_IMPL, 5, "m", "AutocastCPU", cast),
                                      REC_BLOCK(DP_BLOCK_IMPL, 6, "m", "AutocastNamed", cast)};
    graphs_setup();
    rec_attach(reg, "m", blocks, DPI_COUNT(blocks));
}

static int turn_on(uint64_t backends)
{
    dp_mode on = {.size = sizeof(on), .cast_backends = backends};

    return dp_guard_mode(ctx, &on);
}

static void sees(const char *op, dp_tensor *x, dp_tensor *y, dp_dtype p, dp_dtype q)
{
    dp_tensor *out = call2(op, x, y);

    ck_assert_str_eq(dp_dtype_name(seen[0]), dp_dtype_name(p));
    ck_assert_str_eq(dp_dtype_name(seen[1]), dp_dtype_name(q));
    dp_tensor_unref(out);
}

static dp_tensor *cast_to(dp_tensor *x, dp_dtype dtype)
{
    const dp_value args[7] = {
        dp_tensor_value(x), dp_int(dtype), {0}, {0}, {0}, dp_bool(false), {0}};
    dp_value ret = {0};

    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "aten::_to_copy"), args, 7, &ret, 1), 0);
    return ret.u.t;
}

START_TEST(each_policy_casts_what_it_says)
{
    dp_tensor *x = floats(FLOATS(1)), *low = cast_to(x, DP_BFLOAT16),
              *wide = cast_to(x, DP_FLOAT64);
    dp_tensor *half = cast_to(x, DP_FLOAT16), *out;

    sees("m::lower", x, x, DP_FLOAT32, DP_FLOAT32); /* off */
    int depth = turn_on(DP_BBIT(DP_B_CPU));
    sees("m::lower", x, wide, DP_BFLOAT16, DP_FLOAT64);
    sees("m::lower", half, low, DP_BFLOAT16, DP_BFLOAT16);
    sees("m::fp32", low, half, DP_FLOAT32, DP_FLOAT32);
    sees("m::promote", low, low, DP_BFLOAT16, DP_BFLOAT16);
    sees("m::promote", low, x, DP_FLOAT32, DP_FLOAT32);
    sees("m::plain", low, x, DP_BFLOAT16, DP_FLOAT32);
    ck_assert_int_eq(try_call2("m::promote", low, half, &out), DP_ERUNTIME);
    ck_assert_int_eq(try_call2("m::unknown", x, x, &out), DP_EPLUGIN);
    dp_guard_leave(ctx, depth);
    sees("m::lower", x, low, DP_FLOAT32, DP_BFLOAT16);
    depth = turn_on(DP_BBIT(DP_B_CUDA)); /* not that of these tensors */
    sees("m::lower", x, low, DP_FLOAT32, DP_BFLOAT16);
    dp_guard_leave(ctx, depth);
    DROP(x, low, wide, half);
}
END_TEST

START_TEST(only_leaves_that_require_gradients_are_kept)
{
    dp_tensor *w = leaf(FLOATS(1)), *x = floats(FLOATS(1)), *a, *b;
    int depth = turn_on(DP_BBIT(DP_B_CPU));

    for (int i = 0; i < 2; i++) {
        dp_tensor *from = i == 0 ? w : x;
        ck_assert_int_eq(dp_cached_cast(ctx, from, DP_BFLOAT16, DP_B_CPU, &a), 0);
        ck_assert_int_eq(dp_cached_cast(ctx, from, DP_BFLOAT16, DP_B_CPU, &b), 0);
        ck_assert_int_eq(a == b, i == 0);
        DROP(a, b);
    }
    ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, DP_B_CUDA, &a), 0);
    ck_assert_ptr_eq(a, w);
    ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, 64, &b), DP_EPLUGIN);
    dp_guard_leave(ctx, depth);
    DROP(w, x, a);
}
END_TEST

static bool is_kept_cast(dp_tensor *w, const dp_tensor *kept)
{
    dp_tensor *got;

    ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, DP_B_CPU, &got), 0);
    bool same = got == kept;
    dp_tensor_unref(got);
    return same;
}

START_TEST(a_leaf_that_changed_is_cast_anew)
{
    static const dp_mode quiet = {
        .size = sizeof(quiet), .cast_backends = DP_BBIT(DP_B_CPU), .no_grad = true};
    dp_tensor *w = leaf(FLOATS(1, 2)), *kept, *later, *out;
    int depth = turn_on(DP_BBIT(DP_B_CPU));

    ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, DP_B_CPU, &kept), 0);
    ck_assert(is_kept_cast(w, kept));
    int inner = dp_guard_mode(ctx, &quiet);
    ck_assert_msg(!is_kept_cast(w, kept), "a cast with a history serves no_grad");
    out = call2("aten::mul_.Tensor", w, w);
    dp_guard_leave(ctx, inner);
    dp_tensor_unref(out);
    ck_assert_msg(!is_kept_cast(w, kept), "the cast is older than a write");
    ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, DP_B_CPU, &later), 0);
    dp_tensor *wide = cast_to(later, DP_FLOAT32);
    is_floats(wide, FLOATS(1, 4));
    dp_guard_leave(ctx, depth);
    depth = turn_on(DP_BBIT(DP_B_CPU));
    ck_assert_msg(!is_kept_cast(w, later), "the cast is of the region before");
    dp_guard_leave(ctx, depth);
    DROP(w, kept, later, wide);
}
END_TEST

/* More leaves than the cache has places, each in the memory of the one before. */
START_TEST(a_leaf_never_gets_the_cast_of_one_that_is_gone)
{
    int depth = turn_on(DP_BBIT(DP_B_CPU));

    for (int i = 0; i < 600; i++) {
        float value = (float)(i % 256);
        dp_tensor *w = leaf(1, &value), *low;
        ck_assert_int_eq(dp_cached_cast(ctx, w, DP_BFLOAT16, DP_B_CPU, &low), 0);
        dp_tensor *wide = cast_to(low, DP_FLOAT32);
        is_floats(wide, 1, &value);
        DROP(w, low, wide);
    }
    dp_tensor_stats kept = alive();
    dp_guard_leave(ctx, depth);
    ck_assert_uint_lt(alive().tensors, kept.tensors); /* the region's end releases the casts */
}
END_TEST

static int try_leaf(dp_tensor **w)
{
    const float three[1] = {3};
    int64_t n = 1;
    dp_error err = DP_ERROR_INIT;
    int rc = dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &n, NULL, w, &err);

    if (rc == 0)
        rc = dp_tensor_write(*w, three, &err);
    return rc == 0 ? dp_tensor_set_requires_grad(ctx, *w, true) : rc;
}

static int cast_each(void)
{
    dp_tensor *v = NULL, *w = NULL, *outs[4] = {NULL};
    int depth = turn_on(DP_BBIT(DP_B_CPU));
    int rc = depth < 0 ? depth : try_leaf(&v);

    if (rc == 0)
        rc = try_leaf(&w);
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = try_call2("m::lower", v, w, &outs[i]);
    dp_tensor *list[3] = {v, w, v};
    const dp_value all = {DP_TAG_TENSORS, 3, {.tensors = list}};
    if (rc == 0)
        rc = try_call("m::list", &all, 1, &outs[2]);
    if (rc == 0)
        rc = try_call2("m::promote", outs[0], w, &outs[3]);
    if (depth >= 0)
        dp_guard_leave(ctx, depth);
    DROP(v, w, outs[0], outs[1], outs[2], outs[3]);
    return rc;
}

START_TEST(no_allocation_leaks_a_cast)
{
    ck_assert_uint_gt(each_allocation(cast_each), 10);
}
END_TEST

UNIT_SUITE(autograd_autocast)
{
    tcase_add_checked_fixture(tc, setup, graphs_teardown);
    tcase_add_test(tc, each_policy_casts_what_it_says);
    tcase_add_test(tc, only_leaves_that_require_gradients_are_kept);
    tcase_add_test(tc, a_leaf_that_changed_is_cast_anew);
    tcase_add_test(tc, a_leaf_never_gets_the_cast_of_one_that_is_gone);
    tcase_add_test(tc, no_allocation_leaks_a_cast);
}
