/* tensor_factories.c -- the factory functions empty, empty_strided, eye, tril_indices and
 * triu_indices (aten/src/ATen/native/TensorFactories.cpp). */
#include "core/elements.h"

/* Fail because a factory was asked for a tensor on device `d`. */
static int fail_device(dp_ctx *ctx, dp_device d)
{
    char backend[DP_KEY_NAME_MAX];

    return dp_fail(ctx, DP_ERUNTIME, "expected device cpu but got one of backend %s",
                   dp_key_name(DP_KEY_OF(DP_F_Dense, dp_device_backend(d)), backend));
}

/* Layout, device and pin_memory of a factory; NULL is the default, others are refused. */
static int check(dp_ctx *ctx, const int64_t *layout, const int64_t *device, const bool *pin)
{
    if (layout && *layout != DP_LAYOUT_STRIDED)
        return dp_fail(ctx, DP_ERUNTIME, "layout %s is not supported on the CPU, only strided",
                       dp_layout_name(*layout));
    if (device && dp_device_backend((dp_device)*device) != 0 && !dp_memoryless(ctx))
        return fail_device(ctx, (dp_device)*device);
    if (pin && *pin)
        return dp_fail(ctx, DP_ERUNTIME, "there is no accelerator that memory could be pinned for");
    return 0;
}

static dp_device place(const int64_t *device)
{
    return device ? (dp_device)*device : DP_DEVICE_CPU;
}

/* aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int empty(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *dtype,
                 const int64_t *layout, const int64_t *device, const bool *pin,
                 const int64_t *format, dp_tensor **out)
{
    int rc = check(ctx, layout, device, pin);

    if (rc == 0)
        rc = check_ndim(ctx, n);
    if (rc == 0 && format)
        rc = check_format(ctx, *format, (int)n);
    return rc < 0 ? rc
                  : dp_empty(ctx, dtype ? (dp_dtype)*dtype : DP_FLOAT32, place(device), (int)n,
                             sizes, format ? (dp_memory_format)*format : DP_CONTIGUOUS, out);
}

/* aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int empty_strided(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *strides,
                         size_t n_strides, const int64_t *dtype, const int64_t *layout,
                         const int64_t *device, const bool *pin, dp_tensor **out)
{
    int rc = check(ctx, layout, device, pin);

    if (rc == 0 && n != n_strides)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "dimensionality of sizes (%zu) must match dimensionality of strides (%zu)", n,
                     n_strides);
    if (rc == 0)
        rc = check_ndim(ctx, n);
    return rc < 0 ? rc
                  : dp_empty_strided(ctx, dtype ? (dp_dtype)*dtype : DP_FLOAT32, place(device),
                                     (int)n, sizes, strides, out);
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
        return dp_fail(ctx, DP_ERUNTIME, "only support layout=torch.strided, got layout=%s",
                       dp_layout_name(*layout));
    if (device && dp_device_backend((dp_device)*device) != 0 && !dp_memoryless(ctx))
        return fail_device(ctx, (dp_device)*device);
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

DP_LIBRARY_META(aten, CPU,
                DP_IMPL_UNBOXED("empty.memory_format", empty, (li, oi, oi, oi, ob, oi), (T)),
                DP_IMPL_UNBOXED("empty_strided", empty_strided, (li, li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("eye.out", eye_out, (i, T), ()),
                DP_IMPL_UNBOXED("eye.m_out", eye_m_out, (i, i, T), ()),
                DP_IMPL_UNBOXED("tril_indices", tril_indices, (i, i, i, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("triu_indices", triu_indices, (i, i, i, oi, oi, oi, ob), (T)))
