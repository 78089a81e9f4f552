/* checkpoint.h -- programs that backward runs again, because the calls that they recorded saved no
 * tensors (torch.utils.checkpoint with use_reentrant=False).
 *
 * A SUB step with DP_STEP_FLAG_RECOMPUTE has a checkpoint: what its program needs to run again.
 * Each call that the program records, and that would save a tensor, has a number in the checkpoint
 * instead (dpi_node.checkpoint_nr).  Edges, formulas and all other members of its node are as
 * without a checkpoint, so backward computes the same gradients in the same order.
 *
 * checkpoint.c and checkpoint_save.c make checkpoints; recording.c numbers the calls; recompute.c
 * runs programs again. */
#ifndef DPI_CHECKPOINT_H
#define DPI_CHECKPOINT_H

#include "history.h"
#include "program/program_i.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_checkpoint dpi_checkpoint;
typedef struct dpi_recomputed dpi_recomputed;

/* The collector of the calls that are recorded while the program of a checkpoint runs: the first
 * time, they belong to checkpoint `of`; when backward runs it again, `into` collects their nodes,
 * and `of` is NULL. */
typedef struct dpi_recording {
    dpi_checkpoint *of;
    dpi_recomputed *into;
} dpi_recording;

/* An operator that the program called, itself or inside other operators. */
typedef struct dpi_called {
    const dp_op *op;
    uint64_t kernels; /* hash of its kernels then, those for gradients excepted */
} dpi_called;

struct dpi_checkpoint {
    atomic_uint refs;
    dp_account *account; /* charged for `bytes`; NULL: none */
    size_t bytes;
    dp_program *program; /* with a reference */
    /* The checkpoint in whose program this one was made, with a reference, and the number there;
     * when that program runs again, it makes another checkpoint, with the inputs.  NULL: none, and
     * the members from `include` on are set. */
    dpi_checkpoint *outer;
    uint32_t outer_nr;
    uint32_t n_calls;  /* largest number given to a call or to an inner checkpoint */
    uint32_t min_topo; /* smallest topo of the nodes that have a number, here or in an inner one */
    /* dispatcher state and random state when the program began */
    dp_keyset include, exclude;
    dp_mode mode;
    dp_generators *generators; /* owned */
    dpi_slot *inputs;          /* [n_inputs of the program] */
    /* [n_inputs] copies of the inputs that the program may write, made before it ran; of kind
     * DPI_SLOT_NONE for the others, and for those that it did not write after all.  An input of
     * which there is a copy is not read. */
    dpi_slot *copies;
    /* [number of tensors among the inputs] 0: the tensor required no gradient; else 1 + the topo of
     * the node that its edge led to (0: a leaf) */
    uint32_t *needs;
    uint64_t snapshot;  /* number of the registry's snapshot then */
    dpi_called *called; /* [n_called] owned */
    uint32_t n_called;
};

/* Make a checkpoint without inputs: *out, owned.  DP_ERESOURCE: no memory, or over the account's
 * limit for history. */
int dpi_checkpoint_new(dp_ctx *ctx, const dp_program *p, dpi_checkpoint **out);
/* Charge `bytes` more to the checkpoint's account. */
int dpi_checkpoint_charge(dp_ctx *ctx, dpi_checkpoint *c, size_t bytes);
/* If `*v` is a list of values that are all tensors, as an input without a type may be, make it a
 * list of tensors, in the context's memory.  DP_ERESOURCE: no memory. */
int dpi_checkpoint_tensors(dp_ctx *ctx, dp_value *v);
dpi_checkpoint *dpi_checkpoint_ref(dpi_checkpoint *c);
void dpi_checkpoint_unref(dpi_checkpoint *c); /* NULL is fine */
/* Return the bytes of the tensors among the inputs. */
uint64_t dpi_checkpoint_bytes(const dpi_checkpoint *c);

/* -- checkpoint_save.c -- */

/* Save `inputs` of the program, and the context's state.  DP_EVALUE: an input cannot be saved.
 * DP_ERUNTIME: the program writes to the memory of two inputs. */
int dpi_checkpoint_save(dp_ctx *ctx, dpi_checkpoint *c, const dp_value *inputs);
/* The program has run: keep the copies of the inputs that it wrote, and free the others. */
int dpi_checkpoint_settle(dp_ctx *ctx, dpi_checkpoint *c);
/* Get the inputs for another run: values [n_inputs], which the caller ends with
 * dpi_checkpoint_inputs_end(), on failure too; and copies of the default generators: *generators,
 * owned.  DP_ERUNTIME: an input was written since. */
int dpi_checkpoint_inputs(dp_ctx *ctx, const dpi_checkpoint *c, dp_value *values,
                          dp_generators **generators);
void dpi_checkpoint_inputs_end(const dpi_checkpoint *c, dp_value *values);
/* Note the operators that were called since `before` [n] was the context's counts of calls. */
int dpi_checkpoint_called(dp_ctx *ctx, dpi_checkpoint *c, const uint64_t *before, uint32_t n);
/* Check that these operators have the kernels that they had.  DP_ERUNTIME: one has not. */
int dpi_checkpoint_check(dp_ctx *ctx, dpi_checkpoint *c);
/* Get the tensors that `s` saves: *list [the result]; items without a geometry were None. */
static inline uint32_t dpi_saved_of(const dpi_slot *s, const dpi_saved **list)
{
    *list = s->kind == DPI_SLOT_TENSOR ? &s->tensor : s->list;
    return s->kind == DPI_SLOT_TENSOR ? 1 : s->kind == DPI_SLOT_TENSORS ? s->n : 0;
}
/* Return input i as it was before the program ran. */
static inline const dpi_slot *dpi_checkpoint_input(const dpi_checkpoint *c, uint32_t i)
{
    return c->copies[i].kind != DPI_SLOT_NONE ? &c->copies[i] : &c->inputs[i];
}

/* -- recompute.c -- */

/* The nodes of the calls of one checkpoint, recorded again for one backward. */
struct dpi_recomputed {
    dpi_recomputed *next;
    dpi_checkpoint *of; /* with a reference */
    uint32_t n, cap;
    struct dpi_recomputed_item {
        dpi_node *node;        /* with a reference; NULL: not needed any more, or an inner one */
        dpi_checkpoint *inner; /* with a reference; or NULL */
    } * items;                 /* [n] by number, from 1 on */
};

/* All that one backward has computed again. */
typedef struct dpi_recomputes {
    dpi_recomputed *first;
    uint64_t runs, bytes; /* programs that were run again, and bytes of the inputs saved for them */
} dpi_recomputes;

/* Append the node of a call or an inner checkpoint.  The reference is taken.  DP_ERESOURCE: no
 * memory. */
int dpi_recomputed_add(dp_ctx *ctx, dpi_recomputed *r, dpi_node *node, dpi_checkpoint *inner);
/* Get the node that has the saved values of `n`: *out, n itself or a node that `all` owns.
 * DP_ERUNTIME: the program of n's checkpoint cannot run again, or does not record the same
 * calls.  Fails as the program does. */
int dpi_recomputes_node(dp_ctx *ctx, dpi_recomputes *all, dpi_node *n, const dpi_node **out);
/* Release the values computed again for `n`, which has run. */
void dpi_recomputes_end_node(dpi_recomputes *all, dpi_node *n);
/* Release everything that no node with this topo, or a smaller one, reads. */
void dpi_recomputes_pass(dpi_recomputes *all, uint32_t topo);
void dpi_recomputes_fini(dpi_recomputes *all);

/* -- recording.c -- */

/* Number the call of new node `n`, of an operator that has been called, for ctx->recording. */
int dpi_recording_add(dp_ctx *ctx, dpi_node *n);

#pragma GCC visibility pop

#endif
