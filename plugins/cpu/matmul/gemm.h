/* gemm.h -- C = beta C + alpha A B, for every dtype and any strides; for products and convolution.
 *
 * OpenBLAS computes what it has and can read where it lies (blas.c).  For the rest A and B are
 * packed into panels of the class of their dtype, which is what sums are kept in: float32 (also for
 * bfloat16), float64, int32 (for integers of up to 32 bits: two's complement wraps, so that the low
 * bits are what the narrow type would have given), int64, complex64, complex128.  Tiles of C are
 * sums over panels, in registers (levels/gemm.c).  Results are the same bits for any number of
 * threads. */
#ifndef CPU_GEMM_H
#define CPU_GEMM_H

#include "core/isa.h"

typedef struct gemm_number { /* each class reads its own */
    double re, im;
    int64_t i;
} gemm_number;

/* A [m, k], B [k, n], C [m, n]; strides count elements, from 0 up.  Where beta is 0, C is not read;
 * where alpha is 0, A and B are not.  dtype: any but bool and float16. */
typedef struct gemm {
    dp_dtype dtype;
    int64_t m, n, k;
    const void *a, *b;
    void *c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    gemm_number alpha, beta;
} gemm;

/* A multiplication of a vector's takes as long as so many of a matrix's: each waits for an element
 * of A. */
enum { GEMM_WAITS = 32 };

/* A Scalar for a dtype; one that is complex for a real dtype loses its imaginary part. */
gemm_number gemm_scalar(dp_value v);

/* Before any gemm_run(): fails with DP_ERESOURCE when a sum is longer than any memory (expanded
 * operands are not bounded by theirs), and with blas_ready()'s codes where OpenBLAS would compute
 * the product. */
int gemm_check(dp_ctx *ctx, const gemm *g);
/* Bytes of memory, 64-byte aligned, that a product needs. */
size_t gemm_scratch(const gemm *g);
/* Split over the pool's threads; ctx NULL: on this one, which may be one of the pool's. */
int gemm_run(dp_ctx *ctx, const gemm *g, void *scratch);
/* n products; a, b and c are the bytes from one to the next.  DP_ERESOURCE: no memory for the
 * panels. */
int gemm_batch(dp_ctx *ctx, const gemm *g, int64_t n, int64_t a, int64_t b, int64_t c);

/* -- by OpenBLAS -- */

/* Is it one of its dtypes, large enough, with operands and C as it reads them? */
bool blas_takes(const gemm *g);
int blas_run(dp_ctx *ctx, const gemm *g); /* ctx as for gemm_run() */

/* -- one class at one vector level; levels/gemm.c -- */

enum { GEMM_DEPTH = 512 }; /* elements of a panel's lines, at most */

typedef struct gemm_class {
    int rows, cols; /* of a tile */
    int step;  /* so many elements of a line lie side by side; of the last ones some are zeros */
    int bytes; /* of one packed element */
    int sum_bytes; /* of one of C */
    /* C [rows, cols], a tile or less, = beta C + alpha sum over k of a b. */
    void (*tile)(int64_t k, const void *a, const void *b, void *c, int64_t c_row, int rows,
                 int cols, const gemm_number *alpha, const gemm_number *beta);
} gemm_class;

typedef struct gemm_dtype {
    int class; /* index of the class */
    int bytes;
    /* Up to `width` lines of k elements as one panel; lines that are missing are zeros.  NULL:
     * there is no product of this dtype. */
    void (*pack)(void *to, int width, int64_t lines, int64_t k, const void *from, int64_t line,
                 int64_t step);
    /* C [m, n] = beta C + alpha acc, acc being packed and of the class. */
    void (*finish)(const gemm *g, const void *acc, int64_t begin, int64_t end);
    /* y [m] = beta y + alpha A x; x [k] packed, of the class.  Rows from begin to end. */
    void (*vector)(const gemm *g, const void *x, int64_t begin, int64_t end);
} gemm_dtype;

enum { GEMM_PAIRS = DP_DTYPE_END }; /* bfloat16 where the machine has AVX512-BF16, at level v4 */

DP_ISA_TABLE(gemm_class, gemm_classes)
DP_ISA_TABLE(gemm_dtype, gemm_dtypes) /* by dtype's number, and GEMM_PAIRS */

#endif
