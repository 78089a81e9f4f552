/* transformer.c -- _transformer_encoder_layer_fwd, computed with other operators
 * (aten/src/ATen/native/transformers/transformer.cpp). */
#include "core/chain.h"

typedef struct encoder {
    chain *c;
    int64_t size;
    double eps;
    bool gelu, norm_first;
    dp_tensor *norm_weight[2], *norm_bias[2], *weight[2], *bias[2];
} encoder;

static dp_tensor *norm(const encoder *e, dp_tensor *x, int which)
{
    return CHAIN(e->c, "aten::layer_norm", "TlioToTfb>T", x, &e->size, (size_t)1,
                 e->norm_weight[which], e->norm_bias[which], e->eps, (int)true);
}

static dp_tensor *feed_forward(const encoder *e, dp_tensor *x)
{
    x = CHAIN(e->c, "aten::linear", "TToT>T", x, e->weight[0], e->bias[0]);
    x = e->gelu ? CHAIN(e->c, "aten::gelu", "T>T", x) : chain_T(e->c, "aten::relu", x);
    return CHAIN(e->c, "aten::linear", "TToT>T", x, e->weight[1], e->bias[1]);
}

enum { SRC, SIZE, HEADS, QKV_WEIGHT, GELU = 7, FIRST, EPS, NORM_1, FFN_1 = 14, MASK = 18, TYPE };

/* Return the self-attention of x. */
static dp_tensor *self_attention(const encoder *e, dp_tensor *x, const dp_value *a)
{
    dp_tensor *y = NULL, *none = NULL, *mask = a[MASK].tag == DP_TAG_TENSOR ? a[MASK].u.t : NULL;
    const int64_t *type = a[TYPE].tag == DP_TAG_INT ? &a[TYPE].u.i : NULL;

    if (e->c->rc < 0)
        return NULL;
    e->c->rc = dp_invoke(e->c->ctx, "aten::_native_multi_head_attention", "TTTiiTTTToTbboi>TT", x,
                         x, x, e->size, a[HEADS].u.i, a[QKV_WEIGHT].u.t, a[QKV_WEIGHT + 1].u.t,
                         a[QKV_WEIGHT + 2].u.t, a[QKV_WEIGHT + 3].u.t, mask, (int)false, (int)true,
                         type, &y, &none);
    dp_tensor_unref(none);
    return e->c->rc < 0 ? NULL : chain_keep(e->c, y);
}

/* aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight,
 *     Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float
 *     eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2,
 *     Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor?
 *     mask=None, int? mask_type=None) -> Tensor */
static int encoder_layer(dp_call *call)
{
    const dp_value *a = call->args;
    chain c = {.ctx = call->ctx};
    encoder e = {.c = &c,
                 .size = a[SIZE].u.i,
                 .eps = a[EPS].u.d,
                 .gelu = a[GELU].u.b,
                 .norm_first = a[FIRST].u.b};
    dp_tensor *src = a[SRC].u.t, *out = NULL;
    DP_VIEW(x, src);

    if (x.numel == 0) {
        int rc = dp_invoke(call->ctx, "aten::clone", "T>T", src, &out);
        return rc < 0 ? rc : dp_return_tensors(call, 1, &out);
    }
    for (int i = 0; i < 2; i++) {
        e.norm_weight[i] = a[NORM_1 + 2 * i].u.t;
        e.norm_bias[i] = a[NORM_1 + 2 * i + 1].u.t;
        e.weight[i] = a[FFN_1 + 2 * i].u.t;
        e.bias[i] = a[FFN_1 + 2 * i + 1].u.t;
    }
    dp_tensor *t = self_attention(&e, e.norm_first ? norm(&e, src, 0) : src, a);
    t = chain_TT(&c, "aten::add.Tensor", t, src);
    t = e.norm_first ? t : norm(&e, t, 0);
    dp_tensor *inner = feed_forward(&e, e.norm_first ? norm(&e, t, 1) : t);
    t = chain_TT(&c, "aten::add.Tensor", inner, t);
    t = e.norm_first ? t : norm(&e, t, 1);
    int rc = chain_end(&c, t, &out);
    return rc < 0 ? rc : dp_return_tensors(call, 1, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL("_transformer_encoder_layer_fwd", encoder_layer))
