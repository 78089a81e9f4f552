/* matrices.h -- what kernels over batches of matrices share: checks, column-major copies, and
 * running a routine of LAPACK on each matrix.
 *
 *     mx_batch b;
 *     mx_begin(&b, one, &job, n, sizes);      the batch's dimensions
 *     mx_add(&b, tensor, 2);                  operand 0: its last two dimensions are of each matrix
 *     b.work = bytes;                         scratch for one matrix
 *     rc = mx_run(ctx, &b);
 *
 * Matrices run on the pool's threads, each by one thread: results are the same bits for any
 * number. */
#ifndef CPU_MATRICES_H
#define CPU_MATRICES_H

#include "lib/outs.h"
#include "core/dense.h"
#include "matmul/lapack.h"
#include <limits.h>

#define MX_TYPES (DP_DTYPE_BITS(DP_DTYPES_FLOATING) | DP_DTYPE_BITS(DP_DTYPES_COMPLEX))

/* -- dtypes -- */

/* 0 to 3: place of a dtype of MX_TYPES in a table of lapack.h; of real ones, or complex ones,
 * modulo 2. */
int la_index(dp_dtype d);
static inline bool mx_is_double(dp_dtype d)
{
    return d == DP_FLOAT64 || d == DP_COMPLEX128;
}
dp_dtype mx_real(dp_dtype d);    /* of its real part */
dp_dtype mx_complex(dp_dtype d); /* DP_DTYPE_NONE: there is none */
/* "name: Expected a floating point or complex tensor as input.  Source: checkFloatingOrComplex */
int mx_check_inexact(dp_ctx *ctx, const char *name, dp_dtype d);
/* ... and none of 16 bits */
int mx_check_precise(dp_ctx *ctx, const char *name, dp_dtype d);

/* -- shapes; every check fails with DP_ERUNTIME -- */

static inline int64_t mx_rows(const dp_view *v)
{
    return v->sizes[v->ndim - 2];
}
static inline int64_t mx_cols(const dp_view *v)
{
    return v->sizes[v->ndim - 1];
}
int mx_check_matrix(dp_ctx *ctx, const dp_view *v, const char *name, const char *arg);
/* The same in torch.lu's words. */
int mx_check_dims(dp_ctx *ctx, const dp_view *v, const char *name);
int mx_check_square(dp_ctx *ctx, const dp_view *v, const char *name);
/* Can LAPACK count the elements of a row and a column?  DP_ERESOURCE. */
int mx_check_fits(dp_ctx *ctx, const dp_view *v);
/* The same for a routine whose scratch is a few times the square of k. */
int mx_check_square_scratch(dp_ctx *ctx, int64_t k, const char *name);
/* "name: Expected b and A to have ...": dtypes and sizes of b [..., n, k] and A [..., n, n].
 * Source: linearSolveCheckInputs */
int mx_check_solve(dp_ctx *ctx, const dp_view *b, const dp_view *a, const char *name);
/* Both batches broadcast, and behind them b's rows and columns.  sizes [DP_DIM_MAX], *ndim of
 * them. */
int mx_broadcast(dp_ctx *ctx, const dp_view *b, const dp_view *a, int64_t *sizes, int *ndim);

/* -- memory -- */

/* Strides of batches that lie one behind the other, each matrix by columns or by rows. */
void mx_strides(int ndim, const int64_t *sizes, bool columns, int64_t *strides);
int mx_empty(dp_ctx *ctx, dp_dtype dtype, dp_device device, int ndim, const int64_t *sizes,
             bool columns, dp_tensor **out);
/* t with its last two dimensions exchanged; *out owned. */
int mx_turned(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* A copy of t by columns; *out owned. */
int mx_columns(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* t, if each of its matrices lies by columns without gaps, else a copy that does; *out owned. */
int mx_borrow(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);
/* t if it is contiguous, else a copy; *out owned. */
int mx_contiguous(dp_ctx *ctx, dp_tensor *t, dp_tensor **out);

/* -- outputs -- */

/* outs_run(), for kernels that make their outputs before they read: an argument that is an output,
 * too, is seen as it was, whatever shape the output gets. */
int mx_call(dp_call *call, uint32_t n_args, outs_fn *fn);
/* mx_call() for kernels that use LAPACK: it calls blas_ready() first. */
int mx_lapack_call(dp_call *call, uint32_t n_args, outs_fn *fn);
/* A boxed kernel `name` of both forms, which uses LAPACK. */
#define MX_KERNEL(name, n_args, fn)                                                                \
    static int name(dp_call *call)                                                                 \
    {                                                                                              \
        return mx_lapack_call(call, n_args, fn);                                                   \
    }

/* Output i has these sizes and this dtype; what is made lies by columns or by rows. */
int mx_out(dp_ctx *ctx, outs *o, int i, dp_dtype dtype, int ndim, const int64_t *sizes,
           bool columns);
/* Where to compute output i, of at least as many dimensions as `inner`: itself, or a tensor of its
 * sizes whose last `inner` dimensions lie without gaps, by columns if there are two.  *work
 * owned. */
int mx_work(dp_ctx *ctx, const outs *o, int i, int inner, dp_tensor **work);
/* Takes work; if rc is 0 output i becomes what it holds.  Returns rc, or the copy's code. */
int mx_done(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *work);
/* If rc is 0, output i, of any dtype that made's can be cast to, becomes made, which is taken: one
 * that is not there made itself, one without elements gets its strides if `strided`.  Returns rc,
 * or its code. */
int mx_give(dp_ctx *ctx, int rc, outs *o, int i, dp_tensor *made, bool strided);
/* "name: Expected arg to be safely castable from ..." of a given output i.
 * Source: checkLinalgCompatibleDtype */
int mx_check_cast(dp_ctx *ctx, const outs *o, int i, dp_dtype from, const char *name,
                  const char *arg);

/* -- running -- */

enum { MX_OPERANDS = 6 };

typedef struct mx_batch mx_batch;
/* at [operands]: where this matrix's lie; work: scratch, 64-byte aligned. */
typedef void mx_one(const mx_batch *b, char *const *at, char *work);

struct mx_batch {
    mx_one *one;
    const void *user;
    size_t work; /* bytes */
    double cost; /* multiplications for one matrix */
    bool plain;  /* `one` calls no routine of LAPACK; false after mx_begin() */
    int n_dims, n_ops;
    int64_t count;
    int64_t sizes[DP_DIM_MAX];
    struct {
        char *data;
        int64_t steps[DP_DIM_MAX]; /* bytes; 0 along what is broadcast */
    } op[MX_OPERANDS];
    char *scratch;
    int64_t slots;
};

void mx_begin(mx_batch *b, mx_one *one, const void *user, int n_dims, const int64_t *sizes);
/* t's last `inner` dimensions are of each matrix, those before them the batch's, or broadcast to
 * it. */
void mx_add(mx_batch *b, const dp_tensor *t, int inner);
/* After all operands: operand 0 of each matrix is cut into panels of some of its `lines` columns or
 * rows, which lie `step` bytes apart and do not depend on each other; so one large matrix runs on
 * several threads.  Behind the operands comes one more, an int: how many lines a panel has. */
int mx_cut(dp_ctx *ctx, mx_batch *b, int64_t lines, size_t step);
int mx_run(dp_ctx *ctx, mx_batch *b);
/* What a query for scratch answered, at `answer`, in elements of dtype; at least `least`.  0: more
 * than LAPACK can count, and ctx has the error. */
int mx_lwork(dp_ctx *ctx, dp_dtype dtype, const void *answer, int64_t least);
/* *bytes += n items, aligned; returns where they begin. */
size_t mx_reserve(size_t *bytes, size_t n, size_t item);

/* Is no element of the n at data, of a dtype of MX_TYPES, infinite or NaN? */
bool mx_finite(dp_dtype dtype, const void *data, size_t n);
/* aten::_linalg_check_errors */
int mx_check_info(dp_ctx *ctx, dp_tensor *info, const char *name, bool is_matrix);
int mx_zero(dp_ctx *ctx, dp_tensor *t);

#endif
