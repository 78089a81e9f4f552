/* vector_norm.c -- vector norms of any order, in the operators norm and linalg_vector_norm
 * (aten/src/ATen/native/{LinearAlgebra,ReduceOps}.cpp). */
#include "core/dense.h"
#include "reduce.h"

static const rd_op *norm_of(double p)
{
    return p == 0           ? &rd_norm_0
           : p == 1         ? &rd_norm_1
           : p == 2         ? &rd_norm_2
           : p == INFINITY  ? &rd_norm_max
           : p == -INFINITY ? &rd_norm_min
                            : &rd_norm_p;
}

static bool is_inexact(dp_dtype d)
{
    return dp_dtype_is_floating(d) || dp_dtype_is_complex(d);
}

static int run_norm(dp_ctx *ctx, const dp_value *p, rd_args *a, dp_tensor **out)
{
    DP_VIEW(x, a->self);
    dp_dtype d = a->dtype ? (dp_dtype)*a->dtype : x.dtype;

    if (p != NULL && p->tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME, "norm(): the order is a complex number");
    if (!is_inexact(d))
        return dp_fail(ctx, DP_ERUNTIME,
                       "norm(): input dtype should be either floating point or complex. Got %s "
                       "instead.",
                       dense_type_name(d));
    a->p = p ? (float)as_double(*p) : 2; /* norm_kernel of ReduceOpsKernel.cpp uses a float */
    return rd_run(ctx, norm_of(a->p), a, out);
}

/* aten::norm.out(Tensor self, Scalar? p, int[1] dim, bool keepdim=False, *, Tensor(a!) out)
 *     -> Tensor(a!) */
static int norm_out(dp_ctx *ctx, dp_tensor *self, const dp_value *p, const int64_t *dim, size_t n,
                    bool keepdim, dp_tensor *out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim};
    return run_norm(ctx, p, &a, &out);
}

/* aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor */
static int norm_dim(dp_ctx *ctx, dp_tensor *self, const dp_value *p, const int64_t *dim, size_t n,
                    bool keepdim, dp_tensor **out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim};
    *out = NULL;
    return run_norm(ctx, p, &a, out);
}

/* aten::norm.dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype,
 *     Tensor(a!) out) -> Tensor(a!) */
static int norm_dtype_out(dp_ctx *ctx, dp_tensor *self, const dp_value *p, const int64_t *dim,
                          size_t n, bool keepdim, int64_t dtype, dp_tensor *out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim, .dtype = &dtype};
    return run_norm(ctx, p, &a, &out);
}

/* aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *,
 *     ScalarType dtype) -> Tensor */
static int norm_dim_dtype(dp_ctx *ctx, dp_tensor *self, const dp_value *p, const int64_t *dim,
                          size_t n, bool keepdim, int64_t dtype, dp_tensor **out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim, .dtype = &dtype};
    *out = NULL;
    return run_norm(ctx, p, &a, out);
}

/* If the order `p` is infinite or negative, check that no reduced dimension has size 0, because
 * these norms have no identity.  DP_ERUNTIME: a reduced dimension has size 0. */
static int check_vector(dp_ctx *ctx, const dp_view *x, double p, const rd_args *a)
{
    bool empty = a->n_dims == 0;

    if (x->numel > 0 || (p >= 0 && p != INFINITY))
        return 0;
    for (size_t i = 0; i < a->n_dims; i++) {
        int64_t d = a->dims[i];
        int rc = wrap_dim(ctx, &d, x->ndim);
        if (rc < 0)
            return rc;
        empty |= x->ndim > 0 && x->sizes[d] == 0;
    }
    if (!empty)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "linalg.vector_norm cannot compute the %g norm on an empty %s because the "
                   "operation does not have an identity",
                   p, a->n_dims ? "dimension" : "tensor");
}

/* Check the dtypes of self and of the result, as at::native::linalg_vector_norm does. */
static int check_vector_dtype(dp_ctx *ctx, dp_dtype own, const int64_t *dtype)
{
    dp_dtype d = dtype ? (dp_dtype)*dtype : own;

    if (!is_inexact(own))
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.vector_norm: Expected a floating point or complex tensor as input. "
                       "Got %s",
                       dense_type_name(own));
    if (dtype == NULL)
        return 0;
    if (!is_inexact(d) || dp_dtype_is_complex(d) != dp_dtype_is_complex(own))
        return dp_fail(ctx, DP_ERUNTIME, "linalg.vector_norm: dtype should be %s, but got %s",
                       dp_dtype_is_complex(own) ? "complex" : "floating point", dense_type_name(d));
    if (dp_promote_types(own, d) != d)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.vector_norm: the dtype of the input (%s) should be convertible "
                       "without narrowing to the specified dtype (%s)",
                       dense_type_name(own), dense_type_name(d));
    return 0;
}

static int run_vector_norm(dp_ctx *ctx, dp_value ord, rd_args *a, dp_tensor **out)
{
    DP_VIEW(x, a->self);

    if (ord.tag == DP_TAG_COMPLEX)
        return dp_fail(ctx, DP_ERUNTIME,
                       "linalg.vector_norm: Expected a non-complex scalar as the "
                       "order of norm");
    a->p = (float)as_double(ord);
    a->dims_in_turn = true;
    int rc = is_inexact(x.dtype) ? check_vector(ctx, &x, as_double(ord), a) : 0;
    if (rc == 0)
        rc = check_vector_dtype(ctx, x.dtype, a->dtype);
    return rc == 0 ? rd_run(ctx, norm_of(a->p), a, out) : rc;
}

/* aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *,
 *     ScalarType? dtype=None) -> Tensor */
static int vector_norm(dp_ctx *ctx, dp_tensor *self, dp_value ord, const int64_t *dim, size_t n,
                       bool keepdim, const int64_t *dtype, dp_tensor **out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim, .dtype = dtype};
    *out = NULL;
    return run_vector_norm(ctx, ord, &a, out);
}

static int vector_norm_out(dp_ctx *ctx, dp_tensor *self, dp_value ord, const int64_t *dim, size_t n,
                           bool keepdim, const int64_t *dtype, dp_tensor *out)
{
    rd_args a = {.self = self, .dims = dim, .n_dims = n, .keepdim = keepdim, .dtype = dtype};
    return run_vector_norm(ctx, ord, &a, &out);
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("norm.out", norm_out, (T, os, li, b, T), ()),
                DP_IMPL_UNBOXED("norm.ScalarOpt_dim", norm_dim, (T, os, li, b), (T)),
                DP_IMPL_UNBOXED("norm.dtype_out", norm_dtype_out, (T, os, li, b, i, T), ()),
                DP_IMPL_UNBOXED("norm.ScalarOpt_dim_dtype", norm_dim_dtype, (T, os, li, b, i), (T)),
                DP_IMPL_UNBOXED("linalg_vector_norm", vector_norm, (T, s, oli, b, oi), (T)),
                DP_IMPL_UNBOXED("linalg_vector_norm.out", vector_norm_out, (T, s, oli, b, oi, T),
                                ()))
