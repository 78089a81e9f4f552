/* values.h -- what a dp_value points to: how many bytes, moved as a whole, copied, counted. */
#ifndef DPI_VALUES_H
#define DPI_VALUES_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

size_t dpi_items_bytes(uint32_t tag, size_t n); /* of a list of n, or of a string */
bool dpi_value_lacks(const dp_value *v);        /* it has to point somewhere and does not */
/* Those that point into frames of this thread below `frame`, deep, become None; are there any? */
bool dpi_values_left(dp_value *values, size_t n, const void *frame);
/* Bytes of all that the values point to, lists in lists too; tensors are not followed. */
size_t dpi_values_bytes(const dp_value *values, size_t n);
/* Copy all that to `to`, which has so many bytes, and have them point there; its end. */
char *dpi_values_move(dp_value *values, size_t n, char *to);
/* The same into an arena.  DP_ERESOURCE, and nothing has happened. */
int dpi_values_copy(dp_arena *a, dp_value *values, size_t n);
/* One more reference for every tensor in them, lists in lists too. */
void dpi_values_ref(const dp_value *values, size_t n);
/* Wind the arena back to `at`, but for what the values point to, which lies there then.
 * DP_ERESOURCE: the values may be released already. */
int dpi_values_settle(dp_arena *a, char *at, dp_value *values, size_t n);

#pragma GCC visibility pop

#endif
