/* registry.c -- registry.*: queries about operators, kernels and dispatch keys; no query changes
 * the registry. */
#include "methods.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dp_registry *registry_of(const request *rq)
{
    server_info info;

    rq->daemon->info(rq->conn, &info);
    return info.reg;
}

static void write_key(jw *w, dp_key k)
{
    char name[DP_KEY_NAME_MAX];

    member_str(w, "key", dp_key_name(k, name));
}

/* Write where a definition or kernel comes from (plugin, file, line) as members of the open object
 * of `w`. */
static void write_provenance(jw *w, const dp_provenance *p)
{
    member_str(w, "plugin", p->plugin);
    member_int(w, "generation", p->generation);
    member_str(w, "file", p->file != NULL ? p->file : "");
    member_int(w, "line", p->line);
}

int registry_watch(request *rq, const registry_watch_params *p, jw *w, dp_error *err)
{
    (void)err;
    rq->daemon->watch_registry(rq->conn, p->enabled);
    jw_object(w);
    member_bool(w, "enabled", p->enabled);
    jw_object_end(w);
    return 0;
}

/* -- list, describe -- */

int registry_list(request *rq, const registry_list_params *p, jw *w, dp_error *err)
{
    dp_list_filter filter = {
        .ns = p->namespace, .match = p->match, .key = p->key, .plugin = p->plugin};
    const char *const *names;
    size_t n;
    int rc = dp_registry_list(registry_of(rq), &filter, dp_ctx_arena(rq->ctx), &names, &n, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    member_strings(w, "ops", names, n);
    jw_object_end(w);
    return 0;
}

static void write_arguments(jw *w, const char *name, const dp_argument_info *a, uint32_t n)
{
    jw_key(w, name);
    jw_array(w);
    for (uint32_t i = 0; i < n; i++) {
        jw_object(w);
        member_str(w, "name", a[i].name != NULL ? a[i].name : "");
        member_str(w, "type", a[i].type);
        if (a[i].default_value != NULL)
            member_str(w, "default", a[i].default_value);
        member_bool(w, "kwarg_only", a[i].kwarg_only);
        member_bool(w, "written", a[i].written);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_kernel(jw *w, const dp_kernel_info *k)
{
    jw_object(w);
    write_key(w, k->key);
    write_provenance(w, &k->from);
    member_bool(w, "active", k->active);
    member_bool(w, "fallthrough", k->fallthrough);
    member_bool(w, "unboxed", k->unboxed);
    member_bool(w, "for_gradients", k->for_gradients);
    jw_object_end(w);
}

static void write_cells(jw *w, const dp_op_info *op)
{
    jw_key(w, "table");
    jw_array(w);
    for (uint32_t i = 0; i < op->n_cells; i++) {
        const dp_cell_info *c = &op->cells[i];
        jw_object(w);
        write_key(w, c->key);
        member_str(w, "provenance", c->provenance);
        if (c->kernel != NULL) {
            jw_key(w, "kernel");
            write_kernel(w, c->kernel);
        }
        jw_object_end(w);
    }
    jw_array_end(w);
}

static void write_tags(jw *w, const char *tags)
{
    const char *p = tags != NULL ? tags : "";

    jw_key(w, "tags");
    jw_array(w);
    for (p += strspn(p, " "); *p != '\0'; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        jw_strn(w, p, n);
        p += n;
    }
    jw_array_end(w);
}

void fallbacks_to_json(jw *w, const dp_fallback_count *rows, size_t n)
{
    jw_key(w, "fallbacks");
    jw_array(w);
    for (const dp_fallback_count *c = rows; c < rows + n; c++) {
        jw_object(w);
        member_str(w, "op", c->op);
        member_str(w, "key", c->key);
        member_int(w, "calls", c->calls);
        member_int(w, "bytes", c->bytes);
        jw_object_end(w);
    }
    jw_array_end(w);
}

/* Write what is known about operator `op`; `fallbacks` [n]: its calls that fell back. */
static void write_op(jw *w, const dp_op_info *op, const dp_fallback_count *fallbacks, size_t n)
{
    jw_object(w);
    member_str(w, "op", op->name);
    member_str(w, "schema", op->schema);
    write_arguments(w, "arguments", op->args, op->n_args);
    write_arguments(w, "returns", op->rets, op->n_rets);
    write_tags(w, op->tags);
    jw_key(w, "defined_by");
    if (op->schema != NULL) {
        jw_object(w);
        write_provenance(w, &op->defined_by);
        jw_object_end(w);
    } else {
        jw_null(w);
    }
    member_int(w, "calls", op->calls);
    fallbacks_to_json(w, fallbacks, n);
    jw_key(w, "kernels");
    jw_array(w);
    for (uint32_t i = 0; i < op->n_kernels; i++)
        write_kernel(w, &op->kernels[i]);
    jw_array_end(w);
    write_cells(w, op);
    jw_object_end(w);
}

int registry_describe(request *rq, const registry_describe_params *p, jw *w, dp_error *err)
{
    dp_op_info op;
    dp_fallback_count *fallbacks;
    size_t n;
    int rc = dp_registry_describe(registry_of(rq), p->op, dp_ctx_arena(rq->ctx), &op, err);

    if (rc == 0)
        rc = request_fallbacks(rq, op.name, &fallbacks, &n, err);
    if (rc == 0)
        write_op(w, &op, fallbacks, n);
    return rc;
}

/* -- table, keys -- */

/* The params of registry.table; the arrays are allocated in the arena of `rq->ctx`. */
typedef struct table_query {
    const char *const *ops;
    size_t n_ops;
    const dp_key *keys;
    size_t n_keys;
    const dp_what_if *with;
    size_t n_with;
} table_query;

static int no_memory(dp_error *err)
{
    return dp_error_set(err, DP_ERESOURCE, "out of memory: a dispatch table");
}

static int read_ops(request *rq, const cJSON *list, table_query *q, dp_error *err)
{
    static const dp_list_filter all = {0};
    const cJSON *item;

    if (list == NULL)
        return dp_registry_list(registry_of(rq), &all, dp_ctx_arena(rq->ctx), &q->ops, &q->n_ops,
                                err);
    const char **ops =
        dp_arena_alloc_n(dp_ctx_arena(rq->ctx), (size_t)cJSON_GetArraySize(list), sizeof(*ops));
    if (ops == NULL)
        return no_memory(err);
    q->ops = ops;
    cJSON_ArrayForEach(item, list) ops[q->n_ops++] = item->valuestring;
    return 0;
}

static int read_keys(request *rq, const cJSON *list, table_query *q, dp_error *err)
{
    json_path at = {NULL, "keys", 0}, inside = {&at, NULL, 0};
    const cJSON *item;

    /* every runtime key, but not the alias keys, which are at the end of the list */
    if (list == NULL) {
        q->n_keys = dp_registry_keys(registry_of(rq), dp_ctx_arena(rq->ctx), &q->keys);
        while (q->n_keys > 0 && dp_key_is_alias(q->keys[q->n_keys - 1]))
            q->n_keys--;
        return q->n_keys > 0 ? 0 : no_memory(err);
    }
    dp_key *keys =
        dp_arena_alloc_n(dp_ctx_arena(rq->ctx), (size_t)cJSON_GetArraySize(list), sizeof(*keys));
    if (keys == NULL)
        return no_memory(err);
    q->keys = keys;
    cJSON_ArrayForEach(item, list)
    {
        int rc = key_from_json(item, &inside, &keys[q->n_keys], err);
        if (rc < 0)
            return rc;
        q->n_keys++;
        inside.index++;
    }
    return 0;
}

static int read_with(request *rq, const cJSON *list, table_query *q, dp_error *err)
{
    size_t n = list != NULL ? (size_t)cJSON_GetArraySize(list) : 0;
    dp_what_if *with = dp_arena_alloc_n(dp_ctx_arena(rq->ctx), n, sizeof(*with));
    const cJSON *item;

    if (with == NULL)
        return no_memory(err);
    q->with = with;
    cJSON_ArrayForEach(item, list) with[q->n_with++] =
        (dp_what_if){param_str(item, "op"), param_str(item, "key")};
    return 0;
}

static void write_table(jw *w, const table_query *q, const char *const *cells)
{
    char name[DP_KEY_NAME_MAX];

    jw_object(w);
    jw_key(w, "keys");
    jw_array(w);
    for (size_t k = 0; k < q->n_keys; k++)
        jw_str(w, dp_key_name(q->keys[k], name));
    jw_array_end(w);
    jw_key(w, "rows");
    jw_array(w);
    for (size_t i = 0; i < q->n_ops && !w->failed; i++) {
        jw_object(w);
        member_str(w, "op", q->ops[i]);
        member_strings(w, "cells", cells + i * q->n_keys, q->n_keys);
        jw_object_end(w);
    }
    jw_array_end(w);
    jw_object_end(w);
}

int registry_table(request *rq, const registry_table_params *p, jw *w, dp_error *err)
{
    table_query q = {0};
    const char **cells;

    if (read_ops(rq, p->ops, &q, err) < 0 || read_keys(rq, p->keys, &q, err) < 0 ||
        read_with(rq, p->with, &q, err) < 0)
        return err->code;
    int rc = dp_registry_table(registry_of(rq), q.ops, q.n_ops, q.keys, q.n_keys, q.with, q.n_with,
                               dp_ctx_arena(rq->ctx), &cells, err);
    if (rc == 0)
        write_table(w, &q, cells);
    return rc;
}

/* Order keys by priority: highest functionality first, then highest backend first; Undefined is
 * last. */
static int by_priority(const void *a, const void *b)
{
    dp_key x = *(const dp_key *)a, y = *(const dp_key *)b;
    uint64_t fx = dp_keyset_of(x).functionality, fy = dp_keyset_of(y).functionality;

    return fx != fy ? (fx < fy ? 1 : -1) : (x < y) - (x > y);
}

static const char *kind_of(dp_key k)
{
    char owner[DP_LIMIT_NAME_BYTES + 1];

    if (dp_kind_owner(k, owner) != NULL)
        return "wrapper kind";
    if (dp_key_is_alias(k))
        return "alias";
    return dp_key_backend(k) >= 0 ? "per-backend" : "functionality";
}

/* Does a plugin own backend `b`?  While a plugin provides the device of a built-in backend, the
 * plugin owns that backend. */
static bool is_owned(const dp_backend_info *b)
{
    return b->named || b->owner[0] != '\0';
}

static void write_key_fallback(jw *w, const dp_key_fallback *f)
{
    jw_key(w, "fallback");
    jw_object(w);
    member_str(w, "kind", f->kind);
    if (f->from.plugin != NULL)
        write_provenance(w, &f->from);
    member_str(w, "pytorch", f->pytorch);
    if (f->reason != NULL)
        member_str(w, "reason", f->reason);
    jw_object_end(w);
}

/* `fallback`: that of a runtime key; NULL: `k` is an alias key. */
static void write_key_row(jw *w, dp_key k, const dp_key_fallback *fallback,
                          const dp_backend_info *backends, size_t n)
{
    char owner[DP_LIMIT_NAME_BYTES + 1];

    jw_object(w);
    write_key(w, k);
    member_str(w, "kind", kind_of(k));
    if (dp_kind_owner(k, owner) != NULL && owner[0] != '\0')
        member_str(w, "owner", owner);
    for (size_t i = 0; i < n; i++)
        if (is_owned(&backends[i]) && backends[i].bit == dp_key_backend(k))
            member_str(w, "owner", backends[i].owner);
    if (fallback != NULL)
        write_key_fallback(w, fallback);
    jw_object_end(w);
}

static void write_backend(jw *w, const dp_backend_info *b)
{
    jw_object(w);
    member_str(w, "key", b->name);
    member_str(w, "kind", "backend");
    if (is_owned(b))
        member_str(w, "owner", b->owner);
    member_int(w, "storages", b->storages);
    jw_object_end(w);
}

int registry_keys(request *rq, jw *w, dp_error *err)
{
    dp_arena *arena = dp_ctx_arena(rq->ctx);
    const dp_backend_info *backends;
    const dp_key *keys;
    const dp_key_fallback *fallbacks;
    size_t n_backends = dp_backend_list(arena, &backends);
    size_t n = dp_registry_keys(registry_of(rq), arena, &keys), runtime = 0;

    dp_key *sorted = dp_arena_dup_n(arena, keys, n, sizeof(*keys));
    if (n_backends == 0 || n == 0 || sorted == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: the list of keys");
    while (runtime < n && !dp_key_is_alias(sorted[runtime]))
        runtime++;
    qsort(sorted, runtime, sizeof(*sorted), by_priority);
    if (dp_registry_key_fallbacks(registry_of(rq), sorted, runtime, arena, &fallbacks, err) < 0)
        return err->code;
    jw_object(w);
    jw_key(w, "keys");
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        write_key_row(w, sorted[i], i < runtime ? &fallbacks[i] : NULL, backends, n_backends);
    for (size_t i = n_backends; i-- > 0;)
        write_backend(w, &backends[i]);
    jw_array_end(w);
    jw_object_end(w);
    return 0;
}

/* -- explain -- */

static void write_steps(jw *w, const char *name, const dp_explain_step *steps, uint32_t n)
{
    jw_key(w, name);
    jw_array(w);
    for (uint32_t i = 0; i < n; i++) {
        jw_object(w);
        write_key(w, steps[i].key);
        if (steps[i].provenance != NULL)
            member_str(w, "provenance", steps[i].provenance);
        if (steps[i].from.plugin != NULL)
            write_provenance(w, &steps[i].from);
        member_str(w, "why", steps[i].why != NULL ? steps[i].why : "");
        if (steps[i].assumed)
            member_bool(w, "assumed", true);
        jw_object_end(w);
    }
    jw_array_end(w);
}

int registry_explain(request *rq, const registry_explain_params *p, jw *w, dp_error *err)
{
    dp_bound bound;
    dp_explanation e;
    dp_fallback_count *fallbacks;
    size_t n;
    int rc = bind_from_json(rq, p->op, p->args, p->kwargs, &bound, err);

    if (rc == 0 && dp_explain(rq->ctx, &bound, dp_ctx_arena(rq->ctx), &e) < 0)
        rc = run_ctx_error(rq, err);
    if (rc == 0)
        rc = request_fallbacks(rq, dp_op_name(e.op), &fallbacks, &n, err);
    if (rc < 0)
        return rc;
    jw_object(w);
    member_str(w, "op", dp_op_name(e.op));
    keyset_to_json(w, "argument_keys", e.argument_keys);
    keyset_to_json(w, "merged", e.merged);
    keyset_to_json(w, "after_state", e.after_state);
    write_steps(w, "path", e.path, e.n_path);
    write_steps(w, "skipped", e.skipped, e.n_skipped);
    fallbacks_to_json(w, fallbacks, n);
    jw_object_end(w);
    return 0;
}

/* -- dump, check -- */

int registry_dump(request *rq, jw *w, dp_error *err)
{
    const char *text;
    int rc = dp_registry_dump(registry_of(rq), dp_ctx_arena(rq->ctx), &text, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    member_str(w, "text", text);
    jw_object_end(w);
    return 0;
}

int registry_check(request *rq, jw *w, dp_error *err)
{
    const char *const *violations;
    size_t n;
    int rc = dp_registry_check(registry_of(rq), dp_ctx_arena(rq->ctx), &violations, &n, err);

    if (rc < 0)
        return rc;
    jw_object(w);
    member_bool(w, "ok", n == 0);
    member_strings(w, "violations", violations, n);
    jw_object_end(w);
    return 0;
}
