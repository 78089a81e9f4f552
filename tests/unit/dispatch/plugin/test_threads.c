/* test_threads.c -- threads that the host starts: one end, one join, and no registry under them. */
#include "unit.h"
#include "dispatch/plugin/threads.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static dp_registry *reg;
static dp_ctx *ctx;
static dp_error err;

static void setup(void)
{
    ck_assert_int_eq(dp_registry_new(&reg, &err), 0);
    ck_assert_int_eq(dp_ctx_new(reg, &ctx, &err), 0);
}

static void teardown(void)
{
    dp_ctx_free(ctx);
    ck_assert_ptr_null(dp_registry_free(reg));
}

typedef struct seen {
    atomic_bool go;
    bool own_ctx, no_signals;
    int turned;
} seen;

static void look(dp_ctx *own, void *arg)
{
    seen *s = arg;
    sigset_t blocked;

    while (!atomic_load(&s->go))
        usleep(1000);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    s->no_signals = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1);
    s->own_ctx = own != ctx && dp_alloc(own, 1000) != NULL;
    s->turned = dp_thread_turn(own);
}

START_TEST(thread_has_a_context_of_its_own_and_no_signals)
{
    seen s = {0};
    sigset_t before, after;
    uint64_t id;

    pthread_sigmask(SIG_BLOCK, NULL, &before);
    ck_assert_int_eq(dp_thread_start(ctx, "looks", look, &s, &id), 0);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    ck_assert_int_eq(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
    ck_assert_int_eq(dp_thread_join(ctx, id, 10), DP_EBUSY);
    ck_assert_str_eq(dp_ctx_error(ctx)->message, "thread 'looks' still runs after 10 ms");
    atomic_store(&s.go, true);
    ck_assert_int_eq(dp_thread_join(ctx, id, -1), 0);
    ck_assert(s.own_ctx && s.no_signals);
    ck_assert_int_eq(s.turned, 0);
    ck_assert_int_eq(dp_thread_join(ctx, id, -1), DP_ENOTFOUND);
}
END_TEST

START_TEST(thread_keeps_its_registry)
{
    static seen s; /* the thread is there until teardown */
    uint64_t id;

    ck_assert_int_eq(dp_thread_start(ctx, "a name that is longer than names may be", look, &s, &id),
                     0);
    ctx = dp_ctx_free(ctx);
    ck_assert_ptr_eq(dp_registry_free(reg), reg);
    atomic_store(&s.go, true);
    /* teardown: it ends by itself, and is joined */
}
END_TEST

START_TEST(thread_start_survives_every_failed_allocation)
{
    seen s = {.go = true};
    uint64_t id;
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc < 0; n++) {
        ck_assert_uint_lt(n, 10);
        dp_ctx_reset(ctx);
        dp_fault_arm(n);
        rc = dp_thread_start(ctx, "x", look, &s, &id);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        if (rc < 0)
            ck_assert_int_eq(rc, DP_ERESOURCE);
        else if (hit) /* in the thread */
            rc = dp_thread_join(ctx, id, -1) < 0 ? 0 : DP_ERESOURCE;
    }
    ck_assert_int_eq(dp_thread_join(ctx, id, -1), 0);
}
END_TEST

UNIT_SUITE(threads)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, thread_has_a_context_of_its_own_and_no_signals);
    tcase_add_test(tc, thread_keeps_its_registry);
    tcase_add_test(tc, thread_start_survives_every_failed_allocation);
}
