/* loaded.h -- fixture that loads plugins of the build folder into a registry; and now() and same(),
 * which compare the state of the process before and after a test. */
#ifndef LOADED_H
#define LOADED_H

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

#if defined(__SANITIZE_THREAD__)
static const bool thread_sanitized = true;
#else
static const bool thread_sanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* a sanitizer keeps freed memory, so tests cannot compare the size of the process */
static const bool sanitized = true;
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
static char scratch[64]; /* path of the file that file_of() writes */
static dp_load_options options;

/* state of the process that a test must leave as it was */
typedef struct state {
    const char *dump; /* dp_registry_dump() */
    dp_tensor_stats tensors;
    size_t descriptors, copies; /* open file descriptors; files in the cache folder */
} state;

static inline size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    size_t n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Return the number of lines of /proc/self/maps that contain `part`. */
static inline size_t mappings(const char *part)
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

static inline state now(void)
{
    state s;

    ck_assert_int_eq(dp_registry_dump(reg, arena, &s.dump, &err), 0);
    dp_tensor_stats_get(&s.tensors);
    s.descriptors = entries("/proc/self/fd");
    s.copies = entries(cache);
    return s;
}

static inline void same(const state *a, const state *b)
{
    ck_assert_str_eq(a->dump, b->dump);
    ck_assert_uint_eq(a->tensors.tensors, b->tensors.tensors);
    ck_assert_uint_eq(a->tensors.storages, b->tensors.storages);
    ck_assert_uint_eq(a->tensors.bytes, b->tensors.bytes);
    ck_assert_uint_eq(a->descriptors, b->descriptors);
    ck_assert_uint_eq(a->copies, b->copies);
}

static inline void check_invariants(void)
{
    const char *const *violations;
    size_t n;

    ck_assert_int_eq(dp_registry_check(reg, arena, &violations, &n, &err), 0);
    ck_assert_msg(n == 0, "%s", n ? violations[0] : "");
}

static inline void says(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "'%s' does not say '%s'", text, part);
}

static inline const char *built(const char *name)
{
    static char path[4200];
    const char *build = getenv("BUILD");
    char relative[512];
    const char *dir = strchr(name, '/') ? "" : "tests/plugins/";

    snprintf(relative, sizeof(relative), "%s/%s%s.so", build ? build : "build", dir, name);
    ck_assert_msg(realpath(relative, path) != NULL, "%s is not built", relative);
    return path;
}

static inline int load(const char *path)
{
    return dp_plugin_load(reg, path, &options, arena, &report, &err);
}

static inline int unload(const char *name)
{
    return dp_plugin_unload(reg, name, 1000, false, &gone, &err);
}

static inline int reload(const char *name)
{
    return dp_plugin_reload(reg, name, &options, arena, &report, &gone, &err);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        ck_assert_msg(rc_ == 0, "%s gave %d: %s", #call, rc_, err.message);                        \
    } while (0)

static inline int call(dp_ctx *c, const char *op, const dp_value *args, size_t n_args,
                       dp_value *rets, size_t n_rets)
{
    const dp_op *o;

    dp_ctx_reset(c);
    dp_ctx_set_label(c, "session 12");
    o = dp_op_find(c, op);
    return o ? dp_call_boxed(c, o, args, n_args, rets, n_rets) : dp_ctx_error(c)->code;
}

static inline int64_t call_int(const char *op)
{
    dp_value arg = dp_tensor_value(self), ret;

    ck_assert_msg(call(ctx, op, &arg, 1, &ret, 1) == 0, "%s", dp_ctx_error(ctx)->message);
    ck_assert_uint_eq(ret.tag, DP_TAG_INT);
    return ret.u.i;
}

static inline void setup(void)
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

static inline void teardown(void)
{
    dp_tensor_unref(self);
    dp_ctx_free(ctx);
    dp_registry_free(reg);
    dp_arena_free(arena);
    unlink(scratch);
    ck_assert_int_eq(rmdir(cache), 0); /* no copy is left behind */
}

/* Write `bytes` to the file `scratch` and return its path.  The file is made anew, because its
 * predecessor may be mapped. */
static inline const char *file_of(const void *bytes, size_t n)
{
    int fd;

    unlink(scratch);
    fd = open(scratch, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
    close(fd);
    return scratch;
}

static inline void joined(pthread_t thread)
{
    void *failed;

    pthread_join(thread, &failed);
    ck_assert_ptr_null(failed);
}

#endif
