/* lists.c -- kernels of CPU that take, return and write lists of tensors, some of them None. */
#include <dispatchd/plugin.h>

DP_PLUGIN(lists, "1.0")

static int twin_of(dp_ctx *ctx, dp_tensor *t, dp_tensor **out)
{
    int rc = dp_empty_like(ctx, t, DP_DTYPE_NONE, DP_PRESERVE, out);

    if (rc == 0 && (rc = dp_copy(ctx, *out, t)) < 0)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* reversed(Tensor[] xs) -> Tensor[] */
static int reversed(dp_call *call)
{
    const dp_value *xs = &call->args[0];
    dp_tensor **ys = dp_alloc(call->ctx, (xs->len + 1) * sizeof(*ys));
    int rc = ys == NULL ? DP_ERESOURCE : 0;

    for (uint32_t i = 0; i < xs->len && rc == 0; i++)
        if ((rc = twin_of(call->ctx, xs->u.tensors[xs->len - 1 - i], &ys[i])) < 0)
            while (i-- > 0)
                dp_tensor_unref(ys[i]);
    if (rc == 0)
        call->rets[0] = (dp_value){DP_TAG_TENSORS, xs->len, {.tensors = ys}};
    return rc;
}

/* present(Tensor?[] xs) -> bool[] */
static int present(dp_call *call)
{
    const dp_value *xs = &call->args[0];
    bool *is = dp_alloc(call->ctx, xs->len + 1);

    if (is == NULL)
        return DP_ERESOURCE;
    for (uint32_t i = 0; i < xs->len; i++)
        is[i] = xs->u.tensors[i] != NULL;
    call->rets[0] = (dp_value){DP_TAG_BOOLS, xs->len, {.bools = is}};
    return 0;
}

/* copy_(Tensor(a!)[] to, Tensor[] from) -> () and copy.out(Tensor[] from, *, Tensor(a!)[] out) ->
 * () */
static int copy_all(dp_ctx *ctx, const dp_value *to, const dp_value *from)
{
    int rc = to->len == from->len
                 ? 0
                 : dp_refuse(ctx, DP_EVALUE, "lists of %u and %u", to->len, from->len);

    for (uint32_t i = 0; i < to->len && rc == 0; i++)
        rc = dp_copy(ctx, to->u.tensors[i], from->u.tensors[i]);
    return rc;
}

static int copy_(dp_call *call)
{
    return copy_all(call->ctx, &call->args[0], &call->args[1]);
}

static int copy_out(dp_call *call)
{
    return copy_all(call->ctx, &call->args[1], &call->args[0]);
}

DP_LIBRARY(lists, DP_DEF("reversed(Tensor[] xs) -> Tensor[]"),
           DP_DEF("present(Tensor?[] xs) -> bool[]"),
           DP_DEF("copy_(Tensor(a!)[] to, Tensor[] from) -> ()"),
           DP_DEF("copy.out(Tensor[] from, *, Tensor(a!)[] out) -> ()"))
DP_LIBRARY_IMPL(lists, CPU, DP_IMPL("reversed", reversed), DP_IMPL("present", present),
                DP_IMPL("copy_", copy_), DP_IMPL("copy.out", copy_out))
