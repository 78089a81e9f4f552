/* affine_grid_generator.c -- affine_grid_generator and its gradient
 * (aten/src/ATen/native/AffineGridGenerator.cpp).
 *
 * Operators: affine_grid_generator, affine_grid_generator_backward. */
#include "core/composite.h"

/* Set *out, owned, to `n` numbers from -1 to 1, or to the middles of n equal parts of this range.
 * Source: linspace_from_neg_one. */
static int steps_of(dp_ctx *ctx, dp_tensor *like, int64_t n, bool align, temps *t)
{
    DP_VIEW(x, like);
    int64_t dtype = x.dtype, device = x.device;

    if (n <= 1)
        return dp_invoke(ctx, "aten::zeros", "lioioioi>T", &n, (size_t)0, &dtype,
                         (const int64_t *)NULL, &device, temps_next(t));
    int rc = dp_invoke(ctx, "aten::linspace", "ssioioioi>T", dp_int(-1), dp_int(1), n, &dtype,
                       (const int64_t *)NULL, &device, temps_next(t));
    if (rc < 0 || align)
        return rc;
    dp_tensor *range = temps_last(t);
    rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", range, dp_int(n - 1), temps_next(t));
    range = temps_last(t);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::div.Scalar", "Ts>T", range, dp_int(n), temps_next(t));
}

/* Set coordinate `i` of base. */
static int set_coordinate(dp_ctx *ctx, dp_tensor *base, int64_t i, int64_t n, bool align)
{
    temps t = {.n = 0};
    int rc = steps_of(ctx, base, n, align, &t);

    for (int64_t d = 0; rc == 0 && n > 1 && d < i; d++) {
        dp_tensor *steps = temps_last(&t);
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", steps, (int64_t)-1, temps_next(&t));
    }
    dp_tensor *steps = temps_last(&t);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", base, (int64_t)-1, i, temps_next(&t));
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TT>", temps_last(&t), steps);
    temps_fini(&t);
    return rc;
}

/* Make the base grid [N, points, dims + 1]: coordinates, width first, and ones.  Source:
 * make_base_grid_4D, make_base_grid_5D. */
static int base_grid(dp_ctx *ctx, dp_tensor *like, const int64_t *size, int64_t dims, bool align,
                     dp_tensor **out)
{
    int64_t sizes[5] = {size[0]}, flat[] = {size[0], 0, dims + 1}, dtype, device;
    dp_tensor *base = NULL, *ones = NULL;
    DP_VIEW(x, like);

    for (int64_t d = 0; d < dims; d++)
        sizes[d + 1] = size[d + 2];
    sizes[dims + 1] = dims + 1;
    dtype = x.dtype;
    device = x.device;
    int rc = dp_invoke(ctx, "aten::empty.memory_format", "lioioioi>T", sizes, (size_t)dims + 2,
                       &dtype, (const int64_t *)NULL, &device, &base);
    for (int64_t i = 0; rc == 0 && i < dims; i++)
        rc = set_coordinate(ctx, base, i, size[dims + 1 - i], align);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", base, (int64_t)-1, dims, &ones);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", ones, dp_int(1));
    flat[1] = 1;
    for (int64_t d = 0; d < dims; d++)
        flat[1] *= size[d + 2]; /* cannot overflow, because the tensor exists */
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::view", "Tli>T", base, flat, (size_t)3, out);
    dp_tensor_unref(base);
    dp_tensor_unref(ones);
    return rc;
}

static int check_size(dp_ctx *ctx, size_t n)
{
    if (n == 4 || n == 5)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.");
}

/* aten::affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor */
static int affine_grid(dp_ctx *ctx, dp_tensor *theta, const int64_t *size, size_t n, bool align,
                       dp_tensor **out)
{
    dp_tensor *base = NULL, *transposed = NULL, *grid = NULL;
    int64_t dims = (int64_t)n - 2, sizes[5];
    int rc = check_size(ctx, n);

    if (rc == 0)
        rc = base_grid(ctx, theta, size, dims, align, &base);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", theta, (int64_t)1, (int64_t)2,
                       &transposed);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::bmm", "TT>T", base, transposed, &grid);
    if (rc == 0) {
        sizes[0] = size[0];
        for (int64_t d = 0; d < dims; d++)
            sizes[d + 1] = size[d + 2];
        sizes[dims + 1] = dims;
        rc = dp_invoke(ctx, "aten::view", "Tli>T", grid, sizes, (size_t)dims + 2, out);
    }
    dp_tensor_unref(base);
    dp_tensor_unref(transposed);
    dp_tensor_unref(grid);
    return rc;
}

/* aten::affine_grid_generator_backward(Tensor grad, int[] size, bool align_corners) -> Tensor */
static int affine_grid_backward(dp_ctx *ctx, dp_tensor *grad, const int64_t *size, size_t n,
                                bool align, dp_tensor **out)
{
    dp_tensor *base = NULL, *transposed = NULL, *flat = NULL, *theta = NULL;
    int64_t dims = (int64_t)n - 2;
    int rc = check_size(ctx, n);

    if (rc == 0)
        rc = base_grid(ctx, grad, size, dims, align, &base);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", base, (int64_t)1, (int64_t)2,
                       &transposed);
    if (rc == 0) {
        DP_VIEW(b, base);
        const int64_t sizes[] = {b.sizes[0], b.sizes[1], dims};
        rc = dp_invoke(ctx, "aten::view", "Tli>T", grad, sizes, (size_t)3, &flat);
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::bmm", "TT>T", transposed, flat, &theta);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::transpose.int", "Tii>T", theta, (int64_t)1, (int64_t)2, out);
    dp_tensor_unref(base);
    dp_tensor_unref(transposed);
    dp_tensor_unref(flat);
    dp_tensor_unref(theta);
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("affine_grid_generator_backward", affine_grid_backward, (T, li, b),
                                (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("affine_grid_generator", affine_grid, (T, li, b), (T)))
