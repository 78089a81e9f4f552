/* truth.h -- the truth of operators: the definition and kernels that are registered for each.
 *
 * Each dpi_truth has an operator's kernels by key, newest first.  A dpi_truth is changed under the
 * registry's lock only.  A dpi_entry (entry.h), which calls read, is computed from it. */
#ifndef DPI_TRUTH_H
#define DPI_TRUTH_H

#include "tensor/tensor_i.h"
#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* One load of a plugin's code, or one dp_registry_attach().  A reload makes a new generation. */
typedef struct dpi_generation {
    atomic_uint refs;   /* references to this struct; they do not keep the code mapped */
    atomic_int closed;  /* 1: calls must not enter its kernels any more (I4 in thread.h) */
    atomic_bool canary; /* its kernels are in no snapshot but those of a canary (canary.c) */
    /* DPI_WARNED_*: a warning was given already that a kernel, or an observer, has changed the
     * floating-point environment */
    atomic_uint warned;
    /* number of the first snapshot without its kernels; UINT64_MAX: it is not detached */
    atomic_uint_fast64_t gone_at;
    uint64_t number; /* grows with every load in the registry */
    /* Kernels with a higher load number are newer.  A reload keeps the number of the plugin that it
     * replaces, so that the order of kernels does not change. */
    uint64_t load_number;
    char plugin[DP_LIMIT_NAME_BYTES + 1];
    char version[64];
} dpi_generation;
enum { DPI_WARNED_KERNEL = 1, DPI_WARNED_OBSERVER = 2 };
dpi_generation *dpi_generation_ref(dpi_generation *g);
dpi_generation *dpi_generation_unref(dpi_generation *g);

/* Key of an observer that is called when a session ends, and for no operator call. */
#define DPI_OBSERVES_SESSIONS DP_KEY(0xff)

/* A registered kernel, fallback or observer.  Immutable, with a reference count. */
typedef struct dpi_kernel {
    dp_boxed_fn boxed;
    dp_any_fn unboxed;
    dpi_generation *gen; /* holds a reference */
    uint64_t id;         /* unique in the registry, never reused */
    atomic_uint refs;
    uint32_t line;
    uint32_t order; /* position among the registrations of its plugin; higher is newer */
    uint16_t flags; /* DP_FLAG_* */
    /* the fallback of a backend, or of a functionality of all backends: its calls are counted */
    bool falls_back;
    /* key or alias key of the registration; for an observer: the key whose calls it observes,
     * Undefined (any key) or DPI_OBSERVES_SESSIONS */
    dp_key key;
    /* `file`: the source file.  `code`: the letters of the C type of `unboxed` (plugin.h, like
     * "TTs>T"), or the text of a formula; else "".  Owned copies, because the plugin may be
     * unmapped. */
    char *file, *code;
    /* bits of the dtypes in the header with which the plugin was built; 0: all of this host's */
    uint64_t dtypes;
    _Atomic(void *) compiled;     /* a formula's compiled form, made by autograd; NULL: none yet */
    const struct dp_op *observes; /* for an observer of one operator: that operator; else NULL */
} dpi_kernel;
typedef int (*dpi_formula_check_fn)(const char *op, const dp_schema *schema, const dpi_kernel *k,
                                    dp_error *err);
typedef void (*dpi_formula_end_fn)(void *compiled);
/* Set the functions that check the text of a formula, and release the memory of
 * dpi_kernel.compiled.  The folder autograd calls this once, when the process starts. */
void dpi_on_formula(dpi_formula_check_fn check, dpi_formula_end_fn end);
dpi_kernel *dpi_kernel_ref(dpi_kernel *k);
dpi_kernel *dpi_kernel_unref(dpi_kernel *k);

/* The kernels of one operator for one registered key, newest first. */
typedef struct dpi_stack {
    dp_key key;
    uint32_t n, cap;
    dpi_kernel **kernels; /* [n] holds a reference to each */
} dpi_stack;

/* An operator and its truth.  It lives as long as the registry, so pointers to it stay valid. */
struct dp_op {
    uint32_t id;
    const dp_registry *reg;
    char *name; /* "aten::add.Tensor" */
    /* The fields below are read and written under the registry's lock. */
    dp_schema *schema;       /* holds a reference; NULL: not defined */
    dpi_generation *def_gen; /* generation that defined it; holds a reference */
    char *def_file, *tags;   /* borrowed from the definition's dpi_reg */
    uint32_t def_line;
    uint64_t def_order; /* load number << 32 | position among its plugin's registrations */
    uint32_t n_stacks, cap_stacks;
    dpi_stack *stacks;    /* [n_stacks] ascending by dp_key */
    dpi_generation *gone; /* had the registration that was removed last; holds a reference */
};
typedef struct dp_op dpi_truth;

/* Fallback kernels: at most one for each runtime key, and at most one for each functionality.  The
 * fallback of a functionality serves all backends without a fallback of their own. */
typedef struct dpi_fallbacks {
    dpi_kernel *kernel[DPI_SLOTS_MAX]; /* by number of the runtime key, dpi_key_slot() */
    dpi_kernel *of_all[DPI_RANKS];     /* by dpi_rank() of the functionality, for all backends */
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

/* One checked registration of a unit (registry.h).  The struct has all data to add the registration
 * to a truth, remove it and add it again.  Adding it allocates only elements of the truth's
 * arrays. */
typedef struct dpi_reg {
    uint8_t kind; /* DPI_REG_* */
    dp_key key;
    uint32_t line, order;
    uint32_t op;         /* DEF, IMPL, OBSERVER of one operator: the operator's id */
    dpi_generation *gen; /* generation of the unit; borrowed */
    dp_schema *schema;   /* DEF: holds a reference */
    char *tags, *file;   /* owned */
    char *name;          /* BACKEND, KIND, OBJECT: owned */
    dpi_kernel *kernel;  /* IMPL, FALLBACK, OBSERVER: holds a reference */
    dpi_device *device;  /* BACKEND: holds a reference; ended by dpi_unit_free() */
    int bit;             /* BACKEND: the backend's bit; KIND: the kind's slot; -1: none */
    struct dpi_object_kind *objects; /* OBJECT: owned */
    dpi_library *library;            /* LIBRARY: owned; in the registry's list while attached */
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

dpi_stack *dpi_truth_stack(const dpi_truth *t, dp_key key); /* NULL: no kernel for `key` */
/* Insert `k` in the stack of its key, after all newer kernels.  The stack gets a reference of its
 * own.  DP_ERESOURCE: no memory. */
int dpi_truth_add(dpi_truth *t, dpi_kernel *k, dp_error *err);
/* Remove `k`, if it is there, and the stack's reference to it. */
void dpi_truth_remove(dpi_truth *t, const dpi_kernel *k);
/* Set the definition to `def`, whose file and tags are borrowed; NULL: remove the definition. */
void dpi_truth_define(dpi_truth *t, const dpi_reg *def);
/* Check the text of the formula, if any, that generation `gen` has registered, against the
 * operator's schema.  Returns 0 also if there is no schema: then the formula is checked at its
 * first use. */
int dpi_truth_check_formula(const dpi_truth *t, const dpi_generation *gen, dp_error *err);
/* Make `to` a copy of `from` with references of its own.  The strings of `to` are borrowed.
 * DP_ERESOURCE: no memory; `to` holds nothing. */
int dpi_truth_copy(dpi_truth *to, const dpi_truth *from, dp_error *err);
/* Overwrite all fields of `to` but id, reg and name with those of `from`, which must not be used or
 * freed afterwards.  What `to` had before is not released: the caller has copied the struct. */
void dpi_truth_move(dpi_truth *to, const dpi_truth *from);
void dpi_truth_fini(dpi_truth *t); /* does not free the operator's name */
void dpi_op_free(dp_op *op);

#pragma GCC visibility pop

#endif
