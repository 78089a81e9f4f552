/* huge.h -- includes, `err` and BIG, a number of elements, for tests of tensors that are larger
 * than memory. */
#ifndef HUGE_H
#define HUGE_H

#include "tensor/room.h"
#include "unit.h"

static dp_error err = DP_ERROR_INIT;

#define BIG ((int64_t)1 << 61)

#endif
