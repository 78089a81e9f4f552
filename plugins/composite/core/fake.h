/* fake.h -- fake runs of operators, which find the shapes, dtypes and devices of the results
 * without computing elements.  A fake of a tensor has its dtype, device, sizes and strides, but no
 * memory, like PyTorch's FakeTensor. */
#ifndef COMPOSITE_FAKE_H
#define COMPOSITE_FAKE_H

#include <dispatchd/plugin.h>

/* Run the call's operator on fakes of its arguments, with a kernel that reads no elements but does
 * all checks.  rets [call->n_rets] is set to owned fakes, on the devices that the results would
 * have.  `target` is the full name of the overload from which the call's operator is derived
 * (follow.h), and is used only in error messages.  DP_ENOTIMPL: the operator has no such kernel, an
 * argument is quantized, or the call itself is a fake call. */
int fake_run(dp_call *call, const char *target, dp_value *rets);

#endif
