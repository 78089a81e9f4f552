/* window.c -- sums and maxima over windows: loops/window_*.h compiled for float32, float64 and
 * int64. */
#include "spatial/window.h"
#include <string.h>

#define WN_INLINE            static inline __attribute__((always_inline))
#define WN_PASTE_(name, end) wn_##name##_##end
#define WN_PASTE(name, end)  WN_PASTE_(name, end)
#define WN(name)             WN_PASTE(name, E)

enum { WN_BLOCK = 64 }; /* number of elements of a result that are computed at a time */

#define QUOTIENT(x, d) ((x) / (d))
#define T              float
#define I              int32_t
#define E              f32
#include "spatial/loops/window_sums.h"
#include "spatial/loops/window_maxima.h"
#undef T
#undef I
#undef E
#define T double
#define I int64_t
#define E f64
#include "spatial/loops/window_sums.h"
#include "spatial/loops/window_maxima.h"
#undef T
#undef I
#undef E
#undef QUOTIENT
/* Divide integers.  The least integer divided by -1 wraps; a division instruction would end the
 * process. */
#define QUOTIENT(x, d) ((d) == -1 ? (int64_t)(0 - (uint64_t)(x)) : (x) / (d))
#define T              int64_t
#define E              i64
#include "spatial/loops/window_sums.h"

const wn_loops DP_ISA_NAME(wn_types)[] = {
    [WN_F32] = {wn_add_rows_f32, wn_add_places_f32, wn_max_rows_f32, wn_max_places_f32,
                wn_no_row_f32, wn_max_few_f32},
    [WN_F64] = {wn_add_rows_f64, wn_add_places_f64, wn_max_rows_f64, wn_max_places_f64,
                wn_no_row_f64, wn_max_few_f64},
    [WN_I64] = {wn_add_rows_i64, wn_add_places_i64, NULL, NULL, NULL, NULL},
};
