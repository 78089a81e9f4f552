/* capture.h -- the struct of a capture: the calls that it has recorded so far.
 *
 * capture_values.c keeps them, capture.c records calls, capture_io.c inputs and outputs; captured.c
 * makes a program from them.  A capture keeps no tensors but
 * its constants: it knows tensors by the number that dp_tensor_id() gives, which is never reused,
 * and keeps a copy of their geometry. */
#ifndef DPI_CAPTURE_H
#define DPI_CAPTURE_H

#include "dispatch/call/ctx.h"
#include "program_i.h"

#pragma GCC visibility push(hidden)

/* A value of the program: an input, a return of a recorded call, or an item of a list. */
typedef struct dpi_captured {
    uint64_t id;      /* dp_tensor_id(); 0: no tensor */
    uint64_t storage; /* dp_tensor_storage_id() */
    dp_keyset keys;
    dp_device device;
    dp_dtype dtype;
    int32_t ndim;
    uint32_t same_storage;  /* 1 + an earlier value with this storage; 0: there is none */
    uint32_t constant;      /* 1 + its index in `constants`; 0: it is no constant */
    bool is_old;            /* a call has changed the tensor's geometry: a later value has it */
    uint32_t again;         /* 1 + the tensor's first value; 0: this is it */
    const char *name;       /* of a constant */
    int64_t offset;         /* in elements */
    const int64_t *extents; /* [2 * ndim] sizes, then strides; in the capture's arena */
} dpi_captured;

/* An argument of a recorded call: kind << 28 | index in `values`, `constants` or `items`. */
enum { DPI_HAS_VALUE, DPI_HAS_CONSTANT, DPI_HAS_LIST };

typedef struct dpi_captured_call {
    uint32_t kind; /* DP_STEP_CALL, DP_STEP_ITEM, or DP_STEP_SCALAR: the two arguments are equal */
    uint32_t item; /* ITEM: which one */
    const dp_op *op;    /* CALL */
    dp_schema *schema;  /* CALL: holds a reference; the operator's when it was called */
    uint32_t first_arg; /* index in `args` */
    uint32_t n_args, n_rets;
    uint32_t first_ret; /* index in `values` */
    bool no_grad;       /* recorded at Tracer, while gradients were off */
    uint32_t flags;     /* DP_STEP_FLAG_*_SAVE of the step that made the call */
    uint32_t origin;    /* number of that step; UINT32_MAX: a program made none of the calls */
} dpi_captured_call;

typedef struct dpi_captured_input {
    const char *name;
    uint32_t value;    /* index in `values` */
    uint32_t tag;      /* DP_TAG_* */
    const void *other; /* the generator or object, to be compared only */
    uint32_t len;      /* of a list */
    /* index in `constants` of the value, if it is no list; of the first item that is no tensor, in
     * order, if it is one */
    uint32_t constant;
} dpi_captured_input;

typedef struct dpi_captured_output {
    const char *name;
    uint32_t ref; /* as in `args` */
} dpi_captured_output;

struct dp_capture {
    dp_arena *arena;     /* holds names, geometries, and what constants point to */
    dp_key key;          /* the key at which calls are recorded: Functionalize or Tracer */
    bool numbers, fakes; /* dp_capture_options */
    bool of_program; /* the calls are those of a program that runs; ctx->step_now has its step */
    dpi_captured *values;
    dpi_captured_call *calls;
    uint32_t *args;
    uint32_t *items; /* of each list: its length, then its items, as in `args` */
    dp_value *constants;
    dpi_captured_input *inputs;
    dpi_captured_output *outputs;
    uint64_t charged; /* bytes of the arrays and tables that the arena's account pays for */
    uint32_t *table;  /* [mask + 1] hash table by id of 1 + the index in `values`; 0: free */
    uint32_t *homes;  /* [mask + 1] by storage: the newest value; in the memory of `table` */
    uint32_t n_values, n_calls, n_args, n_items, n_constants, n_inputs, n_outputs, mask, n_table;
    uint32_t cap_values, cap_calls, cap_args, cap_items, cap_constants, cap_inputs, cap_outputs;
};

/* The recording of one call, or of one output. */
typedef struct dpi_recorder {
    dp_ctx *ctx;
    dp_capture *c;
    const char *name;        /* the operator's, or the output's */
    const dp_schema *schema; /* of the operator; NULL: an output is recorded */
    uint32_t argument;       /* number of the argument that is recorded now */
} dpi_recorder;

/* A reference to a value, constant or list, as in `args`. */
#define DPI_CAPTURED(kind, index) ((uint32_t)(kind) << 28 | (index))

/* Grow array `name` of capture `c` by `n` items.  False: the error is set. */
#define DPI_CAPTURE_GROW(ctx, c, name, n)                                                          \
    dpi_capture_grow(ctx, c, &(c)->name, &(c)->cap_##name, (uint64_t)(c)->n_##name + (n),          \
                     sizeof(*(c)->name))
bool dpi_capture_grow(dp_ctx *ctx, dp_capture *c, void *array, uint32_t *cap, uint64_t need,
                      size_t item);
int dpi_capture_no_memory(dp_ctx *ctx); /* set the error; DP_ERESOURCE */

/* Find the slot of `number` in `table` (the numbers are dp_tensor_id()) or, with `home`, in `homes`
 * (dp_tensor_storage_id()).  *slot is 0 if no value has it. */
uint32_t *dpi_capture_slot(const dp_capture *c, uint32_t *table, uint64_t number, bool home);
/* Make room for one more value in the tables, which are at most half full. */
int dpi_capture_reserve(dp_ctx *ctx, dp_capture *c);
/* Add a value that is no tensor. */
int dpi_capture_add_other(dp_ctx *ctx, dp_capture *c);
/* Has the value the bytes and the geometry of `t`? */
bool dpi_capture_is_like(const dpi_captured *x, const dp_tensor *t);
/* Find the first value of the tensor that is value `v`: the one that the program names. */
static inline uint32_t dpi_capture_first(const dp_capture *c, uint32_t v)
{
    return c->values[v].again != 0 ? c->values[v].again - 1 : v;
}
/* Add `t`, which may be NULL, as the next value.  If `t` is a value already, the new one is only
 * its second name. */
int dpi_capture_add_tensor(dp_ctx *ctx, dp_capture *c, const dp_tensor *t);
/* Describe tensor `t` again, if it is a value and a call such as t_ or set_ has changed its
 * geometry: the tensors that find_by_storage() compares with it are those of after the call. */
int dpi_capture_again(dp_ctx *ctx, dp_capture *c, const dp_tensor *t);
/* Keep a copy of `v` as a constant: *out, a reference. */
int dpi_capture_keep(dp_ctx *ctx, dp_capture *c, const dp_value *v, uint32_t *out);
/* Add a call whose arguments are `refs`, without its returns. */
int dpi_capture_add_call(dp_ctx *ctx, dp_capture *c, dpi_captured_call call, const uint32_t *refs);
/* Add the tensors of list `v`, which is value `list`. */
int dpi_capture_items(dp_ctx *ctx, dp_capture *c, uint32_t list, const dp_value *v);
/* Is `v` a tensor, generator or object, or a list that has one? */
bool dpi_holds_tensors(const dp_value *v);
/* Record argument or output `v`: *out, a reference. */
int dpi_capture_argument(const dpi_recorder *r, const dp_value *v, uint32_t *out);

/* Fail, with DP_ENOTFOUND, unless `key` has a fallback; in the tree `plugin` registers it for
 * `what`. */
int dpi_need_fallback(dp_ctx *ctx, dp_key key, const char *what, const char *plugin);
/* Add to builder `b` the guards of the inputs of `c`, whose indices are the same
 * (captured_guard.c). */
int dpi_capture_guards(dp_ctx *ctx, const dp_capture *c, dp_builder *b);

/* Functionalities to include while `c` records. */
static inline uint64_t dpi_capture_bits(const dp_capture *c)
{
    return dpi_key_bit(c->key) | (c->fakes ? DPI_BIT(Fake) : 0);
}

#pragma GCC visibility pop

#endif
