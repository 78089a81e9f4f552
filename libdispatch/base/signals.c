/* signals.c -- which signals the threads of the host take. */
#include "base.h"

/* Signals are the business of the threads that the process began with; but one that says that this
 * thread itself has failed ends the process at once if it is blocked, before any handler can say
 * what the thread was running. */
void dpi_signals_block(sigset_t *before)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t most;

    sigfillset(&most);
    for (size_t i = 0; i < DPI_COUNT(deadly); i++)
        sigdelset(&most, deadly[i]);
    pthread_sigmask(SIG_SETMASK, &most, before);
}
