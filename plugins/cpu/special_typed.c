/* special_typed.c -- special functions for float and for double. */
#include "special.h"
#include <math.h>

#define SF_T       float
#define SF(name)   name##_f32
#define SF_F(name) name##f
#include "special_of_type.h"
#undef SF_T
#undef SF
#undef SF_F
#define SF_T       double
#define SF(name)   name##_f64
#define SF_F(name) name
#include "special_of_type.h"
