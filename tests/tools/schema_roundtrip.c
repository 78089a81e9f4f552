/* schema_roundtrip.c -- every line of a file is a schema that must print as it was written, and
 * whose print must parse to the same fields.
 *
 * usage: schema_roundtrip FILE; ends "N passed, M failed". */
#include "dispatch/schema/schema.h"
#include <stdio.h>
#include <stdlib.h>

static bool same_value(const dp_value *a, const dp_value *b)
{
    if (a->tag != b->tag || a->len != b->len)
        return false;
    switch (a->tag) {
    case DP_TAG_STR:
        return memcmp(a->u.s, b->u.s, a->len) == 0;
    case DP_TAG_COMPLEX:
        return memcmp(a->u.doubles, b->u.doubles, 2 * sizeof(double)) == 0;
    case DP_TAG_INTS:
    case DP_TAG_DOUBLES:
        return memcmp(a->u.ints, b->u.ints, a->len * sizeof(int64_t)) == 0;
    case DP_TAG_BOOLS:
        return memcmp(a->u.bools, b->u.bools, a->len * sizeof(bool)) == 0;
    case DP_TAG_LIST:
        for (uint32_t i = 0; i < a->len; i++)
            if (!same_value(&a->u.values[i], &b->u.values[i]))
                return false;
        return true;
    case DP_TAG_TENSORS: /* only an empty one can be a default */
        return true;
    default:
        return a->u.i == b->u.i;
    }
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_alias(const dpi_alias *a, const dpi_alias *b)
{
    return a->present == b->present && a->write == b->write && a->bare == b->bare &&
           a->wildcard_before == b->wildcard_before && a->wildcard_after == b->wildcard_after &&
           a->has_after == b->has_after && same_text(a->before, b->before) &&
           same_text(a->after, b->after);
}

static bool same_type(const dpi_type *a, const dpi_type *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->kind == b->kind && a->n == b->n && same_text(a->name, b->name) &&
           same_alias(&a->alias, &b->alias) && same_type(a->elem, b->elem) &&
           same_type(a->value, b->value) && same_type(a->next, b->next);
}

static bool same_arguments(const dpi_argument *a, const dpi_argument *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!same_text(a[i].name, b[i].name) || !same_type(a[i].type, b[i].type) ||
            a[i].kwarg_only != b[i].kwarg_only || a[i].has_default != b[i].has_default ||
            !same_value(&a[i].def, &b[i].def) || a[i].tags != b[i].tags ||
            !same_text(a[i].default_text, b[i].default_text) || a[i].written != b[i].written)
            return false;
    return true;
}

static bool same_fields(const dp_schema *a, const dp_schema *b)
{
    return same_text(a->name, b->name) && same_text(a->ns, b->ns) && same_text(a->base, b->base) &&
           same_text(a->overload, b->overload) && same_text(a->text, b->text) &&
           same_text(a->code, b->code) && a->n_args == b->n_args && a->n_rets == b->n_rets &&
           a->name_only == b->name_only && a->vararg == b->vararg && a->varret == b->varret &&
           a->tensor_args == b->tensor_args && a->written == b->written &&
           memcmp(a->ret_alias, b->ret_alias, sizeof(a->ret_alias)) == 0 &&
           same_arguments(a->args, b->args, a->n_args) &&
           same_arguments(a->rets, b->rets, a->n_rets);
}

static bool check(const char *line)
{
    dp_error err = DP_ERROR_INIT;
    dp_schema *first = NULL, *second = NULL;
    char *print = NULL;
    bool good = false;

    if (dp_schema_parse(line, &first, &err) < 0 || !(print = dp_schema_print(first)))
        printf("line:  %s\nerror: %s\n", line, err.message);
    else if (strcmp(line, print) != 0)
        printf("line:  %s\nprint: %s\n", line, print);
    else if (dp_schema_parse(print, &second, &err) < 0)
        printf("print: %s\nerror: %s\n", print, err.message);
    else if (!same_fields(first, second))
        printf("line:  %s\nparses to other fields the second time: %s\n", line, print);
    else
        good = true;
    dp_free(print);
    dp_schema_free(first);
    dp_schema_free(second);
    return good;
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t cap = 0;
    long passed = 0, failed = 0;

    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: schema_roundtrip FILE (%s)\n",
                argc == 2 ? argv[1] : "one schema a line");
        return 2;
    }
    for (ssize_t n; (n = getline(&line, &cap, f)) >= 0;) {
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (*line == '\0')
            continue;
        if (check(line))
            passed++;
        else
            failed++;
    }
    free(line);
    fclose(f);
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
