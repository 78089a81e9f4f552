/* values.h -- the memory that a dp_value points to: its size, and copying it. */
#ifndef DPI_VALUES_H
#define DPI_VALUES_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

size_t dpi_items_bytes(uint32_t tag, size_t n); /* bytes of a list or string of length n */
bool dpi_value_lacks_memory(const dp_value *v); /* is its pointer NULL, although it must not be? */
/* Set to None each value that points, itself or through a list item, into a stack frame of this
 * thread below address `frame`: such a frame belongs to a function that has returned.  Return true
 * if there was such a value. */
bool dpi_values_clear_dangling(dp_value *values, size_t n, const void *frame);
/* Return the bytes, with padding, of a copy of all memory that the values point to, including lists
 * in lists.  The memory of tensors and objects is not counted. */
size_t dpi_values_bytes(const dp_value *values, size_t n);
/* Copy all memory that the values point to.  The copy is at `to`, which has dpi_values_bytes()
 * bytes.  Make the values point to the copy, and return its end. */
char *dpi_values_move(dp_value *values, size_t n, char *to);
/* Copy all memory that the values point to into arena `a`, and make the values point to the copy.
 * DP_ERESOURCE: nothing has changed. */
int dpi_values_copy(dp_arena *a, dp_value *values, size_t n);
/* Add a reference to every tensor and object in the values, including lists in lists. */
void dpi_values_ref(const dp_value *values, size_t n);
/* Rewind arena `a` to `arena_mark`, but keep the memory that the values point to: it is copied
 * to the arena after `arena_mark`.  DP_ERESOURCE: the values are unchanged, or
 * dp_values_release() was called for them. */
int dpi_values_settle(dp_arena *a, char *arena_mark, dp_value *values, size_t n);

#pragma GCC visibility pop

#endif
