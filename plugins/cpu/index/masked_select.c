/* masked_select.c -- masked_select, which returns the elements where a mask is true, in row-major
 * order (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "nonzero.h"

typedef struct selection {
    size_t size;
    const char *from;
    char *to;
} selection;

static void select_elements(const void *user, int64_t to, int64_t first, const int32_t *places,
                            int64_t n)
{
    const selection *s = user;

    switch (s->size) {
#define EACH(bytes, type)                                                                          \
    case bytes: {                                                                                  \
        type *dst = (type *)s->to + to;                                                            \
        const type *src = (const type *)s->from + first;                                           \
        for (int64_t i = 0; i < n; i++)                                                            \
            dst[i] = src[places[i]];                                                               \
        break;                                                                                     \
    }
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
}

/* Set *out, owned, to `t` expanded to this shape and contiguous. */
static int spread(dp_ctx *ctx, dp_tensor *t, const int64_t *shape, size_t ndim, dp_tensor **out)
{
    dp_tensor *wide;
    int rc = dp_invoke(ctx, "aten::expand", "Tli>T", t, shape, ndim, &wide);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::contiguous", "T>T", wide, out);
    dp_tensor_unref(wide);
    return rc;
}

/* Run masked_select on self and mask, which are contiguous and have the same shape, into *out;
 * NULL: it is set to a new tensor. */
static int select_packed(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    nz_search s;
    dp_tensor *packed;
    int64_t n;
    bool fresh = *out == NULL;
    DP_VIEW(x, self);
    int rc = nz_count(ctx, mask, &s, &n);

    if (rc == 0)
        rc = dp_set_output(ctx, out, 1, &n, NULL, x.dtype, x.device);
    if (rc == 0 && !fresh)
        rc = dp_empty(ctx, x.dtype, x.device, 1, &n, DP_CONTIGUOUS, &packed);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    packed = fresh ? *out : packed;
    DP_VIEW(y, packed);
    selection to = {dp_dtype_size(x.dtype), x.data, y.data};
    rc = nz_find(ctx, &s, select_elements, &to);
    if (fresh)
        return rc;
    if (rc == 0)
        rc = dp_copy(ctx, *out, packed);
    dp_tensor_unref(packed);
    return rc;
}

static int write_selection(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX];
    dp_tensor *from = NULL, *flags = NULL;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    size_t ndim = (size_t)(x.ndim > m.ndim ? x.ndim : m.ndim);
    int rc = 0;

    if (m.dtype != DP_BOOL && m.dtype != DP_UINT8)
        rc = dp_fail(ctx, DP_ERUNTIME, "masked_select: expected BoolTensor or ByteTensor for mask");
    if (rc == 0 && x.numel > 0)
        rc = check_bits(ctx, mask);
    if (rc == 0)
        rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, shape);
    if (rc == 0)
        rc = spread(ctx, self, shape, ndim, &from);
    if (rc == 0)
        rc = spread(ctx, mask, shape, ndim, &flags);
    rc = rc < 0 ? dp_refuse(ctx, rc, NULL) : select_packed(ctx, from, flags, out);
    dp_tensor_unref(from);
    dp_tensor_unref(flags);
    return rc;
}

/* aten::masked_select(Tensor self, Tensor mask) -> Tensor */
static int masked_select(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    *out = NULL;
    int rc = write_selection(ctx, self, mask, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!) */
static int masked_select_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *out)
{
    DP_VIEW(x, self);
    DP_VIEW(y, out);

    if (x.dtype != y.dtype)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_select(): self and result must have the same scalar type");
    dp_tensor *ins[] = {self, mask};
    int rc = check_apart(ctx, out, ins, 2);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return write_selection(ctx, self, mask, &out);
}

DP_LIBRARY_IMPL(aten, CPU, DP_IMPL_UNBOXED("masked_select", masked_select, (T, T), (T)),
                DP_IMPL_UNBOXED("masked_select.out", masked_select_out, (T, T, T), ()))
