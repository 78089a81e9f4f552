/* huge.h -- huge tensors. */
#ifndef HUGE_H
#define HUGE_H

#include "tensor/room.h"
#include "unit.h"

static dp_error err = DP_ERROR_INIT;

#define BIG ((int64_t)1 << 61)

#endif
