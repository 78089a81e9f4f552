/* threads.h -- ends threads of plugins, before their code is unmapped or the registry is freed. */
#ifndef DPI_THREADS_H
#define DPI_THREADS_H

#include "plugin_i.h"

#pragma GCC visibility push(hidden)

enum { DPI_THREADS_WAIT_MS = 1000 }; /* time for threads to end after on_unload asked them to */

/* Join the threads of dp_thread_start() whose function lies in image `im`, or all such threads of
 * `reg` if `im` is NULL.  False: a thread still runs after `timeout_ms` (>= 0), or another thread
 * is waiting to join it; `who` (`bytes` bytes) names it. */
bool dpi_threads_end(const dp_registry *reg, const dpi_image *im, int timeout_ms, char *who,
                     size_t bytes);

#pragma GCC visibility pop

#endif
