/* capture.h -- the struct of a capture: the calls that it has recorded so far.
 *
 * capture.c records calls; captured.c makes a program from them.  A capture keeps no tensors but
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
    uint32_t first_arg; /* index in `args` */
    uint32_t n_args, n_rets;
    uint32_t first_ret; /* index in `values` */
    bool no_grad;       /* recorded at Tracer, while gradients were off */
} dpi_captured_call;

typedef struct dpi_captured_input {
    const char *name;
    uint32_t value;    /* index in `values` */
    uint32_t tag;      /* DP_TAG_* */
    const void *other; /* the generator or object, to be compared only */
} dpi_captured_input;

typedef struct dpi_captured_output {
    const char *name;
    uint32_t ref; /* as in `args` */
} dpi_captured_output;

struct dp_capture {
    dp_registry *reg;
    dp_arena *arena;     /* holds names, geometries, and what constants point to */
    dp_key key;          /* the key at which calls are recorded: Functionalize or Tracer */
    bool numbers, fakes; /* dp_capture_options */
    dpi_captured *values;
    dpi_captured_call *calls;
    uint32_t *args;
    uint32_t *items; /* of each list: its length, then its items, as in `args` */
    dp_value *constants;
    dpi_captured_input *inputs;
    dpi_captured_output *outputs;
    uint32_t *table; /* [mask + 1] hash table by id of 1 + the index in `values`; 0: free */
    uint32_t *homes; /* [mask + 1] by storage: the newest value; in the memory of `table` */
    uint32_t n_values, n_calls, n_args, n_items, n_constants, n_inputs, n_outputs, mask, n_table;
    uint32_t cap_values, cap_calls, cap_args, cap_items, cap_constants, cap_inputs, cap_outputs;
};

/* Functionalities to include while `c` records. */
static inline uint64_t dpi_capture_bits(const dp_capture *c)
{
    return dpi_key_bit(c->key) | (c->fakes ? DPI_BIT(Fake) : 0);
}

#pragma GCC visibility pop

#endif
