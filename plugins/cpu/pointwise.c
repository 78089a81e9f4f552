/* pointwise.c -- feeds the operands of a pointwise operator to its loop and stores the result.
 *
 * A loop works on packed elements of one class of types.  The operands are processed block by
 * block.  An operand that is packed and already of the class's type is used in place; any other is
 * first copied into a buffer, converted and padded.  The result is converted back in the same
 * way. */
#include "dense.h"
#include "isa.h"
#include "pointwise.h"
#include <math.h>
#include <string.h>

CPU_TABLE(pw_row, pw_table)

/* -- elements of every dtype to and from those of its class -- */

typedef uint16_t bfloat16;

/* load: n elements that lie `stride` bytes apart to packed ones; store: the reverse. */
typedef void (*pw_move)(char *restrict dst, const char *restrict src, int64_t stride, int64_t n);

#define MOVES(name, memory, class, in, out)                                                        \
    static void load_##name(char *restrict dst, const char *restrict src, int64_t stride,          \
                            int64_t n)                                                             \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            memory x = *(const memory *)(src + i * stride);                                        \
            ((class *)dst)[i] = (class)in;                                                         \
        }                                                                                          \
    }                                                                                              \
    static void store_##name(char *restrict dst, const char *restrict src, int64_t stride,         \
                             int64_t n)                                                            \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            class x = ((const class *)src)[i];                                                     \
            *(memory *)(dst + i * stride) = (memory)out;                                           \
        }                                                                                          \
    }
MOVES(byte, uint8_t, uint8_t, x, x)
MOVES(int8, int8_t, int64_t, x, x)
MOVES(int16, int16_t, int64_t, x, x)
MOVES(int32, int32_t, int64_t, x, x)
MOVES(int64, int64_t, int64_t, x, x)
MOVES(float16, _Float16, float, x, x)
MOVES(bfloat16, bfloat16, float, dp_bfloat16_to_float(x), dp_float_to_bfloat16(x))
MOVES(float32, float, float, x, x)
MOVES(float64, double, double, x, x)
MOVES(complex64, float _Complex, double _Complex, x, x)
MOVES(complex128, double _Complex, double _Complex, x, x)

static const struct {
    uint8_t class, bytes; /* of an element of that class */
    bool native;          /* this dtype is the class's type: nothing to convert */
    pw_move load, store;
} types[DP_DTYPE_END] = {
    [DP_UINT8] = {PW_U8, 1, true, load_byte, store_byte},
    [DP_INT8] = {PW_I64, 8, false, load_int8, store_int8},
    [DP_INT16] = {PW_I64, 8, false, load_int16, store_int16},
    [DP_INT32] = {PW_I64, 8, false, load_int32, store_int32},
    [DP_INT64] = {PW_I64, 8, true, load_int64, store_int64},
    [DP_FLOAT16] = {PW_F32, 4, false, load_float16, store_float16},
    [DP_BFLOAT16] = {PW_F32, 4, false, load_bfloat16, store_bfloat16},
    [DP_FLOAT32] = {PW_F32, 4, true, load_float32, store_float32},
    [DP_FLOAT64] = {PW_F64, 8, true, load_float64, store_float64},
    [DP_COMPLEX64] = {PW_C128, 16, false, load_complex64, store_complex64},
    [DP_COMPLEX128] = {PW_C128, 16, true, load_complex128, store_complex128},
    [DP_BOOL] = {PW_BOOL, 1, true, load_byte, store_byte},
};

/* -- one run -- */

typedef struct pw_run {
    pw_kernel kernel;
    dp_dtype common;                   /* the dtype that the inputs are promoted to */
    dp_dtype dtype[1 + PW_INPUTS_MAX]; /* of the operands in memory; the result comes first */
    int n;                             /* operands, the result included */
    int64_t block;                     /* elements processed at a time */
    pw_state state;
} pw_run;

/* Load n elements, and the last one over and over up to `padded`; those results are dropped. */
static void load_padded(dp_dtype dtype, char *to, const char *from, int64_t stride, int64_t n,
                        int64_t padded)
{
    types[dtype].load(to, from, stride, n);
    types[dtype].load(to + n * types[dtype].bytes, from + (n - 1) * stride, 0, padded - n);
}

static void pw_loop(char *const *data, const int64_t *strides, int64_t n, void *user)
{
    pw_run *run = user;
    char block[1 + PW_INPUTS_MAX][PW_BLOCK_BYTES] __attribute__((aligned(64)));
    char *p[1 + PW_INPUTS_MAX];

    for (int64_t at = 0, m; at < n; at += m) {
        m = n - at < run->block ? n - at : run->block;
        if (m > PW_VECTOR)
            m -= m % PW_VECTOR;
        int64_t padded = (m + PW_VECTOR - 1) / PW_VECTOR * PW_VECTOR;
        for (int o = 0; o < run->n; o++) {
            size_t bytes = types[run->dtype[o]].bytes;
            char *from = data[o] + at * strides[o];
            bool here = types[run->dtype[o]].native && strides[o] == (int64_t)bytes && m == padded;

            p[o] = here ? from : block[o];
            if (here || o == 0 || (strides[o] == 0 && at > 0)) /* broadcast: loaded already */
                continue;
            load_padded(run->dtype[o], block[o], from, strides[o], m, padded);
        }
        run->kernel(p, padded, &run->state);
        if (p[0] == block[0])
            types[run->dtype[0]].store(data[0] + at * strides[0], block[0], strides[0], m);
    }
}

/* -- arguments -- */

/* alpha must not need a wider type than the result's (at::native::alpha_check). */
static int check_alpha(dp_ctx *ctx, const dp_value *v, dp_dtype dtype)
{
    if (v->tag == DP_TAG_BOOL && dtype != DP_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "Boolean alpha only supported for Boolean results.");
    if (v->tag == DP_TAG_DOUBLE && dp_dtype_is_integral(dtype, true))
        return dp_fail(ctx, DP_ERUNTIME,
                       "For integral input tensors, argument alpha must not be a floating point "
                       "number.");
    return 0;
}

/* A Scalar parameter of a computation in `dtype`.  For an integer dtype a float is truncated. */
static int take_param(dp_ctx *ctx, const char *name, const dp_value *v, dp_dtype dtype,
                      pw_scalar *out)
{
    int rc = strcmp(name, "alpha") == 0 ? check_alpha(ctx, v, dtype) : 0;

    if (rc < 0)
        return rc;
    if (v->tag == DP_TAG_COMPLEX && !dp_dtype_is_complex(dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "For non-complex input tensors, argument %s must not be a complex number.",
                       name);
    *out = v->tag == DP_TAG_COMPLEX ? (pw_scalar){0, v->u.doubles[0], v->u.doubles[1]}
                                    : (pw_scalar){as_int(*v), as_double(*v), 0};
    return 0;
}

/* Scalars become 0-dim wrapped numbers.  Every entry of tensors[] is a reference to be dropped. */
static int take_inputs(dp_ctx *ctx, int n, const dp_value *ins, dp_tensor **tensors)
{
    for (int i = 0; i < n; i++) {
        if (ins[i].tag == DP_TAG_TENSOR) {
            tensors[i] = dp_tensor_ref(ins[i].u.t);
            continue;
        }
        int rc = dp_scalar_tensor(ctx, ins[i], DP_DTYPE_NONE, &tensors[i]);
        if (rc < 0)
            return rc;
        dp_tensor_set_wrapped(tensors[i], true);
    }
    return 0;
}

/* Choose dtypes, loop and parameters; all errors about types come before anything is allocated. */
static int take_types(dp_ctx *ctx, const pw_op *op, dp_tensor *const *ins, const dp_value *params,
                      pw_run *run)
{
    dp_dtype dtype = dp_result_type(ins, (size_t)op->n_in);

    for (int i = 0; i < op->n_in && op->no_bool; i++) {
        DP_VIEW(x, ins[i]);
        if (x.dtype == DP_BOOL)
            return dp_fail(ctx, DP_ERUNTIME, "%s", op->no_bool);
    }
    if (op->flags & PW_TO_FLOAT && dp_dtype_is_integral(dtype, true))
        dtype = DP_FLOAT32;
    run->common = dtype;
    run->kernel = CPU_CHOSEN(pw_table)[op->row][types[dtype].class];
    if (run->kernel == NULL)
        return dp_fail(ctx, DP_ERUNTIME, "\"%s_cpu\" not implemented for '%s'", op->name,
                       dense_type_name(dtype));
    for (int i = 0; i < op->n_params; i++) {
        int rc = take_param(ctx, op->params[i], &params[i], dtype, &run->state.param[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* PW_SAME_DTYPE: an output must have the result's dtype, since nothing is cast into it. */
static int check_same(dp_ctx *ctx, const pw_op *op, const dp_tensor *dst, dp_dtype dtype)
{
    if (!(op->flags & PW_SAME_DTYPE) || dst == NULL)
        return 0;
    DP_VIEW(y, dst);
    return y.dtype == dtype ? 0
                            : dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                                      dense_type_name(y.dtype), dense_type_name(dtype));
}

static int run_loop(dp_ctx *ctx, const pw_op *op, dp_tensor **ins, pw_run *run, dp_tensor **out)
{
    dp_tensor *given = *out;
    dp_iter it;
    dp_iter_config config = dp_iter_of(DP_ITER_BINARY, 1, out, op->n_in, ins);

    run->n = 1 + op->n_in;
    run->dtype[0] = op->flags & PW_RESULT_BOOL ? DP_BOOL : run->common;
    for (int i = 1; i < run->n; i++)
        run->dtype[i] = run->common;
    run->block = PW_BLOCK_BYTES / types[run->common].bytes;
    config.common_dtype = dp_some_dtype(run->common);
    config.out_dtype = dp_some_dtype(run->dtype[0]);
    int rc = dp_iter_init(ctx, &config, &it);
    rc = rc == 0 ? dp_iter_run_1d(ctx, &it, pw_loop, run) : dp_refuse(ctx, rc, NULL);
    if (rc == 0 && run->state.fault)
        rc = dp_fail(ctx, DP_ERUNTIME, "ZeroDivisionError");
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* *out NULL: the result is allocated. */
static int compute(dp_ctx *ctx, const pw_op *op, const dp_value *values, const dp_value *params,
                   dp_tensor **out)
{
    dp_tensor *ins[PW_INPUTS_MAX] = {0};
    pw_run run = {0};
    int rc = take_inputs(ctx, op->n_in, values, ins);

    if (rc == 0)
        rc = take_types(ctx, op, ins, params, &run);
    if (rc == 0)
        rc = check_same(ctx, op, *out, run.common);
    rc = rc == 0 ? run_loop(ctx, op, ins, &run, out) : dp_refuse(ctx, rc, NULL);
    for (int i = 0; i < op->n_in; i++)
        dp_tensor_unref(ins[i]);
    return rc;
}

int pw_new(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
           dp_tensor **out)
{
    dp_tensor *made = NULL;
    int rc = compute(ctx, op, ins, params, &made);

    if (rc == 0)
        *out = made;
    return rc;
}

int pw_write(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
             dp_tensor *dst)
{
    return compute(ctx, op, ins, params, &dst);
}
