/* snapshot.h -- all entries of a registry at one moment, and the hash of their names.
 *
 *   I2: a published snapshot and what it points to never change */
#ifndef DPI_SNAPSHOT_H
#define DPI_SNAPSHOT_H

#include "entry.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_names dpi_names; /* counted hash: full name -> operator id */

typedef struct dpi_snapshot {
    atomic_uint refs;
    uint64_t number;
    dp_registry *reg;
    uint32_t n_entries;  /* operator ids below this */
    uint32_t n_plain;    /* n_entries, or 0 when there is an observer of all calls */
    dpi_entry **entries; /* NULL where the operator has neither def nor kernel */
    /* [n_plain] `entries`, with NULL for operators that an observer may be told of; `entries`
     * itself without such operators */
    dpi_entry **plain;
    dpi_names *names;
    uint32_t n_observers;
    dpi_kernel **observers; /* counted; fn in ->unboxed */
    struct dpi_snapshot *next_retired;
} dpi_snapshot;

/* -- names.c -- */

dpi_names *dpi_names_ref(dpi_names *n);
dpi_names *dpi_names_unref(dpi_names *n);
dpi_names *dpi_names_build(dp_op *const *ops, uint32_t n);                  /* NULL: no memory */
int64_t dpi_names_find(const dpi_names *names, const char *name, size_t n); /* id, or -1 */
/* The overloads of a base name ("aten::add", n bytes), in no order:
 * for (at = dpi_names_base(...); at != 0;) at = dpi_names_next(names, at, &id); */
uint32_t dpi_names_base(const dpi_names *names, const char *base, size_t n); /* 0: none */
uint32_t dpi_names_next(const dpi_names *names, uint32_t at, uint32_t *id);
size_t dpi_base_bytes(const char *name); /* of "ns::base" in a full name */

/* -- snapshot.c -- */

void dpi_snapshot_publish(dp_registry *reg, dpi_snapshot *s); /* under the lock; takes */
dpi_snapshot *dpi_snapshot_free(dpi_snapshot *s);
bool dpi_registry_reclaim(
    dp_registry *reg); /* frees retired snapshots nobody pins; are some left? */

/* Hold a snapshot for reading (not calling); any thread. */
const dpi_snapshot *dpi_snapshot_get(dp_registry *reg);
void dpi_snapshot_put(const dpi_snapshot *s);
const dpi_entry *dpi_snapshot_find(const dpi_snapshot *s, const char *name,
                                   size_t n); /* NULL: none */
/* The entry of an operator id in s; NULL: it has neither definition nor kernel there. */
static inline dpi_entry *dpi_snapshot_at(const dpi_snapshot *s, uint64_t id)
{
    return DPI_LIKELY(id < s->n_entries) ? s->entries[id] : NULL;
}
static inline const dpi_entry *dpi_snapshot_entry(const dpi_snapshot *s, const dp_op *op)
{
    return DPI_LIKELY(op != NULL) ? dpi_snapshot_at(s, op->id) : NULL; /* NULL for NULL, too */
}

/* May some call of the operator `id` be told to an observer? */
static inline bool dpi_snapshot_observes(const dpi_snapshot *s, uint64_t id)
{
    return DPI_UNLIKELY(s->n_observers > 0) && (id >= s->n_plain || s->plain[id] == NULL);
}

#pragma GCC visibility pop

#endif
