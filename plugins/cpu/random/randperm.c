/* randperm.c -- random_ and randperm, random integers and permutations
 * (aten/src/ATen/native/DistributionTemplates.h). */
#include "draw.h"
#include "core/dense.h"

/* -- random int64 numbers -- */

/* Draw base + u % range, where u has 32 random bits. */
static int make_narrow(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    uint32_t raw[DRAW_BLOCK], range = (uint32_t)d->range;
    int64_t *x = out;
    int rc = 0;

    for (int64_t at = 0; rc == 0 && at < n; at += DRAW_BLOCK) {
        int64_t some = n - at < DRAW_BLOCK ? n - at : DRAW_BLOCK;
        rc = dp_generator_u32(ctx, raw, (size_t)some);
        for (int64_t i = 0; rc == 0 && i < some; i++)
            x[at + i] = (int64_t)((uint64_t)d->base + raw[i] % range);
    }
    return rc;
}

/* Draw base + u % range, where u has 64 random bits; range 0: all int64 numbers. */
static int make_wide(dp_ctx *ctx, const draw *d, void *out, int64_t n)
{
    uint64_t *x = out;
    int rc = dp_generator_u64(ctx, x, (size_t)n);

    for (int64_t i = 0; rc == 0 && d->range > 0 && i < n; i++)
        x[i] = x[i] % d->range + (uint64_t)d->base;
    return rc;
}

static draw of_range(uint64_t range, int64_t base)
{
    draw d = {.make = range >> 32 ? make_wide : make_narrow, .made = DP_INT64};

    d.range = range;
    d.base = base;
    return d;
}

/* -- ranges of dtypes -- */

static const struct {
    int digits; /* digits up to which the dtype has all integers */
    int64_t low, high;
} limits[DP_DTYPE_END] = {
    [DP_BOOL] = {1, 0, 1},
    [DP_UINT8] = {8, 0, UINT8_MAX},
    [DP_INT8] = {7, INT8_MIN, INT8_MAX},
    [DP_INT16] = {15, INT16_MIN, INT16_MAX},
    [DP_INT32] = {31, INT32_MIN, INT32_MAX},
    [DP_INT64] = {63, INT64_MIN, INT64_MAX},
    [DP_FLOAT16] = {11, -65504, 65504},
    [DP_BFLOAT16] = {8, INT64_MIN, INT64_MAX},
    [DP_FLOAT32] = {24, INT64_MIN, INT64_MAX},
    [DP_FLOAT64] = {53, INT64_MIN, INT64_MAX},
};

/* Convert `v` to `dtype` and back.  A number that does not fit becomes INT64_MIN, as C casts on
 * x86-64. */
static int64_t through(int64_t v, dp_dtype dtype)
{
    char bytes[sizeof(int64_t)];
    double back;

    dp_converter(dtype, DP_INT64)(bytes, 0, (char *)&v, 0, 1);
    dp_converter(DP_FLOAT64, dtype)((char *)&back, 0, bytes, 0, 1);
    return back >= 0x1p63 || back < -0x1p63 ? INT64_MIN : (int64_t)back;
}

/* return the distance of neighbouring floating-point numbers near v */
static int64_t step_at(int64_t v, int digits)
{
    int n = 0;
    uint64_t size = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    while (size >>= 1)
        n++;
    return n - digits + 1 > 0 ? (int64_t)1 << (n - digits + 1) : 1;
}

/* Round *from and *to, the ends of a range, to numbers that the floating dtype has.  Source:
 * update_from, update_to. */
static void to_numbers(dp_dtype dtype, int64_t *from, int64_t *to)
{
    int digits = limits[dtype].digits;
    int64_t next = through(*from + 1, dtype), last;

    if (next < *from)
        *from = next + step_at(*from + 1, digits);
    if (to == NULL)
        return;
    last = through(*to - 1, dtype);
    if (last >= *to)
        *to = last - step_at(*to - 1, digits);
}

static int check_bound(dp_ctx *ctx, dp_dtype dtype, int64_t v, const char *name)
{
    int digits = limits[dtype].digits;

    if (v < limits[dtype].low || v > limits[dtype].high)
        return dp_fail(ctx, DP_ERUNTIME, "%s is out of bounds for %s", name, dp_dtype_name(dtype));
    int64_t whole = dp_dtype_is_floating(dtype) ? (int64_t)1 << digits : INT64_MAX;
    if (v < -whole || v > whole)
        dp_warn(ctx,
                "%s is out of bounds [-(2^%d), 2^%d]. Due to precision limitations %s can support "
                "discrete uniform distribution only within this range. This warning will become an "
                "error in version 1.7 release, please fix the code in advance",
                name, digits, digits, dp_dtype_name(dtype));
    return 0;
}

/* -- random_ -- */

#define RANDOM_TYPES (DRAW_FLOATS | DENSE_INTEGERS | DENSE_BIT(DP_BOOL))

static int from_to(dp_ctx *ctx, dp_tensor *self, int64_t from, int64_t last, dp_generator *g)
{
    DP_VIEW(x, self);
    int rc = check_bound(ctx, x.dtype, from, "from");

    if (rc == 0)
        rc = check_bound(ctx, x.dtype, last, "to - 1");
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    draw d = of_range((uint64_t)last - (uint64_t)from + 1, from);
    return draw_fill(ctx, "random_from_to_kernel_cpu", RANDOM_TYPES, self, g, &d);
}

static int random_between(dp_ctx *ctx, dp_tensor *self, int64_t from, int64_t to, dp_generator *g)
{
    int64_t was[2] = {from, to};
    DP_VIEW(x, self);

    if (from >= to)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "random_ expects 'from' to be less than 'to', but got from=%" PRId64
                         " >= to=%" PRId64,
                         from, to);
    if (dp_dtype_is_floating(x.dtype))
        to_numbers(x.dtype, &from, &to);
    if (from >= to)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
            "but got from=%" PRId64 " >= to=%" PRId64,
            was[0], was[1]);
    return from_to(ctx, self, from, to - 1, g);
}

/* Draw integers from `from` up to the greatest integer of the dtype. */
static int random_from(dp_ctx *ctx, dp_tensor *self, int64_t from, dp_generator *g)
{
    DP_VIEW(x, self);
    bool floating = dp_dtype_is_floating(x.dtype);
    int64_t last = floating ? (int64_t)1 << limits[x.dtype].digits : limits[x.dtype].high;

    if (floating)
        to_numbers(x.dtype, &from, NULL);
    if (floating && from >= last)
        return dp_refuse(
            ctx, DP_ERUNTIME,
            "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
            "casted to dtype, but got from=%" PRId64 " > to_inc=%" PRId64,
            from, last);
    return from_to(ctx, self, from, last, g);
}

static int check_numbers(dp_ctx *ctx, dp_tensor *self)
{
    DP_VIEW(x, self);

    if (!dp_dtype_is_complex(x.dtype))
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "check_random_bounds handles only integral, floating-point and boolean types");
}

/* aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) ->
 * Tensor(a!) */
static int random_from_to(dp_ctx *ctx, dp_tensor *self, int64_t from, const int64_t *to,
                          dp_generator *g)
{
    unsigned types = DENSE_BIT(DP_INT64) | DENSE_FLOATS;
    int rc = check_numbers(ctx, self);

    if (rc < 0)
        return rc;
    if (to)
        return random_between(ctx, self, from, *to, g);
    if (from != INT64_MIN)
        return random_from(ctx, self, from, g);
    return draw_fill(ctx, "random_full_64_bits_range_kernel_cpu", types, self, g,
                     &(draw){.make = make_wide, .made = DP_INT64});
}

/* aten::random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!) */
static int random_to(dp_ctx *ctx, dp_tensor *self, int64_t to, dp_generator *g)
{
    return random_from_to(ctx, self, 0, &to, g);
}

/* aten::random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
 * Draws integers from 0 on: up to the greatest of an integer dtype, or up to the greatest number
 * below which a floating dtype has all integers. */
static int random_(dp_ctx *ctx, dp_tensor *self, dp_generator *g)
{
    DP_VIEW(x, self);
    bool floating = dp_dtype_is_floating(x.dtype);
    uint64_t range = ((uint64_t)1 << limits[x.dtype].digits) + floating;
    draw d = of_range(range, 0);

    if (x.dtype == DP_INT64 || x.dtype == DP_FLOAT64)
        d.make = make_wide;
    return draw_fill(ctx, "random_kernel_cpu", RANDOM_TYPES, self, g, &d);
}

/* -- randperm -- */

/* Shuffle r [n] by Fisher and Yates' method with 32-bit numbers, as PyTorch does for small n;
 * shuffle_wide() uses 64 bits. */
static int shuffle(dp_ctx *ctx, int64_t *r, int64_t n)
{
    uint32_t raw[DRAW_BLOCK];
    int rc = 0;

    for (int64_t i = 0; i < n; i++)
        r[i] = i;
    for (int64_t at = 0; rc == 0 && at < n - 1; at += DRAW_BLOCK) {
        int64_t some = n - 1 - at < DRAW_BLOCK ? n - 1 - at : DRAW_BLOCK;
        rc = dp_generator_u32(ctx, raw, (size_t)some);
        for (int64_t k = 0; rc == 0 && k < some; k++) {
            int64_t i = at + k, j = i + raw[k] % (uint32_t)(n - i), was = r[i];
            r[i] = r[j];
            r[j] = was;
        }
        if (rc == 0)
            rc = dp_checkpoint(ctx);
    }
    return rc;
}

static int shuffle_wide(dp_ctx *ctx, int64_t *r, int64_t n)
{
    uint64_t raw[DRAW_BLOCK];
    int rc = 0;

    for (int64_t at = 0; rc == 0 && at < n; at += DRAW_BLOCK) {
        int64_t some = n - at < DRAW_BLOCK ? n - at : DRAW_BLOCK;
        rc = dp_generator_u64(ctx, raw, (size_t)some);
        for (int64_t i = at; rc == 0 && i < at + some; i++) {
            int64_t j = (int64_t)(raw[i - at] % (uint64_t)(i + 1));
            r[i] = i;
            r[i] = r[j];
            r[j] = i;
        }
        if (rc == 0)
            rc = dp_checkpoint(ctx);
    }
    return rc;
}

static int permute(dp_ctx *ctx, dp_generator *g, dp_tensor *wide, int64_t n)
{
    int rc = dp_generator_enter(ctx, g, DP_DEVICE_CPU);

    if (rc < 0)
        return rc;
    rc = n < UINT32_MAX / 20 ? shuffle(ctx, dense_data(wide), n)
                             : shuffle_wide(ctx, dense_data(wide), n);
    dp_generator_leave(ctx);
    return rc;
}

/* aten::randperm.generator_out(int n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!) */
static int randperm(dp_ctx *ctx, int64_t n, dp_generator *g, dp_tensor *out)
{
    dp_tensor *wide;
    DP_VIEW(x, out);
    int64_t most =
        dp_dtype_is_floating(x.dtype) ? (int64_t)1 << limits[x.dtype].digits : limits[x.dtype].high;
    int rc = dense_check_type(ctx, "randperm", x.dtype, DRAW_FLOATS | DENSE_INTEGERS);

    if (n < 0)
        rc = dp_fail(ctx, DP_ERUNTIME, "n must be non-negative, got%" PRId64, n);
    if (rc == 0 && x.dtype != DP_BFLOAT16 && n > most + dp_dtype_is_floating(x.dtype))
        rc = dp_fail(ctx, DP_ERUNTIME, "n is too large for result tensor type: '%s'",
                     dp_dtype_name(x.dtype));
    if (rc == 0)
        rc = dp_resize(ctx, out, 1, &n, DP_PRESERVE);
    if (rc == 0)
        rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, &wide);
    if (rc < 0 || dp_memoryless(ctx)) {
        if (rc == 0)
            dp_tensor_unref(wide);
        return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
    }
    rc = permute(ctx, g, wide, n);
    if (rc == 0)
        rc = dp_copy(ctx, out, wide);
    dp_tensor_unref(wide);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("random_", random_, (T, og), ()),
                DP_IMPL_UNBOXED("random_.to", random_to, (T, i, og), ()),
                DP_IMPL_UNBOXED("random_.from", random_from_to, (T, i, oi, og), ()),
                DP_IMPL_UNBOXED("randperm.generator_out", randperm, (i, og, T), ()))
