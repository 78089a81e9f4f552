/* unruly.c -- a backend in the host's memory that leaves all operators to the CPU, and misbehaves
 * as the environment says:  UNRULY_CRASH=N aborts in every Nth operator, UNRULY_NEG makes neg
 * "wrong", "slow", one that "hangs", or one that writes "beyond" its output. */
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

static int neg(dp_call *call)
{
    bool makes = strcmp(dp_op_name(call->op), "aten::neg") == 0;
    DP_VIEW(x, call->args[0].u.t);

    if (is_told("slow") && makes && x.dtype == DP_FLOAT32 &&
        dp_tensor_is_contiguous(call->args[0].u.t, DP_CONTIGUOUS))
        return slow_neg(call);
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
    return rc;
}

DP_LIBRARY_IMPL(aten, npu, DP_IMPL("neg", neg), DP_IMPL("neg_", neg), DP_IMPL("neg.out", neg))
