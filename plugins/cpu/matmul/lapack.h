/* lapack.h -- a table by dtype for each routine of lapack_routines.h:
 * lapack_getrf[la_index(dtype)].
 *
 * openblas.c fills the tables when it opens OpenBLAS; every kernel that uses them calls
 * blas_ready() first. */
#ifndef CPU_LAPACK_H
#define CPU_LAPACK_H

#include <stddef.h>

typedef const int *la_int;
typedef const char *la_char;

#define LAPACK4(name, s, d, c, z, ...)                                                             \
    typedef void lapack_##name##_fn(__VA_ARGS__);                                                  \
    extern lapack_##name##_fn *lapack_##name[4];
#define LAPACK2(name, f, d, ...)                                                                   \
    typedef void lapack_##name##_fn(__VA_ARGS__);                                                  \
    extern lapack_##name##_fn *lapack_##name[2];
#include "lapack_routines.h"
#undef LAPACK4
#undef LAPACK2

#endif
