/* loops/pointwise.h -- types, parameters and constants for the loops that proto/gen makes from
 * pointwise.yaml.  T is the type in which a loop computes; K(x) is the constant x in that type. */
#ifndef CPU_LOOPS_POINTWISE_H
#define CPU_LOOPS_POINTWISE_H

#include "core/isa.h"
#include "pointwise/pointwise.h"
#include "math.h"
#include "types.h"

#define K(x) ((T)(x))

/* Define pw_param_f32() and so on, which return parameter `k` in the type of an expression. */
#define PW_PARAM_(t, place, dtype, memory, value)                                                  \
    __attribute__((unused)) static inline value pw_param_##t(const pw_state *s, int k)             \
    {                                                                                              \
        const pw_scalar *p = &s->param[k];                                                         \
        return PW_READ_##t(p);                                                                     \
    }
#define PW_READ_b8(p)   ((p)->i != 0)
#define PW_READ_u8(p)   ((uint8_t)(p)->i)
#define PW_READ_i8(p)   ((int8_t)(p)->i)
#define PW_READ_i16(p)  ((int16_t)(p)->i)
#define PW_READ_i32(p)  ((int32_t)(p)->i)
#define PW_READ_i64(p)  ((p)->i)
#define PW_READ_f32(p)  ((float)(p)->d)
#define PW_READ_f64(p)  ((p)->d)
#define PW_READ_c64(p)  ((float)(p)->d + (float)(p)->im * I)
#define PW_READ_c128(p) ((p)->d + (p)->im * I)
PW_TYPE_MAP(PW_PARAM_)

static inline void pw_finish(pw_state *s, int fault)
{
    if (fault)
        __atomic_store_n(&s->fault, 1, __ATOMIC_RELAXED);
}

#endif
