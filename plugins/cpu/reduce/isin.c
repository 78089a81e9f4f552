/* isin.c -- the operator isin: tests which elements of a tensor are in a set of test elements
 * (aten/src/ATen/native/TensorCompare.cpp). */
#include "index/gather_scatter.h"
#include "core/dense.h"
#include "sort/order.h"

/* one search, shared by all threads */
typedef struct membership {
    dp_view from;       /* test elements: sorted, contiguous, int64 or float64 */
    const void *values; /* elements to test, of the same dtype */
    uint8_t *out;       /* results, as bool */
    bool invert;        /* the results are negated */
} membership;

/* Define a loop that searches each element among the test elements by bisection.  NaN is never
 * found, because it is not equal to itself. */
#define AMONG(name, type)                                                                          \
    static void name(int64_t begin, int64_t end, void *user)                                       \
    {                                                                                              \
        const membership *m = user;                                                                \
        const type *values = m->values;                                                            \
        for (int64_t i = begin; i < end; i++) {                                                    \
            const type *low = m->from.data;                                                        \
            for (int64_t n = m->from.numel; n > 1; n -= n / 2)                                     \
                low += low[n / 2 - 1] < values[i] ? n / 2 : 0;                                     \
            m->out[i] = (*low == values[i]) != m->invert;                                          \
        }                                                                                          \
    }
AMONG(among_ints, int64_t)
AMONG(among_doubles, double)

static int check_member(dp_ctx *ctx, dp_dtype dtype)
{
    if (dtype != DP_BOOL && dtype != DP_BFLOAT16 && !dp_dtype_is_complex(dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "Unsupported input type encountered for isin(): %s",
                   dense_type_name(dtype));
}

/* Refuse float16 where PyTorch does.  PyTorch compares with each test element if there are few of
 * them, else it sorts; it supports float16 only for sorting, and only with `unique`
 * (assume_unique).  DP_ERUNTIME: the dtype is float16, and PyTorch does not support this case. */
static int check_half(dp_ctx *ctx, const dp_view *x, const dp_view *t, dp_dtype dtype, bool unique)
{
    bool few = (double)t->numel < floor(10.0 * pow((double)x->numel, 0.145));

    if (dtype != DP_FLOAT16 || x->numel == 0 || (!few && unique))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for 'Half'",
                   few ? "isin_default_cpu" : "unique");
}

/* Set `out`, a contiguous bool tensor with the shape of `x`, to whether each element of x is in
 * `from`; `invert` negates the result.  x and from are both int64 or both float64, and x is
 * contiguous (order_widen()). */
static int find_members(dp_ctx *ctx, dp_tensor *x, dp_tensor *from, bool invert, dp_tensor *out)
{
    dp_tensor *flat = NULL, *sorted = NULL, *at = NULL;
    bool stable = true;
    DP_VIEW(v, x);
    DP_VIEW(t, from);
    DP_VIEW(y, out);
    int rc = dp_invoke(ctx, "aten::reshape", "Tli>T", from, &t.numel, (size_t)1, &flat);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::sort.stable", "Tobib>TT", flat, &stable, (int64_t)0, (int)false,
                       &sorted, &at);
    if (rc == 0) {
        DP_VIEW(s, sorted);
        membership m = {s, v.data, y.data, invert};
        rc = dp_parallel_for(ctx, 0, v.numel, dense_grain(16),
                             v.dtype == DP_INT64 ? among_ints : among_doubles, &m);
    }
    dp_tensor_unref(flat);
    dp_tensor_unref(sorted);
    dp_tensor_unref(at);
    return rc;
}

static int members_of(dp_ctx *ctx, dp_tensor *x, dp_tensor *from, bool invert, dp_tensor *out)
{
    dp_tensor *both[] = {x, from}, *wide = NULL, *wide_from = NULL, *packed = NULL;
    dp_dtype dtype = dp_result_type(both, 2);
    DP_VIEW(v, x);
    DP_VIEW(t, from);
    int rc;

    if (v.numel == 0 || dp_memoryless(ctx))
        return 0;
    if (t.numel == 0)
        return dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", out, dp_bool(invert));
    rc = order_widen(ctx, x, dtype, &wide);
    if (rc == 0)
        rc = order_widen(ctx, from, dtype, &wide_from);
    if (rc == 0)
        rc = dp_empty(ctx, DP_BOOL, v.device, v.ndim, v.sizes, DP_CONTIGUOUS, &packed);
    if (rc == 0)
        rc = find_members(ctx, wide, wide_from, invert, packed);
    if (rc == 0)
        rc = dp_copy(ctx, out, packed);
    dp_tensor_unref(wide);
    dp_tensor_unref(wide_from);
    dp_tensor_unref(packed);
    return rc;
}

/* Run isin of two tensors into *out; NULL: a new tensor is made. */
static int write_isin(dp_ctx *ctx, dp_tensor *x, dp_tensor *from, bool unique, bool invert,
                      dp_device device, dp_tensor **out)
{
    dp_tensor *both[] = {x, from};
    bool given = *out != NULL;
    DP_VIEW(v, x);
    DP_VIEW(t, from);
    int rc = check_member(ctx, v.dtype);

    if (rc == 0)
        rc = check_member(ctx, t.dtype);
    if (rc == 0)
        rc = check_half(ctx, &v, &t, dp_result_type(both, 2), unique);
    if (rc == 0)
        rc = dp_set_output(ctx, out, v.ndim, v.sizes, NULL, DP_BOOL, device);
    if (rc == 0 && given)
        rc = check_apart(ctx, *out, NULL, 0);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : members_of(ctx, x, from, invert, *out);
    return gs_end(rc, given, out);
}

/* Make a 0-dim tensor of `s` that type promotion treats like a Python number (a wrapped number).
 * *out owned. */
static int wrap_number(dp_ctx *ctx, dp_value s, dp_tensor **out)
{
    int rc = dp_scalar_tensor(ctx, s, DP_DTYPE_NONE, out);

    if (rc == 0)
        dp_tensor_set_wrapped(*out, true);
    return rc;
}

/* Run isin with one test element `s`, by calling the operator eq, or ne if `invert`. */
static int write_isin_scalar(dp_ctx *ctx, dp_tensor *x, dp_value s, bool invert, dp_tensor **out)
{
    bool given = *out != NULL;
    dp_tensor *t = NULL;
    DP_VIEW(v, x);
    int rc = check_member(ctx, v.dtype);

    if (rc == 0)
        rc = wrap_number(ctx, s, &t);
    if (rc == 0) {
        DP_VIEW(n, t);
        rc = check_member(ctx, n.dtype);
    }
    dp_tensor_unref(t);
    if (rc == 0)
        rc = dp_set_output(ctx, out, v.ndim, v.sizes, NULL, DP_BOOL, v.device);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL)
                : dp_invoke(ctx, invert ? "aten::ne.Scalar_out" : "aten::eq.Scalar_out", "TsT>", x,
                            s, *out);
    return gs_end(rc, given, out);
}

static int write_scalar_isin(dp_ctx *ctx, dp_value s, dp_tensor *from, bool unique, bool invert,
                             dp_tensor **out)
{
    dp_tensor *t;
    int rc = wrap_number(ctx, s, &t);

    if (rc < 0)
        return rc;
    /* the result is on the device of the test elements, not on that of the number */
    DP_VIEW(v, from);
    rc = write_isin(ctx, t, from, unique, invert, v.device, out);
    dp_tensor_unref(t);
    return rc;
}

/* aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False,
 *     bool invert=False) -> Tensor */
static int isin(dp_ctx *ctx, dp_tensor *x, dp_tensor *from, bool unique, bool invert,
                dp_tensor **out)
{
    DP_VIEW(v, x);
    *out = NULL;
    return write_isin(ctx, x, from, unique, invert, v.device, out);
}

static int isin_out(dp_ctx *ctx, dp_tensor *x, dp_tensor *from, bool unique, bool invert,
                    dp_tensor *out)
{
    DP_VIEW(v, x);
    return write_isin(ctx, x, from, unique, invert, v.device, &out);
}

/* aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False,
 *     bool invert=False) -> Tensor */
static int isin_scalar(dp_ctx *ctx, dp_tensor *x, dp_value s, bool unique, bool invert,
                       dp_tensor **out)
{
    (void)unique;
    *out = NULL;
    return write_isin_scalar(ctx, x, s, invert, out);
}

static int isin_scalar_out(dp_ctx *ctx, dp_tensor *x, dp_value s, bool unique, bool invert,
                           dp_tensor *out)
{
    (void)unique;
    return write_isin_scalar(ctx, x, s, invert, &out);
}

/* aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False,
 *     bool invert=False) -> Tensor */
static int scalar_isin(dp_ctx *ctx, dp_value s, dp_tensor *from, bool unique, bool invert,
                       dp_tensor **out)
{
    *out = NULL;
    return write_scalar_isin(ctx, s, from, unique, invert, out);
}

static int scalar_isin_out(dp_ctx *ctx, dp_value s, dp_tensor *from, bool unique, bool invert,
                           dp_tensor *out)
{
    return write_scalar_isin(ctx, s, from, unique, invert, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("isin.Tensor_Tensor", isin, (T, T, b, b), (T)),
                DP_IMPL_UNBOXED("isin.Tensor_Tensor_out", isin_out, (T, T, b, b, T), ()),
                DP_IMPL_UNBOXED("isin.Tensor_Scalar", isin_scalar, (T, s, b, b), (T)),
                DP_IMPL_UNBOXED("isin.Tensor_Scalar_out", isin_scalar_out, (T, s, b, b, T), ()),
                DP_IMPL_UNBOXED("isin.Scalar_Tensor", scalar_isin, (s, T, b, b), (T)),
                DP_IMPL_UNBOXED("isin.Scalar_Tensor_out", scalar_isin_out, (s, T, b, b, T), ()))
