/* process.h -- the state of the process that code of a plugin may change, for those who run such
 * code. */
#ifndef DPI_PROCESS_H
#define DPI_PROCESS_H

#include "base.h"
#include "fp.h"
#include <sched.h>
#include <sys/resource.h>

#pragma GCC visibility push(hidden)

/* Tell the listener of dp_on_warning(). */
void dpi_warn_listener(const char *text);

/* Set the floating-point environment of this thread back to `before`.  `changed` (`bytes` bytes)
 * gets a description of what had changed. */
void dpi_fp_restore(dpi_fp before, char *changed, size_t bytes);

enum { DPI_SIGNALS = 64, DPI_LOCALE_BYTES = 1024, DPI_DIRECTORY_BYTES = 4096 };

typedef struct dpi_action { /* what sigaction() says of a signal */
    void (*handler)(int);
    uint64_t mask;
    int64_t flags;
} dpi_action;

/* The state of the process that process.c's table saves.  Two of them are compared byte by byte, so
 * unused bytes are zero. */
typedef struct dpi_process {
    uint32_t known; /* bit i: item i of the table could be read */
    dpi_fp fp;
    dpi_action actions[DPI_SIGNALS + 1]; /* by number */
    uint64_t blocked;                    /* signals that this thread blocks */
    char locale[DPI_LOCALE_BYTES];
    void *thread_locale; /* uselocale()'s */
    unsigned umask;
    char directory[DPI_DIRECTORY_BYTES];
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t cpus[2]; /* of this thread, of the process's first thread */
} dpi_process;

void dpi_process_save(dpi_process *p);
/* Set back what is not as `was`.  If something is not, tell the listener of warnings: `plugin`, and
 * `what` of it ("its on_load") ran meanwhile. */
void dpi_process_settle(const dpi_process *was, const char *plugin, const char *what);

#pragma GCC visibility pop

#endif
