/* abi_2_0.c -- what abi_2_0-x86_64.so was built from, by `make frozen`.
 *
 * While interface 2 is a draft, the file is built again with each draft; from the freeze on it
 * stays as it was built, and every later host must load it and answer the same.  abi_1_0-x86_64.so
 * is of interface 1.0 and is refused by name. */
#include <dispatchd/plugin.h>
#include <dispatchd/iter.h>
#include <stdatomic.h>

DP_PLUGIN(frozen, "1.0")
DP_BACKEND(frozen)

/* -- hooks and an observer -- */

static atomic_llong begun, ended, loads;

static int on_load(dp_ctx *ctx)
{
    (void)ctx;
    atomic_fetch_add(&loads, 1);
    return 0;
}
static int on_unload(dp_ctx *ctx)
{
    (void)ctx;
    return atomic_load(&loads) == 1 ? 0 : DP_ERUNTIME;
}
static void observe(dp_observation *o)
{
    atomic_fetch_add(o->phase ? &ended : &begun, 1);
}
DP_ON_LOAD(on_load)
DP_ON_UNLOAD(on_unload)
DP_OBSERVER(observe)

/* -- unboxed: the iterator, the pool, typed and named calls, devices, errors -- */

static void scale_loop(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    for (int64_t i = 0; i < n; i++)
        *(float *)(data[0] + i * strides[0]) =
            *(const float *)user * *(const float *)(data[1] + i * strides[1]);
}

static int scale(dp_ctx *ctx, dp_tensor *self, double factor, dp_tensor **out)
{
    float f = (float)factor;
    dp_iter it;
    DP_VIEW(x, self);
    dp_iter_config config = dp_iter_of(DP_ITER_UNARY, 1, out, 1, &self);

    if (x.dtype != DP_FLOAT32)
        return dp_fail(ctx, DP_ETYPE, "expected float32 but got %s", dp_dtype_name(x.dtype));
    int rc = dp_iter_init(ctx, &config, &it);
    return rc ? rc : dp_iter_run_1d(ctx, &it, scale_loop, &f);
}

/* In place: what is written is returned by the host. */
static int add_(dp_ctx *ctx, dp_tensor *self, int64_t n)
{
    DP_VIEW(x, self);

    if (x.dtype != DP_FLOAT32 || !dp_tensor_is_contiguous(self, DP_CONTIGUOUS))
        return dp_fail(ctx, DP_ETYPE, "expected contiguous float32 but got %s",
                       dp_dtype_name(x.dtype));
    for (int64_t i = 0; i < x.numel; i++)
        ((float *)x.data)[i] += (float)n;
    return 0;
}

static void count_up(int64_t begin, int64_t end, void *user)
{
    for (int64_t i = begin; i < end; i++)
        ((int64_t *)user)[i] = i;
}

static int range(dp_ctx *ctx, int64_t n, dp_tensor **out)
{
    int rc = dp_empty(ctx, DP_INT64, DP_DEVICE_CPU, 1, &n, DP_CONTIGUOUS, out);
    if (rc)
        return rc;
    DP_VIEW(x, *out);
    return dp_parallel_for(ctx, 0, n, 1000, count_up, x.data);
}

DP_TYPED(call_add, (T, T, s), (T))

/* self + self by a typed call, times three by name. */
static int six_times(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_typed add;
    dp_tensor *twice = NULL;
    int rc = dp_typed_init(ctx, "aten::add.Tensor", DP_CODE((T, T, s), (T)), &add);

    if (rc == 0)
        rc = call_add(ctx, &add, self, self, dp_int(1), &twice);
    if (rc == 0)
        rc = dp_invoke(ctx, "aten::mul.Scalar", "Ts>T", twice, dp_double(3), out);
    dp_tensor_unref(twice);
    return rc;
}

static int move(dp_ctx *ctx, dp_tensor *self, dp_tensor **out)
{
    dp_device frozen;
    DP_VIEW(x, self);
    int rc = dp_device_find(ctx, "frozen", &frozen);

    if (rc == 0)
        rc = dp_empty(ctx, x.dtype, frozen, x.ndim, x.sizes, DP_CONTIGUOUS, out);
    return rc ? rc : dp_copy(ctx, *out, self);
}

static int observed(dp_ctx *ctx, dp_tensor *self, int64_t *now_begun, int64_t *now_ended)
{
    (void)ctx, (void)self;
    *now_begun = atomic_load(&begun);
    *now_ended = atomic_load(&ended);
    return 0;
}

/* -- boxed: every kind of argument, lists and strings back, redispatch -- */

static int describe(dp_call *call)
{
    const dp_value *a = call->args;
    int64_t *sizes = dp_alloc(call->ctx, 3 * sizeof(*sizes));

    if (sizes == NULL)
        return DP_ERESOURCE;
    sizes[0] = a[1].tag == DP_TAG_INTS ? (int64_t)a[1].len : -1;
    sizes[1] = a[2].tag == DP_TAG_NONE ? -1 : (int64_t)a[2].len;
    sizes[2] = a[3].tag == DP_TAG_INT ? a[3].u.i : (int64_t)a[3].u.d;
    call->rets[0] = dp_tensor_value(dp_tensor_ref(a[0].u.t));
    call->rets[1] = (dp_value){DP_TAG_INTS, 3, {0}};
    call->rets[1].u.ints = sizes;
    call->rets[2] = dp_bool(dp_tensor_is_contiguous(a[0].u.t, DP_CONTIGUOUS));
    return 0;
}

static int above(dp_call *call)
{
    return dp_redispatch_boxed(call->ctx, call->op, dp_keyset_below(call->keys, call->key),
                               call->args, call->n_args, call->rets, call->n_rets);
}

DP_LIBRARY(frozen, DP_DEF("scale(Tensor self, float factor=2.0) -> Tensor"),
           DP_DEF("add_(Tensor(a!) self, int n) -> Tensor(a!)"), DP_DEF("range(int n) -> Tensor"),
           DP_DEF("six_times(Tensor self) -> Tensor"), DP_DEF("move(Tensor self) -> Tensor"),
           DP_DEF("observed(Tensor self) -> (int, int)"),
           DP_DEF("describe(Tensor self, int[] dims, str? name=None, *, Scalar s=1) -> (Tensor, "
                  "int[], bool)"))
DP_LIBRARY_IMPL(frozen, CPU, DP_IMPL_UNBOXED("scale", scale, (T, f), (T)),
                DP_IMPL_UNBOXED("add_", add_, (T, i), ()), DP_IMPL_UNBOXED("move", move, (T), (T)),
                DP_IMPL_UNBOXED("observed", observed, (T), (i, i)), DP_IMPL("describe", describe))
DP_LIBRARY_IMPL(frozen, CompositeExplicitAutograd, DP_IMPL_UNBOXED("range", range, (i), (T)))
DP_LIBRARY_IMPL(frozen, CompositeImplicitAutograd,
                DP_IMPL_UNBOXED("six_times", six_times, (T), (T)))
DP_LIBRARY_IMPL(frozen, AutogradCPU, DP_IMPL_BELOW("scale", above))
