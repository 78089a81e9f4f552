/* change.h -- declarations shared by the files that change a registry (unit.c, change.c, intern.c,
 * registry.c) or report its changes (listen.c). */
#ifndef DPI_CHANGE_H
#define DPI_CHANGE_H

#include "registry.h"

#pragma GCC visibility push(hidden)

/* A copy of one operator's truth (truth.h), on which a change works until it is committed. */
typedef struct dpi_shadow {
    uint32_t op; /* operator id */
    dpi_truth truth;
} dpi_shadow;

/* One change of a registry that is being prepared. */
typedef struct dpi_change {
    dp_registry *reg;
    dpi_shadow *shadows; /* sorted by operator id */
    uint32_t n_shadows;
    uint32_t n_ops_before;   /* number of interned operators when the change began */
    dpi_fallbacks fallbacks; /* all fallbacks after the change */
    bool fallbacks_changed;
    dpi_kernel **observers; /* [n_observers] all observers after the change; borrowed */
    uint32_t n_observers;
    dpi_names *names; /* all names, with those interned by the change; NULL: it interned none */
    dpi_snapshot *snapshot;
    dpi_models models; /* entries of `snapshot` with cells that other entries may share */
} dpi_change;

/* The caller of each of these functions holds the registry's lock. */
void dpi_change_begin(dpi_change *c, dp_registry *reg);
/* Free everything that the change has prepared, and the operators that it has interned. */
void dpi_change_abort(dpi_change *c);
/* Store the operator id of full name `name` in *id; intern the name if it is new. */
int dpi_op_intern(dpi_change *c, const char *name, uint32_t *id, dp_error *err);
/* Build the snapshot (c->snapshot) without the registrations of unit `removed` and with those of
 * unit `added`, of which either may be NULL, and what else dpi_change_run() commits.  Whether this
 * succeeds or not, dpi_change_abort() may follow. */
int dpi_change_prepare(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                       dpi_text *overrides, dp_error *err);
/* Remove the registrations of unit `removed`, add those of unit `added`, and publish one snapshot;
 * either unit may be NULL, but not both.  The change is committed, or aborted if this fails.
 * `reject`, `overrides`: see dpi_attach_options.reject_override and dpi_registry_attach(). */
int dpi_change_run(dpi_change *c, dp_unit *added, const dp_unit *removed, bool reject,
                   dpi_text *overrides, dp_error *err);

/* -- unit.c: `replace` is the unit that the new unit replaces, or NULL -- */

/* Allocate a unit, without registrations, with space for those of `blocks`. */
dp_unit *dpi_unit_new(dp_registry *reg, const char *name, const char *version,
                      const dp_block *const *blocks, size_t n, const dp_unit *replace,
                      dp_error *err);
/* Check `blocks` and turn them into registrations of `u`. */
int dpi_unit_fill(dpi_change *c, dp_unit *u, const dp_block *const *blocks, size_t n,
                  const dp_unit *replace, dp_error *err);

/* -- canary.c -- */

/* Check whether the blocks of a plugin may be a canary in place of unit `of`, before
 * dpi_unit_fill().  DP_EEXISTS: there is a canary already.  DP_EVALUE: two generations of the
 * plugin cannot be in use at once. */
int dpi_canary_check(const dp_registry *reg, const dp_unit *of, const dp_block *const *blocks,
                     size_t n, dp_error *err);
/* Make `u`, which change `c` has filled, the canary in place of unit `of`.  The change is ended,
 * also if this fails. */
int dpi_canary_begin(dpi_change *c, dp_unit *u, dp_unit *of, dpi_text *overrides, dp_error *err);
/* Build the canary's snapshot again, after another change.  If this fails, the canary serves no
 * calls any more until the next change, and a warning says so. */
void dpi_canary_follow(dp_registry *reg);

/* -- listen.c: calls the registry's listeners -- */

/* Report that a definition was removed, added or both.  `old` and `t` are the operator's truth
 * before and after the change. */
void dpi_notify_definitions(dp_registry *reg, const dpi_truth *t, const dpi_truth *old);
/* Report that `added` registrations were added and `removed` ones removed; `u` names the plugin. */
void dpi_notify_changed(dp_registry *reg, const dp_unit *u, uint32_t added, uint32_t removed);
/* Report that `plugin` has set note `name` to `text` by dp_note(). */
void dpi_notify_note(dp_registry *reg, const char *plugin, const char *name, const char *text);

#pragma GCC visibility pop

#endif
