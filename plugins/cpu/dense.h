/* dense.h -- what the kernels over packed arrays share: mm, conv, pool, norm, softmax, reduce.
 *
 * They compute in one of three dtypes, the class of a tensor's dtype: float32 (also for float16 and
 * bfloat16), float64, and int64 (for every integer and bool; two's complement wraps, so cutting the
 * result gives what the narrow type would have).  Inputs are brought into packed row-major form of
 * the class, results into the dtype and memory format that PyTorch gives. */
#ifndef CPU_DENSE_H
#define CPU_DENSE_H

#include "../dims.h"

/* Functions that hold the loops are compiled for wider vectors, too; the dynamic linker takes what
 * the machine has. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DENSE_LOOP __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DENSE_LOOP
#endif

/* Class of a dtype: DP_FLOAT32, DP_FLOAT64 or DP_INT64; DP_DTYPE_NONE for complex ones. */
dp_dtype dense_class(dp_dtype d);
/* PyTorch's name of a dtype in messages: "Float". */
const char *dense_type_name(dp_dtype d);

#define DENSE_BIT(d) (1u << (d))
#define DENSE_FLOATS (DENSE_BIT(DP_FLOAT32) | DENSE_BIT(DP_FLOAT64) | DENSE_BIT(DP_BFLOAT16))
#define DENSE_INTEGERS                                                                             \
    (DENSE_BIT(DP_UINT8) | DENSE_BIT(DP_INT8) | DENSE_BIT(DP_INT16) | DENSE_BIT(DP_INT32) |        \
     DENSE_BIT(DP_INT64))
#define DENSE_NUMBERS (DENSE_FLOATS | DENSE_INTEGERS)
#define DENSE_ALL     (DENSE_NUMBERS | DENSE_BIT(DP_FLOAT16) | DENSE_BIT(DP_BOOL))

/* DP_ERUNTIME '"what" not implemented for 'Half'' unless d is one of `types`. */
int dense_check_type(dp_ctx *ctx, const char *what, dp_dtype d, unsigned types);
/* DP_ERUNTIME "expected scalar type Float but found Double". */
int dense_check_same(dp_ctx *ctx, dp_dtype want, dp_dtype got);

/* t as packed row-major elements of `dtype`; t itself when it is that.  *out owned. */
int dense_get(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_tensor **out);
/* t (taken, packed row-major) as `dtype` in `format`; t itself when it is that.  *out owned. */
int dense_put(dp_ctx *ctx, dp_tensor *t, dp_dtype dtype, dp_memory_format format, dp_tensor **out);
void *dense_data(const dp_tensor *t);

/* Elements per piece of a parallel loop whose steps cost `each` element operations. */
int64_t dense_grain(int64_t each);

/* C = beta C + alpha A B.  A [m, k], B [k, n], C [m, n]; strides in elements, C's columns adjoin.
 * With beta 0 C is not read.  Either stride pair must suit BLAS: see gemm_suits(). */
typedef struct gemm {
    dp_dtype dtype; /* a class */
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row;
    double alpha, beta;
    int64_t int_alpha, int_beta; /* for DP_INT64 */
} gemm;

/* Can a matrix [rows, cols] with these strides be handed to BLAS as it is? */
bool gemm_suits(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride);
/* DP_ERUNTIME when a size does not fit BLAS's int. */
int gemm_check(dp_ctx *ctx, const gemm *g);
void gemm_rows(const gemm *g, int64_t begin, int64_t end); /* on this thread */
void gemm_run(dp_ctx *ctx, const gemm *g);                 /* in panels over the pool */

#endif
