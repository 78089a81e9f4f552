/* dump.c -- print all registrations of a registry as canonical text.
 *
 * Two registries with the same set of registrations give the same bytes, in whatever order plugins
 * were loaded and unloaded (invariant I5).  Therefore no generation, load number, address, operator
 * id or backend bit is printed, and all lines are sorted; keys of named backends are sorted by the
 * backend's name.  Only the kernels of one operator for one key keep their order, newest first.
 *
 * In an operator's table, keys with the same kernel, chosen by the same rule, share a line.
 * `Autograd*` stands for all keys of a per-backend functionality, and `Autograd* but AutogradCPU`
 * for all except AutogradCPU.  A key that is on no line either falls through by the dispatcher's
 * own rule (the dump's head lists these keys) or has no kernel. */
#include "ask.h"
#include "base/kind.h"
#include "dispatch/registry/registry.h"
#include <stdio.h>
#include <stdlib.h>

/* -- keys in canonical order -- */

/* The keys that a dump names: those of built-in backends and of backends in this registry. */
typedef struct key_list {
    size_t n;
    dp_key key[DPI_SLOTS_MAX];
    char name[DPI_SLOTS_MAX][DP_KEY_NAME_MAX];
    uint32_t width[DPI_RANKS]; /* number of keys of each functionality, by its rank */
} key_list;

/* Is `backend` one that a plugin registered by name? */
static bool is_named(int backend)
{
    return backend >= DP_B_NAMED_FIRST && backend != DP_B_Meta;
}

/* Return the registration of the backend whose bit is `bit`; NULL: this registry has none. */
static const dpi_reg *backend_reg(const dp_registry *reg, int bit)
{
    for (const dp_unit *u = reg->units; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->n_regs; i++)
            if (u->regs[i].kind == DPI_REG_BACKEND && u->regs[i].bit == bit)
                return &u->regs[i];
    return NULL;
}

/* Order keys by functionality, lowest priority first.  Keys of one functionality are ordered by
 * backend: built-in ones by bit, then named ones by name, then Meta. */
static int compare_keys(dp_key a, dp_key b)
{
    int ra = dpi_rank(a), rb = dpi_rank(b);
    int ba = dp_key_backend(a), bb = dp_key_backend(b);
    char na[DP_KEY_NAME_MAX], nb[DP_KEY_NAME_MAX];

    /* The numbers of keys of wrapper tensors depend on the order in which plugins were loaded. */
    if (dpi_kind_slot(a) >= 0 && dpi_kind_slot(b) >= 0)
        return strcmp(dp_key_name(a, na), dp_key_name(b, nb));
    if (ra != rb)
        return ra < rb ? -1 : 1;
    if (is_named(ba) && is_named(bb))
        return strcmp(dp_key_name(a, na), dp_key_name(b, nb));
    return (ba > bb) - (ba < bb);
}

static int by_key(const void *a, const void *b)
{
    return compare_keys(*(const dp_key *)a, *(const dp_key *)b);
}

/* Fill `keys` with the keys of a dump, in canonical order. */
static void list_keys(const dp_registry *reg, key_list *keys)
{
    dp_key all[DPI_SLOTS_MAX];
    size_t n = dpi_runtime_keys(all);

    memset(keys, 0, sizeof(*keys));
    for (size_t i = 0; i < n; i++) {
        int b = dp_key_backend(all[i]);
        if (!is_named(b) || backend_reg(reg, b) != NULL)
            keys->key[keys->n++] = all[i];
    }
    qsort(keys->key, keys->n, sizeof(dp_key), by_key);
    for (size_t i = 0; i < keys->n; i++) {
        dp_key_name(keys->key[i], keys->name[i]);
        keys->width[dpi_rank(keys->key[i])]++;
    }
}

/* -- lists of keys as text -- */

/* Print `name`, the name of key `k`, with "*" for its backend: "Autograd*" for AutogradCPU.  For a
 * key of Dense, whose name is just the backend's ("CPU"), print "Dense*". */
static void print_star(dpi_text *t, dp_key k, const char *name)
{
    size_t n = strlen(name) - strlen(dpi_backend_name(dp_key_backend(k)));
    dpi_text_printf(t, "%.*s*", n ? (int)n : 5, n ? name : "Dense");
}

/* Print the keys from `first` to `last` - 1 whose included[i] is true.  All of these keys have the
 * same functionality. */
static void print_functionality(dpi_text *t, const key_list *keys, const bool *included,
                                size_t first, size_t last)
{
    size_t n = 0;
    const char *sep = "";

    for (size_t i = first; i < last; i++)
        n += included[i];
    bool star = last - first > 1 && n > (last - first) / 2;
    if (star)
        print_star(t, keys->key[first], keys->name[first]);
    if (star && n < last - first)
        sep = " but ";
    for (size_t i = first; i < last; i++)
        if (included[i] != star) {
            dpi_text_printf(t, "%s%s", sep, keys->name[i]);
            sep = star ? " and " : ", ";
        }
}

/* Print the keys whose included[i] is true, as "Autograd* but AutogradCPU, CPU". */
static void print_keys(dpi_text *t, const key_list *keys, const bool *included)
{
    const char *sep = "";

    for (size_t i = 0, next; i < keys->n; i = next) {
        bool any = false;
        next = i + keys->width[dpi_rank(keys->key[i])];
        for (size_t j = i; j < next; j++)
            any |= included[j];
        if (!any)
            continue;
        dpi_text_add(t, sep);
        print_functionality(t, keys, included, i, next);
        sep = ", ";
    }
    dpi_text_add(t, "\n");
}

/* -- kernels -- */

static void print_kernel(dpi_text *t, const dpi_kernel *k)
{
    dpi_text_printf(t, "%s %s:%u", k->gen->plugin, k->file, k->line);
    if (k->flags & DP_FLAG_FALLTHROUGH)
        dpi_text_add(t, " [fallthrough]");
    if (k->flags & DP_FLAG_BELOW)
        dpi_text_add(t, " [redispatches below]");
    if (k->flags & DP_FLAG_GRAD)
        dpi_text_add(t, " [for gradients]");
    if (k->key == DP_KEY(DP_ALIAS_AutogradFormula))
        dpi_text_add(t, " [formula]");
    if (k->flags & DP_FLAG_META)
        dpi_text_add(t, " [without memory, too]");
    if (k->flags & DP_FLAG_VIEWS)
        dpi_text_add(t, " [makes its views]");
    if (k->unboxed != NULL)
        dpi_text_printf(t, " [%s]", k->code);
}

static int by_stack(const void *a, const void *b)
{
    return compare_keys((*(const dpi_stack *const *)a)->key, (*(const dpi_stack *const *)b)->key);
}

static int print_stacks(dpi_text *t, const dp_op *op)
{
    const dpi_stack **sorted = dp_malloc_n(op->n_stacks + 1, sizeof(*sorted));
    char name[DP_KEY_NAME_MAX];

    if (sorted == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < op->n_stacks; i++)
        sorted[i] = &op->stacks[i];
    qsort(sorted, op->n_stacks, sizeof(*sorted), by_stack);
    for (uint32_t i = 0; i < op->n_stacks; i++)
        for (uint32_t j = 0; j < sorted[i]->n; j++) {
            dpi_text_printf(t, "  %s%s%s: ", dp_key_name(sorted[i]->key, name),
                            dp_key_is_alias(sorted[i]->key) ? "[alias]" : "",
                            j ? " (inactive)" : "");
            print_kernel(t, sorted[i]->kernels[j]);
            dpi_text_add(t, "\n");
        }
    dp_free(sorted);
    return 0;
}

static bool is_printed(dpi_cell c)
{
    return c.kernel != NULL || c.provenance == DPI_P_AMBIGUOUS;
}

/* Print a line for each distinct cell of the operator's table, with the keys that have the cell. */
static void print_table(dpi_text *t, const dp_registry *reg, const dp_op *op, const key_list *keys)
{
    dpi_cell cell[DPI_SLOTS_MAX];
    bool done[DPI_SLOTS_MAX] = {false}, included[DPI_SLOTS_MAX];

    for (size_t i = 0; i < keys->n; i++)
        cell[i] = dpi_table_cell(op, &reg->fallbacks, keys->key[i], NULL, 0);
    for (size_t i = 0; i < keys->n; i++) {
        if (done[i] || !is_printed(cell[i]))
            continue;
        for (size_t j = 0; j < keys->n; j++) {
            included[j] = dpi_same_cell(cell[i], cell[j]);
            done[j] |= included[j];
        }
        dpi_text_printf(t, "  > %s", dpi_provenance_names[cell[i].provenance]);
        if (cell[i].kernel != NULL)
            dpi_text_printf(t, ", %s %s:%u%s", cell[i].kernel->gen->plugin, cell[i].kernel->file,
                            cell[i].kernel->line,
                            dpi_cell_falls_through(cell[i]) ? " [fallthrough]"
                            : dpi_cell_needs_grad(cell[i])  ? " [for gradients]"
                                                            : "");
        dpi_text_add(t, ": ");
        print_keys(t, keys, included);
    }
}

static int print_op(dpi_text *t, const dp_registry *reg, const dp_op *op, const key_list *keys)
{
    dpi_text_printf(t, "%s\n", op->name);
    if (op->schema != NULL) {
        dpi_text_printf(t, "  schema: %s\n", op->schema->text);
        if (op->tags != NULL && op->tags[0] != '\0')
            dpi_text_printf(t, "  tags: %s\n", op->tags);
        dpi_text_printf(t, "  defined: %s %s:%u\n", op->def_gen->plugin, op->def_file,
                        op->def_line);
    } else {
        dpi_text_add(t, "  schema: (none)\n");
    }
    int rc = print_stacks(t, op);
    print_table(t, reg, op, keys);
    return rc;
}

/* -- the head -- */

/* Lines that are collected in registration order and printed in sorted order. */
typedef struct lines {
    char **line;
    uint32_t n, cap;
    bool failed;
} lines;

/* Add the line in `t` to the list, which takes over the memory of `t`. */
static void lines_add(lines *l, dpi_text *t)
{
    char **line = dpi_grow(l->line, &l->cap, l->n + 1, sizeof(*line));

    l->line = line != NULL ? line : l->line;
    if (t->failed || t->s == NULL || line == NULL) {
        l->failed = true;
        dpi_text_fini(t);
        return;
    }
    line[l->n++] = t->s;
    *t = (dpi_text){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Print "title:" and the sorted lines, and empty the list.  An empty list prints nothing. */
static void lines_print(lines *l, dpi_text *t, const char *title)
{
    if (l->n == 0)
        return;
    qsort(l->line, l->n, sizeof(char *), by_text);
    dpi_text_printf(t, "%s:\n", title);
    for (size_t i = 0; i < l->n; i++) {
        dpi_text_printf(t, "  %s\n", l->line[i]);
        dp_free(l->line[i]);
    }
    dpi_text_add(t, "\n");
    l->n = 0;
}

/* Print one registration, without indentation and newline. */
static void print_reg(dpi_text *t, const dpi_reg *r)
{
    char key[DP_KEY_NAME_MAX];

    switch (r->kind) {
    case DPI_REG_BACKEND:
        dpi_text_printf(t, "%s: %s %s:%u, memory: %s", r->name, r->gen->plugin, r->file, r->line,
                        r->device->host ? "host" : "its own");
        break;
    case DPI_REG_KIND:
    case DPI_REG_OBJECT:
        dpi_text_printf(t, "%s: %s %s:%u", r->name, r->gen->plugin, r->file, r->line);
        break;
    case DPI_REG_LIBRARY:
        dpi_text_printf(t, "%s: %s %s:%u", r->library->ns, r->gen->plugin, r->file, r->line);
        break;
    default:
        dpi_text_printf(t, "%s %s:%u", r->gen->plugin, r->file, r->line);
        if (r->kernel->observes != NULL)
            dpi_text_printf(t, ", of %s", r->kernel->observes->name);
        else if (r->key == DPI_OBSERVES_SESSIONS)
            dpi_text_add(t, ", of sessions that end");
        else if (r->key != DP_KEY_Undefined)
            dpi_text_printf(t, ", of %s", dp_key_name(r->key, key));
    }
}

/* Print all registrations whose kind is `kind`, DPI_REG_*.  `l`: an empty list, used as scratch. */
static void print_regs(dpi_text *t, const dp_registry *reg, int kind, const char *title, lines *l)
{
    for (const dp_unit *u = reg->units; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->n_regs; i++)
            if (u->regs[i].kind == kind) {
                dpi_text line = {0};
                print_reg(&line, &u->regs[i]);
                lines_add(l, &line);
            }
    lines_print(l, t, title);
}

static void print_units(dpi_text *t, const dp_registry *reg, lines *l)
{
    for (const dp_unit *u = reg->units; u != NULL; u = u->next) {
        dpi_text line = {0};
        dpi_text_printf(&line, "%s %s", u->gen->plugin, u->gen->version);
        lines_add(l, &line);
    }
    lines_print(l, t, "plugins");
}

/* Print fallback `k` if it is not NULL; `*any` says whether the title was printed before. */
static void print_fallback(dpi_text *t, bool *any, const char *key, const dpi_kernel *k)
{
    if (k == NULL)
        return;
    dpi_text_printf(t, "%s  %s: ", *any ? "" : "fallbacks:\n", key);
    print_kernel(t, k);
    dpi_text_add(t, "\n");
    *any = true;
}

static void print_fallbacks(dpi_text *t, const dp_registry *reg, const key_list *keys)
{
    char name[DP_KEY_NAME_MAX];
    bool any = false;

    for (size_t i = 0; i < keys->n; i++)
        print_fallback(t, &any, keys->name[i], reg->fallbacks.kernel[dpi_key_slot(keys->key[i])]);
    for (int r = 0; r < DPI_RANKS; r++)
        print_fallback(t, &any, dp_key_name(dpi_rank_keys[r], name), reg->fallbacks.of_all[r]);
    if (any)
        dpi_text_add(t, "\n");
}

/* Print the keys that fall through by the dispatcher's own rule: those that fall through for an
 * operator without any kernel, while no fallback is registered. */
static void print_host(dpi_text *t, const key_list *keys)
{
    static const dpi_fallbacks none;
    static const dp_op no_kernels;
    bool included[DPI_SLOTS_MAX];

    for (size_t i = 0; i < keys->n; i++)
        included[i] = dpi_table_cell(&no_kernels, &none, keys->key[i], NULL, 0).provenance ==
                      DPI_P_FALLTHROUGH;
    dpi_text_add(t, "host's fallthroughs: ");
    print_keys(t, keys, included);
    dpi_text_add(t, "\n");
}

static int by_op_name(const void *a, const void *b)
{
    return strcmp((*(dp_op *const *)a)->name, (*(dp_op *const *)b)->name);
}

static int print_ops(dpi_text *t, const dp_registry *reg, const key_list *keys)
{
    const dp_op **ops = dp_malloc_n(reg->n_ops + 1, sizeof(*ops));
    size_t n = 0;
    int rc = 0;

    if (ops == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < reg->n_ops; i++)
        if (dpi_op_alive(reg->ops[i]))
            ops[n++] = reg->ops[i];
    qsort(ops, n, sizeof(*ops), by_op_name);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = print_op(t, reg, ops[i], keys);
    dp_free(ops);
    return rc;
}

int dp_registry_dump(dp_registry *reg, dp_arena *a, const char **text, dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, a, text))
        return DP_EVALUE;
    key_list *keys = dp_malloc(sizeof(*keys));
    dpi_text t = {0};
    lines l = {0};

    if (keys == NULL)
        return dpi_no_memory(err, "dump of the registry");
    pthread_mutex_lock(&reg->lock);
    list_keys(reg, keys);
    print_units(&t, reg, &l);
    print_regs(&t, reg, DPI_REG_BACKEND, "backends", &l);
    print_regs(&t, reg, DPI_REG_KIND, "kinds", &l);
    print_regs(&t, reg, DPI_REG_OBJECT, "kinds of objects", &l);
    print_regs(&t, reg, DPI_REG_LIBRARY, "libraries", &l);
    print_regs(&t, reg, DPI_REG_OBSERVER, "observers", &l);
    print_fallbacks(&t, reg, keys);
    print_host(&t, keys);
    int rc = print_ops(&t, reg, keys);
    pthread_mutex_unlock(&reg->lock);

    const char *copy = t.failed || l.failed || rc < 0 ? NULL : dp_arena_dup(a, t.s, t.len + 1);
    dpi_text_fini(&t);
    dp_free(l.line);
    dp_free(keys);
    if (copy == NULL)
        return dpi_no_memory(err, "dump of the registry");
    *text = copy;
    return 0;
}
