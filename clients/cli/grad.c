/* grad.c -- verbs for gradients: backward, graph. */
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

static int backward(cli *c)
{
    cJSON *params = params_new();

    params_bool(params, "retain_graph", take_flag(c, "--retain-graph"));
    if (words_fit(c, 1, -1) && params_handles(c, params))
        return ask(c, "grad.backward", params, print_members);
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
    bool dot = take_flag(c, "--dot");

    params_text(params, "format", dot ? "dot" : NULL);
    if (words_fit(c, 1, -1) && params_handles(c, params))
        return ask(c, "grad.graph", params, dot ? show_text : show_graph);
    cJSON_Delete(params);
    return CLI_USAGE;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_grad[] = {
    {"grad backward", "HANDLE... [--retain-graph]",
     "add the gradients of tensors to those of the leaves that they were computed from", backward},
    {"grad graph", "HANDLE... [--dot]",
     "the calls that were recorded for tensors, or a picture for Graphviz", graph},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
