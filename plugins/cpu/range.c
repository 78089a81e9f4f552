/* range.c -- arange, linspace, logspace, eye, indices of triangles, repeat_interleave: values that follow from
 * their place.  Computed in float64, complex128 or int64, then converted. */
#include "../dims.h"
#include "elements.h"
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

/* As long as the range, whatever its shape is; else it becomes one of 1 dimension. */
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

/* Number of values in a result of `dtype`, in whose type it is computed.  Source: at::native::range_out. */
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
    int rc = count_closed(ctx, (dp_value[]){start, end, step}, x.dtype, &count);
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

/* From both ends to the middle, so that the last one is `end`.  (PyTorch 1.13 truncates every fourth
 * value of a range of integers before it adds the next three; later ones do not, nor does this.) */
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

/* An end of a range as dtype holds it: an integer for integers, which uint8 counts from below 0, too. */
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

/* -- eye -- */

/* aten::eye.m_out(int n, int m, *, Tensor(a!) out) -> Tensor(a!) */
static int eye_m_out(dp_ctx *ctx, int64_t n, int64_t m, dp_tensor *out)
{
    int64_t sizes[2] = {n, m};
    dp_tensor *diagonal;

    if (n < 0 || m < 0)
        return dp_refuse(ctx, DP_ERUNTIME, "%c must be greater or equal to 0, got %" PRId64,
                         n < 0 ? 'n' : 'm', n < 0 ? n : m);
    int rc = dp_resize(ctx, out, 2, sizes, DP_PRESERVE);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_invoke(ctx, "aten::zero_", "T>", out);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::diagonal", "T>T", out, &diagonal);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", diagonal, dp_int(1));
    dp_tensor_unref(diagonal);
    return rc;
}

/* aten::eye.out(int n, *, Tensor(a!) out) -> Tensor(a!) */
static int eye_out(dp_ctx *ctx, int64_t n, dp_tensor *out)
{
    return eye_m_out(ctx, n, n, out);
}

/* -- tril_indices, triu_indices -- */

/* Row i of the triangle has the columns [first, first + n). */
typedef struct triangle {
    int64_t rows, columns, offset;
    bool upper;
} triangle;

static int64_t clamp(__int128 v, int64_t high)
{
    return v < 0 ? 0 : v > high ? high : (int64_t)v;
}

static void row_of(const triangle *t, int64_t i, int64_t *first, int64_t *n)
{
    int64_t at = clamp((__int128)i + t->offset + !t->upper, t->columns);
    *first = t->upper ? at : 0;
    *n = t->upper ? t->columns - at : at;
}

/* The elements in rows in front of row i; both kinds grow by one row after another, so that it is a
 * rectangle and a sum 1 + 2 + ... */
static __int128 below_row(const triangle *t, int64_t i)
{
    /* a lower triangle's rows are empty up to `from`, whole from `to` on */
    int64_t from = clamp(-(__int128)t->offset - !t->upper, i);
    int64_t to = clamp((__int128)t->columns - t->offset - !t->upper, i);
    __int128 steps = to - from, first = (__int128)from + t->offset + !t->upper;
    __int128 sum = steps * first + steps * (steps - 1) / 2 + (__int128)(i - to) * t->columns;

    return t->upper ? (__int128)i * t->columns - sum : sum;
}

static void fill_triangle(const triangle *t, int64_t *rows, int64_t *columns)
{
    /* rows without elements are left out: there may be very many */
    int64_t begin = t->upper ? 0 : clamp(-(__int128)t->offset, t->rows), at = 0, first, n;
    int64_t end = t->upper ? clamp((__int128)t->columns - t->offset, t->rows) : t->rows;

    for (int64_t i = begin; t->columns > 0 && i < end; i++) {
        row_of(t, i, &first, &n);
        for (int64_t j = 0; j < n; j++, at++) {
            rows[at] = i;
            columns[at] = first + j;
        }
    }
}

static int check_triangle(dp_ctx *ctx, const triangle *t, const int64_t *layout,
                          const int64_t *device, const bool *pin)
{
    if (t->rows < 0 || t->columns < 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be non-negative, got%" PRId64,
                       t->rows < 0 ? "row" : "col", t->rows < 0 ? t->rows : t->columns);
    if (layout && *layout != DP_LAYOUT_STRIDED)
        return dp_fail(ctx, DP_ERUNTIME, "only support layout=torch.strided, got layout=%" PRId64,
                       *layout);
    if (device && dp_device_backend((dp_device)*device) != 0 && !dp_memoryless(ctx))
        return dp_fail(ctx, DP_ERUNTIME, "expected device cpu but got device number %" PRId64,
                       *device);
    if (pin && *pin)
        return dp_fail(ctx, DP_ERUNTIME, "there is no accelerator that memory could be pinned for");
    return 0;
}

static int indices(dp_ctx *ctx, const triangle *t, const int64_t *dtype, const int64_t *layout,
                   const int64_t *device, const bool *pin, dp_tensor **out)
{
    dp_tensor *made;
    int rc = check_triangle(ctx, t, layout, device, pin);
    __int128 n = rc < 0 ? 0 : below_row(t, t->rows);
    int64_t sizes[2] = {2, n > INT64_MAX ? INT64_MAX : (int64_t)n};

    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, device ? (dp_device)*device : DP_DEVICE_CPU, 2, sizes,
                      DP_CONTIGUOUS, &made);
    if (rc < 0)
        return rc;
    DP_VIEW(x, made);
    if (!dp_memoryless(ctx))
        fill_triangle(t, x.data, (int64_t *)x.data + sizes[1]);
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, dtype ? *dtype : DP_INT64, out);
    dp_tensor_unref(made);
    return rc;
}

/* aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int tril_indices(dp_ctx *ctx, int64_t rows, int64_t columns, int64_t offset,
                        const int64_t *dtype, const int64_t *layout, const int64_t *device,
                        const bool *pin, dp_tensor **out)
{
    triangle t = {rows, columns, offset, false};
    return indices(ctx, &t, dtype, layout, device, pin, out);
}

/* aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int triu_indices(dp_ctx *ctx, int64_t rows, int64_t columns, int64_t offset,
                        const int64_t *dtype, const int64_t *layout, const int64_t *device,
                        const bool *pin, dp_tensor **out)
{
    triangle t = {rows, columns, offset, true};
    return indices(ctx, &t, dtype, layout, device, pin, out);
}

/* -- repeat_interleave -- */

/* The sum of repeats [n], none of them negative. */
static int count_repeats(dp_ctx *ctx, const int64_t *repeats, int64_t n, const int64_t *wanted,
                         int64_t *total)
{
    *total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (repeats[i] < 0)
            return dp_fail(ctx, DP_ERUNTIME, "repeats can not be negative");
        if (__builtin_add_overflow(*total, repeats[i], total))
            return dp_fail(ctx, DP_ERUNTIME, "repeats do not add up in int64");
    }
    if (wanted && *wanted != *total)
        return dp_fail(ctx, DP_ERUNTIME, "allocated size does not match required size");
    return 0;
}

static int interleave(dp_ctx *ctx, dp_tensor *wide, const int64_t *wanted, dp_dtype dtype,
                      dp_tensor **out)
{
    int64_t total;
    dp_tensor *made;
    DP_VIEW(x, wide);
    const int64_t *repeats = x.data;
    int rc = count_repeats(ctx, repeats, x.numel, wanted, &total);

    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &total, DP_CONTIGUOUS, &made);
    if (rc < 0)
        return rc;
    DP_VIEW(y, made);
    int64_t *to = y.data;
    for (int64_t i = 0; i < x.numel; i++)
        for (int64_t j = 0; j < repeats[i]; j++)
            *to++ = i;
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", made, (int64_t)dtype, out);
    dp_tensor_unref(made);
    return rc;
}

/* aten::repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor */
static int repeat_interleave(dp_ctx *ctx, dp_tensor *repeats, const int64_t *wanted,
                             dp_tensor **out)
{
    dp_tensor *wide;
    DP_VIEW(x, repeats);

    if (x.ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "repeat_interleave only accept 1D vector as repeat");
    if (x.dtype != DP_INT64 && x.dtype != DP_INT32)
        return dp_fail(ctx, DP_ERUNTIME, "repeats has to be Long or Int tensor");
    if (x.numel == 0)
        return dp_empty_like(ctx, repeats, DP_DTYPE_NONE, DP_PRESERVE, out);
    int rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, x.sizes, DP_CONTIGUOUS, &wide);
    if (rc < 0)
        return rc;
    rc = dp_copy(ctx, wide, repeats);
    if (rc == 0)
        rc = interleave(ctx, wide, wanted, x.dtype, out);
    dp_tensor_unref(wide);
    return rc;
}

/* -- equal -- */

/* aten::equal(Tensor self, Tensor other) -> bool */
static int equal(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, bool *out)
{
    dp_tensor *same = NULL, *all = NULL;
    dp_value value = dp_none();
    DP_VIEW(x, self);
    DP_VIEW(y, other);
    bool alike = x.ndim == y.ndim;

    for (int d = 0; alike && d < x.ndim; d++)
        alike = x.sizes[d] == y.sizes[d];
    *out = false;
    if (!alike)
        return 0;
    int rc = dp_invoke(ctx, "aten::eq.Tensor", "TT>T", self, other, &same);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::all", "T>T", same, &all);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", all, &value);
    if (rc == 0)
        *out = value.u.b;
    dp_tensor_unref(same);
    dp_tensor_unref(all);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("arange.start_out", arange_out, (s, s, s, T), ()),
                DP_IMPL_UNBOXED("range.out", range_out, (s, s, s, T), ()),
                DP_IMPL_UNBOXED("linspace.out", linspace_out, (s, s, i, T), ()),
                DP_IMPL_UNBOXED("logspace.out", logspace_out, (s, s, i, f, T), ()),
                DP_IMPL_UNBOXED("eye.out", eye_out, (i, T), ()),
                DP_IMPL_UNBOXED("eye.m_out", eye_m_out, (i, i, T), ()),
                DP_IMPL_UNBOXED("tril_indices", tril_indices, (i, i, i, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("triu_indices", triu_indices, (i, i, i, oi, oi, oi, ob), (T)))
DP_LIBRARY_IMPL(aten, CPU,
                DP_IMPL_UNBOXED("repeat_interleave.Tensor", repeat_interleave, (T, oi), (T)),
                DP_IMPL_UNBOXED("equal", equal, (T, T), (b)))
