/* program_i.h -- the program block, and what the files of this room share.
 *
 * builder.c takes steps in and hands them to check.c, which says what they make; block.c lays the
 * result out as one immutable block; run.c runs it; text.c prints it.
 *
 * A value is an input, or made by one step and never changed (what a step writes in place is a
 * tensor, not the value).  Steps refer to values and constants made before them only. */
#ifndef DPI_PROGRAM_I_H
#define DPI_PROGRAM_I_H

#include "dispatch/call/bind.h"
#include <dispatchd/program.h>

#pragma GCC visibility push(hidden)

/* A dp_ref: kind << 28 | index. */
enum { DPI_REF_VALUE, DPI_REF_CONSTANT };
#define DPI_REF(kind, index) ((dp_ref)(kind) << 28 | (dp_ref)(index))
#define DPI_REF_KIND(r)      ((r) >> 28)
#define DPI_REF_INDEX(r)     ((r)&0xfffffffu)

enum { DPI_STEP_BIND = DP_STEP_END }; /* a CALL whose overload depends on the values */

typedef struct dpi_step {
    uint32_t kind;
    uint32_t n_args, n_rets, n_frees;
    uint32_t args, frees; /* in links */
    uint32_t ret;         /* its first value */
    uint32_t what; /* CALL: in ops; BIND: in binds; GET: in dpi_gets; ITEM: index; SUB: in subs */
    uint32_t origin;
    bool names_written; /* CALL: some return is an argument that it wrote */
    uint64_t late;      /* CALL: arguments to be fitted; bit i */
} dpi_step;

typedef struct dpi_value_info {
    const char *name; /* NULL: none */
    uint32_t tags;    /* bit t: it may be of tag t */
    uint8_t names;    /* kind of enum its numbers are, for outputs; 0: numbers */
    bool written;     /* an input: a step writes to it, or to a view of it */
    bool constant;    /* a constant is among it, or is what it views */
    uint32_t viewed;  /* 1 + the input that it is, views or holds; 0: none */
} dpi_value_info;

typedef struct dpi_input {
    uint32_t type;    /* in types */
    uint32_t by_name; /* the i-th input in the order of names */
} dpi_input;

typedef struct dpi_type_text {
    dp_schema *schema; /* counted; of one argument.  NULL: anything */
    const char *text;
} dpi_type_text;

typedef struct dpi_op_use {
    const dp_op *op;
    dp_schema *schema; /* counted: what the steps were checked against */
} dpi_op_use;

typedef struct dpi_bind {
    const char *name;
    const char *const *kwargs; /* [n_args of the step] NULL where positional */
} dpi_bind;

typedef struct dpi_output {
    const char *name;
    dp_ref ref;
} dpi_output;

/* The arrays lie behind the struct, in one block. */
struct dp_program {
    atomic_uint refs;
    uint32_t n_inputs, n_values, n_constants, n_steps, n_links, n_types, n_ops, n_binds, n_subs,
        n_outputs;
    uint32_t depth, frame; /* frame: values of a run, those of the deepest programs included */
    uint64_t expanded;
    size_t bytes, constant_bytes;
    uint64_t backends; /* pinned: of the devices among the constants; of a builder, all alive */
    dp_registry *reg;
    dpi_input *inputs; /* values [0, n_inputs) */
    dpi_value_info *values;
    dp_value *constants; /* owned */
    const char **constant_names;
    dpi_step *steps;
    dp_ref *links;
    dpi_type_text *types;
    dpi_op_use *ops;
    dpi_bind *binds;
    dp_program **subs; /* counted */
    dpi_output *outputs;
};

enum { /* sets of tags */
       DPI_TENSOR = 1u << DP_TAG_TENSOR,
       DPI_LISTS = 1u << DP_TAG_TENSORS | 1u << DP_TAG_INTS | 1u << DP_TAG_DOUBLES |
                   1u << DP_TAG_BOOLS | 1u << DP_TAG_LIST
};

/* What GET can ask (get.c). */
typedef struct dpi_get {
    const char *name;
    uint32_t n_args; /* what is asked included */
    uint32_t of;     /* tags that can be asked */
    uint32_t tag;    /* of the answer */
    uint8_t names;
    int (*fn)(dp_ctx *ctx, const dp_value *args, dp_value *out);
} dpi_get;
enum { DPI_GETS_MAX = 32 };
extern const dpi_get dpi_gets[];
extern const uint32_t dpi_n_gets;

#define DPI_VIEW(v, t)                                                                             \
    dp_view v = {.size = (uint32_t)sizeof(v)};                                                     \
    dp_tensor_view(t, &(v))

/* -- building -- */

typedef struct dpi_name {
    const char *name; /* in the arena; NULL: free */
    dp_ref ref;
    uint32_t origin; /* DPI_ORIGIN_*: not a step */
} dpi_name;
enum { DPI_ORIGIN_INPUT = UINT32_MAX, DPI_ORIGIN_CONSTANT = UINT32_MAX - 1 };

struct dp_builder {
    dp_ctx *ctx;
    dp_arena *arena; /* names and what constants point to */
    bool begun, done;
    dp_program p; /* its arrays grow; capacities below */
    uint32_t cap_inputs, cap_values, cap_constants, cap_constant_names, cap_steps, cap_links,
        cap_types, cap_ops, cap_binds, cap_subs, cap_outputs;
    dpi_name *names; /* [mask + 1] open addressing */
    uint32_t n_names, mask;
};

/* Room for one more (or n) in array `name` of the program being built; false: the error is set. */
bool dpi_builder_grow(dp_builder *b, void *array, uint32_t *cap, uint32_t need, size_t item);
#define DPI_GROW(b, name, n)                                                                       \
    dpi_builder_grow(b, &(b)->p.name, &(b)->cap_##name, (b)->p.n_##name + (n), sizeof(*(b)->p.name))
const char *dpi_builder_str(dp_builder *b, const char *s); /* NULL: the error is set */
bool dpi_builder_has(const dp_builder *b, dp_ref r);
int dpi_builder_check(dp_builder *b, dp_ref r); /* is there such a value? */
uint32_t dpi_builder_tags(const dp_builder *b, dp_ref r);
const char *dpi_builder_name_of(const dp_builder *b, dp_ref r, char buf[DP_KEY_NAME_MAX]);
int dpi_builder_fail(dp_builder *b, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* check.c: everything about one step; adds it with its values, or changes nothing but the error. */
int dpi_check_step(dp_builder *b, const dp_step *s);

int dpi_program_lay(dp_builder *b, dp_program **out); /* lay.c */

/* hold.c */
/* One block that is filled from its start; at NULL: only counted.  A value goes in with all that it
 * points to; its tensors are not referenced. */
typedef struct dpi_bump {
    char *at;
    size_t used;
} dpi_bump;
void *dpi_bump_add(dpi_bump *m, const void *src, size_t bytes);
dp_value dpi_bump_value(dpi_bump *m, const dp_value *v);
size_t dpi_storage_bytes_of(const dp_value *v);
/* Own every tensor in v; lists of values are copied to the arena, since releasing writes to them.
 */
int dpi_value_ref(dp_arena *a, dp_value *v, dp_error *err);
void dpi_program_drop(dp_program *p); /* what the arrays own */

/* "step 3: " before the message of the context. */
int dpi_step_fail(dp_ctx *ctx, uint32_t origin);

#pragma GCC visibility pop

#endif
