/* fake_quant.h -- helpers for fake quantization with given and with learnable scales and zero
 * points. */
#ifndef CPU_FAKE_QUANT_H
#define CPU_FAKE_QUANT_H

#include "core/dense.h"

/* the range of quantized integers, the rule of rounding, and the argument grad_factor */
typedef struct fq_range {
    int64_t min, max;
    bool whole; /* zero points are integers, and are added after rounding; else before rounding */
    double grad_factor;
} fq_range;

/* Convert `v` as the processor does: a number that does not fit becomes the least integer. */
static inline int64_t fq_as_integer(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}

static inline double fq_clamped(const fq_range *r, int64_t q)
{
    return fmin(fmax((double)q, (double)r->min), (double)r->max);
}

/* Set *out, owned, to `t` in `dtype`, viewed with a shape of `ndim` dimensions that broadcasts with
 * self.  `t` has one number per index of self's dimension `axis`; a 0-dim t stays 0-dim. */
int fq_along_axis(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, int64_t axis, int ndim,
                  dp_tensor **out);
/* Set out [2], owned, to 0-dim CPU tensors of `scale` and `zero`. */
int fq_one_of_each(dp_ctx *ctx, double scale, int64_t zero, dp_tensor *out[2]);
/* Set *out to element `at` of `t`, rounded to float; `at` < 0: t is a 0-dim tensor. */
int fq_number_of(dp_ctx *ctx, dp_tensor *t, int64_t at, double *out);
/* Fail unless `inside`, which says that all zero points are in the range. */
int fq_check_zero(dp_ctx *ctx, bool inside);
/* Check that the scales `s`, float32, and the zero points `z` are 1-dim tensors with one number per
 * index of dimension `axis` of `x`. */
int fq_check_channels(dp_ctx *ctx, const dp_view *x, const dp_view *s, const dp_view *z,
                      int64_t axis);

/* kernels of fake_quantize_per_tensor_affine_cachemask and
 * fake_quantize_per_channel_affine_cachemask */
int fq_per_tensor(dp_ctx *ctx, dp_tensor *self, double scale, int64_t zero, int64_t min,
                  int64_t max, dp_tensor **out, dp_tensor **mask);
int fq_per_channel(dp_ctx *ctx, dp_tensor *self, dp_tensor *scale, dp_tensor *zero, int64_t axis,
                   int64_t min, int64_t max, dp_tensor **out, dp_tensor **mask);

#endif
