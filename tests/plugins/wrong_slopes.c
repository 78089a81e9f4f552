/* wrong_slopes.c -- operators for grad.check: one with a right formula, one whose formula is wrong
 * for one argument, one whose gradient has a wrong gradient, one whose formula fails, and one
 * without a formula. */
#include <dispatchd/plugin.h>

DP_PLUGIN(wrong_slopes, "1.0")

static int right(dp_ctx *ctx, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    return DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), x, y, out);
}

static int wrong(dp_ctx *ctx, dp_tensor *x, dp_tensor *y, dp_tensor **out)
{
    return right(ctx, x, y, out);
}

static int detached(dp_ctx *ctx, dp_tensor *x, dp_tensor **out)
{
    return right(ctx, x, x, out);
}

static int fails(dp_ctx *ctx, dp_tensor *x, dp_tensor **out)
{
    return right(ctx, x, x, out);
}

static int without(dp_ctx *ctx, dp_tensor *x, dp_tensor **out)
{
    return right(ctx, x, x, out);
}

DP_LIBRARY(slopes, DP_DEF("right(Tensor x, Tensor y) -> Tensor"),
           DP_DEF("wrong(Tensor x, Tensor y) -> Tensor"), DP_DEF("detached(Tensor x) -> Tensor"),
           DP_DEF("fails(Tensor x) -> Tensor"), DP_DEF("without(Tensor x) -> Tensor"))
DP_LIBRARY_IMPL(slopes, CPU, DP_IMPL_UNBOXED("right", right, (T, T), (T)),
                DP_IMPL_UNBOXED("wrong", wrong, (T, T), (T)),
                DP_IMPL_UNBOXED("detached", detached, (T), (T)),
                DP_IMPL_UNBOXED("fails", fails, (T), (T)),
                DP_IMPL_UNBOXED("without", without, (T), (T)))

DP_FORMULAS(slopes,
            DP_FORMULA("right", "",
                       "in grad Tensor\nin x Tensor\nin y Tensor\n"
                       "cx = aten::conj(x)\ncy = aten::conj(y)\n"
                       "dx = aten::mul.Tensor(grad, cy)\ndy = aten::mul.Tensor(grad, cx)\n"
                       "out x dx\nout y dy\n"),
            /* the gradient of y is that of x */
            DP_FORMULA("wrong", "",
                       "in grad Tensor\nin y Tensor\n"
                       "cy = aten::conj(y)\n"
                       "dx = aten::mul.Tensor(grad, cy)\ndy = aten::mul.Tensor(grad, cy)\n"
                       "out x dx\nout y dy\n"),
            DP_FORMULA("detached", "",
                       "in grad Tensor\nin x Tensor\n"
                       "plain = aten::detach(x)\n"
                       "slope = aten::mul.Scalar(plain, 2)\n"
                       "dx = aten::mul.Tensor(grad, slope)\nout x dx\n"),
            DP_FORMULA("fails", "",
                       "in grad Tensor\ndx = aten::reshape(grad, [7, 11])\nout x dx\n"))
