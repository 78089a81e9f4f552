/* object.h -- objects of plugins and their kinds: functions that register kinds and check
 * objects. */
#ifndef DPI_OBJECT_H
#define DPI_OBJECT_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* One registration of a kind, by one generation of a plugin. */
typedef struct dpi_object_kind dpi_object_kind;

/* Register kind "ns.name" for generation `generation` of `plugin`; each load or reload makes a
 * generation.  `ops` is the plugin's own struct; its address identifies the kind in
 * dpi_object_new().  `again`: the plugin has registered the kind before and now loads a new
 * version.  The caller ends *out by dpi_object_kind_end() and dpi_object_kind_free().  DP_EPLUGIN:
 * `ops` is not valid, or is also that of another kind.  DP_EEXISTS: another plugin has registered
 * the kind.  DP_ERESOURCE: there are DP_LIMIT_OBJECT_KINDS kinds, or no memory. */
int dpi_object_kind_new(const char *ns, const char *name, const char *plugin, uint64_t generation,
                        bool again, const dp_object_ops *ops, dpi_object_kind **out, dp_error *err);
/* Give the objects of `k` to a newer registration of the same kind if that adopts them, and end all
 * other objects.  The caller ensures that no kernel of k's plugin runs.  Returns false if another
 * thread is still ending an object after `timeout_ms`; then `why` gives this reason, and all other
 * objects have ended. */
bool dpi_object_kind_end(dpi_object_kind *k, int timeout_ms, char *why, size_t bytes);
/* End the objects of `k` that are left and release `k`.  Waits for other threads that are ending an
 * object.  NULL is allowed. */
void dpi_object_kind_free(dpi_object_kind *k);

/* These implement dp_object_new() and dp_object_get(). */
int dpi_object_new(const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors, size_t n,
                   dp_account *account, dp_object **out, dp_error *err);
int dpi_object_get(dp_object *o, const dp_object_ops *kind, dp_object_view *out, dp_error *err);
/* Return the tensors that `o` refers to, [*n], borrowed. */
dp_tensor *const *dpi_object_tensors(const dp_object *o, size_t *n);

#pragma GCC visibility pop

#endif
