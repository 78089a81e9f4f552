/* test_fell_back.c -- counts of the calls that fell back and of the bytes that this copied, in a
 * context and in its trace, and the warning about a view that became a copy. */
#include "base/base.h"
#include "dispatch/records.h"
#include "../../../plugins/faulting_device.h"
#include <dispatchd/dispatch.h>

enum { BYTES = 4, DEFS_OVER = DP_LIMIT_FALLBACKS + 10 };

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static int bit;
static dp_tensor *x;

/* f(Tensor x) -> Tensor: an empty tensor of 3 bytes */
static int f(dp_call *call)
{
    int64_t n = 3;
    dp_tensor *out;
    int rc = dp_empty(call->ctx, DP_UINT8, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &out);

    if (rc == 0)
        call->rets[0] = dp_tensor_value(out);
    return rc;
}

static int fails(dp_call *call)
{
    return dp_fail(call->ctx, DP_ERUNTIME, "fails");
}

/* The backend's own kernel, which runs all calls on the CPU. */
static int passes_on(dp_call *call)
{
    return dp_fallback_cpu(call);
}

/* A fallback that calls dp_fallback_cpu(). */
static int own_fallback(dp_call *call)
{
    return dp_fallback_cpu(call);
}

static const dp_item defs[] = {
    REC_DEF("f(Tensor x) -> Tensor"),          REC_DEF("in_place_(Tensor(a!) x) -> Tensor(a!)"),
    REC_DEF("fails(Tensor x) -> Tensor"),      REC_DEF("passed(Tensor x) -> Tensor"),
    REC_DEF("view(Tensor(a) x) -> Tensor(a)"),
};
static int in_place(dp_call *call)
{
    (void)call;
    return 0;
}
static const dp_item cpu[] = {REC_IMPL("f", f), REC_IMPL("in_place_", in_place),
                              REC_IMPL("fails", fails), REC_IMPL("passed", f), REC_IMPL("view", f)};
static const dp_item npu[] = {REC_IMPL("passed", passes_on)};
static const dp_block blocks[] = {
    REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", defs),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "t", "CPU", cpu),
    REC_BLOCK(DP_BLOCK_IMPL, 3, "t", "unitnpu", npu),
};
static const dp_block host_fallback[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 4, "_", "unitnpu", dp_fallback_cpu)};
static const dp_block fallback_of_all[] = {
    REC_PLAIN(DP_BLOCK_FALLBACK, 0, 5, "_", "Dense", own_fallback)};

static void setup(void)
{
    int64_t n = BYTES;

    ck_assert_int_eq(dpi_backend_register("unitnpu", "test", &faultdev_ops, &bit, &err), 0);
    reg = rec_registry();
    rec_attach(reg, "kernels", blocks, 3);
    rec_attach(reg, "fallbacks", host_fallback, 1);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_empty(ctx, DP_UINT8, DP_DEVICE(bit, 1), 1, &n, DP_CONTIGUOUS, &x), 0);
}

static void teardown(void)
{
    faultdev.refuse = 0;
    dp_tensor_unref(x);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
    ck_assert_uint_eq(faultdev.live, 0);
    dpi_backend_unregister(bit);
}

static int call(const char *op)
{
    dp_value arg = dp_tensor_value(x), ret;
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, op), &arg, 1, &ret, 1);

    if (rc == 0)
        dp_values_release(&ret, 1);
    return rc;
}

static void counted(size_t at, const char *op, uint64_t calls, uint64_t bytes)
{
    size_t n;
    const dp_fallback_count *c = dp_ctx_fallbacks(ctx, &n);

    ck_assert_uint_lt(at, n);
    ck_assert_str_eq(c[at].op, op);
    ck_assert_str_eq(c[at].key, op[0] != '\0' ? "unitnpu" : "");
    ck_assert_uint_eq(c[at].calls, calls);
    ck_assert_uint_eq(c[at].bytes, bytes);
}

static size_t number(void)
{
    size_t n;

    dp_ctx_fallbacks(ctx, &n);
    return n;
}

START_TEST(calls_and_bytes_are_counted_by_operator)
{
    ck_assert_uint_eq(number(), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(call("t::f"), 0);
    ck_assert_int_eq(call("t::in_place_"), 0);
    counted(0, "t::f", 3, 3 * (BYTES + 3));
    counted(1, "t::in_place_", 1, 2 * BYTES);
    ck_assert_uint_eq(number(), 2);
    dp_ctx_fallbacks_clear(ctx);
    ck_assert_uint_eq(number(), 0);
    ck_assert_int_eq(call("t::f"), 0);
    counted(0, "t::f", 1, BYTES + 3);
    dp_ctx_reset(ctx);
    ck_assert_uint_eq(number(), 0);
}
END_TEST

/* The bytes are those that were copied before the failure. */
START_TEST(calls_that_fail_are_counted)
{
    ck_assert_int_eq(call("t::fails"), DP_ERUNTIME);
    counted(0, "t::fails", 1, BYTES);
    faultdev.refuse = DP_EBUSY;
    ck_assert_int_eq(call("t::fails"), DP_EBUSY);
    counted(0, "t::fails", 2, BYTES);
}
END_TEST

START_TEST(a_kernel_that_hands_its_call_to_the_cpu_is_counted_once)
{
    ck_assert_int_eq(call("t::passed"), 0);
    counted(0, "t::passed", 1, BYTES + 3);
    ck_assert_uint_eq(number(), 1);
}
END_TEST

START_TEST(a_call_that_the_mode_forbids_is_not_counted)
{
    dp_mode mode = {.size = sizeof(mode), .fallback = DP_FALLBACK_FORBID};
    const dp_keyset none = {0, 0};

    dp_ctx_set_state(ctx, none, none, &mode);
    ck_assert_int_eq(call("t::f"), DP_ENOTIMPL);
    ck_assert_int_eq(call("t::passed"), DP_ENOTIMPL);
    ck_assert_uint_eq(number(), 0);
    mode.fallback = DP_FALLBACK_REPORT;
    dp_ctx_set_state(ctx, none, none, &mode);
    ck_assert_int_eq(call("t::f"), 0);
    ck_assert_int_eq(call("t::passed"), 0);
    counted(0, "t::f", 1, BYTES + 3);
    counted(1, "t::passed", 1, BYTES + 3);
}
END_TEST

/* The fallback of all backends serves a second backend under that backend's name. */
START_TEST(a_fallback_of_all_backends_is_counted_by_backend)
{
    int second;
    int64_t n = BYTES;
    dp_tensor *mine = x;
    size_t found;

    ck_assert_int_eq(dpi_backend_register("unitnpu2", "test", &faultdev_ops, &second, &err), 0);
    dp_unit *unit = rec_attach(reg, "own", fallback_of_all, 1);
    ck_assert_int_eq(dp_empty(ctx, DP_UINT8, DP_DEVICE(second, 0), 1, &n, DP_CONTIGUOUS, &x), 0);
    ck_assert_int_eq(call("t::f"), 0);
    dp_tensor_unref(x);
    x = mine;
    ck_assert_int_eq(call("t::f"), 0);
    const dp_fallback_count *c = dp_ctx_fallbacks(ctx, &found);
    ck_assert_uint_eq(found, 2);
    ck_assert_str_eq(c[0].key, "unitnpu2");
    ck_assert_uint_eq(c[0].calls, 1);
    ck_assert_uint_eq(c[0].bytes, BYTES + 3);
    ck_assert_str_eq(c[1].key, "unitnpu");
    rec_detach(reg, unit);
    dpi_backend_unregister(second);
    ck_assert_str_eq(dp_ctx_fallbacks(ctx, &found)[0].key, "unitnpu2");
}
END_TEST

START_TEST(a_trace_says_which_steps_fell_back)
{
    size_t n;
    bool cut;

    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    ck_assert_int_eq(call("t::f"), 0);
    ck_assert_int_eq(call("t::passed"), 0);
    const dp_trace_step *s = dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, 4); /* each: the kernel for unitnpu, and the one for CPU */
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(s[i].fell_back, i % 2 == 0);
        ck_assert_uint_eq(s[i].copied, i % 2 == 0 ? BYTES + 3 : 0);
    }
}
END_TEST

START_TEST(a_view_that_became_a_copy_warns_as_in_pytorch)
{
    size_t n;

    ck_assert_int_eq(call("t::f"), 0);
    ck_assert_int_eq(call("t::in_place_"), 0);
    dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 0);
    ck_assert_int_eq(call("t::view"), 0);
    ck_assert_int_eq(call("t::view"), 0); /* the text is sent once */
    const dp_warning *w = dp_ctx_warnings(ctx, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(w[0].op, "t::view");
    ck_assert_str_eq(w[0].text,
                     "The operator t::view appears to be a view operator, but it has no "
                     "implementation for the backend \"unitnpu:1\". View operators don't support "
                     "falling back to run on the CPU, since the tensor's storage cannot be shared "
                     "across devices.");
}
END_TEST

START_TEST(operators_beyond_the_limit_are_counted_together)
{
    static char schemas[DEFS_OVER][40], names[DEFS_OVER][20];
    static dp_item many[DEFS_OVER], kernels[DEFS_OVER];
    dp_block two[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 6, "many", "", many),
                      REC_BLOCK(DP_BLOCK_IMPL, 7, "many", "CPU", kernels)};

    for (int i = 0; i < DEFS_OVER; i++) {
        snprintf(schemas[i], sizeof(schemas[i]), "f%d(Tensor x) -> Tensor", i);
        snprintf(names[i], sizeof(names[i]), "f%d", i);
        many[i] = (dp_item)REC_DEF(schemas[i]);
        kernels[i] = (dp_item)REC_IMPL(names[i], f);
    }
    rec_attach(reg, "many", two, 2);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < DEFS_OVER; i++) {
            char name[30];
            snprintf(name, sizeof(name), "many::f%d", i);
            ck_assert_int_eq(call(name), 0);
        }
    ck_assert_uint_eq(number(), DP_LIMIT_FALLBACKS + 1);
    counted(0, "many::f0", 2, 2 * (BYTES + 3));
    counted(DP_LIMIT_FALLBACKS, "", 2 * 10, 2 * 10 * (BYTES + 3));
}
END_TEST

UNIT_SUITE(fell_back)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, calls_and_bytes_are_counted_by_operator);
    tcase_add_test(tc, calls_that_fail_are_counted);
    tcase_add_test(tc, a_kernel_that_hands_its_call_to_the_cpu_is_counted_once);
    tcase_add_test(tc, a_call_that_the_mode_forbids_is_not_counted);
    tcase_add_test(tc, a_fallback_of_all_backends_is_counted_by_backend);
    tcase_add_test(tc, a_trace_says_which_steps_fell_back);
    tcase_add_test(tc, a_view_that_became_a_copy_warns_as_in_pytorch);
    tcase_add_test(tc, operators_beyond_the_limit_are_counted_together);
}
