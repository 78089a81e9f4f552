/* linalg.c -- operators for use in the gradient formulas of linear algebra only.
 *
 * Operators: lies_by_rows. */
#include <dispatchd/plugin.h>

/* grad::lies_by_rows(int[] sizes, int[] strides) -> bool
 * Test whether a tensor with these sizes and strides is contiguous.  As in PyTorch, _linalg_det,
 * _linalg_slogdet and _linalg_solve_ex return the LU factors of the transposed matrix if A is real
 * and contiguous, so their gradient formulas test A. */
static int lies_by_rows(dp_ctx *ctx, const int64_t *sizes, size_t n_sizes, const int64_t *strides,
                        size_t n_strides, bool *out)
{
    int64_t next = 1;
    bool empty = false;

    if (n_sizes != n_strides)
        return dp_fail(ctx, DP_EVALUE, "lies_by_rows: %zu sizes and %zu strides", n_sizes,
                       n_strides);
    *out = true;
    for (size_t d = n_sizes; d-- > 0;) {
        empty |= sizes[d] == 0;
        *out &= sizes[d] == 1 || strides[d] == next;
        if (sizes[d] > 1 && __builtin_mul_overflow(next, sizes[d], &next))
            return dp_fail(ctx, DP_EVALUE, "lies_by_rows: the sizes do not fit in int64");
    }
    *out |= empty;
    return 0;
}

DP_LIBRARY_FRAGMENT(grad, DP_DEF("lies_by_rows(int[] sizes, int[] strides) -> bool"))
DP_LIBRARY_META(grad, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("lies_by_rows", lies_by_rows, (li, li), (b)))
