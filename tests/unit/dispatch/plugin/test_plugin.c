/* test_plugin.c -- plugins come, misbehave and go, and the registry is what it was. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "unit.h"
#include "dispatch/plugin/plugin_i.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RELOADS = 1000, CALLERS = 2 };

#if defined(__SANITIZE_THREAD__)
static const bool thread_sanitized = true;
#else
static const bool thread_sanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool sanitized =
    true; /* freed memory stays with the sanitizer: its size says nothing */
#else
static const bool sanitized = false;
#endif

static dp_registry *reg;
static dp_ctx *ctx;
static dp_arena *arena;
static dp_error err;
static dp_plugin_report report;
static dp_unload_report gone;
static dp_tensor *self; /* float32 [4]: 0 1 2 3 */
static char cache[] = "/tmp/dispatchd-test-XXXXXX";
static char scratch[64]; /* a file that tests rebuild */
static dp_load_options options;

/* -- what must be the same before and after -- */

typedef struct state {
    const char *dump;
    dp_tensor_stats tensors;
    size_t descriptors, copies;
} state;

static size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Lines of /proc/self/maps that name it. */
static size_t mappings(const char *part)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4352];
    size_t n = 0;

    while (f && fgets(line, sizeof(line), f))
        n += strstr(line, part) != NULL;
    if (f)
        fclose(f);
    return n;
}

static state now(void)
{
    state s;

    ck_assert_int_eq(dp_registry_dump(reg, arena, &s.dump, &err), 0);
    dp_tensor_stats_get(&s.tensors);
    s.descriptors = entries("/proc/self/fd");
    s.copies = entries(cache);
    return s;
}

static void same(const state *a, const state *b)
{
    ck_assert_str_eq(a->dump, b->dump);
    ck_assert_uint_eq(a->tensors.tensors, b->tensors.tensors);
    ck_assert_uint_eq(a->tensors.storages, b->tensors.storages);
    ck_assert_uint_eq(a->tensors.bytes, b->tensors.bytes);
    ck_assert_uint_eq(a->descriptors, b->descriptors);
    ck_assert_uint_eq(a->copies, b->copies);
}

static void check_invariants(void)
{
    const char *const *violations;
    size_t n;

    ck_assert_int_eq(dp_registry_check(reg, arena, &violations, &n, &err), 0);
    ck_assert_msg(n == 0, "%s", n ? violations[0] : "");
}

static void says(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part);
}

/* -- short hands -- */

static const char *built(const char *name)
{
    static char path[4200];
    const char *build = getenv("BUILD");
    char relative[512];
    const char *dir = strchr(name, '/') ? "" : "tests/plugins/";

    snprintf(relative, sizeof(relative), "%s/%s%s.so", build ? build : "build", dir, name);
    ck_assert_msg(realpath(relative, path) != NULL, "%s is not built", relative);
    return path;
}

static int load(const char *path)
{
    return dp_plugin_load(reg, path, &options, arena, &report, &err);
}

static int unload(const char *name)
{
    return dp_plugin_unload(reg, name, 1000, false, &gone, &err);
}

static int reload(const char *name)
{
    return dp_plugin_reload(reg, name, &options, arena, &report, &gone, &err);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        ck_assert_msg(rc_ == 0, "%s gave %d: %s", #call, rc_, err.message);                        \
    } while (0)

static int call(dp_ctx *c, const char *op, const dp_value *args, size_t n_args, dp_value *rets,
                size_t n_rets)
{
    const dp_op *o;

    dp_ctx_reset(c);
    dp_ctx_set_label(c, "session 12");
    o = dp_op_find(c, op);
    return o ? dp_call_boxed(c, o, args, n_args, rets, n_rets) : dp_ctx_error(c)->code;
}

static int64_t call_int(const char *op)
{
    dp_value arg = dp_tensor_value(self), ret;

    ck_assert_msg(call(ctx, op, &arg, 1, &ret, 1) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_INT);
    return ret.u.i;
}

static void setup(void)
{
    int64_t four = 4;
    float values[] = {0, 1, 2, 3};

    memset(&err, 0, sizeof(err));
    snprintf(scratch, sizeof(scratch), "/tmp/dispatchd-test-%d.so", (int)getpid());
    strcpy(cache + strlen(cache) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(cache));
    options = (dp_load_options){.size = sizeof(options), .cache_dir = cache};
    arena = dp_arena_new();
    OK(dp_registry_new(&reg, &err));
    OK(dp_ctx_new(reg, &ctx, &err));
    OK(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 1, &four, NULL, &self, &err));
    OK(dp_tensor_write(self, values, &err));
}

static void teardown(void)
{
    dp_tensor_unref(self);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    dp_arena_free(arena);
    unlink(scratch);
    ck_assert_int_eq(rmdir(cache), 0); /* no copy is left behind */
}

/* -- a good plugin -- */

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

START_TEST(plugin_is_found_by_its_bare_name)
{
    char dirs[4300], *slash;

    snprintf(dirs, sizeof(dirs), "/nowhere::%s", built("plugins/template"));
    slash = strrchr(dirs, '/');
    *slash = '\0';
    options.search_path = dirs;
    OK(load("template"));
    OK(unload("template"));
    OK(load("template.so"));
    OK(unload("template"));
    ck_assert_int_eq(load("templates"), DP_ENOTFOUND);
    says(err.message, "no file 'templates.so' in the plugin path '/nowhere:");
    ck_assert_int_eq(load("../plugins/template.so"), DP_EVALUE);
    ck_assert_int_eq(load(""), DP_EVALUE);
}
END_TEST

START_TEST(plugin_list_describes_what_is_loaded)
{
    const dp_plugin_info *info;
    size_t n;

    OK(load(built("plugins/template")));
    OK(load(built("resident")));
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert_str_eq(info[0].plugin, "template");
    ck_assert_str_eq(info[0].path, built("plugins/template"));
    ck_assert_int_eq(access(info[0].mapped_file, R_OK), 0);
    ck_assert(!info[0].resident);
    ck_assert_str_eq(info[1].plugin, "resident");
    ck_assert(info[1].resident);
    says(info[1].kept_because, "declares itself resident");
    ck_assert_uint_lt(info[0].generation, info[1].generation);
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

START_TEST(plugin_of_other_record_sizes_works)
{
    dp_value arg = dp_tensor_value(self), ret;

    OK(load(built("other_sizes")));
    ck_assert_uint_eq(report.defs, 2);
    ck_assert_uint_eq(report.impls, 2);
    OK(call(ctx, "other_sizes::g", &arg, 1, &ret, 1));
    ck_assert_ptr_eq(ret.u.t, self);
    dp_values_release(&ret, 1);
    OK(unload("other_sizes"));
    ck_assert(gone.unmapped);
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

/* -- loads that are refused -- */

static const struct refusal {
    const char *file, *first; /* loaded before, or NULL */
    int code;
    const char *says[2];
} refusals[] = {
    {"missing_symbol", NULL, DP_EPLUGIN, {"cannot load plugin 'missing_symbol'", "not_anywhere"}},
    {"wrong_abi", NULL, DP_EABI, {"needs 99.0", "this host has 1.0: update the host"}},
    {"too_new", NULL, DP_EABI, {"needs 1.99", "this host has 1.0"}},
    {"lying_note",
     NULL,
     DP_EPLUGIN,
     {"the note says 'def\tharmless() -> ()\t'",
      "the records say 'def\tf(Tensor self) -> Tensor\t'"}},
    {"bad_schema", NULL, DP_EPLUGIN, {"broken(Tensor self -> Tensor", "bad_schema.c:"}},
    {"clash", "plugins/template", DP_EEXISTS, {"tutorial::scale", "template.c:"}},
    {"second_owner", "plugins/template", DP_EEXISTS, {"tutorial", "template.c:"}},
    {"wrong_signature", NULL, DP_ETYPE, {"'Ti>T'", "'Tf>T'"}},
    {"type_variable", NULL, DP_ETYPE, {"'f>f'", "argument 'x' is 'double', a type variable"}},
    {"duplicate_fallback_b",
     "duplicate_fallback_a",
     DP_EEXISTS,
     {"Tracer", "duplicate_fallback_a.c:"}},
    {"failing_on_load", NULL, DP_ERUNTIME, {"its on_load (", "no device of kind 'toy' is there"}},
    {"static_tls", NULL, DP_EPLUGIN, {"needs static TLS", "-ftls-model"}},
    {"two_names", NULL, DP_EPLUGIN, {"two_names.c:4", "two_names.c:5"}},
    {"plugins/template",
     "plugins/template",
     DP_EEXISTS,
     {"is loaded already, as generation 1", "reload it"}},
};

START_TEST(plugin_refused_load_changes_nothing)
{
    const struct refusal *r = &refusals[_i];

    if (r->first)
        OK(load(built(r->first)));
    state before = now();
    for (int twice = 0; twice < 2; twice++) {
        int rc = load(built(r->file));
        ck_assert_msg(rc == r->code, "%s gave %d, not %d: %s", r->file, rc, r->code, err.message);
        says(err.message, r->says[0]);
        says(err.message, r->says[1]);
    }
    state after = now();
    same(&before, &after);
    check_invariants();
    OK(load(built("version_1"))); /* and the registry still works */
    ck_assert_int_eq(call_int("version::value"), 1);
}
END_TEST

/* The scratch file with these bytes, as a new file: the old one may be mapped. */
static const char *file_of(const void *bytes, size_t n)
{
    int fd;

    unlink(scratch);
    fd = open(scratch, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    return scratch;
}

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

START_TEST(plugin_truncated_file_is_refused)
{
    void *bytes;
    size_t n;
    state before = now();

    OK(dpi_file_read(built("plugins/template"), &bytes, &n, &err));
    for (size_t keep = 0; keep < n; keep += n / 64) {
        int rc = load(file_of(bytes, keep));
        if (rc == 0) /* what is missing is debug information only */
            OK(unload("template"));
        else
            ck_assert_msg(rc == DP_EPLUGIN, "%zu bytes gave %d: %s", keep, rc, err.message);
    }
    dp_free(bytes);
    state after = now();
    same(&before, &after);
}
END_TEST

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

/* -- kernels that misbehave -- */

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
    {"wrong_dtype", "no_such", 1, DP_ETYPE, "no dtype has number 8"},
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

/* -- reload -- */

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

/* -- calls in flight -- */

static void *sleep_in_kernel(void *arg)
{
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self), dp_int(*(int *)arg)}, ret;

    if (dp_ctx_new(reg, &mine, &e))
        return arg;
    int rc = call(mine, "sleeps::sleep", args, 2, &ret, 1);
    if (rc == 0)
        dp_values_release(&ret, 1);
    dp_ctx_free(mine);
    return rc ? arg : NULL;
}

/* A thread inside the kernel, which is the n-th call running. */
static pthread_t sleeper(int *ms, size_t nth)
{
    static dp_running running[DP_LIMIT_DRAINING + 1];
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, sleep_in_kernel, ms), 0);
    while (dp_registry_running(reg, running, DP_LIMIT_DRAINING + 1) != nth)
        usleep(1000);
    return thread;
}

static void joined(pthread_t thread)
{
    void *failed;

    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
}

START_TEST(plugin_unload_waits_and_says_for_whom)
{
    int ms = 500;

    OK(load(built("sleeps")));
    pthread_t thread = sleeper(&ms, 1);
    state before = now();
    ck_assert_int_eq(dp_plugin_unload(reg, "sleeps", 100, false, &gone, &err), DP_EBUSY);
    says(err.message, "session 12");
    says(err.message, "sleeps::sleep");
    state after = now();
    ck_assert_str_eq(before.dump, after.dump);
    const dp_plugin_info *info;
    size_t n;
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(info[0].calls_running, 1);
    OK(dp_plugin_unload(reg, "sleeps", -1, false, &gone, &err));
    ck_assert(gone.unmapped);
    ck_assert_double_gt(gone.drained_ms, 1);
    joined(thread);
}
END_TEST

START_TEST(plugin_old_generation_drains_behind_a_reload)
{
    int ms = 300;
    const dp_plugin_info *info;
    size_t n;

    OK(load(built("sleeps")));
    pthread_t thread = sleeper(&ms, 1);
    OK(reload("sleeps"));
    ck_assert(!gone.drained);
    says(gone.kept_because, "session 12");
    OK(dp_plugin_list(reg, arena, &info, &n, &err));
    ck_assert_uint_eq(n, 2);
    ck_assert(info[0].draining);
    ck_assert(!info[1].draining);
    ck_assert_uint_eq(dp_plugin_reap(reg), 2); /* and the snapshot that its call holds */
    joined(thread);
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
    ck_assert_uint_eq(entries(cache), 3);
    OK(unload("sleeps"));
    ck_assert(gone.unmapped);
}
END_TEST

static void nothing(int number)
{
    (void)number;
}

/* End a kernel's sleep, however long it is: a signal cuts nanosleep() short. */
static void woken(pthread_t thread)
{
    struct sigaction action = {.sa_handler = nothing};
    void *failed;
    int rc;

    sigaction(SIGUSR1, &action, NULL);
    while ((rc = pthread_tryjoin_np(thread, &failed)) == EBUSY) {
        pthread_kill(thread, SIGUSR1); /* again, if it was not asleep yet */
        usleep(1000);
    }
    ck_assert_int_eq(rc, 0);
    ck_assert_ptr_null(failed);
}

START_TEST(plugin_old_generations_are_bounded)
{
    int ms = 600000;

    OK(load(built("sleeps")));
    pthread_t threads[DP_LIMIT_DRAINING];
    int n = 0;
    for (; n < DP_LIMIT_DRAINING; n++) {
        threads[n] = sleeper(&ms, (size_t)n + 1);
        OK(reload("sleeps"));
    }
    ck_assert_int_eq(reload("sleeps"), DP_EBUSY);
    says(err.message, "64 old generations are still in use");
    says(err.message, "session 12");
    while (n-- > 0)
        woken(threads[n]);
    OK(reload("sleeps"));
    ck_assert_uint_eq(dp_plugin_reap(reg), 0);
}
END_TEST

/* -- unloads that do not unmap, or do not happen -- */

static const struct keeper {
    const char *file, *because;
} keepers[] = {
    {"resident", "declares itself resident ("},
    {"starts_thread", "imports 'pthread_create'"},
    {"unique_symbol", "defines the unique symbol 'dp_test_unique'"},
};

START_TEST(plugin_that_must_stay_mapped_is_detached_and_says_why)
{
    const struct keeper *k = &keepers[_i];
    state before = now();

    OK(load(built(k->file)));
    OK(unload(k->file));
    ck_assert(!gone.unmapped);
    ck_assert_uint_eq(gone.bytes_returned, 0);
    says(gone.kept_because, k->because);
    ck_assert_uint_gt(mappings(cache), 0);
    ck_assert_uint_eq(entries(cache), 3); /* its copy stays, for debuggers */
    state after = now();
    ck_assert_str_eq(before.dump, after.dump);
    OK(load(built(k->file))); /* as a new generation */
    OK(reload(k->file));
    if (!gone.unmapped) /* a unique symbol is bound once: it keeps the first of its files only */
        says(gone.kept_because, k->because);
}
END_TEST

static void *call_thread_exit(void *arg)
{
    atomic_int *step = arg;
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self)}, ret;

    if (dp_ctx_new(reg, &mine, &e) == 0) {
        if (call(mine, "thread_exit::f", args, 1, &ret, 1) == 0)
            dp_values_release(&ret, 1);
        dp_ctx_free(mine);
    }
    atomic_store(step, 1);
    while (atomic_load(step) != 2)
        usleep(1000);
    return NULL;
}

START_TEST(plugin_with_thread_objects_goes_when_the_threads_do)
{
    atomic_int step = 0;
    pthread_t thread;

    OK(load(built("thread_exit")));
    pthread_create(&thread, NULL, call_thread_exit, &step);
    while (atomic_load(&step) != 1)
        usleep(1000);
    OK(unload("thread_exit"));
    ck_assert(!gone.unmapped);
    says(gone.kept_because, "imports '__cxa_thread_atexit_impl'");
    atomic_store(&step, 2);
    pthread_join(thread, NULL);
    OK(load(built("plugins/template")));
    OK(unload("template")); /* the dynamic linker collects at the next dlclose */
    dp_plugin_reap(reg);
    ck_assert_uint_eq(entries(cache), 2);
    ck_assert_uint_eq(mappings(cache), 0);
}
END_TEST

static void *call_openmp(void *arg)
{
    dp_ctx *mine;
    dp_error e = DP_ERROR_INIT;
    dp_value args[] = {dp_tensor_value(self)}, ret;

    if (dp_ctx_new(reg, &mine, &e))
        return arg;
    int rc = call(mine, "openmp::sum", args, 1, &ret, 1);
    dp_ctx_free(mine);
    return rc || ret.u.d != 6 ? arg : NULL;
}

/* The threads of libgomp outlive the plugin that brought it: the library stays, the plugin goes. */
START_TEST(plugin_with_openmp_goes_and_its_library_stays)
{
    pthread_t threads[2];

    if (thread_sanitized) /* which does not know libgomp's barriers */
        return;
    for (int i = 0; i < 20; i++) {
        OK(load(built("openmp")));
        for (int t = 0; t < 2; t++)
            pthread_create(&threads[t], NULL, call_openmp, threads);
        for (int t = 0; t < 2; t++)
            joined(threads[t]);
        OK(unload("openmp"));
        ck_assert(gone.unmapped);
        ck_assert_uint_eq(mappings(cache), 0);
    }
    ck_assert_uint_gt(mappings("libgomp"), 0);
}
END_TEST

START_TEST(plugin_failing_on_unload_stays_loaded)
{
    OK(load(built("failing_on_unload")));
    state before = now();
    ck_assert_int_eq(unload("failing_on_unload"), DP_EPLUGIN);
    says(err.message, "its on_unload (");
    says(err.message, "failed with 77: it did not say why");
    state after = now();
    same(&before, &after);
    ck_assert_int_eq(call_int("failing_on_unload::asked"), 1);
    check_invariants();
    OK(unload("failing_on_unload"));
    ck_assert(gone.unmapped);
}
END_TEST

START_TEST(plugin_with_live_storages_is_busy_unless_forced)
{
    dp_value arg = dp_tensor_value(self), on_toy, where;

    OK(load(built("toy_backend")));
    ck_assert_uint_eq(report.n_backends, 1);
    ck_assert_str_eq(report.backends[0], "toy");
    OK(call(ctx, "toy::to_toy", &arg, 1, &on_toy, 1));
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    ck_assert_int_eq(where.u.i, DP_F_Dense);
    ck_assert_int_eq(unload("toy_backend"), DP_EBUSY);
    says(err.message, "1 storages of its backend 'toy' are alive");
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    OK(reload("toy_backend")); /* keeps its bit */
    ck_assert(gone.drained);
    OK(call(ctx, "toy::where", &on_toy, 1, &where, 1));
    OK(dp_plugin_unload(reg, "toy_backend", 1000, true, &gone, &err));
    ck_assert(gone.unmapped);
    dp_values_release(&on_toy, 1);
    OK(load(built("toy_backend")));
    OK(unload("toy_backend"));
}
END_TEST

static int refuse(const char *copy, dp_error *e)
{
    ck_assert_int_eq(access(copy, R_OK), 0);
    ck_assert_uint_eq(mappings(copy), 0);
    return dp_error_set(e, DP_EPLUGIN, "the trial says no");
}

START_TEST(plugin_that_the_trial_refuses_is_not_mapped)
{
    state before = now();

    options.probe = refuse;
    ck_assert_int_eq(load(built("plugins/template")), DP_EPLUGIN);
    says(err.message, "cannot load plugin 'template' from '");
    says(err.message, "plugins/template.so': the trial says no");
    state after = now();
    same(&before, &after);
}
END_TEST

START_TEST(plugin_tried_leaves_nothing)
{
    state before = now();

    OK(dp_plugin_try(built("plugins/template"), &err));
    ck_assert_uint_eq(mappings("template.so"), 0);
    ck_assert_int_eq(access(built("plugins/template"), R_OK), 0); /* it was no copy */
    ck_assert_int_eq(dp_plugin_try(built("lying_note"), &err), DP_EPLUGIN);
    ck_assert_int_eq(dp_plugin_try("/nowhere/x.so", &err), DP_ENOTFOUND);
    state after = now();
    same(&before, &after);
}
END_TEST

START_TEST(plugin_unload_of_nothing_offers_the_nearest)
{
    ck_assert_int_eq(unload("anything"), DP_ENOTFOUND);
    OK(load(built("plugins/template")));
    ck_assert_int_eq(unload("templat"), DP_ENOTFOUND);
    says(err.message, "no plugin 'templat' is loaded; nearest: 'template'");
}
END_TEST

/* The registry takes down what is still loaded, residents' copies too. */
START_TEST(plugin_registry_free_unloads_everything)
{
    OK(load(built("plugins/template")));
    OK(load(built("toy_backend")));
    OK(load(built("failing_on_unload")));
    OK(load(built("unique_symbol")));
    OK(unload("unique_symbol"));
}
END_TEST

UNIT_SUITE(plugin)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, plugin_load_call_unload_leaves_nothing);
    tcase_add_test(tc, plugin_is_found_by_its_bare_name);
    tcase_add_test(tc, plugin_list_describes_what_is_loaded);
    tcase_add_test(tc, plugin_overrides_and_dangling_kernels_are_reported);
    tcase_add_test(tc, plugin_reload_reports_only_the_kernels_it_stands_above);
    tcase_add_test(tc, plugin_of_other_record_sizes_works);
    tcase_add_test(tc, plugin_observers_see_every_call);
    tcase_add_loop_test(tc, plugin_refused_load_changes_nothing, 0, DPI_COUNT(refusals));
    tcase_add_test(tc, plugin_truncated_file_is_refused);
    tcase_add_test(tc, plugin_load_survives_every_failed_allocation);
    tcase_add_loop_test(tc, plugin_misbehaving_kernel_is_one_error, 0, DPI_COUNT(misdeeds));
    tcase_add_test(tc, plugin_reload_takes_the_new_file);
    tcase_add_test(tc, plugin_reload_keeps_its_place);
    tcase_add_test(tc, plugin_reloads_under_load_leave_everything_flat);
    tcase_add_test(tc, plugin_unload_waits_and_says_for_whom);
    tcase_add_test(tc, plugin_old_generation_drains_behind_a_reload);
    tcase_add_test(tc, plugin_old_generations_are_bounded);
    tcase_add_loop_test(tc, plugin_that_must_stay_mapped_is_detached_and_says_why, 0,
                        DPI_COUNT(keepers));
    tcase_add_test(tc, plugin_with_thread_objects_goes_when_the_threads_do);
    tcase_add_test(tc, plugin_with_openmp_goes_and_its_library_stays);
    tcase_add_test(tc, plugin_failing_on_unload_stays_loaded);
    tcase_add_test(tc, plugin_with_live_storages_is_busy_unless_forced);
    tcase_add_test(tc, plugin_that_the_trial_refuses_is_not_mapped);
    tcase_add_test(tc, plugin_tried_leaves_nothing);
    tcase_add_test(tc, plugin_unload_of_nothing_offers_the_nearest);
    tcase_add_test(tc, plugin_registry_free_unloads_everything);
}
