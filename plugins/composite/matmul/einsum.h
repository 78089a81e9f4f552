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
    int count[EINSUM_LABELS]; /* number of operands and dimensions that have a label */
    int place[EINSUM_LABELS]; /* dimension of a label in the common order; -1: not assigned yet */
    /* dimensions of the widest ellipsis; first dimension of the ellipsis */
    int ellipsis, ell_at;
    /* number of dimensions of the result, and of the result with the summed dimensions */
    int n_out, ndim;
    int uses[DP_DIM_MAX]; /* number of operands whose size in a dimension is not 1 */
} einsum_equation;

/* Parse e->text and set the other fields of *e.  The caller has set `ctx`, `tensors` and `n`, and
 * zeroed `operands`. */
int einsum_parse(einsum_equation *e);
/* Return the letter of a label. */
static inline char einsum_label_name(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

#endif
