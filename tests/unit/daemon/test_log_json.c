/* test_log_json.c -- events as JSON objects: every conversion that formats use, texts with anything
 * in them, and lines that are full. */
#include "json/json.h"
#include "log_json.h"
#include "unit.h"
#include <string.h>

static log_json j;

static __attribute__((format(printf, 1, 2))) const char *line(const char *format, ...)
{
    va_list ap;

    log_json_begin(&j, "T", "info", "e");
    va_start(ap, format);
    log_json_fields(&j, format, ap);
    va_end(ap);
    size_t n = log_json_end(&j);
    ck_assert_uint_le(n, LOG_LINE_BYTES);
    ck_assert_int_eq(j.line[n - 1], '\n');
    j.line[n - 1] = '\0';
    cJSON *root;
    dp_error err = DP_ERROR_INIT;
    ck_assert_msg(json_parse(j.line, n - 1, &root, &err) == 0, "%s: %s", err.message, j.line);
    json_free(root);
    return j.line + strlen("{\"time\":\"T\",\"level\":\"info\",\"event\":\"e\"");
}

START_TEST(fields_are_members)
{
    ck_assert_str_eq(line("plugin='%s' generation=%llu", "cpu", 3ull),
                     ",\"plugin\":\"cpu\",\"generation\":3}");
    ck_assert_str_eq(line("a=%d b=%u c=%ld d=%lld e=%zu", -1, 2u, 3l, 4ll, (size_t)5),
                     ",\"a\":-1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}");
    ck_assert_str_eq(line("ms=%.3f n=%.0f type=%s", 1.5, 7.0, "x"),
                     ",\"ms\":1.500,\"n\":7,\"type\":\"x\"}");
    ck_assert_str_eq(line("%s='%s' status=1 error=\"time is over\"", "blas", "5'6"),
                     ",\"blas\":\"5'6\",\"status\":1,\"error\":\"time is over\"}");
    ck_assert_str_eq(line("inf=%f share=5%%", 1.0 / 0.0), ",\"inf\":\"inf\",\"share\":\"5%\"}");
    ck_assert_str_eq(line("words alone"), "}");
}
END_TEST

START_TEST(texts_cannot_begin_fields)
{
    ck_assert_str_eq(line("a='%s' b=%d", "x' b=9 c='", 1), ",\"a\":\"x' b=9 c='\",\"b\":1}");
    ck_assert_str_eq(line("a=\"%s\"", "\"\\\n\x01\x7f"),
                     ",\"a\":\"\\\"\\\\\\u000a\\u0001\\u007f\"}");
    ck_assert_str_eq(line("a='%s'", "\xc3\xa4\xf0\x9f\x98\x80"),
                     ",\"a\":\"\xc3\xa4\xf0\x9f\x98\x80\"}");
    /* invalid UTF-8: a lone byte, a surrogate, a longer form, too large, cut */
    ck_assert_str_eq(line("a='%s'", "\xff|\xed\xa0\x80|\xc0\x80|\xf4\x90\x80\x80|\xe2\x82"),
                     ",\"a\":\"\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd"
                     "\\ufffd|\\ufffd\\ufffd\"}");
}
END_TEST

START_TEST(full_lines_stay_objects)
{
    static char text[10000];

    for (size_t n = 0; n < sizeof(text) - 1; n += n < 600 ? 1 : 37) {
        memset(text, n % 3 == 0 ? 'x' : n % 3 == 1 ? '\n' : '\xff', n);
        text[n] = '\0';
        line("a='%s' b='%s' c='%s' d='%s' e=%d", text, text, text, text, 7);
        line("%s='%s'", text, text);
    }
}
END_TEST

UNIT_SUITE(log_json)
{
    tcase_add_test(tc, fields_are_members);
    tcase_add_test(tc, texts_cannot_begin_fields);
    tcase_add_test(tc, full_lines_stay_objects);
}
