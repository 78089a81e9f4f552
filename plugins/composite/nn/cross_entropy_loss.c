/* cross_entropy_loss.c -- cross_entropy_loss, for targets that are class indices or probabilities
 * (aten/src/ATen/native/LossNLL.cpp). */
#include "core/chain.h"

typedef struct entropy {
    chain *c;
    dp_tensor *self, *target, *weight;
    int64_t reduction, ignored;
    double smoothing;
    int64_t dim, classes;
} entropy;

static dp_tensor *log_softmax(const entropy *e)
{
    DP_VIEW(x, e->self);
    int64_t dtype = x.dtype;
    return CHAIN(e->c, "aten::log_softmax.int", "Tioi>T", e->self, e->dim, &dtype);
}

/* Return `t` times the weights of its classes. */
static dp_tensor *weighted(const entropy *e, dp_tensor *t)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, e->self);

    if (e->weight == NULL)
        return t;
    for (int i = 0; i < x.ndim; i++)
        sizes[i] = 1;
    sizes[e->dim] = -1;
    dp_tensor *w = CHAIN(e->c, "aten::view", "Tli>T", e->weight, sizes, (size_t)x.ndim);
    return chain_TT(e->c, "aten::mul.Tensor", t, w);
}

static dp_tensor *minus_sum(const entropy *e, dp_tensor *t, bool all)
{
    t = all ? CHAIN(e->c, "aten::sum", "T>T", t)
            : CHAIN(e->c, "aten::sum.dim_IntList", "Toli>T", t, &e->dim, (size_t)1);
    return chain_T(e->c, "aten::neg", t);
}

static int check_smoothing(dp_ctx *ctx, double s)
{
    if (s <= 1)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "label_smoothing must be between 0.0 and 1.0. Got: %g", s);
}

static int check_probabilities(const entropy *e, const dp_view *t)
{
    dp_ctx *ctx = e->c->ctx;
    char shape[DP_SHAPE_TEXT];

    if (!dp_dtype_is_floating(t->dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected floating point type for target with class probabilities, got %s",
                       dp_dtype_name(t->dtype));
    if (e->ignored >= 0)
        return dp_fail(ctx, DP_ERUNTIME, "ignore_index is not supported for floating point target");
    if (e->weight == NULL)
        return check_smoothing(ctx, e->smoothing);
    DP_VIEW(w, e->weight);
    if (w.ndim != 1 || w.numel != e->classes)
        return dp_fail(ctx, DP_ERUNTIME,
                       "cross_entropy: weight tensor should be defined either for all %" PRId64
                       " classes or no classes but got weight tensor of shape: %s",
                       e->classes, dp_shape_text(shape, w.sizes, (size_t)w.ndim));
    return check_smoothing(ctx, e->smoothing);
}

/* Compute the loss for targets that have a probability for each class. */
static dp_tensor *of_probabilities(const entropy *e)
{
    dp_tensor *target = e->target;
    DP_VIEW(x, e->self);
    DP_VIEW(t, e->target);

    e->c->rc = check_probabilities(e, &t);
    dp_tensor *log = log_softmax(e);
    if (e->smoothing > 0) {
        target = chain_Ts(e->c, "aten::mul.Scalar", target, dp_double(1 - e->smoothing));
        target = chain_Ts(e->c, "aten::add.Scalar", target,
                          dp_double(e->smoothing / (double)e->classes));
    }
    dp_tensor *product = weighted(e, chain_TT(e->c, "aten::mul.Tensor", log, target));
    dp_tensor *loss = minus_sum(e, product, e->reduction != REDUCTION_NONE);
    if (e->reduction != REDUCTION_MEAN)
        return loss;
    if (x.numel == 0)
        return chain_Ts(e->c, "aten::mul.Scalar", loss, dp_double(NAN));
    return chain_Ts(e->c, "aten::div.Scalar", loss, dp_int(x.numel / e->classes));
}

static dp_tensor *nll_of(const entropy *e, dp_tensor *log)
{
    return CHAIN(e->c, "aten::nll_loss_nd", "TToTii>T", log, e->target, e->weight, e->reduction,
                 e->ignored);
}

/* Return the divisor of the mean: the sum of the weights of the targets that are not ignored, or
 * the number of these targets. */
static dp_tensor *divisor(const entropy *e, dp_tensor *ignore)
{
    chain *c = e->c;

    if (e->weight == NULL)
        return CHAIN(c, "aten::sum", "T>T", chain_T(c, "aten::logical_not", ignore));
    int64_t flat = -1;
    dp_tensor *safe = CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", e->target, ignore, dp_int(0));
    safe = CHAIN(c, "aten::reshape", "Tli>T", safe, &flat, (size_t)1);
    dp_tensor *each = CHAIN(c, "aten::gather", "TiT>T", e->weight, (int64_t)0, safe);
    dp_tensor *mask = CHAIN(c, "aten::reshape", "Tli>T", ignore, &flat, (size_t)1);
    each = CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", each, mask, dp_int(0));
    return CHAIN(c, "aten::sum", "T>T", each);
}

/* Compute the loss for targets that are classes, with label smoothing. */
static dp_tensor *smoothed(const entropy *e)
{
    chain *c = e->c;

    c->rc = check_smoothing(c->ctx, e->smoothing);
    dp_tensor *log = log_softmax(e);
    dp_tensor *loss = nll_of(e, log);
    dp_tensor *all = minus_sum(e, weighted(e, log), false);
    dp_tensor *ignore = chain_Ts(c, "aten::eq.Scalar", e->target, dp_int(e->ignored));
    all = CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", all, ignore, dp_int(0));
    if (e->reduction != REDUCTION_NONE)
        all = CHAIN(c, "aten::sum", "T>T", all);
    if (e->reduction == REDUCTION_MEAN)
        all = chain_TT(c, "aten::div.Tensor", all, divisor(e, ignore));
    loss = chain_Ts(c, "aten::mul.Scalar", loss, dp_double(1 - e->smoothing));
    all = chain_Ts(c, "aten::mul.Scalar", all, dp_double(e->smoothing / (double)e->classes));
    return chain_TT(c, "aten::add.Tensor", loss, all);
}

/* aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1,
 *     int ignore_index=-100, float label_smoothing=0.) -> Tensor */
static int cross_entropy(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                         int64_t reduction, int64_t ignored, double smoothing, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    entropy e = {&c, self, target, weight, reduction, ignored, smoothing, 0, 1};
    DP_VIEW(x, self);
    DP_VIEW(t, target);

    e.dim = x.ndim == 1 ? 0 : 1;
    if (x.ndim > 0)
        e.classes = x.sizes[e.dim];
    bool same = x.ndim == t.ndim;
    for (int i = 0; same && i < x.ndim; i++)
        same = x.sizes[i] == t.sizes[i];
    if ((same || smoothing > 0) && (reduction < REDUCTION_NONE || reduction > REDUCTION_SUM))
        return dp_fail(ctx, DP_ERUNTIME,
                       "Invalid reduction type encountered in cross_entropy: %" PRId64, reduction);
    if (same)
        return chain_end(&c, of_probabilities(&e), out);
    if (smoothing > 0)
        return chain_end(&c, smoothed(&e), out);
    return chain_end(&c, nll_of(&e, log_softmax(&e)), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("cross_entropy_loss", cross_entropy, (T, T, oT, i, i, f), (T)))
