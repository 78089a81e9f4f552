/* histogram.c -- the operator histogramdd, a histogram of several dimensions
 * (aten/src/ATen/native/Histogram.cpp). */
#include "core/composite.h"

static int histogram_by(dp_call *call, const dp_value *bins)
{
    const dp_value *a = call->args;
    dp_value edges_args[5] = {a[0], *bins, a[2], a[3], a[4]};
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_bin_edges"),
                           edges_args, 5, &call->rets[1], 1);

    if (rc == 0)
        rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_from_bin_cts"),
                           edges_args, 5, &call->rets[0], 1);
    if (rc < 0)
        dp_values_release(call->rets, 2);
    return rc;
}

/* aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None,
 *     bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd(dp_call *call)
{
    return histogram_by(call, &call->args[1]);
}

/* aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None,
 *     bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd_int(dp_call *call)
{
    int64_t bins[DP_DIM_MAX];
    DP_VIEW(x, call->args[0].u.t);
    int64_t n = x.ndim ? x.sizes[x.ndim - 1] : 0;

    if (x.ndim == 0)
        return dp_fail(call->ctx, DP_EINDEX,
                       "Dimension specified as -1 but tensor has no dimensions");
    if (n > DP_DIM_MAX)
        return check_ndim(call->ctx, (size_t)n);
    for (int64_t d = 0; d < n; d++)
        bins[d] = call->args[1].u.i;
    dp_value list = dp_ints(bins, (size_t)n);
    return histogram_by(call, &list);
}

/* aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None,
 *     Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges) */
static int histogramdd_edges(dp_call *call)
{
    const dp_value *a = call->args;
    dp_value args[4] = {a[0], a[1], a[3], a[4]};
    dp_tensor **edges = dp_alloc_n(call->ctx, a[1].len, sizeof(*edges));

    if (edges == NULL)
        return DP_ERESOURCE;
    int rc = dp_call_boxed(call->ctx, dp_op_find(call->ctx, "aten::_histogramdd_from_bin_tensors"),
                           args, 4, &call->rets[0], 1);
    for (uint32_t i = 0; rc == 0 && i < a[1].len; i++)
        edges[i] = dp_tensor_ref(a[1].u.tensors[i]);
    if (rc == 0)
        call->rets[1] = dp_tensors(edges, a[1].len);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("histogramdd", histogramdd),
                DP_IMPL("histogramdd.int_bins", histogramdd_int),
                DP_IMPL("histogramdd.TensorList_bins", histogramdd_edges))
