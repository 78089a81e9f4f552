/* records.h -- macros that make registration records (dp_item, dp_block), and functions that attach
 * them, for tests of the registry without plugin files. */
#ifndef RECORDS_H
#define RECORDS_H

#include "dispatch/ask/ask.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>

#define REC_DEF(schema)                                                                            \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_DEF, .name = schema, .tags = ""                   \
    }
#define REC_IMPL(op, fn)                                                                           \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_IMPL, .name = op, .boxed = fn, .code = ""         \
    }
#define REC_IMPL_FLAGS(op, fn, how)                                                                \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_IMPL, .flags = how, .name = op, .boxed = fn,      \
        .code = ""                                                                                 \
    }
/* A kernel with the unboxed function `unboxed_` of C type `c` ("TT>T").  `fn` or `unboxed_` may be
 * NULL. */
#define REC_IMPL_UNBOXED(op, fn, unboxed_, c, how)                                                 \
    {                                                                                              \
        .size = sizeof(dp_item), .kind = DP_ITEM_IMPL, .flags = how, .name = op, .boxed = fn,      \
        .unboxed = (dp_any_fn)(unboxed_), .code = c                                                \
    }
#define REC_BLOCK(what, at, space, on, list)                                                       \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = what, .line = at,                                        \
        .n_items = sizeof(list) / sizeof((list)[0]), .item_size = sizeof(dp_item), .file = "t.c",  \
        .ns = space, .key = on, .items = list                                                      \
    }
/* A block without items: a backend with the name `space`, or the fallback `function` for key
 * `on`. */
#define REC_PLAIN(what, how, at, space, on, function)                                              \
    {                                                                                              \
        .size = sizeof(dp_block), .kind = what, .flags = how, .line = at,                          \
        .item_size = sizeof(dp_item), .file = "t.c", .ns = space, .key = on,                       \
        .fn = (dp_any_fn)(function)                                                                \
    }

/* kernel that returns its first argument */
static inline int rec_kernel(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

static inline dp_registry *rec_registry(void)
{
    dp_error err = DP_ERROR_INIT;
    dp_registry *reg = NULL;

    ck_assert_msg(dp_registry_new(&reg, &err) == 0, "%s", err.message);
    return reg;
}

static inline dp_unit *rec_attach(dp_registry *reg, const char *name, const dp_block *blocks,
                                  size_t n)
{
    dp_error err = DP_ERROR_INIT;
    dp_unit *unit = NULL;

    ck_assert_msg(dp_registry_attach(reg, name, "1.0", blocks, n, &unit, &err) == 0, "%s",
                  err.message);
    return unit;
}

static inline void rec_detach(dp_registry *reg, dp_unit *unit)
{
    dp_error err = DP_ERROR_INIT;
    ck_assert_msg(dp_registry_detach(reg, unit, -1, &err) == 0, "%s", err.message);
}

/* Return the registry's dump; the caller frees it. */
static inline char *rec_dump(dp_registry *reg)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    const char *text = NULL;

    ck_assert_msg(dp_registry_dump(reg, a, &text, &err) == 0, "%s", err.message);
    char *copy = strdup(text);
    dp_arena_free(a);
    return copy;
}

/* Check that the registry's dump is `want`, and free `want`. */
static inline void rec_same(dp_registry *reg, char *want)
{
    char *have = rec_dump(reg);
    ck_assert_str_eq(have, want);
    free(have);
    free(want);
}

/* Check the registry's invariants. */
static inline void rec_check(dp_registry *reg)
{
    dp_arena *a = dp_arena_new();
    dp_error err = DP_ERROR_INIT;
    const char *const *lines = NULL;
    size_t n = 0;

    ck_assert_msg(dp_registry_check(reg, a, &lines, &n, &err) == 0, "%s", err.message);
    ck_assert_msg(n == 0, "%zu violations, first: %s", n, n ? lines[0] : "");
    dp_arena_free(a);
}

#endif
