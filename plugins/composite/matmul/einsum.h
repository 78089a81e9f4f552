/* einsum.h -- the parsed equation of einsum: einsum_parse.c makes it, einsum.c computes it. */
#ifndef COMPOSITE_EINSUM_H
#define COMPOSITE_EINSUM_H

#include <dispatchd/plugin.h>

enum { EINSUM_LABELS = 52, EINSUM_ELLIPSIS = EINSUM_LABELS, EINSUM_SUBSCRIPTS = DP_DIM_MAX + 1 };

/* The labels of one operand.  A label is 0 to 25 for A to Z, 26 to 51 for a to z, or
 * EINSUM_ELLIPSIS for "...". */
typedef struct einsum_operand {
    uint8_t labels[EINSUM_SUBSCRIPTS];
    int n; /* number of labels */
} einsum_operand;

/* An equation and its operands.  The common order is the order of dimensions to which einsum.c
 * permutes all operands: first the dimensions of the result, then those that are summed. */
typedef struct einsum_equation {
    dp_ctx *ctx;
    dp_str text;
    dp_tensor *const *tensors;
    size_t n;
    einsum_operand *operands; /* [n] */
    int count[EINSUM_LABELS]; /* number of dimensions, of all operands, that have a label */
    int place[EINSUM_LABELS]; /* dimension of a label in the common order; -1: not assigned yet */
    /* number of dimensions that "..." stands for; index of the first of them in the common order */
    int ellipsis, ell_at;
    int n_out, ndim; /* numbers of dimensions: of the result; of the common order */
    /* for each dimension of the common order, the number of operands in which its size is not 1 */
    int uses[DP_DIM_MAX];
} einsum_equation;

/* Parse e->text and set the other fields of *e, except `uses`.  The caller has set `ctx`, `text`,
 * `tensors` and `n`, allocated `operands`, and zeroed the operands and all other fields. */
int einsum_parse(einsum_equation *e);
/* Return the letter of a label. */
static inline char einsum_label_name(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

#endif
