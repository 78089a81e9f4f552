/* gemm.h -- matrix products C = beta C + alpha A B for all dtypes except bool and float16, and for
 * any strides; convolutions use them, too.
 *
 * OpenBLAS computes a product if it knows the dtype and can read the operands without a copy,
 * unless the product is so small that a tile is as fast (blas_takes()).  For other products, A and
 * B are converted to the class of their dtype, the type in which products are summed: float32 (also
 * for bfloat16), float64, int32 (for all integers of up to 32 bits, whose low bits are right
 * because two's complement wraps), int64, complex64, complex128.  They are packed into panels, each
 * of which has some rows of A, or some columns of B, its lines.  A tile, a small part of C, is
 * summed in registers over two panels (levels/gemm.c).  The results have the same bits for any
 * number of threads. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "core/isa.h"

/* a Scalar: classes of integers read `i`, real classes `re`, complex classes `re` and `im` */
typedef struct gemm_number {
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

/* Cost of one multiplication in a matrix-vector product, as a number of multiplications in a matrix
 * product.  The cost is high because each multiplication waits for an element of A from memory. */
enum { GEMM_WAITS = 32 };

/* Convert a Scalar.  Products of real dtypes ignore the imaginary part. */
gemm_number gemm_scalar(dp_value v);

/* Check a product before gemm_run().  DP_ERESOURCE: `k` is greater than INT32_MAX, which is
 * possible with little memory if operands are expanded (stride 0).  If OpenBLAS will compute the
 * product, the error may also be one of blas_ready(). */
int gemm_check(dp_ctx *ctx, const gemm *g);
/* Return the bytes of 64-byte aligned scratch memory that a product needs. */
size_t gemm_scratch(const gemm *g);
/* Compute a product on the threads of the thread pool.  `ctx` NULL: compute it only on the calling
 * thread, which may be a thread of the pool. */
int gemm_run(dp_ctx *ctx, const gemm *g, void *scratch);
/* Compute n products; `a`, `b` and `c` are the distances in bytes between the operands of two
 * products.  DP_ERESOURCE: no memory for the panels. */
int gemm_batch(dp_ctx *ctx, const gemm *g, int64_t n, int64_t a, int64_t b, int64_t c);

/* -- products by OpenBLAS -- */

/* Test whether a product is left to OpenBLAS: OpenBLAS can compute it with this dtype, these sizes
 * and these strides, and it is not so small that a tile is as fast. */
bool blas_takes(const gemm *g);
/* Compute a product by OpenBLAS; `ctx` is as in gemm_run(). */
int blas_run(dp_ctx *ctx, const gemm *g);

/* -- one class at one vector level; levels/gemm.c -- */

enum { GEMM_DEPTH = 512 }; /* greatest number of elements of a panel's lines */

typedef struct gemm_class {
    int rows, cols; /* rows and columns of a tile */
    /* number of elements of a line that a panel has side by side: 1, or 2 for pairs of bfloat16.  A
     * panel has the first `step` elements of its first line, then those of its second line, and so
     * on, then the next `step` elements of each line.  A line is padded with zeros to a multiple of
     * `step`. */
    int step;
    int bytes; /* bytes of a packed element */
    /* bytes of a sum, an element of the matrix that tile() writes: C itself or scratch memory */
    int sum_bytes;
    /* Set c [rows, cols], at most one tile, to beta c + alpha * the product of panels `a` and
     * `b`. */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t c_row, int rows,
                 int cols, const gemm_number *alpha, const gemm_number *beta);
} gemm_class;

typedef struct gemm_dtype {
    int class; /* index of the class in gemm_classes */
    int bytes;
    /* Pack `lines` <= `width` lines of `k` elements into a panel of `width` lines; missing lines
     * are zeros.  `line` and `step` are the strides of lines and of elements.  NULL: products of
     * the dtype are not supported. */
    void (*pack)(void *to, int width, int64_t lines, int64_t k, const void *from, int64_t line,
                 int64_t step);
    /* Set rows [begin, end) of C to beta C + alpha acc; `acc` is contiguous, in the class. */
    void (*finish)(const gemm *g, const void *acc, int64_t begin, int64_t end);
    /* Set elements [begin, end) of y [m], which is C, to beta y + alpha A x; x [k] is contiguous,
     * in the class. */
    void (*vector)(const gemm *g, const void *x, int64_t begin, int64_t end);
} gemm_dtype;

/* index of a second gemm_dtype for bfloat16, for machines with AVX512-BF16, at level v4 */
enum { GEMM_PAIRS = DP_DTYPE_END };

DP_ISA_TABLE(gemm_class, gemm_classes)
DP_ISA_TABLE(gemm_dtype, gemm_dtypes) /* indexed by dtype, and GEMM_PAIRS */

#endif
