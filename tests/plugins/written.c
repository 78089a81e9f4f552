/* written.c -- returns that are written arguments: no kernel gives them.  Every form of schema, C
 * types and boxed, a layer above one, calls from inside a kernel; and two boxed kernels that set
 * such a return all the same. */
#include <dispatchd/plugin.h>

DP_PLUGIN(written, "1.0")

static void add(dp_tensor *t, float n)
{
    DP_VIEW(x, t);
    for (int64_t i = 0; i < x.numel; i++)
        ((float *)x.data)[i] += n;
}

/* -- C types: (Tensor(a!) self) -> Tensor(a!) has nothing to set -- */

static int add_(dp_ctx *ctx, dp_tensor *self, int64_t n)
{
    (void)ctx;
    add(self, (float)n);
    return n < 0 ? dp_fail(ctx, DP_EVALUE, "n is %lld, less than 0", (long long)n) : 0;
}

static int add_out(dp_ctx *ctx, dp_tensor *self, dp_tensor *out)
{
    int rc = dp_copy(ctx, out, self);
    if (rc == 0)
        add(out, 1);
    return rc;
}

/* (Tensor(a!), int, Tensor(b!), Tensor): what is no argument, in its order */
static int between(dp_ctx *ctx, dp_tensor *a, dp_tensor *b, int64_t *n, dp_tensor **sum)
{
    add(a, 1), add(b, 2);
    *n = 7;
    return DP_INVOKE(ctx, "aten::add.Tensor", (T, T), (T), a, b, sum);
}

static int all_(dp_ctx *ctx, dp_tensor *const *tensors, size_t n)
{
    (void)ctx;
    for (size_t i = 0; i < n; i++)
        add(tensors[i], 1);
    return 0;
}

static int maybe_(dp_ctx *ctx, dp_tensor *self)
{
    (void)ctx;
    if (self != NULL)
        add(self, 1);
    return 0;
}

/* -- boxed -- */

static int add_boxed(dp_call *call)
{
    return add_(call->ctx, call->args[0].u.t, call->args[1].u.i);
}

static int between_boxed(dp_call *call)
{
    dp_tensor *sum = NULL;
    int64_t n;
    int rc = between(call->ctx, call->args[0].u.t, call->args[1].u.t, &n, &sum);

    if (rc == 0) {
        call->rets[1] = dp_int(n);
        call->rets[3] = dp_tensor_value(sum);
    }
    return rc;
}

/* Must not: with the argument, and with another tensor. */
static int sets_(dp_call *call)
{
    dp_tensor *t = call->args[0].u.t;

    if (call->args[1].u.i == 0)
        call->rets[0] = call->args[0];
    else if (dp_empty_like(call->ctx, t, DP_DTYPE_NONE, DP_PRESERVE, &t) == 0)
        call->rets[0] = dp_tensor_value(t);
    return 0;
}

static int sets_and_fails_(dp_call *call)
{
    call->rets[0] = call->args[0];
    return dp_fail(call->ctx, DP_EVALUE, "after it set what it must not");
}

/* A layer hands on what it got, both ways. */
static int above(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

static int beside(dp_call *call)
{
    dp_keyset key = dp_keyset_of(DP_KEY(dp_key_functionality(call->key))), none = {0, 0};
    int guard = dp_guard_enter(call->ctx, none, key);
    int rc = dp_call_boxed(call->ctx, call->op, call->args, call->n_args, call->rets, call->n_rets);

    dp_guard_leave(call->ctx, guard);
    return rc;
}

/* -- from inside a kernel: callers have no slots either -- */

DP_TYPED(call_add, (T, i), ())
DP_TYPED(call_between, (T, T), (i, T))

static int by_type(dp_ctx *ctx, const char *add_name, const char *between_name, dp_tensor *self,
                   dp_tensor **sum)
{
    dp_typed t;
    int64_t n = 0;
    int rc = dp_typed_init(ctx, add_name, DP_CODE((T, i), ()), &t);

    if (rc == 0)
        rc = call_add(ctx, &t, self, 1);
    if (rc == 0)
        rc = dp_typed_init(ctx, between_name, DP_CODE((T, T), (i, T)), &t);
    if (rc == 0)
        rc = call_between(ctx, &t, self, self, &n, sum);
    return rc || n == 7 ? rc : dp_fail(ctx, DP_ERUNTIME, "n is %lld, not 7", (long long)n);
}

/* + 1 + 1 + 2, doubled, for each of C types and boxed kernels */
static int calls(dp_ctx *ctx, dp_tensor *self, dp_tensor **first, dp_tensor **second)
{
    int rc = by_type(ctx, "written::add_", "written::between", self, first);
    return rc ? rc : by_type(ctx, "written::add_.boxed", "written::between.boxed", self, second);
}

static int invokes(dp_ctx *ctx, dp_tensor *self, int64_t *n, dp_tensor **sum)
{
    dp_value rets[4];
    dp_value args[2] = {dp_tensor_value(self), dp_tensor_value(self)};
    int rc = DP_INVOKE(ctx, "written::add_.boxed", (T, i), (), self, 1);

    if (rc == 0)
        rc = dp_call_boxed(ctx, dp_op_find(ctx, "written::between"), args, 2, rets, 4);
    if (rc == 0 && (rets[0].tag != DP_TAG_NONE || rets[2].tag != DP_TAG_NONE))
        rc = dp_fail(ctx, DP_ERUNTIME, "an argument came back inside a kernel");
    else if (rc == 0)
        dp_values_release(rets, 4);
    return rc ? rc : DP_INVOKE(ctx, "written::between.boxed", (T, T), (i, T), self, self, n, sum);
}

DP_LIBRARY(written, DP_DEF("add_(Tensor(a!) self, int n) -> Tensor(a!)"),
           DP_DEF("add_.boxed(Tensor(a!) self, int n) -> Tensor(a!)"),
           DP_DEF("add_.layer(Tensor(a!) self, int n) -> Tensor(a!)"),
           DP_DEF("add_.guarded(Tensor(a!) self, int n) -> Tensor(a!)"),
           DP_DEF("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
           DP_DEF("between(Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), int, Tensor(b!), Tensor)"),
           DP_DEF("between.boxed(Tensor(a!) a, Tensor(b!) b) -> "
                  "(Tensor(a!), int, Tensor(b!), Tensor)"),
           DP_DEF("all_(Tensor(a!)[] self) -> Tensor(a!)[]"),
           DP_DEF("maybe_(Tensor(a!)? self) -> Tensor(a!)?"),
           DP_DEF("sets_(Tensor(a!) self, int how) -> Tensor(a!)"),
           DP_DEF("sets_and_fails_(Tensor(a!) self) -> Tensor(a!)"),
           DP_DEF("calls(Tensor(a!) self) -> (Tensor, Tensor)"),
           DP_DEF("invokes(Tensor(a!) self) -> (int, Tensor)"))
DP_LIBRARY_IMPL(written, CPU, DP_IMPL_UNBOXED("add_", add_, (T, i), ()),
                DP_IMPL("add_.boxed", add_boxed), DP_IMPL("add_.layer", add_boxed),
                DP_IMPL("add_.guarded", add_boxed), DP_IMPL_UNBOXED("add.out", add_out, (T, T), ()),
                DP_IMPL_UNBOXED("between", between, (T, T), (i, T)),
                DP_IMPL("between.boxed", between_boxed), DP_IMPL_UNBOXED("all_", all_, (lT), ()),
                DP_IMPL("sets_", sets_), DP_IMPL("sets_and_fails_", sets_and_fails_))
DP_LIBRARY_IMPL(written, CompositeExplicitAutograd, DP_IMPL_UNBOXED("maybe_", maybe_, (oT), ()))
DP_LIBRARY_IMPL(written, CompositeImplicitAutograd, DP_IMPL_UNBOXED("calls", calls, (T), (T, T)),
                DP_IMPL_UNBOXED("invokes", invokes, (T), (i, T)))
DP_LIBRARY_IMPL(written, AutogradCPU, DP_IMPL_BELOW("add_.layer", above),
                DP_IMPL("add_.guarded", beside))
