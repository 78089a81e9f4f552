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
                                   REC_DEF("plain(Tensor x, Tensor y) -> Tensor")};
    static const dp_item cpu[] = {REC_IMPL("lower", see), REC_IMPL("fp32", see),
                                  REC_IMPL("promote", see), REC_IMPL("unknown", see),
                                  REC_IMPL("plain", see)};
    static const dp_item cast[] = {REC_IMPL("lower", lower), REC_IMPL("fp32", fp32),
                                   REC_IMPL("promote", promote), REC_IMPL("unknown", unknown)};
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

UNIT_SUITE(autograd_autocast)
{
    tcase_add_checked_fixture(tc, setup, graphs_teardown);
    tcase_add_test(tc, each_policy_casts_what_it_says);
    tcase_add_test(tc, only_leaves_that_require_gradients_are_kept);
}
