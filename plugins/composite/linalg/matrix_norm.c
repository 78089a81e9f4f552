/* matrix_norm.c -- norms of matrices: linalg_matrix_norm, linalg_norm, nuclear_norm and
 * frobenius_norm (aten/src/ATen/native/LinearAlgebra.cpp). */
#include "linalg.h"
#include "matrix_norm.h"
#include <string.h>

static const int64_t *optional_int(const dp_value *v)
{
    return v->tag == DP_TAG_NONE ? NULL : &v->u.i;
}

/* -- checks -- */

static int check_dtype(dp_ctx *ctx, dp_dtype own, const int64_t *dtype, const char *name)
{
    dp_dtype d = dtype ? (dp_dtype)*dtype : own;
    bool complex = dp_dtype_is_complex(own);

    if (dtype == NULL)
        return 0;
    if (!linalg_inexact(d))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: dtype should be floating point or complex, but got %s", name,
                       linalg_type_name(d));
    if (complex != dp_dtype_is_complex(d))
        return dp_fail(ctx, DP_ERUNTIME, "%s: dtype should be %s for %s inputs, but got %s", name,
                       complex ? "complex" : "real", complex ? "complex" : "real",
                       linalg_type_name(d));
    if (dp_promote_types(own, d) != d)
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: the dtype of the input (%s) should be convertible without narrowing to "
                       "the specified dtype (%s)",
                       name, linalg_type_name(own), linalg_type_name(d));
    return 0;
}

/* Wrap and check n->dims; `precise`: 16-bit dtypes are refused. */
static int check_norm(dp_ctx *ctx, norm_args *n, const int64_t *dims, size_t n_dims, bool precise)
{
    const char *name = "linalg.matrix_norm";
    DP_VIEW(a, n->self);
    int rc = linalg_check_matrix(ctx, &a, name, "A");

    if (rc < 0)
        return rc;
    if (!linalg_inexact(a.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "%s: Expected a floating point or complex tensor as input. Got %s", name,
                       linalg_type_name(a.dtype));
    if (precise && (a.dtype == DP_FLOAT16 || a.dtype == DP_BFLOAT16))
        return dp_fail(ctx, DP_ERUNTIME, "%s: Low precision dtypes not supported. Got %s", name,
                       linalg_type_name(a.dtype));
    if (n_dims != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s: dim must be a 2-tuple. Got %zu dimensions", name,
                       n_dims);
    for (int i = 0; i < 2 && rc == 0; i++) {
        n->dims[i] = dims[i];
        rc = wrap_dim(ctx, &n->dims[i], a.ndim);
    }
    if (rc == 0 && n->dims[0] == n->dims[1])
        rc = dp_fail(ctx, DP_ERUNTIME, "%s: dims must be different. Got (%" PRId64 ", %" PRId64 ")",
                     name, n->dims[0], n->dims[1]);
    return rc == 0 ? check_dtype(ctx, a.dtype, n->dtype, name) : rc;
}

static int check_order(dp_ctx *ctx, const norm_order *o)
{
    if (o->name != NULL ? strcmp(o->name, "fro") == 0 || strcmp(o->name, "nuc") == 0
                        : fabs(o->p) == 1 || fabs(o->p) == 2 || isinf(o->p))
        return 0;
    if (o->name != NULL)
        return dp_fail(ctx, DP_ERUNTIME, "linalg.matrix_norm: Order %.100s not supported.",
                       o->name);
    return dp_fail(ctx, DP_ERUNTIME, "linalg.matrix_norm: Order %g not supported.", o->p);
}

/* -- by singular values -- */

/* Move the last dimension of `t`, of size 1, and another of size 1 to the positions of the norm's
 * dimensions; `t` is released. */
static int restore_dims(dp_ctx *ctx, const norm_args *n, dp_tensor *t, dp_tensor **out)
{
    int64_t from[DP_DIM_MAX];
    dp_tensor *wide = NULL;
    int k = 0;
    DP_VIEW(a, n->self);

    for (int d = 0; d < a.ndim; d++)
        if (d == n->dims[0])
            from[d] = a.ndim - 2;
        else
            from[d] = d == n->dims[1] ? a.ndim - 1 : k++;
    int rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", t, (int64_t)-1, &wide);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::permute", "Tli>T", wide, from, (size_t)a.ndim, out);
    dp_tensor_unref(t);
    dp_tensor_unref(wide);
    return rc;
}

/* Set *out, owned, to the singular values of the matrices in the norm's dimensions. */
static int values_of(dp_ctx *ctx, const norm_args *n, dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX];
    dp_tensor *cast = NULL, *permuted = NULL;
    int k = 0, rc;
    DP_VIEW(a, n->self);

    for (int64_t d = 0; d < a.ndim; d++)
        if (d != n->dims[0] && d != n->dims[1])
            dims[k++] = d;
    dims[k++] = n->dims[0];
    dims[k++] = n->dims[1];
    rc = dp_invoke(ctx, "aten::to.dtype", "Ti>T", n->self, n->dtype ? *n->dtype : (int64_t)a.dtype,
                   &cast);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::permute", "Tli>T", cast, dims, (size_t)k, &permuted);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_svdvals", "T>T", permuted, out);
    dp_tensor_unref(cast);
    dp_tensor_unref(permuted);
    return rc;
}

/* Reduce the singular values by `op`: amax, amin or sum. */
static int by_values(dp_ctx *ctx, const norm_args *n, const char *op, dp_tensor **out)
{
    dp_tensor *values = NULL, *made = NULL;
    const int64_t last = -1;
    bool sums = strcmp(op, "aten::sum.dim_IntList") == 0;
    int rc = values_of(ctx, n, &values);

    if (rc == 0)
        rc = dp_invoke(ctx, op, sums ? "Tolib>T" : "Tlib>T", values, &last, (size_t)1,
                       (int)n->keepdim, &made);
    dp_tensor_unref(values);
    if (rc < 0)
        return rc;
    if (n->keepdim)
        return restore_dims(ctx, n, made, out);
    *out = made;
    return 0;
}

/* -- norms by sums of rows or columns -- */

static int by_sums(dp_ctx *ctx, const norm_args *n, double p, dp_tensor **out)
{
    int64_t summed = n->dims[isinf(p) != 0], other = n->dims[isinf(p) == 0];
    dp_tensor *sums = NULL;

    if (!n->keepdim && summed < other)
        other--;
    int rc = dp_invoke(ctx, "aten::linalg_vector_norm", "Tsoliboi>T", n->self, dp_double(1),
                       &summed, (size_t)1, (int)n->keepdim, n->dtype, &sums);
    if (rc == 0)
        rc = dp_invoke(ctx, p > 0 ? "aten::amax" : "aten::amin", "Tlib>T", sums, &other, (size_t)1,
                       (int)n->keepdim, out);
    dp_tensor_unref(sums);
    return rc;
}

int matrix_norm(dp_ctx *ctx, norm_args *n, const norm_order *o, const int64_t *dims, size_t n_dims,
                dp_tensor **out)
{
    bool fro = o->name != NULL && strcmp(o->name, "fro") == 0, nuc = o->name != NULL && !fro,
         two = o->name == NULL && fabs(o->p) == 2;
    int rc = check_order(ctx, o);

    if (rc == 0)
        rc = check_norm(ctx, n, dims, n_dims, nuc || two);
    if (rc < 0)
        return rc;
    if (fro)
        return dp_invoke(ctx, "aten::linalg_vector_norm", "Tsoliboi>T", n->self, dp_int(2), n->dims,
                         (size_t)2, (int)n->keepdim, n->dtype, out);
    if (nuc)
        return by_values(ctx, n, "aten::sum.dim_IntList", out);
    if (two)
        return by_values(ctx, n, o->p > 0 ? "aten::amax" : "aten::amin", out);
    return by_sums(ctx, n, o->p, out);
}

/* Move `made` to output 0, in whose dtype it is. */
static int give_norm(dp_ctx *ctx, int rc, dp_tensor *made, outs *o, const char *name)
{
    if (rc == 0 && o->given) {
        DP_VIEW(x, made);
        DP_VIEW(y, o->t[0]);
        if (x.dtype != y.dtype)
            rc = dp_fail(ctx, DP_ERUNTIME, "%s expected out tensor dtype %s but got: %s", name,
                         linalg_type_name(x.dtype), linalg_type_name(y.dtype));
    }
    return linalg_give(ctx, rc, made, o, name);
}

/* arguments: self, ord, dim, keepdim, dtype */
static int run_matrix_norm(dp_ctx *ctx, const dp_value *args, outs *o)
{
    dp_tensor *made = NULL;
    norm_args n = {.self = args[0].u.t, .keepdim = args[3].u.b, .dtype = optional_int(&args[4])};
    norm_order ord = {0, NULL};

    if (args[1].tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
    if (args[1].tag == DP_TAG_STR)
        ord.name = args[1].u.s;
    else
        ord.p = as_double(args[1]);
    int rc = matrix_norm(ctx, &n, &ord, args[2].u.ints, args[2].len, &made);
    return give_norm(ctx, rc, made, o, "linalg.matrix_norm");
}
OUTS_KERNEL(linalg_matrix_norm, 5, run_matrix_norm)

/* -- linalg.norm -- */

static int check_dims(dp_ctx *ctx, const dp_view *a, const dp_value *dim, bool ord)
{
    char text[DP_SHAPE_TEXT];

    if (dim->tag != DP_TAG_NONE && dim->len != 1 && dim->len != 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.norm: If dim is specified, it must be of length 1 or 2. Got %s",
                       dp_shape_text(text, dim->u.ints, dim->len < DP_DIM_MAX ? dim->len : 0));
    if (dim->tag == DP_TAG_NONE && ord && a->ndim != 1 && a->ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.norm: If dim is not specified but ord is, the input must be 1D or "
                       "2D. Got %dD.",
                       a->ndim);
    return 0;
}

/* arguments: self, ord, dim, keepdim, dtype */
static int run_norm(dp_ctx *ctx, const dp_value *args, outs *o)
{
    static const int64_t both[] = {0, 1};
    const dp_value *dim = &args[2];
    bool named = args[1].tag == DP_TAG_STR, given = args[1].tag != DP_TAG_NONE;
    dp_tensor *made = NULL;
    norm_args n = {.self = args[0].u.t, .keepdim = args[3].u.b, .dtype = optional_int(&args[4])};
    norm_order ord = {0, named ? args[1].u.s : NULL};
    DP_VIEW(a, n.self);
    int rc = check_dims(ctx, &a, dim, given);
    bool matrix =
        given && (named || dim->tag == DP_TAG_NONE ? named || a.ndim == 2 : dim->len == 2);

    if (rc == 0 && matrix && args[1].tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.matrix_norm: Expected a non-complex scalar as the order of norm.");
    if (given && !named)
        ord.p = args[1].tag == DP_TAG_COMPLEX ? 0 : as_double(args[1]);
    if (rc == 0 && matrix)
        rc = matrix_norm(ctx, &n, &ord, dim->tag == DP_TAG_NONE ? both : dim->u.ints,
                         dim->tag == DP_TAG_NONE ? 2 : dim->len, &made);
    else if (rc == 0)
        rc = dp_invoke(ctx, "aten::linalg_vector_norm", "Tsoliboi>T", n.self,
                       given ? args[1] : dp_double(2), dim->tag == DP_TAG_NONE ? NULL : dim->u.ints,
                       (size_t)dim->len, (int)n.keepdim, n.dtype, &made);
    return give_norm(ctx, rc, made, o, "linalg.norm");
}
OUTS_KERNEL(linalg_norm, 5, run_norm)

/* -- nuclear_norm, frobenius_norm -- */

static int nuclear(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, bool keepdim, outs *o)
{
    dp_tensor *made = NULL;
    norm_args n = {.self = self, .keepdim = keepdim};
    DP_VIEW(a, self);
    int rc = 0;

    for (int i = 0; i < 2 && rc == 0; i++) {
        n.dims[i] = dims[i];
        rc = wrap_dim(ctx, &n.dims[i], a.ndim);
    }
    if (rc == 0 && (a.ndim < 2 || n.dims[0] == n.dims[1]))
        rc = dp_fail(ctx, DP_ERUNTIME, "duplicate or invalid dimensions");
    if (rc == 0)
        rc = by_values(ctx, &n, "aten::sum.dim_IntList", &made);
    return linalg_give(ctx, rc, made, o, "nuclear_norm");
}

/* aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor */
static int run_nuclear(dp_ctx *ctx, const dp_value *args, outs *o)
{
    static const int64_t both[] = {0, 1};
    DP_VIEW(a, args[0].u.t);

    if (a.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected a tensor with 2 dimensions, but got a tensor with %d dimension%s "
                       "instead.",
                       a.ndim, a.ndim == 1 ? "" : "s");
    return nuclear(ctx, args[0].u.t, both, args[1].u.b, o);
}
OUTS_KERNEL(nuclear_norm, 2, run_nuclear)

/* aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor */
static int run_nuclear_dim(dp_ctx *ctx, const dp_value *args, outs *o)
{
    if (args[1].len != 2)
        return dp_fail(ctx, DP_ERUNTIME, "nuclear norm requires a 'dim' argument of size 2");
    return nuclear(ctx, args[0].u.t, args[1].u.ints, args[2].u.b, o);
}
OUTS_KERNEL(nuclear_norm_dim, 3, run_nuclear_dim)

/* aten::frobenius_norm(Tensor self) -> Tensor */
static int frobenius_norm(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return dp_invoke(ctx, "aten::norm.Scalar", "Ts>T", self, dp_int(2), out);
}

/* aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor */
static int run_frobenius(dp_ctx *ctx, const dp_value *args, outs *o)
{
    const dp_value *dim = &args[1], two = dp_int(2);
    dp_tensor *made = NULL;
    int64_t d[2];
    DP_VIEW(a, args[0].u.t);
    int rc = 0;

    if (dim->len > 2)
        return dp_fail(ctx, DP_ERUNTIME,
                       "Expected at most 2 dimensions, but got %u dimensions instead.", dim->len);
    for (uint32_t i = 0; i < dim->len && rc == 0; i++) {
        d[i] = dim->u.ints[i];
        rc = wrap_dim(ctx, &d[i], a.ndim);
    }
    if (rc == 0 && dim->len == 2 && d[0] == d[1])
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "Expected dims to be different, got [%" PRId64 ", %" PRId64 "] instead",
                     dim->u.ints[0], dim->u.ints[1]);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::norm.ScalarOpt_dim", "Toslib>T", args[0].u.t, &two, dim->u.ints,
                       (size_t)dim->len, (int)args[2].u.b, &made);
    return linalg_give(ctx, rc, made, o, "frobenius_norm");
}
OUTS_KERNEL(frobenius_norm_dim, 3, run_frobenius)

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL("linalg_matrix_norm", linalg_matrix_norm),
                DP_IMPL("linalg_matrix_norm.out", linalg_matrix_norm),
                DP_IMPL("linalg_matrix_norm.str_ord", linalg_matrix_norm),
                DP_IMPL("linalg_matrix_norm.str_ord_out", linalg_matrix_norm),
                DP_IMPL("linalg_norm", linalg_norm), DP_IMPL("linalg_norm.out", linalg_norm),
                DP_IMPL("linalg_norm.ord_str", linalg_norm),
                DP_IMPL("linalg_norm.ord_str_out", linalg_norm),
                DP_IMPL("nuclear_norm", nuclear_norm), DP_IMPL("nuclear_norm.out", nuclear_norm),
                DP_IMPL("nuclear_norm.dim", nuclear_norm_dim),
                DP_IMPL("nuclear_norm.dim_out", nuclear_norm_dim),
                DP_IMPL_UNBOXED("frobenius_norm", frobenius_norm, (T), (T)),
                DP_IMPL("frobenius_norm.dim", frobenius_norm_dim),
                DP_IMPL("frobenius_norm.out", frobenius_norm_dim))
/* clang-format on */
