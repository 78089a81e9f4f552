/* clip_grad.c -- norms and clipping of gradients: loops/clip_grad.h compiled for float32 and
 * float64. */
#include "optim/clip_grad.h"
#include <math.h>

enum { LANES = 32 };

#define T float
#define E f32
#include "optim/loops/clip_grad.h"
#define T double
#define E f64
#include "optim/loops/clip_grad.h"

const clip_row DP_ISA_NAME(clip_loops)[] = {{sum_f32, multiply_f32, clamp_f32, unscale_f32},
                                            {sum_f64, multiply_f64, clamp_f64, unscale_f64}};
