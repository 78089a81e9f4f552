/* test_explain.c -- what explain says is what a call does. */
#include "dispatch/records.h"

static dp_registry *reg;
static dp_ctx *ctx;
static dp_tensor *tensor; /* on the CPU */

static const dp_item definition[] = {REC_DEF("f(Tensor x) -> Tensor"),
                                     REC_DEF("none(int n) -> Tensor")};
static const dp_item kernel[] = {REC_IMPL("f", rec_kernel)};
static const dp_item below[] = {REC_IMPL_FLAGS("f", rec_kernel, DP_FLAG_BELOW)};
static const dp_item through[] = {REC_IMPL_FLAGS("f", NULL, DP_FLAG_FALLTHROUGH)};

static void setup(void)
{
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_LIBRARY, 1, "t", "", definition)};
    dp_error err = DP_ERROR_INIT;

    reg = rec_registry();
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 0, NULL, NULL, &tensor, &err), 0);
    rec_attach(reg, "d", block, 1);
}

static void teardown(void)
{
    dp_tensor_unref(tensor);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
}

static dp_unit *impl(const char *plugin, uint32_t line, const char *key, const dp_item *item)
{
    dp_block block = REC_PLAIN(DP_BLOCK_IMPL, 0, line, "t", key, NULL);

    block.items = item;
    block.n_items = 1;
    return rec_attach(reg, plugin, &block, 1);
}

static void keyset_line(dpi_text *t, const char *what, dp_keyset s)
{
    char buf[400];
    dpi_text_printf(t, "%s: %s\n", what, dp_keyset_print(s, buf, sizeof(buf)));
}

static void steps(dpi_text *t, const char *mark, const dp_explain_step *step, uint32_t n)
{
    char key[DP_KEY_NAME_MAX];

    for (uint32_t i = 0; i < n; i++) {
        dpi_text_printf(t, "%s%s %s", mark, step[i].assumed ? "?" : "",
                        dp_key_name(step[i].key, key));
        if (*mark == '>')
            dpi_text_printf(t, " [%s] %s:%u", step[i].provenance,
                            step[i].from.plugin ? step[i].from.plugin : "-", step[i].from.line);
        dpi_text_printf(t, ": %s\n", step[i].why);
    }
}

/* The explanation of a call of t::f on the tensor, as text. */
static void expect_explanation(const char *want)
{
    dp_value self = dp_tensor_value(tensor);
    dp_explanation x;
    dpi_text t = {0};
    dp_bound b;

    ck_assert_msg(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b) == 0, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_explain(ctx, &b, dp_ctx_arena(ctx), &x), 0);
    ck_assert_ptr_eq(x.op, b.op);
    keyset_line(&t, "arguments", x.argument_keys);
    keyset_line(&t, "merged", x.merged);
    keyset_line(&t, "after state", x.after_state);
    steps(&t, ">", x.path, x.n_path);
    steps(&t, "-", x.skipped, x.n_skipped);
    ck_assert_str_eq(t.s, want);
    dpi_text_fini(&t);
}

#define KEYS                                                                                       \
    "arguments: AutogradCPU, ADInplaceOrView, CPU\n"                                               \
    "merged: AutogradCPU, ADInplaceOrView, BackendSelect, CPU\n"
#define HOST "fallthrough: the host's own, since no plugin has a kernel or a fallback for it\n"

#define DIRECT(key) "a kernel is registered directly for " key "\n"

START_TEST(straight_to_the_backend)
{
    impl("cpu", 10, "CPU", kernel);
    expect_explanation(KEYS "after state: CPU\n"
                            "> CPU [kernel] cpu:10: highest key that is not fallthrough; " DIRECT(
                                "CPU") "- AutogradCPU: " HOST "- ADInplaceOrView: " HOST
                                       "- BackendSelect: " HOST);
}
END_TEST

START_TEST(through_autograd)
{
    impl("cpu", 10, "CPU", kernel);
    dp_unit *silent = impl("grad", 20, "AutogradCPU", kernel);
    const char *assumed =
        KEYS "after state: AutogradCPU, CPU\n"
             "> AutogradCPU [kernel] grad:20: highest key that is not fallthrough; " DIRECT(
                 "AutogradCPU") ">? CPU [kernel] cpu:10: highest key below AutogradCPU that is not "
                                "fallthrough; " DIRECT("CPU") "- ADInplaceOrView: " HOST
                                                              "- BackendSelect: " HOST;
    expect_explanation(assumed);
    rec_detach(reg, silent);
    impl("grad", 21, "AutogradCPU", below); /* says that it redispatches: nothing to assume */
    expect_explanation(
        KEYS "after state: AutogradCPU, CPU\n"
             "> AutogradCPU [kernel] grad:21: highest key that is not fallthrough; " DIRECT(
                 "AutogradCPU") "> CPU [kernel] cpu:10: highest key below AutogradCPU that is not "
                                "fallthrough; " DIRECT("CPU") "- ADInplaceOrView: " HOST
                                                              "- BackendSelect: " HOST);
}
END_TEST

/* A composite kernel calls other operators: the path ends at it, wherever it stands. */
START_TEST(composite_at_autograd)
{
    impl("composite", 30, "CompositeImplicitAutograd", kernel);
    expect_explanation(
        KEYS "after state: AutogradCPU, CPU\n"
             "> AutogradCPU [math kernel] composite:30: highest key that is not fallthrough; "
             "CompositeImplicitAutograd serves it: it has no kernel of its own, nor has the "
             "backend below\n");
}
END_TEST

START_TEST(fallthrough_kernels_and_excluded_keys)
{
    dp_keyset include, exclude;

    impl("cpu", 10, "CPU", kernel);
    impl("view", 40, "ADInplaceOrView", through);
    impl("grad", 20, "AutogradCPU", kernel);
    dp_state_default(&include, &exclude);
    exclude.functionality |= DPI_AUTOGRAD_BITS;
    dp_ctx_set_state(ctx, include, exclude, NULL);
    expect_explanation(
        KEYS
        "after state: CPU\n"
        "> CPU [kernel] cpu:10: highest key that is not fallthrough; " DIRECT(
            "CPU") "- AutogradCPU: excluded by thread state\n"
                   "- ADInplaceOrView: fallthrough kernel registered by plugin view at t.c:40\n"
                   "- BackendSelect: " HOST);
}
END_TEST

START_TEST(fallbacks)
{
    static const dp_block block[] = {
        REC_PLAIN(DP_BLOCK_FALLBACK, 0, 50, "_", "AutogradCPU", rec_kernel),
        REC_PLAIN(DP_BLOCK_FALLBACK, DP_FLAG_FALLTHROUGH, 51, "_", "ADInplaceOrView", NULL)};

    impl("default", 31, "CompositeExplicitAutograd", kernel);
    rec_attach(reg, "falls", block, 2);
    expect_explanation(
        KEYS
        "after state: AutogradCPU, CPU\n"
        "> AutogradCPU [backend fallback] falls:50: highest key that is not fallthrough; "
        "no kernel of the operator serves it; backend fallback of plugin falls\n"
        ">? CPU [default backend kernel] default:31: highest key below AutogradCPU that is not "
        "fallthrough; CompositeExplicitAutograd serves it: it has no kernel of its own\n"
        "- ADInplaceOrView: fallthrough fallback registered by plugin falls at t.c:51\n"
        "- BackendSelect: " HOST);
}
END_TEST

START_TEST(fallback_of_every_backend)
{
    static const dp_block block[] = {REC_PLAIN(DP_BLOCK_FALLBACK, 0, 55, "_", "Dense", rec_kernel)};

    rec_attach(reg, "falls", block, 1);
    expect_explanation(
        KEYS
        "after state: CPU\n"
        "> CPU [backend fallback] falls:55: highest key that is not fallthrough; no kernel of the "
        "operator serves it; backend fallback of plugin falls for Dense of every backend\n"
        "- AutogradCPU: " HOST "- ADInplaceOrView: " HOST "- BackendSelect: " HOST);
}
END_TEST

START_TEST(nothing_serves_it)
{
    impl("meta", 60, "Meta", kernel);
    impl("sparse", 61, "SparseCPU", kernel);
    expect_explanation(
        KEYS "after state: CPU\n"
             "> CPU [missing] -:0: highest key that is not fallthrough; nothing is registered "
             "that serves it; keys with a kernel: SparseCPU, Meta\n"
             "- AutogradCPU: " HOST "- ADInplaceOrView: " HOST "- BackendSelect: " HOST);
}
END_TEST

START_TEST(no_tensor_argument)
{
    dp_value n = dp_int(1);
    dp_explanation x;
    dp_bound b;

    ck_assert_int_eq(dp_bind(ctx, "t::none", &n, 1, NULL, 0, &b), 0);
    ck_assert_int_eq(dp_explain(ctx, &b, dp_ctx_arena(ctx), &x), 0);
    ck_assert_uint_eq(x.n_path, 1);
    ck_assert_uint_eq(x.path[0].key, DP_KEY_Undefined);
    ck_assert_str_eq(x.path[0].why,
                     "no key is left that a tensor or the thread state gives; nothing is "
                     "registered that serves it; keys with a kernel: none");
}
END_TEST

/* Explaining agrees with calling, for every set of these kernels. */
START_TEST(the_first_step_is_what_a_call_takes)
{
    static const char *const keys[] = {"CPU",
                                       "AutogradCPU",
                                       "Autograd",
                                       "CompositeImplicitAutograd",
                                       "ADInplaceOrView",
                                       "CompositeExplicitAutograd"};
    dp_value self = dp_tensor_value(tensor), ret;
    const dp_trace_step *trace;
    dp_explanation x;
    size_t n = 0;
    bool cut;
    dp_bound b;

    for (size_t i = 0; i < DPI_COUNT(keys); i++)
        if (_i >> i & 1)
            impl(keys[i], (uint32_t)(100 + i), keys[i], kernel);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    ck_assert_int_eq(dp_explain(ctx, &b, dp_ctx_arena(ctx), &x), 0);
    ck_assert_uint_ge(x.n_path, 1);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    int rc = dp_call_boxed(ctx, b.op, b.args, 1, &ret, 1);
    ck_assert_int_eq(rc, x.path[0].from.plugin ? 0 : DP_ENOTIMPL);
    if (rc < 0)
        return;
    dp_values_release(&ret, 1);
    trace = dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(trace[0].key, x.path[0].key);
    ck_assert_str_eq(trace[0].provenance, x.path[0].provenance);
    ck_assert_str_eq(trace[0].from.plugin, x.path[0].from.plugin);
    ck_assert_uint_eq(trace[0].from.line, x.path[0].from.line);
}
END_TEST

START_TEST(gone_since_it_was_bound)
{
    static const dp_item item[] = {REC_DEF("g(Tensor x) -> Tensor")};
    static const dp_block block[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, 70, "t", "", item)};
    dp_value self = dp_tensor_value(tensor);
    dp_unit *u = rec_attach(reg, "gone", block, 1);
    dp_explanation x;
    dp_bound b;

    ck_assert_int_eq(dp_bind(ctx, "t::g", &self, 1, NULL, 0, &b), 0);
    rec_detach(reg, u);
    ck_assert_int_eq(dp_explain(ctx, &b, dp_ctx_arena(ctx), &x), DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "t::g") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
}
END_TEST

START_TEST(explain_without_memory)
{
    dp_value self = dp_tensor_value(tensor);
    int failures = 0;
    bool hit = true;
    dp_bound b;

    impl("cpu", 10, "CPU", kernel);
    impl("grad", 20, "AutogradCPU", kernel);
    char *before = rec_dump(reg);
    ck_assert_int_eq(dp_bind(ctx, "t::f", &self, 1, NULL, 0, &b), 0);
    for (uint64_t n = 1; hit; n++) {
        dp_arena *cold = dp_arena_new();
        dp_explanation x;
        dp_fault_arm(n);
        int rc = dp_explain(ctx, &b, cold, &x);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc, hit ? DP_ERESOURCE : 0);
        failures += hit;
        dp_arena_free(cold);
        rec_same(reg, strdup(before));
    }
    ck_assert_int_gt(failures, 0);
    free(before);
}
END_TEST

UNIT_SUITE(explain)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, straight_to_the_backend);
    tcase_add_test(tc, through_autograd);
    tcase_add_test(tc, composite_at_autograd);
    tcase_add_test(tc, fallthrough_kernels_and_excluded_keys);
    tcase_add_test(tc, fallbacks);
    tcase_add_test(tc, fallback_of_every_backend);
    tcase_add_test(tc, nothing_serves_it);
    tcase_add_test(tc, no_tensor_argument);
    tcase_add_loop_test(tc, the_first_step_is_what_a_call_takes, 0, 64);
    tcase_add_test(tc, gone_since_it_was_bound);
    tcase_add_test(tc, explain_without_memory);
}
