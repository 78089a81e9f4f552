/* fft.c -- the operators fft_*: checks and conversions of arguments, as in NumPy, before the calls
 * of the backends' transforms (aten/src/ATen/native/SpectralOps.cpp).
 *
 * Operators: fft_fft, fft_fft2, fft_fftn, fft_fftshift, fft_hfft, fft_hfft2, fft_hfftn, fft_ifft,
 * fft_ifft2, fft_ifftn, fft_ifftshift, fft_ihfft, fft_ihfft2, fft_ihfftn, fft_irfft, fft_irfft2,
 * fft_irfftn, fft_rfft, fft_rfft2, fft_rfftn. */
#include "core/composite.h"
#include <string.h>

/* types of the input and of the output of a transform */
typedef enum fft_kind {
    /* complex to complex; a real input stays real, and the whole transform is computed */
    AS_GIVEN,
    FROM_COMPLEX, /* complex to complex; a real input is first converted */
    /* real to complex; only half of the transform is computed, the other half follows from it */
    FROM_REAL,
    TO_REAL,
} fft_kind;

typedef struct fft_op {
    const char *name;
    fft_kind kind;
    bool forward;
    const char *real; /* the word for real inputs in the error message for complex ones */
} fft_op;

/* arguments and state of a call */
typedef struct fft_job {
    dp_ctx *ctx;
    const fft_op *op;
    dp_tensor *out; /* the out= tensor, or NULL */
    int64_t norm;
    size_t n;
    /* [n] transformed dimensions, and the sizes to which the input is cut or padded in them */
    int64_t dim[DP_DIM_MAX], sizes[DP_DIM_MAX];
    /* length of the last dimension of TO_REAL's result */
    int64_t length;
    temps made;
} fft_job;

/* -- arguments -- */

/* Convert self to the dtype of the transform.  Source: promote_type_fft. */
static int promote(fft_job *j, dp_tensor *self, bool complex, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_dtype t = dp_dtype_is_integral(x.dtype, true) ? DP_FLOAT32 : x.dtype;

    if (!dp_dtype_is_complex(t) && t != DP_FLOAT32 && t != DP_FLOAT64)
        return dp_fail(j->ctx, DP_ERUNTIME, "Unsupported dtype %s", dp_dtype_name(t));
    if (complex && !dp_dtype_is_complex(t))
        t = t == DP_FLOAT32 ? DP_COMPLEX64 : DP_COMPLEX128;
    return dp_invoke(j->ctx, "aten::to.dtype", "Ti>T", self, (int64_t)t, out);
}

/* Set j->norm.  Source: norm_from_string. */
static int read_norm(fft_job *j, dp_str norm)
{
    enum { NONE, ROOT, ALL };
    bool forward = j->op->forward;

    if (norm.s == NULL || strcmp(norm.s, "backward") == 0)
        j->norm = forward ? NONE : ALL;
    else if (strcmp(norm.s, "forward") == 0)
        j->norm = forward ? ALL : NONE;
    else if (strcmp(norm.s, "ortho") == 0)
        j->norm = ROOT;
    else
        return dp_fail(j->ctx, DP_ERUNTIME, "Invalid normalization mode: \"%s\"", norm.s);
    return 0;
}

static int no_points(fft_job *j, int64_t n)
{
    return dp_fail(j->ctx, DP_ERUNTIME, "Invalid number of data points (%" PRId64 ") specified", n);
}

static int read_dims(fft_job *j, int ndim, const int64_t *dim, size_t n)
{
    uint64_t seen = 0;
    int rc = check_ndim(j->ctx, n);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        j->dim[i] = dim[i];
        rc = wrap_dim(j->ctx, &j->dim[i], ndim);
    }
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (seen >> j->dim[i] & 1)
            rc = dp_fail(j->ctx, DP_ERUNTIME, "FFT dims must be unique");
        seen |= (uint64_t)1 << j->dim[i];
    }
    j->n = n;
    return rc;
}

/* Set j->dim and j->sizes; `shape` and `dim` may be NULL.  Source:
 * canonicalize_fft_shape_and_dim_args. */
static int read_shape(fft_job *j, const dp_view *x, const int64_t *shape, size_t n_shape,
                      const int64_t *dim, size_t n_dim)
{
    int rc = dim ? read_dims(j, x->ndim, dim, n_dim) : 0;

    if (rc == 0 && shape && dim && n_shape != n_dim)
        rc = dp_fail(j->ctx, DP_ERUNTIME,
                     "When given, dim and shape arguments must have the same length");
    if (rc == 0 && shape && n_shape > (size_t)x->ndim)
        rc = dp_fail(j->ctx, DP_ERUNTIME,
                     "Got shape with %zu values but input tensor only has %d dimensions.", n_shape,
                     x->ndim);
    if (rc < 0)
        return rc;
    if (!dim) {
        j->n = shape ? n_shape : (size_t)x->ndim;
        for (size_t i = 0; i < j->n; i++)
            j->dim[i] = x->ndim - (int64_t)j->n + (int64_t)i;
    }
    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        int64_t own = j->dim[i] < x->ndim ? x->sizes[j->dim[i]] : 0;
        j->sizes[i] = shape && shape[i] != -1 ? shape[i] : own;
        if (j->sizes[i] <= 0)
            rc = no_points(j, j->sizes[i]);
    }
    return rc;
}

/* Set j->length, and the size of the input in the last dimension of TO_REAL.  Source:
 * canonicalize_fft_c2r_shape_and_dim_args. */
static int read_length(fft_job *j, const dp_view *x, bool given)
{
    size_t last = j->n - 1;

    j->length = given ? j->sizes[last] : 2 * (x->sizes[j->dim[last]] - 1);
    j->sizes[last] = j->length / 2 + 1;
    return j->length >= 1 ? 0 : no_points(j, j->length);
}

/* Set *out, owned, to the input, cut or padded with zeros.  Source: resize_fft_input. */
static int resize(fft_job *j, dp_tensor *given, dp_tensor **out)
{
    static const int64_t zero = 0, step = 1;
    int64_t pad[2 * DP_DIM_MAX] = {0};
    bool longer = false;
    dp_tensor *x = dp_tensor_ref(given), *cut;
    int rc = 0;

    DP_VIEW(v, given);
    for (size_t i = 0; rc == 0 && i < j->n; i++) {
        int64_t d = j->dim[i];
        if (v.sizes[d] < j->sizes[i]) {
            pad[2 * (v.ndim - 1 - d) + 1] = j->sizes[i] - v.sizes[d];
            longer = true;
        } else if (v.sizes[d] > j->sizes[i]) {
            rc = dp_invoke(j->ctx, "aten::slice.Tensor", "Tioioii>T", x, d, &zero, &j->sizes[i],
                           step, &cut);
            if (rc == 0) {
                dp_tensor_unref(x);
                x = cut;
            }
        }
    }
    if (rc == 0 && longer)
        rc = dp_invoke(j->ctx, "aten::constant_pad_nd", "Tlis>T", x, pad, (size_t)(2 * v.ndim),
                       dp_int(0), out);
    else if (rc == 0)
        *out = dp_tensor_ref(x);
    dp_tensor_unref(x);
    return rc;
}

/* -- transforms; with an out= tensor, *out is not set -- */

static int to_complex(fft_job *j, dp_tensor *x, size_t n, bool given, dp_tensor **out)
{
    int forward = j->op->forward;

    if (given)
        return dp_invoke(j->ctx, "aten::_fft_c2c.out", "TliibT>", x, j->dim, n, j->norm, forward,
                         j->out);
    return dp_invoke(j->ctx, "aten::_fft_c2c", "Tliib>T", x, j->dim, n, j->norm, forward, out);
}

static int to_real(fft_job *j, dp_tensor *x, const int64_t *dim, size_t n, dp_tensor **out)
{
    if (j->out)
        return dp_invoke(j->ctx, "aten::_fft_c2r.out", "TliiiT>", x, dim, n, j->norm, j->length,
                         j->out);
    return dp_invoke(j->ctx, "aten::_fft_c2r", "Tliii>T", x, dim, n, j->norm, j->length, out);
}

/* Compute the inverse transform of real numbers as the conjugate of the forward transform, because
 * backends have only that. */
static int from_real_back(fft_job *j, dp_tensor *x, bool onesided, dp_tensor **out)
{
    dp_tensor **t = temps_next(&j->made);
    int rc = dp_invoke(j->ctx, "aten::_fft_r2c", "Tliib>T", x, &j->dim[j->n - 1], (size_t)1,
                       j->norm, (int)onesided, t);

    if (rc < 0)
        return rc;
    if (j->n == 1 && j->out)
        return dp_invoke(j->ctx, "aten::conj_physical.out", "TT>", *t, j->out);
    if (j->n == 1)
        return dp_invoke(j->ctx, "aten::conj", "T>T", *t, out);
    dp_tensor **conj = temps_next(&j->made);
    rc = dp_invoke(j->ctx, "aten::conj_physical", "T>T", *t, conj);
    return rc < 0 ? rc : to_complex(j, *conj, j->n - 1, j->out != NULL, out);
}

static int from_real(fft_job *j, dp_tensor *x, bool onesided, dp_tensor **out)
{
    if (!j->op->forward)
        return from_real_back(j, x, onesided, out);
    if (j->out)
        return dp_invoke(j->ctx, "aten::_fft_r2c.out", "TliibT>", x, j->dim, j->n, j->norm,
                         (int)onesided, j->out);
    return dp_invoke(j->ctx, "aten::_fft_r2c", "Tliib>T", x, j->dim, j->n, j->norm, (int)onesided,
                     out);
}

/* Compute a forward transform to real numbers as the inverse transform of the conjugate. */
static int to_real_forward(fft_job *j, dp_tensor *x, dp_tensor **out)
{
    dp_tensor **conj;
    int rc = 0;

    if (j->n > 1) {
        dp_tensor **t = temps_next(&j->made);
        rc = to_complex(j, x, j->n - 1, false, t);
        x = *t;
    }
    if (rc < 0)
        return rc;
    conj = temps_next(&j->made);
    rc = dp_invoke(j->ctx, "aten::conj", "T>T", x, conj);
    return rc < 0 ? rc : to_real(j, *conj, &j->dim[j->n - 1], 1, out);
}

static int transform(fft_job *j, dp_tensor *x, dp_tensor **out)
{
    DP_VIEW(v, x);

    switch (j->op->kind) {
    case TO_REAL:
        return j->op->forward ? to_real_forward(j, x, out) : to_real(j, x, j->dim, j->n, out);
    case FROM_REAL:
        return from_real(j, x, true, out);
    default:
        return dp_dtype_is_complex(v.dtype) ? to_complex(j, x, j->n, j->out != NULL, out)
                                            : from_real(j, x, false, out);
    }
}

/* -- operators -- */

static int check_dtypes(fft_job *j, const dp_view *x)
{
    if (j->op->kind == FROM_REAL && dp_dtype_is_complex(x->dtype))
        return dp_fail(j->ctx, DP_ERUNTIME, "%s expects a %s input tensor, but got %s", j->op->name,
                       j->op->real, dp_dtype_name(x->dtype));
    if (j->out == NULL)
        return 0;
    DP_VIEW(o, j->out);
    bool real = j->op->kind == TO_REAL;
    if (real ? dp_dtype_is_floating(o.dtype) : dp_dtype_is_complex(o.dtype))
        return 0;
    return dp_fail(j->ctx, DP_ERUNTIME, "%s expects a %s output tensor, but got %s", j->op->name,
                   real ? "floating point" : "complex", dp_dtype_name(o.dtype));
}

/* Run the transform over the dimensions of `j`; `given`: the call has the size of the last one. */
static int run(fft_job *j, dp_tensor *self, bool given, dp_str norm, dp_tensor **out)
{
    dp_tensor **numbers = temps_next(&j->made), **input = temps_next(&j->made);
    fft_kind kind = j->op->kind;
    DP_VIEW(x, self);
    int rc = 0;

    if ((kind == FROM_REAL || kind == TO_REAL) && j->n == 0)
        rc = dp_fail(j->ctx, DP_ERUNTIME, "%s must transform at least one axis", j->op->name);
    if (rc == 0 && kind == TO_REAL)
        rc = read_length(j, &x, given);
    if (rc == 0)
        rc = promote(j, self, kind == FROM_COMPLEX || kind == TO_REAL, numbers);
    if (rc == 0)
        rc = resize(j, *numbers, input);
    if (rc == 0)
        rc = read_norm(j, norm);
    if (rc == 0)
        rc = transform(j, *input, out);
    temps_fini(&j->made);
    return rc;
}

static int run_one(dp_ctx *ctx, const fft_op *op, dp_tensor *self, const int64_t *n, int64_t dim,
                   dp_str norm, dp_tensor *given, dp_tensor **out)
{
    fft_job j = {.ctx = ctx, .op = op, .out = given};
    DP_VIEW(x, self);
    int rc = check_dtypes(&j, &x);

    if (rc == 0 && n && *n < 1)
        rc = no_points(&j, *n);
    if (rc == 0)
        rc = read_shape(&j, &x, n, 1, &dim, 1);
    return rc < 0 ? rc : run(&j, self, n != NULL, norm, out);
}

static int run_many(dp_ctx *ctx, const fft_op *op, dp_tensor *self, const int64_t *s, size_t n_s,
                    const int64_t *dim, size_t n_dim, dp_str norm, dp_tensor *given,
                    dp_tensor **out)
{
    fft_job j = {.ctx = ctx, .op = op, .out = given};
    DP_VIEW(x, self);
    int rc = check_dtypes(&j, &x);

    if (rc == 0)
        rc = read_shape(&j, &x, s, n_s, dim, n_dim);
    return rc < 0 ? rc : run(&j, self, s && n_s > 0 && s[n_s - 1] != -1, norm, out);
}

/* aten::fft_<name>(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor, and its .out */
#define ONE(id, ...)                                                                               \
    static const fft_op op_##id = {#id, __VA_ARGS__};                                              \
    static int fft_##id(dp_ctx *ctx, dp_tensor *self, const int64_t *n, int64_t dim, dp_str norm,  \
                        dp_tensor **out)                                                           \
    {                                                                                              \
        return run_one(ctx, &op_##id, self, n, dim, norm, NULL, out);                              \
    }                                                                                              \
    static int fft_##id##_out(dp_ctx *ctx, dp_tensor *self, const int64_t *n, int64_t dim,         \
                              dp_str norm, dp_tensor *out)                                         \
    {                                                                                              \
        return run_one(ctx, &op_##id, self, n, dim, norm, out, NULL);                              \
    }

/* aten::fft_<name>2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor,
 * aten::fft_<name>n(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor, and
 * their .out */
#define MANY(id, end, dims, ...)                                                                   \
    static const fft_op op_##id##end = {#id "n", __VA_ARGS__};                                     \
    static int fft_##id##end(dp_ctx *ctx, dp_tensor *self, const int64_t *s, size_t n_s,           \
                             const int64_t *dim, size_t n_dim, dp_str norm, dp_tensor **out)       \
    {                                                                                              \
        return run_many(ctx, &op_##id##end, self, s, n_s, dim, n_dim, norm, NULL, out);            \
    }                                                                                              \
    static int fft_##id##end##_out(dp_ctx *ctx, dp_tensor *self, const int64_t *s, size_t n_s,     \
                                   const int64_t *dim, size_t n_dim, dp_str norm, dp_tensor *out)  \
    {                                                                                              \
        return run_many(ctx, &op_##id##end, self, s, n_s, dim, n_dim, norm, out, NULL);            \
    }

ONE(fft, AS_GIVEN, true, NULL)
ONE(ifft, AS_GIVEN, false, NULL)
ONE(rfft, FROM_REAL, true, "real")
ONE(irfft, TO_REAL, false, NULL)
ONE(hfft, TO_REAL, true, NULL)
ONE(ihfft, FROM_REAL, false, "real")
MANY(fft, 2, li, FROM_COMPLEX, true, NULL)
MANY(ifft, 2, li, FROM_COMPLEX, false, NULL)
MANY(rfft, 2, li, FROM_REAL, true, "real-valued")
MANY(irfft, 2, li, TO_REAL, false, NULL)
MANY(hfft, 2, li, TO_REAL, true, NULL)
MANY(ihfft, 2, li, FROM_REAL, false, "real-valued")
MANY(fft, n, oli, FROM_COMPLEX, true, NULL)
MANY(ifft, n, oli, FROM_COMPLEX, false, NULL)
MANY(rfft, n, oli, FROM_REAL, true, "real-valued")
MANY(irfft, n, oli, TO_REAL, false, NULL)
MANY(hfft, n, oli, TO_REAL, true, NULL)
MANY(ihfft, n, oli, FROM_REAL, false, "real-valued")

/* -- shifts by half of the elements -- */

/* Shift each dimension by half its size, rounded down if `by` is 0, up if it is 1. */
static int shift(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, int64_t by,
                 dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX], shifts[DP_DIM_MAX];
    DP_VIEW(x, self);
    int rc = dim ? check_ndim(ctx, n) : 0;

    n = dim ? n : (size_t)x.ndim;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        dims[i] = dim ? dim[i] : (int64_t)i;
        rc = wrap_dim(ctx, &dims[i], x.ndim);
        shifts[i] = rc == 0 && x.ndim > 0 ? (x.sizes[dims[i]] + by) / 2 : 0;
    }
    return rc < 0 ? rc : dp_invoke(ctx, "aten::roll", "Tlili>T", self, shifts, n, dims, n, out);
}

/* aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor */
static int fftshift(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, dp_tensor **out)
{
    return shift(ctx, self, dim, n, 0, out);
}

/* aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor */
static int ifftshift(dp_ctx *ctx, dp_tensor *self, const int64_t *dim, size_t n, dp_tensor **out)
{
    return shift(ctx, self, dim, n, 1, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("fft_fftshift", fftshift, (T, oli), (T)),
                DP_IMPL_UNBOXED("fft_ifftshift", ifftshift, (T, oli), (T)),
                DP_IMPL_UNBOXED("fft_fft", fft_fft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_fft.out", fft_fft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ifft", fft_ifft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_ifft.out", fft_ifft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_rfft", fft_rfft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_rfft.out", fft_rfft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_irfft", fft_irfft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_irfft.out", fft_irfft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_hfft", fft_hfft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_hfft.out", fft_hfft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ihfft", fft_ihfft, (T, oi, i, oS), (T)),
                DP_IMPL_UNBOXED("fft_ihfft.out", fft_ihfft_out, (T, oi, i, oS, T), ()),
                DP_IMPL_UNBOXED("fft_fft2", fft_fft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_fft2.out", fft_fft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ifft2", fft_ifft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_ifft2.out", fft_ifft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_rfft2", fft_rfft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_rfft2.out", fft_rfft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_irfft2", fft_irfft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_irfft2.out", fft_irfft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_hfft2", fft_hfft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_hfft2.out", fft_hfft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ihfft2", fft_ihfft2, (T, oli, li, oS), (T)),
                DP_IMPL_UNBOXED("fft_ihfft2.out", fft_ihfft2_out, (T, oli, li, oS, T), ()),
                DP_IMPL_UNBOXED("fft_fftn", fft_fftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_fftn.out", fft_fftn_out, (T, oli, oli, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ifftn", fft_ifftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_ifftn.out", fft_ifftn_out, (T, oli, oli, oS, T), ()),
                DP_IMPL_UNBOXED("fft_rfftn", fft_rfftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_rfftn.out", fft_rfftn_out, (T, oli, oli, oS, T), ()),
                DP_IMPL_UNBOXED("fft_irfftn", fft_irfftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_irfftn.out", fft_irfftn_out, (T, oli, oli, oS, T), ()),
                DP_IMPL_UNBOXED("fft_hfftn", fft_hfftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_hfftn.out", fft_hfftn_out, (T, oli, oli, oS, T), ()),
                DP_IMPL_UNBOXED("fft_ihfftn", fft_ihfftn, (T, oli, oli, oS), (T)),
                DP_IMPL_UNBOXED("fft_ihfftn.out", fft_ihfftn_out, (T, oli, oli, oS, T), ()))
