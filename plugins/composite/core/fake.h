/* fake.h -- what an operator makes of arguments without memory. */
#ifndef COMPOSITE_FAKE_H
#define COMPOSITE_FAKE_H

#include <dispatchd/plugin.h>

/* Runs the call's operator on fakes of its arguments, where a kernel that needs no bytes does all
 * checks.  rets [call->n_rets] out: owned fakes, on the true devices.  DP_ENOTIMPL: there is no
 * such kernel, of the operator or of `target`, the one that it follows from; both are named. */
int fake_run(dp_call *call, const char *target, dp_value *rets);

#endif
