/* loss.c -- losses that are computed with other operators, as in PyTorch
 * (aten/src/ATen/native/Loss.cpp).
 *
 * Operators: binary_cross_entropy_with_logits, cosine_embedding_loss, hinge_embedding_loss,
 * huber_loss_backward, kl_div, l1_loss, margin_ranking_loss, poisson_nll_loss,
 * smooth_l1_loss_backward, soft_margin_loss, soft_margin_loss_backward, triplet_margin_loss. */
#include "core/chain.h"

/* aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor */
static int l1_loss(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                   dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *apart = chain_T(&c, "aten::abs", chain_TT(&c, "aten::sub.Tensor", self, target));
    return chain_end(&c, chain_reduced(&c, apart, reduction), out);
}

/* aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
 * log(1 + exp(-self * target)), of self's dtype and shape */
static int soft_margin(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                       dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *x = chain_TT(&c, "aten::mul_.Tensor", chain_T(&c, "aten::neg", self), target);
    x = chain_Ts(&c, "aten::add_.Scalar", chain_T(&c, "aten::exp_", x), dp_int(1));
    return chain_end(&c, chain_reduced(&c, chain_T(&c, "aten::log_", x), reduction), out);
}

/* aten::soft_margin_loss.out: the losses are computed in `out`, and then replaced by their
 * reduction. */
static int soft_margin_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                           dp_tensor *out)
{
    chain c = {.ctx = ctx};

    CHAIN(&c, "aten::neg.out", "TT>", self, out);
    chain_TT(&c, "aten::mul_.Tensor", out, target);
    chain_Ts(&c, "aten::add_.Scalar", chain_T(&c, "aten::exp_", out), dp_int(1));
    chain_T(&c, "aten::log_", out);
    dp_tensor *whole = chain_reduced(&c, out, reduction);
    if (c.rc == 0 && whole != out) {
        c.rc = dp_resize(ctx, out, 0, NULL, DP_PRESERVE);
        CHAIN(&c, "aten::copy_", "TTb>", out, whole, 0);
    }
    return chain_end(&c, NULL, NULL);
}

/* aten::soft_margin_loss_backward.grad_input(Tensor grad_output, Tensor self, Tensor target,
 *     int reduction, *, Tensor(a!) grad_input) -> Tensor(a!)
 * -target * grad * norm * z / (1 + z), z = exp(-target * self) */
static int soft_margin_backward_out(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self,
                                    dp_tensor *target, int64_t reduction, dp_tensor *out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);
    double norm = reduction == 1 ? 1.0 / (double)x.numel : 1.0;
    dp_tensor *z = chain_TT(&c, "aten::mul.Tensor", chain_T(&c, "aten::neg", target), self);
    z = chain_T(&c, "aten::exp", z);
    CHAIN(&c, "aten::mul.out", "TTT>", target, z, out);
    chain_Ts(&c, "aten::mul_.Scalar", out, dp_double(-norm));
    chain_TT(&c, "aten::div_.Tensor", out, chain_Ts(&c, "aten::add_.Scalar", z, dp_int(1)));
    chain_TT(&c, "aten::mul_.Tensor", out, grad);
    return chain_end(&c, NULL, NULL);
}

/* aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction)
 *     -> Tensor */
static int soft_margin_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                                int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *made = NULL;
    int64_t none = 0;
    DP_VIEW(x, self);

    c.rc = dp_empty(ctx, x.dtype, x.device, 1, &none, DP_CONTIGUOUS, &made);
    chain_keep(&c, made);
    CHAIN(&c, "aten::soft_margin_loss_backward.grad_input", "TTTiT>", grad, self, target, reduction,
          made);
    return chain_end(&c, made, out);
}

/* Compute the gradient of a loss by its out= overload `op`, into a new tensor like self. */
static int slope_by(dp_ctx *ctx, const char *op, dp_tensor *grad, dp_tensor *self,
                    dp_tensor *target, int64_t reduction, double param, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *made = NULL;

    c.rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &made);
    chain_keep(&c, made);
    CHAIN(&c, op, "TTTifT>", grad, self, target, reduction, param, made);
    return chain_end(&c, made, out);
}

/* aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction,
 *     float beta) -> Tensor */
static int smooth_l1_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                              int64_t reduction, double beta, dp_tensor **out)
{
    return slope_by(ctx, "aten::smooth_l1_loss_backward.grad_input", grad, self, target, reduction,
                    beta, out);
}

/* aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction,
 *     float delta) -> Tensor */
static int huber_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *target,
                          int64_t reduction, double delta, dp_tensor **out)
{
    return slope_by(ctx, "aten::huber_loss_backward.out", grad, self, target, reduction, delta,
                    out);
}

/* aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None,
 *     Tensor? pos_weight=None, int reduction=1) -> Tensor
 * (1 - target) * self + factor * (log(exp(-most) + exp(-self - most)) + most), most = max(-self, 0)
 * In PyTorch's order and, as there, in the dtype and the shape of 1 - target. */
static int bce_with_logits(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, dp_tensor *weight,
                           dp_tensor *pos_weight, int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *most = chain_Ts(&c, "aten::clamp_min_", chain_T(&c, "aten::neg", self), dp_int(0));
    dp_tensor *log = chain_T(&c, "aten::exp_", chain_T(&c, "aten::neg", most));
    dp_tensor *rest = chain_TT(&c, "aten::sub.Tensor", chain_T(&c, "aten::neg", self), most);
    log = chain_TT(&c, "aten::add_.Tensor", log, chain_T(&c, "aten::exp_", rest));
    log = chain_T(&c, "aten::log_", log);
    dp_tensor *loss = chain_Ts(&c, "aten::rsub.Scalar", target, dp_int(1));
    loss = chain_TT(&c, "aten::mul_.Tensor", loss, self);
    if (pos_weight != NULL) {
        dp_tensor *factor = chain_Ts(&c, "aten::sub.Scalar", pos_weight, dp_int(1));
        factor = chain_TT(&c, "aten::mul.Tensor", factor, target);
        factor = chain_Ts(&c, "aten::add_.Scalar", factor, dp_int(1));
        log =
            chain_TT(&c, "aten::mul_.Tensor", factor, chain_TT(&c, "aten::add_.Tensor", log, most));
    } else {
        loss = chain_TT(&c, "aten::add_.Tensor", loss, most);
    }
    loss = chain_TT(&c, "aten::add_.Tensor", loss, log);
    if (weight != NULL)
        loss = chain_TT(&c, "aten::mul_.Tensor", loss, weight);
    return chain_end(&c, chain_reduced(&c, loss, reduction), out);
}

/* -- losses of distances -- */

/* Return `t` where target is `label` (with `not`: is not), else 0. */
static dp_tensor *where_target(chain *c, dp_tensor *target, bool not, int64_t label, dp_tensor *t)
{
    dp_tensor *mask =
        chain_Ts(c, not ? "aten::ne.Scalar" : "aten::eq.Scalar", target, dp_int(label));
    dp_tensor *zeros = CHAIN(c, "aten::zeros_like", "T>T", t);
    return CHAIN(c, "aten::where.self", "TTT>T", mask, t, zeros);
}

/* Check that the inputs are vectors if the target is a number, or matrices if it is a vector. */
static int check_cosine(dp_ctx *ctx, const dp_view *a, const dp_view *b, const dp_view *target)
{
    char x[DP_SHAPE_TEXT], y[DP_SHAPE_TEXT];

    if (target->ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME,
                       "0D or 1D target tensor expected, multi-target not supported");
    if (a->ndim == target->ndim + 1)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "%dD target tensor expects %dD input tensors, but found inputs with sizes %s "
                   "and %s.",
                   target->ndim, target->ndim + 1, dp_shape_text(x, a->sizes, (size_t)a->ndim),
                   dp_shape_text(y, b->sizes, (size_t)b->ndim));
}

/* Return sum(a * b) + more, along dim. */
static dp_tensor *inner(chain *c, dp_tensor *a, dp_tensor *b, int64_t dim, double more)
{
    dp_tensor *product = chain_TT(c, "aten::mul.Tensor", a, b);
    dp_tensor *sum = CHAIN(c, "aten::sum.dim_IntList", "Toli>T", product, &dim, (size_t)1);
    return more == 0 ? sum : chain_Ts(c, "aten::add.Scalar", sum, dp_double(more));
}

/* aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.,
 *     int reduction=1) -> Tensor */
static int cosine_embedding(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, dp_tensor *target,
                            double margin, int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    const double tiny = 1e-12;
    DP_VIEW(x, a);
    DP_VIEW(y, b);
    DP_VIEW(t, target);

    c.rc = check_cosine(ctx, &x, &y, &t);
    dp_tensor *product = inner(&c, a, b, t.ndim, 0);
    dp_tensor *squares = chain_TT(&c, "aten::mul.Tensor", inner(&c, a, a, t.ndim, tiny),
                                  inner(&c, b, b, t.ndim, tiny));
    dp_tensor *cosine =
        chain_TT(&c, "aten::div.Tensor", product, chain_T(&c, "aten::sqrt", squares));
    dp_tensor *like = chain_Ts(&c, "aten::rsub.Scalar", cosine, dp_int(1));
    dp_tensor *unlike = chain_Ts(&c, "aten::sub.Scalar", cosine, dp_double(margin));
    unlike = chain_Ts(&c, "aten::clamp_min", unlike, dp_int(0));
    like = where_target(&c, target, false, 1, like);
    unlike = where_target(&c, target, false, -1, unlike);
    return chain_end(
        &c, chain_reduced(&c, chain_TT(&c, "aten::add.Tensor", like, unlike), reduction), out);
}

/* aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) ->
 * Tensor */
static int hinge_embedding(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, double margin,
                           int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    /* `margin` takes the dtype of `self`, as where PyTorch subtracts a tensor from a C++ number. */
    dp_tensor *less = CHAIN(&c, "aten::full_like", "Ts>T", self, dp_double(margin));
    less = chain_TT(&c, "aten::sub_.Tensor", less, self);
    less = chain_Ts(&c, "aten::clamp_min", less, dp_int(0));
    less = where_target(&c, target, true, 1, less);
    dp_tensor *loss =
        chain_TT(&c, "aten::add.Tensor", less, where_target(&c, target, true, -1, self));
    return chain_end(&c, chain_reduced(&c, loss, reduction), out);
}

/* aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.,
 *     int reduction=1) -> Tensor */
static int margin_ranking(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, dp_tensor *target, double margin,
                          int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *apart = chain_TT(&c, "aten::sub.Tensor", a, b);
    dp_tensor *t = chain_TT(&c, "aten::mul.Tensor", chain_T(&c, "aten::neg", target), apart);
    t = chain_Ts(&c, "aten::add.Scalar", t, dp_double(margin));
    t = chain_Ts(&c, "aten::clamp_min", t, dp_int(0));
    return chain_end(&c, chain_reduced(&c, t, reduction), out);
}

static dp_tensor *apart(chain *c, dp_tensor *a, dp_tensor *b, double p, double eps)
{
    return CHAIN(c, "aten::pairwise_distance", "TTff>T", a, b, p, eps);
}

/* aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.,
 *     float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor */
static int triplet_margin(dp_ctx *ctx, dp_tensor *anchor, dp_tensor *positive, dp_tensor *negative,
                          double margin, double p, double eps, bool swap, int64_t reduction,
                          dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, anchor);
    DP_VIEW(y, positive);
    DP_VIEW(z, negative);

    if (x.ndim != y.ndim || y.ndim != z.ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "The anchor, positive, and negative tensors are expected to have the same "
                       "number of dimensions, but got: anchor %dD, positive %dD, and negative %dD "
                       "inputs",
                       x.ndim, y.ndim, z.ndim);
    dp_tensor *near = apart(&c, anchor, positive, p, eps);
    dp_tensor *far = apart(&c, anchor, negative, p, eps);
    if (swap)
        far = chain_TT(&c, "aten::minimum", far, apart(&c, positive, negative, p, eps));
    dp_tensor *t = chain_Ts(&c, "aten::add.Scalar", near, dp_double(margin));
    t = chain_Ts(&c, "aten::clamp_min", chain_TT(&c, "aten::sub.Tensor", t, far), dp_int(0));
    return chain_end(&c, chain_reduced(&c, t, reduction), out);
}

/* -- losses of probabilities -- */

/* aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor */
static int kl_div(dp_ctx *ctx, dp_tensor *self, dp_tensor *target, int64_t reduction,
                  bool log_target, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *t;
    DP_VIEW(x, self);
    DP_VIEW(y, target);

    if (dp_dtype_is_integral(x.dtype, true) || dp_dtype_is_integral(y.dtype, true))
        return dp_fail(ctx, DP_ERUNTIME, "kl_div: Integral inputs not supported.");
    if (log_target)
        t = chain_TT(&c, "aten::mul.Tensor", chain_T(&c, "aten::exp", target),
                     chain_TT(&c, "aten::sub.Tensor", target, self));
    else
        t = chain_TT(&c, "aten::sub.Tensor", chain_TT(&c, "aten::xlogy.Tensor", target, target),
                     chain_TT(&c, "aten::mul.Tensor", target, self));
    return chain_end(&c, chain_reduced(&c, t, reduction), out);
}

/* Return target * log(target) - target + log(2 * pi * target) / 2 where target > 1, else 0. */
static dp_tensor *stirling(chain *c, dp_tensor *target)
{
    dp_tensor *t = chain_TT(c, "aten::mul.Tensor", target, chain_T(c, "aten::log", target));
    t = chain_TT(c, "aten::sub.Tensor", t, target);
    dp_tensor *half =
        chain_Ts(c, "aten::mul.Scalar", target, dp_double(2 * 3.14159265358979323846));
    half = chain_Ts(c, "aten::mul.Scalar", chain_T(c, "aten::log", half), dp_double(0.5));
    t = chain_TT(c, "aten::add.Tensor", t, half);
    dp_tensor *small = chain_Ts(c, "aten::le.Scalar", target, dp_int(1));
    return CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", t, small, dp_int(0));
}

/* aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps,
 *     int reduction) -> Tensor */
static int poisson_nll(dp_ctx *ctx, dp_tensor *input, dp_tensor *target, bool log_input, bool full,
                       double eps, int64_t reduction, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *left = input, *log = input;

    if (log_input)
        left = chain_T(&c, "aten::exp", input);
    else
        log = chain_T(&c, "aten::log", chain_Ts(&c, "aten::add.Scalar", input, dp_double(eps)));
    dp_tensor *loss =
        chain_TT(&c, "aten::sub.Tensor", left, chain_TT(&c, "aten::mul.Tensor", target, log));
    if (full)
        loss = chain_TT(&c, "aten::add_.Tensor", loss, stirling(&c, target));
    return chain_end(&c, chain_reduced(&c, loss, reduction), out);
}

DP_LIBRARY_META(
    aten, CompositeExplicitAutograd,
    DP_IMPL_UNBOXED("soft_margin_loss", soft_margin, (T, T, i), (T)),
    DP_IMPL_UNBOXED("soft_margin_loss.out", soft_margin_out, (T, T, i, T), ()),
    DP_IMPL_UNBOXED("soft_margin_loss_backward", soft_margin_backward, (T, T, T, i), (T)),
    DP_IMPL_UNBOXED("soft_margin_loss_backward.grad_input", soft_margin_backward_out,
                    (T, T, T, i, T), ()),
    DP_IMPL_UNBOXED("smooth_l1_loss_backward", smooth_l1_backward, (T, T, T, i, f), (T)),
    DP_IMPL_UNBOXED("huber_loss_backward", huber_backward, (T, T, T, i, f), (T)),
    DP_IMPL_UNBOXED("binary_cross_entropy_with_logits", bce_with_logits, (T, T, oT, oT, i), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("l1_loss", l1_loss, (T, T, i), (T)),
                DP_IMPL_UNBOXED("cosine_embedding_loss", cosine_embedding, (T, T, T, f, i), (T)),
                DP_IMPL_UNBOXED("hinge_embedding_loss", hinge_embedding, (T, T, f, i), (T)),
                DP_IMPL_UNBOXED("margin_ranking_loss", margin_ranking, (T, T, T, f, i), (T)),
                DP_IMPL_UNBOXED("triplet_margin_loss", triplet_margin, (T, T, T, f, f, f, b, i),
                                (T)),
                DP_IMPL_UNBOXED("kl_div", kl_div, (T, T, i, b), (T)),
                DP_IMPL_UNBOXED("poisson_nll_loss", poisson_nll, (T, T, b, b, f, i), (T)))
