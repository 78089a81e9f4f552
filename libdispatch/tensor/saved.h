/* saved.h -- a tensor as a graph node saves it: its geometry, version, dtype and keys, without the
 * tensor object, so that saving costs no allocation and a node never has a reference to a tensor
 * whose history refers to the node. */
#ifndef DPI_SAVED_H
#define DPI_SAVED_H

#include "tensor_i.h"

#pragma GCC visibility push(hidden)

typedef struct dpi_saved {
    dpi_geometry *geometry; /* with a reference to its home, and so to the storage; NULL: none */
    dpi_version *version;   /* holds a reference to its home, if that is not geometry's home */
    uint64_t expected;      /* value of *version when the tensor was saved */
    dp_keyset keys;
    dp_dtype dtype;
    bool wrapped;
} dpi_saved;

/* Save `t`.  Any thread. */
void dpi_saved_set(dpi_saved *s, const dp_tensor *t);
/* Release the references of `s`, which is then empty.  `s` may be empty. */
void dpi_saved_clear(dpi_saved *s);
/* Make a tensor with the saved geometry, version, dtype and keys.  *out owned; it is not a view and
 * has no history.  DP_ERESOURCE: out of memory. */
int dpi_saved_tensor(const dpi_saved *s, dp_tensor **out, dp_error *err);
/* Set the error for a saved tensor that a later call has written to.  `saver` saved it, as the
 * input `name` of what runs now; `what`, "its input " or "", stands before the name.  Returns
 * DP_ERUNTIME. */
int dpi_saved_fail_stale(const dpi_saved *s, dp_error *err, const char *saver, const char *what,
                         const char *name);
/* Has the tensor been written since it was saved? */
static inline bool dpi_saved_is_stale(const dpi_saved *s)
{
    return atomic_load_explicit(&s->version->value, memory_order_acquire) != s->expected;
}

#pragma GCC visibility pop

#endif
