/* registry.c -- verbs for the registry: ops, op, table, dump, keys, check. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- ops -- */

static void show_ops(const cJSON *result)
{
    const cJSON *op;
    cJSON_ArrayForEach(op, member(result, "ops")) puts(op->valuestring);
}

static int ops(cli *c)
{
    cJSON *params = params_new();

    params_text(params, "namespace", take_option(c, "--namespace"));
    params_text(params, "key", take_option(c, "--key"));
    params_text(params, "plugin", take_option(c, "--plugin"));
    if (!words_fit(c, 0, 1)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    params_text(params, "match", c->n_words ? c->words[0] : NULL);
    return ask(c, "registry.list", params, show_ops);
}

/* -- op -- */

static const column kernel_columns[] = {
    {"registered for", cell_text, "key", false},   {"plugin", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true}, {"from", cell_location, "file", false},
    {"active", cell_mark, "active", false},
};

static char *cell_kernel(const cJSON *row, const char *name)
{
    const cJSON *kernel = member(row, name);
    return kernel ? text_printf("%s (%s)", text_of(kernel, "plugin"), text_of(kernel, "key"))
                  : text_printf("%s", "");
}

static const column cell_columns[] = {
    {"key", cell_text, "key", false},
    {"provenance", cell_text, "provenance", false},
    {"kernel", cell_kernel, "kernel", false},
};

/* Test whether `provenance`, which tells what serves an operator at one key, is "missing" or
 * "fallthrough".  Most operators have one of these at most keys, so such table cells are not
 * printed. */
static bool runs_no_kernel(const char *provenance)
{
    return strcmp(provenance, "missing") == 0 || strcmp(provenance, "fallthrough") == 0;
}

static cJSON *cells_with_kernel(const cJSON *table)
{
    cJSON *cells = need(cJSON_CreateArray());
    const cJSON *cell;

    cJSON_ArrayForEach(cell, table)
    {
        if (!runs_no_kernel(text_of(cell, "provenance")))
            cJSON_AddItemToArray(cells, need(cJSON_Duplicate(cell, true)));
    }
    return cells;
}

static void show_op(const cJSON *result)
{
    const cJSON *by = member(result, "defined_by"), *schema = member(result, "schema");
    char *tags = list_text(member(result, "tags")), *location = cell_location(by, NULL);
    cJSON *cells = cells_with_kernel(member(result, "table"));

    printf("%s\n", cJSON_IsString(schema) ? schema->valuestring : "(implemented but not defined)");
    if (cJSON_IsObject(by))
        printf("defined by %s, generation %.0f, %s\n", text_of(by, "plugin"),
               number_of(by, "generation"), location);
    if (*tags)
        printf("tags %s\n", tags);
    printf("called %.0f times\n\n", number_of(result, "calls"));
    print_table(member(result, "kernels"), kernel_columns, COUNT(kernel_columns));
    putchar('\n');
    print_table(cells, cell_columns, COUNT(cell_columns));
    printf("every other key is missing or falls through\n");
    print_fallbacks(result);
    free(tags);
    free(location);
    cJSON_Delete(cells);
}

static int op(cli *c)
{
    if (!words_fit(c, 1, 1))
        return CLI_USAGE;
    cJSON *params = params_new();
    params_text(params, "op", c->words[0]);
    return ask(c, "registry.describe", params, show_op);
}

/* -- table -- */

/* Return the text of one cell of a table row; `name` is the column's number as text. */
static char *cell_at(const cJSON *row, const char *name)
{
    return text_printf("%s", cJSON_GetArrayItem(member(row, "cells"), atoi(name))->valuestring);
}

static bool column_is_empty(const cJSON *rows, int i)
{
    const cJSON *row;

    cJSON_ArrayForEach(row, rows)
    {
        if (!runs_no_kernel(cJSON_GetArrayItem(member(row, "cells"), i)->valuestring))
            return false;
    }
    return true;
}

/* Print one row of a table that is too wide: for each provenance, the keys at which the operator
 * has it. */
static void show_row(const cJSON *keys, const cJSON *row)
{
    cJSON *groups = need(cJSON_CreateObject()), *group; /* {provenance: [keys]} */
    const cJSON *cell, *key = keys->child;
    int indent = 0, n_empty = 0;

    cJSON_ArrayForEach(cell, member(row, "cells"))
    {
        const char *name = cell->valuestring;
        n_empty += runs_no_kernel(name);
        if (!runs_no_kernel(name)) {
            group = cJSON_GetObjectItemCaseSensitive(groups, name);
            group = group != NULL ? group : need(cJSON_AddArrayToObject(groups, name));
            cJSON_AddItemToArray(group, need(cJSON_CreateString(key->valuestring)));
            indent = (int)strlen(name) + 4 > indent ? (int)strlen(name) + 4 : indent;
        }
        key = key->next;
    }
    puts(text_of(row, "op"));
    cJSON_ArrayForEach(group, groups)
    {
        char *header = text_printf("  %s", group->string);
        print_wrapped(header, indent, group);
        free(header);
    }
    if (n_empty > 0)
        printf("  %d %skeys are missing or fall through\n", n_empty, indent > 0 ? "more " : "");
    cJSON_Delete(groups);
}

/* Print the columns in which some operator has a kernel.  The `member` of such a column is its
 * number as text. */
static void show_table(const cJSON *result)
{
    const cJSON *keys = member(result, "keys"), *rows = member(result, "rows"), *key, *row;
    size_t n = 1, total = (size_t)cJSON_GetArraySize(keys);
    column *columns = need(calloc(total + 1, sizeof(*columns)));
    int i = 0;

    columns[0] = (column){"operator", cell_text, "op", false};
    cJSON_ArrayForEach(key, keys)
    {
        if (!column_is_empty(rows, i))
            columns[n++] = (column){key->valuestring, cell_at, text_printf("%d", i), false};
        i++;
    }
    if (table_fits(rows, columns, n))
        print_table(rows, columns, n);
    else
        cJSON_ArrayForEach(row, rows) show_row(keys, row);
    if (n <= total && table_fits(rows, columns, n))
        printf("%zu more keys are missing or fall through for all of them\n", total + 1 - n);
    while (n > 1)
        free((void *)columns[--n].member);
    free(columns);
}

/* Add the comma-separated items of `text`, "a,b", as an array of strings. */
static void params_list(cJSON *params, const char *name, const char *text)
{
    if (text == NULL)
        return;
    cJSON *array = need(cJSON_AddArrayToObject(params, name));
    for (size_t n; *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        char *item = text_printf("%.*s", (int)n, text);
        cJSON_AddItemToArray(array, need(cJSON_CreateString(item)));
        free(item);
    }
}

/* Add every option --with OP@KEY to `params`.  false: a usage message was printed. */
static bool params_with(cli *c, cJSON *params)
{
    cJSON *with = need(cJSON_AddArrayToObject(params, "with"));
    const char *text;

    while ((text = take_option(c, "--with")) != NULL) {
        const char *at = strrchr(text, '@');
        if (at == NULL) {
            usage(c, "--with wants OP@KEY, not '%s'", text);
            return false;
        }
        cJSON *item = params_new();
        char *name = text_printf("%.*s", (int)(at - text), text);
        params_text(item, "op", name);
        params_text(item, "key", at + 1);
        free(name);
        cJSON_AddItemToArray(with, item);
    }
    return true;
}

static int table(cli *c)
{
    cJSON *params = params_new();

    params_list(params, "keys", take_option(c, "--keys"));
    if (!params_with(c, params) || !words_fit(c, 0, -1)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    cJSON *names = c->n_words ? need(cJSON_AddArrayToObject(params, "ops")) : NULL;
    for (int i = 0; i < c->n_words; i++)
        cJSON_AddItemToArray(names, need(cJSON_CreateString(c->words[i])));
    return ask(c, "registry.table", params, show_table);
}

/* -- dump, keys, check -- */

static void show_text(const cJSON *result)
{
    fputs(text_of(result, "text"), stdout);
}

static int dump(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "registry.dump", NULL, show_text) : CLI_USAGE;
}

/* Return what serves the operators without a kernel for a key: "kernel of autograd". */
static char *cell_fallback(const cJSON *row, const char *name)
{
    const cJSON *f = member(row, name);
    const char *kind = f != NULL ? text_of(f, "kind") : "none";

    return strcmp(kind, "kernel") == 0 ? text_printf("kernel of %s", text_of(f, "plugin"))
                                       : text_printf("%s", strcmp(kind, "none") == 0 ? "" : kind);
}

/* Return the kind of PyTorch's fallback, and why it is another one; "" if it is the same. */
static char *cell_difference(const cJSON *row, const char *name)
{
    const cJSON *f = member(row, name);

    if (f == NULL || !cJSON_IsString(member(f, "reason")))
        return text_printf("%s", "");
    return text_printf("%s: %s", text_of(f, "pytorch"), text_of(f, "reason"));
}

static const column key_columns[] = {
    {"key", cell_text, "key", false},
    {"kind", cell_text, "kind", false},
    {"owner", cell_text, "owner", false},
    {"storage", cell_text, "storages", true},
    {"fallback", cell_fallback, "fallback", false},
    {"PyTorch's", cell_difference, "fallback", false},
};

static void show_keys(const cJSON *result)
{
    print_table(member(result, "keys"), key_columns, COUNT(key_columns));
}

static int keys(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "registry.keys", NULL, show_keys) : CLI_USAGE;
}

static void show_check(const cJSON *result)
{
    const cJSON *line;

    puts(cJSON_IsTrue(member(result, "ok")) ? "ok" : "the registry breaks its own rules:");
    cJSON_ArrayForEach(line, member(result, "violations")) puts(line->valuestring);
}

static int check(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "registry.check", NULL, show_check) : CLI_USAGE;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_registry[] = {
    {"ops", "[TEXT] [--namespace NS] [--key KEY] [--plugin PLUGIN]",
     "operators by name: with TEXT in it, of a namespace, with a kernel for a key, of a plugin",
     ops},
    {"op", "OP",
     "everything about one operator", op},
    {"table", "[OP...] [--keys KEY,KEY...] [--with OP@KEY]...",
     "what serves each operator at each key; --with: as if that kernel were there too", table},
    {"dump", "",
     "everything registered, as canonical text", dump},
    {"keys", "",
     "every dispatch key, highest priority first", keys},
    {"check", "",
     "recompute every dispatch table and compare", check},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
