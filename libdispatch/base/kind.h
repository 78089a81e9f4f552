/* kind.h -- kinds of wrapper tensors that have a dispatch key.
 *
 * A kind is a name that a plugin registers (DP_WRAPPER_KIND) for its wrapper tensors, which are
 * made of other tensors (dp_wrapper).  While a kind is alive it has one of the functionalities
 * Kind0 to Kind7; `slot` is the number of that functionality, 0 to 7. */
#ifndef DPI_KIND_H
#define DPI_KIND_H

#include "base.h"

#pragma GCC visibility push(hidden)

static inline dp_key dpi_kind_key(int slot)
{
    return DP_KEY(DP_F_Kind0 + slot);
}
/* Slot of key `k`; -1: `k` is not a kind's key. */
static inline int dpi_kind_slot(dp_key k)
{
    int f = dp_key_functionality(k);

    return f >= DP_F_Kind0 && f <= DP_F_Kind7 ? f - DP_F_Kind0 : -1;
}

/* Check that a plugin may register a kind `name`.  DP_EVALUE: the name is malformed.  DP_EEXISTS: a
 * key or a backend has the name.  Defined in key.c. */
int dpi_kind_check_name(const char *name, dp_error *err);
/* Register kind `name` for plugin `owner`, and give it a key.  A name whose tensors or pins are
 * still alive gets its old key back.  `reload`: `owner` may have registered the kind already; each
 * registration then needs its own dpi_kind_unregister().  DP_EEXISTS: the kind is registered.
 * DP_ERESOURCE: DP_LIMIT_KINDS kinds are alive, or there is no memory for the name. */
int dpi_kind_register(const char *name, const char *owner, bool reload, int *slot, dp_error *err);
void dpi_kind_unregister(int slot);
/* Slot of the registered kind `name`; -1: no plugin has registered it. */
int dpi_kind_find(const char *name);
/* Check that `plugin` may make wrapper tensors of kind `name`.  DP_EPLUGIN: another plugin has
 * registered the kind.  Only that plugin may, because its kernels rely on the parts that it gives
 * its tensors. */
int dpi_kind_check_maker(const char *name, const char *plugin, dp_error *err);
/* Is kind `name` alive: registered, or used by tensors or pins? */
bool dpi_kind_is_alive(const char *name);
/* Name of the living kind with this slot; NULL: no kind has the slot.  Async-signal-safe. */
const char *dpi_kind_name(int slot);
/* Count a new tensor of kind `name`, until dpi_kind_unref(), and return the kind's slot.  -1: no
 * plugin has registered the kind. */
int dpi_kind_ref(const char *name);
void dpi_kind_unref(int slot);
/* Pin the living kinds whose functionality bits are in `bits`, so that no other kind gets their
 * bits, and return these bits for dpi_kinds_unpin(). */
uint64_t dpi_kinds_pin(uint64_t bits);
void dpi_kinds_unpin(uint64_t bits);

#pragma GCC visibility pop

#endif
