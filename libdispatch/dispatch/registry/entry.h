/* entry.h -- the table of an operator: an immutable entry derived from one truth by one function.
 *
 *   I1: table slot of (op, key) == dpi_table_cell(truth(op), key), for every snapshot published */
#ifndef DPI_ENTRY_H
#define DPI_ENTRY_H

#include "truth.h"

#pragma GCC visibility push(hidden)

/* What stands in a table cell; index into dpi_provenance_names. */
enum {
    DPI_P_KERNEL,
    DPI_P_DEFAULT_BACKEND,
    DPI_P_MATH,
    DPI_P_NESTED,
    DPI_P_AUTOGRAD,
    DPI_P_BATCHED,
    DPI_P_META,
    DPI_P_AMBIGUOUS,
    DPI_P_FALLBACK,
    DPI_P_FALLTHROUGH,
    DPI_P_MISSING
};
extern const char *const dpi_provenance_names[];

typedef struct dpi_cell {
    const dpi_kernel *kernel; /* NULL: missing, ambiguous, or the host's own fallthrough */
    uint8_t provenance;
} dpi_cell;

/* The rules of c10::impl::OperatorEntry for one runtime key (Undefined included): truth, fallbacks,
 * and the host's own fallthroughs in; what serves the key out.  extra, n_extra: kernels that the
 * operator would also have (what-if), as if registered last. */
dpi_cell dpi_table_cell(const dpi_truth *t, const dpi_fallbacks *f, dp_key k, const dp_key *extra,
                        size_t n_extra);

enum {
    DPI_CELL_MISSING = 0xffff,
    DPI_CELL_AMBIGUOUS = 0xfffe,
    DPI_CELL_WARY =
        0x8000 /* with the index of a kernel that may want bytes, see dpi_may_want_bytes */
};

/* The cache of one operator: immutable, counted. */
typedef struct dpi_entry {
    atomic_uint refs;
    const dp_op *op;
    const dp_op *callable; /* op when it is defined, else NULL */
    dp_schema *schema;     /* counted; NULL: not defined */
    uint64_t def_order;    /* of the operator: overloads are tried in it */
    uint32_t code;         /* dpi_registry_code() of schema->code; UINT32_MAX, no caller's: none */
    uint32_t n_slots;
    uint32_t n_args, n_rets; /* of the schema */
    /* dpi_argument.tags; a written argument's return: None */
    uint32_t arg_tags[DP_LIMIT_ARGUMENTS], ret_tags[DP_LIMIT_ARGUMENTS];
    uint64_t written; /* arguments that kernels write: the schema's, and "also_written" ones */
    uint64_t counted; /* those of them whose versions count up */
    /* Some return may point to more than a tensor, which is looked at: a list, a string, an
     * object. */
    bool returns_memory;
    bool views;     /* some return may be a view of an argument */
    bool views_one; /* and there is nothing more to it: one tensor, a view of another */
    bool detached;  /* such returns have no root (tag "detached") */
    bool settles;   /* calls of it have more to do: memory, versions, views */
    bool boxes;     /* the host has to see arguments and returns of every call of it */
    uint32_t n_kernels, n_columns;
    dpi_kernel **kernels; /* counted */
    uint16_t *table;      /* [n_slots] index into kernels, with DPI_CELL_WARY or not; DPI_CELL_* */
    uint8_t *provenance;  /* [n_slots] */
    const dpi_kernel *composite; /* of kernels: the one that calls other operators; NULL: none */
    /* [2 * n_columns] functionalities that are not passed over, by backend's column; [2 * c +
     * 1]: with the skip bit, [2 * c]: without */
    uint64_t mask[];
} dpi_entry; /* kernels, table and provenance are in this block */

dpi_entry *dpi_entry_build(const dpi_truth *t, const dp_op *op, const dpi_fallbacks *fb,
                           uint32_t n_named);
dpi_entry *dpi_entry_unref(dpi_entry *e);

/* What the entry's table says for k. */
dpi_cell dpi_entry_cell(const dpi_entry *e, dp_key k);
/* The key is passed over: the host's fallthrough, or a kernel that is one. */
bool dpi_cell_falls_through(dpi_cell c);
/* So it is where no argument may have a gradient. */
bool dpi_cell_needs_grad(dpi_cell c);
bool dpi_is_composite(dp_key k); /* an alias whose kernels call others, as a rule */
/* A composite kernel that nobody has flagged as touching none: it may be written like one of a
 * backend.  Then it runs for no tensor without memory; where no tensor is involved, it may. */
bool dpi_may_want_bytes(const dpi_entry *e, const dpi_kernel *k);
/* Does the CPU's kernel change geometry alone?  Then it serves tensors of any device. */
bool dpi_needs_no_bytes(const dpi_entry *e);
/* The keys that have a kernel, for messages: "CPU, AutogradCPU", or "none".  After 8: ", ... 5
 * more". */
void dpi_entry_list(const dpi_entry *e, dpi_text *t);

#pragma GCC visibility pop

#endif
