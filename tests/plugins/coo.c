/* coo.c -- a kind of tensor with a layout and a double: elements at indices, times a scale, as
 * layout sparse_coo. */
#include <dispatchd/plugin.h>
#include <string.h>

DP_PLUGIN(coo, "1.0")

enum { INDICES, VALUES, PARTS };

static bool take_apart(dp_tensor *t, dp_wrapper *w)
{
    w->size = sizeof(*w);
    return dp_wrapper_get(t, w) && strcmp(w->kind, "coo") == 0;
}

/* coo::make(Tensor indices, Tensor values, int[] size, float scale=1, int layout=1) -> Tensor */
static int make(dp_ctx *ctx, dp_tensor *indices, dp_tensor *values, const int64_t *size, size_t n,
                double scale, int64_t layout, dp_tensor **out)
{
    DP_VIEW(x, values);
    dp_wrapper w = {.size = sizeof(w),
                    .kind = "coo",
                    .keys = dp_keyset_of(DP_KEY(DP_F_Sparse)),
                    .dtype = x.dtype,
                    .device = x.device,
                    .ndim = (int32_t)n,
                    .sizes = size,
                    .n_tensors = PARTS,
                    .tensors = (dp_tensor *[]){indices, values},
                    .n_ints = 1,
                    .ints = (const int64_t[]){(int64_t)n},
                    .n_doubles = 1,
                    .doubles = &scale,
                    .layout = (int32_t)layout};

    return dp_wrapper_new(ctx, &w, out);
}

/* coo::to_dense(Tensor self) -> Tensor, of one dimension */
static int to_dense(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_wrapper w;
    dp_tensor *zeros, *scaled;

    if (!take_apart(self, &w) || w.ndim != 1)
        return dp_fail(ctx, DP_ETYPE, "coo::to_dense: it is no vector of kind coo");
    int rc = dp_invoke(ctx, "aten::zeros", "lioi>T", w.sizes, (size_t)1, (const int64_t[]){w.dtype},
                       &zeros);
    if (rc < 0)
        return rc;
    rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", w.tensors[VALUES], dp_double(w.doubles[0]),
                   &scaled);
    if (rc == 0) {
        rc = dp_invoke(ctx, "aten::index_add", "TiTT>T", zeros, (int64_t)0, w.tensors[INDICES],
                       scaled, out);
        dp_tensor_unref(scaled);
    }
    dp_tensor_unref(zeros);
    return rc;
}

/* aten::neg: the same elements, times the negative scale */
static int neg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_wrapper w;

    if (!take_apart(self, &w))
        return dp_fail(ctx, DP_ETYPE, "coo: it is not of kind coo");
    w.doubles = (const double[]){-w.doubles[0]};
    return dp_wrapper_new(ctx, &w, out);
}

/* coo::become_(Tensor(a!) self, float scale, int layout) -> (): refused where the layout is another
 * one */
static int become_(dp_call *call)
{
    dp_wrapper w;

    if (!take_apart(call->args[0].u.t, &w))
        return dp_fail(call->ctx, DP_ETYPE, "coo: it is not of kind coo");
    w.doubles = &call->args[1].u.d;
    w.layout = (int32_t)call->args[2].u.i;
    return dp_wrapper_become(call->ctx, call->args[0].u.t, &w);
}

DP_LIBRARY(coo,
           DP_DEF("make(Tensor indices, Tensor values, int[] size, float scale=1, int layout=1) "
                  "-> Tensor"),
           DP_DEF("to_dense(Tensor self) -> Tensor"),
           DP_DEF("become_(Tensor(a!) self, float scale, int layout) -> ()"))
DP_LIBRARY_IMPL(coo, CPU, DP_IMPL_UNBOXED("make", make, (T, T, li, f, i), (T)))
DP_LIBRARY_IMPL(coo, SparseCPU, DP_IMPL_UNBOXED("to_dense", to_dense, (T), (T)),
                DP_IMPL("become_", become_))
DP_LIBRARY_IMPL(aten, SparseCPU, DP_IMPL_UNBOXED("neg", neg, (T), (T)))
