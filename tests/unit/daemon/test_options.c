/* test_options.c -- the command line: every kind of option, its default, and what is wrong with
 * one. */
#include "options.h"
#include "unit.h"
#include <string.h>

static options o;
static dp_error err;

/* Parse the words behind the program's name, up to the first NULL. */
static int parse(char *a, char *b, char *c, char *d)
{
    char *argv[] = {"dispatchd", a, b, c, d, NULL};
    int argc = 1;

    while (argc < 5 && argv[argc] != NULL)
        argc++;
    dp_error_clear(&err);
    return options_parse(&o, argc, argv, &err);
}

START_TEST(defaults_without_options)
{
    ck_assert_int_eq(parse(NULL, NULL, NULL, NULL), 0);
    ck_assert_ptr_null(o.socket);
    ck_assert_int_eq(o.mode, 0600);
    ck_assert_int_eq(o.workers, 16);
    ck_assert_int_eq(o.limits[LIMIT_AT_LINE_BYTES], -1);
    ck_assert_int_eq(o.serve_fd, -1);
    ck_assert_int_eq(o.spin_us, 50);
    ck_assert_int_eq(o.log_level, LOG_INFO);
    ck_assert(!o.no_plugins && !o.help && !o.version);
    options_fini(&o);
}
END_TEST

START_TEST(options_of_every_kind)
{
    ck_assert_int_eq(parse("--mode", "0660", "--workers=3", "--no-plugins"), 0);
    ck_assert_int_eq(o.mode, 0660);
    ck_assert_int_eq(o.workers, 3);
    ck_assert(o.no_plugins);
    options_fini(&o);
    ck_assert_int_eq(parse("--socket", "/s", "--log-level", "debug"), 0);
    ck_assert_str_eq(o.socket, "/s");
    ck_assert_int_eq(o.log_level, LOG_DEBUG);
    options_fini(&o);
    ck_assert_int_eq(parse("--plugin", "a", "--plugin", "b"), 0);
    ck_assert_uint_eq(o.plugins.n, 2);
    ck_assert_str_eq(o.plugins.items[0], "a");
    ck_assert_str_eq(o.plugins.items[1], "b");
    options_fini(&o);
    ck_assert_uint_eq(o.plugins.n, 0);
}
END_TEST

static const struct {
    char *words[2];
    const char *message;
} wrong[] = {
    {{"--workers", "0"}, "--workers: expected a number from 1 to 256, got '0'"},
    {{"--workers", "3x"}, "--workers: expected a number from 1 to 256, got '3x'"},
    {{"--mode", "888"}, "--mode: expected an octal number from 0 to 777, got '888'"},
    {{"--log-level", "loud"}, "--log-level: expected error, warn, info or debug, got 'loud'"},
    {{"--socket", NULL}, "--socket needs a value"},
    {{"--sockets", NULL}, "unknown option --sockets"},
    {{"serve", NULL}, "unexpected argument 'serve'"},
};

START_TEST(wrong_options_are_named)
{
    ck_assert_int_eq(parse(wrong[_i].words[0], wrong[_i].words[1], NULL, NULL), DP_EVALUE);
    ck_assert_str_eq(err.message, wrong[_i].message);
    options_fini(&o);
}
END_TEST

UNIT_SUITE(options)
{
    tcase_add_test(tc, defaults_without_options);
    tcase_add_test(tc, options_of_every_kind);
    tcase_add_loop_test(tc, wrong_options_are_named, 0, sizeof(wrong) / sizeof(wrong[0]));
}
