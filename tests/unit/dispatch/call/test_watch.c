/* test_watch.c -- who sees calls: observers. */
#include "../calls.h"

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

static dp_unit *observe(const char *of, dp_observer_fn fn)
{
    dp_block block = REC_PLAIN(DP_BLOCK_OBSERVER, 0, 1, "observer", of, fn);
    dp_unit *u = NULL;

    observed[0] = observed[1] = 0;
    dp_registry_attach(reg, "obs", "1", &block, 1, &u, &err);
    return u;
}

static void expect_observed(int calls)
{
    ck_assert_int_eq(observed[0], calls);
    ck_assert_int_eq(observed[1], calls);
}

START_TEST(observer_of_one_operator)
{
    attach_as("cpu", "CPU", first, NULL, 0);
    attach_as("auto", "AutogradCPU", below, NULL, 0);
    dp_unit *u = observe("t::first", observer);
    ck_assert_ptr_nonnull(u);
    expect_tensor(a);
    expect_observed(1); /* the redispatch to CPU is no other call */
    char *dump = rec_dump(reg);
    ck_assert_ptr_nonnull(strstr(dump, "observers:\n  obs t.c:1, of t::first\n"));
    free(dump);
    detach(u);
    u = observe("t::many", observer);
    expect_tensor(a);
    expect_observed(0);
    detach(u);
}
END_TEST

START_TEST(observer_of_one_key)
{
    attach_as("cpu", "CPU", first, NULL, 0);
    attach_as("auto", "AutogradCPU", below, NULL, 0);
    static const struct {
        const char *key;
        int calls;
    } keys[] = {{"CPU", 1}, {"AutogradCPU", 1}, {"Autograd", 1}, {"Meta", 0}};
    for (size_t i = 0; i < DPI_COUNT(keys); i++) {
        dp_unit *u = observe(keys[i].key, observer);
        ck_assert_msg(u != NULL, "%s: %s", keys[i].key, err.message);
        expect_tensor(a);
        expect_observed(keys[i].calls);
        detach(u);
    }
}
END_TEST

START_TEST(observer_of_what_is_not_there)
{
    dp_unit *u = observe("t::later", observer); /* defined by a plugin that is loaded later */

    attach_as("cpu", "CPU", first, NULL, 0);
    ck_assert_ptr_nonnull(u);
    expect_tensor(a);
    expect_observed(0);
    ck_assert_ptr_null(observe("NoKey", observer));
    ck_assert_ptr_nonnull(strstr(err.message, "NoKey"));
    ck_assert_ptr_null(observe("t::first(Tensor x) -> Tensor", observer));
    ck_assert_ptr_nonnull(
        strstr(err.message, "observer of 't::first(Tensor x) -> Tensor' at t.c:1"));
    detach(u);
}
END_TEST

/* Without memory for it nothing has changed, and no allocation is left. */
START_TEST(observer_without_memory)
{
    attach_as("cpu", "CPU", first, NULL, 0);
    char *before = rec_dump(reg);
    for (const char *const *of = (const char *const[]){"t::first", "t::new", "CPU", NULL}; *of;
         of++) {
        dp_unit *u = NULL;
        uint64_t n = 1;
        while (u == NULL) {
            dp_fault_arm(n++);
            u = observe(*of, observer);
            dp_fault_arm(0);
            if (u == NULL) {
                ck_assert_int_eq(err.code, DP_ERESOURCE);
                char *after = rec_dump(reg);
                ck_assert_str_eq(after, before);
                free(after);
            }
        }
        ck_assert_uint_gt(n, 5);
        expect_tensor(a);
        expect_observed(strcmp(*of, "t::new") != 0);
        detach(u);
    }
    free(before);
}
END_TEST

static dp_observation seen;
static char seen_plugin[32];
static void copies(dp_observation *o)
{
    seen = *o;
    snprintf(seen_plugin, sizeof(seen_plugin), "%s", o->plugin);
}

START_TEST(observation_carries_handle_keys_and_plugin)
{
    dp_unit *cpu = attach_as("cpu", "CPU", first, NULL, 0), *u = observe("", copies);
    uint64_t generation;
    dp_keyset want = dp_tensor_keys(a);

    expect_tensor(a);
    ck_assert_uint_eq(seen.size, sizeof(dp_observation));
    ck_assert_ptr_eq(seen.handle, dp_op_find(ctx, "t::first"));
    ck_assert_str_eq(seen_plugin, "cpu");
    ck_assert_uint_eq(seen.keys.backend, want.backend);
    ck_assert_uint_ne(seen.keys.functionality & DPI_BIT(Dense), 0);
    generation = seen.generation;
    ck_assert_uint_gt(generation, 0);
    detach(cpu);
    attach_as("newer", "CPU", second, NULL, 0);
    expect_tensor(b);
    ck_assert_str_eq(seen_plugin, "newer");
    ck_assert_uint_gt(seen.generation, generation);
    detach(u);
}
END_TEST

/* Does a typed call of t::first run unboxed? */
static bool runs_unboxed(void)
{
    dp_typed t;
    dp_entered e;
    dp_value args[2] = {dp_tensor_value(a), dp_tensor_value(b)}, ret;

    ck_assert_int_eq(dp_typed_init(ctx, "t::first", DP_CODE((T, T), (T)), &t), 0);
    ck_assert_int_eq(dp_enter(ctx, &t, dp_tensor_keys(a), &e), 0);
    bool unboxed = e.unboxed != NULL;
    int rc = unboxed ? 0 : dp_run_boxed(ctx, &e, args, 2, &ret, 1);
    ck_assert_int_eq(dp_leave(ctx, &e, rc), 0);
    if (!unboxed)
        dp_values_release(&ret, 1);
    return unboxed;
}

START_TEST(typed_call_that_nobody_observes_stays_unboxed)
{
    static const struct {
        const char *of;
        bool unboxed;
    } cases[] = {
        {"t::many", true}, {"Meta", true}, {"t::first", false}, {"CPU", false}, {"", false}};

    attach_as("cpu", "CPU", first, (dp_any_fn)first_unboxed, 0);
    for (size_t i = 0; i < DPI_COUNT(cases); i++) {
        dp_unit *u = observe(cases[i].of, observer);
        ck_assert_msg(runs_unboxed() == cases[i].unboxed, "'%s'", cases[i].of);
        ck_assert_msg(runs_unboxed() == cases[i].unboxed, "'%s', again", cases[i].of);
        expect_observed(cases[i].unboxed ? 0 : 2);
        detach(u);
        ck_assert(runs_unboxed());
    }
}
END_TEST

UNIT_SUITE(watch)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, call_is_seen_by_observers);
    tcase_add_test(tc, observer_of_one_operator);
    tcase_add_test(tc, observer_of_one_key);
    tcase_add_test(tc, observer_of_what_is_not_there);
    tcase_add_test(tc, observer_without_memory);
    tcase_add_test(tc, observation_carries_handle_keys_and_plugin);
    tcase_add_test(tc, typed_call_that_nobody_observes_stays_unboxed);
}
