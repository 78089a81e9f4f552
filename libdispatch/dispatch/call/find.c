/* find.c -- find operators by name, and list the nearest names for an unknown one. */
#include "find.h"
#include "ctx.h"
#include "dispatch/registry/answer.h"
#include <stdio.h>

/* Is `a` before `b` in order of definition?  Operators without a definition are ordered by id. */
static bool precedes(const dpi_entry *a, const dpi_entry *b)
{
    return a->def_order != b->def_order ? a->def_order < b->def_order : a->op->id < b->op->id;
}

/* The overloads in `out` are sorted by precedes(). */
size_t dpi_overloads(const dpi_snapshot *s, const char *base, size_t n, const dpi_entry **out,
                     size_t cap)
{
    size_t found = 0, i;
    uint32_t id;

    for (uint32_t at = dpi_names_base(s->names, base, n); at != 0;) {
        at = dpi_names_next(s->names, at, &id);
        const dpi_entry *e = dpi_snapshot_at(s, id);
        if (e == NULL || found++ >= cap)
            continue;
        for (i = found - 1; i > 0 && precedes(e, out[i - 1]); i--)
            out[i] = out[i - 1];
        out[i] = e;
    }
    return found;
}

static int fail_overload(const dpi_snapshot *s, const char *name, size_t base, dp_error *err)
{
    enum { SHOWN = 64 };
    const dpi_entry *found[SHOWN];
    dpi_text t = {0};
    size_t n = dpi_overloads(s, name, base, found, SHOWN);

    for (size_t i = 0; i < n && i < SHOWN; i++)
        dpi_text_printf(&t, "%s'%s'", i ? ", " : "", found[i]->op->name);
    int rc = t.failed ? dpi_no_memory(err, "message")
                      : dp_error_set(err, DP_ENOTFOUND,
                                     "operator '%.*s' has no overload '%s'; it has %s%s", (int)base,
                                     name, name[base] == '.' ? name + base + 1 : "", t.s,
                                     n > SHOWN ? ", ..." : "");
    dpi_text_fini(&t);
    return rc;
}

/* List the names with which an unknown name is compared: full names if `whole` is true, because the
 * unknown name has an overload; otherwise each base name once. */
static const char **list_names(const dpi_snapshot *s, bool whole, dpi_answer *a, size_t *n)
{
    const char **names = dpi_answer_alloc(a, s->n_entries, sizeof(*names));

    *n = 0;
    for (uint32_t i = 0; !a->failed && i < s->n_entries; i++) {
        if (s->entries[i] == NULL)
            continue;
        const char *full = s->entries[i]->op->name;
        size_t len = whole ? strlen(full) : dpi_base_bytes(full);
        if (*n > 0 && strlen(names[*n - 1]) == len && strncmp(names[*n - 1], full, len) == 0)
            continue; /* overloads are usually adjacent */
        names[(*n)++] = dpi_answer_printf(a, "%.*s", (int)len, full);
    }
    return names;
}

static int fail_nearest(const dpi_snapshot *s, const char *name, size_t base, dp_error *err)
{
    dp_arena *arena = dp_arena_new();
    dpi_answer a = {arena, arena == NULL};
    char near[400] = "", plugin[DP_LIMIT_NAME_BYTES + 1];
    size_t n = 0;
    const char **names = arena ? list_names(s, name[base] == '.', &a, &n) : NULL;

    if (a.failed) {
        dp_arena_free(arena);
        return dpi_no_memory(err, "names of operators");
    }
    if (n > 0)
        dpi_nearest(name, names, n, 3, near, sizeof(near));
    dp_arena_free(arena);
    if (dpi_registry_gone(s->reg, name, plugin))
        return dp_error_set(
            err, DP_ENOTFOUND,
            "no operator '%s'; plugin '%s' had it until it was unloaded or reloaded", name, plugin);
    return dp_error_set(err, DP_ENOTFOUND, "no operator '%s'%s%s", name,
                        n > 0 ? "; nearest: " : ": none are loaded", near);
}

int dpi_no_operator(const dpi_snapshot *s, const char *name, dp_error *err)
{
    size_t base = dpi_base_bytes(name);
    const dpi_entry *any;

    if (dpi_overloads(s, name, base, &any, 1) > 0)
        return fail_overload(s, name, base, err);
    return fail_nearest(s, name, base, err);
}

const dp_op *dp_op_find(dp_ctx *ctx, const char *name)
{
    bool begun;

    if (!DPI_GIVEN(&ctx->error, DP_EPLUGIN, name) || dpi_ctx_pin(ctx, &begun) < 0)
        return NULL;
    size_t n = strlen(name);
    const dpi_entry *e = dpi_snapshot_find(dpi_ctx_snapshot(ctx), name, n);
    const dp_op *op = e ? e->op : NULL; /* lives as long as the registry */
    if (DPI_UNLIKELY(e == NULL))
        dpi_no_operator(dpi_ctx_snapshot(ctx), name, &ctx->error);
    dpi_ctx_unpin(ctx, begun);
    return op;
}
