// in_cxx.cc -- a plugin written in C++: both conventions, and a class with a destructor in a
// kernel.
#include <dispatchd/plugin.h>

DP_PLUGIN(in_cxx, "1.0")

namespace
{

class owned
{ // one reference
    dp_tensor *t_ = nullptr;

  public:
    ~owned() { dp_tensor_unref(t_); }
    dp_tensor **slot() { return &t_; }
    dp_tensor *get() const { return t_; }
};

int twice(dp_ctx *ctx, dp_tensor *self, dp_tensor **out) noexcept
{
    owned sum;

    if (int rc = DP_INVOKE(ctx, "aten::add.Tensor", (T, T), (T), self, self, sum.slot()))
        return rc;
    *out = dp_tensor_ref(sum.get());
    return 0;
}

int same(dp_call *call) noexcept
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

} // namespace

DP_LIBRARY(in_cxx, DP_DEF("twice(Tensor self) -> Tensor"), DP_DEF("same(Tensor self) -> Tensor"))
DP_LIBRARY_IMPL(in_cxx, CPU, DP_IMPL_UNBOXED("twice", twice, (T), (T)), DP_IMPL("same", same))
