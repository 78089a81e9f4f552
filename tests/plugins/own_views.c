/* own_views.c -- a backend whose kernel makes the view that it returns. */
#include <dispatchd/plugin.h>

DP_PLUGIN(own_views, "1.0")
DP_BACKEND(own)

/* rest(Tensor(a) self) -> Tensor(a): all elements but the first.  self [n], n > 0 */
static int rest(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    DP_VIEW(x, self);

    if (x.ndim != 1 || x.numel == 0)
        return dp_fail(ctx, DP_EVALUE, "expected a 1-d tensor with elements");
    const int64_t size = x.numel - 1;
    return dp_as_strided(ctx, self, 1, &size, x.strides, dp_tensor_offset(self) + x.strides[0],
                         out);
}

DP_LIBRARY(own_views, DP_DEF("rest(Tensor(a) self) -> Tensor(a)"))
DP_LIBRARY_VIEWS(own_views, own, DP_IMPL_UNBOXED("rest", rest, (T), (T)))
