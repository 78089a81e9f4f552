/* masked.c -- a kind of tensor made of tensors: values, and a mask of those that count.
 * Elementwise operators work on the values, and an element counts where it counts in every
 * argument. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>
#include <string.h>

DP_PLUGIN(masked, "1.0")
DP_WRAPPER_KIND(masked)

enum { VALUES, MASK, PARTS };

static bool take_apart(dp_tensor *t, dp_wrapper *w)
{
    w->size = sizeof(*w);
    return dp_wrapper_get(t, w) && strcmp(w->kind, "masked") == 0;
}

/* The sizes are those of the values.  Borrows parts and ints. */
static dp_wrapper masked(dp_tensor *const *parts, uint32_t n_ints, const int64_t *ints)
{
    DP_VIEW(x, parts[VALUES]);
    return (dp_wrapper){.size = sizeof(dp_wrapper),
                        .kind = "masked",
                        .dtype = x.dtype,
                        .device = x.device,
                        .ndim = x.ndim,
                        .n_tensors = PARTS,
                        .n_ints = n_ints,
                        .sizes = x.sizes,
                        .tensors = parts,
                        .ints = ints};
}

/* Takes both, also on failure. */
static int wrap(dp_ctx *ctx, dp_tensor *values, dp_tensor *mask, dp_tensor **out)
{
    dp_tensor *parts[PARTS] = {values, mask};
    dp_wrapper w = masked(parts, 1, (const int64_t[]){7});
    int rc = dp_wrapper_new(ctx, &w, out);

    dp_tensor_unref(values);
    dp_tensor_unref(mask);
    return rc;
}

/* masked::make(Tensor values, Tensor mask) -> Tensor */
static int make(dp_ctx *ctx, dp_tensor *values, dp_tensor *mask, dp_tensor **out)
{
    DP_VIEW(x, values);
    DP_VIEW(m, mask);

    if (m.dtype != DP_BOOL || m.ndim != x.ndim ||
        memcmp(m.sizes, x.sizes, (size_t)x.ndim * sizeof(int64_t)) != 0)
        return dp_refuse(ctx, DP_EVALUE,
                         "masked::make: the mask is a bool tensor of values' shape");
    return wrap(ctx, dp_tensor_ref(values), dp_tensor_ref(mask), out);
}

/* masked::to_dense(Tensor self, Scalar fill=0) -> Tensor */
static int to_dense(dp_ctx *ctx, dp_tensor *self, dp_value fill, dp_tensor **out)
{
    dp_wrapper w;
    dp_tensor *other;

    if (!take_apart(self, &w))
        return dp_fail(ctx, DP_ETYPE, "masked::to_dense: it is not masked");
    DP_VIEW(x, w.tensors[VALUES]);
    int rc = dp_scalar_tensor(ctx, fill, x.dtype, &other);
    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::where.self", (T, T, T), (T), w.tensors[MASK], w.tensors[VALUES],
                   other, out);
    dp_tensor_unref(other);
    return rc;
}

/* aten::neg */
static int neg(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_wrapper w;
    dp_tensor *values;

    if (!take_apart(self, &w))
        return dp_fail(ctx, DP_ETYPE, "masked: it is not masked");
    int rc = DP_INVOKE(ctx, "aten::neg", (T), (T), w.tensors[VALUES], &values);
    return rc < 0 ? rc : wrap(ctx, values, dp_tensor_ref(w.tensors[MASK]), out);
}

/* The mask of two arguments, one of which may be dense; *out owned. */
static int both_masks(dp_ctx *ctx, const dp_wrapper *a, const dp_wrapper *b, dp_tensor **out)
{
    if (a && b)
        return DP_INVOKE(ctx, "aten::logical_and", (T, T), (T), a->tensors[MASK], b->tensors[MASK],
                         out);
    *out = dp_tensor_ref((a ? a : b)->tensors[MASK]);
    return 0;
}

/* aten::add.Tensor, aten::mul.Tensor: any operator whose first two arguments are tensors */
static int binary(dp_call *call)
{
    dp_wrapper w[2];
    dp_value args[8];
    const dp_wrapper *of[2];
    dp_tensor *mask, *out;

    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    for (int i = 0; i < 2; i++) {
        of[i] = take_apart(args[i].u.t, &w[i]) ? &w[i] : NULL;
        args[i].u.t = of[i] ? w[i].tensors[VALUES] : args[i].u.t;
    }
    int rc = dp_call_boxed(call->ctx, call->op, args, call->n_args, call->rets, 1);
    if (rc == 0)
        rc = both_masks(call->ctx, of[0], of[1], &mask);
    if (rc < 0)
        return rc;
    rc = wrap(call->ctx, call->rets[0].u.t, mask, &out);
    call->rets[0] = dp_tensor_value(rc == 0 ? out : NULL);
    return rc;
}

/* aten::transpose.int, aten::detach: of both parts, with the same other arguments */
static int each(dp_call *call)
{
    dp_wrapper w;
    dp_value args[4], mask = {0};
    dp_tensor *out = NULL;

    if (!take_apart(call->args[0].u.t, &w))
        return dp_fail(call->ctx, DP_ETYPE, "masked: it is not masked");
    for (uint32_t i = 0; i < call->n_args; i++)
        args[i] = call->args[i];
    args[0].u.t = w.tensors[MASK];
    int rc = dp_call_boxed(call->ctx, call->op, args, call->n_args, &mask, 1);
    if (rc < 0)
        return rc;
    args[0].u.t = w.tensors[VALUES];
    rc = dp_call_boxed(call->ctx, call->op, args, call->n_args, call->rets, 1);
    if (rc < 0) {
        dp_tensor_unref(mask.u.t);
        return rc;
    }
    rc = wrap(call->ctx, call->rets[0].u.t, mask.u.t, &out);
    call->rets[0] = dp_tensor_value(rc == 0 ? out : NULL);
    return rc;
}

/* masked::values(Tensor(a) self) -> Tensor(a) */
static int values(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_wrapper w;

    if (!take_apart(self, &w))
        return dp_fail(ctx, DP_ETYPE, "masked: it is not masked");
    *out = dp_tensor_ref(w.tensors[VALUES]);
    return 0;
}

/* masked::same(Tensor(a) self) -> Tensor(a): a tensor that others hold */
static int same(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_wrapper w;

    if (!take_apart(self, &w) || !take_apart(w.tensors[VALUES], &(dp_wrapper){0}))
        return dp_fail(ctx, DP_ETYPE, "masked: it is not nested");
    *out = dp_tensor_ref(w.tensors[VALUES]);
    return 0;
}

/* aten::mul_.Scalar writes the values, whose version is the wrapper's */
static int mul_(dp_ctx *ctx, dp_tensor *self, dp_value other)
{
    dp_wrapper w;

    if (!take_apart(self, &w))
        return dp_refuse(ctx, DP_ETYPE, "masked: it is not masked");
    return DP_INVOKE(ctx, "aten::mul_.Scalar", (T, s), (), w.tensors[VALUES], other);
}

/* aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor */
static int sum(dp_ctx *ctx, dp_tensor *self, const int64_t *dtype, dp_tensor **out)
{
    dp_tensor *dense;
    int rc = to_dense(ctx, self, dp_int(0), &dense);

    if (rc < 0)
        return rc;
    rc = DP_INVOKE(ctx, "aten::sum", (T, oi), (T), dense, dtype, out);
    dp_tensor_unref(dense);
    return rc;
}

/* masked::set_(Tensor(a!) self, Tensor values, Tensor mask) -> (): other parts, maybe another
 * shape */
static int set_(dp_call *call)
{
    dp_tensor *parts[PARTS] = {call->args[1].u.t, call->args[2].u.t};
    dp_wrapper w = masked(parts, 0, NULL);

    return dp_wrapper_become(call->ctx, call->args[0].u.t, &w);
}

/* masked::nest(Tensor self, int n) -> Tensor: self inside of n more */
static int nest(dp_ctx *ctx, dp_tensor *self, int64_t n, dp_tensor **out)
{
    dp_tensor *t = dp_tensor_ref(self);

    for (int64_t i = 0; i < n; i++) {
        int rc = wrap(ctx, t, dp_tensor_ref(t), &t);
        if (rc < 0)
            return rc;
    }
    *out = t;
    return 0;
}

/* masked::leak(Tensor self, Tensor dense, int how) -> Tensor: bytes of a wrapper, wrongly, by a
 * call of the CPU's kernel, an elementwise loop, a copy, a view. */
static int leak(dp_call *call)
{
    dp_tensor *self = call->args[0].u.t, *dense = call->args[1].u.t, *out = NULL;
    dp_value args[] = {dp_tensor_value(self), dp_tensor_value(dense)};
    dp_tensor *ins[] = {self, dense};
    dp_iter_config config = dp_iter_of(DP_ITER_BINARY, 1, &out, 2, ins);
    dp_keyset cpu = dp_keyset_of(DP_KEY_OF(DP_F_Dense, DP_B_CPU));
    dp_iter it;
    DP_VIEW(x, self);

    switch (call->args[2].u.i) {
    case 0:
        return dp_redispatch_boxed(call->ctx, dp_op_find(call->ctx, "aten::maximum"), cpu, args, 2,
                                   call->rets, 1);
    case 1:
        return dp_iter_init(call->ctx, &config, &it);
    case 2:
        return dp_copy(call->ctx, dense, self);
    case 3:
        return dp_copy(call->ctx, self, dense);
    case 4:
        return dp_as_strided(call->ctx, self, 0, NULL, NULL, 0, &out);
    default:
        return dp_fail(call->ctx, x.data == NULL && x.ndim == 2 ? DP_EVALUE : DP_EPLUGIN,
                       "data is NULL, sizes [%d, %d]", (int)x.sizes[0], (int)x.sizes[1]);
    }
}

DP_LIBRARY(masked, DP_DEF("make(Tensor values, Tensor mask) -> Tensor"),
           DP_DEF("to_dense(Tensor self, Scalar fill=0) -> Tensor"),
           DP_DEF("set_(Tensor(a!) self, Tensor values, Tensor mask) -> ()"),
           DP_DEF("nest(Tensor self, int n) -> Tensor"),
           DP_DEF("values(Tensor(a) self) -> Tensor(a)"),
           DP_DEF("same(Tensor(a) self) -> Tensor(a)"),
           DP_DEF("leak(Tensor self, Tensor dense, int how) -> Tensor"))
DP_LIBRARY_IMPL(masked, CPU, DP_IMPL_UNBOXED("make", make, (T, T), (T)))
DP_LIBRARY_IMPL(masked, masked, DP_IMPL_UNBOXED("to_dense", to_dense, (T, s), (T)),
                DP_IMPL("set_", set_), DP_IMPL_UNBOXED("nest", nest, (T, i), (T)),
                DP_IMPL("leak", leak), DP_IMPL_UNBOXED("values", values, (T), (T)),
                DP_IMPL_UNBOXED("same", same, (T), (T)))
DP_LIBRARY_IMPL(aten, masked, DP_IMPL_UNBOXED("neg", neg, (T), (T)), DP_IMPL("add.Tensor", binary),
                DP_IMPL("mul.Tensor", binary), DP_IMPL("transpose.int", each),
                DP_IMPL("detach", each), DP_IMPL_UNBOXED("mul_.Scalar", mul_, (T, s), ()),
                DP_IMPL_UNBOXED("sum", sum, (T, oi), (T)))
