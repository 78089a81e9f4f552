/* joint.h -- a joint program: the forward and the backward of a program in one, and its division
 * into two programs. */
#ifndef DPI_JOINT_H
#define DPI_JOINT_H

#include "graph.h"

#pragma GCC visibility push(hidden)

/* A joint program.  Its inputs are those of the original program, then the gradients of those
 * outputs that have one; its outputs are those of the original program, then the gradients of the
 * inputs that were asked for. */
typedef struct dpi_joint {
    dp_program *p;                /* owned */
    uint32_t n_inputs, n_outputs; /* of the original program */
    dp_value *fakes;              /* [n_fakes] for the inputs of p; in the arena; owned */
    uint32_t n_fakes;
} dpi_joint;

/* Make the joint program of `p`: *out.  Call dpi_joint_drop() afterwards, also after a failure. */
int dpi_joint_make(dp_ctx *ctx, const dp_program *p, const dp_value *inputs,
                   const dp_grad_options *o, dpi_joint *out);
void dpi_joint_drop(dpi_joint *j);

/* Memory of one value of a program, as far as a run over fakes shows. */
typedef struct dpi_value_size {
    uint64_t bytes;   /* of its elements; of a list, of all tensors */
    uint64_t storage; /* dp_tensor_storage_id(); 0: no tensor */
    bool is_list;
    bool of_input; /* it is a view of an input, or no tensor: it takes no memory of its own */
} dpi_value_size;
/* Run `p` with fakes, and fill sizes [p->n_values]. */
int dpi_value_sizes(dp_ctx *ctx, const dp_program *p, const dp_value *fakes, dpi_value_size *sizes);

/* Does the operator of step `s` take long? */
bool dpi_is_heavy(const dp_program *p, const dpi_step *s);

/* A flow network: `n` nodes, of which 0 is the source and 1 the sink. */
typedef struct dpi_flow dpi_flow;
dpi_flow *dpi_flow_new(uint32_t n); /* NULL: no memory */
void dpi_flow_free(dpi_flow *f);    /* NULL is allowed */
/* Add an edge; UINT64_MAX: no limit.  False: no memory. */
bool dpi_flow_edge(dpi_flow *f, uint32_t from, uint32_t to, uint64_t capacity);
/* Find a smallest cut, once: reached [n] says which nodes are on the source's side.  Returns its
 * capacity; UINT64_MAX: every cut has an edge without a limit. */
uint64_t dpi_flow_cut(dpi_flow *f, bool *reached);

#pragma GCC visibility pop

#endif
