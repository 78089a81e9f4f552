/* elements.h -- copies of elements of any dtype, given the size of an element in bytes, conversions
 * and checks of Scalars, and checks of masks and of tensors that a kernel will write.
 * create/tensor_factories.c has check_fits(), elements.c has the other functions. */
#ifndef CPU_ELEMENTS_H
#define CPU_ELEMENTS_H

#include "lib/dims.h"
#include <complex.h>
#include <dispatchd/dtypes.h>
#include <string.h>

/* Write the number or bool `v` to `out` [DP_DTYPE_SIZE_MAX] as one element of `dtype`, converted
 * as C converts. */
void write_scalar(dp_value v, dp_dtype dtype, void *out);
/* Check that the number `v` is in the range of `dtype`.  DP_ERUNTIME: it is not.  Source:
 * c10::checked_convert. */
int check_fits(dp_ctx *ctx, dp_value v, dp_dtype dtype);
/* Check that `written` can be written element by element.  DP_ERUNTIME: elements of `written` share
 * memory with each other, or with a tensor of others [n].  If this is too hard to decide
 * (dp_overlap()), the check succeeds.  Source: assert_no_internal_overlap, assert_no_overlap. */
int check_apart(dp_ctx *ctx, dp_tensor *written, dp_tensor *const *others, int n);
/* Check that a bool or uint8 `mask` contains only 0 and 1.  DP_ERUNTIME: an element is greater than
 * 1. */
int check_bits(dp_ctx *ctx, dp_tensor *mask);
/* Copy `n` elements of `size` bytes from `src` to `dst`.  `to` and `from` are the strides in bytes
 * of dst and src; they may be negative or 0. */
void copy_elements(size_t size, int64_t n, char *dst, int64_t to, const char *src, int64_t from);
/* Copy like copy_elements(), but, unless dst and src are both contiguous, end early if the request
 * must stop (poll.h).  It is for copies that may be long. */
void copy_line(const dp_ctx *ctx, size_t size, int64_t n, char *dst, int64_t to, const char *src,
               int64_t from);

#endif
