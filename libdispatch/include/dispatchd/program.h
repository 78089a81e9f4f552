/* dispatchd/program.h -- programs: sequences of steps that a builder checks once and that run many
 * times.
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
 * A plugin includes this header after plugin.h, and may build and run programs in its kernels, too.
 *
 * A program is immutable and reference-counted.  It stores the names and schemas of its operators,
 * never kernels: each run looks its operators up in one snapshot of the registry (an immutable
 * copy, see dispatch.h), and fails with the name of an operator that is no longer defined or that
 * has another schema now.  A function that returns int returns 0 or a DP_E* code, and describes the
 * failure in dp_ctx_error(). */
#ifndef DISPATCHD_PROGRAM_H
#define DISPATCHD_PROGRAM_H

#ifndef DISPATCHD_PLUGIN_H /* a plugin includes plugin.h first, an embedder needs dispatch.h */
#include "dispatch.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of programs: X(NAME, name, value), as in DP_LIMIT_MAP(). */
#define DP_PROGRAM_LIMIT_MAP(X)                                                                    \
    X(PROGRAM_LOWERED_STEPS, program_lowered_steps, 100000) /* steps, LIST and ITEM included */    \
    X(PROGRAM_VALUES, program_values, 1 << 20)              /* values, nested programs included */ \
    X(PROGRAM_ARGUMENTS, program_arguments, 1 << 20)        /* of all steps; also constants */     \
    X(PROGRAM_DEPTH, program_depth, 64)                     /* nesting of programs */              \
    X(PROGRAM_EXPANDED, program_expanded, 1000000)          /* dp_program_info.expanded */         \
    X(PROGRAM_MODES, program_modes, 255)                    /* different modes of steps */         \
    X(PROGRAM_CONSTANT_BYTES, program_constant_bytes, 256 << 20) /* of a program, storages too */
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
       /* computes `name` ("add", "lt", ...) of the numbers `args`; scalar.c has the names */
       DP_STEP_SCALAR,
       DP_STEP_SELECT, /* takes args[1] if the condition args[0] is true, else args[2] */
       DP_STEP_COND,   /* reserved */
       DP_STEP_WHILE,  /* reserved */
       DP_STEP_END
};

/* dp_step_info.flags, which the builder sets.  A step whose overload is chosen at run time has a
 * flag if some overload may have it; a step that runs a program, if a step of that program has. */
enum {
    /* The step may draw random numbers: the operator has the tag nondeterministic_seeded. */
    DP_STEP_FLAG_RANDOM = 1,
    /* The step does more than return values, and must run even if nothing uses those: the operator
     * may write to an argument, or returns nothing. */
    DP_STEP_FLAG_EFFECT = 2
};

enum {                        /* dp_step_mode.sets */
       DP_STEP_MODE_GRAD = 1, /* mode.no_grad */
       DP_STEP_MODE_CAST = 2  /* mode.no_cast_cache, mode.cast_backends, mode.cast_dtype */
};

/* The part of the dispatcher state (dp_mode) that a program sets for a step; the rest is as the run
 * finds it.  Steps in a row with the same mode run under one guard. */
struct dp_step_mode {
    uint32_t size;
    uint32_t sets; /* DP_STEP_MODE_*: the members of `mode` that count */
    dp_mode mode;
};

struct dp_ref_kwarg {
    const char *name;
    dp_ref value;
};

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
    /* The mode in which the step runs, and the program that it may run; NULL: that of the run. */
    const dp_step_mode *mode;
};

struct dp_run {
    uint32_t size;
    const dp_value *inputs; /* [number of inputs] in the program's order; borrowed */
    /* [number of outputs] filled in, owned by the caller.  An output that would share memory with a
     * constant is a copy. */
    dp_value *outputs;
    /* [number of outputs] filled in; NULL: not wanted.  True: output i is an argument that was
     * written by the step that returned it. */
    bool *written;
    /* Bit i: output i is not wanted.  It is set to None, and a step does not run if only unwanted
     * outputs need it and it writes to no argument.  Outputs from the 64th on are always wanted. */
    uint64_t unwanted;
    /* `origin` of the step that runs now, which other threads read atomically; -1: no step runs.
     * After a failure: `origin` of the step that failed. */
    int64_t step;
    /* After a failure: the tensors that the failed step was writing.  Only compare these pointers
     * with others: some of the tensors may be released already. */
    const dp_tensor *const *unspecified; /* [n_unspecified] */
    size_t n_unspecified;
};

struct dp_program_info {
    uint32_t size;
    uint32_t n_inputs, n_outputs, n_steps, n_constants;
    uint32_t depth;        /* 1: the program runs no other program */
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

struct dp_alias {
    uint32_t size;
    uint32_t kind; /* DP_ALIAS_* */
    uint32_t index;
    bool same; /* the output is that input or output itself; else it may be a view */
};

struct dp_step_info { /* pointers are borrowed from the program */
    uint32_t size;
    uint32_t origin;
    const char *kind; /* "CALL", "GET" ... */
    /* operator with its overload, or field; "" for the other kinds of step */
    const char *name;
    bool decided; /* false: the overload is chosen at each run, from the values */
    uint32_t n_args, n_rets, n_frees;
    const dp_ref *args, *frees;
    /* [n_args] name of each argument; an item is NULL for a positional argument, and `kwargs` is
     * NULL if all are positional */
    const char *const *kwargs;
    dp_ref first;              /* value of its first return */
    int64_t index;             /* of an ITEM step */
    const dp_program *program; /* of a SUB step */
    const dp_ref *when;        /* condition under which the step runs; NULL: the step has none */
    uint32_t flags;            /* DP_STEP_FLAG_* */
    uint32_t n_origins;        /* at least 1 */
    const uint32_t *origins;   /* the first one is `origin` */
    const dp_step_mode *mode;  /* NULL: that of the run */
};

/* -- for embedders; all other functions are at the end of api.h -- */

#ifndef DISPATCHD_PLUGIN_H
/* The program as text for people, and as a Graphviz graph.  Allocated in arena `a`; NULL: no
 * memory. */
DP_API const char *dp_program_text(const dp_program *p, dp_arena *a);
DP_API const char *dp_program_dot(const dp_program *p, dp_arena *a);
#endif

#ifdef __cplusplus
}
#endif
#endif
