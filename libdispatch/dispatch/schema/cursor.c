/* cursor.c -- read a schema's text token by token, and report the first error in it. */
#include "parse.h"
#include <stdio.h>

bool dpi_parser_fail(dpi_parser *p, const char *what)
{
    size_t shown = strcspn(p->at, " ");

    if (p->rc == DP_OK && *p->at == '\0')
        p->rc = dp_error_set(p->err, DP_EVALUE, "column %zu: expected %s, found the end: %s",
                             (size_t)(p->at - p->text) + 1, what, p->text);
    else if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, DP_EVALUE, "column %zu: expected %s, found '%.*s': %s",
                             (size_t)(p->at - p->text) + 1, what,
                             (int)(shown < 1    ? 1
                                   : shown > 32 ? 32
                                                : shown),
                             p->at, p->text);
    return false;
}

bool dpi_parser_refuse(dpi_parser *p, int code, const char *what, const char *name)
{
    if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, code, "column %zu: %s '%.128s': %s",
                             (size_t)(p->at - p->text) + 1, what, name, p->text);
    return false;
}

bool dpi_parser_over_limit(dpi_parser *p, const char *what, int limit)
{
    if (p->rc == DP_OK)
        p->rc = dp_error_set(p->err, DP_ERESOURCE, "column %zu: more than %d %s: %.200s",
                             (size_t)(p->at - p->text) + 1, limit, what, p->text);
    return false;
}

void *dpi_parser_alloc(dpi_parser *p, size_t bytes)
{
    void *m = dp_arena_alloc(p->arena, bytes);

    if (m)
        return memset(m, 0, bytes);
    if (p->rc == DP_OK)
        p->rc = dpi_no_memory(p->err, "a schema");
    return NULL;
}

const char *dpi_parser_copy(dpi_parser *p, const char *s, size_t n)
{
    char *c = dpi_parser_alloc(p, n + 1);
    return c ? memcpy(c, s, n) : NULL;
}

const char *dpi_parser_store(dpi_parser *p, dpi_text *t)
{
    const char *s = NULL;

    if (!t->failed)
        s = dpi_parser_copy(p, t->s ? t->s : "", t->len);
    else if (p->rc == DP_OK)
        p->rc = dpi_no_memory(p->err, "a schema");
    dpi_text_fini(t);
    return s;
}

void dpi_parser_skip(dpi_parser *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

bool dpi_parser_next_is(dpi_parser *p, const char *token)
{
    dpi_parser_skip(p);
    return strncmp(p->at, token, strlen(token)) == 0;
}

bool dpi_parser_accept(dpi_parser *p, const char *token)
{
    if (!dpi_parser_next_is(p, token))
        return false;
    p->at += strlen(token);
    return true;
}

bool dpi_parser_expect(dpi_parser *p, const char *token)
{
    char what[32];

    if (dpi_parser_accept(p, token))
        return true;
    snprintf(what, sizeof(what), "'%s'", token);
    return dpi_parser_fail(p, what);
}

/* A comparison is faster than strspn() with many characters, and names are most of a schema. */
static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t dpi_parser_ident_length(dpi_parser *p)
{
    size_t n = 0;

    dpi_parser_skip(p);
    while (is_letter(p->at[n]) || (n > 0 && p->at[n] >= '0' && p->at[n] <= '9'))
        n++;
    return n;
}

const char *dpi_parser_ident(dpi_parser *p, const char *what)
{
    size_t n = dpi_parser_ident_length(p);

    if (n == 0) {
        dpi_parser_fail(p, what);
        return NULL;
    }
    const char *s = dpi_parser_copy(p, p->at, n);
    p->at += n;
    return s;
}
