/* special_typed.c -- the special functions of special_of_type.h, compiled for float and for
 * double. */
#include "special.h"
#include <math.h>

#define SF_SOURCE "special/special_of_type.h"
#include "special/loops/each_type.h"
