/* test_log.c -- one line an event, whatever the texts in it; levels; gates that count what they
 * leave out; and lines that are lost, because the log cannot be written. */
#include "daemon.h"
#include "unit.h"
#include <stdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char path[] = "/tmp/dispatchd-log-XXXXXX";
static char text[16384];
static dp_error err;

static void setup(void)
{
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(log_open(path, &err), 0);
    log_level_set(LOG_INFO);
}

static void teardown(void)
{
    unlink(path);
}

/* What the log holds. */
static const char *logged(void)
{
    FILE *f = fopen(path, "r");

    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

static size_t lines(const char *s)
{
    size_t n = 0;

    for (; *s != '\0'; s++)
        n += *s == '\n';
    return n;
}

START_TEST(an_event_is_one_line)
{
    log_event(LOG_WARN, "plugin.load", "plugin='%s' generation=%d", "a\nb\x01", 3);
    const char *line = logged();
    ck_assert_uint_eq(lines(line), 1);
    ck_assert_msg(strstr(line, "Z warn plugin.load plugin='a b ' generation=3\n") != NULL, "%s",
                  line);
    ck_assert_int_eq(line[4], '-');
    ck_assert_int_eq(line[10], 'T');
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    static char name[10000];

    memset(name, 'x', sizeof(name) - 1);
    log_event(LOG_INFO, "e", "name='%s'", name);
    ck_assert_uint_eq(lines(logged()), 1);
    ck_assert_uint_le(strlen(text), 4096);
}
END_TEST

START_TEST(levels_below_are_left_out)
{
    log_event(LOG_DEBUG, "quiet", "x=1");
    ck_assert_str_eq(logged(), "");
    log_level_set(LOG_DEBUG);
    log_event(LOG_DEBUG, "loud", "x=1");
    ck_assert_uint_eq(lines(logged()), 1);
    log_level_set(LOG_ERROR);
    log_event(LOG_WARN, "quiet", "x=1");
    ck_assert_uint_eq(lines(logged()), 1);
}
END_TEST

START_TEST(a_gate_lets_one_line_pass_and_counts_the_others)
{
    static log_gate gate = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

    for (int i = 0; i < 5; i++)
        log_gated(&gate, LOG_INFO, "often", "i=%d", i);
    ck_assert_uint_eq(lines(logged()), 1);
    gate.open_at = 0;
    log_gated(&gate, LOG_INFO, "often", "i=%d", 5);
    ck_assert_uint_eq(lines(logged()), 2);
    ck_assert_ptr_nonnull(strstr(text, "often left_out=4 i=5\n"));
}
END_TEST

/* Let writes to files fail behind their first `bytes` bytes, as a full file system does. */
static void limit_file(rlim_t bytes)
{
    struct rlimit r;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

START_TEST(lost_lines_are_counted)
{
    log_event(LOG_INFO, "first", "x=1");
    size_t bytes = strlen(logged());
    limit_file(bytes + 10); /* ten bytes of the next line are written */
    for (int i = 0; i < 3; i++)
        log_event(LOG_INFO, "lost", "i=%d", i);
    ck_assert_uint_eq(strlen(logged()), bytes + 10);
    limit_file(RLIM_INFINITY);
    log_event(LOG_INFO, "next", "x=2");
    log_event(LOG_INFO, "last", "x=3");
    ck_assert_uint_eq(lines(logged()), 5);
    ck_assert_int_eq(text[bytes + 10], '\n');
    ck_assert_msg(strstr(text, "Z warn log.lost lines=3\n") != NULL, "%s", text);
    ck_assert_msg(strstr(text, " next x=2\n") < strstr(text, " last x=3\n"), "%s", text);
}
END_TEST

START_TEST(a_full_pipe_loses_lines_and_holds_up_nobody)
{
    int ends[2], before = dup(STDERR_FILENO);
    static char drained[1 << 20];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(log_open(NULL, &err), 0); /* standard error */
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    for (int i = 0; i < 20000; i++)
        log_event(LOG_INFO, "many", "i=%d", i);
    ck_assert_int_gt(read(ends[0], drained, sizeof(drained)), 0);
    log_event(LOG_INFO, "next", "x=2");
    ssize_t n = read(ends[0], text, sizeof(text) - 1);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
    ck_assert_msg(strstr(text, " warn log.lost lines=") != NULL, "%s", text);
    ck_assert_msg(strstr(text, " next x=2\n") != NULL, "%s", text);
    ck_assert_int_eq(dup2(before, STDERR_FILENO), STDERR_FILENO);
}
END_TEST

START_TEST(a_log_that_cannot_be_opened_is_an_error)
{
    ck_assert_int_eq(log_open("/nowhere/at/all", &err), DP_ERUNTIME);
    ck_assert_ptr_nonnull(strstr(err.message, "log '/nowhere/at/all': "));
}
END_TEST

UNIT_SUITE(log)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_event_is_one_line);
    tcase_add_test(tc, a_long_line_is_cut);
    tcase_add_test(tc, levels_below_are_left_out);
    tcase_add_test(tc, a_gate_lets_one_line_pass_and_counts_the_others);
    tcase_add_test(tc, lost_lines_are_counted);
    tcase_add_test(tc, a_full_pipe_loses_lines_and_holds_up_nobody);
    tcase_add_test(tc, a_log_that_cannot_be_opened_is_an_error);
}
