/* rowwise_prune.c -- _rowwise_prune, which returns the rows of a matrix for which a mask is true
 * (aten/src/ATen/native/RowwisePrune.cpp). */
#include "core/chain.h"
#include <dispatchd/check.h>

/* aten::_rowwise_prune(Tensor weight, Tensor mask, ScalarType compressed_indices_dtype) -> (Tensor,
 * Tensor)
 * The results are the rows that are kept, and for each row its index among them, or -1. */
static int rowwise_prune(dp_ctx *ctx, dp_tensor *weight, dp_tensor *mask, int64_t dtype,
                         dp_tensor **rows, dp_tensor **places)
{
    chain c = {.ctx = ctx};
    DP_VIEW(w, weight);
    DP_VIEW(m, mask);

    if (w.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "'weights' should have 2 dimensions.");
    if (m.numel != w.sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Number of elements in 'mask' should be equivalent to the number of rows in "
                       "'weights'.");
    if (dtype != DP_INT32 && dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME,
                       "compressed_indices_dtype should be either int(int32) or long(int64).");
    if (w.dtype == DP_BOOL || dp_dtype_is_complex(w.dtype))
        return dp_refuse_dtype(ctx, "rowwise_prune_helper", w.dtype);
    if (m.dtype != DP_BOOL || m.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected a mask of 1 dimension and scalar type Bool but found %d and %s",
                       m.ndim, dp_dtype_aten_name(m.dtype));
    dp_tensor *kept = CHAIN(&c, "aten::nonzero", "T>T", mask);
    kept = CHAIN(&c, "aten::squeeze.dim", "Ti>T", kept, (int64_t)1);
    dp_tensor *found = CHAIN(&c, "aten::index_select", "TiT>T", weight, (int64_t)0, kept);
    dp_tensor *at = CHAIN(&c, "aten::cumsum", "Ti>T", mask, (int64_t)0);
    at = chain_Ts(&c, "aten::sub.Scalar", at, dp_int(1));
    at = CHAIN(&c, "aten::masked_fill.Scalar", "TTs>T", at, chain_T(&c, "aten::logical_not", mask),
               dp_int(-1));
    at = CHAIN(&c, "aten::to.dtype", "Ti>T", at, dtype);
    if (c.rc == 0)
        *places = dp_tensor_ref(at);
    return chain_end(&c, found, rows);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_rowwise_prune", rowwise_prune, (T, T, i), (T, T)))
