/* program_i.h -- internal declarations of libdispatch/program: struct dp_program and its builder.
 *
 * draft.c and builder.c collect inputs, constants and steps; check.c checks each step and derives
 * the values that the step returns; lay.c copies the finished program into one immutable block;
 * block.c answers queries about it; run.c runs it; text.c prints it.
 *
 * A value is an input of the program or a return of exactly one step.  A value never changes: a
 * step that works in place writes to the tensor, and the value still names the same tensor.  A step
 * refers only to values and constants that were added before it. */
#ifndef DPI_PROGRAM_I_H
#define DPI_PROGRAM_I_H

#include "dispatch/call/bind.h"
#include <dispatchd/program.h>

#pragma GCC visibility push(hidden)

/* A dp_ref is kind << 28 | index: a reference to a value or to a constant of a program. */
enum { DPI_REF_VALUE, DPI_REF_CONSTANT };
#define DPI_REF(kind, index) ((dp_ref)(kind) << 28 | (dp_ref)(index))
#define DPI_REF_KIND(r)      ((r) >> 28)
#define DPI_REF_INDEX(r)     ((r)&0xfffffffu)
#define DPI_REF_NONE         UINT32_MAX /* refers to nothing */

/* The kind of a CALL step whose overload can be chosen only when the values are known. */
enum { DPI_STEP_BIND = DP_STEP_END };

/* Flags of a step that say what programs of gradients save. */
#define DPI_SAVE_FLAGS ((uint32_t)DP_STEP_FLAG_MUST_SAVE | DP_STEP_FLAG_PREFER_SAVE)

/* A step of a program.  `values`, `links` etc. are the arrays of struct dp_program below. */
typedef struct dpi_step {
    uint32_t kind;
    uint32_t n_args, n_rets, n_frees;
    uint32_t args, frees; /* indices in `links` of the first argument and first value to release */
    uint32_t ret;         /* index of the first return in `values` */
    /* CALL: index in `ops`; BIND: in `binds`; GET: in dpi_gets; SCALAR: in dpi_scalars; SUB: in
     * `subs`; ITEM: in the list */
    uint32_t operand;
    uint32_t origin; /* number that the caller gave the step (dp_step.origin), for error messages */
    /* CALL: a return is an argument that the operator wrote; BIND: the operator must have n_rets
     * returns */
    bool names_written;
    uint8_t mode;   /* 1 + index in `modes`; 0: the mode of the run */
    uint16_t flags; /* DP_STEP_FLAG_* */
    dp_ref when;    /* the step runs if this value is true; DPI_REF_NONE: always */
    /* 1 + index in array `origins` of the count of this step's origins, which follow the count; 0:
     * `origin` is the only one */
    uint32_t origins;
    /* Bit i: output i needs the step; bit 63: an output from 63 on needs it, or the step, or a step
     * that needs its values, has DP_STEP_FLAG_EFFECT (lay.c). */
    uint64_t need;
    uint64_t late; /* CALL: bit i: argument i is converted to its schema type at run time */
} dpi_step;

/* The memory of a value (alias.c). */
typedef struct dpi_share {
    enum {
        DPI_OWN,     /* not shared with an earlier value */
        DPI_SAME,    /* the value is the same tensor as `base` */
        DPI_VIEW_OF, /* the value is a view of `base`, or a list of views of it */
        DPI_SEVERAL, /* shared with one or more of several values */
        DPI_UNKNOWN  /* unknown: returned by a step whose operator is chosen at run time */
    } how;
    dp_ref base; /* SAME, VIEW_OF: a value with memory of its own, or a constant */
} dpi_share;

enum { /* dpi_value_info.written */
       DPI_WRITTEN = 1,
       /* a step may write to the value, but its operator is chosen at run time, or the operator's
        * schema does not say so */
       DPI_PERHAPS_WRITTEN = 2
};

typedef struct dpi_value_info {
    const char *name;   /* NULL: no name */
    uint32_t tags;      /* bit t: the value may have tag t (DP_TAG_*) */
    uint8_t enum_kind;  /* DPI_TYPE_DEVICE, ...: the number means a device, ...; 0: a number */
    uint8_t written;    /* DPI_WRITTEN, ...: a step writes to the value or to a view of it */
    bool from_constant; /* the value is a view of a constant, or a list that contains one */
    dpi_share share;
    uint64_t need; /* outputs that need the value, as in dpi_step.need */
} dpi_value_info;

typedef struct dpi_input {
    uint32_t type;    /* index in types */
    uint32_t by_name; /* in inputs[i]: index of the input whose name is the i-th in strcmp order */
} dpi_input;

/* The declared type of inputs. */
typedef struct dpi_type_text {
    dp_schema *schema; /* owned; a schema whose only argument has the type.  NULL: any type */
    const char *text;  /* the type as the caller wrote it, or "any" */
} dpi_type_text;

/* An operator that CALL steps of a program call. */
typedef struct dpi_op_use {
    const dp_op *op;
    bool keeps_real;   /* returns its argument if that is real: aten::conj, aten::real */
    dp_schema *schema; /* owned; the schema that the steps were checked against */
    uint64_t written;  /* bit i: the schema or a tag says that argument i is written */
} dpi_op_use;

/* The name and keywords of a BIND step: a call whose overload is chosen at run time. */
typedef struct dpi_bind {
    const char *name;
    const char *const *kwargs; /* [n_args of the step] NULL: the argument is positional */
} dpi_bind;

typedef struct dpi_output {
    const char *name;
    dp_ref ref;
    dp_alias alias;
} dpi_output;

/* A finished program is one allocation: this struct, then the arrays that it points to. */
struct dp_program {
    atomic_uint refs;
    uint32_t n_inputs, n_values, n_constants, n_steps, n_links, n_types, n_ops, n_binds, n_subs,
        n_outputs, n_origins, n_modes, n_guards;
    uint32_t depth;        /* 1: no step runs a program; else 1 + the deepest of subs */
    bool of_lines;         /* the origins of steps are lines of a text (read.c) */
    bool is_plain;         /* no step binds late, runs a program or has a mode */
    uint32_t frame;        /* values that a run needs: n_values + the largest frame of subs */
    uint32_t flags;        /* DP_STEP_FLAG_* that some step has */
    uint64_t expanded;     /* steps of one run; an inner program's steps count each time it runs */
    uint64_t hash[2];      /* dp_program_hash() */
    size_t bytes;          /* size of this allocation */
    size_t constant_bytes; /* bytes of the constants, tensors' storages included */
    uint64_t backends;     /* pinned backends: those of constant devices; in a builder, all */
    dp_registry *reg;
    dpi_input *inputs; /* input i is values[i] */
    dpi_value_info *values;
    dp_value *constants; /* owned */
    /* Constants from index first_tensor up to end_tensors, without that one, may hold tensors. */
    uint32_t first_tensor, end_tensors;
    const char **constant_names;
    dpi_step *steps;
    dp_ref *links; /* arguments of all steps, then the values that each step frees */
    dpi_type_text *types;
    dpi_op_use *ops;
    dpi_bind *binds;
    dp_program **subs; /* owned; the inner programs that SUB steps run */
    dpi_output *outputs;
    uint32_t *origins; /* counts and lists that dpi_step.origins refers to */
    dp_step_mode *modes;
    dp_input_guard *guards; /* what they point to is in the builder's arena, or in the block */
};

enum { /* sets of tags: bit t stands for tag t */
       DPI_TENSOR = 1u << DP_TAG_TENSOR,
       DPI_LISTS = 1u << DP_TAG_TENSORS | 1u << DP_TAG_INTS | 1u << DP_TAG_DOUBLES |
                   1u << DP_TAG_BOOLS | 1u << DP_TAG_LIST
};

/* A property of a tensor or list that a GET step reads (get.c). */
typedef struct dpi_get {
    const char *name;
    uint32_t n_args;     /* number of arguments, the tensor or list included */
    uint32_t arg_tags;   /* set of tags that the first argument may have */
    uint32_t result_tag; /* tag of the result */
    uint8_t enum_kind;   /* as dpi_value_info.enum_kind, for the result */
    int (*fn)(dp_ctx *ctx, const dp_value *args, dp_value *out);
} dpi_get;
enum { DPI_GETS_MAX = 32 };
extern const dpi_get dpi_gets[];
extern const uint32_t dpi_n_gets;

/* One operation of SCALAR steps (scalar.c). */
typedef struct dpi_scalar {
    const char *name;
    uint32_t n_args;
    uint32_t arg_tags;    /* set of tags that an argument may have */
    uint32_t result_tags; /* set of tags that the result may have */
    int (*fn)(dp_ctx *ctx, const dp_value *args, dp_value *out);
} dpi_scalar;
enum { DPI_SCALARS_MAX = 32 };
extern const dpi_scalar dpi_scalars[];
extern const uint32_t dpi_n_scalars;
/* Check the tags of `args` and compute `*out`.  DP_ETYPE, DP_EVALUE: division by 0, overflow. */
int dpi_scalar_run(dp_ctx *ctx, const dpi_scalar *s, const dp_value *args, dp_value *out);
bool dpi_scalar_true(const dp_value *v); /* Python's bool(v); a tensor or a list counts as true */

/* Declare a dp_view v and fill it from tensor t. */
#define DPI_VIEW(v, t)                                                                             \
    dp_view v = {.size = (uint32_t)sizeof(v)};                                                     \
    dp_tensor_view(t, &(v))

/* -- building -- */

/* A slot of the builder's hash table from names to values. */
typedef struct dpi_name {
    const char *name; /* in the builder's arena; NULL: the slot is free */
    dp_ref ref;
    uint32_t origin; /* the step that returns the value, or DPI_ORIGIN_* */
} dpi_name;
enum { DPI_ORIGIN_INPUT = UINT32_MAX, DPI_ORIGIN_CONSTANT = UINT32_MAX - 1 };

struct dp_builder {
    dp_ctx *ctx;
    dp_arena *arena; /* holds names, and the strings and lists of constants */
    bool begun;      /* dp_builder_new() called dp_ctx_begin() */
    bool done;       /* dp_builder_finish() has returned the program */
    /* The names of operators are whole: one without an overload means no other overload, whatever
     * the arguments are.  Set by those who copy calls whose overloads were chosen already. */
    bool whole_names;
    dp_program p; /* the program so far; each array is a separate allocation that grows */
    uint32_t cap_inputs, cap_values, cap_constants, cap_constant_names, cap_steps, cap_links,
        cap_types, cap_ops, cap_binds, cap_subs, cap_outputs, cap_origins, cap_modes, cap_guards;
    dpi_name *names; /* [mask + 1] hash table with open addressing */
    uint32_t n_names, mask;
};

/* Grow `*array`, whose capacity is `*cap` items of `item` bytes, to hold at least `need` items.
 * DPI_GROW does so for `n` more items in array `name` of b->p.  False: the error is set. */
bool dpi_builder_grow(dp_builder *b, void *array, uint32_t *cap, uint32_t need, size_t item);
#define DPI_GROW(b, name, n)                                                                       \
    dpi_builder_grow(b, &(b)->p.name, &(b)->cap_##name, (b)->p.n_##name + (n), sizeof(*(b)->p.name))
/* Copy `s` into the builder's arena.  NULL: the error is set. */
const char *dpi_builder_str(dp_builder *b, const char *s);
/* Does `r` refer to a value or constant of the program so far? */
bool dpi_builder_has(const dp_builder *b, dp_ref r);
int dpi_builder_check(dp_builder *b, dp_ref r); /* DP_EVALUE: dpi_builder_has() is false */
uint32_t dpi_builder_tags(const dp_builder *b, dp_ref r); /* set of tags that `r` may have */
/* Write the name of `r` to `buf`, as dp_program_value_name() does.  Returns `buf`. */
const char *dpi_builder_name_of(const dp_builder *b, dp_ref r, char buf[DP_KEY_NAME_MAX]);
/* Set the context's error.  Returns `code`. */
int dpi_builder_fail(dp_builder *b, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Check step `s` and add it with the values that it returns (check.c).  On failure the program so
 * far is unchanged, apart from constants added for defaults, and the error is set. */
int dpi_check_step(dp_builder *b, const dp_step *s);

/* Reserve memory for a step with `n_args` arguments and `n_rets` returns.  `frame`: values of
 * the program that the step runs; `expanded`: steps, those of that program
 * included.  DP_ERESOURCE: over a limit, or no memory (draft.c). */
int dpi_reserve_step(dp_builder *b, size_t n_args, size_t n_rets, uint32_t frame,
                     uint64_t expanded);
/* Reserve memory for a step with `n` origins in its list.  DP_ERESOURCE: over a limit, or no
 * memory. */
int dpi_reserve_origins(dp_builder *b, size_t n);
/* Add what dpi_reserve_step() and dpi_reserve_origins() reserved: the step, then its arguments and
 * its returns. */
dpi_step *dpi_add_step(dp_builder *b, uint32_t kind, uint32_t operand, const dp_step *s);
void dpi_add_link(dp_builder *b, dpi_step *step, dp_ref r);
void dpi_add_value(dp_builder *b, dpi_step *step, dpi_value_info v);
/* Reserve and add step `s` of `kind` with one return.  DP_EVALUE: `s` names another number of
 * returns.  DP_ERESOURCE: over a limit, or no memory. */
int dpi_builder_push(dp_builder *b, const dp_step *s, uint32_t kind, uint32_t operand,
                     const dpi_value_info *ret);
/* Is `r` a constant that is a tensor or may contain one, a view of such a constant, or a list that
 * contains one? */
bool dpi_builder_from_constant(const dp_builder *b, dp_ref r);
/* Check and add SCALAR and SELECT steps; check the condition of any step (choose.c). */
int dpi_check_scalar(dp_builder *b, const dp_step *s);
int dpi_check_select(dp_builder *b, const dp_step *s);
int dpi_check_when(dp_builder *b, const dp_step *s);

/* -- shared memory (alias.c) -- */

/* Does a call with schema `s` drop elements (dropout) of its first argument, or return that
 * itself? */
typedef enum dpi_dropping { DPI_DROPS_PERHAPS, DPI_DROPS_SOME, DPI_DROPS_NOTHING } dpi_dropping;
dpi_dropping dpi_dropout_of(const dp_program *p, const dp_schema *s, const dp_ref *args);
/* Return the index of the argument of which return i of a call is a view, or may be, also where the
 * schema does not say so; -1: of none. */
int dpi_viewed_by(const dp_program *p, const dp_schema *s, const dp_ref *args, uint32_t i);
/* Describe the memory of a value that is a view of `r` or, if `same`, is `r` itself. */
dpi_share dpi_share_view(const dp_builder *b, dp_ref r, bool same);
/* Describe the memory of a value that contains `refs` or, if `same`, is one of `refs`. */
dpi_share dpi_share_any(const dp_builder *b, const dp_ref *refs, size_t n, bool same);
/* Describe the memory of return i of a step that runs `sub`.  `first`: the step's first return. */
dpi_share dpi_share_of_output(const dp_builder *b, const dp_program *sub, uint32_t i,
                              const dp_ref *inputs, dp_ref first);
/* Set dpi_output.alias of every output.  DP_ERESOURCE: no memory. */
int dpi_alias_outputs(dp_builder *b);
/* Set dpi_value_info.written of every value. */
void dpi_find_written(dp_program *p);

/* Check `mode`, and find it in the program's modes or add it (mode.c).  Returns the number for
 * dpi_step.mode, or an error code. */
int64_t dpi_builder_mode(dp_builder *b, const dp_step_mode *mode);
/* Enter a guard that sets the members of `mode`.  Returns the guard's depth, or an error code. */
int dpi_mode_enter(dp_ctx *ctx, const dp_step_mode *mode);

/* A bump allocator over one block, which is filled from its start.  With `at` NULL nothing is
 * copied, and `used` counts the bytes that the block needs. */
typedef struct dpi_bump {
    char *at;    /* start of the block, or NULL */
    size_t used; /* bytes used so far */
} dpi_bump;
/* Append what guard *g points to, and return a guard that points to the copies. */
dp_input_guard dpi_bump_guard(dpi_bump *m, const dp_input_guard *g);
/* Check guard `i` of `p`, as dp_program_guards_check() does; only the inputs that it names are
 * read (guard_check.c). */
int dpi_guard_check(dp_ctx *ctx, const dp_program *p, uint32_t i, const dp_value *inputs);
/* Set want[] to the strides of a dense tensor of `sizes` whose dimensions are ordered as the
 * strides `like` are. */
void dpi_dense_strides(int ndim, const int64_t *like, const int64_t *sizes, int64_t *want);
/* Bits of a key set that say how the bytes of a tensor are to be read. */
#define DPI_LAYOUT_BITS                                                                            \
    (DPI_BIT(Quantized) | DPI_BIT(MkldnnCPU) | DPI_BIT(Sparse) | DPI_BIT(SparseCsr) |              \
     DPI_BIT(NestedTensor) | DPI_BIT(Named) | DPI_BIT(Conjugate) | DPI_BIT(Negative) |             \
     DPI_BIT(ZeroTensor))

/* Compute the program's content hash (hash.c).  DP_ERESOURCE: no memory. */
int dpi_program_hash(dp_builder *b);

/* Copy the builder's program into one block, `*out`, owned (lay.c). */
int dpi_program_lay(dp_builder *b, dp_program **out);

/* Functions of autograd (autograd/recording.c) that run around the program of a SUB step with
 * DP_STEP_FLAG_RECOMPUTE; autograd sets them when the process starts. */
typedef struct dpi_checkpoint_fns {
    /* Save what the program needs to run again, in *run; NULL: gradients are not recorded.
     * `inputs`: of `p`, in order. */
    int (*begin)(dp_ctx *ctx, const dp_program *p, const dp_value *inputs, void **run);
    /* End *run, which may be NULL.  `rc`: how the program ended.  Returns `rc`, or an error. */
    int (*end)(dp_ctx *ctx, void *run, int rc);
} dpi_checkpoint_fns;
extern dpi_checkpoint_fns dpi_checkpoints;

/* Run `p`, the program of a gradient formula (autograd).  The caller has pinned a snapshot of the
 * registry.  The number of values is not charged to the account, and calls that would return their
 * argument itself (dpi_op_use.keeps_real) are skipped. */
int dpi_program_run_formula(dp_ctx *ctx, const dp_program *p, dp_run *run);

/* -- copying values (hold.c) -- */

/* Append a copy of `bytes` bytes at `src`, padded to 16 bytes; NULL when only counting. */
void *dpi_bump_add(dpi_bump *m, const void *src, size_t bytes);
/* Append copies of the strings and lists that `*v` points to, and return a value that points to the
 * copies.  It has no references of its own to the tensors in it. */
dp_value dpi_bump_value(dpi_bump *m, const dp_value *v);
/* Is `t` a wrapped number, a tensor that dp_bind() made from a number?  *out: the number; `z` holds
 * it if it is complex. */
bool dpi_wrapped_number(const dp_tensor *t, double z[2], dp_value *out);
size_t dpi_storage_bytes_of(const dp_value *v); /* sum over the storages of all tensors in `*v` */
/* Take a reference to every tensor in `*v`.  A list of values is copied to arena `a` first, because
 * dp_values_release() writes to its elements.  DP_ERESOURCE: no memory. */
int dpi_value_ref(dp_arena *a, dp_value *v, dp_error *err);
/* Release everything that the arrays of `p` own, but not the arrays (block.c). */
void dpi_program_drop(dp_program *p);

/* Return the origins of a step: an array of *n numbers. */
const uint32_t *dpi_step_origins(const dp_program *p, const dpi_step *s, uint32_t *n);
/* Put "step 3: " or "steps 3, 4 and 7: " before the message of the context's error, from the
 * `origins` [n] of a step of `p`; "line" if they are lines.  Returns the error's code. */
int dpi_step_fail(dp_ctx *ctx, const dp_program *p, const uint32_t *origins, size_t n);

#pragma GCC visibility pop

#endif
