/* flat_index.c -- masked_scatter, take and put: elements in row-major order. */
#include "elements.h"

/* Do both lie where self does?  A kernel that walks some of them only would find no bytes in the rest. */
static int check_devices(dp_ctx *ctx, const char *what, dp_tensor *self, dp_tensor *a, dp_tensor *b)
{
    DP_VIEW(x, self);
    DP_VIEW(y, a);
    DP_VIEW(z, b);

    if (x.device == y.device && x.device == z.device)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: Expected all tensors to be on the same device", what);
}

/* -- masks -- */

static int check_mask(dp_ctx *ctx, dp_tensor *mask, const char *name)
{
    DP_VIEW(m, mask);

    if (m.dtype == DP_BOOL || m.dtype == DP_UINT8)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: expected BoolTensor or ByteTensor for mask", name);
}

static void count_true(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)user += *(data[1] + i * strides[1]) != 0;
}

/* How often the mask is true when it is broadcast with self. */
static int count_places(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, int64_t *count)
{
    dp_iter it;
    dp_tensor *ins[] = {self, mask};
    dp_iter_config c =
        dp_iter_of(DP_ITER_LINEAR | DP_ITER_SERIAL | DP_ITER_ANY_DTYPE, 0, NULL, 2, ins);
    int rc = dp_iter_init(ctx, &c, &it);

    *count = 0;
    return rc < 0 ? rc : dp_iter_run_1d(ctx, &it, count_true, count);
}

/* source's elements, in order, go where the mask is true, in row-major order.  (PyTorch 1.13 goes by the
 * order of self's memory; what masked_scatter gives is by rows.) */
typedef struct scattering {
    size_t size;
    const char *from;
    int64_t left; /* elements of source: the mask may be written after it was counted */
} scattering;

static void scatter_elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    scattering *s = user;

    for (int64_t i = 0; i < n; i++)
        if (*(data[1] + i * strides[1]) != 0 && s->left > 0) {
            memcpy(data[0] + i * strides[0], s->from, s->size);
            s->from += s->size;
            s->left--;
        }
}

static int check_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source)
{
    DP_VIEW(x, self);
    DP_VIEW(y, source);
    int64_t count = 0;
    int rc = check_mask(ctx, mask, "masked_scatter");

    if (rc == 0)
        rc = check_devices(ctx, "masked_scatter_", self, mask, source);
    if (rc == 0 && x.dtype != y.dtype)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "masked_scatter: expected self and source to have same dtypes but got %s and "
                     "%s",
                     dp_dtype_name(x.dtype), dp_dtype_name(y.dtype));
    if (rc == 0 && x.numel > 0)
        rc = check_bits(ctx, mask);
    if (rc == 0)
        rc = count_places(ctx, self, mask, &count);
    if (rc == 0 && count > y.numel)
        rc = dp_fail(ctx, DP_ERUNTIME,
                     "masked_scatter: Number of elements of source < number of ones in mask");
    return rc;
}

/* aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!) */
static int masked_scatter_(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source)
{
    dp_iter it;
    dp_tensor *packed = NULL;
    dp_iter_config c =
        dp_iter_of(DP_ITER_LINEAR | DP_ITER_SERIAL | DP_ITER_NULLARY, 1, &self, 1, &mask);
    int rc = check_scatter(ctx, self, mask, source);

    if (rc == 0)
        rc = dp_iter_init(ctx, &c, &it);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::contiguous", "T>T", source, &packed);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    DP_VIEW(y, packed);
    scattering s = {dp_dtype_size(y.dtype), y.data, y.numel};
    rc = dp_iter_run_1d(ctx, &it, scatter_elements, &s);
    dp_tensor_unref(packed);
    return rc;
}

/* -- take, put -- */

typedef struct taking {
    dp_view self;
    bool contiguous, add;
    int64_t outside;
    int fault;
} taking;

/* Where element `index` of self in row-major order lies; NULL: there is none. */
static char *element(taking *t, int64_t index)
{
    int64_t offset = 0, size = (int64_t)dp_dtype_size(t->self.dtype);

    if (index < -t->self.numel || index >= t->self.numel) {
        __atomic_store_n(&t->outside, index, __ATOMIC_RELAXED);
        __atomic_store_n(&t->fault, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    index += index < 0 ? t->self.numel : 0;
    if (t->contiguous)
        return (char *)t->self.data + index * size;
    for (int d = t->self.ndim - 1; d >= 0; d--) {
        offset += index % t->self.sizes[d] * t->self.strides[d];
        index /= t->self.sizes[d];
    }
    return (char *)t->self.data + offset * size;
}

/* From a contiguous self, whose elements are found without a division.  false: one is outside. */
#define TAKE(bytes, type)                                                                          \
    static bool take_##bytes(taking *t, char *dst, int64_t dst_step, const char *at,               \
                             int64_t at_step, int64_t n)                                           \
    {                                                                                              \
        const type *src = t->self.data;                                                            \
        int64_t size = t->self.numel;                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            int64_t index =                                                                        \
                __atomic_load_n((const int64_t *)(at + i * at_step), __ATOMIC_RELAXED);            \
            index += index < 0 ? size : 0;                                                         \
            if ((uint64_t)index >= (uint64_t)size)                                                 \
                return false;                                                                      \
            *(type *)(dst + i * dst_step) = src[index];                                            \
        }                                                                                          \
        return true;                                                                               \
    }
DP_DTYPE_SIZES(TAKE)
#undef TAKE

static bool take_packed(taking *t, char *const *data, const int64_t *strides, int64_t n)
{
    switch (t->contiguous ? dp_dtype_size(t->self.dtype) : 0) {
#define EACH(bytes, type)                                                                          \
    case bytes:                                                                                    \
        return take_##bytes(t, data[0], strides[0], data[1], strides[1], n);
        DP_DTYPE_SIZES(EACH)
#undef EACH
    }
    return false;
}

static void take_elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    taking *t = user;
    size_t size = dp_dtype_size(t->self.dtype);

    if (take_packed(t, data, strides, n))
        return;
    for (int64_t i = 0; i < n; i++) {
        const char *from = element(t, *(const int64_t *)(data[1] + i * strides[1]));
        if (from)
            memcpy(data[0] + i * strides[0], from, size);
    }
}

static void check_elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    for (int64_t i = 0; i < n; i++)
        element(user, *(const int64_t *)(data[0] + i * strides[0]));
}

static void put_elements(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    taking *t = user;

    for (int64_t i = 0; i < n; i++) {
        char *to = element(t, *(const int64_t *)(data[0] + i * strides[0]));
        const char *from = data[1] + i * strides[1];
        if (to == NULL) /* written after it was checked */
            continue;
        switch (t->self.dtype) {
#define EACH(name, dtype, memory, value, load, store)                                              \
    case dtype: {                                                                                  \
        value a = load(*(memory *)to), b = load(*(const memory *)from);                            \
        *(memory *)to = t->add ? store((value)(a + b)) : *(const memory *)from;                    \
        break;                                                                                     \
    }
            DP_DTYPES_ALL(EACH)
#undef EACH
        }
    }
}

static int fault_of(dp_ctx *ctx, const taking *t)
{
    if (!t->fault)
        return 0;
    return dp_fail(ctx, DP_EINDEX,
                   "out of range: tried to access index %" PRId64 " on a tensor of %" PRId64
                   " elements.",
                   t->outside, t->self.numel);
}

static int write_take(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor **out)
{
    dp_iter it;
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    taking t = {x, dp_tensor_is_contiguous(self, DP_CONTIGUOUS), false, 0, 0};
    int rc = 0;

    if (i.dtype != DP_INT64)
        rc = dp_fail(ctx, DP_ERUNTIME, "take(): Expected a long tensor for index, but got %s",
                     dp_dtype_name(i.dtype));
    else if (x.numel == 0 && i.numel != 0)
        rc = dp_fail(ctx, DP_EINDEX, "take(): tried to take from an empty tensor");
    if (rc == 0)
        rc = dp_set_output(ctx, out, i.ndim, i.sizes, NULL, x.dtype, x.device);
    if (rc == 0) {
        dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE, 1, out, 1, &index);
        rc = dp_iter_init(ctx, &c, &it);
    }
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_iter_run_1d(ctx, &it, take_elements, &t);
    return rc < 0 ? rc : fault_of(ctx, &t);
}

/* aten::take(Tensor self, Tensor index) -> Tensor */
static int take(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor **out)
{
    *out = NULL;
    int rc = write_take(ctx, self, index, out);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::take.out(Tensor self, Tensor index, *, Tensor(a!) out) -> Tensor(a!) */
static int take_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor *out)
{
    dp_tensor *ins[] = {index, self};
    int rc = check_apart(ctx, out, ins, 2);

    return rc < 0 ? dp_refuse(ctx, rc, NULL) : write_take(ctx, self, index, &out);
}

static int check_put(dp_ctx *ctx, const dp_view *self, const dp_view *index, const dp_view *source)
{
    if (index->dtype != DP_INT64)
        return dp_fail(ctx, DP_ERUNTIME, "put_(): Expected a long tensor for index, but got %s",
                       dp_dtype_name(index->dtype));
    if (self->dtype != source->dtype)
        return dp_fail(
            ctx, DP_ERUNTIME,
            "put_(): self and source expected to have the same dtype, but got self.dtype "
            "= %s and source.dtype = %s",
            dp_dtype_name(self->dtype), dp_dtype_name(source->dtype));
    if (index->numel != source->numel)
        return dp_fail(ctx, DP_EINDEX,
                       "put_(): Expected source and index to have the same number of elements, but "
                       "got source.numel() = %" PRId64 ", index.numel() = %" PRId64,
                       source->numel, index->numel);
    if (self->numel == 0 && index->numel != 0)
        return dp_fail(ctx, DP_EINDEX, "put_(): Tried to put elements into an empty tensor");
    return 0;
}

/* index and source have the same number of elements, and are walked in the same order. */
static int put_flat(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor *source, bool add)
{
    dp_iter check, write;
    DP_VIEW(x, self);
    dp_tensor *ins[] = {index, source};
    taking t = {x, dp_tensor_is_contiguous(self, DP_CONTIGUOUS), add, 0, 0};
    dp_iter_config one = dp_iter_of(DP_ITER_ANY_DTYPE, 0, NULL, 1, &index);
    dp_iter_config two =
        dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_LINEAR | DP_ITER_SERIAL, 0, NULL, 2, ins);
    int rc = dp_iter_init(ctx, &one, &check);

    if (rc == 0)
        rc = dp_iter_init(ctx, &two, &write);
    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &check, check_elements, &t);
    if (rc == 0)
        rc = fault_of(ctx, &t);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = dp_iter_run_1d(ctx, &write, put_elements, &t);
    return rc < 0 ? rc : fault_of(ctx, &t);
}

/* aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!) */
static int put_(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor *source, bool accumulate)
{
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    DP_VIEW(s, source);
    dp_tensor *alike = NULL;
    int rc = check_devices(ctx, "put_", self, index, source);

    if (rc == 0)
        rc = check_put(ctx, &x, &i, &s);
    if (rc == 0)
        rc = check_apart(ctx, self, NULL, 0);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::reshape", "Tli>T", source, i.sizes, (size_t)i.ndim, &alike);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    rc = put_flat(ctx, self, index, alike, accumulate);
    dp_tensor_unref(alike);
    return rc;
}

/* -- on copies -- */

/* aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor */
static int put(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor *source, bool accumulate,
               dp_tensor **out)
{
    int64_t preserve = DP_PRESERVE;
    int rc = dp_invoke(ctx, "aten::clone", "Toi>T", self, &preserve, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::put_", "TTTb>", *out, index, source, (int)accumulate);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* self broadcast with the mask, in a new contiguous tensor. */
static int expanded_copy(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor **out)
{
    int64_t shape[DP_DIM_MAX], contiguous = DP_CONTIGUOUS;
    dp_tensor *wide;
    DP_VIEW(x, self);
    DP_VIEW(m, mask);
    size_t n = (size_t)(x.ndim > m.ndim ? x.ndim : m.ndim);
    int rc = dp_broadcast_shapes(ctx, x.ndim, x.sizes, m.ndim, m.sizes, shape);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::expand", "Tli>T", self, shape, n, &wide);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::clone", "Toi>T", wide, &contiguous, out);
    dp_tensor_unref(wide);
    return rc;
}

/* aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor */
static int masked_scatter(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *source,
                          dp_tensor **out)
{
    int rc = expanded_copy(ctx, self, mask, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_scatter_", "TTT>", *out, mask, source);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!) */
static int masked_fill_tensor_(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *value)
{
    DP_VIEW(v, value);
    dp_value number;

    if (v.ndim != 0)
        return dp_refuse(ctx, DP_ERUNTIME,
                         "masked_fill_ only supports a 0-dimensional value tensor, but got tensor "
                         "with %d dimension(s).",
                         v.ndim);
    int rc = dp_invoke(ctx, "aten::_local_scalar_dense", "T>s", value, &number);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    return dp_invoke(ctx, "aten::masked_fill_.Scalar", "TTs>", self, mask, number);
}

/* aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor */
static int masked_fill_tensor(dp_ctx *ctx, dp_tensor *self, dp_tensor *mask, dp_tensor *value,
                              dp_tensor **out)
{
    int rc = expanded_copy(ctx, self, mask, out);

    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::masked_fill_.Tensor", "TTT>", *out, mask, value);
    if (rc < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("masked_scatter_", masked_scatter_, (T, T, T), ()),
                DP_IMPL_UNBOXED("masked_fill_.Tensor", masked_fill_tensor_, (T, T, T), ()),
                DP_IMPL_UNBOXED("take", take, (T, T), (T)),
                DP_IMPL_UNBOXED("take.out", take_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("put_", put_, (T, T, T, b), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("put", put, (T, T, T, b), (T)),
                DP_IMPL_UNBOXED("masked_scatter", masked_scatter, (T, T, T), (T)),
                DP_IMPL_UNBOXED("masked_fill.Tensor", masked_fill_tensor, (T, T, T), (T)))
