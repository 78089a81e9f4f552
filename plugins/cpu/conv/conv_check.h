/* conv_check.h -- checks of a convolution's arguments, in PyTorch's order and with its messages
 * (aten/src/ATen/native/Convolution.cpp). */
#ifndef CPU_CONV_CHECK_H
#define CPU_CONV_CHECK_H

#include "conv.h"

/* list arguments of a call; a list of one value stands for that value in every spatial dimension */
typedef struct conv_lists {
    const int64_t *stride, *padding, *dilation, *output_padding;
    size_t n_stride, n_padding, n_dilation, n_output_padding;
} conv_lists;

/* A convolution with checked arguments.  `s` has the sizes of conv.h's formula; in a transposed
 * convolution, x of the formula is the output, and y the input. */
typedef struct conv_plan {
    conv_shape s;
    int dims;               /* number of spatial dimensions */
    bool transposed, empty; /* `empty`: there are no samples or no channels */
    dp_dtype dtype;
    int64_t sizes[2 + CONV_SPACE]; /* sizes of the output */
} conv_plan;

/* Check the arguments of a convolution; `bias` may be NULL.  DP_ERUNTIME: PyTorch refuses them. */
int conv_check(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
               const conv_lists *lists, bool transposed, int64_t groups, conv_plan *p);
/* Check the sizes and the dtype of `grad`, the gradient of the output that `p` describes.
 * DP_ERUNTIME: they are wrong. */
int conv_check_grad(dp_ctx *ctx, dp_tensor *grad, const conv_plan *p);

/* Return the memory of `t`, a tensor [N, C, ...] or a weight [O, C, ...]. */
conv_side conv_side_of(dp_tensor *t);

#endif
