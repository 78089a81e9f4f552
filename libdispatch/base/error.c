/* error.c -- sets errors, and has the names and texts of the error codes. */
#include "base.h"
#include <stdio.h>

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define ROW(code, number, wire, text) {code, wire, text},
    DP_ERROR_MAP(ROW)
#undef ROW
};

const char *dp_error_name(int code)
{
    for (size_t i = 0; i < DPI_COUNT(errors); i++)
        if (errors[i].code == code)
            return errors[i].name;
    return NULL;
}

const char *dp_error_text(int code)
{
    for (size_t i = 0; i < DPI_COUNT(errors); i++)
        if (errors[i].code == code)
            return errors[i].text;
    return NULL;
}

/* Return the length of s[0..n) without a UTF-8 character that is cut in two at the end.  Messages
 * become JSON, which must be valid UTF-8. */
static size_t whole_characters(const char *s, size_t n)
{
    size_t lead = n;

    while (lead > 0 && n - lead < 4 && ((unsigned char)s[lead - 1] & 0xc0) == 0x80)
        lead--;
    if (lead == 0 || (unsigned char)s[lead - 1] < 0xc0)
        return n;
    unsigned char c = (unsigned char)s[lead - 1];
    size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    return n - (lead - 1) >= need ? n : lead - 1;
}

bool dpi_refuse_null(dp_error *err, int code, const char *function, const char *names, size_t i)
{
    for (; i > 0; i--)
        names = strchr(names, ',') + 2;
    dp_error_set(err, code, "%s: %.*s is NULL", function, (int)strcspn(names, ","), names);
    return false;
}

/* The limit that this thread's last error with the code `refused_code` is due to. */
static _Thread_local dp_refusal refused;
static _Thread_local int refused_code;

int dp_error_limit(int code, const char *limit, uint64_t most, uint64_t asked)
{
    refused = (dp_refusal){limit, most, asked};
    refused_code = code;
    return code;
}

const dp_refusal *dp_error_refusal(const dp_error *err)
{
    return refused.limit != NULL && refused_code == err->code ? &refused : NULL;
}

void dp_error_refusal_clear(void)
{
    refused.limit = NULL;
}

int dp_error_vset(dp_error *err, int code, const char *format, va_list ap)
{
    char message[DP_ERROR_MESSAGE_MAX]; /* a copy, because the arguments may point into *err */

    if (err == NULL)
        return code;
    if (code != refused_code) /* not a longer message for the same failure */
        dp_error_refusal_clear();
    int n = vsnprintf(message, sizeof(message), format != NULL ? format : "", ap);
    if (n < 0)
        message[0] = '\0';
    if (n >= (int)sizeof(message))
        message[whole_characters(message, sizeof(message) - 1)] = '\0';
    dp_error_clear(err);
    err->code = code;
    memcpy(err->message, message, strlen(message) + 1);
    return code;
}

int dp_error_set(dp_error *err, int code, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    dp_error_vset(err, code, format, ap);
    va_end(ap);
    return code;
}

void dp_error_clear(dp_error *err)
{
    err->size = sizeof(*err);
    err->code = DP_OK;
    err->written = 0;
    err->op[0] = err->key[0] = err->message[0] = '\0';
}

int dpi_no_memory(dp_error *err, const char *what)
{
    dp_error_refusal_clear();
    return dp_error_set(err, DP_ERESOURCE, "out of memory: %s", what);
}
