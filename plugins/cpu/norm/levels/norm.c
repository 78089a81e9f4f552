/* norm.c -- normalisation and its gradients: loops/norm.h compiled for float32 and float64. */
#include "lib/poll.h"
#include "norm/norm.h"
#include "lib/math.h"

enum { NM_LANES = 32, NM_BLOCK = 4096, NM_WIDE = 64, NM_SPAN = 512, NM_ROWS = 64 };

#define T float
#define E f32
#include "norm/loops/norm.h"
#define T double
#define E f64
#include "norm/loops/norm.h"

#define ROW(name)                                                                                  \
    {                                                                                              \
        {                                                                                          \
            name##_f32, name##_f64                                                                 \
        }                                                                                          \
    }
const nm_row DP_ISA_NAME(nm_loops)[] = {
    [NM_PLANE_MOMENTS] = ROW(plane_moments),
    [NM_PLANE_SCALE] = ROW(plane_scale),
    [NM_PLANE_DOTS] = ROW(plane_dots),
    [NM_PLANE_SLOPE] = ROW(plane_slope),
    [NM_ROW_NORM] = ROW(row_norm),
    [NM_ROW_SLOPE] = ROW(row_slope),
    [NM_ROW_DOTS] = ROW(row_dots),
    [NM_COLUMN_SUMS] = ROW(column_sums),
    [NM_COLUMN_SQUARES] = ROW(column_squares),
    [NM_COLUMN_SCALE] = ROW(column_scale),
    [NM_COLUMN_DOTS] = ROW(column_dots),
    [NM_COLUMN_SLOPE] = ROW(column_slope),
};
