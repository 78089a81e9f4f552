/* grid_sampler.c -- sampling at given points: loops/grid_sampler.h compiled for float32 and
 * float64. */
#include "spatial/grid_sampler.h"
#include <math.h>
#include <string.h>

#define GR_INLINE            static inline __attribute__((always_inline))
#define GR_PASTE_(name, end) gr_##name##_##end
#define GR_PASTE(name, end)  GR_PASTE_(name, end)

enum { GR_TAPS = 16 };

#define T        float
#define E        f32
#define GR_FLOOR floorf
#define GR_TRUNC truncf
#define GR_RINT  rintf
#include "spatial/loops/grid_sampler.h"
#define T        double
#define E        f64
#define GR_FLOOR floor
#define GR_TRUNC trunc
#define GR_RINT  rint
#include "spatial/loops/grid_sampler.h"

const grid_loops DP_ISA_NAME(grid_types)[] = {
    {gr_sample_f32, gr_input_back_f32, gr_grid_back_f32},
    {gr_sample_f64, gr_input_back_f64, gr_grid_back_f64},
};
