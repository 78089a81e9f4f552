/* error.c -- describes failures, and grows buffers. */
#include "client.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copy as much of `from` as fits into `to` [bytes].  Text that is cut ends in "...", and not inside
 * a UTF-8 character. */
static void copy_text(char *to, size_t bytes, const char *from)
{
    size_t n = strlen(from);

    if (n < bytes) {
        memcpy(to, from, n + 1);
        return;
    }
    n = bytes - sizeof("...");
    while (n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
        n--;
    memcpy(to, from, n);
    memcpy(to + n, "...", sizeof("..."));
}

int dpci_fail(dpc_error *err, int code, const char *format, ...)
{
    char message[2 * sizeof(((dpc_error *)0)->message)];
    va_list ap;

    if (err == NULL)
        return code;
    va_start(ap, format);
    vsnprintf(message, sizeof(message), format, ap);
    va_end(ap);
    memset(err, 0, sizeof(*err));
    err->code = code;
    copy_text(err->message, sizeof(err->message), message);
    return code;
}

int dpci_break(dpc_client *c, int code, dpc_error *err, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vsnprintf(c->why, sizeof(c->why), format, ap);
    va_end(ap);
    c->broken = code;
    return dpci_fail(err, code, "%s", c->why);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return s != NULL ? s : "";
}

int dpci_fail_daemon(dpc_error *err, const cJSON *error)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(error, "data");
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(error, "code");

    if (err == NULL)
        return DPC_EDAEMON;
    memset(err, 0, sizeof(*err));
    err->code = DPC_EDAEMON;
    err->rpc_code = cJSON_IsNumber(code) ? code->valueint : 0;
    copy_text(err->type, sizeof(err->type), text_of(data, "type"));
    copy_text(err->op, sizeof(err->op), text_of(data, "op"));
    copy_text(err->message, sizeof(err->message), text_of(error, "message"));
    return DPC_EDAEMON;
}

bool dpci_reserve(dpci_text *t, size_t more)
{
    size_t cap;
    char *at;

    if (more <= t->cap - t->len)
        return true;
    if (more > SIZE_MAX / 2 - t->len)
        return false;
    cap = t->len + more < 2 * t->cap ? 2 * t->cap : t->len + more;
    at = realloc(t->at, cap);
    if (at == NULL)
        return false;
    t->at = at;
    t->cap = cap;
    return true;
}

const char *dpc_version(void)
{
    return DPC_VERSION;
}
