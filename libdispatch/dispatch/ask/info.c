/* info.c -- queries about the registry: one operator, lists, tables, keys and statistics.
 *
 * The functions read the registry's truth (all that plugins registered) under its lock, since
 * snapshots do not contain inactive kernels: those for whose key a newer kernel is registered.  The
 * results are copied into the caller's arena. */
#include "ask.h"
#include "dispatch/call/ctx.h"
#include "dispatch/plugin/plugin_i.h"
#include <stdio.h>
#include <stdlib.h>

/* -- finding operators -- */

bool dpi_op_alive(const dp_op *op)
{
    return op->schema != NULL || op->n_stacks > 0;
}

/* Find an operator.  The caller holds the registry's lock, so the snapshot is not freed. */
static const dp_op *find_op(dp_registry *reg, const char *name, dp_error *err)
{
    const dpi_snapshot *s = atomic_load(&reg->current);
    const dpi_entry *e = dpi_snapshot_find(s, name, strlen(name));

    if (e == NULL)
        dpi_no_operator(s, name, err);
    return e ? e->op : NULL;
}

/* -- describe -- */

static const dp_argument_info *describe_arguments(dpi_answer *a, const dpi_argument *args,
                                                  uint32_t n)
{
    dp_argument_info *out = dpi_answer_alloc(a, n, sizeof(*out));
    dpi_text type = {0};

    for (uint32_t i = 0; out != NULL && i < n; i++) {
        type.len = 0;
        dpi_type_print(&type, args[i].type, false);
        a->failed |= type.failed;
        out[i].name = dpi_answer_str(a, args[i].name);
        out[i].type = type.failed ? NULL : dpi_answer_str(a, type.s);
        out[i].default_value = args[i].has_default ? dpi_answer_str(a, args[i].default_text) : NULL;
        out[i].kwarg_only = args[i].kwarg_only;
        out[i].written = args[i].written;
    }
    dpi_text_fini(&type);
    return out;
}

static dp_kernel_info kernel_info(dpi_answer *a, const dpi_kernel *k, bool active)
{
    dp_kernel_info info = {.key = k->key, .active = active};

    info.from = dpi_answer_from(a, k->gen, k->file, k->line);
    info.fallthrough = (k->flags & DP_FLAG_FALLTHROUGH) != 0;
    info.unboxed = k->unboxed != NULL;
    info.for_gradients = (k->flags & DP_FLAG_GRAD) != 0;
    info.id = k->id;
    return info;
}

/* The kernels of an operator: infos[i] describes kernel truth[i].  Table cells in an answer point
 * to infos[i]. */
typedef struct kernel_list {
    uint32_t n;
    const dpi_kernel **truth;
    dp_kernel_info *infos;
} kernel_list;

static void describe_kernels(dpi_answer *a, const dp_op *op, kernel_list *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op->n_stacks; i++)
        n += op->stacks[i].n;
    list->infos = dpi_answer_alloc(a, n, sizeof(*list->infos));
    list->truth = dpi_answer_alloc(a, n, sizeof(*list->truth));
    if (a->failed)
        return;
    for (uint32_t i = 0; i < op->n_stacks; i++)
        for (uint32_t j = 0; j < op->stacks[i].n; j++) {
            list->truth[list->n] = op->stacks[i].kernels[j];
            list->infos[list->n++] = kernel_info(a, op->stacks[i].kernels[j], j == 0);
        }
}

/* Return the info of the kernel in cell `c` of key `k`: the info in `list` if the kernel is one of
 * the operator's, or a new info if it is a fallback or the dispatcher's own fallthrough.  NULL: the
 * cell has no kernel, or no memory. */
static const dp_kernel_info *cell_kernel(dpi_answer *a, const kernel_list *list, dp_key k,
                                         dpi_cell c)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->truth[i] == c.kernel)
            return &list->infos[i];
    if (c.kernel == NULL && c.provenance != DPI_P_FALLTHROUGH)
        return NULL;
    dp_kernel_info *info = dpi_answer_alloc(a, 1, sizeof(*info));
    if (info == NULL)
        return NULL;
    if (c.kernel != NULL)
        *info = kernel_info(a, c.kernel, true);
    else
        *info = (dp_kernel_info){.key = k, .active = true, .fallthrough = true};
    info->from = dpi_answer_cell(a, c);
    return info;
}

static void describe_cells(dpi_answer *a, const dp_registry *reg, const dp_op *op,
                           const kernel_list *list, dp_op_info *out)
{
    dp_key keys[DPI_SLOTS_MAX];
    size_t n = dpi_runtime_keys(keys);
    dp_cell_info *cells = dpi_answer_alloc(a, n, sizeof(*cells));

    for (size_t i = 0; cells != NULL && i < n; i++) {
        dpi_cell c = dpi_table_cell(op, &reg->fallbacks, keys[i], NULL, 0);
        cells[i].key = keys[i];
        cells[i].provenance = dpi_provenance_names[c.provenance];
        cells[i].kernel = cell_kernel(a, list, keys[i], c);
    }
    out->cells = cells;
    out->n_cells = (uint32_t)n;
}

static void describe_op(dpi_answer *a, const dp_registry *reg, const dp_op *op, dp_op_info *out)
{
    const dp_schema *s = op->schema;
    kernel_list list = {0};

    memset(out, 0, sizeof(*out));
    out->name = dpi_answer_str(a, op->name);
    out->tags = dpi_answer_str(a, op->tags ? op->tags : "");
    if (s != NULL) {
        out->schema = dpi_answer_str(a, s->text);
        out->defined_by = dpi_answer_from(a, op->def_gen, op->def_file, op->def_line);
        out->n_args = s->n_args;
        out->n_rets = s->n_rets;
        out->args = describe_arguments(a, s->args, s->n_args);
        out->rets = describe_arguments(a, s->rets, s->n_rets);
    }
    describe_kernels(a, op, &list);
    out->kernels = list.infos;
    out->n_kernels = list.n;
    describe_cells(a, reg, op, &list, out);
}

int dp_registry_describe(dp_registry *reg, const char *name, dp_arena *arena, dp_op_info *out,
                         dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, name, arena, out))
        return DP_EVALUE;
    dpi_answer a = {arena, false};
    int rc = 0;

    pthread_mutex_lock(&reg->lock);
    const dp_op *op = find_op(reg, name, err);
    if (op != NULL)
        describe_op(&a, reg, op, out);
    else
        rc = DP_ENOTFOUND;
    pthread_mutex_unlock(&reg->lock);
    if (rc == 0 && a.failed)
        rc = dpi_no_memory(err, "description of an operator");
    if (rc == 0)
        out->calls = dpi_op_calls(reg, op->id); /* without the lock: an operator is not freed */
    return rc;
}

/* -- list -- */

/* The caller's filter, and the key that f->key names. */
typedef struct filter {
    const dp_list_filter *f;
    dp_key key;
} filter;

static bool has_plugin(const dp_op *op, const char *plugin)
{
    if (op->schema != NULL && strcmp(op->def_gen->plugin, plugin) == 0)
        return true;
    for (uint32_t i = 0; i < op->n_stacks; i++)
        for (uint32_t j = 0; j < op->stacks[i].n; j++)
            if (strcmp(op->stacks[i].kernels[j]->gen->plugin, plugin) == 0)
                return true;
    return false;
}

static bool has_key(const dp_op *op, dp_key key)
{
    for (uint32_t i = 0; i < op->n_stacks; i++)
        if (op->stacks[i].key == key)
            return true;
    return false;
}

static bool in_namespace(const char *name, const char *ns)
{
    size_t n = strlen(ns);
    return strncmp(name, ns, n) == 0 && strncmp(name + n, "::", 2) == 0;
}

static bool passes(const filter *x, const dp_op *op)
{
    const dp_list_filter *f = x->f;

    if (!dpi_op_alive(op))
        return false;
    if (f == NULL)
        return true;
    return (f->ns == NULL || in_namespace(op->name, f->ns)) &&
           (f->match == NULL || strstr(op->name, f->match) != NULL) &&
           (f->key == NULL || has_key(op, x->key)) &&
           (f->plugin == NULL || has_plugin(op, f->plugin)) && (!f->dangling || op->schema == NULL);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int dp_registry_list(dp_registry *reg, const dp_list_filter *f, dp_arena *arena,
                     const char *const **out, size_t *n, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, arena, out, n))
        return DP_EVALUE;
    filter x = {f, DP_KEY_Undefined};
    int rc = f && f->key ? dp_key_lookup(f->key, &x.key, err) : 0;

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&reg->lock);
    /* Names are not copied: an operator's name lives as long as the registry. */
    const char **names = dp_arena_alloc_n(arena, reg->n_ops + 1, sizeof(*names));
    size_t count = 0;
    for (uint32_t i = 0; names != NULL && i < reg->n_ops; i++)
        if (passes(&x, reg->ops[i]))
            names[count++] = reg->ops[i]->name;
    pthread_mutex_unlock(&reg->lock);
    if (names == NULL)
        return dpi_no_memory(err, "list of operators");
    qsort(names, count, sizeof(*names), by_name);
    *out = names;
    *n = count;
    return 0;
}

/* -- table -- */

/* A kernel that the caller asks about, but that does not exist: row `row` of the table is computed
 * as if the row's operator had a kernel for `key`, too. */
typedef struct extra {
    size_t row;
    dp_key key;
} extra;

static int find_extra(const char *const *ops, size_t n_ops, const dp_what_if *with, extra *out,
                      dp_error *err)
{
    int rc = dp_key_lookup(with->key, &out->key, err);

    if (rc < 0)
        return rc;
    if (out->key == DP_KEY_Undefined)
        return dp_error_set(
            err, DP_EVALUE,
            "with: a kernel for Undefined is one for CompositeImplicitAutograd; name that");
    for (out->row = 0; out->row < n_ops; out->row++)
        if (strcmp(ops[out->row], with->op) == 0)
            return 0;
    return dp_error_set(err, DP_EVALUE, "with: '%s' is not among the operators asked for",
                        with->op);
}

/* Fill the row of operator `name` as if it had kernels for `extra_keys`, too. */
static int fill_row(dp_registry *reg, const char *name, const dp_key *keys, size_t n_keys,
                    const dp_key *extra_keys, size_t n_extra_keys, const char **cells,
                    dp_error *err)
{
    const dp_op *op = find_op(reg, name, err);

    if (op == NULL)
        return DP_ENOTFOUND;
    for (size_t i = 0; i < n_keys; i++) {
        dpi_cell c = dpi_table_cell(op, &reg->fallbacks, keys[i], extra_keys, n_extra_keys);
        cells[i] = dpi_provenance_names[c.provenance];
    }
    return 0;
}

int dp_registry_table(dp_registry *reg, const char *const *ops, size_t n_ops, const dp_key *keys,
                      size_t n_keys, const dp_what_if *with, size_t n_with, dp_arena *arena,
                      const char ***cells, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, arena, cells))
        return DP_EVALUE;
    dpi_answer a = {arena, false};
    const char **out = dpi_answer_alloc(&a, n_ops * n_keys, sizeof(*out));
    extra *extras = dpi_answer_alloc(&a, n_with, sizeof(*extras));
    dp_key *extra_keys = dpi_answer_alloc(&a, n_with, sizeof(*extra_keys));
    int rc = a.failed ? dpi_no_memory(err, "table of operators") : 0;

    for (size_t i = 0; rc == 0 && i < n_keys; i++)
        if (dp_key_is_alias(keys[i]))
            rc = dp_error_set(err, DP_EVALUE, "an alias key has no table of its own");
    for (size_t i = 0; rc == 0 && i < n_with; i++)
        rc = find_extra(ops, n_ops, &with[i], &extras[i], err);
    pthread_mutex_lock(&reg->lock);
    for (size_t row = 0; rc == 0 && row < n_ops; row++) {
        size_t n_extra_keys = 0;
        for (size_t i = 0; i < n_with; i++)
            if (extras[i].row == row)
                extra_keys[n_extra_keys++] = extras[i].key;
        rc = fill_row(reg, ops[row], keys, n_keys, extra_keys, n_extra_keys, out + row * n_keys,
                      err);
    }
    pthread_mutex_unlock(&reg->lock);
    if (rc == 0)
        *cells = out;
    return rc;
}

size_t dp_registry_keys(dp_registry *reg, dp_arena *a, const dp_key **out)
{
    dp_key keys[DPI_SLOTS_MAX + DP_ALIAS_END - DP_ALIAS_FIRST];
    size_t n = dpi_runtime_keys(keys);

    (void)reg;
    for (int alias = DP_ALIAS_FIRST; alias < DP_ALIAS_END; alias++)
        keys[n++] = DP_KEY(alias);
    *out = dp_arena_dup_n(a, keys, n, sizeof(*keys));
    return *out ? n : 0;
}

/* -- statistics -- */

void dp_registry_stats_get(dp_registry *reg, dp_registry_stats *out)
{
    memset(out, 0, sizeof(*out));
    pthread_mutex_lock(&reg->lock);
    for (const dp_unit *u = reg->units; u != NULL; u = u->next)
        out->plugins++;
    out->draining = dpi_plugins_draining(reg);
    out->kernels = reg->n_kernels;
    out->snapshots = atomic_load(&reg->current)->number;
    for (uint32_t i = 0; i < reg->n_ops; i++)
        out->ops += dpi_op_alive(reg->ops[i]);
    pthread_mutex_unlock(&reg->lock);
    for (int b = DP_B_NAMED_FIRST; b < DP_B_NAMED_FIRST + DP_B_NAMED_MAX; b++)
        out->backends += dpi_backend_name(b) != NULL;
    out->calls = dpi_registry_calls(reg);
}

int dp_registry_calls(dp_registry *reg, dp_arena *a, const dp_op_calls **out, size_t *n,
                      dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, a, out, n))
        return DP_EVALUE;
    pthread_mutex_lock(&reg->lock);
    uint32_t n_ops = reg->n_ops;
    dp_op_calls *rows = dp_arena_alloc_n(a, n_ops, sizeof(*rows));
    for (uint32_t i = 0; rows != NULL && i < n_ops; i++)
        rows[i].op = reg->ops[i]->name; /* operators are not freed before the registry */
    pthread_mutex_unlock(&reg->lock);
    uint64_t *sums = dp_arena_alloc_n(a, n_ops, sizeof(*sums));
    if (rows == NULL || sums == NULL)
        return dpi_no_memory(err, "the numbers of calls");
    dpi_ops_calls(reg, sums, n_ops);
    size_t called = 0;
    for (uint32_t i = 0; i < n_ops; i++)
        if (sums[i] > 0)
            rows[called++] = (dp_op_calls){rows[i].op, sums[i]};
    *out = rows;
    *n = called;
    return 0;
}
