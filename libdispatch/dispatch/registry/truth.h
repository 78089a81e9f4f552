/* truth.h -- the truth of operators: generations, kernels, and which kernels an operator has.
 *
 * Each dpi_truth keeps an operator's kernels per key, newest first.  It is changed under the
 * registry's lock only; a dpi_entry (entry.h) is derived from it. */
#ifndef DPI_TRUTH_H
#define DPI_TRUTH_H

#include "tensor/tensor_i.h"
#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* One load of one plugin's (or unit's) code. */
typedef struct dpi_generation {
    atomic_uint refs;   /* kernels, frames never: host memory only, not the mapping */
    atomic_int closed;  /* 1: no new frame may name it (I4) */
    atomic_uint warned; /* DPI_WARNED_*: what it was warned of already */
    atomic_uint_fast64_t
        gone_at;          /* number of the first snapshot without it; UINT64_MAX: attached */
    uint64_t number;      /* grows with every load in the process's registry */
    uint64_t load_number; /* place in the stack; a reload keeps it */
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    char version[64];
} dpi_generation;
enum { DPI_WARNED_KERNEL = 1, DPI_WARNED_OBSERVER = 2 };
dpi_generation *dpi_generation_ref(dpi_generation *g);
dpi_generation *dpi_generation_unref(dpi_generation *g);

/* Key of an observer that is told of the ends of sessions, and of no call. */
#define DPI_OBSERVES_SESSIONS DP_KEY(0xff)

typedef struct dpi_kernel { /* immutable, counted */
    dp_boxed_fn boxed;
    dp_any_fn unboxed;
    dpi_generation *gen;
    uint64_t id; /* unique for ever */
    atomic_uint refs;
    uint32_t line;
    uint32_t order;    /* within its generation: later records are newer */
    uint16_t flags;    /* DP_FLAG_* */
    dp_key key;        /* registered for: may be an alias; Undefined for none, or every one */
    char *file, *code; /* copies: they outlive the mapping */
    uint64_t dtypes;   /* that its header knew, where these are fewer than the host's; 0: all */
    const struct dp_op *observes; /* the operator that an observer is told of; NULL: all */
} dpi_kernel;
dpi_kernel *dpi_kernel_ref(dpi_kernel *k);
dpi_kernel *dpi_kernel_unref(dpi_kernel *k);

/* Kernels of one operator for one registered key, newest first. */
typedef struct dpi_stack {
    dp_key key;
    uint32_t n, cap;
    dpi_kernel **kernels;
} dpi_stack;

/* An operator's truth.  Interned: lives as long as the registry, so handles never dangle. */
struct dp_op {
    uint32_t id;
    const dp_registry *reg;
    char *name; /* "aten::add.Tensor" */
    /* under the registry's lock: */
    dp_schema *schema;       /* NULL: not defined */
    dpi_generation *def_gen; /* who defined it */
    char *def_file, *tags;
    uint32_t def_line;
    uint64_t def_order; /* grows in the order of definition */
    uint32_t n_stacks, cap_stacks;
    dpi_stack *stacks; /* by key, ascending dp_key */
};
typedef struct dp_op dpi_truth;

/* Fallbacks per runtime key, and per functionality, for the backends without one of their own: at
 * most one. */
typedef struct dpi_fallbacks {
    dpi_kernel *kernel[DPI_SLOTS_MAX];
    dpi_kernel *of_all[DPI_RANKS];
} dpi_fallbacks;
static inline const dpi_kernel *dpi_fallback_for(const dpi_fallbacks *f, dp_key k)
{
    const dpi_kernel *own = f->kernel[dpi_key_slot(k)];
    return own != NULL ? own : f->of_all[dpi_rank(k)];
}

/* A namespace owned by a DP_LIBRARY block. */
typedef struct dpi_library {
    struct dpi_library *next;
    char *ns, *file;
    uint32_t line;
    dpi_generation *gen;
} dpi_library;

/* One registration of a unit, checked and with everything it needs in memory: adding it to a truth,
 * taking it out and adding it again need no more than stack room. */
typedef struct dpi_reg {
    uint8_t kind; /* DPI_REG_* */
    dp_key key;
    uint32_t line, order;
    uint32_t op;                     /* id; DEF and IMPL */
    dpi_generation *gen;             /* the unit's */
    dp_schema *schema;               /* DEF: counted */
    char *tags, *file;               /* owned */
    char *name;                      /* owned: backend, observer, namespace */
    dpi_kernel *kernel;              /* IMPL, FALLBACK, OBSERVER: counted */
    dpi_device *device;              /* BACKEND: counted; this unit's end is its end */
    int bit;                         /* BACKEND */
    struct dpi_object_kind *objects; /* OBJECT: owned */
    dpi_library *library;            /* LIBRARY: owned while not in the registry's list */
} dpi_reg;

enum {
    DPI_REG_DEF = 1,
    DPI_REG_IMPL,
    DPI_REG_FALLBACK,
    DPI_REG_BACKEND,
    DPI_REG_KIND,
    DPI_REG_LIBRARY,
    DPI_REG_OBSERVER,
    DPI_REG_OBJECT
};

dpi_stack *dpi_truth_stack(const dpi_truth *t, dp_key key);
int dpi_truth_add(dpi_truth *t, dpi_kernel *k, dp_error *err);
void dpi_truth_remove(dpi_truth *t, const dpi_kernel *k);
void dpi_truth_define(dpi_truth *t,
                      const dpi_reg *def); /* NULL: undefine.  Borrows file and tags */
int dpi_truth_copy(dpi_truth *to, const dpi_truth *from, dp_error *err);
void dpi_truth_move(dpi_truth *to, const dpi_truth *from); /* from is to's afterwards */
void dpi_truth_fini(dpi_truth *t);                         /* not the name */
void dpi_op_free(dp_op *op);

#pragma GCC visibility pop

#endif
