/* trace.h -- the steps of a traced request. */
#ifndef DPI_TRACE_H
#define DPI_TRACE_H

#include "dispatch/registry/truth.h"

#pragma GCC visibility push(hidden)

/* Begin a step of the trace: one call of a kernel, `depth` calls inside the outermost call.  Return
 * the index of the step, or -1: no memory, or the trace has DP_LIMIT_TRACE steps.
 * dpi_trace_leave() ends step `step`, which took `nanos` nanoseconds. */
int32_t dpi_trace_enter(dp_ctx *ctx, const dp_op *op, dp_key key, uint32_t depth, bool redispatch,
                        const dpi_kernel *k, uint8_t provenance);
void dpi_trace_leave(dp_ctx *ctx, int32_t step, uint64_t nanos);
/* Record in the step of the running call, one of `op` at `key`, that the call fell back, and add
 * `copied` bytes to those that it copied. */
void dpi_trace_fell_back(dp_ctx *ctx, const dp_op *op, dp_key key, uint64_t copied);

#pragma GCC visibility pop

#endif
