/* reduce.h -- descriptions of reductions (sum, amax, var), and rd_run(), which runs one.
 *
 * proto/ops/reduce.yaml has three expressions per reduction: the value of one element, the merge of
 * two partial results, and the final result.  proto/gen makes the loops for each type from them,
 * with the templates in loops/.  reduce.c checks dimensions and dtypes, makes the outputs, and runs
 * the loops with dp_iter_reduce(). */
#ifndef CPU_REDUCE_H
#define CPU_REDUCE_H

#include "core/isa.h"
#include <dispatchd/iter.h>
#include "pointwise/loops/types.h"

enum { RD_OUTPUTS_MAX = 2 };

/* arguments of the loops in one run, shared by all threads */
typedef struct rd_state {
    dp_convert_fn load; /* converts elements from their dtype in memory to the loop's dtype */
    bool no_cast;       /* elements have the loop's dtype in memory */
    bool bfloat16;      /* elements are bfloat16 in memory and float in the loop */
    int64_t item;       /* bytes of an element in memory */
    int64_t bits;       /* mask: a number is 0 if all these bits of it are 0 */
    int n_out;          /* number of outputs */
    dp_convert_fn store[RD_OUTPUTS_MAX]; /* convert the loop's results to the outputs' dtypes */
    /* number of elements reduced to one element of an output */
    double n;
    double correction, p; /* arguments of var and of norm */
    bool root;            /* the result is the square root of the variance (std) */
} rd_state;

/* The functions of one reduction for one type, which become the members of a dp_reduction (iter.h).
 * `begin` NULL: the reduction does not take the type. */
typedef struct rd_kernel {
    void (*begin)(char *acc, int64_t n, void *user);
    void (*step)(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                 int64_t index, void *user);
    void (*merge)(char *acc, const char *from, int64_t n, void *user);
    void (*finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user);
    int acc_bytes;                   /* bytes of one accumulator */
    dp_dtype result[RD_OUTPUTS_MAX]; /* dtypes that `finish` writes, before rd_state.store */
} rd_kernel;
typedef rd_kernel rd_row[PW_TYPES];

enum {                      /* rd_op.flags */
       RD_DTYPE = 1,        /* the dtype argument, else out=, sets the dtype of the computation */
       RD_INT_TO_LONG = 2,  /* integers and bools are computed in int64 if no dtype is given */
       RD_NO_IDENTITY = 4,  /* zero elements have no result */
       RD_ROW_MAJOR = 8,    /* the result is the index of an element, in row-major order */
       RD_RESULT_BOOL = 16, /* the result is bool, or uint8 where the elements are uint8 */
       RD_RESULT_LONG = 32, /* the first result is int64 */
       RD_RESULT_REAL = 64, /* the first result is the real dtype of complex elements */
       RD_ROOT = 128,       /* rd_state.root */
       RD_NO_HALF = 256,    /* float16 and bfloat16 are refused */
       /* an out= tensor may have another dtype than the result, unless the dtype argument is
        * given */
       RD_CAST_RESULT = 512,
       RD_NONE_IS_NONE = 1024, /* an empty list of dimensions means none of them, not all */
       RD_FLOAT_ONLY = 2048,   /* integers are refused, because the result is not an integer */
       /* a computation is refused if elements must be cast from float to integer, or from complex
        * to real */
       RD_SAME_KIND = 4096,
       RD_DIMS_IN_TURN = 8192 /* rd_args.dims_in_turn */
};

/* a reduction */
typedef struct rd_op {
    const char *name, *error;    /* names of the operator and of its loops in error messages */
    const rd_row *const *tables; /* [DP_ISA_LEVELS]: kernels by vector level and row */
    int row, flags, n_out;       /* row in the tables; RD_*; number of outputs */
} rd_op;

/* arguments of a call */
typedef struct rd_args {
    dp_tensor *self;
    const int64_t *dims; /* [n_dims]; NULL: all dimensions */
    size_t n_dims;
    bool keepdim;
    const int64_t *dtype; /* NULL: not given */
    double correction, p; /* as in rd_state */
    /* each dimension is checked for range and repetition before the next one; otherwise the ranges
     * of all dimensions are checked first */
    bool dims_in_turn;
} rd_args;

/* Run reduction `op` into outs [op->n_out].  An output that is NULL is set to a new tensor, which
 * the caller owns; any other output is resized.  DP_ERUNTIME: the reduction does not take the
 * dtype, an output has a wrong dtype, or a dimension is repeated.  DP_EINDEX: a dimension is out of
 * range.  DP_EINDEX or DP_ERUNTIME, as in PyTorch: the reduction has no identity (RD_NO_IDENTITY),
 * and there are no elements to reduce. */
int rd_run(dp_ctx *ctx, const rd_op *op, const rd_args *args, dp_tensor **outs);

/* reductions of reduce.yaml that C code runs */
extern const rd_op rd_amax, rd_amin, rd_norm_0, rd_norm_1, rd_norm_2, rd_norm_max, rd_norm_min,
    rd_norm_p;

#endif
