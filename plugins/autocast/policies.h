/* policies.h -- the policies of autocast that only operators of aten have. */
#ifndef AUTOCAST_POLICIES_H
#define AUTOCAST_POLICIES_H

#include <dispatchd/plugin.h>
#include <dispatchd/autocast.h>

/* norm: call the overload that takes a dtype, with float32 for an argument of a lower dtype. */
int cast_fp32_append_dtype(dp_call *call);
/* binary_cross_entropy: fail, since the logarithm of what a sigmoid gave in float16 is not safe. */
int cast_banned(dp_call *call);

#endif
