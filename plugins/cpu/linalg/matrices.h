/* matrices.h -- batches of matrices: checks, column-major copies, outputs, and running a LAPACK
 * routine on each matrix.
 *
 *     mx_batch b;
 *     mx_begin(&b, one, &job, n, sizes);      the batch's dimensions
 *     mx_add(&b, tensor, 2);                  operand 0: its last two dimensions are of each matrix
 *     b.work = bytes;                         scratch for one matrix
 *     rc = mx_run(ctx, &b);
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

/* Return the index, 0 to 3, of a dtype of MX_TYPES in a table of lapack.h; modulo 2 it is the index
 * among the real, or the complex, dtypes. */
int la_index(dp_dtype d);
static inline bool mx_is_double(dp_dtype d)
{
    return d == DP_FLOAT64 || d == DP_COMPLEX128;
}
dp_dtype mx_real(dp_dtype d);    /* the dtype of the real part */
dp_dtype mx_complex(dp_dtype d); /* DP_DTYPE_NONE: there is none */
/* Check that `d` is floating point or complex ("name: Expected a floating point or complex tensor
 * as input").  Source: checkFloatingOrComplex. */
int mx_check_inexact(dp_ctx *ctx, const char *name, dp_dtype d);
/* Check that `d` is floating point or complex, and not a 16-bit dtype. */
int mx_check_precise(dp_ctx *ctx, const char *name, dp_dtype d);

/* -- shapes; every failed check is DP_ERUNTIME, unless another code is named -- */

static inline int64_t mx_rows(const dp_view *v)
{
    return v->sizes[v->ndim - 2];
}
static inline int64_t mx_cols(const dp_view *v)
{
    return v->sizes[v->ndim - 1];
}
int mx_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg);
/* Check that `v` has at least two dimensions, with the message of torch.lu. */
int mx_check_dims(dp_ctx *ctx, const dp_view *v, const char *name);
int mx_check_square(dp_ctx *ctx, const dp_view *v, const char *name);
/* Check that LAPACK's 32-bit integers can count the elements of a row and a column.  DP_ERESOURCE:
 * they cannot. */
int mx_check_fits(dp_ctx *ctx, const dp_view *v);
/* Check that LAPACK's 32-bit integers can count the scratch of a routine, a small multiple of
 * k * k elements.  DP_ERESOURCE: they cannot. */
int mx_check_square_scratch(dp_ctx *ctx, int64_t k, const char *name);
/* Check the dtypes and sizes of b [..., n, k] and A [..., n, n] ("name: Expected b and A to have
 * ...").
 * Source: linearSolveCheckInputs. */
int mx_check_solve(dp_ctx *ctx, const dp_view *b, const dp_view *a, const char *name);
/* Broadcast the batch dimensions of `b` and `a`, and append the rows and columns of b: sizes
 * [DP_DIM_MAX], *ndim of which are set. */
int mx_broadcast(dp_ctx *ctx, const dp_view *b, const dp_view *a, int64_t *sizes, int *ndim);

/* -- memory -- */

/* Compute the strides of a contiguous batch whose matrices are column-major (`columns`) or
 * row-major. */
void mx_strides(int ndim, const int64_t *sizes, bool columns, int64_t *strides);
int mx_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
             bool columns, dp_tensor **out);
/* Return `t` with its last two dimensions exchanged; *out owned. */
int mx_transposed(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Return a column-major copy of `t`; *out owned. */
int mx_columns(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Return t itself if each of its matrices is contiguous and column-major, else a column-major copy;
 * *out owned. */
int mx_borrow(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* Return `t` if it is contiguous, else a copy; *out owned. */
int mx_contiguous(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);

/* -- outputs -- */

/* Call outs_run() for a kernel that makes its outputs before it reads its arguments.  An argument
 * that is also an output is read with its old contents and shape. */
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
/* Return in *work, owned, the tensor in which output `i` is computed: the output itself, or a
 * tensor of its sizes whose last `inner` dimensions are contiguous, column-major if there are
 * two. */
int mx_work(dp_ctx *ctx, const outs *o, int i, int inner, dp_tensor **work);
/* Release `work` and, if `rc` is 0, copy its elements to output `i`.  Return rc, or the code of a
 * failed copy. */
int mx_done(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *work);
/* If `rc` is 0, move `made` to output `i`, to whose dtype it must be castable; `made` is released
 * on failure, too.  A missing output becomes made itself; a given output without elements gets
 * made's strides if `strided`.  Return rc, or the code of a failed step. */
int mx_give(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *made, bool strided);
/* Check that `from` can be cast to the dtype of output `i`, if it is given ("name: Expected arg to
 * be safely castable from ...").  Source: checkLinalgCompatibleDtype. */
int mx_check_cast(dp_ctx *ctx, const outs *o, int i, dp_dtype from, const char *name,
                  const char *arg);

/* -- running -- */

enum { MX_OPERANDS = 6 };

typedef struct mx_batch mx_batch;
/* Process one matrix.  at [operands] has the addresses of its operands; `work` is scratch, 64-byte
 * aligned. */
typedef void mx_one(const mx_batch *b, char *const *at, char *work);

struct mx_batch {
    mx_one *one;
    const void *user;
    size_t work; /* bytes of scratch */
    double cost; /* number of multiplications for one matrix */
    bool plain;  /* `one` calls no LAPACK routine; false after mx_begin() */
    int n_dims, n_ops;
    int64_t count;
    int64_t sizes[DP_DIM_MAX];
    struct {
        char *data;
        int64_t steps[DP_DIM_MAX]; /* strides in bytes; 0 in broadcast dimensions */
    } op[MX_OPERANDS];
    char *scratch;
    int64_t slots;
};

void mx_begin(mx_batch *b, mx_one *one, const void *user, int n_dims, const int64_t *sizes);
/* Add operand `t`.  Its last `inner` dimensions belong to each matrix; those before are the batch
 * dimensions, or broadcast to them. */
void mx_add(mx_batch *b, const dp_tensor *t, int inner);
/* After all operands were added: cut operand 0 of each matrix into panels of independent columns or
 * rows, `lines` of them, `step` bytes apart, so that one large matrix runs on several threads.  An
 * int operand is appended: the number of lines in the panel. */
int mx_cut(dp_ctx *ctx, mx_batch *b, int64_t lines, size_t step);
int mx_run(dp_ctx *ctx, mx_batch *b);
/* Return the length of the work array that a LAPACK query stored at `answer`, in elements of dtype,
 * but at least `least`.  0: LAPACK's integers cannot count it, and ctx has the error. */
int mx_lwork(dp_ctx *ctx, dp_dtype dtype, const void *answer, int64_t least);
/* Add n aligned items to *bytes; return the offset of the first one. */
size_t mx_reserve(size_t *bytes, size_t n, size_t item);

/* Test whether all n elements at `data`, of a dtype of MX_TYPES, are finite. */
bool mx_finite(dp_dtype dtype, const void *data, size_t n);
/* Call aten::_linalg_check_errors. */
int mx_check_info(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix);
int mx_zero(dp_ctx *ctx, dp_tensor *t);

#endif
