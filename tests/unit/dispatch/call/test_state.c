/* test_state.c -- dispatcher state of a request: the mode, guards, and that the end of a call
 * restores both whatever the kernel did. */
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <string.h>

static const dp_keyset none = {0, 0};
static const dp_keyset tracer = {DPI_BIT(Tracer), 0};

static dp_registry *reg;
static dp_ctx *ctx;
static dp_tensor *x;

/* -- an operator whose kernel does what a test wants -- */

static int (*body)(dp_ctx *c);

static int runs_body(dp_ctx *c, dp_tensor *self, dp_tensor **out)
{
    *out = dp_tensor_ref(self);
    return body(c);
}
static int runs_body_boxed(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return body(call->ctx);
}
static int hands_on(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}
DP_TYPED(typed_f, (T), (T))

static void setup(void)
{
    static const dp_item defs[] = {REC_DEF("f(Tensor x) -> Tensor"),
                                   REC_DEF("boxed(Tensor x) -> Tensor")};
    static const dp_item cpu[] = {
        REC_IMPL_UNBOXED("f", runs_body_boxed, runs_body, "T>T", 0),
        REC_IMPL("boxed", runs_body_boxed),
    };
    static const dp_item above[] = {REC_IMPL("boxed", hands_on)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
                                      REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", cpu),
                                      REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "AutogradCPU", above)};
    dp_error err = DP_ERROR_INIT;

    reg = rec_registry();
    rec_attach(reg, "state", blocks, 3);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &x, &err), 0);
}

static void teardown(void)
{
    dp_tensor_unref(x);
    dp_ctx_free(ctx);
    ck_assert_ptr_null(dp_registry_free(reg));
}

static bool same(dp_keyset p, dp_keyset q)
{
    return p.functionality == q.functionality && p.backend == q.backend;
}

static void expect_default(const char *when)
{
    dp_keyset include, exclude;
    const dp_mode *m = dp_ctx_mode(ctx);

    dp_state_default(&include, &exclude);
    ck_assert_msg(same(dp_ctx_include(ctx), include) && same(dp_ctx_exclude(ctx), exclude),
                  "%s: include %llx, exclude %llx", when,
                  (unsigned long long)dp_ctx_include(ctx).functionality,
                  (unsigned long long)dp_ctx_exclude(ctx).functionality);
    ck_assert_msg(!m->no_grad && !m->inference && m->fallback == DP_FALLBACK_ALLOW,
                  "%s: no_grad %d, inference %d, fallback %d", when, m->no_grad, m->inference,
                  m->fallback);
}

static int set_no_grad(dp_ctx *c)
{
    DP_MODE(m, c);
    m.no_grad = true;
    return dp_guard_mode(c, &m);
}

/* Every kind of call of an operator whose kernel runs fn; codes go to rcs. */
enum { KINDS = 5 };
static void call_each(int (*fn)(dp_ctx *), int rcs[KINDS])
{
    static const char *const kinds[KINDS] = {"typed", "typed, labelled", "boxed", "redispatched",
                                             "in a program"};
    dp_value arg = dp_tensor_value(x), ret;
    dp_typed t;
    dp_tensor *out = NULL;

    body = fn;
    for (int i = 0; i < KINDS; i++) {
        ck_assert_int_eq(dp_typed_init(ctx, "t::f", "T>T", &t), 0);
        dp_ctx_set_label(ctx, i == 1 ? "session 1" : "");
        if (i == 4)
            ck_assert_int_eq(dp_ctx_begin(ctx), 0);
        if (i < 2) {
            out = NULL;
            rcs[i] = typed_f(ctx, &t, x, &out);
            dp_tensor_unref(out);
        } else {
            rcs[i] =
                dp_call_boxed(ctx, dp_op_find(ctx, i == 3 ? "t::boxed" : "t::f"), &arg, 1, &ret, 1);
            dp_values_release(&ret, 1);
        }
        if (i == 4)
            dp_ctx_end(ctx);
        expect_default(kinds[i]);
    }
}

/* -- guards -- */

START_TEST(state_guards_nest_and_deeper_ones_go_with_theirs)
{
    int one = dp_guard_enter(ctx, tracer, none), two = set_no_grad(ctx),
        three = dp_guard_enter(ctx, none, tracer);

    ck_assert_int_eq(one, 0);
    ck_assert_int_eq(two, 1);
    ck_assert_int_eq(three, 2);
    ck_assert(dp_ctx_mode(ctx)->no_grad);
    ck_assert(dp_ctx_exclude(ctx).functionality & tracer.functionality);
    dp_guard_leave(ctx, three);
    ck_assert(!(dp_ctx_exclude(ctx).functionality & tracer.functionality));
    dp_guard_leave(ctx, three); /* once more does nothing */
    ck_assert(dp_ctx_mode(ctx)->no_grad);
    dp_guard_leave(ctx, one);
    expect_default("the outermost is left");
    dp_guard_leave(ctx, -DP_ERESOURCE);
    dp_guard_leave(ctx, DP_ERESOURCE);
    expect_default("what is none");
}
END_TEST

static int forgets(dp_ctx *c)
{
    dp_guard_enter(c, tracer, none);
    return set_no_grad(c) < 0 || dp_guard_enter(c, none, tracer) < 0 ? DP_ERESOURCE : 0;
}
static int fails_inside(dp_ctx *c)
{
    forgets(c);
    return dp_error_set(dp_ctx_error(c), DP_EVALUE, "inside of three guards");
}

START_TEST(state_is_restored_whatever_a_kernel_did)
{
    int rcs[KINDS];

    call_each(forgets, rcs);
    for (int i = 0; i < KINDS; i++)
        ck_assert_int_eq(rcs[i], 0);
    call_each(fails_inside, rcs);
    for (int i = 0; i < KINDS; i++)
        ck_assert_int_eq(rcs[i], DP_EVALUE);
}
END_TEST

static int leaves_all(dp_ctx *c)
{
    dp_guard_leave(c, 0);
    int depth = dp_guard_enter(c, none, tracer);
    dp_guard_leave(c, 0);
    dp_guard_leave(c, depth);
    return dp_ctx_mode(c)->no_grad && (dp_ctx_include(c).functionality & tracer.functionality)
               ? 0
               : dp_error_set(dp_ctx_error(c), DP_ERUNTIME, "it took its caller's guards back");
}

START_TEST(state_of_a_caller_is_not_its_kernels_to_take_back)
{
    dp_value arg = dp_tensor_value(x), ret;

    body = leaves_all;
    int one = dp_guard_enter(ctx, tracer, none);
    set_no_grad(ctx);
    for (int i = 0; i < 2; i++) {
        const dp_op *op = dp_op_find(ctx, i ? "t::boxed" : "t::f");
        int rc = dp_call_boxed(ctx, op, &arg, 1, &ret, 1);
        ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
        dp_values_release(&ret, 1);
        ck_assert(dp_ctx_mode(ctx)->no_grad);
    }
    dp_guard_leave(ctx, one);
    expect_default("after both");
}
END_TEST

START_TEST(state_guards_have_a_limit)
{
    int depth = 0, n = 0;

    while ((depth = n % 2 ? set_no_grad(ctx) : dp_guard_enter(ctx, tracer, none)) >= 0)
        unit_each(depth == n++, "guard %d has depth %d", n, depth);
    ck_assert_int_eq(n, DP_LIMIT_GUARDS);
    ck_assert_int_eq(depth, DP_ERESOURCE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "256"));
    dp_guard_leave(ctx, 0);
    expect_default("after all of them");
}
END_TEST

START_TEST(state_survives_a_guard_without_memory)
{
    for (uint64_t n = 1;; n++) {
        dp_fault_arm(n);
        int one = dp_guard_enter(ctx, tracer, none), two = one < 0 ? one : set_no_grad(ctx);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        dp_guard_leave(ctx, one);
        expect_default("after a guard without memory");
        dp_ctx_free(ctx);
        ck_assert_int_eq(dp_ctx_new(reg, &ctx, NULL), 0);
        if (!hit)
            break;
        ck_assert_int_eq(two, DP_ERESOURCE);
    }
}
END_TEST

/* -- the mode -- */

START_TEST(state_mode_keeps_what_an_older_record_does_not_cover)
{
    dp_mode m = {.size = (uint32_t)sizeof(m), .cast_backends = 5, .no_cast_cache = true};
    m.cast_dtype[DP_B_CPU] = DP_BFLOAT16 + 1;
    int outer = dp_guard_mode(ctx, &m);
    dp_mode old = {.size = (uint32_t)offsetof(dp_mode, cast_backends), .no_grad = true};

    ck_assert_int_eq(dp_guard_mode(ctx, &old), 1);
    const dp_mode *now = dp_ctx_mode(ctx);
    ck_assert_uint_eq(now->size, sizeof(dp_mode));
    ck_assert(now->no_grad && !now->no_cast_cache);
    ck_assert_uint_eq(now->cast_backends, 5);
    ck_assert_uint_eq(now->cast_dtype[DP_B_CPU], DP_BFLOAT16 + 1);
    dp_guard_leave(ctx, outer);
    expect_default("after both");
}
END_TEST

START_TEST(state_mode_takes_no_number_that_it_does_not_know)
{
    dp_mode wrong[] = {{.fallback = DP_FALLBACK_FORBID + 1}, {.fallback = 255}, {0}, {0}};
    const char *text = dp_ctx_error(ctx)->message;

    wrong[2].cast_dtype[DP_B_CUDA] = 200;
    wrong[3].cast_dtype[63] = DP_DTYPE_END + 1;
    for (size_t i = 0; i < DPI_COUNT(wrong); i++) {
        wrong[i].size = (uint32_t)sizeof(dp_mode);
        ck_assert_int_eq(dp_guard_mode(ctx, &wrong[i]), DP_EVALUE);
        ck_assert_msg(strstr(text, i < 2 ? "dp_guard_mode: fallback is" : "a cast_dtype is"), "%s",
                      text);
    }
    ck_assert_int_eq(dp_guard_mode(ctx, NULL), DP_EVALUE);
    expect_default("after all of them");
}
END_TEST

START_TEST(state_inference_calls_no_autograd_key)
{
    DP_MODE(m, ctx);
    m.inference = true;
    int outer = dp_guard_mode(ctx, &m);

    ck_assert(dp_ctx_mode(ctx)->no_grad);
    ck_assert_uint_eq(dp_ctx_exclude(ctx).functionality & DPI_AUTOGRAD_BITS, DPI_AUTOGRAD_BITS);
    ck_assert(!(dp_ctx_include(ctx).functionality & DPI_BIT(ADInplaceOrView)));
    m.inference = m.no_grad = false; /* InferenceMode(false) inside of one */
    dp_guard_mode(ctx, &m);
    expect_default("inside, off");
    dp_guard_leave(ctx, outer);
    expect_default("outside");
}
END_TEST

static int counts(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

/* A fallback of a backend is what can be forbidden; a layer's only hands the call on. */
START_TEST(state_mode_forbids_fallbacks_of_backends)
{
    static const dp_block blocks[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 7, "_", "CUDA", counts),
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 8, "_", "AutogradCUDA", hands_on)};
    dp_value ret, arg;
    dp_tensor *on_cuda;
    DP_MODE(m, ctx);

    rec_attach(reg, "slow", blocks, 2);
    ck_assert_int_eq(
        dp_tensor_new(DP_FLOAT32, DP_DEVICE(DP_B_Meta, 0), 0, NULL, NULL, &on_cuda, NULL), 0);
    on_cuda->keys = dp_device_keys(DP_DEVICE(DP_B_CUDA, 0));
    arg = dp_tensor_value(on_cuda);
    const dp_op *op = dp_op_find(ctx, "t::f");
    ck_assert_int_eq(dp_call_boxed(ctx, op, &arg, 1, &ret, 1), 0);
    dp_values_release(&ret, 1);
    size_t n = 1;
    dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 0);
    m.fallback = DP_FALLBACK_REPORT;
    int outer = dp_guard_mode(ctx, &m);
    ck_assert_int_eq(dp_call_boxed(ctx, op, &arg, 1, &ret, 1), 0);
    dp_values_release(&ret, 1);
    const dp_warning *warnings = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(warnings[0].text, "t::f: served by the fallback of plugin 'slow' for CUDA");
    m.fallback = DP_FALLBACK_FORBID;
    int depth = dp_guard_mode(ctx, &m);
    ck_assert_int_eq(dp_call_boxed(ctx, op, &arg, 1, &ret, 1), DP_ENOTIMPL);
    const char *text = dp_ctx_error(ctx)->message;
    ck_assert_msg(strstr(text, "t::f") && strstr(text, "CUDA") && strstr(text, "'slow' (t.c:7)"),
                  "%s", text);
    dp_guard_leave(ctx, depth);
    dp_guard_leave(ctx, outer);
    ck_assert_int_eq(dp_call_boxed(ctx, op, &arg, 1, &ret, 1), 0);
    dp_values_release(&ret, 1);
    dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 1);
    dp_tensor_unref(on_cuda);
}
END_TEST

UNIT_SUITE(state)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, state_guards_nest_and_deeper_ones_go_with_theirs);
    tcase_add_test(tc, state_is_restored_whatever_a_kernel_did);
    tcase_add_test(tc, state_of_a_caller_is_not_its_kernels_to_take_back);
    tcase_add_test(tc, state_guards_have_a_limit);
    tcase_add_test(tc, state_survives_a_guard_without_memory);
    tcase_add_test(tc, state_mode_keeps_what_an_older_record_does_not_cover);
    tcase_add_test(tc, state_mode_takes_no_number_that_it_does_not_know);
    tcase_add_test(tc, state_inference_calls_no_autograd_key);
    tcase_add_test(tc, state_mode_forbids_fallbacks_of_backends);
}
