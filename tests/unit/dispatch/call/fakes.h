/* fakes.h -- fixture for tests of fake tensors (tensors without memory): a registry with the
 * plugins aten, composite and cpu of the build folder. */
#ifndef FAKES_H
#define FAKES_H

#include "dispatch/records.h"
#include <limits.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_arena *arena;
static dp_error err;
static dp_tensor *x; /* float32 [2, 3], strides [1, 2], with memory */
static dp_tensor_stats before;

static inline void load(const char *name)
{
    char relative[300], path[PATH_MAX];
    const char *build = getenv("BUILD");
    dp_load_options options = {0};
    dp_plugin_report report;

    snprintf(relative, sizeof(relative), "%s/plugins/%s.so", build ? build : "build", name);
    ck_assert_msg(realpath(relative, path) != NULL, "%s is not built", relative);
    ck_assert_msg(dp_plugin_load(reg, path, &options, arena, &report, &err) == 0, "%s",
                  err.message);
}

static inline void setup(void)
{
    int64_t sizes[] = {2, 3}, strides[] = {1, 2};

    dp_tensor_stats_get(&before);
    dp_error_clear(&err);
    arena = dp_arena_new();
    reg = rec_registry();
    load("aten");
    load("composite");
    load("cpu");
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
    ck_assert_int_eq(dp_tensor_new(DP_FLOAT32, DP_DEVICE_CPU, 2, sizes, strides, &x, &err), 0);
}

static inline void teardown(void)
{
    static const char *const plugins[] = {"cpu", "composite", "aten"};
    dp_unload_report gone;
    dp_tensor_stats now;

    dp_tensor_unref(x);
    dp_ctx_free(ctx);
    for (size_t i = 0; i < DPI_COUNT(plugins); i++)
        ck_assert_int_eq(dp_plugin_unload(reg, plugins[i], -1, false, &gone, &err), 0);
    ck_assert_ptr_null(dp_registry_free(reg));
    dp_arena_free(arena);
    dp_tensor_stats_get(&now);
    ck_assert_uint_eq(now.tensors, before.tensors);
    ck_assert_uint_eq(now.storages, before.storages);
}

static inline dp_tensor *fake_of(const dp_tensor *t)
{
    dp_tensor *f = NULL;

    ck_assert_int_eq(dp_fake(ctx, t, &f), 0);
    return f;
}

static inline void failed(int rc, int code, const char *text)
{
    ck_assert_int_eq(rc, code);
    ck_assert_msg(strstr(dp_ctx_error(ctx)->message, text), "'%s' is not in '%s'", text,
                  dp_ctx_error(ctx)->message);
}

#define OK(call) ck_assert_msg((call) == 0, "%s", dp_ctx_error(ctx)->message)

#endif
