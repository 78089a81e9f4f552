/* linalg.c -- operators for use in the gradient formulas of linear algebra only
 * (torch/csrc/autograd/FunctionsManual.cpp: linalg_eig_backward, svd_backward).
 *
 * Operators: lies_by_rows, phase_free. */
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

/* Return the imaginary parts of the diagonals of the matrices in `t`: *out, owned. */
static int phases(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    dp_tensor *diagonal;
    int rc = DP_INVOKE(ctx, "aten::diagonal", (T, i, i, i), (T), t, 0, -2, -1, &diagonal);

    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::imag", (T), (T), diagonal, out);
    dp_tensor_unref(diagonal);
    return rc;
}

/* Is the sum of the phases of `a` and `b` close to 0?  Without `b`: are the phases of `a`? */
static int phases_cancel(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, bool *out)
{
    dp_tensor *of_a, *of_b = NULL, *minus = NULL;
    int rc = phases(ctx, a, &of_a);

    if (rc < 0)
        return rc;
    rc = b != NULL ? phases(ctx, b, &of_b) : 0;
    if (rc == 0 && b != NULL)
        rc = DP_INVOKE(ctx, "aten::neg", (T), (T), of_b, &minus);
    else if (rc == 0)
        rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), of_a, dp_int(0), &minus);
    if (rc == 0) /* lax, so that rounding is not taken for a phase */
        rc = DP_INVOKE(ctx, "aten::allclose", (T, T, f, f, b), (b), of_a, minus, 1e-2, 1e-2, false,
                       out);
    dp_tensor_unref(of_a);
    dp_tensor_unref(of_b);
    dp_tensor_unref(minus);
    return rc;
}

/* grad::phase_free(Tensor(a) self, Tensor? other, bool singular, str backward) -> Tensor(a)
 * Return `self`.  Complex eigenvectors and singular vectors are specified only up to a factor
 * e^{i phi}, so a loss that depends on phi has no derivative: fail if it does, that is, if the
 * imaginary parts of the diagonals of `self` and `other` do not cancel.  `backward`: the function
 * of PyTorch, for the error. */
static int phase_free(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool singular,
                      dp_str backward, dp_tensor **out)
{
    DP_VIEW(v, self);
    bool cancel = true;
    int rc = dp_dtype_is_complex(v.dtype) && !dp_memoryless(ctx)
                 ? phases_cancel(ctx, self, other, &cancel)
                 : 0;

    if (rc < 0)
        return rc;
    if (!cancel)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "%.*s: The %s in the complex case are specified up to multiplication by "
            "e^{i phi}. The specified loss function depends on this %s",
            (int)backward.len, backward.s, singular ? "singular vectors" : "eigenvectors",
            singular ? "phase term, making it ill-defined." : "quantity, so it is ill-defined.");
    *out = dp_tensor_ref(self);
    return 0;
}

DP_LIBRARY_FRAGMENT(grad, DP_DEF("lies_by_rows(int[] sizes, int[] strides) -> bool"),
                    DP_DEF("phase_free(Tensor(a) self, Tensor? other, bool singular, str backward) "
                           "-> Tensor(a)"))
DP_LIBRARY_META(grad, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("lies_by_rows", lies_by_rows, (li, li), (b)),
                DP_IMPL_UNBOXED("phase_free", phase_free, (T, oT, b, S), (T)))
