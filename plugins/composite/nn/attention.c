/* attention.c -- masked softmax and attention, computed with other operators
 * (aten/src/ATen/native/transformers/attention.cpp, SoftMax.cpp).
 *
 * Operators: _masked_softmax, _masked_softmax_backward, _native_multi_head_attention,
 * _scaled_dot_product_attention, _scaled_dot_product_attention_forward,
 * _scaled_dot_product_attention_math, _transform_bias_rescale_qkv. */
#include "core/chain.h"

/* -- softmax under a mask, which is true for elements that are left out -- */

static bool same_sizes(const dp_view *a, const dp_view *b)
{
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->sizes[i] == b->sizes[i];
    return same;
}

enum { SRC_MASK, KEY_PADDING_MASK, DEFAULT_MASK, MASK_TYPES };

static int check_mask(dp_ctx *ctx, const dp_view *x, const dp_view *m, const int64_t *type)
{
    if (m->dtype != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "Mask should be a boolean tensor");
    if (!same_sizes(x, m))
        return dp_fail(ctx, DP_ERUNTIME, "Mask shape should match input shape");
    if (type == NULL)
        return dp_fail(ctx, DP_ERUNTIME, "Mask Type should be defined");
    if (*type < 0 || *type >= MASK_TYPES)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 "
                       "(default_mask)");
    return *type != SRC_MASK ? 0
                             : dp_fail(ctx, DP_ERUNTIME, "src_mask not currently supported on CPU");
}

/* aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor
 * A line whose elements are all left out becomes NaN. */
static int masked_softmax(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, const int64_t *dim,
                          const int64_t *type, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    DP_VIEW(m, mask);

    int64_t at = dim ? *dim : -1;

    c.rc = check_mask(ctx, &x, &m, type);
    if (c.rc == 0)
        c.rc = wrap_dim(ctx, &at, x.ndim);
    if (c.rc == 0 && !dp_dtype_is_floating(x.dtype))
        c.rc = dp_fail(ctx, DP_ERUNTIME, "\"masked_softmax\" not implemented for '%s'",
                       dp_dtype_name(x.dtype));
    dp_tensor *t = CHAIN(&c, "aten::masked_fill.Scalar", "TTs>T", self, mask, dp_double(-INFINITY));
    return chain_end(&c, CHAIN(&c, "aten::_softmax", "Tib>T", t, at, (int)false), out);
}

/* aten::_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None)
 *     -> Tensor */
static int masked_softmax_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *output, dp_tensor *mask,
                                   const int64_t *dim, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(g, grad);
    DP_VIEW(m, mask);

    if (!same_sizes(&g, &m))
        return dp_fail(ctx, DP_ERUNTIME, "Mask shape should match grad shape");
    if (m.dtype != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "Mask should be a boolean tensor");
    grad = CHAIN(&c, "aten::masked_fill.Scalar", "TTs>T", grad, mask, dp_int(0));
    output = CHAIN(&c, "aten::masked_fill.Scalar", "TTs>T", output, mask, dp_int(0));
    return chain_end(&c,
                     CHAIN(&c, "aten::_softmax_backward_data", "TTii>T", grad, output,
                           dim ? *dim : (int64_t)-1, (int64_t)g.dtype),
                     out);
}

/* -- scaled dot product attention -- */

#define QKV      dp_tensor *q, dp_tensor *k, dp_tensor *v
#define SDP_ARGS QKV, dp_tensor *mask, double dropout, bool need_weights, bool causal

/* Return the mask that is added to the scores: for a bool mask, 0 where it is true and -inf
 * elsewhere; any other mask is returned as it is. */
static dp_tensor *added_mask(chain *c, dp_tensor *mask, dp_dtype dtype)
{
    const int64_t of = dtype;
    DP_VIEW(m, mask);

    if (m.dtype != DP_BOOL)
        return mask;
    dp_tensor *zeros = CHAIN(c, "aten::zeros_like", "Toi>T", mask, &of);
    dp_tensor *not = chain_T(c, "aten::logical_not", mask);
    return CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", zeros, not, dp_double(-INFINITY));
}

/* Return the mask that is true where a query may use a key: for the keys up to the query's own
 * position. */
static dp_tensor *causal_mask(chain *c, dp_tensor *k, const dp_view *q)
{
    DP_VIEW(y, k);
    int64_t sizes[] = {q->sizes[q->ndim - 2], y.sizes[y.ndim - 2]}, dtype = DP_BOOL;
    dp_tensor *ones = CHAIN(c, "aten::new_ones", "Tlioi>T", k, sizes, (size_t)2, &dtype);
    return CHAIN(c, "aten::tril", "Ti>T", ones, (int64_t)0);
}

static int check_attention(dp_ctx *ctx, QKV, dp_tensor *mask, bool causal)
{
    dp_tensor *const all[] = {q, k, v};

    for (int i = 0; i < 3; i++) {
        DP_VIEW(x, all[i]);
        if (x.ndim < 2)
            return dp_fail(
                ctx, DP_EINDEX,
                "Dimension out of range (expected to be in range of [-1, 0], but got -2)");
    }
    if (causal && mask != NULL)
        return dp_fail(ctx, DP_ERUNTIME,
                       "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                       "is_causal=True");
    return 0;
}

/* aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value,
 *     Tensor? attn_mask=None, float dropout_p=0., bool need_attn_weights=False, bool
 *     is_causal=False) -> (Tensor, Tensor)
 * The results are softmax(q * k' / sqrt(n) + mask) * v, and the softmax, whether or not it is
 * needed. */
static int attention_math(dp_ctx *ctx, SDP_ARGS, dp_tensor **out, dp_tensor **weights)
{
    chain c = {.ctx = ctx, .rc = check_attention(ctx, q, k, v, mask, causal)};
    DP_VIEW(x, q);

    (void)need_weights;
    if (c.rc < 0)
        return c.rc;
    q = chain_Ts(&c, "aten::mul.Scalar", q, dp_double(1 / sqrt((double)x.sizes[x.ndim - 1])));
    if (causal)
        mask = causal_mask(&c, k, &x);
    if (mask != NULL && c.rc == 0)
        mask = added_mask(&c, mask, x.dtype);
    dp_tensor *transposed = CHAIN(&c, "aten::transpose.int", "Tii>T", k, (int64_t)-2, (int64_t)-1);
    dp_tensor *scores = chain_TT(&c, "aten::matmul", q, transposed);
    if (mask != NULL)
        scores = chain_TT(&c, "aten::add.Tensor", scores, mask);
    scores = CHAIN(&c, "aten::softmax.int", "Ti>T", scores, (int64_t)-1);
    if (dropout > 0)
        scores = CHAIN(&c, "aten::dropout", "Tfb>T", scores, dropout, (int)true);
    dp_tensor *result = chain_TT(&c, "aten::matmul", scores, v);
    if (c.rc == 0)
        *weights = dp_tensor_ref(scores);
    return chain_end(&c, result, out);
}

/* aten::_scaled_dot_product_attention_forward, which has no gradient */
static int attention_forward(dp_ctx *ctx, SDP_ARGS, dp_tensor **out, dp_tensor **weights)
{
    return dp_invoke(ctx, "aten::_scaled_dot_product_attention_math", "TTToTfbb>TT", q, k, v, mask,
                     dropout, (int)need_weights, (int)causal, out, weights);
}

/* aten::_scaled_dot_product_attention */
static int attention(dp_ctx *ctx, SDP_ARGS, dp_tensor **out, dp_tensor **weights)
{
    bool grad = dp_tensor_may_grad(q) || dp_tensor_may_grad(k) || dp_tensor_may_grad(v);
    return dp_invoke(ctx,
                     grad ? "aten::_scaled_dot_product_attention_math"
                          : "aten::_scaled_dot_product_attention_forward",
                     "TTToTfbb>TT", q, k, v, mask, dropout, (int)need_weights, (int)causal, out,
                     weights);
}

/* -- several heads -- */

static int check_qkv(dp_ctx *ctx, const dp_view *x, const dp_view *b, int64_t heads)
{
    bool floats = dp_dtype_is_floating(x->dtype);

    if (x->ndim != 3 || heads <= 0 || x->sizes[2] % 3 != 0 || x->sizes[2] / 3 % heads != 0)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected qkv of [batch, time, 3 * heads * size] for %" PRId64
                       " heads, but got %d dimensions, the last of %" PRId64,
                       heads, x->ndim, x->ndim ? x->sizes[x->ndim - 1] : 0);
    if (b->numel != x->sizes[2])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected qkv_bias to have %" PRId64 " elements, but got %" PRId64,
                       x->sizes[2], b->numel);
    if (!floats)
        return dp_fail(ctx, DP_ERUNTIME, "\"transform_bias_rescale_qkv\" not implemented for '%s'",
                       dp_dtype_name(x->dtype));
    if (x->dtype != b->dtype)
        return dp_fail(ctx, DP_ERUNTIME, "expected scalar type %s but found %s",
                       dp_dtype_name(x->dtype), dp_dtype_name(b->dtype));
    return 0;
}

/* aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads)
 *     -> (Tensor, Tensor, Tensor)
 * Splits qkv [B, T, 3 * D] plus its bias into q, k, v [B, heads, T, D / heads]; q is divided by the
 * square root of D / heads. */
static int rescale_qkv(dp_ctx *ctx, dp_tensor *qkv, dp_tensor *bias, int64_t heads, dp_tensor **q,
                       dp_tensor **k, dp_tensor **v)
{
    static const int64_t order[] = {2, 0, 3, 1, 4};
    chain c = {.ctx = ctx};
    dp_tensor *parts[3], **const outs[] = {q, k, v};
    DP_VIEW(x, qkv);
    DP_VIEW(b, bias);

    c.rc = check_qkv(ctx, &x, &b, heads);
    if (c.rc < 0)
        return c.rc;
    int64_t size = x.sizes[2] / 3 / heads;
    int64_t sizes[] = {x.sizes[0], x.sizes[1], 3, heads, size}, flat = x.sizes[2];
    bias = CHAIN(&c, "aten::reshape", "Tli>T", bias, &flat, (size_t)1);
    dp_tensor *t = chain_TT(&c, "aten::add.Tensor", qkv, bias);
    t = CHAIN(&c, "aten::reshape", "Tli>T", t, sizes, (size_t)5);
    t = CHAIN(&c, "aten::permute", "Tli>T", t, order, (size_t)5);
    t = CHAIN(&c, "aten::contiguous", "T>T", t);
    for (int i = 0; i < 3; i++)
        parts[i] = CHAIN(&c, "aten::select.int", "Tii>T", t, (int64_t)0, (int64_t)i);
    parts[0] = chain_Ts(&c, "aten::mul.Scalar", parts[0], dp_double(1 / sqrt((double)size)));
    for (int i = 0; c.rc == 0 && i < 3; i++)
        *outs[i] = dp_tensor_ref(parts[i]);
    return chain_end(&c, NULL, NULL);
}

typedef struct heads {
    dp_tensor *query, *key, *value;
    int64_t size, n;
    dp_tensor *qkv_weight, *qkv_bias, *proj_weight, *proj_bias, *mask;
    const int64_t *mask_type;
} heads;

static int check_ranks(dp_ctx *ctx, const heads *h)
{
    static const char *const names[] = {"query", "key", "value"};
    dp_tensor *const given[] = {h->query, h->key, h->value};

    for (int i = 0; i < 3; i++) {
        DP_VIEW(x, given[i]);
        if (x.ndim != 3)
            return dp_fail(ctx, DP_ERUNTIME, "expected 3-D `%s`, got %d-D tensor", names[i],
                           x.ndim);
        if (i == 0 && x.sizes[2] != h->size)
            return dp_fail(ctx, DP_ERUNTIME,
                           "passed-in embed_dim %" PRId64
                           " didn't match last dim of query %" PRId64,
                           h->size, x.sizes[2]);
    }
    DP_VIEW(q, h->query);
    DP_VIEW(k, h->key);
    DP_VIEW(v, h->value);
    if (!same_sizes(&q, &k) || !same_sizes(&k, &v))
        return dp_fail(ctx, DP_ERUNTIME, "expected `query`/`key`/`value` shapes to match");
    return 0;
}

static int check_heads(dp_ctx *ctx, const heads *h)
{
    int rc = check_ranks(ctx, h);
    DP_VIEW(w, h->qkv_weight);
    DP_VIEW(b, h->qkv_bias);

    if (rc < 0)
        return rc;
    if (w.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "expected 2-D `qkv_weight`, got %d-D tensor", w.ndim);
    if (w.sizes[0] % 3 != 0 || w.sizes[0] / 3 != h->size)
        return dp_fail(ctx, DP_ERUNTIME, "expected `qkv_weight` first dim to be 3x embed_dim");
    if (w.sizes[1] != h->size)
        return dp_fail(ctx, DP_ERUNTIME, "expected `qkv_weight` second dim to be embed_Dim");
    if (b.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "expected 1-D `qkv_bias`, got %d-D tensor", b.ndim);
    if (b.sizes[0] != w.sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "expected `qkv_bias` first dim and first dim of query to be equal");
    if (h->n <= 0 || h->size % h->n != 0)
        return dp_fail(ctx, DP_ERUNTIME, "`embed_dim` must divide evenly by `num_heads`");
    return 0;
}

/* Return x * weight'. */
static dp_tensor *times_transposed(chain *c, dp_tensor *x, dp_tensor *weight)
{
    return chain_TT(c, "aten::matmul", x, CHAIN(c, "aten::t", "T>T", weight));
}

/* Return the projections of q, k and v as one tensor [B, T, 3 * size]. */
static dp_tensor *project(chain *c, const heads *h)
{
    dp_tensor *const given[] = {h->query, h->key, h->value}, *parts[3];

    if (h->query == h->key && h->key == h->value)
        return times_transposed(c, h->query, h->qkv_weight);
    for (int i = 0; i < 3; i++) {
        dp_tensor *w =
            CHAIN(c, "aten::narrow", "Tiii>T", h->qkv_weight, (int64_t)0, i * h->size, h->size);
        parts[i] = times_transposed(c, given[i], w);
    }
    return CHAIN(c, "aten::cat", "lTi>T", parts, (size_t)3, (int64_t)2);
}

/* Return the softmax [B, heads, T, T] of the scores under the mask; a mask [B, T] leaves out
 * keys. */
static dp_tensor *softmax_of(chain *c, const heads *h, dp_tensor *scores)
{
    int64_t dim = 3;

    if (h->mask == NULL || c->rc < 0)
        return CHAIN(c, "aten::_softmax", "Tib>T", scores, dim, (int)false);
    dp_tensor *mask = CHAIN(c, "aten::to.dtype", "Ti>T", h->mask, (int64_t)DP_BOOL);
    DP_VIEW(x, scores);
    DP_VIEW(m, h->mask);
    if (m.ndim == 2) {
        int64_t sizes[] = {m.sizes[0], 1, 1, m.sizes[1]};
        if (m.sizes[0] != x.sizes[0] || m.sizes[1] != x.sizes[3])
            chain_fail(c, DP_ERUNTIME,
                       "Expected a mask of [%" PRId64 ", %" PRId64 "], but got [%" PRId64
                       ", %" PRId64 "]",
                       x.sizes[0], x.sizes[3], m.sizes[0], m.sizes[1]);
        mask = CHAIN(c, "aten::reshape", "Tli>T", mask, sizes, (size_t)4);
        mask = CHAIN(c, "aten::expand", "Tli>T", mask, x.sizes, (size_t)4);
    }
    return CHAIN(c, "aten::_masked_softmax", "TToioi>T", scores, mask, &dim, h->mask_type);
}

static dp_tensor *attend(chain *c, const heads *h, dp_tensor *qkv, dp_tensor **weights)
{
    dp_tensor *q = NULL, *k = NULL, *v = NULL;
    DP_VIEW(x, h->query);
    const int64_t sizes[] = {x.sizes[0], x.sizes[1], h->size};

    if (c->rc == 0)
        c->rc = dp_invoke(c->ctx, "aten::_transform_bias_rescale_qkv", "TTi>TTT", qkv, h->qkv_bias,
                          h->n, &q, &k, &v);
    if (c->rc < 0)
        return NULL;
    chain_keep(c, q);
    chain_keep(c, k);
    chain_keep(c, v);
    k = CHAIN(c, "aten::transpose.int", "Tii>T", k, (int64_t)2, (int64_t)3);
    *weights = softmax_of(c, h, chain_TT(c, "aten::matmul", q, k));
    dp_tensor *t = chain_TT(c, "aten::matmul", *weights, v);
    t = CHAIN(c, "aten::transpose.int", "Tii>T", t, (int64_t)1, (int64_t)2);
    t = CHAIN(c, "aten::reshape", "Tli>T", t, sizes, (size_t)3);
    return CHAIN(c, "aten::linear", "TToT>T", t, h->proj_weight, h->proj_bias);
}

/* aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int
 *     num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor?
 *     mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) ->
 *     (Tensor, Tensor) */
static int multi_head_attention(dp_ctx *ctx, dp_tensor *query, dp_tensor *key, dp_tensor *value,
                                int64_t size, int64_t n, dp_tensor *qkv_weight, dp_tensor *qkv_bias,
                                dp_tensor *proj_weight, dp_tensor *proj_bias, dp_tensor *mask,
                                bool need_weights, bool average, const int64_t *mask_type,
                                dp_tensor **out, dp_tensor **weights)
{
    const heads h = {query,    key,         value,     size, n,        qkv_weight,
                     qkv_bias, proj_weight, proj_bias, mask, mask_type};
    chain c = {.ctx = ctx, .rc = check_heads(ctx, &h)};
    dp_tensor *w = NULL;
    int64_t dim = 1;
    DP_VIEW(x, query);

    *weights = NULL;
    if (c.rc < 0)
        return c.rc;
    if (x.numel == 0)
        return dp_invoke(ctx, "aten::empty_like", "T>T", query, out);
    dp_tensor *result = attend(&c, &h, project(&c, &h), &w);
    if (need_weights && average) {
        w = CHAIN(&c, "aten::sum.dim_IntList", "Toli>T", w, &dim, (size_t)1);
        w = chain_Ts(&c, "aten::div.Scalar", w, dp_int(n));
    }
    if (c.rc == 0 && need_weights)
        *weights = dp_tensor_ref(w);
    return chain_end(&c, result, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_masked_softmax", masked_softmax, (T, T, oi, oi), (T)),
                DP_IMPL_UNBOXED("_masked_softmax_backward", masked_softmax_backward, (T, T, T, oi),
                                (T)),
                DP_IMPL_UNBOXED("_scaled_dot_product_attention_forward", attention_forward,
                                (T, T, T, oT, f, b, b), (T, T)),
                DP_IMPL_UNBOXED("_transform_bias_rescale_qkv", rescale_qkv, (T, T, i), (T, T, T)),
                DP_IMPL_UNBOXED("_native_multi_head_attention", multi_head_attention,
                                (T, T, T, i, i, T, T, T, T, oT, b, b, oi), (T, T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("_scaled_dot_product_attention", attention, (T, T, T, oT, f, b, b),
                                (T, T)),
                DP_IMPL_UNBOXED("_scaled_dot_product_attention_math", attention_math,
                                (T, T, T, oT, f, b, b), (T, T)))
