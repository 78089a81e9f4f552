/* test_send.c -- answers leave whole and in order, as far as the socket and the turn of the loop
 * allow. */
#include "server.h"
#include "transport/parts.h"
#include "unit.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static server s;
static struct connection c;
static struct session *session;
static int client;
static dp_error err;

static void setup(void)
{
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    memset(&s, 0, sizeof(s));
    s.leaving = true; /* no worker frees long answers */
    sessions_init(&s.sessions, limit_defaults);
    session = session_new(&s.sessions, &err);
    c = (struct connection){.server = &s, .fd = fds[0], .refs = 1, .user = session_user(session)};
    client = fds[1];
}

static void teardown(void)
{
    close(c.fd);
    close(client);
    session_leave(session);
    sessions_fini(&s.sessions);
}

/* Queue an answer of n bytes `letter`, with an attachment of n_part more. */
static void answer(char letter, size_t n, size_t n_part)
{
    static char text[1 << 20];
    job *j = connection_job(&c, NULL, 0);

    ck_assert_ptr_nonnull(j);
    memset(text, letter, n);
    jw_init(&j->rq.out);
    jw_text(&j->rq.out, text, n);
    if (n_part > 0) {
        static const char zeros[1 << 20];
        int64_t size = (int64_t)n_part;
        dp_tensor *packed = NULL;
        ck_assert_int_eq(dp_tensor_from(session_account(session), DP_UINT8, DP_DEVICE_CPU, 1, &size,
                                        DP_UINT8, zeros, &packed, &err),
                         0);
        DP_VIEW(v, packed);
        j->rq.parts = dp_calloc(1, sizeof(*j->rq.parts));
        j->rq.parts[0] = (answer_part){packed, v.data, n_part};
        j->rq.n_parts = 1;
    }
    j->stage = JOB_ANSWERED;
    j->answer_bytes = n + n_part;
    atomic_fetch_add(&c.unsent, j->answer_bytes);
    connection_answer(&c, j);
}

static size_t received(char *to, size_t most)
{
    ssize_t n = recv(client, to, most, 0);

    return n > 0 ? (size_t)n : 0;
}

START_TEST(answers_leave_in_order)
{
    char text[16];

    answer('a', 2, 0);
    answer('b', 0, 0); /* of a notification */
    answer('c', 3, 2);
    ck_assert_uint_eq(c.outstanding, 3);
    connection_flush(&c);
    ck_assert_uint_eq(received(text, sizeof(text)), 7);
    ck_assert_mem_eq(text, "aaccc\0", 7);
    ck_assert_uint_eq(c.outstanding, 0);
    ck_assert_uint_eq(atomic_load(&c.unsent), 0);
    ck_assert(!c.blocked);
    ck_assert_int_eq(c.refs, 1); /* each job had one */
}
END_TEST

START_TEST(a_full_socket_blocks)
{
    static char text[1 << 20];
    size_t got = 0, n;

    answer('x', sizeof(text), 0);
    connection_flush(&c);
    ck_assert(c.blocked);
    ck_assert_uint_eq(c.outstanding, 1);
    while (c.out.head != NULL || got < sizeof(text)) {
        n = received(text, sizeof(text));
        ck_assert_uint_gt(n, 0);
        got += n;
        c.blocked = false;
        s.turn_bytes = 0;
        connection_undefer(&c);
        connection_flush(&c);
    }
    ck_assert_uint_eq(got, sizeof(text));
    ck_assert_uint_eq(c.outstanding, 0);
}
END_TEST

START_TEST(a_long_answer_waits_for_the_next_turn)
{
    char text[16];

    s.turn_bytes = TURN_BYTES; /* sent already, by whoever */
    answer('s', 3, 0);
    connection_flush(&c);
    ck_assert_uint_eq(received(text, sizeof(text)), 3); /* a short one does not wait */
    answer('l', LIMIT_INLINE_BYTES + 1, 0);
    connection_flush(&c);
    ck_assert(c.deferred && c.blocked);
    ck_assert_ptr_eq(s.deferred, &c);
    connection_undefer(&c);
    ck_assert_ptr_null(s.deferred);
    connection_job_free(job_pop(&c.out));
}
END_TEST

UNIT_SUITE(send)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, answers_leave_in_order);
    tcase_add_test(tc, a_full_socket_blocks);
    tcase_add_test(tc, a_long_answer_waits_for_the_next_turn);
}
