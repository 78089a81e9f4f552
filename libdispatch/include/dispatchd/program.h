/* dispatchd/program.h -- programs: steps that are checked once, by a builder, and run often.
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
 * A program is immutable and counted.  It holds operators by name and schema, never kernels: each
 * run resolves them on one snapshot of the registry and fails by name where one is gone or has
 * another schema.  Functions that return int fail with the code of dp_ctx_error(). */
#ifndef DISPATCHD_PROGRAM_H
#define DISPATCHD_PROGRAM_H

#include "dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, name, value), as DP_LIMIT_MAP(). */
#define DP_PROGRAM_LIMIT_MAP(X)                                                                    \
    X(PROGRAM_LOWERED_STEPS, program_lowered_steps, 100000) /* lists and items counted too */      \
    X(PROGRAM_VALUES, program_values, 1 << 20)              /* those of a nesting together */      \
    X(PROGRAM_ARGUMENTS, program_arguments, 1 << 20)        /* of all steps */                     \
    X(PROGRAM_DEPTH, program_depth, 64)                     /* programs that run programs */       \
    X(PROGRAM_EXPANDED, program_expanded, 1000000) /* steps, of those it runs each time */         \
    X(PROGRAM_CONSTANT_BYTES, program_constant_bytes, 256 << 20) /* of one, with storages */
#define DP_LIMIT_ENUM_(NAME, name, value) DP_LIMIT_##NAME = (value),
enum { DP_PROGRAM_LIMIT_MAP(DP_LIMIT_ENUM_) };
#undef DP_LIMIT_ENUM_

typedef struct dp_program dp_program;
typedef struct dp_builder dp_builder;
typedef uint32_t dp_ref; /* a value of the program being built */

enum {                   /* dp_step.kind */
       DP_STEP_CALL = 1, /* name: operator, with or without overload */
       DP_STEP_GET,      /* name: "sizes" ...; args: a tensor or list, and what the name takes */
       DP_STEP_LIST,     /* args: its elements */
       DP_STEP_ITEM,     /* args: a list; index */
       DP_STEP_SUB,      /* program, with its inputs by name in kwargs */
       DP_STEP_SCALAR,   /* name: "add", "lt", ...; args: numbers */
       DP_STEP_SELECT,   /* args: a condition, and the values if it is true and if it is not */
       DP_STEP_COND,     /* reserved */
       DP_STEP_WHILE,    /* reserved */
       DP_STEP_END
};

typedef struct dp_ref_kwarg {
    const char *name;
    dp_ref value;
} dp_ref_kwarg;

typedef struct dp_step {
    uint32_t size;
    uint32_t kind;
    const char *name;
    const dp_ref *args;
    size_t n_args;
    const dp_ref_kwarg *kwargs;
    size_t n_kwargs;
    dp_program *program; /* shared */
    int64_t index;
    int64_t n_rets;  /* that the caller counts on; -1: any number, and nobody will use them */
    uint32_t origin; /* number of the step for whoever wrote the program: errors carry it */
    /* The step runs only if this value is true when its turn comes, else its returns are None.
     * NULL: the step runs always. */
    const dp_ref *when;
} dp_step;

/* -- building; everything is borrowed unless it says otherwise -- */

DP_API int dp_builder_new(dp_ctx *ctx, dp_builder **out); /* *out owned; before its context */
DP_API dp_builder *dp_builder_free(dp_builder *b);        /* NULL is fine; returns NULL */
/* name NULL: none.  type as in a schema: "Tensor", "int[]", "Scalar?"; NULL: anything.  DP_EEXISTS,
 * DP_EVALUE. */
DP_API int dp_builder_input(dp_builder *b, const char *name, const char *type, dp_ref *out);
/* Copied; tensors are shared.  name NULL: none.  No step may write to one. */
DP_API int dp_builder_constant(dp_builder *b, const char *name, const dp_value *v, dp_ref *out);
/* Checks the step in full: DP_ENOTFOUND an operator or field, DP_ETYPE arguments, DP_EVALUE the
 * number of returns, DP_ENOTIMPL a reserved kind, DP_ERESOURCE a limit.  first, n_rets (may be
 * NULL): its returns, consecutive. */
DP_API int dp_builder_add(dp_builder *b, const dp_step *s, dp_ref *first, uint32_t *n_rets);
/* Names are unique.  origin: of the step that makes it, for messages. */
DP_API int dp_builder_name(dp_builder *b, const char *name, dp_ref value, uint32_t origin);
DP_API int dp_builder_find(dp_builder *b, const char *name, dp_ref *out); /* DP_ENOTFOUND */
DP_API int dp_builder_output(dp_builder *b, const char *name, dp_ref value);
/* Add inputs, steps and outputs that are written as text: "in x Tensor; y = aten::relu(x); out y y".
 * read.c says what a statement may be.  Fails as the functions above, and with DP_EVALUE for text
 * that is no statement, which the message names by its line; then part of the text was added. */
DP_API int dp_builder_text(dp_builder *b, const char *text);
/* *out owned.  Afterwards the builder can only be freed. */
DP_API int dp_builder_finish(dp_builder *b, dp_program **out);

/* -- running -- */

/* References are counted; any thread.  A program must be gone before its registry. */
DP_API dp_program *dp_program_ref(dp_program *p);
DP_API dp_program *dp_program_unref(dp_program *p); /* takes; NULL is fine; returns NULL */

typedef struct dp_run {
    uint32_t size;
    const dp_value *inputs; /* [as many as the program has], in its order, borrowed */
    /* [as many as the program has] out: owned; a copy of what shares memory with a constant */
    dp_value *outputs;
    bool *written; /* [same], may be NULL: is output i an argument that its step wrote? */
    /* Bit i: output i is not wanted.  It is None, and steps that only such outputs need, and that
     * write to no argument, do not run.  Outputs from the 64th on are always wanted. */
    uint64_t unwanted;
    int64_t step; /* origin of the step that runs, to be read atomically; -1: none does */
    /* After a failure `step` is the one that failed, and: */
    const dp_tensor *const *unspecified; /* [n_unspecified] what the step was writing: to compare */
    size_t n_unspecified;                /* with, since some may be gone */
} dp_run;
/* One snapshot; values are released at their last use; dp_checkpoint() between steps.  Each step
 * sees the shapes that tensors have when it begins, unless something around the program has begun
 * before: a kernel, dp_ctx_begin().  Lists and strings among the outputs live until
 * dp_ctx_reset(). */
DP_API int dp_program_run(dp_ctx *ctx, const dp_program *p, dp_run *run);

/* -- asking -- */

typedef struct dp_program_info {
    uint32_t n_inputs, n_outputs, n_steps, n_constants;
    uint32_t depth;        /* 1: it runs no other */
    uint64_t expanded;     /* steps, those of programs it runs counted each time */
    size_t bytes;          /* of the program itself */
    size_t constant_bytes; /* of what it holds */
} dp_program_info;
DP_API void dp_program_info_get(const dp_program *p, dp_program_info *out);
DP_API const char *dp_program_input_name(const dp_program *p, uint32_t i);
DP_API const char *dp_program_input_type(const dp_program *p, uint32_t i);   /* "any": not said */
DP_API int64_t dp_program_input_find(const dp_program *p, const char *name); /* -1: none */
/* May a step write to it, or to a view of it? */
DP_API bool dp_program_input_written(const dp_program *p, uint32_t i);
DP_API const char *dp_program_output_name(const dp_program *p, uint32_t i); /* "" when unnamed */

typedef struct dp_step_info { /* borrowed from the program */
    const char *kind;         /* "CALL" */
    const char *name;         /* operator with its overload, or field; "" for the other kinds */
    uint32_t origin;
    bool decided; /* false: the overload depends on the values */
    uint32_t n_args, n_rets, n_frees;
    const dp_ref *args, *frees;
    const char *const *kwargs; /* [n_args] NULL where positional; NULL: all are */
    dp_ref first;              /* of its returns */
    int64_t index;             /* ITEM */
    const dp_program *program; /* SUB */
    const dp_ref *when;        /* the condition under which the step runs; NULL: it has none */
} dp_step_info;
DP_API void dp_program_step(const dp_program *p, uint32_t i, dp_step_info *out);
DP_API dp_ref dp_program_output(const dp_program *p, uint32_t i);
/* NULL: it is no constant. */
DP_API const dp_value *dp_program_constant(const dp_program *p, dp_ref r);
/* Name of the dtype, device, layout or memory format that argument `arg` of step `step` is; NULL:
 * it is another constant or no constant.  Into buf, or static. */
DP_API const char *dp_program_argument_name(const dp_program *p, uint32_t step, uint32_t arg,
                                            char buf[DP_KEY_NAME_MAX]);
/* "x", or "%3" for what has no name; a constant's name, or "" for one without.  Returns buf. */
DP_API const char *dp_program_value_name(const dp_program *p, dp_ref r, char buf[DP_KEY_NAME_MAX]);
/* For people, and for Graphviz.  In the arena; NULL: no memory. */
DP_API const char *dp_program_text(const dp_program *p, dp_arena *a);
DP_API const char *dp_program_dot(const dp_program *p, dp_arena *a);

#ifdef __cplusplus
}
#endif
#endif
