/* range_factories.c -- arange, range, linspace and logspace, whose elements are functions of their
 * index (aten/src/ATen/native/RangeFactories.cpp).  Elements are computed in float64, complex128 or
 * int64, and then converted. */
#include "lib/dims.h"
#include "core/elements.h"
#include <dispatchd/check.h>
#include <complex.h>

/* n values of a range, from number `begin` on, in the type that they are computed in. */
typedef void (*range_fill)(const void *range, int64_t begin, int64_t n, void *out);

typedef struct writing {
    range_fill fill;
    const void *range;
    dp_convert_fn convert;
    int64_t wide, bytes; /* of an element that is computed, and of one that is written */
    char *to;
} writing;

static void write_values(int64_t begin, int64_t end, void *user)
{
    enum { BLOCK = 512 };
    const writing *w = user;
    double _Complex values[BLOCK];

    for (int64_t n; begin < end; begin += n) {
        n = end - begin < BLOCK ? end - begin : BLOCK;
        w->fill(w->range, begin, n, values);
        w->convert(w->to + begin * w->bytes, w->bytes, (char *)values, w->wide, n);
    }
}

/* dst's elements in row-major order = what `fill` gives in dtype. */
static int write_range(dp_ctx *ctx, dp_tensor *dst, dp_dtype dtype, range_fill fill,
                       const void *range)
{
    enum { GRAIN = 32768 };
    dp_tensor *packed = dst;
    bool direct = dp_tensor_is_contiguous(dst, DP_CONTIGUOUS);
    int rc = direct ? 0 : dp_empty_like(ctx, dst, DP_DTYPE_NONE, DP_CONTIGUOUS, &packed);

    if (rc < 0)
        return rc;
    DP_VIEW(x, packed);
    writing w = {fill,
                 range,
                 dp_converter(x.dtype, dtype),
                 (int64_t)dp_dtype_size(dtype),
                 (int64_t)dp_dtype_size(x.dtype),
                 x.data};
    if (!dp_memoryless(ctx))
        rc = dp_parallel_for(ctx, 0, x.numel, GRAIN, write_values, &w);
    if (rc == 0 && !direct)
        rc = dp_copy(ctx, dst, packed);
    if (!direct)
        dp_tensor_unref(packed);
    return rc;
}

/* -- arange -- */

typedef struct arange {
    int64_t start, step;
    double from, by;
} arange;

static void fill_integers(const void *range, int64_t begin, int64_t n, void *out)
{
    const arange *r = range;

    for (int64_t i = 0; i < n; i++)
        ((uint64_t *)out)[i] = (uint64_t)r->start + (uint64_t)(begin + i) * (uint64_t)r->step;
}

static void fill_doubles(const void *range, int64_t begin, int64_t n, void *out)
{
    const arange *r = range;
    double first = (double)begin; /* places are below 2^53 */

    for (int i = 0; i < (int)n; i++)
        ((double *)out)[i] = r->from + (first + i) * r->by;
}

/* Resize `dst` to one dimension of `count` elements, unless it already has that number of
 * elements. */
static int fit_range(dp_ctx *ctx, int64_t count, dp_tensor *dst)
{
    char shape[DP_SHAPE_TEXT];
    DP_VIEW(x, dst);

    if (x.numel == count)
        return 0;
    if (x.numel > 0)
        dp_warn(ctx,
                "The number of elements in the out tensor of shape %s is %lld which does not match "
                "the computed number of elements %lld. Note that this may occur as a result of "
                "rounding error. The out tensor will be resized to a tensor of shape (%lld,).",
                dp_shape_text(shape, x.sizes, (size_t)x.ndim), (long long)x.numel, (long long)count,
                (long long)count);
    return dp_resize(ctx, dst, 1, &count, DP_PRESERVE);
}

/* aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)
 */
static int arange_out(dp_ctx *ctx, dp_value start, dp_value end, dp_value step, dp_tensor *dst)
{
    int64_t count = 0;
    DP_VIEW(x, dst);
    bool integral = dp_dtype_is_integral(x.dtype, true);
    int rc = count_range(ctx, start, end, step, x.dtype, &count);
    const dp_value given[] = {start, end, step};

    for (int i = 0; i < 3 && rc == 0 && (dp_dtype_is_reduced_floating(x.dtype)); i++)
        rc = check_fits(ctx, given[i], DP_FLOAT32); /* at::acc_type of 16-bit floats */
    if (rc == 0)
        rc = fit_range(ctx, count, dst);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    arange r = {as_int(start), as_int(step), as_double(start), as_double(step)};
    return write_range(ctx, dst, integral ? DP_INT64 : DP_FLOAT64,
                       integral ? fill_integers : fill_doubles, &r);
}

/* -- range: both ends are in it -- */

static int check_closed(dp_ctx *ctx, double from, double to, double by)
{
    if (!isfinite(from) || !isfinite(to))
        return dp_fail(ctx, DP_ERUNTIME, "unsupported range: %g -> %g", from, to);
    if (by == 0 || isnan(by))
        return dp_fail(ctx, DP_ERUNTIME, "step must be nonzero");
    if (from != to && (from < to) != (by > 0))
        return dp_fail(ctx, DP_ERUNTIME, "upper bound and lower bound inconsistent with step sign");
    if ((to - from) / by >= 0x1p62)
        return dp_fail(ctx, DP_ERUNTIME, "invalid size, possible overflow?");
    return 0;
}

/* Number of values in a result of `dtype`, in whose type it is computed.  Source:
 * at::native::range_out. */
static int count_closed(dp_ctx *ctx, const dp_value ends[3], dp_dtype dtype, int64_t *count)
{
    double d[3];

    for (int i = 0; i < 3; i++) {
        d[i] = as_double(ends[i]);
        bool wide = ends[i].tag == DP_TAG_DOUBLE && !(fabs(d[i]) < 0x1p63);
        if (ends[i].tag == DP_TAG_COMPLEX || (wide && dp_dtype_is_integral(dtype, false)))
            return dp_fail(ctx, DP_ERUNTIME, "value cannot be converted to %s without overflow",
                           dp_dtype_name(dtype));
    }
    if (!dp_dtype_is_integral(dtype, false)) {
        int rc = check_closed(ctx, d[0], d[1], d[2]);
        *count = rc < 0                 ? 0
                 : dtype == DP_BFLOAT16 ? (int64_t)(((float)d[1] - (float)d[0]) / (float)d[2] + 1)
                                        : (int64_t)((d[1] - d[0]) / d[2] + 1);
        return rc;
    }
    int64_t from = as_int(ends[0]), to = as_int(ends[1]), by = as_int(ends[2]);
    int rc = check_closed(ctx, (double)from, (double)to, (double)by);
    *count = rc < 0 ? 0 : (int64_t)(((__int128)to - from) / by) + 1;
    return rc;
}

/* aten::range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!) */
static int range_out(dp_ctx *ctx, dp_value start, dp_value end, dp_value step, dp_tensor *dst)
{
    int64_t count = 0;
    DP_VIEW(x, dst);
    bool integral = dp_dtype_is_integral(x.dtype, false);

    if (x.dtype == DP_BOOL || x.dtype == DP_FLOAT16 || dp_dtype_is_complex(x.dtype))
        return dp_refuse_dtype(ctx, "range_cpu", x.dtype);
    const dp_value given[] = {start, end, step};
    int rc = 0;

    for (int i = 0; i < 3 && rc == 0 && x.dtype == DP_BFLOAT16; i++)
        rc = check_fits(ctx, given[i], DP_FLOAT32); /* at::acc_type of bfloat16 */
    if (rc == 0)
        rc = count_closed(ctx, given, x.dtype, &count);
    if (rc == 0 && x.numel != count)
        rc = dp_resize(ctx, dst, 1, &count, DP_PRESERVE);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    arange r = {as_int(start), as_int(step), as_double(start), as_double(step)};
    return write_range(ctx, dst, integral ? DP_INT64 : DP_FLOAT64,
                       integral ? fill_integers : fill_doubles, &r);
}

/* -- linspace, logspace -- */

typedef struct space {
    double _Complex start, end, step, base;
    int64_t steps;
    bool power; /* base ** value */
} space;

/* From both ends to the middle, so that the last one is `end`.  (PyTorch 1.13 truncates every
 * fourth value of a range of integers before it adds the next three; later ones do not, nor does
 * this.) */
static void fill_real(const void *range, int64_t begin, int64_t n, void *out)
{
    const space *s = range;
    double from = creal(s->start), to = creal(s->end), step = creal(s->step);

    for (int64_t i = begin; i < begin + n; i++) {
        double v =
            i < s->steps / 2 ? from + step * (double)i : to - step * (double)(s->steps - 1 - i);
        ((double *)out)[i - begin] = s->power ? pow(creal(s->base), v) : v;
    }
}

static void fill_complex(const void *range, int64_t begin, int64_t n, void *out)
{
    const space *s = range;

    for (int64_t i = begin; i < begin + n; i++) {
        double _Complex v = i < s->steps / 2 ? s->start + s->step * (double)i
                                             : s->end - s->step * (double)(s->steps - 1 - i);
        ((double _Complex *)out)[i - begin] = s->power ? cpow(s->base, v) : v;
    }
}

static double _Complex as_complex(dp_value v)
{
    return v.tag == DP_TAG_COMPLEX ? v.u.doubles[0] + v.u.doubles[1] * I : as_double(v);
}

/* An end of a range as dtype holds it: an integer for integers, which uint8 counts from below 0,
 * too. */
static double _Complex as_end(dp_value v, dp_dtype dtype)
{
    double _Complex end = as_complex(v);

    if (dtype == DP_UINT8)
        return (uint8_t)(int64_t)creal(end);
    if (dp_dtype_is_integral(dtype, true))
        return trunc(creal(end));
    return dtype == DP_FLOAT32 ? (float)creal(end) : end;
}

static int check_space(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, dp_tensor *dst,
                       const char *name)
{
    DP_VIEW(x, dst);
    bool is_complex = start.tag == DP_TAG_COMPLEX || end.tag == DP_TAG_COMPLEX;

    if (steps < 0)
        return dp_fail(ctx, DP_ERUNTIME, "number of steps must be non-negative");
    if (is_complex && !dp_dtype_is_complex(x.dtype))
        return dp_fail(ctx, DP_ERUNTIME, "%s of complex numbers cannot be written to %s", name,
                       dp_dtype_name(x.dtype));
    if (x.dtype == DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "\"%s_cpu\" not implemented for 'Bool'", name);
    return x.numel == steps ? 0 : dp_resize(ctx, dst, 1, &steps, DP_PRESERVE);
}

static int write_space(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, const double *base,
                       dp_tensor *dst)
{
    int rc = check_space(ctx, start, end, steps, dst, base ? "logspace" : "linspace");

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(x, dst);
    bool is_complex = dp_dtype_is_complex(x.dtype);
    if (base && steps == 1 && !is_complex) /* of the start as it is given */
        return dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", dst,
                         dp_double(pow(*base, as_double(start))));
    rc = steps > 0 ? check_fits(ctx, start, x.dtype) : 0;
    if (rc == 0 && steps > 1)
        rc = check_fits(ctx, end, x.dtype);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    space s = {
        as_end(start, x.dtype), as_end(end, x.dtype), 0, base ? *base : 0, steps, base != NULL};
    s.step = steps > 1 ? (s.end - s.start) / (double)(steps - 1) : 0;
    if (steps == 1)
        s.end = s.start;
    return write_range(ctx, dst, is_complex ? DP_COMPLEX128 : DP_FLOAT64,
                       is_complex ? fill_complex : fill_real, &s);
}

/* aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!) */
static int linspace_out(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, dp_tensor *out)
{
    return write_space(ctx, start, end, steps, NULL, out);
}

/* aten::logspace.out(Scalar start, Scalar end, int steps, float base=10.0, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int logspace_out(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, double base,
                        dp_tensor *out)
{
    return write_space(ctx, start, end, steps, &base, out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("arange.start_out", arange_out, (s, s, s, T), ()),
                DP_IMPL_UNBOXED("range.out", range_out, (s, s, s, T), ()),
                DP_IMPL_UNBOXED("linspace.out", linspace_out, (s, s, i, T), ()),
                DP_IMPL_UNBOXED("logspace.out", logspace_out, (s, s, i, f, T), ()))
