/* rnn_cell.c -- rnn_tanh_cell, rnn_relu_cell, gru_cell and lstm_cell, computed with other operators
 * (aten/src/ATen/native/RNN.cpp). */
#include "rnn_cell.h"

void rnn_state_fini(rnn_state *s)
{
    s->h = dp_tensor_unref(s->h);
    s->c = dp_tensor_unref(s->c);
}

dp_tensor *rnn_linear(chain *c, dp_tensor *x, dp_tensor *weight, dp_tensor *bias)
{
    return CHAIN(c, "aten::linear", "TToT>T", x, weight, bias);
}

/* Return part `i` of the gates, which have `size` columns each. */
static dp_tensor *gate(chain *c, dp_tensor *gates, int64_t i, int64_t size)
{
    return CHAIN(c, "aten::narrow", "Tiii>T", gates, (int64_t)1, i * size, size);
}

static dp_tensor *sigmoid_of(chain *c, dp_tensor *gates, int64_t i, int64_t size)
{
    return chain_T(c, "aten::sigmoid", gate(c, gates, i, size));
}

int64_t rnn_columns(const dp_tensor *t)
{
    DP_VIEW(x, t);
    return x.sizes[x.ndim - 1];
}

static void lstm_step(chain *c, const rnn_cell *k, dp_tensor *input, dp_tensor *hidden,
                      const rnn_state *s, dp_tensor **h, dp_tensor **cell_)
{
    int64_t n = rnn_columns(s->c);
    dp_tensor *gates = chain_TT(c, "aten::add.Tensor", hidden, input);
    dp_tensor *in = sigmoid_of(c, gates, 0, n), *keep = sigmoid_of(c, gates, 1, n);
    dp_tensor *fresh = chain_T(c, "aten::tanh", gate(c, gates, 2, n));
    dp_tensor *show = sigmoid_of(c, gates, 3, n);

    *cell_ = chain_TT(c, "aten::add.Tensor", chain_TT(c, "aten::mul.Tensor", keep, s->c),
                      chain_TT(c, "aten::mul.Tensor", in, fresh));
    *h = chain_TT(c, "aten::mul.Tensor", show, chain_T(c, "aten::tanh", *cell_));
    if (k->w_hr != NULL)
        *h = rnn_linear(c, *h, k->w_hr, NULL);
}

static dp_tensor *gru_step(chain *c, dp_tensor *input, dp_tensor *hidden, const rnn_state *s)
{
    int64_t n = rnn_columns(s->h);
    dp_tensor *reset = chain_TT(c, "aten::add.Tensor", gate(c, hidden, 0, n), gate(c, input, 0, n));
    dp_tensor *update =
        chain_TT(c, "aten::add.Tensor", gate(c, hidden, 1, n), gate(c, input, 1, n));
    dp_tensor *fresh =
        chain_TT(c, "aten::mul.Tensor", gate(c, hidden, 2, n), chain_T(c, "aten::sigmoid", reset));
    fresh = chain_TT(c, "aten::add.Tensor", gate(c, input, 2, n), fresh);
    fresh = chain_T(c, "aten::tanh", fresh);
    dp_tensor *apart = chain_TT(c, "aten::sub.Tensor", s->h, fresh);
    apart = chain_TT(c, "aten::mul.Tensor", apart, chain_T(c, "aten::sigmoid", update));
    return chain_TT(c, "aten::add.Tensor", apart, fresh);
}

int rnn_step(dp_ctx *ctx, const rnn_cell *k, dp_tensor *input, const rnn_state *s, rnn_state *out)
{
    chain c = {.ctx = ctx};
    dp_tensor *h = NULL, *next = NULL, *hidden = rnn_linear(&c, s->h, k->w_hh, k->b_hh);

    if (k->kind == LSTM)
        lstm_step(&c, k, input, hidden, s, &h, &next);
    else if (k->kind == GRU)
        h = gru_step(&c, input, hidden, s);
    else
        h = chain_T(&c, k->kind == RNN_TANH ? "aten::tanh" : "aten::relu",
                    chain_TT(&c, "aten::add.Tensor", hidden, input));
    *out = (rnn_state){0};
    if (c.rc == 0)
        *out = (rnn_state){dp_tensor_ref(h), next ? dp_tensor_ref(next) : NULL};
    return chain_end(&c, NULL, NULL);
}

static int check_hidden(dp_ctx *ctx, const dp_view *x, dp_tensor *hidden, int64_t size,
                        const char *label)
{
    DP_VIEW(h, hidden);

    if (h.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "hidden%s should be 2D, but got %d dimensions", label,
                       h.ndim);
    if (x->sizes[0] != h.sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Input batch size %" PRId64 " doesn't match hidden%s batch size %" PRId64,
                       x->sizes[0], label, h.sizes[0]);
    if (h.sizes[1] != size)
        return dp_fail(ctx, DP_ERUNTIME,
                       "hidden%s has inconsistent hidden_size: got %" PRId64 ", expected %" PRId64,
                       label, h.sizes[1], size);
    return 0;
}

/* Check the input and the weights of a cell; `gates` is the number of gates, of hidden size each,
 * in a row of weights. */
static int check_cell(dp_ctx *ctx, const rnn_cell *k, dp_tensor *input, const rnn_state *s)
{
    DP_VIEW(x, input);
    DP_VIEW(w, k->w_ih);
    DP_VIEW(v, k->w_hh);

    if (x.ndim != 2 || w.ndim != 2 || v.ndim != 2)
        return dp_fail(ctx, DP_EINDEX,
                       "Expected a 2D input and weights, but got %d, %d and %d dimensions", x.ndim,
                       w.ndim, v.ndim);
    if (x.sizes[1] != w.sizes[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "input has inconsistent input_size: got %" PRId64 " expected %" PRId64,
                       x.sizes[1], w.sizes[1]);
    int rc = check_hidden(ctx, &x, s->h, v.sizes[1], k->kind == LSTM ? "0" : "");
    return rc < 0 || k->kind != LSTM ? rc : check_hidden(ctx, &x, s->c, v.sizes[1], "1");
}

static int one_cell(dp_ctx *ctx, const rnn_cell *k, dp_tensor *input, const rnn_state *s,
                    rnn_state *out)
{
    chain c = {.ctx = ctx, .rc = check_cell(ctx, k, input, s)};
    dp_tensor *gates = rnn_linear(&c, input, k->w_ih, k->b_ih);

    if (c.rc == 0)
        c.rc = rnn_step(ctx, k, gates, s, out);
    return chain_end(&c, NULL, NULL);
}

/* aten::rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None,
 *     Tensor? b_hh=None) -> Tensor, and its kin */
#define CELL(name, kind_)                                                                          \
    static int name(dp_ctx *ctx, dp_tensor *input, dp_tensor *hx, dp_tensor *w_ih,                 \
                    dp_tensor *w_hh, dp_tensor *b_ih, dp_tensor *b_hh, dp_tensor **out)            \
    {                                                                                              \
        const rnn_cell k = {kind_, w_ih, w_hh, b_ih, b_hh, NULL};                                  \
        const rnn_state s = {hx, NULL};                                                            \
        rnn_state made = {0};                                                                      \
        int rc = one_cell(ctx, &k, input, &s, &made);                                              \
        *out = made.h;                                                                             \
        return rc;                                                                                 \
    }
CELL(rnn_tanh_cell, RNN_TANH)
CELL(rnn_relu_cell, RNN_RELU)
CELL(gru_cell, GRU)

/* aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None,
 *     Tensor? b_hh=None) -> (Tensor, Tensor) */
static int lstm_cell(dp_ctx *ctx, dp_tensor *input, dp_tensor *const *hx, size_t n, dp_tensor *w_ih,
                     dp_tensor *w_hh, dp_tensor *b_ih, dp_tensor *b_hh, dp_tensor **h,
                     dp_tensor **c)
{
    const rnn_cell k = {LSTM, w_ih, w_hh, b_ih, b_hh, NULL};
    rnn_state made = {0};

    if (n != 2)
        return dp_fail(ctx, DP_ERUNTIME, "lstm_cell expects two hidden states");
    const rnn_state s = {hx[0], hx[1]};
    int rc = one_cell(ctx, &k, input, &s, &made);
    *h = made.h;
    *c = made.c;
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("rnn_tanh_cell", rnn_tanh_cell, (T, T, T, T, oT, oT), (T)),
                DP_IMPL_UNBOXED("rnn_relu_cell", rnn_relu_cell, (T, T, T, T, oT, oT), (T)),
                DP_IMPL_UNBOXED("gru_cell", gru_cell, (T, T, T, T, oT, oT), (T)),
                DP_IMPL_UNBOXED("lstm_cell", lstm_cell, (T, lT, T, T, oT, oT), (T, T)))
