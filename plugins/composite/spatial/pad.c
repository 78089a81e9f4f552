/* pad.c -- pad, which calls the operator of a mode, constant padding and circular padding
 * (aten/src/ATen/native/PadNd.cpp).
 *
 * Operators: constant_pad_nd, pad, _pad_circular, _pad_enum, pad_sequence. */
#include "core/chain.h"
#include <string.h>

enum { REFLECT, REPLICATE, CIRCULAR, CONSTANT, MODES }; /* at::padding_mode */
static const char *const modes[MODES] = {"reflect", "replicate", "circular", "constant"};

/* -- circular padding -- */

/* Set dst[to, to + n) = src[from, from + n) along dim. */
static int copy_part(dp_ctx *ctx, dp_tensor *dst, int64_t to, dp_tensor *src, int64_t from,
                     int64_t dim, int64_t n)
{
    const int64_t ends[] = {to + n, from + n};
    dp_tensor *a = NULL, *b = NULL;
    int rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioi>T", dst, dim, &to, &ends[0], &a);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioi>T", src, dim, &from, &ends[1], &b);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TT>", a, b);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

static int64_t positive(int64_t v)
{
    return v > 0 ? v : 0;
}

/* Set sizes [x->ndim] of the result.  `pad` has the padding before and after the last dimension,
 * then of the dimension before it, and so on. */
static int size_circular(dp_ctx *ctx, const dp_view *x, const int64_t *pad, size_t n,
                         int64_t *sizes)
{
    if (x->ndim < 2 || n != (size_t)(2 * (x->ndim - 2)))
        return dp_fail(ctx, DP_ERUNTIME, "Invalid padding size, expected %d but got %zu",
                       2 * (x->ndim - 2), n);
    dp_copy_n(sizes, x->sizes, (size_t)x->ndim, sizeof(int64_t));
    for (int d = 2; d < x->ndim; d++) {
        const int64_t *p = pad + 2 * (x->ndim - 1 - d);
        if (p[0] > sizes[d] || p[1] > sizes[d])
            return dp_fail(ctx, DP_ERUNTIME,
                           "Padding value causes wrapping around more than once.");
        if (__builtin_add_overflow(sizes[d], p[0], &sizes[d]) ||
            __builtin_add_overflow(sizes[d], p[1], &sizes[d]) || sizes[d] < 0)
            return dp_fail(ctx, DP_ERUNTIME,
                           "Negative padding value is resulting in an empty dimension");
    }
    return 0;
}

/* Copy the part of self that is not cut off to the middle of `out`. */
static int copy_middle(dp_ctx *ctx, dp_tensor *self, const int64_t *pad, dp_tensor *out)
{
    dp_tensor *a = dp_tensor_ref(out), *b = dp_tensor_ref(self), *next;
    DP_VIEW(x, self);
    DP_VIEW(y, out);
    int rc = 0;

    for (int64_t d = 2; rc == 0 && d < x.ndim; d++) {
        const int64_t *p = pad + 2 * (x.ndim - 1 - d);
        const int64_t to[] = {positive(p[0]), y.sizes[d] - positive(p[1])};
        const int64_t from[] = {positive(-p[0]), x.sizes[d] - positive(-p[1])};
        rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioi>T", a, d, &to[0], &to[1], &next);
        if (rc < 0)
            break;
        dp_tensor_unref(a);
        a = next;
        rc = dp_invoke(ctx, "aten::slice.Tensor", "Tioioi>T", b, d, &from[0], &from[1], &next);
        if (rc < 0)
            break;
        dp_tensor_unref(b);
        b = next;
    }
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TT>", a, b);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* aten::_pad_circular(Tensor self, int[] pad) -> Tensor
 * The ends are copied from out itself, one dimension after another, so corners come around
 * twice. */
static int pad_circular(dp_ctx *ctx, dp_tensor *self, const int64_t *pad, size_t n, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    DP_VIEW(x, self);
    int rc = size_circular(ctx, &x, pad, n, sizes);

    *out = NULL;
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::new_empty", "Tli>T", self, sizes, (size_t)x.ndim, out);
    if (rc == 0)
        rc = copy_middle(ctx, self, pad, *out);
    for (int64_t d = 2; rc == 0 && d < x.ndim; d++) {
        const int64_t *p = pad + 2 * (x.ndim - 1 - d);
        int64_t left = positive(p[0]), right = positive(p[1]);
        if (left > 0)
            rc = copy_part(ctx, *out, 0, *out, sizes[d] - left - right, d, left);
        if (rc == 0 && right > 0)
            rc = copy_part(ctx, *out, sizes[d] - right, *out, left, d, right);
    }
    return release_on_error(rc, out);
}

/* -- padding by mode -- */

/* aten::_pad_enum(Tensor self, int[] pad, int mode, float? value=None) -> Tensor */
static int pad_enum(dp_ctx *ctx, dp_tensor *self, const int64_t *pad, size_t n, int64_t mode,
                    const double *value, dp_tensor **out)
{
    static const char *const ops[3][3] = {
        {"aten::reflection_pad1d", "aten::reflection_pad2d", "aten::reflection_pad3d"},
        {"aten::replication_pad1d", "aten::replication_pad2d", "aten::replication_pad3d"},
        {"aten::_pad_circular", "aten::_pad_circular", "aten::_pad_circular"}};
    DP_VIEW(x, self);
    int dims = (int)(n / 2);

    if (n % 2 != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Padding length must be divisible by 2");
    if (n > (size_t)(2 * x.ndim))
        return dp_fail(ctx, DP_ERUNTIME, "Padding length too large");
    if (mode == CONSTANT)
        return dp_invoke(ctx, "aten::constant_pad_nd", "Tlis>T", self, pad, n,
                         dp_double(value ? *value : 0), out);
    if (value && *value != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Padding mode \"%s\" doesn't take in value argument",
                       mode >= 0 && mode < MODES ? modes[mode] : "?");
    if (mode < 0 || mode >= CONSTANT || dims < 1 || dims > 3 ||
        (x.ndim != dims + 1 && x.ndim != dims + 2))
        return dp_fail(
            ctx, DP_ENOTIMPL,
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now");
    return dp_invoke(ctx, ops[mode][dims - 1], "Tli>T", self, pad, n, out);
}

/* aten::pad(Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor */
static int pad(dp_ctx *ctx, dp_tensor *self, const int64_t *list, size_t n, dp_str mode,
               const double *value, dp_tensor **out)
{
    int64_t i = 0;

    while (i < MODES && (strlen(modes[i]) != mode.len || memcmp(modes[i], mode.s, mode.len) != 0))
        i++;
    if (i == MODES)
        return dp_fail(ctx, DP_ENOTIMPL, "Unrecognised padding mode %.*s", (int)mode.len, mode.s);
    return dp_invoke(ctx, "aten::_pad_enum", "Tliiof>T", self, list, n, i, value, out);
}

/* -- sequences -- */

/* Copy sequence `i`, with the elements of x, to its rows of `padded`. */
static int place_sequence(dp_ctx *ctx, dp_tensor *padded, dp_tensor *sequence, size_t i, bool first)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, sequence);
    dp_tensor *own = CHAIN(&c, "aten::select.int", "Tii>T", padded, (int64_t)!first, (int64_t)i);
    dp_tensor *rows = CHAIN(&c, "aten::narrow", "Tiii>T", own, (int64_t)0, (int64_t)0, x.sizes[0]);

    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::copy_", "TTb>", rows, sequence, (int)false);
    return chain_end(&c, NULL, NULL);
}

/* aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.) ->
 * Tensor */
static int pad_sequence(dp_ctx *ctx, dp_tensor *const *sequences, size_t n, bool first,
                        double value, dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX + 1], longest = 0;
    int rc = 0;

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "received an empty list of sequences");
    for (size_t i = 0; i < n; i++) {
        DP_VIEW(s, sequences[i]);
        if (s.ndim == 0)
            return dp_fail(ctx, DP_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
        longest = s.sizes[0] > longest ? s.sizes[0] : longest;
    }
    DP_VIEW(x, sequences[0]);
    dp_copy_n(sizes + 1, x.sizes, (size_t)x.ndim, sizeof(int64_t));
    sizes[!first] = (int64_t)n;
    sizes[first] = longest;
    rc = check_ndim(ctx, (size_t)x.ndim + 1);
    if (rc == 0)
        rc = call_empty(ctx, x.dtype, x.device, x.ndim + 1, sizes, out);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *out, dp_double(value));
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = place_sequence(ctx, *out, sequences[i], i, first);
    return release_on_error(rc, out);
}

/* Set dst[to, of sizes] = src[from, of sizes]. */
static int copy_window(dp_ctx *ctx, dp_tensor *dst, const int64_t *to, dp_tensor *src,
                       const int64_t *from, const int64_t *sizes)
{
    dp_tensor *a = NULL, *b = NULL;
    int rc = subview(ctx, dst, to, sizes, &a);

    if (rc == 0)
        rc = subview(ctx, src, from, sizes, &b);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TTb>", a, b, (int)false);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* -- padding -- */

/* effects of a padding on each dimension */
typedef struct padding {
    int64_t sizes[DP_DIM_MAX]; /* size of the result */
    /* first index of the copied part, in self and in the result */
    int64_t from[DP_DIM_MAX], to[DP_DIM_MAX];
    int64_t kept[DP_DIM_MAX]; /* size of the copied part */
    bool grows;               /* at least one side is padded */
    bool ends;                /* a dimension that is cut has no elements left */
} padding;

static int pad_dim(dp_ctx *ctx, padding *p, int d, int64_t size, int64_t before, int64_t after)
{
    int64_t cut = -(before < 0 ? before : 0) - (after < 0 ? after : 0), sum;

    p->grows |= before > 0 || after > 0;
    if (before < -size) {
        int64_t start = before == INT64_MIN ? INT64_MAX : -before;
        return wrap_dim(ctx, &start, size);
    }
    if (__builtin_add_overflow(size, before, &sum) || __builtin_add_overflow(sum, after, &sum) ||
        sum < 0 || cut > size)
        return dp_fail(ctx, DP_ERUNTIME,
                       "The input size %" PRId64 ", plus negative padding %" PRId64 " and %" PRId64
                       " resulted in a negative output size, which is invalid. Check dimension %d "
                       "of your input.",
                       size, before, after, d);
    p->ends |= sum == 0;
    p->sizes[d] = sum;
    p->from[d] = before < 0 ? -before : 0;
    p->to[d] = before > 0 ? before : 0;
    p->kept[d] = size - cut;
    return 0;
}

/* Set *p from pad [n], which has the padding before and after the last dimension, then of the
 * dimension before it, and so on. */
static int plan_padding(dp_ctx *ctx, const dp_view *x, const int64_t *pad, size_t n, padding *p)
{
    int rc = 0;

    if (n % 2 != 0)
        return dp_fail(ctx, DP_ERUNTIME, "Length of pad must be even but instead it equals %zu", n);
    if (n / 2 > (size_t)x->ndim)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Length of pad should be no more than twice the number of dimensions of the "
                       "input. Pad length is %zuwhile the input has %ddimensions.",
                       n, x->ndim);
    p->grows = p->ends = false;
    for (int d = 0; rc == 0 && d < x->ndim; d++) {
        size_t at = 2 * (size_t)(x->ndim - 1 - d);
        if (at < n) {
            rc = pad_dim(ctx, p, d, x->sizes[d], pad[at], pad[at + 1]);
            continue;
        }
        p->sizes[d] = p->kept[d] = x->sizes[d];
        p->from[d] = p->to[d] = 0;
    }
    if (rc == 0 && p->grows && p->ends)
        return dp_fail(ctx, DP_ERUNTIME, "padding would leave a dimension without elements");
    return rc;
}

/* Set *out, owned, to a copy of a part of self. */
static int clone_window(dp_ctx *ctx, dp_tensor *self, const padding *p, dp_tensor **out)
{
    dp_tensor *part;
    int rc = subview(ctx, self, p->from, p->kept, &part);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "T>T", part, out);
    dp_tensor_unref(part);
    return rc;
}

/* aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor */
static int constant_pad_nd(dp_ctx *ctx, dp_tensor *self, const int64_t *pad, size_t n,
                           dp_value value, dp_tensor **out)
{
    padding p;
    dp_tensor *made;
    DP_VIEW(x, self);
    int rc = plan_padding(ctx, &x, pad, n, &p);

    if (rc < 0)
        return rc;
    if (!p.grows)
        return clone_window(ctx, self, &p, out);
    rc = dp_empty(ctx, x.dtype, x.device, x.ndim, p.sizes, dp_tensor_suggest_format(self), &made);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", made, value);
    if (rc == 0)
        rc = copy_window(ctx, made, p.to, self, p.from, p.kept);
    if (rc < 0)
        made = dp_tensor_unref(made);
    *out = made;
    return rc;
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("pad_sequence", pad_sequence, (lT, b, f), (T)),
                DP_IMPL_UNBOXED("pad", pad, (T, li, S, of), (T)),
                DP_IMPL_UNBOXED("_pad_enum", pad_enum, (T, li, i, of), (T)),
                DP_IMPL_UNBOXED("_pad_circular", pad_circular, (T, li), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("constant_pad_nd", constant_pad_nd, (T, li, s), (T)))
