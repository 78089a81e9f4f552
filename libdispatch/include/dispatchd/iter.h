/* dispatchd/iter.h -- loops over the elements of several tensors (at::TensorIterator).
 *
 *     dp_iter it;
 *     dp_tensor *ins[] = {self, other};
 *     dp_iter_config c = dp_iter_of(DP_ITER_BINARY, 1, out, 2, ins);
 *     int rc = dp_iter_init(ctx, &c, &it);
 *     return rc == 0 ? dp_iter_run(ctx, &it, add_loop, NULL) : rc;
 *
 * dp_iter_init() broadcasts and promotes, makes or resizes the outputs, refuses operands that
 * overlap, and orders and merges dimensions so that memory is walked forwards.  dp_iter_run() runs
 * the loop over two dimensions at a time, on several threads where that pays.
 *
 * Include plugin.h or dispatch.h first, and this only where you iterate. */
#ifndef DISPATCHD_ITER_H
#define DISPATCHD_ITER_H

#if !defined(DISPATCHD_PLUGIN_H) && !defined(DISPATCHD_DISPATCH_H)
#error "include dispatchd/plugin.h, or dispatchd/dispatch.h, before dispatchd/iter.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DP_ITER_OPERANDS_MAX 16

enum { /* dp_iter_config.flags; in brackets what TensorIteratorConfig calls it.  0 is its default:
          all operands have one dtype and one device, outputs are resized, overlap is refused */
       DP_ITER_PROMOTE = 1, /* the loop sees the inputs' common dtype [promote_inputs_to_...] */
       DP_ITER_INT_TO_FLOAT = 2, /* which is float32 in place of integers [promote_integer_...] */
       /* outputs may have another dtype that the loop's can be cast to
        * [cast_common_dtype_to_outputs, enforce_safe_casting_to_output] */
       DP_ITER_CAST_OUTPUTS = 4,
       DP_ITER_ANY_DTYPE = 8,   /* the loop sees each operand's own [not check_all_same_dtype] */
       DP_ITER_ANY_DEVICE = 16, /* [not check_all_same_device] */
       DP_ITER_CPU_SCALARS =
           32, /* one 0-dim input on the CPU fits any device [allow_cpu_scalars] */
       DP_ITER_NO_OVERLAP_CHECK = 64, /* [not check_mem_overlap] */
       /* outputs broadcast with the inputs and must have the result's shape [not resize_outputs] */
       DP_ITER_NO_RESIZE = 128,
       DP_ITER_LINEAR = 256,      /* elements in row-major order [enforce_linear_iteration] */
       DP_ITER_BOOL_OUTPUT = 512, /* the loop writes bool [declare_static_dtype(kBool)] */
       /* the loop gets operands as they lie in memory, and converts from `own` to `seen` and
        * back by itself */
       DP_ITER_LOOP_CASTS = 1024,

       /* one thread, elements one after the other; with LINEAR in row-major order
        * [cpu_serial_kernel] */
       DP_ITER_SERIAL = 16384,

       DP_ITER_REDUCE = 2048, /* outputs lack the dimensions of `reduced` [is_reduction] */
       /* outputs lie as if a 0-dim input took part, too: a number that the loop has by itself */
       DP_ITER_NUMBER = 8192,
       DP_ITER_KEEPDIM = 4096, /* or have them with size 1 */

       /* TensorIterator's presets */
       DP_ITER_UNARY = 0,
       DP_ITER_UNARY_FLOAT =
           DP_ITER_PROMOTE | DP_ITER_INT_TO_FLOAT | DP_ITER_CAST_OUTPUTS | DP_ITER_CPU_SCALARS,
       DP_ITER_UNARY_BOOL = DP_ITER_ANY_DTYPE | DP_ITER_BOOL_OUTPUT,
       DP_ITER_BINARY = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS | DP_ITER_CPU_SCALARS,
       DP_ITER_BINARY_FLOAT = DP_ITER_BINARY | DP_ITER_INT_TO_FLOAT,
       DP_ITER_COMPARISON = DP_ITER_BINARY | DP_ITER_BOOL_OUTPUT,
       DP_ITER_TERNARY = DP_ITER_PROMOTE | DP_ITER_CAST_OUTPUTS,
       DP_ITER_NULLARY = DP_ITER_ANY_DTYPE | DP_ITER_NO_RESIZE,
       DP_ITER_WHERE = DP_ITER_ANY_DTYPE | DP_ITER_CPU_SCALARS, /* and set out_dtype */
       DP_ITER_COPY = DP_ITER_ANY_DTYPE | DP_ITER_ANY_DEVICE | DP_ITER_NO_RESIZE,
       DP_ITER_REDUCTION = DP_ITER_REDUCE | DP_ITER_PROMOTE /* and set reduced, out_dtype */
};

/* What is zero has its default.  Outputs come first in every array that the loop sees. */
struct dp_iter_config {
    uint32_t size;
    uint32_t flags;
    int32_t n_out, n_in;
    dp_tensor **outs;      /* [n_out]; a NULL is allocated and then owned by the caller */
    dp_tensor *const *ins; /* [n_in] borrowed */
    /* loop sees inputs as this; none: promoted from the inputs with PROMOTE, else each input's
     * own */
    dp_opt_dtype common_dtype;
    /* of allocated outputs and of what the loop writes; none: the common, or bool with
     * BOOL_OUTPUT */
    dp_opt_dtype out_dtype;
    /* [ndim] to walk instead of the operands' common one, none of which is smaller or resized
     * [declare_static_shape]; NULL: that one */
    const int64_t *shape;
    int32_t ndim;
    uint32_t grain;   /* elements that are worth a thread's time [grain_size]; 0: 32768 */
    uint64_t reduced; /* REDUCE: bit d is dimension d of the inputs; one they lack is DP_EINDEX */
};

static inline dp_iter_config dp_iter_of(uint32_t flags, int n_out, dp_tensor **outs, int n_in,
                                        dp_tensor *const *ins)
{
    dp_iter_config c = {
        (uint32_t)sizeof(dp_iter_config), flags, n_out, n_in, outs, ins, {0}, {0}, 0, 0, 0, 0};
    return c;
}

/* What is to be walked.  Of the caller's, filled in by dp_iter_init(), which holds nothing: there
 * is nothing to release.  Not to be copied: it points into itself, and beyond 4 operands or 6
 * dimensions into memory of dp_alloc(). */
struct dp_iter {
    uint32_t size;
    uint32_t flags;   /* the configuration's */
    int32_t n_out, n; /* operands: outputs, then inputs */
    int32_t ndim;     /* >= 1; dimension 0 is the innermost; neighbours in memory are merged */
    dp_dtype dtype;   /* common dtype of the inputs */
    dp_device device;
    bool memoryless; /* some operand has no memory: loops are left out */
    bool converts;   /* `own` and `seen` differ for some operand, and the loop does not convert */
    bool reserved[2];
    uint32_t resized;  /* bit k: output k was given another shape */
    int32_t n_reduced; /* dimensions, the innermost ones, that outputs lack: their stride is 0 */
    int64_t numel;
    int64_t n_each;         /* elements that make one of an output: 1 without REDUCE */
    const int64_t *shape;   /* [ndim] */
    const int64_t *strides; /* [at least 2][n] bytes; 0 where there is no such dimension */
    char **data;            /* [n] first elements */
    dp_tensor **tensors;    /* [n] borrowed */
    dp_dtype *own, *seen;   /* [n] in memory; by the loop */

    int64_t room[2 * DP_ITER_OPERANDS_MAX + 4];
    void *operand_reserved[8];
    dp_dtype dtype_reserved[8];
    int64_t grain; /* as configured, never 0 */
    uint64_t reserved_words[18];
};

enum { DP_ITER_CHUNK = 16384 };

/* How the elements that make one of an output are brought together, for dp_iter_reduce().  They are
 * taken in chunks of DP_ITER_CHUNK, in the iterator's order; each chunk has an accumulator of its
 * own and neighbours are merged in pairs, so that the result does not depend on threads.  What runs
 * works on n accumulators at a time, acc_bytes apart and the first one 64-byte aligned, which
 * belong to n neighbours of an output.  On several threads at once, user is shared; must not call
 * operators. */
struct dp_reduction {
    uint32_t size;
    uint32_t acc_bytes;
    /* No element yet. */
    void (*begin)(char *acc, int64_t n, void *user);
    /* Add n0 elements to each accumulator.  data [n] and strides [2][n] are as in dp_iter_loop2d,
     * rows being accumulators; outputs have no data here.  index: how many of its output's elements
     * come before the first of them. */
    void (*step)(char *acc, char **data, const int64_t *strides, int64_t n0, int64_t n,
                 int64_t index, void *user);
    /* Add what `from` was made of, which comes after all that acc was made of. */
    void (*merge)(char *acc, const char *from, int64_t n, void *user);
    /* Write n of each output: data [n_out], strides [n_out]. */
    void (*finish)(char **data, const int64_t *strides, const char *acc, int64_t n, void *user);
};

/* dp_iter_build() into an iterator of this size. */
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
