/* text.c -- writes JSON text into the buffers of a request. */
#include "client.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXACT 9007199254740992.0 /* 2^53 */

void dpci_fault(dpc_request *r, int code, const char *format, ...)
{
    va_list ap;

    if (r->fault != 0)
        return;
    r->fault = code;
    va_start(ap, format);
    vsnprintf(r->message, sizeof(r->message), format, ap);
    va_end(ap);
}

void dpci_put_bytes(dpc_request *r, dpci_text *t, const char *s, size_t n)
{
    if (!dpci_reserve(t, n)) {
        dpci_fault(r, DPC_EMEMORY, "out of memory for a request of %zu bytes", t->len + n);
        return;
    }
    memcpy(t->at + t->len, s, n);
    t->len += n;
}

void dpci_put(dpc_request *r, dpci_text *t, const char *s)
{
    dpci_put_bytes(r, t, s, strlen(s));
}

void dpci_put_string(dpc_request *r, dpci_text *t, const char *s)
{
    char escape[8];

    dpci_put(r, t, "\"");
    while (*s != '\0') {
        size_t n = 0;
        while ((unsigned char)s[n] >= ' ' && s[n] != '"' && s[n] != '\\')
            n++;
        dpci_put_bytes(r, t, s, n);
        s += n;
        if (*s == '\0')
            break;
        snprintf(escape, sizeof(escape), *s == '"' || *s == '\\' ? "\\%c" : "\\u%04x",
                 (unsigned char)*s);
        dpci_put(r, t, escape);
        s++;
    }
    dpci_put(r, t, "\"");
}

void dpci_put_json(dpc_request *r, dpci_text *t, const char *json)
{
    size_t from = t->len;

    dpci_put(r, t, json);
    for (size_t i = from; i < t->len; i++)
        if (t->at[i] == '\n')
            t->at[i] = ' ';
}

void dpci_put_int(dpc_request *r, dpci_text *t, int64_t value)
{
    char s[24];
    snprintf(s, sizeof(s), "%" PRId64, value);
    dpci_put(r, t, s);
}

/* Write a finite double with 17 digits, which read back exactly, and with a decimal point whatever
 * the locale says.  The daemon refuses integers of 2^53 and more without an exponent. */
static void put_double(dpc_request *r, dpci_text *t, double value)
{
    char s[40];

    snprintf(s, sizeof(s), value < EXACT && value > -EXACT ? "%.17g" : "%.16e", value);
    for (char *p = s; *p != '\0'; p++)
        if (strchr("+-0123456789e", *p) == NULL)
            *p = '.';
    dpci_put(r, t, s);
}

void dpci_put_float(dpc_request *r, dpci_text *t, double value)
{
    if (value - value == 0)
        put_double(r, t, value);
    else
        dpci_put(r, t, value != value ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
}
