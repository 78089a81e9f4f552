/* store.c -- verbs for tensors that stay: files of tensors (save, load, store) and named tensors
 * (name, unlink, names). */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- files -- */

/* Draw how far a transfer is. */
static void draw(cli *c, const char *method, const cJSON *params)
{
    double done = number_of(params, "done"), total = number_of(params, "total");

    (void)c;
    if (strcmp(method, "store.progress") != 0)
        return;
    char *what = text_printf("%.1f MiB", total / (1 << 20));
    draw_progress(done, total, what);
    free(what);
}

/* Ask for notifications, and draw them, if --progress is given or a terminal shows them. */
static void want_progress(cli *c, cJSON *params)
{
    bool wanted = take_flag(c, "--progress") || (isatty(STDERR_FILENO) && !c->json);

    params_bool(params, "progress", wanted);
    c->on_notification = wanted ? draw : NULL;
}

/* Add NAME=HANDLE words as param "tensors". */
static bool add_tensors(cli *c, cJSON *params)
{
    cJSON *tensors = need(cJSON_AddObjectToObject(params, "tensors"));

    for (int i = 1; i < c->n_words; i++) {
        char *equals = strrchr(c->words[i], '=');
        if (equals == NULL) {
            usage(c, "'%s' is not NAME=HANDLE", c->words[i]);
            return false;
        }
        *equals = '\0';
        if (!params_count(c, tensors, c->words[i], equals + 1))
            return false;
    }
    return true;
}

static int save(cli *c)
{
    cJSON *params = params_new();
    bool named = take_flag(c, "--named");

    want_progress(c, params);
    if (!words_fit(c, 2, -1))
        goto misused;
    params_text(params, "path", c->words[0]);
    if (!named && !add_tensors(c, params))
        goto misused;
    cJSON *names = named ? need(cJSON_AddArrayToObject(params, "names")) : NULL;
    for (int i = 1; named && i < c->n_words; i++)
        cJSON_AddItemToArray(names, need(cJSON_CreateString(c->words[i])));
    return ask(c, "store.save", params, print_members);

misused:
    cJSON_Delete(params);
    return CLI_USAGE;
}

static const column columns[] = {
    {"name", cell_text, "name", false},     {"tensor", cell_text, "tensor", true},
    {"dtype", cell_text, "dtype", false},   {"shape", cell_text, "shape", false},
    {"device", cell_text, "device", false},
};

/* Return an owned copy of a tensor's description with member "name". */
static cJSON *named_row(const cJSON *tensor, const char *name)
{
    cJSON *row = need(cJSON_Duplicate(tensor, true));

    params_text(row, "name", name);
    return row;
}

static void show_loaded(const cJSON *result)
{
    cJSON *rows = need(cJSON_CreateArray());
    const cJSON *t;

    cJSON_ArrayForEach(t, member(result, "tensors"))
        cJSON_AddItemToArray(rows, named_row(t, t->string));
    print_table(rows, columns, COUNT(columns));
    cJSON_Delete(rows);
}

static int load(cli *c)
{
    cJSON *params = params_new();

    params_text(params, "prefix", take_option(c, "--prefix"));
    params_bool(params, "named", take_flag(c, "--name"));
    want_progress(c, params);
    if (!words_fit(c, 1, 1)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    params_text(params, "path", c->words[0]);
    return ask(c, "store.load", params, show_loaded);
}

/* -- names -- */

static int name(cli *c)
{
    cJSON *params = params_new();

    if (words_fit(c, 2, 2) && params_count(c, params, "tensor", c->words[0])) {
        params_text(params, "name", c->words[1]);
        return ask(c, "tensor.name", params, print_members);
    }
    cJSON_Delete(params);
    return CLI_USAGE;
}

static int unlink_name(cli *c)
{
    cJSON *params = params_new();

    if (words_fit(c, 1, 1)) {
        params_text(params, "name", c->words[0]);
        return ask(c, "tensor.unlink", params, print_members);
    }
    cJSON_Delete(params);
    return CLI_USAGE;
}

static void show_names(const cJSON *result)
{
    static const column named[] = {{"name", cell_text, "name", false},
                                   {"dtype", cell_text, "dtype", false},
                                   {"shape", cell_text, "shape", false},
                                   {"device", cell_text, "device", false}};
    cJSON *rows = need(cJSON_CreateArray());
    const cJSON *n;

    cJSON_ArrayForEach(n, member(result, "names"))
        cJSON_AddItemToArray(rows, named_row(member(n, "value"), text_of(n, "name")));
    print_table(rows, named, COUNT(named));
    cJSON_Delete(rows);
}

static int stats(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "store.stats", NULL, print_members) : CLI_USAGE;
}

static int names(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "tensor.names", NULL, show_names) : CLI_USAGE;
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_store[] = {
    {"save", "FILE NAME=HANDLE... | FILE --named NAME... [--progress]",
     "write tensors to a safetensors file in the daemon's --data-path", save},
    {"load", "FILE [--prefix TEXT] [--name] [--progress]",
     "read tensors from such a file; --name: each gets its name in the file, or none does", load},
    {"store", "",
     "the daemon's --data-path, and what save and load have done there", stats},
    {"name", "HANDLE NAME",
     "give a tensor a name, which outlives the session", name},
    {"unlink", "NAME",
     "remove a name", unlink_name},
    {"names", "",
     "the named tensors", names},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
