/* choose.h -- the loops of choose.c, by vector level. */
#ifndef CPU_CHOOSE_H
#define CPU_CHOOSE_H

#include "isa.h"

/* data[0] = data[1] (bytes that are 0 or not) ? data[2] : data[3], by the bytes of an element */
DP_ISA_TABLE(dp_iter_loop2d, choose_loops)

#endif
