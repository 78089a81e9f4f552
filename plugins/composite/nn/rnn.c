/* rnn.c -- recurrent networks: rnn_tanh, rnn_relu, gru and lstm (aten/src/ATen/native/RNN.cpp).
 *
 * A sequence is a tensor [rows of all steps, features] and the number of rows of each step.  In a
 * packed sequence the steps get smaller; in any other sequence all steps have the same number of
 * rows.
 *
 * Operators: gru, lstm, rnn_relu, rnn_tanh, _use_cudnn_rnn_flatten_weight. */
#include "rnn_cell.h"

/* -- one layer of a network in one direction -- */

typedef struct network {
    dp_ctx *ctx;
    int kind;
    dp_tensor *const *params;
    size_t n_params;
    bool biases, both, train; /* both: the network has both directions */
    int64_t layers;
    double dropout;
    bool projected;
    int64_t steps;
    const int64_t *rows; /* [steps] rows of each step, not increasing */
} network;

/* Set *out, owned, to rows [from, from + n) of a state. */
static int state_narrow(dp_ctx *ctx, const rnn_state *s, int64_t from, int64_t n, rnn_state *out)
{
    int rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", s->h, (int64_t)0, from, n, &out->h);

    if (rc == 0 && s->c != NULL)
        rc = dp_invoke(ctx, "aten::narrow", "Tiii>T", s->c, (int64_t)0, from, n, &out->c);
    return rc;
}

/* Set *out, owned, to the rows of `a`, which is released, and then those of `b`. */
static int state_join(dp_ctx *ctx, rnn_state *a, const rnn_state *b, rnn_state *out)
{
    dp_tensor *const h[] = {a->h, b->h}, *const c[] = {a->c, b->c};
    rnn_state made = {0};
    int rc = dp_invoke(ctx, "aten::cat", "lTi>T", h, (size_t)2, (int64_t)0, &made.h);

    if (rc == 0 && a->c != NULL)
        rc = dp_invoke(ctx, "aten::cat", "lTi>T", c, (size_t)2, (int64_t)0, &made.c);
    rnn_state_fini(a);
    *out = made;
    return rc;
}

/* Change state `s`, of `have` rows, to the `n` rows of the next step.  If there are fewer, the
 * other rows are put before those that ended earlier, in `ended`; if there are more, they come from
 * the initial state `first`. */
static int fit_rows(dp_ctx *ctx, rnn_state *s, int64_t have, int64_t n, const rnn_state *first,
                    rnn_state *ended)
{
    rnn_state part = {0}, rest = {0};
    int rc;

    if (n == have)
        return 0;
    if (n > have) {
        rc = state_narrow(ctx, first, have, n - have, &part);
        if (rc == 0)
            rc = state_join(ctx, s, &part, s);
        rnn_state_fini(&part);
        return rc;
    }
    rc = state_narrow(ctx, s, n, have - n, &rest);
    if (rc == 0 && ended->h != NULL)
        rc = state_join(ctx, &rest, ended, &rest);
    if (rc == 0)
        rc = state_narrow(ctx, s, 0, n, &part);
    rnn_state_fini(ended);
    *ended = rest;
    rnn_state_fini(s);
    *s = part;
    return rc;
}

/* Run all steps.  `gates` are the inputs of all steps times w_ih.  outs [steps], owned, are the
 * outputs; *last, owned, is the final state. */
static int run_steps(const network *r, const rnn_cell *k, bool backwards, dp_tensor *gates,
                     const rnn_state *first, dp_tensor **outs, rnn_state *last)
{
    int64_t begin = 0, have = backwards ? r->rows[r->steps - 1] : r->rows[0];
    rnn_state s = {0}, next, ended = {0};
    int rc = state_narrow(r->ctx, first, 0, have, &s);

    for (int64_t t = 0; backwards && t < r->steps; t++)
        begin += r->rows[t];
    for (int64_t i = 0; rc == 0 && i < r->steps; i++) {
        int64_t t = backwards ? r->steps - 1 - i : i, n = r->rows[t];
        dp_tensor *input = NULL;
        begin -= backwards ? n : 0;
        rc = fit_rows(r->ctx, &s, have, n, first, &ended);
        if (rc == 0)
            rc = dp_invoke(r->ctx, "aten::narrow", "Tiii>T", gates, (int64_t)0, begin, n, &input);
        if (rc == 0 && (rc = rnn_step(r->ctx, k, input, &s, &next)) == 0) {
            rnn_state_fini(&s);
            s = next;
            outs[t] = dp_tensor_ref(s.h);
        }
        dp_tensor_unref(input);
        begin += backwards ? 0 : n;
        have = n;
    }
    if (rc == 0 && ended.h != NULL)
        rc = state_join(r->ctx, &s, &ended, &s);
    rnn_state_fini(&ended);
    *last = s;
    return rc;
}

/* Run data [all rows, features] through the layer and direction `which`.  *out [all rows, hidden]
 * and *last are owned. */
static int run_direction(const network *r, size_t which, dp_tensor *data, const rnn_state *first,
                         dp_tensor **out, rnn_state *last)
{
    size_t per = (r->biases ? 4 : 2) + (r->projected ? 1 : 0);
    dp_tensor *const *p = r->params + which * per;
    const rnn_cell k = {r->kind,
                        p[0],
                        p[1],
                        r->biases ? p[2] : NULL,
                        r->biases ? p[3] : NULL,
                        r->projected ? p[per - 1] : NULL};
    chain c = {.ctx = r->ctx};
    dp_tensor **outs = dp_alloc_n(r->ctx, (size_t)r->steps, sizeof(*outs));

    if (outs == NULL)
        return DP_ERESOURCE;
    dp_zero_n(outs, (size_t)r->steps, sizeof(*outs));
    dp_tensor *gates = rnn_linear(&c, data, k.w_ih, k.b_ih);
    if (c.rc == 0)
        c.rc = run_steps(r, &k, r->both && which % 2 == 1, gates, first, outs, last);
    dp_tensor *all = CHAIN(&c, "aten::cat", "lTi>T", outs, (size_t)r->steps, (int64_t)0);
    for (int64_t t = 0; t < r->steps; t++)
        dp_tensor_unref(outs[t]);
    return chain_end(&c, all, out);
}

/* -- layers -- */

static int check_network(const network *r, const rnn_state *hx, const dp_view *x)
{
    size_t per = (r->biases ? 4 : 2) + (r->projected ? 1 : 0);
    int64_t parts = 0;
    bool wrong = r->layers <= 0 || __builtin_mul_overflow(r->layers, r->both ? 2 : 1, &parts);
    DP_VIEW(h, hx->h);

    if (wrong || r->n_params % per != 0 || r->n_params / per != (uint64_t)parts)
        return dp_fail(r->ctx, DP_ERUNTIME, "got an incorrect number of RNN parameters");
    if (h.ndim != 3 || h.sizes[0] != parts)
        return dp_fail(r->ctx, DP_ERUNTIME,
                       "Expected hidden state of [%" PRId64
                       ", batch, size], but got %d dimensions, "
                       "the first of %" PRId64,
                       parts, h.ndim, h.ndim ? h.sizes[0] : 0);
    if (x->dtype != h.dtype)
        return dp_fail(
            r->ctx, DP_ERUNTIME,
            "Input and hidden tensors are not the same dtype, found input tensor with %s "
            "and hidden tensor with %s",
            dp_dtype_name(x->dtype), dp_dtype_name(h.dtype));
    if (hx->c != NULL) {
        char got[DP_SHAPE_TEXT];
        DP_VIEW(c, hx->c);
        if (c.ndim != 3 || c.sizes[0] != parts || c.sizes[1] != h.sizes[1])
            return dp_fail(r->ctx, DP_ERUNTIME,
                           "Expected the cell state to be of [%" PRId64 ", %" PRId64
                           ", size], as the hidden state, but got %s",
                           parts, h.sizes[1], dp_shape_text(got, c.sizes, (size_t)c.ndim));
    }
    for (size_t i = 0; i < r->n_params; i++) {
        DP_VIEW(p, r->params[i]);
        bool bias = r->biases && (i % per == 2 || i % per == 3);
        if (p.ndim != (bias ? 1 : 2))
            return dp_fail(r->ctx, DP_ERUNTIME, "RNN parameter %zu has %d dimensions, want %d", i,
                           p.ndim, bias ? 1 : 2);
    }
    if (r->steps == 0)
        return dp_fail(r->ctx, DP_ERUNTIME, "Expected sequence length to be larger than 0 in RNN");
    if (h.sizes[1] != r->rows[0])
        return dp_fail(r->ctx, DP_ERUNTIME,
                       "Input batch size %" PRId64 " doesn't match hidden batch size %" PRId64,
                       r->rows[0], h.sizes[1]);
    return 0;
}

static int state_select(dp_ctx *ctx, const rnn_state *s, int64_t i, rnn_state *out)
{
    int rc = dp_invoke(ctx, "aten::select.int", "Tii>T", s->h, (int64_t)0, i, &out->h);

    if (rc == 0 && s->c != NULL)
        rc = dp_invoke(ctx, "aten::select.int", "Tii>T", s->c, (int64_t)0, i, &out->c);
    return rc;
}

/* Run one layer; *data is replaced by its output.  hn and cn [directions], owned, get the final
 * states. */
static int run_layer(const network *r, int64_t layer, const rnn_state *hx, dp_tensor **data,
                     dp_tensor **hn, dp_tensor **cn)
{
    int64_t directions = r->both ? 2 : 1;
    dp_tensor *outs[2] = {0}, *out = NULL;
    int rc = 0;

    for (int64_t d = 0; rc == 0 && d < directions; d++) {
        rnn_state first = {0}, last = {0};
        rc = state_select(r->ctx, hx, layer * directions + d, &first);
        if (rc == 0)
            rc = run_direction(r, (size_t)(layer * directions + d), *data, &first, &outs[d], &last);
        hn[d] = last.h;
        cn[d] = last.c;
        rnn_state_fini(&first);
    }
    if (rc == 0 && r->both)
        rc = dp_invoke(r->ctx, "aten::cat", "lTi>T", outs, (size_t)2, (int64_t)-1, &out);
    else if (rc == 0)
        out = dp_tensor_ref(outs[0]);
    dp_tensor_unref(outs[0]);
    dp_tensor_unref(outs[1]);
    if (rc == 0 && r->dropout != 0 && r->train && layer < r->layers - 1) {
        dp_tensor *full = out;
        rc = dp_invoke(r->ctx, "aten::dropout", "Tfb>T", full, r->dropout, (int)true, &out);
        dp_tensor_unref(full);
        if (rc < 0)
            out = NULL;
    }
    dp_tensor_unref(*data);
    *data = out;
    return rc;
}

/* Run data [all rows, features] through all layers.  hx [layers * directions, batch, size] are the
 * initial states; the output and the final states are returned. */
static int run_network(const network *r, dp_tensor *data, const rnn_state *hx, dp_tensor **out,
                       dp_tensor **hy, dp_tensor **cy)
{
    DP_VIEW(x, data);
    int rc = check_network(r, hx, &x);
    size_t n = rc == 0 ? dp_size_times((size_t)r->layers, r->both ? 2 : 1) : 0;
    dp_tensor **last = dp_alloc_n(r->ctx, n, 2 * sizeof(*last));

    if (rc < 0 || last == NULL)
        return rc < 0 ? rc : DP_ERESOURCE;
    dp_zero_n(last, n, 2 * sizeof(*last));
    dp_tensor *t = dp_tensor_ref(data);
    for (int64_t l = 0; rc == 0 && l < r->layers; l++) {
        size_t at = (size_t)l * (r->both ? 2 : 1);
        rc = run_layer(r, l, hx, &t, last + at, last + n + at);
    }
    *hy = NULL;
    if (rc == 0)
        rc = dp_invoke(r->ctx, "aten::stack", "lTi>T", last, n, (int64_t)0, hy);
    if (rc == 0 && cy != NULL)
        rc = dp_invoke(r->ctx, "aten::stack", "lTi>T", last + n, n, (int64_t)0, cy);
    for (size_t i = 0; i < 2 * n; i++)
        dp_tensor_unref(last[i]);
    if (rc < 0) {
        *hy = dp_tensor_unref(*hy);
        dp_tensor_unref(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* -- variants -- */

/* Run an input [time, batch, features], or, with batch_first, [batch, time, features]. */
static int run_padded(network *r, dp_tensor *input, const rnn_state *hx, bool batch_first,
                      dp_tensor **out, dp_tensor **hy, dp_tensor **cy)
{
    chain c = {.ctx = r->ctx};
    dp_tensor *made = NULL;
    DP_VIEW(x, input);

    if (x.ndim != 3)
        return dp_fail(r->ctx, DP_ERUNTIME, "Expected a 3D input, but got %d dimensions", x.ndim);
    int64_t time = x.sizes[batch_first ? 1 : 0], batch = x.sizes[batch_first ? 0 : 1];
    int64_t flat[] = {time * batch, x.sizes[2]}, sizes[] = {time, batch, -1};
    int64_t *rows = dp_alloc_n(r->ctx, (size_t)time, sizeof(*rows));
    if (rows == NULL)
        return DP_ERESOURCE;
    for (int64_t t = 0; t < time; t++)
        rows[t] = batch;
    r->rows = rows;
    r->steps = time;
    if (batch_first)
        input = CHAIN(&c, "aten::transpose.int", "Tii>T", input, (int64_t)0, (int64_t)1);
    input = CHAIN(&c, "aten::reshape", "Tli>T", input, flat, (size_t)2);
    if (c.rc == 0)
        c.rc = run_network(r, input, hx, &made, hy, cy);
    if (c.rc < 0)
        return chain_end(&c, NULL, out);
    sizes[2] = rnn_columns(chain_keep(&c, made));
    dp_tensor *t = CHAIN(&c, "aten::view", "Tli>T", made, sizes, (size_t)3);
    if (batch_first)
        t = CHAIN(&c, "aten::transpose.int", "Tii>T", t, (int64_t)0, (int64_t)1);
    return chain_end(&c, t, out);
}

/* Set r->rows to a copy of the batch sizes, which no other thread can change. */
static int own_rows(network *r, dp_tensor *data, dp_tensor *batch_sizes)
{
    DP_VIEW(x, data);
    DP_VIEW(b, batch_sizes);
    int64_t sum = 0;

    if (b.data == NULL && b.numel > 0)
        return dp_fail(r->ctx, DP_ENOTIMPL,
                       "expected batch sizes with elements, but they have no memory");
    if (x.ndim != 2 || b.ndim != 1 || b.dtype != DP_INT64 || b.device != 0 || b.numel == 0)
        return dp_fail(
            r->ctx, DP_ERUNTIME,
            "a packed sequence has 2D data and a vector of int64 batch sizes on the CPU");
    int64_t *rows = dp_alloc_n(r->ctx, (size_t)b.numel, sizeof(*rows));
    if (rows == NULL)
        return DP_ERESOURCE;
    for (int64_t t = 0; t < b.numel; t++) {
        rows[t] = ((const int64_t *)b.data)[t * b.strides[0]];
        if (rows[t] <= 0 || rows[t] > x.sizes[0] - sum || (t > 0 && rows[t] > rows[t - 1]))
            return dp_fail(
                r->ctx, DP_ERUNTIME,
                "batch sizes should be positive, not increase, and sum up to the %" PRId64
                " rows of data; the one at %" PRId64 " is %" PRId64,
                x.sizes[0], t, rows[t]);
        sum += rows[t];
    }
    if (sum != x.sizes[0])
        return dp_fail(r->ctx, DP_ERUNTIME,
                       "batch sizes sum up to %" PRId64 ", but data has %" PRId64 " rows", sum,
                       x.sizes[0]);
    r->rows = rows;
    r->steps = b.numel;
    return 0;
}

#define NETWORK_ARGS                                                                               \
    dp_tensor *const *params, size_t n_params, bool biases, int64_t layers, double dropout,        \
        bool train, bool both
#define NETWORK(kind_)                                                                             \
    {                                                                                              \
        .ctx = ctx, .kind = kind_, .params = params, .n_params = n_params, .biases = biases,       \
        .layers = layers, .dropout = dropout, .train = train, .both = both                         \
    }

/* aten::gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float
 *     dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
 * aten::gru.data(Tensor data, Tensor batch_sizes, Tensor hx, ...), and their kin */
#define NETWORKS(name, kind_)                                                                      \
    static int name##_input(dp_ctx *ctx, dp_tensor *input, dp_tensor *hx, NETWORK_ARGS,            \
                            bool batch_first, dp_tensor **out, dp_tensor **hy)                     \
    {                                                                                              \
        network r = NETWORK(kind_);                                                                \
        const rnn_state s = {hx, NULL};                                                            \
        return run_padded(&r, input, &s, batch_first, out, hy, NULL);                              \
    }                                                                                              \
    static int name##_data(dp_ctx *ctx, dp_tensor *data, dp_tensor *batch_sizes, dp_tensor *hx,    \
                           NETWORK_ARGS, dp_tensor **out, dp_tensor **hy)                          \
    {                                                                                              \
        network r = NETWORK(kind_);                                                                \
        const rnn_state s = {hx, NULL};                                                            \
        int rc = own_rows(&r, data, batch_sizes);                                                  \
        return rc < 0 ? rc : run_network(&r, data, &s, out, hy, NULL);                             \
    }
NETWORKS(rnn_tanh, RNN_TANH)
NETWORKS(rnn_relu, RNN_RELU)
NETWORKS(gru, GRU)

/* Set the two states of an LSTM; their last sizes differ if its output is projected. */
static int lstm_states(network *r, dp_tensor *const *hx, size_t n, rnn_state *s)
{
    if (n != 2)
        return dp_fail(r->ctx, DP_ERUNTIME, "lstm expects two hidden states");
    DP_VIEW(h, hx[0]);
    DP_VIEW(c, hx[1]);
    r->projected = h.ndim == 3 && c.ndim == 3 && h.sizes[2] != c.sizes[2];
    *s = (rnn_state){hx[0], hx[1]};
    return 0;
}

/* aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers,
 *     float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor,
 *     Tensor) */
static int lstm_input(dp_ctx *ctx, dp_tensor *input, dp_tensor *const *hx, size_t n_hx,
                      NETWORK_ARGS, bool batch_first, dp_tensor **out, dp_tensor **hy,
                      dp_tensor **cy)
{
    network r = NETWORK(LSTM);
    rnn_state s;
    int rc = lstm_states(&r, hx, n_hx, &s);
    return rc < 0 ? rc : run_padded(&r, input, &s, batch_first, out, hy, cy);
}

/* aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases,
 *     int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor) */
static int lstm_data(dp_ctx *ctx, dp_tensor *data, dp_tensor *batch_sizes, dp_tensor *const *hx,
                     size_t n_hx, NETWORK_ARGS, dp_tensor **out, dp_tensor **hy, dp_tensor **cy)
{
    network r = NETWORK(LSTM);
    rnn_state s;
    int rc = lstm_states(&r, hx, n_hx, &s);

    if (rc == 0)
        rc = own_rows(&r, data, batch_sizes);
    return rc < 0 ? rc : run_network(&r, data, &s, out, hy, cy);
}

/* aten::_use_cudnn_rnn_flatten_weight() -> bool */
static int use_cudnn_weight(dp_ctx *ctx, bool *out)
{
    (void)ctx;
    *out = false;
    return 0;
}

DP_LIBRARY_META(
    aten, CompositeImplicitAutograd,
    DP_IMPL_UNBOXED("rnn_tanh.input", rnn_tanh_input, (T, T, lT, b, i, f, b, b, b), (T, T)),
    DP_IMPL_UNBOXED("rnn_tanh.data", rnn_tanh_data, (T, T, T, lT, b, i, f, b, b), (T, T)),
    DP_IMPL_UNBOXED("rnn_relu.input", rnn_relu_input, (T, T, lT, b, i, f, b, b, b), (T, T)),
    DP_IMPL_UNBOXED("rnn_relu.data", rnn_relu_data, (T, T, T, lT, b, i, f, b, b), (T, T)),
    DP_IMPL_UNBOXED("gru.input", gru_input, (T, T, lT, b, i, f, b, b, b), (T, T)),
    DP_IMPL_UNBOXED("gru.data", gru_data, (T, T, T, lT, b, i, f, b, b), (T, T)),
    DP_IMPL_UNBOXED("lstm.input", lstm_input, (T, lT, lT, b, i, f, b, b, b), (T, T, T)),
    DP_IMPL_UNBOXED("lstm.data", lstm_data, (T, T, lT, lT, b, i, f, b, b), (T, T, T)),
    DP_IMPL_UNBOXED("_use_cudnn_rnn_flatten_weight", use_cudnn_weight, (), (b)))
