/* formula.h -- formulas: programs that compute the gradients of an operator's arguments. */
#ifndef DPI_FORMULA_H
#define DPI_FORMULA_H

#include "dispatch/registry/entry.h"
#include <dispatchd/program.h>

#pragma GCC visibility push(hidden)

/* The source of one input of a formula. */
typedef struct dpi_source {
    enum {
        DPI_FROM_GRAD,      /* gradient of return `index` */
        DPI_FROM_ARG,       /* argument `index` itself, saved */
        DPI_FROM_RET,       /* return `index` itself, saved */
        DPI_FROM_NEED,      /* is the gradient of argument `index` wanted? */
        DPI_FROM_CREATE,    /* does backward record, too? */
        DPI_FROM_ARG_FIELD, /* `field` of argument `index` */
        DPI_FROM_RET_FIELD  /* `field` of return `index` */
    } kind;
    uint16_t index;
    uint16_t field;
    uint16_t slot; /* ARG, RET, their FIELDs: index in dpi_node.slots and dpi_formula.saves */
    bool optional; /* GRAD: an undefined gradient is None; without: a tensor of zeros */
    bool list;     /* GRAD: the return is a list, and so is its gradient */
    uint64_t need; /* bit i: output i depends on it; bit 63: an output from the 63rd on does */
} dpi_source;

typedef struct dpi_formula {
    atomic_uint refs;
    dp_program *program;
    uint32_t n_inputs, n_outputs, n_slots;
    dpi_source *inputs;    /* [n_inputs] */
    uint16_t *output_args; /* [n_outputs] index of the argument whose gradient the output is */
    /* [n_slots] index in `inputs` of each saved value: first the `n_arg_saves` that are read before
     * the operator runs, then those that are read from its returns */
    uint16_t *saves;
    uint32_t n_arg_saves;
    uint64_t missing;        /* bit i: the gradient of argument i is not implemented */
    uint64_t differentiable; /* bit r: return r gets history */
    uint64_t clone;          /* bit i: argument i is cloned before the operator overwrites it */
    bool reshapes;           /* what the operator writes gets another geometry, its elements stay */
    bool detaches;           /* what the operator writes is a leaf without a gradient afterwards */
    bool unrecorded;         /* no call is recorded, whatever it writes */
    bool through;            /* the calls that the operator's kernel makes are recorded instead */
} dpi_formula;

/* Get the compiled formula of entry `e`: *out, valid until the call ends; NULL: there is none.
 * DP_EPLUGIN: the text is wrong, which the message says with the formula's file and line. */
int dpi_formula_of(dp_ctx *ctx, const dpi_entry *e, dpi_formula **out);
dpi_formula *dpi_formula_ref(dpi_formula *f);
void dpi_formula_unref(dpi_formula *f); /* NULL is fine */

/* Return the dpi_source.field called `name`; -1: there is none.  Fields are those of GET steps that
 * take one argument, "defined", and "len", also of what is not a list. */
int dpi_field_find(const char *name);
/* Read field `field` (dpi_source) of v, a tensor or a list of tensors: a value that is owned by the
 * caller (dp_value_free()).  DP_ERESOURCE. */
int dpi_field_read(dp_ctx *ctx, uint16_t field, const dp_value *v, dp_value *out);

#pragma GCC visibility pop

#endif
