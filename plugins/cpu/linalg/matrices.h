/* matrices.h -- batches of matrices: checks, column-major copies, outputs, and running a LAPACK
 * routine on each matrix.
 *
 *     mx_batch b;
 *     mx_begin(&b, one, &job, n, sizes);      sizes [n] of the batch's dimensions
 *     mx_add(&b, tensor, 2);                  operand 0: its last two dimensions are one matrix
 *     b.work = bytes;                         scratch memory for one matrix
 *     rc = mx_run(ctx, &b);                   calls one() for each matrix
 *
 * Matrices run in parallel on the thread pool, each on one thread, so the results have the same
 * bits for any number of threads. */
#ifndef CPU_MATRICES_H
#define CPU_MATRICES_H

#include "lib/outs.h"
#include "core/dense.h"
#include "matmul/lapack.h"
#include <limits.h>

#define MX_TYPES (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DP_DTYPE_BITS(DP_DTYPES_COMPLEX))

/* -- dtypes -- */

/* Return the index of dtype `d`, one of MX_TYPES, in a table of lapack.h: 0 to 3 in a table of all
 * four dtypes.  Modulo 2 it is the index in a table of only real or only complex dtypes. */
int la_index(dp_dtype d);
static inline bool mx_is_double(dp_dtype d)
{
    return d == DP_FLOAT64 || d == DP_COMPLEX128;
}
/* Return the dtype of the real part; the dtype of complex numbers whose real part has dtype `d`, or
 * DP_DTYPE_NONE if there is no such dtype. */
dp_dtype mx_real(dp_dtype d);
dp_dtype mx_complex(dp_dtype d);
/* Check that `d` is floating point or complex ("name: Expected a floating point or complex tensor
 * as input").  Source: checkFloatingOrComplex. */
int mx_check_inexact(dp_ctx *ctx, const char *name, dp_dtype d);
/* Check that `d` is one of MX_TYPES: floating point or complex, and not a 16-bit dtype. */
int mx_check_precise(dp_ctx *ctx, const char *name, dp_dtype d);

/* -- shapes; a check that fails returns DP_ERUNTIME, unless its comment names another code -- */

static inline int64_t mx_rows(const dp_view *v)
{
    return v->sizes[v->ndim - 2];
}
static inline int64_t mx_cols(const dp_view *v)
{
    return v->sizes[v->ndim - 1];
}
/* Check that `v` has at least two dimensions.  `name` is the operator, `arg` the argument in the
 * message. */
int mx_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg);
/* Check that `v` has at least two dimensions; the message is that of torch.lu. */
int mx_check_dims(dp_ctx *ctx, const dp_view *v, const char *name);
/* Check that `v` has at least two dimensions, and that the last two have the same size. */
int mx_check_square(dp_ctx *ctx, const dp_view *v, const char *name);
/* Check that LAPACK's 32-bit integers can count the elements of a row and a column.  DP_ERESOURCE:
 * they cannot. */
int mx_check_fits(dp_ctx *ctx, const dp_view *v);
/* Check that LAPACK's 32-bit integers can count the elements of a routine's scratch memory, which
 * is a small multiple of k * k elements.  DP_ERESOURCE: they cannot. */
int mx_check_square_scratch(dp_ctx *ctx, int64_t k, const char *name);
/* Check the dtypes and sizes of b [..., n, k] and A [..., n, n] ("name: Expected b and A to have
 * ...").
 * Source: linearSolveCheckInputs. */
int mx_check_solve(dp_ctx *ctx, const dp_view *b, const dp_view *a, const char *name);
/* Set sizes [*ndim] to the broadcast batch dimensions of `b` and `a`, followed by the rows and the
 * columns of b.  `sizes` has space for DP_DIM_MAX numbers. */
int mx_broadcast(dp_ctx *ctx, const dp_view *b, const dp_view *a, int64_t *sizes, int *ndim);

/* -- memory -- */

/* Compute the strides of a contiguous batch whose matrices are column-major (`columns`) or
 * row-major. */
void mx_strides(int ndim, const int64_t *sizes, bool columns, int64_t *strides);
/* Make a tensor with the strides of mx_strides() and uninitialized elements; *out owned. */
int mx_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
             bool columns, dp_tensor **out);
/* Set *out, owned, to a view of `t` with its last two dimensions exchanged. */
int mx_transposed(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Set *out, owned, to a column-major copy of `t`. */
int mx_columns(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Set *out, owned, to `t` itself if each of its matrices is contiguous and column-major, else to a
 * column-major copy. */
int mx_borrow(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Set *out, owned, to `t` itself if it is contiguous, else to a contiguous copy. */
int mx_contiguous(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);

/* -- outputs -- */

/* Call outs_run() for a kernel that makes or resizes its outputs before it reads its arguments.  If
 * an argument is also an output, the kernel gets a view of it that keeps the old sizes. */
int mx_call(dp_call *call, uint32_t n_args, outs_fn *fn);
/* Call mx_call() for a kernel that uses LAPACK, after blas_ready(). */
int mx_lapack_call(dp_call *call, uint32_t n_args, outs_fn *fn);
/* Define a boxed kernel `name`, functional and out=, that uses LAPACK. */
#define MX_KERNEL(name, n_args, fn)                                                                \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return mx_lapack_call(call, n_args, fn);                                                   \
    }

/* Make or resize output `i` with these sizes and this dtype; a new output is column-major or
 * row-major. */
int mx_out(dp_ctx *ctx, outs *o, int i, dp_dtype dtype, int ndim, const int64_t *sizes,
           bool columns);
/* Set *work, owned, to the tensor in which output `i` is computed.  It is the output itself if the
 * last `inner` dimensions of the output are contiguous (column-major if `inner` is 2), its elements
 * share no memory with each other or with an argument, and it is not a given int32 tensor, whose
 * pivots another thread could change; else a new tensor that has the sizes of the output and is
 * contiguous in this way. */
int mx_work(dp_ctx *ctx, const outs *o, int i, int inner, dp_tensor **work);
/* Release `work` and, if `rc` is 0, copy its elements to output `i`.  Return rc, or the code of a
 * failed copy. */
int mx_done(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *work);
/* If `rc` is 0, move `made` to output `i`.  An output that is not given becomes `made` itself; a
 * given output, whose dtype the caller has checked (mx_check_cast()), gets the elements.  If
 * `strided`, a given output without elements also gets the strides of `made`.  `made` is released
 * on failure, too.  Return rc, or the code of a failed step. */
int mx_give(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *made, bool strided);
/* Check that `from` can be cast to the dtype of output `i`, and that the output is on the device of
 * the first argument, if it is given ("name: Expected arg to be safely castable from ...").
 * Source: checkLinalgCompatibleDtype. */
int mx_check_cast(dp_ctx *ctx, const outs *o, int i, dp_dtype from, const char *name,
                  const char *arg);

/* -- running -- */

enum { MX_OPERANDS = 6 };

typedef struct mx_batch mx_batch;
/* Process one matrix.  at[k] is the address of its part of operand k; `work` is scratch memory,
 * 64-byte aligned. */
typedef void mx_one(const mx_batch *b, char *const *at, char *work);

struct mx_batch {
    mx_one *one;
    const void *user;          /* for `one` */
    size_t work;               /* bytes of scratch memory for one matrix */
    double cost;               /* number of multiplications for one matrix */
    bool plain;                /* `one` calls no LAPACK routine; false after mx_begin() */
    int n_dims, n_ops;         /* number of batch dimensions, of operands */
    int64_t count;             /* number of matrices */
    int64_t sizes[DP_DIM_MAX]; /* [n_dims] */
    struct {
        char *data;
        int64_t steps[DP_DIM_MAX]; /* strides in bytes; 0 in broadcast dimensions */
    } op[MX_OPERANDS];
    char *scratch; /* set by mx_run(), like `slots` */
    int64_t slots; /* parts of the batch that run in parallel */
};

/* Begin a batch with sizes [n_dims], without operands. */
void mx_begin(mx_batch *b, mx_one *one, const void *user, int n_dims, const int64_t *sizes);
/* Add operand `t`.  Its last `inner` dimensions are those of one matrix (or vector); the dimensions
 * before them are the batch dimensions, or broadcast to these. */
void mx_add(mx_batch *b, const dp_tensor *t, int inner);
/* Split the work on each matrix into panels, so that one large matrix runs on several threads.
 * Operand 0 has `lines` independent columns or rows, `step` bytes apart; a panel has some of them.
 * Call this after all operands were added: it appends an operand, an int with the number of lines
 * in the panel. */
int mx_cut(dp_ctx *ctx, mx_batch *b, int64_t lines, size_t step);
/* Call b->one() for all matrices (or panels) of the batch, on several threads. */
int mx_run(dp_ctx *ctx, mx_batch *b);
/* Return the length of a work array in elements of `dtype`, but at least `least`.  A LAPACK routine
 * that was called with lwork -1 has stored the length at `answer`.  0: LAPACK's integers cannot
 * count the elements, and ctx has the error. */
int mx_lwork(dp_ctx *ctx, dp_dtype dtype, const void *answer, int64_t least);
/* Add the bytes of `n` items of `item` bytes, rounded up to a multiple of 64, to *bytes.  Return
 * the old *bytes, the offset of the first item. */
size_t mx_reserve(size_t *bytes, size_t n, size_t item);

/* Test whether all n elements at `data`, of a dtype of MX_TYPES, are finite. */
bool mx_finite(dp_dtype dtype, const void *data, size_t n);
/* Call aten::_linalg_check_errors, which fails if an element of `info` is not 0. */
int mx_check_info(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix);
/* Set all elements of `t` to 0. */
int mx_zero(dp_ctx *ctx, dp_tensor *t);

#endif
