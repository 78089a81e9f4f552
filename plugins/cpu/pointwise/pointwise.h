/* pointwise.h -- what one pointwise operator is, and how to run it.
 *
 * proto/ops/pointwise.yaml has the expression of each operator.  From it proto/gen makes one loop
 * for each operator and type (emit_pointwise.py), and a pw_op that describes its arguments.
 * pointwise.c finds the types, makes the output, and converts what loops do not take: float16 and
 * bfloat16, which are computed as float32, and operands of another dtype than the common one. */
#ifndef CPU_POINTWISE_H
#define CPU_POINTWISE_H

#include "core/isa.h"
#include "pointwise/loops/types.h"
#include <dispatchd/plugin.h>

enum {
    PW_VECTOR = 16,        /* elements; the most floats that a vector register holds */
    PW_BLOCK = 1024,       /* elements that are converted at a time, */
    PW_BLOCK_BYTES = 8192, /* as long as they need no more than this */
    PW_INPUTS_MAX = 4,
    PW_PARAMS_MAX = 4
};

/* pw_op.flags: how types are found, as dp_iter_config.flags say it */
enum {
    PW_TO_FLOAT = 1,        /* integers and bools are computed as float32 */
    PW_RESULT_BOOL = 2,     /* the result is bool */
    PW_SAME_DTYPE = 4,      /* an output must have the result's dtype: nothing is cast into it */
    PW_RESULT_REAL = 8,     /* the result of complex numbers is real */
    PW_RESULT_COMPLEX = 16, /* that of real numbers is complex */
    PW_SAME_INPUTS = 32,    /* inputs are not promoted: they have one dtype */
    /* a new output is contiguous, whatever the strides of the first input, whose shape it has;
     * with PW_RESULT_REAL only if the input is complex */
    PW_ROW_MAJOR = 64,
    PW_LIKE_INPUT = 128,  /* a new output has the first input's strides, as by at::empty_like */
    PW_SCALARS_FIT = 512, /* a Scalar, or a param, that does not fit its dtype is an error */
    /* an output's elements may share memory: an element that is written twice gets one value */
    PW_MAY_OVERLAP = 256
};

/* A Scalar's value in the form each type needs: integer, real part, imaginary part. */
typedef struct pw_scalar {
    int64_t i;
    double d, im;
} pw_scalar;

/* Shared by all threads of one run. */
typedef struct pw_state {
    pw_scalar param[PW_PARAMS_MAX];
    double limit; /* the largest finite number of the common dtype; of floats alone */
    int fault;    /* an expression found what the operator refuses */
} pw_state;

/* A kernel's loops by type.  Those of `packed` (bit: place of the type) take packed operands alone,
 * a multiple of PW_VECTOR elements in one row. */
typedef struct pw_row {
    void (*loop[PW_TYPES])(char **data, const int64_t *strides, int64_t n0, int64_t n1, void *user);
    uint32_t packed;
} pw_row;

/* Another kernel where a Scalar has one value. */
typedef struct pw_when {
    int input; /* number of an input that is a Scalar, or PW_INPUTS_MAX + that of a parameter */
    int row;
    double value;
} pw_when;

typedef struct pw_op {
    const char *name;
    const pw_row *const *tables; /* [DP_ISA_LEVELS] of its family */
    int row, flags, n_in, n_params, n_when;
    unsigned rounded; /* bit: number of a param that is rounded to the common dtype */
    const char *params[PW_PARAMS_MAX];
    const pw_when *when;
    const char *no_bool; /* the error when an input is bool; NULL: bool is allowed */
    const char *fault;   /* the error when a loop sets `fault` */
    /* NULL, or a check of the arguments that comes first: 0, or the error's code */
    int (*check)(dp_ctx *ctx, const dp_value *ins, const dp_value *params);
} pw_op;

/* Compute op of ins [n_in] with params [n_params].  ins are tensors and Scalars; a Scalar counts as
 * a wrapped number.
 *
 *   *out   new, of the shape to which the inputs broadcast; owned by the caller
 *
 * Errors: DP_ERUNTIME, naming the type, when the operator does not take it. */
int pw_new(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
           dp_tensor **out);
/* The same into `dst`, which is resized if it is none of the inputs, and has a dtype to which the
 * result can be cast. */
int pw_write(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
             dp_tensor *dst);

/* Checks: `check` of pointwise.yaml.  They refuse with DP_ERUNTIME. */
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
