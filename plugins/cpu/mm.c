/* mm.c -- products of matrices and vectors: what is checked, and what is added to what (gemm.c computes).
 *
 * Each kernel serves the three forms of its operator: its last parameter points to NULL, to the out=
 * argument, or to self.  Source: aten/src/ATen/native/LinearAlgebra.cpp, Blas.cpp. */
#include "dense.h"
#include "elements.h"
#include "gemm.h"

enum { SMALL = 400 }; /* multiplications below which PyTorch names another kernel in its errors */

#define PRODUCTS                                                                                   \
    (DENSE_NUMBERS | DENSE_BIT(DP_COMPLEX64) | DENSE_BIT(DP_COMPLEX128)) /* all but Half, Bool */

/* out = beta self + alpha a b, of any of the ranks that operators take. */
typedef struct product {
    dp_tensor *self, *a, *b; /* self NULL: alpha a b */
    dp_value beta, alpha;
    dp_dtype dtype; /* of the result; a's and b's differ from it only where nothing is multiplied */
    int ndim;       /* of the result */
    int64_t sizes[3]; /* the batch comes first where there is one */
    int64_t k;
} product;

static bool is_nonzero(dp_value v)
{
    gemm_number n = gemm_scalar(v);
    return n.re != 0 || n.im != 0;
}

/* -- outputs -- */

/* Fails unless t can be expanded to sizes [n]; the messages are at::expand's. */
static int check_expand(dp_ctx *ctx, const dp_tensor *t, int n, const int64_t *sizes)
{
    char have[DP_SHAPE_TEXT], want[DP_SHAPE_TEXT];
    DP_VIEW(v, t);

    for (int i = 0; i < v.ndim; i++) {
        int to = n - v.ndim + i;
        if (to >= 0 && (v.sizes[i] == 1 || v.sizes[i] == sizes[to]))
            continue;
        dp_shape_text(have, v.sizes, (size_t)v.ndim);
        dp_shape_text(want, sizes, (size_t)n);
        if (to < 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must "
                "be greater or equal to the number of dimensions in the tensor (%d)",
                dense_type_name(v.dtype), have, want, n, v.ndim);
        return dp_fail(ctx, DP_ERUNTIME,
                       "The expanded size of the tensor (%lld) must match the existing size "
                       "(%lld) at non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                       (long long)sizes[to], (long long)v.sizes[i], to, want, have);
    }
    return 0;
}

/* at::assert_no_internal_overlap */
static int check_one_each(dp_ctx *ctx, const dp_tensor *t)
{
    if (dp_internal_overlap(t) != 1)
        return 0;
    return dp_refuse(ctx, DP_ERUNTIME,
                     "unsupported operation: more than one element of the written-to tensor refers "
                     "to a single memory location. Please clone() the tensor before performing the "
                     "operation.");
}

/* -- running -- */

static void set_strides(const dp_view *v, int first, int64_t *row, int64_t *col)
{
    *row = v->ndim > first ? v->strides[first] : 0;
    *col = v->ndim > first + 1 ? v->strides[first + 1] : 1;
}

/* Of tensors of a batch: the bytes from one to the next. */
static int64_t batch_step(const dp_view *v, int first)
{
    return first == 0 ? 0 : v->strides[0] * (int64_t)dp_dtype_size(v->dtype);
}

/* c, which has memory and the result's shape, = beta c + alpha a b. */
static int multiply(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);
    DP_VIEW(y, c);
    int first = p->ndim > 2; /* dimension of the rows */
    gemm g = {.dtype = a.dtype,
              .m = p->sizes[first],
              .n = p->ndim > 1 ? p->sizes[first + 1] : 1,
              .k = p->k,
              .a = a.data,
              .b = b.data,
              .c = y.data,
              .alpha = gemm_scalar(p->alpha)};

    if (p->self != NULL)
        g.beta = gemm_scalar(p->beta);
    set_strides(&a, first, &g.a_row, &g.a_col);
    set_strides(&b, first, &g.b_row, &g.b_col);
    set_strides(&y, first, &g.c_row, &g.c_col);
    int rc = gemm_check(ctx, &g);
    return rc < 0 ? rc
                  : gemm_batch(ctx, &g, first ? p->sizes[0] : 1, batch_step(&a, first),
                               batch_step(&b, first), batch_step(&y, first));
}

/* Sums of nothing: c = beta c, of any dtype, bool and float16 too. */
static int scale(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    if (p->self == NULL)
        return dp_invoke(ctx, "aten::zero_", "T>", c);
    return dp_invoke(ctx, "aten::mul_.Scalar", "Ts>", c, p->beta);
}

/* Where the output shares memory with a factor, the product is made aside. */
static int multiply_aside(dp_ctx *ctx, const product *p, dp_tensor *c)
{
    dp_tensor *aside = NULL;
    int rc = dp_empty_like(ctx, c, DP_DTYPE_NONE, DP_CONTIGUOUS, &aside);

    if (rc == 0 && p->self != NULL)
        rc = dp_copy(ctx, aside, c);
    if (rc == 0)
        rc = multiply(ctx, p, aside);
    if (rc == 0)
        rc = dp_copy(ctx, c, aside);
    dp_tensor_unref(aside);
    return rc;
}

/* The caller has checked shapes and dtypes of a and b. */
static int run(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    DP_VIEW(b, p->b);
    int rc = dp_set_output(ctx, out, p->ndim, p->sizes, NULL, p->dtype, b.device);

    if (rc == 0 && !made)
        rc = check_one_each(ctx, *out);
    if (p->self != NULL && !is_nonzero(p->beta))
        p->self = NULL;
    if (rc == 0 && dp_sizes_product(1, p->sizes, (size_t)p->ndim) != 0 && !dp_memoryless(ctx)) {
        if (p->self != NULL && p->self != *out)
            rc = dp_copy(ctx, *out, p->self);
        bool shares = !made && (dp_overlap(*out, p->a) != 0 || dp_overlap(*out, p->b) != 0);
        if (rc == 0)
            rc = p->k == 0 ? scale(ctx, p, *out)
                 : shares  ? multiply_aside(ctx, p, *out)
                           : multiply(ctx, p, *out);
    }
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* -- two matrices -- */

/* What PyTorch looks at only when there is something to multiply. */
static int check_types(dp_ctx *ctx, const product *p, const char *what)
{
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);

    if (a.numel == 0 || b.numel == 0)
        return 0;
    int rc = dense_check_same(ctx, a.dtype, b.dtype);
    if (rc == 0)
        rc = dense_check_type(ctx, what, a.dtype, PRODUCTS);
    if (rc == 0 && p->self != NULL)
        rc = check_fits(ctx, p->beta, a.dtype);
    return rc == 0 ? check_fits(ctx, p->alpha, a.dtype) : rc;
}

static int check_inner(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->sizes[1] == b->sizes[0])
        return 0;
    return dp_fail(ctx, DP_ERUNTIME,
                   "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
                   (long long)a->sizes[0], (long long)a->sizes[1], (long long)b->sizes[0],
                   (long long)b->sizes[1]);
}

/* aten::mm(Tensor self, Tensor mat2) -> Tensor
 * self [n, m], mat2 [m, p] -> [n, p]. */
static int mm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, mat2);

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix", a.ndim != 2 ? "self" : "mat2");
    product p = {.a = self, .b = mat2, .alpha = dp_int(1), .ndim = 2, .k = a.sizes[1]};
    p.sizes[0] = a.sizes[0], p.sizes[1] = b.sizes[1];
    p.dtype = a.dtype;
    int rc = check_inner(ctx, &a, &b);
    if (rc == 0)
        rc = check_types(ctx, &p, "addmm_impl_cpu_");
    return rc == 0 ? run(ctx, &p, out) : rc;
}

/* aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * If beta is 0, self is not read, so that a NaN in it does not count.
 * mat1 [n, m], mat2 [m, p]; self broadcasts to [n, p]. */
static int addmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat1, dp_tensor *mat2, dp_value beta,
                 dp_value alpha, dp_tensor **out)
{
    DP_VIEW(s, self);
    DP_VIEW(a, mat1);
    DP_VIEW(b, mat2);
    product q = {.self = self, .a = mat1, .b = mat2, .beta = beta, .alpha = alpha, .ndim = 2};

    if (a.ndim != 2 || b.ndim != 2)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a matrix, got %d-D tensor",
                       a.ndim != 2 ? "mat1" : "mat2", a.ndim != 2 ? a.ndim : b.ndim);
    int rc = check_inner(ctx, &a, &b);
    if (rc < 0)
        return rc;
    if (s.dtype != b.dtype || a.dtype != b.dtype)
        return dp_fail(
            ctx, DP_ERUNTIME, "%s and mat2 must have the same dtype, but they are %s and %s",
            s.dtype != b.dtype ? "self" : "mat1",
            dense_type_name(s.dtype != b.dtype ? s.dtype : a.dtype), dense_type_name(b.dtype));
    q.sizes[0] = a.sizes[0], q.sizes[1] = b.sizes[1];
    q.k = a.sizes[1];
    q.dtype = a.dtype;
    rc = *out == self ? 0 : check_expand(ctx, self, 2, q.sizes);
    if (rc == 0)
        rc = check_types(ctx, &q, "addmm_impl_cpu_");
    return rc == 0 ? run(ctx, &q, out) : rc;
}

/* -- batches -- */

/* aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)
 *     -> Tensor
 * batch1 [b, n, m], batch2 [b, m, p]; self broadcasts to [b, n, p].  NULL: as bmm. */
static int baddbmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *batch1, dp_tensor *batch2,
                   dp_value beta, dp_value alpha, dp_tensor **out)
{
    DP_VIEW(a, batch1);
    DP_VIEW(b, batch2);
    product p = {.self = self, .a = batch1, .b = batch2, .beta = beta, .alpha = alpha, .ndim = 3};

    if (a.ndim != 3 || b.ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a 3D tensor",
                       a.ndim != 3 ? "batch1" : "batch2");
    if (b.sizes[0] != a.sizes[0] || b.sizes[1] != a.sizes[2])
        return dp_fail(
            ctx, DP_ERUNTIME,
            "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] "
            "but got: [%lld, %lld].",
            (long long)a.sizes[0], (long long)a.sizes[2], (long long)b.sizes[0],
            (long long)b.sizes[1]);
    p.sizes[0] = a.sizes[0], p.sizes[1] = a.sizes[1], p.sizes[2] = b.sizes[2];
    p.k = a.sizes[2];
    p.dtype = b.dtype;
    bool small = (double)p.k * (double)p.sizes[1] * (double)p.sizes[2] < SMALL;
    int rc = self != NULL && *out != self ? check_expand(ctx, self, 3, p.sizes) : 0;
    if (rc == 0)
        rc = check_types(ctx, &p, !small ? "addmm_impl_cpu_" : self ? "baddbmm" : "bmm");
    return rc == 0 ? run(ctx, &p, out) : rc;
}

/* aten::bmm(Tensor self, Tensor mat2) -> Tensor
 * self [b, n, m], mat2 [b, m, p] -> [b, n, p]. */
static int bmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor **out)
{
    return baddbmm(ctx, NULL, self, mat2, dp_int(0), dp_int(1), out);
}

static int check_addbmm(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->ndim != 3 || b->ndim != 3)
        return dp_fail(ctx, DP_ERUNTIME, "%s must be a 3D tensor",
                       a->ndim != 3 ? "batch1" : "batch2");
    if (a->sizes[0] != b->sizes[0])
        return dp_fail(ctx, DP_ERUNTIME,
                       "batch1 and batch2 must have same number of batches, got %lld and %lld",
                       (long long)a->sizes[0], (long long)b->sizes[0]);
    if (a->sizes[2] != b->sizes[1])
        return dp_fail(ctx, DP_ERUNTIME,
                       "Incompatible matrix sizes for bmm (%lldx%lld and %lldx%lld)",
                       (long long)a->sizes[1], (long long)a->sizes[2], (long long)b->sizes[1],
                       (long long)b->sizes[2]);
    return 0;
}

/* The products of a batch, one added to the next; out has the result's shape. */
static int add_batch(dp_ctx *ctx, product *p, int64_t n, dp_tensor *out)
{
    int64_t at_a = dp_tensor_offset(p->a), at_b = dp_tensor_offset(p->b);
    DP_VIEW(a, p->a);
    DP_VIEW(b, p->b);
    int rc = 0;

    for (int64_t i = 0; i < n && rc == 0; i++) {
        product one = *p;
        one.a = one.b = NULL;
        rc = dp_as_strided(ctx, p->a, 2, a.sizes + 1, a.strides + 1, at_a + i * a.strides[0],
                           &one.a);
        if (rc == 0)
            rc = dp_as_strided(ctx, p->b, 2, b.sizes + 1, b.strides + 1, at_b + i * b.strides[0],
                               &one.b);
        if (rc == 0)
            rc = multiply(ctx, &one, out);
        dp_tensor_unref(one.a);
        dp_tensor_unref(one.b);
        p->self = out;
        p->beta = dp_int(1);
    }
    return rc;
}

/* t, or a copy in which sums are not rounded between products. */
static int widened(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    DP_VIEW(v, t);

    if (v.dtype != DP_BFLOAT16) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, DP_FLOAT32, DP_PRESERVE, out);
    return rc == 0 ? dp_copy(ctx, *out, t) : rc;
}

/* sum, of the class, = beta self + alpha times the products. */
static int sum_batch(dp_ctx *ctx, product *p, dp_tensor *sum)
{
    dp_tensor *a = NULL, *b = NULL;
    DP_VIEW(x, p->a);
    int rc = widened(ctx, p->a, &a);

    if (rc == 0)
        rc = widened(ctx, p->b, &b);
    if (rc == 0 && p->self != NULL)
        rc = dp_copy(ctx, sum, p->self);
    if (rc == 0 && dp_sizes_product(1, p->sizes, 2) != 0 && !dp_memoryless(ctx)) {
        p->a = a, p->b = b;
        rc = p->k == 0 ? scale(ctx, p, sum) : add_batch(ctx, p, x.sizes[0], sum);
    }
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* Of no batches: beta self, whatever the dtypes. */
static int addbmm_nothing(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    DP_VIEW(x, p->self);
    int rc = dp_set_output(ctx, out, 2, p->sizes, NULL, made ? x.dtype : DP_DTYPE_NONE, x.device);

    if (rc == 0 && !made)
        rc = check_one_each(ctx, *out);
    if (rc == 0 && !is_nonzero(p->beta))
        p->self = NULL;
    else if (rc == 0 && p->self != *out)
        rc = dp_copy(ctx, *out, p->self);
    if (rc == 0)
        rc = scale(ctx, p, *out);
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * batch1 [b, n, m], batch2 [b, m, p]; self broadcasts to [n, p], to which all products are added. */
static int addbmm(dp_ctx *ctx, dp_tensor *self, dp_tensor *batch1, dp_tensor *batch2, dp_value beta,
                  dp_value alpha, dp_tensor **out)
{
    dp_tensor *sum = NULL;
    DP_VIEW(s, self);
    DP_VIEW(a, batch1);
    DP_VIEW(b, batch2);
    product p = {.self = self, .a = batch1, .b = batch2, .beta = beta, .alpha = alpha, .ndim = 2};
    bool made = *out == NULL;
    int rc = check_addbmm(ctx, &a, &b);

    if (rc < 0)
        return rc;
    p.sizes[0] = a.sizes[1], p.sizes[1] = b.sizes[2];
    p.k = a.sizes[2];
    rc = check_expand(ctx, self, 2, p.sizes);
    if (rc == 0 && a.sizes[0] == 0)
        return addbmm_nothing(ctx, &p, out);
    if (rc == 0 && (s.dtype != b.dtype || a.dtype != b.dtype))
        rc = dp_fail(ctx, DP_ERUNTIME, "%s and mat2 must have the same dtype",
                     s.dtype != b.dtype ? "self" : "mat1");
    if (rc == 0)
        rc = check_types(ctx, &p, "addmm_impl_cpu_");
    if (!is_nonzero(beta))
        p.self = NULL;
    if (rc == 0)
        rc = dp_empty(ctx, a.dtype == DP_BFLOAT16 ? DP_FLOAT32 : a.dtype, a.device, 2, p.sizes,
                      DP_CONTIGUOUS, &sum);
    if (rc == 0)
        rc = dp_set_output(ctx, out, 2, p.sizes, NULL, a.dtype, a.device);
    if (rc == 0)
        rc = sum_batch(ctx, &p, sum);
    if (rc == 0)
        rc = dp_copy(ctx, *out, sum);
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    dp_tensor_unref(sum);
    return rc;
}

/* -- vectors -- */

/* Without anything to multiply: beta self, as mul.out has it. */
static int addmv_nothing(dp_ctx *ctx, product *p, dp_tensor **out)
{
    bool made = *out == NULL;
    dp_tensor *beta = NULL;
    DP_VIEW(x, p->self);
    int rc = dp_set_output(ctx, out, 1, p->sizes, NULL, p->dtype, x.device);

    if (rc == 0 && !made)
        rc = check_one_each(ctx, *out);
    if (rc == 0 && !is_nonzero(p->beta)) {
        rc = dp_invoke(ctx, "aten::zero_", "T>", *out);
    } else if (rc == 0) {
        dp_tensor *wide = NULL;
        rc = dp_scalar_tensor(ctx, p->beta, x.dtype, &beta);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::expand", "Tli>T", p->self, p->sizes, (size_t)1, &wide);
        if (rc == 0)
            rc = dp_invoke(ctx, "aten::mul.out", "TTT>", wide, beta, *out);
        dp_tensor_unref(wide);
    }
    if (rc < 0 && made)
        *out = dp_tensor_unref(*out);
    dp_tensor_unref(beta);
    return rc;
}

/* aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
 * mat [n, m], vec [m]; self broadcasts to [n]. */
static int addmv(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat, dp_tensor *vec, dp_value beta,
                 dp_value alpha, dp_tensor **out)
{
    DP_VIEW(s, self);
    DP_VIEW(a, mat);
    DP_VIEW(b, vec);
    product p = {.self = self, .a = mat, .b = vec, .beta = beta, .alpha = alpha, .ndim = 1};

    if (a.ndim != 2 || b.ndim != 1 || s.ndim > 1)
        return dp_fail(ctx, DP_ERUNTIME, "vector + matrix @ vector expected, got %d, %d, %d",
                       s.ndim, a.ndim, b.ndim);
    if (a.sizes[1] != b.sizes[0] || (a.sizes[0] != s.numel && s.numel != 1))
        return dp_fail(ctx, DP_ERUNTIME, "size mismatch, got %lld, %lldx%lld,%lld",
                       (long long)s.numel, (long long)a.sizes[0], (long long)a.sizes[1],
                       (long long)b.sizes[0]);
    p.sizes[0] = a.sizes[0];
    p.k = a.sizes[1];
    p.dtype = b.dtype;
    if (a.numel == 0)
        return addmv_nothing(ctx, &p, out);
    int rc = check_types(ctx, &p, "addmv_impl_cpu");
    return rc == 0 ? run(ctx, &p, out) : rc;
}

/* What dot and vdot say of their arguments. */
static int check_dot(dp_ctx *ctx, const dp_view *a, const dp_view *b)
{
    if (a->ndim != 1 || b->ndim != 1)
        return dp_fail(ctx, DP_ERUNTIME, "1D tensors expected, but got %dD and %dD tensors",
                       a->ndim, b->ndim);
    if (a->dtype != b->dtype)
        return dp_fail(ctx, DP_ERUNTIME,
                       "dot : expected both vectors to have same dtype, but found %s and %s",
                       dense_type_name(a->dtype), dense_type_name(b->dtype));
    if (a->numel != b->numel)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the "
            "same number of elements, but got %lld and %lld elements respectively",
            (long long)a->numel, (long long)b->numel, (long long)a->numel, (long long)b->numel);
    return dense_check_type(ctx, "dot", a->dtype, PRODUCTS);
}

/* aten::dot(Tensor self, Tensor tensor) -> Tensor
 * self [n], tensor [n] -> []. */
static int dot(dp_ctx *ctx, dp_tensor *self, dp_tensor *tensor, dp_tensor **out)
{
    DP_VIEW(a, self);
    DP_VIEW(b, tensor);
    int rc = check_dot(ctx, &a, &b);

    if (rc == 0)
        rc = dp_empty(ctx, a.dtype, a.device, 0, NULL, DP_CONTIGUOUS, out);
    if (rc < 0 || dp_memoryless(ctx))
        return rc;
    DP_VIEW(y, *out);
    gemm g = {.dtype = a.dtype, .m = 1, .n = 1, .k = a.numel, .alpha = {1, 0, 1}};
    g.a = a.data, g.a_col = a.strides[0];
    g.b = b.data, g.b_row = b.strides[0];
    g.c = y.data, g.c_col = 1;
    rc = gemm_check(ctx, &g);
    if (rc == 0)
        rc = gemm_batch(ctx, &g, 1, 0, 0, 0);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::vdot(Tensor self, Tensor other) -> Tensor
 * The first one's conjugate is taken. */
static int vdot(dp_ctx *ctx, dp_tensor *self, dp_tensor *other, dp_tensor **out)
{
    dp_tensor *conjugate = NULL;
    DP_VIEW(a, self);
    DP_VIEW(b, other);
    int rc = check_dot(ctx, &a, &b);

    if (rc < 0 || !dp_dtype_is_complex(a.dtype) || dp_memoryless(ctx))
        return rc < 0 ? rc : dot(ctx, self, other, out);
    rc = dp_empty_like(ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &conjugate);
    if (rc == 0)
        rc = dp_copy(ctx, conjugate, self);
    if (rc == 0) {
        DP_VIEW(c, conjugate);
        for (int64_t i = 0; i < c.numel; i++)
            if (c.dtype == DP_COMPLEX64)
                ((float *)c.data)[2 * i + 1] *= -1;
            else
                ((double *)c.data)[2 * i + 1] *= -1;
        rc = dot(ctx, conjugate, other, out);
    }
    dp_tensor_unref(conjugate);
    return rc;
}

/* -- the other forms -- */

static int mm_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor *out)
{
    return mm(ctx, self, mat2, &out);
}

static int bmm_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mat2, dp_tensor *out)
{
    return bmm(ctx, self, mat2, &out);
}

#define FORMS(name)                                                                                \
    static int name##_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b, dp_value beta, \
                          dp_value alpha, dp_tensor *out)                                          \
    {                                                                                              \
        return name(ctx, self, a, b, beta, alpha, &out);                                           \
    }                                                                                              \
    static int name##_in_place(dp_ctx *ctx, dp_tensor *self, dp_tensor *a, dp_tensor *b,           \
                               dp_value beta, dp_value alpha)                                      \
    {                                                                                              \
        return name(ctx, self, a, b, beta, alpha, &self);                                          \
    }
FORMS(addmm)
FORMS(baddbmm)
FORMS(addbmm)
FORMS(addmv)

#define IMPL_FORMS(name)                                                                           \
    DP_IMPL_UNBOXED(#name, name, (T, T, T, s, s), (T)),                                            \
        DP_IMPL_UNBOXED(#name ".out", name##_out, (T, T, T, s, s, T), ()),                         \
        DP_IMPL_UNBOXED(#name "_", name##_in_place, (T, T, T, s, s), ())

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("mm", mm, (T, T), (T)),
                DP_IMPL_UNBOXED("mm.out", mm_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("bmm", bmm, (T, T), (T)),
                DP_IMPL_UNBOXED("bmm.out", bmm_out, (T, T, T), ()), IMPL_FORMS(addmm),
                IMPL_FORMS(baddbmm), IMPL_FORMS(addbmm), IMPL_FORMS(addmv),
                DP_IMPL_UNBOXED("dot", dot, (T, T), (T)),
                DP_IMPL_UNBOXED("vdot", vdot, (T, T), (T)))
