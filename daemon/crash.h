/* crash.h -- what the log says when the process dies. */
#ifndef DAEMON_CRASH_H
#define DAEMON_CRASH_H

/* From now on a deadly signal, and exit() in a kernel, is reported in the log.  Once, by main. */
void crash_watch(void);
void crash_thread(void); /* a stack for this thread's handlers, so that overflows are reported */

#endif
