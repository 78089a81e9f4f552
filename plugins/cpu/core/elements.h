/* elements.h -- kernels that move elements, or add to them one at a time, whatever their dtype. */
#ifndef CPU_ELEMENTS_H
#define CPU_ELEMENTS_H

#include "lib/dims.h"
#include <complex.h>
#include <dispatchd/dtypes.h>
#include <string.h>

/* v, a number or a bool, as one element of dtype, cast as C casts; out [DP_DTYPE_SIZE_MAX] */
void write_scalar(dp_value v, dp_dtype dtype, void *out);
/* DP_ERUNTIME if v is out of dtype's range.  Source: c10::checked_convert. */
int check_fits(dp_ctx *ctx, dp_value v, dp_dtype dtype);
/* DP_ERUNTIME where elements of `written` share memory with one another, or with any of others [n].
 * Source: assert_no_internal_overlap, assert_no_overlap. */
int check_apart(dp_ctx *ctx, dp_tensor *written, dp_tensor *const *others, int n);
/* DP_ERUNTIME: a mask of bytes has others than 0 and 1. */
int check_bits(dp_ctx *ctx, dp_tensor *mask);
/* n elements of `size` bytes; steps in bytes, which may be negative or 0 */
void copy_elements(size_t size, int64_t n, char *dst, int64_t to, const char *src, int64_t from);
/* copy_elements() for a line of any length: it ends early when the request is to stop (poll.h). */
void copy_line(const dp_ctx *ctx, size_t size, int64_t n, char *dst, int64_t to, const char *src,
               int64_t from);

#endif
