/* fake.h -- fake runs: an operator's results for arguments without memory. */
#ifndef COMPOSITE_FAKE_H
#define COMPOSITE_FAKE_H

#include <dispatchd/plugin.h>

/* Run the call's operator on fakes of its arguments, with a kernel that reads no elements and
 * does all checks. rets [call->n_rets] is set to owned fakes on the devices that the results
 * would have.  DP_ENOTIMPL: neither the operator nor `target` has such a kernel, or an argument
 * is quantized.  `target`: full name of the overload that the call's operator is derived from
 * (follow.h), for the message; the message names both. */
int fake_run(dp_call *call, const char *target, dp_value *rets);

#endif
