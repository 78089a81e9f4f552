/* check.c -- check that a registry's dispatch tables match its truth (invariant I1 of entry.h).
 *
 * The truth is the list of all definitions and kernels that plugins registered.  Every table cell
 * of the current snapshot is computed from the truth again and compared. */
#include "ask.h"
#include "dispatch/registry/registry.h"
#include <stdarg.h>
#include <stdio.h>

typedef struct check {
    dpi_answer a;
    const dp_registry *reg;
    const dpi_snapshot *s; /* the current snapshot */
    const char **line;     /* [n] violations, in the answer's arena */
    size_t n, cap;
} check;

static void violation(check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void violation(check *c, const char *format, ...)
{
    char text[512];
    va_list ap;

    if (c->n == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 16;
        const char **grown = dpi_answer_alloc(&c->a, cap, sizeof(*grown));
        if (grown == NULL)
            return;
        if (c->n > 0)
            dp_copy_n(grown, c->line, c->n, sizeof(*grown));
        c->line = grown;
        c->cap = cap;
    }
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    c->line[c->n++] = dpi_answer_str(&c->a, text);
}

/* May `newer` stand directly before `older` in a list of kernels that is sorted newest first? */
static bool in_order(const dpi_kernel *newer, const dpi_kernel *older)
{
    if (newer->gen->load_number != older->gen->load_number)
        return newer->gen->load_number > older->gen->load_number;
    return newer->gen != older->gen || newer->order > older->order;
}

/* Check that an operator's lists of kernels are sorted by key and each list newest first. */
static void check_stacks(check *c, const dp_op *op)
{
    char key[DP_KEY_NAME_MAX];

    for (uint32_t i = 0; i < op->n_stacks; i++) {
        const dpi_stack *s = &op->stacks[i];
        dp_key_name(s->key, key);
        if (s->n == 0)
            violation(c, "%s: empty list of kernels for %s", op->name, key);
        if (s->key == DP_KEY_Undefined)
            violation(c, "%s: kernels registered for Undefined", op->name);
        if (i > 0 && op->stacks[i - 1].key >= s->key)
            violation(c, "%s: %s is out of order among its keys", op->name, key);
        for (uint32_t j = 0; j < s->n; j++) {
            if (s->kernels[j]->key != s->key)
                violation(c, "%s: a kernel of another key stands under %s", op->name, key);
            if (j > 0 && !in_order(s->kernels[j - 1], s->kernels[j]))
                violation(c, "%s: kernels of %s are not newest first", op->name, key);
        }
    }
}

/* Check the bit of key `k` in the masks of `e`: it must be set unless calls pass over `cell`, the
 * key's table cell.  Each backend has two masks: one for calls in which no argument may need a
 * gradient, and one for calls in which an argument may (their key set has DPI_GRAD_BIT). */
static void check_mask(check *c, const dpi_entry *e, dp_key k, dpi_cell cell)
{
    int b = dp_key_backend(k);
    unsigned first = b < 0 ? 0 : dpi_slot_rows[b].column, last = b < 0 ? e->n_columns : first + 1;
    char key[DP_KEY_NAME_MAX];

    if (k == DP_KEY_Undefined)
        return;
    for (unsigned i = 2 * first; i < 2 * last; i++) {
        bool passed_over =
            dpi_cell_falls_through(cell) || (i % 2 == 0 && dpi_cell_needs_grad(cell));
        if (((e->mask[i] & dpi_key_bit(k)) != 0) != passed_over)
            continue;
        violation(c, "%s: %s is %s by its table, but %s by its mask %s the skip bit", e->op->name,
                  dp_key_name(k, key), passed_over ? "passed over" : "a kernel's",
                  passed_over ? "kept" : "skipped", i % 2 ? "with" : "without");
        break;
    }
}

static void check_cell(check *c, const dp_op *op, const dpi_entry *e, unsigned slot)
{
    dp_key k = dpi_slot_key(slot);
    dpi_cell want = dpi_table_cell(op, &c->reg->fallbacks, k, NULL, 0), have = dpi_entry_cell(e, k);
    bool ambiguous = e->table[slot] == DPI_CELL_AMBIGUOUS;
    char key[DP_KEY_NAME_MAX];

    if (!dpi_same_cell(want, have) || ambiguous != (want.provenance == DPI_P_AMBIGUOUS))
        violation(c, "%s: table of %s says %s (%s:%u), its registrations say %s (%s:%u)", op->name,
                  dp_key_name(k, key), dpi_provenance_names[have.provenance],
                  have.kernel ? have.kernel->file : "", have.kernel ? have.kernel->line : 0,
                  dpi_provenance_names[want.provenance], want.kernel ? want.kernel->file : "",
                  want.kernel ? want.kernel->line : 0);
    check_mask(c, e, k, want);
}

static void check_op(check *c, const dp_op *op)
{
    const dpi_entry *e = dpi_snapshot_entry(c->s, op);

    if (!dpi_op_alive(op)) {
        if (e != NULL)
            violation(c, "%s: nothing is registered, but the snapshot has it", op->name);
        return;
    }
    if (e == NULL) {
        violation(c, "%s: registered, but not in the snapshot", op->name);
        return;
    }
    if (e->op != op || e->schema != op->schema)
        violation(c, "%s: the snapshot's schema is not the one defined", op->name);
    if (op->schema != NULL && strcmp(op->schema->name, op->name) != 0)
        violation(c, "%s: its schema is named %s", op->name, op->schema->name);
    if (dpi_snapshot_find(c->s, op->name, strlen(op->name)) != e)
        violation(c, "%s: its name does not lead to it", op->name);
    check_stacks(c, op);
    for (unsigned slot = 0; slot < e->n_slots; slot++)
        check_cell(c, op, e, slot);
}

/* Check that every table has cells for the backends that the registry's plugins registered. */
static void check_table_sizes(check *c)
{
    for (const dp_unit *u = c->reg->units; u != NULL; u = u->next)
        for (uint32_t i = 0; i < u->n_regs; i++) {
            const dpi_reg *r = &u->regs[i];
            if (r->kind != DPI_REG_BACKEND)
                continue;
            for (uint32_t id = 0; id < c->s->n_entries; id++) {
                const dpi_entry *e = c->s->entries[id];
                if (e != NULL && dpi_key_slot(DP_KEY_OF(DP_F_AutocastNamed, r->bit)) >= e->n_slots)
                    violation(c, "%s: its table has no room for backend %s", e->op->name, r->name);
            }
        }
}

static void check_fallbacks(check *c)
{
    char key[DP_KEY_NAME_MAX];

    for (unsigned slot = 0; slot < DPI_SLOTS_MAX; slot++) {
        const dpi_kernel *k = c->reg->fallbacks.kernel[slot];
        if (k != NULL && !dpi_alias_has(k->key, dpi_slot_key(slot)))
            violation(c, "fallback at %s:%u serves %s, which is not its key", k->file, k->line,
                      dp_key_name(dpi_slot_key(slot), key));
    }
    for (int r = 0; r < DPI_RANKS; r++) {
        const dpi_kernel *k = c->reg->fallbacks.of_all[r];
        if (k != NULL && (k->key != dpi_rank_keys[r] || !dpi_is_functionality(k->key)))
            violation(c, "fallback at %s:%u serves every %s, which is not its key", k->file,
                      k->line, dp_key_name(dpi_rank_keys[r], key));
    }
}

int dp_registry_check(dp_registry *reg, dp_arena *a, const char *const **violations, size_t *n,
                      dp_error *err)
{
    if (!DPI_GIVEN(err, DP_EVALUE, reg, a, violations, n))
        return DP_EVALUE;
    check c = {.a = {a, false}, .reg = reg};

    pthread_mutex_lock(&reg->lock);
    c.s = atomic_load(&reg->current);
    for (uint32_t i = 0; i < reg->n_ops; i++)
        check_op(&c, reg->ops[i]);
    check_table_sizes(&c);
    check_fallbacks(&c);
    pthread_mutex_unlock(&reg->lock);
    if (c.a.failed)
        return dpi_no_memory(err, "check of the registry");
    *violations = c.line;
    *n = c.n;
    return 0;
}
