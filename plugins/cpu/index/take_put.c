/* take_put.c -- take and put, which read and write elements by their index in row-major order
 * (aten/src/ATen/native/TensorAdvancedIndexing.cpp). */
#include "take_put.h"
#include <dispatchd/iter.h>

int index_check_devices(dp_ctx *ctx, const char *what, dp_tensor *self, dp_tensor *a, dp_tensor *b)
{
    DP_VIEW(x, self);
    DP_VIEW(y, a);
    DP_VIEW(z, b);

    if (x.device == y.device && x.device == z.device)
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s: Expected all tensors to be on the same device", what);
}

typedef struct taking {
    dp_view self;
    bool contiguous, add;
    int64_t outside;
    int fault;
} taking;

/* Return the address of element `index` of self, in row-major order; NULL: the index is out of
 * range. */
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

/* Define a loop that reads elements of a contiguous self, without divisions.  False: an index is
 * out of range. */
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
        if (to == NULL) /* the index was changed after the check */
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

/* Check that all indices are in the range of t's tensor, before any element is written. */
static int check_indices(dp_ctx *ctx, dp_tensor *index, taking *t)
{
    dp_iter it;
    dp_iter_config c = dp_iter_of(DP_ITER_ANY_DTYPE, 0, NULL, 1, &index);
    int rc = dp_iter_init(ctx, &c, &it);

    if (rc == 0)
        rc = dp_iter_run_1d(ctx, &it, check_elements, t);
    return rc == 0 ? fault_of(ctx, t) : rc;
}

static int write_take(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor **out)
{
    dp_iter it;
    DP_VIEW(x, self);
    DP_VIEW(i, index);
    taking t = {x, dp_tensor_is_contiguous(self, DP_CONTIGUOUS), false, 0, 0};
    bool given = *out != NULL;
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
    if (rc == 0 && given)
        rc = check_indices(ctx, index, &t);
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

/* Write the elements of source; index and source have the same number of elements, and are read in
 * the same order. */
static int put_flat(dp_ctx *ctx, dp_tensor *self, dp_tensor *index, dp_tensor *source, bool add)
{
    dp_iter write;
    DP_VIEW(x, self);
    dp_tensor *ins[] = {index, source};
    taking t = {x, dp_tensor_is_contiguous(self, DP_CONTIGUOUS), add, 0, 0};
    dp_iter_config c =
        dp_iter_of(DP_ITER_ANY_DTYPE | DP_ITER_LINEAR | DP_ITER_SERIAL, 0, NULL, 2, ins);
    int rc = dp_iter_init(ctx, &c, &write);

    if (rc == 0)
        rc = check_indices(ctx, index, &t);
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
    int rc = index_check_devices(ctx, "put_", self, index, source);

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

DP_LIBRARY_META(aten, CPU, DP_IMPL_UNBOXED("take", take, (T, T), (T)),
                DP_IMPL_UNBOXED("take.out", take_out, (T, T, T), ()),
                DP_IMPL_UNBOXED("put_", put_, (T, T, T, b), ()))
DP_LIBRARY_META(aten, CompositeExplicitAutograd, DP_IMPL_UNBOXED("put", put, (T, T, T, b), (T)))
