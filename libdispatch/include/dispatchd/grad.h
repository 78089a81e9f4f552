/* dispatchd/grad.h -- gradients, for embedders: which tensors require one, and backward. */
#ifndef DISPATCHD_GRAD_H
#define DISPATCHD_GRAD_H

#include "dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {                         /* dp_backward_options.flags */
       DP_BACKWARD_RETAIN = 1, /* keep the graph, so that backward can walk it again */
       DP_BACKWARD_CREATE = 2  /* record what backward computes, for derivatives of gradients */
};

/* One walk (torch.autograd.backward, torch.autograd.grad).  Set `size` first. */
typedef struct dp_backward_options {
    uint32_t size;
    uint32_t flags;            /* DP_BACKWARD_* */
    dp_tensor *const *tensors; /* [n] tensors to differentiate */
    /* [n] gradients of `tensors`; NULL, or an item of NULL: 1, for a tensor of one element */
    dp_tensor *const *gradients;
    size_t n;
    dp_tensor *const *inputs; /* [n_inputs] tensors whose gradients are returned; 0: all leaves */
    size_t n_inputs;
    dp_tensor **grads; /* [n_inputs] out: owned; NULL: undefined.  Without inputs: not used */
} dp_backward_options;

/* Compute gradients.  With inputs they are returned, else they are added to the leaves' gradients,
 * all or none.  DP_ERUNTIME: no history, a freed graph, a saved tensor that was written since.
 * DP_ENOTIMPL: an operator without a derivative.  DP_ECANCELLED, DP_EDEADLINE.  Thread: ctx's. */
DP_API int dp_backward(dp_ctx *ctx, const dp_backward_options *o);

/* The gradient that backward has added up (Tensor.grad): owned; NULL: none. */
DP_API dp_tensor *dp_tensor_grad(const dp_tensor *t);
/* Replace the gradient, which has t's shape, dtype and device; NULL: none.  DP_ERUNTIME. */
DP_API int dp_tensor_set_grad(dp_ctx *ctx, dp_tensor *t, dp_tensor *grad);
/* Name of the operator that computed t, "aten::mul.Tensor"; NULL: a leaf (Tensor.grad_fn). */
DP_API const char *dp_tensor_grad_fn(const dp_tensor *t);

/* Live nodes of all graphs in the process. */
DP_API uint64_t dp_grad_nodes(void);

#ifdef __cplusplus
}
#endif
#endif
