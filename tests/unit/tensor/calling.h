/* calling.h -- call_begins() and call_ends(), between which the functions of libdispatch/tensor act
 * as in an operator call of this thread, without a registry or a kernel. */
#ifndef CALLING_H
#define CALLING_H

#include "tensor/room.h"

/* the looker during the call (tensor_i.h); the thread's looker before the call */
static _Thread_local dpi_looker calling_self, *calling_outside;

static inline void call_begins(void)
{
    calling_outside = dpi_looker_self;
    dpi_looker_self = &calling_self;
    dpi_call_begin(&calling_self);
}

static inline void call_ends(void)
{
    dpi_call_end(&calling_self);
    dpi_looker_self = calling_outside;
}

#endif
