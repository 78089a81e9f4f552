/* gemm.h -- products C = beta C + alpha A B for every dtype and any strides; also used by
 * convolutions.
 *
 * OpenBLAS computes the dtypes that it knows if it can read the operands without a copy (blas.c).
 * For other products, A and B are packed into panels of the class of their dtype, the type of the
 * sums: float32 (also for bfloat16), float64, int32 (for integers of up to 32 bits, whose low bits
 * are right because two's complement wraps), int64, complex64, complex128.  Tiles of C are sums
 * over panels, in registers (levels/gemm.c).  The results have the same bits for any number of
 * threads. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "core/isa.h"

typedef struct gemm_number { /* a Scalar; each class reads its own member */
    double re, im;
    int64_t i;
} gemm_number;

/* A product of A [m, k] and B [k, n], added to C [m, n].  Strides count elements and are not
 * negative.  If beta is 0, C is not read; if alpha is 0, A and B are not read.  The dtype may not
 * be bool or float16. */
typedef struct gemm {
    dp_dtype dtype;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    gemm_number alpha, beta;
} gemm;

/* Cost of a multiplication in a matrix-vector product, in multiplications of a matrix product: each
 * waits for an element of A from memory. */
enum { GEMM_WAITS = 32 };

/* Convert a Scalar; the imaginary part is dropped for real dtypes. */
gemm_number gemm_scalar(dp_value v);

/* Check a product before gemm_run().  DP_ERESOURCE: a sum is longer than any memory (expanded
 * operands may be); or a code of blas_ready(), if OpenBLAS would compute the product. */
int gemm_check(dp_ctx *ctx, const gemm *g);
/* Return the bytes of 64-byte aligned scratch memory that a product needs. */
size_t gemm_scratch(const gemm *g);
/* Compute a product on the threads of the thread pool; `ctx` NULL: only on the calling thread,
 * which may belong to the pool. */
int gemm_run(dp_ctx *ctx, const gemm *g, void *scratch);
/* Compute n products; `a`, `b` and `c` are the distances in bytes between the operands of two
 * products.  DP_ERESOURCE: no memory for the panels. */
int gemm_batch(dp_ctx *ctx, const gemm *g, int64_t n, int64_t a, int64_t b, int64_t c);

/* -- products by OpenBLAS -- */

/* Test whether OpenBLAS can compute the product: its dtype, size, and strides of the operands and
 * C. */
bool blas_takes(const gemm *g);
int blas_run(dp_ctx *ctx, const gemm *g); /* `ctx` as in gemm_run() */

/* -- one class at one vector level; levels/gemm.c -- */

enum { GEMM_DEPTH = 512 }; /* greatest number of elements of a panel's lines */

typedef struct gemm_class {
    int rows, cols; /* rows and columns of a tile */
    /* elements of a line that are packed side by side; the last ones are padded with zeros */
    int step;
    int bytes;     /* bytes of a packed element */
    int sum_bytes; /* bytes of an element of C */
    /* C [rows, cols], at most a tile, = beta C + alpha * (sum over k of a b) */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t c_row, int rows,
                 int cols, const gemm_number *alpha, const gemm_number *beta);
} gemm_class;

typedef struct gemm_dtype {
    int class; /* index of the class */
    int bytes;
    /* Pack at most `width` lines of k elements to a panel; missing lines are zeros.  NULL: the
     * dtype has no products. */
    void (*pack)(void *to, int width, int64_t lines, int64_t k, const void *from, int64_t line,
                 int64_t step);
    /* C [m, n] = beta C + alpha acc; `acc` is contiguous, of the class */
    void (*finish)(const gemm *g, const void *acc, int64_t begin, int64_t end);
    /* rows [begin, end) of y [m] = beta y + alpha A x; x [k] is contiguous, of the class */
    void (*vector)(const gemm *g, const void *x, int64_t begin, int64_t end);
} gemm_dtype;

enum { GEMM_PAIRS = DP_DTYPE_END }; /* bfloat16 on machines with AVX512-BF16, at level v4 */

DP_ISA_TABLE(gemm_class, gemm_classes)
DP_ISA_TABLE(gemm_dtype, gemm_dtypes) /* indexed by dtype, and GEMM_PAIRS */

#endif
