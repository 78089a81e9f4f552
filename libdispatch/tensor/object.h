/* object.h -- objects of plugins and their kinds, for those who register kinds and check values. */
#ifndef DPI_OBJECT_H
#define DPI_OBJECT_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* One registration of a kind: that of one generation of a plugin. */
typedef struct dpi_object_kind dpi_object_kind;

/* Register kind "ns.name" of `plugin`, whose code is `generation`; ops is the plugin's own struct,
 * which names the kind in dpi_object_new().  again: the plugin has it already and loads a new
 * version.  *out: for dpi_object_kind_end() and _free().  DP_EPLUGIN: ops says what cannot be;
 * DP_EEXISTS: somebody has it; DP_ERESOURCE: DP_LIMIT_OBJECT_KINDS. */
int dpi_object_kind_new(const char *ns, const char *name, const char *plugin, uint64_t generation,
                        bool again, const dp_object_ops *ops, dpi_object_kind **out, dp_error *err);
/* Hand the objects of k to a newer registration of the kind that adopts them, and end all others.
 * No code of k's plugin runs but what this calls.  False: after timeout_ms another thread is still
 * ending one, and *why says so; the others have ended. */
bool dpi_object_kind_end(dpi_object_kind *k, int timeout_ms, char *why, size_t bytes);
/* End what k's objects there still are, and wait for who ends one.  NULL is fine. */
void dpi_object_kind_free(dpi_object_kind *k);

/* dp_object_new(), dp_object_get(). */
int dpi_object_new(const dp_object_ops *kind, size_t bytes, dp_tensor *const *tensors, size_t n,
                   dp_account *account, dp_object **out, dp_error *err);
int dpi_object_get(dp_object *o, const dp_object_ops *kind, dp_object_view *out, dp_error *err);
/* The tensors that o holds, [*n]. */
dp_tensor *const *dpi_object_tensors(const dp_object *o, size_t *n);

#pragma GCC visibility pop

#endif
