/* coerce.h -- between the files that fit arguments to a schema: bind, coerce, symbols. */
#ifndef DPI_COERCE_H
#define DPI_COERCE_H

#include "bind.h"
#include "ctx.h"

#pragma GCC visibility push(hidden)

/* A call to be bound. */
typedef struct dpi_request {
    dp_ctx *ctx;
    const dp_value *args;
    size_t n_args;
    const dp_kwarg *kwargs;
    size_t n_kwargs;
    dpi_kinds *kinds; /* NULL: there are no symbols */
    bool only;        /* there is but one overload that can be meant */
    bool named;       /* check_names() of bind.c has passed */
} dpi_request;

/* One attempt at one schema. */
typedef struct dpi_fit_try {
    const dpi_request *rq;
    const dp_schema *schema;
    dp_error *err;   /* NULL: only trying */
    bool loose;      /* pass 2: numbers for Tensor, 0-dim tensors for numbers */
    bool written;    /* the argument at hand is written: a number cannot be */
    bool late;       /* it is a symbol that has to be fitted again */
    bool maybe;      /* some symbol fits or does not, as its value will say */
    int64_t element; /* of a list, that did not fit; -1 */
    char actual[96]; /* what did not fit, for the message */
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

/* Fit `v` to `type`, as coercion in coerce.c; with an error wanted, describe what did not fit. */
int dpi_coerce(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out);
/* Write what a value is into `buf`, for messages; of a string also its text. */
void dpi_describe(const dp_value *v, char *buf, size_t bytes);

/* -- symbols.c -- */

int dpi_coerce_symbol(dpi_fit_try *f, const dpi_type *type, const dp_value *v, dp_value *out);
void dpi_describe_symbol(const dp_value *v, char *buf, size_t bytes);
uint32_t dpi_list_tag(const dpi_type *elem); /* of a list of `elem`: how it lies in memory */

#pragma GCC visibility pop

#endif
