/* grid_sampler.c -- grid_sampler, which calls the operators of backends
 * (aten/src/ATen/native/GridSampler.cpp).
 *
 * Operators: grid_sampler, _grid_sampler_2d_cpu_fallback,
 * _grid_sampler_2d_cpu_fallback_backward. */
#include "core/composite.h"

/* aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode,
 *     bool align_corners) -> Tensor */
static int grid_sampler(dp_ctx *ctx, dp_tensor *input, dp_tensor *grid, int64_t mode,
                        int64_t padding, bool align, dp_tensor **out)
{
    DP_VIEW(x, input);
    return dp_invoke(ctx, x.ndim == 5 ? "aten::grid_sampler_3d" : "aten::grid_sampler_2d",
                     "TTiib>T", input, grid, mode, padding, (int)align, out);
}

static int check_float(dp_ctx *ctx, dp_tensor *input)
{
    DP_VIEW(x, input);

    if (x.dtype == DP_FLOAT32)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "_grid_sampler_2d_cpu_fallback takes float32, not %s",
                   dp_dtype_name(x.dtype));
}

/* aten::_grid_sampler_2d_cpu_fallback, which is grid_sampler_2d for float32 only */
static int fallback(dp_ctx *ctx, dp_tensor *input, dp_tensor *grid, int64_t mode, int64_t padding,
                    bool align, dp_tensor **out)
{
    int rc = check_float(ctx, input);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::grid_sampler_2d", "TTiib>T", input, grid, mode, padding,
                              (int)align, out);
}

/* aten::_grid_sampler_2d_cpu_fallback_backward, which returns both gradients */
static int fallback_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *input, dp_tensor *grid,
                             int64_t mode, int64_t padding, bool align, dp_tensor **grad_input,
                             dp_tensor **grad_grid)
{
    static const bool both[] = {true, true};
    int rc = check_float(ctx, input);

    return rc < 0
               ? rc
               : dp_invoke(ctx, "aten::grid_sampler_2d_backward", "TTTiiblb>TT", grad, input, grid,
                           mode, padding, (int)align, both, (size_t)2, grad_input, grad_grid);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("grid_sampler", grid_sampler, (T, T, i, i, b), (T)),
                DP_IMPL_UNBOXED("_grid_sampler_2d_cpu_fallback_backward", fallback_backward,
                                (T, T, T, i, i, b), (T, T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("_grid_sampler_2d_cpu_fallback", fallback, (T, T, i, i, b), (T)))
