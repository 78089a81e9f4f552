/* test_canary.c -- a canary: contexts that ask for it run the new build of a plugin, all others the
 * loaded one, until it is promoted or rolled back. */
#include "../plugin/loaded.h"

/* Return the path of a copy of build `name`: the file that the plugin is reloaded from. */
static const char *install(const char *name)
{
    void *bytes;
    size_t n;

    OK(dpi_file_read(built(name), &bytes, &n, &err));
    const char *path = file_of(bytes, n);
    dp_free(bytes);
    return path;
}

static int begin(const char *name)
{
    dp_load_options o = options;

    install(name);
    o.canary = true;
    return dp_plugin_reload(reg, "trial", &o, arena, &report, &gone, &err);
}

static int end(bool promote)
{
    return dp_plugin_canary_end(reg, "trial", promote, 0, arena, &report, &gone, &err);
}

/* Return the build that runs for `ctx`, with the canary if `canary` is true. */
static int64_t build_of(bool canary)
{
    dp_value arg = dp_tensor_value(self), ret;

    dp_ctx_reset(ctx);
    const dp_op *op = dp_op_find(ctx, "trial::build");
    ck_assert_ptr_nonnull(op);
    ck_assert_int_eq(canary && dp_ctx_canary(ctx, op), canary);
    ck_assert_msg(dp_call_boxed(ctx, op, &arg, 1, &ret, 1) == 0, "%s", dp_ctx_error(ctx)->message);
    return ret.u.i;
}

static uint64_t count(bool canary)
{
    const dp_plugin_info *info;
    size_t n;
    uint64_t found = 0;

    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    for (size_t i = 0; i < n; i++)
        found += strcmp(info[i].plugin, "trial") == 0 && info[i].canary == canary;
    return found;
}

START_TEST(serves_contexts_that_ask)
{
    OK(load(install("trial")));
    state before = now();
    ck_assert_int_eq(build_of(false), 0);
    OK(begin("trial_good"));
    ck_assert_uint_lt(gone.old_generation, report.generation);
    ck_assert_uint_eq(count(true), 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(build_of(false), 0);
        ck_assert_int_eq(build_of(true), 1);
    }
    ck_assert(!dp_ctx_canary(ctx, NULL));
    check_invariants();
    OK(end(false));
    ck_assert(gone.drained && gone.unmapped);
    ck_assert_uint_eq(count(true), 0);
    ck_assert(!dp_ctx_canary(ctx, dp_op_find(ctx, "trial::build")));
    ck_assert_int_eq(build_of(false), 0);
    state after = now();
    same(&before, &after);
    OK(unload("trial"));
}
END_TEST

START_TEST(replaces_the_loaded_build)
{
    OK(load(install("trial")));
    uint64_t old = report.generation;
    OK(begin("trial_good"));
    uint64_t canary = report.generation;
    OK(end(true));
    ck_assert_uint_eq(report.generation, canary);
    ck_assert_uint_eq(gone.old_generation, old);
    ck_assert(gone.unmapped);
    ck_assert_uint_eq(count(false), 1);
    ck_assert_int_eq(build_of(false), 1);
    check_invariants();
    ck_assert_int_eq(end(false), DP_ENOTFOUND);
    says(err.message, "plugin 'trial' has no canary");
    OK(unload("trial"));
}
END_TEST

START_TEST(follows_other_changes)
{
    OK(load(install("trial")));
    OK(begin("trial_good"));
    OK(load(built("version_1")));
    ck_assert_int_eq(call_int("version::value"), 1);
    ck_assert_int_eq(build_of(true), 1);
    dp_ctx_reset(ctx);
    /* the canary cannot serve this operator in another way */
    ck_assert(!dp_ctx_canary(ctx, dp_op_find(ctx, "version::value")));
    OK(unload("version"));
    ck_assert_int_eq(build_of(true), 1);
    ck_assert_int_eq(build_of(false), 0);
    OK(unload("trial")); /* and with it the canary */
    ck_assert_uint_eq(count(true) + count(false), 0);
    ck_assert_int_eq(end(false), DP_ENOTFOUND);
}
END_TEST

START_TEST(is_the_only_one)
{
    OK(load(install("trial")));
    OK(begin("trial_good"));
    ck_assert_int_eq(begin("trial_good"), DP_EEXISTS);
    says(err.message, "plugin 'trial' has a canary");
    ck_assert_int_eq(reload("trial"), DP_EEXISTS);
    OK(load(built("version_1")));
    dp_load_options o = options;
    o.canary = true;
    ck_assert_int_eq(dp_plugin_reload(reg, "version", &o, arena, &report, &gone, &err), DP_EEXISTS);
    says(err.message, "plugin 'trial' has a canary already");
    ck_assert_int_eq(build_of(true), 1);
    /* the registry is freed with a canary */
}
END_TEST

START_TEST(defines_the_same_operators)
{
    dp_load_options o = options;

    o.canary = true;
    OK(load(install("rescaled")));
    install("rescaled_next");
    ck_assert_int_eq(dp_plugin_reload(reg, "rescaled", &o, arena, &report, &gone, &err), DP_EVALUE);
    says(err.message, "rescaled::scale(Tensor x, str by) -> Tensor");
    says(err.message, "rescaled::scale(Tensor x, float by) -> Tensor");
    OK(unload("rescaled"));
    OK(load(built("masked")));
    ck_assert_int_eq(dp_plugin_reload(reg, "masked", &o, arena, &report, &gone, &err), DP_EVALUE);
    says(err.message, "the kind of wrapper tensors");
    OK(unload("masked"));
}
END_TEST

UNIT_SUITE(canary)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, serves_contexts_that_ask);
    tcase_add_test(tc, replaces_the_loaded_build);
    tcase_add_test(tc, follows_other_changes);
    tcase_add_test(tc, is_the_only_one);
    tcase_add_test(tc, defines_the_same_operators);
}
