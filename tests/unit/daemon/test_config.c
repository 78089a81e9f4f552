/* test_config.c -- config files: what they set, who wins, and every way in which one can be
 * wrong. */
#include "options.h"
#include "unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/dispatchd-config-XXXXXX";
static options o;
static dp_error err;

static void setup(void)
{
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void teardown(void)
{
    options_fini(&o);
    unlink(path);
}

static void write_config(const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
    ck_assert_int_eq(fclose(f), 0);
}

/* Parse the options `a` and `b`, if they are not NULL, with a config file that has this text. */
static int parse(const char *text, char *a, char *b)
{
    char *argv[] = {"dispatchd", "--config", path, a, b, NULL};

    write_config(text, strlen(text));
    dp_error_clear(&err);
    return options_parse(&o, a == NULL ? 3 : b == NULL ? 4 : 5, argv, &err);
}

START_TEST(a_config_sets_options_and_limits)
{
    ck_assert_int_eq(parse("# a comment\n\n  socket = /run/a b.sock \r\n\tworkers=3\nmode = 0660\n"
                           "plugin = a\nplugin = b\nno-plugins = true\nallow-uid = 7\n"
                           "allow-uid = 9\nlog-format = json\nmax-line = 2 KiB\n"
                           "linger_ms = 5 s\nsessions = 17",
                           NULL, NULL),
                     0);
    ck_assert_str_eq(o.socket, "/run/a b.sock");
    ck_assert_int_eq(o.workers, 3);
    ck_assert_int_eq(o.mode, 0660);
    ck_assert_uint_eq(o.plugins.n, 2);
    ck_assert_str_eq(o.plugins.items[1], "b");
    ck_assert(o.no_plugins);
    ck_assert_uint_eq(o.allow_uids.n, 2);
    ck_assert_int_eq(o.allow_uids.items[1], 9);
    ck_assert_int_eq(o.log_format, LOG_JSON);
    ck_assert_int_eq(o.limits[LIMIT_AT_LINE_BYTES], 2048);
    ck_assert_int_eq(o.limits[LIMIT_AT_LINGER_MS], 5000);
    ck_assert_int_eq(o.limits[LIMIT_AT_SESSIONS], 17);
    ck_assert_int_eq(o.limits[LIMIT_AT_BATCH], -1);
}
END_TEST

START_TEST(the_command_line_wins)
{
    ck_assert_int_eq(
        parse("workers = 3\nplugin = a\nline_bytes = 4096\n", "--workers=5", "--plugin=c"), 0);
    ck_assert_int_eq(o.workers, 5);
    ck_assert_uint_eq(o.plugins.n, 1);
    ck_assert_str_eq(o.plugins.items[0], "c");
    ck_assert_int_eq(o.limits[LIMIT_AT_LINE_BYTES], 4096);
    options_fini(&o);
    ck_assert_int_eq(parse("line_bytes = 4096\n", "--max-line=8192", NULL), 0);
    ck_assert_int_eq(o.limits[LIMIT_AT_LINE_BYTES], 8192);
    options_fini(&o);
    /* what does not count is checked, too */
    ck_assert_int_eq(parse("workers = many\n", "--workers=5", NULL), DP_EVALUE);
    ck_assert_int_eq(o.workers, 5);
}
END_TEST

START_TEST(every_settable_limit_can_be_set)
{
    char text[256];

    for (size_t i = 0; i < LIMITS; i++) {
        limit_range r = limits_range(i);
        snprintf(text, sizeof(text), "%s = %lld\n", limit_names[i], (long long)r.low);
        int rc = parse(text, NULL, NULL);
        if (r.high != 0) {
            ck_assert_msg(rc == 0, "%s", err.message);
            ck_assert_int_eq(o.limits[i], r.low);
        } else if (strcmp(limit_names[i], "workers") != 0) { /* which is an option, too */
            ck_assert_int_eq(rc, DP_EVALUE);
            ck_assert_msg(strstr(err.message, "this limit is fixed at") != NULL, "%s", err.message);
        }
        options_fini(&o);
    }
}
END_TEST

static const struct {
    const char *text, *message; /* `message` follows the path and ':' */
} wrong[] = {
    {"a\n", "1: expected 'key = value', got 'a'"},
    {"\n\nwalkers = 3\n", "3: walkers: unknown key, expected an option of dispatchd --help or a "
                          "limit of server.hello, got value '3'"},
    {"workers =\n", "1: workers: expected a value after '='"},
    {"workers = 0\n", "1: workers: expected a number from 1 to 256, got '0'"},
    {"mode = rw\n", "1: mode: expected an octal number from 0 to 777, got 'rw'"},
    {"no-plugins = yes\n", "1: no-plugins: expected false or true, got 'yes'"},
    {"log-format = xml\n", "1: log-format: expected text or json, got 'xml'"},
    {"linger_ms = 5 MiB\n", "1: linger_ms: expected a number of milliseconds from 0 to 31622400000 "
                            "(a unit may follow: ms, "
                            "s, min or h), got '5 MiB'"},
    {"json_depth = 129\n", "1: json_depth: expected a number from 16 to 128, got '129'"},
    {"workers = 1\nworkers = 2\n",
     "2: workers: an earlier line has set this key, expected it once, got value '2' again"},
    {"max-line = 1024\nline_bytes = 1024\n",
     "2: line_bytes: an earlier line has set this key, expected it once, got value '1024' again"},
    {"config = x\n", "1: config: only the command line may have this option, got value 'x'"},
    {"serve-fd = 3\n", "1: serve-fd: only the command line may have this option, got value '3'"},
    {"dimensions = 3\n", "1: dimensions: this limit is fixed at 64, expected a limit that can be "
                         "set, got '3'"},
};

START_TEST(wrong_lines_are_named)
{
    char message[512];

    ck_assert_int_eq(parse(wrong[_i].text, NULL, NULL), DP_EVALUE);
    snprintf(message, sizeof(message), "%s:%s", path, wrong[_i].message);
    ck_assert_str_eq(err.message, message);
}
END_TEST

static char reported[4096];
static void report(const char *message)
{
    strcat(strcat(reported, message), "|");
}

START_TEST(every_wrong_line_is_reported)
{
    char text[1024] = "", expected[2048];

    ck_assert_int_eq(parse("workers = 0\nsessions = 3\nwhat\n", NULL, NULL), DP_EVALUE);
    ck_assert_uint_eq(o.wrong.n, 2);
    options_report(&o, &err, report);
    snprintf(
        expected, sizeof(expected),
        "%s:1: workers: expected a number from 1 to 256, got '0'|%s:3: expected 'key = value', "
        "got 'what'|",
        path, path);
    ck_assert_str_eq(reported, expected);
    options_fini(&o);
    for (int i = 0; i < WRONG_LINES + 2; i++)
        strcat(text, "what\n");
    reported[0] = '\0';
    ck_assert_int_eq(parse(text, NULL, NULL), DP_EVALUE);
    options_report(&o, &err, report);
    snprintf(expected, sizeof(expected),
             "%s:16: expected 'key = value', got 'what'|%s: 2 more lines are wrong|", path, path);
    ck_assert_msg(strstr(reported, expected) != NULL, "%s", reported);
    options_fini(&o);
    reported[0] = '\0';
    ck_assert_int_eq(parse("what\n", "--workers=0", NULL), DP_EVALUE);
    options_report(&o, &err, report);
    ck_assert_str_eq(reported, "--workers: expected a number from 1 to 256, got '0'|");
}
END_TEST

START_TEST(a_config_at_the_nth_allocation_that_fails)
{
    int rc = DP_ERESOURCE;

    for (uint64_t n = 1; rc == DP_ERESOURCE; n++) {
        dp_fault_arm(n);
        rc = parse("plugin = a\nworkers = 0\nwhat\n", NULL, NULL);
        dp_fault_arm(0);
        ck_assert_msg(rc == DP_ERESOURCE || rc == DP_EVALUE, "%s", err.message);
        ck_assert_uint_eq(o.wrong.n == 2, rc == DP_EVALUE);
        options_fini(&o);
        ck_assert_uint_lt(n, 10);
    }
}
END_TEST

static void refuse(int code, const char *message)
{
    char *argv[] = {"dispatchd", "--config", path, NULL};

    dp_error_clear(&err);
    ck_assert_int_eq(options_parse(&o, 3, argv, &err), code);
    ck_assert_msg(strstr(err.message, message) != NULL, "%s", err.message);
    options_fini(&o);
}

START_TEST(files_that_are_no_config)
{
    static char large[(64 << 10) + 1];

    memset(large, '\n', sizeof(large));
    write_config(large, sizeof(large) - 1);
    char *argv[] = {"dispatchd", "--config", path, NULL};
    ck_assert_int_eq(options_parse(&o, 3, argv, &err), 0);
    options_fini(&o);
    write_config(large, sizeof(large));
    refuse(DP_EVALUE, "more than 65536 bytes");
    write_config("socket = a\0b\n", 13);
    refuse(DP_EVALUE, "byte 11 is NUL, expected text");
    unlink(path);
    refuse(DP_ERUNTIME, "No such file or directory");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refuse(DP_ERUNTIME, "not a regular file");
}
END_TEST

START_TEST(options_of_the_start_are_compared)
{
    options was;

    ck_assert_int_eq(parse("socket = a\nworkers = 3\nplugin = p\nno-plugins = true\n", NULL, NULL),
                     0);
    was = o;
    ck_assert_int_eq(parse("socket = a\nworkers = 3\nplugin = p\nno-plugins = true\nsessions = 3\n"
                           "log-level = debug\n",
                           NULL, NULL),
                     0);
    options_need_restart(&was, &o, report);
    ck_assert_str_eq(reported, "");
    options_fini(&o);
    ck_assert_int_eq(parse("socket = b\nworkers = 4\nplugin = p\nplugin = q\n", NULL, NULL), 0);
    options_need_restart(&was, &o, report);
    ck_assert_str_eq(reported, "socket|plugin|no-plugins|workers|");
    options_fini(&was);
}
END_TEST

UNIT_SUITE(config)
{
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_config_sets_options_and_limits);
    tcase_add_test(tc, the_command_line_wins);
    tcase_add_test(tc, every_settable_limit_can_be_set);
    tcase_add_loop_test(tc, wrong_lines_are_named, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tc, every_wrong_line_is_reported);
    tcase_add_test(tc, a_config_at_the_nth_allocation_that_fails);
    tcase_add_test(tc, files_that_are_no_config);
    tcase_add_test(tc, options_of_the_start_are_compared);
}
