/* coerce.h -- shared by bind.c, coerce.c and symbols.c, which fit arguments to a schema.
 *
 * To fit a value to a type is to check that the type allows the value, and to convert the value. */
#ifndef DPI_COERCE_H
#define DPI_COERCE_H

#include "bind.h"
#include "ctx.h"

#pragma GCC visibility push(hidden)

/* A call that dp_bind() is binding. */
typedef struct dpi_request {
    dp_ctx *ctx;
    const dp_value *args;
    size_t n_args;
    const dp_kwarg *kwargs;
    size_t n_kwargs;
    dpi_kinds *kinds;     /* NULL: no argument is a symbol */
    bool single_overload; /* just one overload takes arguments of this number and names */
    bool names_checked;   /* check_names() of bind.c has passed */
    bool whole_name;      /* the operator's name is whole: it means no other overload */
} dpi_request;

/* An attempt to fit the arguments of a call to one schema. */
typedef struct dpi_fit_try {
    const dpi_request *rq;
    const dp_schema *schema;
    dp_error *err;   /* NULL: do not describe errors */
    bool loose;      /* second pass: a number fits Tensor, and a 0-dim tensor fits a number type */
    bool written;    /* the current argument is written, so a number does not fit Tensor */
    bool late;       /* the current argument is a symbol to be fitted again later */
    bool maybe;      /* for some argument that is a symbol, only its later value shows if it fits */
    int64_t element; /* index of the list item that did not fit; -1: none */
    char actual[96]; /* kind of the value that did not fit, for the message */
} dpi_fit_try;

static inline int no_memory(const dpi_fit_try *f)
{
    return dpi_no_memory(&f->rq->ctx->error, "arguments of a call");
}

static inline bool is_number(const dp_value *v)
{
    return v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE || v->tag == DP_TAG_BOOL ||
           v->tag == DP_TAG_COMPLEX;
}

/* Fit `v` to `type` and store the result in *out.  DP_ETYPE: `v` does not fit.  No error is set
 * then, but if f->err is not NULL, f->actual describes the value or item that does not fit. */
int dpi_coerce(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out);
/* Describe the kind of `v` in `buf`, for messages; for a string also its text. */
void dpi_describe(const dp_value *v, char *buf, size_t bytes);

/* -- symbols.c -- */

/* Do the same as dpi_coerce() for a symbol `v`. */
int dpi_coerce_symbol(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out);
void dpi_describe_symbol(const dp_value *v, char *buf, size_t bytes);
uint32_t dpi_list_tag(const dpi_type *elem); /* tag of a list with items of type `elem` */

#pragma GCC visibility pop

#endif
