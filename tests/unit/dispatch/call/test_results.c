/* test_results.c -- what results point to: it outlives the kernel that made it. */
#include "../calls.h"

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

UNIT_SUITE(results)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_gives_back_what_nested_kernels_took);
    tcase_add_test(tc, call_results_outlive_what_their_kernels_took);
    tcase_add_test(tc, call_results_without_memory);
    tcase_add_test(tc, call_refuses_returns_that_point_nowhere);
    tcase_add_test(tc, call_refuses_a_list_in_a_frame_that_was_left);
}
