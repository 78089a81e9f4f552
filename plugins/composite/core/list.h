/* list.h -- a list of tensors that a kernel makes one by one.
 *
 *     list l = list_of(ctx, n);
 *     for (size_t i = 0; l.rc == 0 && i < n; i++)
 *         list_made(&l, dp_invoke(ctx, "aten::neg", "T>T", tensors[i], list_next(&l)));
 *     return list_end(&l, out); */
#ifndef COMPOSITE_LIST_H
#define COMPOSITE_LIST_H

#include "composite.h"

/* The list under construction.  The array `made` is freed by the dispatcher when the running
 * operator call ends. */
typedef struct list {
    dp_ctx *ctx;
    dp_tensor **made; /* owned tensors [n] */
    size_t n, capacity;
    int rc; /* code of the step that failed, or 0 */
} list;

/* Begin a list of at most `capacity` tensors.  DP_ERESOURCE in the field `rc`: `capacity` is
 * greater than the number of tensors that an operator call may return, or there is no memory. */
list list_of(dp_ctx *ctx, size_t capacity);
/* Return the address to which the next tensor is to be written; the list must have no error.  The
 * caller then passes the code of the call that writes it to list_made(). */
dp_tensor **list_next(list *l);
/* Set l->rc to `rc`, the code of the call that was to write the next tensor, and count the tensor
 * if rc is 0. */
void list_made(list *l, int rc);
/* Release the tensors of the list. */
void list_release(list *l);
/* Move the tensors to *out as a Tensor[], or release them if a step failed.  Return l->rc. */
int list_end(list *l, dp_value *out);
/* Concatenate the tensors along `dim` into *out, or into a new tensor if *out is NULL, and release
 * them.  Return l->rc. */
int list_cat(list *l, int64_t dim, dp_tensor **out);

#endif
