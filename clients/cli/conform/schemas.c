/* schemas.c -- the schemas of the samples' operators, and the overloads that do the same in place
 * and into given outputs */
#include "conform.h"
#include <stdlib.h>
#include <string.h>

/* Return the text up to the overload: "aten::add" of "aten::add.Tensor"; owned. */
static char *base_of(const char *name)
{
    return text_printf("%.*s", (int)strcspn(name, "."), name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const schema *)a)->name, ((const schema *)b)->name);
}

schema *schemas_find(const schemas *s, const char *name)
{
    schema key = {.name = (char *)name};

    return s->n == 0 ? NULL : bsearch(&key, s->at, s->n, sizeof(*s->at), by_name);
}

static void add(schemas *s, const char *name)
{
    s->at = grown(s->at, s->n, sizeof(*s->at));
    memset(&s->at[s->n], 0, sizeof(*s->at));
    s->at[s->n++].name = text_printf("%s", name);
}

/* Add the operators of the registry that have the base of one of the samples, with and without
 * "_". */
static void add_wanted(schemas *s, const cJSON *registered, const samples *of)
{
    cJSON *bases = params_new();
    const cJSON *j;

    for (size_t i = 0; i < of->n; i++) {
        char *base = base_of(of->at[i].op), *in_place = text_printf("%s_", base);
        if (i == 0 || strcmp(of->at[i].op, of->at[i - 1].op) != 0) {
            if (member(bases, base) == NULL)
                cJSON_AddTrueToObject(bases, base);
            if (member(bases, in_place) == NULL)
                cJSON_AddTrueToObject(bases, in_place);
        }
        free(base);
        free(in_place);
    }
    /* A hash would find a base faster than the list does; the lists have some thousand members. */
    cJSON_ArrayForEach(j, registered)
    {
        char *base = base_of(j->valuestring);
        if (member(bases, base) != NULL)
            add(s, j->valuestring);
        free(base);
    }
    cJSON_Delete(bases);
    if (s->n > 0)
        qsort(s->at, s->n, sizeof(*s->at), by_name);
}

/* Ask for the descriptions of all operators, many at a time. */
static int describe(schemas *s, cli *c)
{
    enum { AT_ONCE = 200 };
    dpc_error err;

    for (size_t first = 0; first < s->n; first += AT_ONCE) {
        size_t n = s->n - first < AT_ONCE ? s->n - first : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            dpc_request *r = need(dpc_request_new("registry.describe"));
            dpc_add_str(r, "op", s->at[first + i].name);
            int rc = dpc_submit(c->client, r, NULL, &err);
            dpc_request_free(r);
            if (rc != 0)
                return print_lost(&err);
        }
        for (size_t i = 0; i < n; i++) {
            dpc_answer *a;
            if (dpc_receive(c->client, -1, &a, &err) != 0)
                return print_lost(&err);
            const cJSON *result = dpc_answer_result(a);
            if (result != NULL) {
                s->at[first + i].arguments = cJSON_Duplicate(member(result, "arguments"), true);
                s->at[first + i].returns = cJSON_Duplicate(member(result, "returns"), true);
            }
            dpc_answer_free(a);
        }
    }
    return CLI_OK;
}

/* -- overloads that do the same -- */

static bool is_written(const cJSON *argument)
{
    return cJSON_IsTrue(member(argument, "written"));
}

static bool writes(const schema *s)
{
    const cJSON *j;

    cJSON_ArrayForEach(j, s->arguments)
    {
        if (is_written(j))
            return true;
    }
    return false;
}

/* Compare types without what they say about aliases: "Tensor(a!)" is "Tensor". */
static bool same_type(const char *a, const char *b)
{
    for (; *a || *b; a++, b++) {
        if (*a == '(')
            a += strcspn(a, ")") + (strchr(a, ')') != NULL);
        if (*b == '(')
            b += strcspn(b, ")") + (strchr(b, ')') != NULL);
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
    return true;
}

/* Test whether `other` has the arguments of `s`, and behind them only arguments that it writes:
 * as many as `s` returns, all of them tensors; and whether the first argument is written. */
static bool fits(const schema *s, const schema *other, bool out)
{
    const cJSON *a = s->arguments->child, *b = other->arguments->child;
    int outs = 0;

    for (bool first = true; a != NULL && b != NULL; a = a->next, b = b->next, first = false)
        if (strcmp(text_of(a, "name"), text_of(b, "name")) != 0 ||
            !same_type(text_of(a, "type"), text_of(b, "type")) || is_written(b) != (!out && first))
            return false;
    if (a != NULL)
        return false;
    for (; b != NULL; b = b->next, outs++)
        if (!is_written(b) || !same_type(text_of(b, "type"), "Tensor"))
            return false;
    return out ? outs > 0 && outs == cJSON_GetArraySize(s->returns) : outs == 0;
}

static void link_mates(schemas *s)
{
    for (size_t i = 0; i < s->n; i++) {
        schema *one = &s->at[i];
        if (one->arguments == NULL || writes(one))
            continue;
        size_t base = strcspn(one->name, ".");
        char *in_place = text_printf("%.*s_%s", (int)base, one->name, one->name + base);
        schema *mate = schemas_find(s, in_place);
        free(in_place);
        if (mate != NULL && mate->arguments != NULL && fits(one, mate, false))
            one->in_place = mate;
        for (size_t j = 0; j < s->n && one->out == NULL; j++) {
            schema *other = &s->at[j];
            if (strncmp(other->name, one->name, base) == 0 && strcspn(other->name, ".") == base &&
                other->arguments != NULL && fits(one, other, true))
                one->out = other;
        }
    }
}

int schemas_read(schemas *out, cli *c, const samples *s)
{
    cJSON *listed;

    memset(out, 0, sizeof(*out));
    int rc = fetch(c, "registry.list", params_new(), &listed);
    if (rc != CLI_OK)
        return rc;
    add_wanted(out, member(listed, "ops"), s);
    cJSON_Delete(listed);
    rc = describe(out, c);
    if (rc == CLI_OK)
        link_mates(out);
    return rc;
}

void schemas_free(schemas *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->at[i].name);
        cJSON_Delete(s->at[i].arguments);
        cJSON_Delete(s->at[i].returns);
    }
    free(s->at);
    memset(s, 0, sizeof(*s));
}
