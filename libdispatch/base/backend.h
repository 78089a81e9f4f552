/* backend.h -- backend names and bits: declarations for key.c, backend.c and device.c only. */
#ifndef DPI_BACKEND_H
#define DPI_BACKEND_H

#include "base.h"

/* length of the longest prefix of a runtime key's name */
enum { DPI_KEY_PREFIX_MAX = sizeof("NestedTensor") - 1 };

static inline bool dpi_backend_is_named(int bit)
{
    return bit >= DP_B_NAMED_FIRST && bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX;
}

/* Can only a plugin provide the device of this backend?  CPU and Meta have a device in the host. */
static inline bool dpi_backend_is_pluggable(int bit)
{
    return bit > DP_B_CPU && bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX;
}

/* Find the bit of a living backend by its key name.  A backend stays alive after its registration
 * ended while storages or pins use it.  -1: unknown. */
int dpi_backend_find_alive(const char *name);
bool dpi_backend_is_registered(int bit); /* true for built-in backends, too */
/* Device name of a living backend ("cuda"); for a named backend this is its name.  NULL: the bit is
 * not alive. */
const char *dpi_backend_device_name(int bit);
/* Check that a plugin may register a backend `name`.  DP_EVALUE: the name is malformed.
 * DP_EEXISTS: it is the device name of the CPU or of Meta, or the name of a kind of wrapper
 * tensors. */
int dpi_backend_check_name(const char *name, dp_error *err);

#endif
