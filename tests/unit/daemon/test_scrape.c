/* test_scrape.c -- the text of server.metrics for the daemon's own uid and for another one. */
#include "methods/values.h"
#include "scrape.h"
#include "server.h"

enum { OTHER_UID = 12345 };

static server s;
static struct connection c;
static struct session *owner, *other;

static void begin(void)
{
    values_begin();
    s.reg = values_reg;
    s.metrics = (metrics){0};
    ck_assert_int_eq(metrics_init(&s.metrics, &err), 0);
    pthread_mutex_init(&s.connections_lock, NULL);
    pthread_mutex_init(&s.executor.lock, NULL);
    sessions_init(&s.sessions, limit_defaults);
    s.sessions.metrics = &s.metrics;
    c = (struct connection){.server = &s, .user = session_user(rq.session)};
    s.connections = &c;
    rq.conn = &c;
    owner = rq.session;
    other = session_new_for(&s.sessions, OTHER_UID, &err);
    ck_assert_ptr_nonnull(other);
}

static void end(void)
{
    rq.conn = NULL;
    rq.session = owner;
    session_leave(other);
    sessions_fini(&s.sessions);
    metrics_fini(&s.metrics);
    values_end();
}

/* Return the text of server.metrics, NUL-terminated, to be freed by the caller. */
static char *text(void)
{
    char *got = NULL;
    size_t bytes = 0;

    ck_assert_msg(scrape(&rq, &got, &bytes, &err) == 0, "%s", err.message);
    char *copy = dp_calloc(1, bytes + 1);
    memcpy(copy, got, bytes);
    dp_free(got);
    return copy;
}

static void has(const char *part, bool want)
{
    char *t = text();

    ck_assert_msg((strstr(t, part) != NULL) == want, "'%s' %s in\n%s", part, want ? "is not" : "is",
                  t);
    dp_free(t);
}

START_TEST(the_owner_sees_the_whole_daemon)
{
    c.paused = true;
    c.unsent = 77;
    has("dispatchd_unsent_bytes 77\n", true);
    has("dispatchd_connections_paused 1\n", true);
    has("dispatchd_info{", true);
    has("dispatchd_loop_turn_max_seconds 0\n", true);
}
END_TEST

START_TEST(another_uid_sees_its_own_figures)
{
    struct connection foreign = {
        .server = &s, .user = session_user(other), .next = &c, .unsent = 5};

    s.connections = &foreign;
    c.unsent = 77;
    dp_error_set(&err, DP_EVALUE, "wrong");
    request_failed(&rq, methods, -32000, &err); /* of the owner */
    rq.conn = &foreign;
    rq.session = other;
    has("dispatchd_sessions 1\n", true);
    has("dispatchd_unsent_bytes 5\n", true);
    has("dispatchd_connections 1\n", true);
    has("dispatchd_info", false);
    has("dispatchd_operator_calls_total", false);
    has("dispatchd_request_errors_total", false);
    request_failed(&rq, methods, -32000, &err);
    has("type=\"ValueError\"} 1\n", true);
    rq.conn = &c;
    rq.session = owner;
    has("type=\"ValueError\"} 2\n", true);
}
END_TEST

START_TEST(without_memory)
{
    bool hit = true;

    for (uint64_t n = 1; hit; n++) {
        char *got = NULL;
        size_t bytes = 0;
        dp_ctx_reset(rq.ctx);
        dp_fault_arm(n);
        int rc = scrape(&rq, &got, &bytes, &err);
        hit = dp_fault_hit();
        dp_fault_arm(0);
        ck_assert_int_eq(rc, hit ? DP_ERESOURCE : 0);
        dp_free(got);
    }
}
END_TEST

UNIT_SUITE(scrape)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, the_owner_sees_the_whole_daemon);
    tcase_add_test(tc, another_uid_sees_its_own_figures);
    tcase_add_test(tc, without_memory);
}
