/* reduce.c -- dimensions, dtypes and outputs of a reduction; its loops are made from reduce.yaml
 * (aten/src/ATen/native/ReduceOps.cpp, ReduceOpsUtils.h). */
#include "reduce.h"
#include "core/dense.h"
#include "core/elements.h"
#include <dispatchd/iter.h>

/* state of one call of rd_run() */
typedef struct rd_job {
    const rd_op *op;
    const rd_args *args;
    dp_view x;
    uint64_t reduced; /* bit d: dimension d of self is reduced */
    dp_dtype dtype;   /* dtype in which the reduction is computed */
    dp_dtype loop;    /* dtype of the elements in the loops */
    const rd_kernel *kernel;
    int ndim;                  /* number of dimensions of the outputs */
    int64_t sizes[DP_DIM_MAX]; /* sizes of the outputs */
    rd_state state;
} rd_job;

/* -- dimensions -- */

/* Set j->reduced.  All dimensions are checked for their range before any is checked for being given
 * twice, except with dims_in_turn or RD_DIMS_IN_TURN.  Source: at::meta::make_reduction,
 * at::dim_list_to_bitset. */
static int take_dims(dp_ctx *ctx, rd_job *j)
{
    const rd_args *a = j->args;
    int64_t n = j->x.ndim > 0 ? j->x.ndim : 1;
    bool in_turn = a->dims_in_turn || (j->op->flags & RD_DIMS_IN_TURN) != 0;
    bool all = a->dims == NULL || (a->n_dims == 0 && !(j->op->flags & RD_NONE_IS_NONE));

    for (size_t i = 0; !all && !in_turn && i < a->n_dims; i++) {
        int64_t d = a->dims[i];
        int rc = wrap_dim(ctx, &d, j->x.ndim);
        if (rc < 0)
            return rc;
    }
    j->reduced = all ? (n == DP_DIM_MAX ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1) : 0;
    for (size_t i = 0; !all && i < a->n_dims; i++) {
        int64_t d = a->dims[i];
        int rc = wrap_dim(ctx, &d, j->x.ndim);
        if (rc < 0)
            return rc;
        if (j->reduced >> d & 1)
            return dp_fail(ctx, DP_ERUNTIME, "dim %d appears multiple times in the list of dims",
                           (int)d);
        j->reduced |= (uint64_t)1 << d;
    }
    return 0;
}

static void take_shape(rd_job *j)
{
    j->ndim = 0;
    j->state.n = 1;
    for (int d = 0; d < j->x.ndim; d++) {
        bool reduced = (j->reduced >> d & 1) != 0;
        if (reduced)
            j->state.n *= (double)j->x.sizes[d];
        if (!reduced || j->args->keepdim)
            j->sizes[j->ndim++] = reduced ? 1 : j->x.sizes[d];
    }
}

/* Check a reduction without identity (amax) of a self without elements: it must get a list of
 * dimensions, and must not reduce a dimension of size 0.  DP_EINDEX: a dimension has size 0, or
 * there is no list and the operator has RD_ROW_MAJOR.  DP_ERUNTIME: there is no list, for other
 * operators.  Source: at::native::zero_numel_check_dims. */
static int check_elements(dp_ctx *ctx, const rd_job *j)
{
    if (!(j->op->flags & RD_NO_IDENTITY) || j->x.numel > 0)
        return 0;
    if (j->args->n_dims == 0)
        return dp_fail(ctx, j->op->flags & RD_ROW_MAJOR ? DP_EINDEX : DP_ERUNTIME,
                       "%s(): Expected reduction dim to be specified for input.numel() == 0. "
                       "Specify the reduction dim with the 'dim' argument.",
                       j->op->name);
    for (int d = 0; d < j->x.ndim; d++)
        if (j->reduced >> d & 1 && j->x.sizes[d] == 0)
            return dp_fail(ctx, DP_EINDEX, "%s(): Expected reduction dim %d to have non-zero size.",
                           j->op->name, d);
    return 0;
}

/* -- types -- */

static int check_float(dp_ctx *ctx, const rd_job *j)
{
    if (!(j->op->flags & RD_FLOAT_ONLY) || !dp_dtype_is_integral(j->dtype, true))
        return 0;
    return dp_fail(
        ctx, DP_ERUNTIME,
        "%s(): could not infer output dtype. %s dtype must be either a floating point or "
        "complex dtype. Got: %s",
        j->op->name, j->args->dtype ? "Optional" : "Input", dense_type_name(j->dtype));
}

/* Set j->dtype from the dtype argument, the out= tensor or self.
 * Source: at::native::infer_dtype_from_optional, get_dtype_from_result. */
static int take_dtype(dp_ctx *ctx, rd_job *j, dp_tensor *const *outs)
{
    int flags = j->op->flags;

    j->dtype = j->x.dtype;
    if (flags & RD_RESULT_BOOL && outs[0] != NULL && outs[0] != j->args->self) {
        DP_VIEW(y, outs[0]);
        if (y.dtype == DP_UINT8) /* elements are converted to uint8 before they are tested */
            j->dtype = DP_UINT8;
    }
    if (!(flags & RD_DTYPE))
        return 0;
    if (flags & RD_INT_TO_LONG && dp_dtype_is_integral(j->dtype, true))
        j->dtype = DP_INT64;
    if (j->args->dtype != NULL)
        j->dtype = (dp_dtype)*j->args->dtype;
    int rc = check_float(ctx, j);
    if (rc < 0 || j->args->dtype != NULL || outs[0] == NULL)
        return rc;
    DP_VIEW(y, outs[0]);
    bool halves = flags & RD_RESULT_REAL && dp_dtype_is_complex(j->dtype);
    bool wide = y.dtype == DP_FLOAT64 || y.dtype == DP_COMPLEX128;
    /* float32 stands for both real dtypes, since any float can be cast to another float */
    dp_dtype result = halves ? DP_FLOAT32 : j->dtype;
    if (flags & RD_FLOAT_ONLY && !dp_can_cast(result, y.dtype))
        return dp_fail(ctx, DP_ERUNTIME,
                       "result type %s can't be cast to the desired output type %s",
                       dense_type_name(result), dense_type_name(y.dtype));
    j->dtype = !halves ? y.dtype : wide ? DP_COMPLEX128 : DP_COMPLEX64;
    return 0;
}

/* If the reduction has flag RD_SAME_KIND, check that self can be cast to j->dtype; integers and
 * bools always can.  DP_ERUNTIME: self cannot be cast.  Source: at::native::nansum_out. */
static int check_kind(dp_ctx *ctx, const rd_job *j)
{
    if (!(j->op->flags & RD_SAME_KIND) || dp_dtype_is_integral(j->x.dtype, true) ||
        dp_can_cast(j->x.dtype, j->dtype))
        return 0;
    return dp_fail(ctx, DP_ERUNTIME, "%s(): elements of dtype %s cannot be reduced in dtype %s",
                   j->op->name, dense_type_name(j->x.dtype), dense_type_name(j->dtype));
}

/* Set j->kernel and j->loop.  With RD_INT_TO_LONG, the loops read integers in the dtype of self,
 * even if j->dtype is wider; all other elements are converted to j->dtype.  DP_ERUNTIME: there is
 * no kernel for the dtype. */
static int take_kernel(dp_ctx *ctx, rd_job *j)
{
    bool whole = j->op->flags & RD_INT_TO_LONG && dp_dtype_is_integral(j->x.dtype, true) &&
                 dp_dtype_is_integral(j->dtype, true);
    dp_dtype from = whole ? j->x.dtype : j->dtype;
    bool half = dp_dtype_is_reduced_floating(from);

    if (from < 0 || from >= DP_DTYPE_END || pw_types[from].bytes == 0)
        return dp_fail(ctx, DP_ERUNTIME, "%s(): no dtype has number %d", j->op->name, (int)from);
    j->kernel = &j->op->tables[cpu_level][j->op->row][pw_types[from].place];
    j->loop = pw_types[from].dtype;
    if (j->kernel->begin == NULL || (half && j->op->flags & RD_NO_HALF))
        return dp_fail(ctx, DP_ERUNTIME, "\"%s\" not implemented for '%s'", j->op->error,
                       dense_type_name(from));
    return 0;
}

static dp_dtype result_dtype(const rd_job *j, int k)
{
    if (j->op->flags & RD_RESULT_BOOL)
        return j->x.dtype == DP_UINT8 ? DP_UINT8 : DP_BOOL;
    if (j->kernel->result[k] == j->loop || j->op->flags & RD_INT_TO_LONG)
        return j->dtype;
    return j->kernel->result[k];
}

/* Set *x to self, or to a copy of self in j->dtype if PyTorch rounds the elements to that dtype (a
 * 16-bit float) before it reduces them; the loops compute in a wider dtype, j->loop.  *x owned. */
static int take_elements(dp_ctx *ctx, rd_job *j, dp_tensor **x)
{
    dp_dtype own = j->x.dtype, wanted = j->dtype;
    bool whole = dp_dtype_is_integral(own, true) && dp_dtype_is_integral(wanted, true);
    dp_tensor *cast = NULL;

    *x = dp_tensor_ref(j->args->self);
    if (own == wanted || wanted == j->loop || whole)
        return 0;
    int rc = dp_empty_like(ctx, *x, wanted, DP_PRESERVE, &cast);
    if (rc == 0)
        rc = dp_copy(ctx, cast, *x);
    dp_tensor_unref(*x);
    *x = cast;
    return rc;
}

/* -- running -- */

/* Check the dtype of an out= tensor.  Internal overlap of `out` is refused only for operators with
 * two outputs, as in PyTorch. */
static int check_output(dp_ctx *ctx, const rd_job *j, dp_tensor *out, dp_dtype result)
{
    DP_VIEW(y, out);
    if (j->op->flags & RD_RESULT_BOOL && y.dtype != DP_BOOL && y.dtype != DP_UINT8)
        return dp_fail(ctx, DP_ERUNTIME, "%s only supports bool tensor for result, got: %s",
                       j->op->name, dense_type_name(y.dtype));
    if (!(j->op->flags & (RD_RESULT_BOOL | RD_CAST_RESULT)) && y.dtype != result)
        return dp_fail(ctx, DP_ERUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
                       dp_dtype_name(result), dp_dtype_name(y.dtype));
    if (j->args->dtype != NULL && y.dtype != result)
        return dp_fail(ctx, DP_ERUNTIME, "Expected out tensor to have dtype %s, but got %s instead",
                       dp_dtype_name(result), dp_dtype_name(y.dtype));
    return j->op->n_out > 1 ? check_apart(ctx, out, NULL, 0) : 0;
}

static int take_outputs(dp_ctx *ctx, const rd_job *j, dp_tensor **outs)
{
    int rc = 0;

    for (int k = 0; rc == 0 && k < j->op->n_out; k++) {
        dp_dtype result = result_dtype(j, k);
        if (outs[k] != NULL)
            rc = check_output(ctx, j, outs[k], result);
        if (rc == 0)
            rc = dp_set_output(ctx, &outs[k], j->ndim, j->sizes, NULL,
                               outs[k] != NULL ? DP_DTYPE_NONE : result, j->x.device);
    }
    return rc;
}

/* Return the mask of the bits of a number of dtype `t` that are all 0 if and only if the number is
 * 0: for a float all bits except the sign (-0 is 0), for an integer all bits. */
static int64_t nonzero_mask(dp_dtype t)
{
    const int64_t f32 = INT32_MAX;

    return t == DP_FLOAT32     ? f32
           : t == DP_FLOAT64   ? INT64_MAX
           : t == DP_COMPLEX64 ? f32 << 32 | f32
                               : -1;
}

static int run_loops(dp_ctx *ctx, rd_job *j, dp_tensor *x, dp_tensor **outs)
{
    dp_tensor *ins[] = {x};
    dp_iter_config c = dp_iter_of(DP_ITER_REDUCE | DP_ITER_ANY_DTYPE | DP_ITER_LOOP_CASTS |
                                      DP_ITER_NO_OVERLAP_CHECK |
                                      (j->op->flags & RD_ROW_MAJOR ? DP_ITER_LINEAR : 0) |
                                      (j->args->keepdim ? DP_ITER_KEEPDIM : 0),
                                  j->op->n_out, outs, 1, ins);
    dp_reduction r = {sizeof(r),        (uint32_t)j->kernel->acc_bytes,
                      j->kernel->begin, j->kernel->step,
                      j->kernel->merge, j->kernel->finish};
    rd_state *s = &j->state;
    dp_iter it;

    c.reduced = j->reduced;
    int rc = dp_iter_init(ctx, &c, &it);
    if (rc < 0 || it.memoryless)
        return rc;
    s->n_out = j->op->n_out;
    s->no_cast = it.own[s->n_out] == j->loop;
    s->bfloat16 = it.own[s->n_out] == DP_BFLOAT16 && j->loop == DP_FLOAT32;
    s->item = (int64_t)dp_dtype_size(it.own[s->n_out]);
    s->bits = nonzero_mask(j->loop);
    s->load = dp_converter(j->loop, it.own[s->n_out]);
    for (int k = 0; k < s->n_out; k++)
        s->store[k] = dp_converter(it.own[k], j->kernel->result[k]);
    s->correction = j->args->correction;
    s->p = j->args->p;
    s->root = (j->op->flags & RD_ROOT) != 0;
    return dp_iter_reduce(ctx, &it, &r, s);
}

int rd_run(dp_ctx *ctx, const rd_op *op, const rd_args *args, dp_tensor **outs)
{
    rd_job j = {.op = op, .args = args};
    dp_tensor *x = NULL;
    bool given = outs[0] != NULL;
    DP_VIEW(self, args->self);

    j.x = self;
    int rc = take_dtype(ctx, &j, outs);
    if (rc == 0)
        rc = take_dims(ctx, &j);
    if (rc == 0)
        rc = check_elements(ctx, &j);
    if (rc == 0)
        rc = check_kind(ctx, &j);
    if (rc == 0)
        rc = take_kernel(ctx, &j);
    if (rc < 0)
        return dp_refuse(ctx, rc, NULL);
    take_shape(&j);
    rc = take_outputs(ctx, &j, outs);
    if (rc < 0)
        dp_refuse(ctx, rc, NULL);
    if (rc == 0)
        rc = take_elements(ctx, &j, &x);
    if (rc == 0)
        rc = run_loops(ctx, &j, x, outs);
    dp_tensor_unref(x);
    for (int k = 0; rc < 0 && !given && k < op->n_out; k++)
        outs[k] = dp_tensor_unref(outs[k]);
    return rc;
}
