/* own_layer.c -- a kernel of its own for aten::mul.Tensor at AutogradCPU: it counts, and records as
 * any layer of gradients does; own_layer::mode says how. */
#include <dispatchd/plugin.h>
#include <stdatomic.h>

DP_PLUGIN(own_layer, "1.0")

static atomic_llong seen;
static atomic_int mode; /* 0: with aten's formula, 1: with own_layer::back, 2: not at all */

static int record(dp_call *call)
{
    const dp_saved saved[] = {dp_save_argument(0), dp_save_argument(1)};
    const dp_recording how = {
        .size = sizeof(how), .backward = "own_layer::back", .saved = saved, .n_saved = 2};

    atomic_fetch_add(&seen, 1);
    if (atomic_load(&mode) == 1)
        return dp_record_as(call, &how);
    if (atomic_load(&mode) == 0)
        return dp_record(call);
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

/* own_layer::back(Tensor grad, Tensor self, Tensor other) -> (Tensor, Tensor): ten times the
 * gradients, so that a test can tell them from the formula's */
static int back(dp_ctx *ctx, dp_tensor *grad, dp_tensor *self, dp_tensor *other, dp_tensor **a,
                dp_tensor **b)
{
    dp_tensor *ten;
    int rc = DP_INVOKE(ctx, "aten::mul.Scalar", (T, s), (T), grad, dp_int(10), &ten);

    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), ten, other, a);
    if (rc == 0 && (rc = DP_INVOKE(ctx, "aten::mul.Tensor", (T, T), (T), ten, self, b)) < 0)
        *a = dp_tensor_unref(*a);
    dp_tensor_unref(ten);
    return rc;
}

static int set_mode(dp_ctx *ctx, dp_tensor *self, int64_t to, int64_t *out)
{
    (void)ctx, (void)self;
    *out = (int64_t)atomic_load(&seen);
    atomic_store(&mode, (int)to);
    return 0;
}

DP_LIBRARY(own_layer, DP_DEF("back(Tensor grad, Tensor self, Tensor other) -> (Tensor, Tensor)"),
           DP_DEF("mode(Tensor self, int to) -> int"))
DP_LIBRARY_IMPL(own_layer, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("back", back, (T, T, T), (T, T)),
                DP_IMPL_UNBOXED("mode", set_mode, (T, i), (i)))
DP_LIBRARY_GRAD(aten, AutogradCPU, DP_IMPL_BELOW("mul.Tensor", record))
