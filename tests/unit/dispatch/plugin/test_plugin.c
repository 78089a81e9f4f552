/* test_plugin.c -- plugins are loaded and reloaded, and the registry is what it was. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "loaded.h"

enum { RELOADS = 1000, CALLERS = 2 };

START_TEST(plugin_load_call_unload_leaves_nothing)
{
    state before = now();
    OK(load(built("plugins/template")));
    ck_assert_str_eq(report.plugin, "template");
    ck_assert_str_eq(report.version, "1.0");
    ck_assert_uint_eq(report.defs, 1);
    ck_assert_uint_eq(report.impls, 1);
    ck_assert_uint_eq(report.n_dangling, 0);
    ck_assert_uint_eq(report.n_overrides, 0);
    ck_assert_uint_gt(mappings(cache), 0);
    check_invariants();

    dp_value args[] = {dp_tensor_value(self), dp_double(2.5)}, ret;
    float out[4];
    OK(call(ctx, "tutorial::scale", args, 2, &ret, 1));
    OK(dp_tensor_read(ret.u.t, out, &err));
    ck_assert_float_eq(out[3], 7.5f);
    dp_values_release(&ret, 1);

    OK(unload("template"));
    ck_assert(gone.unmapped);
    ck_assert_str_eq(gone.kept_because, "");
    ck_assert_uint_gt(gone.bytes_returned, 0);
    ck_assert_uint_eq(gone.removed, 2);
    ck_assert_uint_eq(mappings(cache), 0);
    state after = now();
    same(&before, &after);
}
END_TEST

START_TEST(plugin_overrides_and_dangling_kernels_are_reported)
{
    OK(load(built("plugins/template")));
    OK(load(built("overrides")));
    ck_assert_uint_eq(report.n_dangling, 1);
    ck_assert_str_eq(report.dangling[0], "nowhere::dangling");
    ck_assert_uint_eq(report.n_overrides, 1);
    says(report.overrides[0], "tutorial::scale CPU: ");
    says(report.overrides[0], "overrides.c:");
    says(report.overrides[0], "template.c:");
    OK(unload("overrides"));
    state before = now();
    options.reject_override = true;
    ck_assert_int_eq(load(built("overrides")), DP_EEXISTS);
    state after = now();
    same(&before, &after);
}
END_TEST

/* A reload keeps its place in the stack: the report names what is below, and nothing above. */
START_TEST(plugin_reload_reports_only_the_kernels_it_stands_above)
{
    OK(load(built("plugins/template")));
    OK(load(built("overrides")));
    OK(reload("template"));
    ck_assert_msg(report.n_overrides == 0, "%u instead of 0 overrides: %s", report.n_overrides,
                  report.n_overrides ? report.overrides[0] : "");
    OK(reload("overrides"));
    ck_assert_uint_eq(report.n_overrides, 1);
    says(report.overrides[0], "template.c:");
}
END_TEST

START_TEST(plugin_observers_see_every_call)
{
    dp_value args[] = {dp_tensor_value(self), dp_double(1)}, rets[2];

    OK(load(built("plugins/template")));
    OK(load(built("observer")));
    OK(call(ctx, "tutorial::scale", args, 2, rets, 1));
    dp_values_release(rets, 1);
    OK(call(ctx, "observer::counts", args, 1, rets, 2));
    ck_assert_int_eq(rets[0].u.i, 2);
    ck_assert_int_eq(rets[1].u.i, 1);
    OK(unload("observer"));
    ck_assert(gone.unmapped);
}
END_TEST

static const char *copy_of(const char *name)
{
    void *bytes;
    size_t n;
    const char *path;

    OK(dpi_file_read(built(name), &bytes, &n, &err));
    path = file_of(bytes, n);
    dp_free(bytes);
    return path;
}

START_TEST(plugin_load_survives_every_failed_allocation)
{
    int rc = DP_ERESOURCE;
    const char *path = built("overrides");
    uint64_t n;

    OK(load(built("plugins/template")));
    path = built("overrides");
    for (n = 1; rc != 0; n++) {
        ck_assert_uint_lt(n, 10000);
        state before = now();
        dp_fault_arm(n);
        rc = load(path);
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %d gave %d: %s", (int)n, rc,
                      err.message);
        if (rc) {
            state after = now();
            same(&before, &after);
        }
        dp_arena_reset(arena);
    }
    check_invariants();
    for (rc = DP_ERESOURCE, n = 1; rc != 0; n++) {
        dp_fault_arm(n);
        rc = reload("overrides");
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %d gave %d: %s", (int)n, rc,
                      err.message);
    }
    check_invariants();
    for (rc = DP_ERESOURCE, n = 1; rc != 0; n++) {
        dp_fault_arm(n);
        rc = unload("overrides");
        dp_fault_arm(0);
        ck_assert_msg(rc == 0 || rc == DP_ERESOURCE, "allocation %d gave %d: %s", (int)n, rc,
                      err.message);
    }
    check_invariants();
    ck_assert(gone.unmapped);
}
END_TEST

static const struct misdeed {
    const char *file, *op;
    size_t n_rets;
    int code;
    const char *says;
} misdeeds[] = {
    {"returns_error", "said", 1, DP_EVALUE, "the moon is in the wrong phase"},
    {"returns_error", "halfway", 1, DP_EINDEX, "index 7 is out of range"},
    {"returns_error", "silent", 1, DP_ERUNTIME, ""},
    {"returns_error", "stranger", 1, DP_EPLUGIN, "12345"},
    {"returns_nothing", "boxed", 1, DP_EPLUGIN, "Tensor"},
    {"returns_nothing", "unboxed", 1, DP_EPLUGIN, "Tensor"},
    {"returns_nothing", "half", 2, DP_EPLUGIN, "Tensor"},
    {"returns_wrong_kind", "an_int", 1, DP_EPLUGIN, "int"},
    {"returns_wrong_kind", "a_tensor", 1, DP_EPLUGIN, "Tensor"},
    {"returns_wrong_kind", "no_tag", 1, DP_EPLUGIN, "Tensor"},
    {"wrong_dtype", "no_such", 1, DP_ETYPE, "dtype complex32 is PyTorch"},
    {"recursion", "f", 1, DP_ERUNTIME, "recursion::f"},
};

START_TEST(plugin_misbehaving_kernel_is_one_error)
{
    const struct misdeed *d = &misdeeds[_i];
    dp_value arg = dp_tensor_value(self), rets[2];
    char op[128];

    OK(load(built(d->file)));
    snprintf(op, sizeof(op), "%s::%s", d->file, d->op);
    state before = now();
    for (int twice = 0; twice < 2; twice++) {
        int rc = call(ctx, op, &arg, 1, rets, d->n_rets);
        const dp_error *e = dp_ctx_error(ctx);
        ck_assert_msg(rc == d->code, "%s gave %d, not %d: %s", op, rc, d->code, e->message);
        ck_assert_str_eq(e->op, op);
        ck_assert_str_ne(e->message, "");
        says(e->message, d->says);
        for (size_t i = 0; i < d->n_rets; i++)
            ck_assert_uint_eq(rets[i].tag, DP_TAG_NONE);
    }
    dp_ctx_reset(ctx);
    state after = now();
    same(&before, &after);
    OK(unload(d->file));
    ck_assert(gone.unmapped);
}
END_TEST

static void dropped_is(const char *expected)
{
    char text[256] = "";

    for (uint32_t i = 0; i < report.n_dropped; i++)
        strcat(strcat(text, report.dropped[i]), "|");
    ck_assert_str_eq(text, expected);
}

START_TEST(plugin_reload_names_what_the_new_file_lacks)
{
    const char *path = copy_of("version_1");

    OK(load(path));
    dropped_is("");
    copy_of("version_3");
    OK(reload("version"));
    dropped_is("version::value CPU|");
    copy_of("version_1");
    OK(reload("version"));
    /* not "version::spare CPU" as well */
    dropped_is("version::spare|fallback TESTING_ONLY_GenericMode|");
    OK(reload("version"));
    dropped_is("");
    OK(unload("version"));
    unlink(path);
}
END_TEST

START_TEST(plugin_reload_takes_the_new_file)
{
    const char *path = copy_of("version_1");

    OK(load(path));
    uint64_t first = report.generation;
    ck_assert_int_eq(call_int("version::value"), 1);
    copy_of("version_2");
    OK(reload("version"));
    ck_assert_str_eq(report.version, "2.0");
    ck_assert_uint_gt(report.generation, first);
    ck_assert_uint_eq(gone.old_generation, first);
    ck_assert(gone.drained);
    ck_assert(gone.unmapped);
    ck_assert_int_eq(call_int("version::value"), 2);
    state before = now();
    file_of("not ELF at all", 14);
    ck_assert_int_eq(reload("version"), DP_EPLUGIN);
    copy_of("lying_note");
    ck_assert_int_eq(reload("version"), DP_EPLUGIN);
    says(err.message, "held plugin 'version' and now holds plugin 'lying_note'");
    state after = now();
    same(&before, &after);
    ck_assert_int_eq(call_int("version::value"), 2);
    unlink(path);
    ck_assert_int_eq(reload("version"), DP_ENOTFOUND);
    ck_assert_int_eq(reload("versions"), DP_ENOTFOUND);
    says(err.message, "no plugin 'versions' is loaded; nearest: 'version'");
    OK(unload("version"));
    ck_assert(gone.unmapped);
}
END_TEST

/* A reload keeps its place among the kernels of one (operator, key). */
START_TEST(plugin_reload_keeps_its_place)
{
    OK(load(built("plugins/template")));
    OK(load(built("overrides")));
    state before = now();
    OK(reload("template"));
    state after = now();
    same(&before, &after);
    OK(unload("overrides"));
    OK(reload("template"));
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
}
END_TEST

typedef struct caller {
    pthread_t thread;
    atomic_bool *stop;
    uint64_t calls, failed;
    dp_error first; /* failure */
} caller;

static void *call_without_pause(void *arg)
{
    caller *c = arg;
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self), dp_double(2)}, ret;

    if (dp_ctx_new(reg, &mine, &e))
        return arg;
    for (; !atomic_load(c->stop); c->calls++) {
        if (call(mine, "tutorial::scale", args, 2, &ret, 1) == 0)
            dp_values_release(&ret, 1);
        else if (c->failed++ == 0)
            c->first = *dp_ctx_error(mine);
    }
    dp_ctx_free(mine);
    return NULL;
}

static size_t resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long total = 0, resident = 0;

    if (f) {
        ck_assert_int_eq(fscanf(f, "%lu %lu", &total, &resident), 2);
        fclose(f);
    }
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(plugin_reloads_under_load_leave_everything_flat)
{
    atomic_bool stop = false;
    caller callers[CALLERS] = {0};
    size_t maps = 0, bytes = 0, descriptors = 0;
    uint64_t calls = 0;

    OK(load(built("plugins/template")));
    for (int i = 0; i < CALLERS; i++) {
        callers[i].stop = &stop;
        pthread_create(&callers[i].thread, NULL, call_without_pause, &callers[i]);
    }
    for (int i = 0; i < RELOADS; i++) {
        if (i == RELOADS / 10) {
            maps = mappings("");
            bytes = resident_bytes();
            descriptors = entries("/proc/self/fd");
        }
        OK(reload("template"));
        dp_arena_reset(arena);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < CALLERS; i++) {
        void *failed;
        pthread_join(callers[i].thread, &failed);
        ck_assert_ptr_null(failed);
        ck_assert_msg(callers[i].failed == 0, "%d calls failed: %s", (int)callers[i].failed,
                      callers[i].first.message);
        calls += callers[i].calls;
    }
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
    if (!sanitized)
        ck_assert_uint_le(mappings(""), maps + 8); /* threads' stacks and arenas come and go */
    ck_assert_uint_le(entries("/proc/self/fd"), descriptors);
    if (!sanitized)
        ck_assert_uint_le(resident_bytes(), bytes + (4 << 20));
    ck_assert_uint_eq(entries(cache), 3); /* one copy: its directory, "." and ".." */
    OK(unload("template"));
    ck_assert(gone.unmapped);
    ck_assert_uint_eq(mappings(cache), 0);
}
END_TEST

UNIT_SUITE(plugin)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_load_call_unload_leaves_nothing);
    tcase_add_test(tc, plugin_overrides_and_dangling_kernels_are_reported);
    tcase_add_test(tc, plugin_reload_reports_only_the_kernels_it_stands_above);
    tcase_add_test(tc, plugin_observers_see_every_call);
    tcase_add_test(tc, plugin_load_survives_every_failed_allocation);
    tcase_add_loop_test(tc, plugin_misbehaving_kernel_is_one_error, 0, DPI_COUNT(misdeeds));
    tcase_add_test(tc, plugin_reload_names_what_the_new_file_lacks);
    tcase_add_test(tc, plugin_reload_takes_the_new_file);
    tcase_add_test(tc, plugin_reload_keeps_its_place);
}

UNIT_SUITE(plugin_flat)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_tags(tc, "not_valgrind"); /* whose own memory grows */
    tcase_add_test(tc, plugin_reloads_under_load_leave_everything_flat);
}
