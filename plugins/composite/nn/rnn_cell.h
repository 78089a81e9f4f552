/* rnn_cell.h -- one step of a recurrent cell, for the operators lstm_cell, gru_cell and so on, and
 * for recurrent networks such as lstm. */
#ifndef COMPOSITE_RNN_CELL_H
#define COMPOSITE_RNN_CELL_H

#include "core/chain.h"

enum { RNN_TANH, RNN_RELU, GRU, LSTM };

/* weights of one layer in one direction, borrowed */
typedef struct rnn_cell {
    int kind;
    dp_tensor *w_ih, *w_hh, *b_ih, *b_hh, /* biases may be NULL */
        *w_hr;                            /* the projection of an LSTM, or NULL */
} rnn_cell;

/* the owned hidden state h and, for an LSTM, the owned cell state c (else NULL) */
typedef struct rnn_state {
    dp_tensor *h, *c;
} rnn_state;

/* Release the tensors of s. */
void rnn_state_fini(rnn_state *s);
/* Call aten::linear as a step of chain `c`.  `bias` may be NULL. */
dp_tensor *rnn_linear(chain *c, dp_tensor *x, dp_tensor *weight, dp_tensor *bias);
/* Return the size of t's last dimension. */
int64_t rnn_columns(const dp_tensor *t);
/* Compute *out, the owned state after one step from state `s`.  `input` is the step's input, to
 * which the linear layer (w_ih, b_ih) was already applied. */
int rnn_step(dp_ctx *ctx, const rnn_cell *k, dp_tensor *input, const rnn_state *s, rnn_state *out);

#endif
