/* written.h -- versions and shapes of what a kernel writes (written.c), around the kernel. */
#ifndef DPI_WRITTEN_H
#define DPI_WRITTEN_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

#define DPI_NOT_COUNTED UINT64_MAX /* no version gets there */

/* Before the kernel ran: the number of the last change of shape, and versions of e->counted's
 * tensors, those of lists one by one. */
typedef struct dpi_written {
    uint64_t change, *before, few[8];
} dpi_written;

/* Before the kernel of an operator that writes.  DP_ERESOURCE: it must not run. */
int dpi_written_read(dp_ctx *ctx, const dpi_entry *e, const dp_value *args, dpi_written *w);
/* It succeeded: every version that has not moved since counts up. */
void dpi_written_count(const dpi_entry *e, const dp_value *args, const dpi_written *w);
/* It failed: what it wrote has its former shape again, and versions count up, but for kernels that
 * write through others alone, that refused, or that have DP_FLAG_META and failed before they were
 * told of memory (dpi_ctx_touch).  Returns the arguments whose contents nobody knows now, for
 * dp_error.written. */
uint64_t dpi_written_failed(dp_ctx *ctx, const dpi_entry *e, const dpi_kernel *k,
                            const dp_value *args, const dpi_written *w);

#pragma GCC visibility pop

#endif
