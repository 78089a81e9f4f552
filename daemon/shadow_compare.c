/* shadow_compare.c -- compares results of a shadow call with those of the client's call, as
 * torch.testing.assert_close() does. */
#include "shadow.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Source: torch.testing, _DTYPE_PRECISIONS.  Other dtypes must be equal. */
static void tolerance(const shadow_settings *how, dp_dtype dtype, double *rtol, double *atol)
{
    static const struct {
        dp_dtype dtype;
        double rtol, atol;
    } rows[] = {{DP_FLOAT16, 1e-3, 1e-5},     {DP_BFLOAT16, 1.6e-2, 1e-5},
                {DP_FLOAT32, 1.3e-6, 1e-5},   {DP_FLOAT64, 1e-7, 1e-7},
                {DP_COMPLEX64, 1.3e-6, 1e-5}, {DP_COMPLEX128, 1e-7, 1e-7}};

    *rtol = *atol = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].dtype == dtype) {
            *rtol = rows[i].rtol;
            *atol = rows[i].atol;
        }
    *rtol = how->rtol >= 0 ? how->rtol : *rtol;
    *atol = how->atol >= 0 ? how->atol : *atol;
}

/* Describe a difference, if it is the first one. */
__attribute__((format(printf, 3, 4))) static void differ(shadow_outcome *out, uint32_t i,
                                                         const char *format, ...)
{
    va_list ap;

    if (out->differs)
        return;
    out->differs = true;
    int n = snprintf(out->what, sizeof(out->what), "output=%u ", i);
    va_start(ap, format);
    vsnprintf(out->what + n, sizeof(out->what) - (size_t)n, format, ap);
    va_end(ap);
}

/* -- tensors -- */

/* Call an operator that returns one tensor; *out owned. */
static int call(dp_ctx *ctx, const char *op, const dp_value *args, size_t n, dp_tensor **out)
{
    dp_value ret;
    const dp_op *o = dp_op_find(ctx, op);
    int rc = o != NULL ? dp_call_boxed(ctx, o, args, n, &ret, 1)
                       : dp_fail(ctx, DP_ENOTFOUND, "no operator %s", op);

    if (rc == 0)
        *out = ret.u.t;
    return rc;
}

/* The tensors that a comparison of two tensors makes; all owned. */
typedef struct pieces {
    dp_tensor *want, *got;     /* in float64 or complex128 */
    dp_tensor *close, *all;    /* which elements are near enough; whether all are */
    dp_tensor *minus, *abs;    /* the difference */
    dp_tensor *finite;         /* its absolute value, without NaN and infinities */
    dp_tensor *largest, *only; /* its largest element; its elements that are not near enough */
    dp_tensor *worst;          /* index of the largest of them */
} pieces;

static void pieces_fini(pieces *w)
{
    dp_tensor *all[] = {w->want, w->got,    w->close,   w->all,  w->minus,
                        w->abs,  w->finite, w->largest, w->only, w->worst};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        dp_tensor_unref(all[i]);
}

static int widen(dp_ctx *ctx, const dp_tensor *t, dp_tensor **out)
{
    DP_VIEW(v, t);
    dp_dtype wide = dp_dtype_is_complex(v.dtype) ? DP_COMPLEX128 : DP_FLOAT64;
    int rc = dp_empty(ctx, wide, DP_DEVICE_CPU, v.ndim, v.sizes, DP_CONTIGUOUS, out);

    return rc == 0 ? dp_copy(ctx, *out, t) : rc;
}

/* Set w->close.  Integers are compared before they are widened, which would round them. */
static int find_close(dp_ctx *ctx, const shadow_settings *how, dp_tensor *want, dp_tensor *got,
                      pieces *w)
{
    DP_VIEW(v, want);
    double rtol, atol;

    tolerance(how, v.dtype, &rtol, &atol);
    if (rtol == 0 && atol == 0 && dp_dtype_is_integral(v.dtype, true)) {
        const dp_value eq[] = {dp_tensor_value(want), dp_tensor_value(got)};
        return call(ctx, "aten::eq.Tensor", eq, 2, &w->close);
    }
    const dp_value close[] = {dp_tensor_value(w->got), dp_tensor_value(w->want), dp_double(rtol),
                              dp_double(atol), dp_bool(true)};
    return call(ctx, "aten::isclose", close, 5, &w->close);
}

static int find_largest(dp_ctx *ctx, pieces *w)
{
    const dp_value sub[] = {dp_tensor_value(w->got), dp_tensor_value(w->want), dp_int(1)};
    int rc = call(ctx, "aten::sub.Tensor", sub, 3, &w->minus);

    if (rc == 0)
        rc = call(ctx, "aten::abs", &(dp_value){DP_TAG_TENSOR, 0, {.t = w->minus}}, 1, &w->abs);
    if (rc < 0)
        return rc;
    /* two equal infinities give NaN: no difference */
    const dp_value to[] = {dp_tensor_value(w->abs), dp_double(0), dp_double(DBL_MAX), dp_double(0)};
    rc = call(ctx, "aten::nan_to_num", to, 4, &w->finite);
    return rc == 0 ? call(ctx, "aten::max", &(dp_value){DP_TAG_TENSOR, 0, {.t = w->finite}}, 1,
                          &w->largest)
                   : rc;
}

static int find_worst(dp_ctx *ctx, pieces *w)
{
    const dp_value fill[] = {dp_tensor_value(w->finite), dp_tensor_value(w->close), dp_double(-1)};
    int rc = call(ctx, "aten::masked_fill.Scalar", fill, 3, &w->only);

    if (rc < 0)
        return rc;
    const dp_value argmax[] = {dp_tensor_value(w->only), dp_none(), dp_bool(false)};
    return call(ctx, "aten::argmax", argmax, 3, &w->worst);
}

static void print_element(char *text, size_t bytes, const dp_tensor *t, int64_t i)
{
    DP_VIEW(v, t);
    const double *d = v.data;

    if (v.dtype == DP_COMPLEX128)
        snprintf(text, bytes, "%.17g%+.17gj", d[2 * i], d[2 * i + 1]);
    else
        snprintf(text, bytes, "%.17g", d[i]);
}

/* Describe the worst element of output `i`. */
static void differ_element(shadow_outcome *out, uint32_t i, const dp_tensor *t, const pieces *w)
{
    DP_VIEW(v, t);
    DP_VIEW(worst, w->worst);
    char want[64], got[64], element[256] = "";
    int64_t at = *(const int64_t *)worst.data, rest = at, below = v.numel;
    size_t n = 0;

    for (int d = 0; d < v.ndim && n < sizeof(element); d++) {
        below /= v.sizes[d];
        n += (size_t)snprintf(element + n, sizeof(element) - n, "%s%lld", d > 0 ? "," : "",
                              (long long)(rest / below));
        rest %= below;
    }
    print_element(want, sizeof(want), w->want, at);
    print_element(got, sizeof(got), w->got, at);
    differ(out, i, "element=[%s] expected=%s got=%s", element, want, got);
}

static bool same_shape(const dp_view *a, const dp_view *b)
{
    bool same = a->ndim == b->ndim;

    for (int d = 0; same && d < a->ndim; d++)
        same = a->sizes[d] == b->sizes[d];
    return same;
}

static void print_shape(char *text, size_t bytes, const dp_view *v)
{
    size_t n = (size_t)snprintf(text, bytes, "%s[", dp_dtype_name(v->dtype));

    for (int d = 0; d < v->ndim && n < bytes; d++)
        n += (size_t)snprintf(text + n, bytes - n, "%s%lld", d > 0 ? "," : "",
                              (long long)v->sizes[d]);
    if (n < bytes)
        snprintf(text + n, bytes - n, "]");
}

static int compare_tensors(dp_ctx *ctx, const shadow_settings *how, uint32_t i, dp_tensor *want,
                           dp_tensor *got, shadow_outcome *out)
{
    pieces w = {0};
    char texts[2][160];

    DP_VIEW(v, want);
    DP_VIEW(u, got);
    if (v.dtype != u.dtype || !same_shape(&v, &u)) {
        print_shape(texts[0], sizeof(texts[0]), &v);
        print_shape(texts[1], sizeof(texts[1]), &u);
        differ(out, i, "expected=%s got=%s", texts[0], texts[1]);
        return 0;
    }
    if (v.numel == 0)
        return 0;
    int rc = widen(ctx, want, &w.want);
    if (rc == 0)
        rc = widen(ctx, got, &w.got);
    if (rc == 0)
        rc = find_close(ctx, how, want, got, &w);
    if (rc == 0)
        rc = call(ctx, "aten::all", &(dp_value){DP_TAG_TENSOR, 0, {.t = w.close}}, 1, &w.all);
    if (rc == 0)
        rc = find_largest(ctx, &w);
    if (rc == 0) {
        DP_VIEW(all, w.all);
        DP_VIEW(largest, w.largest);
        out->largest = fmax(out->largest, *(const double *)largest.data);
        if (!*(const bool *)all.data && (rc = find_worst(ctx, &w)) == 0)
            differ_element(out, i, want, &w);
    }
    pieces_fini(&w);
    return rc;
}

/* -- values -- */

static bool is_number(const dp_value *v)
{
    return v->tag == DP_TAG_INT || v->tag == DP_TAG_BOOL || v->tag == DP_TAG_DOUBLE ||
           v->tag == DP_TAG_COMPLEX;
}

/* Compare two numbers as tensors without dimensions. */
static int compare_numbers(dp_ctx *ctx, const shadow_settings *how, uint32_t i,
                           const dp_value *want, const dp_value *got, shadow_outcome *out)
{
    dp_tensor *a = NULL, *b = NULL;
    int rc = dp_scalar_tensor(ctx, *want, DP_DTYPE_NONE, &a);

    if (rc == 0)
        rc = dp_scalar_tensor(ctx, *got, DP_DTYPE_NONE, &b);
    if (rc == 0)
        rc = compare_tensors(ctx, how, i, a, b, out);
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

int shadow_compare(dp_ctx *ctx, const shadow_settings *how, uint32_t i, const dp_value *want,
                   const dp_value *got, shadow_outcome *out)
{
    int rc = 0;

    if (want->tag != got->tag)
        differ(out, i, "expected='a value of kind %u' got='a value of kind %u'", want->tag,
               got->tag);
    else if (want->tag == DP_TAG_TENSOR)
        rc = compare_tensors(ctx, how, i, want->u.t, got->u.t, out);
    else if (is_number(want))
        rc = compare_numbers(ctx, how, i, want, got, out);
    else if (want->tag == DP_TAG_STR && strcmp(want->u.s, got->u.s) != 0)
        differ(out, i, "expected='%s' got='%s'", want->u.s, got->u.s);
    else if (dp_is_list(want) && want->len != got->len)
        differ(out, i, "expected='%u values' got='%u values'", want->len, got->len);
    else if (dp_is_list(want))
        for (uint32_t k = 0; rc == 0 && k < want->len; k++) {
            dp_value a = dp_list_item(want, k), b = dp_list_item(got, k);
            rc = shadow_compare(ctx, how, i, &a, &b, out);
        }
    return rc;
}
