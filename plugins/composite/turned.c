/* turned.c -- transposes by their short names, and other shapes by way of views: tile, diagflat, fill_diagonal_
 * (aten/src/ATen/native/TensorShape.cpp, LinearAlgebra.cpp, Fill.cpp). */
#include "chain.h"
#include <string.h>

/* -- transposes -- */

/* aten::numpy_T(Tensor(a) self) -> Tensor(a)
 * All dimensions the other way round. */
static int numpy_T(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t dims[DP_DIM_MAX];
    DP_VIEW(x, self);

    if (x.ndim != 2 && x.ndim != 0)
        dp_warn(ctx,
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
                "deprecated and it will throw an error in a future release.");
    for (int d = 0; d < x.ndim; d++)
        dims[d] = x.ndim - 1 - d;
    return dp_invoke(ctx, "aten::permute", "Tli>T", self, dims, (size_t)x.ndim, out);
}

/* The last two dimensions change places; conjugate: of complex numbers. */
static int adjoint_of(dp_ctx *ctx, const char *name, dp_tensor *self, bool conjugate,
                      dp_tensor **out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim == 1)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "tensor.%s is only supported on matrices or batches of matrices. Got 1-D tensor.",
            name);
    if (x.ndim == 0 && !(conjugate && dp_dtype_is_complex(x.dtype)))
        return dp_invoke(ctx, "aten::alias", "T>T", self, out);
    if (x.ndim > 0)
        self = CHAIN(&c, "aten::transpose.int", "Tii>T", self, (int64_t)-2, (int64_t)-1);
    if (conjugate && dp_dtype_is_complex(x.dtype))
        self = CHAIN(&c, "aten::conj", "T>T", self);
    return chain_end(&c, self, out);
}

/* aten::mT(Tensor(a) self) -> Tensor(a) */
static int mT(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "mT", self, false, out);
}

/* aten::mH(Tensor(a) self) -> Tensor(a) */
static int mH(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "mH", self, true, out);
}

/* aten::adjoint(Tensor(a) self) -> Tensor(a) */
static int adjoint(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    return adjoint_of(ctx, "adjoint()", self, true, out);
}

/* aten::matrix_H(Tensor(a) self) -> Tensor(a) */
static int matrix_H(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.ndim == 2 || x.ndim == 0)
        return adjoint_of(ctx, "H", self, true, out);
    return dp_fail(ctx, DP_ERUNTIME,
                   "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor.%s",
                   x.ndim, x.ndim > 2 ? " For batches of matrices, consider using tensor.mH" : "");
}

/* aten::fliplr(Tensor self) -> Tensor
 * aten::flipud(Tensor self) -> Tensor */
#define FLIP(name, dim, least)                                                                     \
    static int name(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)                                 \
    {                                                                                              \
        int64_t d = dim;                                                                           \
        DP_VIEW(x, self);                                                                          \
        if (x.ndim < (least))                                                                      \
            return dp_fail(ctx, DP_ERUNTIME, "Input must be >= %d-d.", least);                     \
        return dp_invoke(ctx, "aten::flip", "Tli>T", self, &d, (size_t)1, out);                    \
    }
FLIP(fliplr, 1, 2)
FLIP(flipud, 0, 1)

/* -- flat and repeated -- */

/* aten::ravel(Tensor(a) self) -> Tensor(a) */
static int ravel(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    int64_t any = -1;
    chain c = {.ctx = ctx};
    dp_tensor *t = CHAIN(&c, "aten::contiguous", "T>T", self);

    return chain_end(&c, CHAIN(&c, "aten::view", "Tli>T", t, &any, (size_t)1), out);
}

/* aten::diagflat(Tensor self, int offset=0) -> Tensor */
static int diagflat(dp_ctx *ctx, dp_tensor *self, int64_t offset, dp_tensor **out)
{
    int64_t any = -1;
    chain c = {.ctx = ctx};
    dp_tensor *t = CHAIN(&c, "aten::reshape", "Tli>T", self, &any, (size_t)1);

    return chain_end(&c, CHAIN(&c, "aten::diag", "Ti>T", t, offset), out);
}

/* aten::tile(Tensor self, int[] dims) -> Tensor
 * repeat; dims that are missing in front are 1. */
static int tile(dp_ctx *ctx, dp_tensor *self, const int64_t *dims, size_t n, dp_tensor **out)
{
    int64_t repeats[DP_DIM_MAX];
    DP_VIEW(x, self);
    size_t missing = n < (size_t)x.ndim ? (size_t)x.ndim - n : 0;

    if (missing == 0)
        return dp_invoke(ctx, "aten::repeat", "Tli>T", self, dims, n, out);
    for (size_t i = 0; i < (size_t)x.ndim; i++)
        repeats[i] = i < missing ? 1 : dims[i - missing];
    return dp_invoke(ctx, "aten::repeat", "Tli>T", self, repeats, (size_t)x.ndim, out);
}

/* aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a) */
static int narrow_at(dp_ctx *ctx, dp_tensor *self, int64_t dim, dp_tensor *start, int64_t length,
                     dp_tensor **out)
{
    dp_value at = dp_none();
    DP_VIEW(s, start);

    if (s.ndim != 0 || !dp_dtype_is_integral(s.dtype, false))
        return dp_fail(ctx, DP_ERUNTIME, "start must be an 0-dim integral Tensor.");
    int rc = dp_invoke(ctx, "aten::item", "T>s", start, &at);
    return rc < 0 ? rc
                  : dp_invoke(ctx, "aten::narrow", "Tiii>T", self, dim, as_int(at), length, out);
}

/* -- fill_diagonal_ -- */

/* n elements of self, `stride` apart, from `offset` on, are set. */
static int fill_line(dp_ctx *ctx, dp_tensor *self, int64_t n, int64_t stride, int64_t offset,
                     dp_value value)
{
    dp_tensor *line;
    int rc = dp_as_strided(ctx, self, 1, &n, &stride, dp_tensor_offset(self) + offset, &line);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::fill_.Scalar", "Ts>", line, value);
    dp_tensor_unref(line);
    return rc;
}

/* aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)
 * wrap: of a tall matrix, it begins again below. */
static int fill_diagonal(dp_ctx *ctx, dp_tensor *self, dp_value value, bool wrap)
{
    int64_t stride = 0;
    DP_VIEW(x, self);

    if (x.ndim < 2)
        return dp_refuse(ctx, DP_ERUNTIME, "dimensions must larger than 1");
    for (int d = 1; x.ndim > 2 && d < x.ndim; d++)
        if (x.sizes[d] != x.sizes[0])
            return dp_refuse(ctx, DP_ERUNTIME, "all dimensions of input must be of equal length");
    for (int d = 0; d < x.ndim; d++)
        stride += x.strides[d];
    int64_t height = x.sizes[0], width = x.sizes[1], n = height < width ? height : width;
    int rc = fill_line(ctx, self, n, stride, 0, value);
    if (rc < 0 || !wrap || x.ndim > 2 || height <= width + 1)
        return rc;
    int64_t more = (x.numel + width) / (width + 1) - n;
    return fill_line(ctx, self, more, stride, x.strides[0] * (width + 1), value);
}

/* -- where -- */

/* aten::nonzero_numpy(Tensor self) -> Tensor[] */
static int nonzero_numpy(dp_ctx *ctx, dp_tensor *self, dp_value *out)
{
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (x.ndim == 0)
        self = CHAIN(&c, "aten::unsqueeze", "Ti>T", self, (int64_t)0);
    dp_tensor *places = CHAIN(&c, "aten::nonzero", "T>T", self);
    if (c.rc == 0)
        c.rc = dp_invoke(ctx, "aten::unbind.int", "Ti>lT", places, (int64_t)1, out);
    return chain_end(&c, NULL, NULL);
}

/* -- sum_to_size -- */

static bool expands_to(const dp_view *x, const int64_t *sizes, size_t n)
{
    bool fits = n <= (size_t)x->ndim;

    for (size_t i = 0; fits && i < n; i++) {
        int64_t own = x->sizes[(size_t)x->ndim - n + i];
        fits = sizes[i] == own || sizes[i] == 1;
    }
    return fits;
}

/* aten::sum_to_size(Tensor self, int[] size) -> Tensor
 * Over the dimensions by which `size` would be expanded to self's. */
static int sum_to_size(dp_ctx *ctx, dp_tensor *self, const int64_t *size, size_t n, dp_tensor **out)
{
    char a[DP_SHAPE_TEXT], b[DP_SHAPE_TEXT];
    int64_t dims[DP_DIM_MAX];
    size_t n_dims = 0;
    chain c = {.ctx = ctx};
    DP_VIEW(x, self);

    if (!expands_to(&x, size, n))
        return dp_fail(ctx, DP_ERUNTIME, "size {%s} is not expandable to size {%s}.",
                       dp_shape_text(a, size, n), dp_shape_text(b, x.sizes, (size_t)x.ndim));
    size_t leading = (size_t)x.ndim - n;
    if (n == 0)
        return dp_invoke(ctx, "aten::sum", "T>T", self, out);
    for (size_t d = 0; d < (size_t)x.ndim; d++)
        if (d < leading || (size[d - leading] == 1 && x.sizes[d] != 1))
            dims[n_dims++] = (int64_t)d;
    if (n_dims > 0)
        self = CHAIN(&c, "aten::sum.dim_IntList", "Tolib>T", self, dims, n_dims, (int)true);
    if (leading > 0)
        self = CHAIN(&c, "aten::view", "Tli>T", self, size, n);
    return chain_end(&c, self, out);
}

DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("numpy_T", numpy_T, (T), (T)),
                DP_IMPL_UNBOXED("mT", mT, (T), (T)), DP_IMPL_UNBOXED("mH", mH, (T), (T)),
                DP_IMPL_UNBOXED("adjoint", adjoint, (T), (T)),
                DP_IMPL_UNBOXED("matrix_H", matrix_H, (T), (T)),
                DP_IMPL_UNBOXED("fliplr", fliplr, (T), (T)),
                DP_IMPL_UNBOXED("flipud", flipud, (T), (T)),
                DP_IMPL_UNBOXED("ravel", ravel, (T), (T)),
                DP_IMPL_UNBOXED("diagflat", diagflat, (T, i), (T)),
                DP_IMPL_UNBOXED("tile", tile, (T, li), (T)),
                DP_IMPL_UNBOXED("narrow.Tensor", narrow_at, (T, i, T, i), (T)),
                DP_IMPL_UNBOXED("fill_diagonal_", fill_diagonal, (T, s, b), ()),
                DP_IMPL_UNBOXED("nonzero_numpy", nonzero_numpy, (T), (lT)),
                DP_IMPL_UNBOXED("sum_to_size", sum_to_size, (T, li), (T)))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("where", nonzero_numpy, (T), (lT)))
