/* canary.c -- a canary: a new generation of a plugin that serves some calls on trial, while the
 * generation in whose place it stands serves the others.
 *
 * The registry's truths (truth.h) do not have the canary's registrations.  A second snapshot,
 * reg->candidate, is computed from the truths as they would be if the canary had replaced the other
 * generation.  A context with dp_ctx_canary() pins that snapshot instead of reg->current, and a
 * call uses the snapshot that it has pinned to its end, so no call mixes the two generations. */
#include "base/process.h"
#include "change.h"
#include "thread.h"
#include <stdio.h>

static int refuse(const dp_unit *of, const char *what, const char *name, dp_error *err)
{
    return dp_error_set(err, DP_EVALUE,
                        "plugin '%s' cannot have a canary: it registers %s '%s', of which there is "
                        "one generation at a time; reload it without a share",
                        of->gen->plugin, what, name);
}

int dpi_canary_check(const dp_registry *reg, const dp_unit *of, const dp_block *const *blocks,
                     size_t n, dp_error *err)
{
    static const char kind[] = "the kind of wrapper tensors", objects[] = "the kind of objects";

    if (reg->canary != NULL)
        return dp_error_set(err, DP_EEXISTS,
                            "plugin '%s' has a canary already, generation %llu; promote it or roll "
                            "it back first",
                            reg->canary->gen->plugin, (unsigned long long)reg->canary->gen->number);
    for (size_t i = 0; i < n; i++)
        if (blocks[i]->kind == DP_BLOCK_KIND || blocks[i]->kind == DP_BLOCK_OBJECT)
            return blocks[i]->kind == DP_BLOCK_KIND ? refuse(of, kind, blocks[i]->ns, err)
                                                    : refuse(of, objects, blocks[i]->key, err);
    for (uint32_t i = 0; i < of->n_regs; i++)
        if (of->regs[i].kind == DPI_REG_KIND || of->regs[i].kind == DPI_REG_OBJECT)
            return refuse(of, of->regs[i].kind == DPI_REG_KIND ? kind : objects, of->regs[i].name,
                          err);
    return 0;
}

/* Return the definition of operator `op` in `u`; NULL: there is none. */
static const dpi_reg *definition(const dp_unit *u, uint32_t op)
{
    for (uint32_t i = 0; i < u->n_regs; i++)
        if (u->regs[i].kind == DPI_REG_DEF && u->regs[i].op == op)
            return &u->regs[i];
    return NULL;
}

/* Check that each definition of `u` is in `other`, too.  A client that has bound a call by one
 * schema could not run it by another. */
static int same_definitions(const dp_unit *u, const dp_unit *other, dp_error *err)
{
    for (uint32_t i = 0; i < u->n_regs; i++) {
        const dpi_reg *r = &u->regs[i], *s;
        if (r->kind != DPI_REG_DEF)
            continue;
        s = definition(other, r->op);
        if (s == NULL || strcmp(r->schema->text, s->schema->text) != 0)
            return dp_error_set(
                err, DP_EVALUE,
                "plugin '%s' cannot have a canary: the definition '%s' (%s:%u) is not the one of "
                "its other generation, %s%s%s; reload it without a share",
                u->gen->plugin, r->schema->text, r->file, r->line, s != NULL ? "'" : "which has ",
                s != NULL ? s->schema->text : "none", s != NULL ? "'" : "");
    }
    return 0;
}

/* Note in the prepared snapshot of `c` which operators the canary may serve in another way. */
static int mark(dpi_change *c, dp_error *err)
{
    dpi_snapshot *s = c->snapshot;

    if ((s->canary = dp_calloc(s->n_entries + 1, 1)) == NULL)
        return dpi_no_memory(err, "a canary");
    for (uint32_t i = 0; i < c->n_shadows; i++)
        s->canary[c->shadows[i].op] = 1;
    for (uint32_t id = 0; id < s->n_entries; id++)
        /* a composite kernel may call operators that the canary serves */
        if (s->entries[id] != NULL && (c->fallbacks_changed || s->entries[id]->composite != NULL))
            s->canary[id] = 1;
    return 0;
}

/* Prepare the snapshot in which `u` has replaced `of`. */
static int prepare(dpi_change *c, dp_unit *u, const dp_unit *of, dpi_text *overrides, dp_error *err)
{
    int rc = dpi_change_prepare(c, u, of, false, overrides, err);

    return rc < 0 ? rc : mark(c, err);
}

/* Publish the prepared snapshot as the candidate, and free the rest of the change. */
static void publish(dpi_change *c)
{
    dp_registry *reg = c->reg;

    c->snapshot->number = reg->next_snapshot++;
    if (c->names != NULL) { /* the operators that the change has interned stay */
        dpi_names_unref(reg->names);
        reg->names = dpi_names_ref(c->names);
        c->n_ops_before = reg->n_ops;
    }
    dpi_snapshot_publish(reg, &reg->candidate, c->snapshot);
    c->snapshot = NULL;
    dpi_change_abort(c);
}

int dpi_canary_begin(dpi_change *c, dp_unit *u, dp_unit *of, dpi_text *overrides, dp_error *err)
{
    dp_registry *reg = c->reg;
    int rc = same_definitions(u, of, err);

    if (rc == 0)
        rc = same_definitions(of, u, err);
    if (rc == 0)
        rc = prepare(c, u, of, overrides, err);
    if (rc < 0) {
        dpi_change_abort(c);
        return rc;
    }
    atomic_store(&u->gen->canary, true);
    publish(c);
    reg->canary = u;
    reg->canary_of = of;
    return 0;
}

void dpi_canary_follow(dp_registry *reg)
{
    dpi_change c;
    dp_error err = DP_ERROR_INIT;

    if (reg->canary == NULL)
        return;
    dpi_change_begin(&c, reg);
    if (prepare(&c, reg->canary, reg->canary_of, NULL, &err) == 0) {
        publish(&c);
        return;
    }
    dpi_change_abort(&c);
    dpi_snapshot_publish(reg, &reg->candidate, NULL);
    char text[DP_LIMIT_WARNING_BYTES + 1];
    snprintf(text, sizeof(text), "the canary of plugin '%s' serves no calls any more: %.800s",
             reg->canary->gen->plugin, err.message);
    dpi_warn_listener(text);
}

void dpi_canary_end(dp_registry *reg)
{
    pthread_mutex_lock(&reg->lock);
    if (reg->canary != NULL) {
        dpi_snapshot_publish(reg, &reg->candidate, NULL);
        atomic_store_explicit(&reg->canary->gen->gone_at, reg->next_snapshot, memory_order_release);
        reg->canary = reg->canary_of = NULL;
    }
    pthread_mutex_unlock(&reg->lock);
    dpi_registry_reclaim(reg);
}
