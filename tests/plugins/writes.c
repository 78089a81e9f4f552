/* writes.c -- kernels that write to their arguments in every way there is, and count nothing:
 * versions are the host's. */
#include <dispatchd/plugin.h>

DP_PLUGIN(writes, "1.0")

static void put(dp_tensor *t)
{
    DP_VIEW(x, t);
    if (x.numel > 0)
        *(float *)x.data += 1;
}

/* one(Tensor(a!) x, int how) -> int: how 0 writes, 1 refuses, 2 fails, 3 writes and fails */
static int one(dp_ctx *ctx, dp_tensor *x, int64_t how, int64_t *out)
{
    if (how == 1)
        return dp_refuse(ctx, DP_EVALUE, "it refuses");
    if (how != 2)
        put(x);
    *out = how;
    return how >= 2 ? dp_fail(ctx, DP_ERUNTIME, "it fails") : 0;
}

/* all(Tensor(a!)[] l, Tensor(b!)? n) -> () */
static int all(dp_call *call)
{
    for (uint32_t i = 0; i < call->args[0].len; i++)
        put(call->args[0].u.tensors[i]);
    if (call->args[1].tag == DP_TAG_TENSOR)
        put(call->args[1].u.t);
    return 0;
}

/* The same through another operator, implicitly or explicitly composite. */
static int outer(dp_ctx *ctx, dp_tensor *x, int64_t how, int64_t *out)
{
    return dp_invoke(ctx, "writes::one", "Ti>i", x, how, out);
}

static int write_twice(dp_ctx *ctx, dp_tensor *x)
{
    int64_t out;
    int rc = outer(ctx, x, 0, &out);
    return rc < 0 ? rc : outer(ctx, x, 0, &out);
}

/* twice(Tensor(a!) x) -> () */
static int twice(dp_call *call)
{
    return write_twice(call->ctx, call->args[0].u.t);
}

/* The same with C types. */
DP_TYPED(call_one, (T, i), (i))
static int with_types(dp_ctx *ctx, dp_tensor *x, int64_t how, int64_t *out)
{
    dp_typed op;
    int rc = dp_typed_init(ctx, "writes::one", DP_CODE((T, i), (i)), &op);
    return rc < 0 ? rc : call_one(ctx, &op, x, how, out);
}

/* made(Tensor like) -> Tensor: a new tensor that others filled */
static int made(dp_ctx *ctx, dp_tensor *like, dp_tensor **out)
{
    dp_tensor *t;
    int rc = dp_empty_like(ctx, like, DP_DTYPE_NONE, DP_PRESERVE, &t);

    if (rc == 0)
        rc = dp_invoke(ctx, "aten::copy_", "TT>", t, like);
    if (rc == 0)
        rc = write_twice(ctx, t);
    if (rc < 0)
        dp_tensor_unref(t);
    else
        *out = t;
    return rc;
}

/* shrinks(Tensor(a!) x) -> (), statistics(Tensor x, Tensor running, int how) -> int */
static int shrinks(dp_call *call)
{
    put(call->args[0].u.t);
    return 0;
}
static int statistics(dp_ctx *ctx, dp_tensor *x, dp_tensor *running, int64_t how, int64_t *out)
{
    (void)x;
    return one(ctx, running, how, out);
}

/* Layer over `one`: hands on, and fails by itself for how 4. */
static int layer(dp_call *call)
{
    if (call->args[1].u.i == 4)
        return dp_fail(call->ctx, DP_ERUNTIME, "the layer fails");
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

DP_LIBRARY(writes, DP_DEF("one(Tensor(a!) x, int how) -> int"),
           DP_DEF("all(Tensor(a!)[] l, Tensor(b!)? n) -> ()"),
           DP_DEF("implicit(Tensor(a!) x, int how) -> int"),
           DP_DEF("explicit(Tensor(a!) x, int how) -> int"), DP_DEF("twice(Tensor(a!) x) -> ()"),
           DP_DEF("typed(Tensor(a!) x, int how) -> int"), DP_DEF("made(Tensor like) -> Tensor"),
           DP_DEF_TAGS("shrinks(Tensor(a!) x) -> ()", "keeps_version"),
           DP_DEF_TAGS("statistics(Tensor x, Tensor running, int how) -> int",
                       "core also_written:running"))
DP_LIBRARY_IMPL(writes, CPU, DP_IMPL_UNBOXED("one", one, (T, i), (i)), DP_IMPL("all", all),
                DP_IMPL_UNBOXED("made", made, (T), (T)), DP_IMPL("shrinks", shrinks),
                DP_IMPL_UNBOXED("statistics", statistics, (T, T, i), (i)))
DP_LIBRARY_IMPL(writes, CompositeImplicitAutograd, DP_IMPL_UNBOXED("implicit", outer, (T, i), (i)),
                DP_IMPL("twice", twice), DP_IMPL_UNBOXED("typed", with_types, (T, i), (i)))
DP_LIBRARY_IMPL(writes, CompositeExplicitAutograd, DP_IMPL_UNBOXED("explicit", outer, (T, i), (i)))
DP_LIBRARY_IMPL(writes, AutogradCPU, DP_IMPL("one", layer))
