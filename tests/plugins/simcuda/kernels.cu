/* kernels.cu -- what runs on the device.  nvcc compiles it for a GPU, g++ for the stub. */
#include "simcuda.h"
#include <cmath>

/* Where element i of operand k lies. */
__device__ static inline char *element(const operands &o, int k, long i, char *base)
{
    int64_t at = 0;

    for (int d = 0; d < o.ndim; d++) {
        at += i % o.sizes[d] * o.strides[k][d];
        i /= o.sizes[d];
    }
    return base + at;
}

template <class T> __device__ static inline T unary_of(unary op, T x)
{
    switch (op) {
    case ABS:
        return x < 0 ? -x : x == 0 ? (T)0 : x;
    case NEG:
        return -x;
    case EXP:
        return (T)exp(x);
    case LOG:
        return (T)log(x);
    case SQRT:
        return (T)sqrt(x);
    case SIN:
        return (T)sin(x);
    case COS:
        return (T)cos(x);
    case TANH:
        return (T)tanh(x);
    case SIGMOID:
        return (T)(1 / (1 + exp(-x)));
    case RECIPROCAL:
        return 1 / x;
    case RSQRT:
        return (T)(1 / sqrt(x));
    case FLOOR:
        return (T)floor(x);
    case CEIL:
        return (T)ceil(x);
    case RELU:
        return x < 0 ? (T)0 : x;
    default:
        return x;
    }
}

template <class T> __device__ static inline T arithmetic_of(binary op, T a, T b)
{
    switch (op) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case MAXIMUM:
        return a != a ? a : b != b ? b : a < b ? b : a;
    case MINIMUM:
        return a != a ? a : b != b ? b : b < a ? b : a;
    default:
        return a / b;
    }
}

template <class T> __device__ static inline uint8_t comparison_of(binary op, T a, T b)
{
    switch (op) {
    case EQ:
        return a == b;
    case NE:
        return a != b;
    case LT:
        return a < b;
    case LE:
        return a <= b;
    case GT:
        return a > b;
    default:
        return a >= b;
    }
}

#define FOR_EACH(i, n)                                                                             \
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < (n); i += (long)gridDim.x * blockDim.x)

template <class T> __global__ void unary_kernel(unary op, operands o)
{
    char *to = device_pointer(o.data[0]), *from = device_pointer(o.data[1]);

    FOR_EACH(i, o.n)
    *(T *)element(o, 0, i, to) = unary_of<T>(op, *(const T *)element(o, 1, i, from));
}

template <class T> __global__ void arithmetic_kernel(binary op, operands o)
{
    char *to = device_pointer(o.data[0]), *a = device_pointer(o.data[1]), *b = device_pointer(o.data[2]);

    FOR_EACH(i, o.n)
    *(T *)element(o, 0, i, to) =
        arithmetic_of<T>(op, *(const T *)element(o, 1, i, a), *(const T *)element(o, 2, i, b));
}

template <class T> __global__ void comparison_kernel(binary op, operands o)
{
    char *to = device_pointer(o.data[0]), *a = device_pointer(o.data[1]), *b = device_pointer(o.data[2]);

    FOR_EACH(i, o.n)
    *(uint8_t *)element(o, 0, i, to) =
        comparison_of<T>(op, *(const T *)element(o, 1, i, a), *(const T *)element(o, 2, i, b));
}

template <class T>
__global__ void mm_kernel(long m, long n, long k, const T *a, long lda, long a_step, const T *b, long ldb, long b_step,
                          T *c, long ldc)
{
    const T *from = device_pointer(a), *with = device_pointer(b);
    T *to = device_pointer(c);

    FOR_EACH(i, m *n)
    {
        double sum = 0;
        for (long j = 0; j < k; j++)
            sum += (double)from[i / n * lda + j * a_step] * (double)with[j * ldb + i % n * b_step];
        to[i / n * ldc + i % n] = (T)sum;
    }
}

__global__ void fault_kernel(char *p)
{
    *device_pointer(p) = 1;
}

bool has_unary(unary op, dtype d)
{
    return d == F32 || d == F64 || op == COPY;
}

cudaError_t launch_unary(unary op, dtype d, const operands &o, cudaStream_t stream)
{
    return d == F32   ? launch(unary_kernel<float>, o.n, stream, op, o)
           : d == F64 ? launch(unary_kernel<double>, o.n, stream, op, o)
           : d == I32 ? launch(unary_kernel<int32_t>, o.n, stream, op, o)
                      : launch(unary_kernel<int64_t>, o.n, stream, op, o);
}

bool has_binary(binary op, dtype d)
{
    return op != DIV || d == F32 || d == F64;
}

template <class T> static cudaError_t binary_of(binary op, const operands &o, cudaStream_t stream)
{
    return op >= EQ ? launch(comparison_kernel<T>, o.n, stream, op, o)
                    : launch(arithmetic_kernel<T>, o.n, stream, op, o);
}

cudaError_t launch_binary(binary op, dtype d, const operands &o, cudaStream_t stream)
{
    return d == F32   ? binary_of<float>(op, o, stream)
           : d == F64 ? binary_of<double>(op, o, stream)
           : d == I32 ? binary_of<int32_t>(op, o, stream)
                      : binary_of<int64_t>(op, o, stream);
}

cudaError_t launch_mm(dtype d, long m, long n, long k, const void *a, long lda, long a_step, const void *b, long ldb,
                      long b_step, void *c, long ldc, cudaStream_t stream)
{
    return d == F32 ? launch(mm_kernel<float>, m * n, stream, m, n, k, (const float *)a, lda, a_step, (const float *)b,
                             ldb, b_step, (float *)c, ldc)
                    : launch(mm_kernel<double>, m * n, stream, m, n, k, (const double *)a, lda, a_step,
                             (const double *)b, ldb, b_step, (double *)c, ldc);
}

cudaError_t launch_fault(cudaStream_t stream)
{
    return launch(fault_kernel, 1, stream, (char *)nullptr);
}
