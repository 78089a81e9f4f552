/* grad.c -- verbs for gradients: backward, graph, check, hook. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>

/* Add member "tensors", the words as handles.  false: a word is no handle, and a usage message was
 * printed. */
static bool params_handles(cli *c, cJSON *params)
{
    cJSON *list = need(cJSON_AddArrayToObject(params, "tensors"));

    for (int i = 0; i < c->n_words; i++) {
        char *end;
        double handle = strtod(c->words[i], &end);
        if (end == c->words[i] || *end != '\0') {
            usage(c, "'%s' is not a handle", c->words[i]);
            return false;
        }
        cJSON_AddItemToArray(list, need(cJSON_CreateNumber(handle)));
    }
    return true;
}

static const column dry_columns[] = {
    {"op", cell_text, "op", false},
    {"calls", cell_text, "calls", true},
    {"saved bytes", cell_text, "saved_bytes", true},
    {"formula", cell_mark, "has_formula", false},
};

static void show_dry(const cJSON *result)
{
    print_members(result);
    print_table(member(result, "ops"), dry_columns, COUNT(dry_columns));
}

static int backward(cli *c)
{
    cJSON *params = params_new();
    bool dry = take_flag(c, "--dry");

    params_bool(params, "dry", dry);
    params_bool(params, "retain_graph", take_flag(c, "--retain-graph"));
    params_bool(params, "check_nan", take_flag(c, "--check-nan"));
    if (words_fit(c, 1, -1) && params_handles(c, params))
        return ask(c, "grad.backward", params, dry ? show_dry : print_members);
    cJSON_Delete(params);
    return CLI_USAGE;
}

static const column node_columns[] = {
    {"op", cell_text, "op", false},       {"request", cell_text, "request", false},
    {"step", cell_text, "step", true},    {"saved bytes", cell_text, "saved_bytes", true},
    {"leaf", cell_text, "tensor", true},  {"dtype", cell_text, "dtype", false},
    {"shape", cell_text, "shape", false},
};

static void show_graph(const cJSON *result)
{
    print_table(member(result, "nodes"), node_columns, COUNT(node_columns));
}

static void show_text(const cJSON *result)
{
    fputs(text_of(result, "text"), stdout);
}

static int graph(cli *c)
{
    cJSON *params = params_new();
    bool dot = take_flag(c, "--dot"), svg = take_flag(c, "--svg"), html = take_flag(c, "--html");

    params_text(params, "format", dot ? "dot" : NULL);
    if (dot + svg + html > 1)
        usage(c, "--dot, --svg and --html exclude each other");
    else if (words_fit(c, 1, -1) && params_handles(c, params))
        return ask(c, "grad.graph", params,
                   dot    ? show_text
                   : svg  ? show_grad_svg
                   : html ? show_grad_html
                          : show_graph);
    cJSON_Delete(params);
    return CLI_USAGE;
}

/* -- check -- */

/* Print where a derivative is: "self [0, 1]". */
static void print_where(const char *label, const cJSON *failure, const char *name,
                        const char *index)
{
    char *at = list_text(member(failure, index));

    printf("%-10s  %s [%s]\n", label, text_of(failure, name), at);
    free(at);
}

static void show_check(const cJSON *result)
{
    const cJSON *failure = member(result, "failure"), *arg;
    const char *part = text_of(failure, "part");

    printf("%s: %.0f derivatives compared", failure ? "fails" : "passes",
           number_of(result, "compared"));
    if (member(result, "checked"))
        printf(", %.0f sets of random arguments checked, %.0f refused",
               number_of(result, "checked"), number_of(result, "refused"));
    putchar('\n');
    if (failure == NULL)
        return;
    printf("%-10s  %s\n", "check", text_of(failure, "check"));
    print_where("input", failure, "input", "input_index");
    print_where("output", failure, "output", "output_index");
    if (*part)
        printf("%-10s  %s\n", "part", part);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "numerical" : "analytical";
        char *value = json_text(member(failure, name));
        printf("%-10s  %s\n", name, value);
        free(value);
    }
    cJSON_ArrayForEach(arg, member(failure, "args")) print_value(arg);
}

/* Add member "random" with the numbers in the options; NULL: the option was not given. */
static bool params_random(cli *c, cJSON *params, const char *n, const char *seed)
{
    if (n == NULL && seed != NULL)
        return usage(c, "--seed is for --random"), false;
    if (n == NULL)
        return true;
    cJSON *random = need(cJSON_AddObjectToObject(params, "random"));
    return params_count(c, random, "n", n) && params_count(c, random, "seed", seed);
}

static int check(cli *c)
{
    cJSON *params = params_new();
    const char *n = take_option(c, "--random"), *seed = take_option(c, "--seed");
    int rc = CLI_USAGE;

    params_bool(params, "gradgrad", take_flag(c, "--gradgrad"));
    if (params_random(c, params, n, seed) && words_fit(c, 1, -1))
        rc = bind_words(c, params);
    if (rc != CLI_OK) {
        cJSON_Delete(params);
        return rc;
    }
    cJSON *result = NULL;
    if ((rc = fetch(c, "grad.check", params, &result)) != CLI_OK)
        return rc;
    (c->json ? print_json : show_check)(result);
    rc = cJSON_IsTrue(member(result, "passes")) ? CLI_OK : CLI_ERROR; /* for scripts */
    cJSON_Delete(result);
    return rc;
}

/* -- hook -- */

static int hook(cli *c)
{
    cJSON *params = params_new();
    bool none = take_flag(c, "--none");
    char *end;

    if (words_fit(c, none ? 1 : 2, none ? 1 : 2)) {
        double handle = strtod(c->words[0], &end);
        if (end != c->words[0] && *end == '\0') {
            need(cJSON_AddNumberToObject(params, "tensor", handle));
            params_text(params, "op", none ? NULL : c->words[1]);
            params_raw(params, "op", none ? "null" : NULL);
            return ask(c, "grad.hook", params, print_members);
        }
        usage(c, "'%s' is not a handle", c->words[0]);
    }
    cJSON_Delete(params);
    return CLI_USAGE;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_grad[] = {
    {"grad backward", "HANDLE... [--retain-graph] [--check-nan] [--dry]",
     "add the gradients of tensors to those of the leaves that they were computed from; --dry: "
     "only say what that would need", backward},
    {"grad graph", "HANDLE... [--dot | --svg | --html]",
     "the calls that were recorded for tensors; --dot: for Graphviz; --svg, --html: a picture, and "
     "one in a page", graph},
    {"grad check", "OP [ARG...] [name=ARG...] [--gradgrad] [--random N] [--seed S]",
     "compare gradients with finite differences, or gradients of gradients, too", check},
    {"grad hook", "HANDLE OP | HANDLE --none",
     "let an operator change the gradient of a tensor in backward; --none: remove all", hook},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
