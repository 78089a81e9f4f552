/* autocast.c -- dp_autocast(), the kernel of the Autocast keys (aten/src/ATen/autocast_mode.h).
 *
 * It casts a call's arguments as a policy says, and runs the call below with autocast excluded.
 * The casts are calls above autograd, so backward runs through them.  A leaf that requires
 * gradients is cast once for each region of autocast (casts.h). */
#include "dispatch/call/casts.h"
#include "dispatch/call/enter.h"
#include "dispatch/plugin/plugins.h"
#include "history.h"

/* One call of dp_autocast(). */
typedef struct casting {
    dp_call *call;
    int backend;  /* whose arguments are cast */
    dp_dtype to;  /* dtype that they are cast to */
    uint64_t own; /* bit i: args[i] is `call`'s, not a cast that must be released */
    dp_value args[DP_LIMIT_ARGUMENTS];
} casting;
_Static_assert(DP_LIMIT_ARGUMENTS <= 64, "an argument is a bit of casting.own");

static inline bool is_eligible(const dp_tensor *t, int backend)
{
    return t != NULL && dp_dtype_is_floating(t->dtype) && t->dtype != DP_FLOAT64 &&
           dp_device_backend(dpi_storage_of(t)->device) == backend;
}

dp_dtype dp_autocast_dtype(const dp_mode *mode, int backend)
{
    if (mode->cast_dtype[backend] > 0)
        return (dp_dtype)(mode->cast_dtype[backend] - 1);
    return backend == DP_B_CPU || backend == DP_B_XLA || backend == DP_B_HPU ? DP_BFLOAT16
                                                                             : DP_FLOAT16;
}

static int cast(dp_ctx *ctx, dp_tensor *t, dp_dtype to, dp_tensor **out)
{
    const dp_op *op = dp_op_find(ctx, "aten::_to_copy");
    const dp_value args[7] = {dp_tensor_value(t), dp_int(to), {0}, {0}, {0}, dp_bool(false), {0}};
    dp_value ret = {0};
    int rc = op == NULL ? ctx->error.code : dp_call_boxed(ctx, op, args, 7, &ret, 1);

    *out = rc == 0 ? ret.u.t : NULL;
    return rc;
}

/* Is the cast of `t` to `to` kept?  As in at::autocast::cached_cast: only of parameters. */
static inline bool is_kept(const dp_mode *mode, const dp_tensor *t, dp_dtype to, int backend)
{
    return !mode->no_cast_cache && to == dp_autocast_dtype(mode, backend) &&
           t->dtype == DP_FLOAT32 && t->root == NULL && dpi_is_grad_leaf(t);
}

/* Cast `t`, which is eligible and of another dtype than `to`. */
static int cached_cast(dp_ctx *ctx, dp_tensor *t, dp_dtype to, int backend, dp_tensor **out)
{
    const dp_mode *mode = dp_ctx_mode(ctx);

    if (!is_kept(mode, t, to, backend))
        return cast(ctx, t, to, out);
    const dpi_cast_key key = dpi_cast_key_of(t, to, mode->no_grad);

    *out = dpi_casts_find(ctx, &key);
    if (*out != NULL) {
        dp_tensor_ref(*out);
        return 0;
    }
    int rc = cast(ctx, t, to, out);
    if (rc == 0 && mode->cast_backends != 0) /* else nothing would end the region */
        dpi_casts_keep(ctx, &key, *out);
    return rc;
}

int dp_cached_cast(dp_ctx *ctx, dp_tensor *t, dp_dtype to, int backend, dp_tensor **out)
{
    if (backend < 0 || backend >= 64)
        return dp_error_set(&ctx->error, DP_EPLUGIN, "dp_cached_cast: there is no backend %d",
                            backend);
    if (is_eligible(t, backend) && t->dtype != to)
        return cached_cast(ctx, t, to, backend, out);
    *out = t != NULL ? dp_tensor_ref(t) : NULL;
    return 0;
}

/* -- the arguments -- */

static inline bool is_cast(const casting *c, const dp_tensor *t)
{
    return is_eligible(t, c->backend) && t->dtype != c->to;
}

static bool list_is_cast(const casting *c, const dp_value *v)
{
    for (uint32_t k = 0; k < v->len; k++)
        if (is_cast(c, v->u.tensors[k]))
            return true;
    return false;
}

static void release_list(dp_tensor *const *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        dp_tensor_unref(list[k]);
}

static int cast_list(casting *c, const dp_value *v, dp_value *out)
{
    dp_ctx *ctx = c->call->ctx;
    dp_tensor **list = dp_alloc_n(ctx, v->len, sizeof(dp_tensor *));

    if (list == NULL)
        return DP_ERESOURCE; /* dp_alloc_n() has set the error */
    for (uint32_t k = 0; k < v->len; k++) {
        int rc = dp_cached_cast(ctx, v->u.tensors[k], c->to, c->backend, &list[k]);
        if (rc < 0) {
            release_list(list, k);
            return rc;
        }
    }
    *out = *v;
    out->u.tensors = list;
    return 0;
}

/* Cast argument i if the policy does; else share it. */
static int cast_argument(casting *c, uint32_t i)
{
    const dp_value *v = &c->call->args[i];
    dp_tensor *made;
    int rc = 0;

    if (v->tag == DP_TAG_TENSOR && is_cast(c, v->u.t)) {
        rc = cached_cast(c->call->ctx, v->u.t, c->to, c->backend, &made);
        if (rc == 0)
            c->args[i] = dp_tensor_value(made);
    } else if (v->tag == DP_TAG_TENSORS && list_is_cast(c, v)) {
        rc = cast_list(c, v, &c->args[i]);
    } else {
        c->args[i] = *v;
        return 0;
    }
    if (rc == 0)
        c->own &= ~((uint64_t)1 << i);
    return rc;
}

static void release(casting *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->own >> i & 1)
            continue;
        else if (c->args[i].tag == DP_TAG_TENSOR)
            dp_tensor_unref(c->args[i].u.t);
        else
            release_list(c->args[i].u.tensors, c->args[i].len);
}

static bool needs_cast(const casting *c)
{
    const dp_call *call = c->call;

    for (uint32_t i = 0; i < call->n_args; i++) {
        const dp_value *v = &call->args[i];
        if (v->tag == DP_TAG_TENSOR ? is_cast(c, v->u.t)
                                    : v->tag == DP_TAG_TENSORS && list_is_cast(c, v))
            return true;
    }
    return false;
}

static int run_below(const dp_call *call)
{
    return dpi_call_below(call, call->n_args, DPI_AUTOCAST_BITS);
}

/* Cast the arguments and run the call below. */
static DPI_COLD int run_cast(casting *c)
{
    dp_call below = *c->call;
    dp_ctx *ctx = below.ctx;
    uint32_t n = 0;
    const dp_keyset none = {0, 0}, autocast = {DPI_AUTOCAST_BITS, 0};
    int rc = 0, depth = dp_guard_enter(ctx, none, autocast);

    if (depth < 0)
        return depth;
    c->own = ~(uint64_t)0;
    for (; n < below.n_args && rc == 0; n++)
        rc = cast_argument(c, n);
    below.args = c->args;
    if (rc == 0)
        rc = run_below(&below);
    else
        n--; /* the argument that failed */
    dp_guard_leave(ctx, depth);
    release(c, n);
    return rc;
}

static int run_as(casting *c)
{
    return needs_cast(c) ? run_cast(c) : run_below(c->call);
}

/* -- the other policies -- */

/* Policy fp32_set_opt_dtype: an unset `dtype` is float32 if the first argument is eligible. */
static int run_with_dtype(casting *c)
{
    dp_call below = *c->call;
    dp_schema_info info = {.size = sizeof(info)};

    if (below.n_args == 0 || below.args[0].tag != DP_TAG_TENSOR ||
        !is_eligible(below.args[0].u.t, c->backend))
        return run_below(&below);
    int rc = dp_schema_info_get(below.ctx, below.op, &info);
    for (uint32_t i = 0; i < below.n_args && rc == 0; i++) {
        dp_arg_info arg = {.size = sizeof(arg)};
        c->args[i] = below.args[i];
        if (below.args[i].tag != DP_TAG_NONE)
            continue;
        if (dp_op_arg(&info, i, &arg) && arg.type == DP_TYPE_DTYPE && arg.optional)
            c->args[i] = dp_int(DP_FLOAT32);
    }
    below.args = c->args;
    return rc < 0 ? rc : run_below(&below);
}

/* Take `t` into account for policy promote (at::autocast::prioritize). */
static int widen(casting *c, const dp_tensor *t, dp_dtype lower)
{
    if (!is_eligible(t, c->backend))
        return 0;
    if (c->to == DP_FLOAT32 || t->dtype == DP_FLOAT32)
        c->to = DP_FLOAT32;
    else if (t->dtype != lower)
        return dp_error_set(&c->call->ctx->error, DP_ERUNTIME,
                            "Unexpected floating ScalarType in at::autocast::prioritize: autocast "
                            "to %s got an argument of %s",
                            dp_dtype_name(lower), dp_dtype_name(t->dtype));
    return 0;
}

/* Policy promote: cast to the widest dtype of the eligible arguments. */
static int run_promoted(casting *c)
{
    const dp_call *call = c->call;
    const dp_dtype lower = c->to;
    int rc = 0;

    for (uint32_t i = 0; i < call->n_args && rc == 0; i++) {
        const dp_value *v = &call->args[i];
        if (v->tag == DP_TAG_TENSOR)
            rc = widen(c, v->u.t, lower);
        else if (v->tag == DP_TAG_TENSORS)
            for (uint32_t k = 0; k < v->len && rc == 0; k++)
                rc = widen(c, v->u.tensors[k], lower);
    }
    return rc < 0 ? rc : run_as(c);
}

int dp_autocast(dp_call *call, uint32_t policy)
{
    const dp_mode *mode = dp_ctx_mode(call->ctx);
    int backend = dpi_autocast_backend(call->key);
    casting c; /* `args` is large, and only written where it is needed */

    c.call = call;
    c.backend = backend;
    if (backend < 0)
        return dp_error_set(&call->ctx->error, DP_EPLUGIN,
                            "dp_autocast is a kernel for the keys of autocast only");
    /* AutocastNamed is one key for all named backends, of which some may have autocast off. */
    if (!(mode->cast_backends & DP_BBIT(backend)))
        return run_below(call);
    c.to = dp_autocast_dtype(mode, backend);
    switch (policy) {
    case DP_CAST_LOWER_PRECISION_FP:
        return run_as(&c);
    case DP_CAST_FP32:
        c.to = DP_FLOAT32;
        return run_as(&c);
    case DP_CAST_FP32_SET_OPT_DTYPE:
        return run_with_dtype(&c);
    case DP_CAST_PROMOTE:
        return run_promoted(&c);
    default:
        return dp_error_set(&call->ctx->error, DP_EPLUGIN,
                            "dp_autocast: policy %u; there are DP_CAST_LOWER_PRECISION_FP to "
                            "DP_CAST_PROMOTE",
                            policy);
    }
}

__attribute__((constructor)) static void fill(void)
{
    dpi_fill_dp_autocast(dp_autocast);
    dpi_fill_dp_cached_cast(dp_cached_cast);
}
