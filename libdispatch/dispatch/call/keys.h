/* keys.h -- computes the key set of a call. */
#ifndef DPI_KEYS_H
#define DPI_KEYS_H

#include "dispatch/registry/entry.h"

#pragma GCC visibility push(hidden)

/* Apply the dispatcher state (`include`, `exclude`) to the key set of the arguments, and remove the
 * functionalities that fall through.  The highest key that is left is the key of the call. */
dp_keyset dpi_call_keys(const dpi_entry *e, dp_keyset arguments, dp_keyset include,
                        dp_keyset exclude);
/* Return the union of the key sets of a call's arguments, with DPI_GRAD_BIT if one of them may need
 * a gradient. */
dp_keyset dpi_argument_keys(const dpi_entry *e, const dp_value *args);

#pragma GCC visibility pop

#endif
