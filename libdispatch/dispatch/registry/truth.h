/* truth.h -- what the files of this room do to truths, entries, names and snapshots. */
#ifndef DPI_TRUTH_H
#define DPI_TRUTH_H

#include "dispatch_i.h"

#pragma GCC visibility push(hidden)

/* One registration of a unit, checked and with everything it needs in memory: adding it to a truth,
 * taking it out and adding it again need no more than stack room. */
typedef struct dpi_reg {
    uint8_t kind; /* DPI_REG_* */
    dp_key key;
    uint32_t line, order;
    uint32_t op;          /* id; DEF and IMPL */
    dpi_generation *gen;  /* the unit's */
    dp_schema *schema;    /* DEF: counted */
    char *tags, *file;    /* owned */
    char *name;           /* owned: backend, observer, namespace */
    dpi_kernel *kernel;   /* IMPL, FALLBACK, OBSERVER: counted */
    dpi_device *device;   /* BACKEND: counted; this unit's end is its end */
    int bit;              /* BACKEND */
    dpi_library *library; /* LIBRARY: owned while not in the registry's list */
} dpi_reg;

enum {
    DPI_REG_DEF = 1,
    DPI_REG_IMPL,
    DPI_REG_FALLBACK,
    DPI_REG_BACKEND,
    DPI_REG_LIBRARY,
    DPI_REG_OBSERVER
};

dpi_kernel *dpi_kernel_ref(dpi_kernel *k);
dpi_stack *dpi_truth_stack(const dpi_truth *t, dp_key key);
int dpi_truth_add(dpi_truth *t, dpi_kernel *k, dp_error *err);
void dpi_truth_remove(dpi_truth *t, const dpi_kernel *k);
void dpi_truth_define(dpi_truth *t,
                      const dpi_reg *def); /* NULL: undefine.  Borrows file and tags */
int dpi_truth_copy(dpi_truth *to, const dpi_truth *from, dp_error *err);
void dpi_truth_move(dpi_truth *to, const dpi_truth *from); /* from is to's afterwards */
void dpi_truth_fini(dpi_truth *t);                         /* not the name */
void dpi_op_free(dp_op *op);
dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named);
dpi_entry *dpi_entry_unref(dpi_entry *e);

/* snapshot.c */
dpi_names *dpi_names_ref(dpi_names *n);
dpi_names *dpi_names_unref(dpi_names *n);
dpi_names *dpi_names_build(dp_op *const *ops, uint32_t n);                  /* NULL: no memory */
int64_t dpi_names_find(const dpi_names *names, const char *name, size_t n); /* id, or -1 */
/* The overloads of a base name ("aten::add", n bytes), in no order:
 * for (at = dpi_names_base(...); at != 0;) at = dpi_names_next(names, at, &id); */
uint32_t dpi_names_base(const dpi_names *names, const char *base, size_t n); /* 0: none */
uint32_t dpi_names_next(const dpi_names *names, uint32_t at, uint32_t *id);
size_t dpi_base_bytes(const char *name);                      /* of "ns::base" in a full name */
void dpi_snapshot_publish(dp_registry *reg, dpi_snapshot *s); /* under the lock; takes */
dpi_snapshot *dpi_snapshot_free(dpi_snapshot *s);
void dpi_membarrier_start(void);
void dpi_membarrier(void);
extern bool dpi_membarrier_works;

bool dpi_thread_pins(const dpi_snapshot *s); /* thread.c */

#pragma GCC visibility pop

#endif
