/* composite.c -- mirror's kernels for the operators for which plugin composite has kernels of CPU:
 * each is the CPU's, which calls operators that mirror has itself.  composite_names.h is made from
 * the plugin's file. */

static int on_cpu(dp_call *call)
{
    dp_keyset keys = dp_device_keys(0);

    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}

#define ON_CPU(name) DP_LIBRARY_IMPL(aten, CPU, DP_IMPL(name, on_cpu))
#include "composite_names.h"
