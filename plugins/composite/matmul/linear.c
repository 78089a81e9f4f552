/* linear.c -- linear, which calls addmm and matmul (aten/src/ATen/native/Linear.cpp). */
#include "core/composite.h"

/* aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
 * input [..., n] x weight [m, n] transposed, + bias */
static int linear(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                  dp_tensor **out)
{
    temps s = {0};
    DP_VIEW(x, input);
    int rc = dp_invoke(ctx, "aten::t", "T>T", weight, temps_next(&s));

    if (rc == 0 && x.ndim == 2 && bias) {
        rc = dp_invoke(ctx, "aten::addmm", "TTTss>T", bias, input, s.made[0], dp_int(1), dp_int(1),
                       out);
    } else if (rc == 0 && bias) {
        rc = dp_invoke(ctx, "aten::matmul", "TT>T", input, s.made[0], temps_next(&s));
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::add_.Tensor", "TTs>", s.made[1], bias, dp_int(1));
        if (rc == 0)
            *out = dp_tensor_ref(s.made[1]);
    } else if (rc == 0) {
        rc = dp_invoke(ctx, "aten::matmul", "TT>T", input, s.made[0], out);
    }
    temps_fini(&s);
    return rc;
}

/* aten::linear.out(Tensor input, Tensor weight, Tensor? bias=None, *, Tensor(a!) out) ->
 * Tensor(a!) */
static int linear_out(dp_ctx *ctx, dp_tensor *input, dp_tensor *weight, dp_tensor *bias,
                      dp_tensor *out)
{
    dp_tensor *made = NULL;
    int rc = linear(ctx, input, weight, bias, &made);
    return give_out(ctx, rc, made, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("linear", linear, (T, T, oT), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("linear.out", linear_out, (T, T, oT, T), ()))
