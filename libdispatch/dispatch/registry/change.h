/* change.h -- between the files that change a registry: unit, change, listen, registry. */
#ifndef DPI_CHANGE_H
#define DPI_CHANGE_H

#include "registry.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_shadow { /* of one operator that the change touches */
    uint32_t op;
    dpi_truth truth;
    dpi_entry *entry;
} dpi_shadow;

typedef struct dpi_change {
    dp_registry *reg;
    dpi_shadow *shadows; /* by operator id */
    uint32_t n_shadows;
    uint32_t n_ops_before;
    dpi_fallbacks fallbacks;
    bool fallbacks_changed;
    dpi_kernel **observers; /* borrowed from the units */
    uint32_t n_observers;
    dpi_names *names; /* new hash, when operators were interned */
    dpi_snapshot *snapshot;
} dpi_change;

/* All of this under the registry's lock. */
void dpi_change_begin(dpi_change *c, dp_registry *reg);
void dpi_change_abort(dpi_change *c);
/* Operator id of a full name, interned if new; an abort takes it back. */
int dpi_op_intern(dpi_change *c, const char *name, uint32_t *id, dp_error *err);
/* Take `removed` out, put `added` in, publish; either may be NULL.  Ends the change either way. */
int dpi_change_run(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                   dpi_text *overrides, dp_error *err);

/* unit.c.  replace: the unit whose place this one is to take, or NULL. */
dp_unit *dpi_unit_new(dp_registry *reg, const char *name, const char *version,
                      const dp_block *const *blocks, size_t n, const dp_unit *replace,
                      dp_error *err);
int dpi_unit_fill(dpi_change *c, dp_unit *u, const dp_block *const *blocks, size_t n,
                  const dp_unit *replace, dp_error *err);

/* listen.c */
void dpi_tell_definitions(dp_registry *reg, const dpi_truth *t, const dpi_truth *old);
void dpi_tell_changed(dp_registry *reg, const dp_unit *u, uint32_t added, uint32_t removed);
void dpi_tell_noted(dp_registry *reg, const char *plugin, const char *name, const char *text);

#pragma GCC visibility pop

#endif
