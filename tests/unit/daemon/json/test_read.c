/* test_read.c -- what is refused, with its place, and that the rest means what it says. */
#include "methods/methods.h"
#include "unit.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct {
    const char *in, *error;
} refused[] = {
    {"", "expected a value but the line ends at byte 0"},
    {"  ", "expected a value but the line ends at byte 2"},
    {"nul", "expected a value but got 'n' at byte 1"},
    {"{", "expected a member's name but the line ends at byte 1"},
    {"[1,]", "expected a value but got ']' at byte 4"},
    {"[1 2]", "expected ',' or ']' but got '2' at byte 4"},
    {"{\"a\" 1}", "expected ':' but got '1' at byte 6"},
    {"{\"a\":1,}", "expected a member's name but got '}' at byte 8"},
    {"{a:1}", "expected a member's name but got 'a' at byte 2"},
    {"[1}", "expected ',' or ']' but got '}' at byte 3"},
    {"{} x", "expected the end of the line but got 'x' at byte 4"},
    {"[1][2]", "expected the end of the line but got '[' at byte 4"},
    {"01", "number with a leading zero at byte 1"},
    {"-01", "number with a leading zero at byte 1"},
    {"+1", "expected a value but got '+' at byte 1"},
    {".5", "expected a value but got '.' at byte 1"},
    {"1.", "expected a digit but the line ends at byte 2"},
    {"1e", "expected a digit but the line ends at byte 2"},
    {"-", "expected a digit but the line ends at byte 1"},
    {"NaN", "expected a value but got 'N' at byte 1"},
    {"1e309", "number too large for a double at byte 1"},
    {"[-1e400]", "number too large for a double at byte 2"},
    {"9007199254740992", "bare integer of 2^53 or more: write {\"int\":\"...\"} at byte 1"},
    {"{\"a\":{\"id\":9007199254740992}}", "bare integer of 2^53 or more: write {\"int\":\"...\"} "
                                          "at byte 12"},
    {"-9007199254740992", "bare integer of 2^53 or more: write {\"int\":\"...\"} at byte 1"},
    {"\"a", "string without an end at byte 1"},
    {"\"\n\"", "control character in a string at byte 2"},
    {"\"\\x\"", "unknown escape at byte 2"},
    {"\"\\u12g4\"", "\\u without four hexadecimal digits at byte 2"},
    {"\"\\u12\"", "\\u without four hexadecimal digits at byte 2"},
    {"\"\\u0000\"", "\\u0000 in a string at byte 2"},
    {"\"\\ud800\"", "lone surrogate at byte 2"},
    {"\"\\ud800\\u0041\"", "lone surrogate at byte 2"},
    {"\"\\udc00\"", "lone surrogate at byte 2"},
    {"\"\xff\"", "invalid UTF-8 at byte 2"},
    {"\"\xc0\x80\"", "invalid UTF-8 at byte 2"},
    {"\"\xed\xa0\x80\"", "invalid UTF-8 at byte 2"},
    {"\"\xf4\x90\x80\x80\"", "invalid UTF-8 at byte 2"},
    {"\"\xe2\x82\"", "invalid UTF-8 at byte 2"},
    {"\xef\xbb\xbf{}", "expected a value but got 0xef at byte 1"},
    {"{\"a\":1,\"a\":2}", "duplicate member 'a'"},
    {"[{\"b\":{\"c\":1,\"d\":1,\"\\u0063\":2}}]", "duplicate member 'c'"},
    {"0000000000000000000000000000000000000000000000000000000000000000000000",
     "number with a leading zero at byte 1"},
    {"0.0000000000000000000000000000000000000000000000000000000000000000000001",
     "number of 72 characters, at most 63 (json_number_bytes), at byte 1"},
};

START_TEST(refused_with_its_place)
{
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;

    ck_assert_int_eq(json_parse(refused[_i].in, strlen(refused[_i].in), &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, refused[_i].error);
    ck_assert_ptr_eq(j, NULL);
}
END_TEST

static const char *const accepted[] = {
    "null",
    "true",
    " [ ] ",
    "{}",
    "\"\"",
    "0",
    "-0",
    "1e2",
    "1E+2",
    "-1.5e-3",
    "9007199254740991",
    "1e308",
    "9007199254740992.0",
    "{\"id\":9007199254740992}",
    "[1,{\"id\":-9007199254740992}]",
    "[[],{},\"\\ud83d\\ude00\"]",
    "{\"a\":{\"a\":1},\"b\":[{\"a\":2}]}",
    "\"\xf0\x9f\x98\x80\"",
    "\t{\"a\":1}\r",
};

START_TEST(accepted_as_it_is)
{
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;

    ck_assert_msg(json_parse(accepted[_i], strlen(accepted[_i]), &j, &err) == 0, "%s: %s",
                  accepted[_i], err.message);
    json_free(j);
}
END_TEST

START_TEST(nul_in_the_line)
{
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;

    ck_assert_int_eq(json_parse("\"a\0b\"", 5, &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "NUL in a string at byte 3");
    ck_assert_int_eq(json_parse("[1\0]", 4, &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "expected ',' or ']' but got 0x00 at byte 3");
}
END_TEST

START_TEST(strings_are_unescaped)
{
    const char *in = "{\"\\u00e9\\n\":\"a long one without, then \\\"\\\\\\/\\b\\f\\n\\r\\t "
                     "\\u0041\\u00DF\\u20ac\\ud83d\\ude00 \xc3\xa9 plain again\",\"\":\"\"}";
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;

    ck_assert_int_eq(json_parse(in, strlen(in), &j, &err), 0);
    ck_assert_str_eq(j->child->string, "\xc3\xa9\n");
    ck_assert_str_eq(j->child->valuestring,
                     "a long one without, then \"\\/\b\f\n\r\t A\xc3\x9f\xe2\x82\xac"
                     "\xf0\x9f\x98\x80 \xc3\xa9 plain again");
    ck_assert_str_eq(j->child->next->string, "");
    ck_assert_str_eq(j->child->next->valuestring, "");
    ck_assert_ptr_eq(j->child->next->next, NULL);
    json_free(j);
}
END_TEST

/* Digits without and with a point and an exponent, fewer and more than a double holds. */
START_TEST(numbers_are_those_of_the_c_library)
{
    enum { NUMBERS = 20000 };
    dp_error err = DP_ERROR_INIT;
    char text[64];

    srand(7);
    for (int i = 0; i < NUMBERS; i++) {
        cJSON *j = NULL;
        char *p = text + sprintf(text, rand() % 2 ? "-%d" : "%d", rand() % 2 ? rand() : 0);
        if (rand() % 2)
            p += sprintf(p, ".%0*d", rand() % 14 + 1, rand());
        if (rand() % 4 == 0)
            sprintf(p, "e%d", rand() % 100 - 50);
        double expected = strtod(text, NULL);
        ck_assert_int_eq(json_parse(text, strlen(text), &j, &err), 0);
        ck_assert_msg(memcmp(&j->valuedouble, &expected, sizeof(expected)) == 0,
                      "%s: %.17g, expected %.17g", text, j->valuedouble, expected);
        json_free(j);
    }
}
END_TEST

static char *repeat(const char *s, int n, const char *middle, const char *end)
{
    char *out = dp_malloc((size_t)n * (strlen(s) + strlen(end)) + strlen(middle) + 1), *p = out;

    for (int i = 0; i < n; i++)
        p = stpcpy(p, s);
    p = stpcpy(p, middle);
    for (int i = 0; i < n; i++)
        p = stpcpy(p, end);
    return out;
}

START_TEST(depth_is_limited)
{
    dp_error err = DP_ERROR_INIT;
    cJSON *j = NULL;
    char *deepest = repeat("[", LIMIT_JSON_DEPTH, "", "]");
    char *deeper = repeat("{\"a\":", LIMIT_JSON_DEPTH, "[]", "}");
    char *bomb = repeat("[", 500000, "", "]");

    ck_assert_int_eq(json_parse(deepest, strlen(deepest), &j, &err), 0);
    json_free(j);
    ck_assert_int_eq(json_parse(deeper, strlen(deeper), &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "nested 129 deep, at most 128 (json_depth), at byte 641");
    ck_assert_int_eq(json_parse(bomb, strlen(bomb), &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "nested 129 deep, at most 128 (json_depth), at byte 129");
    dp_free(deepest);
    dp_free(deeper);
    dp_free(bomb);
}
END_TEST

START_TEST(many_members_are_compared_fast)
{
    enum { N = 50000 };
    dp_error err = DP_ERROR_INIT;
    char *s = dp_malloc(N * 16), *p = s;
    cJSON *j = NULL;

    for (int i = 0; i < N; i++)
        p += sprintf(p, "%c\"%d\":0", i ? ',' : '{', i == N - 1 ? 7 : i);
    sprintf(p, "}");
    ck_assert_int_eq(json_parse(s, strlen(s), &j, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "duplicate member '7'");
    dp_free(s);
}
END_TEST

/* Whichever allocation fails, it is said and nothing leaks (the address sanitizer looks). */
START_TEST(no_memory_is_an_error)
{
    /* objects whose members are sorted, and more values than there is room for at first */
    enum { OBJECTS = 40, VALUES = 2000 };
    static const char object[] =
        "{\"a\":[1,\"x\",{\"b\":null,\"c\":true}],\"d\":2,\"e\":3,\"f\":4,\"g\":5,\"h\":6,"
        "\"i\":7,\"j\":8,\"k\":9,\"l\":0,\"m\":1,\"n\":2,\"o\":3,\"p\":4,\"q\":5,\"r\":6},";
    static char s[OBJECTS * sizeof(object) + VALUES * sizeof("0,") + sizeof("[0]")];
    dp_error err = DP_ERROR_INIT;
    int failed = 0;

    char *p = stpcpy(s, "[");
    for (int i = 0; i < OBJECTS; i++)
        p = stpcpy(p, object);
    for (int i = 0; i < VALUES; i++)
        p = stpcpy(p, "0,");
    stpcpy(p, "0]");

    for (uint64_t n = 1;; n++) {
        cJSON *j = NULL;
        dp_fault_arm(n);
        int rc = json_parse(s, strlen(s), &j, &err);
        bool hit = dp_fault_hit();
        dp_fault_arm(0);
        if (!hit) {
            ck_assert_int_eq(rc, 0);
            json_free(j);
            break;
        }
        ck_assert_int_eq(rc, DP_ERESOURCE);
        failed++;
    }
    ck_assert_int_gt(failed, 30);
}
END_TEST

/* proto/examples: y_ is read, n_parse_ is not; the others are for a whole daemon. */
START_TEST(examples)
{
    DIR *d = opendir("proto/examples");
    char path[512], line[1 << 16];
    int seen = 0;

    ck_assert_ptr_ne(d, NULL);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        dp_error err = DP_ERROR_INIT;
        cJSON *j = NULL;
        if (strncmp(e->d_name, "y_", 2) != 0 && strncmp(e->d_name, "n_parse_", 8) != 0)
            continue;
        snprintf(path, sizeof(path), "proto/examples/%s", e->d_name);
        FILE *f = fopen(path, "r");
        size_t n = fread(line, 1, sizeof(line), f);
        fclose(f);
        n -= n > 0 && line[n - 1] == '\n';
        int rc = json_parse(line, n, &j, &err);
        ck_assert_msg((rc == 0) == (e->d_name[0] == 'y'), "%s: %s", e->d_name, err.message);
        json_free(j);
        seen++;
    }
    closedir(d);
    ck_assert_int_gt(seen, 20);
}
END_TEST

START_TEST(values_are_limited)
{
    size_t n = 2 * (size_t)LIMIT_JSON_NODES + 2; /* [0,0,...]: the list is a value, too */
    char *line = malloc(n);
    cJSON *root = NULL;
    dp_error err = DP_ERROR_INIT;

    for (size_t i = 0; i < n; i += 2)
        memcpy(line + i, ",0", 2);
    line[0] = '[';
    line[n - 1] = ']';
    ck_assert_int_eq(json_parse(line, n, &root, &err), DP_EVALUE);
    ck_assert_str_eq(err.message, "1048577 values or more, at most 1048576 (json_nodes)");
    free(line);
}
END_TEST

UNIT_SUITE(json_read)
{
    tcase_add_loop_test(tc, refused_with_its_place, 0, COUNT(refused));
    tcase_add_loop_test(tc, accepted_as_it_is, 0, COUNT(accepted));
    tcase_add_test(tc, nul_in_the_line);
    tcase_add_test(tc, strings_are_unescaped);
    tcase_add_test(tc, numbers_are_those_of_the_c_library);
    tcase_add_test(tc, depth_is_limited);
    tcase_add_test(tc, many_members_are_compared_fast);
    tcase_add_test(tc, no_memory_is_an_error);
    tcase_add_test(tc, examples);
    tcase_add_test(tc, values_are_limited);
}
