/* loops/pointwise.h -- the loops that expressions of pointwise.yaml are put into.
 *
 *     PW_KERNEL2(add_f32, 3, f32, f32, const T alpha = pw_param_f32(s, 0);, self, other,
 *                self + alpha * other)
 *
 * is a dp_iter_loop2d of that name over 3 operands: the result f32, and inputs f32 which the expression
 * sees as self and other.  T is the type of the inputs; `fault` may be set.  There is a loop for packed
 * operands, one for each way in which inputs are broadcast along a row, and one for all others.
 * PW_CALL2 is a kernel with the last of these alone: for expressions that are a call.
 * PW_PACKED2 is a kernel that is only called with packed operands, a multiple of PW_VECTOR elements at a
 * time: for long expressions, which are compiled once, and for vectors alone.  PW_TURN2 is one whose
 * expression has another form, `near`, which is vectorised, for blocks in which `is_far` is 0 everywhere. */
#ifndef CPU_LOOPS_POINTWISE_H
#define CPU_LOOPS_POINTWISE_H

#include "../isa.h"
#include "../pointwise.h"
#include "math.h"
#include "types.h"

/* No iteration depends on another: an output is an input's memory, or overlaps none of them. */
#define PW_EACH_ _Pragma("GCC ivdep") for (int64_t i = 0; i < n0; i++)
/* n0 is a multiple already; told so, the compiler makes no code for the elements behind the last vector. */
#define PW_WHOLE_ _Pragma("GCC ivdep") for (int64_t i = 0; i < (n0 & -PW_VECTOR); i++)

#define K(x) ((T)(x))

#define PW_GET_(t, p, st, i) (pw_val_##t)(*(const pw_mem_##t *)((p) + (i) * (st)))
#define PW_AT_(t, p, i)      (pw_val_##t)(((const pw_mem_##t *)(p))[i])

#define PW_BEGIN_(name, t, params)                                                                 \
    static void name(char **data, const int64_t *st, int64_t n0, int64_t n1, void *user)           \
    {                                                                                              \
        typedef pw_val_##t T __attribute__((unused));                                              \
        pw_state *s = user;                                                                        \
        int fault = 0;                                                                             \
        params for (int64_t j = 0; j < n1; j++)                                                    \
        {
#define PW_END_                                                                                    \
    }                                                                                              \
    pw_finish(s, fault);                                                                           \
    }
/* Steps are read once: for all that the compiler knows, a store may change them. */
#define PW_ROW_(n, k)                                                                              \
    char *p##k = data[k] + j * st[(n) + (k)];                                                      \
    const int64_t step##k __attribute__((unused)) = st[k]
#define PW_PUT_(o, expr)    ((pw_mem_##o *)p0)[i] = (pw_val_##o)(expr);
#define PW_SPREAD_(o, expr) *(pw_mem_##o *)(p0 + i * step0) = (pw_val_##o)(expr);
#define PW_IS_(t, k)        (st[k] == (int64_t)sizeof(pw_mem_##t))

#define PW_KERNEL1(name, n, t, o, params, a, expr)                                                 \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    if (PW_IS_(o, 0) && PW_IS_(t, 1))                                                              \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    else                                                                                           \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_GET_(t, p1, step1, i);                                                  \
            PW_SPREAD_(o, expr)                                                                    \
        }                                                                                          \
    PW_END_

#define PW_KERNEL2(name, n, t, o, params, a, b, expr)                                              \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    if (PW_IS_(o, 0) && PW_IS_(t, 1) && PW_IS_(t, 2)) {                                            \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            const T b = PW_AT_(t, p2, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    } else if (PW_IS_(o, 0) && PW_IS_(t, 1) && st[2] == 0) {                                       \
        const T b = PW_AT_(t, p2, 0);                                                              \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    } else if (PW_IS_(o, 0) && st[1] == 0 && PW_IS_(t, 2)) {                                       \
        const T a = PW_AT_(t, p1, 0);                                                              \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T b = PW_AT_(t, p2, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    } else                                                                                         \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_GET_(t, p1, step1, i);                                                  \
            const T b = PW_GET_(t, p2, step2, i);                                                  \
            PW_SPREAD_(o, expr)                                                                    \
        }                                                                                          \
    PW_END_

#define PW_KERNEL3(name, n, t, o, params, a, b, c, expr)                                           \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    PW_ROW_(n, 3);                                                                                 \
    if (PW_IS_(o, 0) && PW_IS_(t, 1) && PW_IS_(t, 2) && PW_IS_(t, 3)) {                            \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            const T b = PW_AT_(t, p2, i);                                                          \
            const T c = PW_AT_(t, p3, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    } else if (PW_IS_(o, 0) && PW_IS_(t, 1) && st[2] == 0 && st[3] == 0) {                         \
        const T b = PW_AT_(t, p2, 0);                                                              \
        const T c = PW_AT_(t, p3, 0);                                                              \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    } else                                                                                         \
        PW_EACH_                                                                                   \
        {                                                                                          \
            const T a = PW_GET_(t, p1, step1, i);                                                  \
            const T b = PW_GET_(t, p2, step2, i);                                                  \
            const T c = PW_GET_(t, p3, step3, i);                                                  \
            PW_SPREAD_(o, expr)                                                                    \
        }                                                                                          \
    PW_END_

#define PW_CALL1(name, n, t, o, params, a, expr)                                                   \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    for (int64_t i = 0; i < n0; i++) {                                                             \
        const T a = PW_GET_(t, p1, step1, i);                                                      \
        PW_SPREAD_(o, expr)                                                                        \
    }                                                                                              \
    PW_END_

#define PW_CALL2(name, n, t, o, params, a, b, expr)                                                \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    for (int64_t i = 0; i < n0; i++) {                                                             \
        const T a = PW_GET_(t, p1, step1, i);                                                      \
        const T b = PW_GET_(t, p2, step2, i);                                                      \
        PW_SPREAD_(o, expr)                                                                        \
    }                                                                                              \
    PW_END_

#define PW_PACKED1(name, n, t, o, params, a, expr)                                                 \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_WHOLE_                                                                                      \
    {                                                                                              \
        const T a = PW_AT_(t, p1, i);                                                              \
        PW_PUT_(o, expr)                                                                           \
    }                                                                                              \
    PW_END_

#define PW_PACKED2(name, n, t, o, params, a, b, expr)                                              \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    PW_WHOLE_                                                                                      \
    {                                                                                              \
        const T a = PW_AT_(t, p1, i);                                                              \
        const T b = PW_AT_(t, p2, i);                                                              \
        PW_PUT_(o, expr)                                                                           \
    }                                                                                              \
    PW_END_

#define PW_PACKED3(name, n, t, o, params, a, b, c, expr)                                           \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    PW_ROW_(n, 3);                                                                                 \
    PW_WHOLE_                                                                                      \
    {                                                                                              \
        const T a = PW_AT_(t, p1, i);                                                              \
        const T b = PW_AT_(t, p2, i);                                                              \
        const T c = PW_AT_(t, p3, i);                                                              \
        PW_PUT_(o, expr)                                                                           \
    }                                                                                              \
    PW_END_

#define PW_TURN1(name, n, t, o, params, a, is_far, near, expr)                                     \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    uint64_t far = 0;                                                                              \
    PW_WHOLE_                                                                                      \
    {                                                                                              \
        const T a = PW_AT_(t, p1, i);                                                              \
        far |= is_far;                                                                             \
    }                                                                                              \
    if (far == 0)                                                                                  \
        PW_WHOLE_                                                                                  \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            PW_PUT_(o, near)                                                                       \
        }                                                                                          \
    else                                                                                           \
        for (int64_t i = 0; i < n0; i++) {                                                         \
            const T a = PW_AT_(t, p1, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    PW_END_

#define PW_TURN2(name, n, t, o, params, a, b, is_far, near, expr)                                  \
    PW_BEGIN_(name, t, params)                                                                     \
    PW_ROW_(n, 0);                                                                                 \
    PW_ROW_(n, 1);                                                                                 \
    PW_ROW_(n, 2);                                                                                 \
    uint64_t far = 0;                                                                              \
    PW_WHOLE_                                                                                      \
    {                                                                                              \
        const T a = PW_AT_(t, p1, i);                                                              \
        const T b = PW_AT_(t, p2, i);                                                              \
        far |= is_far;                                                                             \
    }                                                                                              \
    if (far == 0)                                                                                  \
        PW_WHOLE_                                                                                  \
        {                                                                                          \
            const T a = PW_AT_(t, p1, i);                                                          \
            const T b = PW_AT_(t, p2, i);                                                          \
            PW_PUT_(o, near)                                                                       \
        }                                                                                          \
    else                                                                                           \
        for (int64_t i = 0; i < n0; i++) {                                                         \
            const T a = PW_AT_(t, p1, i);                                                          \
            const T b = PW_AT_(t, p2, i);                                                          \
            PW_PUT_(o, expr)                                                                       \
        }                                                                                          \
    PW_END_

/* A parameter, in the type of an expression. */
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
