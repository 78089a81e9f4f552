/* backend.h -- what key.c and backend.c share about names. */
#ifndef DPI_BACKEND_H
#define DPI_BACKEND_H

#include "base.h"

enum { DPI_KEY_PREFIX_MAX = sizeof("NestedTensor") - 1 }; /* longest prefix of a runtime key */

static inline bool dpi_backend_is_named(int bit)
{
    return bit >= DP_B_NAMED_FIRST && bit < DP_B_NAMED_FIRST + DP_B_NAMED_MAX;
}

/* Bit by key name; also of a backend whose registration ended but that storages still use.  -1:
 * none. */
int dpi_backend_find_alive(const char *name);

#endif
