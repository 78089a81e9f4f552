/* layer_norm.c -- layer_norm, and native_layer_norm computed with other operators
 * (aten/src/ATen/native/layer_norm.cpp). */
#include "core/chain.h"
#include "lib/layer_norm.h"

/* aten::layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None,
 *     float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor */
static int layer_norm(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                      dp_tensor *weight, dp_tensor *bias, double eps, bool cudnn, dp_tensor **out)
{
    dp_tensor *mean = NULL, *rstd = NULL;
    int rc = dp_invoke(ctx, "aten::native_layer_norm", "TlioToTf>TTT", input, shape, n, weight,
                       bias, eps, out, &mean, &rstd);

    (void)cudnn;
    dp_tensor_unref(mean);
    dp_tensor_unref(rstd);
    return rc;
}
/* -- layer norm for backends without a kernel -- */

/* Set the results for an empty input: there are no rows to normalize, and the statistics are empty,
 * too, in float32 or wider. */
static int layer_of_none(dp_ctx *ctx, dp_tensor *input, dp_tensor *results[3])
{
    DP_VIEW(x, input);
    dp_dtype dtype = dp_promote_types(x.dtype, DP_FLOAT32);
    int rc = 0;

    for (int i = 0; rc == 0 && i < 3; i++)
        rc = dp_empty_like(ctx, input, i ? dtype : x.dtype, DP_PRESERVE, &results[i]);
    for (int i = 0; rc < 0 && i < 3; i++)
        results[i] = dp_tensor_unref(results[i]);
    return rc;
}

/* Set results[0], [1, rows, columns], to the input normalized by rows, and the next two to mean and
 * rstd of the rows.  The results are owned by the chain. */
static void normalise_rows(chain *c, dp_tensor *input, const int64_t *rows, double eps,
                           dp_tensor *parts[3])
{
    dp_tensor *flat = CHAIN(c, "aten::reshape", "Tli>T", input, rows, (size_t)3);

    parts[0] = parts[1] = parts[2] = NULL;
    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::native_batch_norm", "ToToToToTbff>TTT", flat, NULL, NULL,
                          NULL, NULL, (int)true, 0.0, eps, &parts[0], &parts[1], &parts[2]);
    for (int i = 0; i < 3; i++)
        parts[i] = c->rc == 0 ? chain_keep(c, parts[i]) : NULL;
}

/* aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias,
 *     float eps) -> (Tensor, Tensor, Tensor)
 * Source: math_native_layer_norm */
static int layer_norm_math(dp_ctx *ctx, dp_tensor *input, const int64_t *shape, size_t n,
                           dp_tensor *weight, dp_tensor *bias, double eps, dp_tensor **out,
                           dp_tensor **mean, dp_tensor **rstd)
{
    dp_tensor *results[3] = {0}, *parts[3];
    int64_t sizes[DP_DIM_MAX], rows[3] = {1, 1, -1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, input);
    int rc = check_layer(ctx, &x, shape, n, weight, bias);

    if (rc == 0 && x.numel == 0)
        rc = layer_of_none(ctx, input, results);
    for (int d = 0; rc == 0 && d < x.ndim; d++) {
        sizes[d] = (size_t)d < (size_t)x.ndim - n ? x.sizes[d] : 1;
        rows[1] *= sizes[d];
    }
    c.rc = rc;
    if (rc == 0 && x.numel > 0) {
        normalise_rows(&c, input, rows, eps, parts);
        dp_tensor *y = CHAIN(&c, "aten::reshape", "Tli>T", parts[0], x.sizes, (size_t)x.ndim);
        if (weight != NULL && bias != NULL)
            y = CHAIN(&c, "aten::addcmul", "TTTs>T", bias, y, weight, dp_int(1));
        else if (weight != NULL || bias != NULL)
            y = weight ? chain_TT(&c, "aten::mul.Tensor", y, weight)
                       : CHAIN(&c, "aten::add.Tensor", "TTs>T", y, bias, dp_int(1));
        for (int i = 1; i < 3; i++)
            parts[i] = CHAIN(&c, "aten::reshape", "Tli>T", parts[i], sizes, (size_t)x.ndim);
        for (int i = 0; c.rc == 0 && i < 3; i++)
            results[i] = dp_tensor_ref(i ? parts[i] : y);
    }
    *out = results[0], *mean = results[1], *rstd = results[2];
    return chain_end(&c, NULL, NULL);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("layer_norm", layer_norm, (T, li, oT, oT, f, b), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("native_layer_norm", layer_norm_math, (T, li, oT, oT, f),
                                (T, T, T)))
