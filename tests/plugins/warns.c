/* warns.c -- an operator that warns. */
#include <dispatchd/plugin.h>

DP_PLUGIN(warns, "1.0")

/* `times` warnings, each of which begins with `text`; their number unless they are to be the same. */
static int warn(dp_ctx *ctx, dp_str text, int64_t times, bool same, int64_t *out)
{
    for (int64_t i = 0; i < times; i++)
        dp_warn(ctx, "%s %lld", text.s, same ? 0LL : (long long)i);
    *out = times;
    return 0;
}

/* Two of one value. */
static int pair(dp_call *call)
{
    dp_tensor *both[2] = {dp_tensor_ref(call->args[0].u.t), dp_tensor_ref(call->args[0].u.t)};
    return dp_return_tensors(call, 2, both);
}

DP_LIBRARY(warns, DP_DEF("warn(str text, int times=1, bool same=False) -> int"),
           DP_DEF("pair(Tensor x) -> (Tensor, Tensor)"), DP_DEF("single(Tensor x) -> Tensor"),
           DP_IMPL_UNBOXED("warn", warn, (S, i, b), (i)), DP_IMPL("pair", pair),
           DP_IMPL("single", pair))
