/* test_notify.c -- changes of the registry reach the connections that watch, in order; a client
 * that does not read gets the newest one and the number of those left out. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static server s;
static struct connection c;
static int client;
static char text[64 << 10];

static void settle_nothing(struct connection *of)
{
    (void)of;
}

static void setup(void)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    memset(&s, 0, sizeof(s));
    s.leaving = true; /* no worker frees answers */
    changes_init(&s.changes);
    c = (struct connection){.server = &s, .fd = fds[0], .refs = 1, .settle = settle_nothing};
    s.connections = &c;
    client = fds[1];
}

static void teardown(void)
{
    connection_flush(&c);
    connection_watch(&c, false);
    ck_assert_int_eq(c.refs, 1);
    ck_assert_uint_eq(s.changes.watchers, 0);
    close(c.fd);
    close(client);
    changes_fini(&s.changes);
}

static void changed(uint64_t generation)
{
    changes_add(&s.changes, "p", generation, 2, 1);
}

/* Send what waits, and return what the client received. */
static const char *received(void)
{
    connection_flush(&c);
    ssize_t n = recv(client, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static size_t lines(const char *p)
{
    size_t n = 0;

    for (; (p = strchr(p, '\n')) != NULL; p++)
        n++;
    return n;
}

#define CHANGED(generation, dropped)                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"registry.changed\",\"params\":{\"plugin\":\"p\","           \
    "\"generation\":" #generation ",\"added\":2,\"removed\":1" dropped "}}\n"

START_TEST(only_a_watcher_is_told)
{
    changed(1);
    connections_notify(&s);
    ck_assert_str_eq(received(), "");
    connection_watch(&c, true);
    connection_watch(&c, true); /* again: no effect */
    changed(2);
    changed(3);
    connections_notify(&s);
    ck_assert_str_eq(received(), CHANGED(2, "") CHANGED(3, ""));
    ck_assert_uint_eq(c.outstanding, 0);
    ck_assert_uint_eq(atomic_load(&c.unsent), 0);
    connection_watch(&c, false);
    changed(4);
    connections_notify(&s);
    ck_assert_str_eq(received(), "");
}
END_TEST

START_TEST(a_watch_begins_after_the_changes_before)
{
    static struct connection earlier = {.server = &s, .settle = settle_nothing, .refs = 1};

    connection_watch(&earlier, true);
    changed(1);
    connection_watch(&c, true);
    changed(2);
    connections_notify(&s);
    ck_assert_str_eq(received(), CHANGED(2, ""));
    connection_watch(&earlier, false);
}
END_TEST

START_TEST(a_client_that_does_not_read_gets_the_newest)
{
    char newest[256];

    connection_watch(&c, true);
    for (uint64_t i = 1; i <= LIMIT_WATCH_CHANGES + 5; i++) {
        changed(i);
        connections_notify(&s);
    }
    ck_assert_uint_eq(c.notices, LIMIT_WATCH_CHANGES);
    ck_assert_uint_eq(lines(received()), LIMIT_WATCH_CHANGES + 1);
    snprintf(newest, sizeof(newest),
             "\"generation\":%d,\"added\":2,\"removed\":1,\"dropped\":4}}\n",
             LIMIT_WATCH_CHANGES + 5);
    ck_assert_str_eq(text + strlen(text) - strlen(newest), newest);
    changed(1000);
    connections_notify(&s);
    ck_assert_str_eq(received(), CHANGED(1000, ""));
}
END_TEST

START_TEST(a_kept_change_is_not_sent_after_the_watch)
{
    connection_watch(&c, true);
    for (uint64_t i = 1; i <= LIMIT_WATCH_CHANGES + 5; i++) {
        changed(i);
        connections_notify(&s);
    }
    connection_watch(&c, false);
    ck_assert_uint_eq(lines(received()), LIMIT_WATCH_CHANGES);
}
END_TEST

START_TEST(without_memory)
{
    connection_watch(&c, true);
    changed(1);
    dp_fault_arm(1);
    connections_notify(&s); /* the second try succeeds */
    bool hit = dp_fault_hit();
    dp_fault_arm(0);
    ck_assert(hit);
    ck_assert_str_eq(received(), CHANGED(1, ""));
}
END_TEST

UNIT_SUITE(notify)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, only_a_watcher_is_told);
    tcase_add_test(tc, a_watch_begins_after_the_changes_before);
    tcase_add_test(tc, a_client_that_does_not_read_gets_the_newest);
    tcase_add_test(tc, a_kept_change_is_not_sent_after_the_watch);
    tcase_add_test(tc, without_memory);
}
