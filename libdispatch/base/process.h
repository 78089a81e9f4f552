/* process.h -- saves and restores state of the process and of the thread that a plugin's code may
 * change.
 *
 * Callers use these functions around code of a plugin. */
#ifndef DPI_PROCESS_H
#define DPI_PROCESS_H

#include "base.h"
#include "fp.h"
#include <sched.h>
#include <sys/resource.h>

#pragma GCC visibility push(hidden)

/* Send warning `text` to the listener that dp_on_warning() set, if there is one. */
void dpi_warn_listener(const char *text);

/* Restore this thread's floating-point environment to `before`, and write a description of the
 * changes into `changed` of `bytes` bytes. */
void dpi_fp_restore(dpi_fp before, char *changed, size_t bytes);

enum { DPI_SIGNALS = 64, DPI_LOCALE_BYTES = 1024, DPI_DIRECTORY_BYTES = 4096 };

/* Action of one signal, from struct sigaction. */
typedef struct dpi_action {
    void (*handler)(int);
    uint64_t mask;
    int64_t flags;
} dpi_action;

/* Saved state: one member for each item of the table in process.c.  Members are compared byte by
 * byte, so unused bytes are zero. */
typedef struct dpi_process {
    uint32_t known; /* bit i: item i of the table was read */
    dpi_fp fp;
    dpi_action actions[DPI_SIGNALS + 1]; /* by signal number */
    uint64_t blocked;                    /* signals that this thread blocks */
    char locale[DPI_LOCALE_BYTES];       /* from setlocale(LC_ALL) */
    void *thread_locale;                 /* from uselocale() */
    unsigned umask;
    char directory[DPI_DIRECTORY_BYTES];
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t cpus[2]; /* affinity: [0] this thread's, [1] the main thread's */
} dpi_process;

void dpi_process_save(dpi_process *p);
/* Restore all items that differ from `was`, except those that were not read.  If any differs, send
 * the listener a warning that names `plugin` and the code that ran since then, `what` ("its
 * on_load"). */
void dpi_process_settle(const dpi_process *was, const char *plugin, const char *what);

#pragma GCC visibility pop

#endif
