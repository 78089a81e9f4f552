/* flatten.c -- flatten, unflatten, flatten_dense_tensors and unflatten_dense_tensors, which call
 * other operators for views (aten/src/ATen/native/TensorShape.cpp). */
#include "core/chain.h"
#include "core/list.h"

/* aten::flatten_dense_tensors(Tensor[] tensors) -> Tensor */
static int flatten_all(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)
{
    int64_t any = -1;
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, dp_invoke(ctx, "aten::reshape", "Tli>T", tensors[i], &any, (size_t)1,
                                list_next(&l)));
    *out = NULL;
    if (l.rc == 0 && n == 1) {
        *out = dp_tensor_ref(l.made[0]);
        list_release(&l);
        return 0;
    }
    return list_cat(&l, 0, out);
}

/* aten::unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[] */
static int unflatten_all(dp_ctx *ctx, dp_tensor *flat, dp_tensor *const *tensors, size_t n,
                         dp_value *out)
{
    int64_t at = 0, none = 0;
    DP_VIEW(f, flat);
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        chain c = {.ctx = ctx};
        DP_VIEW(x, tensors[i]);
        if (x.numel == 0) {
            list_made(&l, call_empty(ctx, f.dtype, f.device, 1, &none, list_next(&l)));
            continue;
        }
        dp_tensor *t = CHAIN(&c, "aten::narrow", "Tiii>T", flat, (int64_t)0, at, x.numel);
        t = CHAIN(&c, "aten::view", "Tli>T", t, x.sizes, (size_t)x.ndim);
        list_made(&l, chain_end(&c, t, list_next(&l)));
        at += x.numel;
    }
    return list_end(&l, out);
}

/* aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a) */
static int flatten(dp_ctx *ctx, dp_tensor *self, int64_t start, int64_t end, dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[DP_DIM_MAX], n = 0;
    int rc = wrap_dim(ctx, &start, x.ndim);

    if (rc == 0)
        rc = wrap_dim(ctx, &end, x.ndim);
    if (rc == 0 && start > end)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "flatten() has invalid args: start_dim cannot come after end_dim");
    if (rc < 0)
        return rc;
    if (x.ndim > 0 && start == end) {
        *out = dp_tensor_ref(self);
        return 0;
    }
    for (int64_t d = 0; d < (x.ndim ? x.ndim : 1); d++) {
        int64_t size = x.ndim ? x.sizes[d] : 1;
        if (d > start && d <= end)
            sizes[n - 1] *= size;
        else
            sizes[n++] = size;
    }
    return dp_invoke(ctx, "aten::reshape", "Tli>T", self, sizes, (size_t)n, out);
}

/* aten::unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a) */
static int unflatten(dp_ctx *ctx, dp_tensor *self, int64_t dim, const int64_t *parts, size_t n,
                     dp_tensor **out)
{
    DP_VIEW(x, self);
    int64_t sizes[2 * DP_DIM_MAX];
    int rc = wrap_dim(ctx, &dim, x.ndim);

    if (rc == 0 && (n == 0 || n > DP_DIM_MAX))
        rc = dp_fail(ctx, DP_ERUNTIME, "unflatten: sizes must be non-empty, and at most %d",
                     DP_DIM_MAX);
    if (rc == 0 && x.ndim == 0)
        rc = dp_fail(ctx, DP_EINDEX,
                     "Dimension specified as %" PRId64 " but tensor has no dimensions", dim);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)dim, sizeof(int64_t));
    rc = infer_size(ctx, x.sizes[dim], parts, n, sizes + dim);
    if (rc < 0)
        return rc;
    dp_copy_n(sizes + dim + n, x.sizes + dim + 1, (size_t)(x.ndim - dim - 1), sizeof(int64_t));
    return dp_invoke(ctx, "aten::view", "Tli>T", self, sizes, (size_t)x.ndim - 1 + n, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("flatten_dense_tensors", flatten_all, (lT), (T)),
                DP_IMPL_UNBOXED("unflatten_dense_tensors", unflatten_all, (T, lT), (lT)),
                DP_IMPL_UNBOXED("flatten.using_ints", flatten, (T, i, i), (T)),
                DP_IMPL_UNBOXED("unflatten.int", unflatten, (T, i, li), (T)))
