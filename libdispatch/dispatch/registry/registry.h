/* registry.h -- a registry, and the units that are attached to it and detached from it. */
#ifndef DPI_REGISTRY_H
#define DPI_REGISTRY_H

#include "snapshot.h"
#include <pthread.h>

#pragma GCC visibility push(hidden)

struct dpi_plugin; /* plugins.h */

struct dp_registry {
    pthread_mutex_t lock; /* every change, and reading of truth */
    uint32_t number;      /* of the process's; tells typed calls of one from those of another */
    _Atomic(const dpi_snapshot *) current;
    uint64_t next_snapshot, next_generation, next_load, next_kernel;
    dp_op **ops; /* by id */
    uint32_t n_ops, cap_ops;
    dpi_names *names; /* of every interned name; snapshots share it */
    dpi_fallbacks fallbacks;
    struct dpi_library *libraries; /* namespace -> owner, by namespace */
    uint32_t n_observers;
    dpi_kernel **observers;    /* fn in ->unboxed; in load order */
    dp_generators *generators; /* of contexts that have no others */
    pthread_mutex_t ctx_lock;
    dp_ctx *contexts;
    uint64_t *counts_gone; /* calls per operator of contexts that are gone */
    uint32_t n_counts_gone;
    dpi_snapshot *retired;
    struct dpi_plugin *plugins; /* by load number; list.c's */
    struct dpi_image *noting;   /* plugins that may make notes; notes.c's */
    /* Set with the first plugin, the first thread of one.  False: a thread runs on, and with it the
     * registry. */
    bool (*plugins_free)(dp_registry *reg), (*threads_end)(dp_registry *reg);
    pthread_mutex_t plugin_lock; /* one load, unload or reload at a time */
    struct dpi_listener_node *listeners;
    uint32_t n_kernels;
    dp_unit *units;
};

/* All registrations of one generation, as one change.  Made from blocks; what it says is checked in
 * full before anything changes.  Copies every string: records may be unmapped while it lives. */
struct dp_unit {
    dp_unit *next;
    dp_registry *reg;
    dpi_generation *gen;
    struct dpi_reg *regs; /* what to undo */
    uint32_t n_regs;
    uint32_t defs, impls, fallbacks, backends;
};

typedef struct dpi_attach_options {
    bool reject_override;
    /* reload: take this unit's place and load number, and drop it, in the same snapshot; it
     * becomes draining: its generation stays callable from older pins */
    dp_unit *replace;
} dpi_attach_options;

/* Check and publish, one snapshot.  On failure nothing has changed.  overrides (may be NULL): lines
 * for the report.  Blocks are sorted by (file, line) here. */
int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err);
/* Undo, one snapshot.  The unit's registrations are gone; its generation may still run. */
int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err);
/* Take a detach back (its drain timed out): same place in every stack, one snapshot. */
int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err);
void dpi_unit_free(dp_unit *unit);                        /* after detach or replacement */
dpi_generation *dpi_unit_generation(const dp_unit *unit); /* borrowed */

/* A C type as entries and callers of one registry keep it: its number, and the registry's above. */
static inline uint32_t dpi_registry_code(const dp_registry *reg, const char *code)
{
    uint32_t number = dpi_code_intern(code);
    return number != 0 ? number | reg->number << DPI_CODE_BITS : 0;
}

#pragma GCC visibility pop

#endif
