/* signals.c -- blocks signals in the threads that libdispatch starts. */
#include "base.h"

/* The threads that the process began with handle its signals.  Signals of a thread's own faults
 * stay unblocked: if such a signal is blocked, Linux ends the process without running the handler
 * that writes the crash report. */
void dpi_signals_block(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked;

    sigfillset(&blocked);
    for (size_t i = 0; i < DPI_COUNT(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}
