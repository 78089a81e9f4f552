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
    /* sorted by load number; borrowed; member `unboxed` of each is the observer's function */
    dpi_kernel **observers;
    dp_generators *generators; /* for contexts that were given no generators */
    pthread_mutex_t ctx_lock;  /* protects `contexts`, their counters and `counts_gone` */
    dp_ctx *contexts;
    uint64_t *counts_gone; /* [n_counts_gone] calls per operator id that freed contexts made */
    uint32_t n_counts_gone;
    dpi_snapshot *retired;
    struct dpi_plugin *plugins;    /* sorted by load number (list.c) */
    struct dpi_image *note_images; /* plugins that may call dp_note() (notes.c) */
    /* `plugins_free` unloads all plugins; it is set when a plugin is first loaded.  `threads_end`
     * joins all threads of dp_thread_start(); it is set when the first one starts.  NULL: not set.
     * dp_registry_free() calls one after the other; false: a thread still runs, so the registry
     * must not be freed. */
    bool (*plugins_free)(dp_registry *reg), (*threads_end)(dp_registry *reg);
    pthread_mutex_t plugin_lock; /* held during a load, unload or reload */
    /* The canary (canary.c), NULL: there is none.  It is in no list of units.  `candidate` is the
     * snapshot that its calls pin; NULL: they pin `current`. */
    dp_unit *canary, *canary_of;
    _Atomic(const dpi_snapshot *) candidate;
    struct dpi_listener_node *listeners;
    uint32_t n_kernels;
    dp_unit *units;
};

/* All registrations of one load of a plugin, or of one dp_registry_attach(), which are added and
 * removed in one change.  The registrations are made from blocks (dp_block, the records that the
 * macros of plugin.h emit), and checked completely before anything changes.  A unit owns copies of
 * all strings, because the plugin may be unmapped before the unit is freed. */
struct dp_unit {
    dp_unit *next;
    dp_registry *reg;
    dpi_generation *gen;
    struct dpi_reg *regs; /* [n_regs] */
    uint32_t n_regs;
    uint32_t defs, impls, fallbacks, backends; /* number of registrations by kind */
};

typedef struct dpi_attach_options {
    /* fail with DP_EEXISTS if another plugin has a kernel for the operator and key of a new
     * kernel */
    bool reject_override;
    /* For a reload: the unit that the new unit replaces in the same snapshot.  The new unit gets
     * the load number of `replace`.  Calls that pin an older snapshot may still run the kernels of
     * `replace`.  NULL: the new unit replaces none. */
    dp_unit *replace;
    /* do not publish: make the unit the canary in place of `replace`, which stays attached.
     * dpi_canary_promote() or dpi_canary_end() must follow. */
    bool canary;
} dpi_attach_options;

/* Check `blocks` and publish their registrations in one snapshot.  The registry lists *out until
 * dpi_registry_detach(); then the caller frees it.  On failure nothing has changed.  `o` may be
 * NULL.  `overrides` (may be NULL) gets a line for each new kernel that stands above an older one
 * of the same operator and key.  The blocks are processed in the order of (file, line). */
int dpi_registry_attach(dp_registry *reg, const char *name, const char *version,
                        const dp_block *const *blocks, size_t n, const dpi_attach_options *o,
                        dp_unit **out, dpi_text *overrides, dp_error *err);
/* Publish a snapshot without the unit's registrations.  Calls may still run its kernels.  DP_EBUSY:
 * another unit has kernels, fallbacks or observers for a backend or kind of wrapper tensors that
 * this unit names. */
int dpi_registry_detach(dp_registry *reg, dp_unit *unit, dp_error *err);
/* Attach the canary, and detach the unit in whose place it stood, in one snapshot.  `overrides`:
 * see dpi_registry_attach().  On failure the canary stays as it is. */
int dpi_canary_promote(dp_registry *reg, dpi_text *overrides, dp_error *err);
/* End the canary, if there is one.  Calls may still run its kernels. */
void dpi_canary_end(dp_registry *reg);
/* Undo a detach, because a later step of an unload failed: publish a snapshot with the unit's
 * registrations, and reopen the unit's generation.  Each kernel gets back its old position among
 * the kernels of its operator and key. */
int dpi_registry_reattach(dp_registry *reg, dp_unit *unit, dp_error *err);
/* Free a unit that is not attached, and end its backends, and its kinds of wrapper tensors
 * and of objects.  NULL is allowed. */
void dpi_unit_free(dp_unit *unit);
dpi_generation *dpi_unit_generation(const dp_unit *unit); /* borrowed */

/* Which plugin had the last definition or kernel of the operator called `op`, if none has one now:
 * its name in `plugin`, for errors.  false: none had, or the registry is being changed. */
bool dpi_registry_gone(dp_registry *reg, const char *op, char plugin[DP_LIMIT_NAME_BYTES + 1]);
/* Is a fallback registered that records calls for autograd?  True too if the registry is being
 * changed. */
bool dpi_registry_records(dp_registry *reg);

/* Return a number for the C type that the letters `code` describe, such as "TTs>T" (plugin.h).  A
 * typed call fits an entry of `reg` if both have the same number.  The low DPI_CODE_BITS bits are
 * the number from dpi_code_intern(), the bits above them are the registry's number.  0:
 * dpi_code_intern() failed. */
static inline uint32_t dpi_registry_code(const dp_registry *reg, const char *code)
{
    uint32_t number = dpi_code_intern(code);
    return number != 0 ? number | reg->number << DPI_CODE_BITS : 0;
}

#pragma GCC visibility pop

#endif
