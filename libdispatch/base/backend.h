/* backend.h -- what key.c, backend.c and device.c share about names. */
#ifndef DPI_BACKEND_H
#define DPI_BACKEND_H

#include "base.h"

enum { DPI_KEY_PREFIX_MAX = sizeof("NestedTensor") - 1 }; /* longest prefix of a runtime key */

static inline bool dpi_backend_is_named(int bit)
{
    return bit >= DP_B_NAMED_FIRST && bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX;
}

/* Does the backend have the device that a plugin brings, or none?  CPU and Meta have the host's. */
static inline bool dpi_backend_is_brought(int bit)
{
    return bit > DP_B_CPU && bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX;
}

/* Bit by key name; also of a backend whose registration ended but that storages still use.  -1:
 * none. */
int dpi_backend_find_alive(const char *name);
bool dpi_backend_is_registered(int bit); /* or built in */
/* Device name of a living backend; a named one's is its name. */
const char *dpi_backend_device_name(int bit);
/* DP_EVALUE, DP_EEXISTS: no backend can be registered under this name, which is not of the form of
 * one, or is the name of the CPU, of Meta or of a kind of wrapper tensors. */
int dpi_backend_check_name(const char *name, dp_error *err);

#endif
