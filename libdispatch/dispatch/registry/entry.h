/* entry.h -- an operator's dispatch table: an immutable entry computed from the operator's truth,
 * its registered definition and kernels (truth.h), and from the registry's fallbacks.
 *
 *   I1: in every published snapshot, the table cell of an operator and a key is the one that
 *       dpi_table_cell() computes from the operator's truth and the fallbacks; in a canary's
 *       (canary.c), from these as they would be if it were promoted. */
#ifndef DPI_ENTRY_H
#define DPI_ENTRY_H

#include "truth.h"

#pragma GCC visibility push(hidden)

/* The rule that filled a table cell (cell_of() in table.c); an index into dpi_provenance_names. */
enum {
    DPI_P_KERNEL,
    DPI_P_DEFAULT_BACKEND,
    DPI_P_MATH,
    DPI_P_NESTED,
    DPI_P_AUTOGRAD,
    DPI_P_BATCHED,
    DPI_P_AUTOCAST,
    DPI_P_META,
    DPI_P_AMBIGUOUS,
    DPI_P_FALLBACK,
    DPI_P_FALLTHROUGH,
    DPI_P_MISSING
};
extern const char *const dpi_provenance_names[];

typedef struct dpi_cell {
    const dpi_kernel *kernel; /* NULL: missing, ambiguous, or the dispatcher's own fallthrough */
    uint8_t provenance;
} dpi_cell;

/* Compute the table cell of runtime key `k` (which may be Undefined) by the rules of
 * c10::impl::OperatorEntry, from truth `t`, fallbacks `f` and the dispatcher's own fallthroughs.
 * The cell is computed as if the operator also had kernels for the `n_extra` keys in `extra`,
 * registered last; dp_registry_table() uses this to answer questions about kernels that do not
 * exist. */
dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra);

enum {
    DPI_CELL_MISSING = 0xffff,
    DPI_CELL_AMBIGUOUS = 0xfffe,
    /* a flag, added to a kernel's index if dpi_may_want_bytes() is true for the kernel */
    DPI_CELL_WARY = 0x8000
};

/* Compute the first `n_slots` cells of the table of truth `t`, as dpi_table_cell() does. */
void dpi_table_cells(const dpi_truth *t, const dpi_fallbacks *f, uint32_t n_slots, dpi_cell *out);

/* The memory of `table` and `provenance` of one or more entries.  Immutable, with a reference
 * count. */
typedef struct dpi_cells {
    atomic_uint refs;
    uint16_t table[]; /* [n_slots], and `provenance` behind it */
} dpi_cells;

/* The dispatch table of one operator, and the properties of its schema that calls use.  Immutable,
 * with a reference count.  `kernels`, `arg_tags` and `ret_tags` lie in the same memory block. */
typedef struct dpi_entry {
    atomic_uint refs;
    const dp_op *op;
    const dp_op *callable; /* `op` if the operator is defined, else NULL */
    dp_schema *schema;     /* holds a reference; NULL: the operator is not defined */
    uint64_t def_order;    /* dp_op.def_order; overloads are tried in ascending order of it */
    /* dpi_registry_code() of the letters of the schema's C type, "TTs>T"; UINT32_MAX: none */
    uint32_t code;
    uint32_t n_slots;        /* number of table cells: one for each runtime key */
    uint32_t n_args, n_rets; /* of the schema */
    /* arg_tags[i], ret_tags[i]: bit t is set if a value of tag t fits argument or return i
     * (dpi_argument.tags).  For a return that is a written argument only None fits, because the
     * dispatcher itself returns the argument.  If an argument is named output_mask or need_weights,
     * None also fits every return. */
    uint32_t *arg_tags, *ret_tags; /* [n_args], [n_rets] */
    uint64_t written; /* bit i: kernels write argument i (by the schema or tag "also_written") */
    /* bit i: a call writes argument i, by the schema, and increases its version (_version); 0 with
     * tag "keeps_version" */
    uint64_t counted;
    /* Some return may be a list, string, complex number or object, so calls check the memory behind
     * it. */
    bool returns_memory;
    bool views; /* some return may be a view of an argument */
    /* The only return is a tensor that is a view of a tensor argument; no argument is written. */
    bool views_one;
    bool detached;   /* views are not recorded as views of the argument, as in Tensor.detach() */
    bool reads_once; /* bytes of arguments may change while a kernel runs (tag "reads_once") */
    bool random;     /* kernels draw from a generator (tag "nondeterministic_seeded") */
    /* A call needs extra steps before and after the kernel (run_settling() in call.c): an argument
     * is written, a return may be a view or point to memory, or dtypes must be checked. */
    bool settles;
    /* A typed call must box its values, because the dispatcher examines them (for exceptions see
     * unboxed_of() in typed.c). */
    bool boxes;
    uint32_t n_kernels, n_columns;
    dpi_kernel **kernels; /* the entry holds a reference to each */
    /* [n_slots] index in `kernels`, maybe with DPI_CELL_WARY; or DPI_CELL_MISSING or _AMBIGUOUS */
    uint16_t *table;
    uint8_t *provenance; /* [n_slots] DPI_P_*: the rule that filled each cell */
    dpi_cells *cells;    /* holds a reference; `table` and `provenance` point into it */
    /* kernel that calls other operators (entry_composite() says which); NULL: there is none */
    const dpi_kernel *composite;
    dpi_kernel *formula; /* newest derivative (DP_FORMULA); NULL: there is none */
    /* [2 * n_columns] Bits of the functionalities that calls do not pass over.  The table has a
     * column for each backend; for column c, mask[2 * c + 1] is for calls in which an argument may
     * need a gradient (their key set has DPI_GRAD_BIT), and mask[2 * c] for other calls. */
    uint64_t mask[];
} dpi_entry;

/* Entries that one change has built with cells of their own, so that later entries of the change
 * can share these cells.  The place of an entry follows from the keys and flags of its kernels.  A
 * newer entry replaces an older one in the same place, whose cells are then shared no further. */
typedef struct dpi_model {
    const dpi_truth *truth; /* borrowed, as `entry` is; `entry` was computed from it */
    const dpi_entry *entry; /* NULL: none */
} dpi_model;
typedef struct dpi_models {
    dpi_model at[512];
} dpi_models;

/* Compute the entry of `op` from truth `t` with one reference.  `n_named`: number of table columns
 * for backends that plugins name (dpi_backend_named_top()).  `models`: all zero, or filled by
 * earlier calls with the same `fb` and `n_named`, whose truths and entries still exist.  NULL: no
 * memory. */
dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named, dpi_models *models);
dpi_entry *dpi_entry_unref(dpi_entry *e);

/* Look up the cell of key `k` in the table of `e`. */
dpi_cell dpi_entry_cell(const dpi_entry *e, dp_key k);
/* Does `c` hold the dispatcher's own fallthrough, or a kernel registered as a fallthrough? */
bool dpi_cell_falls_through(dpi_cell c);
/* Has the kernel in `c` DP_FLAG_GRAD?  Calls in which no argument may need a gradient then pass
 * over the cell's key. */
bool dpi_cell_needs_grad(dpi_cell c);
/* Is `k` an alias key whose kernels usually call other operators? */
bool dpi_is_composite(dp_key k);
/* Is `k` a composite kernel without DP_FLAG_META (and no fallthrough), and does the operator of `e`
 * take or return tensors?  Such a kernel may access the bytes of tensors as a backend's kernel
 * does, so it must not run for tensors without memory: tensors on device meta, and fakes (like
 * PyTorch's FakeTensor). */
bool dpi_may_want_bytes(const dpi_entry *e, const dpi_kernel *k);
/* Has the CPU kernel of `e` the flags of kernels that access no bytes at all (DP_FLAG_META and
 * DP_FLAG_VIEWS)?  If so, it also works for tensors of other devices. */
bool dpi_needs_no_bytes(const dpi_entry *e);
/* Is what serves `e` at `key` a fallback that copies bytes, so that dp_mode.fallback applies?  The
 * policy concerns fallbacks for keys of backends, which serve operators that the backend has no
 * kernel for.  It does not concern fallbacks of layers, which only redispatch, nor operators that
 * only make views, which copy no bytes. */
bool dpi_falls_back(const dpi_entry *e, dp_key key);
/* Append the keys that have a kernel, for messages: "CPU, AutogradCPU", or "none".  Keys that fall
 * through, and layers (abi.h) that are only a fallback, are left out.  After 8 keys, append ", ...
 * 5 more" instead of the remaining keys. */
void dpi_entry_list(const dpi_entry *e, dpi_text *t);

#pragma GCC visibility pop

#endif
