/* blocks.h -- elementwise loops over lists of tensors: tensors of the same index in all lists have
 * one shape and one dtype and are read and written block by block, on several threads. */
#ifndef CPU_BLOCKS_H
#define CPU_BLOCKS_H

#include "core/isa.h"

enum { BLOCK = 1024, BLOCK_LISTS = 5 }; /* elements of a block; the most lists of one run */

typedef struct block_list {
    const char *name;     /* the argument's name in the schema, for errors */
    dp_tensor *const *at; /* [len]; NULL: the element is None */
    uint32_t len;
    bool written;
} block_list;

typedef struct block_lists {
    int n;
    block_list of[BLOCK_LISTS]; /* [n]; no element of the first list is None */
} block_lists;

/* Add the argument `v`, a Tensor[] or Tensor?[], as the next list. */
void blocks_add(block_lists *l, const char *name, const dp_value *v, bool written);

/* Check all lists before anything is written: they have one length, and tensors of the same index
 * have one device, one floating-point dtype and one shape.  `what`: the kernel's name in the error
 * about a dtype.  DP_ERUNTIME: they differ. */
int blocks_check(dp_ctx *ctx, const block_lists *l, const char *what);
/* Check that no element of a written tensor of `l` or `more`, which may be NULL, shares memory with
 * an element of the same tensor or of another one.  DP_ERUNTIME: one does. */
int blocks_check_apart(dp_ctx *ctx, const block_lists *l, const block_list *more);

/* A loop over one block: x[k] are `n` elements of list k, each a float, or a double if `wide`;
 * float16 and bfloat16 were converted to float, and what is written is converted back.  `item`: the
 * index in the lists; `block`: the number of the block in the whole run, from 0. */
typedef void (*block_fn)(uint32_t item, int64_t block, bool wide, int64_t n, void *const *x,
                         void *user);
typedef struct blocks_run {
    dp_ctx *ctx;
    const block_lists *lists;
    block_fn fn;
    void *user;
    int64_t n_blocks; /* of all tensors; set by blocks_count() */
    struct block_item *items;
    int64_t *first; /* [length of the lists + 1] number of the first block of each index */
    char *done;     /* [n_blocks]; NULL: the run may end early */
} blocks_run;

/* Count the blocks of the lists, which were checked.  Indexes with a None in a list have no
 * block. */
int blocks_count(dp_ctx *ctx, const block_lists *l, blocks_run *r);
/* Call r->fn for each block, on several threads.  `whole`: once it has begun, the run ends
 * with the last block even if the request is cancelled, so that no tensor is written in part;
 * otherwise fails like dp_parallel_for(). */
int blocks_each(blocks_run *r, bool whole);

#endif
