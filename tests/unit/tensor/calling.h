/* calling.h -- a call, as the tensor room knows one: without a registry, a kernel or a thread's
 * record. */
#ifndef CALLING_H
#define CALLING_H

#include "tensor/room.h"

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
