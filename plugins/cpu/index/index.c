/* index.c -- index.Tensor, which reads the elements selected by a list of index tensors
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "advanced_index.h"
#include <dispatchd/iter.h>

/* Run index into *out; NULL: it is set to a new tensor. */
static int write_index(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                       dp_tensor **out)
{
    indexing x;
    dp_iter it;
    dp_tensor *given = *out;
    DP_VIEW(v, self);
    size_t size = dp_dtype_size(v.dtype);
    int rc = indexing_init(ctx, self, indices, n, &x);

    if (rc == 0)
        rc = indexing_find_offsets(ctx, &v, &x);
    if (rc == 0) {
        dp_tensor *ins[] = {x.from, x.moved};
        dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_NO_OVERLAP_CHECK, 1, out, 2, ins);
        c.out_dtype = dp_some_dtype(v.dtype);
        rc = dp_iter_init(ctx, &c, &it);
    }
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : dp_iter_run(ctx, &it, indexing_get_elements, &size);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    indexing_drop(&x);
    return rc;
}

/* aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
static int index_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                        dp_tensor **out)
{
    *out = NULL;
    return write_index(ctx, self, indices, n, out);
}

/* aten::index.Tensor_out(Tensor self, Tensor?[] indices, *, Tensor(a!) out) -> Tensor(a!) */
static int index_tensor_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *const *indices, size_t n,
                            dp_tensor *out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "index(): self (%s) and result (%s) must have the same "
                         "scalar type",
                         dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    int rc = check_apart(ctx, out, &self, 1);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = indices[i] ? check_apart(ctx, out, &indices[i], 1) : 0;
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return write_index(ctx, self, indices, n, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("index.Tensor", index_tensor, (T, loT), (T)),
                DP_IMPL_UNBOXED("index.Tensor_out", index_tensor_out, (T, loT, T), ()))
