/* write.c -- writes the JSON text of answers into a buffer (docs/protocol.md).
 *
 * A writer (jw) owns its buffer.  Numbers are printed with the fewest digits that read back as the
 * same value of the element's dtype, whatever the locale of the process is. */
#include "json/text.h"
#include "daemon.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { JW_DEPTH_MAX = 64, JW_FIRST_BYTES = 512 };

void jw_init(jw *w)
{
    *w = (jw){0};
}

void jw_fini(jw *w)
{
    if (w->charged_account != NULL) {
        dp_account_refund(w->charged_account, DP_HOLDER_INTERMEDIATES, 0, w->charged_bytes);
        dp_account_close(w->charged_account);
    }
    dp_free(w->s);
    jw_init(w);
}

/* Charge the account for a buffer of `cap` bytes.  false: the account refused it. */
static bool charge_buffer(jw *w, size_t cap)
{
    if (w->account == NULL || cap <= LIMIT_SIZE(INLINE_BYTES))
        return true;
    w->refused = dp_account_charge(w->account, DP_HOLDER_INTERMEDIATES, 0, cap - w->charged_bytes,
                                   w->err) < 0;
    if (w->refused)
        return false;
    if (w->charged_account == NULL)
        w->charged_account = dp_account_ref(w->account);
    w->charged_bytes = cap;
    return true;
}

static bool grow(jw *w, size_t n)
{
    size_t cap = w->cap > JW_FIRST_BYTES ? w->cap : JW_FIRST_BYTES;

    if (w->failed)
        return false;
    while (cap - w->len < n)
        cap *= 2;
    char *s = w->len + n > LIMIT_SIZE(ANSWER_BYTES) || !charge_buffer(w, cap)
                  ? NULL
                  : dp_realloc(w->s, cap);
    w->failed = s == NULL;
    if (s == NULL)
        return false;
    w->s = s;
    w->cap = cap;
    return true;
}

/* Make sure that `n` more bytes fit.  false: writing has failed. */
static inline bool reserve(jw *w, size_t n)
{
    return (w->cap - w->len >= n && !w->failed) || grow(w, n);
}

bool jw_reserve(jw *w, size_t n)
{
    return reserve(w, n);
}

/* Copy `n` bytes by two copies of `part` bytes, one at the start and one at the end, which may
 * overlap.  part <= n <= 2 part. */
static inline __attribute__((always_inline)) void copy_ends(char *to, const char *from, size_t n,
                                                            size_t part)
{
    char first[8], last[8];

    memcpy(first, from, part);
    memcpy(last, from + n - part, part);
    memcpy(to, first, part);
    memcpy(to + n - part, last, part);
}

/* Copy `n` bytes; faster than memcpy() for short texts. */
static inline void copy(char *to, const char *from, size_t n)
{
    if (n > 16)
        memcpy(to, from, n);
    else if (n >= 8)
        copy_ends(to, from, n, 8);
    else if (n >= 4)
        copy_ends(to, from, n, 4);
    else if (n >= 2)
        copy_ends(to, from, n, 2);
    else if (n == 1)
        *to = *from;
}

void jw_text(jw *w, const char *s, size_t n)
{
    if (n > 0 && reserve(w, n)) {
        copy(w->s + w->len, s, n);
        w->len += n;
    }
}

static inline void put(jw *w, char c)
{
    if (reserve(w, 1))
        w->s[w->len++] = c;
}

/* Begin an element of the innermost open object or array: write a comma if that container has an
 * element already. */
static inline void begin_element(jw *w)
{
    uint64_t level = (uint64_t)1 << w->depth;

    if (w->comma & level)
        put(w, ',');
    w->comma |= level;
}

static void open_with(jw *w, char bracket)
{
    begin_element(w);
    put(w, bracket);
    if (w->depth + 1 >= JW_DEPTH_MAX)
        w->failed = true;
    else
        w->comma &= ~((uint64_t)1 << ++w->depth);
}

static void close_with(jw *w, char bracket)
{
    if (w->depth > 0)
        w->depth--;
    put(w, bracket);
}

void jw_object(jw *w)
{
    open_with(w, '{');
}

void jw_object_end(jw *w)
{
    close_with(w, '}');
}

void jw_array(jw *w)
{
    open_with(w, '[');
}

void jw_array_end(jw *w)
{
    close_with(w, ']');
}

void jw_raw(jw *w, const char *s, size_t n)
{
    begin_element(w);
    jw_text(w, s, n);
}

void jw_null(jw *w)
{
    jw_raw(w, "null", 4);
}

void jw_bool(jw *w, bool b)
{
    jw_raw(w, b ? "true" : "false", b ? 4 : 5);
}

/* -- strings -- */

static void escape(jw *w, unsigned char c)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = memchr(plain, c, sizeof(plain) - 1);
    char text[8];

    if (at != NULL)
        jw_text(w, (char[]){'\\', letters[at - plain]}, 2);
    else
        jw_text(w, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", c));
}

/* Write the first character of `s`, which needs an escape or a check (see plain_bytes()).  Returns
 * the address behind that character. */
static const char *put_special(jw *w, const char *s, size_t n)
{
    size_t bytes = utf8_sequence(s, n);

    if (bytes == 0)
        jw_text(w, "\xef\xbf\xbd", 3); /* U+FFFD replaces each byte that is not valid UTF-8 */
    else if (bytes > 1)
        jw_text(w, s, bytes);
    else
        escape(w, (unsigned char)*s);
    return s + (bytes > 0 ? bytes : 1);
}

static void write_quoted(jw *w, const char *s, size_t n)
{
    const char *end = s + n;

    put(w, '"');
    for (size_t plain; (plain = plain_bytes(s, (size_t)(end - s))) < (size_t)(end - s);) {
        jw_text(w, s, plain);
        s = put_special(w, s + plain, (size_t)(end - s) - plain);
    }
    jw_text(w, s, (size_t)(end - s));
    put(w, '"');
}

void jw_strn(jw *w, const char *s, size_t n)
{
    begin_element(w);
    write_quoted(w, s, n);
}

void jw_str(jw *w, const char *s)
{
    if (s == NULL)
        jw_null(w);
    else
        jw_strn(w, s, strlen(s));
}

void jw_keyn(jw *w, const char *name, size_t n)
{
    uint64_t level = (uint64_t)1 << w->depth;

    if (reserve(w, n + sizeof(",\"\":") - 1)) {
        char *p = w->s + w->len;
        if (w->comma & level)
            *p++ = ',';
        *p++ = '"';
        copy(p, name, n);
        memcpy(p + n, "\":", 2);
        w->len = (size_t)(p + n + 2 - w->s);
    }
    w->comma &= ~level; /* the value follows without a comma */
}

void jw_name(jw *w, const char *name)
{
    jw_str(w, name);
    put(w, ':');
    w->comma &= ~((uint64_t)1 << w->depth); /* the value follows without a comma */
}

/* -- integers -- */

void jw_int(jw *w, int64_t i)
{
    char text[1 + DIGITS_MAX], *end = text + sizeof(text);
    char *p = digits_of(i < 0 ? 0 - (uint64_t)i : (uint64_t)i, end);

    if (i < 0)
        *--p = '-';
    jw_raw(w, p, (size_t)(end - p));
}

void jw_value_int(jw *w, int64_t i)
{
    char text[40];

    if (is_exact_int(i))
        jw_int(w, i);
    else
        jw_raw(w, text, (size_t)snprintf(text, sizeof(text), "{\"int\":\"%" PRId64 "\"}", i));
}

/* -- members -- */

void member_strings(jw *w, const char *name, const char *const *strings, size_t n)
{
    jw_key(w, name);
    jw_array(w);
    for (size_t i = 0; i < n; i++)
        jw_str(w, strings[i]);
    jw_array_end(w);
}

/* -- floating point -- */

void jw_value_double(jw *w, double d)
{
    char text[ELEMENT_TEXT_MAX];
    size_t n = print_float(text, d, DP_FLOAT64);

    if (isfinite(d) && d != floor(d)) {
        jw_raw(w, text, n);
        return;
    }
    jw_object(w);
    jw_key(w, "float");
    jw_raw(w, text, n);
    jw_object_end(w);
}

/* -- elements -- */

void jw_element(jw *w, dp_dtype dtype, const void *p)
{
    char text[ELEMENT_TEXT_MAX];
    jw_raw(w, text, print_element(text, dtype, p));
}

void jw_elements(jw *w, dp_dtype dtype, const char *p, int64_t n)
{
    size_t item = dp_dtype_size(dtype);

    for (int64_t i = 0; i < n && reserve(w, ELEMENT_TEXT_MAX + 1); i++, p += item) {
        if (i > 0)
            w->s[w->len++] = ',';
        w->len += print_element(w->s + w->len, dtype, p);
    }
}
