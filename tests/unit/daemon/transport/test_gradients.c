/* test_gradients.c -- the ring of computed gradients of a connection: the newest stay, and the
 * others are counted. */
#include "autograd/history.h"
#include "server.h"
#include "transport/parts.h"
#include "unit.h"

static server s;
static struct connection c;

static void setup(void)
{
    s = (server){0};
    atomic_store(&s.gradients_due, true); /* so that no loop is woken */
    c = (struct connection){.server = &s};
}

static void teardown(void)
{
    connection_free_gradients(&c);
}

static void compute(uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        dpi_watcher_tell(connection_watch_gradients(&c), first + i);
}

/* Take the next gradient, which must be this one. */
static void takes(uint64_t tensor, uint64_t dropped)
{
    uint64_t got, lost;

    ck_assert(connection_take_gradient(&c, &got, &lost));
    ck_assert_msg(got == tensor && lost == dropped, "tensor %llu after %llu dropped",
                  (unsigned long long)got, (unsigned long long)lost);
}

static void takes_none(void)
{
    uint64_t got, lost;

    ck_assert(!connection_take_gradient(&c, &got, &lost));
}

START_TEST(in_order)
{
    takes_none();
    compute(1, 3);
    takes(1, 0);
    compute(4, 1);
    for (uint64_t i = 2; i <= 4; i++)
        takes(i, 0);
    takes_none();
}
END_TEST

START_TEST(the_newest_stay)
{
    compute(1, 100);
    takes(37, 36);
    takes(38, 0);
    compute(101, 5);
    takes(42, 3);
    for (uint64_t i = 43; i <= 105; i++)
        takes(i, 0);
    takes_none();
    compute(7, 1);
    takes(7, 0);
}
END_TEST

START_TEST(what_could_not_be_sent_counts)
{
    compute(1, 2);
    takes(1, 0);
    connection_drop_gradients(&c, 1);
    takes(2, 1);
}
END_TEST

START_TEST(another_session_begins_anew)
{
    dp_grad_watcher *old = dpi_watcher_ref(connection_watch_gradients(&c));

    compute(1, 100);
    connection_forget_gradients(&c);
    takes_none();
    dpi_watcher_tell(old, 1);
    takes_none();
    dpi_watcher_unref(old);
    compute(2, 1);
    takes(2, 0);
}
END_TEST

START_TEST(without_memory)
{
    for (int k = 1; k <= 2; k++) {
        dp_fault_arm(k);
        ck_assert_ptr_null(connection_watch_gradients(&c));
        dp_fault_arm(0);
    }
    ck_assert_ptr_nonnull(connection_watch_gradients(&c));
}
END_TEST

UNIT_SUITE(transport_gradients)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, in_order);
    tcase_add_test(tc, the_newest_stay);
    tcase_add_test(tc, what_could_not_be_sent_counts);
    tcase_add_test(tc, another_session_begins_anew);
    tcase_add_test(tc, without_memory);
}
