/* simcuda.h -- what the parts of this plugin share: device, caching allocator, launches of
 * kernels. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include "cuda.h"
#include <cstddef>
#include <cstdint>

/* -- caching.cc: blocks of segments that cudaMalloc gave, reused in the order of a stream -- */

struct allocator;
allocator *allocator_new(void);
void allocator_free(allocator *a); /* with every segment; nothing is in use */
/* A block for `stream` of the current device. */
cudaError_t allocator_allocate(allocator *a, int device, size_t bytes, cudaStream_t stream,
                               void **out);
/* May come while `stream` uses the block: the next one who gets it is that stream. */
void allocator_release(allocator *a, void *p);
/* Give segments without a block in use back to CUDA. */
cudaError_t allocator_trim(allocator *a, int device);
/* `stream` goes: what is cached for it may be used by every stream from now on.  It has been
 * synchronised. */
void allocator_forget(allocator *a, cudaStream_t stream);
bool allocator_has(allocator *a, const void *p); /* a block in use */
/* Bytes in use; bytes that are cached; segments. */
void allocator_stats(allocator *a, size_t *used, size_t *cached, size_t *segments);

/* -- kernels.cu -- */

enum { DIMS_MAX = 8, OPERANDS_MAX = 3 };

/* Operands of an elementwise kernel, output first; strides in bytes. */
struct operands {
    long n;
    int ndim;
    int64_t sizes[DIMS_MAX];
    char *data[OPERANDS_MAX];
    int64_t strides[OPERANDS_MAX][DIMS_MAX];
};

enum dtype { F32, F64, I32, I64, DTYPES };
enum unary {
    ABS,
    NEG,
    EXP,
    LOG,
    SQRT,
    SIN,
    COS,
    TANH,
    SIGMOID,
    RECIPROCAL,
    RSQRT,
    FLOOR,
    CEIL,
    COPY,
    RELU,
    UNARIES
};
enum binary { ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, EQ, NE, LT, LE, GT, GE, BINARIES };

bool has_unary(unary op, dtype d); /* others are left to the CPU */
cudaError_t launch_unary(unary op, dtype d, const operands &o, cudaStream_t stream);
/* Comparisons write bytes that are 0 or 1. */
bool has_binary(binary op, dtype d);
cudaError_t launch_binary(binary op, dtype d, const operands &o, cudaStream_t stream);
/* m x k by k x n, float32 or float64, rows at lda and so on elements apart. */
cudaError_t launch_mm(dtype d, long m, long n, long k, const void *a, long lda, long a_step,
                      const void *b, long ldb, long b_step, void *c, long ldc, cudaStream_t stream);
/* Reads an address that is nobody's. */
cudaError_t launch_fault(cudaStream_t stream);

#endif
