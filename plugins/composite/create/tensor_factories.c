/* tensor_factories.c -- factory functions, which call the backend's empty, zero_ and fill_
 * (aten/src/ATen/native/TensorFactories.cpp).
 *
 * Operators: arange, _dim_arange, empty, empty_like, eye, full, full_like, linspace, logspace,
 * new_empty, new_empty_strided, new_full, new_ones, new_zeros, ones, ones_like, range,
 * scalar_tensor, zeros, zeros_like. */
#include "core/composite.h"

/* Call aten::empty.memory_format with these options and without a memory format. */
static int empty(dp_ctx *ctx, const int64_t *sizes, size_t n, const options *o, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::empty.memory_format", "lioioioioboi>T", sizes, n, o->dtype,
                     o->layout, o->device, o->pin, (const int64_t *)NULL, out);
}

/* Fill the new tensor *t, unless `rc` is an error.  On failure, *t is released. */
static int filled(dp_ctx *ctx, int rc, dp_tensor **t, dp_value value)
{
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", *t, value);
    return release_on_error(rc, t);
}

static int zeroed(dp_ctx *ctx, int rc, dp_tensor **t)
{
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::zero_", "T>", *t);
    return release_on_error(rc, t);
}

/* Return the dtype that torch.full infers from a value: bool, int64, float32 or complex64. */
static int64_t value_dtype(dp_value v)
{
    return v.tag == DP_TAG_BOOL      ? DP_BOOL
           : v.tag == DP_TAG_INT     ? DP_INT64
           : v.tag == DP_TAG_COMPLEX ? DP_COMPLEX64
                                     : DP_FLOAT32;
}

/* -- sizes are an argument -- */

/* aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int zeros(dp_ctx *ctx, const int64_t *sizes, size_t n, OPTIONS_PARAMS, dp_tensor **out)
{
    return zeroed(ctx, empty(ctx, sizes, n, &OPTIONS, out), out);
}

/* aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None) -> Tensor */
static int ones(dp_ctx *ctx, const int64_t *sizes, size_t n, OPTIONS_PARAMS, dp_tensor **out)
{
    return filled(ctx, empty(ctx, sizes, n, &OPTIONS, out), out, dp_int(1));
}

/* aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int full(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_value value, OPTIONS_PARAMS,
                dp_tensor **out)
{
    int64_t own = value_dtype(value);
    options o = {dtype ? dtype : &own, layout, device, pin};
    return filled(ctx, empty(ctx, sizes, n, &o, out), out, value);
}

/* aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int scalar_tensor(dp_ctx *ctx, dp_value value, OPTIONS_PARAMS, dp_tensor **out)
{
    return filled(ctx, empty(ctx, NULL, 0, &OPTIONS, out), out, value);
}

/* -- sizes of another tensor -- */

/* aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int empty_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                      dp_tensor **out)
{
    return like(ctx, self, &OPTIONS, format, out);
}

/* aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int zeros_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                      dp_tensor **out)
{
    return zeroed(ctx, like(ctx, self, &OPTIONS, format, out), out);
}

/* aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
static int ones_like(dp_ctx *ctx, dp_tensor *self, OPTIONS_PARAMS, const int64_t *format,
                     dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, dp_int(1));
}

/* aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None,
 *     MemoryFormat? memory_format=None) -> Tensor */
static int full_like(dp_ctx *ctx, dp_tensor *self, dp_value value, OPTIONS_PARAMS,
                     const int64_t *format, dp_tensor **out)
{
    return filled(ctx, like(ctx, self, &OPTIONS, format, out), out, value);
}

/* -- new_*: dtype and device come from another tensor -- */

/* Return `o` with self's dtype and device for those that are not given; own [2] stores their
 * values. */
static options of_self(dp_tensor *self, options o, int64_t own[2])
{
    DP_VIEW(x, self);
    own[0] = x.dtype;
    own[1] = x.device;
    o.dtype = o.dtype ? o.dtype : &own[0];
    o.device = o.device ? o.device : &own[1];
    return o;
}

/* aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int new_empty(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n, OPTIONS_PARAMS,
                     dp_tensor **out)
{
    int64_t own[2];
    options o = of_self(self, OPTIONS, own);
    return empty(ctx, sizes, n, &o, out);
}

/* aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int new_zeros(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n, OPTIONS_PARAMS,
                     dp_tensor **out)
{
    return zeroed(ctx, new_empty(ctx, self, sizes, n, dtype, layout, device, pin, out), out);
}

/* aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int new_ones(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n, OPTIONS_PARAMS,
                    dp_tensor **out)
{
    return filled(ctx, new_empty(ctx, self, sizes, n, dtype, layout, device, pin, out), out,
                  dp_int(1));
}

/* aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int new_full(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n, dp_value value,
                    OPTIONS_PARAMS, dp_tensor **out)
{
    return filled(ctx, new_empty(ctx, self, sizes, n, dtype, layout, device, pin, out), out, value);
}

/* aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *,
 *     ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
 *     -> Tensor */
static int new_empty_strided(dp_ctx *ctx, dp_tensor *self, const int64_t *sizes, size_t n,
                             const int64_t *strides, size_t n_strides, OPTIONS_PARAMS,
                             dp_tensor **out)
{
    int64_t own[2];
    options o = of_self(self, OPTIONS, own);
    return dp_invoke(ctx, "aten::empty_strided", "lilioioioiob>T", sizes, n, strides, n_strides,
                     o.dtype, o.layout, o.device, o.pin, out);
}

/* -- arange -- */

/* aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int arange_step(dp_ctx *ctx, dp_value start, dp_value end, dp_value step, OPTIONS_PARAMS,
                       dp_tensor **out)
{
    bool integral =
        start.tag != DP_TAG_DOUBLE && end.tag != DP_TAG_DOUBLE && step.tag != DP_TAG_DOUBLE;
    int64_t count = 0, own = dtype ? *dtype : integral ? DP_INT64 : DP_FLOAT32;
    dp_tensor *made;
    int rc = count_range(ctx, start, end, step, (dp_dtype)own, &count);

    if (rc == 0)
        rc = empty(ctx, &count, 1, &(options){&own, layout, device, pin}, &made);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::arange.start_out", "sssT>", start, end, step, made);
    if (rc < 0)
        dp_tensor_unref(made);
    else
        *out = made;
    return rc;
}

/* aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int arange_start(dp_ctx *ctx, dp_value start, dp_value end, OPTIONS_PARAMS, dp_tensor **out)
{
    return arange_step(ctx, start, end, dp_int(1), dtype, layout, device, pin, out);
}

/* aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None) -> Tensor */
static int arange(dp_ctx *ctx, dp_value end, OPTIONS_PARAMS, dp_tensor **out)
{
    return arange_step(ctx, dp_int(0), end, dp_int(1), dtype, layout, device, pin, out);
}

/* aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int range_step(dp_ctx *ctx, dp_value start, dp_value end, dp_value step, OPTIONS_PARAMS,
                      dp_tensor **out)
{
    int64_t none[1] = {0};
    int rc = empty(ctx, none, 1, &OPTIONS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::range.out", "sssT>", start, end, step, *out);
    return release_on_error(rc, out);
}

/* aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int range(dp_ctx *ctx, dp_value start, dp_value end, OPTIONS_PARAMS, dp_tensor **out)
{
    return range_step(ctx, start, end, dp_int(1), dtype, layout, device, pin, out);
}

/* -- linspace, logspace, eye: the tensor is made here, and filled by the backend -- */

/* Set the dtype of a range between two Scalars.  Source:
 * at::native::linspace_logspace_infer_options. */
static int range_dtype(dp_ctx *ctx, dp_value start, dp_value end, const int64_t *dtype,
                       const char *name, int64_t *own)
{
    bool complex = start.tag == DP_TAG_COMPLEX || end.tag == DP_TAG_COMPLEX;

    *own = dtype ? *dtype : complex ? DP_COMPLEX64 : DP_FLOAT32;
    if (complex && !dp_dtype_is_complex((dp_dtype)*own))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: inferred dtype ComplexFloat can't be safely cast to passed dtype %s",
                       name, dp_dtype_name((dp_dtype)*own));
    return 0;
}

static int empty_range(dp_ctx *ctx, int64_t steps, const options *o, dp_tensor **out)
{
    if (steps < 0)
        return dp_fail(ctx, DP_ERUNTIME, "number of steps must be non-negative");
    return empty(ctx, &steps, 1, o, out);
}

/* aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int linspace(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, OPTIONS_PARAMS,
                    dp_tensor **out)
{
    int64_t own;
    int rc = range_dtype(ctx, start, end, dtype, "torch.linspace()", &own);

    if (rc == 0)
        rc = empty_range(ctx, steps, &(options){&own, layout, device, pin}, out);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::linspace.out", "ssiT>", start, end, steps, *out);
    return release_on_error(rc, out);
}

/* aten::logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None,
 *     Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
static int logspace(dp_ctx *ctx, dp_value start, dp_value end, int64_t steps, double base,
                    OPTIONS_PARAMS, dp_tensor **out)
{
    int64_t own;
    int rc = range_dtype(ctx, start, end, dtype, "torch.logspace()", &own);

    if (rc == 0)
        rc = empty_range(ctx, steps, &(options){&own, layout, device, pin}, out);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::logspace.out", "ssifT>", start, end, steps, base, *out);
    return release_on_error(rc, out);
}

/* aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None,
 *     Device? device=None, bool? pin_memory=None) -> Tensor */
static int eye_m(dp_ctx *ctx, int64_t n, int64_t m, OPTIONS_PARAMS, dp_tensor **out)
{
    int64_t none[1] = {0};
    int rc = empty(ctx, none, 1, &OPTIONS, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::eye.m_out", "iiT>", n, m, *out);
    return release_on_error(rc, out);
}

/* -- out= variants -- */

/* aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!) */
static int full_out(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_value value, dp_tensor *out)
{
    int rc = check_ndim(ctx, n);

    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? dp_refuse(ctx, rc, NULL)
                  : dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", out, value);
}

/* aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!) */
static int zeros_out(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_tensor *out)
{
    return full_out(ctx, sizes, n, dp_int(0), out);
}

/* aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!) */
static int ones_out(dp_ctx *ctx, const int64_t *sizes, size_t n, dp_tensor *out)
{
    return full_out(ctx, sizes, n, dp_int(1), out);
}

/* aten::empty.out(SymInt[] size, *, MemoryFormat? memory_format=None, Tensor(a!) out)
 *     -> Tensor(a!) */
static int empty_out(dp_ctx *ctx, const int64_t *sizes, size_t n, const int64_t *format,
                     dp_tensor *out)
{
    if (format != NULL)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "'memory_format' argument is incompatible with 'out' tensor argument");
    int rc = check_ndim(ctx, n);
    if (rc == 0)
        rc = dp_resize(ctx, out, (int)n, sizes, DP_PRESERVE);
    return rc < 0 ? dp_refuse(ctx, rc, NULL) : 0;
}

/* aten::range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!) */
static int range_out(dp_ctx *ctx, dp_value start, dp_value end, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::range.out", "sssT>", start, end, dp_int(1), out);
}

/* aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!) */
static int arange_out(dp_ctx *ctx, dp_value end, dp_tensor *out)
{
    return dp_invoke(ctx, "aten::arange.start_out", "sssT>", dp_int(0), end, dp_int(1), out);
}

/* aten::eye(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
 *     bool? pin_memory=None) -> Tensor */
static int eye(dp_ctx *ctx, int64_t n, OPTIONS_PARAMS, dp_tensor **out)
{
    return eye_m(ctx, n, n, dtype, layout, device, pin, out);
}

/* aten::_dim_arange(Tensor like, int dim) -> Tensor */
static int dim_arange(dp_ctx *ctx, dp_tensor *like, int64_t dim, dp_tensor **out)
{
    const int64_t dtype = DP_INT64;
    int64_t size, device;
    DP_VIEW(x, like);
    int rc = dp_invoke(ctx, "aten::size.int", "Ti>i", like, dim, &size);

    device = x.device;
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::arange", "soioioi>T", dp_int(size), &dtype, NULL, &device,
                              out);
}

DP_LIBRARY_META(aten, CompositeExplicitAutograd,
                DP_IMPL_UNBOXED("full.out", full_out, (li, s, T), ()),
                DP_IMPL_UNBOXED("zeros.out", zeros_out, (li, T), ()),
                DP_IMPL_UNBOXED("ones.out", ones_out, (li, T), ()),
                DP_IMPL_UNBOXED("range.out_", range_out, (s, s, T), ()),
                DP_IMPL_UNBOXED("arange.out", arange_out, (s, T), ()),
                DP_IMPL_UNBOXED("zeros", zeros, (li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("ones", ones, (li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("full", full, (li, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("scalar_tensor", scalar_tensor, (s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("empty_like", empty_like, (T, oi, oi, oi, ob, oi), (T)),
                DP_IMPL_UNBOXED("zeros_like", zeros_like, (T, oi, oi, oi, ob, oi), (T)),
                DP_IMPL_UNBOXED("ones_like", ones_like, (T, oi, oi, oi, ob, oi), (T)),
                DP_IMPL_UNBOXED("full_like", full_like, (T, s, oi, oi, oi, ob, oi), (T)),
                DP_IMPL_UNBOXED("new_empty", new_empty, (T, li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("new_zeros", new_zeros, (T, li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("new_ones", new_ones, (T, li, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("new_full", new_full, (T, li, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("arange.start_step", arange_step, (s, s, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("arange.start", arange_start, (s, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("arange", arange, (s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("range.step", range_step, (s, s, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("range", range, (s, s, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("linspace", linspace, (s, s, i, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("logspace", logspace, (s, s, i, f, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("eye", eye, (i, oi, oi, oi, ob), (T)),
                DP_IMPL_UNBOXED("eye.m", eye_m, (i, i, oi, oi, oi, ob), (T)))
DP_LIBRARY_META(aten, CompositeExplicitAutogradNonFunctional,
                DP_IMPL_UNBOXED("new_empty_strided", new_empty_strided, (T, li, li, oi, oi, oi, ob),
                                (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("empty.out", empty_out, (li, oi, T), ()),
                DP_IMPL_UNBOXED("_dim_arange", dim_arange, (T, i), (T)))
