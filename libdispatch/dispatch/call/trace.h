/* trace.h -- the steps of a traced request. */
#ifndef DPI_TRACE_H
#define DPI_TRACE_H

#include "dispatch/registry/truth.h"

#pragma GCC visibility push(hidden)

/* A trace step begins / ends; index of the step, or -1. */
int32_t dpi_trace_enter(dp_ctx *ctx, const dp_op *op, dp_key key, uint32_t depth, bool redispatch,
                        const dpi_kernel *k, uint8_t provenance);
void dpi_trace_leave(dp_ctx *ctx, int32_t step, uint64_t nanos);

#pragma GCC visibility pop

#endif
