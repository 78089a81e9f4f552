/* dispatchd/passes.h -- passes over programs: functions for embedders that make a new program from
 * a program.
 *
 * A pass leaves its program unchanged.  The new program has the same inputs and outputs, and its
 * runs give the same bits, draw the same random numbers and write the same to the inputs.  Each
 * step names in `origins` the author's steps that it comes from.  All functions return 0, or a
 * DP_E* code that dp_ctx_error() describes, with the number of the step; then *out is unchanged. */
#ifndef DISPATCHD_PASSES_H
#define DISPATCHD_PASSES_H

#include "program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Put the steps of inner programs in place of the SUB steps that run them, at all depths.  A SUB
 * step stays if it has DP_STEP_FLAG_RECOMPUTE, if an input of the inner program may convert its
 * value, or if an output is a list that may have tensors of constants. */
DP_API int dp_program_inline(dp_ctx *ctx, const dp_program *p, dp_program **out);
/* Leave out steps that no output needs.  Steps that draw random numbers stay, since the numbers
 * that later steps draw depend on them; so do writes, except those to memory that nothing reads
 * afterwards. */
DP_API int dp_program_dead(dp_ctx *ctx, const dp_program *p, dp_program **out);
/* Let one step serve for several that do the same: the same operator with the same arguments, mode
 * and condition, where nothing writes to arguments or results.  Two outputs do not become one. */
DP_API int dp_program_common(dp_ctx *ctx, const dp_program *p, dp_program **out);
/* Run the steps whose arguments are constants now, and make their results constants, up to
 * DP_LIMIT_PROGRAM_FOLDED_BYTES.  Steps stay if something may write to their results, if an output
 * may share memory with these, or if they fail.  The tensors of constants must not change
 * afterwards. */
DP_API int dp_program_fold(dp_ctx *ctx, const dp_program *p, dp_program **out);
/* Replace calls that write to their arguments by calls that return the new values.  A write to a
 * view becomes a new value of the tensor that it is a view of (aten::select_scatter ...), and views
 * are made again from this value.  Written inputs get their new values at the end, by aten::copy_.
 * Inner programs become part of the program, as by dp_program_inline(); those that stay, and that
 * write to none of their inputs, become functional, too.
 *
 * An operator without a functional form, and a write through a view that has no inverse, work in
 * place on a copy that no other step sees.  The inputs that are written must share no memory with
 * other inputs.  DP_ENOTIMPL: a step cannot be replaced: it changes sizes or storage (resize_,
 * set_), writes to an expanded tensor, or needs to know whether a value is a view or a copy
 * (reshape, contiguous, to), or which overload it calls. */
DP_API int dp_program_functionalize(dp_ctx *ctx, const dp_program *p, dp_program **out);

/* Run the pass with this name: "inline", "dead", "common", "fold" or "functionalize".
 * DP_ENOTFOUND: there is none. */
DP_API int dp_program_pass(dp_ctx *ctx, const dp_program *p, const char *name, dp_program **out);
/* Return the name of pass i; NULL: there are no more. */
DP_API const char *dp_program_pass_name(size_t i);

/* -- gradients of a program -- */

enum { /* dp_grad_options.partition: what the forward program saves for the backward program */
       DP_PARTITION_DEFAULT, /* all that the backward reads: it computes nothing again */
       /* what takes the least memory, if the backward computes the rest again; products of
        * matrices, convolutions and the like are not computed again unless `memory` needs it */
       DP_PARTITION_MIN_CUT
};

typedef struct dp_grad_options {
    uint32_t size;
    int32_t partition;   /* DP_PARTITION_* */
    const uint32_t *wrt; /* [n_wrt] indices of the inputs whose gradients are computed */
    uint32_t n_wrt;
    uint64_t memory; /* most bytes to save, for DP_PARTITION_MIN_CUT; 0: no limit */
} dp_grad_options;

/* Programs that dp_program_grad() makes, all owned by the caller. */
typedef struct dp_grad_programs {
    uint32_t size;
    /* Inputs: those of the program, then "grad_y" for each output y that has a gradient.  Outputs:
     * those of the program, then "grad_x" for each input x that was asked for; None if no output
     * depends on it. */
    dp_program *joint;
    /* Inputs: those of the program.  Outputs: those of the program, then "saved0", "saved1", ... */
    dp_program *forward;
    /* Inputs: "saved0", ..., then "grad_y", ...  Outputs: "grad_x", ... */
    dp_program *backward;
    uint32_t n_saved;
    uint64_t saved_bytes;   /* memory of what is saved, without that of the inputs */
    uint64_t default_bytes; /* the same with DP_PARTITION_DEFAULT */
} dp_grad_programs;

/* Make programs that compute the outputs of `p` and the gradients of inputs
 * (torch._functorch.aot_autograd).  `inputs` [number of inputs]: of tensors only shapes and dtypes
 * matter; other values become constants.  Nothing is computed.  Running the forward and the
 * backward gives the bits of a run of `p` and dp_gradients().  DP_ERESOURCE: even the smallest cut
 * takes more than `memory`.  DP_ENOTIMPL: as of dp_program_capture() and
 * dp_program_functionalize(). */
DP_API int dp_program_grad(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                           const dp_grad_options *o, dp_grad_programs *out);

/* Make a program that computes the outputs of `p` and their derivatives in a direction
 * (torch.autograd.functional.jvp), by two backwards: *out, owned.  Inputs: those of the program,
 * then "tangent_x" for each input in `wrt`.  Outputs: those of the program, then "tangent_y" for
 * each output y that depends on such inputs.  Errors as above, and those of operators whose
 * gradients have no formula for their own gradients. */
DP_API int dp_program_jvp(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                          const uint32_t *wrt, uint32_t n_wrt, dp_program **out);

#ifdef __cplusplus
}
#endif
#endif
