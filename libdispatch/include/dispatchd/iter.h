/* dispatchd/iter.h -- elementwise loops over several tensors (at::TensorIterator).
 *
 *     dp_iter it;
 *     dp_tensor *ins[] = {self, other};
 *     dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, out, 2, ins);
 *     int rc = dp_iter_init(ctx, &c, &it);
 *     return rc == 0 ? dp_iter_run(ctx, &it, add_loop, NULL) : rc;
 *
 * dp_iter_init() broadcasts shapes, promotes dtypes, allocates or resizes outputs and refuses
 * outputs that overlap.  It also reorders and merges dimensions, so that the loop reads memory in
 * increasing order of addresses.  dp_iter_run() calls the loop for blocks of two dimensions, on
 * several threads if there are enough elements.
 *
 * Include plugin.h or dispatch.h before this header. */
#ifndef DISPATCHD_ITER_H
#define DISPATCHD_ITER_H

#if !defined(DISPATCHD_PLUGIN_H) && !defined(DISPATCHD_DISPATCH_H)
#error "include dispatchd/plugin.h, or dispatchd/dispatch.h, before dispatchd/iter.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DP_ITER_OPERANDS_MAX 16

/* dp_iter_config.flags.  The name in brackets is that of TensorIteratorConfig.  The default, 0: all
 * operands have one dtype and one device, outputs of another shape are resized, and outputs whose
 * elements share memory with one another, or that overlap another operand partially, are
 * refused. */
enum {
    /* the loop sees all inputs in their common dtype [promote_inputs_to_common_dtype] */
    DP_ITER_PROMOTE = 1,
    /* with DP_ITER_PROMOTE: the common dtype is float32 if the inputs promote to an integral
     * dtype or bool [promote_integer_inputs_to_float] */
    DP_ITER_INT_TO_FLOAT = 2,
    /* an output may have any dtype to which the loop's dtype can be cast
     * [cast_common_dtype_to_outputs, enforce_safe_casting_to_output] */
    DP_ITER_CAST_OUTPUTS = 4,
    /* dtypes of operands may differ; the loop sees each operand in its own dtype, unless another
     * flag, common_dtype or out_dtype says otherwise [not check_all_same_dtype] */
    DP_ITER_ANY_DTYPE = 8,
    /* operands may be on different devices [not check_all_same_device] */
    DP_ITER_ANY_DEVICE = 16,
    /* one 0-dim input on the CPU may be combined with tensors of any device
     * [allow_cpu_scalars] */
    DP_ITER_CPU_SCALARS = 32,
    DP_ITER_NO_OVERLAP_CHECK = 64, /* outputs may overlap operands [not check_mem_overlap] */
    /* outputs take part in broadcasting, and must have the result's shape [not
     * resize_outputs] */
    DP_ITER_NO_RESIZE = 128,
    /* elements are visited in row-major order [enforce_linear_iteration] */
    DP_ITER_LINEAR = 256,
    DP_ITER_BOOL_OUTPUT = 512, /* the loop writes bool [declare_static_dtype(kBool)] */
    /* the iterator does not convert: the loop gets each operand in the dtype that it has in memory
     * (dp_iter.own), and must itself convert to and from the dtype in which other loops would see
     * it (dp_iter.seen) */
    DP_ITER_LOOP_CASTS = 1024,

    /* one thread visits the elements one after another; with DP_ITER_LINEAR, in row-major order
     * [cpu_serial_kernel] */
    DP_ITER_SERIAL = 16384,

    /* outputs lack the dimensions of dp_iter_config.reduced [is_reduction] */
    DP_ITER_REDUCE = 2048,
    /* strides of allocated outputs are chosen as if there were one more input, a 0-dim tensor: for
     * a loop that gets in `user` a number that ATen passes as a tensor */
    DP_ITER_NUMBER = 8192,
    /* with DP_ITER_REDUCE: outputs have the reduced dimensions, with size 1 */
    DP_ITER_KEEPDIM = 4096,

    /* presets, such as those of TensorIterator::unary_op and binary_op */
    DP_ITER_UNARY = 0,
    DP_ITER_UNARY_FLOAT =
        DP_ITER_PROMOTE | DP_ITER_INT_TO_FLOAT | DP_ITER_CAST_OUTPUTS | DP_ITER_CPU_SCALARS,
    DP_ITER_UNARY_BOOL = DP_ITER_ANY_DTYPE | DP_ITER_BOOL_OUTPUT,
    DP_ITER_BINARY = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS | DP_ITER_CPU_SCALARS,
    DP_ITER_BINARY_FLOAT = DP_ITER_BINARY | DP_ITER_INT_TO_FLOAT,
    DP_ITER_COMPARISON = DP_ITER_BINARY | DP_ITER_BOOL_OUTPUT,
    DP_ITER_TERNARY = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS,
    DP_ITER_NULLARY = DP_ITER_ANY_DTYPE | DP_ITER_NO_RESIZE,
    DP_ITER_WHERE = DP_ITER_ANY_DTYPE | DP_ITER_CPU_SCALARS, /* also set `out_dtype` */
    DP_ITER_COPY = DP_ITER_ANY_DTYPE | DP_ITER_ANY_DEVICE | DP_ITER_NO_RESIZE,
    DP_ITER_REDUCTION = DP_ITER_REDUCE | DP_ITER_PROMOTE /* also set `reduced` and `out_dtype` */
};

/* Configuration of a loop.  A member that is zero has its default.  In every array that the loop
 * gets, outputs come first. */
struct dp_iter_config {
    uint32_t size;
    uint32_t flags;
    int32_t n_out, n_in;
    dp_tensor **outs;      /* [n_out] a NULL entry is allocated, and then owned by the caller */
    dp_tensor *const *ins; /* [n_in] borrowed */
    /* dtype in which the loop sees the inputs; none: with DP_ITER_PROMOTE the promoted dtype of all
     * inputs, else each input's own dtype */
    dp_opt_dtype common_dtype;
    /* dtype that the loop writes, and of allocated outputs; none: bool with DP_ITER_BOOL_OUTPUT,
     * else dp_iter.dtype; but with DP_ITER_ANY_DTYPE and no other flag or member that sets a dtype,
     * each existing output is written in its own dtype */
    dp_opt_dtype out_dtype;
    /* [ndim] shape to visit in place of the operands' broadcast shape [declare_static_shape]; in
     * each dimension an operand has size 1 or at least this size, and outputs are not resized;
     * NULL: the broadcast shape */
    const int64_t *shape;
    int32_t ndim;
    uint32_t grain; /* least number of elements for each thread [grain_size]; 0: 32768 */
    /* DP_ITER_REDUCE: bit d is dimension d of the inputs.  DP_EINDEX: the inputs have no such
     * dimension */
    uint64_t reduced;
};

static inline dp_iter_config dp_iter_of(uint32_t flags, int n_out, dp_tensor **outs, int n_in,
                                        dp_tensor *const *ins)
{
    dp_iter_config c = {
        (uint32_t)sizeof(dp_iter_config), flags, n_out, n_in, outs, ins, {0}, {0}, 0, 0, 0, 0};
    return c;
}

/* An iterator: the elements to visit, their addresses and strides.  The caller declares it and
 * dp_iter_init() fills it in; there is nothing to release.  Do not copy it: it points to its own
 * members and, with more than 4 operands or 6 dimensions, to memory of dp_alloc(). */
struct dp_iter {
    uint32_t size;
    uint32_t flags;   /* flags of the configuration */
    int32_t n_out, n; /* number of outputs; number of operands: outputs, then inputs */
    /* at least 1; dimension 0 is the innermost; mergeable dimensions are merged */
    int32_t ndim;
    /* common_dtype, or with DP_ITER_PROMOTE the promoted dtype, else the dtype of the first input
     * (if there are no inputs, of the first output) */
    dp_dtype dtype;
    dp_device device;
    bool memoryless; /* an operand has no memory (meta, fake): no loop runs */
    bool converts;   /* `own` and `seen` of some operand differ, and the host converts */
    bool reserved[2];
    uint32_t resized; /* bit k: output k was resized */
    /* number of reduced dimensions, which are the innermost; outputs have stride 0 in them */
    int32_t n_reduced;
    int64_t numel;
    /* elements that are reduced to one element of an output; 1 without DP_ITER_REDUCE */
    int64_t n_each;
    const int64_t *shape; /* [ndim] */
    /* [max(ndim, 2)][n], in bytes: one row for each dimension; the second row is 0 if ndim is 1 */
    const int64_t *strides;
    char **data;          /* [n] addresses of the first elements */
    dp_tensor **tensors;  /* [n] borrowed */
    dp_dtype *own, *seen; /* [n] dtype in memory; dtype that the loop sees */

    /* for the host only: memory for the arrays above */
    int64_t room[2 * DP_ITER_OPERANDS_MAX + 4];
    void *operand_reserved[8];
    dp_dtype dtype_reserved[8];
    int64_t grain; /* grain of the configuration, or its default; never 0 */
    uint64_t reserved_words[18];
};

enum { DP_ITER_CHUNK = 16384 };

/* A reduction, for dp_iter_reduce(): how the elements that belong to one element of an output are
 * combined.  These elements are taken in the iterator's order, in chunks of DP_ITER_CHUNK; each
 * chunk has its own accumulator, and the accumulators of neighbouring chunks are merged in pairs.
 * So the result does not depend on the number of threads.
 *
 * Each function works on `n` accumulators, which belong to `n` neighbouring elements of an output;
 * they lie acc_bytes apart, and each is aligned to the largest power of 2, up to 64, that divides
 * acc_bytes.  The functions run on several threads at once and share `user`.  They must not call
 * operators. */
struct dp_reduction {
    uint32_t size;
    uint32_t acc_bytes; /* bytes of an accumulator, 1 to 16384 */
    /* Set `n` accumulators to their initial value, for example 0 for a sum. */
    void (*begin)(char *acc, int64_t n, void *user);
    /* Add `n0` elements to each of `n` accumulators.  `data` and `strides` are those of a
     * dp_iter_loop2d with `n` rows, one row for each accumulator; the entries of outputs must not
     * be used.  `index`: position of the first of the `n0` elements among all elements that are
     * reduced to the same element of an output. */
    void (*step)(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                 int64_t index, void *user);
    /* Add `n` accumulators at `from` to those at `acc`.  The elements of `from` come after those of
     * `acc`. */
    void (*merge)(char *acc, const char *from, int64_t n, void *user);
    /* Write the results of `n` accumulators: `n` elements of each output.  data [n_out]; strides
     * [n_out] in bytes. */
    void (*finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user);
};

/* Set it->size and call dp_iter_build(), which fills in *it.  Call this function in place of
 * dp_iter_build(). */
__attribute__((unused)) static int dp_iter_init(dp_ctx *ctx, const dp_iter_config *config,
                                                dp_iter *it)
{
    it->size = (uint32_t)sizeof(*it);
    return dp_iter_build(ctx, config, it);
}

#ifdef __cplusplus
}
#endif
#endif
