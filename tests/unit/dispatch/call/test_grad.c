/* test_grad.c -- the skip bit: kernels for gradients are called wherever some argument may have
 * one, however the call came about, and nowhere else. */
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <string.h>

static const dp_keyset none = {0, 0};
static const dp_keyset tracer = {DPI_BIT(Tracer), 0};

static dp_registry *reg;
static dp_ctx *ctx;
static dp_tensor *plain, *grad; /* grad may have a gradient */
static dp_tensor *other;        /* what the layer at Tracer hands on instead of its argument */
static int records;             /* calls of the kernel for gradients */
static bool shown;              /* some key set that a kernel saw had the skip bit */

/* -- kernels -- */

static int on_cpu(dp_call *call)
{
    shown |=
        ((call->keys.functionality | dp_ctx_keys(call->ctx).functionality) & DPI_GRAD_BIT) != 0;
    ck_assert_int_eq(call->key, DP_KEY_OF(DP_F_Dense, DP_B_CPU));
    ck_assert_int_eq(dp_ctx_key(call->ctx), call->key);
    call->rets[0] = dp_tensor_value(dp_tensor_ref(plain));
    return 0;
}
static int on_cpu_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor **out)
{
    (void)x;
    shown |= (dp_ctx_keys(c).functionality & DPI_GRAD_BIT) != 0;
    *out = dp_tensor_ref(plain);
    return 0;
}
static int hand_on(dp_call *call, const dp_value *args)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key), args,
                               call->n_args, call->rets, call->n_rets);
}
static int recorder(dp_call *call)
{
    records++;
    shown |= (call->keys.functionality & DPI_GRAD_BIT) != 0;
    return hand_on(call, call->args);
}
static int swaps(dp_call *call)
{
    dp_value arg = dp_tensor_value(other);
    return hand_on(call, other != NULL ? &arg : call->args);
}
DP_TYPED(call_f, (T), (T))
static int swaps_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor **out)
{
    dp_typed f;
    int rc = dp_typed_init(c, "t::f", "T>T", &f);

    return rc < 0 ? rc
                  : call_f_with(c, &f, dp_keyset_below(dp_ctx_keys(c), dp_ctx_key(c)),
                                other != NULL ? other : x, out);
}

static const dp_item defs[] = {REC_DEF("f(Tensor x) -> Tensor"),
                               REC_DEF("g(Tensor x, Tensor[] l, Tensor? o=None) -> Tensor"),
                               REC_DEF("h(Tensor x) -> Tensor")};
static const dp_item cpu[] = {REC_IMPL_UNBOXED("f", on_cpu, on_cpu_unboxed, "T>T", 0),
                              REC_IMPL("g", on_cpu), REC_IMPL("h", on_cpu)};
static const dp_item autograd[] = {REC_IMPL_FLAGS("f", recorder, DP_FLAG_GRAD | DP_FLAG_BELOW)};
static const dp_item above[] = {REC_IMPL_UNBOXED("f", swaps, swaps_unboxed, "T>T", 0)};
static const dp_item in_place[] = {REC_IMPL_FLAGS("h", recorder, DP_FLAG_GRAD)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", cpu),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "Autograd", autograd),
    REC_BLOCK(DP_BLOCK_IMPL, 4, "t", "Tracer", above),
    REC_BLOCK(DP_BLOCK_IMPL, 5, "t", "ADInplaceOrView", in_place),
    REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_GRAD | DP_FLAG_BELOW, 6, "_", "AutogradCPU", recorder)};

static void setup(void)
{
    dp_error err = DP_ERROR_INIT;

    reg = rec_registry();
    rec_attach(reg, "grad", blocks, 6);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &plain, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &grad, &err), 0);
    dp_tensor_set_may_grad(ctx, grad, true);
    other = NULL;
    records = 0;
    shown = false;
}

static void teardown(void)
{
    ck_assert_msg(!shown, "a kernel saw the skip bit");
    rec_check(reg);
    dp_tensor_unref(plain);
    dp_tensor_unref(grad);
    dp_ctx_free(ctx);
    ck_assert_ptr_null(dp_registry_free(reg));
}

/* How often the kernel for gradients ran since last asked. */
static int recorded(void)
{
    int n = records;
    records = 0;
    return n;
}

static void done(int rc, dp_value *ret)
{
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    dp_values_release(ret, 1);
}

static int boxed(const char *op, dp_tensor *x)
{
    dp_value args[1] = {dp_tensor_value(x)}, ret;

    done(dp_call_boxed(ctx, dp_op_find(ctx, op), args, 1, &ret, 1), &ret);
    return recorded();
}

static int typed(dp_tensor *x)
{
    dp_typed f;
    dp_tensor *out = NULL;

    ck_assert_int_eq(dp_typed_init(ctx, "t::f", "T>T", &f), 0);
    ck_assert_int_eq(call_f(ctx, &f, x, &out), 0);
    dp_tensor_unref(out);
    return recorded();
}

static int with_list(dp_tensor *x, dp_tensor *in_list, dp_tensor *optional)
{
    dp_tensor *list[3] = {plain, in_list, plain};
    dp_value args[3] = {dp_tensor_value(x), {DP_TAG_TENSORS, 3, {0}}, dp_tensor_value(optional)};
    dp_value ret;

    args[1].u.tensors = list;
    done(dp_call_boxed(ctx, dp_op_find(ctx, "t::g"), args, 3, &ret, 1), &ret);
    return recorded();
}

/* -- tests -- */

START_TEST(grad_kernels_run_where_an_argument_may_have_one)
{
    for (int i = 0; i < 2; i++) { /* the second time by what the first found */
        ck_assert_int_eq(boxed("t::f", plain), 0);
        ck_assert_int_eq(boxed("t::f", grad), 1);
        ck_assert_int_eq(typed(plain), 0);
        ck_assert_int_eq(typed(grad), 1);
    }
    ck_assert_int_eq(with_list(plain, plain, NULL), 0);
    ck_assert_int_eq(with_list(grad, plain, NULL), 1);
    ck_assert_int_eq(with_list(plain, grad, NULL), 1);
    ck_assert_int_eq(with_list(plain, plain, grad), 1);
    dp_tensor_set_may_grad(ctx, plain, true);
    ck_assert_int_eq(boxed("t::f", plain), 1);
    dp_tensor_set_may_grad(ctx, plain, false);
    ck_assert_int_eq(boxed("t::f", plain), 0);
}
END_TEST

START_TEST(grad_kernels_of_keys_without_a_backend)
{
    ck_assert_int_eq(boxed("t::h", plain), 0);
    ck_assert_int_eq(boxed("t::h", grad), 2); /* the fallback at AutogradCPU, too */
}
END_TEST

START_TEST(grad_mode_off_passes_them_over)
{
    DP_MODE(m, ctx);
    m.no_grad = true;
    int off = dp_guard_mode(ctx, &m);

    ck_assert_int_eq(boxed("t::f", grad) + typed(grad), 0);
    m.no_grad = false;
    int on = dp_guard_mode(ctx, &m);
    ck_assert_int_eq(boxed("t::f", grad) + typed(grad), 2);
    dp_guard_leave(ctx, on);
    ck_assert_int_eq(boxed("t::f", grad) + typed(grad), 0);
    dp_guard_leave(ctx, off);
    ck_assert_int_eq(boxed("t::f", grad) + typed(grad), 2);
}
END_TEST

/* Lost gradient 1: the call that a layer got had none, the one that it makes does. */
START_TEST(grad_of_another_tensor_that_a_layer_hands_on)
{
    int depth = dp_guard_enter(ctx, tracer, none);

    other = grad;
    ck_assert_int_eq(boxed("t::f", plain), 1);
    ck_assert_int_eq(typed(plain), 1);
    other = plain;
    ck_assert_int_eq(boxed("t::f", grad), 0);
    ck_assert_int_eq(typed(grad), 0);
    dp_guard_leave(ctx, depth);
}
END_TEST

/* Lost gradient 2: a redispatch from outside, with keys that never show the bit. */
START_TEST(grad_of_a_redispatch_from_outside)
{
    dp_value args[1] = {dp_tensor_value(grad)}, ret;
    dp_keyset keys = dp_tensor_keys(grad), kept = dp_keyset_below(keys, DP_KEY(DP_F_Tracer));
    dp_typed f;
    dp_tensor *out = NULL;

    ck_assert_uint_eq((keys.functionality | kept.functionality) & DPI_GRAD_BIT, 0);
    const dp_op *op = dp_op_find(ctx, "t::f");
    done(dp_redispatch_boxed(ctx, op, kept, args, 1, &ret, 1), &ret);
    ck_assert_int_eq(recorded(), 1);
    ck_assert_int_eq(dp_typed_init(ctx, "t::f", "T>T", &f), 0);
    ck_assert_int_eq(call_f_with(ctx, &f, kept, grad, &out), 0);
    dp_tensor_unref(out);
    ck_assert_int_eq(recorded(), 1);
    keys.functionality |= DPI_GRAD_BIT; /* given, it means nothing */
    args[0] = dp_tensor_value(plain);
    done(dp_redispatch_boxed(ctx, op, keys, args, 1, &ret, 1), &ret);
    dp_guard_enter(ctx, keys, none);
    done(dp_call_boxed(ctx, op, args, 1, &ret, 1), &ret);
    ck_assert_int_eq(recorded(), 0);
}
END_TEST

START_TEST(grad_bit_is_no_key)
{
    dp_keyset only = {DPI_GRAD_BIT, 0}, with = {DPI_GRAD_BIT | DPI_BIT(Dense), 1};
    dp_key keys[4];
    char text[100];

    ck_assert_uint_eq(dp_keyset_highest(only), DP_KEY_Undefined);
    ck_assert_uint_eq(dp_keyset_highest(with), DP_KEY_OF(DP_F_Dense, DP_B_CPU));
    ck_assert_uint_eq(dp_keyset_list(with, keys, 4), 1);
    ck_assert_str_eq(dp_keyset_print(with, text, sizeof(text)), "CPU");
    ck_assert_uint_eq(
        dp_keyset_below(with, DP_KEY(DP_F_PythonDispatcher)).functionality & DPI_GRAD_BIT, 0);
    ck_assert(dp_tensor_may_grad(grad) && !dp_tensor_may_grad(plain));
}
END_TEST

/* A session without any is spared, until it has one: the tensor's own call sees it at once. */
START_TEST(grad_flag_of_a_session)
{
    dp_flag flag = 0;
    DP_MODE(m, ctx);

    dp_ctx_set_grad_flag(ctx, &flag);
    ck_assert_int_eq(boxed("t::f", grad) + typed(grad), 0);
    int inside = dp_guard_enter(ctx, none, none);
    m.no_grad = true;
    int off = dp_guard_mode(ctx, &m);
    dp_tensor_set_may_grad(ctx, plain, true);
    ck_assert_int_eq(flag, 1);
    ck_assert_int_eq(boxed("t::f", grad) + typed(plain), 0);
    dp_guard_leave(ctx, off);
    ck_assert_int_eq(boxed("t::f", grad) + typed(plain), 2);
    dp_guard_leave(ctx, inside);
    ck_assert_int_eq(boxed("t::f", grad) + typed(plain), 2);
    dp_ctx_reset(ctx);
    dp_ctx_set_grad_flag(ctx, &flag);
    ck_assert_int_eq(boxed("t::f", grad) + typed(plain), 2);
}
END_TEST

START_TEST(grad_kernels_are_named_as_such)
{
    char *text = rec_dump(reg);
    dp_value args[1] = {dp_tensor_value(plain)};
    dp_bound bound;
    dp_explanation x;

    ck_assert_ptr_nonnull(
        strstr(text, "Autograd[alias]: grad t.c:3 [redispatches below] [for gradients]"));
    ck_assert_ptr_nonnull(strstr(text, "> autograd kernel, grad t.c:3 [for gradients]: "));
    free(text);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(dp_bind(ctx, "t::f", args, 1, NULL, 0, &bound), 0);
        ck_assert_int_eq(dp_explain(ctx, &bound, dp_ctx_arena(ctx), &x), 0);
        ck_assert_uint_eq(x.n_path, i + 1);
        ck_assert_uint_eq((x.argument_keys.functionality | x.merged.functionality) & DPI_GRAD_BIT,
                          0);
        if (i == 0)
            ck_assert_str_eq(x.skipped[0].why, "kernel of plugin grad at t.c:3 is for gradients, "
                                               "and no argument may have one");
        args[0] = dp_tensor_value(grad);
    }
}
END_TEST

START_TEST(grad_kernels_are_layers)
{
    static const dp_item items[] = {REC_IMPL_FLAGS("f", recorder, DP_FLAG_GRAD)};
    static const char *const keys[] = {"CPU", "CompositeImplicitAutograd", "SparseCPU",
                                       "Undefined"};
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit;

    for (size_t i = 0; i < 4; i++) {
        dp_block block = REC_BLOCK(DP_BLOCK_IMPL, 9, "t", keys[i], items);
        ck_assert_int_eq(dp_registry_attach(reg, "wrong", "1", &block, 1, &unit, &err), DP_EPLUGIN);
        ck_assert_msg(strstr(err.message, "t.c:9") && strstr(err.message, "layer"), "%s",
                      err.message);
    }
}
END_TEST

START_TEST(flags_that_nobody_knows_are_refused)
{
    static const dp_item strange[] = {REC_IMPL_FLAGS("f", recorder, 0x40 | DP_FLAG_BELOW)};
    static const dp_item ordinary[] = {REC_IMPL("f", recorder)};
    dp_block three[] = {REC_BLOCK(DP_BLOCK_IMPL, 9, "t", "CPU", strange),
                        REC_BLOCK(DP_BLOCK_IMPL, 9, "t", "CPU", ordinary),
                        REC_PLAIN(DP_BLOCK_FALLBACK, 0x40, 9, "_", "AutogradCPU", recorder)};
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit;

    three[1].flags = 0x40;
    for (size_t i = 0; i < DPI_COUNT(three); i++) {
        ck_assert_int_eq(dp_registry_attach(reg, "wrong", "1", &three[i], 1, &unit, &err),
                         DP_EPLUGIN);
        ck_assert_msg(strstr(err.message, "t.c:9") && strstr(err.message, "does not know 0x40"),
                      "%s", err.message);
    }
}
END_TEST

UNIT_SUITE(grad)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, grad_kernels_run_where_an_argument_may_have_one);
    tcase_add_test(tc, grad_kernels_of_keys_without_a_backend);
    tcase_add_test(tc, grad_mode_off_passes_them_over);
    tcase_add_test(tc, grad_of_another_tensor_that_a_layer_hands_on);
    tcase_add_test(tc, grad_of_a_redispatch_from_outside);
    tcase_add_test(tc, grad_bit_is_no_key);
    tcase_add_test(tc, grad_flag_of_a_session);
    tcase_add_test(tc, grad_kernels_are_named_as_such);
    tcase_add_test(tc, grad_kernels_are_layers);
    tcase_add_test(tc, flags_that_nobody_knows_are_refused);
}
