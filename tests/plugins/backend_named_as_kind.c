/* backend_named_as_kind.c -- a backend that would be called as a kind of wrapper tensors is
 * (masked.c). */
#include <dispatchd/plugin.h>

DP_PLUGIN(backend_named_as_kind, "1.0")
DP_BACKEND(masked)
