/* types.c -- the table of the types in which dtypes are computed. */
#include "pointwise/loops/types.h"
#include <dispatchd/plugin.h>

const pw_type pw_types[DP_DTYPE_END] = {
#define TYPE(t, place, dtype, memory, value) [dtype] = {place, dtype, sizeof(memory)},
    PW_TYPE_MAP(TYPE)
#undef TYPE
        [DP_FLOAT16] = {6, DP_FLOAT32, sizeof(float)},
    [DP_BFLOAT16] = {6, DP_FLOAT32, sizeof(float)},
};
