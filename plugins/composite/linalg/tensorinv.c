/* tensorinv.c -- linalg_tensorinv and linalg_tensorsolve, which reshape tensors to matrices
 * (aten/src/ATen/native/LinearAlgebra.cpp, BatchLinearAlgebra.cpp). */
#include "linalg.h"

static int64_t product(const int64_t *sizes, int n)
{
    int64_t p = 1;

    for (int i = 0; i < n; i++)
        p *= sizes[i];
    return p;
}

/* -- tensorinv -- */

static int tensorinv(dp_ctx *ctx, dp_tensor *self, int64_t ind, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *matrix = NULL, *inverse = NULL, *info = NULL;
    DP_VIEW(a, self);

    if (ind <= 0 || ind > a.ndim)
        return dp_fail(ctx, ind <= 0 ? DP_ERUNTIME : DP_EVALUE,
                       "Expected a strictly positive integer for 'ind', but got %" PRId64 "%s", ind,
                       ind > 0 ? ", which is more than there are dimensions" : "");
    int n = (int)ind, rest = a.ndim - n;
    const int64_t flat[] = {product(a.sizes + n, rest), product(a.sizes, n)};
    if (flat[0] != flat[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
                       "prod(self.shape[:ind]), but got %" PRId64 " != %" PRId64,
                       flat[0], flat[1]);
    dp_copy_n(sizes, a.sizes + n, (size_t)rest, sizeof(int64_t));
    dp_copy_n(sizes + rest, a.sizes, (size_t)n, sizeof(int64_t));
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", self, flat, (size_t)2, &matrix);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_inv_ex", "T>TT", matrix, &inverse, &info);
    if (rc == 0)
        rc = linalg_check(ctx, info, "inv", true);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", inverse, sizes, (size_t)a.ndim, out);
    dp_tensor_unref(matrix);
    dp_tensor_unref(inverse);
    dp_tensor_unref(info);
    return rc;
}

/* aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor */
static int run_tensorinv(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    int rc = tensorinv(ctx, args[0].u.t, args[1].u.i, &made);
    return linalg_give(ctx, rc, made, o, "tensorinv");
}
OUTS_KERNEL(linalg_tensorinv, 2, run_tensorinv)

/* -- tensorsolve -- */

/* Set *out, owned, to self with these dimensions moved to its end. */
static int move_dims(dp_ctx *ctx, dp_tensor *self, const dp_value *dims, dp_tensor **out)
{
    int64_t to[DP_DIM_MAX];
    DP_VIEW(a, self);

    if (dims->tag == DP_TAG_NONE) {
        *out = dp_tensor_ref(self);
        return 0;
    }
    for (uint32_t i = 0; i < dims->len && i < DP_DIM_MAX; i++)
        to[i] = a.ndim - (int64_t)dims->len + i;
    int rc = check_ndim(ctx, dims->len);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::movedim.intlist", "Tlili>T", self, dims->u.ints,
                              (size_t)dims->len, to, (size_t)dims->len, out);
}

static int solve_flat(dp_ctx *ctx, dp_tensor *a, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *matrix = NULL, *row = NULL, *made = NULL;
    const int64_t all = -1;
    DP_VIEW(x, a);
    DP_VIEW(y, other);

    if (y.ndim > x.ndim)
        return dp_fail(ctx, DP_EVALUE,
                       "linalg.tensorsolve: other has %d dimensions, more than self's %d", y.ndim,
                       x.ndim);
    int rest = x.ndim - y.ndim;
    const int64_t *sizes = x.sizes + y.ndim, n = product(sizes, rest), flat[] = {n, n};
    if (n != y.numel)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                       "prod(self.shape[:other.ndim]), but got %" PRId64 " != %" PRId64,
                       n, y.numel);
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", a, flat, (size_t)2, &matrix);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", other, y.numel > 0 ? &all : &y.numel,
                       (size_t)1, &row);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_solve", "TT>T", matrix, row, &made);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", made, sizes, (size_t)rest, out);
    dp_tensor_unref(matrix);
    dp_tensor_unref(row);
    dp_tensor_unref(made);
    return rc;
}

/* aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor */
static int run_tensorsolve(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *moved = NULL, *made = NULL;
    int rc = move_dims(ctx, args[0].u.t, &args[2], &moved);

    if (rc == 0)
        rc = solve_flat(ctx, moved, args[1].u.t, &made);
    dp_tensor_unref(moved);
    return linalg_give(ctx, rc, made, o, "tensorsolve");
}
OUTS_KERNEL(linalg_tensorsolve, 3, run_tensorsolve)

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_tensorinv", linalg_tensorinv),
                DP_IMPL("linalg_tensorsolve.out", linalg_tensorsolve))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_tensorinv.out", linalg_tensorinv),
                DP_IMPL("linalg_tensorsolve", linalg_tensorsolve))
