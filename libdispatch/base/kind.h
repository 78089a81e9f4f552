/* kind.h -- kinds of wrapper tensors that have a key: names for the functionalities Kind0 to
 * Kind7. */
#ifndef DPI_KIND_H
#define DPI_KIND_H

#include "base.h"

#pragma GCC visibility push(hidden)

static inline dp_key dpi_kind_key(int slot)
{
    return DP_KEY(DP_F_Kind0 + slot);
}
/* -1: k is no kind's key. */
static inline int dpi_kind_slot(dp_key k)
{
    int f = dp_key_functionality(k);

    return f >= DP_F_Kind0 && f <= DP_F_Kind7 ? f - DP_F_Kind0 : -1;
}

/* DP_EVALUE, DP_EEXISTS: it is no name of a kind, or it is a key's or a backend's.  (key.c) */
int dpi_kind_check_name(const char *name, dp_error *err);
/* Lend a key to `name` of plugin `owner`.  again: `owner` has it already and loads a new version;
 * each registration is ended by itself.  A name that tensors or pins still hold gets its old key
 * back.  DP_EEXISTS: it is another plugin's; DP_ERESOURCE: DP_LIMIT_KINDS. */
int dpi_kind_register(const char *name, const char *owner, bool again, int *slot, dp_error *err);
void dpi_kind_unregister(int slot);
/* Slot of a kind that a plugin has registered; -1: there is none. */
int dpi_kind_find(const char *name);
/* DP_EPLUGIN: another plugin than `plugin` has registered kind `name`, whose kernels rely on the
 * parts that it gives its tensors. */
int dpi_kind_check_maker(const char *name, const char *plugin, dp_error *err);
/* Is a key lent to a kind of this name? */
bool dpi_kind_is_alive(const char *name);
/* Of a kind that is registered, or held by tensors or pins; NULL: nobody's.  Async-signal-safe. */
const char *dpi_kind_name(int slot);
/* A tensor of a kind is made: its slot, if a plugin has registered it, until dpi_kind_unref(); else
 * -1. */
int dpi_kind_ref(const char *name);
void dpi_kind_unref(int slot);
/* dp_keyset_pin() of the kinds whose bits are in `bits`. */
uint64_t dpi_kinds_pin(uint64_t bits);
void dpi_kinds_unpin(uint64_t bits);

#pragma GCC visibility pop

#endif
