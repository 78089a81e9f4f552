/* test_call.c -- calls, redispatch, guards, limits, drains: the machinery of dispatch/call.c. */
#include "base/base.h"
#include "dispatch/records.h"
#include <dispatchd/dispatch.h>
#include <dispatchd/typed.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;
static dp_tensor *a, *b;
static dp_unit *schemas;
static atomic_int entered, may_leave, kernel_runs;

/* -- kernels -- */

static int first_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    (void)c, (void)y;
    atomic_fetch_add(&kernel_runs, 1);
    *out = dp_tensor_ref(x);
    return 0;
}
static int first(dp_call *call)
{
    atomic_fetch_add(&kernel_runs, 1);
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}
static int second(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[1].u.t));
    return 0;
}
static int below(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}
static int again(dp_call *call)
{
    return dp_call_boxed(call->ctx, call->op, call->args, call->n_args, call->rets, call->n_rets);
}
static int nothing(dp_call *call)
{
    (void)call;
    return 0;
}
static int returns_int(dp_call *call)
{
    call->rets[0] = dp_int(1);
    return 0;
}
static int returns_seven(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 7;
}
static int waits(dp_call *call)
{
    atomic_store(&entered, 1);
    while (atomic_load(&may_leave) == 0)
        usleep(200);
    return first(call);
}
static int invokes(dp_call *call)
{
    dp_tensor *out = NULL;
    dp_value rets[1];
    const dp_op *op = dp_op_find(call->ctx, "t::first");
    int rc = op ? dp_call_boxed(call->ctx, op, call->args, 2, rets, 1) : DP_ENOTFOUND;
    if (rc == 0)
        out = rets[0].u.t;
    call->rets[0] = dp_tensor_value(out);
    return rc;
}

static const dp_item defs[] = {
    REC_DEF("first(Tensor a, Tensor b) -> Tensor"),
    REC_DEF("many(Tensor[] x, int n=3, *, float? f=None) -> (Tensor, int)"),
};
static const dp_block def_block = REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", defs);

static dp_unit *attach_as(const char *name, const char *key, dp_boxed_fn boxed, dp_any_fn unboxed,
                          uint16_t flags)
{
    dp_item item = REC_IMPL_UNBOXED("first", boxed, unboxed, unboxed ? "TT>T" : "", flags);
    dp_item items[1] = {item};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", key, items);
    dp_unit *unit = NULL;

    dp_registry_attach(reg, name, "1", &block, 1, &unit, &err);
    return unit;
}

static void detach(dp_unit *u)
{
    int rc = dp_registry_detach(reg, u, 1000, &err);
    ck_assert_msg(rc == 0, "detach: %d %s", rc, err.message);
}

static int call(dp_value *ret)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)};
    const dp_op *op = dp_op_find(ctx, "t::first");
    return op ? dp_call_boxed(ctx, op, args, 2, ret, 1) : DP_ENOTFOUND;
}

static void expect_fail(int code, const char *text)
{
    dp_value ret;
    int rc = call(&ret);
    ck_assert_int_eq(rc, code);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, text) != NULL, "'%s' not in '%s'", text,
                  dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
}

static void expect_tensor(const dp_tensor *want)
{
    dp_value ret;
    int rc = call(&ret);
    ck_assert_msg(rc == 0, "%d: %s", rc, dp_ctx_error(ctx)->message);
    ck_assert_ptr_eq(ret.u.t, want);
    dp_values_release(&ret, 1);
}

static void setup(void)
{
    int64_t sizes[1] = {3};

    atomic_store(&entered, 0);
    atomic_store(&may_leave, 0);
    atomic_store(&kernel_runs, 0);
    ck_assert_int_eq(dp_registry_new(&reg, &err), 0);
    ck_assert_msg(dp_registry_attach(reg, "schemas", "1", &def_block, 1, &schemas, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &a, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, sizes, NULL, &b, &err), 0);
}

static void teardown(void)
{
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    ctx = dp_ctx_free(ctx);
    reg = dp_registry_free(reg);
}

DP_TYPED(typed_first, (T, T), (T))

START_TEST(call_reaches_a_kernel_boxed_and_typed)
{
    dp_typed t;
    dp_tensor *out = NULL;

    attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
    expect_tensor(a);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
    ck_assert_ptr_eq(out, a);
    dp_tensor_unref(out);
    ck_assert_int_eq(atomic_load(&kernel_runs), 2);
}
END_TEST

/* The short way through dp_enter() and the long one, which timing asks for, are one. */
START_TEST(call_typed_is_the_same_with_and_without_timing)
{
    dp_keyset none = {0, 0}, autograd = {DP_AUTOGRAD_BITS, 0};
    dp_registry_stats before, after;
    dp_typed t;

    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    for (int i = 0; i < 2; i++) {
        dp_tensor *out = NULL;
        dp_ctx_timing(ctx, i == 1);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTIMPL);
        dp_unit *cpu = attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
        dp_unit *above = attach_as("auto", "AutogradCPU", below, NULL, 0);
        dp_registry_stats_get(reg, &before);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        ck_assert_ptr_eq(out, a);
        dp_tensor_unref(out);
        dp_registry_stats_get(reg, &after);
        ck_assert_uint_eq(after.calls - before.calls, 2);
        int g = dp_guard_enter(ctx, none, autograd);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        dp_tensor_unref(out);
        dp_guard_leave(ctx, g);
        dp_registry_stats_get(reg, &before);
        ck_assert_uint_eq(before.calls - after.calls, 1);
        if (i == 1) {
            ck_assert_uint_eq(dp_ctx_facts(ctx).n_calls, 1);
            ck_assert_uint_ne(dp_ctx_facts(ctx).kernel_id, 0);
        }
        detach(above);
        detach(cpu);
    }
}
END_TEST

static char seen_label[32];

static int sees_label(dp_call *call)
{
    dp_running running[4];

    ck_assert_uint_eq(dp_registry_running(reg, running, 4), 1);
    memcpy(seen_label, running[0].label, sizeof(seen_label));
    ck_assert(seen_label[0] != '\0' || running[0].nanos == 0);
    return first(call);
}

/* A thread keeps the label that it published last; no call of another request shows it. */
START_TEST(call_shows_its_own_label)
{
    dp_ctx *labelled = NULL;
    dp_error e = DP_ERROR_INIT;
    dp_typed t;
    const struct {
        const char *set; /* NULL: as before */
        const char *seen;
    } rows[] = {{"session 12", "session 12"},
                {NULL, "session 12"},
                {"session 7", "session 7"},
                {"", ""},
                {NULL, ""},
                {"session 7", "session 7"}};

    attach_as("cpu", "CPU", sees_label, NULL, 0);
    ck_assert_int_eq(dp_ctx_new(reg, &labelled, &e), 0);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    for (size_t i = 0; i < DPI_COUNT(rows); i++) {
        dp_tensor *out = NULL;
        if (rows[i].set != NULL)
            dp_ctx_set_label(labelled, rows[i].set);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(typed_first(labelled, &t, a, b, &out), 0);
            dp_tensor_unref(out);
            ck_assert_str_eq(seen_label, rows[i].seen);
        }
        expect_tensor(a); /* of the context without one */
        ck_assert_str_eq(seen_label, "");
    }
    dp_ctx_free(labelled);
}
END_TEST

START_TEST(call_typed_boxes_for_a_boxed_kernel)
{
    dp_typed t;
    dp_tensor *out = NULL;

    attach_as("cpu", "CPU", second, NULL, 0);
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
    ck_assert_ptr_eq(out, b);
    dp_tensor_unref(out);
}
END_TEST

START_TEST(call_typed_mismatch_names_both_types)
{
    dp_typed t;
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", "Ti>T", &t), DP_ETYPE);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "TT>T"));
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "Ti>T"));
}
END_TEST

START_TEST(call_checks_arguments_before_a_kernel_runs)
{
    dp_value args[2] = {dp_tensor_value(a), dp_int(1)}, ret;
    const dp_op *op = dp_op_find(ctx, "t::first");

    attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 2, &ret, 1), DP_ETYPE);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "'b'") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 1, &ret, 1), DP_ETYPE);
    ck_assert_int_eq(atomic_load(&kernel_runs), 0);
}
END_TEST

static int invokes_gone(dp_call *call)
{
    return dp_call_boxed(call->ctx, dp_op_find(call->ctx, "gone::op"), call->args, 1, call->rets,
                         1);
}

/* The header's own idiom, dp_call_boxed(ctx, dp_op_find(ctx, name), ...), without a look between.
 */
START_TEST(call_of_an_operator_that_is_not_there_fails_by_name)
{
    const dp_keyset none = {0, 0};
    dp_value args[1] = {dp_tensor_value(a)}, ret = dp_int(1);
    dp_typed t;
    dp_tensor *out;
    dp_bound bound;
    dp_explanation x;

    attach_as("cpu", "CPU", invokes_gone, NULL, 0);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "gone::op"), args, 1, &ret, 1),
                     DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "gone::op") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
    ck_assert_int_eq(dp_redispatch_boxed(ctx, NULL, none, args, 1, &ret, 1), DP_ENOTFOUND);
    expect_fail(DP_ENOTFOUND, "gone::op");
    dp_ctx_reset(ctx); /* no error to hand on */
    ck_assert_int_eq(dp_call_boxed(ctx, NULL, args, 1, &ret, 1), DP_ENOTFOUND);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, "no operator") != NULL, "%s",
                  dp_ctx_error(ctx)->message);
    ck_assert_int_eq(dp_typed_init(ctx, "gone::op", DP_CODE((T, T), (T)), &t), DP_ENOTFOUND);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTFOUND);
    dp_ctx_reset(ctx);
    ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), DP_ENOTFOUND);
    ck_assert_int_eq(dp_bind(ctx, "gone::op", args, 1, NULL, 0, &bound), DP_ENOTFOUND);
    ck_assert_uint_eq(dp_bound_kernel(ctx, &bound), 0);
    ck_assert_int_eq(dp_explain(ctx, &bound, dp_ctx_arena(ctx), &x), DP_ENOTFOUND);
    ck_assert_str_eq(dp_op_name(NULL), "(no operator)");
}
END_TEST

START_TEST(call_without_arguments_or_results_where_some_are_counted_fails)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret = dp_int(1);

    attach_as("cpu", "CPU", first, NULL, 0);
    const dp_op *op = dp_op_find(ctx, "t::first");
    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(dp_call_boxed(ctx, op, NULL, 2, &ret, 1), DP_EVALUE);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "args is NULL for a count of 2");
    ck_assert_int_eq(dp_call_boxed(ctx, op, args, 2, NULL, 1), DP_EVALUE);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "rets is NULL for a count of 1");
}
END_TEST

START_TEST(call_without_a_kernel_names_the_keys)
{
    dp_unit *u = attach_as("cuda", "CUDA", first, NULL, 0);

    expect_fail(DP_ENOTIMPL, "CPU");
    expect_fail(DP_ENOTIMPL, "CUDA");
    ck_assert_str_eq(dp_ctx_error(ctx)->op, "t::first");
    ck_assert_str_eq(dp_ctx_error(ctx)->key, "CPU");
    detach(u);
}
END_TEST

START_TEST(call_newest_kernel_wins_and_removal_restores)
{
    dp_unit *one = attach_as("one", "CPU", first, NULL, 0),
            *two = attach_as("two", "CPU", second, NULL, 0);

    expect_tensor(b);
    detach(two);
    expect_tensor(a);
    two = attach_as("two", "CPU", second, NULL, 0);
    detach(one);
    expect_tensor(b);
    detach(two);
    expect_fail(DP_ENOTIMPL, "no kernel");
}
END_TEST

/* Kernels that ran since last asked. */
static uint64_t ran(void)
{
    static uint64_t before;
    dp_registry_stats now;

    dp_registry_stats_get(reg, &now);
    uint64_t n = now.calls - before;
    before = now.calls;
    return n;
}

START_TEST(call_redispatches_below_and_honours_guards)
{
    dp_keyset none = {0, 0}, autograd = {DP_AUTOGRAD_BITS, 0};

    attach_as("cpu", "CPU", first, NULL, 0);
    attach_as("auto", "AutogradCPU", below, NULL, 0);
    ran();
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 2);
    ck_assert_uint_eq(dp_ctx_facts(ctx).n_calls, 1); /* a layer does not make it another call */
    int g = dp_guard_enter(ctx, none, autograd);
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 1);
    dp_guard_leave(ctx, g);
    expect_tensor(a);
    ck_assert_uint_eq(ran(), 2);
}
END_TEST

/* As PyTorch has it for the layers that no plugin brings. */
START_TEST(call_passes_modes_over_that_nobody_serves)
{
    static const int modes[] = {DP_F_Tracer, DP_F_FuncTorchVmapMode, DP_F_VmapMode,
                                DP_F_AutocastCPU};
    dp_keyset none = {0, 0}, mode = {0, 0};

    attach_as("cpu", "CPU", first, NULL, 0);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        mode.functionality = DP_FBIT(modes[i]);
        int g = dp_guard_enter(ctx, mode, none);
        expect_tensor(a);
        dp_guard_leave(ctx, g);
    }
    mode.functionality = DP_FBIT(DP_F_FuncTorchGradWrapper);
    dp_guard_enter(ctx, mode, none);
    expect_fail(DP_ENOTIMPL, "FuncTorchGradWrapper");
}
END_TEST

START_TEST(call_skips_fallthrough_kernels)
{
    dp_ctx_set_label(ctx, "session 12");
    attach_as("cpu", "CPU", second, NULL, 0);
    attach_as("skip", "AutogradCPU", NULL, NULL, DP_FLAG_FALLTHROUGH);
    expect_tensor(b);
    ck_assert_uint_eq(dp_ctx_facts(ctx).n_calls, 1);
}
END_TEST

START_TEST(call_recursion_has_a_limit)
{
    attach_as("cpu", "CPU", again, NULL, 0);
    expect_fail(DP_ERUNTIME, "recursion");
    attach_as("cpu2", "CPU", first, NULL, 0);
    expect_tensor(a);
}
END_TEST

START_TEST(call_refuses_what_a_kernel_must_not_return)
{
    attach_as("k1", "CPU", nothing, NULL, 0);
    expect_fail(DP_EPLUGIN, "nothing for return 1 of 1");
    attach_as("k2", "CPU", returns_int, NULL, 0);
    expect_fail(DP_EPLUGIN, "int");
    attach_as("k3", "CPU", returns_seven, NULL, 0);
    expect_fail(DP_EPLUGIN, "returned 7");
}
END_TEST

START_TEST(call_wrong_c_type_is_refused_at_attach)
{
    dp_item items[1] = {REC_IMPL_UNBOXED("first", first, first_unboxed, "Ti>T", 0)};
    dp_block block = REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", items);
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &block, 1, &u, &err), DP_ETYPE);
    ck_assert_msg(strstr(err.message, "Ti>T") && strstr(err.message, "TT>T"), "%s", err.message);
}
END_TEST

START_TEST(call_reserved_letters_are_refused_by_name)
{
    static const struct {
        const char *schema, *want;
    } cases[] = {
        {"r(Tensor a, Storage source) -> Tensor",
         "argument 'source' is Storage, for which letters"},
        {"r(Stream? s) -> Tensor", "argument 's' is Stream?, for which letters are reserved"},
        {"r(Tensor a, complex[] z) -> Tensor", "argument 'z' is complex[], for which letters"},
        {"r(Tensor?[]? xs) -> Tensor", "argument 'xs' is Tensor?[]?, for which letters"},
        {"r(Tensor a) -> (Tensor, Stream)", "return 2 is Stream, for which letters are reserved"},
        {"r(Tensor a, QScheme q) -> Tensor", "argument 'q' is QScheme; its kernels are boxed"},
        {"r(Tensor a, ...) -> Tensor", "'...' stands for any number"},
    };

    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_item items[2] = {REC_DEF(cases[i].schema),
                            REC_IMPL_UNBOXED("r", first, first_unboxed, "TT>T", 0)};
        dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
        dp_unit *u = NULL;

        ck_assert_int_eq(dp_registry_attach(reg, "bad", "1", &block, 1, &u, &err), DP_ETYPE);
        ck_assert_msg(strstr(err.message, cases[i].want) != NULL, "%s", err.message);
    }
}
END_TEST

START_TEST(call_inside_a_call_sees_the_same_snapshot)
{
    attach_as("cpu", "CPU", first, NULL, 0);
    dp_item items[2] = {REC_DEF("outer(Tensor a, Tensor b) -> Tensor"), REC_IMPL("outer", invokes)};
    dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_unit *u = NULL;

    ck_assert_msg(dp_registry_attach(reg, "outer", "1", &block, 1, &u, &err) == 0, "%s",
                  err.message);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0);
    int rc = dp_call_boxed(ctx, dp_op_find(ctx, "t::outer"), args, 2, &ret, 1);
    ck_assert_msg(rc == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_ptr_eq(ret.u.t, a);
    dp_values_release(&ret, 1);
    size_t n;
    bool cut;
    const dp_trace_step *s = dp_ctx_trace_get(ctx, &n, &cut);
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(s[0].provenance, "math kernel");
    ck_assert_str_eq(s[1].provenance, "kernel");
    ck_assert_uint_eq(s[1].depth, 1);
    detach(u);
}
END_TEST

/* -- what kernels take -- */

/* Takes a little and a lot, and returns its argument. */
static int takes(dp_call *call)
{
    static const size_t bytes[] = {100, 100000, 3000};

    for (int i = 0; i < 3; i++) {
        char *p = dp_alloc(call->ctx, bytes[i]);
        if (p == NULL)
            return DP_ERESOURCE;
        memset(p, 0xee, bytes[i]);
    }
    return first(call);
}

static int takes_unboxed(dp_ctx *c, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    char *p = dp_alloc(c, 50000);

    (void)y;
    if (p == NULL)
        return DP_ERESOURCE;
    memset(p, 0xee, 50000);
    *out = dp_tensor_ref(x);
    return 0;
}

static dp_value text(const char *s)
{
    dp_value v = {DP_TAG_STR, (uint32_t)strlen(s), {0}};
    v.u.s = s;
    return v;
}

/* Everything that can point somewhere: into the kernel's own code, its scratch and its arguments.
 */
static int returns_memory(dp_call *call)
{
    static const char code[] = "in the code";
    int64_t n = call->args[1].u.i;
    double *z = dp_alloc(call->ctx, 2 * sizeof(*z));
    int64_t *ints = dp_alloc(call->ctx, (size_t)n * sizeof(*ints));
    dp_tensor **list = dp_alloc(call->ctx, 2 * sizeof(*list));
    dp_value *words = dp_alloc(call->ctx, 2 * sizeof(*words));
    char *number = dp_alloc(call->ctx, 32), *noise = dp_alloc(call->ctx, 40000);

    if (!z || !ints || !list || !words || !number || !noise)
        return DP_ERESOURCE;
    memset(noise, 0xee, 40000);
    z[0] = 1, z[1] = 2;
    for (int64_t i = 0; i < n; i++)
        ints[i] = n * i;
    list[0] = list[1] = dp_tensor_ref(dp_tensor_ref(call->args[0].u.t));
    snprintf(number, 32, "number %lld", (long long)n);
    words[0] = text(code);
    words[1] = text(number);
    call->rets[0] = text(code);
    call->rets[1] = (dp_value){DP_TAG_LIST, 2, {.values = words}};
    call->rets[2] = dp_ints(ints, (size_t)n);
    call->rets[3] = dp_tensors(list, 2);
    call->rets[4] = (dp_value){DP_TAG_COMPLEX, 0, {.doubles = z}};
    return 0;
}

static void expect_memory(const dp_value *rets, int64_t n)
{
    char number[32];

    snprintf(number, sizeof(number), "number %lld", (long long)n);
    ck_assert_str_eq(rets[0].u.s, "in the code");
    ck_assert_str_eq(rets[1].u.values[0].u.s, "in the code");
    ck_assert_str_eq(rets[1].u.values[1].u.s, number);
    ck_assert_uint_eq(rets[2].len, (uint32_t)n);
    ck_assert_ptr_nonnull(rets[2].u.ints); /* NULL would be None */
    for (int64_t i = 0; i < n; i++)
        unit_each(rets[2].u.ints[i] == n * i, "%lld: %lld", (long long)i,
                  (long long)rets[2].u.ints[i]);
    ck_assert_ptr_eq(rets[3].u.tensors[0], a);
    ck_assert_ptr_eq(rets[3].u.tensors[1], a);
    ck_assert(rets[4].u.doubles[0] == 1 && rets[4].u.doubles[1] == 2);
}

static const dp_item memory_items[] = {
    REC_DEF("memory(Tensor x, int n) -> (str, str[], int[], Tensor[], complex)"),
    REC_IMPL("memory", returns_memory),
    REC_DEF("takes(Tensor a, Tensor b) -> Tensor"),
    REC_IMPL_UNBOXED("takes", takes, takes_unboxed, "TT>T", 0),
};
static const dp_block memory_block = REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", "", memory_items);

/* Whether the request's memory is where it was after so many nested calls. */
static int nested_calls(dp_call *call)
{
    enum { CALLS = 200 };
    const dp_op *op = dp_op_find(call->ctx, "t::takes");
    dp_arena *arena = dp_ctx_arena(call->ctx);
    const char *at;
    dp_typed typed;
    dp_value ret;
    dp_tensor *out;
    int moved = 0, rc = dp_typed_init(call->ctx, "t::takes", "TT>T", &typed);

    for (int i = 0; i <= CALLS && rc == 0; i++) { /* the first may leave a block */
        at = arena->at;
        rc = dp_call_boxed(call->ctx, op, call->args, 2, &ret, 1);
        dp_values_release(&ret, 1);
        if (rc == 0 && (rc = typed_first(call->ctx, &typed, a, b, &out)) == 0)
            dp_tensor_unref(out);
        moved += i > 0 && arena->at != at;
    }
    call->rets[0] = dp_tensor_value(dp_tensor_ref(moved == 0 ? a : b));
    return rc;
}

START_TEST(call_gives_back_what_nested_kernels_took)
{
    dp_unit *u = NULL;

    ck_assert_msg(dp_registry_attach(reg, "m", "1", &memory_block, 1, &u, &err) == 0, "%s",
                  err.message);
    attach_as("cpu", "CPU", nested_calls, NULL, 0);
    expect_tensor(a);
    ck_assert_int_eq(dp_ctx_trace(ctx, true), 0); /* steps live on */
    expect_tensor(a);
    size_t n;
    bool cut;
    const dp_trace_step *s = dp_ctx_trace_get(ctx, &n, &cut);
    for (size_t i = 1; i < n; i++)
        unit_each(strcmp(s[i].from.plugin, "m") == 0, "step %zu: %s", i, s[i].from.plugin);
    ck_assert_uint_eq(n, 403);
}
END_TEST

/* Results of the first nested call, after others have used the memory that it left. */
static int nested_results(dp_call *call)
{
    const dp_op *op = dp_op_find(call->ctx, "t::memory");
    dp_value args[2] = {call->args[0]}, rets[3][5];
    int rc = 0, made = 0;

    for (; made < 3 && rc == 0; made += rc == 0) {
        args[1] = dp_int(made * 1000);
        rc = dp_call_boxed(call->ctx, op, args, 2, rets[made], 5);
    }
    for (int i = 0; i < made; i++) {
        expect_memory(rets[i], i * 1000);
        dp_values_release(rets[i], 5);
    }
    if (rc == 0)
        call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return rc;
}

START_TEST(call_results_outlive_what_their_kernels_took)
{
    dp_value args[2] = {dp_tensor_value(a), dp_int(7)}, rets[5];
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_attach(reg, "m", "1", &memory_block, 1, &u, &err), 0);
    attach_as("cpu", "CPU", nested_results, NULL, 0);
    expect_tensor(a);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::memory"), args, 2, rets, 5), 0);
    detach(u);
    expect_memory(rets, 7);
    dp_values_release(rets, 5);
}
END_TEST

START_TEST(call_results_without_memory)
{
    dp_unit *u = NULL;
    dp_value ret;
    bool hit = true;

    ck_assert_int_eq(dp_registry_attach(reg, "m", "1", &memory_block, 1, &u, &err), 0);
    attach_as("cpu", "CPU", nested_results, NULL, 0);
    for (uint64_t n = 1; hit; n++) {
        dp_fault_arm(n);
        int rc = call(&ret);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || (hit && dp_ctx_error(ctx)->code == DP_ERESOURCE), "%llu: %d %s",
                      (unsigned long long)n, rc, dp_ctx_error(ctx)->message);
        dp_values_release(&ret, 1);
        dp_ctx_reset(ctx);
    }
}
END_TEST

static int lists_nothing(dp_call *call)
{
    dp_tensor **list = dp_alloc(call->ctx, sizeof(*list));

    *list = NULL;
    call->rets[0] = call->args[0].u.i == 0   ? (dp_value){DP_TAG_STR, 0, {0}}
                    : call->args[0].u.i == 1 ? text("fine")
                                             : dp_int(1);
    call->rets[1] = dp_tensors(call->args[0].u.i == 2 ? NULL : list, 1);
    return 0;
}

/* What lies behind a return is looked at before anybody else relies on it. */
START_TEST(call_refuses_returns_that_point_nowhere)
{
    static const dp_item items[] = {
        REC_DEF("none(int n) -> (Scalar, Tensor[])"),
        REC_IMPL("none", lists_nothing),
        REC_DEF("word(int n) -> (str, Tensor?[])"),
        REC_IMPL("word", lists_nothing),
    };
    static const dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "t", "", items);
    static const struct {
        const char *op;
        int64_t n;
        const char *says;
    } cases[] = {
        {"t::word", 0, "nothing for return 1 of 2, which is str"},
        {"t::word", 1, NULL},
        {"t::none", 2, "nothing for return 2 of 2, which is Tensor[]"},
        {"t::none", 3, "for return 2 of 2, which is Tensor[]"},
    };
    dp_unit *u = NULL;

    ck_assert_msg(dp_registry_attach(reg, "n", "1", &block, 1, &u, &err) == 0, "%s", err.message);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dp_value n = dp_int(cases[i].n), rets[2];
        int rc = dp_call_boxed(ctx, dp_op_find(ctx, cases[i].op), &n, 1, rets, 2);
        ck_assert_int_eq(rc, cases[i].says ? DP_EPLUGIN : 0);
        ck_assert_msg(rc == 0 || strstr(dp_ctx_error(ctx)->message, cases[i].says) != NULL,
                      "'%s' not in '%s'", cases[i].says, dp_ctx_error(ctx)->message);
        dp_values_release(rets, 2);
    }
}
END_TEST

static void *call_in_thread(void *arg)
{
    dp_ctx *c = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_error e = DP_ERROR_INIT;

    (void)arg;
    if (dp_ctx_new(reg, &c, &e) < 0)
        return NULL;
    dp_ctx_set_label(c, "session 12");
    int rc = dp_call_boxed(c, dp_op_find(c, "t::first"), args, 2, &ret, 1);
    if (rc == 0)
        dp_values_release(&ret, 1);
    dp_ctx_free(c);
    return (void *)(intptr_t)(rc == 0);
}

static int begins(dp_call *call)
{
    int rc = dp_ctx_begin(call->ctx);
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return rc;
}

START_TEST(call_holds_its_snapshot_alone)
{
    attach_as("cpu", "CPU", begins, NULL, 0);
    expect_fail(DP_ERUNTIME, "inside a call");
    ck_assert_int_eq(dp_ctx_begin(ctx), 0); /* a program's calls may: it nests */
    ck_assert_int_eq(dp_ctx_begin(ctx), 0);
    dp_ctx_end(ctx);
    dp_ctx_end(ctx);
    dp_ctx_end(ctx); /* one too many */
    expect_fail(DP_ERUNTIME, "inside a call");
}
END_TEST

static void *begin_and_leave(void *c)
{
    return (void *)(intptr_t)(dp_ctx_begin(c) == 0 && dp_ctx_begin(c) == 0);
}

static void *call_once(void *c)
{
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    int rc = dp_call_boxed(c, dp_op_find(c, "t::first"), args, 2, &ret, 1);

    if (rc == 0)
        dp_values_release(&ret, 1);
    return (void *)(intptr_t)(rc == 0);
}

static void on_a_thread(void *(*work)(void *), dp_ctx *c)
{
    pthread_t thread;
    void *ok = NULL;

    ck_assert_int_eq(pthread_create(&thread, NULL, work, c), 0);
    pthread_join(thread, &ok);
    ck_assert_msg(ok != NULL, "%s", dp_ctx_error(c)->message);
}

/* A thread ends with a snapshot that it began to hold: neither the next one with its record nor the
 * registry sees any of it, and the context is as before. */
START_TEST(call_context_lets_go_when_its_thread_ends)
{
    dp_registry *reg2 = rec_registry();
    dp_ctx *ctx2 = NULL, *begun = NULL;
    dp_unit *u = attach_as("cpu", "CPU", first, NULL, 0);

    ck_assert_int_eq(dp_ctx_new(reg2, &ctx2, &err), 0);
    ck_assert_int_eq(dp_ctx_new(reg2, &begun, &err), 0);
    on_a_thread(begin_and_leave, begun);
    on_a_thread(call_once, ctx); /* of another registry, with the same record */
    ck_assert_int_eq(dp_ctx_begin(begun), 0);
    dp_ctx_end(begun);
    dp_ctx_end(begun);
    on_a_thread(begin_and_leave, ctx);
    detach(u); /* nobody holds the snapshot it was in */
    u = attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_ptr_nonnull(call_once(ctx));
    detach(u);
    dp_ctx_free(begun);
    dp_ctx_free(ctx2);
    dp_registry_free(reg2);
}
END_TEST

static int fails(dp_call *call)
{
    (void)call;
    return dp_fail(call->ctx, DP_ERUNTIME, "it fails");
}

START_TEST(call_that_fails_has_written_what_it_was_to_write)
{
    static const dp_item writer[] = {
        REC_DEF("w(Tensor x, Tensor(a!) y, Tensor(b!)[] l, Tensor(c!)? n) -> ()")};
    static const dp_item failing[] = {REC_IMPL("w", fails)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", writer),
                                      REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", failing)};
    dp_unit *u = NULL;
    dp_tensor *c = NULL, *list[1];
    int64_t one = 1;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &one, NULL, &c, &err), 0);
    list[0] = c;
    ck_assert_msg(dp_registry_attach(reg, "w", "1", blocks, 2, &u, &err) == 0, "%s", err.message);
    dp_value args[4] = {dp_tensor_value(a), dp_tensor_value(b), {DP_TAG_TENSORS, 1, {0}}, {0}};
    args[2].u.tensors = list;
    uint64_t before[] = {dp_tensor_version(a), dp_tensor_version(b), dp_tensor_version(c)};
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::w"), args, 4, NULL, 0), DP_ERUNTIME);
    ck_assert_uint_eq(dp_ctx_error(ctx)->written, 0x6); /* None is not damaged */
    ck_assert_uint_eq(dp_tensor_version(a), before[0]);
    ck_assert_uint_eq(dp_tensor_version(b), before[1] + 1);
    ck_assert_uint_eq(dp_tensor_version(c), before[2] + 1);
    dp_tensor_unref(c);
    detach(u);
}
END_TEST

static int writes_boxed(dp_call *call)
{
    call->rets[1] = dp_int(7);
    return 0;
}
static int writes_unboxed(dp_ctx *c, dp_tensor *y, int64_t *n)
{
    (void)c, (void)y;
    *n = 8;
    return 0;
}
/* As a plugin's thunk: into the first of the slots that its C type has. */
static int writes_thunk(dp_call *call)
{
    call->rets[0] = dp_int(0);
    return writes_unboxed(call->ctx, call->args[0].u.t, &call->rets[0].u.i);
}
DP_TYPED(typed_writes, (T), (i))

static int returns_its_stack(dp_call *call)
{
    int64_t sizes[4] = {1, 2, 3, 4};
    const int64_t *p = sizes;

    __asm__("" : "+r"(p) : : "memory"); /* the compiler would see it */
    call->rets[0] = (dp_value){DP_TAG_INTS, 4, {0}};
    call->rets[0].u.ints = p;
    return 0;
}

START_TEST(call_refuses_a_list_in_a_frame_that_was_left)
{
    static const dp_item def[] = {REC_DEF("list(Tensor x) -> int[]")};
    static const dp_item impl[] = {REC_IMPL("list", returns_its_stack)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", def),
                                      REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", impl)};
    dp_value arg = dp_tensor_value(a), ret;
    dp_unit *u = NULL;

    ck_assert_msg(dp_registry_attach(reg, "l", "1", blocks, 2, &u, &err) == 0, "%s", err.message);
    ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::list"), &arg, 1, &ret, 1), DP_EPLUGIN);
    ck_assert_ptr_nonnull(strstr(dp_ctx_error(ctx)->message, "points to its own stack"));
    ck_assert_uint_eq(ret.tag, DP_TAG_NONE);
    detach(u);
}
END_TEST

/* `first` of this registry has the number that `other` has of another one. */
START_TEST(call_refuses_another_registrys_operator)
{
    static const dp_item def[] = {REC_DEF("other(Tensor a, Tensor b) -> Tensor")};
    static const dp_item impl[] = {REC_IMPL("other", second)};
    static const dp_block blocks[] = {REC_BLOCK(DP_BLOCK_LIBRARY, __LINE__, "t", "", def),
                                      REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", impl)};
    dp_registry *reg2 = rec_registry();
    dp_unit *u2 = rec_attach(reg2, "two", blocks, 2);
    dp_unit *u = attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
    dp_ctx *ctx2 = NULL;
    dp_typed t, t2;
    dp_tensor *out = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;

    ck_assert_int_eq(dp_ctx_new(reg2, &ctx2, &err), 0);
    const dp_op *op = dp_op_find(ctx, "t::first"), *op2 = dp_op_find(ctx2, "t::other");
    ck_assert_uint_eq(op->id, op2->id);
    ck_assert_int_eq(dp_call_boxed(ctx2, op, args, 2, &ret, 1), DP_ENOTFOUND);
    ck_assert_ptr_nonnull(
        strstr(dp_ctx_error(ctx2)->message, "t::first: its handle is of another"));
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", "TT>T", &t), 0);
    ck_assert_int_eq(dp_typed_init(ctx2, "t::other", "TT>T", &t2), 0);
    for (int i = 0; i < 2; i++) { /* the second time it has been resolved before */
        ck_assert_int_eq(typed_first(ctx2, &t2, a, b, &out), 0);
        dp_tensor_unref(out);
        ck_assert_int_eq(typed_first(ctx2, &t, a, b, &out), DP_ENOTFOUND);
        ck_assert_int_eq(typed_first(ctx, &t, a, b, &out), 0);
        dp_tensor_unref(out);
    }
    detach(u);
    rec_detach(reg2, u2);
    dp_ctx_free(ctx2);
    dp_registry_free(reg2);
}
END_TEST

START_TEST(null_where_it_is_forbidden_is_an_error)
{
    dp_arena *arena = dp_arena_new();
    dp_plugin_report report;
    const char *text;

    ck_assert_int_eq(dp_plugin_load(reg, "/x.so", NULL, NULL, &report, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_load: a is NULL");
    ck_assert_int_eq(dp_plugin_load(reg, "/x.so", NULL, arena, NULL, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_load: report is NULL");
    ck_assert_int_eq(dp_plugin_unload(reg, NULL, 0, false, NULL, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "dp_plugin_unload: name is NULL");
    ck_assert_int_eq(dp_registry_dump(reg, NULL, &text, &err), DP_EVALUE);
    ck_assert_int_eq(dp_ctx_new(reg, NULL, &err), DP_EVALUE);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, 0, 0, NULL, NULL, NULL, &err), DP_EVALUE);
    ck_assert_int_eq(dp_empty_like(ctx, NULL, DP_DTYPE_NONE, DP_PRESERVE, NULL), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_empty_like: t is NULL");
    ck_assert_int_eq(dp_typed_init(ctx, "t::first", NULL, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_invoke(ctx, NULL, "T>"), DP_EPLUGIN);
    ck_assert_int_eq(dp_iter_build(ctx, NULL, NULL), DP_EPLUGIN);
    dp_arena_free(arena);
}
END_TEST

START_TEST(null_for_a_stream_or_an_event_is_an_error)
{
    dp_tensor *x = dp_tensor_ref(a);
    dp_stream *s = NULL;
    dp_event *e = NULL;
    double ms;

    ck_assert_int_eq(dp_stream_current(ctx, DP_DEVICE_CPU, &s), 0);
    ck_assert_int_eq(dp_event_new(ctx, DP_DEVICE_CPU, &e), 0);
    ck_assert_int_eq(dp_event_elapsed(ctx, e, NULL, &ms), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_event_elapsed: end is NULL");
    ck_assert_int_eq(dp_event_elapsed(ctx, NULL, e, &ms), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_elapsed(ctx, e, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_new(ctx, DP_DEVICE_CPU, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_record(ctx, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_record(ctx, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_wait(ctx, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_wait(ctx, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_query(ctx, NULL, &(bool){0}), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_query(ctx, e, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_event_synchronize(ctx, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_new(ctx, DP_DEVICE_CPU, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_current(ctx, DP_DEVICE_CPU, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_set_current(ctx, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_query(ctx, NULL, &(bool){0}), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_query(ctx, s, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_stream_synchronize(ctx, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_copy_async(ctx, x, x, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_copy_async(ctx, x, NULL, s), DP_EPLUGIN);
    ck_assert_int_eq(dp_fill_bytes(ctx, x, 0, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_record_stream(ctx, x, NULL), DP_EPLUGIN);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_record_stream: s is NULL");
    ck_assert_int_eq(dp_device_memory(ctx, DP_DEVICE_CPU, NULL, NULL), DP_EPLUGIN);
    ck_assert_int_eq(dp_empty_pinned(ctx, DP_INT8, DP_DEVICE_CPU, 0, NULL, NULL), DP_EPLUGIN);
    ck_assert_ptr_null(dp_stream_ref(NULL));
    ck_assert_ptr_null(dp_event_ref(NULL));
    ck_assert_ptr_null(dp_stream_handle(NULL));
    ck_assert_int_eq(dp_stream_device(NULL), DP_DEVICE_CPU);
    dp_stream_unref(s);
    dp_event_unref(e);
    dp_tensor_unref(x);
}
END_TEST

static void no_range(int64_t begin, int64_t end, void *user)
{
    (void)begin, (void)end, (void)user;
}

/* What a kernel's author may leave out by mistake. */
START_TEST(null_from_a_kernel_is_an_error)
{
    static const int64_t sizes[1] = {2};
    dp_tensor *out = NULL;
    uint64_t id;
    dp_value v = dp_int(1);
#define REFUSED(call, text)                                                                        \
    do {                                                                                           \
        ck_assert_int_eq(call, DP_EPLUGIN);                                                        \
        ck_assert_str_eq(dp_ctx_error(ctx)->message, text);                                        \
    } while (0)

    REFUSED(dp_empty(ctx, DP_FLOAT32, 0, 1, NULL, DP_CONTIGUOUS, &out), "dp_empty: sizes is NULL");
    REFUSED(dp_set_output(ctx, NULL, 1, sizes, NULL, DP_FLOAT32, 0), "dp_set_output: out is NULL");
    REFUSED(dp_set_output(ctx, &out, 1, NULL, NULL, DP_FLOAT32, 0), "dp_set_output: sizes is NULL");
    REFUSED(dp_parallel_for(ctx, 0, 1, 1, NULL, NULL), "dp_parallel_for: fn is NULL");
    REFUSED(dp_iter_run(ctx, NULL, NULL, NULL), "dp_iter_run: it is NULL");
    REFUSED(dp_thread_start(ctx, "t", NULL, NULL, &id), "dp_thread_start: fn is NULL");
    REFUSED(dp_value_keep(ctx, &v, NULL), "dp_value_keep: out is NULL");
    REFUSED(dp_op_facts_get(ctx, NULL, NULL), "dp_op_facts_get: out is NULL");
    REFUSED(dp_enter_with(ctx, NULL, (dp_keyset){0}, (dp_keyset){0}, NULL),
            "dp_enter_with: t is NULL");
    ck_assert_ptr_null(dp_op_find(ctx, NULL));
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "dp_op_find: name is NULL");
    ck_assert_int_eq(dp_key_find(ctx, NULL), DP_KEY_Undefined);
    dp_value_drop(NULL);
    ck_assert_int_eq(dp_parallel_for(ctx, INT64_MIN, INT64_MAX, 1, no_range, NULL), DP_EVALUE);
    ck_assert_int_eq(dp_fail(ctx, DP_ERUNTIME, NULL), DP_ERUNTIME);
#undef REFUSED
}
END_TEST

START_TEST(call_gives_written_arguments_itself)
{
    static const dp_item def[] = {REC_DEF("w(Tensor(a!) y) -> (Tensor(a!), int)")};
    static const dp_item boxed[] = {REC_IMPL("w", writes_boxed)};
    static const dp_item thunk[] = {REC_IMPL_UNBOXED("w", writes_thunk, writes_unboxed, "T>i", 0)};
    static const dp_block blocks[][2] = {{REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", def),
                                          REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", boxed)},
                                         {REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", def),
                                          REC_BLOCK(DP_BLOCK_IMPL, __LINE__, "t", "CPU", thunk)}};

    for (int i = 0; i < 2; i++) {
        dp_unit *u = NULL;
        dp_value arg = dp_tensor_value(a), rets[2];
        dp_typed t;
        int64_t n = 0;

        ck_assert_msg(dp_registry_attach(reg, "w", "1", blocks[i], 2, &u, &err) == 0, "%s",
                      err.message);
        ck_assert_int_eq(dp_call_boxed(ctx, dp_op_find(ctx, "t::w"), &arg, 1, rets, 2), 0);
        ck_assert_ptr_eq(rets[0].u.t, a);
        ck_assert_int_eq(rets[1].u.i, 7 + i);
        ck_assert_uint_eq(atomic_load(&a->refs), 2);
        dp_values_release(rets, 2);
        ck_assert_int_eq(dp_typed_init(ctx, "t::w", DP_CODE((T), (i)), &t), 0);
        ck_assert_int_eq(typed_writes(ctx, &t, a, &n), 0);
        ck_assert_int_eq(n, 7 + i);
        n = 0;
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>i", a, &n), 0);
        ck_assert_int_eq(n, 7 + i);
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>Ti", a, &n, &n), DP_ETYPE);
        ck_assert_int_eq(dp_invoke(ctx, "t::w", "T>T", a, &n), DP_ETYPE);
        ck_assert_str_eq(dp_ctx_error(ctx)->message,
                         "t::w returns the C types 'i', the caller's 'T>T' says 'T'");
        ck_assert_int_eq(n, 7 + i);
        ck_assert_uint_eq(atomic_load(&a->refs), 1);
        detach(u);
    }
}
END_TEST

START_TEST(call_in_flight_keeps_its_unit)
{
    pthread_t thread;
    void *ok;
    dp_running running[4];
    dp_unit *u = attach_as("slow", "CPU", waits, NULL, 0);

    pthread_create(&thread, NULL, call_in_thread, NULL);
    while (atomic_load(&entered) == 0)
        usleep(200);
    ck_assert_uint_eq(dp_registry_running(reg, running, 4), 1);
    ck_assert_str_eq(running[0].label, "session 12");
    ck_assert_str_eq(running[0].op, "t::first");
    ck_assert_str_eq(running[0].plugin, "slow");
    ck_assert_int_eq(dp_registry_detach(reg, u, 20, &err), DP_EBUSY);
    ck_assert_msg(strstr(err.message, "session 12 in t::first") != NULL, "%s", err.message);
    atomic_store(&may_leave, 1);
    pthread_join(thread, &ok);
    ck_assert_ptr_nonnull(ok);
    expect_tensor(a); /* it is attached again */
    detach(u);
    expect_fail(DP_ENOTIMPL, "no kernel");
    ck_assert_str_eq(running[0].plugin, "slow"); /* what was answered outlives the unit */
}
END_TEST

static atomic_int stop;
static atomic_uint calls_ok, calls_failed;

static void *call_without_pause(void *arg)
{
    dp_ctx *c = NULL;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;
    dp_error e = DP_ERROR_INIT;

    (void)arg;
    if (dp_ctx_new(reg, &c, &e) < 0)
        return NULL;
    const dp_op *op = dp_op_find(c, "t::first");
    while (atomic_load(&stop) == 0) {
        if (dp_call_boxed(c, op, args, 2, &ret, 1) == 0) {
            dp_values_release(&ret, 1);
            atomic_fetch_add(&calls_ok, 1);
        } else {
            atomic_fetch_add(&calls_failed, 1);
        }
    }
    dp_ctx_free(c);
    return NULL;
}

START_TEST(call_never_fails_while_kernels_come_and_go)
{
    enum { THREADS = 2, ROUNDS = 300 };
    pthread_t thread[THREADS];

    atomic_store(&stop, 0);
    attach_as("base", "CPU", first, NULL, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, call_without_pause, NULL);
    while (atomic_load(&calls_ok) == 0 && atomic_load(&calls_failed) == 0)
        usleep(200);
    for (int i = 0; i < ROUNDS; i++) {
        dp_unit *u = attach_as("top", "CPU", second, NULL, 0);
        ck_assert_ptr_nonnull(u);
        detach(u);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    unsigned failed = atomic_load(&calls_failed);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

static int observed[2];
static void observer(dp_observation *o)
{
    observed[o->phase]++;
}

START_TEST(call_is_seen_by_observers)
{
    dp_block block = REC_PLAIN(DP_BLOCK_OBSERVER, 0, 1, "observer", "", observer);
    dp_unit *u = NULL;

    attach_as("cpu", "CPU", first, NULL, 0);
    attach_as("auto", "AutogradCPU", below, NULL, 0);
    ck_assert_int_eq(dp_registry_attach(reg, "obs", "1", &block, 1, &u, &err), 0);
    expect_tensor(a);
    ck_assert_int_eq(observed[0], 1);
    ck_assert_int_eq(observed[1], 1);
    detach(u);
    expect_tensor(a);
    ck_assert_int_eq(observed[0], 1);
}
END_TEST

static int listened_defs, listened_undefs, listened_changes;
static void on_def(void *arg, const char *op)
{
    (void)arg, (void)op;
    listened_defs++;
}
static void on_undef(void *arg, const char *op)
{
    (void)arg, (void)op;
    listened_undefs++;
}
static void on_change(void *arg, const char *plugin, uint64_t generation, uint32_t added,
                      uint32_t removed)
{
    (void)arg, (void)plugin, (void)generation, (void)added, (void)removed;
    listened_changes++;
}

START_TEST(registry_tells_its_listeners)
{
    dp_listener l = {on_def, on_undef, on_change, NULL};
    dp_item items[1] = {REC_DEF("extra() -> ()")};
    dp_block block = REC_BLOCK(DP_BLOCK_FRAGMENT, __LINE__, "t", "", items);
    dp_unit *u = NULL;

    ck_assert_int_eq(dp_registry_listen(reg, &l, &err), 0);
    ck_assert_int_eq(listened_defs, 2);
    ck_assert_int_eq(dp_registry_attach(reg, "extra", "1", &block, 1, &u, &err), 0);
    ck_assert_int_eq(listened_defs, 3);
    detach(u);
    ck_assert_int_eq(listened_undefs, 1);
    ck_assert_int_eq(listened_changes, 2);
    dp_registry_unlisten(reg, &l);
}
END_TEST

START_TEST(registry_forty_backends_at_once)
{
    enum { N = DP_B_NAMED_MAX };
    dp_unit *u[N + 1] = {NULL};
    char names[N + 1][16];
    dp_block block = REC_PLAIN(DP_BLOCK_BACKEND, 0, 1, NULL, "", NULL);

    attach_as("cpu", "CPU", first, NULL, 0);
    for (int i = 0; i <= N; i++) {
        snprintf(names[i], sizeof(names[i]), "dev%d", i);
        block.ns = names[i];
        int rc = dp_registry_attach(reg, names[i], "1", &block, 1, &u[i], &err);
        ck_assert_msg(rc == (i < N ? 0 : DP_ERESOURCE), "%d: %d %s", i, rc, err.message);
        expect_tensor(a);
    }
    dp_unit *last = attach_as("users", "dev39", second, NULL, 0);
    ck_assert_msg(last != NULL, "%s", err.message);
    ck_assert_int_eq(dp_registry_detach(reg, u[39], 0, &err), DP_EBUSY);
    detach(last);
    for (int i = 0; i < N; i++)
        detach(u[i]);
    ck_assert_uint_eq(dp_key_parse("dev39"), DP_KEY_Undefined);
    expect_tensor(a);
}
END_TEST

UNIT_SUITE(call)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_reaches_a_kernel_boxed_and_typed);
    tcase_add_test(tc, call_typed_is_the_same_with_and_without_timing);
    tcase_add_test(tc, call_shows_its_own_label);
    tcase_add_test(tc, call_typed_boxes_for_a_boxed_kernel);
    tcase_add_test(tc, call_typed_mismatch_names_both_types);
    tcase_add_test(tc, call_checks_arguments_before_a_kernel_runs);
    tcase_add_test(tc, call_of_an_operator_that_is_not_there_fails_by_name);
    tcase_add_test(tc, call_without_arguments_or_results_where_some_are_counted_fails);
    tcase_add_test(tc, call_without_a_kernel_names_the_keys);
    tcase_add_test(tc, call_newest_kernel_wins_and_removal_restores);
    tcase_add_test(tc, call_redispatches_below_and_honours_guards);
    tcase_add_test(tc, call_passes_modes_over_that_nobody_serves);
    tcase_add_test(tc, call_skips_fallthrough_kernels);
    tcase_add_test(tc, call_recursion_has_a_limit);
    tcase_add_test(tc, call_refuses_what_a_kernel_must_not_return);
    tcase_add_test(tc, call_wrong_c_type_is_refused_at_attach);
    tcase_add_test(tc, call_reserved_letters_are_refused_by_name);
    tcase_add_test(tc, call_inside_a_call_sees_the_same_snapshot);
    tcase_add_test(tc, call_gives_back_what_nested_kernels_took);
    tcase_add_test(tc, call_results_outlive_what_their_kernels_took);
    tcase_add_test(tc, call_results_without_memory);
    tcase_add_test(tc, call_refuses_returns_that_point_nowhere);
    tcase_add_test(tc, call_that_fails_has_written_what_it_was_to_write);
    tcase_add_test(tc, call_gives_written_arguments_itself);
    tcase_add_test(tc, call_refuses_a_list_in_a_frame_that_was_left);
    tcase_add_test(tc, call_refuses_another_registrys_operator);
    tcase_add_test(tc, null_where_it_is_forbidden_is_an_error);
    tcase_add_test(tc, null_for_a_stream_or_an_event_is_an_error);
    tcase_add_test(tc, null_from_a_kernel_is_an_error);
    tcase_add_test(tc, call_holds_its_snapshot_alone);
    tcase_add_test(tc, call_context_lets_go_when_its_thread_ends);
    tcase_add_test(tc, call_in_flight_keeps_its_unit);
    tcase_add_test(tc, call_never_fails_while_kernels_come_and_go);
    tcase_add_test(tc, call_is_seen_by_observers);
    tcase_add_test(tc, registry_tells_its_listeners);
    tcase_add_test(tc, registry_forty_backends_at_once);
}
