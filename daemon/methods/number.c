/* number.c -- reads numbers from JSON, also numbers that JSON cannot represent.
 *
 * nan, inf and -inf are written as strings.  An int64 may be a string of its digits, and must be
 * one if its magnitude is 2^53 or more. */
#include "methods.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If `s` is "nan", "inf" or "-inf", set `*out` to that value and return true. */
static bool special_float(const char *s, double *out)
{
    static const struct {
        const char *name;
        double value;
    } rows[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, s) == 0) {
            *out = rows[i].value;
            return true;
        }
    return false;
}

int double_from_json(const cJSON *j, const json_path *at, double *out, dp_error *err)
{
    *out = j->valuedouble;
    if (json_type(j) == cJSON_Number ||
        (json_type(j) == cJSON_String && special_float(j->valuestring, out)))
        return 0;
    if (cJSON_IsString(j))
        return json_path_fail(err, DP_EVALUE, at,
                              "expected a number, 'nan', 'inf' or '-inf' but got '%.64s'",
                              j->valuestring);
    return json_path_fail(err, DP_ETYPE, at, "expected a number but got %s", json_kind(j));
}

int int_from_json(const cJSON *j, const json_path *at, int64_t *out, dp_error *err)
{
    const char *s = j->valuestring;

    if (json_is_int(j)) {
        *out = (int64_t)j->valuedouble;
        return 0;
    }
    if (cJSON_IsNumber(j))
        return json_path_fail(err, DP_EVALUE, at, "expected an integer but got %.15g",
                              j->valuedouble);
    if (!cJSON_IsString(j))
        return json_path_fail(err, DP_ETYPE, at, "expected an integer but got %s", json_kind(j));
    const char *digits = s + (*s == '-');
    size_t n = strspn(digits, "0123456789");
    intmax_t i = strtoimax(s, NULL, 10);
    char back[24];
    snprintf(back, sizeof(back), "%" PRIdMAX, i);
    if (n == 0 || digits[n] != '\0')
        return json_path_fail(err, DP_EVALUE, at, "expected decimal digits but got '%.64s'", s);
    /* 18 digits always fit int64; a longer text is refused if it differs from the text of `i` */
    if (strcmp(back, s) != 0 && n > 18)
        return json_path_fail(err, DP_EVALUE, at, "%.64s does not fit int64", s);
    *out = i;
    return 0;
}
