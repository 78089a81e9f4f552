/* fft.c -- the passes of Fourier transforms: loops/fft_*.h compiled for float and double. */
#include "lib/poll.h"
#include "fft/fft.h"
#include <string.h>

#define FFT_INLINE static inline __attribute__((always_inline))
enum { BLOCK = 16 }; /* lanes computed at a time by pass_odd(), rows copied at a time */
#define N FN(number) /* type of a complex number */

#define T     float
#define FN(f) f##_f32
#include "fft/loops/fft_dft.h"
#include "fft/loops/fft_pass.h"
#include "fft/loops/fft_tile.h"
#undef T
#undef FN
#define T     double
#define FN(f) f##_f64
#include "fft/loops/fft_dft.h"
#include "fft/loops/fft_pass.h"
#include "fft/loops/fft_tile.h"

const fft_row DP_ISA_NAME(fft_loops)[] = {
    {run_f32, gather_f32, scatter_f32, real_after_f32, real_before_f32, mirror_f32},
    {run_f64, gather_f64, scatter_f64, real_after_f64, real_before_f64, mirror_f64},
};
