/* test_signals.c -- threads of the host take no signals but those that say that they failed. */
#include "base/base.h"
#include "unit.h"

START_TEST(signals_are_blocked_but_for_deadly_ones)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1};
    sigset_t before, now;

    dpi_signals_block(&before);
    pthread_sigmask(SIG_SETMASK, &before, &now);
    for (size_t i = 0; i < DPI_COUNT(deadly); i++)
        ck_assert_int_eq(sigismember(&now, deadly[i]), 0);
    for (size_t i = 0; i < DPI_COUNT(others); i++)
        ck_assert_int_eq(sigismember(&now, others[i]), 1);
    ck_assert_int_eq(sigismember(&before, SIGINT), 0);
}
END_TEST

UNIT_SUITE(signals)
{
    tcase_add_test(tc, signals_are_blocked_but_for_deadly_ones);
}
