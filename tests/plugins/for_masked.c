/* for_masked.c -- kernels for a kind that another plugin names, and wrapper tensors of kinds of its
 * own. */
#include <dispatchd/plugin.h>

DP_PLUGIN(for_masked, "1.0")

static int abs_(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    (void)ctx;
    *out = dp_tensor_ref(self);
    return 0;
}

/* like(Tensor self, str kind) -> Tensor: a wrapper tensor of any kind, with one part */
static int like(dp_ctx *ctx, dp_tensor *self, dp_str kind, dp_tensor **out)
{
    DP_VIEW(x, self);
    dp_wrapper w = {.size = sizeof(w),
                    .kind = kind.s,
                    .keys = dp_keyset_of(dp_key_find(ctx, "SparseCPU")),
                    .dtype = x.dtype,
                    .device = x.device,
                    .ndim = x.ndim,
                    .n_tensors = 1,
                    .sizes = x.sizes,
                    .tensors = &self};
    return dp_wrapper_new(ctx, &w, out);
}

/* become_(Tensor(a!) self, Tensor part) -> (): give a wrapper tensor of any kind one part */
static int become_(dp_ctx *ctx, dp_tensor *self, dp_tensor *part)
{
    dp_wrapper w = {.size = sizeof(w)};

    if (!dp_wrapper_get(self, &w))
        return dp_refuse(ctx, DP_ETYPE, "for_masked::become_: self is no wrapper tensor");
    w.n_tensors = 1;
    w.tensors = &part;
    return dp_wrapper_become(ctx, self, &w);
}

DP_LIBRARY(for_masked, DP_DEF("like(Tensor self, str kind) -> Tensor"),
           DP_DEF("become_(Tensor(a!) self, Tensor part) -> ()"))
DP_LIBRARY_IMPL(for_masked, CPU, DP_IMPL_UNBOXED("like", like, (T, S), (T)))
DP_LIBRARY_IMPL(for_masked, masked, DP_IMPL_UNBOXED("become_", become_, (T, T), ()))
DP_LIBRARY_IMPL(aten, masked, DP_IMPL_UNBOXED("abs", abs_, (T), (T)))
