/* stack.c -- stack and its variants, which call cat, and atleast_*d
 * (aten/src/ATen/native/TensorShape.cpp, TensorTransformations.cpp).
 *
 * Operators: atleast_1d, atleast_2d, atleast_3d, column_stack, dstack, hstack, _stack, stack,
 * vstack. */
#include "core/chain.h"
#include "core/list.h"
#include <string.h>

/* -- stack -- */

/* Check the tensors, and wrap *dim. */
static int check_stack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t *dim)
{
    char first[DP_SHAPE_TEXT], other[DP_SHAPE_TEXT];

    if (n == 0)
        return dp_fail(ctx, DP_ERUNTIME, "stack expects a non-empty TensorList");
    DP_VIEW(x, tensors[0]);
    for (size_t i = 1; i < n; i++) {
        DP_VIEW(y, tensors[i]);
        if (y.ndim != x.ndim || memcmp(y.sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0)
            return dp_fail(
                ctx, DP_ERUNTIME,
                "stack expects each tensor to be equal size, but got %s at entry 0 and %s "
                "at entry %zu",
                dp_shape_text(first, x.sizes, (size_t)x.ndim),
                dp_shape_text(other, y.sizes, (size_t)y.ndim), i);
    }
    return x.ndim == DP_DIM_MAX ? check_ndim(ctx, DP_DIM_MAX + 1) : wrap_dim(ctx, dim, x.ndim + 1);
}

/* Add a dimension of size 1 to each tensor, and concatenate them along it, into *out; NULL: a new
 * tensor. */
static int stack_rows(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                      dp_tensor **out)
{
    size_t made = 0;
    int rc = 0;
    dp_tensor **rows = dp_alloc_n(ctx, n, sizeof(dp_tensor *));

    if (rows == NULL)
        return DP_ERESOURCE;
    for (; rc == 0 && made < n; made += rc == 0)
        rc = dp_invoke(ctx, "aten::unsqueeze", "Ti>T", tensors[made], dim, &rows[made]);
    if (rc == 0)
        rc = *out ? dp_invoke(ctx, "aten::cat.out", "lTiT>", rows, n, dim, *out)
                  : dp_invoke(ctx, "aten::cat", "lTi>T", rows, n, dim, out);
    for (size_t i = 0; i < made; i++)
        dp_tensor_unref(rows[i]);
    return rc;
}

/* Concatenate the tensors in their own memory format, and split dim by a view. */
static int stack_parts(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                       dp_tensor **out)
{
    int64_t sizes[DP_DIM_MAX];
    dp_tensor *joined;
    DP_VIEW(x, tensors[0]);
    int rc = dp_invoke(ctx, "aten::cat", "lTi>T", tensors, n, dim, &joined);

    if (rc < 0)
        return rc;
    dp_copy_n(sizes, x.sizes, (size_t)dim, sizeof(int64_t));
    sizes[dim] = (int64_t)n;
    dp_copy_n(sizes + dim + 1, x.sizes + dim, (size_t)(x.ndim - dim), sizeof(int64_t));
    rc = dp_invoke(ctx, "aten::view", "Tli>T", joined, sizes, (size_t)x.ndim + 1, out);
    dp_tensor_unref(joined);
    return rc;
}

/* aten::stack(Tensor[] tensors, int dim=0) -> Tensor */
static int stack(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor **out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    if (rc < 0)
        return rc;
    DP_VIEW(x, tensors[0]);
    *out = NULL; /* there is no dimension to split after the last one */
    return dim < x.ndim ? stack_parts(ctx, tensors, n, dim, out)
                        : stack_rows(ctx, tensors, n, dim, out);
}

/* aten::stack.out(Tensor[] tensors, int dim=0, *, Tensor(a!) out) -> Tensor(a!) */
static int stack_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim, dp_tensor *out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : stack_rows(ctx, tensors, n, dim, &out);
}

/* aten::_stack(Tensor[] tensors, int dim=0) -> Tensor: in the order of the rows */
static int stack_in_order(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int64_t dim,
                          dp_tensor **out)
{
    int rc = check_stack(ctx, tensors, n, &dim);

    *out = NULL;
    return rc < 0 ? rc : stack_rows(ctx, tensors, n, dim, out);
}

#define STACKS(key)                                                                                \
    DP_LIBRARY_META(aten, key, DP_IMPL_UNBOXED("_stack", stack_in_order, (lT, i), (T)),            \
                    DP_IMPL_UNBOXED("_stack.out", stack_out, (lT, i, T), ()))
STACKS(CPU)
STACKS(CompositeExplicitAutograd)

/* -- atleast_1d, atleast_2d, atleast_3d -- */

/* Set *out, owned, to `t` with at least `n` dimensions: a vector becomes a row, a matrix a
 * plane. */
static int at_least(dp_ctx *ctx, dp_tensor *t, int n, dp_tensor **out)
{
    int64_t ones[3] = {1, 1, 1};
    chain c = {.ctx = ctx};
    DP_VIEW(x, t);

    if (x.ndim >= n) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    if (x.ndim == 0)
        return dp_invoke(ctx, "aten::reshape", "Tli>T", t, ones, (size_t)n, out);
    if (x.ndim == 1)
        t = CHAIN(&c, "aten::unsqueeze", "Ti>T", t, (int64_t)0);
    if (n == 3)
        t = CHAIN(&c, "aten::unsqueeze", "Ti>T", t, (int64_t)-1);
    return chain_end(&c, t, out);
}

static list all_at_least(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, int least)
{
    list l = list_of(ctx, n);

    for (size_t i = 0; l.rc == 0 && i < n; i++)
        list_made(&l, at_least(ctx, tensors[i], least, list_next(&l)));
    return l;
}

/* aten::atleast_1d(Tensor self) -> Tensor
 * aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[] */
#define AT_LEAST(n)                                                                                \
    static int atleast_##n(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)                          \
    {                                                                                              \
        return at_least(ctx, self, n, out);                                                        \
    }                                                                                              \
    static int atleast_##n##_all(dp_ctx *ctx, dp_tensor *const *tensors, size_t count,             \
                                 dp_value *out)                                                    \
    {                                                                                              \
        list l = all_at_least(ctx, tensors, count, n);                                             \
        return list_end(&l, out);                                                                  \
    }
AT_LEAST(1)
AT_LEAST(2)
AT_LEAST(3)

/* -- stacks -- */

static int check_some(dp_ctx *ctx, const char *name, size_t n)
{
    return n > 0 ? 0 : dp_fail(ctx, DP_ERUNTIME, "%s expects a non-empty TensorList", name);
}

/* Concatenate tensors of at least `least` dimensions: columns, rows or planes; vectors along their
 * only dimension.  *out NULL: a new tensor. */
static int write_stack(dp_ctx *ctx, const char *name, dp_tensor *const *tensors, size_t n,
                       int least, dp_tensor **out)
{
    int rc = check_some(ctx, name, n);

    if (rc < 0)
        return rc;
    list l = all_at_least(ctx, tensors, n, least);
    DP_VIEW(first, tensors[0]);
    return list_cat(&l, least == 1 ? first.ndim > 1 : least == 2 ? 0 : 2, out);
}

/* Concatenate vectors and numbers as columns. */
static int write_columns(dp_ctx *ctx, const char *name, dp_tensor *const *tensors, size_t n,
                         int least, dp_tensor **out)
{
    int rc = check_some(ctx, name, n);

    (void)least;
    if (rc < 0)
        return rc;
    list l = list_of(ctx, n);
    for (size_t i = 0; l.rc == 0 && i < n; i++) {
        DP_VIEW(x, tensors[i]);
        int64_t column[2] = {x.numel, 1};
        if (x.ndim <= 1)
            list_made(&l, dp_invoke(ctx, "aten::reshape", "Tli>T", tensors[i], column, (size_t)2,
                                    list_next(&l)));
        else {
            *list_next(&l) = dp_tensor_ref(tensors[i]);
            list_made(&l, 0);
        }
    }
    return list_cat(&l, 1, out);
}

/* aten::hstack(Tensor[] tensors) -> Tensor
 * aten::hstack.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!) */
#define STACK(name, write, least)                                                                  \
    static int name(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor **out)             \
    {                                                                                              \
        *out = NULL;                                                                               \
        return write(ctx, #name, tensors, n, least, out);                                          \
    }                                                                                              \
    static int name##_out(dp_ctx *ctx, dp_tensor *const *tensors, size_t n, dp_tensor *out)        \
    {                                                                                              \
        return write(ctx, #name, tensors, n, least, &out);                                         \
    }
STACK(hstack, write_stack, 1)
STACK(vstack, write_stack, 2)
STACK(dstack, write_stack, 3)
STACK(column_stack, write_columns, 0)

DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("stack", stack, (lT, i), (T)),
                DP_IMPL_UNBOXED("stack.out", stack_out, (lT, i, T), ()))
DP_LIBRARY_META(aten, CompositeImplicitAutograd, DP_IMPL_UNBOXED("atleast_1d", atleast_1, (T), (T)),
                DP_IMPL_UNBOXED("atleast_1d.Sequence", atleast_1_all, (lT), (lT)),
                DP_IMPL_UNBOXED("atleast_2d", atleast_2, (T), (T)),
                DP_IMPL_UNBOXED("atleast_2d.Sequence", atleast_2_all, (lT), (lT)),
                DP_IMPL_UNBOXED("atleast_3d", atleast_3, (T), (T)),
                DP_IMPL_UNBOXED("atleast_3d.Sequence", atleast_3_all, (lT), (lT)),
                DP_IMPL_UNBOXED("hstack", hstack, (lT), (T)),
                DP_IMPL_UNBOXED("hstack.out", hstack_out, (lT, T), ()),
                DP_IMPL_UNBOXED("vstack", vstack, (lT), (T)),
                DP_IMPL_UNBOXED("vstack.out", vstack_out, (lT, T), ()),
                DP_IMPL_UNBOXED("dstack", dstack, (lT), (T)),
                DP_IMPL_UNBOXED("dstack.out", dstack_out, (lT, T), ()),
                DP_IMPL_UNBOXED("column_stack", column_stack, (lT), (T)),
                DP_IMPL_UNBOXED("column_stack.out", column_stack_out, (lT, T), ()))
