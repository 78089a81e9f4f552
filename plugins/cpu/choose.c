/* choose.c -- where and masked_fill_.  Elements are copied by their size, whatever their dtype. */
#include "elements.h"

/* n elements: data[0] = data[1] (bool) ? data[2] : data[3] */
#define LOOP(name, type)                                                                           \
    static void name(char *const *data, const int64_t *strides, int64_t n, void *user)             \
    {                                                                                              \
        (void)user;                                                                                \
        for (int64_t i = 0; i < n; i++) {                                                          \
            bool first = *(const uint8_t *)(data[1] + i * strides[1]) != 0;                        \
            type a = *(const type *)(data[2] + i * strides[2]);                                    \
            type b = *(const type *)(data[3] + i * strides[3]);                                    \
            *(type *)(data[0] + i * strides[0]) = first ? a : b;                                   \
        }                                                                                          \
    }
LOOP(choose_1, uint8_t)
LOOP(choose_2, uint16_t)
LOOP(choose_4, uint32_t)
LOOP(choose_8, uint64_t)
LOOP(choose_16, double _Complex)

static dp_iter_loop loop_of(dp_dtype d)
{
    switch (dp_dtype_size(d)) {
    case 1:
        return choose_1;
    case 2:
        return choose_2;
    case 4:
        return choose_4;
    case 8:
        return choose_8;
    default:
        return choose_16;
    }
}

/* *out = condition ? a : b, for a and b of one dtype.  *out NULL: it is allocated. */
static int choose(dp_ctx *ctx, dp_tensor *condition, dp_tensor *a, dp_tensor *b, dp_tensor **out)
{
    dp_tensor *given = *out, *ins[] = {condition, a, b};
    dp_iter it;
    DP_VIEW(x, a);
    dp_iter_config config = dp_iter_of(DP_ITER_WHERE, 1, out, 3, ins);

    config.out_dtype = dp_some_dtype(x.dtype);
    int rc = dp_iter_init(ctx, &config, &it);
    rc = rc == 0 ? dp_iter_run_1d(ctx, &it, loop_of(x.dtype), NULL) : dp_refuse(ctx, rc, NULL);
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* t as `dtype`: t itself with another reference, or a converted copy.  *out owned. */
static int in_dtype(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out)
{
    DP_VIEW(x, t);

    if (x.dtype == dtype) {
        *out = dp_tensor_ref(t);
        return 0;
    }
    int rc = dp_empty_like(ctx, t, dtype, DP_PRESERVE, out);
    if (rc == 0)
        rc = dp_copy(ctx, *out, t);
    return rc;
}

/* aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor */
static int where(dp_ctx *ctx, dp_tensor *condition, dp_tensor *self, dp_tensor *other,
                 dp_tensor **out)
{
    dp_tensor *both[] = {self, other}, *a = NULL, *b = NULL, *made = NULL;
    dp_dtype dtype = dp_result_type(both, 2);
    DP_VIEW(c, condition);

    if (c.dtype != DP_BOOL && c.dtype != DP_UINT8)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
            dp_dtype_name(c.dtype));
    int rc = in_dtype(ctx, self, dtype, &a);
    if (rc == 0)
        rc = in_dtype(ctx, other, dtype, &b);
    if (rc == 0)
        rc = choose(ctx, condition, a, b, &made);
    if (rc == 0)
        *out = made;
    dp_tensor_unref(a);
    dp_tensor_unref(b);
    return rc;
}

/* aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!) */
static int masked_fill(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_value value)
{
    dp_tensor *t, *dst = self;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);

    if (m.dtype != DP_BOOL && m.dtype != DP_UINT8)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                         dp_dtype_name(m.dtype));
    int rc = check_fits(ctx, value, x.dtype);
    if (rc == 0)
        rc = dp_scalar_tensor(ctx, value, x.dtype, &t);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = choose(ctx, mask, t, self, &dst);
    dp_tensor_unref(t);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("where.self", where, (T, T, T), (T)),
                DP_IMPL_UNBOXED("masked_fill_.Scalar", masked_fill, (T, T, s), ()))
