/* plugin.c -- verbs for plugins: load, unload, reload, list, describe. */
#include "cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void show_warnings(const cJSON *result)
{
    const cJSON *warning;

    cJSON_ArrayForEach(warning, member(result, "warnings"))
        printf("  warning: %s\n", text_of(warning, "message"));
}

static void show_old(const cJSON *old)
{
    const char *what = cJSON_IsTrue(member(old, "unmapped"))  ? "is gone"
                       : cJSON_IsTrue(member(old, "drained")) ? "stays mapped"
                                                              : "still finishes its calls";
    const char *kept = text_of(old, "kept_because");

    printf("  generation %.0f %s%s%s\n", number_of(old, "generation"), what, *kept ? ": " : "",
           kept);
}

static void show_loaded(const cJSON *result)
{
    char *backends = list_text(member(result, "backends"));
    const cJSON *old = member(result, "old"), *item;
    double defs = number_of(result, "defs"), fallbacks = number_of(result, "fallbacks");

    printf("%s %s is loaded, generation %.0f, in %.2f ms\n", text_of(result, "plugin"),
           text_of(result, "version"), number_of(result, "generation"),
           number_of(result, "millis"));
    printf("  defines %.0f operator%s, implements %.0f, falls back for %.0f key%s\n", defs,
           defs == 1 ? "" : "s", number_of(result, "impls"), fallbacks, fallbacks == 1 ? "" : "s");
    if (*backends)
        printf("  backends: %s\n", backends);
    cJSON_ArrayForEach(item, member(result, "overrides")) printf("  over: %s\n", item->valuestring);
    cJSON_ArrayForEach(item, member(result, "dangling"))
        printf("  not defined by anyone yet: %s\n", item->valuestring);
    cJSON_ArrayForEach(item, member(result, "dropped"))
        printf("  dropped: %s\n", item->valuestring);
    if (old)
        show_old(old);
    show_warnings(result);
    free(backends);
}

/* Return the path to send for `word`; owned.  The daemon accepts an absolute path or a bare name,
 * so a relative path is completed here.  Symbolic links are not resolved: if a link is changed, a
 * reload uses its new target. */
static char *plugin_path(const char *word)
{
    char *here = *word != '/' && strchr(word, '/') ? realpath(".", NULL) : NULL;
    char *path = here ? text_printf("%s/%s", here, word + 2 * (strncmp(word, "./", 2) == 0))
                      : text_printf("%s", word);

    free(here);
    return path;
}

static int ask_about_path(cli *c, const char *method, cJSON *params, void (*show)(const cJSON *))
{
    if (!words_fit(c, 1, 1)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    char *path = plugin_path(c->words[0]);
    params_text(params, "path", path);
    free(path);
    int rc = ask(c, method, params, show);
    if (rc == CLI_ERROR && !c->json && !strchr(c->words[0], '/') && access(c->words[0], F_OK) == 0)
        fprintf(stderr, "dispatchctl: '%s' is in this folder; a path needs a '/': './%s'\n",
                c->words[0], c->words[0]);
    return rc;
}

static int load(cli *c)
{
    cJSON *params = params_new();
    params_text(params, "replace", take_flag(c, "--reject") ? "reject" : NULL);
    return ask_about_path(c, "plugin.load", params, show_loaded);
}

static void show_unloaded(const cJSON *result)
{
    const char *kept = text_of(result, "kept_because");

    printf("%.0f registrations removed, drained in %.2f ms, %s%s%s\n", number_of(result, "removed"),
           number_of(result, "drained_ms"),
           cJSON_IsTrue(member(result, "unmapped")) ? "unmapped" : "still mapped",
           *kept ? ": " : "", kept);
    show_warnings(result);
}

/* Call a method that takes a plugin's name and, as --timeout-ms, how long to wait for the plugin's
 * running calls; takes ownership of `params`. */
static int ask_about_calls(cli *c, const char *method, cJSON *params,
                           void (*show)(const cJSON *result))
{
    if (!params_count(c, params, "timeout_ms", take_option(c, "--timeout-ms")) ||
        !words_fit(c, 1, 1)) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    params_text(params, "plugin", c->words[0]);
    return ask(c, method, params, show);
}

static int unload(cli *c)
{
    cJSON *params = params_new();

    params_bool(params, "force", take_flag(c, "--force"));
    return ask_about_calls(c, "plugin.unload", params, show_unloaded);
}

static void show_canary(const cJSON *result)
{
    printf("%s %s is the canary, generation %.0f; generation %.0f stays loaded\n",
           text_of(result, "plugin"), text_of(result, "version"), number_of(result, "generation"),
           number_of(member(result, "old"), "generation"));
    show_warnings(result);
}

/* Read option `name`, a number, as param `param`. */
static bool read_number(cli *c, cJSON *params, const char *name, const char *param)
{
    const char *text = take_option(c, name);
    char *end;

    if (text == NULL)
        return true;
    double value = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || value != value) {
        fprintf(stderr, "dispatchctl: %s: expected a number, got '%s'\n", name, text);
        return false;
    }
    cJSON_AddNumberToObject(params, param, value);
    return true;
}

static int reload(cli *c)
{
    cJSON *params = params_new();

    if (!read_number(c, params, "--canary", "share") || !read_number(c, params, "--rtol", "rtol") ||
        !read_number(c, params, "--atol", "atol") ||
        !params_count(c, params, "differences", take_option(c, "--differences"))) {
        cJSON_Delete(params);
        return CLI_USAGE;
    }
    bool canary = member(params, "share") != NULL;
    return ask_about_calls(c, "plugin.reload", params, canary ? show_canary : show_loaded);
}

static int promote(cli *c)
{
    return ask_about_calls(c, "plugin.promote", params_new(), show_loaded);
}

static int roll_back(cli *c)
{
    return ask_about_calls(c, "plugin.rollback", params_new(), show_old);
}

static const column plugin_columns[] = {
    {"plugin", cell_text, "plugin", false},
    {"version", cell_text, "version", false},
    {"generation", cell_text, "generation", true},
    {"defs", cell_text, "defs", true},
    {"impls", cell_text, "impls", true},
    {"fallbacks", cell_text, "fallbacks", true},
    {"backends", cell_text, "backends", true},
    {"kinds", cell_text, "kinds", true},
    {"running", cell_text, "calls_running", true},
    {"canary", cell_mark, "canary", false},
    {"draining", cell_mark, "draining", false},
    {"kept", cell_mark, "kept", false},
    {"path", cell_text, "path", false},
    {"why", cell_text, "kept_because", false},
};

static void show_list(const cJSON *result)
{
    print_table(member(result, "plugins"), plugin_columns, COUNT(plugin_columns));
}

static int list(cli *c)
{
    return words_fit(c, 0, 0) ? ask(c, "plugin.list", NULL, show_list) : CLI_USAGE;
}

static void show_manifest(const cJSON *result)
{
    const cJSON *abi = member(result, "abi"), *warning;

    printf("%s %s, plugin interface %.0f.%.0f", text_of(result, "plugin"),
           text_of(result, "version"), number_of(abi, "major"), number_of(abi, "minor"));
    if (number_of(abi, "draft") != 0)
        printf(", draft %.0f", number_of(abi, "draft"));
    printf("\n\n%s", text_of(result, "text"));
    cJSON_ArrayForEach(warning, member(result, "warnings"))
        printf("warning: %s\n", warning->valuestring);
}

static int describe(cli *c)
{
    return ask_about_path(c, "plugin.describe", params_new(), show_manifest);
}

/* clang-format would set the sentences in columns. */
/* clang-format off */
const verb verbs_plugin[] = {
    {"plugin load", "FILE [--reject]",
     "load a plugin; --reject: not if it would replace a kernel", load},
    {"plugin unload", "PLUGIN [--timeout-ms N] [--force]",
     "unload a plugin when its calls have finished", unload},
    {"plugin reload", "PLUGIN [--timeout-ms N] [--canary SHARE [--differences N]]",
     "load its file again, in its place; N: how long to wait for calls of the old code; --canary: "
     "it serves a SHARE (above 0, up to 1) of the calls first, and goes after --differences (1) "
     "that differ or fail; --rtol and --atol: how near they must be", reload},
    {"plugin promote", "PLUGIN [--timeout-ms N]",
     "let its canary replace the loaded code", promote},
    {"plugin rollback", "PLUGIN [--timeout-ms N]",
     "unload its canary", roll_back},
    {"plugin list", "",
     "the plugins, in the order of loading, and old ones still in memory", list},
    {"plugin describe", "FILE",
     "what a plugin's file says it holds; nothing in it is run", describe},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
