/* simcuda.h -- the caching allocator and the launches of kernels, which the sources of plugin
 * simcuda share. */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include "cuda.h"
#include <cstddef>
#include <cstdint>

/* -- caching.cc: caching allocator; a block is a part of a segment, memory from cudaMalloc -- */

struct allocator;
allocator *allocator_new(void);
/* Free the allocator and all segments.  No block may be in use. */
void allocator_free(allocator *a);
/* Allocate a block of `device`, which is the calling thread's device, for `stream`. */
cudaError_t allocator_allocate(allocator *a, int device, size_t bytes, cudaStream_t stream,
                               void **out);
/* Release a block.  Its stream may still use the block, since only allocations for the same stream
 * get the block again. */
void allocator_release(allocator *a, void *p);
/* Free the segments of `device` in which no block is in use (cudaFree). */
cudaError_t allocator_trim(allocator *a, int device);
/* Forget `stream`, which is being destroyed and has no work left: its blocks belong to the default
 * stream from now on. */
void allocator_forget(allocator *a, cudaStream_t stream);
bool allocator_has(allocator *a, const void *p); /* is p the address of a block in use? */
/* Set *used and *cached to the bytes of blocks that are and are not in use, and *segments to the
 * number of segments. */
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

/* Test whether a kernel exists.  Operators without a kernel are computed on the CPU. */
bool has_unary(unary op, dtype d);
cudaError_t launch_unary(unary op, dtype d, const operands &o, cudaStream_t stream);
bool has_binary(binary op, dtype d);
/* Comparisons (EQ to GE) write bytes that are 0 or 1. */
cudaError_t launch_binary(binary op, dtype d, const operands &o, cudaStream_t stream);
/* Multiply matrices a [m, k] and b [k, n], of float32 or float64, into c [m, n].  In elements,
 * `lda`, `ldb` and `ldc` are the strides of rows, `a_step` and `b_step` those of columns; the
 * columns of c are contiguous. */
cudaError_t launch_mm(dtype d, long m, long n, long k, const void *a, long lda, long a_step,
                      const void *b, long ldb, long b_step, void *c, long ldc, cudaStream_t stream);
/* Launch a kernel that reads a NULL address, a fault. */
cudaError_t launch_fault(cudaStream_t stream);

#endif
