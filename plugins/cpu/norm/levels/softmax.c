/* softmax.c -- softmax, log_softmax and their gradients: loops/softmax.h compiled for float32 and
 * float64. */
#include "lib/poll.h"
#include "norm/softmax.h"
#include "lib/math.h"

enum { LANES = 64 };
#define SM_INLINE static inline __attribute__((always_inline))

#define T float
#define E f32
#include "norm/loops/softmax.h"
#define T double
#define E f64
#include "norm/loops/softmax.h"

const sm_row DP_ISA_NAME(sm_loops)[] = {
    [SM_SOFTMAX] = {{softmax_f32, softmax_f64}},
    [SM_LOG_SOFTMAX] = {{log_softmax_f32, log_softmax_f64}},
    [SM_BACKWARD] = {{backward_f32, backward_f64}},
    [SM_LOG_BACKWARD] = {{log_backward_f32, log_backward_f64}},
};

static void log_sums(const sm_sums *s)
{
    const double *restrict a = s->a, *restrict b = s->b, *restrict c = s->c;
    const double *restrict plus = s->plus;
    const int64_t *restrict with = s->with;
    double *restrict out = s->out;

    for (int64_t i = 0, n = s->n; i < n; i++) {
        double x = a[i], y = b[i], z = c[i];
        z = with[i] ? z : -INFINITY;
        double top = x > y ? x : y;
        top = top > z ? top : z;
        top = top == -INFINITY ? 0 : top;
        double sum = dpm_exp_f64(x - top) + dpm_exp_f64(y - top) + dpm_exp_f64(z - top);
        out[i] = dpm_log_f64(sum) + top + plus[i];
    }
}

const sm_sum DP_ISA_NAME(sm_log_sums)[] = {log_sums};
