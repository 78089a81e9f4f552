/* call.c -- verbs that take an operator and its arguments: call, explain. */
#include "cli.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- types of an operator's arguments -- */

/* what a schema's type accepts: a tensor, a list of tensors, any other list */
enum { TAKES_TENSOR = 1, TAKES_TENSORS = 2, TAKES_LIST = 4 };

static unsigned type_takes(const char *type)
{
    bool list = strchr(type, '[') != NULL;

    if (strncmp(type, "Tensor", 6) == 0)
        return list ? TAKES_TENSORS : TAKES_TENSOR;
    return list ? TAKES_LIST : 0;
}

/* Return the TAKES_ bits of an argument, combined over all overloads: the argument called `name`,
 * or the argument at `position` if `name` is NULL. */
static unsigned overloads_take(const cJSON *overloads, int position, const char *name)
{
    unsigned takes = 0;
    const cJSON *arguments, *argument;

    cJSON_ArrayForEach(arguments, overloads)
    {
        int i = 0;
        cJSON_ArrayForEach(argument, arguments)
        {
            if (name ? strcmp(text_of(argument, "name"), name) == 0 : i == position)
                takes |= type_takes(text_of(argument, "type"));
            i++;
        }
    }
    return takes;
}

static int add_overload(cli *c, const char *op, cJSON *overloads)
{
    cJSON *params = params_new();
    dpc_answer *a;

    params_text(params, "op", op);
    int rc = request(c, "registry.describe", params, &a);
    if (rc != CLI_OK)
        return rc;
    cJSON_AddItemToArray(overloads,
                         need(cJSON_Duplicate(member(dpc_answer_result(a), "arguments"), true)));
    dpc_answer_free(a);
    return CLI_OK;
}

/* Test whether `op` is `name` or an overload of it.  "aten::add.Tensor" is an overload of
 * "aten::add", and "aten::addmm" is not. */
static bool is_overload_of(const char *op, const char *name)
{
    size_t n = strlen(name);
    return strncmp(op, name, n) == 0 && (op[n] == '\0' || op[n] == '.');
}

/* Append to `overloads` the array of arguments of every overload of `op`.  Appends nothing when
 * there is no such operator. */
static int get_overloads(cli *c, const char *op, cJSON *overloads)
{
    cJSON *params = params_new();
    const cJSON *name;
    dpc_answer *a;

    params_text(params, "match", op);
    int rc = request(c, "registry.list", params, &a);
    if (rc != CLI_OK)
        return rc;
    cJSON_ArrayForEach(name, member(dpc_answer_result(a), "ops"))
    {
        if (rc == CLI_OK && is_overload_of(name->valuestring, op))
            rc = add_overload(c, name->valuestring, overloads);
    }
    dpc_answer_free(a);
    return rc;
}

/* -- words to values -- */

static cJSON *literal(const char *data)
{
    cJSON *l = params_new();
    params_raw(l, "data", data);
    return l;
}

static cJSON *literals(const cJSON *list)
{
    cJSON *out = need(cJSON_CreateArray());
    const cJSON *item;

    cJSON_ArrayForEach(item, list)
    {
        char *text = json_text(item);
        cJSON_AddItemToArray(out,
                             cJSON_IsArray(item) ? literal(text) : need(cJSON_CreateRaw(text)));
        free(text);
    }
    return out;
}

/* Make a value from a word that is not JSON: nan, inf and -inf, or a string without its quotes.
 * NULL: the word is none of these, and a usage message was printed. */
static cJSON *bare_word(cli *c, const char *word)
{
    static const char *const numbers[] = {"nan", "inf", "-inf"};

    for (size_t i = 0; i < COUNT(numbers); i++)
        if (strcmp(word, numbers[i]) == 0) {
            cJSON *value = params_new();
            params_text(value, "float", word);
            return value;
        }
    if (isalpha((unsigned char)*word))
        return need(cJSON_CreateString(word));
    usage(c, "'%s' is not JSON", word);
    return NULL;
}

/* Make the value for a word.  JSON is sent as written, so that no digit changes.  `takes`: what the
 * overloads accept at the word's position, see overloads_take().  An array becomes a tensor literal
 * where an overload takes a Tensor; a flat array only where no overload takes a list.  If only
 * lists of tensors are taken, each array in a nested array becomes a literal.  NULL: a usage
 * message was printed. */
static cJSON *value_of(cli *c, const char *word, unsigned takes)
{
    char *elements = spell_integers(word, true), *plain = spell_integers(word, false);
    cJSON *j = cJSON_ParseWithOpts(elements, NULL, true), *value;
    bool nested = cJSON_IsArray(j) && cJSON_IsArray(j->child);

    if (j == NULL)
        value = bare_word(c, word);
    else if (nested && takes & TAKES_TENSORS && !(takes & TAKES_TENSOR))
        value = literals(j);
    else if (cJSON_IsArray(j) && takes & TAKES_TENSOR && (nested || !(takes & TAKES_LIST)))
        value = literal(elements);
    else
        value = need(cJSON_CreateRaw(plain));
    cJSON_Delete(j);
    free(elements);
    free(plain);
    return value;
}

/* Return the length of the name in "name=VALUE"; 0: the word is a positional argument. */
static size_t name_length(const char *word)
{
    size_t n = 0;

    while (isalnum((unsigned char)word[n]) || word[n] == '_')
        n++;
    return word[n] == '=' && !isdigit((unsigned char)*word) ? n : 0;
}

static bool add_named(cli *c, const char *word, size_t n, const cJSON *overloads, cJSON *kwargs)
{
    char *name = text_printf("%.*s", (int)n, word);
    cJSON *value = value_of(c, word + n + 1, overloads_take(overloads, 0, name));

    if (value)
        cJSON_AddItemToObject(kwargs, name, value);
    free(name);
    return value != NULL;
}

static bool add_words(cli *c, const cJSON *overloads, cJSON *args, cJSON *kwargs)
{
    for (int i = 1; i < c->n_words; i++) {
        size_t n = name_length(c->words[i]);
        if (n > 0) {
            if (!add_named(c, c->words[i], n, overloads, kwargs))
                return false;
            continue;
        }
        int position = cJSON_GetArraySize(args);
        cJSON *value = value_of(c, c->words[i], overloads_take(overloads, position, NULL));
        if (value == NULL)
            return false;
        cJSON_AddItemToArray(args, value);
    }
    return true;
}

int bind_words(cli *c, cJSON *params)
{
    cJSON *overloads = need(cJSON_CreateArray());
    bool arrays = false;

    for (int i = 1; i < c->n_words; i++)
        arrays = arrays || strchr(c->words[i], '[') != NULL;
    params_text(params, "op", c->words[0]);
    cJSON *args = need(cJSON_AddArrayToObject(params, "args"));
    cJSON *kwargs = need(cJSON_AddObjectToObject(params, "kwargs"));
    int rc = arrays ? get_overloads(c, c->words[0], overloads) : CLI_OK;
    if (rc == CLI_OK && !add_words(c, overloads, args, kwargs))
        rc = CLI_USAGE;
    cJSON_Delete(overloads);
    return rc;
}

static int ask_about_words(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *))
{
    int rc = words_fit(c, 1, -1) ? bind_words(c, params) : CLI_USAGE;

    if (rc == CLI_OK)
        return ask(c, method, params, show);
    cJSON_Delete(params);
    return rc;
}

/* -- call -- */

static char *cell_op(const cJSON *row, const char *name)
{
    int depth = (int)number_of(row, "depth");
    return text_printf("%*s%s%s", 2 * (depth > 0 ? depth : 0), "",
                       cJSON_IsTrue(member(row, "redispatch")) ? "> " : "", text_of(row, name));
}

static const column trace_columns[] = {
    {"operator", cell_op, "op", false},
    {"key", cell_text, "key", false},
    {"plugin", cell_text, "plugin", false},
    {"generation", cell_text, "generation", true},
    {"provenance", cell_text, "provenance", false},
    {"µs", cell_micros, "nanos", true},
};

static void show_call(const cJSON *result)
{
    const cJSON *trace = member(result, "trace"), *timing = member(result, "timing"), *part;

    print_outputs(result);
    if (trace) {
        putchar('\n');
        print_table(trace, trace_columns, COUNT(trace_columns));
    }
    if (timing)
        putchar('\n');
    cJSON_ArrayForEach(part, timing)
        printf("%-9s %10.1f µs\n", part->string, part->valuedouble / 1e3);
}

static int call(cli *c)
{
    cJSON *params = params_new();

    params_bool(params, "trace", take_flag(c, "--trace"));
    params_bool(params, "timing", take_flag(c, "--timing"));
    params_text(params, "return", take_flag(c, "--keep") ? "handle" : "data");
    if (params_count(c, params, "deadline_ms", take_option(c, "--deadline-ms")))
        return ask_about_words(c, "op.call", params, show_call);
    cJSON_Delete(params);
    return CLI_USAGE;
}

/* -- explain -- */

static const column path_columns[] = {
    {"key", cell_text, "key", false},       {"provenance", cell_text, "provenance", false},
    {"plugin", cell_text, "plugin", false}, {"generation", cell_text, "generation", true},
    {"from", cell_location, "file", false}, {"assumed", cell_mark, "assumed", false},
    {"why", cell_text, "why", false},
};

static const column skipped_columns[] = {
    {"skipped", cell_text, "key", false},
    {"why", cell_text, "why", false},
};

static void print_keys_line(const cJSON *result, const char *label, const char *name)
{
    char *keys = list_text(member(result, name));
    printf("%-22s %s\n", label, keys);
    free(keys);
}

static void show_explain(const cJSON *result)
{
    printf("%-22s %s\n", "operator", text_of(result, "op"));
    print_keys_line(result, "keys of the arguments", "argument_keys");
    print_keys_line(result, "with those included", "merged");
    print_keys_line(result, "without those excluded", "after_state");
    putchar('\n');
    print_table(member(result, "path"), path_columns, COUNT(path_columns));
    if (cJSON_GetArraySize(member(result, "skipped")) > 0) {
        putchar('\n');
        print_table(member(result, "skipped"), skipped_columns, COUNT(skipped_columns));
    }
    print_fallbacks(result);
}

static int explain(cli *c)
{
    return ask_about_words(c, "registry.explain", params_new(), show_explain);
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_call[] = {
    {"call", "OP [ARG...] [name=ARG...] [--trace] [--timing] [--keep] [--deadline-ms N]",
     "call an operator and print what it returns; --keep: as handles of the session", call},
    {"explain", "OP [ARG...] [name=ARG...]",
     "which kernels the call would pass, and why; nothing is run", explain},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
