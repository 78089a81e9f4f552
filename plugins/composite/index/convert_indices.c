/* convert_indices.c -- conversion of sparse matrices' row indices between COO (a row per element)
 * and CSR (the first element of each row) (aten/src/ATen/native/TensorConversions.cpp).  The
 * indices must be sorted.  Indices out of range are not refused.
 *
 * Operators: _convert_indices_from_coo_to_csr, _convert_indices_from_csr_to_coo. */
#include "core/chain.h"
#include <dispatchd/check.h>

static int check_indices(dp_ctx *ctx, dp_tensor *t, const char *fn, const char *name)
{
    DP_VIEW(x, t);

    if (x.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME, "%s is supposed to be a vector, but has %d dimensions",
                       name, x.ndim);
    return dp_dtype_is_integral(x.dtype, false) ? 0 : dp_refuse_dtype(ctx, fn, x.dtype);
}

static dp_tensor *numbers_below(chain *c, int64_t n, dp_tensor *like)
{
    const int64_t dtype = DP_INT64;
    DP_VIEW(x, like);
    const int64_t device = x.device;

    return CHAIN(c, "aten::arange", "soioioi>T", dp_int(n), &dtype, NULL, &device);
}

/* Return the number of elements of `sorted` that are less than each of `values` (or not
 * greater). */
static dp_tensor *count_below(chain *c, dp_tensor *sorted, dp_tensor *values, bool out_int32,
                              bool right)
{
    return CHAIN(c, "aten::searchsorted.Tensor", "TTbb>T", sorted, values, (int)out_int32,
                 (int)right);
}

/* aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) ->
 * Tensor */
static int to_begins(dp_ctx *ctx, dp_tensor *self, int64_t size, bool out_int32, dp_tensor **out)
{
    int64_t any = -1;
    chain c = {.ctx = ctx,
               .rc = check_indices(ctx, self, "convert_indices_from_coo_to_csr_cpu", "Input")};

    if (c.rc == 0 && (size < 0 || size == INT64_MAX))
        chain_fail(&c, DP_ERUNTIME, "size should not be negative or too large, but is %" PRId64,
                   size);
    if (c.rc < 0)
        return c.rc;
    dp_tensor *rows = CHAIN(&c, "aten::reshape", "Tli>T", self, &any, (size_t)1);
    return chain_end(&c, count_below(&c, rows, numbers_below(&c, size + 1, self), out_int32, false),
                     out);
}

/* aten::_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool
 *     out_int32=False, bool transpose=False) -> Tensor
 * The result has rows and columns; with `transpose`, columns and rows. */
static int to_rows(dp_ctx *ctx, dp_tensor *begins, dp_tensor *columns, bool out_int32,
                   bool transpose, dp_tensor **out)
{
    const char *fn = "convert_indices_from_csr_to_coo_cpu";
    int64_t any = -1, first = 1;
    DP_VIEW(b, begins);
    DP_VIEW(x, columns);
    chain c = {.ctx = ctx, .rc = check_indices(ctx, begins, fn, "crow_indices")};

    if (c.rc == 0)
        c.rc = check_indices(ctx, columns, fn, "col_indices");
    if (c.rc == 0 && (b.ndim != 1 || b.numel == 0))
        chain_fail(&c, DP_ERUNTIME,
                   "crow_indices is supposed to be a vector of one element or more");
    if (c.rc < 0)
        return c.rc;
    dp_tensor *ends = CHAIN(&c, "aten::slice.Tensor", "Tioioi>T", begins, (int64_t)0, &first, NULL);
    dp_tensor *rows = count_below(&c, ends, numbers_below(&c, x.numel, columns), out_int32, true);
    columns = CHAIN(&c, "aten::reshape", "Tli>T", columns, &any, (size_t)1);
    columns =
        CHAIN(&c, "aten::to.dtype", "Ti>T", columns, (int64_t)(out_int32 ? DP_INT32 : DP_INT64));
    dp_tensor *const both[] = {transpose ? columns : rows, transpose ? rows : columns};
    return chain_end(&c, CHAIN(&c, "aten::stack", "lTi>T", both, (size_t)2, (int64_t)0), out);
}

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("_convert_indices_from_coo_to_csr", to_begins, (T, i, b), (T)),
                DP_IMPL_UNBOXED("_convert_indices_from_csr_to_coo", to_rows, (T, T, b, b), (T)))
