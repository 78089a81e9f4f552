/* log_json.c -- writes an event as one JSON object: time, level, event, and the fields that the
 * format of log_event() names.
 *
 * A format is `key=value key='value' key="value"`, where a value, and a key too, may contain
 * conversions of printf().  The fields are found in the format, not in the printed text, so that
 * nothing in a text from a client can begin another field.  Values without quotes that are numbers
 * become numbers; all others become strings. */
#include "log_json.h"
#include <stdio.h>
#include <string.h>

/* bytes at the end of the line that fields leave free: for `"`, `}` and LF */
enum { END_BYTES = 4, VALUE_BYTES = 2048, SPEC_BYTES = 32, MAX_DIGITS = 28 };

typedef struct arguments { /* a struct, so that functions can advance it through a pointer */
    va_list ap;
} arguments;

static void put(log_json *j, char c)
{
    if (j->n < LOG_LINE_BYTES - END_BYTES)
        j->line[j->n++] = c;
}

static void put_text(log_json *j, const char *s)
{
    while (*s != '\0')
        put(j, *s++);
}

/* Write `n` characters, or none of them if they do not fit. */
static void put_whole(log_json *j, const char *s, size_t n)
{
    if (j->n + n > LOG_LINE_BYTES - END_BYTES)
        return;
    memcpy(j->line + j->n, s, n);
    j->n += n;
}

/* Return the length of the UTF-8 sequence at `s`, 2 to 4; 1: it is ASCII, or invalid. */
static size_t sequence(const unsigned char *s)
{
    size_t n = *s >= 0xf0 && *s < 0xf5 ? 4 : *s >= 0xe0 ? 3 : *s >= 0xc2 ? 2 : 1;
    uint32_t c = s[0] & (0x7fu >> n);

    if (n == 1 || *s >= 0xf5)
        return 1;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 1;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool shortest = c >= (n == 2 ? 0x80u : n == 3 ? 0x800u : 0x10000u);
    return shortest && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 1;
}

void log_json_string(log_json *j, const char *text)
{
    static const char hex[] = "0123456789abcdef";

    put(j, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        size_t n = sequence(s);
        if (n > 1 || (*s >= 0x20 && *s < 0x7f && *s != '"' && *s != '\\')) {
            put_whole(j, (const char *)s, n);
        } else if (*s == '"' || *s == '\\') {
            put_whole(j, (const char[]){'\\', (char)*s}, 2);
        } else if (*s < 0x80) {
            put_whole(j, (const char[]){'\\', 'u', '0', '0', hex[*s >> 4], hex[*s & 15]}, 6);
        } else {
            put_whole(j, "\\ufffd", 6); /* an invalid byte */
        }
        s += n;
    }
    /* the bytes that put() leaves free have room for this quote */
    j->line[j->n++] = '"';
}

void log_json_begin(log_json *j, const char *time, const char *level, const char *event)
{
    j->n = 0;
    put_text(j, "{\"time\":");
    log_json_string(j, time);
    put_text(j, ",\"level\":");
    log_json_string(j, level);
    put_text(j, ",\"event\":");
    log_json_string(j, event);
}

/* Is there room for a member with this key and a short value? */
static bool fits(const log_json *j, const char *key)
{
    return j->n + 6 * strlen(key) + 32 < LOG_LINE_BYTES - END_BYTES;
}

void log_json_member(log_json *j, const char *key, const char *value)
{
    if (!fits(j, key))
        return;
    put(j, ',');
    log_json_string(j, key);
    put(j, ':');
    log_json_string(j, value);
}

void log_json_number(log_json *j, const char *key, const char *digits)
{
    if (!fits(j, key))
        return;
    put(j, ',');
    log_json_string(j, key);
    put(j, ':');
    put_text(j, digits);
}

/* Is `s` a number of JSON? */
static bool is_number(const char *s)
{
    const char *from = s;
    size_t digits;

    s += *s == '-';
    digits = strspn(s, "0123456789");
    if (digits == 0 || (digits > 1 && *s == '0'))
        return false;
    s += digits;
    if (*s == '.') {
        digits = strspn(s + 1, "0123456789");
        if (digits == 0)
            return false;
        s += 1 + digits;
    }
    return *s == '\0' && s - from <= MAX_DIGITS;
}

/* Print one conversion, such as %llu, whose text `spec` ends with the letter `last`. */
static int print_one(char *out, size_t cap, const char *spec, char last, arguments *a)
{
    bool wide = strstr(spec, "ll") != NULL, is_long = !wide && strchr(spec, 'l') != NULL;

    switch (last) {
    case 's':
        return snprintf(out, cap, spec, va_arg(a->ap, const char *));
    case 'c':
        return snprintf(out, cap, spec, va_arg(a->ap, int));
    case 'p':
        return snprintf(out, cap, spec, va_arg(a->ap, void *));
    case 'f':
    case 'g':
        return snprintf(out, cap, spec, va_arg(a->ap, double));
    default:
        if (strchr(spec, 'z') != NULL)
            return snprintf(out, cap, spec, va_arg(a->ap, size_t));
        if (wide)
            return snprintf(out, cap, spec, va_arg(a->ap, long long));
        return is_long ? snprintf(out, cap, spec, va_arg(a->ap, long))
                       : snprintf(out, cap, spec, va_arg(a->ap, int));
    }
}

/* Print the format from `*f` to the first character of `ends` that is outside conversions, and
 * advance `*f` to that character. */
static void print_until(char *out, size_t cap, const char **f, const char *ends, arguments *a)
{
    char spec[SPEC_BYTES];
    size_t n = 0;

    while (**f != '\0' && strchr(ends, **f) == NULL) {
        if (**f != '%' || (*f)[1] == '%') {
            if (n + 1 < cap)
                out[n++] = **f;
            *f += **f == '%' ? 2 : 1;
            continue;
        }
        size_t m = 1 + strcspn(*f + 1, "sdiuxcpfg") + 1;
        if (m >= sizeof(spec))
            m = sizeof(spec) - 1;
        memcpy(spec, *f, m);
        spec[m] = '\0';
        *f += m;
        int printed = print_one(out + n, cap - n, spec, spec[m - 1], a);
        n += printed < 0 ? 0 : (size_t)printed < cap - n ? (size_t)printed : cap - n - 1;
    }
    out[n] = '\0';
}

void log_json_fields(log_json *j, const char *format, va_list ap)
{
    char key[128], value[VALUE_BYTES];
    arguments a;

    va_copy(a.ap, ap);
    for (const char *f = format; *f != '\0';) {
        f += strspn(f, " ");
        print_until(key, sizeof(key), &f, "= ", &a);
        if (*f != '=')
            continue; /* a word without a value */
        const char quote = f[1];
        bool quoted = quote == '\'' || quote == '"';
        f += quoted ? 2 : 1;
        print_until(value, sizeof(value), &f, quote == '\'' ? "'" : quoted ? "\"" : " ", &a);
        f += quoted && *f != '\0';
        if (quoted || !is_number(value))
            log_json_member(j, key, value);
        else
            log_json_number(j, key, value);
    }
    va_end(a.ap);
}

size_t log_json_end(log_json *j)
{
    j->line[j->n++] = '}';
    j->line[j->n++] = '\n';
    return j->n;
}
