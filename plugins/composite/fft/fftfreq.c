/* fftfreq.c -- fft_fftfreq and fft_rfftfreq, the sample frequencies of Fourier transforms
 * (aten/src/ATen/native/SpectralOps.cpp). */
#include "core/chain.h"

/* Fill `out` with the numbers from 0 to n - 1; with `both`, the second half counts up to -1
 * instead. */
static int frequencies(dp_ctx *ctx, const char *name, int64_t n, double d, bool both,
                       dp_tensor *out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, out);
    int64_t count = both ? n : n / 2 + 1, right = n / 2 + n % 2;

    if (!dp_dtype_is_floating(x.dtype) && !dp_dtype_is_complex(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "%s requires a floating point or complex dtype", name);
    if (dp_dtype_is_complex(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "\"arange_cpu\" not implemented for '%s'",
                       dp_dtype_name(x.dtype));
    c.rc =
        dp_invoke(ctx, "aten::arange.start_out", "sssT>", dp_int(0), dp_int(count), dp_int(1), out);
    if (both && c.rc == 0 && n > right)
        chain_Ts_(&c, "aten::add_.Scalar",
                  CHAIN(&c, "aten::narrow", "Tiii>T", out, (int64_t)0, right, n - right),
                  dp_double(-(double)n));
    chain_Ts_(&c, "aten::mul_.Scalar", out, dp_double(1.0 / ((double)n * d)));
    return chain_end(&c, NULL, NULL);
}

static int new_frequencies(dp_ctx *ctx, const char *name, int64_t n, double d, bool both,
                           const options *o, dp_tensor **out)
{
    int64_t count = both ? n : n / 2 + 1;
    int rc = dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", &count, (size_t)1,
                       o->dtype, o->layout, o->device, o->pin, (const int64_t *)NULL, out);

    if (rc < 0)
        return rc;
    rc = frequencies(ctx, name, n, d, both, *out);
    return release_on_error(rc, out);
}

/* aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device?
 *     device=None, bool? pin_memory=None) -> Tensor */
static int fftfreq(dp_ctx *ctx, int64_t n, double d, OPTIONS_PARAMS, dp_tensor **out)
{
    return new_frequencies(ctx, "fftfreq", n, d, true, &OPTIONS, out);
}

/* aten::fft_fftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!) */
static int fftfreq_out(dp_ctx *ctx, int64_t n, double d, dp_tensor *out)
{
    return frequencies(ctx, "fftfreq", n, d, true, out);
}

/* aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device?
 *     device=None, bool? pin_memory=None) -> Tensor */
static int rfftfreq(dp_ctx *ctx, int64_t n, double d, OPTIONS_PARAMS, dp_tensor **out)
{
    return new_frequencies(ctx, "rfftfreq", n, d, false, &OPTIONS, out);
}

/* aten::fft_rfftfreq.out(int n, float d=1., *, Tensor(a!) out) -> Tensor(a!) */
static int rfftfreq_out(dp_ctx *ctx, int64_t n, double d, dp_tensor *out)
{
    return frequencies(ctx, "rfftfreq", n, d, false, out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("fft_fftfreq", fftfreq, (i, f, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("fft_fftfreq.out", fftfreq_out, (i, f, T), ()),
                DP_IMPL_UNBOXED("fft_rfftfreq", rfftfreq, (i, f, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("fft_rfftfreq.out", rfftfreq_out, (i, f, T), ()))
