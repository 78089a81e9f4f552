/* unruly.c -- a backend in the host's memory that leaves all operators to the CPU, and misbehaves
 * as the environment says:  UNRULY_CRASH=N aborts in every Nth operator, UNRULY_NEG makes neg
 * "wrong", "slow", one that "hangs", one that writes "before" or "beyond" its output, or one that
 * returns a tensor "elsewhere" (on the CPU), "nowhere" (on a device that is not there) or of
 * another "dtype". */
#include <dispatchd/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int on_cpu(dp_call *call)
{
    static int calls;
    const char *every = getenv("UNRULY_CRASH");

    if (every != NULL && ++calls % atoi(every) == 0)
        abort();
    return dp_fallback_cpu(call);
}

DP_PLUGIN(unruly, "1.0")
DP_BACKEND(npu)
DP_FALLBACK(npu, on_cpu)

static bool is_told(const char *what)
{
    const char *neg = getenv("UNRULY_NEG");

    return neg != NULL && strcmp(neg, what) == 0;
}

/* A kernel of its own: what falls back is not timed. */
static int slow_neg(dp_call *call)
{
    dp_tensor *out, *self = call->args[0].u.t;
    int rc = dp_empty_like(call->ctx, self, DP_DTYPE_NONE, DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    call->rets[0] = dp_tensor_value(out);
    DP_VIEW(x, self);
    DP_VIEW(z, out);
    for (int64_t i = 0; i < z.numel; i++)
        ((float *)z.data)[i] = -((float *)x.data)[i];
    if (z.numel > 10000)
        usleep(20000);
    return 0;
}

/* Return a tensor that the schema or the device's number forbids. */
static int other_neg(dp_call *call)
{
    DP_VIEW(x, call->args[0].u.t);
    bool of_dtype = is_told("dtype");
    dp_device npu9 = DP_DEVICE(dp_device_backend(x.device), 9);
    dp_device to = of_dtype ? x.device : is_told("elsewhere") ? DP_DEVICE_CPU : npu9;
    dp_tensor *out;
    int rc = dp_empty(call->ctx, of_dtype ? DP_FLOAT64 : x.dtype, to, x.ndim, x.sizes,
                      DP_CONTIGUOUS, &out);

    if (rc < 0)
        return rc;
    call->rets[0] = dp_tensor_value(out);
    DP_VIEW(z, out);
    for (int64_t i = 0; i < z.numel && !of_dtype; i++)
        ((float *)z.data)[i] = -((float *)x.data)[i];
    return 0;
}

static int neg(dp_call *call)
{
    bool makes = strcmp(dp_op_name(call->op), "aten::neg") == 0;
    DP_VIEW(x, call->args[0].u.t);

    if (is_told("slow") && makes && x.dtype == DP_FLOAT32 &&
        dp_tensor_is_contiguous(call->args[0].u.t, DP_CONTIGUOUS))
        return slow_neg(call);
    if ((is_told("elsewhere") || is_told("nowhere") || is_told("dtype")) && makes &&
        x.dtype == DP_FLOAT32 && dp_tensor_is_contiguous(call->args[0].u.t, DP_CONTIGUOUS))
        return other_neg(call);
    int rc = on_cpu(call);

    while (is_told("hangs"))
        pause();
    dp_tensor *out = makes ? call->rets[0].u.t : call->args[call->n_args - 1].u.t;
    if (rc < 0)
        return rc;
    DP_VIEW(z, out);
    float *at = z.data;
    if (z.dtype != DP_FLOAT32 || !dp_tensor_is_contiguous(out, DP_CONTIGUOUS))
        return rc;
    for (int64_t i = 0; i < z.numel && is_told("wrong"); i++)
        at[i] *= 2;
    if (is_told("beyond") && call->n_args == 2)
        at[z.numel] = 7;
    if (is_told("before") && call->n_args == 2 && dp_tensor_offset(out) > 0) /* in its block */
        at[-1] = 7;
    return rc;
}

DP_LIBRARY_IMPL(aten, npu, DP_IMPL("neg", neg), DP_IMPL("neg_", neg), DP_IMPL("neg.out", neg))
