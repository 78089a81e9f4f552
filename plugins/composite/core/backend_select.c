/* backend_select.c -- kernels for the dispatch key BackendSelect, which redispatch operators
 * without tensor arguments to the backend of their `device` argument.
 *
 * Operators: arange, empty, empty_strided, eye, full, linspace, logspace, ones, range,
 * scalar_tensor, tril_indices, triu_indices, zeros. */
#include "composite.h"

/* Redispatch to the backend of the device argument, which is the `position`th argument from the
 * end; if it is None, the backend is the CPU.  The dtype argument stands two before the device
 * argument; a quantized dtype selects a key such as QuantizedCPU (c10::computeDispatchKey). */
static int select_backend(dp_call *call, uint32_t position)
{
    const dp_value *device = &call->args[call->n_args - position];
    const dp_value *dtype = &call->args[call->n_args - position - 2];
    bool quantized = dtype->tag == DP_TAG_INT && dp_dtype_is_quantized((dp_dtype)dtype->u.i);
    dp_keyset keys = dp_keyset_of(DP_KEY(quantized ? DP_F_Quantized : DP_F_Dense));

    keys.backend = dp_device_keys(device->tag ? (dp_device)device->u.i : DP_DEVICE_CPU).backend;
    return dp_redispatch_boxed(call->ctx, call->op, keys, call->args, call->n_args, call->rets,
                               call->n_rets);
}

/* kernel of schemas that end in: Layout? layout, Device? device, bool? pin_memory */
static int device_2(dp_call *call)
{
    return select_backend(call, 2);
}

/* kernel of schemas that end in: Device? device, bool? pin_memory, MemoryFormat? memory_format */
static int device_3(dp_call *call)
{
    return select_backend(call, 3);
}

DP_LIBRARY_IMPL(aten, BackendSelect, DP_IMPL_BELOW("empty.memory_format", device_3),
                DP_IMPL_BELOW("empty_strided", device_2), DP_IMPL_BELOW("zeros", device_2),
                DP_IMPL_BELOW("ones", device_2), DP_IMPL_BELOW("full", device_2),
                DP_IMPL_BELOW("scalar_tensor", device_2), DP_IMPL_BELOW("arange", device_2),
                DP_IMPL_BELOW("arange.start", device_2),
                DP_IMPL_BELOW("arange.start_step", device_2), DP_IMPL_BELOW("range", device_2),
                DP_IMPL_BELOW("range.step", device_2), DP_IMPL_BELOW("linspace", device_2),
                DP_IMPL_BELOW("logspace", device_2), DP_IMPL_BELOW("eye", device_2),
                DP_IMPL_BELOW("eye.m", device_2), DP_IMPL_BELOW("tril_indices", device_2),
                DP_IMPL_BELOW("triu_indices", device_2))
