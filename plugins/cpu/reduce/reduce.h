/* reduce.h -- what one reduction is, and how to run it.
 *
 * proto/ops/reduce.yaml says for each how an element counts, how two results are merged and what is
 * made of them at the end; from it proto/gen makes the loops for every type (loops/fold.h and its
 * kin).  reduce.c finds dimensions and types, makes the outputs, and runs the loops by
 * dp_iter_reduce(). */
#ifndef CPU_REDUCE_H
#define CPU_REDUCE_H

#include "core/isa.h"
#include <dispatchd/iter.h>
#include "pointwise/loops/types.h"

enum { RD_OUTPUTS_MAX = 2 };

/* Shared by all threads of one run. */
typedef struct rd_state {
    dp_convert_fn load; /* elements as they lie in memory to the loop's type */
    bool direct;        /* they have it there */
    bool bfloat16;      /* they are bfloat16 there, and float in loops */
    int64_t item;       /* bytes of one of them, there */
    int64_t bits;       /* those that are not 0 in a number of the loop's type that is not */
    int n_out;
    dp_convert_fn store[RD_OUTPUTS_MAX]; /* the loop's results to the outputs' dtypes */
    double n;                            /* elements that make one of an output */
    double correction, p;                /* arguments */
    bool root;                           /* of a variance: its square root */
} rd_state;

/* The loops of one reduction over one type; begin NULL: there are none. */
typedef struct rd_kernel {
    void (*begin)(char *acc, int64_t n, void *user);
    void (*step)(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                 int64_t index, void *user);
    void (*merge)(char *acc, const char *from, int64_t n, void *user);
    void (*finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user);
    int acc_bytes;
    dp_dtype result[RD_OUTPUTS_MAX]; /* what finish writes */
} rd_kernel;
typedef rd_kernel rd_row[PW_TYPES];

enum {                      /* rd_op.flags */
       RD_DTYPE = 1,        /* computed in the dtype that is given, or else in that of out= */
       RD_INT_TO_LONG = 2,  /* integers and bools as int64, unless another is given */
       RD_NO_IDENTITY = 4,  /* of no elements there is no result */
       RD_ROW_MAJOR = 8,    /* elements are counted, in row-major order */
       RD_RESULT_BOOL = 16, /* the result is bool, or uint8 where the elements are uint8 */
       RD_RESULT_LONG = 32, /* the first result is int64 */
       RD_RESULT_REAL = 64, /* the first result is the real dtype of complex elements */
       RD_ROOT = 128,
       RD_NO_HALF = 256, /* float16 and bfloat16 are refused */
       RD_CAST_RESULT =
           512, /* a given output may have another dtype to which the result's can be cast */
       RD_NONE_IS_NONE = 1024, /* an empty list of dimensions means none of them, not all */
       RD_FLOAT_ONLY = 2048,   /* integers are refused: their result would be none */
       RD_SAME_KIND =
           4096, /* floats become no integers before the reduction, complex ones no floats */
       RD_DIMS_IN_TURN = 8192 /* rd_args.dims_in_turn */
};

typedef struct rd_op {
    const char *name, *error;    /* of the operator; of its loops, in errors */
    const rd_row *const *tables; /* [DP_ISA_LEVELS] of its family */
    int row, flags, n_out;
} rd_op;

/* dims [n_dims] NULL: all.  dtype NULL: not given. */
typedef struct rd_args {
    dp_tensor *self;
    const int64_t *dims;
    size_t n_dims;
    bool keepdim;
    const int64_t *dtype;
    double correction, p;
    bool dims_in_turn; /* a dimension that comes twice is refused before a later one out of range */
} rd_args;

/* Reduce.  outs [op->n_out]: NULL ones are made and owned by the caller; given ones are resized.
 * Errors: DP_ERUNTIME for a dtype that the reduction does not take, or repeated dimensions;
 * DP_EINDEX for a dimension out of range, or one of size 0 where there is no result of nothing. */
int rd_run(dp_ctx *ctx, const rd_op *op, const rd_args *args, dp_tensor **outs);

/* Those of reduce.yaml that C code runs. */
extern const rd_op rd_amax, rd_amin, rd_norm_0, rd_norm_1, rd_norm_2, rd_norm_max, rd_norm_min,
    rd_norm_p;

#endif
