/* pointwise.h -- what one pointwise operator is, and how to run it.
 *
 * proto/ops/pointwise.yaml says what each computes; gen_ops.py makes of it one loop for each
 * operator and class of types (a pw_kernel), and a pw_op that says how its arguments are brought
 * there.  Loops see packed elements of their class only, in multiples of PW_LANES: strides,
 * narrower types and the last few elements are brought into that form by pointwise.c, so that a
 * value never depends on where in a tensor it stands. */
#ifndef CPU_POINTWISE_H
#define CPU_POINTWISE_H

#include <dispatchd/plugin.h>

/* Classes of types: what a loop computes in.  int8, int16 and int32 are computed as int64 and cut
 * (exact, since two's complement wraps), float16 and bfloat16 as float32, complex64 as complex128.
 */
enum { PW_BOOL, PW_U8, PW_I64, PW_F32, PW_F64, PW_C128, PW_CLASSES };

enum {
    PW_LANES = 16, /* elements; no vector register holds more of a type with inexact results */
    PW_BLOCK_BYTES =
        4096, /* of one operand at a time, so that all of them stay in the first cache */
    PW_INPUTS_MAX = 3,
    PW_PARAMS_MAX = 3
};

enum {                     /* pw_op.flags */
       PW_TO_FLOAT = 1,    /* integers and bools are computed as float32 */
       PW_RESULT_BOOL = 2, /* the result is bool */
       PW_SAME_DTYPE = 4   /* and is not converted to another dtype that it is written to */
};

/* A Scalar as every class may want it. */
typedef struct pw_scalar {
    int64_t i;
    double d, im;
} pw_scalar;

/* Shared by all threads of one run. */
typedef struct pw_state {
    pw_scalar param[PW_PARAMS_MAX];
    int fault; /* an integer was divided by zero */
} pw_state;

/* n elements, a multiple of PW_LANES, from p[1].. to p[0], all packed.  p[0] may be an input's. */
typedef void (*pw_kernel)(char *const *p, int64_t n, pw_state *s);
typedef pw_kernel pw_row[PW_CLASSES];

typedef struct pw_op {
    const char *name;
    int row; /* in a table of kernels */
    int flags, n_in, n_params;
    const char *params[PW_PARAMS_MAX];
    const char *no_bool; /* what to answer when an input is bool; NULL: nothing special */
} pw_op;

/* Compute op of ins [n_in] with params [n_params].  ins are tensors and Scalars; a Scalar is taken
 * as a wrapped number. *out  new, of the shape to which the inputs broadcast; owned by the caller
 * Errors: DP_ERUNTIME, naming the type, when the operator does not take it. */
int pw_new(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
           dp_tensor **out);
/* The same into `dst`, which must have that shape and a dtype to which the result may be cast;
 * bumps its version.  *ret is dst with a reference of its own. */
int pw_write(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
             dp_tensor *dst, dp_tensor **ret);

#endif
