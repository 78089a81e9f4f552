/* returns_wrong_kind.c -- an int where the schema says Tensor, a Tensor where it says int, a tag
 * that does not exist, a list of tensors with a hole. */
#include <dispatchd/plugin.h>

DP_PLUGIN(returns_wrong_kind, "1.0")

static int an_int(dp_call *call)
{
    call->rets[0] = dp_int(7);
    return 0;
}

static int a_tensor(dp_call *call)
{
    call->rets[0] = dp_tensor_value(dp_tensor_ref(call->args[0].u.t));
    return 0;
}

static int no_tag(dp_call *call)
{
    call->rets[0].tag = 99;
    return 0;
}

static int hole(dp_call *call)
{
    static dp_tensor *const none[1] = {NULL};

    call->rets[0] = dp_tensors(none, 1);
    return 0;
}

DP_LIBRARY(returns_wrong_kind, DP_DEF("an_int(Tensor self) -> Tensor"),
           DP_DEF("a_tensor(Tensor self) -> int"), DP_DEF("no_tag(Tensor self) -> Tensor"),
           DP_DEF("hole(Tensor self) -> Tensor[]"))
DP_LIBRARY_IMPL(returns_wrong_kind, CPU, DP_IMPL("an_int", an_int), DP_IMPL("a_tensor", a_tensor),
                DP_IMPL("no_tag", no_tag), DP_IMPL("hole", hole))
