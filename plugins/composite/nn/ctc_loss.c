/* ctc_loss.c -- ctc_loss, which calls _ctc_loss (aten/src/ATen/native/LossCTC.cpp). */
#include "core/chain.h"

/* Reduce the losses of a batch as `reduction` says.  `lengths` is a tensor of the targets' lengths,
 * by which each loss is divided before the mean. */
static dp_tensor *reduced(chain *c, dp_tensor *loss, dp_tensor *lengths, bool batched,
                          int64_t reduction, bool zero_infinity)
{
    if (zero_infinity) {
        dp_tensor *none = chain_Ts(c, "aten::eq.Scalar", loss, dp_double(INFINITY));
        loss = CHAIN(c, "aten::masked_fill.Scalar", "TTs>T", loss, none, dp_int(0));
    }
    if (reduction == REDUCTION_MEAN) {
        lengths = chain_Ts(c, "aten::clamp_min", lengths, dp_int(1));
        loss = chain_TT(c, "aten::div.Tensor", loss, lengths);
    }
    if (reduction == REDUCTION_MEAN || reduction == REDUCTION_SUM)
        return chain_reduced(c, loss, reduction);
    return batched ? loss : CHAIN(c, "aten::squeeze.dim", "Ti>T", loss, (int64_t)0);
}

/* Set *log_probs to [time, batch, labels] (one sequence has [time, labels]), and *targets to
 * int64. */
static void prepare(chain *c, dp_tensor **log_probs, dp_tensor **targets, bool *batched)
{
    DP_VIEW(x, *log_probs);
    *batched = x.ndim == 3;
    if (!*batched)
        *log_probs = CHAIN(c, "aten::unsqueeze", "Ti>T", *log_probs, (int64_t)1);
    *targets = CHAIN(c, "aten::to.dtype", "Ti>T", *targets, (int64_t)DP_INT64);
}

/* Return lengths [n] as a tensor on the device of `t`. */
static dp_tensor *lengths_on(chain *c, dp_tensor *t, const int64_t *lengths, size_t n_lengths)
{
    dp_tensor *here = NULL;
    int64_t n = (int64_t)n_lengths;

    if (c->rc == 0)
        c->rc = dp_empty(c->ctx, DP_INT64, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &here);
    if (c->rc < 0)
        return NULL;
    DP_VIEW(e, here);
    for (int64_t i = 0; e.data && i < n; i++)
        ((int64_t *)e.data)[i] = lengths[i];
    DP_VIEW(x, t);
    return chain_move(c, here, x.device);
}

/* aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[]
 *     target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor */
static int ctc_loss(dp_ctx *ctx, dp_tensor *log_probs, dp_tensor *targets, const int64_t *inputs,
                    size_t n_inputs, const int64_t *lengths, size_t n_lengths, int64_t blank,
                    int64_t reduction, bool zero_infinity, dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *loss = NULL, *alpha = NULL;
    bool batched;

    prepare(&c, &log_probs, &targets, &batched);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::_ctc_loss", "TTliliib>TT", log_probs, targets, inputs,
                         n_inputs, lengths, n_lengths, blank, (int)zero_infinity, &loss, &alpha);
    dp_tensor_unref(alpha);
    if (c.rc == 0)
        chain_keep(&c, loss);
    dp_tensor *each = lengths_on(&c, log_probs, lengths, n_lengths);
    return chain_end(&c, reduced(&c, loss, each, batched, reduction, zero_infinity), out);
}

/* aten::ctc_loss.Tensor */
static int ctc_loss_tensor(dp_ctx *ctx, dp_tensor *log_probs, dp_tensor *targets, dp_tensor *inputs,
                           dp_tensor *lengths, int64_t blank, int64_t reduction, bool zero_infinity,
                           dp_tensor **out)
{
    chain c = {.ctx = ctx};
    dp_tensor *loss = NULL, *alpha = NULL;
    bool batched;

    prepare(&c, &log_probs, &targets, &batched);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::_ctc_loss.Tensor", "TTTTib>TT", log_probs, targets, inputs,
                         lengths, blank, (int)zero_infinity, &loss, &alpha);
    dp_tensor_unref(alpha);
    if (c.rc == 0)
        chain_keep(&c, loss);
    return chain_end(&c, reduced(&c, loss, lengths, batched, reduction, zero_infinity), out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("ctc_loss.IntList", ctc_loss, (T, T, li, li, i, i, b), (T)),
                DP_IMPL_UNBOXED("ctc_loss.Tensor", ctc_loss_tensor, (T, T, T, T, i, i, b), (T)))
