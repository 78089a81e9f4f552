/* pointwise.c -- the dtypes, the loop and the parameters of a call of a pointwise operator. */
#include "pointwise.h"
#include "core/dense.h"
#include "core/elements.h"
#include "pointwise_run.h"
#include <dispatchd/iter.h>
#include "dispatchd/check.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* -- Scalars -- */

/* Return the dtype of a Scalar in type promotion with tensors. */
static dp_dtype scalar_dtype(const dp_value *v)
{
    return v->tag == DP_TAG_BOOL     ? DP_BOOL
           : v->tag == DP_TAG_INT    ? DP_INT64
           : v->tag == DP_TAG_DOUBLE ? DP_FLOAT32
                                     : DP_COMPLEX64;
}

/* Return the promotion of the tensors' dtype with that of the Scalars, which counts only if its
 * category is higher (combine_categories of TypeProperties.cpp). */
static dp_dtype with_scalar(dp_dtype tensors, dp_dtype scalar)
{
    if (dp_dtype_is_complex(tensors))
        return tensors;
    if (dp_dtype_is_floating(tensors)) {
        if (!dp_dtype_is_complex(scalar))
            return tensors;
        return tensors == DP_FLOAT64 ? DP_COMPLEX128 : DP_COMPLEX64;
    }
    if (tensors == DP_BOOL || !dp_dtype_is_integral(scalar, true))
        return dp_promote_types(tensors, scalar);
    return tensors;
}

/* Check that alpha does not need a wider dtype than the result's (at::native::alpha_check). */
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

/* Return the dtype to which parameter `i` is converted: `common`, or the dtype in which elements of
 * `common` are computed. */
static dp_dtype param_dtype(const pw_op *op, int i, dp_dtype common)
{
    return op->rounded >> i & 1 ? common : pw_types[common].dtype;
}

/* Convert parameter `i`, a number, for a computation in `dtype`.  For an integer dtype, a float is
 * truncated. */
static int take_param(dp_ctx *ctx, const pw_op *op, int i, const dp_value *v, dp_dtype dtype,
                      pw_scalar *out)
{
    const char *name = op->params[i];
    int rc = strcmp(name, "alpha") == 0 ? check_alpha(ctx, v, dtype) : 0;

    if (rc < 0)
        return rc;
    if (v->tag == DP_TAG_COMPLEX && !dp_dtype_is_complex(dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "For non-complex input tensors, argument %s must not be a complex number.",
                       name);
    *out = v->tag == DP_TAG_COMPLEX ? (pw_scalar){0, v->u.doubles[0], v->u.doubles[1]}
                                    : (pw_scalar){as_int(*v), as_double(*v), 0};
    if (op->rounded >> i & 1 && pw_types[dtype].dtype != dtype)
        out->d = as_stored(out->d, dtype);
    return op->flags & PW_SCALARS_FIT ? check_fits(ctx, *v, param_dtype(op, i, dtype)) : 0;
}

/* Convert a Scalar to an operand: first to the common dtype, as a 0-dim tensor would be, then to
 * the loop's dtype. */
static void take_scalar(pw_operand *o, const dp_value *v, dp_dtype common)
{
    dp_dtype seen = pw_types[common].dtype;

    o->at = -1;
    if (seen == common) {
        write_scalar(*v, common, o->scalar);
        return;
    }
    _Alignas(DP_DTYPE_SIZE_MAX) char half[DP_DTYPE_SIZE_MAX];
    write_scalar(*v, common, half);
    dp_converter(seen, common)(o->scalar, DP_DTYPE_SIZE_MAX, half, DP_DTYPE_SIZE_MAX, 1);
}

/* -- types -- */

typedef struct pw_call {
    const pw_op *op;
    const dp_value *ins, *params;
    dp_tensor *tensors[PW_INPUTS_MAX]; /* [n_tensors] those inputs that are tensors */
    int n_tensors;
    dp_dtype common, result;
    pw_run run;
} pw_call;

static dp_dtype result_dtype(const pw_op *op, dp_dtype d)
{
    if (op->flags & PW_RESULT_BOOL)
        return DP_BOOL;
    if (op->flags & PW_RESULT_REAL)
        return d == DP_COMPLEX64 ? DP_FLOAT32 : d == DP_COMPLEX128 ? DP_FLOAT64 : d;
    if (op->flags & PW_RESULT_COMPLEX)
        return d == DP_FLOAT64 ? DP_COMPLEX128 : DP_COMPLEX64;
    return d;
}

static int find_common(dp_ctx *ctx, pw_call *c)
{
    const pw_op *op = c->op;
    dp_dtype d = DP_DTYPE_NONE;

    for (int i = 0; i < c->n_tensors && (op->no_bool || op->flags & PW_SAME_INPUTS); i++) {
        DP_VIEW(x, c->tensors[i]);
        if (op->no_bool && x.dtype == DP_BOOL)
            return dp_fail(ctx, DP_ERUNTIME, "%s", op->no_bool);
        if (i > 0 && op->flags & PW_SAME_INPUTS && x.dtype != d)
            return dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                           dense_type_name(x.dtype), dense_type_name(d));
        d = x.dtype;
    }
    d = dp_result_type(c->tensors, (size_t)c->n_tensors);
    for (int i = 0; i < op->n_in; i++)
        if (c->ins[i].tag != DP_TAG_TENSOR)
            d = with_scalar(d, scalar_dtype(&c->ins[i]));
    if (op->flags & PW_TO_FLOAT && dp_dtype_is_integral(d, true))
        d = DP_FLOAT32;
    c->common = d;
    c->result = result_dtype(op, d);
    return 0;
}

static bool is_number(const dp_value *v, double value)
{
    if (v->tag == DP_TAG_COMPLEX)
        return v->u.doubles[0] == value && v->u.doubles[1] == 0;
    return (v->tag == DP_TAG_INT || v->tag == DP_TAG_DOUBLE) && as_double(*v) == value;
}

/* Return the row of the first `when` that matches and has a loop for the type, else the operator's
 * row. */
static const pw_row *find_row(const pw_call *c)
{
    const pw_op *op = c->op;
    const pw_row *table = op->tables[cpu_level];

    for (int i = 0; i < op->n_when; i++) {
        const pw_when *w = &op->when[i];
        const dp_value *v =
            w->input < PW_INPUTS_MAX ? &c->ins[w->input] : &c->params[w->input - PW_INPUTS_MAX];
        if (is_number(v, w->value) && table[w->row].loop[pw_types[c->common].place] != NULL)
            return &table[w->row];
    }
    return &table[op->row];
}

static double largest(dp_dtype d)
{
    return d == DP_FLOAT16    ? 65504
           : d == DP_BFLOAT16 ? 0x1.fep127
           : d == DP_FLOAT32  ? FLT_MAX
                              : DBL_MAX;
}

/* Choose dtypes, loop and parameters.  All errors about types are reported here, before anything is
 * allocated. */
static int take_types(dp_ctx *ctx, pw_call *c)
{
    const pw_op *op = c->op;
    int rc = find_common(ctx, c), place;

    if (rc < 0)
        return rc;
    const pw_row *row = find_row(c);
    place = pw_types[c->common].place;
    c->run.loop = row->loop[place];
    c->run.packed = row->packed >> place & 1;
    c->run.state.limit = largest(c->common);
    if (c->run.loop == NULL)
        return dp_fail(ctx, DP_ERUNTIME, "\"%s_cpu\" not implemented for '%s'", op->name,
                       dense_type_name(c->common));
    for (int i = 0; rc == 0 && op->flags & PW_SCALARS_FIT && i < op->n_in; i++)
        if (c->ins[i].tag != DP_TAG_TENSOR)
            rc = check_fits(ctx, c->ins[i], c->common);
    for (int i = 0; rc == 0 && i < op->n_params; i++)
        rc = take_param(ctx, op, i, &c->params[i], c->common, &c->run.state.param[i]);
    return rc;
}

/* Check, for PW_SAME_DTYPE, that an output has the result's dtype. */
static int check_same(dp_ctx *ctx, const pw_call *c, const dp_tensor *dst)
{
    if (!(c->op->flags & PW_SAME_DTYPE) || dst == NULL)
        return 0;
    DP_VIEW(y, dst);
    if (y.dtype != DP_BOOL && c->op->flags & PW_RESULT_BOOL)
        return dp_fail(ctx, DP_ERUNTIME, "%s does not support non-boolean outputs.", c->op->name);
    return y.dtype == c->result ? 0
                                : dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                                          dense_type_name(y.dtype), dense_type_name(c->result));
}

/* Check the dtype of out= for a real result, which is not cast in all cases.
 * Source: at::native::unary_op_impl_with_complex_to_float_out. */
static int check_real(dp_ctx *ctx, const pw_call *c, const dp_tensor *dst)
{
    bool from_complex = dp_dtype_is_complex(c->common);

    if (!(c->op->flags & PW_RESULT_REAL) || dst == NULL)
        return 0;
    DP_VIEW(y, dst);
    bool cast = from_complex ? !dp_dtype_is_complex(y.dtype) : (c->op->flags & PW_TO_FLOAT) != 0;
    return cast || y.dtype == c->common
               ? 0
               : dp_fail(ctx, DP_ERUNTIME, "Found dtype %s but expected %s",
                         dense_type_name(y.dtype), dense_type_name(c->common));
}

/* -- running -- */

/* Set up operand `k` of the loop: operand `at` of the iterator, with dtype `own` in memory and
 * dtype `common` in the operator. */
static void take_operand(pw_run *run, int k, int at, dp_dtype own, dp_dtype common)
{
    pw_operand *o = &run->operand[k];
    dp_dtype seen = pw_types[common].dtype;
    bool out = k == 0;

    o->at = at;
    o->bytes = pw_types[common].bytes;
    o->first = own == common ? NULL : out ? dp_converter(own, common) : dp_converter(common, own);
    o->second = common == seen ? NULL
                : out          ? dp_converter(common, seen)
                               : dp_converter(seen, common);
    run->converted |= o->first != NULL || o->second != NULL;
}

/* Set the size of a block, and the functions that move elements to and from blocks. */
static void take_blocks(pw_call *c)
{
    dp_dtype seen = pw_types[c->common].dtype, made = pw_types[c->result].dtype;

    c->run.block = PW_BLOCK_BYTES / pw_types[c->common].bytes;
    c->run.block = c->run.block < PW_BLOCK ? c->run.block : PW_BLOCK;
    c->run.operand[0].move = dp_converter(made, made);
    for (int k = 1; k < c->run.n; k++)
        c->run.operand[k].move = dp_converter(seen, seen);
}

static void take_operands(pw_call *c, const dp_iter *it)
{
    pw_run *run = &c->run;
    int at = 1;

    run->n = 1 + c->op->n_in;
    take_operand(run, 0, 0, it->own[0], c->result);
    for (int k = 1; k < run->n; k++) {
        if (c->ins[k - 1].tag == DP_TAG_TENSOR) {
            take_operand(run, k, at, it->own[at], c->common);
            at++;
            continue;
        }
        run->operand[k].bytes = pw_types[c->common].bytes;
        run->operand[k].first = run->operand[k].second = NULL;
        take_scalar(&run->operand[k], &c->ins[k - 1], c->common);
        run->rearranged = true;
    }
    if (run->converted || run->packed)
        take_blocks(c);
}

static bool is_real_of_complex(const pw_call *c)
{
    return c->op->flags & PW_RESULT_REAL && dp_dtype_is_complex(c->common);
}

static bool is_resized(const dp_tensor *out, const dp_tensor *in)
{
    DP_VIEW(o, out);
    DP_VIEW(x, in);
    return !dp_same_sizes(o.ndim, o.sizes, x.ndim, x.sizes);
}

/* Make the output if its strides are not those that the iterator would choose; else leave *out
 * NULL. */
static int make_output(dp_ctx *ctx, const pw_call *c, dp_tensor **out)
{
    int flags = c->op->flags;
    bool real = is_real_of_complex(c);
    bool row_major = flags & PW_ROW_MAJOR && (real || !(flags & PW_RESULT_REAL));

    if (!real && !row_major && !(flags & PW_LIKE_INPUT))
        return 0;
    return dp_empty_like(ctx, c->tensors[0], c->result, row_major ? DP_CONTIGUOUS : DP_PRESERVE,
                         out);
}

static int run_loop(dp_ctx *ctx, pw_call *c, dp_tensor **out)
{
    dp_tensor *given = *out;
    dp_iter it;
    int rc = given == NULL ? make_output(ctx, c, out) : 0;
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    dp_iter_config config =
        dp_iter_of(DP_ITER_BINARY | DP_ITER_LOOP_CASTS, 1, out, c->n_tensors, c->tensors);

    if (c->op->flags & PW_RESULT_BOOL && c->n_tensors < c->op->n_in)
        config.flags |= DP_ITER_NUMBER; /* ATen converts the number of a comparison to a tensor */
    if (c->op->flags & PW_MAY_OVERLAP)
        config.flags |= DP_ITER_NO_OVERLAP_CHECK;
    if (given != NULL && is_real_of_complex(c) && is_resized(given, c->tensors[0]))
        config.flags |= DP_ITER_LINEAR; /* ATen resizes it by a copy, which makes it contiguous */
    config.common_dtype = dp_some_dtype(c->common);
    config.out_dtype = dp_some_dtype(c->result);
    rc = dp_iter_init(ctx, &config, &it);
    if (rc < 0)
        dp_refuse(ctx, rc, NULL);
    if (rc == 0 && !it.memoryless && it.numel > 0) {
        take_operands(c, &it);
        rc = pw_run_over(ctx, &it, &c->run);
        if (rc == 0 && c->run.state.fault)
            rc = dp_fail(ctx, DP_ERUNTIME, "%s", c->op->fault);
    }
    if (rc < 0 && given == NULL)
        *out = dp_tensor_unref(*out);
    return rc;
}

/* Run the operator into *out; NULL: it is set to a new tensor. */
static int compute(dp_ctx *ctx, const pw_op *op, const dp_value *ins, const dp_value *params,
                   dp_tensor **out)
{
    pw_call c;
    int rc = op->check ? op->check(ctx, ins, params) : 0;

    c.op = op;
    c.ins = ins;
    c.params = params;
    c.n_tensors = 0;
    c.run.rearranged = c.run.converted = false;
    c.run.state.fault = 0;
    for (int i = 0; i < op->n_in; i++)
        if (ins[i].tag == DP_TAG_TENSOR)
            c.tensors[c.n_tensors++] = ins[i].u.t;
    if (rc == 0)
        rc = take_types(ctx, &c);
    if (rc == 0)
        rc = check_same(ctx, &c, *out);
    if (rc == 0)
        rc = check_real(ctx, &c, *out);
    return rc == 0 ? run_loop(ctx, &c, out) : dp_refuse(ctx, rc, NULL);
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
