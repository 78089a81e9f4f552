/* registry.h -- a registry of operators and kernels, and its units: groups of registrations, such
 * as all those of a plugin, which are attached (added) and detached (removed) together. */
#ifndef DPI_REGISTRY_H
#define DPI_REGISTRY_H

#include "snapshot.h"
#include <pthread.h>

#pragma GCC visibility push(hidden)

struct dpi_plugin; /* plugins.h */

struct dp_registry {
    pthread_mutex_t lock; /* held for every change, and to read truths (truth.h) */
    uint32_t number;      /* unique in the process; part of dpi_registry_code() */
    _Atomic(const dpi_snapshot *) current;
    uint64_t next_snapshot, next_generation, next_load, next_kernel;
    dp_op **ops; /* [n_ops] by id */
    uint32_t n_ops, cap_ops;
    dpi_names *names; /* all interned names; shared with snapshots */
    dpi_fallbacks fallbacks;
    struct dpi_library *libraries; /* owners of namespaces, sorted by namespace */
    uint32_t n_observers;
    dpi_kernel **observers;    /* in load order; `unboxed` is the observer's function */
    dp_generators *generators; /* for contexts that were given no generators */
    pthread_mutex_t ctx_lock;
    dp_ctx *contexts;
    uint64_t *counts_gone; /* [n_counts_gone] calls per operator id that freed contexts made */
    uint32_t n_counts_gone;
    dpi_snapshot *retired;
    struct dpi_plugin *plugins;    /* sorted by load number (list.c) */
    struct dpi_image *note_images; /* plugins that may call dp_note() (notes.c) */
    /* `plugins_free` is set when the first plugin is loaded, `threads_end` when a plugin starts its
     * first thread.  dp_registry_free() calls both; false: a thread still runs, so the registry
     * must not be freed. */
    bool (*plugins_free)(dp_registry *reg), (*threads_end)(dp_registry *reg);
    pthread_mutex_t plugin_lock; /* held during a load, unload or reload */
    struct dpi_listener_node *listeners;
    uint32_t n_kernels;
    dp_unit *units;
};

/* All registrations of one load of a plugin, which are added and removed in one change.  They are
 * made from the plugin's blocks (dp_block), and checked completely before anything changes.  A unit
 * owns copies of all strings, because the plugin may be unmapped before the unit is freed. */
struct dp_unit {
    dp_unit *next;
    dp_registry *reg;
    dpi_generation *gen;
    struct dpi_reg *regs; /* [n_regs] */
    uint32_t n_regs;
    uint32_t defs, impls, fallbacks, backends; /* number of registrations by kind */
};

typedef struct dpi_attach_options {
    bool reject_override; /* DP_EEXISTS if a kernel would replace one of another plugin */
    /* For a reload: the unit that the new unit replaces in the same snapshot.  The new unit gets
     * its load number.  Calls that pin an older snapshot may still run the replaced unit's
     * kernels. */
    dp_unit *replace;
} dpi_attach_options;

/* Check `blocks` and publish their registrations in one snapshot.  On failure nothing has changed.
 * `overrides` (may be NULL) gets a line for each replaced kernel, for the report.  The blocks are
 * processed in the order of (file, line). */
int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err);
/* Publish a snapshot without the unit's registrations.  Calls may still run its kernels. */
int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err);
/* Undo a detach, because calls did not stop using the unit in time.  Each kernel gets back its old
 * position among the kernels of its operator and key.  Publishes one snapshot. */
int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err);
void dpi_unit_free(dp_unit *unit); /* allowed only after the unit was detached or replaced */
dpi_generation *dpi_unit_generation(const dp_unit *unit); /* borrowed */

/* Return the number for the letters `code` ("TTs>T") that entries and typed callers of `reg`
 * compare: that of dpi_code_intern() in the low DPI_CODE_BITS bits, and the registry's number above
 * these bits.  0: no memory, or too many different letters. */
static inline uint32_t dpi_registry_code(const dp_registry *reg, const char *code)
{
    uint32_t number = dpi_code_intern(code);
    return number != 0 ? number | reg->number << DPI_CODE_BITS : 0;
}

#pragma GCC visibility pop

#endif
