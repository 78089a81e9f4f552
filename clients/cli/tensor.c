/* tensor.c -- verbs for the tensors of a session: list, read, describe, create, release. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

static const column tensor_columns[] = {
    {"tensor", cell_text, "tensor", true},  {"dtype", cell_text, "dtype", false},
    {"shape", cell_text, "shape", false},   {"strides", cell_text, "strides", false},
    {"device", cell_text, "device", false}, {"storage", cell_text, "storage", true},
    {"keys", cell_text, "keys", false},
};

static void show_list(const cJSON *result)
{
    print_table(member(result, "tensors"), tensor_columns, COUNT(tensor_columns));
}

static int list(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "tensor.list", NULL, show_list) : CLI_USAGE;
}

static int ask_about_handle(cli *c, const char *method)
{
    cJSON *params = params_new();

    if (words_fit(c, 1, 1) && params_count(c, params, "tensor", c->words[0]))
        return ask(c, method, params, print_value);
    cJSON_Delete(params);
    return CLI_USAGE;
}

static int describe(cli *c)
{
    return ask_about_handle(c, "tensor.describe");
}
static int read(cli *c)
{
    return ask_about_handle(c, "tensor.read");
}

/* The argument is a whole tensor literal (an object) or only its data (an array). */
static int create(cli *c)
{
    const char *dtype = take_option(c, "--dtype"), *device = take_option(c, "--device");

    if (!words_fit(c, 1, 1))
        return CLI_USAGE;
    char *json = spell_integers(c->words[0], true);
    cJSON *j = cJSON_ParseWithOpts(json, NULL, true);
    cJSON *params = j == NULL || cJSON_IsObject(j) ? j : params_new();
    if (params != j) {
        cJSON_Delete(j);
        params_raw(params, "data", json);
    }
    free(json);
    if (params == NULL)
        return usage(c, "'%s' is not JSON", c->words[0]);
    params_text(params, "dtype", dtype);
    params_text(params, "device", device);
    return ask(c, "tensor.create", params, print_value);
}

static int release(cli *c)
{
    cJSON *params = params_new();
    bool all = take_flag(c, "--all");

    params_bool(params, "all", all);
    if (!words_fit(c, all ? 0 : 1, all ? 0 : -1))
        goto misused;
    cJSON *handles = all ? NULL : need(cJSON_AddArrayToObject(params, "tensors"));
    for (int i = 0; i < c->n_words; i++) {
        char *end;
        double handle = strtod(c->words[i], &end);
        if (end == c->words[i] || *end != '\0') {
            usage(c, "'%s' is not a handle", c->words[i]);
            goto misused;
        }
        cJSON_AddItemToArray(handles, need(cJSON_CreateNumber(handle)));
    }
    return ask(c, "tensor.release", params, print_members);

misused:
    cJSON_Delete(params);
    return CLI_USAGE;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_tensor[] = {
    {"tensor list", "",
     "the tensors of the session (see --session)", list},
    {"tensor read", "HANDLE",
     "a tensor with its elements", read},
    {"tensor describe", "HANDLE",
     "a tensor without them", describe},
    {"tensor create", "JSON [--dtype DTYPE] [--device DEVICE]",
     "a tensor of nested arrays, or of a literal {\"dtype\",\"shape\",\"data\"}", create},
    {"tensor release", "HANDLE... | --all",
     "give handles back", release},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
