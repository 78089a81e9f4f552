/* special_typed.c -- special functions for float and for double. */
#include "special.h"
#include <math.h>

#define SF_SOURCE "special/special_of_type.h"
#include "special/loops/each_type.h"
