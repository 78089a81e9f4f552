/* dispatchd/program.h -- types for programs.  A program is a sequence of steps, most of which call
 * an operator.  A builder checks the steps once; then the program can run many times.
 *
 *     dp_builder *b; dp_program *p; dp_ref x, y;
 *     dp_builder_new(ctx, &b);
 *     dp_builder_input(b, "x", "Tensor", &x);
 *     dp_step twice = {.size = sizeof twice, .kind = DP_STEP_CALL, .name = "aten::add.Tensor",
 *                      .args = (dp_ref[]){x, x}, .n_args = 2, .n_rets = 1};
 *     dp_builder_add(b, &twice, &y, NULL);
 *     dp_builder_output(b, "y", y);
 *     dp_builder_finish(b, &p);
 *     dp_builder_free(b);
 *     dp_program_run(ctx, p, &run);
 *
 * The functions are declared at the end of api.h.  Embedders and kernels of plugins may build and
 * run programs; a plugin includes this header after plugin.h.
 *
 * A program is immutable and reference-counted.  It stores the names and schemas of its operators,
 * but no kernels: each run looks its operators up in one snapshot of the registry (an immutable
 * copy, see dispatch.h).  A run fails if an operator is no longer defined or has another schema
 * now.  A function that returns int returns 0 or a DP_E* code, and describes the failure in
 * dp_ctx_error(). */
#ifndef DISPATCHD_PROGRAM_H
#define DISPATCHD_PROGRAM_H

#ifndef DISPATCHD_PLUGIN_H /* a plugin includes plugin.h first, an embedder needs dispatch.h */
#include "dispatch.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of one program: X(NAME, name, value), as in DP_LIMIT_MAP(). */
#define DP_PROGRAM_LIMIT_MAP(X)                                                                    \
    X(PROGRAM_LOWERED_STEPS, program_lowered_steps, 100000) /* steps, LIST and ITEM included */    \
    X(PROGRAM_VALUES, program_values, 1 << 20)              /* values, nested programs included */ \
    X(PROGRAM_ARGUMENTS, program_arguments, 1 << 20)        /* of all steps; constants, too */     \
    X(PROGRAM_DEPTH, program_depth, 64)                     /* nesting of programs */              \
    X(PROGRAM_EXPANDED, program_expanded, 1000000)          /* dp_program_info.expanded */         \
    X(PROGRAM_MODES, program_modes, 255)                    /* different modes of steps */         \
    X(PROGRAM_FOLDED_BYTES, program_folded_bytes, 16 << 20) /* made by dp_program_fold() */        \
    X(PROGRAM_SYMBOLS, program_symbols, 8)                  /* dynamic sizes of a capture */       \
    X(PROGRAM_CONSTANT_BYTES, program_constant_bytes, 256 << 20) /* storages included */
#define DP_LIMIT_ENUM_(NAME, name, value) DP_LIMIT_##NAME = (value),
enum { DP_PROGRAM_LIMIT_MAP(DP_LIMIT_ENUM_) };
#undef DP_LIMIT_ENUM_

enum {                   /* dp_step.kind */
       DP_STEP_CALL = 1, /* calls `name`, an operator with or without its overload */
       /* reads field `name` of args[0], such as "sizes", "dtype" or "len"; "size" and "stride" take
        * a dimension in args[1] */
       DP_STEP_GET,
       DP_STEP_LIST, /* makes a list whose elements are `args` */
       DP_STEP_ITEM, /* takes element `index` of the list args[0] */
       DP_STEP_SUB,  /* runs `program`; `kwargs` gives its inputs by name */
       /* computes `name` ("add", "lt", ...) of the numbers `args`; libdispatch/program/scalar.c has
        * the names */
       DP_STEP_SCALAR,
       DP_STEP_SELECT, /* takes args[1] if the condition args[0] is true, else args[2] */
       DP_STEP_COND,   /* reserved */
       DP_STEP_WHILE,  /* reserved */
       DP_STEP_END
};

/* dp_step_info.flags.  The builder sets the first two: a step whose overload is chosen at run time
 * has such a flag if one of the possible overloads has it; a step that runs a program has it if a
 * step of that program has it. */
enum {
    /* The step may draw random numbers: the operator has the tag nondeterministic_seeded. */
    DP_STEP_FLAG_RANDOM = 1,
    /* The step does more than return values, and must run even if nothing uses those: the operator
     * may write to an argument, or returns nothing. */
    DP_STEP_FLAG_EFFECT = 2,
    /* The calls that are recorded while the program of the SUB step runs save no tensors.  Backward
     * runs the program again, with the same inputs and random numbers, to get the tensors that they
     * would have saved (torch.utils.checkpoint).  Callers set this flag in dp_step.flags. */
    DP_STEP_FLAG_RECOMPUTE = 4,
    /* dp_program_grad() saves what the step returns, if the backward needs it, or anything that
     * follows from it. */
    DP_STEP_FLAG_MUST_SAVE = 8,
    /* The backward does not compute the step again, unless dp_grad_options.memory needs it. */
    DP_STEP_FLAG_PREFER_SAVE = 16
};

enum {                        /* dp_step_mode.sets */
       DP_STEP_MODE_GRAD = 1, /* mode.no_grad */
       DP_STEP_MODE_CAST = 2  /* mode.no_cast_cache, mode.cast_backends, mode.cast_dtype */
};

/* The part of the dispatcher state (dp_mode) that a program sets while a step runs, such as
 * no_grad.  All other parts are those of the caller of dp_program_run(). */
struct dp_step_mode {
    uint32_t size;
    uint32_t sets; /* DP_STEP_MODE_*: the members of `mode` that the step sets */
    dp_mode mode;
};

/* A keyword argument of a step. */
struct dp_ref_kwarg {
    const char *name;
    dp_ref value;
};

/* A step, as it is given to dp_builder_add().  DP_STEP_* says which members a kind of step
 * reads. */
struct dp_step {
    uint32_t size;
    uint32_t kind;
    const char *name;
    const dp_ref *args;
    size_t n_args;
    const dp_ref_kwarg *kwargs;
    size_t n_kwargs;
    dp_program *program; /* borrowed: the builder takes its own reference */
    int64_t index;
    /* number of returns that the caller expects; -1: any number, and no step uses the returns */
    int64_t n_rets;
    /* number that the author of the program gave the step; error messages name it */
    uint32_t origin;
    /* The step runs only if this value is true when the step's turn comes; else its returns are
     * None.  NULL: the step always runs. */
    const dp_ref *when;
    /* [n_origins] numbers of several of the author's steps, if one step replaces them; error
     * messages name them all, and origins[0] stands in place of `origin`.  n_origins 0: `origin` is
     * the only one. */
    const uint32_t *origins;
    size_t n_origins;
    /* Mode in which the step runs; a SUB step runs its whole program in it.  NULL: the mode of the
     * run. */
    const dp_step_mode *mode;
    uint32_t flags; /* DP_STEP_FLAG_RECOMPUTE, _MUST_SAVE, _PREFER_SAVE */
};

/* Arguments and results of dp_program_run(). */
struct dp_run {
    uint32_t size;
    const dp_value *inputs; /* [number of inputs] in the program's order; borrowed */
    /* [number of outputs] out: owned by the caller.  An output that would share memory with a
     * constant is a copy. */
    dp_value *outputs;
    /* [number of outputs] out: output i is an argument that was written by the step that returned
     * it.  `written` may be NULL. */
    bool *written;
    /* Bit i: output i is not wanted, and is set to None.  Steps that only unwanted outputs need,
     * and that write to no argument, do not run.  Outputs with an index over 62 are always
     * wanted. */
    uint64_t unwanted;
    /* out: `origin` of the step that runs now; other threads may read it atomically; -1: no step
     * runs.  After a failure: `origin` of the step that failed. */
    int64_t step;
    /* out, after a failure: the tensors that the failed step was writing.  Only compare these
     * pointers with others: some of the tensors may have been freed already. */
    const dp_tensor *const *unspecified; /* [n_unspecified] */
    size_t n_unspecified;
};

/* Numbers about a program (dp_program_info_get()). */
struct dp_program_info {
    uint32_t size;
    uint32_t n_inputs, n_outputs, n_steps, n_constants;
    uint32_t depth;        /* nesting of programs; 1: no step runs a program */
    uint64_t expanded;     /* steps of one run; a nested program's steps count each time it runs */
    size_t bytes;          /* memory of the program itself */
    size_t constant_bytes; /* memory of its constants, their storages included */
};

enum {                  /* dp_alias.kind */
       DP_ALIAS_NONE,   /* the output's memory is its own, as far as schemas tell */
       DP_ALIAS_INPUT,  /* it shares memory with input `index` */
       DP_ALIAS_OUTPUT, /* it shares memory with output `index`, whose kind is NONE */
       DP_ALIAS_UNKNOWN /* it may share memory with several values, or with any value */
};

/* The memory that an output shares with other values (dp_program_output_alias()). */
struct dp_alias {
    uint32_t size;
    uint32_t kind; /* DP_ALIAS_* */
    uint32_t index;
    bool same; /* the output is that input or output itself; else it may be a view */
};

/* A step of a finished program (dp_program_step()).  All pointers are borrowed from the program. */
struct dp_step_info {
    uint32_t size;
    uint32_t origin;
    const char *kind; /* "CALL", "GET" ... */
    /* operator with its overload, or field; "" for the other kinds of step */
    const char *name;
    bool decided; /* false: the overload is chosen at each run, from the values */
    uint32_t n_args, n_rets, n_frees;
    const dp_ref *args, *frees; /* arguments, and values that are released after the step */
    /* [n_args] name of each argument; an item is NULL for a positional argument, and `kwargs` is
     * NULL if all are positional */
    const char *const *kwargs;
    dp_ref first;              /* the step's first return */
    int64_t index;             /* of an ITEM step */
    const dp_program *program; /* of a SUB step */
    const dp_ref *when;        /* condition under which the step runs; NULL: the step has none */
    uint32_t flags;            /* DP_STEP_FLAG_* */
    uint32_t n_origins;        /* at least 1 */
    const uint32_t *origins;   /* the first one is `origin` */
    const dp_step_mode *mode;  /* NULL: the mode of the run */
};

enum { /* dp_input_guard.kind: what a run of the program requires of its inputs */
       DP_GUARD_TENSOR = 1, /* `of` is a tensor of this dtype, device, layout and geometry */
       DP_GUARD_VALUE,      /* `of` equals *value, which holds no tensor */
       DP_GUARD_LENGTH,     /* `of` is a list of `number` items */
       DP_GUARD_SIZE,       /* size of `of` is at least `number`; the k-th one is of symbol k */
       DP_GUARD_EQUAL,      /* the size of `of` equals that of `other` */
       /* tensor `of` has the storage of `other`, and begins `number` bytes after it */
       DP_GUARD_SHARE,
       /* an input that the program writes overlaps with no other input of a TENSOR guard, unless
        * SHARE guards join them */
       DP_GUARD_APART,
       DP_GUARD_END
};

/* An input, an item of an input that is a list, or a size of one of them. */
struct dp_input_place {
    uint32_t input; /* index */
    int32_t item;   /* -1: the input itself */
    int32_t dim;    /* of SIZE and EQUAL; else 0 */
};

/* One assumption about the inputs of a program.  A run whose inputs break it fails. */
struct dp_input_guard {
    uint32_t size;
    uint32_t kind;
    dp_input_place of;
    dp_input_place other;
    dp_dtype dtype;
    dp_device device;
    /* dp_tensor_keys().functionality; only the bits count that say how the bytes are to be read,
     * such as Conjugate */
    uint64_t layout;
    int32_t ndim;
    /* [ndim] A size of -1 may be any.  If there is such a size, the tensor need not have these
     * strides, but must be dense, with its dimensions in the order of these strides.  The stride of
     * a dimension of size 1, and all strides of a tensor without elements, may be any. */
    const int64_t *sizes, *strides;
    int64_t offset; /* in elements; -1: any */
    const dp_value *value;
    int64_t number;
};
/* -- functions for embedders only -- */

#ifndef DISPATCHD_PLUGIN_H
/* -- capture: a program made of the calls that a context makes --
 *
 *     dp_capture_new(ctx, NULL, &c);
 *     dp_capture_input(ctx, c, "x", &x);
 *     dp_ctx_set_capture(ctx, c);
 *     ... calls ...
 *     dp_ctx_set_capture(ctx, NULL);
 *     dp_capture_output(ctx, c, "y", &y);
 *     dp_capture_finish(ctx, c, &program);
 *     dp_capture_free(c);
 *
 * Plugin capture must be loaded.  A capture may last over several requests, and contexts, of one
 * account.  A call that fails is not in the program.  Only one thread at a time may use it. */

typedef struct dp_capture dp_capture;

typedef struct dp_capture_options {
    uint32_t size;
    /* Record calls as they were made, at key Tracer, above autograd and autocast.  Else: at key
     * Functionalize, what is called below them, with composite operators decomposed. */
    bool whole;
    /* Record also calls that return a number, which may depend on the elements of tensors (item).
     * Such numbers become constants of the program; a run in which a call returns another number
     * fails.  Else such a call fails. */
    bool numbers;
    /* Nothing is computed while calls are recorded: new tensors are fakes.  dp_program_capture()
     * makes fakes of the inputs, too. */
    bool fakes;
} dp_capture_options;

/* `o` may be NULL.  *out owned.  Its memory is charged to the context's account, which must live
 * until dp_capture_free().  DP_ENOTFOUND: plugin capture is not loaded. */
DP_API int dp_capture_new(dp_ctx *ctx, const dp_capture_options *o, dp_capture **out);
DP_API dp_capture *dp_capture_free(dp_capture *c); /* NULL is allowed; returns NULL */
/* Make *v, a tensor, a list of tensors or any other value, an input of the program.  A value that
 * is neither tensor, list, generator nor object is an input that the program does not use, since
 * calls take plain numbers.  DP_EEXISTS: the capture knows the tensor already. */
DP_API int dp_capture_input(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v);
/* Make `t` a constant of the program, which then holds a reference to it.  Errors as above. */
DP_API int dp_capture_constant(dp_ctx *ctx, dp_capture *c, const char *name, dp_tensor *t);
/* Make *v, a value that is not a tensor, or tensors that the capture knows, the next output.
 * DP_EVALUE: it does not know the tensor. */
DP_API int dp_capture_output(dp_ctx *ctx, dp_capture *c, const char *name, const dp_value *v);
/* Record in `c` the calls that the context makes from now on; NULL: record none.  Borrowed until
 * dp_ctx_reset(), which ends the recording.  While it lasts, the set of included keys has the
 * capture's key and, with `fakes`, Fake. */
DP_API void dp_ctx_set_capture(dp_ctx *ctx, dp_capture *c);
/* Make the program: *out, owned.  The capture can go on afterwards.  Step i of the program has
 * origin i.  Errors as of dp_builder_add(), for operators that have changed meanwhile. */
DP_API int dp_capture_finish(dp_ctx *ctx, const dp_capture *c, dp_program **out);
/* Numbers of the items that a capture had recorded; dp_capture_undo() forgets later ones. */
typedef struct dp_capture_mark {
    uint32_t n[7];
    void *memory;
} dp_capture_mark;
DP_API dp_capture_mark dp_capture_now(const dp_capture *c);
DP_API void dp_capture_undo(dp_capture *c, const dp_capture_mark *to);
DP_API uint32_t dp_capture_steps(const dp_capture *c); /* number of steps recorded so far */
/* Run `p` with `inputs` [number of inputs], and capture what it calls: *out, owned, a program with
 * the same names of inputs and outputs, and with the constants of `p`.  DP_ERUNTIME: a capture
 * records the calls of `ctx` already. */
DP_API int dp_program_capture(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                              const dp_capture_options *o, dp_program **out);

/* Capture `p` for any size of some dimensions of its inputs, at `dynamic` [n]; `o` must have
 * `fakes`.  `p` is captured several times, with other sizes.  The program computes the numbers that
 * differ from expressions of the sizes; guards hold the least sizes, and the sizes that must be
 * equal.  DP_EVALUE: the calls differ, or no expression gives a number. */
DP_API int dp_program_capture_dynamic(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                                      const dp_capture_options *o, const dp_input_place *dynamic,
                                      uint32_t n, dp_program **out);

/* -- guards: what a program requires of its inputs -- */

/* Add a copy of guard *g.  DP_EVALUE: it is not valid, or names an input that does not exist.  A
 * program of which all inputs may be any has no guards, and its runs check none. */
DP_API int dp_builder_guard(dp_builder *b, const dp_input_guard *g);
/* Add the guards of `from`, for the inputs that have the same names.  For code that makes a program
 * from another one. */
DP_API int dp_builder_guards_of(dp_builder *b, const dp_program *from);
/* Check `inputs` [number of inputs] against the guards of `p`, as dp_program_run() does first.
 * DP_EVALUE: they break one. */
DP_API int dp_program_guards_check(dp_ctx *ctx, const dp_program *p, const dp_value *inputs);
DP_API uint32_t dp_program_guards(const dp_program *p); /* number of guards */
/* Describe guard `i`.  Set out->size first.  Its pointers are borrowed from the program. */
DP_API void dp_program_guard(const dp_program *p, uint32_t i, dp_input_guard *out);
/* Print guard `i` as a condition, such as "x.size(0) >= 2", in arena `a`.  NULL: no memory. */
DP_API const char *dp_program_guard_text(const dp_program *p, uint32_t i, dp_arena *a);

/* -- text -- */

/* Print a program for people: as lines of text, or as a Graphviz graph (dot).  The string is
 * allocated in arena `a`; NULL: no memory. */
DP_API const char *dp_program_text(const dp_program *p, dp_arena *a);
DP_API const char *dp_program_dot(const dp_program *p, dp_arena *a);
#endif

#ifdef __cplusplus
}
#endif
#endif
