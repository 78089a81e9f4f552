/* functional.h -- internal declarations of the pass that makes a program functional
 * (functionalize.c): what it knows of each old value, and how it makes values again.
 *
 * A *root* is a value with memory of its own, such as an input or a result, that some step writes
 * to.  Views of a root are *derived*: after a write their steps are added again, with the root's
 * new value, when something reads them. */
#ifndef DPI_FUNCTIONAL_H
#define DPI_FUNCTIONAL_H

#include "graph.h"

#pragma GCC visibility push(hidden)

enum { DPI_SLOT_NONE = UINT32_MAX }; /* no value, no step */

typedef struct dpi_slot {
    enum {
        DPI_SLOT_PLAIN, /* nothing writes to its memory */
        DPI_SLOT_ROOT,
        DPI_SLOT_DERIVED, /* its step makes it from values of which something writes to one */
        DPI_SLOT_GATED    /* it is value `parent` if the condition of its step is true, else None */
    } kind;
    bool strided;      /* ROOT: a step reads its memory by strides (as_strided) */
    bool private_copy; /* ROOT: its new value is a copy that only this pass's steps see */
    bool broken;       /* ROOT, a list: an item was written, so that the list is out of date */
    bool perhaps;      /* DERIVED: its step returns a view or a copy (reshape) */
    uint32_t same;     /* the value that is the same tensor; itself, except for aliases */
    uint32_t root; /* DERIVED, GATED: the root of its memory; DPI_SLOT_NONE: there are several */
    uint32_t step; /* the step that returns it; DPI_SLOT_NONE: it is an input */
    /* DERIVED: the value of which it is a view; GATED: the value that it may be; or _NONE */
    uint32_t parent;
    uint32_t added;   /* DERIVED: the new step that made it last */
    uint32_t made;    /* time at which the new value was made */
    uint32_t written; /* ROOT: time of the last write */
    uint32_t settled; /* ROOT: time at which the input got its new value, at the end */
    uint32_t writer;  /* ROOT: the last step that wrote to it */
    uint32_t list;    /* ROOT that is item `index` of a root list: that list; or DPI_SLOT_NONE */
    uint32_t index;
    uint32_t items, next; /* of a root list: its first item; of an item: the next one */
    uint32_t seen;        /* 1 + the step that last counted the root among those it writes */
} dpi_slot;

/* The functional form of an operator that writes to its arguments. */
typedef struct dpi_partner {
    bool known; /* it was looked for */
    enum {
        DPI_FIT_AS_IS, /* results have the dtype and the strides of the written arguments */
        DPI_FIT_CAST,  /* results may have another dtype */
        DPI_FIT_COPY,  /* results may have other strides and, perhaps, another dtype */
        DPI_FIT_SIZES  /* results may have other sizes, too (out=) */
    } fit;
    const dp_schema *schema; /* borrowed from the snapshot; NULL: there is none */
} dpi_partner;

typedef struct dpi_functional {
    dpi_rewrite r;
    dpi_slot *slots;       /* [n_values] */
    bool *tensors;         /* [n_values] a step takes it as a tensor, whatever its tags allow */
    dpi_partner *partners; /* [n_ops] */
    dp_program **subs;     /* [n_subs] owned; functional forms of inner programs; NULL: none */
    uint32_t now;          /* number of writes so far */
    uint32_t step;         /* the old step that is replaced now */
    dp_ref when;           /* its condition, a new reference, or DPI_REF_NONE */
    uint32_t *stack;       /* values to make again (slots.c) */
    uint32_t n_stack, cap_stack;
    uint64_t *item_keys; /* [item_mask + 1] hash table of items of root lists; 0: free */
    uint32_t *item_values, item_mask;
} dpi_functional;

/* -- emit.c -- */

/* Fail with DP_ENOTIMPL: the step that is replaced now cannot be, because of `format`. */
int dpi_functional_fail(dpi_functional *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add step `s`, whose references are new ones, for the step that is replaced now. */
int dpi_functional_add(dpi_functional *f, dp_step *s, dp_ref *out);
/* Add a call of an operator, with positional arguments, for the step that is replaced now. */
int dpi_functional_call(dpi_functional *f, const char *name, const dp_ref *args, size_t n,
                        dp_ref *out);
/* Add a GET step: property `name` of `of`. */
int dpi_functional_get(dpi_functional *f, const char *name, dp_ref of, dp_ref *out);

/* -- slots.c -- */

/* Get the value of `old`, an old reference, as it is now: *out.  Its steps are added again if
 * something has written to its memory. */
int dpi_functional_now(dpi_functional *f, dp_ref old, dp_ref *out);
/* Make the slots of the returns of step i, after its new returns were entered. */
int dpi_functional_enter(dpi_functional *f, uint32_t i);
/* Make the slots of the inputs. */
void dpi_functional_inputs(dpi_functional *f);
/* Make `ref` the new value of root `v`. */
int dpi_functional_write(dpi_functional *f, uint32_t v, dp_ref ref);
/* Return element `index` of a list that a LIST step makes, as an old reference; DPI_REF_NONE: the
 * pass does not know it. */
dp_ref dpi_functional_element(const dpi_functional *f, uint32_t list, uint32_t index);
/* Return the value that stands for item `index` of root list `list`.  If there is none yet, `v`
 * becomes that value. */
uint32_t dpi_functional_item(dpi_functional *f, uint32_t list, uint32_t index, uint32_t v);
static inline uint32_t dpi_same(const dpi_functional *f, dp_ref old)
{
    return f->slots[old].same;
}
/* Is the value a view, or a list, of which the pass knows the parts? */
static inline const dpi_step *dpi_derived_by(const dpi_functional *f, uint32_t v)
{
    return f->slots[v].kind == DPI_SLOT_DERIVED ? &f->r.from->steps[f->slots[v].step] : NULL;
}

/* Is the value a list of tensors? */
static inline bool dpi_is_list(const dpi_functional *f, uint32_t v)
{
    uint32_t tags = f->r.from->values[v].tags;

    return tags != DPI_TENSOR && (tags & DPI_LISTS) != 0 && !f->tensors[v];
}

/* -- views.c -- */

typedef struct dpi_view {
    const char *name; /* operator; of one that ends with "*", what comes before it */
    enum {
        DPI_VIEW_SCATTER, /* other(whole, part, the same further arguments) */
        DPI_VIEW_AGAIN,   /* the same operator, with the same further arguments */
        DPI_VIEW_SWAPPED, /* the same operator, with its second and third argument exchanged */
        DPI_VIEW_SIZES,   /* aten::reshape to the sizes of the whole */
        DPI_VIEW_ITSELF,  /* the new value is that of the whole */
        DPI_VIEW_PERMUTED,
        DPI_VIEW_NARROWED,
        DPI_VIEW_SPLIT,    /* a list of parts of one size, the second argument */
        DPI_VIEW_SECTIONS, /* a list of parts whose sizes are the second argument */
        DPI_VIEW_UNBOUND,  /* a list of selected parts */
        DPI_VIEW_PERHAPS,  /* a view or a copy */
        DPI_VIEW_EXPANDED,
        DPI_VIEW_OTHER /* a view without a functional inverse */
    } how;
    const char *other;
} dpi_view;
/* Return the entry of the operator that CALL step `s` calls; DPI_VIEW_OTHER: it has none. */
const dpi_view *dpi_view_of(const dp_program *p, const dpi_step *s);

/* -- undo.c -- */

typedef enum dpi_undo {
    DPI_UNDO_YES,
    DPI_UNDO_COPY,    /* no functional inverse: write to the view of a copy */
    DPI_UNDO_PERHAPS, /* it is not known whether the value is a view */
    DPI_UNDO_EXPANDED /* several elements may have the same memory */
} dpi_undo;
/* Can value `v` be written through all the views between it and its root?  *root: that root. */
int dpi_undo_ask(dpi_functional *f, uint32_t v, dpi_undo *how, uint32_t *root);
/* Store `ref`, the new value of `v`, in the root of `v`. */
int dpi_undo_store(dpi_functional *f, uint32_t v, dp_ref ref);

/* -- partner.c -- */

/* Find the functional form of p->ops[op]. */
const dpi_partner *dpi_partner_find(dpi_functional *f, uint32_t op);

/* -- fit.c -- */

/* Convert *ref, a new value of `v`, to the dtype and, if `fit` says so, to the strides of `v`.  The
 * result of an out= call must have the sizes of `v`: calls that change sizes are not functional. */
int dpi_functional_fit(dpi_functional *f, uint32_t v, int fit, dp_ref *ref);

/* -- write_back.c -- */

/* Add the writes to inputs and the outputs, and make the program: *out, owned. */
int dpi_functional_finish(dpi_functional *f, dp_program **out);

#pragma GCC visibility pop

#endif
