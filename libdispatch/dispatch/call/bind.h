/* bind.h -- dp_bind() for calls in programs, which are bound before some values are known.
 *
 * A program (libdispatch/program) is a list of calls that run together later.  A symbol stands for
 * a value of which only the possible tags (dp_value.tag) are known. */
#ifndef DPI_BIND_H
#define DPI_BIND_H

#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* Tag of a dp_value that is a symbol.  Bit t of u.i: the value may have tag t.  `len` is free for
 * the caller. */
enum { DPI_TAG_SYMBOL = DP_TAG_END };
#define DPI_TAGS_ANY ((1u << DP_TAG_END) - 1)

typedef struct dpi_kinds {
    /* schema of the overload; borrowed from the snapshot; NULL: values that are not known yet
     * decide between overloads */
    dp_schema *schema;
    uint64_t late; /* bit i: argument i is a symbol whose value dpi_fit() must fit later */
} dpi_kinds;
/* Like dp_bind(), with symbols among `args` and `kwargs`.  Other values are bound as usual.  *kinds
 * gets the result for the symbols.  `whole`: a name without an overload means the operator that is
 * called so, and no overload of it. */
int dpi_bind_kinds(dp_ctx *ctx, const char *name, bool whole, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out, dpi_kinds *kinds);
/* For each bit i in `late`: convert values[i] to the type of argument i, as dp_bind() does.
 * `values` has schema->n_args elements. */
int dpi_fit(dp_ctx *ctx, const dp_schema *schema, uint64_t late, dp_value *values);
/* Like dp_call_boxed(), but also set returns that are written arguments.  Inside a kernel,
 * dp_call_boxed() leaves these returns None. */
int dpi_call_for_all(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                     dp_value *rets, size_t n_rets);

/* Call `op`, which is not NULL, as dpi_call_for_all() does, but without resetting the statistics
 * and the error of `ctx`.  The caller is between dp_ctx_begin() and dp_ctx_end(). */
int dpi_call_within(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                    dp_value *rets, size_t n_rets);

#pragma GCC visibility pop

#endif
