/* pointwise.h -- what one pointwise operator is, and how to run it.
 *
 * proto/ops/pointwise.yaml has the expression of each operator.  From it gen_ops.py generates one
 * loop for each operator and class of types (a pw_kernel), and a pw_op that describes its
 * arguments.  A loop is given packed elements of its class, a multiple of PW_VECTOR of them.
 * pointwise.c brings strided operands, narrower types and the last few elements into that form.  So
 * every element goes through the same vector code, and a result never depends on an element's
 * position. */
#ifndef CPU_POINTWISE_H
#define CPU_POINTWISE_H

#include <dispatchd/plugin.h>

/* Classes: the types that loops compute in.  int8, int16 and int32 are computed as int64 and
 * truncated (exact, since two's complement wraps), float16 and bfloat16 as float32, complex64 as
 * complex128. */
enum { PW_BOOL, PW_U8, PW_I64, PW_F32, PW_F64, PW_C128, PW_CLASSES };

enum {
    PW_VECTOR = 16,        /* elements; the most floats that a vector register holds */
    PW_BLOCK_BYTES = 4096, /* of one operand, so that the blocks of all operands fit the L1 cache */
    PW_INPUTS_MAX = 3,
    PW_PARAMS_MAX = 3
};

/* pw_op.flags */
enum {
    PW_TO_FLOAT = 1,    /* integers and bools are computed as float32 */
    PW_RESULT_BOOL = 2, /* the result is bool */
    PW_SAME_DTYPE = 4   /* an output must have the result's dtype: nothing is cast into it */
};

/* A Scalar's value in the form each class needs: integer, real part, imaginary part. */
typedef struct pw_scalar {
    int64_t i;
    double d, im;
} pw_scalar;

/* Shared by all threads of one run. */
typedef struct pw_state {
    pw_scalar param[PW_PARAMS_MAX];
    int fault; /* an integer was divided by zero */
} pw_state;

/* Computes n elements, a multiple of PW_VECTOR: p[0] is the result, p[1].. are the inputs, all
 * packed.  p[0] may be the same address as an input's. */
typedef void (*pw_kernel)(char *const *p, int64_t n, pw_state *s);
typedef pw_kernel pw_row[PW_CLASSES];

typedef struct pw_op {
    const char *name;
    int row; /* of the table of kernels */
    int flags, n_in, n_params;
    const char *params[PW_PARAMS_MAX];
    const char *no_bool; /* the error when an input is bool; NULL: bool is allowed */
} pw_op;

/* Compute op of ins [n_in] with params [n_params].  ins are tensors and Scalars; a Scalar counts as
 * a wrapped number.
 *
 *   *out   new, of the shape to which the inputs broadcast; owned by the caller
 *
 * Errors: DP_ERUNTIME, naming the type, when the operator does not take it. */
int pw_new(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
           dp_tensor **out);
/* The same into `dst`, which must have that shape and a dtype to which the result can be cast.
 * Bumps dst's version. */
int pw_write(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
             dp_tensor *dst);

#endif
