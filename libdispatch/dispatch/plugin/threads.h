/* threads.h -- the threads of plugins, for those who unmap code and free registries. */
#ifndef DPI_THREADS_H
#define DPI_THREADS_H

#include "plugin_i.h"

#pragma GCC visibility push(hidden)

enum { DPI_THREADS_WAIT_MS = 1000 }; /* for threads to end that on_unload told to */

/* Join the threads whose function lies in this image, or with im NULL all of this registry.  False:
 * one still runs after timeout_ms (>= 0); *who says which. */
bool dpi_threads_end(const dp_registry *reg, const dpi_image *im, int timeout_ms, char *who,
                     size_t bytes);

#pragma GCC visibility pop

#endif
