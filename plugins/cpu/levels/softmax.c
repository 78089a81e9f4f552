/* softmax.c -- softmax, log_softmax and their gradients: loops/softmax.h for float32 and float64. */
#include "../softmax.h"
#include "../../lib/math.h"

enum { LANES = 64 };
#define SM_INLINE static inline __attribute__((always_inline))

#define T float
#define E f32
#include "../loops/softmax.h"
#define T double
#define E f64
#include "../loops/softmax.h"

const sm_row CPU_NAME(sm_loops)[] = {
    [SM_SOFTMAX] = {{softmax_f32, softmax_f64}},
    [SM_LOG_SOFTMAX] = {{log_softmax_f32, log_softmax_f64}},
    [SM_BACKWARD] = {{backward_f32, backward_f64}},
    [SM_LOG_BACKWARD] = {{log_backward_f32, log_backward_f64}},
};
