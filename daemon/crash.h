/* crash.h -- the crash report: what the log gets when the process ends by a fatal signal, or by
 * exit() in a kernel. */
#ifndef DAEMON_CRASH_H
#define DAEMON_CRASH_H

/* Install the handlers that report fatal signals, and exit() in a kernel, in the log.  Called once,
 * by main(). */
void crash_watch(void);
/* Install a signal stack for the calling thread, so that stack overflows can be reported. */
void crash_thread(void);

#endif
