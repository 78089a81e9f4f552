/* formula.h -- formulas.  A formula is a program (program.h) that computes the gradients of an
 * operator's arguments from the gradients of its returns, as derivatives.yaml does in PyTorch.
 * Each input of the program has a source: a gradient, an argument or return of the operator's call,
 * or a property of these.  Each output is the gradient of one argument. */
#ifndef DPI_FORMULA_H
#define DPI_FORMULA_H

#include "dispatch/registry/entry.h"
#include <dispatchd/program.h>

#pragma GCC visibility push(hidden)

/* The source of one input of a formula.  "Saved" means that the graph's node saves the value. */
typedef struct dpi_source {
    enum {
        DPI_FROM_GRAD,      /* gradient of return `index` */
        DPI_FROM_ARG,       /* argument `index` itself, saved */
        DPI_FROM_RET,       /* return `index` itself, saved */
        DPI_FROM_NEED,      /* a bool: backward wants the gradient of argument `index` */
        DPI_FROM_CREATE,    /* a bool: backward records its own calls (create_graph) */
        DPI_FROM_ARG_FIELD, /* property `field` of argument `index`, saved */
        DPI_FROM_RET_FIELD  /* property `field` of return `index`, saved */
    } kind;
    uint16_t index;
    uint16_t field; /* a property of a tensor, such as its sizes: dpi_field_find() */
    uint16_t slot;  /* saved values: index in dpi_node.slots and dpi_formula.saves */
    bool optional;  /* GRAD: true: an undefined gradient is None; false: it is a tensor of zeros */
    bool list;      /* GRAD: the return is a list, and so is its gradient */
    uint64_t need;  /* outputs and steps that depend on the input, as in dpi_step.need */
} dpi_source;

/* The operators and values that dp_record_as() made a formula of (record_as.c). */
typedef struct dpi_made {
    const dp_op *op;     /* the operator that is recorded */
    dp_schema *schema;   /* schema of `op` when the formula was made; with a reference */
    dp_schema *backward; /* schema of the operator that the program calls; with a reference */
    uint64_t arguments, non_differentiable;
    uint32_t flags, n_saved;
    /* the next formula in the list of the kernel (dpi_kernel.compiled), which owns it */
    struct dpi_formula *_Atomic next;
    uint32_t saved[]; /* [2 * n_saved] kind and index of each saved value */
} dpi_made;

typedef struct dpi_formula {
    atomic_uint refs;
    dp_program *program;
    uint32_t n_inputs, n_outputs, n_slots;
    dpi_source *inputs;    /* [n_inputs] */
    uint16_t *output_args; /* [n_outputs] argument whose gradient each output is */
    /* [n_slots] index in `inputs` of each saved value: first `n_arg_saves` values of arguments,
     * which are saved before the operator runs, then the values of returns */
    uint16_t *saves;
    uint32_t n_arg_saves;
    uint64_t missing;        /* bit i: the formula cannot compute the gradient of argument i */
    uint64_t differentiable; /* bit r: return r gets history, so it can require a gradient */
    uint64_t clone;          /* bit i: argument i is cloned before the operator overwrites it */
    bool reshapes;           /* the operator changes its argument's sizes or strides only (t_) */
    bool detaches;           /* the operator removes its argument's history (detach_) */
    bool unrecorded;         /* calls of the operator are never recorded */
    bool through;            /* the calls that the operator's kernel makes are recorded instead */
    bool once;               /* the gradients it computes cannot be differentiated (once.c) */
    dpi_made *made;          /* owned; NULL: the formula was compiled from text */
} dpi_formula;

/* Compile the formula of the operator in registry entry `e`, unless another thread was faster:
 * *out, as dpi_formula_of() gets it. */
int dpi_formula_compile(dp_ctx *ctx, const dpi_entry *e, dpi_formula **out);
/* Get the formula of the operator in registry entry `e`: *out, valid until the operator's call
 * ends; NULL: the operator has no formula.  The formula's text is compiled at the first use.
 * DP_EPLUGIN: the text is wrong; the message names its file and line. */
static inline int dpi_formula_of(dp_ctx *ctx, const dpi_entry *e, dpi_formula **out)
{
    *out = e->formula != NULL ? atomic_load_explicit(&e->formula->compiled, memory_order_acquire)
                              : NULL;
    return DPI_LIKELY(*out != NULL || e->formula == NULL) ? 0 : dpi_formula_compile(ctx, e, out);
}
/* Number the values that formula `f` saves, after its program, inputs and n_inputs are set, and set
 * dpi_source.need of each input.  DP_ERESOURCE: no memory. */
int dpi_formula_number(dp_ctx *ctx, dpi_formula *f);
static inline dpi_formula *dpi_formula_ref(dpi_formula *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}
void dpi_formula_unref(dpi_formula *f); /* NULL is fine */

/* -- formula_text.c: a function that takes a site and fails sets its error, DP_EPLUGIN -- */

/* A formula that is read. */
typedef struct dpi_formula_site {
    dp_error *err;
    const char *op; /* the operator's name, in errors */
    const dp_schema *schema;
    const char *file; /* where the plugin's source has the formula */
    uint32_t line;
} dpi_formula_site;

/* Check the text of the formula that is registered as `k`, all but its steps, against the schema of
 * its operator `op`. */
int dpi_formula_check(const char *op, const dp_schema *schema, const dpi_kernel *k, dp_error *err);
/* Read the first line of a formula, such as "flags differentiable=101 clone=self", into `f`, and
 * move *text behind that line. */
int dpi_formula_flags(const dpi_formula_site *at, dpi_formula *f, const char **text);
/* Find the source of input `name` of type `type`: *out. */
int dpi_formula_source(const dpi_formula_site *at, const char *name, const char *type,
                       dpi_source *out);
/* Return the number of the argument whose gradient output `name` is.  Bit i of *given, which is set
 * here: an output for argument i was there before. */
int dpi_formula_output(const dpi_formula_site *at, const char *name, uint64_t *given);

/* Return the number of the property called `name` (dpi_source.field); -1: there is none.
 * Properties are those that a program's GET step reads without further arguments, such as "sizes";
 * "dtypes", another name of "dtype"; "defined" (the value is a tensor, not None) and "len" (of a
 * list of tensors, else 0). */
int dpi_field_find(const char *name);
/* Return the type of property `field` of a tensor, as text. */
const char *dpi_field_type(uint16_t field);
/* Has a list of tensors a list as its property `field`, with an item for each tensor? */
bool dpi_field_of_each(uint16_t field);
/* Read property `field` of `*v`, a tensor or a list of tensors: *out, which the caller frees with
 * dp_value_free().  For a list, the result is the list of the items' properties.  DP_ERESOURCE: no
 * memory. */
int dpi_field_read(dp_ctx *ctx, uint16_t field, const dp_value *v, dp_value *out);

#pragma GCC visibility pop

#endif
