/* bind.h -- binding when some values are known by kind only: what a program's builder needs. */
#ifndef DPI_BIND_H
#define DPI_BIND_H

#include "dispatch/schema/schema.h"

#pragma GCC visibility push(hidden)

/* In place of a value that is not there yet: u.i has bit t when it may be of tag t.  len is the
 * caller's. */
enum { DPI_TAG_SYMBOL = DP_TAG_END };
#define DPI_TAGS_ANY ((1u << DP_TAG_END) - 1)

typedef struct dpi_kinds {
    dp_schema *schema; /* borrowed from the snapshot; NULL: the values decide which overload */
    uint64_t late;     /* bit i: argument i is a symbol to be fitted once its value is known */
} dpi_kinds;
/* dp_bind() with symbols among args and kwargs; what is no symbol is bound as ever. */
int dpi_bind_kinds(dp_ctx *ctx, const char *name, const dp_value *args, size_t n_args,
                   const dp_kwarg *kwargs, size_t n_kwargs, dp_bound *out, dpi_kinds *kinds);
/* Fit values [schema->n_args] to their arguments where `late` has a bit. */
int dpi_fit(dp_ctx *ctx, const dp_schema *schema, uint64_t late, dp_value *values);
/* dp_call_boxed(), whose returns that are written arguments are given inside a kernel, too. */
int dpi_call_for_all(dp_ctx *ctx, const dp_op *op, const dp_value *args, size_t n_args,
                     dp_value *rets, size_t n_rets);

#pragma GCC visibility pop

#endif
