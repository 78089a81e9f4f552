/* distribution_templates.c -- filling tensors with random numbers, normal numbers, and the in-place
 * operators uniform_, normal_, exponential_, cauchy_, log_normal_ and geometric_
 * (aten/src/ATen/native/DistributionTemplates.h).
 *
 * Operators: cauchy, exponential, geometric, log_normal, normal, uniform. */
#include "draw.h"
#include "core/dense.h"
#include "core/elements.h"
#include "normal_fill.h"

/* number of elements between two checks whether the request is cancelled */
enum { CHECKED = 1 << 16 };

/* -- filling -- */

static int run_converted(dp_ctx *ctx, const draw *d, dp_dtype dtype, char *out, int64_t n)
{
    dp_convert_fn convert = dp_converter(dtype, d->made);
    int64_t size = (int64_t)dp_dtype_size(dtype), from = (int64_t)dp_dtype_size(d->made);
    double block[DRAW_BLOCK];
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < n; i += DRAW_BLOCK) {
        int64_t some = n - i < DRAW_BLOCK ? n - i : DRAW_BLOCK;
        rc = d->make(ctx, d, block, some);
        if (rc == 0)
            convert(out + i * size, size, (char *)block, from, some);
    }
    return rc;
}

int draw_run(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n)
{
    int64_t size = (int64_t)dp_dtype_size(dtype);
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < n; i += CHECKED) {
        int64_t some = n - i < CHECKED ? n - i : CHECKED;
        char *at = (char *)out + i * size;
        rc = d->made == dtype ? d->make(ctx, d, at, some) : run_converted(ctx, d, dtype, at, some);
        if (rc == 0)
            rc = dp_checkpoint(ctx);
    }
    return rc;
}

int draw_check(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self)
{
    DP_VIEW(x, self);
    int rc = dense_check_type(ctx, name, x.dtype, types);

    return rc < 0 ? rc : check_apart(ctx, self, NULL, 0);
}

/* Return the real dtype of the parts of an element of dtype `d`, and set *parts to their number. */
static dp_dtype part_of(dp_dtype d, int *parts)
{
    *parts = dp_dtype_is_complex(d) ? 2 : 1;
    return d == DP_COMPLEX64 ? DP_FLOAT32 : d == DP_COMPLEX128 ? DP_FLOAT64 : d;
}

/* a function that fills contiguous memory with `n` random elements of `dtype` */
typedef int (*filler)(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n);

/* Fill self in the order of its memory; if it has gaps, fill a tensor without gaps, and copy it. */
static int fill(dp_ctx *ctx, dp_tensor *self, dp_generator *g, filler run, const draw *d)
{
    dp_tensor *packed = NULL;
    int parts, rc = 0;
    DP_VIEW(x, self);

    if (dp_memoryless(ctx) || x.numel == 0)
        return 0;
    if (dp_tensor_is_dense(self))
        packed = dp_tensor_ref(self);
    else
        rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_PRESERVE, &packed);
    if (rc == 0)
        rc = dp_generator_enter(ctx, g, x.device);
    if (rc == 0) {
        dp_dtype part = part_of(x.dtype, &parts);
        rc = run(ctx, d, part, dense_data(packed), x.numel * parts);
        dp_generator_leave(ctx);
    }
    if (rc == 0 && packed != self)
        rc = dp_copy(ctx, self, packed);
    dp_tensor_unref(packed);
    return rc;
}

int draw_fill(dp_ctx *ctx, const char *name, unsigned types, dp_tensor *self, dp_generator *g,
              const draw *d)
{
    int rc = draw_check(ctx, name, types, self);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : fill(ctx, self, g, draw_run, d);
}

/* -- uniform -- */

int draw_uniform64(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    (void)d;
    return dp_generator_uniform(ctx, DP_FLOAT64, out, (size_t)n);
}

/* Draw uniform numbers with 53 random bits; `a` is the least number, `b` the width of the range. */
static int make_uniform64(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    double *x = out, from = d->a, width = d->b;
    int rc = dp_generator_uniform(ctx, DP_FLOAT64, x, (size_t)n);

    for (int64_t i = 0; rc == 0 && i < n; i++)
        x[i] = x[i] * width + from;
    return rc;
}

/* Draw uniform numbers with 24 random bits, in float32. */
static int make_uniform32(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    float *x = out, from = (float)d->a, width = (float)d->b;
    int rc = dp_generator_uniform(ctx, DP_FLOAT32, x, (size_t)n);

    if (from == 0 && width == 1)
        return rc;
    for (int64_t i = 0; rc == 0 && i < n; i++)
        x[i] = x[i] * width + from;
    return rc;
}

/* Draw uniform numbers with as many random bits as a 16-bit dtype has; `base` is their number. */
static int make_uniform16(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    float *x = out, from = (float)d->a, width = (float)d->b;
    uint32_t raw[DRAW_BLOCK], mask = (1u << d->base) - 1;
    int rc = 0;

    for (int64_t at = 0; rc == 0 && at < n; at += DRAW_BLOCK) {
        int64_t some = n - at < DRAW_BLOCK ? n - at : DRAW_BLOCK;
        rc = dp_generator_u32(ctx, raw, (size_t)some);
        for (int64_t i = 0; rc == 0 && i < some; i++)
            x[at + i] = (float)(raw[i] & mask) / (float)(mask + 1) * width + from;
    }
    return rc;
}

double draw_rounded(double v, dp_dtype dtype)
{
    char bytes[sizeof(double)];
    double back;

    dp_converter(dtype, DP_FLOAT64)(bytes, 0, (char *)&v, 0, 1);
    dp_converter(DP_FLOAT64, dtype)((char *)&back, 0, bytes, 0, 1);
    return back;
}

static draw uniform_of(dp_dtype dtype, double from, double to)
{
    draw d = {.made = DP_FLOAT32, .a = draw_rounded(from, dtype), .b = draw_rounded(to, dtype)};

    d.b = draw_rounded(d.b - d.a, dtype);

    d.base = dtype == DP_BFLOAT16 ? 8 : 11;
    d.make = make_uniform16;
    if (dtype == DP_FLOAT32)
        d.make = make_uniform32;
    if (dtype == DP_FLOAT64) {
        d.made = DP_FLOAT64;
        d.make = make_uniform64;
    }
    return d;
}

static double greatest(dp_dtype d)
{
    return d == DP_FLOAT64    ? 0x1.fffffffffffffp1023
           : d == DP_FLOAT32  ? 0x1.fffffep127
           : d == DP_BFLOAT16 ? 0x1.fep127
                              : 65504;
}

static int check_bounds(dp_ctx *ctx, dp_dtype dtype, double from, double to)
{
    double most = greatest(dtype);

    if (!(fabs(from) <= most))
        return dp_fail(ctx, DP_ERUNTIME, "from is out of bounds for %s", dp_dtype_name(dtype));
    if (!(fabs(to) <= most))
        return dp_fail(ctx, DP_ERUNTIME, "to is out of bounds for %s", dp_dtype_name(dtype));
    if (!(from <= to))
        return dp_fail(ctx, DP_ERUNTIME,
                       "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
                       from, to);
    if (!(to - from <= most))
        return dp_fail(
            ctx, DP_ERUNTIME,
            "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g "
            "and from=%g which result in to-from to exceed the limit",
            dense_type_name(dtype), to, from);
    return 0;
}

/* aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) ->
 * Tensor(a!) */
static int uniform_(dp_ctx *ctx, dp_tensor *self, double from, double to, dp_generator *g)
{
    int parts, rc = draw_check(ctx, "check_uniform_bounds", DRAW_FLOATS | DRAW_COMPLEX, self);
    DP_VIEW(x, self);
    dp_dtype part = part_of(x.dtype, &parts);

    if (rc == 0)
        rc = check_bounds(ctx, part, from, to);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    draw d = uniform_of(part, from, to);
    return fill(ctx, self, g, draw_run, &d);
}

/* -- normal -- */

/* Draw normal numbers; `a` is the mean, `b` the standard deviation. */
static int make_normal(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    double *x = out;
    int rc = dp_generator_normal(ctx, DP_FLOAT64, x, (size_t)n);

    for (int64_t i = 0; rc == 0 && i < n; i++)
        x[i] = x[i] * d->b + d->a;
    return rc;
}

/* Draw uniform numbers, and convert groups of 16 to normal numbers.  If n is not a multiple of 16,
 * the last 16 numbers are drawn again. */
static int fill_by_16(dp_ctx *ctx, const draw *d, dp_dtype dtype, void *out, int64_t n)
{
    enum { STEP = 16 };
    draw uniform = uniform_of(dtype, 0, 1);
    size_t size = dp_dtype_size(dtype);
    char *last = (char *)out + (size_t)(n - STEP) * size;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < n; i += CHECKED) {
        int64_t some = n - i < CHECKED ? n - i : CHECKED;
        char *at = (char *)out + (size_t)i * size;
        rc = draw_run(ctx, &uniform, dtype, at, some);
        if (rc == 0)
            normal_from_uniform(dtype, at, some / STEP * STEP, d->a, d->b);
    }
    if (rc < 0 || n % STEP == 0)
        return rc;
    rc = draw_run(ctx, &uniform, dtype, last, STEP);
    if (rc == 0)
        normal_from_uniform(dtype, last, STEP, d->a, d->b);
    return rc;
}

int draw_normal(dp_ctx *ctx, dp_tensor *self, dp_generator *g, double mean, double deviation)
{
    enum { FEW = 16 };
    int parts, rc = draw_check(ctx, "normal_kernel_cpu", DRAW_FLOATS | DRAW_COMPLEX, self);
    DP_VIEW(x, self);

    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    part_of(x.dtype, &parts);
    bool many = x.numel >= FEW / parts && dp_tensor_is_contiguous(self, DP_CONTIGUOUS);
    draw d = {.make = make_normal,
              .made = DP_FLOAT64,
              .a = mean,
              .b = parts == 2 ? deviation / sqrt(2) : deviation};
    return fill(ctx, self, g, many ? fill_by_16 : draw_run, &d);
}

/* aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) ->
 * Tensor(a!) */
static int normal_(dp_ctx *ctx, dp_tensor *self, double mean, double deviation, dp_generator *g)
{
    if (!(deviation >= 0))
        return dp_refuse(ctx, DP_ERUNTIME, "normal expects std >= 0.0, but found std %g",
                         deviation);
    return draw_normal(ctx, self, g, mean, deviation);
}

/* -- functions of uniform and normal numbers, in float64 -- */

/* Define a function that draws numbers u by `from`, and replaces each by `expression`. */
#define MAKER(scope, name, from, expression)                                                       \
    scope int name(dp_ctx *ctx, const draw *d, void *out, int64_t n)                               \
    {                                                                                              \
        double *x = out;                                                                           \
        int rc = from(ctx, d, x, n);                                                               \
        for (int64_t i = 0; rc == 0 && i < n; i++) {                                               \
            double u = x[i];                                                                       \
            x[i] = expression;                                                                     \
        }                                                                                          \
        return rc;                                                                                 \
    }
MAKER(, draw_exponential, draw_uniform64, -1.0 / d->a * log(1 - u))
MAKER(static, make_geometric, draw_uniform64, ceil(log(u) / log1p(-d->a)))
MAKER(static, make_cauchy, draw_uniform64, d->a + d->b * tan(M_PI * (u - 0.5)))
MAKER(static, make_log_normal, make_normal, exp(u))

/* aten::exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!) */
static int exponential_(dp_ctx *ctx, dp_tensor *self, double lambda, dp_generator *g)
{
    if (!(lambda >= 0))
        return dp_refuse(ctx, DP_ERUNTIME,
                         "exponential_ expects lambda >= 0.0, but found lambda=%g", lambda);
    return draw_fill(ctx, "exponential_cpu", DRAW_FLOATS, self, g,
                     &(draw){.make = draw_exponential, .made = DP_FLOAT64, .a = lambda});
}

/* aten::geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!) */
static int geometric_(dp_ctx *ctx, dp_tensor *self, double p, dp_generator *g)
{
    if (!(p > 0 && p < 1))
        return dp_refuse(ctx, DP_ERUNTIME, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    return draw_fill(ctx, "geometric_cpu", DRAW_FLOATS | DENSE_INTEGERS, self, g,
                     &(draw){.make = make_geometric, .made = DP_FLOAT64, .a = p});
}

/* aten::cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) ->
 * Tensor(a!) */
static int cauchy_(dp_ctx *ctx, dp_tensor *self, double median, double sigma, dp_generator *g)
{
    return draw_fill(ctx, "cauchy_cpu", DRAW_FLOATS, self, g,
                     &(draw){.make = make_cauchy, .made = DP_FLOAT64, .a = median, .b = sigma});
}

/* aten::log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) ->
 * Tensor(a!) */
static int log_normal_(dp_ctx *ctx, dp_tensor *self, double mean, double deviation, dp_generator *g)
{
    if (!(deviation > 0))
        return dp_refuse(ctx, DP_ERUNTIME, "log_normal_ expects std > 0.0, but found std=%g",
                         deviation);
    return draw_fill(
        ctx, "log_normal_cpu", DRAW_FLOATS, self, g,
        &(draw){.make = make_log_normal, .made = DP_FLOAT64, .a = mean, .b = deviation});
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("uniform_", uniform_, (T, f, f, og), ()),
                DP_IMPL_UNBOXED("normal_", normal_, (T, f, f, og), ()),
                DP_IMPL_UNBOXED("exponential_", exponential_, (T, f, og), ()),
                DP_IMPL_UNBOXED("geometric_", geometric_, (T, f, og), ()),
                DP_IMPL_UNBOXED("cauchy_", cauchy_, (T, f, f, og), ()),
                DP_IMPL_UNBOXED("log_normal_", log_normal_, (T, f, f, og), ()))
