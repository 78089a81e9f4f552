/* shadow_table.c -- counts of shadow calls by operator, device and uid. */
#include "shadow_table.h"
#include <stdlib.h>
#include <string.h>

static size_t head_of(const shadow_count *c)
{
    uint64_t hash = (uintptr_t)c->op; /* one operator has one name at one address */

    for (const char *d = c->device; *d != '\0'; d++)
        hash = hash * 31 + (unsigned char)*d;
    _Static_assert(SHADOW_HEADS == 1 << 6, "6 bits of hash choose a list");
    return hash * 0x9e3779b97f4a7c15u >> 58;
}

static bool is_same(const shadow_count *a, const shadow_count *b)
{
    return a->op == b->op && strcmp(a->device, b->device) == 0;
}

static void sum(shadow_count *to, const shadow_count *c)
{
    to->calls += c->calls;
    to->differs += c->differs;
    to->failed += c->failed;
    to->dropped += c->dropped;
    to->largest = c->largest > to->largest ? c->largest : to->largest;
}

static shadow_count *over_of(shadow_table *t)
{
    t->over.op = "(other)";
    strcpy(t->over.device, "(other)");
    return &t->over;
}

/* Return the count for what `like` counts; `over` if there is no room for a new row. */
static shadow_count *count_of(shadow_table *t, uid_t uid, const shadow_count *like)
{
    shadow_row **head = &t->heads[head_of(like)], *row = *head;

    while (row != NULL && (row->uid != uid || !is_same(&row->count, like)))
        row = row->next;
    if (row != NULL)
        return &row->count;
    if (t->n >= LIMIT_SIZE(METRIC_SHADOWS) || (row = dp_calloc(1, sizeof(*row))) == NULL) {
        return over_of(t);
    }
    row->uid = uid;
    row->count.op = like->op;
    memcpy(row->count.device, like->device, sizeof(like->device));
    row->next = *head;
    *head = row;
    t->n++;
    return &row->count;
}

void shadow_table_add(shadow_table *t, uid_t uid, const shadow_count *add)
{
    sum(count_of(t, uid, add), add);
}

void shadow_table_miss(shadow_table *t, uint64_t n)
{
    if (n > 0)
        over_of(t)->dropped += n;
}

static int compare(const void *a, const void *b)
{
    const shadow_count *x = a, *y = b;
    uint64_t bad_x = x->differs + x->failed, bad_y = y->differs + y->failed;

    if (bad_x != bad_y)
        return bad_x > bad_y ? -1 : 1;
    if (x->calls != y->calls)
        return x->calls > y->calls ? -1 : 1;
    int c = strcmp(x->op, y->op);
    return c != 0 ? c : strcmp(x->device, y->device);
}

size_t shadow_table_copy(const shadow_table *t, const uid_t *uid, shadow_count *out)
{
    size_t n = 0;

    for (size_t i = 0; i < SHADOW_HEADS; i++) {
        size_t first = n; /* rows of one operator and device are in one list */
        for (const shadow_row *row = t->heads[i]; row != NULL; row = row->next) {
            size_t k = first;
            if (uid != NULL && row->uid != *uid)
                continue;
            while (k < n && !is_same(&out[k], &row->count))
                k++;
            if (k == n)
                out[n++] = row->count;
            else
                sum(&out[k], &row->count);
        }
    }
    if (uid == NULL && t->over.op != NULL)
        out[n++] = t->over;
    if (n > 0)
        qsort(out, n, sizeof(*out), compare);
    return n;
}

void shadow_table_fini(shadow_table *t)
{
    for (size_t i = 0; i < SHADOW_HEADS; i++)
        for (shadow_row *row = t->heads[i], *next; row != NULL; row = next) {
            next = row->next;
            dp_free(row);
        }
    *t = (shadow_table){0};
}
