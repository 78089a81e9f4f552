/* gradcheck.h -- the function whose gradients dp_grad_check() checks, shared by checked.c, which
 * evaluates it, and gradcheck.c, which compares its gradients with finite differences. */
#ifndef DPI_GRADCHECK_H
#define DPI_GRADCHECK_H

#include "history.h"

#pragma GCC visibility push(hidden)

/* A tensor by which the function is differentiated. */
typedef struct dpi_checked {
    const dp_tensor *given; /* borrowed; the argument; NULL: a gradient of an output */
    dp_tensor *t;           /* owned; a copy of it, a contiguous leaf of float64 or complex128 */
    double *data;           /* the elements of `t`; a complex element is two numbers */
    size_t n;               /* numbers in `data` */
    bool complex;
    uint32_t index, item; /* the argument, or the output; its item, UINT32_MAX: it is no list */
} dpi_checked;

/* One output of the function. */
typedef struct dpi_output {
    dp_tensor *t; /* owned */
    /* the return and its item; with `second`, `index` is the dpi_checked whose gradient `t` is */
    uint32_t index, item;
} dpi_output;

typedef struct dpi_function {
    dp_ctx *ctx;
    const dp_grad_check_options *o;
    const char *name;   /* of the operator; "the program" */
    dp_value *args;     /* [o->n_args] the arguments with copies of the tensors */
    dp_value *rets;     /* [n_rets] scratch of one evaluation */
    dp_tensor **copies; /* [n_copies] owned: all copies that are no dpi_checked */
    uint32_t n_rets, n_copies;
    bool any; /* some argument requires a gradient, so only those that do are checked */
    /* the function is the gradient of the operator, and has the gradients of its outputs as further
     * arguments (gradgradcheck) */
    bool second;
    dpi_checked *checked; /* [n_checked] */
    uint32_t n_checked, n_args_checked;
    dpi_output *outputs; /* [n_outputs] of the last evaluation */
    uint32_t n_outputs, cap_outputs;
    /* with `second`: the operator's own outputs, while its gradient is computed */
    dpi_output *inner;
    uint32_t n_inner, cap_inner;
} dpi_function;

/* Copy the arguments of `o` into *f.  DP_ERUNTIME: the operator writes an argument, or no argument
 * has a gradient.  DP_ENOTIMPL: a tensor is not in the host's memory.  DP_ERESOURCE: the arguments
 * have more elements than o->max_elements.  dpi_function_fini() must follow, also on failure. */
int dpi_function_init(dp_ctx *ctx, const dp_grad_check_options *o, dpi_function *f);
/* Make *f the gradient of the operator, after one evaluation of the operator itself. */
int dpi_function_second(dpi_function *f);
/* Compute f->outputs: those that require a gradient. */
int dpi_function_evaluate(dpi_function *f);
void dpi_function_fini(dpi_function *f);
/* Get t's elements as contiguous float64 or complex128: *data, which lies in *out, owned. */
int dpi_function_read(dpi_function *f, dp_tensor *t, dp_tensor **out, double **data);
uint64_t dpi_function_elements(const dpi_function *f); /* of all f->checked */
/* Fail because `elements` are more than o->max_elements.  Returns the error's code. */
int dpi_function_too_large(dpi_function *f, uint64_t elements);
/* Return the name of a dpi_checked, or of an output, in the context's arena; NULL: no memory. */
const char *dpi_function_input_name(dpi_function *f, const dpi_checked *x);
const char *dpi_function_output_name(dpi_function *f, const dpi_output *y);

#pragma GCC visibility pop

#endif
