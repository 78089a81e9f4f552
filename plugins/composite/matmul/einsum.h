/* einsum.h -- the equation of einsum, read by einsum_parse.c for einsum.c. */
#ifndef COMPOSITE_EINSUM_H
#define COMPOSITE_EINSUM_H

#include <dispatchd/plugin.h>

enum { EINSUM_LABELS = 52, EINSUM_ELLIPSIS = EINSUM_LABELS, EINSUM_SUBSCRIPTS = DP_DIM_MAX + 1 };

typedef struct einsum_operand {
    uint8_t labels[EINSUM_SUBSCRIPTS];
    int n;
} einsum_operand;

typedef struct einsum_equation {
    dp_ctx *ctx;
    dp_str text;
    dp_tensor *const *tensors;
    size_t n;
    einsum_operand *operands; /* [n] */
    int count[EINSUM_LABELS]; /* how often a label is there */
    int place[EINSUM_LABELS]; /* its dimension in the common order; -1: none yet */
    int ellipsis, ell_at;     /* dimensions that the widest ellipsis stands for; where they begin */
    int n_out, ndim;          /* dimensions of the result, and with those that are summed */
    int uses[DP_DIM_MAX];     /* tensors whose size in a dimension is not 1 */
} einsum_equation;

/* Read e->text into the other fields of *e, whose `ctx`, `tensors`, `n` and zeroed `operands` are
 * given. */
int einsum_parse(einsum_equation *e);
/* Return the letter of a label. */
static inline char einsum_label_name(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

#endif
