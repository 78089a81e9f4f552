/* json_read.c -- strict JSON in.
 *
 * cJSON builds the tree, but it forgives much and its numbers are what strtod makes of them.  So
 * one pass over the text comes first and checks the whole grammar, UTF-8, depth, size and numbers;
 * what passes it fails in cJSON only for want of memory.  Duplicate members are found in the tree.
 */
#define _GNU_SOURCE
#include "method.h"
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scan {
    const char *s;
    size_t n, i;
    size_t nodes;
    unsigned depth;
    char closing[LIMIT_JSON_DEPTH]; /* what ends each open level: ']' or '}' */
    dp_error *err;
} scan;

size_t utf8_sequence(const char *s, size_t n)
{
    /* First byte's range, length, and the range of the second byte (Unicode table 3-7). */
    static const struct {
        unsigned char first, last, length, low, high;
    } rows[] = {
        {0x00, 0x7f, 1, 0x80, 0xbf},
        {0xc2, 0xdf, 2, 0x80, 0xbf},
        {0xe0, 0xe0, 3, 0xa0, 0xbf},
        {0xe1, 0xec, 3, 0x80, 0xbf},
        {0xed, 0xed, 3, 0x80, 0x9f},
        {0xee, 0xef, 3, 0x80, 0xbf},
        {0xf0, 0xf0, 4, 0x90, 0xbf},
        {0xf1, 0xf3, 4, 0x80, 0xbf},
        {0xf4, 0xf4, 4, 0x80, 0x8f},
    };
    const unsigned char *u = (const unsigned char *)s;

    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        if (u[0] < rows[r].first || u[0] > rows[r].last)
            continue;
        if (rows[r].length > n)
            return 0;
        for (size_t i = 1; i < rows[r].length; i++)
            if (u[i] < (i == 1 ? rows[r].low : 0x80) || u[i] > (i == 1 ? rows[r].high : 0xbf))
                return 0;
        return rows[r].length;
    }
    return 0;
}

/* -- the pass over the text -- */

static int fail(scan *x, size_t at, const char *what)
{
    return dp_error_set(x->err, DP_EVALUE, "%s at byte %zu", what, at + 1);
}

static int fail_char(scan *x, const char *expected)
{
    unsigned char c = x->i < x->n ? (unsigned char)x->s[x->i] : 0;

    if (x->i >= x->n)
        return dp_error_set(x->err, DP_EVALUE, "expected %s but the line ends at byte %zu",
                            expected, x->n);
    return dp_error_set(x->err, DP_EVALUE,
                        c > ' ' && c < 0x7f ? "expected %s but got '%c' at byte %zu"
                                            : "expected %s but got 0x%02x at byte %zu",
                        expected, c, x->i + 1);
}

static char peek(const scan *x)
{
    return x->i < x->n ? x->s[x->i] : '\0';
}

static void skip_space(scan *x)
{
    while (x->i < x->n && strchr(" \t\r\n", x->s[x->i]) != NULL && x->s[x->i] != '\0')
        x->i++;
}

/* The four digits of \uXXXX at i; -1: they are none. */
static int hex4(const scan *x, size_t i)
{
    int value = 0;

    if (x->n - i < 4)
        return -1;
    for (size_t k = i; k < i + 4; k++) {
        const char *digits = "0123456789abcdef", *at = memchr(digits, x->s[k] | 0x20, 16);
        if (at == NULL || x->s[k] < '0')
            return -1;
        value = value * 16 + (int)(at - digits);
    }
    return value;
}

static int scan_unicode(scan *x, size_t start)
{
    int high = hex4(x, x->i), low;

    if (high < 0)
        return fail(x, start, "\\u without four hexadecimal digits");
    if (high == 0)
        return fail(x, start, "\\u0000 in a string");
    x->i += 4;
    if (high < 0xd800 || high > 0xdfff)
        return 0;
    if (high > 0xdbff || x->n - x->i < 6 || memcmp(x->s + x->i, "\\u", 2) != 0)
        return fail(x, start, "lone surrogate");
    low = hex4(x, x->i + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return fail(x, start, "lone surrogate");
    x->i += 6;
    return 0;
}

static int scan_escape(scan *x)
{
    size_t start = x->i++;
    char c = peek(x);

    x->i++;
    if (c == 'u')
        return scan_unicode(x, start);
    if (c == '\0' || strchr("\"\\/bfnrt", c) == NULL)
        return fail(x, start, "unknown escape");
    return 0;
}

static int scan_string(scan *x)
{
    size_t start = x->i++, bytes;

    while (x->i < x->n) {
        unsigned char c = (unsigned char)x->s[x->i];
        if (c == '"') {
            x->i++;
            return 0;
        }
        if (c < 0x20)
            return fail(x, x->i, c == 0 ? "NUL in a string" : "control character in a string");
        if (c == '\\') {
            if (scan_escape(x) < 0)
                return DP_EVALUE;
            continue;
        }
        bytes = c < 0x80 ? 1 : utf8_sequence(x->s + x->i, x->n - x->i);
        if (bytes == 0)
            return fail(x, x->i, "invalid UTF-8");
        x->i += bytes;
    }
    return fail(x, start, "string without an end");
}

static size_t scan_digits(scan *x)
{
    size_t from = x->i;

    while (peek(x) >= '0' && peek(x) <= '9')
        x->i++;
    return x->i - from;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void set_up(void)
{
    cJSON_Hooks hooks = {dp_malloc, dp_free};

    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc's own object: cannot fail */
    cJSON_InitHooks(&hooks);
}

/* Text of a number that is grammatical and short: can it be held? */
static int check_number(scan *x, size_t start, bool integral)
{
    char text[LIMIT_JSON_NUMBER_BYTES + 1];
    size_t n = x->i - start;

    memcpy(text, x->s + start, n);
    text[n] = '\0';
    double d = strtod_l(text, NULL, c_locale);
    if (!isfinite(d))
        return fail(x, start, "number too large for a double");
    if (integral && fabs(d) >= (double)JSON_EXACT_INT)
        return fail(x, start, "bare integer of 2^53 or more: write {\"int\":\"...\"}");
    return 0;
}

static int scan_number(scan *x)
{
    size_t start = x->i, digits;
    bool integral = true;

    x->i += peek(x) == '-';
    char first = peek(x);
    digits = scan_digits(x);
    if (digits == 0)
        return fail_char(x, "a digit");
    if (digits > 1 && first == '0')
        return fail(x, start, "number with a leading zero");
    if (peek(x) == '.') {
        integral = false;
        x->i++;
        if (scan_digits(x) == 0)
            return fail_char(x, "a digit");
    }
    if ((peek(x) | 0x20) == 'e') {
        integral = false;
        x->i++;
        x->i += peek(x) == '+' || peek(x) == '-';
        if (scan_digits(x) == 0)
            return fail_char(x, "a digit");
    }
    if (x->i - start > LIMIT_JSON_NUMBER_BYTES)
        return dp_error_set(x->err, DP_EVALUE, "number of %zu characters, at most %d, at byte %zu",
                            x->i - start, LIMIT_JSON_NUMBER_BYTES, start + 1);
    return check_number(x, start, integral);
}

static int scan_word(scan *x)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
        size_t n = strlen(words[k]);
        if (x->n - x->i >= n && memcmp(x->s + x->i, words[k], n) == 0) {
            x->i += n;
            return 0;
        }
    }
    return fail_char(x, "a value");
}

static int scan_key(scan *x)
{
    skip_space(x);
    if (peek(x) != '"')
        return fail_char(x, "a member's name");
    if (scan_string(x) < 0)
        return DP_EVALUE;
    skip_space(x);
    if (peek(x) != ':')
        return fail_char(x, "':'");
    x->i++;
    return 0;
}

/* One value; of a container only its start, up to its first value: *inside. */
static int scan_value(scan *x, bool *inside)
{
    skip_space(x);
    *inside = false;
    if (++x->nodes > LIMIT_JSON_NODES)
        return dp_error_set(x->err, DP_EVALUE, "more than %d values", LIMIT_JSON_NODES);
    char c = peek(x);
    if (c == '"')
        return scan_string(x);
    if (c == '-' || (c >= '0' && c <= '9'))
        return scan_number(x);
    if (c != '{' && c != '[')
        return scan_word(x);
    if (x->depth == LIMIT_JSON_DEPTH)
        return dp_error_set(x->err, DP_EVALUE, "nested deeper than %d at byte %zu",
                            LIMIT_JSON_DEPTH, x->i + 1);
    x->closing[x->depth] = c == '{' ? '}' : ']';
    x->i++;
    skip_space(x);
    if (peek(x) == x->closing[x->depth]) {
        x->i++;
        return 0;
    }
    x->depth++;
    *inside = true;
    return c == '{' ? scan_key(x) : 0;
}

/* After a value: close what ends here; *more when another value follows. */
static int scan_after(scan *x, bool *more)
{
    *more = false;
    while (x->depth > 0) {
        char closing = x->closing[x->depth - 1];
        skip_space(x);
        if (peek(x) == ',') {
            x->i++;
            *more = true;
            return closing == '}' ? scan_key(x) : 0;
        }
        if (peek(x) != closing)
            return fail_char(x, closing == '}' ? "',' or '}'" : "',' or ']'");
        x->i++;
        x->depth--;
    }
    return 0;
}

static int scan_text(scan *x)
{
    bool more = true, inside;

    while (more) {
        if (scan_value(x, &inside) < 0)
            return DP_EVALUE;
        if (!inside && scan_after(x, &more) < 0)
            return DP_EVALUE;
    }
    skip_space(x);
    return x->i < x->n ? fail_char(x, "the end of the line") : 0;
}

/* -- duplicate members -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_members(const cJSON *object, size_t n, dp_error *err)
{
    const char *few[16], **names = few;
    const cJSON *m;
    size_t i = 0;
    int rc = 0;

    if (n > sizeof(few) / sizeof(few[0]))
        names = dp_malloc(n * sizeof(*names));
    if (names == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: an object with %zu members", n);
    cJSON_ArrayForEach(m, object) names[i++] = m->string;
    qsort(names, n, sizeof(*names), by_name);
    for (i = 1; i < n && rc == 0; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            rc = dp_error_set(err, DP_EVALUE, "duplicate member '%.100s'", names[i]);
    if (names != few)
        dp_free(names);
    return rc;
}

/* Recursion is bounded by LIMIT_JSON_DEPTH. */
static int check_duplicates(const cJSON *j, dp_error *err)
{
    const cJSON *child;
    size_t n = 0;

    cJSON_ArrayForEach(child, j)
    {
        int rc = child->child != NULL ? check_duplicates(child, err) : 0;
        if (rc < 0)
            return rc;
        n++;
    }
    return cJSON_IsObject(j) && n > 1 ? check_members(j, n, err) : 0;
}

int json_parse(const char *s, size_t n, cJSON **out, dp_error *err)
{
    scan x = {.s = s, .n = n, .err = err};
    int rc;

    pthread_once(&once, set_up);
    if (scan_text(&x) < 0)
        return DP_EVALUE;
    cJSON *root = cJSON_ParseWithLength(s, n);
    if (root == NULL)
        return dp_error_set(err, DP_ERESOURCE, "out of memory: a message of %zu bytes", n);
    rc = check_duplicates(root, err);
    if (rc < 0) {
        cJSON_Delete(root);
        return rc;
    }
    *out = root;
    return 0;
}
