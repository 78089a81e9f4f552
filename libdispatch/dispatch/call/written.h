/* written.h -- versions and shapes of the arguments that a kernel writes (written.c). */
#ifndef DPI_WRITTEN_H
#define DPI_WRITTEN_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

#define DPI_NOT_COUNTED UINT64_MAX /* in `before`: the tensor's version need not be increased */

/* The state before a kernel runs.  `change`: dpi_last_change(); if the kernel fails, later changes
 * of shapes are undone.  `before`: versions of the tensors in the arguments of e->counted, with
 * those in lists; it points to `inline_before` or into the arena. */
typedef struct dpi_written {
    uint64_t change, *before, inline_before[8];
} dpi_written;

/* Read the versions before a kernel of an operator that writes.  DP_ERESOURCE: the kernel must not
 * run. */
int dpi_written_read(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dpi_written *w);
/* After success: increase each version that has not changed since dpi_written_read(). */
void dpi_written_count(const dpi_entry *e, const dp_value *args, const dpi_written *w);
/* After a failure: restore the shapes of written arguments, and increase their versions.  Versions
 * are not increased for a kernel that writes only by calling other operators, that used
 * dp_refuse(), or that has DP_FLAG_META and failed before dpi_ctx_touch().  Return the mask of
 * arguments whose contents are unknown, for dp_error.written. */
uint64_t dpi_written_failed(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                            const dp_value *args, const dpi_written *w);

/* Set DPI_GRAD_BIT (a gradient may be needed) of the tensors that a call of `e` wrote; for a view,
 * of its base.  The kernel was a layer for gradients, so the written tensors may now depend on an
 * argument that requires a gradient. */
void dpi_written_may_grad(const dpi_entry *e, const dp_value *args);

#pragma GCC visibility pop

#endif
