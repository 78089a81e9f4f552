/* wide.h -- operators of float64 for tests of dp_grad_check(): a product, and one whose formula is
 * wrong. */
#ifndef WIDE_H
#define WIDE_H

#include "graphs.h"

static inline int wide_kernel(dp_call *call)
{
    dp_tensor *out;
    int rc = dp_empty_like(call->ctx, call->args[0].u.t, DP_DTYPE_NONE, DP_PRESERVE, &out);

    if (rc < 0)
        return rc;
    dp_view a = view_of_tensor(call->args[0].u.t), b = view_of_tensor(call->args[1].u.t);
    dp_view o = view_of_tensor(out);
    for (int64_t i = 0; i < o.numel; i++)
        ((double *)o.data)[i] = ((const double *)a.data)[i] * ((const double *)b.data)[i];
    return give(call, 0, out);
}
static inline int requires_kernel(dp_call *call)
{
    return dp_tensor_set_requires_grad(call->ctx, call->args[0].u.t, true);
}
static const dp_item wide_aten[] = {
    REC_DEF("detach(Tensor self) -> Tensor"),
    REC_DEF("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)"),
};
static const dp_item wide_aten_kernels[] = {
    REC_IMPL("detach", clone_kernel),
    REC_IMPL("requires_grad_", requires_kernel),
};
static const dp_item wide_defs[] = {
    REC_DEF("times(Tensor self, Tensor k) -> Tensor"),
    REC_DEF("mistaken(Tensor self, Tensor k) -> Tensor"),
};
static const dp_item wide_kernels[] = {
    REC_IMPL("times", wide_kernel),
    REC_IMPL("mistaken", wide_kernel),
};
static const dp_item wide_formulas[] = {
    FORMULA("times", "in grad Tensor\nin k Tensor\na = t::times(grad, k)\nout self a\n"),
    FORMULA("mistaken", "in grad Tensor\nout self grad\n"),
};
static const dp_block wide_blocks[] = {
    REC_BLOCK(DP_BLOCK_FRAGMENT, 1, "aten", "", wide_aten),
    REC_BLOCK(DP_BLOCK_IMPL, 2, "aten", "CPU", wide_aten_kernels),
    REC_BLOCK(DP_BLOCK_FRAGMENT, 3, "t", "", wide_defs),
    REC_BLOCK(DP_BLOCK_IMPL, 4, "t", "CPU", wide_kernels),
    REC_BLOCK(DP_BLOCK_IMPL, 5, "t", "AutogradFormula", wide_formulas),
};

static inline void wide_setup(void)
{
    graphs_setup();
    rec_attach(reg, "wide", wide_blocks, DPI_COUNT(wide_blocks));
}

static inline dp_tensor *doubles(int64_t n, const double *values)
{
    dp_error err = DP_ERROR_INIT;
    dp_tensor *t = NULL;

    ck_assert_int_eq(dp_tensor_new(DP_FLOAT64, DP_DEVICE_CPU, 1, &n, NULL, &t, &err), 0);
    ck_assert_int_eq(dp_tensor_write(t, values, &err), 0);
    return t;
}

#endif
