/* einsum.h -- the parsed equation of einsum: einsum_parse.c makes it, einsum.c computes it. */
#ifndef COMPOSITE_EINSUM_H
#define COMPOSITE_EINSUM_H

#include <dispatchd/plugin.h>

enum { EINSUM_LABELS = 52, EINSUM_ELLIPSIS = EINSUM_LABELS, EINSUM_SUBSCRIPTS = DP_DIM_MAX + 1 };

/* the labels of one operand; a label is the index of a letter, or EINSUM_ELLIPSIS for "..." */
typedef struct einsum_operand {
    uint8_t labels[EINSUM_SUBSCRIPTS];
    int n; /* number of labels */
} einsum_operand;

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
    /* number of dimensions of the result, and of the result with the summed dimensions */
    int n_out, ndim;
    int uses[DP_DIM_MAX]; /* number of operands whose size in a dimension is not 1 */
} einsum_equation;

/* Parse e->text and set the other fields of *e.  The caller has set `ctx`, `text`, `tensors` and
 * `n`, and zeroed `operands`. */
int einsum_parse(einsum_equation *e);
/* Return the letter of a label. */
static inline char einsum_label_name(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

#endif
