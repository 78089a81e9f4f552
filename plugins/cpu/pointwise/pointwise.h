/* pointwise.h -- descriptions of pointwise operators, and pw_new() and pw_write(), which run them.
 *
 * proto/ops/pointwise.yaml has the expression of each operator.  From the expression, proto/gen
 * makes one loop per type (emit_pointwise.py), and a pw_op that describes the operator's arguments.
 * pointwise.c chooses the dtypes, makes the output, and converts operands that loops do not take:
 * float16 and bfloat16, which are computed as float32, and operands that do not have the dtype of
 * the computation. */
#ifndef CPU_POINTWISE_H
#define CPU_POINTWISE_H

#include "core/isa.h"
#include "pointwise/loops/types.h"
#include <dispatchd/plugin.h>

enum {
    PW_VECTOR = 16,        /* greatest number of floats in a vector register */
    PW_BLOCK = 1024,       /* greatest number of elements that are converted at a time, a block */
    PW_BLOCK_BYTES = 8192, /* greatest number of bytes of a block */
    PW_INPUTS_MAX = 4,
    PW_PARAMS_MAX = 4
};

/* pw_op.flags: how dtypes and the output's strides are chosen, like flags of dp_iter_config */
enum {
    PW_TO_FLOAT = 1,        /* integers and bools are computed as float32 */
    PW_RESULT_BOOL = 2,     /* the result is bool */
    PW_SAME_DTYPE = 4,      /* an output must have the result's dtype; the result is not cast */
    PW_RESULT_REAL = 8,     /* the result of complex numbers is real */
    PW_RESULT_COMPLEX = 16, /* the result of real numbers is complex */
    PW_SAME_INPUTS = 32,    /* all inputs must have the same dtype; there is no type promotion */
    /* a new output is contiguous, whatever the strides of the first input; with PW_RESULT_REAL
     * only if the input is complex */
    PW_ROW_MAJOR = 64,
    PW_LIKE_INPUT = 128,  /* a new output has the first input's strides, as by at::empty_like */
    PW_SCALARS_FIT = 512, /* a Scalar, or a param, that does not fit its dtype is an error */
    /* elements of an output may share memory, because the same value is written to them */
    PW_MAY_OVERLAP = 256
};

/* A Scalar as an integer and as a complex number.  Loops for integers read `i`, loops for floats
 * `d`, loops for complex numbers `d` and `im`. */
typedef struct pw_scalar {
    int64_t i;
    double d, im;
} pw_scalar;

/* arguments of the loops in one run, shared by all threads */
typedef struct pw_state {
    pw_scalar param[PW_PARAMS_MAX];
    double limit; /* largest finite number of the common dtype, if it is floating */
    int fault;    /* set by a loop that finds an element which the operator refuses */
} pw_state;

/* Loops of a kernel by type.  Bit i of `packed` is set if loop[i] takes only contiguous operands:
 * one row of a multiple of PW_VECTOR elements. */
typedef struct pw_row {
    void (*loop[PW_TYPES])(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user);
    uint32_t packed;
} pw_row;

/* a row with a faster kernel, which is used if a Scalar has the value `value` */
typedef struct pw_when {
    int input; /* index of a Scalar input, or PW_INPUTS_MAX + the index of a parameter */
    int row;   /* row in pw_op.tables */
    double value;
} pw_when;

/* a pointwise operator */
typedef struct pw_op {
    const char *name;
    const pw_row *const *tables; /* [DP_ISA_LEVELS]: kernels by vector level and row */
    /* row in the tables; PW_*; number of inputs, of parameters, of items of `when` */
    int row, flags, n_in, n_params, n_when;
    unsigned rounded;                  /* bit i: parameter i is rounded to the common dtype */
    const char *params[PW_PARAMS_MAX]; /* [n_params] names of the parameters */
    const pw_when *when;               /* [n_when] */
    const char *no_bool;               /* error if a tensor input is bool; NULL: bool is allowed */
    const char *fault;                 /* error if a loop sets `fault` */
    /* check of the arguments before all other checks: returns 0 or an error code; NULL: no check */
    int (*check)(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
} pw_op;

/* Compute `op` of ins [n_in] with params [n_params].  Inputs are tensors and Scalars; type
 * promotion treats a Scalar as a wrapped number, like a number of Python.
 *
 *     *out   a new tensor with the shape to which the inputs broadcast, owned by the caller
 *
 * DP_ERUNTIME: the operator does not take the dtype, which the message names. */
int pw_new(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
           dp_tensor **out);
/* Compute like pw_new(), but into `dst`.  dst is resized unless it is one of the inputs; the result
 * must be castable to its dtype. */
int pw_write(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
             dp_tensor *dst);

/* The checks to which `check` in pointwise.yaml refers.  DP_ERUNTIME: an argument is refused. */
int pw_check_power(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_hardtanh(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_lerp(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_addcdiv(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_heaviside(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_complex(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_polar(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_polygamma(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
int pw_check_softshrink(dp_ctx *ctx, const dp_value *ins, const dp_value *params);

#endif
