/* snapshot.h -- a snapshot: the entries (dispatch tables) of all operators of a registry at one
 * moment, and the hash table of their names.
 *
 * Invariant I2: once a snapshot is published, its entries, names and observers do not change
 * (reference counts and next_retired do). */
#ifndef DPI_SNAPSHOT_H
#define DPI_SNAPSHOT_H

#include "entry.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_names dpi_names; /* hash with a reference count: full name -> operator id */

typedef struct dpi_snapshot {
    atomic_uint refs; /* references of dpi_snapshot_get(); threads that pin it are not counted */
    uint64_t number;  /* grows with each snapshot of the registry */
    dp_registry *reg;
    uint32_t n_entries;  /* number of operator ids */
    uint32_t n_plain;    /* n_entries, or 0 if some observer observes all calls */
    dpi_entry **entries; /* [n_entries] by operator id; NULL: no definition and no kernel */
    /* [n_plain] a copy of `entries`, with NULL for operators that an observer may observe; the same
     * pointer as `entries` if there is no observer, or if n_plain is 0 */
    dpi_entry **plain;
    dpi_names *names;
    uint32_t n_observers;
    dpi_kernel **observers; /* holds references; `unboxed` is the observer's function */
    /* the snapshot of a canary (canary.c): canary[id] is not 0 if the canary may serve calls of
     * operator `id` in another way than the newest snapshot; owned.  NULL: no canary's */
    uint8_t *canary;
    struct dpi_snapshot *next_retired;
} dpi_snapshot;

/* -- names.c -- */

dpi_names *dpi_names_ref(dpi_names *n);
dpi_names *dpi_names_unref(dpi_names *n);
dpi_names *dpi_names_build(dp_op *const *ops, uint32_t n); /* NULL: no memory */
/* Add operator ops[n - 1] to *names, a table of the other `n - 1` operators in `ops` that nobody
 * else refers to; NULL counts as the table of any operators.  *names may be replaced by a larger
 * table. false: no memory, and *names is as it was. */
bool dpi_names_add(dpi_names **names, dp_op *const *ops, uint32_t n);
/* Return the id of the operator whose full name is `name` (`n` bytes); -1: there is none. */
int64_t dpi_names_find(const dpi_names *names, const char *name, size_t n);
/* Visit the overloads of base name `base` ("aten::add", `n` bytes), in no particular order:
 * for (slot = dpi_names_base(...); slot != 0;) slot = dpi_names_next(names, slot, &id); */
uint32_t dpi_names_base(const dpi_names *names, const char *base, size_t n); /* 0: none */
uint32_t dpi_names_next(const dpi_names *names, uint32_t slot_number, uint32_t *id);
size_t dpi_base_bytes(const char *name); /* length of "ns::base" in full name `name` */

/* -- snapshot.c -- */

/* Replace the snapshot at `where`, reg->current or reg->candidate, by `s`, and put the previous one
 * in the list of retired snapshots, which dpi_registry_reclaim() frees.  The registry owns `s` from
 * then on.  The caller holds reg->lock. */
void dpi_snapshot_publish(dp_registry *reg, _Atomic(const dpi_snapshot *) *where, dpi_snapshot *s);
/* Fill in `s->plain`, when `s` has its entries and observers.  DP_ERESOURCE: no memory. */
int dpi_snapshot_find_plain(dpi_snapshot *s, dp_error *err);
dpi_snapshot *dpi_snapshot_free(dpi_snapshot *s);
/* Free the retired snapshots that no thread pins and that have no references.  True: some retired
 * snapshots are left. */
bool dpi_registry_reclaim(dp_registry *reg);

/* Return the newest snapshot with a reference, which dpi_snapshot_put() gives back.  Calls do not
 * use this function: they pin the snapshot (thread.h), which is faster. */
const dpi_snapshot *dpi_snapshot_get(dp_registry *reg);
void dpi_snapshot_put(const dpi_snapshot *s);
/* Return the entry of the operator with a full name of `n` bytes; NULL: there is none. */
const dpi_entry *dpi_snapshot_find(const dpi_snapshot *s, const char *name, size_t n);
/* Return the entry of operator `id` in `s`; NULL: the operator has no definition and no kernel. */
static inline dpi_entry *dpi_snapshot_at(const dpi_snapshot *s, uint64_t id)
{
    return DPI_LIKELY(id < s->n_entries) ? s->entries[id] : NULL;
}
/* Return the entry of `op` in `s`.  NULL: `op` is NULL, or has no definition and no kernel. */
static inline const dpi_entry *dpi_snapshot_entry(const dpi_snapshot *s, const dp_op *op)
{
    return DPI_LIKELY(op != NULL) ? dpi_snapshot_at(s, op->id) : NULL;
}

/* May an observer observe calls of operator `id`? */
static inline bool dpi_snapshot_observes(const dpi_snapshot *s, uint64_t id)
{
    return DPI_UNLIKELY(s->n_observers > 0) && (id >= s->n_plain || s->plain[id] == NULL);
}

#pragma GCC visibility pop

#endif
