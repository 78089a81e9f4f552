/* fallbacks.c -- counts of the calls that a backend served by a fallback, by operator and key. */
#include "fallbacks.h"
#include <stdlib.h>
#include <string.h>

static size_t head_of(const dp_fallback_count *c)
{
    uint64_t hash = (uintptr_t)c->op; /* one operator has one name at one address */

    for (const char *k = c->key; *k != '\0'; k++)
        hash = hash * 31 + (unsigned char)*k;
    _Static_assert(FALLBACK_HEADS == 1 << 6, "6 bits of hash choose a list");
    return hash * 0x9e3779b97f4a7c15u >> 58;
}

/* Return the count for what `like` counts; `over` if there is no room for a new row. */
static dp_fallback_count *count_of(fallback_table *t, const dp_fallback_count *like)
{
    fallback_row **head = &t->heads[head_of(like)], *row = *head;

    while (row != NULL && (row->count.op != like->op || strcmp(row->count.key, like->key) != 0))
        row = row->next;
    if (row != NULL)
        return &row->count;
    if (like->op[0] == '\0' || t->n >= LIMIT_SIZE(METRIC_FALLBACKS) ||
        (row = dp_calloc(1, sizeof(*row))) == NULL) {
        t->over.op = "";
        return &t->over;
    }
    row->count = *like;
    row->count.calls = row->count.bytes = 0;
    row->next = *head;
    *head = row;
    t->n++;
    return &row->count;
}

void fallbacks_add(fallback_table *t, const dp_fallback_count *add, size_t n)
{
    for (const dp_fallback_count *a = add; a < add + n; a++) {
        dp_fallback_count *c = count_of(t, a);
        c->calls += a->calls;
        c->bytes += a->bytes;
    }
}

size_t fallbacks_copy(const fallback_table *t, size_t head, const char *op, dp_fallback_count *out,
                      size_t n, size_t most)
{
    for (const fallback_row *row = t->heads[head]; row != NULL && n < most; row = row->next)
        if (op == NULL || strcmp(row->count.op, op) == 0)
            out[n++] = row->count;
    return n;
}

static int compare(const void *a, const void *b)
{
    const dp_fallback_count *x = a, *y = b;

    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    int c = strcmp(x->op, y->op);
    return c != 0 ? c : strcmp(x->key, y->key);
}

void fallbacks_sort(dp_fallback_count *c, size_t n)
{
    if (n > 0)
        qsort(c, n, sizeof(*c), compare);
}

void fallbacks_fini(fallback_table *t)
{
    for (size_t i = 0; i < FALLBACK_HEADS; i++)
        for (fallback_row *row = t->heads[i], *next; row != NULL; row = next) {
            next = row->next;
            dp_free(row);
        }
    *t = (fallback_table){0};
}
