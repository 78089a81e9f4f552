/* optim.c -- the steps of optimizers: loops/optim.h compiled for float32 and float64. */
#include "optim/optim.h"

static inline float fused_f32(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
static inline double fused_f64(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}
static inline float root_f32(float x)
{
    return __builtin_sqrtf(x);
}
static inline double root_f64(double x)
{
    return __builtin_sqrt(x);
}

#define T float
#define E f32
#include "optim/loops/optim.h"
#define T double
#define E f64
#include "optim/loops/optim.h"

const optim_row DP_ISA_NAME(optim_loops)[] = {
    [OPTIM_SGD] = {{sgd_f32, sgd_f64}},
    [OPTIM_ADAM] = {{adam_f32, adam_f64}},
    [OPTIM_RMSPROP] = {{rmsprop_f32, rmsprop_f64}},
    [OPTIM_ADAGRAD] = {{adagrad_f32, adagrad_f64}},
    [OPTIM_LION] = {{lion_f32, lion_f64}},
};
