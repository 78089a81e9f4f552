/* ctc_loss.c -- connectionist temporal classification: _ctc_loss and its gradient, after Graves et
 * al. 2006 (aten/src/ATen/native/LossCTC.cpp).
 *
 * The loss is computed in double from contiguous copies.  Lengths and targets are copied and
 * checked before anything is written.  State s of a target is the blank if s is even, and the
 * target's label with index s / 2 (rounded down) if s is odd.
 *
 * Operators: _ctc_loss, _ctc_loss_backward. */
#include "lib/poll.h"
#include "core/dense.h"
#include "core/pack.h"
#include "norm/softmax.h"
#include <dispatchd/check.h>
#include <string.h>

enum {
    ROOM = 4,  /* number of arrays of [states] in the scratch memory of a step */
    STEPS = 32 /* cost of a state for poll_stops() (poll.h) */
};

typedef struct ctc {
    dp_tensor *log_probs, *targets;
    const int64_t *input_lengths, *target_lengths; /* [batch] */
    int64_t blank;
    /* sizes; `states` is the number of states of the longest target */
    int64_t time, batch, labels, states;
    /* target of element b of the batch, from index offset[b] on */
    const int64_t *target;
    int64_t *offset;
    const double *x; /* [time, batch, labels] */
    double *alpha;   /* [batch, time, states] */
    double *room;    /* scratch memory [batch, ROOM * (states + 1)] for the arrays of a step */
    double *loss;    /* [batch] */
    /* for the gradient */
    const double *grad;
    double *beta, *slope; /* [batch, states]; [time, batch, labels] */
    bool zero_infinity;
} ctc;

/* -- checks -- */

#define FUNCTION "ctc_loss_cpu"

static int check_sizes(dp_ctx *ctx, ctc *c, size_t n_inputs, size_t n_targets)
{
    DP_VIEW(x, c->log_probs);
    DP_VIEW(t, c->targets);

    const dp_checked log_probs = {c->log_probs, "log_probs", 1},
                     targets = {c->targets, "targets", 2};
    const dp_dtype wanted = t.dtype == DP_INT64 ? DP_INT64 : DP_INT32;
    int rc = dp_check_dtypes(ctx, FUNCTION, &targets, 1, &wanted);
    if (rc == 0)
        rc = dp_check_dim(ctx, FUNCTION, &log_probs, 3);
    if (rc == 0)
        rc = dp_check_dim_range(ctx, FUNCTION, &targets, 1, 2);
    if (rc < 0)
        return rc;
    c->time = x.sizes[0];
    c->batch = x.sizes[1];
    c->labels = x.sizes[2];
    if (c->blank < 0 || c->blank >= c->labels)
        return dp_fail(ctx, DP_ERUNTIME, "blank must be in label range");
    if (n_inputs != (uint64_t)c->batch)
        return dp_fail(ctx, DP_ERUNTIME, "input_lengths must be of size batch_size");
    if (n_targets != (uint64_t)c->batch)
        return dp_fail(ctx, DP_ERUNTIME, "target_lengths must be of size batch_size");
    return dense_check_type(ctx, "ctc_loss_cpu", x.dtype, DP_DTYPE_BITS(DP_DTYPES_FLOATING));
}

static int check_length(dp_ctx *ctx, const char *what, int64_t length, int64_t most)
{
    if (length < 0)
        return dp_fail(ctx, DP_ERUNTIME, "Expected %s to have no negative value, but got %" PRId64,
                       what, length);
    if (length > most)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected %s to have value at most %" PRId64 ", but got value %" PRId64
                       " (while checking arguments for " FUNCTION ")",
                       what, most, length);
    return 0;
}

/* Check the lengths, set the offset of each target, and set c->states. */
static int check_lengths(dp_ctx *ctx, ctc *c)
{
    DP_VIEW(t, c->targets);
    const dp_checked targets = {c->targets, "targets", 2};
    int64_t most = t.sizes[t.ndim - 1], longest = 0, at = 0;
    int rc = 0;

    if (t.ndim == 2)
        rc = dp_check_size_at(ctx, FUNCTION, &targets, 0, c->batch);
    for (int64_t b = 0; rc == 0 && b < c->batch; b++) {
        rc = check_length(ctx, "input_lengths", c->input_lengths[b], c->time);
        if (rc == 0)
            rc = check_length(ctx, "target_lengths", c->target_lengths[b],
                              t.ndim == 1 ? most - at : most);
        if (rc < 0)
            break;
        c->offset[b] = t.ndim == 1 ? at : b * most;
        at += c->target_lengths[b];
        longest = c->target_lengths[b] > longest ? c->target_lengths[b] : longest;
    }
    if (rc == 0 && t.ndim == 1)
        rc = dp_check_size_at(ctx, FUNCTION, &targets, 0, at);
    c->states = 2 * longest + 1;
    return rc;
}

static int check_targets(dp_ctx *ctx, const ctc *c)
{
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t i = 0; i < c->target_lengths[b]; i++) {
            int64_t label = c->target[c->offset[b] + i];
            if (label < 0 || label >= c->labels)
                return dp_fail(ctx, DP_ERUNTIME,
                               "target %" PRId64 " is out of range: there are %" PRId64 " labels",
                               label, c->labels);
        }
    return 0;
}

static void prepare(pack *p, ctc *c, size_t n_inputs, size_t n_targets)
{
    if (p->rc == 0)
        p->rc = check_sizes(p->ctx, c, n_inputs, n_targets);
    c->offset = pack_array(p, c->batch, sizeof(int64_t));
    if (p->rc == 0)
        p->rc = check_lengths(p->ctx, c);
    c->target = pack_own(p, c->targets, DP_INT64);
    c->room = pack_array(p, c->batch, ROOM * (size_t)(c->states + 1) * sizeof(double));
    c->x = pack_get(p, c->log_probs, DP_FLOAT64);
    if (p->rc == 0 && !dp_memoryless(p->ctx))
        p->rc = check_targets(p->ctx, c);
}

/* -- forward and backward pass -- */

/* Return log(exp(a) + exp(b)). */
static double add_logs(double a, double b)
{
    double top = a > b ? a : b, low = a > b ? b : a;
    return top == -INFINITY ? top : top + log1p(exp(low - top));
}

static int64_t label_of(const ctc *c, int64_t b, int64_t s)
{
    return s % 2 == 0 ? c->blank : c->target[c->offset[b] + s / 2];
}

/* The arrays for one time step of one element of the batch; each has [states] numbers, except
 * `last`. */
typedef struct step {
    double
        /* [states + 4]: the states of the previous time, with two impossible states (-infinity)
         * before and after them */
        *last;
    double *x; /* log_probs of the labels of the states at this time */
    /* label of each state; skips: whether the state can also be reached from the state two before
     * it */
    int64_t *label, *skips;
    int64_t states, side; /* number of states; direction of the previous state, -1 or 1 */
} step;

static step step_of(const ctc *c, int64_t b, int64_t side)
{
    int64_t states = 2 * c->target_lengths[b] + 1, most = c->states;
    double *room = c->room + b * ROOM * (most + 1);
    step s = {room, room + most + 4, NULL, NULL, states, side};

    s.label = (int64_t *)(s.x + most);
    s.skips = s.label + most;
    for (int64_t i = 0; i < states; i++)
        s.label[i] = label_of(c, b, i);
    for (int64_t i = 0; i < states; i++) {
        int64_t from = i + 2 * side;
        s.skips[i] = from >= 0 && from < states && s.label[from] != s.label[i];
    }
    for (int64_t i = 0; i < 2; i++)
        s.last[i] = s.last[states + 2 + i] = -INFINITY;
    return s;
}

static void load_x(const ctc *c, int64_t t, int64_t b, const step *s)
{
    const double *x = c->x + (t * c->batch + b) * c->labels;

    for (int64_t i = 0; i < s->states; i++)
        s->x[i] = x[s->label[i]];
}

/* Set out [states] to the logarithms of the sums over all paths to each state, from the sums `last`
 * of the previous time.  s->x is loaded. */
static void take_step(const step *s, const double *last, double *out)
{
    const double *own = s->last + 2;

    dp_copy_n(s->last + 2, last, (size_t)s->states, sizeof(double));
    CPU_CHOSEN(sm_log_sums)
    [0](&(sm_sums){.a = own,
                   .b = own + s->side,
                   .c = own + 2 * s->side,
                   .with = s->skips,
                   .plus = s->x,
                   .out = out,
                   .n = s->states});
}

static void forward_one(int64_t begin, int64_t end, void *user)
{
    const ctc *c = user;

    for (int64_t b = begin; b < end; b++) {
        int64_t time = c->input_lengths[b];
        double *alpha = c->alpha + b * c->time * c->states;
        step s = step_of(c, b, -1);
        poll look = {0};

        for (int64_t i = 0, to;
             i < c->time * c->states && (to = poll_next(NULL, i, c->time * c->states)) > i;)
            for (; i < to; i++)
                alpha[i] = -INFINITY;
        for (int64_t t = 0; t < time && !poll_stops(&look, STEPS * s.states); t++) {
            double *row = alpha + t * c->states;
            load_x(c, t, b, &s);
            if (t > 0)
                take_step(&s, row - c->states, row);
            else
                dp_copy_n(row, s.x, (size_t)(s.states < 2 ? s.states : 2), sizeof(double));
        }
        if (time == 0) { /* without time steps, there is no row of alpha */
            c->loss[b] = s.states == 1 ? 0 : INFINITY;
            continue;
        }
        const double *last = alpha + (time - 1) * c->states;
        c->loss[b] = -(s.states == 1 ? last[0] : add_logs(last[s.states - 1], last[s.states - 2]));
    }
}

/* Finish slope [labels] of time `t`: replace the logarithms of the sums of alpha * beta by label by
 * the gradient. */
static void finish_slope(const ctc *c, int64_t t, int64_t b)
{
    double *slope = c->slope + (t * c->batch + b) * c->labels;
    const double *x = c->x + (t * c->batch + b) * c->labels;

    for (int64_t l = 0; l < c->labels; l++)
        slope[l] = (exp(x[l]) - exp(slope[l] + c->loss[b] - x[l])) * c->grad[b];
}

static void backward_one(int64_t begin, int64_t end, void *user)
{
    const ctc *c = user;

    for (int64_t b = begin; b < end; b++) {
        int64_t time = c->input_lengths[b];
        double *beta = c->beta + b * c->states;
        bool none = c->zero_infinity && c->loss[b] == INFINITY;
        step s = step_of(c, b, 1);
        poll look = {0};

        for (int64_t t = c->time - 1; t >= 0 && !poll_stops(&look, STEPS * (s.states + c->labels));
             t--) {
            const double *alpha = c->alpha + (b * c->time + t) * c->states;
            double *slope = c->slope + (t * c->batch + b) * c->labels;
            for (int64_t l = 0; l < c->labels; l++)
                slope[l] = t < time && !none ? -INFINITY : 0;
            if (t >= time || none)
                continue;
            load_x(c, t, b, &s);
            if (t < time - 1)
                take_step(&s, beta, beta);
            for (int64_t i = 0; t == time - 1 && i < s.states; i++)
                beta[i] = i >= s.states - 2 ? s.x[i] : -INFINITY;
            for (int64_t i = 0; i < s.states; i++)
                slope[s.label[i]] = add_logs(slope[s.label[i]], alpha[i] + beta[i]);
            finish_slope(c, t, b);
        }
    }
}

static int run(dp_ctx *ctx, ctc *c, dp_range_fn fn)
{
    double each = 10.0 * (double)c->time * (double)c->states;
    return dp_parallel_for(ctx, 0, c->batch, dense_grain(each), fn, c);
}

/* -- variants -- */

/* aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths,
 *     int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)
 * The second result is log alpha [batch, time, states]. */
static int ctc_loss(dp_ctx *ctx, dp_tensor *log_probs, dp_tensor *targets, const int64_t *inputs,
                    size_t n_inputs, const int64_t *lengths, size_t n_lengths, int64_t blank,
                    bool zero_infinity, dp_tensor **loss, dp_tensor **alpha)
{
    ctc c = {.log_probs = log_probs,
             .targets = targets,
             .input_lengths = inputs,
             .target_lengths = lengths,
             .blank = blank};
    pack p = {.ctx = ctx};
    dp_tensor *a, *l;
    DP_VIEW(x, log_probs);

    (void)zero_infinity;
    *loss = *alpha = NULL;
    prepare(&p, &c, n_inputs, n_lengths);
    int64_t sizes[] = {c.batch, c.time, c.states};
    c.alpha = pack_new(&p, DP_FLOAT64, 3, sizes, &a);
    c.loss = pack_new(&p, DP_FLOAT64, 1, &c.batch, &l);
    if (p.rc == 0 && !dp_memoryless(ctx))
        p.rc = run(ctx, &c, forward_one);
    pack_give(&p, l, x.dtype, loss);
    pack_give(&p, a, x.dtype, alpha);
    if (p.rc < 0)
        *loss = dp_tensor_unref(*loss);
    return pack_end(&p);
}

/* Check the tensors that were returned by the forward call. */
static int check_made(dp_ctx *ctx, const ctc *c, dp_tensor *const given[3])
{
    static const char *const names[] = {"grad", "neg_log_likelihood", "log_alpha"};
    const int64_t sizes[] = {c->batch, c->time, c->states};
    DP_VIEW(x, c->log_probs);

    for (int i = 0; i < 3; i++) {
        DP_VIEW(v, given[i]);
        bool same = v.ndim == (i < 2 ? 1 : 3);
        for (int d = 0; same && d < v.ndim; d++)
            same = v.sizes[d] == sizes[d];
        if (!same) {
            char want[DP_SHAPE_TEXT], got[DP_SHAPE_TEXT];
            return dp_fail(ctx, DP_ERUNTIME, "expected %s of shape %s but got %s", names[i],
                           dp_shape_text(want, sizes, i < 2 ? 1 : 3),
                           dp_shape_text(got, v.sizes, (size_t)v.ndim));
        }
        int rc = dense_check_same(ctx, x.dtype, v.dtype);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths,
 *     int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank,
 *     bool zero_infinity=False) -> Tensor */
static int ctc_loss_backward(dp_ctx *ctx, dp_tensor *grad, dp_tensor *log_probs, dp_tensor *targets,
                             const int64_t *inputs, size_t n_inputs, const int64_t *lengths,
                             size_t n_lengths, dp_tensor *loss, dp_tensor *alpha, int64_t blank,
                             bool zero_infinity, dp_tensor **out)
{
    ctc c = {.log_probs = log_probs,
             .targets = targets,
             .input_lengths = inputs,
             .target_lengths = lengths,
             .blank = blank,
             .zero_infinity = zero_infinity};
    dp_tensor *const made[] = {grad, loss, alpha};
    pack p = {.ctx = ctx};
    dp_tensor *slope;
    DP_VIEW(x, log_probs);

    *out = NULL;
    prepare(&p, &c, n_inputs, n_lengths);
    if (p.rc == 0)
        p.rc = check_made(ctx, &c, made);
    c.grad = pack_get(&p, grad, DP_FLOAT64);
    c.loss = pack_get(&p, loss, DP_FLOAT64);
    c.alpha = pack_get(&p, alpha, DP_FLOAT64);
    c.beta = pack_array(&p, c.batch, (size_t)c.states * sizeof(double));
    c.slope = pack_new(&p, DP_FLOAT64, x.ndim, x.sizes, &slope);
    if (p.rc == 0 && !dp_memoryless(ctx))
        p.rc = run(ctx, &c, backward_one);
    pack_give(&p, slope, x.dtype, out);
    return pack_end(&p);
}

/* -- lengths as tensors -- */

static int lengths_of(pack *p, dp_tensor *t, const char *name, const int64_t **out, size_t *n)
{
    DP_VIEW(v, t);
    if (p->rc == 0 && !dp_dtype_is_integral(v.dtype, false))
        p->rc = dp_fail(p->ctx, DP_ERUNTIME, "%s must be integral, but got %s", name,
                        dp_dtype_name(v.dtype));
    if (p->rc == 0 && dp_memoryless(p->ctx))
        p->rc = dp_fail(
            p->ctx, DP_ENOTIMPL,
            "_ctc_loss.Tensor: expected %s with elements, but its tensors have no memory", name);
    *out = pack_own(p, t, DP_INT64);
    *n = (size_t)v.numel;
    return p->rc;
}

/* aten::_ctc_loss.Tensor */
static int ctc_loss_tensor(dp_ctx *ctx, dp_tensor *log_probs, dp_tensor *targets, dp_tensor *inputs,
                           dp_tensor *lengths, int64_t blank, bool zero_infinity, dp_tensor **loss,
                           dp_tensor **alpha)
{
    pack p = {.ctx = ctx};
    const int64_t *in, *of;
    size_t n_in, n_of;

    *loss = *alpha = NULL;
    lengths_of(&p, inputs, "input_lengths", &in, &n_in);
    lengths_of(&p, lengths, "target_lengths", &of, &n_of);
    if (p.rc == 0)
        p.rc = ctc_loss(ctx, log_probs, targets, in, n_in, of, n_of, blank, zero_infinity, loss,
                        alpha);
    return pack_end(&p);
}

/* aten::_ctc_loss_backward.Tensor */
static int ctc_loss_backward_tensor(dp_ctx *ctx, dp_tensor *grad, dp_tensor *log_probs,
                                    dp_tensor *targets, dp_tensor *inputs, dp_tensor *lengths,
                                    dp_tensor *loss, dp_tensor *alpha, int64_t blank,
                                    bool zero_infinity, dp_tensor **out)
{
    pack p = {.ctx = ctx};
    const int64_t *in, *of;
    size_t n_in, n_of;

    *out = NULL;
    lengths_of(&p, inputs, "input_lengths", &in, &n_in);
    lengths_of(&p, lengths, "target_lengths", &of, &n_of);
    if (p.rc == 0)
        p.rc = ctc_loss_backward(ctx, grad, log_probs, targets, in, n_in, of, n_of, loss, alpha,
                                 blank, zero_infinity, out);
    return pack_end(&p);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("_ctc_loss", ctc_loss, (T, T, li, li, i, b), (T, T)),
                DP_IMPL_UNBOXED("_ctc_loss.Tensor", ctc_loss_tensor, (T, T, T, T, i, b), (T, T)),
                DP_IMPL_UNBOXED("_ctc_loss_backward", ctc_loss_backward,
                                (T, T, T, li, li, T, T, i, b), (T)),
                DP_IMPL_UNBOXED("_ctc_loss_backward.Tensor", ctc_loss_backward_tensor,
                                (T, T, T, T, T, T, T, i, b), (T)))
