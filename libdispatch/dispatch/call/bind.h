/* bind.h -- dp_bind() for a program's builder, which knows some values by their kinds only. */
#ifndef DPI_BIND_H
#define DPI_BIND_H

#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* Tag of a symbol: it stands for a value that is not known yet.  Bit t of u.i: the value may have
 * tag t.  `len` is free for the caller. */
enum { DPI_TAG_SYMBOL = DP_TAG_END };
#define DPI_TAGS_ANY ((1u << DP_TAG_END) - 1)

typedef struct dpi_kinds {
    /* borrowed from the snapshot; NULL: the overload depends on unknown values */
    dp_schema *schema;
    uint64_t late; /* bit i: argument i is a symbol, to be fitted when its value is known */
} dpi_kinds;
/* Like dp_bind(), with symbols among `args` and `kwargs`.  Other values are bound as usual. */
int dpi_bind_kinds(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out, dpi_kinds *kinds);
/* Fit each of values [schema->n_args] that has a bit in `late` to its argument. */
int dpi_fit(dp_ctx *ctx, const dp_schema *schema, uint64_t late, dp_value *values);
/* Like dp_call_boxed(), but inside a kernel, too, returns that are written arguments are set. */
int dpi_call_for_all(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                     dp_value *rets, size_t n_rets);

#pragma GCC visibility pop

#endif
