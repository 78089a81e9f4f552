/* clip_grad.h -- the loops of the clipping of gradients and of the unscaling of mixed precision,
 * which levels/clip_grad.c defines; clip_grad.c and amp.c call them. */
#ifndef CPU_CLIP_GRAD_H
#define CPU_CLIP_GRAD_H

#include "core/isa.h"

enum { CLIP_COUNT, CLIP_1, CLIP_2, CLIP_P, CLIP_MAX, CLIP_MIN }; /* kinds of norms */

typedef struct clip_row {
    /* Return the sum of |x|^p over `n` elements; for CLIP_COUNT the number of elements other than
     * 0, for CLIP_MAX and CLIP_MIN the greatest and the least |x|, NaN if an element is NaN. */
    double (*sum)(int kind, double p, int64_t n, const void *x);
    void (*multiply)(int64_t n, void *x, double by);
    void (*clamp)(int64_t n, void *x, double limit); /* to [-limit, limit] */
    /* Multiply, and return whether an element was infinite or NaN before. */
    bool (*unscale)(int64_t n, void *x, double by);
} clip_row;
DP_ISA_TABLE(clip_row, clip_loops) /* [2]: float32, float64 */

#endif
