/* distance.c -- distances between rows: loops/distance.h compiled for float32 and float64. */
#include "lib/poll.h"
#include "nn/distance.h"
#include <math.h>

enum { LANES = 16, ROWS = 32, LONG = 1 << 20 };

#define T       float
#define E       f32
#define ABS(x)  __builtin_fabsf(x)
#define ROOT(x) __builtin_sqrtf(x)
#include "nn/loops/distance.h"
#define T       double
#define E       f64
#define ABS(x)  __builtin_fabs(x)
#define ROOT(x) __builtin_sqrt(x)
#include "nn/loops/distance.h"

#define ROW(pairs, rows)                                                                           \
    {                                                                                              \
        {                                                                                          \
            {pairs##_f32, rows##_f32},                                                             \
            {                                                                                      \
                pairs##_f64, rows##_f64                                                            \
            }                                                                                      \
        }                                                                                          \
    }
const ds_row DP_ISA_NAME(ds_loops)[] = {
    [DS_COUNT] = ROW(count_pairs, count_rows),
    [DS_SUM] = ROW(sum_pairs, sum_rows),
    [DS_SQUARES] = ROW(squares_pairs, squares_rows),
    [DS_MOST] = ROW(most_pairs, greatest_rows),
};
